"""Hostile calls: every public callable, small problems of edge values, odd containers and options.

A call is drawn by `Pick`, which hypothesis steers in the tests. `World` holds one small problem, so
that arguments fit each other; `ARGUMENTS` makes an argument by its name; one argument of every
second call is then spoiled. `attempt` makes the call and looks at what comes back.
"""

import contextlib
import dataclasses
import inspect
import math
import re
from functools import lru_cache

import numpy as np
from sklearn.exceptions import NotFittedError

import caveat
from caveat.exceptions import CaveatError
from caveat.metrics import METRICS
from caveat.predictions import Container

RESAMPLES = 40
"""The fewest that intervals of 95 % take."""

# Networks, trainings and downloads have tests of their own; a hostile call of them takes seconds.
LEFT_OUT = re.compile(
    r"nn\..*|signals\..*|studies\..*|molecules\..*|selection\..*|files\..*|resampling\.Prepared|datasets\.load_.*|estimators\.(?!from_sklearn|load|preset).*|repairing\.(Repaired(\..*)?|Repair\.save)"
    r"|models\.(register|unregister)|experiments\.(class_detection|disentanglement_error|shift_curves)"
    r"|resampling\.Prepared\..*|.*\.(get_params|set_params|get_metadata_routing|set_\w+_request)"
    r"|.*\.row_type|metrics\.(MetricRegistry|Metric|Batch|Part|Sums|State|mean_of|share_of)|metrics\.(Batch|State|Metric|Part|Sums)\..*|metrics\.MetricRegistry\.(register|unregister|serving|shown)|predictions\.Container\..*"
    r"|confusion\.Confusion(\..*)?|maps\.(PredictionMap|MapEvaluation|MapLayers|LabeledPixels|measure_windows)(\..*)?|datasets\.Scene\..*|monitoring\.(ChangeState|DriftQuestion)(\..*)?|recalibration\.Recalibrator\..*|charts\.(Entry|Deferral|Chart$)(\..*)?|summaries\.(About|Part|Distribution)(\..*)?|summaries\.(summarize_counts|Summary\.save)|integrations\.log_evaluation|report\.write_report|sequential\.SequentialConformal(\..*)?|.*\.report|.*\.items|.*\.keys|.*\.values"
)


# ---------------------------------------------------------------------------------- discovery


def discover():
    """Return every public callable by name: functions, constructors and methods."""
    found = {}
    for package in (getattr(caveat, name) for name in caveat._MODULES):
        home = package.__name__.removeprefix("caveat.")
        for name in package.__all__:
            value = getattr(package, name)
            if isinstance(value, type):
                if issubclass(value, Exception) or value.__module__.startswith("caveat.exceptions"):
                    continue
                if _checks_its_fields(value):
                    found[f"{home}.{name}"] = value
                for method, function in inspect.getmembers(value, callable):
                    if not method.startswith("_"):
                        found[f"{home}.{name}.{method}"] = function
            elif callable(value):
                found[f"{home}.{name}"] = value
    return {name: value for name, value in found.items() if not LEFT_OUT.fullmatch(name)}


def _checks_its_fields(kind):
    """Whether a class is more than a record, which holds whatever it is given."""
    plain = dataclasses.is_dataclass(kind) and not hasattr(kind, "__post_init__")
    abstract = kind in (Container, caveat.recalibration.Recalibrator)
    return not (plain or abstract)


# ------------------------------------------------------------------------------------- choices


class Pick:
    """Choices that hypothesis makes, and can make simpler: the first option is the simplest."""

    def __init__(self, draw):
        from hypothesis import strategies

        self._draw, self._strategies = draw, strategies

    def of(self, options):
        return options[self._draw(self._strategies.integers(0, len(options) - 1))]

    def rarely(self, one_in=2):
        return self.of(range(one_in)) == one_in - 1


class UnfitError(Exception):
    """What a call needs cannot be made of this world: there is nothing to try."""


REGIMES = (
    "plain", "plain", "ties", "constant", "zeros", "whole", "tiny", "small", "big", "large",
    "largest", "mixed", "both",
)  # fmt: skip
EDGES = np.array(
    [0.0, -0.0, 5e-324, 1e-310, 1e-160, 1e-8, 0.5, 1.0, 3.0, 1e8, 1e160, 1e200, 1.7e308]
)


class World:
    """One small problem: how many samples there are, and which kind of numbers."""

    def __init__(self, pick, task=None):
        self.pick = pick
        self.rng = np.random.default_rng(pick.of(range(1000)))
        self.samples = pick.of((8, 1, 2, 3, 30))
        self.classes = pick.of((2, 3, 5))
        self.members = pick.of((1, 2, 4))
        self.targets = pick.of((1, 2))
        self.regime = pick.of(REGIMES)
        self.named = pick.rarely(3)
        self.task = task or pick.of(("classification", "regression"))
        self.kept = {}

    def keep(self, name, make):
        """Return the same thing to all who ask for it in this world."""
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]

    # ------------------------------------------------------------------------------- numbers

    def numbers(self, *shape):
        plain, regime = self.rng.normal(size=shape), self.regime
        if regime == "mixed":
            signs = self.rng.choice([-1.0, 1.0], size=shape)
            return self.rng.choice(EDGES, size=shape) * signs
        change = {
            "plain": lambda: plain,
            "ties": lambda: np.round(plain, 0),
            "constant": lambda: np.full(shape, 0.3),
            "zeros": lambda: self.rng.choice([0.0, -0.0], size=shape),
            "whole": lambda: np.round(plain * 10),
            "tiny": lambda: plain * 1e-320,
            "small": lambda: plain * 1e-200,
            "big": lambda: plain * 1e74,
            "both": lambda: plain * self.rng.choice([1e-74, 1.0, 1e74], size=shape),
            "large": lambda: plain * 1e200,
            "largest": lambda: np.clip(plain, -1, 1) * 1.7e308,
        }
        return np.asarray(change[regime]())

    def positive(self, *shape):
        return np.abs(self.numbers(*shape))

    def ordered(self, *shape):
        return np.sort(self.numbers(*shape), axis=-1)

    def shares(self, *shape):
        kind = self.pick.of(("plain", "ends", "edges"))
        if kind == "plain":
            return self.rng.random(shape)
        ends = [0.0, 1.0] if kind == "ends" else [0.0, 5e-324, 1e-300, 1e-17, 0.5, 1 - 1e-16, 1.0]
        return self.rng.choice(ends, size=shape)

    def probabilities(self, *shape):
        kind = self.pick.of(("softmax", "ties", "uniform", "certain", "nearly", "sure"))
        classes = shape[-1]
        if kind == "uniform":
            return np.full(shape, 1 / classes)
        if kind == "certain":
            return np.eye(classes)[self.rng.integers(classes, size=shape[:-1])]
        if kind == "sure":
            return np.broadcast_to(np.eye(classes)[0], shape).copy()
        logits = self.rng.normal(size=shape) * (300 if kind == "nearly" else 2)
        if kind == "ties":
            logits = np.round(logits)
        logits -= logits.max(axis=-1, keepdims=True)
        weights = np.exp(logits)
        return weights / weights.sum(axis=-1, keepdims=True)

    def labels(self, samples=None):
        kind = self.pick.of(("any", "one"))
        codes = self.rng.integers(self.classes, size=self.samples if samples is None else samples)
        if kind == "one":
            codes[:] = codes[:1]
        return self.names[codes] if self.named else codes

    @property
    def names(self):
        return np.array(["ann", "bob", "cyd", "dee", "eve"])[: self.classes]

    def layout(self):
        """The shape of what a regression predicts, the same for all arguments of a call."""
        shapes = ((self.samples,), (self.samples, self.targets))
        if self.task == "members":
            return self.keep("layout", lambda: (self.members, self.samples, self.targets))
        return self.keep("layout", lambda: self.pick.of(shapes))

    # ---------------------------------------------------------------------------- predictions

    def prediction(self, kinds=None):
        """Return a prediction of one of the kinds, by default of any."""
        kind = self.pick.of(kinds or tuple(PREDICTIONS))
        self.task = "classification" if kind in OF_CLASSES else "regression"
        return built(PREDICTIONS[kind], self)

    def truth(self, prediction):
        if type(prediction).__name__ in OF_CLASSES:
            return self.labels(len(prediction))
        shape = (len(prediction), len(prediction.targets))
        near = getattr(prediction, "mean", None)
        if near is not None and self.pick.rarely():
            return near.mean(axis=0) if self.regime in ("plain", "ties") else near[0]
        return self.numbers(*shape)

    def groups(self, samples=None):
        length = self.samples if samples is None else samples
        column = self.rng.choice(self.pick.of((["a", "b"], ["a", "b", "c"], ["a"])), size=length)
        kind = self.pick.of(("array", "dict", "numbers", "missing"))
        if kind == "dict":
            return {"sex": column, "site": self.rng.integers(2, size=length)}
        if kind == "numbers":
            return self.rng.integers(3, size=length)
        if kind == "missing":
            return np.where(self.rng.random(length) < 0.3, None, column.astype(object))
        return column


def built(make, *arguments, **options):
    """Return what a call gives, or say that it cannot be made."""
    try:
        return make(*arguments, **options)
    except CaveatError as error:
        raise UnfitError from error


def _categorical(w):
    shape = (w.samples, w.classes) if w.members == 1 else (w.members, w.samples, w.classes)
    return caveat.Categorical(w.probabilities(*shape), classes=w.names if w.named else None)


def _gaussian_logits(w):
    shape = (w.members, w.samples, w.classes)
    names = w.names if w.named else None
    return caveat.GaussianLogits(w.numbers(*shape), w.positive(*shape), classes=names)


def _gaussian(w):
    shape = (w.members, w.samples, w.targets)
    variance = np.zeros(shape) if w.pick.rarely(4) else w.positive(*shape)
    return caveat.Gaussian(w.numbers(*shape), variance)


def _interval(w):
    ends = w.ordered(w.samples, w.targets, 2)
    if w.pick.rarely(4):
        ends[0] = -np.inf, np.inf
    return caveat.Interval(ends[..., 0], ends[..., 1], coverage=0.8)


def _quantiles(w):
    shape = (w.members, w.samples, w.targets, 3)
    return caveat.Quantiles([0.1, 0.5, 0.9], w.ordered(*shape))


def _prediction_set(w):
    sets = w.rng.random((w.samples, w.classes)) < w.pick.of((0.5, 0.0, 1.0))
    return caveat.PredictionSet(sets, coverage=0.9, classes=w.names if w.named else None)


def _probability_interval(w):
    ends = np.sort(w.shares(w.samples, w.classes, 2), axis=-1)
    names = w.names if w.named else None
    return caveat.ProbabilityInterval(ends[..., 0], ends[..., 1], classes=names)


def _decomposition(w):
    parts = [w.positive(w.samples) for _ in range(3)]
    return caveat.Decomposition(*parts, additive=False, method="own")


PREDICTIONS = {
    "Categorical": _categorical,
    "Gaussian": _gaussian,
    "GaussianLogits": _gaussian_logits,
    "Interval": _interval,
    "Quantiles": _quantiles,
    "PredictionSet": _prediction_set,
    "ProbabilityInterval": _probability_interval,
}
OF_CLASSES = {"Categorical", "GaussianLogits", "PredictionSet", "ProbabilityInterval"}


# ------------------------------------------------------------------------- results, by their type


def _evaluation(w):
    prediction = w.prediction()
    return _make_evaluation(w, prediction)


def _make_evaluation(w, prediction):
    groups = None if w.pick.rarely() else w.groups(len(prediction))
    resamples = w.pick.of((RESAMPLES, 0))
    return built(
        caveat.evaluate, prediction, w.truth(prediction), groups=groups, resamples=resamples,
        random_state=0,
    )  # fmt: skip


def _comparison(w):
    first = w.prediction(("Categorical", "Gaussian", "GaussianLogits"))
    kind = (type(first).__name__,)
    named = {"first": first, "second": w.prediction(kind), "third": w.prediction(kind)}
    return built(
        caveat.compare, named, w.truth(first), resamples=w.pick.of((RESAMPLES, 0)), random_state=0
    )


def _audit(w):
    prediction = w.prediction(("Categorical", "Gaussian", "GaussianLogits", "ProbabilityInterval"))
    X = w.numbers(w.samples, 2) if w.pick.rarely() else None
    return built(
        caveat.audit, prediction, w.truth(prediction), w.groups(), X=X, neighbors=1,
        resamples=RESAMPLES, random_state=0,
    )  # fmt: skip


def _drift(w):
    prediction = w.prediction()
    return built(caveat.drift, prediction, prediction, resamples=0)


def _distances(w):
    size = len(w.classes) if isinstance(w.classes, list | tuple) else w.classes
    return 1.0 - np.eye(size)


def _measure_comparison(w):
    prediction = w.prediction(("Categorical",))
    distances = 1.0 - np.eye(len(prediction.classes))
    return built(
        caveat.compare_measures, prediction, w.truth(prediction), distances=distances, resamples=0
    )


def _scenarios(w):
    prediction = w.prediction(("Categorical",))
    return built(caveat.selection.scenarios, {"one": prediction}, w.truth(prediction))


def _explanation(w):
    prediction = w.prediction(("Categorical",))
    return built(caveat.explain_uncertainty, prediction, 1.0 - np.eye(len(prediction.classes)))


@lru_cache
def _embedded():
    rng = np.random.default_rng(0)
    X, p = rng.normal(size=(6, 2)), rng.dirichlet(np.ones(3), 6)
    return caveat.confusion.embed_samples(X, p, random_state=0)


def _embedding(w):
    return _embedded()


def _pixels(w):
    prediction = w.prediction(("Categorical",))
    return built(caveat.maps.PredictionMap, prediction, (1, len(prediction)))


def _confusion_matrix(w):
    prediction = w.prediction(("Categorical",))
    return built(
        caveat.confusion_matrix, prediction, w.truth(prediction), resamples=RESAMPLES,
        random_state=0,
    )  # fmt: skip


def _history(w):
    prediction = w.prediction()
    return built(caveat.monitoring.drift_history, {"a": prediction, "b": prediction}, resamples=0)


def _repair(w):
    prediction = w.prediction(("Categorical", "Gaussian", "GaussianLogits"))
    return built(caveat.repair, prediction, w.truth(prediction), random_state=0)


def _consistency(w):
    return built(
        caveat.fairness.consistency, w.numbers(w.samples), w.numbers(w.samples, 2), neighbors=1,
        resamples=RESAMPLES, random_state=0,
    )  # fmt: skip


def _lipschitz(w):
    numbers = w.numbers(w.samples), w.numbers(w.samples, 2)
    return built(caveat.fairness.lipschitz, *numbers, random_state=0)


def _curve(w, kind):
    shape = (w.members, 3)
    return built(
        caveat.experiments.Curve, kind, "information", [0.1, 0.5, 1.0], w.numbers(*shape),
        w.positive(*shape), w.positive(*shape),
    )  # fmt: skip


def _disentanglement(w):
    return built(caveat.Disentanglement, (_curve(w, "size"), _curve(w, "noise")))


def _class_detection(w):
    auc = w.shares(1, w.members, w.classes, 3)
    return built(
        caveat.experiments.ClassDetection, tuple("abcde"[: w.classes]), ("information",), auc
    )


def _domain_shift(w):
    inside = w.prediction(("Categorical", "Gaussian"))
    outside = w.prediction((type(inside).__name__,))
    return built(
        caveat.experiments.domain_shift, inside, w.truth(inside), outside, w.truth(outside),
        resamples=RESAMPLES, random_state=0,
    )  # fmt: skip


class _Model:
    """A model whose predictions are those of a world."""

    def __init__(self, prediction):
        self.prediction = prediction

    def predict_distribution(self, X):
        return self.prediction


def _shift_curves(w):
    from caveat.experiments import ShiftCurves, ShiftRow

    rows = [
        ShiftRow("uncertainty", "uncertainty", "", "", strength, value, value, value, "lower", "")
        for strength, value in zip((0.0, 0.5, 1.0), w.positive(3).tolist(), strict=True)
    ]
    return ShiftCurves(tuple(rows), "a model", "gaussian_noise", 0.95)


def _triage_policy(w, fitted=True):
    policy = caveat.TriagePolicy(
        w.pick.of((0.5, 0.1)), tolerance=None if w.task == "classification" else 1.0, points=5,
        draws=5, random_state=0,
    )  # fmt: skip
    if not fitted:
        return policy
    prediction = w.prediction(("Categorical", "Gaussian", "GaussianLogits"))
    policy.tolerance = None if w.task == "classification" else 1.0
    w.keep("prediction", lambda: prediction)
    return built(policy.fit, prediction, w.truth(prediction))


def _triage(w):
    policy = _triage_policy(w)
    return built(policy.decide, w.kept["prediction"])


def _recalibrator(w, kind):
    options = {"coverage": 0.5} if "coverage" in inspect.signature(kind).parameters else {}
    recalibrator = kind(**options)
    if w.pick.rarely(8):
        return recalibrator
    prediction = w.prediction(tuple(taken.__name__ for taken in kind.takes))
    w.keep("prediction", lambda: prediction)
    return built(recalibrator.fit, prediction, w.truth(prediction))


def _cross_conformal(w):
    w.members = 1
    prediction = w.prediction(("Categorical", "Gaussian"))
    w.keep("prediction", lambda: prediction)
    return built(caveat.CrossConformal(0.5).fit, prediction, w.truth(prediction))


def _factor(w):
    return np.tril(w.positive(w.samples, w.targets, w.targets) + 1e-3)


def _repair(w):
    prediction = w.prediction(
        ("Categorical", "Gaussian", "GaussianLogits", "Quantiles", "Interval")
    )
    w.keep("prediction", lambda: prediction)
    return built(caveat.repair, prediction, w.truth(prediction), random_state=0)


def _dataset(w):
    return caveat.datasets.make_triangle(0, samples=max(w.samples, 5))


@lru_cache(maxsize=1)
def _sklearn_model(kind):
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    if kind == "classification":
        return RandomForestClassifier(3, random_state=0).fit(X, rng.integers(2, size=30))
    return RandomForestRegressor(3, random_state=0).fit(X, rng.normal(size=30))


def _summary(w):
    prediction = _any_prediction(w)
    return built(caveat.summarize, prediction, w.truth(prediction))


def _losses(w):
    """Losses that rise with the threshold."""
    return np.sort(w.shares(w.samples, 3), axis=1)


def _risk_control(w):
    return built(caveat.ConformalRiskControl(0.6).fit, _losses(w), [0.1, 0.5, 0.9])


def _learn_then_test(w):
    return built(caveat.LearnThenTest(0.6).fit, _losses(w))


def _conformal_selection(w):
    return built(caveat.ConformalSelection(0.5).fit, w.numbers(w.samples))


def _of_numbers(w):
    return w.keep("prediction", lambda: w.prediction(("Gaussian", "Quantiles", "Interval")))


def _sequential(kind):
    return lambda w: getattr(caveat, kind)(0.8, window=w.pick.of((None, 5, 100)))


def _sequential_run(w):
    prediction = _of_numbers(w)
    return built(
        _sequential("AdaptiveConformal")(w).run, prediction, w.truth(prediction), time="rows"
    )


RESULTS = {
    "ConformalRiskControl": _risk_control,
    "RiskCurve": lambda w: _risk_control(w).curve_,
    "LearnThenTest": _learn_then_test,
    "ConformalSelection": _conformal_selection,
    "Selection": lambda w: built(_conformal_selection(w).select, w.numbers(3)),
    "AdaptiveConformal": _sequential("AdaptiveConformal"),
    "AggregatedConformal": _sequential("AggregatedConformal"),
    "BlockConformal": _sequential("BlockConformal"),
    "SequentialRun": _sequential_run,
    "Evaluation": _evaluation,
    "Comparison": _comparison,
    "FairnessAudit": _audit,
    "Consistency": _consistency,
    "Lipschitz": _lipschitz,
    "Disentanglement": _disentanglement,
    "ClassDetection": _class_detection,
    "DomainShift": _domain_shift,
    "ShiftCurves": _shift_curves,
    "Triage": _triage,
    "TriagePolicy": _triage_policy,
    "Dataset": _dataset,
    "Decomposition": _decomposition,
    "OperatingCurve": lambda w: _triage(w).curve,
    "Verdict": lambda w: _evaluation(w).verdict(),
    "UDE": lambda w: built(_disentanglement(w).error),
    "DisentanglementVerdict": lambda w: built(_disentanglement(w).verdict),
    "fairness.AuditVerdict": lambda w: built(_audit(w).verdict),
    "MetricRegistry": lambda w: METRICS,
    "Drift": lambda w: _drift(w),
    "DriftHistory": lambda w: _history(w),
    "DriftMonitor": lambda w: built(caveat.DriftMonitor, w.prediction()),
    "MeasureComparison": _measure_comparison,
    "UncertaintyExplanation": _explanation,
    "SampleEmbedding": _embedding,
    "ConfusionMatrix": _confusion_matrix,
    "Repair": _repair,
    "CrossConformal": _cross_conformal,
    "Ellipsoid": lambda w: built(
        caveat.Ellipsoid, w.numbers(w.samples, w.targets), _factor(w), coverage=0.9
    ),
    "Summary": _summary,
    "Plan": lambda w: caveat.resampling.make_plan(w.samples, resamples=3, random_state=0),
    "Wrapped": lambda w: caveat.from_sklearn(_sklearn_model(w.task)),
}


def receiver(name, world):
    """Return an object of the class that a method belongs to."""
    home, kind, _ = name.split(".")
    if f"{home}.{kind}" in RESULTS:
        return RESULTS[f"{home}.{kind}"](world)
    if kind in PREDICTIONS:
        return world.prediction((kind,))
    if kind in RESULTS:
        return RESULTS[kind](world)
    value = getattr(getattr(caveat, home), kind)
    if isinstance(value, type) and issubclass(value, caveat.recalibration.Recalibrator):
        return _recalibrator(world, value)
    if home == "charts":
        return (
            _chart(world) if kind == "Chart" else built(caveat.charts.extremes, _evaluation(world))
        )
    raise KeyError(f"no way to make a {kind}; add one to RESULTS")


def _chart(w):
    result = w.pick.of((_evaluation, _audit, _comparison, _domain_shift, _disentanglement))(w)
    kinds = [kind for kind in caveat.charts.available(result) if kind != "comparison"]
    if not kinds:
        raise UnfitError
    chart = built(caveat.charts.chart, result, w.pick.of(kinds))
    return chart if isinstance(chart, caveat.charts.Chart) else chart[0]


# --------------------------------------------------------------------------- arguments, by name


class Data:
    """An argument that is an array: it may come in any container."""

    def __init__(self, make):
        self.make = make


class Option:
    """An argument that is one of a few values."""

    def __init__(self, *values):
        self.values = values

    def make(self, world):
        return world.pick.of(self.values)


class Flag(Option):
    """An argument that is taken for true or false, as Python does it."""

    def __init__(self):
        super().__init__(False, True)


class Function(Option):
    """An argument that is a name, or a function of the user's own."""


class Fixed(Option):
    """An argument that is never spoiled."""


class Thing:
    """An argument that is an object of caveat."""

    def __init__(self, make):
        self.make = make


class Object(Thing):
    """An argument of functions for those who build on caveat: never spoiled."""


def _of(name):
    return Data(lambda w: w.keep("ends", lambda: w.ordered(*w.layout(), 2))[..., name])


def _members(w):
    return w.numbers(w.members, w.samples)


def _y(w):
    prediction = w.kept.get("prediction")
    if prediction is not None:
        return w.truth(prediction)
    return w.labels() if w.task == "classification" else w.numbers(w.samples)


def _any_prediction(w):
    return w.keep("prediction", w.prediction)


YES_NO = Flag()
COUNT = Option(3, 1, 2, 15)
FRACTION = Option(0.5, 0.9, 0.05)
SEED = Option(0, None)
METRIC = Option(*METRICS)
EVALUATION_METRIC = Option("expected_calibration_error", "accuracy_score", "crps", "rmse", "nll")
TARGET = Option(None, 0, "0")

ARGUMENTS = {
    "H": Data(lambda w: w.numbers(w.classes, w.classes)),
    "X": Data(lambda w: w.numbers(w.samples, 2)),
    "actions": Option(None),
    "additive": YES_NO,
    "signal": YES_NO,
    "among": Option(1, 2, 5),
    "k_reg": Option(2, 0, 5),
    "label": Option(None, 0, 1, "ann"),
    "penalty": Option(0.1, 0.0, 1e3),
    "promise": Option("high-probability", "mean"),
    "aggregate": Option("mean", "root_mean_square"),
    "aleatoric": Data(lambda w: w.positive(w.samples)),
    "alpha": Option(2.0, 1.0, 0.5, 0.0, 1e-3, 30.0, 1 + 1e-12),
    "attribute": Option(None, "group", "sex"),
    "auc": Data(lambda w: w.shares(1, w.members, w.classes, 3)),
    "average": Option("macro", "micro", "weighted", "binary"),
    "ax": Option(None),
    "bandwidth": Option(None, 0.1, 1e-3, 1e-300, 10.0),
    "binning": Option("equal-width", "equal-count"),
    "bins": COUNT,
    "by_class": YES_NO,
    "one_model": YES_NO,
    "calibration": Thing(lambda w: None if w.pick.rarely() else _any_prediction(w)),
    "checks": Fixed(()),
    "class_conditional": YES_NO,
    "classes": Thing(lambda w: w.names if w.named else None),
    "cluster": Data(lambda w: w.rng.integers(3, size=_length(w))),
    "combine": Option("mean+std", "rms", "joint", "mean"),
    "costs": Data(lambda w: w.numbers(w.classes, w.classes)),
    "component": Option("total", "aleatoric", "epistemic"),
    "comparison": Option(None, "best", "privileged"),
    "confidence": Option(0.95, 0.5, 0.8),
    "correlation": Option("pearson", "spearman"),
    "cost": Fixed(caveat.experiments.Cost()),
    "coverage": Option(0.8, 0.5, 0.01, 1 - 1e-9),
    "curves": Thing(lambda w: (_curve(w, "size"), _curve(w, "noise"))),
    "ddof": Option(1, 0),
    "decomposition": Option("auto", "information", "variance", "total_variance", "pairwise_kl"),
    "decompositions": Fixed(("information",)),
    "default": Fixed(None),
    "distance": Function("euclidean", "manhattan"),
    "draws": Option(5, 1),
    "bands": YES_NO,
    "checkpoint": Fixed(None),
    "empty": Option("allow", "most-likely"),
    "errors": Option("raise", "skip"),
    "group": Option(None, "sex"),
    "progress": Fixed(False),
    "scale_by_half": Option(False, True, "auto"),
    "source": Thing(_any_prediction),
    "start": Option(0, 5),
    "summaries": Object(lambda w: [_summary(w), _summary(w)]),
    "missing": YES_NO,
    "compare_summaries.models": YES_NO,
    "compare_summaries.summaries": Object(lambda w: {"a": _summary(w), "b": _summary(w)}),
    "thresholds": Option(None, [0.1, 0.5], [0.0, 2.0]),
    "entries": Option([]),
    "epistemic": Data(lambda w: w.positive(w.samples)),
    "eps": Option(1e-12, 0.0, 1e-300, 0.1),
    "error": Data(lambda w: w.positive(w.samples)),
    "evaluation": Thing(_evaluation),
    "expression": Option("probability", "interval", "ranking"),
    "fair": YES_NO,
    "first": Object(lambda w: [_replicates(w)]),
    "second": Object(lambda w: [_replicates(w)]),
    "folds": Option(None, 2, 3),
    "groups": Thing(lambda w: w.groups(_length(w))),
    "overlapping": YES_NO,
    "shift": Data(lambda w: w.positive(_length(w))),
    "soft": YES_NO,
    "center": Data(lambda w: w.numbers(w.samples, w.targets)),
    "factor": Data(_factor),
    "classifier": Fixed(None),
    "region": Thing(_any_prediction),
    "y_test": Data(_y),
    "CrossConformal.method": Option("plus", "minmax"),
    "CrossConformal.fit.folds": Data(lambda w: np.arange(_length(w)) % 2),
    "likelihood_ratio.calibration": Data(lambda w: w.numbers(w.samples, 2)),
    "likelihood_ratio.test": Data(lambda w: w.numbers(w.samples, 2)),
    "likelihood_ratio.folds": Option(2, 3),
    "compare_regions.calibration": Thing(_any_prediction),
    "ids": Data(lambda w: np.arange(_length(w))),
    "intercept_regularization": Option(None, 0.0, 1.0),
    "intersections": YES_NO,
    "is_out": Data(lambda w: w.rng.random(w.samples) < 0.5),
    "joint": YES_NO,
    "kind": Option("top-label", "classwise", "positive", "confidence"),
    "level": FRACTION,
    "levels": Data(lambda w: np.array([0.1, 0.5, 0.9])),
    "logits": Data(lambda w: w.numbers(w.samples, w.classes)),
    "lower": _of(0),
    "upper": _of(1),
    "maximum": Option(None),
    "mean": Data(lambda w: w.numbers(*w.layout())),
    "means": Data(_members),
    "members": Data(_members),
    "membership": Data(lambda w: w.rng.random((w.samples, w.classes)) < 0.5),
    "method": Option("auto", "information", "variance", "total_variance", "gaussian_logits"),
    "metric": METRIC,
    "metrics": Option(None, ["accuracy", "ece"], ["rmse"], ["nll"], []),
    "minimum": Option(None, {"accuracy_score": 0.5}, {"roc_auc_score": 2.0}),
    "model": Fixed("a model"),
    "name": Option(None, "ece"),
    "neighbors": Option(1, 2, 5),
    "node_limit": Option(50, None, 1),
    "noise": Option(0.1, 0.0, 1e200),
    "norm": Option(1, 2, "max", 3),
    "normalize": YES_NO,
    "notes": Fixed(()),
    "number": Option(3, 1, 0),
    "option": Option(None, ""),
    "options": Fixed({}),
    "order": Option(None, 1, 2),
    "outcomes": Option(None),
    "place": Option("headline", "nowhere"),
    "role": Option("skill", "none"),
    "state": Fixed(METRICS["accuracy"].state([0, 1], [0.2, 0.7])),
    "output": Option("gaussian", "quantiles"),
    "part": Option("predictive", "aleatoric", "epistemic"),
    "path": Fixed("/nowhere/file.npz", "", "x"),
    "per_class": YES_NO,
    "per_sample": YES_NO,
    "performance": Option("accuracy", "rmse"),
    "read": Fixed("Read it."),
    "reliability": Option("ece", "nll"),
    "points": Option(5, 1, 2, 100),
    "positive": Option(None, 1, "ann"),
    "prediction": Thing(_any_prediction),
    "prediction_in": Thing(_any_prediction),
    "prediction_out": Thing(_any_prediction),
    "predictions": Thing(lambda w: {"a": _any_prediction(w), "b": w.prediction((type(_any_prediction(w)).__name__,))}),
    "prioritize": Option(None, 1, "ann", {"sex": "a"}),
    "privileged": Option(None, "a", 0, {"sex": "a"}),
    "probabilities": Data(lambda w: w.probabilities(w.samples, w.classes)),
    "protocol": Fixed(caveat.experiments.Protocol()),
    "quantity": Option("uncertainty", "prediction", None),
    "queries": Option(None, 1, 5),
    "random_state": SEED,
    "randomized": YES_NO,
    "range": Fixed((-math.inf, math.inf), (0.0, 1.0)),
    "reference_median": Option(None, 0.0, 1.0, 1e-320, 1e200),
    "regularization": Option(0.01, 0.0, 1e3),
    "repeats": COUNT,
    "replicates": Object(lambda w: _replicates(w)),
    "resample": Fixed(0, 1),
    "resamples": Option(RESAMPLES, 0, 1),
    "result": Thing(_evaluation),
    "risk": FRACTION,
    "rng": Object(lambda w: np.random.default_rng(0)),
    "rows": Data(lambda w: w.rng.integers(_length(w), size=3)),
    "sample_weight": Data(lambda w: w.positive(_length(w))),
    "samples": Option(5, 8, 1),
    "scale": Option("local", "adaptive", "global", "standard", None),
    "scaled": YES_NO,
    "schedule": Option("inverse-epochs", "constant-steps"),
    "score": Data(lambda w: w.numbers(w.samples)),
    "score_name": Fixed("accuracy"),
    "sensitivity": Option(None, 0.8, 1.0, 0.0),
    "specificity": Option(None, 0.8, 1.0, 0.0),
    "shrinkage": Option(1.0, 0.0, 1e3),
    "sizes": Option((0.1, 0.5, 1.0), (0.5, 1)),
    "smoothed": YES_NO,
    "smoothing": YES_NO,
    "sort": YES_NO,
    "squared": YES_NO,
    "stacklevel": Fixed(2),
    "std": Data(lambda w: w.positive(*w.layout())),
    "strata": Data(lambda w: w.rng.integers(2, size=w.samples)),
    "strategy": Option("equal-count", "equal-width"),
    "strength": Option(0.5, 0.0, 1e200),
    "symmetric": YES_NO,
    "target": TARGET,
    "targets": Option(None, ["a"], ["a", "b"]),
    "task": Option(None, "classification", "regression"),
    "test": Thing(_any_prediction),
    "test_samples": Fixed(3),
    "text": Option("", "{}", "null", "[1]", '{"format": "caveat class detection"}'),
    "threshold": Option(0.2, 0.0, 0.01, 1.0),
    "title": Fixed(None),
    "tolerance": Option(None, 1.0, [1.0, 2.0], 1e-320, 1e200),
    "total": Data(lambda w: w.positive(w.samples)),
    "train_score": Option(None),
    "part_correlation": Option(None),
    "noise_in": Option("train and test", "train"),
    "between": Option("lines", "steps"),
    "triage": Thing(_triage),
    "true_positive_rate": Option(0.95, 1.0, 0.5),
    "truth": Data(_y),
    "uncertainty": Data(lambda w: w.positive(w.samples)),
    "value": Data(lambda w: w.numbers(w.samples)),
    "values": Data(lambda w: w.ordered(*w.layout(), 3)),
    "variance": Data(lambda w: w.positive(*w.layout())),
    "variances": Data(lambda w: np.abs(_members(w))),
    "variation": Function("entropy", "gini"),
    "wanted": Fixed({}),
    "weights": Option((1, 1, 1, 1), (0, 0, 0, 1), (1e-320, 0, 0, 0), (1e308, 1e308, 0, 1)),
    "wrong": Data(lambda w: w.rng.random(w.samples) < 0.5),
    "y": Data(_y),
    "y_in": Data(_y),
    "y_out": Data(_y),
    "y_train": Data(lambda w: w.numbers(w.samples)),
    "y_true": Data(_y),
    # Where a name means something else.
    "evaluate.y_train": Option(None),
    "Curve.aleatoric": Data(lambda w: w.positive(w.members, 3)),
    "Curve.epistemic": Data(lambda w: w.positive(w.members, 3)),
    "Curve.score": Data(lambda w: w.numbers(w.members, 3)),
    "Curve.train_score": Data(lambda w: w.numbers(w.members, 3)),
    "Disentanglement.samples": Fixed(3),
    "Disentanglement.task": Fixed("classification"),
    "ClassDetection.samples": Fixed(3),
    "ClassDetection.model": Fixed("a model"),
    "Curve.decomposition": Fixed("information"),
    "replicates.truth": Object(lambda w: w.numbers(w.samples)),
    "Curve.samples": Data(lambda w: np.arange(3)),
    "Curve.kind": Option("size", "noise"),
    "ClassDetection.classes": Object(lambda w: tuple("abcde"[: w.classes])),
    "ConformalSets.score": Option("lac", "aps", "raps"),
    "Dataset.take.rows": Data(lambda w: np.arange(3)),
    "Decomposition.method": Option("own"),
    "Disentanglement.curve.kind": Option("size", "noise"),
    "Evaluation.plot.kind": Option(None, *caveat.charts.CHARTS),
    "Comparison.plot.kind": Option(None, "comparison"),
    "Disentanglement.plot.kind": Option(None, "terms", "sweeps"),
    "FairnessAudit.plot.kind": Option(None, *caveat.charts.CHARTS),
    "coverage_curve.kind": Option("central", "quantile"),
    "exchangeability_test.method": Option("permutation", "martingale"),
    "exchangeability_test.cluster": Object(
        lambda w: None if w.pick.rarely() else (w.rng.integers(3, size=w.samples),) * 2
    ),
    "consistency.values": Data(lambda w: w.numbers(w.samples)),
    "lipschitz.values": Data(lambda w: w.numbers(w.samples)),
    "lipschitz.share": FRACTION,
    "pair_interval.kind": Option("gap", "ratio"),
    "pair_interval.values": Object(lambda w: (0.3, 0.2)),
    "pair_interval.replicates": Object(lambda w: (_replicates(w), _replicates(w))),
    "pair_interval.metric": Object(lambda w: METRICS["mean_absolute_error"]),
    "confidence_interval.metric": Object(lambda w: METRICS["mean_absolute_error"]),
    "confidence_interval.value": Fixed(0.3),
    "interval_of.value": Fixed(0.3, 0.0, 1e200),
    "replicates.metric": Object(lambda w: METRICS["mean_absolute_error"]),
    "replicates.inputs": Object(lambda w: {"mean": w.numbers(w.samples)}),
    "replicates.plan": Object(lambda w: built(caveat.resampling.make_plan, w.samples, resamples=RESAMPLES, random_state=0)),
    "replicates.prepared": Fixed(None),
    "replicates.options": Fixed(None, {}),
    "replicates.rows": Fixed(None),
    "Prepared.inputs": Object(lambda w: {"mean": w.numbers(w.samples)}),
    "Prepared.plan": Object(lambda w: built(caveat.resampling.make_plan, w.samples, resamples=RESAMPLES, random_state=0)),
    "Prepared.rows": Fixed(None),
    "concat.predictions": Thing(lambda w: [w.prediction(("Gaussian",)), w.prediction(("Gaussian",))]),
    "class_distances.distance": Function("energy", "bhattacharyya", "wasserstein", "euclidean"),
    "class_distances.embedding": Option(None, np.asarray, 3),
    "taxonomy": Option({0: "a", 1: "b", 2: "a"}, {}, None, {"a": 1}),
    "geometric_uncertainty.distance": Function("fisher-rao", "euclidean", "hellinger"),
    "predictions.ProbabilityInterval.lower": Data(lambda w: w.keep("unit", lambda: np.sort(w.shares(w.samples, w.classes, 2)))[..., 0]),
    "predictions.ProbabilityInterval.upper": Data(lambda w: w.keep("unit", lambda: np.sort(w.shares(w.samples, w.classes, 2)))[..., 1]),
    "predictions.ProbabilityInterval.from_binary.lower": Data(lambda w: w.keep("unit", lambda: np.sort(w.shares(w.samples, 2)))[..., 0]),
    "predictions.ProbabilityInterval.from_binary.upper": Data(lambda w: w.keep("unit", lambda: np.sort(w.shares(w.samples, 2)))[..., 1]),
    "predictions.Categorical.probabilities": Data(lambda w: w.probabilities(*w.pick.of(((w.samples, w.classes), (w.members, w.samples, w.classes))))),
    "predictions.Categorical.from_binary.probabilities": Data(lambda w: w.shares(w.samples)),
    "predictions.GaussianLogits.mean": Data(lambda w: w.numbers(w.samples, w.classes)),
    "predictions.GaussianLogits.variance": Data(lambda w: w.positive(w.samples, w.classes)),
    "predictions.GaussianLogits.from_std.mean": Data(lambda w: w.numbers(w.samples, w.classes)),
    "predictions.GaussianLogits.from_std.std": Data(lambda w: w.positive(w.samples, w.classes)),
    "predictions.Gaussian.from_members.mean": Data(_members),
    "predictions.Gaussian.from_members.variance": Data(lambda w: np.abs(_members(w))),
    "predict_distribution.X": Data(lambda w: w.numbers(w.samples, 2)),
    "make_plan.samples": Option(5, 1, 30),
    **{
        f"{name}.members": Option("mean", "each")
        for name in (
            "BayesianBinning", "BetaCalibration", "QuadraticScaling", "ScalingBinning", "SplineCalibration",
            "StructuredMatrixScaling", "StructuredVectorScaling",
        )
    },
    "DirichletCalibration.members": Option("mean", "each"),
    "HistogramBinning.members": Option("mean", "each"),
    "IsotonicCalibration.members": Option("mean", "each"),
    "PlattScaling.members": Option("mean", "each"),
    "TemperatureScaling.members": Option("mean", "each"),
    "Protocol.noise": Option((0.0, 0.5), (0, 1)),
    "uncertainty.measure.name": Option(*caveat.uncertainty.MEASURES),
    "MetricRegistry.kind": Option("metric"),
    "charts.comparison.result": Thing(_comparison),
    "charts.trade_off.result": Thing(_comparison),
    "charts.plot.kind": Option(None, *caveat.charts.CHARTS),
    "charts.chart.kind": Option(None, *caveat.charts.CHARTS),
    "charts.reliability.view": Option(None, "class", "confidence", "entropy", "variation"),
    "overlay.charts": Thing(lambda w: {"a": _chart(w)}),
    "charts.consistency.result": Thing(_consistency),
    "charts.drift.result": Thing(_drift),
    "charts.measure_ecdf.result": Thing(_measure_comparison),
    "charts.measure_ecdf.measure": Option(None, "gini", "none"),
    "charts.class_ecdf.result": Thing(_measure_comparison),
    "charts.class_ecdf.one_class": Option(None, 0, "a", 99),
    "charts.flow_chart.result": Thing(_scenarios),
    "charts.flow_chart.best": COUNT,
    "charts.flow_chart.parts": COUNT,
    "charts.confused.result": Thing(_measure_comparison),
    "charts.near_misses.result": Thing(_measure_comparison),
    "charts.kinds.result": Thing(_explanation),
    "charts.class_map.pixels": Thing(_pixels),
    "charts.class_map.truth": Option(None, 3),
    "charts.layer_map.pixels": Thing(_pixels),
    "charts.layer_map.measure": Option("gini_impurity", "none"),
    "charts.class_map.missing": Option(None, 0, "none"),
    "charts.kind_map.pixels": Thing(_pixels),
    "charts.label_map.codes": Option([[0, 1], [1, -1]], [[5]], [[0.5]], 3, None),
    "charts.label_map.names": Option(["a", "b"], ["a"]),
    "charts.label_map.colors": Option(None, ["#ff0000", "#00ff00"], ["red"]),
    "charts.number_map.values": Data(lambda w: w.numbers(4, 3)),
    "charts.number_map.ends": Option(None, (0.0, 1.0), (2.0, 2.0)),
    "charts.embedding.result": Thing(_embedding),
    "charts.embedding.measure": Option("gini_impurity", "homophily", "none"),
    "SampleEmbedding.plot.kind": Option(None, "embedding"),
    "embed_samples.samples": Option(5, 8, 2),
    "embed_samples.perplexity": Option(2.0, 1.0, 0.0, np.nan),
    "map_layers.pixels": Thing(_pixels),
    "map_layers.measures": Option(None, ["gini"], ["none"], []),
    "map_layers.truth": Option(None, 3),
    "map_layers.missing": Option(None, 0),
    "map_layers.block": Option(None, 2, 0, (2, 2, 2)),
    "map_layers.image": Option(None, 3, np.zeros((2, 2))),
    "map_layers.channels": Option((0, 1, 2), (0, 1)),
    "signatures.sample": Option(None, [0.0, 1.0], 3),
    "signatures.probabilities": Option(None, [0.5, 0.5], 3),
    "signatures.y": Data(lambda w: np.arange(w.samples) % 2),
    "signatures.dense": Option(0.75, 1, 0.0),
    "signatures.channels": Option(None, [1.0, 2.0]),
    "false_color.image": Data(lambda w: w.numbers(4, 3, 3)),
    "false_color.channels": Option((0, 1, 2), (0, 1), (0, 1, 9)),
    "MeasureComparison.plot.kind": Option(None, "confused", "near_misses"),
    "UncertaintyExplanation.plot.kind": Option(None, "kinds"),
    "UncertaintyExplanation.hesitates_between.sample": Fixed(0),
    "UncertaintyExplanation.with_truth.samples": Option(None, [0, 1], [99], "none"),
    "compare_measures.measures": Option(None, ["gini", "margin"], ["none"], []),
    "distances": Data(_distances),
    "X_train": Data(lambda w: w.numbers(w.samples, 2)),
    "block_codes.shape": Option((4, 5), (2, 3, 4), (1, 1)),
    "side": Option(2, 1, (2, 3), 0),
    "correlation_length.values": Data(lambda w: w.numbers(w.samples, 3)),
    "correlation_length.valid": Option(None, True),
    "choose_block.errors": Data(lambda w: w.numbers(w.samples, 3)),
    "choose_block.valid": Option(None, True),
    "average_neighbors.pixels": Thing(_pixels),
    "average_neighbors.share": Option(0.5, 0.1, 1),
    "average_neighbors.rounds": Option(1, 3, 0),
    "windows.height": Option(10, 1),
    "windows.width": Option(10, 3),
    "windows.pixels": Option(20, 1, 0),
    "Scene.image": Data(lambda w: w.numbers(4, 3, 2)),
    "Scene.labels": Option(np.ones((4, 3), int), np.zeros((4, 3), int), None),
    "Scene.classes": Option(("a",), ("a", "b"), ()),
    "Scene.description": Option(""),
    "make_modulations.samples": Option(1, 3, 0),
    "make_modulations.snr": Option(10.0, -5.0, 1e9),
    "make_modulations.fading": YES_NO,
    "make_modulations.clock_offset": Option(0.0, 5.0, -1.0),
    "make_modulations.classes": Option(["QPSK"], ["none"], []),
    "hesitant": Option(0.2, 0.0, 1.0),
    "suspicious": Option(0.5, 0.0, 2.0),
    "charts.repair_map.result": Thing(_repair),
    "Calibrator.method": Option("auto", "ts"),
    "Calibrator.candidates": Option(None, ["TemperatureScaling"], ["VarianceScaling"], []),
    "BayesianBinning.spread": Option(10.0, 1.0, 2.5),
    "BayesianBinning.prior_samples": Option(2.0, 0.1, 50.0),
    "SplineCalibration.knots": Option(6, 2, 1),
    "SplineCalibration.smoothness": Option(1.0, 0.0, 1e3),
    "charts.drift.groups": Option(False, True),
    "charts.drift_distribution.target": Option("", "0"),
    "monitoring.drift.alpha": Option(0.05, 0.5),
    "monitoring.drift_history.alpha": Option(0.05, 0.5),
    "monitoring.DriftMonitor.alpha": Option(0.05, 0.5),
    "charts.drift_distribution.result": Thing(_drift),
    "charts.history.result": Thing(_history),
    "charts.drift_distribution.quantity": Option(None, "probability"),
    "charts.history.quantity": Option(None, "total"),
    "drift.reference": Thing(lambda w: w.keep("side", w.prediction)),
    "drift.new": Thing(lambda w: w.keep("side", w.prediction)),
    "names": Fixed(("a", "b")),
    "drift_history.summaries": Thing(lambda w: {"a": w.keep("side", w.prediction), "b": w.keep("side", w.prediction)}),
    "drift_history.reference": Fixed(None),
    "DriftMonitor.reference": Thing(lambda w: w.keep("side", w.prediction)),
    "DriftMonitor.update.new": Thing(lambda w: w.prediction()),
    "DriftMonitor.load.path": Fixed("/nowhere/monitor.json"),
    "DriftMonitor.save.path": Fixed("/nowhere/monitor.json"),
    "Drift.state.question": Option("predictions", "skill"),
    "Drift.distributions.quantity": Option("probability"),
    "DriftHistory.series.quantity": Option("probability"),
    "charts.detection.result": Thing(_class_detection),
    "charts.sweeps.result": Thing(_disentanglement),
    "charts.terms.result": Thing(_disentanglement),
    "charts.distributions.result": Thing(_audit),
    "charts.domain_shift.result": Thing(_domain_shift),
    "charts.ratios.result": Thing(_audit),
    "charts.shift.result": Thing(_shift_curves),
    "charts.sweeps.decomposition": Option(None, "information"),
    "charts.terms.decomposition": Option(None, "information"),
    "charts.detection.decomposition": Option(None, "information"),
    "Disentanglement.curve.decomposition": Option(None, "information"),
    "Disentanglement.error.decomposition": Option(None, "information"),
    "Disentanglement.verdict.decomposition": Option(None, "information"),
    "estimators.from_sklearn.model": Thing(lambda w: _sklearn_model(w.task)),
    "models.from_model.model": Thing(lambda w: _sklearn_model(w.task)),
    "models.from_model.X": Fixed(np.zeros((3, 2))),
    "predictions.Gaussian.component.name": Option("aleatoric", "epistemic", "total"),
    "estimators.preset.name": Option("synthetic-fairness", "nothing"),
    "estimators.preset.method": Option(None, "mc-dropout"),
    "estimators.preset.classes": Option(10, 2),
    "load.path": Fixed("/nowhere/model"),
    "estimators.preset.head": Option(None, "softmax"),
    "load.module": Option(None),
    "repair.candidates": Option(None, ["TemperatureScaling"], ["VarianceScaling"], []),
    "repair.folds": Option(5, 2, 1),
    "simultaneous": YES_NO,
    "TriagePolicy.fit.loss": Data(lambda w: w.shares(_length(w))),
    "set_losses.loss": Option("false negatives", "false discoveries", "missed", "size"),
    "set_losses.score": Data(lambda w: w.numbers(w.samples, w.classes)),
    "set_losses.y": Data(lambda w: w.rng.random((w.samples, w.classes)) < 0.5),
    "set_losses.thresholds": Data(lambda w: np.array([0.1, 0.5, 0.9])),
    "losses": Data(_losses),
    "ConformalRiskControl.fit.thresholds": Data(lambda w: np.array([0.1, 0.5, 0.9])),
    "ConformalRiskControl.threshold_for.groups": Thing(lambda w: w.groups(w.samples)),
    "bound": Option(1.0, 2.0, 1e-320, 1e200),
    "rate": FRACTION,
    "dependence": Option("exchangeable", "any"),
    "null": Data(lambda w: w.rng.random(w.samples) < 0.5),
    "p_value": Option("betting", "hoeffding-bentkus", "binomial"),
    "starts": Option(1, 2, 5),
    "LearnThenTest.method": Option("fixed-sequence", "bonferroni", "holm", "graphical"),
    "LearnThenTest.fit.order": Option(None, [2, 0], [0, 1, 2]),
    "LearnThenTest.partial_fit.order": Option(None, [2, 0]),
    "choose.cost": Data(lambda w: w.numbers(3)),
    "step": Option(0.05, 1.0, 1e-320, 1e200),
    "steps": Option((0.05,), (0.01, 0.1)),
    "horizon": Option(100, 1, 10),
    "correction": Option(0.005, 0.0, 1.0),
    "window": Option(None, 100, 9, 1),
    "shortest": YES_NO,
    "time": Option(None, "rows"),
    "margins": Option(None, [[0.0, 1.0]], [[-np.inf, np.inf]]),
    "delay": Option(None, 1, 7),
    "block": Option(1, 2, 5),
    "AdaptiveConformal.interval.prediction": Thing(_of_numbers),
    "AdaptiveConformal.update.prediction": Thing(_of_numbers),
    "AdaptiveConformal.warm_up.prediction": Thing(_of_numbers),
    "AdaptiveConformal.run.prediction": Thing(_of_numbers),
    "AdaptiveConformal.update.y": Thing(_y),
    "AdaptiveConformal.save.path": Fixed("/nowhere/state.json"),
    "AdaptiveConformal.load.path": Fixed("/nowhere/state.json"),
    "AggregatedConformal.interval.prediction": Thing(_of_numbers),
    "AggregatedConformal.update.prediction": Thing(_of_numbers),
    "AggregatedConformal.warm_up.prediction": Thing(_of_numbers),
    "AggregatedConformal.run.prediction": Thing(_of_numbers),
    "AggregatedConformal.update.y": Thing(_y),
    "AggregatedConformal.save.path": Fixed("/nowhere/state.json"),
    "AggregatedConformal.load.path": Fixed("/nowhere/state.json"),
    "BlockConformal.interval.prediction": Thing(_of_numbers),
    "BlockConformal.update.prediction": Thing(_of_numbers),
    "BlockConformal.warm_up.prediction": Thing(_of_numbers),
    "BlockConformal.run.prediction": Thing(_of_numbers),
    "BlockConformal.update.y": Thing(_y),
    "BlockConformal.save.path": Fixed("/nowhere/state.json"),
    "BlockConformal.load.path": Fixed("/nowhere/state.json"),
}  # fmt: skip


def _length(w):
    prediction = w.kept.get("prediction")
    return w.samples if prediction is None else len(prediction)


def _replicates(w):
    inputs = {"mean": w.numbers(w.samples)}
    plan = built(caveat.resampling.make_plan, w.samples, resamples=RESAMPLES, random_state=0)
    metric = METRICS["mean_absolute_error"]
    return built(caveat.resampling.replicates, metric, w.numbers(w.samples), inputs, plan)


def argument(name, parameter):
    """Return how an argument of a callable is made: by its full name, or a shorter one."""
    words = name.split(".")
    for start in range(len(words)):
        for end in (len(words), len(words) - 1):
            key = ".".join([*words[start:end], parameter])
            if "." in key and key in ARGUMENTS:
                return ARGUMENTS[key]
    return ARGUMENTS[parameter]


# ------------------------------------------------------------------------- containers and spoilers


def _strided(a):
    wide = np.zeros(tuple(2 * n for n in a.shape), dtype=a.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in a.shape)]
    view[...] = a
    return view


def _frozen(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def _pandas(a):
    import pandas as pd

    if a.ndim == 1:
        return pd.Series(a, index=[f"row {i % 3}" for i in range(len(a))])
    return pd.DataFrame(a, index=np.arange(len(a))[::-1]) if a.ndim == 2 else a


def _nullable(a):
    import pandas as pd

    kinds = {"f": "Float64", "i": "Int64", "b": "boolean", "U": "string"}
    return pd.Series(a, dtype=kinds[a.dtype.kind]) if a.ndim == 1 else _pandas(a)


def _polars(a):
    import polars as pl

    if a.ndim == 1:
        return pl.Series("column", a)
    return pl.DataFrame({str(i): a[:, i] for i in range(a.shape[1])}) if a.ndim == 2 else a


def _arrow(a):
    import pyarrow as pa

    if a.ndim == 1:
        return pa.array(a.tolist())
    return pa.table({str(i): a[:, i] for i in range(a.shape[1])}) if a.ndim == 2 else a


def _chunked(a):
    import pyarrow as pa

    return (
        pa.chunked_array([a[:1].tolist(), a[1:].tolist()])
        if a.ndim == 1 and len(a) > 1
        else _arrow(a)
    )


def _torch(a):
    import torch

    return torch.tensor(a) if a.dtype.kind != "U" else a


# What holds the same numbers must give the same answer.
EXACT = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "Fortran": np.asfortranarray,
    "strided": _strided,
    "read-only": _frozen,
    "reversed": lambda a: a[::-1].copy()[::-1],
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "object": lambda a: a.astype(object),
    "pandas": _pandas,
    "nullable": _nullable,
    "polars": _polars,
    "arrow": _arrow,
    "chunked": _chunked,
    "torch": _torch,
    "masked": lambda a: np.ma.masked_array(a),
}


def _put(value):
    def spoil(a, rng):
        a = a.astype(object) if a.dtype.kind not in "f" else a.copy()
        if a.ndim == 0:
            return value
        a[tuple(rng.integers(n) for n in a.shape)] = value
        return a

    return spoil


def _cast(dtype):
    def spoil(a, rng):
        if a.dtype.kind in "OU" and np.dtype(dtype).kind not in "USO":
            return a
        with np.errstate(all="ignore"):
            return np.nan_to_num(a).astype(dtype) if a.dtype.kind == "f" else a.astype(dtype)

    return spoil


def _hidden(a, rng):
    return np.ma.masked_array(a, mask=rng.random(a.shape) < 0.5)


def _ragged(a, rng):
    return [[1, 2], [3]]


SPOILERS = {
    "nan": _put(np.nan),
    "inf": _put(np.inf),
    "-inf": _put(-np.inf),
    "negative": _put(-1.0),
    "above 1": _put(1.5),
    "1e300": _put(1e300),
    "None": lambda a, rng: _put(None)(a.astype(object), rng),
    "text": lambda a, rng: _put("x")(a.astype(object), rng),
    "huge int": lambda a, rng: _put(10**400)(a.astype(object), rng),
    "float32": _cast(np.float32),
    "float16": _cast(np.float16),
    "longdouble": _cast(np.longdouble),
    "int8": _cast(np.int8),
    "uint8": _cast(np.uint8),
    "int64": _cast(np.int64),
    "bool": _cast(bool),
    "str": _cast(str),
    "complex": _cast(complex),
    "bytes": lambda a, rng: np.full(a.shape, b"x"),
    "dates": lambda a, rng: np.full(a.shape, np.datetime64("2020-01-01")),
    "spans": lambda a, rng: np.full(a.shape, np.timedelta64(3, "s")),
    "records": lambda a, rng: np.zeros(a.shape, dtype=[("x", float)]),
    "hidden": _hidden,
    "empty": lambda a, rng: a[:0],
    "no columns": lambda a, rng: a.reshape(*a.shape, 1)[..., :0],
    "shorter": lambda a, rng: a[:-1],
    "longer": lambda a, rng: np.concatenate([a, a[:1]]),
    "one axis more": lambda a, rng: a[None],
    "last axis": lambda a, rng: a[..., None],
    "flat": lambda a, rng: a.ravel(),
    "turned": lambda a, rng: a.T,
    "number": lambda a, rng: 0.5,
    "0-d": lambda a, rng: np.array(0.5),
    "ragged": _ragged,
    "sets": lambda a, rng: {1, 2},
    "dict": lambda a, rng: {"a": a},
    "generator": lambda a, rng: (x for x in a),
    "function": lambda a, rng: len,
    "class": lambda a, rng: dict,
    "string": lambda a, rng: "abc",
    "nothing": lambda a, rng: None,
    "polars nulls": lambda a, rng: _nulls(a),
    "pandas category": lambda a, rng: _category(a),
    "pandas dates": lambda a, rng: _dates(a),
    "sparse": lambda a, rng: _sparse(a),
    "frame in frame": lambda a, rng: _empty_frame(),
}  # fmt: skip


def _nulls(a):
    import polars as pl

    return pl.Series([None, *a.ravel()[1:].tolist()], strict=False)


def _category(a):
    import pandas as pd

    return pd.Series(pd.Categorical([str(x) for x in a.ravel()]))


def _dates(a):
    import pandas as pd

    return pd.Series(pd.date_range("2020", periods=max(a.size, 1)))


def _sparse(a):
    from scipy import sparse

    return (
        sparse.csr_array(np.nan_to_num(np.atleast_2d(a).astype(float)))
        if a.ndim < 3 and a.dtype.kind in "fib"
        else None
    )


def _empty_frame():
    import pandas as pd

    return pd.DataFrame()


ODD = (
    None, 0, -1, 1, 2, 0.5, 1.5, math.nan, math.inf, -math.inf, 1e300, 1e-320, "", "nonsense", [],
    (), {}, [0.1, 0.5], {"a": 1}, True, np.float32(0.5), np.int64(3), np.array(0.5), np.array([2]),
    np.array([[0.5, 0.5]]), b"x", 1j, "0.5", object(), len, dict, np.nan, [None], ["a", "a"], {1},
    10**30, -(10**30), np.datetime64("2020-01-01"), [[1], [2, 3]], range(3), float, np.bool_(True),
)  # fmt: skip


# --------------------------------------------------------------------------------------- the call


class FaultError(AssertionError):
    """A public callable did what it must not."""


CALLS = {"made": 0, "answered": 0, "refused": 0}


def attempt(function, positional, named):
    """Return whether a call was answered, and its answer; raise for anything but an own error."""
    CALLS["made"] += 1
    try:
        answer = function(*positional, **named)
    except TypeError as error:
        if "required positional argument" not in str(error):
            raise
        return False, None
    except (CaveatError, NotFittedError, FileNotFoundError) as error:
        if not str(error).strip():
            raise FaultError("an error without words") from error
        CALLS["refused"] += 1
        return False, None
    CALLS["answered"] += 1
    return True, answer


def one_call(name, function, pick):
    """Draw a call of a public callable, make it, and look at the answer."""
    world = World(pick, task="classification" if _of_classes(function) else None)
    words = name.split(".")
    positional, named, kinds = [], {}, {}
    method = len(words) == 3 and not inspect.ismethod(function)
    if method:
        positional.append(receiver(name, world))
    for parameter in list(inspect.signature(function).parameters.values())[method:]:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter.default is not parameter.empty and pick.rarely():
            continue
        kinds[parameter.name] = kind = argument(name, parameter.name)
        named[parameter.name] = kind.make(world)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(named.pop(parameter.name))
    spoiled = bool(named) and pick.rarely()
    call = dict(named)
    if spoiled:
        place = pick.of(tuple(named))
        call[place] = _spoil(named[place], kinds[place], world)
    answered, answer = attempt(function, positional, call)
    if answered:
        sound(answer, function, world)
    steady = call.get("random_state", 0) is not None and "rng" not in call
    if answered and not spoiled and steady:
        _same_in_other_containers(function, positional, named, kinds, answer, pick)
    return answered


def _of_classes(function):
    return bool({"probabilities", "membership"} & set(inspect.signature(function).parameters))


def _spoil(value, kind, world):
    if isinstance(kind, Data) and world.pick.of((True, True, False)):
        return SPOILERS[world.pick.of(tuple(SPOILERS))](np.asarray(value), world.rng)
    if isinstance(kind, Fixed | Object):
        return value
    odd = world.pick.of(ODD)
    if isinstance(kind, Function) and callable(
        odd
    ):  # what a function of the user's own does is its affair
        return value
    return kind.make(world) if isinstance(kind, Flag) and isinstance(odd, np.ndarray) else odd


def _same_in_other_containers(function, positional, named, kinds, answer, pick):
    data = [key for key in named if isinstance(kinds[key], Data)]
    if not data or not isinstance(answer, float | np.ndarray | Container):
        return
    container = pick.of(tuple(EXACT))
    try:
        dressed = {key: EXACT[container](np.asarray(named[key])) for key in data}
    except (TypeError, OverflowError, ValueError):  # the container does not hold such values
        return
    answered, other = attempt(function, positional, {**named, **dressed})
    if answered and not same(answer, other):
        raise FaultError(f"as {container}: {other!r}, as arrays: {answer!r}")


def same(one, other):
    """Whether two answers are the same but for rounding."""
    if isinstance(one, Container):
        return type(one) is type(other) and all(
            same(value, other._fields()[key]) for key, value in one._fields().items()
            if key in one._arrays
        )  # fmt: skip
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.kind not in "fiub":
        return one.shape == other.shape
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-9, atol=0, equal_nan=True)


# ------------------------------------------------------------------------------------- the answer


def sound(answer, function, world):
    """Raise if an answer cannot be right."""
    if isinstance(answer, float | np.floating):
        _sound_number(float(answer), function, world)
    elif isinstance(answer, np.ndarray) and answer.dtype.kind == "f":
        if np.isnan(answer).any() and not _mentions(function, "nan"):
            raise FaultError(f"NaN that is not documented: {answer!r}")
        if np.isinf(answer).any() and not _mentions(function, "inf"):
            raise FaultError(f"infinity that is not documented: {answer!r}")
    elif isinstance(answer, Container):
        try:
            getattr(answer, "_of_any_precision", type(answer))(**answer._fields())
        except CaveatError as error:
            raise FaultError(f"{answer!r} is not valid: {error}") from error
        if hasattr(answer, "moments"):
            sound(answer.moments()[1], function, world)
    elif hasattr(answer, "rows") and hasattr(answer, "to_frame"):
        sound_table(answer)
    elif dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        repr(answer)
    for show in ("_repr_html_", "_repr_svg_", "to_json", "to_frame", "summary"):
        ours = type(answer).__module__.startswith("caveat.") and not isinstance(answer, type)
        if ours and callable(getattr(answer, show, None)):
            with contextlib.suppress(NotFittedError):  # a recalibrator that was only made
                getattr(answer, show)()


def _sound_number(value, function, world):
    entry = METRICS.get(function.__name__)
    if math.isnan(value) and not _mentions(function, "nan"):
        raise FaultError("NaN that is not documented")
    if math.isinf(value) and not _mentions(function, "inf"):
        raise FaultError(f"{value} that is not documented")
    if entry is not None:
        low, high = entry.range
        if value < low - 1e-12 or value > high + 1e-12:
            raise FaultError(f"{value} is outside of the declared range {entry.range}")


def _mentions(function, word):
    return word in (inspect.getdoc(function) or "").lower()


def sound_table(table):
    """Raise if a row is outside of its metric's range, or its interval is upside down."""
    repr(table)
    for row in table.rows:
        low, high = getattr(row, "low", math.nan), getattr(row, "high", math.nan)
        if low > high:
            raise FaultError(f"an interval that is upside down: {row}")
        entry = METRICS.get(getattr(row, "metric", ""))
        value = getattr(row, "value", math.nan)
        if entry is not None and "gap" not in row.group and "ratio" not in row.group:
            for number in (value, low, high):
                if number < entry.range[0] - 1e-9 or number > entry.range[1] + 1e-9:
                    raise FaultError(f"outside of {entry.range}: {row}")
            if math.isnan(value) and not row.note if hasattr(row, "note") else False:
                raise FaultError(f"NaN without a note: {row}")
