"""The study from start to end, on little data and few runs."""

import json
import os
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from caveat.exceptions import OptionError
from caveat.studies import FairnessStudy, _fairness_runs, run_fairness_study
from caveat.studies._fairness_paper import EXPERIMENTS, POINT, RATES, UNCERTAIN

from .cases import write_tables

mpl.use("Agg")
SMALL = {"epochs": 1, "batch_size": 64, "passes": 3}


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(_fairness_runs, "LARGE", 100)


@pytest.fixture(autouse=True)
def _closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def synthetic():
    patch = pytest.MonkeyPatch()
    patch.setattr(_fairness_runs, "LARGE", 100)
    try:
        return run_fairness_study("sd3", seeds=4, random_state=0)
    finally:
        patch.undo()


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_tables(folder)
    patch = pytest.MonkeyPatch()
    patch.setenv("CAVEAT_DATA", str(folder))
    try:
        options = {"seeds": 3, "random_state": 0, "settings": SMALL}
        return {
            "compas": run_fairness_study("compas", widths=[4, 100, 101], **options),
            "adult": run_fairness_study("adult", queries=50, standardize=False, **options),
        }
    finally:
        patch.undo()


def test_every_printed_number_of_a_table_has_a_row(synthetic):
    rows = synthetic.select(source="table 1")
    printed = {(r.group, r.reference, r.measure): r.printed for r in rows if r.printed}
    assert printed == EXPERIMENTS["sd3"].attributes[0].printed()
    assert len(synthetic.select(source="table 1, in expectation")) == len(rows)
    assert synthetic.to_frame().shape[0] == len(synthetic)


def test_a_row_sums_up_the_runs(synthetic):
    (row,) = synthetic.select(source="table 1", group="1", measure="accuracy")
    assert (row.printed, row.paper, row.runs) == ("0.93", 0.93, 4)
    assert row.low <= row.mean <= row.high
    assert row.mean_low < row.mean < row.mean_high
    (expected,) = synthetic.select(source="table 1, in expectation", group="1", measure="accuracy")
    assert expected.within is None
    assert synthetic.coverage == pytest.approx(1 - 2 / 5)


def test_flags_of_ratios(synthetic):
    (row,) = synthetic.select(source="table 1", reference="1", measure="equal_accuracy")
    assert row.paper_flag is True
    assert 0 <= row.agreeing <= row.flagged * row.runs
    (ours,) = synthetic.select(source="table 1", reference="1", measure="equalized_odds")
    assert (ours.paper_flag, ours.agreeing, ours.printed) == (None, None, "")
    assert ours.note.startswith("not in the paper")
    (group,) = synthetic.select(source="table 1", group="0", reference="", measure="accuracy")
    assert np.isnan(group.flagged)


def test_the_same_seed_gives_the_same_study(synthetic):
    again = run_fairness_study("sd3", seeds=4, random_state=0)
    drop = {"seconds"}
    one, other = (json.loads(study.to_json()) for study in (synthetic, again))
    assert {k: v for k, v in one.items() if k not in drop} == {
        k: v for k, v in other.items() if k not in drop
    }
    assert repr(again) == repr(synthetic)


def test_public_tables(public):
    compas, adult = public["compas"], public["adult"]
    for name, study in public.items():
        for attribute in EXPERIMENTS[name].attributes:
            printed = {
                (r.group, r.reference, r.measure): r.printed
                for r in study.select(attribute=attribute.name)
                if r.printed
            }
            assert printed == attribute.printed()
    assert {row.source for row in compas} == {
        "tables 2, 3", "table 3", "table 4", "figure 4", "figure 6"
    }  # fmt: skip
    assert {row.source for row in adult} == {"table 4", "table 5", "figure 5"}
    assert "features as they are" in adult.model
    assert {row.hidden for row in compas.select(kind="capacity")} == {4, 100, 101}
    sources = [conclusion.source for conclusion in compas.conclusions]
    assert sources.count("figure 4") == sources.count("figure 6") == 3
    assert [c.source for c in adult.conclusions].count("figure 5") == 2


def test_what_is_printed_for_a_reader(synthetic, public):
    text = repr(synthetic)
    assert text.startswith(
        "SD3: the classes of group 0 overlap more than those of group 1; "
        "Bayes by backprop without a hidden layer, 5 epochs, 4 runs\n"
    )
    assert re.search(r"equalized odds as printed +│ +7.90 │", text)
    assert "table 1: group, 0 / 1\n" in re.sub(" +\n", "\n", text)
    assert "in which" not in text
    assert "nan" not in text
    assert "lies with a chance of 60%" in text
    assert "note: The rate of Adam is not given; here it is 0.01." in text
    assert all(str(conclusion) in text for conclusion in synthetic.conclusions)
    compas = repr(public["compas"])
    assert re.search(r"│ samples of class 1 +│ +sex Male │ +2396 │ +\d+ │ +│ +no │", compas)
    assert "consistency of epistemic uncertainty" in compas
    assert "race Caucasian, 100 units" in compas
    html = public["adult"]._repr_html_()
    assert html.count("<table>") == len(public["adult"].tables())
    assert "9,872 women are 9,782" in html


def test_one_run_has_no_ranges():
    study = run_fairness_study("sd1", seeds=1, random_state=0, settings=SMALL)
    (row,) = study.select(source="table 1", reference="1", measure="aleatoric_uncertainty")
    assert (row.within, row.agreement) == (None, "open")
    assert study.coverage == 0
    assert "nan" not in repr(study)
    assert study.plot().get_xscale() == "log"


def undefined(study: FairnessStudy, **place):
    (row,) = study.select(**place)
    return row


def test_a_ratio_that_no_run_defines(monkeypatch):
    from caveat.studies import fairness

    real = fairness.measured

    def without(model, data, attributes, part, hidden=0):
        found = real(model, data, attributes, part, hidden)
        return {
            key: np.nan if key.measure in (POINT[2], "equalized_odds") else value
            for key, value in found.items()
        }

    monkeypatch.setattr(fairness, "measured", without)
    study = run_fairness_study("sd3", seeds=2, random_state=0, settings=SMALL)
    row = undefined(study, source="table 1", measure=POINT[2])
    assert (row.runs, row.paper_flag, row.agreement) == (0, True, "")
    assert row.note == "undefined in 2 of 2 runs"
    ours = undefined(study, source="table 1", measure="equalized_odds")
    assert ours.paper_flag is None
    assert "undefined" in repr(study)
    assert json.loads(study.to_json())["rows"][0]
    labels = [label.get_text() for label in study.plot().get_yticklabels()]
    assert len(labels) == 7


def test_plots(synthetic, public):
    ax = synthetic.plot()
    assert "ratio: 0 / 1" in ax.get_xlabel()
    assert {text.get_text() for text in ax.get_legend().get_texts()} >= {"paper", "mean of 4 runs"}
    paper = next(line for line in ax.lines if line.get_label() == "paper")
    rows = synthetic.select(kind="ratio", source="table 1")
    defined = [row for row in rows if row.runs]
    assert paper.get_xdata().tolist() == [row.paper for row in defined if row.printed]
    expected = synthetic.plot("ratios", source="table 1, in expectation")
    ours = next(line for line in expected.lines if line.get_label() == "mean of 4 runs")
    assert ours.get_xdata().tolist() == [
        row.mean for row in synthetic.select(kind="ratio", source="table 1, in expectation")
        if row.runs
    ]  # fmt: skip
    compas = public["compas"]
    assert compas.plot("ratios").get_yticklabels()[0].get_text().startswith("race: ")
    bars = compas.plot("consistency", measure="aleatoric_uncertainty")
    widths = sorted(patch.get_width() for patch in bars.patches)
    rows = compas.select(kind="scaled consistency", measure="aleatoric_uncertainty")
    assert widths == sorted(row.mean for row in rows if row.runs)
    raw = compas.plot("consistency", scaled=False)
    assert raw.get_xlabel() == "consistency of prediction: more is better"
    lines = compas.plot("capacity", measure="epistemic_uncertainty")
    assert [line.get_xdata().tolist() for line in lines.lines] == [[4, 100, 101]] * 4
    assert lines.get_ylabel() == "epistemic uncertainty"


def test_capacity_of_one_run_has_no_band():
    study = run_fairness_study("sd1", seeds=1, widths=[3, 5], random_state=0, settings=SMALL)
    ax = study.plot("capacity")
    assert len(ax.collections) == 0
    assert {row.hidden for row in study.select(kind="capacity")} == {3, 5}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dataset": "sd4"}, "dataset must be one of sd1, sd2, sd3, compas, adult; got 'sd4'"),
        ({"scale": "huge"}, "scale must be one of quick, paper; got 'huge'"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1; got 0"),
        ({"seeds": True}, "seeds must be a whole number of at least 1; got True"),
        ({"widths": [2.5]}, "widths must be a whole number of at least 1; got 2.5"),
        ({"queries": -1}, "queries must be a whole number of at least 1; got -1"),
        ({"confidence": 1.5}, "confidence must"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        run_fairness_study(**{"dataset": "sd1", **arguments})


def test_bad_plots(synthetic, public):
    for kind, options, message in (
        ("pie", {}, "kind must be one of ratios, consistency, capacity; got 'pie'"),
        ("consistency", {}, "the study of sd3 has no scaled consistency; that is of COMPAS and"),
        ("capacity", {}, "the study of sd3 has no capacity; that is of COMPAS, or with widths="),
        ("ratios", {"source": "table 9"}, "source must be one of table 1; table 1, in expectation"),
    ):
        with pytest.raises(OptionError, match=re.escape(message)):
            synthetic.plot(kind, **options)
    with pytest.raises(OptionError, match="measure must be one of prediction, aleatoric_unc"):
        public["compas"].plot("consistency", measure="accuracy")


def real():
    """Return the folder of the real tables, or None."""
    given = os.environ.get("CAVEAT_DATA")
    beside = sorted(Path(__file__).parents[3].glob("*/data"))
    folders = [Path(given)] if given else beside
    return next((f for f in folders if (f / "compas").is_dir() and (f / "adult").is_dir()), None)


def test_sizes_of_groups_are_those_printed(monkeypatch):
    folder = real()
    if folder is None:
        pytest.skip("set CAVEAT_DATA to a folder with compas/ and adult/ to test real tables")
    monkeypatch.setenv("CAVEAT_DATA", str(folder))
    differ = []
    for name in ("compas", "adult"):
        for key, value in _fairness_runs.counts(name).items():
            attributes = {a.name: a.printed() for a in EXPERIMENTS[name].attributes}
            printed = attributes[key.attribute][key.group, "", key.measure]
            if int(printed.replace(",", "")) != value:
                differ.append((key.group, key.measure, value))
    assert differ == [("Female", "samples", 9782)]


def test_measures_are_named_once():
    assert len({*RATES, *POINT, *UNCERTAIN}) == len(RATES) + len(POINT) + len(UNCERTAIN)
