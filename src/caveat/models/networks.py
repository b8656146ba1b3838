"""Networks: torch modules and Hugging Face."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._validation import as_floats
from ..exceptions import OptionError, ShapeError
from ..predictions import Categorical, Gaussian
from .table import samples_are_missing


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Switch off dropout and gradients, and leave the module as it was."""
    import torch

    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        module.train(training)


def from_module(module: Any, X: Any, **options: Any) -> Any:
    """Read a module of torch by `caveat.nn.predict`."""
    from ..nn import predict

    return predict(module, X, **options)


def from_huggingface(model: Any, X: Any = None) -> Any:
    """Read a model with its tokens, a ``Trainer`` with its data set, or what they gave."""
    output, config = model, None
    if X is None and (hasattr(model, "predict") or callable(model)):
        raise samples_are_missing(model)
    if hasattr(model, "predict"):
        output, config = model.predict(X), model.model.config
    elif callable(model):
        with evaluating(model):
            output, config = model(**X), model.config
    logits = output.logits if hasattr(output, "logits") else output.predictions
    logits = as_floats(logits[0] if isinstance(logits, tuple) else logits, "logits")[0]
    if logits.ndim != 2:
        raise ShapeError(
            f"logits must have shape (samples, labels); got {logits.shape}. For labels of tokens "
            "keep those that count: caveat.Categorical.from_logits(logits[labels != -100])"
        )
    if getattr(config, "problem_type", None) == "multi_label_classification":
        raise OptionError(
            "this model gives labels that do not exclude each other; take one column as a "
            "prediction of its own: caveat.Categorical.from_binary(1 / (1 + numpy.exp(-logit)))"
        )
    if logits.shape[1] == 1:
        return Gaussian(logits, 0.0)
    names = None if config is None else [config.id2label[i] for i in range(logits.shape[1])]
    return Categorical.from_logits(logits, classes=names)
