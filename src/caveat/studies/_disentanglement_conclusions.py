"""What the disentanglement paper concludes, and in how many of our runs it holds."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from .._validation import FloatArray
from ..experiments.evidence import TOLERANCE
from ._disentanglement_paper import AS_PRINTED, ERRORS, METHODS
from ._disentanglement_pictures import FeatureSpace
from ._disentanglement_rows import (
    ERROR,
    SCALINGS,
    Detections,
    Sweeps,
    distances,
    of_curves,
    per_repeat,
    three_splits,
)
from ._table import Conclusion

WORDS = {
    "gaussian_logits": "Gaussian logits",
    "information": "information",
    "pairwise_kl": "pairwise KL",
    "bias_variance": "bias and variance",
    AS_PRINTED: "pairwise KL as printed",
}
"""Splits for a reader."""


def words_of(split: str) -> str:
    """Return a split for a reader."""
    return WORDS.get(split, split.replace("_", " "))


def conclusions(
    dataset: str,
    sweeps: Sweeps,
    detections: Detections,
    pictures: Sequence[FeatureSpace],
    confidence: float,
) -> Iterator[Conclusion]:
    """Return what can be said of the paper's statements; a run is a method in one repeat."""

    def found(source: str, text: str, outcomes: Sequence[bool]) -> Conclusion:
        return Conclusion.of(source, text, outcomes, confidence)

    values = {key: per_repeat(result, key[1]) for key, result in sweeps.items()}
    for source, text, outcomes in (
        *_of_table_2(dataset, values),
        *_of_terms(values),
        *_of_three(sweeps),
        *_of_detections(detections),
        *_of_pictures(pictures),
    ):
        yield found(source, text, outcomes)


Said = tuple[str, str, list[bool]]
Values = Mapping[tuple[str, str], Mapping[str, FloatArray]]


def _of_table_2(dataset: str, values: Values) -> Iterator[Said]:
    methods = list(dict.fromkeys(method for method, _ in values))
    both = [m for m in methods if {(m, "information"), (m, "gaussian_logits")} <= set(values)]
    if both:
        less = [values[m, "information"][ERROR] < values[m, "gaussian_logits"][ERROR] for m in both]
        text = "the error by information is below that by Gaussian logits"
        yield "table 2", text, np.concatenate(less).tolist()
    printed = {key[1:]: float(v) for key, v in ERRORS.items() if key[0] == dataset}
    known = [key for key in values if key[::-1] in printed]
    if len(known) == len(printed) > 0:
        best = min(printed, key=lambda key: printed[key])[::-1]
        errors = np.stack([values[key][ERROR] for key in known])
        text = f"the least error is that of {METHODS[best[0]]} by {words_of(best[1])}"
        yield "table 2", text, (errors.argmin(axis=0) == known.index(best)).tolist()


def _of_terms(values: Values) -> Iterator[Said]:
    for split in dict.fromkeys(split for _, split in values):
        some = [one for (_, name), one in values.items() if name == split]
        rho = {name: np.concatenate([one[name] for one in some]) for name in some[0]}
        word = words_of(split)
        terms = distances({key: np.asarray(value) for key, value in rho.items()})
        yield (
            "section 4.1, figure 3",
            f"{word}: aleatoric uncertainty rises with the amount of data",
            (rho["aleatoric_orthogonality"] < 0).tolist(),
        )
        if split == "gaussian_logits":
            yield (
                "section 4.2, figure 4",
                f"{word}: epistemic uncertainty rises with noise, with a correlation above 0.7",
                (rho["epistemic_orthogonality"] > 0.7).tolist(),
            )
        met = {name: value <= TOLERANCE for name, value in terms.items()}
        yield (
            "figure 6",
            f"{word}: aleatoric uncertainty is consistent (C1 up to {TOLERANCE:g})",
            met["aleatoric_consistency"].tolist(),
        )
        if split in ("information", "gaussian_logits"):
            holds = split == "information"
            yield (
                "figure 6",
                f"{word}: epistemic uncertainty is {'' if holds else 'not '}consistent "
                f"(C2 {'up to' if holds else 'above'} {TOLERANCE:g})",
                (met["epistemic_consistency"] == holds).tolist(),
            )
        both = met["aleatoric_orthogonality"] & met["epistemic_orthogonality"]
        yield (
            "figure 6",
            f"{word}: the parts are not both orthogonal (O1 or O2 above {TOLERANCE:g})",
            (~both).tolist(),
        )


def _of_three(sweeps: Sweeps) -> Iterator[Said]:
    errors = {name: of_curves(*curves)[ERROR] for name, curves in three_splits(sweeps).items()}
    for other in ("bias_variance", AS_PRINTED):
        if other in errors:
            yield (
                "table 3",
                f"the error by information is below that by {words_of(other)}",
                (errors["information"] < errors[other]).tolist(),
            )


def _of_detections(detections: Detections) -> Iterator[Said]:
    for scaling in dict.fromkeys(key[2] for key in detections):
        words = f", {SCALINGS[scaling]}" if scaling else ""
        means = {
            key[:2]: result.auc[result.decompositions.index(key[1])].mean(axis=1)
            for key, result in detections.items()
            if key[2] == scaling
        }
        aleatoric = np.concatenate([value[:, 0] for value in means.values()])
        yield (
            f"table 4{words}",
            "aleatoric uncertainty finds a class that was left out (ROC AUC above 0.6)",
            (aleatoric > 0.6).tolist(),
        )
        own = [value for (_, split), value in means.items() if split == "information"]
        if own:
            every = np.concatenate(own)
            yield (
                f"table 4{words}",
                "information: epistemic uncertainty finds it worse than the aleatoric",
                (every[:, 1] < every[:, 0]).tolist(),
            )


def _of_pictures(pictures: Sequence[FeatureSpace]) -> Iterator[Said]:
    by = {(one.figure, one.decomposition, one.level): one for one in pictures}
    for (figure, split, level), space in by.items():
        if figure == "figure 10":
            yield (
                figure,
                "epistemic uncertainty is larger left of the samples than right of them",
                (space.side("epistemic", "left") > space.side("epistemic", "right")).tolist(),
            )
        least = min(one.level for one in pictures if one.figure == figure)
        if figure == "figure 11" and level == least:
            long = by["figure 5a", split, level]
            yield (
                figure,
                f"{words_of(split)}: with {level:.0%} of the samples, as many epochs as for all "
                "give more aleatoric uncertainty than as many times more",
                (space.over_all("aleatoric") > long.over_all("aleatoric")).tolist(),
            )
