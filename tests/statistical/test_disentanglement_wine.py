"""Wine as published: errors that were recorded with another split, and the printed signs."""

import pytest

from caveat.studies import run_study

RECORDED = {"mc-dropout": (0.588, 0.137), "dropconnect": (0.238, 0.110)}
"""Mean and spread of the error by information with random_state=0; here another split is drawn."""


@pytest.fixture(scope="module")
def study():
    return run_study(
        "disentanglement",
        "wine",
        methods=list(RECORDED),
        decompositions="information",
        detection=False,
        random_state=1,
    )


@pytest.mark.parametrize("method", RECORDED)
def test_errors_are_those_that_were_recorded(study, method):
    (row,) = study.select(source="table 2", method=method)
    mean, spread = RECORDED[method]
    assert abs(row.mean - mean) < 2 * spread  # what the study itself calls a difference
    assert row.runs == 5


def test_correlations_have_the_printed_signs_where_they_are_sure(study):
    rows = [row for row in study if row.source in ("table 5", "table 6")]
    sure = [row for row in rows if abs(row.mean) > 2 * row.spread]
    turned = {(row.method, row.measure) for row in sure if row.mean * row.paper < 0}
    # DropConnect's epistemic uncertainty falls with noise here and rises in table 6: docs/studies.md.
    assert turned <= {("dropconnect", "epistemic_orthogonality")}
    assert len(rows) == 8
    assert len(sure) >= 5


def test_aleatoric_uncertainty_is_consistent_and_not_orthogonal(study):
    for method in RECORDED:
        (row,) = study.select(source="figure 6", method=method, measure="aleatoric_consistency")
        assert row.mean < 0.2
    (row,) = study.select(
        source="table 5", method="mc-dropout", measure="aleatoric_orthogonality"
    )  # fmt: skip
    assert row.mean < 0
