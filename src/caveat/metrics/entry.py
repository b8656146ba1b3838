"""The declaration of a metric: its function and all that the registry knows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..resampling import ConfidenceInterval
    from .states import State
    from .sums import Sums

Task = Literal["classification", "regression", "ranking", "detection"]
Place = Literal["headline", "compared", "groups", "shift", "skill", "calibration", "ranking"]
Role = Literal["skill", "calibration", "supporting"]

MEMBERS_FIRST = frozenset({"means", "variances", "members"})
_SAME_FOR_ALL = frozenset({"levels"})

_CAPITALS = {
    "auc": "AUC", "auroc": "AUROC", "brier": "Brier", "cohen": "Cohen", "crps": "CRPS", "f1": "F1",
    "gaussian": "Gaussian", "matthews": "Matthews", "roc": "ROC",
}  # fmt: skip


def take_input(name: str, array: Any, rows: Any) -> Any:
    """Return the input of this name for some of the samples.

    The first axis is the samples, except where members come first, or all samples share it.
    """
    if name in _SAME_FOR_ALL:
        return array
    return array[:, rows] if name in MEMBERS_FIRST else array[rows]


@dataclass(frozen=True)
class Metric:
    """One line of the table of all metrics.

    Attributes
    ----------
    function : callable
        ``function(y_true, *inputs, sample_weight=None, **options) -> float``.
    task : {"classification", "regression", "ranking", "detection"}
    inputs : tuple of str
        What the function takes, in its order and under these names; if empty, the positional
        parameters after the first.
    direction : {"lower", "higher", "target"}
        Whether less or more is better, or the optimum is a value in between.
    range : pair of float
        The values that valid input can give.
    optimum : float or None
        The best value; None where the best is not one number (a width, a dispersion).
    says : str
        What it tells, in one plain sentence.
    cannot_see : str
        What it is blind to, in one plain sentence.
    sums : callable or None
        ``sums(batch, **options) -> Sums``: the metric as a function of sums over cells, from which
        its intervals, and those of differences, follow. None for a metric that is known by its
        function alone: it is then called once for each resample.
    locality : {"global", "local"}
        Whether it compares averages over everything, or within bins of predicted uncertainty.
    proper : bool
        Whether the true distribution, and no other, has the best expected value.
    aliases : tuple of str
        The papers' abbreviations; two tasks may share one.
    curve : callable or None
        The curve behind the number.
    name : str
        The full name; that of the function by default.
    short : str
        The abbreviation for tables; empty where there is none that people know.
    unit : {"", "share", "percent", "nats", "target"}
        What it is measured in; "target" for the unit of the predicted number.
    shown : tuple of {"headline", "compared", "groups", "shift", "skill", "calibration", "ranking"}
        Which short tables it is in: of an evaluation, a comparison, groups, shifts of the inputs.
    within_class : bool
        Whether it means something among the samples of one true class. Calibration does not: even
        perfect probabilities are off among samples that were chosen by what was true.
    two_classes : bool
        Whether it is defined for two classes only.
    cells : {"", "class", "top", "label", "entropy"}
        Which cells can stand for the samples, because its sums read no more of each than the
        probability of every class and whether that is the true one; the probability of the most
        probable class and whether that is right; the true and the predicted class; or the entropy,
        whether the prediction is wrong and the rank of the true class.
    note : callable or None
        ``note(value, y_true, *inputs, sample_weight=None) -> str``: what a row of an evaluation
        adds to the value, such as the two means that it is the difference of; may be empty.
    serves : mapping of str to str
        What it does where uncertainty is expressed as "probability", "entropy", "variance" or
        "interval": the "skill" that decides first, the "calibration" that decides then, or
        a "supporting" metric.
    """

    function: Callable[..., Any]
    task: Task
    inputs: tuple[str, ...]
    direction: Literal["lower", "higher", "target"]
    range: tuple[float, float]
    optimum: float | None
    says: str
    cannot_see: str
    sums: "Callable[..., Sums] | None" = None
    locality: Literal["global", "local"] = "global"
    proper: bool = False
    aliases: tuple[str, ...] = ()
    curve: Callable[..., Any] | None = None
    name: str = ""
    short: str = ""
    unit: Literal["", "share", "percent", "nats", "target"] = ""
    shown: tuple[Place, ...] = ()
    within_class: bool = True
    two_classes: bool = False
    cells: Literal["", "class", "top", "label", "entropy"] = ""
    note: Callable[..., str] | None = None
    serves: Mapping[str, Role] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.function.__name__)
        if not self.inputs:
            code = self.function.__code__
            object.__setattr__(self, "inputs", code.co_varnames[1 : code.co_argcount])

    def state(
        self,
        y_true: Any,
        *inputs: Any,
        sample_weight: Any = None,
        cluster: Any = None,
        ids: Any = None,
        **options: Any,
    ) -> "State":
        """Return the sums of some samples, which add up: of batches, files, workers or weeks.

        Parameters
        ----------
        y_true : array of shape (samples,)
        *inputs : arrays
            As the function takes them.
        sample_weight : array of shape (samples,), optional
        cluster : array of shape (samples,), optional
            Samples that belong together are in one unit, also across states.
        ids : array of shape (samples,), optional
            By which samples are dealt to units; by default their number.
        **options
            Options of the function.

        Returns
        -------
        State

        Examples
        --------
        >>> from caveat.metrics import METRICS
        >>> ece = METRICS["ece"]
        >>> monday = ece.state([0, 1], [[0.8, 0.2], [0.4, 0.6]])
        >>> tuesday = ece.state([1, 1], [[0.1, 0.9], [0.7, 0.3]])
        >>> round(ece.value(monday + tuesday), 4)
        0.35
        """
        from .states import state_of

        return state_of(
            self, y_true, inputs, sample_weight=sample_weight, cluster=cluster, ids=ids,
            options=options,
        )  # fmt: skip

    def value(self, state: "State") -> float:
        """Return the value of the samples that a state is of; see `State.key_error`."""
        from .states import value_of

        return value_of(self, state)

    def interval(
        self,
        state: "State",
        confidence: float = 0.95,
        *,
        resamples: int = 1000,
        random_state: Any = None,
    ) -> "ConfidenceInterval":
        """Return the confidence interval of `value`; see `caveat.resampling.state_interval`.

        Parameters
        ----------
        state : State
        confidence : float, default=0.95
        resamples : int, default=1000
        random_state : int, Generator or None, optional
        """
        from ..resampling import state_interval

        return state_interval(
            self, state, confidence, resamples=resamples, random_state=random_state
        )

    @property
    def title(self) -> str:
        """The name for a reader.

        Examples
        --------
        >>> from caveat.metrics import METRICS
        >>> METRICS["ece"].title, METRICS["roc_auc"].title
        ('Expected calibration error', 'ROC AUC')
        """
        words = self.name.removesuffix("_score").split("_")
        text = " ".join(_CAPITALS.get(word, word) for word in words)
        return text[0].upper() + text[1:]

    @property
    def label(self) -> str:
        """The name for a reader and its abbreviation: Expected calibration error (ECE)."""
        return self.title + (f" ({self.short})" if self.short else "")
