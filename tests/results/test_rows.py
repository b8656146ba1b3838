import json

import numpy as np
import pytest

import caveat
from caveat.evaluation import ComparedRow
from caveat.fairness import FairnessRow
from caveat.results.judgments import Contrast, Judgment, MeasurePart, Pairing
from caveat.results.rows import Row
from caveat.results.tables import plain_row
from caveat.results.words import VERDICTS


def row(**fields):
    return Row(**{"metric": "accuracy_score", "value": 0.5, "samples": 10, **fields})


@pytest.mark.parametrize(
    ("fields", "option", "promised"),
    [
        ({}, "", np.nan),
        ({"one_class": "ill"}, "class=ill", np.nan),
        ({"one_class": ""}, "class=", np.nan),
        ({"coverage": 0.9545}, "coverage=0.9545", 0.9545),
        ({"quantile": 0.0}, "level=0", 0.0),
    ],
)
def test_the_option_is_made_from_fields(fields, option, promised):
    assert row(**fields).option == option
    assert row(**fields).promised == pytest.approx(promised, nan_ok=True)


def test_the_text_of_a_group_is_made_from_fields():
    place = {"scale": "adaptive", "attribute": "sex", "category": "f"}
    assert row().group == ""
    assert row(**place).group == "sex=f"
    assert row(**place, reference="m", contrast=Contrast.DIFFERENCE).group == "sex: gap"
    assert row(**place, reference="m", contrast=Contrast.RATIO).group == "sex: ratio"


def test_one_class_serves_evaluation_comparison_and_audit():
    assert issubclass(ComparedRow, Row)
    assert issubclass(FairnessRow, Row)
    for kind in (Row, ComparedRow, FairnessRow):
        assert len(set(kind.columns)) == len(kind.columns)


class TestAudit:
    ROW = FairnessRow(
        metric="equalized_odds", value=2.0, samples=10, attribute="sex", category="f",
        reference="m", contrast=Contrast.RATIO, part=MeasurePart.FARTHER, one_class="1",
        comparison=Pairing.REFERENCE, judgment=Judgment.BEYOND,
    )  # fmt: skip

    def test_the_old_columns_are_made_from_fields(self):
        found = plain_row(self.ROW)
        assert found["kind"] == "ratio"
        assert found["statistic"] == "farther from 1"
        assert (found["group"], found["reference"], found["label"]) == ("f", "m", "1")
        assert found["verdict"] == VERDICTS[Judgment.BEYOND] == "a gap beyond the threshold"
        assert type(found["judgment"]) is type(found["comparison"]) is str
        assert json.loads(json.dumps(found))["judgment"] == "beyond"

    def test_why_it_is_undefined_is_in_the_verdict(self):
        found = FairnessRow(
            metric="accuracy",
            value=np.nan,
            samples=0,
            judgment=Judgment.UNDEFINED,
            why="0 in sex=f (1)",
        )
        assert found.verdict == "undefined (0 in sex=f (1))"
        assert found.why == "0 in sex=f (1)"


def test_states_read_as_their_text():
    assert repr((Judgment.BEYOND, Pairing.WORST)) == "('beyond', 'worst pair')"
    assert f"{Judgment.BEYOND}" == str(Judgment.BEYOND) == "beyond"


def test_rows_of_techniques_have_all_of_those_of_one():
    p = np.random.default_rng(0).random(60)
    predictions = {name: caveat.Categorical.from_binary(p) for name in "ab"}
    result = caveat.compare(predictions, p > 0.5, metrics=["brier"], resamples=20, random_state=0)
    (one, other) = result.select(group="")
    (same,) = result.evaluations["a"].select(group="")
    assert all(getattr(one, name) == getattr(same, name) for name in ("low", "samples", "note"))
    assert one.key == other.key
    assert one.key.overall
    assert result.to_frame().columns[:5].tolist() == [
        "technique", "metric", "option", "group", "target"
    ]  # fmt: skip
