"""Risk control, selections and series against MAPIE and crepes; part of ``recalibration.py``.

Alone: ``python benchmarks/guarantees.py``.
"""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import Task, run

import numpy as np
from crepes.base import p_values_batch
from mapie.regression import TimeSeriesRegressor
from mapie.risk_control import MultiLabelClassificationController
from sklearn.base import BaseEstimator, RegressorMixin

import caveat


class FirstColumn(RegressorMixin, BaseEstimator):
    """A fitted regressor whose prediction is its first column."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "FirstColumn":
        self.fitted_ = True
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0]


def risk(rng: np.random.Generator) -> list[Task]:
    p = rng.random((2000, 10)) ** 2
    y = rng.random(p.shape) < p
    y[np.arange(len(y)), p.argmax(axis=1)] |= ~y.any(axis=1)  # MAPIE wants a true label in each
    thresholds = np.arange(0, 1, 0.01)

    def ours() -> float:
        losses = caveat.risk_control.set_losses(p, y, thresholds)
        return float(caveat.ConformalRiskControl(0.1).fit(losses, thresholds).threshold_)

    def by_mapie() -> float:
        peer = MultiLabelClassificationController(
            predict_function=lambda X: X, risk="recall", method="crc", target_level=0.9
        )
        return float(peer.calibrate(p, y.astype(int)).best_predict_param[0])

    assert ours() == by_mapie()
    empty = caveat.risk_control.set_losses(p, y, thresholds, loss="size") == 0

    def tested() -> np.ndarray:
        losses = caveat.risk_control.set_losses(p, y, thresholds, loss="false discoveries")
        losses[empty] = 1.0  # as MAPIE counts a set without labels
        test = caveat.LearnThenTest(0.5, confidence=0.9, p_value="hoeffding-bentkus",
                                    method="bonferroni").fit(losses)  # fmt: skip
        return test.valid_

    def tested_by_mapie() -> np.ndarray:
        peer = MultiLabelClassificationController(
            predict_function=lambda X: X, risk="precision", method="ltt", target_level=0.5,
            confidence_level=0.9, predict_params=thresholds,
        )  # fmt: skip
        peer.calibrate(p, y.astype(int))
        return np.isin(np.arange(100), peer.valid_index[0])

    np.testing.assert_array_equal(tested(), tested_by_mapie())
    losses = rng.random((10_000, 1)) * np.linspace(0, 1, 200)

    def bets() -> np.ndarray:
        return caveat.LearnThenTest(0.1).fit(losses).valid_

    return [
        Task("conformal risk control, 2 000 x 10 labels x 100", ours, {"MAPIE": by_mapie},
             ("a sort of the scores", lambda: np.sort(p.ravel())), {"MAPIE": ">= 1"}, repeats=3),
        Task("Learn then Test, Bonferroni, 2 000 x 10 labels x 100", tested,
             {"MAPIE": tested_by_mapie}, ("a sort of the scores", lambda: np.sort(p.ravel())),
             {"MAPIE": ">= 1"}, repeats=3),
        Task("Learn then Test, bets, 10^4 x 200", bets, {},
             ("np.log1p, 6 times", lambda: [np.log1p(losses) for _ in range(6)])),
    ]  # fmt: skip


def selection(rng: np.random.Generator) -> list[Task]:
    old, new, few = rng.random(100_000), rng.random(100_000), slice(0, 5000)

    def ours(rows: slice = slice(None)) -> np.ndarray:
        return caveat.ConformalSelection(0.1).fit(old[rows]).select(new[rows]).p_values

    def by_crepes() -> np.ndarray:
        return np.ravel(p_values_batch(old[few], new[few], smoothing=False))

    np.testing.assert_allclose(ours(few), by_crepes())
    return [
        Task("conformal selection, 5 000 of 5 000", lambda: ours(few), {"crepes": by_crepes},
             ("a sort", lambda: np.sort(old[few])), {"crepes": ">= 1"}, repeats=3),
        Task("conformal selection, 10^5 of 10^5", ours, {}, ("a sort", lambda: np.sort(old))),
    ]  # fmt: skip


def series(rng: np.random.Generator) -> list[Task]:
    length, warm = 1000, 500
    X = rng.normal(size=(length, 1))
    y = X[:, 0] + rng.normal(size=length)
    prediction = caveat.Gaussian(X[:, 0], 1.0)
    old, new = slice(0, warm), slice(warm, None)

    def ours() -> float:
        method = caveat.AdaptiveConformal(0.9, step=0.01).warm_up(prediction.take(old), y[old])
        return float(method.run(prediction.take(new), y[new], time="rows").coverage[0])

    def by_mapie() -> float:
        peer = TimeSeriesRegressor(FirstColumn(), method="aci", cv="prefit")
        peer.estimator.fit(X, y)
        peer.fit(X[old], y[old])
        covered = 0
        for t in range(warm, length):
            low, high = peer.predict(X[[t]], confidence_level=0.9, allow_infinite_bounds=True)[1][
                0, :, 0
            ]
            covered += low <= y[t] <= high
            peer.update(X[[t]], y[[t]])
            peer.adapt_conformal_inference(X[[t]], y[[t]], gamma=0.01, confidence_level=0.9)
        return covered / (length - warm)

    assert abs(ours() - by_mapie()) < 0.03
    many = rng.normal(size=100_000)
    zero = caveat.Gaussian(np.zeros(len(many)), 1.0)
    methods = {
        "adaptive": caveat.AdaptiveConformal(0.9),
        "aggregated": caveat.AggregatedConformal(0.9),
        "block-wise, 24": caveat.BlockConformal(0.9),
    }
    reference = ("a loop of 10^5", lambda: [value + 1.0 for value in many.tolist()])
    return [
        Task("adaptive conformal, 500 samples one by one", ours, {"MAPIE": by_mapie},
             ("a sort of 500", lambda: np.sort(y[old])), {"MAPIE": ">= 1"}, repeats=3),
        *(
            Task(f"series of 10^5, {name}",
                 lambda m=method, b=24 if "24" in name else 1: m.reset().run(
                     zero, many, time="rows", block=b), {}, reference, repeats=2)
            for name, method in methods.items()
        ),
    ]  # fmt: skip


def guarantees(rng: np.random.Generator) -> list[Task]:
    """Return the tasks on risk control, selections and series."""
    return [*risk(rng), *selection(rng), *series(rng)]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run("Guarantees", guarantees(np.random.default_rng(0)))
