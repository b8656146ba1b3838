"""The base class of recalibrators: checks, groups, and the scikit-learn interface."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from .._constructors import Declared
from .._docstrings import describe_parameters, entries_of
from .._groups import combined
from .._validation import FloatArray, as_weights
from ..exceptions import (
    InvalidValueError,
    OptionError,
    ShapeError,
    UnsupportedPredictionError,
)
from ..predictions import Categorical, Container, concat
from ..predictions.given import as_prediction, prediction_of
from .exchangeability import warn_if_shifted

FIT = entries_of("""\
prediction : prediction, or array of probabilities
    What the model says of the calibration samples; an array as in `caveat.evaluate`.
y : array of shape (samples,) or (samples, targets)
    What is true of them. Of several targets some values may be missing (NaN); each target is
    repaired by the samples whose value is known.
groups : array, Series, dict of arrays or frame
    Repair each group for itself; several attributes mean each combination of them.
sample_weight : array of shape (samples,)
    How often each sample counts.
classes : sequence of labels
    The classes of an array.
""")
"""Parameters of ``fit``."""

AFTER = entries_of("""\
prediction : prediction, or array of probabilities
    The same type, with the same classes or targets, as in ``fit``. A frame whose columns have the
    names of the classes may have them in another order.
y : array of shape (samples,) or (samples, targets)
groups : array, Series, dict of arrays or frame
    Needed if and only if ``fit`` was given groups, with values that ``fit`` saw.
calibration : Container
    The prediction that ``fit`` was given. With it, a ``ShiftWarning`` says when ``prediction``
    differs from it by more than chance, see :func:`caveat.warn_if_shifted`: what was learned there
    need not hold here.
""")
"""Parameters of ``transform`` and other methods after ``fit``."""


class Recalibrator(Declared, BaseEstimator):
    """Repair a prediction after the fact: ``fit`` on held-out samples, then ``transform``.

    A subclass names the predictions it takes in ``takes`` and its arguments as fields, and has
    ``_fit(prediction, y, weight)``, which learns attributes that end in ``_``, and
    ``_transform(prediction)``. Here the arguments are checked and turned into what these need:
    ``y`` becomes positions of classes, or an array (samples, targets) of numbers; with ``groups``
    one copy is fitted for each group.
    """

    takes: ClassVar[tuple[type[Container], ...]]

    @describe_parameters(FIT)
    def fit(
        self,
        prediction: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        classes: Any = None,
    ) -> Self:
        """Learn the repair from predictions of samples that the model was not trained on.

        Returns
        -------
        self
        """
        if Categorical in self.takes:
            prediction = as_prediction(prediction, y, classes)
        self._check_type(prediction)
        truth = aligned(prediction, y)
        weight = as_weights(sample_weight, len(prediction))
        self.signature_ = signature_of(prediction)
        self.groups_: dict[str, Self] | None = None
        if groups is None:
            self._fit(prediction, truth, weight)
            return self
        self.groups_ = {}
        for value, rows in combined(groups, len(prediction)).by_value().items():
            part = self._copy_for_group()
            try:
                counted = None if weight is None else as_weights(weight[rows], len(rows))
                some = prediction.take(rows)
                known = aligned(some, truth[rows]) if hasattr(some, "targets") else truth[rows]
                part._fit(some, known, counted)
            except (InvalidValueError, OptionError, ShapeError) as error:
                raise type(error)(f"group {value!r}: {error}") from error
            self.groups_[value] = part
        return self

    @describe_parameters(AFTER)
    def transform(self, prediction: Any, *, groups: Any = None, calibration: Any = None) -> Any:
        """Return the repaired prediction."""
        return self._transform_parts(prediction, groups, calibration)

    @describe_parameters(FIT)
    def fit_transform(
        self,
        prediction: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        classes: Any = None,
    ) -> Any:
        """Fit, and repair the samples it was fitted on, for which no guarantee holds."""
        self.fit(prediction, y, groups=groups, sample_weight=sample_weight, classes=classes)
        return self.transform(prediction, groups=groups)

    def _given(self, prediction: Any) -> Any:
        """Return a prediction after ``fit``, whose classes an array has."""
        known = getattr(self, "signature_", {}).get("classes")
        return prediction if known is None else prediction_of(prediction, known)

    def _copy_for_group(self) -> Self:
        """Return a copy to be fitted to one group."""
        part = clone(self)
        part.signature_, part.groups_ = self.signature_, None
        return part

    def _transform_parts(
        self, prediction: Any, groups: Any, calibration: Any, *arrays: FloatArray
    ) -> Any:
        """Check, and repair each group by its own part; ``arrays`` have a row for each sample."""
        prediction = self._given(prediction)
        parts = self._parts(prediction, groups)
        if calibration is not None:
            warn_if_shifted(self._given(calibration), prediction, stacklevel=4)
        if self.groups_ is None:
            transform: Any = self._transform
            return transform(prediction, *arrays)
        repaired = []
        for rows, part in parts:
            transform = part._transform
            repaired.append(transform(prediction.take(rows), *(array[rows] for array in arrays)))
        places = np.concatenate([rows for rows, _ in parts])
        return concat(repaired).take(np.argsort(places, kind="stable"))

    def _fit(self, prediction: Any, y: Any, weight: FloatArray | None) -> None:
        raise NotImplementedError

    def _transform(self, prediction: Any) -> Any:
        raise NotImplementedError

    def _parts(self, prediction: Any, groups: Any) -> list[tuple[Any, Self]]:
        """Check the arguments after ``fit``; return the rows and the fitted part of each group."""
        self._check_fitted()
        self._check_type(prediction)
        check_signature(self.signature_, signature_of(prediction))
        if (groups is None) != (self.groups_ is None):
            raise OptionError(
                "fit was given groups, so transform needs them too"
                if groups is None
                else "groups were given to transform but not to fit"
            )
        if self.groups_ is None:
            return [(slice(None), self)]
        parts = []
        for value, rows in combined(groups, len(prediction)).by_value().items():
            if value not in self.groups_:
                raise OptionError(
                    f"group {value!r} of sample {rows[0]} was not in fit; it knew "
                    f"{', '.join(map(repr, self.groups_))}"
                )
            parts.append((rows, self.groups_[value]))
        return parts

    def _check_fitted(self) -> None:
        if not hasattr(self, "signature_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit(prediction, y) with "
                "calibration samples first"
            )

    def _check_type(self, prediction: Any) -> None:
        if not isinstance(prediction, self.takes):
            names = " or a ".join(kind.__name__ for kind in self.takes)
            raise UnsupportedPredictionError(
                f"{type(self).__name__} repairs a {names}; got a {type(prediction).__name__}"
            )


def aligned(prediction: Any, y: Any) -> Any:
    """Return the codes of the true classes, or true values, some of which may be missing."""
    if hasattr(prediction, "targets"):
        return prediction.align(y, missing=True)
    return prediction.align(y)


def signature_of(prediction: Any) -> dict[str, Any]:
    """Return what must be equal at fit and at transform: the type and the shared values."""
    shared = {
        name: np.asarray(getattr(prediction, name)).tolist() for name in type(prediction)._shared
    }
    return {"type": type(prediction).__name__, **shared}


def check_signature(fitted: dict[str, Any], given: dict[str, Any]) -> None:
    for name, value in fitted.items():
        if given.get(name) != value:
            raise ShapeError(
                f"fitted on {name} {value}, asked to transform {name} {given.get(name)}; both "
                "predictions must come from the same model"
            )
