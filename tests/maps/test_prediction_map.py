"""Maps of predictions: axes by name, regions, layers, files, and blocks in evaluations."""

import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.exceptions import (
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
    UnsupportedPredictionError,
)
from caveat.maps import PredictionMap


def scores(*shape, classes=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(classes), shape)


P = scores(6, 5)


def test_axes_go_in_by_name():
    torch = pytest.importorskip("torch")
    expected = caveat.measure(P.reshape(-1, 3), "gini").reshape(6, 5)
    first = np.moveaxis(P, -1, 0)
    for given, axes in (
        (first, None), (P, "y x class"), (np.swapaxes(first, 1, 2), ("class", "x", "y")),
        (torch.tensor(first), "class y x"),
    ):  # fmt: skip
        pixels = PredictionMap.from_array(given, axes=axes)
        result = pixels.measure("gini")
        np.testing.assert_allclose(result if pixels.axes == ("y", "x") else result.T, expected)
    members = PredictionMap.from_array(np.stack([first, first]), axes="member class y x")
    assert members.prediction.members == 2
    raw = PredictionMap.from_array(np.log(P), axes="y x class", logits=True)
    np.testing.assert_allclose(raw.measure("gini"), expected)
    volume = PredictionMap.from_array(scores(2, 3, 4), axes="z y x class")
    assert volume.measure("gini").shape == (2, 3, 4)


@pytest.mark.parametrize("axes", ["y x", "y x band z", "y y class", "y x z"])
def test_axes_that_do_not_fit(axes):
    with pytest.raises(
        ShapeError, match="axes must name the 3 axes of the array, one of them 'cla"
    ):
        PredictionMap.from_array(P, axes=axes)


def test_pixels_without_numbers_are_named():
    p = P.copy()
    p[2, 3] = p[4, 1, 0] = np.nan
    for given, axes in ((p, "y x class"), (np.stack([P, p]), "member y x class")):
        with pytest.raises(InvalidValueError, match=r"of 2 pixels, .* at y 2, x 3; .* valid="):
            PredictionMap.from_array(given, axes=axes)
    some = PredictionMap.from_array(p, axes="y x class", valid=~np.isnan(p).any(axis=-1))
    assert len(some.prediction) == 28
    one_left = np.arange(30).reshape(6, 5) > 14
    with pytest.raises(InvalidValueError, match=r"of 1 pixel, the first at y 4, x 1;"):
        PredictionMap.from_array(p, axes="y x class", valid=one_left)
    with pytest.raises(InvalidValueError, match="sum to 2"):
        PredictionMap.from_array(np.ones((2, 2, 2), int), axes="y x class")


def test_some_pixels():
    valid = np.random.default_rng(1).random((6, 5)) < 0.6
    pixels = PredictionMap.from_array(P, axes="y x class", valid=valid)
    gini = pixels.measure("gini")
    np.testing.assert_array_equal(np.isnan(gini), ~valid)
    np.testing.assert_allclose(gini[valid], caveat.measure(P[valid], "gini"))
    classes = pixels.classes()
    assert classes.dtype.kind == "i"
    np.testing.assert_array_equal(classes[~valid], -1)
    np.testing.assert_array_equal(classes[valid], P[valid].argmax(axis=1))
    part = pixels[1:4, 2:]
    np.testing.assert_array_equal(part.measure("gini"), gini[1:4, 2:])
    assert len(pixels.blocks(2)) == valid.sum()
    assert "of them predicted" in repr(pixels)
    with pytest.raises(ShapeError, match=r"valid must have the size of the image, \(6, 5\)"):
        PredictionMap.from_array(P, axes="y x class", valid=valid[:3])


def test_regions():
    pixels = PredictionMap.from_array(P, axes="y x class")
    np.testing.assert_array_equal(pixels[2:].measure("gini"), pixels.measure("gini")[2:])
    np.testing.assert_array_equal(
        pixels[::2, 1:3].measure("gini"), pixels.measure("gini")[::2, 1:3]
    )
    for region in ((1, 2), (slice(None), 2), (slice(None),) * 3, "all", (slice(None), [1])):
        with pytest.raises(OptionError, match="a region is one slice for each of 2 axes"):
            pixels[region]
    with pytest.raises(ShapeError, match="the region has no pixel"):
        pixels[6:, :]


def test_a_layer_of_a_volume_is_a_map():
    p = scores(2, 3, 4)
    valid = np.arange(24).reshape(2, 3, 4) % 5 > 0
    volume = PredictionMap.from_array(p, axes="z y x class", valid=valid)
    for part, axes, values in (
        (volume[1], ("y", "x"), volume.measure("gini")[1]),
        (volume[:, -1], ("z", "x"), volume.measure("gini")[:, -1]),
        (volume[:, 1:, np.int64(2)], ("z", "y"), volume.measure("gini")[:, 1:, 2]),
    ):
        assert part.axes == axes
        np.testing.assert_array_equal(part.measure("gini"), values)
    with pytest.raises(ShapeError, match="position 2 of an axis of 2 pixels"):
        volume[2]
    with pytest.raises(OptionError, match="one position of a volume"):
        volume[1, 2]


def test_the_grid_is_given_by_name():
    prediction = caveat.Categorical(P.reshape(-1, 3))
    pixels = PredictionMap(prediction, grid=(6, 5))
    assert pixels.shape == pixels.grid == (6, 5)
    np.testing.assert_array_equal(pixels.layer(P[..., 0].ravel()), P[..., 0])


def test_the_grid_of_an_image_with_coordinates():
    xr = pytest.importorskip("xarray")
    image = xr.DataArray(
        np.zeros((4, 6, 5)), dims=("band", "lat", "lon"),
        coords={"lat": 50 - np.arange(6.0), "lon": 10 + np.arange(5.0)},
    )  # fmt: skip
    prediction = caveat.Categorical(P.reshape(-1, 3))
    pixels = PredictionMap(prediction, grid=image)
    assert pixels.shape == (6, 5)
    assert pixels.axes == ("lat", "lon")
    assert PredictionMap(prediction, grid=image.to_dataset(name="radiance")).axes == ("lat", "lon")
    part = pixels.region(lat=(46.0, 48.5), lon=(11, 12))
    np.testing.assert_array_equal(part.measure("gini"), pixels.measure("gini")[2:5, 1:3])
    assert part.coordinates["lat"].tolist() == [48, 47, 46]
    with pytest.raises(OptionError, match="no coordinates 'y'; it has lat, lon"):
        pixels.region(y=(0, 1))
    with pytest.raises(OptionError, match="lat must be a pair, the least and the largest"):
        pixels.region(lat=46.0)
    with pytest.raises(ShapeError, match="no pixel has lat from 0 to 1; the map has 45"):
        pixels.region(lat=(0, 1))
    with pytest.raises(OptionError, match="it has none"):
        PredictionMap(prediction, grid=(6, 5)).region(y=(0, 1))


def test_layers():
    pixels = PredictionMap(caveat.Categorical(P.reshape(-1, 3)), (6, 5))
    np.testing.assert_array_equal(pixels.layer(P.reshape(-1, 3)), P)
    with pytest.raises(ShapeError, match="one entry for each of 30 samples"):
        pixels.layer([1.0, 2.0])
    numbers = PredictionMap(caveat.Gaussian(np.zeros(30), np.ones(30)), (6, 5))
    assert numbers.layer(numbers.prediction.mean.ravel()).shape == (6, 5)
    with pytest.raises(
        UnsupportedPredictionError, match="needs class probabilities; the map is of"
    ):
        numbers.classes()


@pytest.mark.parametrize(
    ("prediction", "shape", "options", "error", "message"),
    [
        (P, (6, 5), {}, UnsupportedPredictionError, "use PredictionMap.from_array"),
        (None, (6, 4), {}, ShapeError, "30 samples, the grid 6 x 4 has 24 pixels that count"),
        (None, (30,), {}, ShapeError, r"grid must be \(height, width\)"),
        (None, (6, 5), {"axes": ("y",)}, ShapeError, "with a name for each axis"),
        (None, (6, 0), {}, OptionError, "grid must be"),
        (None, (6, 5), {"valid": np.ones(4, bool)}, ShapeError, "true or false for each of 30"),
        (None, (6, 5), {"valid": np.ones(30)}, ShapeError, "true or false for each of 30"),
    ],
)
def test_maps_that_do_not_fit(prediction, shape, options, error, message):
    given = caveat.Categorical(P.reshape(-1, 3)) if prediction is None else prediction
    with pytest.raises(error, match=message):
        PredictionMap(given, shape, **options)


def truth(p, seed=2):
    drawn = np.random.default_rng(seed).random((*p.shape[:-1], 1)) > p.cumsum(axis=-1)
    return drawn.sum(axis=-1).clip(max=p.shape[-1] - 1)


def test_evaluation_by_blocks():
    p = scores(60, 60)
    pixels = PredictionMap.from_array(p, axes="y x class")
    y = truth(p)
    options = {"metrics": ["accuracy"], "resamples": 40, "random_state": 0}
    result = pixels.evaluate(y, **options)
    assert result.block.blocks == 25
    assert "Intervals from 25 blocks of 12 x 12 pixels, errors correlated over" in repr(result)
    assert len(result.verdict().statements)
    (row,) = result.evaluation.select(metric="accuracy", scale="global")
    own = pixels.evaluate(y, block=(10, 30), **options)
    assert own.block.blocks == 12
    assert str(own.block) == "12 blocks of 10 x 30 pixels"
    cluster = pixels.blocks((10, 30))
    by_hand = caveat.evaluate(pixels.prediction, y.ravel(), cluster=cluster, **options)
    (expected,) = by_hand.select(metric="accuracy", scale="global")
    (other,) = own.evaluation.select(metric="accuracy", scale="global")
    assert (other.low, other.high) == (expected.low, expected.high)
    assert row.value == other.value
    square = pixels.evaluate(y, block=20, **options)
    assert square.block.side == (20, 20)


def test_the_block_size_is_on_the_page(tmp_path):
    p = scores(20, 20)
    result = PredictionMap.from_array(p, axes="y x class").evaluate(truth(p), block=5, resamples=0)
    page = result.report(tmp_path / "e.html", source="field.npy").read_text(encoding="utf-8")
    assert "field.npy · Intervals from 16 blocks of 5 x 5 pixels" in page


def test_labeled_pixels_go_into_everything_that_takes_clusters():
    p = scores(20, 20)
    y = truth(p).astype(float)
    y[:5] = np.nan
    pixels = PredictionMap.from_array(p, axes="y x class")
    one = pixels.labeled(y, block=5)
    assert (len(one.prediction), one.unlabeled, one.block.blocks) == (300, 100, 12)
    np.testing.assert_array_equal(one.positions, np.arange(100, 400))
    matrix = caveat.confusion_matrix(
        one.prediction, one.y, cluster=one.cluster, resamples=20, random_state=0
    )
    assert matrix.counts.sum() == 300


def test_pixels_without_label_are_left_out_and_counted():
    p = scores(30, 30)
    y = truth(p).astype(float)
    y[:3] = np.nan
    valid = np.ones((30, 30), bool)
    valid[10] = False
    options = {"metrics": ["accuracy"], "resamples": 0, "block": 5}
    pixels = PredictionMap.from_array(p, axes="y x class")
    result = pixels.evaluate(y, **options)
    assert result.unlabeled == 90
    assert "90 pixels without label left out" in result.remark
    part = PredictionMap.from_array(p, axes="y x class", valid=valid)
    assert part.evaluate(y, **options).unlabeled == 90
    codes = truth(p) + 1
    codes[:3] = 0
    named = PredictionMap.from_array(p, axes="y x class", classes=[1, 2, 3])
    assert named.evaluate(codes, missing=0, **options).unlabeled == 90
    words = np.array(["a", "b", "c"], dtype=object)[truth(p)]
    words[0, 0] = None
    text = PredictionMap.from_array(p, axes="y x class", classes=["a", "b", "c"])
    assert "; 1 pixel without label left out." in text.evaluate(words, **options).remark
    with pytest.raises(LabelError, match="no pixel has a label"):
        pixels.evaluate(np.full((30, 30), np.nan))
    with pytest.raises(ShapeError, match=r"y must have the size of the image, \(30, 30\); got"):
        pixels.evaluate(y[:4])


def test_numbers_have_blocks_too():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=400)
    pixels = PredictionMap(caveat.Gaussian(mean, np.ones(400)), (20, 20))
    y = (mean + rng.normal(size=400)).reshape(20, 20)
    assert pixels.evaluate(y, metrics=["mae"], resamples=0).block.blocks == 25
    ranges = PredictionMap(caveat.Interval(mean - 1, mean + 1, coverage=0.7), (20, 20))
    with pytest.raises(UnsupportedPredictionError, match="blocks cannot be chosen for a Interval"):
        ranges.evaluate(y)


def test_xarray():
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(
        np.moveaxis(P, -1, 0), dims=("band", "lat", "lon"),
        coords={"band": ["a", "b", "c"], "lat": np.arange(6.0), "lon": 10 + np.arange(5.0)},
    )  # fmt: skip
    pixels = PredictionMap.from_array(array)
    assert pixels.prediction.classes.tolist() == ["a", "b", "c"]
    assert pixels.axes == ("lat", "lon")
    data = pixels[1:3].to_xarray()
    assert data["lat"].values.tolist() == [1, 2]
    np.testing.assert_allclose(data["gini_impurity"], pixels.measure("gini")[1:3])
    more = pixels.to_xarray({"first": P[..., 0].ravel(), "second": P[..., 1]})
    np.testing.assert_array_equal(more["first"], P[..., 0])
    plain = PredictionMap.from_array(array.drop_vars(["band", "lat"]))
    assert list(plain.coordinates) == ["lon"]
    assert plain.prediction.classes.tolist() == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:Use `@` matmul")  # of affine, by rasterio
def test_geotiff(tmp_path):
    rioxarray = pytest.importorskip("rioxarray")
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(
        np.moveaxis(P, -1, 0), dims=("class", "y", "x"),
        coords={"y": np.arange(6.0)[::-1], "x": 10 + np.arange(5.0)},
    ).rio.write_crs("EPSG:32632")  # fmt: skip
    pixels = PredictionMap.from_array(array)
    pixels.to_geotiff(tmp_path / "gini.tif")
    with rioxarray.open_rasterio(tmp_path / "gini.tif") as file:
        np.testing.assert_allclose(file.values[0], pixels.measure("gini"))
        assert file.rio.crs.to_epsg() == 32632
        np.testing.assert_allclose(file["x"], 10 + np.arange(5.0))
    pixels.to_geotiff(tmp_path / "classes.tif", pixels.classes().astype(np.int16))
    with rioxarray.open_rasterio(tmp_path / "classes.tif") as file:
        np.testing.assert_array_equal(file.values[0], pixels.classes())


def test_geotiff_needs_rioxarray(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "rioxarray", None)
    with pytest.raises(OptionError, match=r"pip install 'caveat\[maps\]'"):
        PredictionMap.from_array(P, axes="y x class").to_geotiff(tmp_path / "a.tif")


def test_xarray_with_dimensions_of_other_names():
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(
        np.moveaxis(P, -1, 0), dims=("species", "lat", "lon"),
        coords={"species": ["oak", "road", "sea"], "lon": np.arange(5.0)},
    )  # fmt: skip
    pixels = PredictionMap.from_array(array, axes="class y x")
    assert pixels.prediction.classes.tolist() == ["oak", "road", "sea"]
    assert list(pixels.coordinates) == ["x"]
    np.testing.assert_array_equal(pixels.coordinates["x"], np.arange(5.0))
    own = PredictionMap.from_array(array, axes="class y x", classes=["a", "b", "c"])
    assert own.prediction.classes.tolist() == ["a", "b", "c"]


def test_truth_with_named_axes_is_put_in_the_order_of_the_map():
    xr = pytest.importorskip("xarray")
    y = P[:5].argmax(axis=-1)
    y[0] = (y[0] + 1) % 3
    lines = np.arange(5.0)[::-1]
    pixels = PredictionMap.from_array(
        xr.DataArray(P[:5], dims=("y", "x", "class"), coords={"y": lines})
    )
    truth = xr.DataArray(y, dims=("y", "x"), coords={"y": lines, "x": np.arange(5)})
    for given in (truth, truth.transpose("x", "y"), truth.drop_vars("y"), y):
        np.testing.assert_array_equal(pixels.labeled(given, block=2).y, y.ravel())
    other = truth.rename(y="row")  # names that the map does not have
    np.testing.assert_array_equal(pixels.labeled(other, block=2).y, y.ravel())
    message = r"y runs along 'y' from 0.0 to 4.0, the map from 4.0 to 0.0; turn it over with sortby"
    with pytest.raises(ShapeError, match=message):
        pixels.evaluate(truth.sortby("y"), block=2)


def test_a_reference_without_rioxarray_is_kept(monkeypatch):
    xr = pytest.importorskip("xarray")
    pixels = PredictionMap(caveat.Categorical(P.reshape(-1, 3)), (6, 5), reference="EPSG:4326")
    monkeypatch.delattr(xr.Dataset, "rio", raising=False)
    assert "gini_impurity" in pixels.to_xarray()


def test_single_precision_goes_into_a_page(tmp_path):
    p = scores(40, 50, classes=5).astype(np.float32)
    pixels = PredictionMap.from_array(p, axes="y x class")
    assert pixels.report(tmp_path / "z.html", distances=1 - np.eye(5)).exists()
    kinds = charts.kind_map(pixels, 1 - np.eye(5))
    assert kinds.numbers["pixels"].sum() == 2000


def test_a_strip_goes_into_a_page(tmp_path):
    pixels = PredictionMap.from_array(scores(2000, 4), axes="y x class")
    assert pixels.report(tmp_path / "s.html").exists()


@pytest.mark.parametrize("missing", [np.nan, None])
def test_text_without_a_label_is_left_out(missing):
    names = np.array(["oak", "road", "sea"])
    pixels = PredictionMap.from_array(P, axes="y x class", classes=names)
    y = names[P.argmax(axis=2)].astype(object)
    y[2, 3] = missing
    one = pixels.labeled(y, block=2)
    assert one.unlabeled == 1
    assert len(one.y) == 29
    assert (
        pixels.evaluate(y, block=2, metrics=["accuracy"], resamples=0).evaluation.rows[0].value == 1
    )


def test_axes_in_another_order():
    with pytest.raises(InvalidValueError, match="sum to 1 along the axis 'x', not along 'class'"):
        PredictionMap.from_array(P)
    with pytest.raises(InvalidValueError, match=r"sum to 1\.5"):
        PredictionMap.from_array(1.5 * P, axes="y x class")
