"""Maps: the first line is at the top, one scale of colors, small files, words in place of colors."""

import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.charts import Image, Text
from caveat.charts._maps import class_colors
from caveat.exceptions import OptionError, ShapeError
from caveat.maps import PredictionMap


def quarters(height=40, width=30):
    """Three classes: the upper half, the lower left, the lower right."""
    codes = np.zeros((height, width), int)
    codes[height // 2 :, : width // 2] = 1
    codes[height // 2 :, width // 2 :] = 2
    p = np.full((height, width, 3), 0.1)
    np.put_along_axis(p, codes[..., None], 0.8, axis=2)
    return codes, PredictionMap.from_array(p, axes="y x class", classes=["sky", "oak", "sea"])


def image_of(chart):
    return next(mark for mark in chart.marks if isinstance(mark, Image))


def test_names_stand_in_their_classes():
    codes, pixels = quarters()
    chart = charts.class_map(pixels)
    places = {mark.text: codes[int(mark.y), int(mark.x)] for mark in chart.marks
              if isinstance(mark, Text)}  # fmt: skip
    assert places == {"sky": 0, "oak": 1, "sea": 2}
    assert chart.numbers["pixels"].tolist() == [600, 300, 300]
    image = image_of(chart)
    assert image.y == (40.0, 0.0)
    assert (image.values[0, 0] == image.values[5, 20]).all()
    assert (image.values[0, 0] != image.values[-1, 0]).any()


def test_the_first_line_is_at_the_top_in_matplotlib():
    _, pixels = quarters()
    ax = pixels.plot("class_map")
    bottom, top = ax.get_ylim()
    assert (bottom, top) == (40, 0)
    assert ax.images[0].get_extent() == [0, 30, 40, 0]


def test_the_truth_is_beside():
    codes, pixels = quarters()
    truth = codes.copy()
    truth[:, :5] = -1
    chart = charts.class_map(pixels, truth)
    assert chart.title == "True classes"
    assert (image_of(chart).values[:, :5] == 255).all()
    with pytest.raises(ShapeError, match="truth must be whole numbers of the shape"):
        charts.class_map(pixels, truth[:4])
    with pytest.raises(OptionError, match="positions of the 3 classes, or -1 for none"):
        charts.class_map(pixels, truth + 1)


def test_layers_have_one_scale():
    _, pixels = quarters()
    gini = charts.layer_map(pixels)
    flat = caveat.measure([[0.8, 0.1, 0.1]], "gini")[0]
    assert gini.numbers["at most"] == pytest.approx([flat] * 5)
    even = PredictionMap(caveat.Categorical(np.full((4, 2), 0.5)), (2, 2))
    sure = PredictionMap(caveat.Categorical(np.tile([1.0, 0.0], (4, 1))), (2, 2))
    light, dark = (image_of(charts.layer_map(one)).values[0, 0].astype(int) for one in (even, sure))
    assert light.sum() > 2 * dark.sum()
    homophily = charts.layer_map(pixels, "homophily_uncertainty", H=1 - np.eye(3))
    np.testing.assert_allclose(homophily.numbers["at most"], gini.numbers["at most"])


def test_pixels_without_prediction_are_white():
    p = np.random.default_rng(0).dirichlet(np.ones(3), (6, 5))
    valid = np.ones((6, 5), bool)
    valid[2] = False
    pixels = PredictionMap.from_array(p, axes="y x class", valid=valid)
    assert (image_of(charts.layer_map(pixels)).values[2] == 255).all()
    assert (image_of(charts.class_map(pixels)).values[2] == 255).all()


def test_a_large_image_stays_small():
    rng = np.random.default_rng(0)
    pixels = PredictionMap(caveat.Categorical(rng.dirichlet(np.ones(5), 10**6)), (1000, 1000))
    drawn = [charts.class_map(pixels), *(charts.layer_map(pixels, name) for name in
                                         ("gini_impurity", "shannon_entropy", "margin"))]  # fmt: skip
    assert sum(len(chart.svg()) for chart in drawn) < 3e6
    values = image_of(drawn[1]).values
    assert values.shape == (333, 333, 3)


def test_false_colors():
    rng = np.random.default_rng(0)
    image = rng.normal(size=(30, 20, 4)) * [1, 2, 3, 0] + 5
    chart = charts.false_color(image, (2, 1, 3))
    assert chart.numbers["channel"] == [2, 1, 3]
    values = image_of(chart).values
    assert values[..., 0].min() == 0
    assert values[..., 0].max() == 255
    assert (values[..., 2] == 0).all()  # a constant channel
    with pytest.raises(ShapeError, match="three channels to show"):
        charts.false_color(image, (0, 1))
    with pytest.raises(OptionError, match="channels must be"):
        charts.false_color(image, (0, 1, 4))


def test_what_has_no_map():
    volume = PredictionMap(caveat.Categorical(np.full((8, 2), 0.5)), (2, 2, 2))
    assert charts.available(volume) == []
    with pytest.raises(ShapeError, match="a map has two axes"):
        charts.class_map(volume)
    with pytest.raises(OptionError, match="pixels must be a PredictionMap"):
        charts.layer_map(3)
    numbers = PredictionMap(caveat.Gaussian(np.zeros(4), np.ones(4)), (2, 2))
    assert charts.available(numbers) == []


def test_colors_of_many_classes_differ():
    colors = class_colors(21)
    assert len(np.unique(colors.round(3), axis=0)) == 21
    # Black text can be read on all of them: a contrast of 4.5 and more.
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    assert ((linear @ [0.2126, 0.7152, 0.0722] + 0.05) / 0.05).min() > 4.5
