"""Conditions that stop a pipeline."""

import json
import math

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
        ("gap accuracy in sex < 0", 1),
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


@pytest.mark.parametrize(
    ("condition", "error", "message"),
    [
        ("ece", OptionError, "a condition reads like 'ece.high > 0.05'"),
        ("ece > 1e", OptionError, "got 'ece > 1e'"),
        (7, OptionError, "got 7"),
        ("accuracy.hight > 1", OptionError, "a row has value, low, high, estimate; got 'hight'"),
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
