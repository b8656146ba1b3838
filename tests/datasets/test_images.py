"""The loaders of images, on tiny files of the same form and, where they are, on the real ones."""

import gzip
import io
import os
import pickle
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest

from caveat.datasets import load_cifar10, load_fashion_mnist
from caveat.datasets._images import CIFAR, FASHION
from caveat.exceptions import FileFormatError, OptionError

RNG = np.random.default_rng(0)
COUNTS = {"train": 5, "t10k": 3}
IMAGES = {part: RNG.integers(256, size=(n, 28, 28)) for part, n in COUNTS.items()}
LABELS = {part: RNG.integers(10, size=n) for part, n in COUNTS.items()}


def idx(array):
    """An IDX file by its definition: 0, 0, the code of bytes, the axes, lengths, content."""
    header = bytes([0, 0, 8, array.ndim])
    for length in array.shape:
        header += length.to_bytes(4, "big")
    return header + bytes(array.ravel().tolist())


@pytest.fixture
def fashion(tmp_path, monkeypatch):
    folder = tmp_path / "fashion_mnist"
    folder.mkdir()
    for part in COUNTS:
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(IMAGES[part])))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS[part])))
    monkeypatch.setenv("CAVEAT_DATA", str(tmp_path))
    return folder


class TestFashionMNIST:
    def test_values(self, fashion):
        data = load_fashion_mnist()
        assert data.X.shape == (8, 1, 28, 28)
        assert data.X.dtype == np.float32
        train, test = data.split()
        for part, found in (("train", train), ("t10k", test)):
            np.testing.assert_allclose(found.X[:, 0], IMAGES[part] / 255, rtol=1e-6)
            assert found.y.tolist() == LABELS[part].tolist()
            assert found.classes == data.classes
        assert len(data.classes) == 10
        assert data.classes[7] == "sneaker"
        assert repr(data) == "Dataset(8 samples, 1 x 28 x 28, 10 classes, 3 held out for testing)"

    def test_files_that_are_not_packed(self, fashion):
        for path in fashion.iterdir():
            path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
            path.unlink()
        assert load_fashion_mnist().y.tolist() == [*LABELS["train"], *LABELS["t10k"]]

    def test_a_file_that_is_not_there(self, fashion):
        (fashion / "t10k-labels-idx1-ubyte.gz").unlink()
        message = (
            "has neither fashion_mnist/t10k-labels-idx1-ubyte.gz nor "
            "fashion_mnist/t10k-labels-idx1-ubyte;"
        )
        with pytest.raises(OptionError, match=re.escape(message)):
            load_fashion_mnist()

    def test_numbers_that_differ(self, fashion):
        path = fashion / "train-labels-idx1-ubyte.gz"
        path.write_bytes(gzip.compress(idx(LABELS["train"][:4])))
        with pytest.raises(FileFormatError, match="have 5 images and 4 labels"):
            load_fashion_mnist()

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (idx(LABELS["train"]), "does not begin as a file of bytes with 3 axes does"),
            (idx(IMAGES["train"])[:-1], "says that it has 5 x 28 x 28 bytes, and has others"),
            (idx(IMAGES["train"]) + b"0", "says that it has 5 x 28 x 28 bytes, and has others"),
            (idx(IMAGES["train"])[:9], "says that it has 5 bytes, and has others"),
            (idx(IMAGES["train"])[:4], "says that it has no bytes, and has others"),
            (idx(IMAGES["train"][:0]), "says that it has 0 x 28 x 28 bytes, and has others"),
            (bytes([0, 0, 8, 3]) + b"\xff" * 12, "4294967295 x 4294967295 x 4294967295 bytes"),
        ],
    )
    def test_another_content(self, fashion, content, message):
        (fashion / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(content))
        with pytest.raises(FileFormatError, match=message):
            load_fashion_mnist()

    def test_a_file_that_is_cut_short(self, fashion):
        path = fashion / "train-images-idx3-ubyte.gz"
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(FileFormatError, match=r"cannot be read \(.*\); get it again"):
            load_fashion_mnist()

    def test_an_unknown_class(self, fashion):
        path = fashion / "train-labels-idx1-ubyte.gz"
        path.write_bytes(gzip.compress(idx(np.full(5, 10))))
        with pytest.raises(FileFormatError, match="a label of Fashion-MNIST is 10; they are 0 to"):
            load_fashion_mnist()

    def test_the_public_files(self):
        for name, file in FASHION.items():
            assert file.url.startswith("https://")
            assert file.url.endswith(f"/{name}")
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert len({file.sha256 for file in FASHION.values()}) == 4


RECORDS = {
    f"{name}.bin": RNG.integers(256, size=(n, 3, 32, 32))
    for name, n in [*((f"data_batch_{i}", 2) for i in range(1, 6)), ("test_batch", 3)]
}
THINGS = {name: RNG.integers(10, size=len(images)) for name, images in RECORDS.items()}


def archive(path, contents, mode="w:gz"):
    with tarfile.open(path, mode) as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def contents():
    """Records by their definition: a label, then rows of red, of green and of blue."""
    found = {"readme.html": b"text"}
    for name, images in RECORDS.items():
        found[name] = b"".join(
            bytes([label, *image.ravel().tolist()])
            for label, image in zip(THINGS[name].tolist(), images, strict=True)
        )
    return found


@pytest.fixture
def cifar(tmp_path, monkeypatch):
    (tmp_path / "cifar10").mkdir()
    monkeypatch.setenv("CAVEAT_DATA", str(tmp_path))
    return tmp_path / "cifar10" / "cifar-10-binary.tar.gz"


class TestCIFAR10:
    def test_values(self, cifar):
        # The order of the files in the archive is not that of their numbers.
        archive(cifar, dict(reversed(contents().items())))
        data = load_cifar10()
        assert data.X.dtype == np.float32
        expected = np.concatenate(list(RECORDS.values())) / 255
        np.testing.assert_allclose(data.X, expected, rtol=1e-6)
        assert data.y.tolist() == np.concatenate(list(THINGS.values())).tolist()
        assert data.test.tolist() == [False] * 10 + [True] * 3
        assert data.classes[6] == "frog"
        assert repr(data) == "Dataset(13 samples, 3 x 32 x 32, 10 classes, 3 held out for testing)"

    def test_an_archive_that_is_not_packed(self, cifar):
        archive(cifar.with_suffix(""), contents(), "w")
        assert len(load_cifar10()) == 13

    def test_a_batch_that_is_not_there(self, cifar):
        given = contents()
        del given["data_batch_4.bin"]
        archive(cifar, given)
        with pytest.raises(FileFormatError, match=re.escape("lacks data_batch_4.bin; it should")):
            load_cifar10()

    @pytest.mark.parametrize("content", [b"", b"1" * 3072])
    def test_another_length(self, cifar, content):
        archive(cifar, contents() | {"test_batch.bin": content})
        message = f"test_batch.bin in {cifar} has {len(content):,} bytes, which is no whole number"
        with pytest.raises(FileFormatError, match=re.escape(message)):
            load_cifar10()

    def test_a_link_is_not_followed(self, cifar):
        given = contents()
        del given["test_batch.bin"]
        archive(cifar.with_suffix(""), given, "w")
        with tarfile.open(cifar.with_suffix(""), "a") as tar:
            member = tarfile.TarInfo("cifar-10-batches-bin/test_batch.bin")
            member.type, member.linkname = tarfile.SYMTYPE, "data_batch_1.bin"
            tar.addfile(member)
        with pytest.raises(FileFormatError, match=re.escape("lacks test_batch.bin")):
            load_cifar10()

    def test_no_archive(self, cifar):
        cifar.write_bytes(b"no archive")
        with pytest.raises(FileFormatError, match=r"cannot be read \(.*\); get it again"):
            load_cifar10()

    def test_an_unknown_class(self, cifar):
        given = contents()
        given["test_batch.bin"] = b"\x0b" + given["test_batch.bin"][1:]
        archive(cifar, given)
        with pytest.raises(FileFormatError, match="a label of CIFAR-10 is 11; they are 0 to 9"):
            load_cifar10()

    def test_pickles_are_not_read(self, cifar):
        ran = []

        class Trap:
            def __reduce__(self):
                return ran.append, (1,)

        batches = {name.removesuffix(".bin"): pickle.dumps(Trap()) for name in RECORDS}
        archive(cifar, batches)
        with pytest.raises(FileFormatError, match=re.escape("lacks data_batch_1.bin")):
            load_cifar10()
        assert ran == []

    def test_the_public_file(self):
        assert CIFAR.url.endswith("/cifar-10-binary.tar.gz")
        assert re.fullmatch("[0-9a-f]{64}", CIFAR.sha256)


def real(place):
    """Return the folder of the real data, or None."""
    given = os.environ.get("CAVEAT_DATA")
    folders = [Path(given)] if given else sorted(Path(__file__).parents[3].glob("*/data"))
    return next((folder for folder in folders if (folder / place).is_file()), None)


def test_fashion_mnist_itself(monkeypatch):
    folder = real("fashion_mnist/train-images-idx3-ubyte.gz")
    if folder is None:
        pytest.skip("set CAVEAT_DATA to a folder with fashion_mnist/ to test the real images")
    monkeypatch.setenv("CAVEAT_DATA", str(folder))
    data = load_fashion_mnist()
    assert repr(data) in load_fashion_mnist.__doc__
    train, test = data.split()
    assert np.bincount(train.y).tolist() == [6000] * 10
    assert np.bincount(test.y).tolist() == [1000] * 10
    assert train.y[:5].tolist() == [9, 0, 0, 3, 0]
    # The published mean and standard deviation of the training images.
    assert train.X.mean(dtype=np.float64) == pytest.approx(0.2860, abs=5e-5)
    assert train.X.std(dtype=np.float64) == pytest.approx(0.3530, abs=5e-5)
