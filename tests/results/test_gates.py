"""Conditions that stop a pipeline."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import caveat
from caveat.cli import main
from caveat.exceptions import OptionError, UnknownNameError
from caveat.results.gates import Gate

GROUPS = {"sex": ["f", "f", "f", "m", "m", "m"], "a=b": ["x", "y"] * 3}


@pytest.fixture(scope="module")
def evaluation():
    prediction = caveat.Categorical.from_binary([0.1, 0.2, 0.9, 0.9, 0.2, 0.7])
    metrics = ["accuracy", "roc_auc"]
    return caveat.evaluate(
        prediction, [0, 1, 1, 0, 1, 1], groups=GROUPS, metrics=metrics, random_state=0
    )


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("accuracy < 0.5", 0),
        ("accuracy.value <= 0.5", 1),
        ("accuracy > 0.5", 0),
        ("accuracy >= 0.5", 1),
        ("accuracy.low < 0.5", 1),
        ("accuracy in sex < 0.5", 1),
        ("accuracy in sex<=1", 2),
        ("accuracy in sex=f < 0.5", 0),
        ("accuracy in sex = m < 0.5", 1),
        ("gap accuracy in sex > 0.3", 1),
        ("gap accuracy in sex > 0.34", 0),
        ("gap accuracy in sex <= 0", 0),
        ("ratio accuracy in sex > 0.6", 0),
        ("accuracy.estimate > 5", 1),  # it has none: what is not known cannot pass
        ("accuracy > -1e3", 1),
    ],
)
def test_conditions(evaluation, condition, holds):
    failing = Gate.parse(condition).failing(evaluation)
    assert len(failing) == holds
    assert all(sentence.endswith(f"; the check fails if {condition}") for sentence in failing)


def test_sentences_name_the_row(evaluation):
    (one,) = Gate.parse("accuracy in sex=m < 0.5").failing(evaluation.rows)
    assert one.startswith("accuracy_score.value (sex=m) is 0.333333; ")
    (unknown,) = Gate.parse("accuracy.estimate > 5").failing(evaluation)
    assert unknown.startswith("accuracy_score.estimate is not known; ")


def test_the_interval_decides_as_the_row_says(evaluation):
    (row,) = evaluation.matching(metric="accuracy_score", group="")
    above = math.nextafter(row.high, np.inf)
    assert not Gate.parse(f"accuracy.high >= {above!r}").failing(evaluation)
    assert Gate.parse(f"accuracy.high < {above!r}").failing(evaluation)


def met(condition, rows):
    return len(Gate.parse(condition).failing(rows)) > 0


@pytest.fixture(scope="module")
def apart():
    """Groups of which one is right in 94 % and the other in 51 %."""
    rng = np.random.default_rng(0)
    sex = np.repeat(["m", "f"], 700)
    right = rng.random(1400) < np.where(sex == "m", 0.94, 0.51)
    y = rng.integers(0, 2, 1400)
    prediction = caveat.Categorical.from_binary(np.where(right == y, 0.9, 0.1))
    metrics = ["accuracy", "brier"]
    return caveat.evaluate(prediction, y, groups={"sex": sex}, metrics=metrics, random_state=0)


@pytest.mark.parametrize("metric", ["accuracy", "brier"])
@pytest.mark.parametrize("field", ["value", "low", "high"])
def test_a_gap_is_a_size_for_scores_and_losses_alike(apart, metric, field):
    (row,) = apart.select(metric=metric, group="sex: gap")
    assert (row.value < 0) == (metric == "accuracy")
    ends = sorted([abs(row.low), abs(row.high)])
    size = {"value": abs(row.value), "low": ends[0], "high": ends[1]}[field]
    assert ends[0] > 0.2
    condition = f"gap {metric}.{field} in sex"
    assert met(f"{condition} > 0.1", apart)
    assert met(f"{condition} >= {size!r}", apart)
    assert not met(f"{condition} > {size!r}", apart)
    (sentence,) = Gate.parse(f"{condition} > 0.1").failing(apart)
    words = " in size" if metric == "accuracy" else ""
    assert f"(sex: gap) is {size:.6g}{words}; " in sentence


@pytest.mark.parametrize("sign", [1, -1])
def test_a_gap_that_may_be_none_is_low_at_zero(apart, sign):
    (row,) = apart.select(metric="accuracy", group="sex: gap")
    low, high = sorted([sign * -0.1, sign * 0.3])
    rows = [replace(row, value=sign * 0.1, low=low, high=high)]
    assert met("gap accuracy.low in sex <= 0", rows)
    assert not met("gap accuracy.low in sex > 0", rows)
    assert met("gap accuracy.high in sex >= 0.3", rows)
    unknown = [replace(row, value=math.nan, low=math.nan, high=math.nan)]
    for field in ("value", "low", "high"):
        assert met(f"gap accuracy.{field} in sex > 9", unknown)


@pytest.mark.parametrize(
    ("condition", "error", "message"),
    [
        ("ece", OptionError, "a condition reads like 'ece.high > 0.05'"),
        ("ece > 1e", OptionError, "got 'ece > 1e'"),
        (7, OptionError, "got 7"),
        ("accuracy.hight > 1", OptionError, "a row has value, low, high, estimate; got 'hight'"),
        ("gap accuracy in sex < 0", OptionError, "a gap in a condition is a size, which is never"),
        ("gap accuracy in sex > -0.1", OptionError, "got 'gap accuracy in sex > -0.1'"),
        ("gap accuracy > 1", OptionError, "a gap is between the groups of one attribute"),
        ("ratio accuracy in sex=f > 1", OptionError, "a ratio is between the groups"),
        ("acuracy > 1", UnknownNameError, "did you mean 'accuracy'"),
    ],
)
def test_conditions_that_cannot_be_read(condition, error, message):
    with pytest.raises(error, match=message):
        Gate.parse(condition)


@pytest.mark.parametrize("condition", ["ece > 1", "accuracy in age > 1", "accuracy in sex=x > 1"])
def test_conditions_that_mean_no_row(evaluation, condition):
    with pytest.raises(OptionError, match="no row is meant by"):
        Gate.parse(condition).failing(evaluation)


class TestCommand:
    @pytest.fixture
    def file(self, tmp_path):
        rng = np.random.default_rng(0)
        p = rng.random(80).round(3)
        lines = [f"{value},{int(rng.random() < value)}" for value in p]
        path = tmp_path / "p.csv"
        path.write_text("p_yes,y\n" + "\n".join(lines))
        return path

    def test_passing_and_failing(self, file, capsys):
        common = ["evaluate", str(file), "--probability", "p_yes", "--target", "y"]
        assert main([*common, "--fail-if", "accuracy < 0.1"]) == 0
        assert "the check fails" not in capsys.readouterr().err
        assert main([*common, "--fail-if", "accuracy > 0.1", "--fail-if", "brier < 9"]) == 3
        assert capsys.readouterr().err.count("the check fails if") == 2

    def test_json(self, file, capsys):
        common = ["evaluate", str(file), "--probability", "p_yes", "--target", "y", "--json"]
        assert main([*common, "--fail-if", "accuracy > 0.1", "--random-state", "3"]) == 3
        content = json.loads(capsys.readouterr().out)
        assert content["format"] == "caveat evaluation 1"
        assert content["version"] == caveat.__version__
        assert content["source"] == str(file)
        assert content["random_state"] == 3
        assert content["date"].endswith("+00:00")
        assert len(content["failing"]) == 1

    def test_a_condition_is_read_before_the_file(self, tmp_path, capsys):
        assert main(["evaluate", str(tmp_path / "none.csv"), "--fail-if", "x"]) == 2
        assert "a condition reads like" in capsys.readouterr().err
