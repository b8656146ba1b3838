"""Whether a model was fitted, for packages that do not say so when they predict."""

from typing import Any

from sklearn.exceptions import NotFittedError


def check_fitted(model: Any) -> None:
    """Raise if a model says that it is not fitted, by a value or by a method."""
    fitted = model.is_fitted
    if not (fitted() if callable(fitted) else fitted):
        raise NotFittedError
