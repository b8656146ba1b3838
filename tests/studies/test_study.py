"""A new study is one declaration and one data file: table, conclusions, page, charts, command."""

import json
import re
from dataclasses import dataclass
from typing import ClassVar

import matplotlib as mpl
import numpy as np
import pytest

from caveat.cli import main
from caveat.exceptions import OptionError, UnknownNameError
from caveat.studies import STUDIES, Paper, Study, StudyRow, run_study
from caveat.studies.claims import stated
from caveat.studies.study import Measured, Option, Table, rows_of, table_of

mpl.use("Agg")
PAPER = json.dumps(
    {
        "title": "On coins",
        "reference": "A. Author (2020). On coins.",
        "datasets": {"fair": {"notes": ["The coin is a fair one."]}, "bent": {"notes": []}},
        "notes": ["Heads count."],
        "titles": {"table 1": "shares of heads"},
        "words": {"heads": "share of heads"},
        "claims": [
            {
                "name": "more_heads_by_hand", "source": "table 1", "text": "{hand}: more heads",
                "where": {"measure": "heads"}, "each": "hand", "above": 0.5,
            },
        ],
        "charts": [
            {
                "name": "shares", "kind": "printed", "title": "Heads", "where": {"measure": "heads"},
                "label": "{hand} {measure}", "interval": "mean", "axis": "share", "read": "Read it.",
            },
        ],
        "tables": [
            {
                "source": "table 1", "section": "2", "rows": ["dataset", "hand"],
                "columns": "measure", "names": ["heads"],
                "cells": [["fair", "left", "0.50 ± .01"], ["fair", "right", "0.90"]],
            },
        ],
    }
)  # fmt: skip


@dataclass(frozen=True)
class CoinRow(StudyRow):
    factors: ClassVar = ("hand",)
    hand: str = ""


def toss(task):
    repeats = task.repeats or 4
    heads = task.rng.binomial(100, task.options["chance"], size=(2, repeats)) / 100
    values = {
        COINS.key("table 1", "heads", hand=hand): heads[i]
        for i, hand in enumerate(("left", "right"))
    }
    return Measured(task.dataset, "A coin", "tossed 100 times", repeats, values)


COINS = Study(
    name="coins",
    paper=Paper(**json.loads(PAPER)),
    row=CoinRow,
    measure=toss,
    printed="means",
    options=(Option("chance", 0.5, "Of heads."), Option("hands", None, "Hands.", text=False)),
)


@pytest.fixture
def _coins(monkeypatch):
    entries = list(STUDIES.values())
    STUDIES._replace([*entries, COINS])
    yield
    STUDIES._replace(entries)


def test_a_study_of_your_own_needs_no_name_in_the_table():
    result = run_study(COINS, "fair", repeats=8, random_state=0)
    assert result.study is COINS
    assert len(result) == 2
    with pytest.raises(
        OptionError, match=r"study 'coins' has no option 'change'; did you mean 'ch"
    ):
        run_study(COINS, "fair", change=0.4)


@pytest.mark.usefixtures("_coins")
def test_a_new_study_has_rows_conclusions_and_notes():
    result = run_study("coins", "fair", repeats=8, random_state=0)
    left, right = result
    assert (left.hand, left.printed, left.paper_spread, left.runs) == ("left", "0.50", 0.01, 8)
    assert (left.differs, right.differs) == (False, True)
    assert result.differences == [right]
    assert str(result.conclusions[0]).startswith("table 1: left: more heads: ")
    assert {one.name for one in result.conclusions} == {"more_heads_by_hand"}
    assert result.notes == ("The coin is a fair one.", "Heads count.")
    assert result.table.frame.columns.tolist() == [
        "source", "hand", "measure", "paper", "run", "value"
    ]  # fmt: skip
    assert len(result.table.frame) == 16
    verdict = result.verdict()
    assert verdict.statements[0].text.startswith("On coins: 0 of 2 conclusions of the paper hold")
    assert verdict.statements[0].text.endswith("1 of 2 printed numbers do not agree with ours.")
    assert len(verdict) == 3


@pytest.mark.usefixtures("_coins")
def test_a_new_study_has_tables_a_page_and_charts(tmp_path):
    result = run_study("coins", "fair", random_state=0)
    ((title, header, body),) = result.tables()
    assert title == "table 1: shares of heads"
    assert header == ("hand", "measure", "paper", "ours", "interval", "differs")
    assert body[0][:3] == ["left", "share of heads", "0.50 ± 0.010"]
    page = result.report(tmp_path / "coins.html").read_text(encoding="utf-8")
    for text in ("On coins, run again", "left: more heads", "shares of heads", "Heads count."):
        assert text in page
    assert "<svg" in page
    assert result.plot("shares").get_xlabel() == "share"
    assert "<svg" in result.charts()["shares"][0].svg()
    with pytest.raises(OptionError, match="title must be text; got 3"):
        result.report(tmp_path / "coins.html", title=3)


@pytest.mark.usefixtures("_coins")
def test_a_new_study_is_in_the_command_line(capsys, tmp_path):
    assert main(["study", "--help"]) == 0
    help_text = capsys.readouterr().out
    assert "coins: A. Author (2020). On coins." in help_text
    assert "--set chance=  Of heads." in help_text
    assert "hands" not in help_text
    rows = tmp_path / "rows.csv"
    arguments = [
        "study",
        "coins",
        "--dataset",
        "bent",
        "--set",
        "chance=0.9",
        "--output",
        str(rows),
    ]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "A coin; tossed 100 times, 4 runs" in out
    assert "table 1: shares of heads" in out
    assert "none were compared" in out
    assert f"written: {rows}" in err
    assert main([*arguments[:4], "--set", "hands=2"]) == 2
    assert "--set: study 'coins' has no option 'hands'; " in capsys.readouterr().err


def test_a_wrong_name_suggests_the_right_one():
    with pytest.raises(UnknownNameError, match="unknown study 'fairnes'; did you mean 'fairness'"):
        run_study("fairnes", "sd1")


def table(values):
    """Return a tidy table of left and right hands; None leaves a hand out."""
    found = Measured(
        "fair", "", "", 3,
        {
            COINS.key("table 1", measure, hand=hand): np.array(numbers, dtype=float)
            for (hand, measure), numbers in values.items()
        },
    )  # fmt: skip
    return table_of(COINS, found)


LEFT, RIGHT = ["left", "heads"], ["right", "heads"]
VALUES = {("left", "heads"): [0.4, 0.5, np.nan], ("right", "heads"): [0.3, 0.6, 0.7]}


@pytest.mark.parametrize(
    ("claim", "outcomes"),
    [
        ({"where": {"hand": "left"}, "above": 0.4}, [0, 1, np.nan]),
        ({"where": {"hand": "left"}, "below": 0.5}, [1, 0, np.nan]),
        ({"where": {"hand": "left"}, "at most": 0.4}, [1, 0, np.nan]),
        ({"across": "hand", "larger": [["left", "right"]]}, [1, 0, np.nan]),
        ({"across": ["hand", "measure"], "larger": [[RIGHT, LEFT]]}, [0, 1, np.nan]),
        (
            {"across": "hand", "larger": [[{"gap": ["left", "right"]}, {"gap": ["left", "left"]}]]},
            [1, 1, np.nan],
        ),
        ({"across": "hand", "one above": 0.55}, [0, 1, 1]),
        ({"across": ["hand", "measure"], "smallest": ["left", "heads"], "of": 2}, [0, 1, np.nan]),
        ({"across": ["hand", "measure"], "smallest": ["left", "heads"], "of": 3}, None),
        ({"across": ["hand", "measure"], "smallest": ["third", "heads"], "of": 2}, None),
        ({"across": "hand", "larger": [["left", "third"]]}, None),
        ({"where": {"hand": "third"}, "above": 0.4}, None),
        ({"datasets": ["bent"], "above": 0.4}, None),
    ],
)
def test_claims_of_a_data_file(claim, outcomes):
    found = list(stated({"source": "s", "text": "t", **claim}, table(VALUES), str))
    if outcomes is None:
        assert found == []
    else:
        ((source, text, ours),) = found
        assert (source, text) == ("s", "t")
        np.testing.assert_array_equal(ours, outcomes)


def test_a_claim_for_each_value():
    claim = {"source": "s", "text": "{hand} wins", "each": "hand", "above": 0.45}
    found = list(stated(claim, table(VALUES), str.upper))
    assert [text for _, text, _ in found] == ["LEFT wins", "RIGHT wins"]
    claim = {"source": "s", "text": "wins", "each": "source", "above": 0.45}
    assert [source for source, _, _ in stated(claim, table(VALUES), str)] == ["table 1"]


def test_tidy_tables_put_factors_that_differ_down():
    both = table({**VALUES, ("left", "tails"): [0.6, 0.5, 0.1]})
    wide = both.wide("hand")
    assert wide.index.names == ["measure", "run"]
    assert wide.shape == (6, 2)
    assert isinstance(both, Table)
    np.testing.assert_array_equal(both.rows(measure=["tails"])["value"], [0.6, 0.5, 0.1])


def test_numbers_of_one_hand_alone_have_no_column_for_it():
    found = Measured(
        "fair", "A coin", "x", 2, {COINS.key("table 9", "heads"): np.array([1.0, 2.0])}
    )
    (row,) = rows_of(COINS, found, 0.95)
    title, names, more = COINS.label(row)
    assert (title, names, more) == ("table 9", {"hand": "", "measure": "share of heads"}, {})
    assert re.fullmatch("not printed", row.note)
