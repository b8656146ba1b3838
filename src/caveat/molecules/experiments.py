"""Experiments on molecules: new scaffolds against known ones, and what to measure next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._random import RandomState, generator
from .._validation import FloatArray, check_choice, check_fraction, check_integer
from ..exceptions import OptionError
from ..experiments import DomainShift, domain_shift
from ..resampling.student import student_interval
from ..results.tables import interval_words, number
from .data import MoleculeData
from .domain import chosen_by
from .splits import Split

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["LearningCurves", "active_learning", "split_shift"]


def fitted(model: Any, data: MoleculeData, split: Split, seed: int, **options: Any) -> Any:
    """Return a copy of a model that learned from a split, with its validation held out."""
    from sklearn.base import clone

    rows = np.concatenate([split.train, split.validation])
    held = np.arange(len(split.train), len(rows))
    given = {"validation": held} if len(held) else {}
    copy = clone(model).set_params(random_state=seed)
    return copy.fit(data.graphs[rows], data.y[rows], **given, **options)


def split_shift(
    model: Any,
    data: MoleculeData,
    *,
    inside: str = "random",
    outside: str = "scaffold-balanced",
    sizes: Sequence[float] = (0.8, 0.1, 0.1),
    metrics: Sequence[str] | None = None,
    component: str = "total",
    resamples: int = 1000,
    confidence: float = 0.95,
    random_state: RandomState = None,
) -> DomainShift:
    """Train on two splits, and compare the tests: in domain and out of domain.

    With a random split, the test has molecules like those to learn from; with a split by scaffold
    it has others. Every metric in and out of domain, their ratio (out over in) with an interval,
    and by which factor uncertainties grow more than errors; see `caveat.experiments.domain_shift`.
    Intervals are of the test samples of these two trainings: another split or training gives
    other numbers, also without a shift, so that no question is answered.

    Parameters
    ----------
    model : MoleculeRegressor
        It stays unfitted: a copy is trained on each split, with its validation part held out.
    data : MoleculeData
    inside : {"random", "scaffold", "scaffold-balanced", "cluster"}, default="random"
        The split in domain.
    outside : {"random", "scaffold", "scaffold-balanced", "cluster"}, default="scaffold-balanced"
        The split out of domain.
    sizes : three floats, default=(0.8, 0.1, 0.1)
    metrics : list of str, optional
        As in `caveat.experiments.domain_shift`, like all that follow.
    component : {"total", "aleatoric", "epistemic"}, default="total"

    Examples
    --------
    >>> from caveat.molecules import MoleculeData, MoleculeRegressor, split_shift
    >>> smiles = [f"C1{'C' * n}C1{tail}" for n in range(1, 13) for tail in ("", "O", "N", "C")]
    >>> data = MoleculeData.make(smiles, [len(text) / 1.0 for text in smiles])
    >>> model = MoleculeRegressor(members=2, hidden=8, epochs=2)
    >>> result = split_shift(model, data, metrics=["mae"], resamples=0, random_state=0)
    >>> [row.quantity for row in result.rows]
    ['mean_absolute_error', 'aleatoric', 'epistemic', 'total']
    """
    rng = generator(random_state)
    parts: list[Any] = []
    for kind in (inside, outside):
        split = data.split(kind, sizes=sizes, random_state=int(rng.integers(2**31)))
        made = fitted(model, data, split, int(rng.integers(2**31)))
        parts += [made.predict_distribution(data.graphs[split.test]), data.y[split.test]]
    return domain_shift(
        *parts, metrics=metrics, component=component, one_model=False, resamples=resamples,
        confidence=confidence, random_state=rng,
    )  # fmt: skip


STRATEGIES = ("epistemic", "uncertain", "random")


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """How errors fall as molecules are measured, by the strategy that chose them.

    Attributes
    ----------
    strategies : tuple of str
    sizes : tuple of int
        Numbers of molecules to learn from.
    error : ndarray of shape (strategies, repeats, sizes)
        Mean absolute error on the test molecules.
    confidence : float

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.molecules import LearningCurves
    >>> error = np.array([[[1.0, 0.5], [1.0, 0.6]], [[1.0, 0.7], [1.0, 0.8]]])
    >>> LearningCurves(("epistemic", "random"), (10, 20), error, 0.95).gain("epistemic")[0]
    np.float64(-0.2)
    """

    strategies: tuple[str, ...]
    sizes: tuple[int, ...]
    error: FloatArray
    confidence: float

    def gain(self, strategy: str, against: str = "random") -> tuple[float, float, float]:
        """Return the mean error of a strategy less that of another, and the interval.

        The error is the mean over all sizes but the first, which all share; repeats are paired.

        Parameters
        ----------
        strategy : str
        against : str, default="random"
        """
        one, other = (
            self.error[self.strategies.index(check_choice(name, "strategy", self.strategies))]
            for name in (strategy, against)
        )
        gains = (one - other)[:, 1:].mean(axis=1)
        if len(gains) < 2:
            return gains.mean(), np.nan, np.nan
        _, low, high = student_interval(gains, self.confidence)
        return gains.mean(), low, high

    def to_frame(self) -> "DataFrame":
        """Return one row for each strategy, repeat and size."""
        import pandas as pd

        return pd.DataFrame(
            [
                (strategy, repeat, size, float(self.error[s, repeat, k]))
                for s, strategy in enumerate(self.strategies)
                for repeat in range(self.error.shape[1])
                for k, size in enumerate(self.sizes)
            ],
            columns=["strategy", "repeat", "molecules", "error"],
        )

    def __str__(self) -> str:
        lines = []
        compared = "random" in self.strategies[:-1] or "random" in self.strategies[1:]
        for strategy in self.strategies:
            if not compared:
                mean = self.error[self.strategies.index(strategy), :, 1:].mean()
                lines.append(f"{strategy}: error {number(mean)}")
            elif strategy != "random":
                value, low, high = self.gain(strategy)
                said = (
                    "better than random" if high < 0 else "worse than random" if low > 0
                    else "not distinguished from random"
                )  # fmt: skip
                ends = interval_words(low, high)
                shown = f" ({ends}) from random's: {said}" if ends else " from random's"
                lines.append(f"{strategy}: error {number(value)}{shown}")
        return "\n".join(lines)


def active_learning(
    model: Any,
    data: MoleculeData,
    *,
    start: int = 100,
    batch: int = 50,
    rounds: int = 4,
    test_fraction: float = 0.2,
    strategies: Sequence[str] = ("epistemic", "random"),
    diversity: float = 0.5,
    repeats: int = 5,
    confidence: float = 0.95,
    random_state: RandomState = None,
) -> LearningCurves:
    """Measure molecules in rounds, chosen by uncertainty or at random, and compare the errors.

    In each repeat, some molecules are the test, ``start`` others are known, and the rest is the
    pool. Each round trains the model, chooses ``batch`` molecules of the pool and adds them. All
    strategies of a repeat begin with the same molecules and weights.

    Parameters
    ----------
    model : MoleculeRegressor
        It stays unfitted, and needs members: an ensemble, or passes of dropout.
    data : MoleculeData
    start : int, default=100
        Molecules that are known at first.
    batch : int, default=50
        Molecules that are measured in a round.
    rounds : int, default=4
    test_fraction : float, default=0.2
    strategies : sequence of {"epistemic", "uncertain", "random"}, default=("epistemic", "random")
        "epistemic" takes molecules of large epistemic uncertainty that are not all alike, see
        `acquire`; "uncertain" the same by total uncertainty.
    diversity : float, default=0.5
    repeats : int, default=5

    Examples
    --------
    >>> from caveat.molecules import MoleculeData, MoleculeRegressor, active_learning
    >>> smiles = ["C" * n + tail for n in range(1, 13) for tail in ("", "O", "N", "c1ccccc1")]
    >>> data = MoleculeData.make(smiles, [len(text) / 1.0 for text in smiles])
    >>> model = MoleculeRegressor(members=2, hidden=8, epochs=2)
    >>> curves = active_learning(
    ...     model, data, start=10, batch=5, rounds=1, repeats=1, random_state=0
    ... )
    >>> curves.sizes, curves.error.shape
    ((10, 15), (2, 1, 2))
    """
    names = [check_choice(name, "strategies", STRATEGIES) for name in strategies]
    for name, value in (("start", start), ("batch", batch), ("rounds", rounds)):
        check_integer(value, name)
    check_integer(repeats, "repeats")
    tested = round(check_fraction(test_fraction, "test_fraction") * len(data))
    sizes = tuple(start + batch * k for k in range(rounds + 1))
    if tested < 1 or sizes[-1] > len(data) - tested:
        raise OptionError(
            f"start={start} and {rounds} rounds of {batch} need {sizes[-1]} molecules; "
            f"{len(data) - tested} are left beside {tested} to test on"
        )
    rng = generator(random_state)
    error = np.empty((len(names), repeats, len(sizes)))
    for repeat in range(repeats):
        order = rng.permutation(len(data))
        seed, draws = (int(rng.integers(2**31)) for _ in range(2))
        test, known = order[:tested], order[tested : tested + start]
        for place, name in enumerate(names):
            pick = np.random.default_rng(draws)
            error[place, repeat] = _curve(
                model, data, test, known, name, len(sizes), batch, diversity, seed, pick
            )
    return LearningCurves(tuple(names), sizes, error, confidence)


def _curve(
    model: Any, data: MoleculeData, test: Any, known: Any, strategy: str, count: int, batch: int,
    diversity: float, seed: int, pick: np.random.Generator,
) -> list[float]:  # fmt: skip
    """Return the error after each round."""
    errors: list[float] = []
    empty = np.zeros(0, dtype=np.int64)
    for _ in range(count):
        made = fitted(model, data, Split(known, empty, test), seed)
        mean = made.predict_distribution(data.graphs[test]).moments()[0][:, 0]
        errors.append(float(np.abs(data.y[test] - mean).mean()))
        if len(errors) < count:
            pool = np.setdiff1d(np.arange(len(data)), np.concatenate([test, known]))
            if strategy == "random":
                chosen = pick.choice(len(pool), batch, replace=False)
            else:
                variance = _variance(made.predict_distribution(data.graphs[pool]), strategy)
                bits = np.unpackbits(data.fingerprints[pool], axis=1)
                chosen = chosen_by(bits, variance, batch, diversity)
            known = np.concatenate([known, pool[chosen]])
    return errors


def _variance(prediction: Any, strategy: str) -> FloatArray:
    """Return the part of the uncertainty by which a strategy chooses."""
    from .estimators import METHODS

    try:
        part = prediction.component("epistemic" if strategy == "epistemic" else "total")
    except OptionError as error:
        able = [name for name, one in METHODS.items() if one.several or one.stochastic]
        raise OptionError(
            f"the strategy {strategy!r} cannot choose molecules: {error}; give the model one of "
            f"the methods {', '.join(able)}, with several members or passes"
        ) from error
    return np.asarray(part.variance[0, :, 0])
