"""A study as a declaration: the paper's data, a function that measures, and claims."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from .._renamed import RENAMED_PARAMETERS
from .._validation import FloatArray
from ..exceptions import OptionError
from .claims import stated
from .paper import Paper, Printed, fits, printed_number
from .summary import NAN, Conclusion, Count, Summary, conclude

if TYPE_CHECKING:
    from pandas import DataFrame

Key = tuple[Any, ...]
"""What a number is: its source, the values of the factors, and the measure."""
Label = tuple[str, dict[str, str], dict[str, str]]
"""The title of the table that shows a row, what the row is, and what follows its numbers."""
Said = tuple[str, str, Any]
"""Where a statement is printed, its words, and whether it is true in each run: 1, 0 or NaN."""


@dataclass(frozen=True)
class StudyRow:
    """One number of a study: what is printed, and what our runs give.

    Each study has a subclass, whose ``factors`` name the fields that tell its numbers apart.

    Attributes
    ----------
    source, measure : str
        Where it is printed ("table 1", "figure 4"), and what it is.
    printed, paper, paper_spread : str, float, float
        As printed; the same as a number; what follows the plus-minus sign. Empty and NaN where a
        figure has no numbers, or we add a row.
    mean, mean_low, mean_high, spread, runs : float, float, float, float, int
        The mean over runs with its confidence interval, the standard deviation over runs, and in
        how many runs it is defined.
    low, high : float
        The range in which one more run lies; NaN with a single run.
    within : bool or None
        Whether the printed number, before rounding, can lie in that range; None if what is printed
        is not one run of the same experiment.
    differs : bool or None
        Whether a printed mean is more than two standard deviations from ours, by the larger of
        both (for bounds: whether ours is worse by more than two standard errors); None if what is
        printed is not a mean of the same experiment.
    note : str

    Examples
    --------
    >>> from caveat.studies import STUDIES
    >>> STUDIES["disentanglement"].row.factors
    ('method', 'decomposition', 'setting')
    """

    factors: ClassVar[tuple[str, ...]] = ()
    source: str
    measure: str
    printed: str
    paper: float
    paper_spread: float
    mean: float
    mean_low: float
    mean_high: float
    spread: float
    low: float
    high: float
    runs: int
    within: bool | None
    differs: bool | None
    note: str


@dataclass(frozen=True)
class Option:
    """An option of one study; ``text`` says whether a command line can give it."""

    name: str
    default: Any
    help: str
    text: bool = True


@dataclass(frozen=True, eq=False)
class Task:
    """What a study is asked to measure; without ``repeats`` the study has its own number."""

    dataset: Any
    scale: str
    repeats: int | None
    rng: np.random.Generator
    confidence: float = 0.95
    checkpoint: Path | None = None
    progress: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def place(self, name: str) -> Path | None:
        """Return the folder for one part of the work, or None."""
        return None if self.checkpoint is None else self.checkpoint / name


@dataclass(frozen=True, eq=False)
class Measured:
    """What a study measured.

    ``values`` has a number for each run, NaN where it is undefined. ``summaries`` are those that
    are not the mean of the runs. ``judged`` says whether a source is the experiment that the paper
    describes. ``details`` are results from which the values were taken.
    """

    dataset: str
    title: str
    model: str
    repeats: int
    values: Mapping[Key, FloatArray]
    summaries: Mapping[Key, Summary] = field(default_factory=dict)
    judged: Callable[[str], bool] = bool
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Table:
    """All values as one tidy table, a row for each number and run.

    The columns are source, the factors, measure, paper (the printed number), run and value.
    """

    dataset: str
    frame: "DataFrame"

    def rows(self, **where: Any) -> "DataFrame":
        """Return the rows whose columns have these values, or one of several values."""
        result = self.frame
        for name, wanted in where.items():
            several = [wanted] if isinstance(wanted, str | int) else list(wanted)
            result = result[result[name].isin(several)]
        return result

    def wide(self, across: str | list[str], values: str = "value", **where: Any) -> "DataFrame":
        """Return matching numbers side by side: a column for each value of ``across``.

        Runs, and the factors that differ between the matching rows, go down.
        """
        result = self.rows(**where)
        kept = (*([across] if isinstance(across, str) else across), "paper", "value", "run")
        down = [name for name in result if name not in kept and result[name].nunique() > 1]
        return result.pivot(index=[*down, "run"], columns=across, values=values)


def check_known(names: Iterable[Any], known: Sequence[str], words: str) -> None:
    """Raise for the first name that is not known, with a suggestion."""
    for name in names:
        if name not in known:
            new = RENAMED_PARAMETERS.get(name)
            near = [new] if new in known else get_close_matches(str(name), known, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise OptionError(f"{words} {name!r}; {guess}known are {', '.join(known)}")


@dataclass(frozen=True, eq=False)
class Study:
    """A published experiment that can be run again.

    Attributes
    ----------
    name : str
    paper : Paper
        Its data file.
    row : type
        A subclass of `StudyRow` with the factors of this study.
    measure : callable
        From a task (data set, scale, repeats, options) to what was measured.
    printed : {"runs", "means", "bounds"}
        Whether the paper prints single runs, means of several, or means that ours should reach:
        less is better, and a row differs if it is worse by more than two standard errors.
    claims : sequence of callables
        Conclusions that the data file cannot express, as predicates of the tidy table.
    labels : callable or None
        From a row to the title of its table, the cells before its numbers, and the cells after
        them; by default from the data file.
    explanation : str
        How to read the tables; by default from the data file.
    options : tuple of Option
    limits : callable
        From a measure to the lowest and the highest possible value.
    extra : callable
        From factors, values of the runs, printed number and confidence to more fields of the row.
    takes_files : bool
        Whether a table file can be the data set.
    several : bool
        Whether several data sets can be named, with commas between them.
    aliases : tuple of str

    Examples
    --------
    >>> from caveat.studies import STUDIES
    >>> STUDIES["fairness"].datasets
    ('sd1', 'sd2', 'sd3', 'compas', 'adult', 'd-vlog')
    """

    name: str
    paper: Paper
    row: type[StudyRow]
    measure: Callable[[Task], Measured]
    printed: Literal["runs", "means", "bounds"]
    claims: Sequence[Callable[[Table], Iterator[Said]]] = ()
    labels: Callable[[Any], Label | None] | None = None
    options: tuple[Option, ...] = ()
    limits: Callable[[str], tuple[float, float]] = lambda measure: (-np.inf, np.inf)
    extra: Callable[[dict[str, Any], FloatArray, float, float], dict[str, Any]] = lambda *_: {}
    explanation: str = ""
    takes_files: bool = False
    several: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def datasets(self) -> tuple[str, ...]:
        """The data sets of the paper."""
        return tuple(self.paper.datasets)

    def key(self, source: str, measure: str, **factors: Any) -> Key:
        """Return what a number is, a tuple of its source, the factors and its measure.

        Parameters
        ----------
        source, measure : str
        **factors
            Those that are not given have their default.
        """
        return source, *(factors.get(name, default) for name, default in self.defaults()), measure

    def defaults(self) -> list[tuple[str, Any]]:
        """Return the factors and their defaults."""
        return [(p.name, p.default) for p in fields(self.row) if p.name in self.row.factors]

    def printed_texts(self, dataset: str) -> Callable[[Key], tuple[str, str]]:
        """Return the printed text of a number and of its spread; empty where there is none."""
        cells = self.paper.cells(dataset)
        known = {self.key(**cell): (text, spread) for cell, text, spread in cells}
        # "table 4, scaled within" is printed in table 4.
        return lambda key: known.get((key[0].partition(",")[0], *key[1:]), ("", ""))

    def label(self, row: Any) -> Label | None:
        """Return where a row is shown, what it is, and what follows its numbers."""
        if self.labels is not None:
            return self.labels(row)
        table = row.source.partition(",")[0]
        title = ": ".join(filter(None, (row.source, self.paper.titles.get(table))))
        names = [*self.row.factors, "measure"]
        return title, {name: self.paper.word(str(getattr(row, name)), table) for name in names}, {}


def rows_of(study: Study, measured: Measured, confidence: float) -> list[StudyRow]:
    """Return the printed numbers beside ours."""
    printed = study.printed_texts(measured.dataset)
    return [
        _row(study, key, values, printed(key), measured, confidence)
        for key, values in measured.values.items()
    ]


def _row(
    study: Study, key: Key, values: FloatArray, printed: tuple[str, str], measured: Measured,
    confidence: float,
) -> StudyRow:  # fmt: skip
    source, *factors, measure = key
    summary = measured.summaries.get(key) or Summary.of(values, confidence, study.limits(measure))
    text, spread = printed
    given = printed_number(text, exact=isinstance(summary, Count)) if text else None
    paper, paper_spread = NAN if given is None else given.value, float(spread or NAN)
    within = differs = None
    if given is not None and measured.judged(source):
        if study.printed == "runs":
            within = fits(given, summary.low, summary.high)
        elif study.printed == "bounds":
            differs = worse(given, paper_spread, summary)
        elif not np.isnan(summary.spread):
            limit = 2 * np.nanmax([summary.spread, paper_spread])
            differs = bool(abs(paper - summary.mean) > limit)
    undefined = int((~np.isfinite(values)).sum())
    notes = [] if text else ["not printed"]
    notes += [f"undefined in {undefined} of {len(values)} runs"] if undefined else []
    names = [name for name, _ in study.defaults()]
    known = {"source": source, "measure": measure, **dict(zip(names, factors, strict=True))}
    return study.row(
        **known, printed=text, paper=paper, paper_spread=paper_spread, **vars(summary),
        within=within, differs=differs, note="; ".join(notes),
        **study.extra(known, values, paper, confidence),
    )  # fmt: skip


def worse(printed: Printed, error: float, ours: Summary) -> bool | None:
    """Whether our mean is above a printed one by more than two standard errors of the difference.

    What was rounded may have been larger by half of the last digit; None with a single run.
    """
    if np.isnan(ours.spread):
        return None
    most = printed.value + (printed.value - printed.low)
    limit = 2 * np.hypot(error, ours.spread / np.sqrt(ours.runs))
    return bool(ours.mean - most > limit)


def table_of(study: Study, measured: Measured) -> Table:
    """Return all values of all runs as one tidy table."""
    import pandas as pd

    printed = study.printed_texts(measured.dataset)
    names = ["source", *(name for name, _ in study.defaults()), "measure"]
    rows = [
        (*key, printed_number(printed(key)[0] or "nan").value, run, value)
        for key, values in measured.values.items()
        for run, value in enumerate(values.tolist())
    ]
    return Table(measured.dataset, pd.DataFrame(rows, columns=[*names, "paper", "run", "value"]))


def conclusions_of(study: Study, table: Table, confidence: float) -> Iterator[Conclusion]:
    """Yield what the paper concludes, and in how many runs it holds."""
    claims = [(one["name"], stated(one, table, study.paper.word)) for one in study.paper.claims]
    claims += [(claim.__name__, claim(table)) for claim in study.claims]
    for name, statements in claims:
        for source, text, outcomes in statements:
            yield conclude(source, text, outcomes, confidence, name)
