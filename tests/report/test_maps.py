"""The page of a map: bytes that say what the model says, pictures, and a size that stays small."""

import base64
import io
import json
import re
import zlib

import numpy as np
import pytest

import caveat
from caveat.exceptions import OptionError, UnsupportedPredictionError
from caveat.maps import PredictionMap, map_layers
from caveat.report import write_report
from caveat.report._map_data import packed
from caveat.report._png import png_address


def scores(*shape, classes=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(classes), shape)


def unpacked(layers, **options):
    facts, text = packed(layers, **options)
    data = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    shape = (len(facts["planes"]), facts["height"], facts["width"])
    return facts, dict(zip(facts["planes"], data.reshape(shape).astype(int), strict=True))


@pytest.mark.parametrize("colors", [2, 200, 400])
def test_pictures_hold_their_colors(colors):
    from matplotlib.image import imread

    rng = np.random.default_rng(0)
    palette = rng.integers(0, 256, size=(colors, 3), dtype=np.uint8)
    image = palette[rng.integers(0, colors, size=(37, 23))]
    address = png_address(image)
    assert address.startswith("data:image/png;base64,")
    read = imread(io.BytesIO(base64.b64decode(address.split(",")[1])), format="png")
    np.testing.assert_array_equal(np.round(255 * read[..., :3]).astype(np.uint8), image)


@pytest.mark.parametrize("classes", [3, 40, 300])
def test_planes_are_the_most_probable_classes(classes):
    p = scores(7, 5, classes=classes)
    layers = map_layers(PredictionMap.from_array(p, axes="y x class"))
    facts, planes = unpacked(layers)
    assert facts["step"] == 1
    places = min(classes, 6)
    assert facts["places"] == places
    order = np.argsort(-p, axis=2, kind="stable")
    for place in range(places):
        share = np.take_along_axis(p, order, axis=2)[..., place]
        np.testing.assert_array_equal(planes[f"share{place}"], np.rint(100 * share))
        codes = planes[f"code{place}low"] + 256 * planes[f"code{place}high"]
        seen = planes[f"share{place}"] > 0
        np.testing.assert_array_equal(codes[seen], order[..., place][seen])
    np.testing.assert_array_equal(planes["confused"], (p > 1 / classes).sum(axis=2))
    for number, layer in enumerate(layers.numbers.values()):
        np.testing.assert_array_equal(planes[f"layer{number}"], np.rint(100 * layer))


def test_planes_of_everything_else():
    p = scores(6, 5)
    valid = np.ones((6, 5), bool)
    valid[2, 3] = False
    pixels = PredictionMap.from_array(p, axes="y x class", valid=valid)
    truth = p.argmax(axis=2)
    truth[0] = 7
    image = np.random.default_rng(1).normal(size=(6, 5, 4))
    layers = map_layers(
        pixels, distances=1 - np.eye(3), truth=truth, missing=7, image=image, channels=(3, 2, 1)
    )
    facts, planes = unpacked(layers)
    assert all(planes[name][2, 3] == 255 for name in ("share0", "layer0", "kind", "confused"))
    np.testing.assert_array_equal(planes["truthlow"][0], 0)
    np.testing.assert_array_equal(planes["truthlow"][1], truth[1] + 1)
    kinds = layers.kinds()
    np.testing.assert_array_equal(planes["kind"][valid], kinds[valid])
    red = planes["red"].ravel()
    np.testing.assert_array_equal(np.argsort(red)[-1], np.argmax(image[..., 3]))
    assert facts["coordinates"] == [None, None]


def test_an_image_that_is_too_large_has_larger_steps_and_then_fewer_pixels():
    layers = map_layers(PredictionMap.from_array(scores(60, 40), axes="y x class"))
    _, planes = unpacked(layers)
    length = len(packed(layers)[1])
    coarse, fewer = unpacked(layers, most=int(0.92 * length))
    assert (coarse["step"], coarse["levels"]) == (1, 50)
    share = np.rint(50 * layers.pixels.prediction.mean.max(axis=1)).reshape(60, 40)
    np.testing.assert_array_equal(fewer["share0"], share)
    thin, few = unpacked(layers, most=length // 3)
    assert (thin["step"], thin["width"], thin["height"]) == (2, 20, 30)
    assert thin["levels"] == 100
    np.testing.assert_array_equal(few["share0"], planes["share0"][::2, ::2])
    one, _ = unpacked(layers, most=1)
    assert (one["width"], one["height"]) == (1, 1)


def test_coordinates_go_with_the_pixels():
    pixels = PredictionMap(
        caveat.Categorical(scores(4)), (2, 2),
        coordinates={"y": np.array([1.5, 2.5]), "x": np.array(["a", "b"])},
    )  # fmt: skip
    facts, _ = unpacked(map_layers(pixels))
    assert facts["coordinates"] == [["y", ["1.5", "2.5"]], ["x", ["a", "b"]]]


def text_of(path):
    return path.read_text(encoding="utf-8")


def test_a_large_map_stays_small(tmp_path):
    pixels = PredictionMap.from_array(scores(1000, 1000, classes=6), axes="y x class")
    page = pixels.report(tmp_path / "map.html", title="Fields")
    assert page.stat().st_size < 3e6
    text = text_of(page)
    assert text.count("data:image/png") == 4  # classes and three measures
    assert "1,000 x 1,000 pixels" in text
    assert "To keep the page small, one of 2 lines and columns is shown" in text


def test_what_a_page_shows(tmp_path):
    valid = np.arange(30).reshape(6, 5) > 3
    some = PredictionMap.from_array(scores(6, 5), axes="y x class", valid=valid)
    text = text_of(some.report(tmp_path / "s.html", source="field.npy"))
    assert "6 x 5 pixels, 26 of them predicted · field.npy" in text
    assert "To keep the page small" not in text
    every = text_of(some.report(
        tmp_path / "e.html", distances=1 - np.eye(3), truth=np.zeros((6, 5), int),
        image=np.random.default_rng(0).normal(size=(6, 5, 3)),
    ))  # fmt: skip
    titles = re.findall("<figcaption><strong><bdi>(.*?)</bdi>", every)
    assert titles == [
        "False colors", "True classes", "Most probable classes", "Gini impurity",
        "Homophily uncertainty", "Shannon entropy", "Margin", "Kinds of uncertainty",
    ]  # fmt: skip
    assert "Classes that predictions hesitate between" in every
    assert "really wrong" in every
    assert "blocks of 1 x 1 pixels" in every
    with pytest.raises(OptionError, match="policy decides on predictions"):
        write_report(some, tmp_path / "s.html", policy=caveat.TriagePolicy(0.1))


def test_a_class_that_is_never_predicted_has_no_mean(tmp_path):
    p = np.tile([0.6, 0.3, 0.1], (4, 1))
    pixels = PredictionMap(caveat.Categorical(p, classes=["oak", "road", "sea"]), (2, 2))
    assert '<th scope="row"><bdi>sea</bdi></th>' in text_of(pixels.report(tmp_path / "p.html"))


def test_a_map_of_numbers(tmp_path):
    rng = np.random.default_rng(0)
    prediction = caveat.Gaussian(rng.normal(10, 3, size=30), rng.gamma(2, size=30))
    text = text_of(PredictionMap(prediction, grid=(6, 5)).report(tmp_path / "n.html"))
    assert re.findall("<figcaption><strong><bdi>(.*?)</bdi>", text) == [
        "Mean",
        "Standard deviation",
    ]
    assert "all classes" not in text
    facts = json.loads(re.search('id="maps-1">(.*?)</script>', text)[1])
    assert facts["places"] == 0
    assert facts["layers"][0]["low"] == pytest.approx(prediction.mean.min(), rel=1e-5)


def test_text_from_data_is_escaped_and_other_pages_have_no_maps(tmp_path):
    p = caveat.Categorical(scores(6), classes=["</script><b>", "<img src=x>", '"'])
    text = text_of(PredictionMap(p, (2, 3)).report(tmp_path / "h.html"))
    assert "</script><b>" not in text
    assert "<img src=x>" not in text
    other = caveat.evaluate(p, ['"'] * 6, resamples=0).report(tmp_path / "o.html")
    assert "map-grid" not in text_of(other)


def test_volumes_have_no_page(tmp_path):
    volume = PredictionMap.from_array(scores(2, 3, 4), axes="z y x class")
    with pytest.raises(UnsupportedPredictionError, match="a page of maps has two axes"):
        volume.report(tmp_path / "v.html")
    assert volume[0].report(tmp_path / "v.html").exists()


def test_few_pixels_of_a_large_image(tmp_path):
    valid = np.zeros((1300, 1300), bool)
    valid[1, 1] = valid[3, 7] = True  # not among those that are shown
    pixels = PredictionMap(caveat.Categorical(scores(2)), valid.shape, valid)
    facts, planes = unpacked(map_layers(pixels))
    assert facts["step"] == 2
    assert all((planes[name] == 255).all() for name in ("share0", "code0low", "confused", "layer0"))
    assert "2 of them predicted" in text_of(pixels.report(tmp_path / "few.html"))
