import numpy as np
import pytest

import caveat
from caveat import figures
from caveat.exceptions import OptionError, UnknownNameError
from tests.figures import examples


def test_rows_are_those_of_the_table():
    result = examples.classes()
    figure = figures.by_group(result, "ece")
    assert figure.metric == "expected_calibration_error"
    assert figure.title == "Expected calibration error by group"
    # Among samples of one true class even perfect probabilities are off: there are no such rows.
    assert [panel.attribute for panel in figure.panels] == ["sex"]
    (whole,) = result.select(metric=figure.metric, group="")
    for panel in figure.panels:
        assert panel.overall == whole.value
        for i, label in enumerate(panel.labels):
            (row,) = result.select(metric=figure.metric, group=f"{panel.attribute}={label}")
            found = panel.value[i], panel.low[i], panel.high[i], panel.samples[i]
            assert found == (row.value, row.low, row.high, row.samples)
    frame = figure.to_frame()
    assert frame.columns.tolist() == ["attribute", "group", "value", "low", "high", "samples"]
    assert frame["group"].tolist() == ["0", "1"]
    recall = figures.by_group(result, "accuracy")
    assert [panel.attribute for panel in recall.panels] == ["class", "sex"]


def test_calibration_of_classes_is_against_the_rest():
    p, codes = examples.class_arrays()
    result = examples.sampled(
        caveat.Categorical(p), codes, metrics=["positive_ece", "classwise_ece"]
    )
    figure = figures.by_group(result, "positive_ece")
    (panel,) = figure.panels
    assert panel.attribute == "class against the rest"
    assert panel.labels == ("0", "1", "2")
    assert panel.samples.tolist() == [examples.N] * 3
    assert panel.value.mean() == pytest.approx(panel.overall)  # the classwise error
    assert figure.title == "Calibration error of each class against the rest"
    alone = examples.sampled(caveat.Categorical(p), codes, metrics=["positive_ece"])
    assert figures.by_group(alone, "positive_ece").panels[0].overall == pytest.approx(panel.overall)


def test_names_with_signs_are_told_whole():
    names = np.array(["x=y", "f: gap"])[np.arange(examples.N) % 2]
    p, codes = examples.class_arrays()
    result = examples.evaluate(caveat.Categorical(p), codes, groups={"a=b": names}, metrics=["ece"])
    (panel,) = figures.by_group(result, "ece").panels
    assert (panel.attribute, panel.labels) == ("a=b", ("f: gap", "x=y"))


def test_undefined_groups_are_left_out_and_intervals_may_be_missing():
    prediction = caveat.Categorical.from_binary([0.2, 0.6, 0.7, 0.9])
    groups = {"g": ["a", "a", "b", "b"], "h": ["c", "d", "c", "d"], "i": [1, 2, 3, 4]}
    result = caveat.evaluate(prediction, [0, 1, 1, 1], groups=groups, resamples=0)
    figure = figures.by_group(result, "auc")
    assert [(panel.attribute, panel.labels) for panel in figure.panels] == [
        ("g", ("a",)),
        ("h", ("c",)),
    ]
    assert figure.panels[0].low.tolist() == figure.panels[0].value.tolist() == [1.0]


def test_options_and_targets():
    result = examples.numbers()
    first = figures.by_group(result, "interval_coverage")
    assert first.option == "coverage=0.6827"
    assert first.x_label == "interval coverage (coverage=0.6827)"
    second = figures.by_group(result, "interval_coverage", option="coverage=0.9545")
    (row,) = result.select(metric="interval_coverage", option="coverage=0.9545", group="sex=1")
    assert second.panels[0].value[1] == row.value
    assert figures.by_group(examples.two_targets(), "ence", "dbp").panels == ()
    with pytest.raises(OptionError) as error:
        figures.by_group(result, "interval_coverage", option="coverage=0.5")
    assert str(error.value) == (
        "unknown option 'coverage=0.5' of 'interval_coverage'; known are coverage=0.6827, coverage=0.9545"
    )


def test_refusals():
    with pytest.raises(OptionError) as error:
        figures.by_group(examples.classes(), "ence")
    assert str(error.value) == "'ence' is not in the table of this evaluation"
    with pytest.raises(UnknownNameError, match="unknown metric 'nonsense'"):
        figures.by_group(examples.classes(), "nonsense")


def test_an_alias_of_two_metrics_means_the_first():
    result = examples.numbers()
    figure = figures.by_group(result, "mce")
    assert figure.metric == "maximum_coverage_error"
    assert len(figure.panels[0].labels) == 2
