"""What the table of charts knows of each kind of chart."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._registry import OpenRegistry
from .._validation import check_choice
from ..evaluation import Evaluation
from ..exceptions import OptionError, UnsupportedPredictionError
from ._samples import Samples, samples


def always(*_: Any) -> bool:
    """Return True: the chart applies to every result of its type."""
    return True


def expect(result: Any, kind: type, name: str = "result") -> None:
    """Raise if a chart is asked of something else than it is made of."""
    if not isinstance(result, kind):
        raise OptionError(f"{name} must be a {kind.__name__}; got a {type(result).__name__}")


def chosen(given: Any, name: str, known: Sequence[Any]) -> Any:
    """Return what was asked for, or the first of what is known; raise on anything else."""
    return check_choice(next(iter(known), None) if given is None else given, name, known)


@dataclass(frozen=True)
class Entry:
    """A kind of chart: one line in the table `CHARTS`.

    Attributes
    ----------
    name : str
    function : callable
        From a result and options to a `Chart`, or to several that belong side by side.
    of : type
        The type of the results it is made of.
    applies : callable
        Whether a result has it: from an `Evaluation` and the `Samples` of a target, or from another
        result, to bool.
    needs : str
        What a prediction must have for it, in words.
    section : str
        The section of a page that shows it: "calibration", "ranking" or "" for none.
    views : callable
        The options with which a page shows it: from a result to a list of dicts.
    overlays : bool
        Whether the techniques of a comparison can share the axes.
    folded : bool
        Whether a page folds the chart away.
    aliases : tuple of str
    """

    name: str
    function: Callable[..., Any]
    of: type = Evaluation
    applies: Callable[..., bool] = always
    needs: str = ""
    section: str = ""
    views: Callable[[Any], Sequence[Mapping[str, Any]]] = lambda _: ({},)
    overlays: bool = True
    folded: Callable[[Mapping[str, Any]], bool] = lambda _: False
    aliases: tuple[str, ...] = ()

    @property
    def of_target(self) -> bool:
        """Whether the chart is of one target."""
        return "target" in inspect.signature(self.function).parameters

    def samples(self, evaluation: Evaluation, target: Any = None, asked: str = "") -> Samples:
        """Return the samples of one target; an error if they do not have what was asked.

        Parameters
        ----------
        evaluation : Evaluation
        target : str, optional
            The target, where there are several; by default the first.
        asked : str, default=""
            What the message calls the chart; empty for its name.

        Returns
        -------
        Samples
        """
        result = samples(evaluation, target)
        if not self.applies(evaluation, result):
            from .table import available

            has = ", ".join(available(evaluation, target)) or "no chart at all"
            raise UnsupportedPredictionError(
                f"{asked or self.name} needs {self.needs}, which this "
                f"{type(evaluation.prediction).__name__} does not have; it has {has}"
            )
        return result


class Charts(OpenRegistry[Entry]):
    """The table of all kinds of charts."""

    def register(self, entry: Entry) -> None:
        """Add a kind of chart: `caveat.plot` and the pages then have it.

        Parameters
        ----------
        entry : Entry
        """
        if not isinstance(entry, Entry):
            raise OptionError(f"entry must be a caveat.charts.Entry; got a {type(entry).__name__}")
        self._replace([*self.values(), entry])

    def of(self, result: Any) -> list[Entry]:
        """Return the kinds of charts of results of this type.

        Parameters
        ----------
        result : Evaluation, Comparison, FairnessAudit or the result of an experiment

        Returns
        -------
        list of Entry
        """
        return [entry for entry in self.values() if isinstance(result, entry.of)]


ranked = partial(
    Entry,
    applies=lambda _, samples: samples.ranked,
    needs="an uncertainty and an error for each sample",
    section="ranking",
)
"""An entry of a chart of errors in the order of the uncertainty."""
