"""Fashion-MNIST and CIFAR-10: small images of ten classes."""

import gzip
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FileFormatError
from ._dataset import Dataset
from ._files import PublicFile, locate

_ZALANDO = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
_CHECKSUMS = {
    "train-images-idx3": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "train-labels-idx1": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "t10k-images-idx3": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "t10k-labels-idx1": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}
FASHION = {
    f"{name}-ubyte.gz": PublicFile(
        f"fashion_mnist/{name}-ubyte.gz", f"{_ZALANDO}{name}-ubyte.gz", checksum
    )
    for name, checksum in _CHECKSUMS.items()
}
_CLOTHES = (
    "T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
    "ankle boot",
)  # fmt: skip

CIFAR = PublicFile(
    "cifar10/cifar-10-binary.tar.gz",
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
_BATCHES = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")
_OBJECTS = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
_RECORD = 1 + 3 * 32 * 32

_MOST = 2**30
"""Bytes of one file, unpacked; the largest of these has 47 million."""
_BROKEN = (OSError, EOFError, zlib.error, tarfile.TarError)


def load_fashion_mnist() -> Dataset:
    """Load Fashion-MNIST: 70,000 gray images of clothes, 28 by 28 pixels, in ten classes.

    The files are ``train-images-idx3-ubyte.gz``, ``train-labels-idx1-ubyte.gz``,
    ``t10k-images-idx3-ubyte.gz`` and ``t10k-labels-idx1-ubyte.gz`` (or the same without ``.gz``)
    under ``fashion_mnist/`` in the folder that ``CAVEAT_DATA`` names, or are fetched from the
    repository of the authors (31 MB).

    Returns
    -------
    Dataset
        ``X`` has shape (samples, 1, 28, 28), in single precision from 0 to 1: 220 MB. ``test`` is
        the given split, 10,000 images. The classes have names.

    References
    ----------
    H. Xiao, K. Rasul & R. Vollgraf (2017). Fashion-MNIST: a novel image dataset for benchmarking
    machine learning algorithms. arXiv:1708.07747.

    Examples
    --------
    >>> load_fashion_mnist()  # doctest: +SKIP
    Dataset(70,000 samples, 1 x 28 x 28, 10 classes, 10,000 held out for testing)
    """
    images, labels = [], []
    for part in ("train", "t10k"):
        X = _idx(FASHION[f"{part}-images-idx3-ubyte.gz"], 3)
        y = _idx(FASHION[f"{part}-labels-idx1-ubyte.gz"], 1)
        if len(X) != len(y):
            raise FileFormatError(
                f"the {part} files of Fashion-MNIST have {len(X)} images and {len(y)} labels; get "
                "them again"
            )
        images.append(X[:, None])
        labels.append(y)
    return _dataset(
        images,
        labels,
        _CLOTHES,
        "Fashion-MNIST (Zalando): photographs of clothes, bags and shoes",
    )


def load_cifar10() -> Dataset:
    """Load CIFAR-10: 60,000 color images of animals and vehicles, 32 by 32, in ten classes.

    The file is ``cifar10/cifar-10-binary.tar.gz`` (or ``.tar``) in the folder that ``CAVEAT_DATA``
    names, or is fetched from the page of the authors (162 MB). It is the binary version: the one
    for Python consists of pickles, which would run code when they are read.

    Returns
    -------
    Dataset
        ``X`` has shape (samples, 3, 32, 32), in single precision from 0 to 1: 740 MB. ``test`` is
        the given split, 10,000 images. The classes have names.

    References
    ----------
    A. Krizhevsky (2009). Learning multiple layers of features from tiny images. University of
    Toronto.

    Examples
    --------
    >>> load_cifar10()  # doctest: +SKIP
    Dataset(60,000 samples, 3 x 32 x 32, 10 classes, 10,000 held out for testing)
    """
    path = locate(CIFAR)
    records = _batches(path)
    parts = []
    for names in (_BATCHES[:-1], _BATCHES[-1:]):
        missing = [name for name in names if name not in records]
        if missing:
            raise FileFormatError(
                f"{path} lacks {missing[0]}; it should be the file of {CIFAR.url}"
            )
        parts.append(np.concatenate([records[name] for name in names]))
    return _dataset(
        [part[:, 1:].reshape(-1, 3, 32, 32) for part in parts],
        [part[:, 0] for part in parts],
        _OBJECTS,
        "CIFAR-10 (Toronto): photographs of animals and vehicles",
    )


def _dataset(
    images: list[NDArray[np.uint8]],
    labels: list[NDArray[np.uint8]],
    classes: tuple[str, ...],
    description: str,
) -> Dataset:
    """Join the parts for training and for testing."""
    y = np.concatenate(labels).astype(np.int64)
    if y.max() >= len(classes):
        raise FileFormatError(
            f"a label of {description.partition(' ')[0]} is {y.max()}; they are 0 to 9"
        )
    X = np.concatenate(images).astype(np.float32)
    X /= 255
    test = np.repeat([False, True], [len(part) for part in labels])
    return Dataset(X, y, {}, (), description, test, classes)


def _idx(file: PublicFile, axes: int) -> NDArray[np.uint8]:
    """Read a file of bytes that begins with its shape."""
    path = locate(file)
    try:
        with _opened(path) as stream:
            start = stream.read(4)
            if start != bytes((0, 0, 8, axes)):
                raise FileFormatError(
                    f"{path} does not begin as a file of bytes with {axes} axes does; it should be "
                    f"the file of {file.url}"
                )
            header = stream.read(4 * axes)
            shape = np.frombuffer(header[: len(header) // 4 * 4], dtype=">u4").tolist()
            size = _size(shape)
            content = stream.read(size + 1) if len(shape) == axes and 0 < size <= _MOST else b""
    except _BROKEN as error:
        raise FileFormatError(f"{path} cannot be read ({error}); get it again") from error
    if len(content) != size or not content:
        raise FileFormatError(
            f"{path} says that it has {' x '.join(map(str, shape)) or 'no'} bytes, and has others; "
            "get it again"
        )
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _size(shape: list[int]) -> int:
    # In whole numbers of Python: a header can claim more than 64 bits hold.
    size = 1
    for length in shape:
        size *= length
    return size


def _opened(path: Path) -> Any:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else path.open("rb")


def _batches(path: Path) -> dict[str, NDArray[np.uint8]]:
    """Read the records of an archive, of each file a label and an image in bytes."""
    records = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                name = PurePosixPath(member.name).name
                if name not in _BATCHES or not member.isfile():
                    continue
                if not 0 < member.size <= _MOST or member.size % _RECORD:
                    raise FileFormatError(
                        f"{name} in {path} has {member.size:,} bytes, which is no whole number of "
                        f"images of {_RECORD:,}; get it again"
                    )
                stream: Any = archive.extractfile(member)
                content = np.frombuffer(stream.read(), dtype=np.uint8)
                records[name] = content.reshape(-1, _RECORD)
    except _BROKEN as error:
        reason = str(error).partition(":\n")[0]  # what each way of packing says stands below
        raise FileFormatError(f"{path} cannot be read ({reason}); get it again") from error
    return records
