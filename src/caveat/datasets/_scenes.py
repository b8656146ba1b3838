"""Images whose pixels have classes: Indian Pines, Trento, BCSS, pixels of Houston, own files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._validation import FloatArray, as_floats, check_integer, check_size
from ..exceptions import FileFormatError, InvalidValueError, ShapeError
from ._dataset import Dataset
from ._files import public_folder

INDIAN_PINES = (
    "alfalfa", "corn, no tillage", "corn, minimum tillage", "corn", "grass and pasture",
    "grass and trees", "mowed grass", "hay", "oats", "soybean, no tillage",
    "soybean, minimum tillage", "soybean, clean", "wheat", "woods", "buildings, grass, trees",
    "stone and steel towers",
)  # fmt: skip
TRENTO = ("apple trees", "buildings", "ground", "wood", "vineyards", "roads")
BCSS = ("tumor", "stroma", "lymphocytic infiltrate", "necrosis", "other")
HOUSTON = (
    "healthy grass", "stressed grass", "synthetic grass", "trees", "soil", "water", "residential",
    "commercial", "road", "highway", "railway", "parking lot 1", "parking lot 2", "tennis court",
    "running track",
)  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class Scene:
    """An image, and the class of some of its pixels.

    Attributes
    ----------
    image : ndarray of shape (height, width, channels)
    labels : ndarray of int of shape (height, width)
        0 where a pixel has no label, else the number of its class from 1.
    classes : tuple of str
    description : str

    Examples
    --------
    >>> from caveat.datasets import Scene
    >>> scene = Scene([[[0.1], [0.9]], [[0.2], [0.8]]], [[1, 2], [0, 2]], ("dark", "light"))
    >>> scene
    Scene(2 x 2 pixels, 1 channel, 2 classes, 1 pixel without label)
    >>> scene.pixels()[1]
    array([0, 1, 1])
    """

    image: FloatArray
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    description: str = ""

    def __post_init__(self) -> None:
        image, _, _ = as_floats(self.image, "image")
        if image.ndim == 2:
            image = image[:, :, None]
        if image.ndim != 3:
            raise ShapeError(f"image must have shape (height, width, channels); got {image.shape}")
        check_size(image, "image", ("row", "column", "channel"))
        labels = to_numpy(self.labels, "labels").array
        if labels.shape != image.shape[:2]:
            raise ShapeError(
                f"labels must have the size of the image, {image.shape[:2]}; got {labels.shape}"
            )
        whole = labels.dtype.kind in "iub" or (
            labels.dtype.kind == "f" and bool((labels == np.floor(labels)).all())
        )
        names = to_numpy(self.classes, "classes").array
        if names.ndim != 1:
            raise ShapeError("classes must be a list of names")
        count = len(names)
        if not whole or labels.min() < 0 or labels.max() > count:
            raise InvalidValueError(
                f"labels must be whole numbers from 0 (no label) to {count}, the number of classes"
            )
        object.__setattr__(self, "image", image)
        object.__setattr__(self, "labels", labels.astype(np.int64))
        object.__setattr__(self, "classes", tuple(map(str, names.tolist())))

    @property
    def grid(self) -> tuple[int, int]:
        """Height and width."""
        return self.labels.shape[0], self.labels.shape[1]

    @property
    def unlabeled(self) -> int:
        """How many pixels have no label."""
        return int((self.labels == 0).sum())

    def pixels(self) -> tuple[FloatArray, NDArray[np.int64], NDArray[np.intp]]:
        """Return the labeled pixels: their channels, their classes from 0, and their positions."""
        places = np.flatnonzero(self.labels)
        channels = self.image.reshape(-1, self.image.shape[2])
        return channels[places], self.labels.ravel()[places] - 1, places

    def __repr__(self) -> str:
        def counted(number: int, noun: str, more: str) -> str:
            return f"{number:,} {noun if number == 1 else more}"

        height, width = self.grid
        return (
            f"Scene({height} x {width} pixels, "
            f"{counted(self.image.shape[2], 'channel', 'channels')}, {len(self.classes)} classes, "
            f"{counted(self.unlabeled, 'pixel', 'pixels')} without label)"
        )


def load_scene(path: Any) -> Scene:
    """Load an image with labels from a file of numpy.

    Parameters
    ----------
    path : str or path
        An ``.npz`` file with ``image`` (height, width, channels), ``labels`` (height, width; 0 has
        no label) and, optionally, ``classes``, the names.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> path = tempfile.mkdtemp() + "/scene.npz"
    >>> np.savez(path, image=np.ones((3, 4, 2)), labels=np.array([[0, 1, 2, 2]] * 3))
    >>> load_scene(path)
    Scene(3 x 4 pixels, 2 channels, 2 classes, 3 pixels without label)
    """
    arrays = _npz(Path(path))
    if not {"image", "labels"} <= set(arrays):
        raise FileFormatError(
            f"{path} must have the arrays image and labels; it has {', '.join(arrays) or 'none'}"
        )
    labels = arrays["labels"]
    most = int(labels.max()) if labels.size and labels.dtype.kind in "iub" else 0
    names = arrays["classes"].tolist() if "classes" in arrays else range(1, most + 1)
    return Scene(arrays["image"], labels, tuple(map(str, names)), str(path))


def load_indian_pines() -> Scene:
    """Load Indian Pines: 145 by 145 pixels with 200 spectral bands, in 16 classes.

    The file is ``indian_pines/indian_pines.npz`` (arrays ``cube`` and ``gt``) in the folder that
    ``CAVEAT_DATA`` names.

    Returns
    -------
    Scene

    References
    ----------
    M. F. Baumgardner, L. L. Biehl, D. A. Landgrebe (2015). 220 band AVIRIS hyperspectral image data
    set: June 12, 1992 Indian Pine Test Site 3. Purdue University Research Repository.

    Examples
    --------
    >>> load_indian_pines()  # doctest: +SKIP
    Scene(145 x 145 pixels, 200 channels, 16 classes, 10,776 pixels without label)
    """
    path = _folder("indian_pines") / "indian_pines.npz"
    arrays = _npz(path)
    if not {"cube", "gt"} <= set(arrays):
        raise FileFormatError(f"{path} must have the arrays cube and gt; get it again")
    return Scene(arrays["cube"], arrays["gt"], INDIAN_PINES, "Indian Pines, AVIRIS, 1992")


def load_houston() -> Dataset:
    """Load pixels of Houston 2013: 144 spectral bands and 21 LiDAR features, in 15 classes.

    The files are ``HSI_TrSet.mat``, ``LiDAR_TrSet.mat`` and ``TrLabel.mat`` in
    ``houston2013_hsi_lidar_pixels/`` in the folder that ``CAVEAT_DATA`` names.

    Returns
    -------
    Dataset
        2,832 pixels; without their places, so there is no map.

    References
    ----------
    C. Debes et al. (2014). Hyperspectral and LiDAR data fusion: outcome of the 2013 GRSS data
    fusion contest. IEEE Journal of Selected Topics in Applied Earth Observations and Remote Sensing
    7(6).

    Examples
    --------
    >>> load_houston()  # doctest: +SKIP
    Dataset(2,832 samples, 165 features, 15 classes, no given split)
    """
    folder = _folder("houston2013_hsi_lidar_pixels")
    spectra, heights, labels = (
        _only(folder / name) for name in ("HSI_TrSet.mat", "LiDAR_TrSet.mat", "TrLabel.mat")
    )
    y = labels.ravel().astype(np.int64) - 1
    if not len(spectra) == len(heights) == len(y):
        raise FileFormatError(
            f"the files of {folder} have {len(spectra)}, {len(heights)} and {len(y)} pixels; get "
            "them again"
        )
    names = [f"band {k + 1}" for k in range(spectra.shape[1])]
    names += [f"LiDAR {k + 1}" for k in range(heights.shape[1])]
    return Dataset(
        X=np.hstack([spectra, heights]).astype(np.float64), y=y, groups={},
        feature_names=tuple(names), description="Houston 2013 (GRSS data fusion contest)",
        test=np.zeros(len(y), dtype=bool), classes=HOUSTON,
    )  # fmt: skip


def load_trento(folder: Any = None) -> Scene:
    """Load Trento: 63 spectral bands and LiDAR of 600 by 166 pixels, in 6 classes.

    Parameters
    ----------
    folder : str or path, optional
        A folder with the ``.mat`` files, by default ``trento/`` in the folder that ``CAVEAT_DATA``
        names. The arrays are told apart by their form, whatever their names are: the one with most
        channels is the hyperspectral image, other images of the same size are LiDAR, and the only
        one of whole numbers from 0 to 6 is the ground truth.

    References
    ----------
    B. Rasti, P. Ghamisi, R. Gloaguen (2017). Hyperspectral and LiDAR fusion using extinction
    profiles and total variation component analysis. IEEE Transactions on Geoscience and Remote
    Sensing 55(7).

    Examples
    --------
    >>> load_trento("data/trento")  # doctest: +SKIP
    Scene(600 x 166 pixels, 65 channels, 6 classes, 69,386 pixels without label)
    """
    place = _folder("trento") if folder is None else Path(folder)
    arrays = [array for path in sorted(place.glob("*.mat")) for array in _mat(path).values()]
    truths = [array for array in arrays if array.ndim == 2 and _is_truth(array)]
    if len(truths) != 1:
        raise FileFormatError(
            f"{place} must have one array of labels from 0 to {len(TRENTO)} in its .mat files; "
            f"there are {len(truths)}"
        )
    (labels,) = truths
    images = [
        array.reshape(*array.shape[:2], -1)
        for array in arrays
        if array is not labels and array.shape[:2] == labels.shape
    ]
    if not images:
        raise FileFormatError(
            f"{place} has labels of {labels.shape[0]} x {labels.shape[1]} pixels, and no image of "
            "that size in its .mat files"
        )
    images.sort(key=lambda image: -image.shape[2])
    return Scene(np.concatenate(images, axis=2), labels, TRENTO, "Trento: AISA Eagle and LiDAR")


def _is_truth(array: NDArray[Any]) -> bool:
    whole = array.dtype.kind in "iu" or bool((array == np.floor(array)).all())
    return whole and array.min() >= 0 and 1 < array.max() <= len(TRENTO)


def load_bcss(image: Any, mask: Any, *, step: int = 1) -> Scene:
    """Load one region of the Breast Cancer Semantic Segmentation data: an image and its mask.

    Parameters
    ----------
    image, mask : str or path
        Image files of the same size: colors, and the code of the tissue of each pixel. Code 0 is
        outside of the region; 1 to 4 are tumor, stroma, lymphocytic infiltrate and necrosis; all
        others are one class, as in the paper.
    step : int, default=1
        Take every so many pixels of every so many lines.

    References
    ----------
    M. Amgad et al. (2019). Structured crowdsourcing enables convolutional segmentation of histology
    images. Bioinformatics 35(18).

    Examples
    --------
    >>> load_bcss("images/region.png", "masks/region.png", step=4)  # doctest: +SKIP
    Scene(565 x 637 pixels, 3 channels, 5 classes, 1,024 pixels without label)
    """
    step = check_integer(step, "step")
    colors, codes = _picture(image, "RGB"), _picture(mask, None)
    if codes.ndim != 2:
        raise FileFormatError(f"{mask} must have one number for each pixel; got {codes.shape}")
    if colors.shape[:2] != codes.shape:
        raise ShapeError(
            f"the mask has {codes.shape[0]} x {codes.shape[1]} pixels, the image "
            f"{colors.shape[0]} x {colors.shape[1]}; pass the mask of this image"
        )
    labels = np.minimum(codes.astype(np.int64), len(BCSS))
    return Scene(colors[::step, ::step] / 255, labels[::step, ::step], BCSS, f"BCSS: {image}")


def _picture(path: Any, mode: str | None) -> NDArray[Any]:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            return np.asarray(picture if mode is None else picture.convert(mode))
    except (OSError, UnidentifiedImageError) as error:
        raise FileFormatError(f"{path} cannot be read as an image ({error})") from error


def _folder(name: str) -> Path:
    """Return a folder of the user's data."""
    return public_folder(name) / name


def _npz(path: Path) -> dict[str, NDArray[Any]]:
    import zipfile

    try:
        with np.load(path) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise FileFormatError(f"{path} cannot be read as an .npz file ({error})") from error


def _mat(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of numbers of a file of Matlab."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        content = loadmat(path)
    except (OSError, ValueError, TypeError, NotImplementedError, MatReadError) as error:
        raise FileFormatError(
            f"{path} cannot be read as a .mat file of version 5 to 7.2 ({error}); save it again "
            "with -v7"
        ) from error
    arrays = {key: value for key, value in content.items() if not key.startswith("__")}
    return {
        key: value
        for key, value in arrays.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.size
    }


def _only(path: Path) -> NDArray[Any]:
    arrays: Sequence[NDArray[Any]] = list(_mat(path).values())
    if len(arrays) != 1:
        raise FileFormatError(f"{path} must have one array; it has {len(arrays)}")
    return arrays[0]
