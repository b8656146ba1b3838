"""Maps: the first line is at the top, one scale of colors, small files, words in place of colors."""

import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.charts import Image, Text
from caveat.charts.palettes import KINDS, label_colors
from caveat.exceptions import LabelError, OptionError, ShapeError
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


def test_names_do_not_overlap_and_the_largest_classes_come_first():
    stripes = np.tile(np.repeat(np.arange(6), 10), (10, 1))
    names = [5 * letter for letter in "abcdef"]
    chart = charts.label_map(stripes, names)
    assert [mark.text for mark in chart.marks if isinstance(mark, Text)] == ["aaaaa", "ddddd"]
    stripes[:, 10:22] = 1
    larger = charts.label_map(stripes, names)
    assert next(mark.text for mark in larger.marks if isinstance(mark, Text)) == "bbbbb"


def test_long_names_that_begin_alike_differ():
    names = ["coniferous forest, dry site", "coniferous forest, wet site"]
    chart = charts.label_map(np.repeat([[0], [1]], 10, axis=0), names)
    texts = [mark.text for mark in chart.marks if isinstance(mark, Text)]
    assert texts == ["coniferou…y site", "coniferou…t site"]
    assert chart.numbers["class"] == names


def test_the_first_line_is_at_the_top_in_matplotlib():
    _, pixels = quarters()
    ax = pixels.plot("class_map")
    bottom, top = ax.get_ylim()
    assert (bottom, top) == (40, 0)
    assert ax.images[0].get_extent() == [0, 30, 40, 0]


def test_the_truth_is_beside():
    codes, pixels = quarters()
    truth = np.array(["sky", "oak", "sea"], dtype=object)[codes]
    truth[:, :5] = None
    chart = charts.class_map(pixels, truth)
    assert chart.title == "True classes"
    assert chart.numbers["pixels"].tolist() == [500, 200, 300]
    image = image_of(chart).values
    assert (image[:, :5] == 255).all()
    np.testing.assert_array_equal(image[:, 5:], image_of(charts.class_map(pixels)).values[:, 5:])
    truth[:, :5] = "cloud"
    np.testing.assert_array_equal(image_of(charts.class_map(pixels, truth, "cloud")).values, image)
    with pytest.raises(ShapeError, match=r"truth must have the size of the image, \(40, 30\)"):
        charts.class_map(pixels, truth[:4])
    with pytest.raises(LabelError, match="cloud"):
        charts.class_map(pixels, truth)


def test_maps_of_labels():
    chart = charts.label_map(
        [[0, 0, 1], [0, 1, -1]], ["oak", "road"], colors=["#ff0000", "#0000ff"]
    )
    assert image_of(chart).values[0].tolist() == [[255, 0, 0], [255, 0, 0], [0, 0, 255]]
    assert image_of(chart).values[1, 2].tolist() == [255, 255, 255]
    for codes, error, message in (
        ([[0.0]], ShapeError, "codes must be whole numbers of shape"),
        ([0, 1], ShapeError, r"got int64 of shape \(2,\)"),
        ([[0, 2]], OptionError, "positions of the 2 classes, or -1 for none; got 0 to 2"),
        ([[-2, 1]], OptionError, "got -2 to 1"),
    ):
        with pytest.raises(error, match=message):
            charts.label_map(codes, ["oak", "road"])
    for colors in (["#ff0000"], ["#ff0000", "red"]):
        with pytest.raises(OptionError, match="colors must be 2 codes such as '#d55e00'"):
            charts.label_map([[0, 1]], ["oak", "road"], colors=colors)


def test_kinds_of_uncertainty():
    p = np.array([[[0.97, 0.02, 0.01], [0.5, 0.5, 0.0]], [[0.8, 0.0, 0.2], [0.4, 0.1, 0.5]]])
    pixels = PredictionMap.from_array(p, axes="y x class")
    distances = [[0, 1, 4], [1, 0, 4], [4, 4, 0]]
    chart = charts.kind_map(pixels, distances)
    assert chart.numbers["class"][-1] == "candidate"
    assert chart.numbers["pixels"].tolist() == [1, 1, 0, 2]
    with pytest.raises(OptionError, match="pass distances="):
        charts.kind_map(pixels)


def test_maps_of_numbers():
    values = np.arange(12.0).reshape(3, 4)
    values[0, 0] = np.nan
    chart = charts.number_map(values, "Height")
    assert "Dark blue is 1, yellow 11" in chart.read
    assert image_of(chart).values[0, 0].tolist() == [255, 255, 255]
    assert chart.numbers["at most"][2] == 6
    same = charts.number_map(values, ends=(1, 11))
    np.testing.assert_array_equal(image_of(chart).values, image_of(same).values)
    assert "Dark blue is 0, yellow 1" in charts.number_map(values / 20).read
    constant = image_of(charts.number_map(np.full((2, 2), 7.0))).values
    assert (constant == constant[0, 0]).all()
    for ends in ((1, 1), (2, 1), 3, (0, np.inf), (0, "a"), (0, 1, 2)):
        with pytest.raises(OptionError, match="ends must be two numbers, the first below the"):
            charts.number_map(values, ends=ends)
    with pytest.raises(OptionError, match="title must be text; got 3"):
        charts.number_map(values, 3)
    for bad in (np.full((2, 2), np.nan), np.ones(3)):
        with pytest.raises(ShapeError, match="values must be numbers of shape"):
            charts.number_map(bad)


def test_layers_have_one_scale():
    _, pixels = quarters()
    gini = charts.layer_map(pixels)
    flat = caveat.measure([[0.8, 0.1, 0.1]], "gini")[0]
    assert gini.numbers["at most"] == pytest.approx([flat] * 5)
    even = PredictionMap(caveat.Categorical(np.full((4, 2), 0.5)), (2, 2))
    sure = PredictionMap(caveat.Categorical(np.tile([1.0, 0.0], (4, 1))), (2, 2))
    light, dark = (image_of(charts.layer_map(one)).values[0, 0].astype(int) for one in (even, sure))
    assert light.sum() > 2 * dark.sum()
    homophily = charts.layer_map(pixels, "homophily", distances=1 - np.eye(3))
    np.testing.assert_allclose(homophily.numbers["at most"], gini.numbers["at most"])
    with pytest.raises(OptionError, match="pass distances="):
        charts.layer_map(pixels, "homophily")
    assert "Dark blue is 0 (certain), yellow 1" in gini.read
    assert "At least half of the pixels have 0 or more." in charts.layer_map(sure).read
    # No confused class is a random guess, the opposite of certain.
    assert "Dark blue is 0, yellow 1" in charts.layer_map(even, "confused_classes").read


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
    assert values.shape == (334, 334, 3)


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
    colors = label_colors(21)
    assert len(np.unique(colors.round(3), axis=0)) == 21
    colors = np.vstack([colors, label_colors(4, KINDS)])
    # Black text can be read on all of them: a contrast of 4.5 and more.
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    assert ((linear @ [0.2126, 0.7152, 0.0722] + 0.05) / 0.05).min() > 4.5


def test_missing_pixels_do_not_darken_the_others():
    image = np.random.default_rng(0).normal(size=(20, 30, 3))
    whole = charts.false_color(image)
    image[3, 4, 0], image[..., 2] = np.nan, np.nan
    chart = charts.false_color(image)
    values, before = image_of(chart).values, image_of(whole).values
    assert values[3, 4, 0] == 0
    assert (values[..., 2] == 0).all()
    assert np.abs(values[..., 0].astype(int) - before[..., 0]).max() < 255
    assert values[..., 0].max() == 255
    np.testing.assert_array_equal(values[..., 1], before[..., 1])
    assert np.isnan(chart.numbers["low"]).tolist() == [False, False, True]


def test_no_line_or_column_is_dropped():
    strip = image_of(charts.number_map(np.arange(2000.0 * 4).reshape(2000, 4))).values
    assert strip.shape == (400, 1, 3)
    layer = np.zeros((2000, 7))
    layer[:, -1] = 1.0
    shown = image_of(charts.number_map(layer)).values
    assert shown.shape == (400, 2, 3)
    assert (shown[:, 0] != shown[:, 1]).any()
