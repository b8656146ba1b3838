"""Which technique for which use, against loops; times of one sample; members of ensembles."""

import json
import time

import numpy as np
import pytest

import caveat
from caveat.exceptions import OptionError
from caveat.selection import Technique, scenarios
from caveat.selection.timing import machine, timed

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 400)


def classes(strength):
    logits = RNG.normal(size=(2, 400, 3)) + strength * np.eye(3)[Y]
    return caveat.Categorical.from_logits(logits)


def top_label_error(p, right, bins=15):
    place = np.minimum((p * bins).astype(int), bins - 1)
    return sum(abs(p[place == b].sum() - right[place == b].sum()) for b in range(bins)) / len(p)


def test_classes():
    predictions = {"weak": classes(0.5), "strong": classes(3.0)}
    result = scenarios(predictions, Y)
    assert [(row.expression, row.part) for row in result] == [
        ("probability", ""), ("probability", "class 0"), ("probability", "class 1"),
        ("probability", "class 2"), ("entropy", ""),
    ]  # fmt: skip
    for name, prediction in predictions.items():
        p = prediction.mean
        each = []
        for label in range(3):
            mine = p[label == Y]
            each.append(top_label_error(mine.max(axis=1), mine.argmax(axis=1) == label))
            assert result.rows[1 + label].values[name] == pytest.approx(each[-1], abs=1e-9)
            loss = -np.log(mine[:, label]).mean()
            assert result.rows[1 + label].skill[name] == pytest.approx(loss)
        assert result.rows[0].values[name] == pytest.approx(np.mean(each), abs=1e-9)
    best = min(predictions, key=lambda name: result.rows[0].values[name])
    assert result.rows[0].ranking[0] == best
    assert f"all parts alike: {best} (mean ECE" in str(result)
    frame = result.to_frame()
    assert len(frame) == 2 * len(result)
    assert set(frame["expression"]) == {"probability", "entropy"}


def test_a_class_without_samples_has_no_value():
    p = caveat.Categorical([[0.7, 0.3], [0.6, 0.4]])
    result = scenarios({"one": p, "two": p}, [0, 0])
    assert result.rows[2].ranking == []
    assert str(result.rows[2]) == "class 1: no technique has a value"


def test_numbers():
    y = RNG.normal(size=(600, 2))
    right = caveat.Gaussian(np.zeros((600, 2)), np.ones((600, 2)), targets=["a", "b"])
    wide = caveat.Gaussian(np.zeros((600, 2)), np.full((600, 2), 9.0), targets=["a", "b"])
    result = scenarios({"wide": wide, "right": right}, y)
    assert [(row.expression, row.part) for row in result] == [
        (name, part) for name in ("variance", "interval") for part in ("", "a", "b")
    ]
    assert all(row.ranking == ["right", "wide"] for row in result)
    error = caveat.metrics.coverage_calibration_error(y[:, 1], np.zeros(600), np.full(600, 9.0))
    assert result.rows[5].values["wide"] == pytest.approx(error)
    assert result.rows[4].skill["right"] == pytest.approx(np.abs(y[:, 0]).mean())
    one = scenarios(
        {"x": caveat.Gaussian(y[:, 0], 1.0), "z": caveat.Gaussian(y[:, 1], 1.0)}, y[:, 0]
    )
    assert [row.part for row in one] == ["", ""]  # one target is all of them


def test_predictions_that_do_not_go_together():
    gaussian = caveat.Gaussian([0.0], [1.0])
    with pytest.raises(OptionError, match="all be Gaussian; got Categorical, Gaussian"):
        scenarios({"a": gaussian, "b": caveat.Categorical([[0.5, 0.5]])}, [0])
    with pytest.raises(OptionError, match="at least one"):
        scenarios({}, [0])


def test_times():
    slow = timed(lambda: time.sleep(0.004), 3, samples=2)
    assert slow.seconds >= 0.002
    assert slow.error >= 0
    assert np.isnan(timed(lambda: None, 1).error)
    assert "Python" in machine()


def data():
    X = RNG.normal(size=(300, 3))
    y = (X[:, 0] + RNG.normal(size=300) > 0).astype(int)
    rows = {"train": slice(0, 100), "calibration": slice(100, 200), "test": slice(200, 300)}
    return {name: (X[part], y[part]) for name, part in rows.items()}


def test_a_grid_has_scenarios_and_times(tmp_path):
    from sklearn.linear_model import LogisticRegression

    options = {"resamples": 0, "random_state": 0, "cache": tmp_path, "time_repeats": 2}
    parts = data()
    models = {"LR": LogisticRegression()}
    grid = caveat.technique_grid(models, parts, **options)
    assert set(grid.times) == {"LR", "LR+TS", "LR+IR", "LR+Venn-ABERS", "LR+spline"}
    assert all(one.seconds > 0 for one in grid.times.values())
    assert len(grid.scenarios()) == 4
    frame = grid.times_frame()
    assert frame.columns.tolist() == ["machine", "step", "seconds", "standard error", "repeats"]
    again = caveat.technique_grid(models, parts, **options | {"time_repeats": 0})
    assert set(again.times) == {"LR"}  # it was measured when the model was there
    for path in tmp_path.glob("*/about.json"):
        about = json.loads(path.read_text())
        del about["time"]
        path.write_text(json.dumps(about))
    assert not caveat.technique_grid(models, parts, **options | {"time_repeats": 0}).times
    with pytest.raises(OptionError, match="time_repeats must be a whole number"):
        caveat.technique_grid(models, parts, time_repeats=-1)


@pytest.mark.parametrize(
    "prediction",
    [
        caveat.Categorical(RNG.dirichlet([1, 1], size=(4, 6))),
        caveat.GaussianLogits.from_std(RNG.normal(size=(4, 6, 2)), np.ones((4, 6, 2))),
        caveat.Gaussian(RNG.normal(size=(4, 6, 2)), np.ones((4, 6, 2))),
        caveat.Quantiles([0.1, 0.9], np.sort(RNG.normal(size=(4, 6, 2, 2)), axis=3)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_first_members_of_an_ensemble(prediction):
    calibration, test = Technique("DE", members=3).prepared(prediction, prediction)
    assert (calibration.members, test.members) == (3, 3)
    for name in prediction._arrays:
        np.testing.assert_array_equal(getattr(test, name), getattr(prediction, name)[:3])
    with pytest.raises(OptionError, match="members is 9, and the base model has 4"):
        Technique("DE", members=9).prepared(prediction, prediction)


def test_exchangeability_of_calibration_and_test():
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    parts = data()
    models = {"LR": LogisticRegression(), "NB": GaussianNB()}
    grid = caveat.technique_grid(models, parts, resamples=0)
    result = grid.exchangeability("LR", random_state=0)
    expected = [
        1 - p.mean[np.arange(100), y]
        for p, y in ((grid.calibrations["LR"], grid.calibration_y), (grid.bases["LR"], grid.y))
    ]
    assert result.p_value == caveat.exchangeability_test(*expected, random_state=0).p_value
    assert result.p_value > 0.01
    X, y = parts["test"]
    moved = caveat.technique_grid(models, {**parts, "test": (X, 1 - y)}, resamples=0)
    assert moved.exchangeability("LR", random_state=0).p_value < 0.01
    people = np.arange(100) // 5
    apart = moved.exchangeability("LR", cluster=(people, people + 20), random_state=0)
    assert apart.statistic == moved.exchangeability("LR", random_state=0).statistic
    assert apart.p_value < 0.01
    with pytest.raises(OptionError, match="there is no base model 'XX'"):
        grid.exchangeability("XX")


def test_errors_of_numbers_and_logits():
    from caveat.selection.techniques import errors_of

    gaussian = caveat.Gaussian([1.0, 2.0], [4.0, 9.0])
    np.testing.assert_allclose(errors_of(gaussian, [3.0, 2.0])[:, 0], [1.0, 0.0])
    logits = caveat.GaussianLogits.from_std(np.zeros((1, 2)), np.ones((1, 2)))
    np.testing.assert_allclose(errors_of(logits, [1]), 0.5)
    with pytest.raises(OptionError, match="errors are those of classes or Gaussians; got a Quant"):
        errors_of(caveat.Quantiles([0.5], [[1.0]]), [1.0])
