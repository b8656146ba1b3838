"""Input that does not fit: each gets an error that names the argument, or is left out and counted."""

from functools import cache

import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.confusion import embed_samples
from caveat.exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from caveat.maps import PredictionMap, map_layers, windowed

P = np.random.default_rng(0).dirichlet(np.ones(3), (8, 6))
PIXELS = PredictionMap.from_array(P, axes="y x class")
FLAT = PIXELS.prediction
Y = P.argmax(axis=2)


@cache
def embedded():
    return embed_samples(P.reshape(-1, 3)[:12], FLAT.take(np.arange(12)), random_state=0)


TAKERS = {
    "explain": lambda d: caveat.explain_uncertainty(FLAT, d),
    "compare": lambda d: caveat.compare_measures(FLAT, Y.ravel(), distances=d, resamples=0),
    "page": lambda d: map_layers(PIXELS, distances=d),
    "layer": lambda d: charts.layer_map(PIXELS, "homophily", d),
    "kinds": lambda d: charts.kind_map(PIXELS, d),
    "embedding": lambda d: charts.embedding(embedded(), "homophily", d),
}


@pytest.mark.parametrize("name", TAKERS)
@pytest.mark.parametrize(
    ("distances", "error", "message"),
    [
        ([[0, 1, 2], [3, 0, 1], [2, 1, 0]], InvalidValueError,
         r"distances is not symmetric: distances\[0, 1\] is 1, but distances\[1, 0\] is 3"),
        ([[0, -1, 2], [-1, 0, 1], [2, 1, 0]], InvalidValueError,
         r"distances\[0, 1\] is -1; distances must not be negative"),
        ([[1, 1, 2], [1, 0, 1], [2, 1, 0]], InvalidValueError,
         r"distances\[0, 0\] is 1; a class is at distance 0 from itself"),
        ([[0, 1], [1, 0]], ShapeError, "distances is for 2 classes, but the probabilities are for 3"),
        ([0, 1, 2], ShapeError, r"distances must have shape \(classes, classes\)"),
        ([[0, np.nan, 1]] * 3, InvalidValueError, r"distances\[0, 1\] is nan"),
    ],
)  # fmt: skip
def test_wrong_distances(name, distances, error, message):
    with pytest.raises(error, match=message):
        TAKERS[name](distances)


def test_a_class_without_samples_has_no_distance():
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(LabelError, match="sea"):
        caveat.class_distances(X, np.repeat(["oak", "road"], 10), classes=["oak", "road", "sea"])


def test_a_class_without_samples_is_in_no_row():
    labels = caveat.Categorical(P.reshape(-1, 3), classes=["oak", "road", "sea"])
    y = np.where(Y.ravel() == 2, 0, Y.ravel())
    result = caveat.compare_measures(labels, labels.classes[y], measures=["gini"], resamples=0)
    counts = {row.one_class: row.right + row.wrong for row in result.rows}
    assert counts == {"": 48, "oak": (y == 0).sum(), "road": (y == 1).sum(), "sea": 0}
    page = PredictionMap(labels, grid=(8, 6)).evaluate(
        labels.classes[y].reshape(8, 6), block=2, resamples=0, metrics=["accuracy"]
    )
    assert page.unlabeled == 0


def test_constant_channels_are_drawn_and_add_no_distance():
    rng = np.random.default_rng(0)
    image = np.concatenate([rng.normal(size=(8, 6, 2)), np.full((8, 6, 1), 7.0)], axis=2)
    drawn = next(m for m in charts.false_color(image).marks if isinstance(m, charts.Image))
    assert (drawn.values[..., 2] == 0).all()
    flat = image.reshape(-1, 3)
    with_it = caveat.class_distances(flat, Y.ravel(), combine="rms")
    without = caveat.class_distances(flat[:, :2], Y.ravel(), combine="rms")
    np.testing.assert_allclose(with_it * np.sqrt(3), without * np.sqrt(2))
    same = charts.signatures(flat, Y.ravel())
    np.testing.assert_allclose(same.numbers["0"][2], 7.0)


def test_masks_of_another_size():
    small = np.ones((6, 8), bool)
    for call, name in (
        (lambda: PIXELS.evaluate(Y.T), "y"),
        (lambda: PIXELS.labeled(Y.T), "y"),
        (lambda: map_layers(PIXELS, truth=Y.T), "truth"),
        (lambda: charts.class_map(PIXELS, Y.T), "truth"),
        (lambda: PredictionMap.from_array(P, axes="y x class", valid=small), "valid"),
        (lambda: map_layers(PIXELS, image=np.zeros((6, 8, 3))), "image"),
    ):
        with pytest.raises(
            ShapeError, match=rf"^{name} must have the size of the .*\(8, 6\).*6, 8"
        ):
            call()


@pytest.mark.parametrize("empty", [np.nan, -1])
def test_pixels_without_label_are_left_out_and_counted(empty):
    y = Y.astype(float)
    y[0] = empty
    missing = None if np.isnan(empty) else empty
    result = PIXELS.evaluate(y, missing=missing, block=2, resamples=0, metrics=["accuracy"])
    assert result.unlabeled == 6
    assert "6 pixels without label left out" in repr(result)
    assert (map_layers(PIXELS, truth=y, missing=missing).truth[0] == -1).all()


def test_labels_that_are_no_class():
    y = Y.copy()
    y[0, 0] = 9
    for call in (lambda: PIXELS.evaluate(y, block=2), lambda: map_layers(PIXELS, truth=y)):
        with pytest.raises(LabelError, match="9"):
            call()


def test_an_image_larger_than_memory_says_how(monkeypatch):
    monkeypatch.setattr(windowed, "available", lambda: 1000)
    with pytest.raises(OptionError, match=r"use caveat\.maps\.measure_windows"):
        PredictionMap.from_array(P, axes="y x class")
