"""What is measured of a run, against formulas written out by hand."""

import numpy as np
import pytest

from caveat.datasets import Dataset
from caveat.studies import _fairness_runs as runs_module
from caveat.studies._fairness_paper import EXPERIMENTS, ODDS, RATES, UNCERTAIN
from caveat.studies._fairness_runs import (
    Key,
    Run,
    collated,
    consistencies,
    counts,
    make_runs,
    measured,
    printed_odds,
    train,
)

from .cases import Told, write_tables

SD = EXPERIMENTS["sd1"].attributes


@pytest.fixture
def tables(tmp_path, monkeypatch):
    write_tables(tmp_path)
    monkeypatch.setenv("CAVEAT_DATA", str(tmp_path))


def made(n=200, seed=0):
    rng = np.random.default_rng(seed)
    groups = {"group": rng.integers(0, 2, n)}
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(np.int64)
    data = Dataset(X, y, groups, ("a", "b"), "made", np.zeros(n, dtype=bool))
    p = 1 / (1 + np.exp(-(X[:, 0] + rng.normal(size=(7, n)))))
    return data, p


def by_hand(data, p):
    """Return the numbers of table 1, written out."""
    mean = p.mean(axis=0)
    guess = mean > 0.5
    found = {}
    for group in (0, 1):
        m = data.groups["group"] == group
        y, g = data.y[m] == 1, guess[m]
        tp, fp = (y & g).sum(), (~y & g).sum()
        fn, tn = (y & ~g).sum(), (~y & ~g).sum()
        # Both classes count: the traces of equation 7.
        epistemic = 2 * ((p[:, m] - mean[m]) ** 2).mean()
        aleatoric = 2 * (p[:, m] * (1 - p[:, m])).mean()
        found[group] = {
            "accuracy": (tp + tn) / m.sum(),
            "positive_predictive_value": tp / (tp + fp),
            "negative_predictive_value": tn / (tn + fn),
            "false_positive_rate": fp / (fp + tn),
            "false_negative_rate": fn / (tp + fn),
            "epistemic_uncertainty": epistemic,
            "aleatoric_uncertainty": aleatoric,
            "predictive_uncertainty": epistemic + aleatoric,
            "selected": g.mean(),
            "tpr": tp / (tp + fn),
        }
    return found


def test_rates_uncertainties_and_ratios():
    data, p = made()
    found = measured(Told(p), data, SD, "test")
    zero, one = (by_hand(data, p)[group] for group in (0, 1))
    for group, expected in (("0", zero), ("1", one)):
        for measure in (*RATES, *UNCERTAIN):
            assert found[Key("test", "group", group, "", measure)] == pytest.approx(
                expected[measure]
            )
    fpr = zero["false_positive_rate"] / one["false_positive_rate"]
    tpr = zero["tpr"] / one["tpr"]
    expected = {
        "statistical_parity": zero["selected"] / one["selected"],
        "equal_opportunity": tpr,
        ODDS: fpr / tpr,
        "equal_accuracy": zero["accuracy"] / one["accuracy"],
        "false_negative_rate": zero["false_negative_rate"] / one["false_negative_rate"],
        "equalized_odds": max((fpr, tpr), key=lambda ratio: abs(np.log(ratio))),
    }
    expected |= {measure: zero[measure] / one[measure] for measure in UNCERTAIN}
    for measure, value in expected.items():
        assert found[Key("test", "group", "0", "1", measure)] == pytest.approx(value), measure


def test_a_group_that_is_not_there_leaves_nothing_but_gaps():
    data, p = made()
    keep = data.groups["group"] == 1
    one = data.take(keep)
    other = Dataset(
        one.X, one.y, {"group": np.where(np.arange(len(one)) % 2, "1", "x")}, *_rest(one)
    )
    found = measured(Told(p[:, keep]), other, SD, "test")
    assert np.isnan(found[Key("test", "group", "0", "", "accuracy")])
    assert np.isnan(found[Key("test", "group", "0", "1", "equal_accuracy")])
    assert found[Key("test", "group", "1", "", "accuracy")] > 0


def _rest(data):
    return data.feature_names, data.description, data.test


def test_printed_odds_by_hand():
    rates = {
        ("0", "false_positive_rate"): 0.38,
        ("1", "false_positive_rate"): 0.04,
        ("0", "true_positive_rate"): 0.93,
        ("1", "true_positive_rate"): 0.92,
    }
    assert printed_odds(rates, "0", "1") == pytest.approx(9.5 / (0.93 / 0.92))
    assert np.isnan(printed_odds({**rates, ("1", "false_positive_rate"): 0.0}, "0", "1"))
    assert np.isnan(printed_odds({}, "0", "1"))


def test_consistency_by_hand():
    data, p = made(40)
    p[:] = np.where(data.X[:, 0] > 0, np.maximum(p, 0.6), np.minimum(p, 0.4))
    data.groups["group"][:] = np.arange(40) % 2
    other, q = made(40, seed=1)
    runs = [Run(d.X, d.y, None, 0, d) for d in (_named(data), _named(data), _named(other))]
    shared = Run(data.X, data.y, None, 0, runs[0].test)
    found = consistencies([Told(p), Told(1 - p), Told(q)], [runs[0], shared, runs[2]], SD, None, 0)
    scaled = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    far = ((scaled[:, None] - scaled) ** 2).sum(axis=-1)
    np.fill_diagonal(far, np.inf)
    near = np.argsort(far, axis=1)[:, :5]
    for i, sign in ((0, p), (1, 1 - p)):
        guess = (sign.mean(axis=0) > 0.5).astype(float)
        u = 2 * (sign * (1 - sign)).mean(axis=0)
        for group in (0, 1):
            for outcome in (0, 1):
                m = (data.groups["group"] == group) & (guess == outcome)
                assert m.any()
                for name, value in (("prediction", guess), ("aleatoric_uncertainty", u)):
                    gap = np.abs(value - value[near].mean(axis=1))[m].mean()
                    place = ("group", str(group), "", name, str(outcome))
                    assert found[i][Key("consistency", *place)] == pytest.approx(1 - gap)
                    assert found[i][Key("scaled consistency", *place)] == pytest.approx(
                        1 - gap / value.std()
                    )


def _named(data):
    groups = {"group": data.groups["group"].astype(str)}
    return Dataset(data.X, data.y, groups, *_rest(data))


def test_consistency_of_a_constant_prediction_is_not_scaled():
    data, _ = made(30)
    data = _named(data)
    (found,) = consistencies(
        [Told(np.full((2, 30), 0.9))], [Run(data.X, data.y, None, 0, data)], SD, 10, 0
    )
    for group in ("0", "1"):
        place = ("group", group, "", "prediction")
        assert found[Key("consistency", *place, "1")] == 1
        assert np.isnan(found[Key("scaled consistency", *place, "1")])
        assert np.isnan(found[Key("consistency", *place, "0")])


def test_synthetic_runs_draw_their_own_data(monkeypatch):
    monkeypatch.setattr(runs_module, "LARGE", 50)
    first, second = make_runs("sd2", [1, 2])
    again = make_runs("sd2", [1])[0]
    assert first.X.shape == (320, 2)
    assert (len(first.test), len(first.large)) == (80, 200)
    assert not np.array_equal(first.X, second.X)
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.large.X, again.large.X)
    assert not np.isin(first.large.X[:, 0], [*first.X[:, 0], *first.test.X[:, 0]]).any()
    assert counts("sd2") == {}


def test_compas_is_halved_anew_for_each_run(tables):
    first, second = make_runs("compas", [1, 2])
    assert len(first.rows) == len(first.test) == 120
    learned, whole = first.X[first.rows], first.X
    both = np.concatenate([learned, first.test.X])
    order = np.lexsort(both.T), np.lexsort(whole.T)
    assert np.array_equal(both[order[0]], whole[order[1]])
    assert not np.array_equal(first.rows, second.rows)


def test_adult_has_a_split(tables):
    first, second = make_runs("adult", [1, 2])
    assert np.array_equal(first.rows, np.arange(240))
    assert first.test is second.test
    assert len(first.test) == 240
    found = counts("adult")
    female = found[Key("count", "sex", "Female", "", "samples")]
    parts = [found[Key("count", "sex", "Female", "", f"samples of class {y}")] for y in (0, 1)]
    male = found[Key("count", "sex", "Male", "", "samples")]
    assert (sum(parts), female + male) == (female, 240)


def test_training_in_lock_step_is_training_alone():
    data, _ = made(60)
    runs = [Run(data.X, data.y, rows, seed, data) for seed, rows in ((3, np.arange(40)), (4, None))]
    settings = {"hidden": (), "epochs": 2, "passes": 3}
    together = train(runs, settings, False)
    alone = [train([run], settings, False)[0] for run in runs]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(
            one.predict_proba(data.X), other.predict_proba(data.X), atol=1e-5
        )


def test_runs_become_arrays():
    key = Key("test", "a", "b", "", "c")
    assert collated([{key: 1.0}, {key: np.nan}])[key].tolist()[0] == 1.0
