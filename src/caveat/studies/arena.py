"""Every calibrator against all others, over many pairs of data and models."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache as remembered
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .._parallel import run_tasks
from .._validation import FloatArray, check_choice, check_fraction, check_integer, is_integer
from ..exceptions import CaveatError, OptionError
from ..predictions import Categorical
from ..recalibration import RECALIBRATORS, Recalibrator
from ..repairing import Calibrator
from ..repairing.candidates import as_recalibrator
from ..repairing.result import repaired
from ..resampling.student import student_interval
from ..results.tables import (
    RowTable,
    ShownTable,
    html_tables,
    interval_words,
    number,
    terminal_table,
)
from ..results.words import counted
from ._arena_cases import MODELS, Case, cases_of_folder, known_data, make_case

__all__ = ["ArenaResult", "ArenaRow", "run_arena"]

AS_IT_IS = "as it is"
AUTO = "Calibrator"
KINDS = ("two classes", "more classes")
SCORES = ("log loss", "Brier score")
_LEAST = 1e-7
"""Smaller probabilities are raised to this one, before and after a repair: forests say 0."""
_ONE_BY_ONE = 10.0**-9
"""Scores that differ by less are a draw."""


@dataclass(frozen=True, kw_only=True)
class ArenaRow:
    """One calibrator among all, by one score.

    Attributes
    ----------
    kind : {"two classes", "more classes"}
    score : {"log loss", "Brier score"}
    calibrator : str
        The name of a recalibrator, "Calibrator" for the automatic choice, or "as it is".
    win_rate, low, high : float
        The share of pairs (data, model) and of opponents that it beats, a draw counting half; with
        an interval that takes data sets as the units; NaN where these are too few or all agree.
    place : int
        1 for the best and all that the data cannot tell from it, then 2, and so on.
    harm : float
        The share of pairs in which it is worse than no repair.
    gain : float
        By how much it lowers the score, the mean over pairs.
    pairs : int
    printed : str
        The win rate that CalArena prints, by log loss.
    """

    kind: str
    score: str
    calibrator: str
    win_rate: float
    low: float
    high: float
    place: int
    harm: float
    gain: float
    pairs: int
    printed: str = ""


@dataclass(frozen=True, repr=False, eq=False)
class ArenaResult(RowTable[ArenaRow]):
    """What `run_arena` returns.

    Attributes
    ----------
    rows : tuple of ArenaRow
    losses : dict of str to dict
        For each score, the losses by calibrator, (pairs,), in the order of ``pairs``.
    pairs : tuple of (kind, data, model)
    confidence : float
    failures : tuple of str
        Calibrators that could not be fitted, and why; they lose there to all others.
    """

    row_type: ClassVar[Any] = ArenaRow
    rows: tuple[ArenaRow, ...]
    losses: dict[str, dict[str, FloatArray]]
    pairs: tuple[tuple[str, str, str], ...]
    confidence: float
    failures: tuple[str, ...] = field(default=())

    def tables(self) -> list[ShownTable]:
        """Return what is shown: for each table a title, a header and lines of text."""
        header = ["place", "calibrator", "win rate", "interval", "worse than none", "gain"]
        shown: list[ShownTable] = []
        for kind in KINDS:
            for score in SCORES:
                rows = self.matching(kind=kind, score=score)
                if not rows:
                    continue
                printed = score == SCORES[0] and any(row.printed for row in rows)
                body = [
                    [
                        str(row.place),
                        row.calibrator,
                        f"{row.win_rate:.2f}",
                        interval_words(row.low, row.high),
                        f"{row.harm:.0%}".replace("%", " %"),
                        number(row.gain),
                        *([row.printed] if printed else []),
                    ]
                    for row in rows
                ]
                data = len({name for of, name, _ in self.pairs if of == kind})
                title = f"{kind}, by {score}: {rows[0].pairs} pairs, {counted(data, 'data set')}"
                shown.append((title, [*header, "CalArena"] if printed else header, body))
        return shown

    def explanation(self) -> str:
        """Say how to read the columns."""
        return (
            "win rate: the share of pairs of data and model, and of opponents, that a calibrator "
            f"beats on test samples; interval: {self.confidence:.0%} of that, data sets being the "
            "units; place: calibrators of the same place cannot be told apart from the first of "
            "them; worse than none: in how many pairs the score rises; gain: by how much it falls. "
            f"Fewer than {fewest(self.confidence)} data sets cannot show an order: all have "
            "the first place, without an interval. Nor is there one where all data sets agree."
        ).replace("95%", "95 %")

    def __repr__(self) -> str:
        parts = [terminal_table(*table) for table in self.tables()]
        return "\n".join([*parts, self.explanation(), *self.failures, ""])

    def _repr_html_(self) -> str:
        return html_tables(self.tables(), [self.explanation(), *self.failures])


def run_arena(
    *,
    calibrators: Sequence[str | Recalibrator] | None = None,
    data: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    predictions: Any = None,
    samples: int = 1000,
    confidence: float = 0.95,
    cache: Any = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: bool = False,
) -> ArenaResult:
    """Compare calibrators on many pairs of data and models.

    Each data set is split: 60 % train a model, and its predictions across five folds of them fit
    every calibrator; the model of all of them predicts the other 40 %, on which calibrators are
    compared by log loss and by Brier score. That is the protocol of CalArena for tables.

    Parameters
    ----------
    calibrators : list of str or recalibrators, optional
        By default all that repair probabilities, and the automatic choice `caveat.Calibrator`.
        No repair always takes part.
    data : list of str, optional
        By default all that are generated or come with scikit-learn, and, if the environment
        variable CAVEAT_DATA names their folder, adult, compas and fashion_mnist.
    models : list of str, optional
        By default "logistic", "forest", "boosting", "naive_bayes", "network" and "svm".
    predictions : path, optional
        A folder with files of predictions of your own, with what was true, to be compared on
        instead: half of the samples of each calibrates, the other half tests. Files with the same
        truth are models of one data set.
    samples : int, default=1000
        The most samples of a generated data set.
    cache : path, optional
        A folder that keeps the predictions, so that a run that was stopped goes on.
    n_jobs : int, optional
        How many processes; -1 for one on each core.
    random_state : int, default=0
        Seed of data, splits and models.

    Examples
    --------
    >>> result = run_arena(
    ...     calibrators=["ts", "platt"], data=["blobs", "noisy"], models=["naive_bayes"],
    ...     samples=200,
    ... )
    >>> sorted(row.calibrator for row in result.select(score="log loss"))
    ['PlattScaling', 'TemperatureScaling', 'as it is']
    """
    confidence = check_fraction(confidence, "confidence")
    samples = check_integer(samples, "samples", 50)
    if not is_integer(random_state):
        raise OptionError(f"random_state must be an integer; got {random_state!r}")
    entrants = _entrants(calibrators)
    tasks: list[tuple[Any, ...]]
    if predictions is not None:
        if data is not None or models is not None:
            raise OptionError("predictions are compared on instead of data and models; give one")
        folder = Path(predictions)
        if not folder.is_dir():
            raise OptionError(f"predictions {str(predictions)!r} is no folder")
        tasks = [(case,) for case in cases_of_folder(folder, random_state)]
    else:
        known = known_data()
        chosen = [check_choice(name, "data", known) for name in data or known]
        used = [check_choice(name, "models", MODELS) for name in models or MODELS]
        place = None if cache is None else Path(cache)
        tasks = [(name, model, random_state, samples, place) for name in chosen for model in used]
    done = run_tasks(_measured, (entrants,), tasks, n_jobs)
    outcomes = dict(_shown(done, len(tasks), progress))
    return _result([outcomes[i] for i in range(len(tasks))], list(entrants), confidence)


def _shown(done: Iterator[Any], total: int, progress: bool) -> Iterator[Any]:
    """Yield what is done, with a progress bar."""
    from rich.progress import track

    yield from track(done, "pairs", total, disable=not progress, transient=True)


def _entrants(given: Any) -> dict[str, Recalibrator]:
    """Return the calibrators by name."""
    if given is None:
        usual = [
            entry.recalibrator() for entry in RECALIBRATORS.values() if Categorical in entry.takes
        ]
        # Those with a coverage make sets, which have no probabilities to compare.
        able = [one for one in usual if "coverage" not in one.get_params()]
        return {**{type(one).__name__: one for one in able}, AUTO: Calibrator("auto")}
    if isinstance(given, str | Recalibrator) or not isinstance(given, Sequence) or not given:
        raise OptionError(f"calibrators must be a list of recalibrators or names; got {given!r}")
    two = Categorical.from_binary([0.5])
    made = [
        one if isinstance(one, Calibrator) else Calibrator() if one == "auto" else
        as_recalibrator(one, two)
        for one in given
    ]  # fmt: skip
    names = [type(one).__name__ for one in made]
    return {
        name if names.count(name) == 1 else repr(one): one
        for name, one in zip(names, made, strict=True)
    }


def _measured(entrants: dict[str, Recalibrator], *task: Any) -> tuple[Any, Any, list[str]]:
    """Return the pair, the losses of each calibrator, and what failed."""
    from sklearn.base import clone

    case: Case = task[0] if len(task) == 1 else make_case(*task)
    test, calibration = (
        Categorical(np.maximum(p, _LEAST), normalize=True) for p in (case.test, case.calibration)
    )
    losses = {AS_IT_IS: _losses(test.mean, case.test_y)}
    failures = []
    for name, calibrator in entrants.items():
        try:
            fitted = clone(calibrator).fit(calibration, case.calibration_y)
            losses[name] = _losses(_probabilities(fitted, test), case.test_y)
        except CaveatError as error:
            losses[name] = dict.fromkeys(SCORES, np.inf)
            failures.append(f"{name} could not be fitted on {case.data}, {case.model}: {error}")
    return (case.kind, case.data, case.model), losses, failures


def _probabilities(fitted: Recalibrator, test: Categorical) -> FloatArray:
    return np.asarray(repaired(fitted, test).mean)


def _losses(p: FloatArray, y: Any) -> dict[str, float]:
    true = p[np.arange(len(y)), y]
    brier = (p**2).sum(axis=1) - 2 * true + 1
    return {"log loss": float(-np.log(np.maximum(true, _LEAST)).mean()),
            "Brier score": float(brier.mean())}  # fmt: skip


def _result(outcomes: list[Any], entrants: list[str], confidence: float) -> ArenaResult:
    names = [AS_IT_IS, *entrants]
    pairs = [pair for pair, _, _ in outcomes]
    losses = {
        score: {name: np.array([each[name][score] for _, each, _ in outcomes]) for name in names}
        for score in SCORES
    }
    rows: list[ArenaRow] = []
    for kind in KINDS:
        part = np.array([of == kind for of, _, _ in pairs])
        data = np.array([name for _, name, _ in pairs])[part]
        for score in SCORES if part.any() else ():
            table = np.stack([losses[score][name][part] for name in names])
            rows += _rows(kind, score, names, table, data, confidence)
    failures = tuple(text for _, _, texts in outcomes for text in texts)
    return ArenaResult(tuple(rows), losses, tuple(pairs), confidence, failures)


def _rows(
    kind: str, score: str, names: list[str], table: FloatArray, data: Any, confidence: float
) -> list[ArenaRow]:
    """Return the rows of one table of (calibrators, pairs), the best first."""
    wins = win_rates(table)
    units = np.unique(data)
    by_data = np.stack([wins[:, data == unit].mean(axis=1) for unit in units], axis=1)
    order = np.argsort(-by_data.mean(axis=1), kind="stable")
    places = places_of(by_data[order], confidence)
    with np.errstate(invalid="ignore"):
        gains = table[0] - table
    rows = []
    for place, i in zip(places, order, strict=True):
        low = high = np.nan
        if len(units) >= fewest(confidence) and np.ptp(by_data[i]) > _ONE_BY_ONE:
            _, low, high = student_interval(by_data[i], confidence, (0.0, 1.0))
        rows.append(
            ArenaRow(
                kind=kind, score=score, calibrator=names[i], win_rate=float(by_data[i].mean()),
                low=low, high=high, place=place, harm=float((gains[i] < -_ONE_BY_ONE).mean()),
                gain=float(gains[i].mean()), pairs=table.shape[1],
                printed=published()["printed"][kind].get(names[i], ""),
            )
        )  # fmt: skip
    return rows


def fewest(confidence: float) -> int:
    """Return how many data sets an order needs: were all alike, a sign test would show it.

    Examples
    --------
    >>> fewest(0.95)
    6
    """
    return int(np.ceil(1 - np.log2(1 - confidence)))


def win_rates(losses: FloatArray) -> FloatArray:
    """Return for each calibrator and pair the share of opponents with a larger loss.

    Parameters
    ----------
    losses : ndarray of shape (calibrators, pairs)

    Returns
    -------
    ndarray of shape (calibrators, pairs)

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.studies.arena import win_rates
    >>> win_rates(np.array([[0.1], [0.2], [0.2]]))
    array([[1.  ],
           [0.25],
           [0.25]])
    """
    with np.errstate(invalid="ignore"):
        lead = losses[None] - losses[:, None]  # (one, other, pairs): above 0 where one wins
    draw = (np.abs(lead) <= _ONE_BY_ONE) | np.isnan(lead)
    won = np.where(draw, 0.5, lead > 0)
    return np.asarray((won.sum(axis=1) - 0.5) / (len(losses) - 1))


def places_of(rates: FloatArray, confidence: float) -> list[int]:
    """Return the place of each calibrator, the best first, from win rates by data set.

    Calibrators share the place of the first one that the data cannot tell from them: the interval
    of the mean difference, with data sets as units, holds 0. Too few data sets tell none apart.
    """
    result, first = [1], 0
    if rates.shape[1] < fewest(confidence):
        return result * len(rates)
    for i in range(1, len(rates)):
        _, low, _ = student_interval(rates[first] - rates[i], confidence)
        if low > 0:
            first = i
            result.append(result[-1] + 1)
        else:
            result.append(result[-1])
    return result


@remembered
def published() -> Any:
    """Return what CalArena prints."""
    path = files("caveat.studies") / "data" / "arena.json"
    return json.loads(path.read_text(encoding="utf-8"))
