"""Images with labels: loaders on small generated files of the published form, and at hand."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from caveat.datasets import (
    Scene,
    load_bcss,
    load_houston,
    load_indian_pines,
    load_scene,
    load_trento,
)
from caveat.exceptions import FileFormatError, InvalidValueError, OptionError, ShapeError

SHARED = Path(os.environ.get("CAVEAT_DATA") or Path(__file__).parents[2].parent / "shared/data")
at_hand = pytest.mark.skipif(
    not (SHARED / "indian_pines").is_dir(), reason="the public data are not at hand"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CAVEAT_DATA", str(tmp_path))
    return tmp_path


def arrays(height=6, width=4, channels=3, classes=6, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes + 1, (height, width))
    labels[0, :3] = 0, 1, classes
    return rng.normal(size=(height, width, channels)), labels


def test_pixels():
    image, labels = arrays()
    scene = Scene(image, labels.astype(float), ("a", "b", "c", "d", "e", "f"))
    X, y, places = scene.pixels()
    assert len(X) == (labels > 0).sum() == 24 - scene.unlabeled
    row, column = np.divmod(places, 4)
    np.testing.assert_array_equal(X, image[row, column])
    np.testing.assert_array_equal(y, labels[row, column] - 1)
    assert scene.grid == (6, 4)
    assert Scene(image[:, :, 0], labels, range(6)).image.shape == (6, 4, 1)


@pytest.mark.parametrize(
    ("image", "labels", "error", "message"),
    [
        (np.ones((2, 2, 1)), np.ones((2, 3), int), ShapeError, r"size of the image, \(2, 2\); got"),
        (np.ones(3), [1, 1, 1], ShapeError, "image must have shape"),
        (np.ones((2, 2)), [[0, 3], [1, 1]], InvalidValueError, "from 0 .* to 2, the number of"),
        (np.ones((2, 2)), [[0, 0.5], [1, 1]], InvalidValueError, "whole numbers"),
        (np.ones((2, 2)), [["a", "b"]] * 2, InvalidValueError, "whole numbers"),
        ([[1, np.nan]], [[1, 1]], InvalidValueError, "image of column 1 is nan"),
    ],
)
def test_scenes_that_do_not_fit(image, labels, error, message):
    with pytest.raises(error, match=message):
        Scene(image, labels, ("a", "b"))


def test_classes_are_a_list():
    with pytest.raises(ShapeError, match="classes must be a list of names"):
        Scene(np.ones((2, 2)), np.ones((2, 2), int), "a")


def test_trento(folder):
    image, labels = arrays(channels=5)
    (folder / "trento").mkdir()
    savemat(folder / "trento" / "HSI.mat", {"data": image[:, :, :4]})
    savemat(folder / "trento" / "LiDAR.mat", {"lidar": image[:, :, 4]})
    savemat(folder / "trento" / "truth.mat", {"TNsecSUBS_Test": labels.astype(np.uint8)})
    savemat(folder / "trento" / "more.mat", {"names": np.array(["a"]), "other": np.zeros((9, 9))})
    scene = load_trento()
    np.testing.assert_array_equal(scene.image, image)
    np.testing.assert_array_equal(scene.labels, labels)
    assert scene.classes[5] == "roads"
    (folder / "trento" / "LiDAR.mat").unlink()
    (folder / "trento" / "HSI.mat").unlink()
    with pytest.raises(FileFormatError, match="labels of 6 x 4 pixels, and no image of that size"):
        load_trento(folder / "trento")
    (folder / "trento" / "truth.mat").unlink()
    with pytest.raises(FileFormatError, match="must have one array of labels from 0 to 6"):
        load_trento(folder / "trento")
    (folder / "trento" / "bad.mat").write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match=r"cannot be read as a \.mat file of version"):
        load_trento(folder / "trento")


def test_bcss(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    colors = rng.integers(0, 256, (8, 6, 3), dtype=np.uint8)
    codes = rng.integers(0, 21, (8, 6), dtype=np.uint8)
    codes[0, :3] = 0, 3, 20
    Image.fromarray(colors).save(tmp_path / "image.png")
    Image.fromarray(codes).save(tmp_path / "mask.png")
    scene = load_bcss(tmp_path / "image.png", tmp_path / "mask.png")
    np.testing.assert_allclose(scene.image, colors / 255)
    assert scene.labels[0, :3].tolist() == [0, 3, 5]
    assert scene.labels.max() == 5
    half = load_bcss(tmp_path / "image.png", tmp_path / "mask.png", step=2)
    assert half.grid == (4, 3)
    Image.fromarray(codes[:4]).save(tmp_path / "small.png")
    with pytest.raises(ShapeError, match="the mask has 4 x 6 pixels, the image 8 x 6; pass the m"):
        load_bcss(tmp_path / "image.png", tmp_path / "small.png")
    with pytest.raises(FileFormatError, match="must have one number for each pixel"):
        load_bcss(tmp_path / "image.png", tmp_path / "image.png")
    with pytest.raises(FileFormatError, match="cannot be read as an image"):
        load_bcss(tmp_path / "nothing.png", tmp_path / "mask.png")


def test_a_file_of_ones_own(tmp_path):
    image, labels = arrays()
    np.savez(tmp_path / "s.npz", image=image, labels=labels, classes=list("abcdef"))
    assert load_scene(tmp_path / "s.npz").classes == tuple("abcdef")
    np.savez(tmp_path / "n.npz", image=image, labels=labels)
    assert load_scene(tmp_path / "n.npz").classes == tuple("123456")
    np.savez(tmp_path / "e.npz", image=image)
    with pytest.raises(
        FileFormatError, match="must have the arrays image and labels; it has image"
    ):
        load_scene(tmp_path / "e.npz")
    (tmp_path / "b.npz").write_text("no")
    with pytest.raises(FileFormatError, match=r"cannot be read as an \.npz file"):
        load_scene(tmp_path / "b.npz")


def test_indian_pines_and_houston(folder):
    image, labels = arrays(classes=16)
    (folder / "indian_pines").mkdir()
    path = folder / "indian_pines" / "indian_pines.npz"
    np.savez(path, cube=image, gt=labels)
    assert load_indian_pines().classes[7] == "hay"
    np.savez(path, cube=image)
    with pytest.raises(FileFormatError, match="must have the arrays cube and gt"):
        load_indian_pines()
    place = folder / "houston2013_hsi_lidar_pixels"
    place.mkdir()
    savemat(place / "HSI_TrSet.mat", {"h": np.ones((5, 3))})
    savemat(place / "LiDAR_TrSet.mat", {"l": np.ones((5, 2))})
    savemat(place / "TrLabel.mat", {"y": np.arange(1, 6)[:, None]})
    data = load_houston()
    assert data.X.shape == (5, 5)
    assert data.y.tolist() == [0, 1, 2, 3, 4]
    assert data.feature_names[3] == "LiDAR 1"
    savemat(place / "TrLabel.mat", {"y": np.arange(1, 5)})
    with pytest.raises(FileFormatError, match="have 5, 5 and 4 pixels; get them again"):
        load_houston()
    savemat(place / "TrLabel.mat", {"y": np.arange(1, 5), "z": np.arange(3)})
    with pytest.raises(FileFormatError, match="must have one array; it has 2"):
        load_houston()


def test_data_that_are_not_fetched(monkeypatch):
    monkeypatch.delenv("CAVEAT_DATA", raising=False)
    with pytest.raises(
        OptionError, match="indian_pines is not fetched; name the folder that has it in the"
    ):
        load_indian_pines()


@at_hand
def test_the_files_at_hand(monkeypatch):
    monkeypatch.setenv("CAVEAT_DATA", str(SHARED))
    scene = load_indian_pines()
    assert repr(scene).startswith("Scene(145 x 145 pixels, 200 channels, 16 classes, 10,776 pixels")
    assert np.bincount(scene.pixels()[1]).tolist()[:3] == [46, 1428, 830]
    assert (
        repr(load_houston()) == "Dataset(2,832 samples, 165 features, 15 classes, no given split)"
    )
