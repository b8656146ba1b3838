"""A metric in one file is in the evaluation, the report and the command line, with an interval."""

import re
from dataclasses import replace

import numpy as np
import pytest

import caveat
from caveat.cli import main
from caveat.exceptions import InvalidValueError, OptionError, UnknownNameError
from caveat.metrics import METRICS
from tests.contracts.cumulative import CUMULATIVE

NAME = CUMULATIVE.name


@pytest.fixture
def added():
    METRICS.register(CUMULATIVE)
    yield CUMULATIVE
    METRICS.unregister(NAME)


def draw(samples=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(samples)
    return p, (rng.random(samples) < p).astype(int)


def test_it_is_in_the_evaluation_with_an_interval(added):
    p, y = draw()
    result = caveat.evaluate(caveat.Categorical.from_binary(p), y, random_state=0)
    (row,) = result.select(metric="cce_cumulative")
    assert row.value == pytest.approx(added.function(y, p), rel=1e-12)
    assert row.low == 0  # the probabilities are right
    assert row.low <= row.estimate <= row.value <= row.high < 0.2


def test_it_is_in_the_evaluation_of_each_class(added):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 200)
    result = caveat.evaluate(caveat.Categorical(p), p.argmax(axis=1), resamples=0)
    assert len(result.select(metric=NAME)) == 3


def test_it_is_in_the_report_and_on_the_command_line(added, tmp_path, capsys):
    p, y = draw()
    result = caveat.evaluate(caveat.Categorical.from_binary(p), y, resamples=100, random_state=0)
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Cumulative calibration error" in page
    assert added.says in page
    file = tmp_path / "predictions.csv"
    file.write_text("p,y\n" + "\n".join(f"{a},{b}" for a, b in zip(p, y, strict=True)) + "\n")
    assert (
        main(["evaluate", str(file), "--target", "y", "--probability", "p", "--resamples", "40"])
        == 0
    )
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "cumulative" in line]
    assert re.search(r"0\.\d+ .* 0 to 0\.\d+", line)


def test_a_metric_without_sums_says_that_chance_shifts_it(added):
    METRICS.unregister(NAME)
    METRICS.register(replace(CUMULATIVE, sums=None))
    p, y = draw()
    prediction = caveat.Categorical.from_binary(p)
    result = caveat.evaluate(prediction, y, metrics=[NAME, "brier"], resamples=50, random_state=0)
    (row,) = result.select(metric=NAME)
    assert "chance alone shifts the value" in row.note
    assert row.low < row.high
    assert "chance" not in result.select(metric="brier")[0].note


def test_sums_that_do_not_give_the_value_are_refused(added):
    METRICS.unregister(NAME)
    METRICS.register(replace(CUMULATIVE, sums=METRICS["accuracy"].sums))
    p, y = draw()
    with pytest.raises(InvalidValueError, match=r"by its function, but 0\.\d+ by its sums"):
        caveat.evaluate(caveat.Categorical.from_binary(p), y, resamples=40, random_state=0)


def test_what_cannot_be_a_metric():
    with pytest.raises(OptionError, match="register takes a Metric; got 'ece'"):
        METRICS.register("ece")
    with pytest.raises(OptionError, match="the function of len must take sample_weight="):
        METRICS.register(replace(CUMULATIVE, function=len, name="len", aliases=()))


def test_a_name_is_taken_once(added):
    with pytest.raises(UnknownNameError, match="stands for two"):
        METRICS.register(CUMULATIVE)
    assert METRICS[NAME] is CUMULATIVE
    assert METRICS["cce_cumulative"].label == "Cumulative calibration error (CumCE)"


@pytest.mark.parametrize("samples", [60, 400])
def test_the_interval_of_calibrated_probabilities_begins_at_0(added, samples):
    """Without its norm of gaps the 95 % interval held the truth in 0 of 20 runs."""
    held = 0
    for seed in range(20):
        p, y = draw(samples, seed)
        result = caveat.evaluate(
            caveat.Categorical.from_binary(p), y, metrics=[NAME], resamples=200, random_state=seed
        )
        held += result.rows[0].low == 0
    assert held >= 18  # of 20, at 97.5 %
