"""All layers of a map that belong side by side: classes, truth, measures, kinds, false colors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, as_floats, check_integer, encode_labels
from ..confusion import Confusion, UncertaintyExplanation, explain_uncertainty
from ..evaluation.verdict import Verdict
from ..exceptions import OptionError, ShapeError, UnsupportedPredictionError
from ..predictions import Categorical, Gaussian
from ..results.tables import Drawable
from ..results.words import Statement, counted, whole
from ..uncertainty import MEASURES
from .blocks import BlockSize
from .evaluating import labeled_pixels, with_label

if TYPE_CHECKING:
    from .prediction_map import PredictionMap

MEASURED = ("gini_impurity", "shannon_entropy", "margin")
"""Measures that a page shows unless it is told others."""
HOMOPHILY = "homophily_uncertainty"
UNSURE = 0.2
"""The scaled Gini impurity above which a prediction is not sure."""


@dataclass(frozen=True, repr=False, eq=False)
class MapLayers(Drawable):
    """Layers of one map that are shown side by side; see `PredictionMap.report`.

    Attributes
    ----------
    pixels : PredictionMap
    numbers : mapping of str to ndarray of the shape of the image
        Measures of uncertainty; mean and standard deviation of a map of numbers.
    truth : ndarray of int of the shape of the image, optional
        The position of the true class of each pixel; -1 where there is none.
    image : ndarray of shape (height, width, channels), optional
    channels : tuple of int
        Which of its channels are red, green and blue.
    explanation : UncertaintyExplanation, optional
        The kinds of uncertainty, where distances between the classes are known; with the truth
        also how many of each kind are wrong.
    block : BlockSize, optional
        The blocks of neighbors that intervals of these shares rest on.
    """

    pixels: "PredictionMap"
    numbers: Mapping[str, FloatArray]
    truth: NDArray[np.intp] | None = None
    image: FloatArray | None = None
    channels: tuple[int, int, int] = (0, 1, 2)
    explanation: UncertaintyExplanation | None = None
    block: BlockSize | None = None

    def kinds(self) -> NDArray[np.intp] | None:
        """Return the position of the kind of uncertainty of each pixel; -1 without prediction."""
        if self.explanation is None:
            return None
        codes = np.zeros(len(self.explanation.kinds), dtype=np.intp)
        for code, kind in enumerate(Confusion):
            codes[self.explanation.kinds == kind.value] = code
        return self.pixels.layer(codes, -1)

    def verdict(self) -> Verdict:
        """Say how much of the map is unsure, between which classes, and what is wrong."""
        if self.explanation is not None:
            said = list(self.explanation.verdict().statements)
        else:
            said = [self._how_sure()]
        if self.truth is not None:
            said.append(self._how_wrong(self.truth))
        return Verdict(tuple(said))

    def _how_sure(self) -> Statement:
        prediction = self.pixels.prediction
        total = counted(len(prediction), "pixel")
        if not isinstance(prediction, Categorical):
            spread = self.numbers["standard deviation"]
            return Statement(
                "info",
                f"At least half of {total} have a standard deviation of "
                f"{np.nanmedian(spread):.3g} or more.",
            )
        unsure = float((self.pixels.measure("gini_impurity") > UNSURE).sum()) / len(prediction)
        return Statement(
            "info",
            f"{whole(unsure)} of {total} are not sure: their scaled Gini impurity is above "
            f"{UNSURE}.",
        )

    def _how_wrong(self, truth: NDArray[np.intp]) -> Statement:
        known = truth >= 0
        wrong = (self.pixels.classes() != truth)[known]
        said = f"{whole(wrong.mean())} of {counted(int(known.sum()), 'labeled pixel')} are wrong"
        if self.numbers and wrong.any() and not wrong.all():
            name, layer = next(iter(self.numbers.items()))
            right, other = (float(layer[known][part].mean()) for part in (~wrong, wrong))
            said += (
                f"; the mean {name.replace('_', ' ')} is {other:.2g} there, elsewhere {right:.2g}"
            )
        if self.block is not None:
            said += f". Intervals are from {self.block}"
        return Statement("info", said + ".")


def map_layers(
    pixels: "PredictionMap",
    *,
    measures: Sequence[str] | None = None,
    distances: Any = None,
    truth: Any = None,
    missing: Any = None,
    block: Any = None,
    image: Any = None,
    channels: Any = (0, 1, 2),
) -> MapLayers:
    """Return the layers of a map that belong side by side: a page shows them as linked maps.

    Parameters
    ----------
    pixels : PredictionMap
        A prediction of classes, or a Gaussian, whose mean and standard deviation are shown.
    measures : sequence of str, optional
        Names in ``caveat.uncertainty.MEASURES``; by default Gini impurity, entropy and margin.
    distances : array of shape (classes, classes), optional
        Distances between the classes: adds the homophily-based uncertainty and the kinds of
        uncertainty (see `caveat.explain_uncertainty`).
    truth : array of labels of the shape of the image, optional
        With distances it adds how many pixels of each kind are wrong, with intervals.
    missing : label, optional
        What ``truth`` is where a pixel has no label; NaN and None always are.
    block : int or sequence of int, optional
        The side of the blocks of neighbors that these intervals take for one, in pixels; by default
        twenty correlation lengths of the errors.
    image : array of shape (height, width, channels), optional
        The image itself, shown in false colors.
    channels : three int, default=(0, 1, 2)
        Which of its channels are red, green and blue.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.maps import PredictionMap, map_layers
    >>> scores = np.random.default_rng(0).dirichlet(np.ones(3), (4, 5))
    >>> pixels = PredictionMap.from_array(scores, axes="y x class")
    >>> layers = map_layers(pixels, measures=["margin"], distances=1 - np.eye(3))
    >>> list(layers.numbers)
    ['margin', 'homophily_uncertainty']
    """
    from .prediction_map import PredictionMap

    if not isinstance(pixels, PredictionMap):
        raise OptionError(f"pixels must be a PredictionMap; got a {type(pixels).__name__}")
    if measures is not None and not isinstance(measures, tuple | list):
        raise OptionError(f"measures must be a list of names; got {measures!r}")
    if len(pixels.shape) != 2:
        raise UnsupportedPredictionError(
            "a page of maps has two axes; take one layer of a volume, as in volume[3]"
        )
    prediction, explanation, codes, size = pixels.prediction, None, None, None
    if isinstance(prediction, Gaussian):
        if any(one is not None for one in (measures, distances, truth)):
            raise OptionError("measures, distances and truth are for maps of classes")
        numbers = _moments(pixels)
    elif isinstance(prediction, Categorical):
        names = [MEASURES[name].name for name in (MEASURED if measures is None else measures)]
        if distances is not None:
            explanation = explain_uncertainty(prediction, distances)
            names = list(dict.fromkeys([names[0], HOMOPHILY, *names[1:]])) if names else [HOMOPHILY]
        elif HOMOPHILY in names:
            raise OptionError(f"{HOMOPHILY} needs distances between the classes; pass distances=")
        numbers = {
            name: pixels.layer(explanation.homophily)
            if explanation is not None and name == HOMOPHILY
            else pixels.measure(name)
            for name in dict.fromkeys(names)
        }
        if truth is not None:
            codes = true_codes(pixels, truth, missing)
        if truth is not None and explanation is not None:
            known = labeled_pixels(pixels, truth, block, missing)
            rows = pixels.layer(np.arange(len(prediction)), -1).ravel()[known.positions]
            explanation = explanation.with_truth(known.y, samples=rows, cluster=known.cluster)
            size = known.block
    else:
        raise UnsupportedPredictionError(
            "a page of maps needs class probabilities or a Gaussian; the map is of a "
            f"{type(prediction).__name__}"
        )
    picture, shown = None, (0, 1, 2)
    if image is not None:
        picture, shown = checked_image(image, channels)
        if picture.shape[:2] != pixels.shape:
            raise ShapeError(
                f"image must have the size of the map, {pixels.shape}, and channels; got "
                f"{picture.shape}"
            )
    return MapLayers(pixels, numbers, codes, picture, shown, explanation, size)


def true_codes(pixels: "PredictionMap", truth: Any, missing: Any = None) -> NDArray[np.intp]:
    """Return the position of the true class of each pixel; -1 where it is not known."""
    positions, _, labels, _ = with_label(pixels, truth, missing, "truth")
    codes = np.full(pixels.shape, -1, dtype=np.intp)
    codes.ravel()[positions] = encode_labels(labels, pixels.prediction.classes)
    return codes


def checked_image(image: Any, channels: Any) -> tuple[FloatArray, tuple[int, int, int]]:
    """Return an image of three axes, and three of its channels."""
    values, _, _ = as_floats(image, "image")
    chosen = list(channels) if isinstance(channels, tuple | list) else []
    if values.ndim != 3 or len(chosen) != 3:
        raise ShapeError(
            f"image must have shape (height, width, channels) with three channels to show; got "
            f"{values.shape}"
        )
    red, green, blue = (check_integer(k, "channels", 0, values.shape[2] - 1) for k in chosen)
    return values, (red, green, blue)


def _moments(pixels: "PredictionMap") -> dict[str, FloatArray]:
    """Return mean and standard deviation of a map of numbers, of its first target."""
    mean, variance = pixels.prediction.moments()
    both = {"mean": mean, "standard deviation": np.sqrt(variance)}
    return {name: pixels.layer(values[:, 0]) for name, values in both.items()}
