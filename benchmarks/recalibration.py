"""Recalibrators against venn-abers, scikit-learn, torch-uncertainty, probmetrics, MAPIE and crepes.

Run with ``make benchmark``; ``docs/performance.md`` keeps the result.
"""

import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from guarantees import guarantees
from harness import Task, best, run
import peers  # noqa: F401  (before what imports torchvision)

import numpy as np
import torch
from crepes import ConformalClassifier, ConformalPredictiveSystem
from mapie.classification import SplitConformalClassifier
from mapie.regression import (
    ConformalizedQuantileRegressor,
    CrossConformalRegressor,
    SplitConformalRegressor,
)
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.calibration import _TemperatureScaling

import caveat

warnings.simplefilter("ignore")

with np.errstate():  # importing it changes how numpy reports errors, everywhere
    from venn_abers import VennAbers as PeerVennAbers
from torch.utils.data import DataLoader, TensorDataset

try:  # rows of a peer that is not there are left out
    from probmetrics.calibrators import SMSCalibrator, SVSCalibrator
except ImportError:
    SMSCalibrator = SVSCalibrator = None
try:
    from torch_uncertainty.post_processing import TemperatureScaler
except ImportError:
    TemperatureScaler = None
try:
    from online_cp.CPS import DempsterHillConformalPredictiveSystem
except ImportError:
    DempsterHillConformalPredictiveSystem = None

torch.set_num_threads(1)


class Given(RegressorMixin, BaseEstimator):
    """A fitted regressor whose prediction is its first column: MAPIE wants one."""

    def fit(self, X: Any, y: Any = None) -> "Given":
        self.fitted_ = True
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0]


class GivenColumn(Given):
    """A fitted quantile regressor whose prediction is one column."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X[:, self.column]


class GivenClasses(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose probabilities are its input."""

    def fit(self, X: Any, y: Any = None) -> "GivenClasses":
        self.classes_ = np.arange(10)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return X

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X.argmax(axis=1)


def two_classes(rng: np.random.Generator, n: int) -> tuple[caveat.Categorical, np.ndarray]:
    p = rng.random(n)
    return caveat.Categorical.from_binary(p), (rng.random(n) < p**1.5).astype(int)


def ten_classes(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    logits = rng.normal(size=(n, 10)) * 1.5
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=9)
    sharper = np.exp(1.8 * logits)
    return sharper / sharper.sum(axis=1, keepdims=True), y


def venn_abers(rng: np.random.Generator) -> Task:
    calibration, y = two_classes(rng, 100_000)
    test, _ = two_classes(rng, 100_000)

    def ours() -> np.ndarray:
        interval = caveat.VennAbers().fit(calibration, y).transform(test)
        return np.stack([interval.lower[:, 1], interval.upper[:, 1]], axis=1)

    def theirs() -> np.ndarray:
        peer = PeerVennAbers()
        peer.fit(calibration.mean, y)
        return peer.predict_proba(test.mean)[1]

    np.testing.assert_allclose(ours(), theirs(), atol=1e-12)
    return Task(
        "Venn-ABERS, 10^5 calibration and 10^5 test",
        ours,
        {"venn-abers": theirs},
        ("a sort of 10^5", lambda: np.sort(test.mean[:, 1])),
        {"venn-abers": ">= 2"},
        repeats=3,
    )


def temperature(rng: np.random.Generator) -> Task:
    p, y = ten_classes(rng, 1_000_000)
    prediction, logits = caveat.Categorical(p), np.log(p)

    def ours() -> float:
        return float(caveat.TemperatureScaling().fit(prediction, y).temperature_)

    def by_scikit_learn() -> float:
        return 1 / float(_TemperatureScaling().fit(logits, y).beta_)

    def by_torch_uncertainty() -> float:
        data = TensorDataset(torch.from_numpy(logits).float(), torch.from_numpy(y))
        scaler = TemperatureScaler(torch.nn.Identity())
        scaler.fit(DataLoader(data, batch_size=100_000), progress=False)
        return float(scaler.temperature[0].item())

    np.testing.assert_allclose(ours(), by_scikit_learn(), rtol=1e-4)
    theirs = {"scikit-learn": by_scikit_learn}
    if TemperatureScaler is not None:
        theirs["torch-uncertainty"] = by_torch_uncertainty
    return Task(
        "temperature, 10^6 x 10",
        ours,
        theirs,
        ("np.exp of the array", lambda: np.exp(logits)),
        {"scikit-learn": ">= 3", "torch-uncertainty": ">= 40"},
        repeats=1,
    )


def structured(rng: np.random.Generator) -> list[Task]:
    """Vector and matrix scaling; the reference is temperature scaling, of which they make use."""
    p, y = ten_classes(rng, 100_000)
    prediction = caveat.Categorical(p)
    tasks = []
    for name, kind, peer in (
        ("structured vector scaling", caveat.StructuredVectorScaling, SVSCalibrator),
        ("structured matrix scaling", caveat.StructuredMatrixScaling, SMSCalibrator),
    ):
        others = {} if peer is None else {"probmetrics": partial(lambda one: one().fit(p, y), peer)}
        if peer is not None:
            ours, theirs = kind().fit_transform(prediction, y).mean, peer().fit(p, y)
            # Its search ends early with many samples: close, and ours has the smaller loss.
            others_say, rows = theirs.predict_proba(p), np.arange(len(y))
            assert np.abs(ours - others_say).mean() < 1e-3
            assert np.log(ours[rows, y]).mean() > np.log(others_say[rows, y]).mean() - 1e-6
        tasks.append(
            Task(
                f"{name}, fit of 10^5 x 10",
                partial(lambda one: one().fit(prediction, y), kind),
                others,
                ("temperature scaling", lambda: caveat.TemperatureScaling().fit(prediction, y)),
                dict.fromkeys(others, ">= 5"),
                repeats=5,
            )
        )
    return tasks


def intervals(rng: np.random.Generator) -> list[Task]:
    n = 1_000_000
    mean, std = rng.normal(size=n), rng.gamma(3.0, size=n) + 0.1
    y = mean + std * rng.normal(size=n)
    gaussian = caveat.Gaussian(mean, std**2)
    quantiles = gaussian.to_quantiles([0.05, 0.5, 0.95])
    columns = np.ascontiguousarray(quantiles.values[0, :, 0])

    def split_by_mapie() -> np.ndarray:
        model = SplitConformalRegressor(Given().fit(None), confidence_level=0.9, prefit=True)
        return model.conformalize(mean[:, None], y).predict_interval(mean[:, None])[1]

    def quantiles_by_mapie() -> np.ndarray:
        models = [GivenColumn(i).fit(None) for i in (0, 2, 1)]
        model = ConformalizedQuantileRegressor(models, confidence_level=0.9, prefit=True)
        return model.conformalize(columns, y).predict_interval(columns, symmetric_correction=True)[
            1
        ]

    def ours_split() -> caveat.Interval:
        return caveat.ConformalResiduals(0.9).fit(gaussian, y).transform(gaussian)

    def ours_quantiles() -> caveat.Interval:
        return caveat.ConformalQuantiles(0.9).fit(quantiles, y).transform(quantiles)

    np.testing.assert_allclose(ours_split().lower[:, 0], split_by_mapie()[:, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(
        ours_quantiles().lower[:, 0], quantiles_by_mapie()[:, 0, 0], rtol=1e-9
    )
    reference = ("a partition", lambda: np.partition(y, n // 2))
    return [
        Task("split conformal, 10^6", ours_split, {"MAPIE": split_by_mapie}, reference, {"MAPIE": ">= 1"}),
        Task("CQR, 10^6", ours_quantiles, {"MAPIE": quantiles_by_mapie}, reference, {"MAPIE": ">= 1"}),
    ]  # fmt: skip


def sets(rng: np.random.Generator) -> list[Task]:
    n = 100_000
    p, y = ten_classes(rng, n)
    test, _ = ten_classes(rng, n)
    calibration, new = caveat.Categorical(p), caveat.Categorical(test)

    def lac() -> np.ndarray:
        return caveat.ConformalSets(0.9).fit(calibration, y).transform(new).membership

    def by_mapie() -> np.ndarray:
        model = SplitConformalClassifier(
            GivenClasses().fit(None), confidence_level=0.9, prefit=True, conformity_score="lac"
        )
        return model.conformalize(p, y).predict_set(test)[1][:, :, 0]

    fitted = caveat.ConformalSets(0.9).fit(calibration, y)
    few = slice(0, 20_000)

    def p_values() -> np.ndarray:
        return fitted.p_values(new)

    def by_crepes() -> np.ndarray:
        peer = ConformalClassifier()
        peer.fit(1 - p[np.arange(n), y][few])
        return peer.predict_p(1 - test[few], smoothing=False)

    part = caveat.ConformalSets(0.9).fit(calibration.take(few), y[few])
    agreement = (lac() == by_mapie()).mean()
    print(f"LAC sets agree with MAPIE's in {agreement:.6%} of the entries.\n")
    return [
        Task("LAC sets, 10^5 x 10", lac, {"MAPIE": by_mapie}, ("one pass", p.sum), {"MAPIE": ">= 5"}),
        Task("conformal p-values, 2 10^4 x 10", lambda: part.p_values(new.take(few)),
             {"crepes": by_crepes}, ("a sort of 2 10^4", lambda: np.sort(y[few])), {"crepes": ">= 90"}, repeats=3),
        Task("conformal p-values, 10^5 x 10", p_values, {}, ("a sort of 10^6", lambda: np.sort(test.ravel()))),
    ]  # fmt: skip


def shifted(rng: np.random.Generator) -> list[Task]:
    """Conformal prediction beyond exchangeability; the reference is what it generalizes."""
    n = 1_000_000
    mean = rng.normal(size=n)
    y, ratio = mean + rng.normal(size=n), rng.gamma(2.0, size=n)
    prediction = caveat.Gaussian(mean, 1.0)

    def plain() -> caveat.Interval:
        return caveat.ConformalResiduals(0.9).fit(prediction, y).transform(prediction)

    def weighted() -> caveat.Interval:
        conformal = caveat.ConformalResiduals(0.9).fit(prediction, y, shift=ratio)
        return conformal.transform(prediction, shift=ratio)

    # As MAPIE and crepes have no weights, one row has the definition: sort, add up, look up.
    def by_sorting() -> np.ndarray:
        scores = np.abs(y - mean)
        order = np.argsort(scores)
        reached = np.cumsum(ratio[order])
        places = np.searchsorted(reached, 0.9 * (1 - 1e-12) * (reached[-1] + ratio))
        return mean + np.append(scores[order], np.inf)[places]

    np.testing.assert_allclose(weighted().upper[:, 0], by_sorting(), rtol=1e-12)

    levels = np.arange(1, 101) / 101
    known, test = slice(0, 10_000), slice(0, 100_000)
    system = caveat.ConformalDistribution().fit(prediction.take(known), y[known])
    new = prediction.take(test)
    peer = ConformalPredictiveSystem().fit(y[known] - mean[known])
    low, high = 100 * levels[:50], 100 * levels[50:]

    def quantiles() -> np.ndarray:
        return system.quantiles(new, levels).values

    def by_crepes() -> np.ndarray:
        return peer.predict_percentiles(
            mean[test], lower_percentiles=list(low), higher_percentiles=list(high)
        )

    np.testing.assert_allclose(quantiles()[0, :, 0], by_crepes(), rtol=1e-9)
    score, few = slice(0, 500), slice(0, 1000)
    small = caveat.ConformalDistribution().fit(prediction.take(few), y[few])
    other = ConformalPredictiveSystem().fit(y[few] - mean[few])

    def crps() -> float:
        return float(small.crps(prediction.take(score), y[score]).mean())

    def crps_by_crepes() -> float:
        return float(other.evaluate(mean[score], y[score], metrics=["CRPS"])["CRPS"])

    np.testing.assert_allclose(crps(), crps_by_crepes(), rtol=1e-9)
    return [
        Task("weighted conformal, 10^6", weighted, {"a sort": by_sorting}, ("unweighted", plain),
             {"a sort": ">= 1", "unweighted": "within 2x"}),
        Task("quantiles of a CPS, 10^5 x 100 levels", quantiles, {"crepes": by_crepes},
             ("a copy", lambda: np.ones((100_000, 100)).copy()), {"crepes": ">= 1"}, repeats=3),
        Task("CRPS of a CPS, 10^3 known, 500 new", crps, {"crepes": crps_by_crepes},
             ("a sort of 10^3", lambda: np.sort(y[few])), {"crepes": ">= 1"}, repeats=3),
        label_only(rng),
        folds(rng),
    ]  # fmt: skip


def label_only(rng: np.random.Generator) -> Task:
    """The distribution function of the next label, from the labels alone, as online-cp has it."""
    known, new = rng.normal(size=10_000), rng.normal(size=10_000)
    system = caveat.ConformalDistribution().fit(caveat.Gaussian(np.zeros(len(known)), 1.0), known)
    zero = caveat.Gaussian(np.zeros(len(new)), 1.0)

    def ours() -> np.ndarray:
        return system.cdf(zero, new)

    def by_online_cp() -> np.ndarray:
        peer = DempsterHillConformalPredictiveSystem()
        peer.learn_initial_training_set(known)
        distribution = peer.predict_cpd()
        return np.array([distribution(value, tau=0.5) for value in new])

    theirs = {} if DempsterHillConformalPredictiveSystem is None else {"online-cp": by_online_cp}
    for peer in theirs.values():
        np.testing.assert_allclose(np.ravel(ours()), peer(), rtol=1e-12)
    return Task(
        "CDF of a CPS, 10^4 known, 10^4 new", ours, theirs,
        ("a sort of 10^4", lambda: np.sort(known)), dict.fromkeys(theirs, ">= 1"), repeats=3,
    )  # fmt: skip


def folds(rng: np.random.Generator) -> Task:
    """CV+ after the models were fitted: ten folds, 10^3 samples, 2,000 new ones."""
    n, m, count = 1_000, 2_000, 10
    x, new = rng.normal(size=(n, 1)), rng.normal(size=(m, 1))
    y = x[:, 0] + rng.normal(size=n)
    peer = CrossConformalRegressor(
        Given(), confidence_level=0.9, method="plus", cv=count
    ).fit_conformalize(x, y)
    codes = np.repeat(np.arange(count), n // count)
    said = np.repeat(new[None], count, axis=0)
    conformal = caveat.CrossConformal(0.9).fit(caveat.Gaussian(x[:, 0], 0.0), y, folds=codes)
    given = caveat.Gaussian(said, np.zeros_like(said))

    def ours() -> np.ndarray:
        return conformal.transform(given).upper[:, 0]

    def by_mapie() -> np.ndarray:
        return peer.predict_interval(new)[1][:, 1, 0]

    np.testing.assert_allclose(ours(), by_mapie(), rtol=1e-9)
    return Task(
        "CV+ intervals, 10 folds, 10^3 known, 2 10^3 new", ours, {"MAPIE": by_mapie},
        ("a sort of 2 10^6", lambda: np.sort(np.ones(n * m))), {"MAPIE": ">= 1"}, repeats=3,
    )  # fmt: skip


def growth(rng: np.random.Generator) -> None:
    print("## Recalibration: growth\n\nMicroseconds for each sample, fit and transform.\n")
    sizes = (10**3, 10**4, 10**5, 10**6)
    print("| technique | " + " | ".join(f"10^{len(str(n)) - 1}" for n in sizes) + " |")
    print("| --- |" + " --- |" * len(sizes))
    prediction, y = two_classes(rng, sizes[-1])
    mean = rng.normal(size=sizes[-1])
    gaussian, target = caveat.Gaussian(mean, 1.0), mean + rng.normal(size=sizes[-1])
    cases: list[tuple[Any, Any, Any]] = [
        (caveat.TemperatureScaling(), prediction, y),
        (caveat.IsotonicCalibration(), prediction, y),
        (caveat.VennAbers(), prediction, y),
        (caveat.ConformalSets(0.9), prediction, y),
        (caveat.ConformalResiduals(0.9), gaussian, target),
        (caveat.VarianceScaling(), gaussian, target),
    ]
    for method, given, truth in cases:
        cells = []
        for n in sizes:
            part, known = given.take(slice(0, n)), truth[:n]
            cells.append(f"{best(partial(method.fit_transform, part, known), 3) / n * 1e6:.3f}")
        print(f"| {type(method).__name__} | {' | '.join(cells)} |", flush=True)
    print()


if __name__ == "__main__":
    generator = np.random.default_rng(0)
    run(
        "Recalibration",
        [
            venn_abers(generator),
            temperature(generator),
            *structured(generator),
            *intervals(generator),
            *sets(generator),
            *shifted(generator),
        ],
    )
    growth(generator)
    run("Risk control, selections and series", guarantees(generator))
