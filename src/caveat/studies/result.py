"""What `run_study` returns: the paper's numbers beside ours, for every study."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from .._validation import check_choice, check_integer
from ..evaluation.verdict import Verdict
from ..results.judgments import Support
from ..results.tables import (
    RowTable,
    ShownTable,
    html_tables,
    interval_words,
    number,
    plain_row,
    terminal_table,
)
from ..results.words import Level, Statement, counted
from .study import Study, StudyRow, Table
from .summary import Conclusion, range_coverage

_YES_NO = {True: "yes", False: "no", None: ""}
LEVELS: dict[Support, Level] = {
    Support.SURVIVES: "good",
    Support.FAILS: "bad",
    Support.OPEN: "unsure",
}


@dataclass(frozen=True, repr=False, eq=False)
class StudyResult(RowTable[StudyRow]):
    """A study on one data set: the paper's numbers beside those of our runs.

    Attributes
    ----------
    study : Study
    dataset, title, scale, model : str
        The data set, what it is, "quick" or "paper", and what was trained.
    rows : tuple of StudyRow
        One number each; `to_frame` gives them as a table.
    table : Table
        The values of all runs, one row for each number and run.
    conclusions : tuple of Conclusion
        What the paper says, and how many runs agree.
    notes : tuple of str
        How the paper was read, and where it contradicts itself.
    details : mapping
        Results from which the numbers were taken, by name.
    repeats, confidence, seconds : int, float, float
        How many runs, the confidence of intervals, and how long it took.

    Examples
    --------
    >>> from caveat.studies import run_study
    >>> study = run_study("fairness", "sd1", repeats=3, random_state=0)
    >>> (row,) = study.select(kind="ratio", source="table 1", measure="aleatoric_uncertainty")
    >>> row.printed, row.mean > 2
    ('4.68', True)
    """

    study: Study
    dataset: str
    title: str
    scale: str
    rows: tuple[Any, ...]
    table: Table
    conclusions: tuple[Conclusion, ...]
    notes: tuple[str, ...]
    details: Mapping[str, Any]
    model: str
    repeats: int
    confidence: float
    seconds: float

    @property
    def row_type(self) -> Any:
        """The class of the rows."""
        return self.study.row

    @property
    def description(self) -> str:
        """What was done, in one line."""
        return f"{self.title}; {self.model}, {counted(self.repeats, 'run')}"

    @property
    def judged(self) -> list[Any]:
        """The rows in which a printed number was compared with ours."""
        return [row for row in self.rows if (row.differs, row.within) != (None, None)]

    @property
    def differences(self) -> list[Any]:
        """The rows in which the two do not agree."""
        return [row for row in self.judged if row.differs or row.within is False]

    def verdict(self) -> Verdict:
        """Say in plain words which conclusions of the paper most runs support."""
        states = [one.support for one in self.conclusions]
        text = (
            f"{self.study.paper.title}: {states.count(Support.SURVIVES)} of "
            f"{counted(len(states), 'conclusion')} of the paper hold in most runs, "
            f"{states.count(Support.FAILS)} do not, and {states.count(Support.OPEN)} cannot be "
            "decided from these runs."
        )
        numbers = counted(len(self.judged), "printed number")
        if self.judged:
            text += f" {len(self.differences)} of {numbers} do not agree with ours."
        statements = [Statement(LEVELS[one.support], str(one)) for one in self.conclusions]
        return Verdict((Statement("info", text), *statements))

    def to_json(self) -> str:
        """Return all of it as one JSON object; NaN becomes null."""
        names = ("dataset", "title", "scale", "model", "repeats", "confidence", "seconds", "notes")
        saved = {k: v for k, v in self.details.items() if hasattr(v, "to_json")}
        return json.dumps(
            {
                "study": self.study.name,
                **{name: getattr(self, name) for name in names},
                "rows": [plain_row(row) for row in self.rows],
                "conclusions": [asdict(conclusion) for conclusion in self.conclusions],
                "runs": json.loads(self.table.frame.to_json(orient="records", double_precision=15)),
                "details": {name: json.loads(one.to_json()) for name, one in saved.items()},
            }
        )

    def tables(self) -> list[ShownTable]:
        """Return what is shown: for each table a title, a header and lines of text."""
        result: dict[str, list[tuple[dict[str, str], dict[str, str]]]] = {}
        for row in self.rows:
            label = self.study.label(row)
            if label is not None:
                title, names, more = label
                result.setdefault(title, []).append((names, {**self._cells(row), **more}))
        shown: list[ShownTable] = []
        for title, lines in result.items():
            # A factor that plays no part in a table has no column there.
            used = [name for name in lines[0][0] if any(names[name] for names, _ in lines)]
            header = (*used, *lines[0][1])
            body = [[*(names[n] for n in used), *cells.values()] for names, cells in lines]
            shown.append((title, header, body))
        return shown

    def _cells(self, row: StudyRow) -> dict[str, str]:
        """Return the paper's number, ours, its interval, and whether the two agree."""
        ours = number(row.mean) if row.runs else "undefined"
        if self.study.printed == "runs":
            exact = row.low == row.high and row.runs == 1
            return {
                "paper": row.printed,
                "ours": f"{row.mean:,.0f}" if exact else ours,
                "one run": "" if exact else interval_words(row.low, row.high),
                "fits": _YES_NO[row.within],
            }
        if self.study.printed == "bounds":
            error = row.spread / row.runs**0.5 if row.runs else row.spread
            return {
                "paper": _with(row.printed, row.paper_spread),
                "ours": _with(ours, error),
                "interval": interval_words(row.mean_low, row.mean_high),
                "worse": _YES_NO[row.differs],
            }
        return {
            "paper": _with(row.printed, row.paper_spread),
            "ours": _with(f"{row.mean:z.3f}" if row.runs else ours, row.spread),
            "interval": interval_words(row.mean_low, row.mean_high),
            "differs": _YES_NO[row.differs],
        }

    def explanation(self) -> str:
        """Say how to read the columns."""
        runs, coverage = counted(self.repeats, "run"), range_coverage(self.repeats, self.confidence)
        text = {
            "runs": f"ours: the mean of {runs}; one run: the range in which one more run lies with "
            f"a probability of {coverage:.0%}; fits: whether the paper's number, which is one run, "
            "can lie there",
            "means": f"ours: the mean of {runs} with its standard deviation; interval: "
            f"{self.confidence:.0%} confidence interval of the mean; differs: whether the paper's "
            "mean is more than two standard deviations from ours, by the larger of both; empty if "
            "the experiments are not the same",
            "bounds": f"ours: the mean of {runs} with its standard error; interval: "
            f"{self.confidence:.0%} confidence interval of the mean; worse: whether ours is above "
            "the printed mean by more than two standard errors of the difference; empty if the "
            "experiments are not the same",
        }[self.study.printed]
        return "; ".join(filter(None, (text, self.study.explanation))) + "."

    def charts(self) -> dict[str, list[Any]]:
        """Return the charts that this result has, by kind; not yet drawn."""
        from ._charts import charts_of

        return charts_of(self)

    def plot(self, kind: str | None = None, /, *, number: int = 0, ax: Any = None) -> Any:
        """Draw a chart in matplotlib Axes.

        Parameters
        ----------
        kind : str, optional
            A name in `charts`; by default the first.
        number : int, default=0
            Which of the charts of this kind.
        ax : Axes, optional
        """
        known = self.charts()
        kind = check_choice(next(iter(known)) if kind is None else kind, "kind", [*known])
        chosen = check_integer(number, "number", least=0, most=len(known[kind]) - 1)
        return known[kind][chosen].plot(ax=ax)

    def report(self, path: Any, *, title: str | None = None) -> Any:
        """Write one HTML page: conclusions, tables, charts and notes.

        Parameters
        ----------
        path : str or path
        title : str, optional
        """
        from .page import write_page

        return write_page(self, path, title)

    def _lines(self) -> Iterator[str]:
        yield from map(str, self.conclusions)
        yield from (f"note: {note}" for note in self.notes)

    def __repr__(self) -> str:
        parts = [terminal_table(*table) for table in self.tables()]
        return "\n".join([self.description, *parts, self.explanation(), "", *self._lines(), ""])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(line)}</li>" for line in self._lines())
        tables = html_tables(self.tables(), [self.explanation()])
        return f"<p>{escape(self.description)}</p>{tables}<ul>{items}</ul>"


def _with(text: str, spread: float) -> str:
    return text if not text or spread != spread else f"{text} ± {spread:.3f}"
