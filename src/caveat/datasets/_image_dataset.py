"""A data set of torch whose images are read from files when they are asked for."""

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from ..exceptions import FileFormatError
from ._image_folder import FORMATS


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


def _read(path: str, size: int) -> np.ndarray:
    """Return the central square of an image, (3, size, size) from 0 to 1."""
    from PIL import Image

    kind = FORMATS[os.path.splitext(path)[1].lower()]
    try:
        with warnings.catch_warnings():
            # A small file may unfold to more pixels than memory holds.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=(kind,)) as file:
                side = min(file.size)
                left, top = ((length - side) // 2 for length in file.size)
                image = file.convert("RGB").resize(
                    (size, size),
                    Image.Resampling.BILINEAR,
                    box=(left, top, left + side, top + side),
                )
    except (
        OSError, SyntaxError, ValueError, Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:  # fmt: skip
        raise FileFormatError(f"{path} cannot be read as an image: {error}; remove it") from None
    return np.asarray(image, dtype=np.float32).transpose(2, 0, 1) / np.float32(255)
