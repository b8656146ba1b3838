"""Suggestions for unknown names: what replaced an old name, or the most similar known name."""

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

RENAMED = {
    "caveat": {
        "figures": "caveat.charts",
        "plots": "caveat.charts",
    },
    "caveat.estimators": {"load": "caveat.load"},
    "caveat.evaluation": {
        "OperatingCurve": "caveat.triage.OperatingCurve",
        "Triage": "caveat.Triage",
        "TriagePolicy": "caveat.TriagePolicy",
    },
    "caveat.experiments": {"Reading": "caveat.experiments.DisentanglementVerdict"},
    "caveat.fairness": {"Reading": "caveat.fairness.AuditVerdict"},
    "caveat.metrics": {
        "expected_normalised_calibration_error": (
            "caveat.metrics.expected_normalized_calibration_error"
        ),
        "load_state": "caveat.load",
    },
    "caveat.nn.layers": {"Standardise": "caveat.nn.layers.Standardize"},
    "caveat.predictions": {"load": "caveat.load"},
    "caveat.studies": {
        "DisentanglementRunRow": "caveat.studies.StudyRow",
        "DisentanglementStudy": "caveat.studies.StudyResult",
        "FairnessRunRow": "caveat.studies.StudyRow",
        "FairnessStudy": "caveat.studies.StudyResult",
        "PaperRow": "caveat.studies.StudyRow",
        "run_disentanglement_study": 'caveat.studies.run_study("disentanglement", ...)',
        "run_fairness_study": 'caveat.studies.run_study("fairness", ...)',
    },
}
"""By module, its old public names and what replaced them."""

RENAMED_PARAMETERS = {"outputs": "out_features", "seeds": "repeats"}
"""Old parameters whose new name is not similar, and their new names."""

RENAMED_METHODS = {"reading": "verdict"}
"""Old methods of results, and their new names."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return which of the known parameters was meant, or all of them."""
    known = [*known]
    new = RENAMED_PARAMETERS.get(name)
    close = [new] if new in known else get_close_matches(name, known, 1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"


def suggests_parameters(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function or method suggest the parameter that was meant instead of an unknown one.

    Examples
    --------
    >>> from caveat._renamed import suggests_parameters
    >>> @suggests_parameters
    ... def scale(values, *, normalize=False): ...
    >>> scale([1], normalise=True)
    Traceback (most recent call last):
    TypeError: scale has no parameter 'normalise'; did you mean 'normalize'?
    """
    known = [name for name in inspect.signature(function).parameters if name != "self"]
    allowed = frozenset(known)
    title = function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        for name in options:
            if name not in allowed:
                advice = suggestion(name, known)
                raise TypeError(f"{title} has no parameter {name!r}; {advice}")
        return function(*args, **options)

    return call


def old_names(module: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a module, which says what replaced an old name.

    It raises ImportError for an old name, since ``from module import name`` hides the text of an
    AttributeError.
    """

    def missing(name: str) -> NoReturn:
        new = RENAMED[module].get(name)
        if new is not None:
            raise ImportError(f"{module}.{name} is now {new}", name=module)
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)

    return missing


def missing_method(self: object, name: str) -> NoReturn:
    """Say the new name of a method that was renamed: the ``__getattr__`` of results."""
    new = RENAMED_METHODS.get(name)
    hint = f"; it is now {new}()" if new else ""
    message = f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
    raise AttributeError(message, name=name, obj=self)
