"""What `run_fairness_study` returns."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from ..results.tables import ShownTable, plain
from ._fairness_conclusions import WORDS
from ._table import Conclusion, PaperRow, PaperTable, cells

_RATIO_HEADER = ("ratio", "paper", "ours", "one run", "fits", "unfair", "as printed", "")
_GROUP_HEADER = ("of", "group", "paper", "ours", "one run", "fits")


@dataclass(frozen=True)
class FairnessRunRow(PaperRow):
    r"""One number of the fairness study.

    Attributes
    ----------
    source, measure, printed, paper, mean, mean_low, mean_high, low, high, runs, within, note
        As in `PaperRow`.
    kind : {"count", "group", "ratio", "consistency", "scaled consistency", "capacity"}
    attribute, group : str
        The group that it is of; of a ratio the one on top.
    reference : str
        Of a ratio, the group below; otherwise empty.
    outcome : str
        Of a consistency: the predicted class.
    hidden : int
        Of figure 6: the units of the hidden layer; otherwise 0.
    paper_flag : bool or None
        Of a printed ratio F: whether :math:`|F - 1| > 0.2`.
    flagged : float
        Of a ratio: in which share of the runs that is so.
    symmetric_flagged : float
        The same for :math:`|\log F| > -\log 0.8`, which does not depend on which group is on top.
    agreeing : int or None
        How many runs have the flag of a printed ratio, and on the same side of 1.
    agreement : str
        Whether most runs have: "survives", "does not survive" or "open".
    """

    kind: str
    attribute: str
    group: str
    reference: str
    outcome: str
    hidden: int
    paper_flag: bool | None
    flagged: float
    symmetric_flagged: float
    agreeing: int | None
    agreement: str


@dataclass(frozen=True, repr=False, eq=False)
class FairnessStudy(PaperTable[FairnessRunRow]):
    """The fairness experiments on one data set: the paper's numbers beside those of our runs.

    Attributes
    ----------
    dataset : str
    title : str
        What the data set is.
    rows : tuple of FairnessRunRow
        One number each; `to_frame` gives them as a table.
    conclusions : tuple of Conclusion
        What the paper says, and how many runs agree.
    notes : tuple of str
        What is not as the paper has it, and where it contradicts itself.
    model : str
        What was trained.
    runs : int
        How often.
    confidence : float
        Of the intervals of means, and wanted of the range of one more run.
    coverage : float
        What that range attains with so many runs.
    seconds : float
        How long it took.

    Examples
    --------
    >>> from caveat.studies import run_fairness_study
    >>> study = run_fairness_study("sd1", seeds=3, random_state=0)
    >>> (row,) = study.select(kind="ratio", source="table 1", measure="aleatoric_uncertainty")
    >>> row.printed, row.mean > 2
    ('4.68', True)
    """

    row_type: ClassVar[Any] = FairnessRunRow
    dataset: str
    title: str
    rows: tuple[FairnessRunRow, ...]
    conclusions: tuple[Conclusion, ...]
    notes: tuple[str, ...]
    model: str
    runs: int
    confidence: float
    coverage: float
    seconds: float

    @property
    def description(self) -> str:
        """What was done, in one line."""
        return f"{self.title}; {self.model}, {self.runs} runs"

    def to_json(self) -> str:
        """Return all of it as one JSON object; NaN becomes null."""
        return json.dumps(
            {
                "dataset": self.dataset,
                "title": self.title,
                "model": self.model,
                "runs": self.runs,
                "confidence": self.confidence,
                "coverage": self.coverage,
                "seconds": self.seconds,
                "rows": [{k: plain(v) for k, v in asdict(row).items()} for row in self.rows],
                "conclusions": [asdict(conclusion) for conclusion in self.conclusions],
                "notes": list(self.notes),
            }
        )

    def tables(self) -> list[ShownTable]:
        """Return what is shown: for each source a title, a header and lines of text."""
        found: list[ShownTable] = []
        for source in dict.fromkeys(row.source for row in self.rows):
            rows = self.matching(source=source)
            ratios = [row for row in rows if row.kind == "ratio"]
            others = [row for row in rows if row.kind in ("count", "group", "capacity")]
            others += [row for row in rows if row.kind == "scaled consistency"]
            for name in dict.fromkeys(row.attribute for row in ratios):
                some = [row for row in ratios if row.attribute == name]
                title = f"{source}: {name}, {some[0].group} / {some[0].reference}"
                found.append((title, _RATIO_HEADER, [self._ratio_line(row) for row in some]))
            lines = [self._line(row) for row in others]
            found.append((f"{source}: groups", _GROUP_HEADER, lines))
        return found

    def explanation(self) -> str:
        """Say how the columns are to be read."""
        return (
            f"ours: the mean of {self.runs} runs; one run: where one more run lies with a chance "
            f"of {self.coverage:.0%}; fits: whether the paper's number, which is one run, can lie "
            "there; unfair: the paper's flag, |F - 1| > 0.2; as printed: how many runs have that "
            "flag, on the same side of 1, and whether most runs do."
        )

    def plot(self, kind: str = "ratios", /, **options: Any) -> Any:
        """Draw the ratios, the consistencies of figures 4 and 5, or the capacities of figure 6.

        Parameters
        ----------
        kind : {"ratios", "consistency", "capacity"}, default="ratios"
        **options
            ``ax=``: axes to draw in; ``source=`` of "ratios", such as "table 1, in expectation";
            ``measure=`` of the others: "prediction" (or, of "capacity", "accuracy"),
            "aleatoric_uncertainty" or "epistemic_uncertainty"; ``scaled=`` of "consistency".

        Returns
        -------
        Axes
        """
        from ._fairness_plots import draw

        return draw(self, kind, **options)

    @staticmethod
    def _ratio_line(row: FairnessRunRow) -> list[str]:
        flag = {True: "yes", False: "no", None: ""}[row.paper_flag]
        same = "" if row.agreeing is None else f"{row.agreeing} of {row.runs}"
        (name,) = words([row.measure])
        return [name, *cells(row), flag, same, row.agreement]

    @staticmethod
    def _line(row: FairnessRunRow) -> list[str]:
        name = row.measure.replace("_", " ")
        if row.kind == "scaled consistency":
            name = f"consistency of {name}"
        group = f"{row.attribute} {row.group}"
        group += f", predicted {row.outcome}" if row.outcome else ""
        group += f", {row.hidden} units" if row.hidden else ""
        if row.kind == "count":
            return [name, group, row.printed, f"{row.mean:,.0f}", "", cells(row)[-1]]
        return [name, group, *cells(row)]


def words(measures: Sequence[str]) -> list[str]:
    """Return measures for a reader."""
    return [WORDS.get(measure, measure.replace("_", " ")) for measure in measures]
