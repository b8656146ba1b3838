"""Every technique on the same data: base models are trained once, all else is derived from them."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from .._arrays import missing_among, to_numpy
from .._groups import attributes
from .._random import RandomState, generator
from .._validation import (
    as_class_labels,
    as_column,
    as_labels,
    check_fraction,
    check_integer,
    encode_labels,
)
from .._writing import replacing
from ..evaluation import Comparison, compare
from ..evaluation.recommend import Recommendation
from ..exceptions import CaveatError, InvalidValueError, LabelError, OptionError, ShapeError
from ..models import from_model
from ..predictions.files import load_prediction
from ..recalibration import ExchangeabilityTest, exchangeability_test
from .techniques import Technique, errors_of, techniques_for
from .timing import Timing, machine, time_recalibration, timed
from .use_cases import Scenarios, scenarios

__all__ = ["TechniqueGrid", "technique_grid"]

SCALES = ("global", "local", "adaptive")


@dataclass(frozen=True, eq=False, repr=False)
class TechniqueGrid:
    """What `technique_grid` returns.

    Attributes
    ----------
    predictions : dict of str to prediction
        What each technique says about the test samples.
    bases : dict of str to prediction
        What each base model says about them, as it gives it.
    y : ndarray
        The truth of the test samples.
    techniques : dict of str to Technique
    seconds : dict of str to float
        How long the fit of each base model took, and the recalibration of each technique; what
        came from the cache took no time.
    failed : dict of str to str
        Techniques that could not be made, and why.
    options : dict
        What `compare` is given.
    calibrations : dict of str to prediction
        What each base model says about the calibration samples.
    calibration_y : ndarray
        Their truth.
    times : dict of str to Timing
        Seconds for one sample, if they were asked for: of the prediction of each base model, and of
        the step after it for each technique that has one.
    """

    predictions: dict[str, Any]
    bases: dict[str, Any]
    y: Any
    techniques: dict[str, Technique]
    seconds: dict[str, float]
    failed: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict)
    calibrations: dict[str, Any] = field(default_factory=dict)
    calibration_y: Any = None
    times: dict[str, Timing] = field(default_factory=dict)

    @cached_property
    def comparison(self) -> Comparison:
        """All techniques compared, metric by metric, with intervals; computed when asked for."""
        return compare(self.predictions, self.y, **self.options)

    def recommend(self, scale: str = "local", **options: Any) -> Recommendation:
        """Return the technique to take, if one stands out.

        Parameters
        ----------
        scale : {"local", "global", "adaptive"}, default="local"
            Where calibration must hold.
        **options
            Those of `Comparison.recommend`.
        """
        return self.comparison.recommend(scale=scale, **options)

    def recommendations(self, **options: Any) -> dict[str, Recommendation]:
        """Return the recommendation at each of the three scales.

        Parameters
        ----------
        **options
            Those of `Comparison.recommend`.
        """
        return {scale: self.recommend(scale, **options) for scale in SCALES}

    def exchangeability(
        self, base: str, *, cluster: Any = None, resamples: int = 999,
        random_state: RandomState = None,
    ) -> ExchangeabilityTest:  # fmt: skip
        """Return whether errors on calibration and on test samples could be of one source.

        Recalibration promises something about test samples only if they could. Errors of classes
        are 1 minus the probability of the true class, those of numbers are in standard deviations.

        Parameters
        ----------
        base : str
            Name of a base model of classes or Gaussians.
        cluster : pair of arrays, optional
            Which calibration and which test samples belong together: people are compared then, and
            not samples; see `caveat.exchangeability_test`.
        resamples : int, default=999
            Random divisions.
        random_state : int, Generator or None, optional
            Seed of the divisions.
        """
        if base not in self.calibrations:
            raise OptionError(f"there is no base model {base!r}; there are {list(self.bases)}")
        pairs = (self.calibrations[base], self.calibration_y), (self.bases[base], self.y)
        errors = [errors_of(prediction, y) for prediction, y in pairs]
        return exchangeability_test(
            *errors, cluster=cluster, resamples=resamples, random_state=random_state
        )

    def scenarios(self) -> Scenarios:
        """Return which technique is best for which use; see `caveat.selection.scenarios`."""
        return scenarios(self.predictions, self.y)

    def times_frame(self) -> Any:
        """Return the measured times as a pandas frame, with the machine they were measured on."""
        import pandas as pd

        rows = [
            (machine(), name, one.seconds, one.error, one.repeats)
            for name, one in self.times.items()
        ]
        return pd.DataFrame(
            rows, columns=["machine", "step", "seconds", "standard error", "repeats"]
        )

    def to_frame(self) -> Any:
        """Return a pandas frame with one row for each metric and technique."""
        return self.comparison.to_frame()

    def __repr__(self) -> str:
        words = f"TechniqueGrid: {len(self.predictions)} techniques of {len(self.bases)} models"
        if self.failed:
            words += f", {len(self.failed)} failed"
        return f"{words}, {len(self.y):,} test samples"


def technique_grid(
    models: Mapping[str, Any],
    data: Mapping[str, tuple[Any, Any]],
    *,
    techniques: Mapping[str, Technique] | None = None,
    groups: Any = None,
    cluster: Any = None,
    metrics: Any = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    cache: Any = None,
    time_repeats: int = 0,
    progress: bool = False,
    random_state: RandomState = None,
) -> TechniqueGrid:
    """Train base models once, derive every technique from them, and compare all of them.

    Parameters
    ----------
    models : dict of str to estimator
        Base models by name, such as ``{"MAP": ..., "MCD": ..., "DE": ..., "QR": ...}``: estimators
        of caveat, or any that `caveat.from_model` knows. They are cloned and fitted; one that is
        fitted already, such as a `caveat.Wrapped`, is fitted anew.
    data : dict of str to (X, y)
        "train", "calibration" and "test", and "validation" for models whose ``fit`` takes it.
        `SubjectSplit.parts` makes it from signals. Each class of "train" must be in "calibration".
    techniques : dict of str to Technique, optional
        By default all of `techniques_for`.
    groups, cluster : arrays of shape (test samples,), optional
        As in `compare`: groups to compare in, and samples that belong together, such as those of a
        subject.
    metrics : list of str, optional
        As in `compare`.
    resamples : int, default=1000
        Resamples behind the intervals.
    cache : path, optional
        A folder for the predictions of base models. Their name is made from the content of the data
        and the settings of the model, so that a run that was stopped goes on, and a model that did
        not change is not trained again.
    time_repeats : int, default=0
        How often the time of one sample is measured, for each base model and each step after it;
        base models from the cache keep the times that were measured with them, if any.
    random_state : int, Generator or None, optional
        Seed of the comparison; base models have their own.

    Examples
    --------
    >>> import numpy as np
    >>> import caveat
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 4))
    >>> y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    >>> parts = {"train": slice(0, 200), "calibration": slice(200, 400), "test": slice(400, 600)}
    >>> data = {name: (X[rows], y[rows]) for name, rows in parts.items()}
    >>> models = {"LR": LogisticRegression(), "NB": GaussianNB()}
    >>> grid = caveat.technique_grid(models, data, resamples=100, random_state=0)
    >>> grid
    TechniqueGrid: 10 techniques of 2 models, 200 test samples
    >>> sorted(grid.recommendations())
    ['adaptive', 'global', 'local']
    """
    parts = _checked(models, data)
    parts = _usable(models, parts, groups, cluster)
    confidence = check_fraction(confidence, "confidence")
    folder = None if cache is None else _folder(cache)
    check_integer(time_repeats, "time_repeats", 0)
    seconds: dict[str, float] = {}
    times: dict[str, Timing] = {}
    bases = {
        name: _base(name, models[name], parts, folder, seconds, times, time_repeats)
        for name in _shown(models, "base models", progress)
    }
    tests = {name: pair[1] for name, pair in bases.items()}
    chosen = dict(techniques_for(tests) if techniques is None else techniques)
    for name, one in chosen.items():
        if one.base not in bases:
            raise OptionError(
                f"technique {name!r} is of the base model {one.base!r}; there are {list(bases)}"
            )
    made: dict[str, Any] = {}
    failed: dict[str, str] = {}
    truth = parts["calibration"][1]
    for name in _shown(chosen, "techniques", progress):
        started = perf_counter()
        try:
            given = _placed(bases[chosen[name].base], truth)
            made[name] = chosen[name].apply(*given)
            if time_repeats and chosen[name].recalibrator is not None:
                times[name] = time_recalibration(chosen[name], *given, time_repeats)
        except CaveatError as error:
            failed[name] = str(error)
        seconds[name] = seconds.get(name, 0.0) + perf_counter() - started
    if len(made) < 2:
        words = "; ".join(f"{name}: {why}" for name, why in failed.items())
        raise OptionError(f"a comparison needs at least two techniques; got {len(made)}. {words}")
    options = {
        "groups": groups, "cluster": cluster, "metrics": metrics, "confidence": confidence,
        "resamples": resamples, "random_state": generator(random_state),
    }  # fmt: skip
    calibrations = {name: pair[0] for name, pair in bases.items()}
    return TechniqueGrid(
        made, tests, parts["test"][1], chosen, seconds, failed, options, calibrations, truth, times
    )


def _placed(pair: tuple[Any, Any], truth: Any) -> tuple[Any, Any, Any]:
    return pair[0], truth, pair[1]


def _checked(models: Any, data: Any) -> dict[str, tuple[Any, Any]]:
    if not isinstance(models, Mapping) or not models:
        raise OptionError("models must be a dict of names and estimators, with at least one")
    if not isinstance(data, Mapping):
        raise OptionError('data must be a dict with "train", "calibration" and "test"')
    known = ("train", "validation", "calibration", "test")
    for name in data:
        if name not in known:
            raise OptionError(f"data has a part {name!r}; the parts are {', '.join(known)}")
    for name in known:
        if name not in data and name != "validation":
            raise OptionError(f"data lacks {name!r}; it needs train, calibration and test")
        pair = data.get(name, (None, None))
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise OptionError(f"data[{name!r}] must be a pair (X, y)")
    return {name: (pair[0], pair[1]) for name, pair in data.items()}


def _usable(
    models: Any, parts: dict[str, tuple[Any, Any]], groups: Any, cluster: Any
) -> dict[str, tuple[Any, Any]]:
    """Return the parts, with labels of one type.

    Raise before any training on what the comparison could not use.
    """
    for name, (X, y) in parts.items():
        if hasattr(X, "__array__") and len(X) != len(y):
            raise ShapeError(f"data[{name!r}] has {len(X)} samples and {len(y)} labels")
    for name in ("calibration", "test"):
        missing = missing_among(to_numpy(parts[name][1], "y").array)
        if missing.any():
            row = int(np.argwhere(missing)[0, 0])
            raise InvalidValueError(
                f"{name} y of sample {row} is missing; leave such samples out, as "
                "Signals.with_targets does"
            )
    samples = len(parts["test"][1])
    if cluster is not None:
        as_column(cluster, "cluster", samples)
    if groups is not None:
        attributes(groups, samples)
    if any(hasattr(m, "__sklearn_tags__") and is_classifier(m) for m in models.values()):
        parts = {name: (X, as_class_labels(y, f"{name} y")) for name, (X, y) in parts.items()}
        known = np.unique(to_numpy(parts["train"][1], "y").array)
        classes = as_labels(known, "y of train", len(known), "class")
        codes = {name: encode_labels(parts[name][1], classes, f"{name} y") for name in parts}
        lacking = np.setdiff1d(np.arange(len(classes)), codes["calibration"])
        if len(lacking):
            raise LabelError(
                f"class {classes[lacking[0]]!s} is in train y and missing from calibration y, so "
                "that a recalibration would learn that it never occurs; draw the calibration "
                "samples so that each class is among them"
            )
    return parts


def _folder(cache: Any) -> Path:
    place = Path(cache)
    if place.is_file():
        raise OptionError(f"cache {str(cache)!r} is a file; name a folder")
    place.mkdir(parents=True, exist_ok=True)
    return place


def _shown(items: Mapping[str, Any], words: str, progress: bool) -> Iterator[str]:
    from rich.progress import track

    yield from track(list(items), words, disable=not progress, transient=True)


def _base(
    name: str, model: Any, parts: dict[str, tuple[Any, Any]], folder: Path | None,
    seconds: dict[str, float], times: dict[str, Timing], repeats: int,
) -> tuple[Any, Any]:  # fmt: skip
    """Return what a base model says of calibration and test samples, trained if it has to be."""
    place = None if folder is None else folder / _fingerprint(name, model, parts)
    files = [] if place is None else [place / f"{part}.npz" for part in ("calibration", "test")]
    if files and all(file.exists() for file in files):
        seconds[f"fit {name}"] = 0.0
        assert place is not None
        times |= _stored_time(place, name)
        return load_prediction(files[0]), load_prediction(files[1])
    started = perf_counter()
    fitted = _fitted(model, parts)
    seconds[f"fit {name}"] = perf_counter() - started
    made = [_predicted(fitted, parts[part][0]) for part in ("calibration", "test")]
    if repeats:
        times[name] = timed(partial(_predicted, fitted, _first(parts["test"][0])), repeats)
    if place is not None:
        place.mkdir(exist_ok=True)
        about = {"name": name, "model": repr(model), "seconds": seconds[f"fit {name}"]}
        about |= {"time": vars(times[name])} if repeats else {}
        (place / "about.json").write_text(json.dumps(about), encoding="utf-8")
        for prediction, file in zip(made, files, strict=True):
            with replacing(file) as beside:
                prediction.save(beside)
    return made[0], made[1]


def _stored_time(place: Path, name: str) -> dict[str, Timing]:
    """Return the time of one sample that was measured with a model, if it was."""
    about = json.loads((place / "about.json").read_text(encoding="utf-8"))
    return {name: Timing(**about["time"])} if "time" in about else {}


def _fitted(model: Any, parts: dict[str, tuple[Any, Any]]) -> Any:
    from inspect import signature

    own = clone(model)
    options = {}
    if "validation" in parts and "validation" in signature(own.fit).parameters:
        options["validation"] = parts["validation"]
    return own.fit(*parts["train"], **options)


def _predicted(model: Any, X: Any) -> Any:
    if hasattr(model, "predict_distribution"):
        return model.predict_distribution(X)
    return from_model(model, X)


def _first(X: Any) -> Any:
    """Return the first sample alone; signals have no slices."""
    return X[:1] if hasattr(X, "__getitem__") else X.take([0])


def _content(X: Any) -> tuple[Any, str]:
    """Return the values of samples, and what else a model may see: names and the sampling rate."""
    about = [getattr(X, name, None) for name in ("columns", "channels", "sampling_rate")]
    return np.asarray(X), str([np.asarray(each).tolist() for each in about])


def _fingerprint(name: str, model: Any, parts: dict[str, tuple[Any, Any]]) -> str:
    """Return a name for the predictions of a model: of its settings and of all data it sees."""
    import joblib

    seen = [
        (part, _content(X), None if part == "test" else np.asarray(y))
        for part, (X, y) in sorted(parts.items())
    ]
    try:
        settings = joblib.hash((type(model).__qualname__, model.get_params(deep=True)))
    except Exception as error:
        raise OptionError(
            f"base model {name!r} cannot be told from others by its settings ({error}), which the "
            "cache needs; use functions that have a name, or leave cache= out"
        ) from error
    return hashlib.sha256(f"{joblib.hash(seen)} {settings}".encode()).hexdigest()[:24]
