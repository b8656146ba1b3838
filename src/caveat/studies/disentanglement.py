"""The experiments of "Measuring orthogonality as the blind-spot of uncertainty disentanglement"."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .._random import RandomState, generator
from .._validation import check_fraction
from ..exceptions import OptionError
from ..experiments import ClassDetection, Disentanglement, Protocol
from ..experiments import class_detection as detect
from ..experiments import disentanglement_error as sweep
from ..predictions import Gaussian, GaussianLogits
from ..uncertainty.decompositions import DECOMPOSITIONS
from ._disentanglement_conclusions import conclusions
from ._disentanglement_data import (
    LOGITS,
    SOFTMAX,
    Material,
    check_methods,
    check_settings,
    model_of,
    protocol_of,
    take_material,
)
from ._disentanglement_paper import DETECTION_NOTE, EVERYWHERE, KL_NOTE, METHODS, NOTES, SPLITS
from ._disentanglement_pictures import draw_pictures
from ._disentanglement_result import DisentanglementStudy
from ._disentanglement_rows import make_rows

__all__ = ["run_disentanglement_study"]

_SCALES = ("quick", "paper")
_THREE = ("information", "bias_variance", "pairwise_kl")
_RATES = {"quick": (), "paper": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)}


def run_disentanglement_study(
    dataset: Any,
    *,
    methods: str | Sequence[str] = tuple(METHODS),
    decompositions: str | Sequence[str] = tuple(SPLITS),
    scale: str = "quick",
    repeats: int | None = None,
    random_state: RandomState = None,
    checkpoint: Any = None,
    target: str | None = None,
    detection: bool | None = None,
    dropout_rates: Sequence[float] | None = None,
    protocol: Protocol | None = None,
    confidence: float = 0.95,
    settings: dict[str, Any] | None = None,
    progress: bool = False,
) -> DisentanglementStudy:
    """Run the disentanglement experiments on one data set again.

    Networks learn fewer and fewer samples, and noisier and noisier labels; what both parts of their
    uncertainty do gives the error of table 2, the correlations of tables 5 and 6, and figures 3, 4,
    6 and 9. The deep ensemble is split in three ways (table 3). Each class is left out once (table
    4). Of two features the uncertainty is drawn all over the plane (figures 5, 10 and 11).

    Parameters
    ----------
    dataset : {"wine", "two-moons", "triangle", "fashion-mnist", "cifar10"} or path
        Images are read from ``CAVEAT_DATA`` or fetched; see `caveat.datasets`. A table file of
        one's own is learned by the network for Wine.
    methods : str or sequence of str
        Of "mc-dropout", "dropconnect", "flipout" and "deep-ensemble"; all by default.
    decompositions : str or sequence of str, default=("gaussian_logits", "information")
        Splits into aleatoric and epistemic. Gaussian logits have networks of their own.
    scale : {"quick", "paper"}, default="quick"
        "quick" takes a CPU minutes: tables as published, fewer points, and of images few samples,
        levels, epochs and members. "paper" is all of it, and uses a GPU if there is one.
    repeats : int, optional
        5 by default, 1 for images in "quick".
    random_state : int, Generator or None
    checkpoint : path, optional
        A folder from which a killed run goes on; needs an integer as random state.
    target : str, optional
        Of a table file: the column of the classes.
    detection : bool, optional
        Whether to leave classes out (table 4); by default where there are three at least, and for
        images in "paper" alone.
    dropout_rates : sequence of float, optional
        Of figure 8, each a whole sweep of MC-Dropout; by default none, and 0.1 to 0.9 in "paper".
    protocol : Protocol, optional
        Other sweeps than the published ones.
    confidence : float, default=0.95
    settings : dict, optional
        Other settings of the estimators, such as ``epochs``; those that only other methods have
        are left out.
    progress : bool, default=False
        Whether to show progress bars.

    Returns
    -------
    DisentanglementStudy

    References
    ----------
    I. P. de Jong, A. I. Sburlea, M. Sabatelli & M. Valdenegro-Toro (2026). Measuring orthogonality
    as the blind-spot of uncertainty disentanglement.

    Examples
    --------
    >>> from caveat.studies import run_disentanglement_study
    >>> study = run_disentanglement_study(
    ...     "wine", methods="mc-dropout", repeats=2, random_state=0, detection=False,
    ...     settings={"epochs": 2, "passes": 5},
    ... )
    >>> [(row.decomposition, row.printed) for row in study.select(source="table 2")]
    [('gaussian_logits', '0.778'), ('information', '0.645')]
    """
    started = perf_counter()
    if scale not in _SCALES:
        raise OptionError(f"scale must be one of {', '.join(_SCALES)}; got {scale!r}")
    confidence = check_fraction(confidence, "confidence")
    methods, splits = check_methods(methods), _splits(decompositions)
    _check_seed(random_state, checkpoint)
    own = check_settings(settings)
    rates = _check_rates(_RATES[scale] if dropout_rates is None else dropout_rates)
    rng = generator(random_state)
    material = take_material(dataset, target, scale, rng)
    sweeps_of = protocol or protocol_of(material, scale, repeats)
    if detection is None:
        detection = material.classes > 2 and (not material.images or scale == "paper")
    elif detection and material.classes < 3:
        raise OptionError(
            f"detection leaves classes out, and {material.name} has {material.classes}; three are "
            "needed"
        )
    runner = _Runner(
        material, scale, sweeps_of, int(rng.integers(2**31)), own, checkpoint, confidence, progress
    )
    sweeps = {
        (method, split): result
        for method in methods
        for head in _heads(splits)
        for split, result in runner.sweeps(method, head, splits)
    }
    detections = runner.detections(methods, splits) if detection else {}
    found = {rate: runner.rate(rate) for rate in rates}
    pictures = draw_pictures(
        material, scale, sweeps_of.repeats, runner.seed, own, progress
    )  # fmt: skip
    same = not own and protocol is None and (scale == "paper" or material.name == "wine")
    rows = make_rows(material.name, sweeps, detections, found, same, confidence)
    return DisentanglementStudy(
        dataset=material.name,
        title=material.title,
        scale=scale,
        rows=tuple(rows),
        sweeps=sweeps,
        detections=detections,
        rates=found,
        pictures=tuple(pictures),
        conclusions=tuple(
            conclusions(material.name, sweeps, detections, pictures, confidence)
        ),
        notes=_notes(material, sweeps, bool(detections), scale),
        repeats=sweeps_of.repeats,
        confidence=confidence,
        seconds=perf_counter() - started,
    )  # fmt: skip


class _Runner:
    """Trains what is asked for; the seed is the same for all, so that they learn the same."""

    def __init__(
        self,
        material: Material,
        scale: str,
        protocol: Protocol,
        seed: int,
        settings: dict[str, Any],
        checkpoint: Any,
        confidence: float,
        progress: bool,
    ) -> None:
        self.material, self.scale, self.protocol, self.seed = material, scale, protocol, seed
        self.settings, self.checkpoint = settings, checkpoint
        self.common: dict[str, Any] = {
            "random_state": seed,
            "confidence": confidence,
            "progress": progress,
        }

    def _place(self, name: str) -> Path | None:
        return None if self.checkpoint is None else Path(self.checkpoint) / name

    def _sweep(self, model: Any, names: Sequence[str], place: str) -> Disentanglement:
        data = self.material
        return sweep(
            model,
            data.X,
            data.y,
            test=data.test,
            decomposition=names,
            protocol=self.protocol,
            checkpoint=self._place(place),
            **self.common,
        )

    def sweeps(
        self, method: str, head: str, splits: Sequence[str]
    ) -> list[tuple[str, Disentanglement]]:
        """Return the curves of each split that a head serves, from one set of trainings."""
        own = [split for split in splits if head_of(split) == head]
        names = [*own]
        if method == "deep-ensemble" and head == SOFTMAX:
            names += [name for name in _THREE if name not in own]
        model = model_of(self.material, method, head, self.scale, self.settings)
        result = self._sweep(model, names, f"{method}-{head}")
        return [(split, result) for split in own]

    def rate(self, rate: float) -> Disentanglement:
        """Return the curves of MC-Dropout with another rate."""
        model = model_of(self.material, "mc-dropout", SOFTMAX, self.scale, self.settings)
        if self.material.images:
            from functools import partial

            model.set_params(module=partial(model.module, rate=rate))
        return self._sweep(model.set_params(rate=rate), ["information"], f"rate-{rate:g}")

    def detections(
        self, methods: Sequence[str], splits: Sequence[str]
    ) -> dict[tuple[str, str, str], ClassDetection]:
        """Return how well classes that were left out are found."""
        data = self.material
        found: dict[tuple[str, str, str], ClassDetection] = {}
        for method in methods:
            for head in _heads(splits):
                own = [split for split in splits if head_of(split) == head]
                for scaling, (X, y, test, standardize) in self._scalings().items():
                    model = model_of(
                        data, method, head, self.scale, self.settings,
                        classes=data.classes - 1, standardize=standardize,
                    )  # fmt: skip
                    result = detect(
                        model,
                        X,
                        y,
                        test=test,
                        decomposition=own,
                        repeats=self.protocol.repeats,
                        checkpoint=self._place(f"{method}-{head}-detection-{scaling}"),
                        **self.common,
                    )
                    found |= {(method, split, scaling): result for split in own}
        return found

    def _scalings(self) -> dict[str, tuple[Any, Any, Any, bool | None]]:
        """Return samples, labels, test samples and who scales, by the name of the scaling."""
        data = self.material
        if data.every is None:
            return {"": (data.X, data.y, data.test, None)}
        X, y = data.every
        spread = X.std(axis=0)
        scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return {"within": (X, y, None, True), "all": (scaled, y, None, False)}


def head_of(split: str) -> str:
    """Return the head that a split needs."""
    return LOGITS if DECOMPOSITIONS[split].takes is GaussianLogits else SOFTMAX


def _heads(splits: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(head_of(split) for split in splits))


def _splits(decompositions: Any) -> tuple[str, ...]:
    given = [decompositions] if isinstance(decompositions, str) else list(decompositions)
    found = [DECOMPOSITIONS[name] for name in given]
    for entry in found:
        if entry.takes is Gaussian:
            raise OptionError(f"decompositions: {entry.name!r} splits numbers, and y has classes")
    if not found:
        raise OptionError("decompositions is empty; name one at least, such as 'information'")
    return tuple(dict.fromkeys(entry.name for entry in found))


def _check_seed(random_state: Any, checkpoint: Any) -> None:
    if checkpoint is not None and not isinstance(random_state, int | np.integer):
        raise OptionError(
            "checkpoint needs random_state to be an integer, so that a later run draws the same; "
            f"got {random_state!r}"
        )
    if checkpoint is not None and Path(checkpoint).is_file():
        raise OptionError(f"checkpoint {str(checkpoint)!r} is a file; name a folder")


def _check_rates(rates: Any) -> tuple[float, ...]:
    found = [check_fraction(rate, "dropout_rates") for rate in rates]
    return tuple(sorted(dict.fromkeys(found)))


def _notes(
    material: Material, sweeps: Mapping[Any, Disentanglement], detections: bool, scale: str
) -> tuple[str, ...]:
    notes = [*NOTES.get(material.name, ())]
    if scale == "quick" and material.images:
        notes.append(
            "quick: few images, levels, epochs and members; the paper's numbers stand beside for "
            "orientation alone. scale='paper' is the whole protocol."
        )
    if any("pairwise_kl" in result.decompositions for result in sweeps.values()):
        notes.append(KL_NOTE)
    if detections and not material.images:
        notes.append(DETECTION_NOTE)
    for (method, split), result in sweeps.items():
        said = [f"{check.name}: {check.text}" for check in result.checks if not check.passed]
        said += result.error(decomposition=split).notes
        notes += [f"{METHODS[method]}, {split}: {text}" for text in said]
    return (*notes, *EVERYWHERE)
