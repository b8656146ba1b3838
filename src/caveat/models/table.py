"""Which adapter reads which object, and the one door to all of them."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._validation import as_floats, as_labels, check_fraction
from ..exceptions import OptionError, UnknownNameError
from ..predictions import Categorical, Container

__all__ = ["Adapter", "adapter_of", "from_model", "register", "unregister"]

LEVELS = tuple(np.round([0.025, *np.arange(0.05, 0.951, 0.05), 0.975], 3).tolist())
"""Levels at which a distribution that is not Gaussian is read: 0.025, 0.05, 0.1, ... 0.975."""

_SHOWN = (
    "caveat.Categorical(probabilities, classes=...)",
    "caveat.Gaussian(mean, variance)",
    "caveat.Quantiles(levels, values)",
    "caveat.Interval(lower, upper, coverage=...)",
)


class Adapter(NamedTuple):
    """A function that reads the objects of one package.

    Parameters
    ----------
    package : str
        Name of a package, of a module or of one class, with its dots: ``"ngboost"``,
        ``"torch.distributions"``, ``"torch.Tensor"``.
    adapt : callable
        Takes a model and its samples, or an output alone, and options by keyword; returns a
        prediction. If its samples may be missing, their default is None.
    """

    package: str
    adapt: Callable[..., Any]

    def reads(self, kind: type) -> bool:
        """Whether the class is defined in the package, or is the class itself."""
        return f"{kind.__module__}.{kind.__qualname__}.".startswith(f"{self.package}.")

    def call(self, model: Any, X: Any, options: dict[str, Any]) -> Any:
        """Return the prediction; raise on samples and options that ``adapt`` does not take."""
        parameters = list(inspect.signature(self.adapt).parameters.values())
        name = type(model).__name__
        places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(places) == 1 and X is not None:
            raise OptionError(f"X goes with a model; a {name} is an output: pass it alone")
        if len(places) == 2 and X is None and places[1].default is not None:
            raise samples_are_missing(model)
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            takes = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
            check_options(name, options, takes)
        return self.adapt(*(model, X)[: len(places)], **options)


def samples_are_missing(model: Any) -> OptionError:
    """Return the error for a model without samples."""
    name = type(model).__name__
    return OptionError(f"X is missing: a {name} is a model; pass the samples to predict, too")


def check_options(name: str, options: dict[str, Any], takes: list[str]) -> None:
    """Raise on an option that is not among those of an adapter."""
    for option in options:
        if option not in takes:
            raise OptionError(
                f"from_model has no option {option!r} for a {name}; it takes "
                f"{', '.join(['classes', 'targets', *takes])}"
            )


_ADAPTERS: list[Adapter] = []


def register(package: str, adapt: Callable[..., Any]) -> None:
    """Teach `from_model` the objects of another package.

    Parameters
    ----------
    package : str
        Name of the package, of a module of it or of one class, with its dots, as
        ``type(object).__module__`` has it: ``"mylib"`` or ``"mylib.forests.Forest"``. The package
        itself is not imported.
    adapt : callable
        ``adapt(model, X)`` for models, ``adapt(output)`` for what models give; returns a
        `Categorical`, a `Gaussian`, a `Quantiles`, ... What it takes by keyword alone are options
        of `from_model`.

    See Also
    --------
    unregister : Take an adapter out again.

    Notes
    -----
    The last adapter that was registered for a class is asked first, so one of your own can replace
    one of caveat. It also serves pipelines, searches, ensembles and scorers: whatever asks for the
    distribution of a fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> class Thermometer:
    ...     def read(self, X):
    ...         return X[:, 0], np.full(len(X), 0.5)
    >>> def adapt(model, X):
    ...     mean, std = model.read(X)
    ...     return caveat.Gaussian.from_std(mean, std, targets=["celsius"])
    >>> caveat.models.register(f"{Thermometer.__module__}.Thermometer", adapt)
    >>> caveat.from_model(Thermometer(), np.array([[20.0], [21.5]]))
    Gaussian: 1 member x 2 samples x 1 target ('celsius')
    >>> caveat.models.unregister(f"{Thermometer.__module__}.Thermometer")
    """
    if not isinstance(package, str) or not all(package.split(".")):
        raise OptionError(f"package must be the name of a package or class; got {package!r}")
    if not callable(adapt):
        raise OptionError(
            f"adapt must be a function, of a model and its samples or of an output; got {adapt!r}"
        )
    _ADAPTERS.append(Adapter(package, adapt))


def unregister(package: str) -> None:
    """Take out the adapter that was registered last for a package.

    Parameters
    ----------
    package : str
        The name, as it was registered.
    """
    for place in reversed(range(len(_ADAPTERS))):
        if _ADAPTERS[place].package == package:
            del _ADAPTERS[place]
            return
    raise UnknownNameError(f"no adapter for {package!r}; known are {', '.join(packages())}")


def packages() -> list[str]:
    """Return the names of the packages that have an adapter."""
    return list(dict.fromkeys(adapter.package for adapter in _ADAPTERS))


def adapter_of(model: Any) -> Adapter | None:
    """Return the adapter of an object: of its class, or of the nearest base that has one."""
    for kind in type(model).__mro__:
        for adapter in reversed(_ADAPTERS):
            if adapter.reads(kind):
                return adapter
    return None


def own_adapter(model: Any) -> Callable[..., Any] | None:
    """Return the function for a fitted model that has its own; None for those of scikit-learn."""
    adapter = adapter_of(model)
    if adapter is None or adapter.package in ("caveat.estimators", "sklearn"):
        return None
    return adapter.adapt


def from_model(
    model: Any, X: Any = None, *, classes: Any = None, targets: Any = None, **options: Any
) -> Any:
    """Return the prediction of a fitted model of another library, or of what it gave.

    A model comes with the samples to predict, an output alone. A list of models, or of outputs, is
    the members of one prediction. Nothing is imported that the object does not come from.

    ===============================  ===============================================  ============
    model or output                  prediction                                       options
    ===============================  ===============================================  ============
    scikit-learn                     `Categorical` or `Gaussian`; see
                                     `member_predictions`
    XGBoost, LightGBM                `Categorical`, `Quantiles` of several
                                     ``quantile_alpha``, or a point; ``Booster`` too
    CatBoost                         the same; virtual ensembles are members; mean    ``members``
                                     and variance of ``RMSEWithUncertainty``
    NGBoost, skpro                   `Gaussian`, `Categorical`, members of a mixture  ``levels``
                                     of Gaussians; otherwise `Quantiles`
    torch, GPyTorch, scipy           the same, of their distributions                 ``levels``
    quantile-forest, TabPFN          `Quantiles`; `Categorical`                       ``levels``
    MAPIE                            `Interval`, `Quantiles` of several levels, or    ``coverage``
                                     `PredictionSet`
    chemprop, with SMILES or a data  as its predictor says; the path of a checkpoint  ``task``
    loader                           too, and of a folder with an ensemble
    Hugging Face                     `Categorical` of ``logits``; with one label a
                                     point
    ``torch.nn.Module``              as `caveat.nn.predict` says                      its own
    arrays, tensors, frames          as ``kind``, ``levels`` or ``coverage`` says     these three
    ===============================  ===============================================  ============

    Parameters
    ----------
    model : object
        The fitted model, or its output.
    X : array of shape (samples, features), optional
        The samples, as the model itself takes them. None for an output.
    classes : sequence of labels, optional
        Names for the classes, in the order of the columns; by default those that the model knows.
    targets : sequence of labels, optional
        Names for the targets; by default those that the model knows.
    **options
        Options of the adapter, as in the table.

        - ``members`` : int, number of virtual ensembles; by default 10 if the model was trained
          with ``posterior_sampling=True``, otherwise none.
        - ``levels`` : levels at which a distribution is read, by default 0.025, 0.05, 0.1, ...,
          0.95, 0.975; of an array, the level of each column.
        - ``coverage`` : coverage of intervals or sets, one or one for each.
        - ``kind`` : what an array holds: ``"probabilities"``, ``"logits"`` or ``"mean"``; of a
          pair of arrays ``"mean-std"`` or ``"mean-variance"``.
        - ``task`` : int, which of several tasks of classification.

    Returns
    -------
    Categorical, GaussianLogits, Gaussian, Quantiles, Interval or PredictionSet

    See Also
    --------
    caveat.models.register : An adapter of your own.
    from_sklearn : An estimator with ``predict_distribution``, to clone and to fit again.

    Notes
    -----
    A model that gives a point is one member with a variance of 0: nothing is known of its
    uncertainty. A single distribution, such as that of a Gaussian process, is one member too: it
    does not say which part of its spread more data would remove.

    Examples
    --------
    >>> import caveat
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_predict
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000)
    >>> caveat.from_model(model.fit(X, y), X, classes=["setosa", "versicolor", "virginica"])
    Categorical: 1 member x 150 samples x 3 classes ('setosa', 'versicolor', 'virginica')
    >>> p = cross_val_predict(model, X, y, method="predict_proba")
    >>> caveat.from_model(p, kind="probabilities")
    Categorical: 1 member x 150 samples x 3 classes (0, 1, 2)
    """
    adapter = adapter_of(model) or _by_interface(model)
    if adapter is None or isinstance(model, type):
        raise OptionError(_unknown(model))
    if options.get("levels") is not None:
        options["levels"] = _levels(options["levels"])
    try:
        prediction = adapter.call(model, X, options)
    except Exception as error:
        if any(kind.__name__ == "NotFittedError" for kind in type(error).__mro__):
            name = type(model).__name__
            raise OptionError(f"this {name} is not fitted; call its fit first") from error
        raise
    if not isinstance(prediction, Container):
        raise OptionError(
            f"the adapter for {adapter.package} must return a prediction, such as {_SHOWN[1]}; it "
            f"returned a {type(prediction).__name__}"
        )
    return _named(_named(prediction, classes, "classes", "class"), targets, "targets", "target")


def _levels(levels: Any) -> list[float]:
    values = np.atleast_1d(as_floats(levels, "levels")[0])
    return [check_fraction(level, "every one of levels") for level in values]


def _by_interface(model: Any) -> Adapter | None:
    """Return how to read an object of an unknown package that has one of the usual methods."""
    if hasattr(model, "predict_distribution"):
        return Adapter("", lambda model, X: model.predict_distribution(X))
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        return Adapter(
            "", lambda model, X: Categorical(model.predict_proba(X), classes=model.classes_)
        )
    return None


def _named(prediction: Any, labels: Any, name: str, axis: str) -> Any:
    if labels is None:
        return prediction
    if name not in prediction._shared:
        raise OptionError(
            f"{name} was given, and the prediction is a {type(prediction).__name__}, without {name}"
        )
    count = len(getattr(prediction, name))
    return prediction._trusted({**prediction._fields(), name: as_labels(labels, name, count, axis)})


def _unknown(model: Any) -> str:
    if isinstance(model, type):
        return f"model must be a fitted model or an output; got the class {model.__name__}"
    kind = type(model)
    return (
        f"no adapter reads a {kind.__module__}.{kind.__qualname__}, and it has neither "
        f"predict_distribution, nor predict_proba with classes_; there are adapters for "
        f"{', '.join(packages())}. Build the prediction from arrays: {', '.join(_SHOWN)}; or "
        f'register an adapter: caveat.models.register("{kind.__module__}", lambda model, X: ...)'
    )
