"""Layers side by side: what they hold, what is said of them, and what does not fit."""

import numpy as np
import pytest

import caveat
from caveat.exceptions import OptionError, ShapeError, UnsupportedPredictionError
from caveat.maps import PredictionMap, map_layers

P = np.random.default_rng(0).dirichlet(np.ones(3), (6, 5))
PIXELS = PredictionMap.from_array(P, axes="y x class", classes=["oak", "road", "sea"])
DISTANCES = np.array([[0, 1.0, 4], [1, 0, 4], [4, 4, 0]])


def test_measures_of_each_pixel():
    layers = map_layers(PIXELS)
    assert list(layers.numbers) == ["gini_impurity", "shannon_entropy", "margin"]
    np.testing.assert_array_equal(layers.numbers["margin"], PIXELS.measure("margin"))
    assert layers.kinds() is None
    unsure = (caveat.measure(P.reshape(-1, 3), "gini") > 0.2).mean()
    assert str(layers.verdict()).startswith(f"{100 * unsure:.0f} % of 30 pixels are not sure")


def test_distances_add_homophily_and_kinds():
    layers = map_layers(PIXELS, measures=["gini"], distances=DISTANCES)
    expected = PIXELS.measure("homophily", H=DISTANCES)
    np.testing.assert_allclose(layers.numbers["homophily_uncertainty"], expected)
    explained = caveat.explain_uncertainty(PIXELS.prediction, DISTANCES)
    names = np.array([kind.value for kind in caveat.confusion.Confusion])
    np.testing.assert_array_equal(names[layers.kinds()].ravel(), explained.kinds)
    assert explained.verdict().statements[0] in layers.verdict().statements
    named = map_layers(PIXELS, measures=["homophily", "gini"], distances=DISTANCES)
    assert list(named.numbers) == ["homophily_uncertainty", "gini_impurity"]
    assert list(map_layers(PIXELS, measures=[], distances=DISTANCES).numbers) == [
        "homophily_uncertainty"
    ]


def test_the_truth_and_what_is_wrong():
    truth = PIXELS.prediction.classes[P.argmax(axis=2)].astype(object)
    truth[0] = None
    truth[1, :2] = ["sea" if name == "oak" else "oak" for name in truth[1, :2]]
    layers = map_layers(PIXELS, truth=truth)
    assert (layers.truth[0] == -1).all()
    assert [PIXELS.prediction.classes[k] for k in layers.truth[1]] == truth[1].tolist()
    gini = PIXELS.measure("gini")
    wrong = np.zeros((6, 5), bool)
    wrong[1, :2] = True
    right = ~wrong & (layers.truth >= 0)
    said = str(layers.verdict())
    assert "8 % of 25 labeled pixels are wrong" in said
    assert f"is {gini[wrong].mean():.2g} there, elsewhere {gini[right].mean():.2g}" in said
    perfect = map_layers(PIXELS, truth=PIXELS.prediction.classes[P.argmax(axis=2)])
    assert "0 % of 30 labeled pixels are wrong." in str(perfect.verdict())


def test_the_truth_joins_the_kinds():
    """How many pixels of each kind are wrong, counted one by one, and intervals by blocks."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.full(3, 0.6), (40, 30))
    drawn = (rng.random((40, 30, 1)) > p.cumsum(axis=2)).sum(axis=2)
    truth = np.array(["oak", "road", "sea", "?"])[drawn]
    truth[:, 20:] = "?"
    valid = rng.random((40, 30)) < 0.9
    pixels = PredictionMap.from_array(
        p, axes="y x class", classes=["oak", "road", "sea"], valid=valid
    )
    options = {"distances": DISTANCES, "truth": truth, "missing": "?"}
    layers = map_layers(pixels, **options)
    kinds = layers.kinds()
    names = [kind.value for kind in caveat.confusion.Confusion]
    expected = {name: [0, 0] for name in names}
    for y in range(40):
        for x in range(20):
            if valid[y, x]:
                count = expected[names[kinds[y, x]]]
                count[0] += 1
                count[1] += p[y, x].argmax() != drawn[y, x]
    mistakes = layers.explanation.mistakes
    assert {row.kind: [row.samples, row.wrong] for row in mistakes[:-1]} == expected
    known = pixels.labeled(truth, missing="?")
    assert layers.block == known.block
    alone = caveat.explain_uncertainty(
        known.prediction, DISTANCES, y=known.y, cluster=known.cluster
    )
    assert mistakes == alone.mistakes
    wide = map_layers(pixels, **options, block=10)
    assert wide.block.side == (10, 10)
    assert wide.explanation.mistakes[-1].low != mistakes[-1].low
    number = mistakes[-1].samples
    said = str(layers.verdict())
    assert f"of {number} predictions with a known true class are wrong (" in said
    assert f"Intervals are from {known.block}." in said
    assert map_layers(pixels, distances=DISTANCES).explanation.mistakes == ()
    assert map_layers(pixels, truth=truth, missing="?").block is None


def test_maps_of_numbers_show_mean_and_standard_deviation():
    rng = np.random.default_rng(1)
    mean, variance = rng.normal(size=(2, 30, 1)), rng.gamma(2, size=(2, 30, 1))
    layers = map_layers(PredictionMap(caveat.Gaussian(mean, variance), grid=(6, 5)))
    spread = np.sqrt(variance.mean(axis=0) + mean.var(axis=0)).reshape(6, 5)
    np.testing.assert_allclose(layers.numbers["mean"], mean.mean(axis=0).reshape(6, 5))
    np.testing.assert_allclose(layers.numbers["standard deviation"], spread)
    said = (
        f"At least half of 30 pixels have a standard deviation of {np.median(spread):.3g} or more."
    )
    assert str(layers.verdict()) == said
    even = PredictionMap(caveat.Gaussian(np.zeros(4), np.full(4, 0.25)), (2, 2))
    assert "deviation of 0.5 or more" in str(map_layers(even).verdict())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"measures": ["homophily"]}, OptionError, "pass distances="),
        (
            {"truth": np.zeros((2, 2))},
            ShapeError,
            r"truth must have the size of the image, \(6, 5\)",
        ),
        (
            {"image": np.ones((5, 6, 3))},
            ShapeError,
            r"image must have the size of the map, \(6, 5\)",
        ),
        ({"image": np.ones((6, 5))}, ShapeError, "image must have shape"),
        ({"image": np.ones((6, 5, 2))}, OptionError, "channels must be"),
        ({"distances": DISTANCES[:2, :2]}, ShapeError, "distances is for 2 classes"),
    ],
)
def test_what_does_not_fit(options, error, message):
    with pytest.raises(error, match=message):
        map_layers(PIXELS, **options)


def test_what_is_no_map():
    with pytest.raises(OptionError, match="pixels must be a PredictionMap; got a ndarray"):
        map_layers(P)
    with pytest.raises(OptionError, match="measures must be a list of names; got 'gini'"):
        map_layers(PIXELS, measures="gini")
    with pytest.raises(ShapeError, match="three channels to show"):
        map_layers(PIXELS, image=np.ones((6, 5, 3)), channels=3)


def test_predictions_without_a_page():
    volume = PredictionMap(caveat.Categorical(np.full((8, 2), 0.5)), (2, 2, 2))
    with pytest.raises(
        UnsupportedPredictionError, match=r"take one layer of a volume, as in volume"
    ):
        map_layers(volume)
    assert map_layers(volume[1]).pixels.shape == (2, 2)
    ranges = PredictionMap(caveat.Interval(np.zeros(4), np.ones(4), coverage=0.9), (2, 2))
    with pytest.raises(UnsupportedPredictionError, match="the map is of a Interval"):
        map_layers(ranges)
    numbers = PredictionMap(caveat.Gaussian(np.zeros(4), np.ones(4)), (2, 2))
    with pytest.raises(OptionError, match="are for maps of classes"):
        map_layers(numbers, truth=np.zeros((2, 2)))


def test_truth_without_measures():
    p = np.tile([0.6, 0.4], (4, 1))
    layers = map_layers(
        PredictionMap(caveat.Categorical(p), (2, 2)), measures=[], truth=[[0, 0], [1, 0]]
    )
    assert "25 % of 4 labeled pixels are wrong." in str(layers.verdict())
