"""Images in a folder with a folder for each class: read one at a time."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._validation import check_integer
from ..exceptions import OptionError

if TYPE_CHECKING:
    from ._image_dataset import ImageFolder

FORMATS = {
    ".bmp": "BMP", ".gif": "GIF", ".jpeg": "JPEG", ".jpg": "JPEG", ".pgm": "PPM", ".png": "PNG",
    ".ppm": "PPM", ".tif": "TIFF", ".tiff": "TIFF", ".webp": "WEBP",
}  # fmt: skip
"""Endings of files that are images, and their formats; content of any of these is read."""


def load_image_folder(
    folder: str | os.PathLike[str], *, size: int = 224, transform: Any = None
) -> "ImageFolder":
    """List the images in a folder that has a folder for each class, as ImageNet is unpacked.

    Nothing is read but the names of files; an image is read when it is asked for, so that any
    number of images can be used. Needs torch.

    Parameters
    ----------
    folder : path
        Each folder in it is a class, called as the folder. Files anywhere below it that end in
        .jpg, .jpeg, .png, .bmp, .gif, .pgm, .ppm, .tif, .tiff or .webp are its images, whichever of
        these formats they have. Grays of 16 bits are scaled to 8.
    size : int, default=224
        Side of the images in pixels: the central square of an image is resized to it.
    transform : callable, optional
        From an image, a tensor of shape (3, size, size) from 0 to 1, to what the network gets: a
        scaling, or random crops. It must be a function of a module to be used by workers.

    Returns
    -------
    ImageFolder
        A ``Dataset`` of torch with pairs of an image and the number of its class. ``labels`` are
        the numbers of all images, ``classes`` the names, ``paths`` the files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, color in (("leaf", "green"), ("sea", "blue")):
    ...         (Path(folder) / name).mkdir()
    ...         Image.new("RGB", (40, 30), color).save(Path(folder) / name / "first.png")
    ...     images = load_image_folder(folder, size=8)
    ...     image, label = images[1]
    >>> images
    ImageFolder(2 images of 2 classes, 3 x 8 x 8)
    >>> image.mean(dim=(1, 2)), images.classes[label]
    (tensor([0., 0., 1.]), 'sea')
    """
    root = Path(folder)
    if not root.is_dir():
        raise OptionError(f"{root} is no folder; name one that has a folder for each class")
    if transform is not None and not callable(transform):
        raise OptionError(f"transform must be a function of a tensor; got {transform!r}")
    side = check_integer(size, "size")
    classes = sorted(
        each.name for each in root.iterdir() if each.is_dir() and not each.name.startswith(".")
    )
    if not classes:
        raise OptionError(f"{root} has no folders; each class needs one with its images")
    paths, labels = [], []
    for label, name in enumerate(classes):
        files = _images(root / name)
        if not files:
            raise OptionError(
                f"{root / name} has no images; remove the folder, or add files that end in "
                f"{', '.join(sorted(FORMATS))}"
            )
        paths += files
        labels += [label] * len(files)
    from ._image_dataset import ImageFolder

    return ImageFolder(paths, labels, classes, side, transform)


def _images(folder: Path) -> list[str]:
    result = []
    for place, _, names in os.walk(folder):
        result += [
            os.path.join(place, name)
            for name in names
            if os.path.splitext(name)[1].lower() in FORMATS and not name.startswith(".")
        ]
    return sorted(result)
