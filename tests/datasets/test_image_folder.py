"""Images in folders by class, generated here."""

import pickle

import numpy as np
import pytest
from PIL import Image

import caveat
from caveat.datasets import load_image_folder
from caveat.exceptions import FileFormatError, OptionError
from caveat.experiments import Protocol

torch = pytest.importorskip("torch")


@pytest.fixture
def folder(tmp_path):
    """Three classes, files of several kinds, one of them further down, and what is no image."""
    for name in ("red", "green", ".hidden", "mixed/further"):
        (tmp_path / name).mkdir(parents=True)
    Image.new("RGB", (12, 7), (255, 0, 51)).save(tmp_path / "red" / "b.png")
    Image.new("RGB", (7, 12), (255, 0, 51)).save(tmp_path / "red" / "a.BMP")
    (tmp_path / "red" / "notes.txt").write_text("no image")
    Image.new("RGB", (9, 9), (0, 204, 0)).save(tmp_path / "green" / "one.jpeg", quality=100)
    gray = np.zeros((4, 8), dtype=np.uint8)
    gray[:, 2:6] = np.arange(16).reshape(4, 4)
    Image.fromarray(gray).save(tmp_path / "mixed" / "further" / "gray.png")
    (tmp_path / "readme.txt").write_text("not a class")
    return tmp_path


def test_classes_files_and_labels(folder):
    images = load_image_folder(folder, size=4)
    assert images.classes == ["green", "mixed", "red"]
    assert images.labels.tolist() == [0, 1, 2, 2]
    names = [path.removeprefix(str(folder)).replace("\\", "/") for path in images.paths]
    assert names == ["/green/one.jpeg", "/mixed/further/gray.png", "/red/a.BMP", "/red/b.png"]
    assert len(images) == 4
    assert repr(images) == "ImageFolder(4 images of 3 classes, 3 x 4 x 4)"


def test_values(folder):
    images = load_image_folder(folder, size=4)
    for place in (2, 3):
        image, label = images[place]
        assert (image.shape, image.dtype, label) == ((3, 4, 4), torch.float32, 2)
        np.testing.assert_allclose(image.mean(dim=(1, 2)), [1, 0, 0.2], atol=1e-6)
    # JPEG is not exact, even at its best quality.
    np.testing.assert_allclose(images[0][0][1], 0.8, atol=0.02)
    # The central square, neither moved nor resized.
    expected = np.arange(16).reshape(4, 4) / 255
    np.testing.assert_allclose(images[1][0], np.stack([expected] * 3), atol=1e-6)
    # Resizing by a whole number averages: bilinear weights of this reduction are symmetric.
    half = load_image_folder(folder, size=2)[1][0]
    assert half.mean().item() == pytest.approx(expected.mean(), abs=1 / 255)


def test_a_transform_is_the_last_step(folder):
    images = load_image_folder(folder, size=4, transform=torch.flatten)
    assert images[0][0].shape == (48,)
    assert torch.equal(pickle.loads(pickle.dumps(images))[3][0], images[3][0])


def test_the_disentanglement_error_of_a_folder(tmp_path):
    rng = np.random.default_rng(0)
    colors = np.array([[200, 60, 60], [60, 200, 60]])
    for label in range(2):
        (tmp_path / str(label)).mkdir()
        for number in range(20):
            noise = rng.integers(-50, 50, size=(6, 6, 3))
            pixels = (colors[label] + noise).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / str(label) / f"{number}.png")
    images = load_image_folder(tmp_path, size=6)

    def make():
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(108, 2))

    model = caveat.DeepEnsembleClassifier(module=make, members=2, epochs=2, device="cpu")
    protocol = Protocol(sizes=(0.25, 1), noise=(0, 1), repeats=1)
    by_file = caveat.disentanglement_error(
        model, images, images.labels, protocol=protocol, random_state=0
    )
    X = np.stack([image.numpy() for image, _ in images])
    by_array = caveat.disentanglement_error(
        model, X, images.labels, protocol=protocol, random_state=0
    )
    for kind in ("size", "noise"):
        one, other = by_file.curve(kind), by_array.curve(kind)
        np.testing.assert_allclose(one.epistemic, other.epistemic, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda f: f / "nothing", {}, "is no folder; name one"),
        (lambda f: f / ".hidden", {}, "has no folders; each class needs one"),
        (lambda f: (f / "empty").mkdir() or f, {}, "empty has no images; remove the folder"),
        (lambda f: f, {"size": 0}, "size must be"),
        (lambda f: f, {"transform": 3}, "transform must be a function"),
    ],
)
def test_errors(folder, change, options, words):
    with pytest.raises(OptionError, match=words):
        load_image_folder(change(folder), **options)


@pytest.mark.parametrize("ending", ["png", "tif", "pgm"])
def test_grays_of_16_bits(folder, ending):
    grays = np.linspace(0, 65535, 64).round().astype(np.uint16).reshape(8, 8)
    place = folder / "green" / f"deep.{ending}"
    Image.fromarray(grays).save(place)
    images = load_image_folder(folder, size=8)
    (number,) = (i for i, path in enumerate(images.paths) if path == str(place))
    np.testing.assert_allclose(images[number][0], [grays / 65535] * 3, atol=0.5 / 255 + 1e-6)


@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_pixels_without_a_known_range(folder, kind):
    place = folder / "green" / "one.tif"
    Image.fromarray(np.arange(64, dtype=kind).reshape(8, 8)).save(place)
    images = load_image_folder(folder, size=8)
    with pytest.raises(FileFormatError, match=r"one\.tif .* numbers of 32 bits \(mode [IF]\), and"):
        images[images.paths.tolist().index(str(place))]


def test_files_that_are_no_images(folder, monkeypatch):
    broken = folder / "red" / "a.BMP"
    broken.write_bytes(b"nothing of the kind")
    images = load_image_folder(folder, size=4)
    with pytest.raises(FileFormatError, match=r"a.BMP cannot be read as an image"):
        images[2]
    # One of the other formats is read, whatever its ending; no other is.
    (folder / "red" / "b.png").rename(folder / "red" / "a.BMP")
    np.testing.assert_allclose(images[2][0].mean(dim=(1, 2)), [1, 0, 0.2], atol=1e-6)
    Image.new("RGB", (9, 9)).save(folder / "red" / "a.eps")
    (folder / "red" / "a.eps").rename(folder / "red" / "a.BMP")
    with pytest.raises(FileFormatError, match=r"a.BMP cannot be read as an image"):
        images[2]
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 50)
    for place in (0, 1):  # more than allowed, and not more
        if place:
            assert images[place][0].shape == (3, 4, 4)
        else:
            with pytest.raises(FileFormatError, match="exceeds limit"):
                images[place]
