"""Samples on a plane, colored by a measure of uncertainty."""

from typing import Any

from ..confusion import SampleEmbedding
from ..exceptions import OptionError
from ..uncertainty import MEASURES
from ..uncertainty import measure as measured
from ..uncertainty.distances import check_distances
from .chart import Chart
from .entry import Entry, expect
from .layout import padded
from .marks import Axis, Points


def embedding(
    result: SampleEmbedding, measure: str = "gini_impurity", distances: Any = None
) -> Chart:
    """Return samples on a plane, colored by a measure of uncertainty.

    Parameters
    ----------
    result : SampleEmbedding
        What `caveat.confusion.embed_samples` returned.
    measure : str, default="gini_impurity"
        A name in ``caveat.uncertainty.MEASURES``.
    distances : array of shape (classes, classes), optional
        Distances between the classes, for the homophily-based uncertainty.

    Returns
    -------
    Chart
        Its numbers are places, most probable classes and the measure of each sample.
    """
    expect(result, SampleEmbedding)
    name = MEASURES[measure].name
    options = {}
    if name == "homophily_uncertainty":
        if distances is None:
            raise OptionError(f"{name} needs distances between the classes; pass distances=")
        classes = result.prediction.classes
        options["H"] = check_distances(distances, classes, "distances")
    values = measured(result.prediction, name, **options)
    labels = result.prediction.classes[result.prediction.mean.argmax(axis=1)]
    words = name.replace("_", " ")
    x, y = result.places.T
    return Chart(
        title=f"{words.capitalize()} of {len(x):,} samples on a plane",
        read="Neighbors have like features; distances between groups say nothing. Dark samples "
        "between groups belong to classes that the model cannot separate.",
        x=Axis(label="first axis of t-SNE", ends=padded(x)),
        y=Axis(label="second axis of t-SNE", ends=padded(y)),
        marks=(
            Points(
                x=x, y=y, values=values, scale=words, size=4, main=True,
                text=[f"sample {row}: {label}, {value:.2f}" for row, label, value in
                      zip(result.rows.tolist(), labels.tolist(), values.tolist(), strict=True)],
                says="{text}",
            ),
        ),
        numbers={"sample": result.rows, "x": x, "y": y, "class": [str(one) for one in labels],
                 words: values},
    )  # fmt: skip


ENTRY = Entry("embedding", embedding, of=SampleEmbedding, overlays=False)
