"""A reference and the summaries that followed it, one after another."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._random import RandomState
from .._renamed import suggests_parameters
from ..evaluation import Evaluation, Verdict
from ..exceptions import OptionError
from ..results.judgments import Contrast
from ..results.tables import Drawable, RowTable, terminal_table
from ..results.words import Statement, center, counted, joined, listed
from ..summaries import Summary
from ..summaries.summary import ALL
from ._drift import Settings, settings_of, true_counts
from .cells import numbers_in
from .effects import NAN
from .inputs import as_summary, check_comparable
from .monitor import DriftMonitor, MonitorState
from .result import ChangeState, Drift, DriftQuestion
from .words import ASKED, changed_groups

__all__ = ["DriftHistory", "HistoryRow", "drift_history"]


@dataclass(frozen=True, kw_only=True)
class HistoryRow:
    """One number of one period.

    Attributes
    ----------
    period : str
    quantity : str
        The mean of "probability", "epistemic", ...; "observed" for the share of the second class;
        a metric; "distance of predictions", ... for the effect of a question; or "e-value".
    target : str
    value, low, high : float
    samples : int
    """

    columns: ClassVar[tuple[str, ...]] = (
        "period", "quantity", "target", "value", "low", "high", "samples",
    )  # fmt: skip

    period: str
    quantity: str
    value: float
    samples: int
    target: str = ""
    low: float = NAN
    high: float = NAN


@dataclass(frozen=True, repr=False, eq=False)
class DriftHistory(Drawable, RowTable[HistoryRow]):
    """What `drift_history` returns.

    Attributes
    ----------
    rows : tuple of HistoryRow
        The reference first, then each period.
    reference : str
        The name of the reference.
    drifts : dict of str to Drift
        The comparison of each period with the reference.
    states : dict of str to MonitorState
        What the monitor knew after each period; empty with weights or clusters.
    """

    row_type: ClassVar[type] = HistoryRow
    rows: tuple[HistoryRow, ...]
    reference: str
    drifts: dict[str, Drift]
    states: dict[str, MonitorState]

    @property
    def periods(self) -> list[str]:
        """The names of the periods, in their order, without the reference."""
        return list(self.drifts)

    @property
    def last(self) -> Drift:
        """The comparison of the last period."""
        return self.drifts[self.periods[-1]]

    @property
    def changed(self) -> bool:
        """Whether the last period changed, or the monitor has given an alarm."""
        return self.last.changed or self.alarm

    @property
    def alarm(self) -> bool:
        """Whether the monitor has given an alarm."""
        return any(state.alarm for state in self.states.values())

    def series(self, quantity: str, target: str = "") -> list[HistoryRow]:
        """Return one number over the periods."""
        return self.matching(quantity=quantity, target=target)

    def verdict(self) -> Verdict:
        """Return what changed in plain words, and what to do next."""
        last, name = self.last.verdict(), self.periods[-1]
        first, *others = last.statements
        statements = [Statement(first.level, f"{name}: {first.text}", first.rows)]
        statements += [self._looks(), *self._monitored(), *others]
        step = last.next_step
        if self.alarm and not self.last.changed:
            step = (
                "The last period looks like the reference, but the monitor has given an alarm: "
                "look at the periods before, and start a new monitor once the cause is known."
            )
        return Verdict(tuple(statements), next_step=step)

    def _looks(self) -> Statement:
        """Say in which periods something changed."""
        changed = [name for name, drift in self.drifts.items() if drift.changed]
        of = counted(len(self.drifts), "period")
        if not changed:
            return Statement("good", f"Nothing is shown to have changed in any of {of}.")
        return Statement(
            "info",
            f"Something changed against {self.reference} in {len(changed)} of {of}: "
            f"{listed(changed)}.",
        )

    def _monitored(self) -> list[Statement]:
        if not self.states:
            text = "The monitor was left out: it needs samples without weights and clusters."
            return [Statement("info", text)]
        alarms = [name for name, state in self.states.items() if state.alarm]
        state = self.states[self.periods[-1]]
        if not alarms:
            return [Statement("good", state.message)]
        return [
            Statement("bad", f"Since {alarms[0]}: {state.message[0].lower()}{state.message[1:]}")
        ]

    def __repr__(self) -> str:
        header, body = self.table()
        return f"{self.verdict()}\n{terminal_table(f'against {self.reference}', header, body)}"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return a header, and a line of text for each period."""
        header = ["period", "samples", *(q.value for q in ASKED), "groups", "monitor p"]
        body = []
        for name, drift in self.drifts.items():
            states = [drift.state(q) for q in ASKED]
            p = f"{self.states[name].p_value:.2g}" if name in self.states else ""
            body.append(
                [
                    name,
                    f"{drift.samples[1]:,}",
                    *("" if state is None else SHORT[state] for state in states),
                    joined(changed_groups(drift)) if changed_groups(drift) else "",
                    p,
                ]
            )
        return header, body


SHORT = {
    ChangeState.CHANGED: "changed",
    ChangeState.UNCHANGED: "no change",
    ChangeState.TOO_FEW: "too few",
}


@suggests_parameters
def drift_history(
    summaries: Mapping[str, Any],
    *,
    reference: Any = None,
    threshold: Any = None,
    alpha: float = 0.05,
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: RandomState = None,
) -> DriftHistory:
    """Compare each of several summaries with a reference, and monitor them in their order.

    Parameters
    ----------
    summaries : dict of str to Summary, path, prediction or pair (prediction, y)
        By name, in the order of time.
    reference : optional
        What to compare with, as in ``summaries``, or the name of one of them; by default the first.
    threshold : float or dict of str to float, optional
        As in `drift`, like all that follow.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> weeks = {f"week-{i}": caveat.Categorical.from_binary(rng.random(2000)) for i in range(3)}
    >>> weeks["week-3"] = caveat.Categorical.from_binary(rng.random(2000) ** 2)
    >>> history = drift_history(weeks)
    >>> [drift.state("predictions") for drift in history.drifts.values()]
    ['no change that matters', 'no change that matters', 'changed']
    """
    settings = settings_of(threshold, alpha, confidence, resamples, random_state)
    if not isinstance(summaries, Mapping) or not summaries:
        raise OptionError("a history needs a dict of summaries by name, in the order of time")
    given = {str(name): as_summary(one, str(name)) for name, one in summaries.items()}
    first, base = _reference(given, reference)
    if not given:
        raise OptionError(
            f"there is nothing to compare with {first}: a history needs at least two summaries"
        )
    for name, one in given.items():
        try:
            check_comparable(base, one)
        except OptionError as error:
            raise OptionError(f"{name}: {error}") from error
    watched = not any(one.about.weighted or one.about.clustered for one in (base, *given.values()))
    monitor = DriftMonitor(base, threshold=settings.thresholds, alpha=alpha) if watched else None
    before = settings.evaluated(base)
    rows = _levels(first, base, before, settings)
    drifts, states = {}, {}
    for name, one in given.items():
        after = settings.evaluated(one)
        drift = drifts[name] = settings.compared(base, one, before, after, (first, name))
        rows += _levels(name, one, after, settings) + _effects(name, drift)
        if monitor is not None:
            state = states[name] = monitor.update(one)
            value = max((watch.e_value for watch in state.watches), default=1.0)
            rows.append(
                HistoryRow(period=name, quantity="e-value", value=value, samples=one.samples)
            )
    return DriftHistory(tuple(rows), first, drifts, states)


def _reference(given: dict[str, Summary], reference: Any) -> tuple[str, Summary]:
    """Return the name of the reference and the reference; it is taken out of the others."""
    if reference is None:
        first = next(iter(given))
        return first, given.pop(first)
    if isinstance(reference, str) and reference in given:
        return reference, given.pop(reference)
    return "the reference", as_summary(reference, "reference")


def _levels(
    name: str, summary: Summary, evaluation: Evaluation | None, settings: Settings
) -> list[HistoryRow]:
    """Return the means and the metrics of one period, with intervals."""
    from scipy.special import ndtri

    score = float(ndtri((1 + settings.options["confidence"]) / 2))
    one_target = len(dict(summary.about.shared).get("targets", ("",))) == 1
    rows = []

    def add(quantity: str, target: str, value: float, low: float, high: float) -> None:
        rows.append(
            HistoryRow(
                period=name, quantity=quantity, target="" if one_target else target, value=value,
                low=low, high=high, samples=summary.samples,
            )
        )  # fmt: skip

    for (quantity, target), numbers in numbers_in(summary, ALL).items():
        if quantity != "class":
            half = score * float(np.sqrt(numbers.variance / numbers.samples))
            add(quantity, target, numbers.mean, numbers.mean - half, numbers.mean + half)
    counts = true_counts(summary, ALL)
    if counts is not None and len(counts) == 2:
        share = float(counts[1] / counts.sum())
        half = score * float(np.sqrt(share * (1 - share) / counts.sum()))
        add("observed", "", share, share - half, share + half)
    for row in () if evaluation is None else evaluation.rows:
        if row.overall and row.contrast is Contrast.NONE and row.one_class is None:
            quantity = " ".join(part for part in (row.metric, row.option) if part)
            add(quantity, row.target, center(row), row.low, row.high)
    return rows


def _effects(name: str, drift: Drift) -> list[HistoryRow]:
    """Return the largest distance of each question from the reference."""
    rows = []
    for question in (DriftQuestion.PREDICTIONS, DriftQuestion.UNCERTAINTY):
        some = [
            row
            for row in drift.rows
            if row.overall and row.question is question and not np.isnan(row.effect)
        ]
        if some:
            row = max(some, key=lambda row: row.effect)
            rows.append(
                HistoryRow(
                    period=name, quantity=f"distance of {question.value}", value=row.effect,
                    low=row.effect_low, high=row.effect_high, samples=drift.samples[1],
                )
            )  # fmt: skip
    return rows
