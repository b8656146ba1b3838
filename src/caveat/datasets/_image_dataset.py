"""A data set of torch whose images are read from files when they are asked for."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from ..exceptions import FileFormatError
from ._image_folder import FORMATS

_KINDS = tuple(dict.fromkeys(FORMATS.values()))
"""The readers that files are given to."""

_DEEP = ("I;16", "I;16L", "I;16B", "I;16N")
"""Grays of 16 bits; in files of some formats they are "I"."""


class ImageFolder(Dataset[tuple[Any, int]]):
    """Images in files; `caveat.datasets.load_image_folder` makes one."""

    def __init__(
        self,
        paths: Sequence[str],
        labels: Sequence[int],
        classes: Sequence[str],
        size: int,
        transform: Any,
    ) -> None:
        self.paths, self.labels = np.array(paths), np.array(labels)
        self.classes, self.size, self.transform = list(classes), size, transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, place: int) -> tuple[Any, int]:
        image = torch.from_numpy(_read(str(self.paths[place]), self.size))
        return image if self.transform is None else self.transform(image), int(self.labels[place])

    def __repr__(self) -> str:
        return (
            f"ImageFolder({len(self):,} images of {len(self.classes):,} classes, "
            f"3 x {self.size} x {self.size})"
        )


def _in_8_bits(image: Any) -> Any:
    """Return an image whose grays of 16 bits are scaled to 8: Pillow would make most of them white.

    Other numbers, as TIFF holds them, have no known range.
    """
    from PIL import Image

    if image.mode in _DEEP or (image.mode == "I" and image.format in ("PNG", "PPM")):
        return Image.fromarray(np.rint(np.asarray(image) / 257).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise ValueError(
            f"its pixels are numbers of 32 bits (mode {image.mode}), and which of them is white is "
            "not known; save it with 8 or 16 bits"
        )
    return image


def _read(path: str, size: int) -> np.ndarray:
    """Return the central square of an image, (3, size, size) from 0 to 1."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            # A small file may unfold to more pixels than memory holds.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            # The content decides, as many images have the ending of another format.
            with Image.open(path, formats=_KINDS) as file:
                side = min(file.size)
                left, top = ((length - side) // 2 for length in file.size)
                image = (
                    _in_8_bits(file)
                    .convert("RGB")
                    .resize(
                        (size, size),
                        Image.Resampling.BILINEAR,
                        box=(left, top, left + side, top + side),
                    )
                )
    except (
        OSError, SyntaxError, ValueError, Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:  # fmt: skip
        raise FileFormatError(f"{path} cannot be read as an image: {error}; remove it") from None
    return np.asarray(image, dtype=np.float32).transpose(2, 0, 1) / np.float32(255)
