"""What a triage decides, and on what evidence."""

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..results.tables import ShownTable, html_tables
from ..results.words import counted
from ..risk_control.prices import GroupPrice, price_frame

ACCEPT, EXPERT, MEASURE, DEFER = "accept", "ask an expert", "measure again", "defer"
HIGH_PROBABILITY, MEAN = "high-probability", "mean"


@dataclass(frozen=True, eq=False)
class OperatingCurve:
    """The tested calibration samples that each threshold accepts, strictest first.

    All arrays have shape (thresholds,); there are at most 1001 thresholds.

    Attributes
    ----------
    threshold : ndarray
        Samples with a score of at most this are accepted.
    coverage : ndarray
        The share of the tested samples that is accepted; with clusters the mean of their shares.
    tested, accepted, errors : ndarrays
        The number of tested samples, of accepted ones among these, and of wrong ones among those,
        or the sum of their losses.
    error : ndarray
        The error rate of accepted samples by clusters and weights; NaN if none is accepted.
    upper : ndarray
        The upper limit of the error rate at confidence 1 - ``level``; for thresholds that were not
        tested, at that of the first start.
    level : ndarray
        The part of the error budget, 1 - confidence, of the test; 0 without a test.
    passed : ndarray of bool
        Whether the threshold was shown to keep the risk. The policy takes the last one that was.
    """

    threshold: FloatArray
    coverage: FloatArray
    tested: NDArray[np.intp]
    accepted: NDArray[np.intp]
    errors: NDArray[np.intp]
    error: FloatArray
    upper: FloatArray
    level: FloatArray
    passed: NDArray[np.bool_]

    @property
    def reached(self) -> int:
        """The number of thresholds up to the last one that passed."""
        return int(np.max(np.flatnonzero(self.passed) + 1, initial=0))

    def to_frame(self) -> Any:
        """Return a pandas frame with one row for each threshold."""
        import pandas as pd

        return pd.DataFrame({name: getattr(self, name) for name in self.__dataclass_fields__})


@dataclass(frozen=True, eq=False, repr=False)
class Triage:
    """What to do with each sample, and why.

    Attributes
    ----------
    actions : ndarray of str, of shape (samples,)
        "accept", "ask an expert" (deferred, the epistemic part dominates) or "measure again"
        (deferred, the aleatoric part dominates); if the parts are not known, "accept" or "defer".
    scores : ndarray of shape (samples,)
        The total uncertainty, which is compared with the threshold; for regression in units of the
        squared tolerance, summed over targets.
    aleatoric, epistemic : ndarrays of shape (samples,)
        The two parts, standardized by their mean and standard deviation over the calibration
        samples. NaN if they are not known, as for a single model.
    threshold : float
        Samples with a score up to this are accepted; minus infinity accepts none. NaN with groups,
        each of which has its own in ``prices``.
    risk, confidence : float
        The parameters of the policy.
    curve : OperatingCurve
        The tested calibration samples at each threshold; with groups, of all of them together.
    guarantee : str
        The promise in plain words.
    remark : str
        Why the parts are not known; empty if they are.
    ids : ndarray of shape (samples,) or None
        The names of the samples.
    promise : {"high-probability", "mean"}
        Whether the risk is kept with the confidence asked for, or on average over calibration sets.
    needed : float or None
        If nothing is accepted, about how many calibration samples (clusters) are needed.
    prices : tuple of GroupPrice
        For each group: how many of these samples are accepted under its own promise, and how many
        one promise for all would accept; empty without groups.
    """

    actions: NDArray[np.str_]
    scores: FloatArray
    aleatoric: FloatArray
    epistemic: FloatArray
    threshold: float
    risk: float
    confidence: float
    curve: OperatingCurve
    guarantee: str
    remark: str = ""
    ids: NDArray[Any] | None = None
    promise: str = HIGH_PROBABILITY
    needed: float | None = None
    prices: tuple[GroupPrice, ...] = ()

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """Which samples are accepted."""
        return self.actions == ACCEPT

    @property
    def deferred(self) -> NDArray[np.bool_]:
        """Which samples are not accepted."""
        return self.actions != ACCEPT

    @property
    def terms(self) -> str:
        """The risk and the promise, in few words."""
        mean = self.promise == MEAN
        return f"risk {self.risk:g}, " + (
            "on average" if mean else f"confidence {self.confidence:g}"
        )

    @property
    def counts(self) -> dict[str, int]:
        """The number of samples with each possible action."""
        return {action: int(np.count_nonzero(self.actions == action)) for action in self.reasons}

    @property
    def shares(self) -> dict[str, float]:
        """The share of samples with each possible action."""
        return {action: number / len(self) for action, number in self.counts.items()}

    @property
    def reasons(self) -> dict[str, str]:
        """The reason for each possible action."""
        reached = self.threshold > -np.inf
        limit = f"at most {self.threshold:.4g}" if reached else "never low enough"
        limit = "at most the threshold of its group" if self.prices else limit
        accept = {ACCEPT: f"the total uncertainty is {limit}"}
        if self.remark:
            return accept | {
                DEFER: "deferred: which part of the uncertainty dominates is not known"
            }
        return accept | {
            EXPERT: "deferred: the epistemic part, what the model does not know, dominates",
            MEASURE: "deferred: the aleatoric part, what the data cannot tell, dominates",
        }

    def summary(self) -> Any:
        """Return a pandas frame with one row for each action: samples, share and reason."""
        import pandas as pd

        return pd.DataFrame(
            {
                "action": list(self.reasons),
                "samples": list(self.counts.values()),
                "share": list(self.shares.values()),
                "reason": list(self.reasons.values()),
            }
        )

    def price_frame(self) -> Any:
        """Return a pandas frame with one row for each group: what its own promise costs."""
        return price_frame(self.prices)

    def to_frame(self) -> Any:
        """Return a pandas frame with one row for each sample, named by its id if there is one."""
        import pandas as pd

        columns = {
            "action": self.actions,
            "score": self.scores,
            "aleatoric": self.aleatoric,
            "epistemic": self.epistemic,
        }
        index = None if self.ids is None else pd.Index(self.ids, name="id")
        return pd.DataFrame(columns, index=index)

    def table(self) -> ShownTable:
        """Return a line for each action: how many samples get it, and why."""
        body = [
            [action, f"{self.counts[action]:,}", f"{100 * self.shares[action]:.1f} %", reason]
            for action, reason in self.reasons.items()
        ]
        title = f"Triage of {counted(len(self), 'sample')} at {self.terms}"
        return title, ["action", "samples", "share", "reason"], body

    @property
    def _texts(self) -> list[str]:
        return [text for text in (self.guarantee, self.remark) if text]

    def __repr__(self) -> str:
        title, _, body = self.table()
        width = max(len(cells[1]) for cells in body)
        rows = [f"  {row[0]:<13}  {row[1]:>{width}}  {row[2]:>7}  {row[3]}" for row in body]
        return "\n".join([title, *rows, *(textwrap.fill(text, 96) for text in self._texts)])

    def _repr_html_(self) -> str:
        return html_tables([self.table()], self._texts)
