"""Whether the sweeps did what they should: before that, the error means little."""

from collections.abc import Sequence

import numpy as np

from ._result import Check, Curve
from .evidence import MOVES
from .protocol import Protocol, noise_words

_SUBSTANTIAL = 0.05
"""A score that changes by a smaller share of its scale has not moved."""


def checks_of(
    curves: Sequence[Curve],
    protocol: Protocol,
    least: int,
    samples: int,
    network: bool,
    own_score: bool,
    task: str,
) -> tuple[Check, ...]:
    """Return the checks of both sweeps; the scores are the same for every decomposition.

    The scale of a score is 1, or for a score of the user's own all that it moves in both sweeps.
    """
    size = next(curve for curve in curves if curve.kind == "size")
    noise = next(curve for curve in curves if curve.kind == "noise")
    means = np.concatenate([size.score.mean(axis=0), noise.score.mean(axis=0)])
    enough = _SUBSTANTIAL * (float(np.ptp(means)) if own_score else 1.0)
    return (
        _moves_with_size(size, least, samples, enough),
        _moves_with_noise(noise, enough, task),
        *_underfitting(size, protocol, network, enough),
    )


def _moves_with_size(curve: Curve, least: int, samples: int, enough: float) -> Check:
    name = MOVES["size"]
    few, many = curve.levels[0], curve.levels[-1]
    moved, text = _falls(
        curve.score[:, -1],
        curve.score[:, 0],
        enough,
        f"with {_percent(many)} of the training samples",
        f"with {_percent(few)}",
    )
    if moved:
        return Check(name, True, text)
    smaller = smaller_sizes(float(few), least / samples)
    if smaller:
        advice = f"try smaller sizes as well, such as {', '.join(smaller)}"
    else:
        advice = "sizes cannot be smaller here; a harder task is needed"
    return Check(name, False, f"{text}, too little to show what missing samples do; {advice}")


def smaller_sizes(first: float, least: float) -> list[str]:
    """Return sizes below the first in even steps of the logarithm, down to the least possible."""
    if not least < first / 1.5:
        return []
    steps = np.geomspace(max(least, first / 30), first, 4)[:-1]
    # Rounded up: a smaller share might leave a class out.
    digits = 1 - np.floor(np.log10(steps)).astype(int)
    rounded = [np.ceil(s * 10.0**d) / 10.0**d for s, d in zip(steps, digits, strict=True)]
    return [f"{size:.2g}" for size in dict.fromkeys(rounded) if size < first]


def _moves_with_noise(curve: Curve, enough: float, task: str) -> Check:
    low, high = curve.levels[0], curve.levels[-1]
    moved, text = _falls(
        curve.score[:, 0],
        curve.score[:, -1],
        enough,
        f"with {_percent(low)} of the {noise_words(task)} permuted",
        f"with {_percent(high)}",
    )
    if not moved:
        text += (
            ", too little to show what noise does; the model does no better than chance, or the "
            "noise needs higher levels"
        )
    return Check(MOVES["noise"], moved, text)


def _falls(before: np.ndarray, after: np.ndarray, enough: float, *where: str) -> tuple[bool, str]:
    """Return whether the score falls substantially, for sure as far as repeats can tell."""
    falls = before - after
    mean = float(falls.mean())
    sure = len(falls) < 2 or mean > 2 * float(falls.std(ddof=1)) / np.sqrt(len(falls))
    first, second = _number(before.mean()), _number(after.mean())
    text = f"the score is {first} {where[0]} and {second} {where[1]}"
    return bool(sure and mean >= enough), text


def _number(value: float) -> str:
    return f"{value:.3f}" if value == 0 or 1e-3 <= abs(value) < 1e3 else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _underfitting(
    curve: Curve, protocol: Protocol, network: bool, enough: float
) -> tuple[Check, ...]:
    if curve.train_score is None:
        return ()
    name = "small training sets are fitted as well as large ones"
    worst = curve.train_score.mean(axis=0)
    place = int(worst[:-1].argmin())
    text = (
        f"the score on the samples learned from is {_number(worst[-1])} with "
        f"{_percent(curve.levels[-1])} of them and {_number(worst[place])} with "
        f"{_percent(curve.levels[place])}"
    )
    if worst[place] >= worst[-1] - enough:
        return (Check(name, True, text),)
    longer = "train for more epochs"
    if protocol.schedule != "inverse-epochs":
        longer = f"use schedule='inverse-epochs' in place of {protocol.schedule!r}"
    advice = longer if network else "give the model more freedom on few samples"
    return (
        Check(
            name,
            False,
            f"{text}: the model underfits there, and passes off what it did not learn as aleatoric "
            f"uncertainty; {advice}",
        ),
    )
