"""A prediction with the shape of an image."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._validation import FloatArray
from ..evaluation import evaluate
from ..exceptions import InvalidValueError, OptionError, ShapeError, UnsupportedPredictionError
from ..predictions import Categorical, Container
from ..results.tables import Drawable
from ..results.words import counted
from ..uncertainty import measure
from ._grid import (
    NAMES,
    axis_names,
    coordinates_of,
    grid_of,
    is_labeled,
    reference_of,
    region_of,
    slice_between,
)
from .blocks import block_codes
from .evaluating import LabeledPixels, MapEvaluation, labeled_pixels
from .layers import map_layers
from .windowed import check_memory


@dataclass(frozen=True, repr=False, eq=False)
class PredictionMap(Drawable):
    """A prediction of all pixels of an image, or of some of them, that keeps the grid.

    Attributes
    ----------
    prediction : Categorical, Gaussian or another prediction
        One sample for each pixel that counts, line by line.
    grid : tuple of int, or an object of xarray
        Height and width; depth, height and width of a volume. A DataArray or Dataset gives the
        lengths, names and coordinates of its dimensions, without those named "class", "band" or
        "member". Kept is the tuple, which ``shape`` is too.
    valid : ndarray of bool of shape (pixels,), optional
        Which pixels the prediction has; by default all.
    coordinates : mapping of str to ndarray, optional
        The coordinates along each axis, by its name.
    axes : tuple of str
        The names of the axes; "y" and "x" by default.
    reference : Any
        The coordinate reference system, as rioxarray has it.

    Examples
    --------
    >>> import numpy as np
    >>> from caveat.maps import PredictionMap
    >>> scores = np.random.default_rng(0).dirichlet(np.ones(3), (4, 5))   # height, width, classes
    >>> pixels = PredictionMap.from_array(scores, axes="y x class")
    >>> pixels
    PredictionMap: 4 x 5 pixels, Categorical: 1 member x 20 samples x 3 classes (0, 1, 2)
    >>> pixels.measure("gini").shape
    (4, 5)
    >>> pixels[1:3, :2].shape
    (2, 2)
    """

    prediction: Any
    grid: Any
    valid: NDArray[np.bool_] | None = None
    coordinates: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    axes: tuple[str, ...] = ()
    reference: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.prediction, Container):
            raise UnsupportedPredictionError(
                "prediction must be a caveat prediction such as Categorical; for an array with the "
                "axes of an image, use PredictionMap.from_array"
            )
        grid = grid_of(self.grid)
        shape = grid.lengths
        axes = tuple(self.axes) or grid.axes or ("z", "y", "x")[-len(shape) :]
        if len(shape) not in (2, 3) or len(axes) != len(shape):
            raise ShapeError(
                "grid must be (height, width) or (depth, height, width), with a name for each "
                f"axis; got {shape}"
            )
        coordinates = self.coordinates or grid.coordinates or {}
        reference = grid.reference if self.reference is None else self.reference
        valid = self.valid
        if valid is not None:
            valid = to_numpy(valid, "valid").array
            if valid.dtype != bool or valid.size != prod(shape):
                raise ShapeError(f"valid must be true or false for each of {prod(shape)} pixels")
            valid = valid.ravel()
        samples = prod(shape) if valid is None else int(valid.sum())
        if len(self.prediction) != samples:
            raise ShapeError(
                f"the prediction has {len(self.prediction)} samples, the grid "
                f"{' x '.join(map(str, shape))} has {samples} pixels that count"
            )
        for name, value in (
            ("grid", shape), ("axes", axes), ("valid", valid), ("coordinates", coordinates),
            ("reference", reference),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the grid."""
        lengths: tuple[int, ...] = self.grid
        return lengths

    @classmethod
    def from_array(
        cls,
        array: Any,
        *,
        axes: Any = None,
        classes: Any = None,
        logits: bool = False,
        valid: Any = None,
    ) -> "PredictionMap":
        """Return the map of an array of probabilities, whose axes are named.

        Parameters
        ----------
        array : array or xarray.DataArray
            Probabilities, with one axis for classes and two or three for pixels, and possibly one
            for members; a torch tensor (classes, height, width) for instance.
        axes : str or sequence of str, optional
            The names of the axes in order, such as ``"class y x"`` or ``"member class y x"``:
            "class" and "member" are known, all others are axes of the image. By default the
            dimensions of a DataArray, or "class y x".
        classes : sequence of labels, optional
            By default the coordinates of the class axis of a DataArray, or 0, 1, 2, ...
        logits : bool, default=False
            Whether the numbers are logits, to which the softmax is applied.
        valid : array of bool of the shape of the image, optional
            Which pixels to keep.
        """
        labeled = is_labeled(array)
        dims = list(array.dims) if labeled else []
        names = dims if labeled and axes is None else axis_names(axes)
        known = [NAMES.get(str(name), str(name)) for name in names]
        values = array.values if labeled else to_numpy(array, "array").array
        check_memory(values.nbytes)
        if values.ndim != len(known) or known.count("class") != 1 or len(set(known)) < len(known):
            raise ShapeError(
                f"axes must name the {values.ndim} axes of the array, one of them 'class'; got "
                f"{' '.join(map(str, names))}"
            )
        spatial = [name for name in known if name not in ("class", "member")]
        order = [*(["member"] if "member" in known else []), *spatial, "class"]
        values = np.transpose(values, [known.index(name) for name in order])
        lengths = values.shape[len(order) - len(spatial) - 1 : -1]
        flat = values.reshape(*values.shape[: len(order) - len(spatial) - 1], -1, values.shape[-1])
        if valid is not None:
            keep = to_numpy(valid, "valid").array
            if keep.shape != tuple(lengths):
                raise ShapeError(
                    f"valid must have the size of the image, {lengths}; got {keep.shape}"
                )
            flat = flat[..., keep.ravel().astype(bool), :]
            valid = keep.astype(bool)
        own = coordinates_of(array, dims)
        if labeled and classes is None:
            classes = own.get(str(dims[known.index("class")]))
        make = Categorical.from_logits if logits else Categorical
        try:
            prediction = make(flat, classes=classes)
        except InvalidValueError:
            _check_order(values, order)
            _check_missing(values, order, valid)
            raise
        coordinates = {
            name: own[str(dim)]
            for name, dim in zip(known, dims, strict=False)  # without dims there are none
            if name in spatial and str(dim) in own
        }
        return cls(
            prediction, tuple(lengths), valid, coordinates, tuple(spatial),
            reference_of(array),
        )  # fmt: skip

    def layer(self, values: Any, fill: float = np.nan) -> NDArray[Any]:
        """Return one number for each pixel as an array of the image's shape.

        Parameters
        ----------
        values : array of shape (samples,) or (samples, k)
        fill : float, default=nan
            What pixels get that the prediction does not have.
        """
        array = to_numpy(values, "values").array
        if array.shape[:1] != (len(self.prediction),):
            raise ShapeError(
                f"values must have one entry for each of {len(self.prediction)} samples; got shape "
                f"{array.shape}"
            )
        if self.valid is None:
            return array.reshape(*self.shape, *array.shape[1:])
        kind = np.result_type(array.dtype, np.float64) if fill != int(np.nan_to_num(fill)) else None
        full = np.full((prod(self.shape), *array.shape[1:]), fill, dtype=kind or array.dtype)
        full[self.valid] = array
        return full.reshape(*self.shape, *array.shape[1:])

    def measure(self, name: str, **options: Any) -> FloatArray:
        """Return a measure of uncertainty as a layer; see `caveat.measure`.

        Parameters
        ----------
        name : str
        **options
        """
        return self.layer(measure(self.prediction, name, **options))

    def classes(self, fill: int = -1) -> NDArray[np.intp]:
        """Return the position of the most probable class as a layer.

        Parameters
        ----------
        fill : int, default=-1
            What pixels get that the prediction does not have.
        """
        return self.layer(self._categorical().mean.argmax(axis=1), fill)

    def _categorical(self) -> Categorical:
        if not isinstance(self.prediction, Categorical):
            raise UnsupportedPredictionError(
                f"this needs class probabilities; the map is of a {type(self.prediction).__name__}"
            )
        return self.prediction

    def __getitem__(self, region: Any) -> "PredictionMap":
        """Return a region: ``pixels[100:200, :50]``; of a volume also one layer, ``volume[3]``."""
        parts = region_of(region, self.shape)
        places = np.arange(prod(self.shape)).reshape(self.shape)[parts]
        if places.size == 0:
            raise ShapeError("the region has no pixel")
        chosen, valid = places.ravel(), None
        if self.valid is not None:
            valid = self.valid[chosen]
            chosen = (np.cumsum(self.valid) - 1)[chosen[valid]]
        kept = {
            name: one for name, one in zip(self.axes, parts, strict=True) if isinstance(one, slice)
        }
        coordinates = {
            name: np.asarray(values)[kept[name]]
            for name, values in self.coordinates.items()
            if name in kept
        }
        return replace(
            self, prediction=self.prediction.take(chosen), grid=places.shape, valid=valid,
            coordinates=coordinates, axes=tuple(kept),
        )  # fmt: skip

    def region(self, **between: Any) -> "PredictionMap":
        """Return the region between coordinates, both ends included.

        Parameters
        ----------
        **between
            The least and the largest coordinate by the name of an axis, as in
            ``pixels.region(lat=(46.0, 46.5))``.
        """
        parts = [slice(None)] * len(self.shape)
        for name, ends in between.items():
            if name not in self.axes or name not in self.coordinates:
                raise OptionError(
                    f"the map has no coordinates {name!r}; it has "
                    f"{', '.join(self.coordinates) or 'none'}"
                )
            values = np.asarray(self.coordinates[name])
            parts[self.axes.index(name)] = slice_between(values, ends, name)
        return self[tuple(parts)]

    def blocks(self, side: Any) -> NDArray[np.intp]:
        """Return the block of each sample, for ``cluster=`` of metrics and intervals.

        Parameters
        ----------
        side : int or sequence of int
            Pixels along each axis.
        """
        codes = block_codes(self.shape, side)
        return codes if self.valid is None else codes[self.valid]

    def labeled(self, y: Any, *, block: Any = None, missing: Any = None) -> LabeledPixels:
        """Return the pixels that have a label, with blocks of neighbors as clusters.

        Everything that takes ``cluster=`` takes its parts, as in
        ``caveat.compare_measures(one.prediction, one.y, cluster=one.cluster)``.

        Parameters
        ----------
        y : array of the shape of the image
            The truth. The axes of a DataArray are put in the order of the map's.
        block : int or sequence of int, optional
            The side of a block in pixels; by default twenty correlation lengths of the errors.
        missing : label, optional
            What ``y`` is where a pixel has no label, such as 0 or -1; NaN and None always are. Such
            pixels are left out and counted.
        """
        return labeled_pixels(self, y, block, missing)

    def evaluate(
        self, y: Any, *, block: Any = None, missing: Any = None, **options: Any
    ) -> MapEvaluation:
        """Evaluate the prediction with intervals from blocks of neighboring pixels.

        Parameters
        ----------
        y : array of the shape of the image
            The truth. The axes of a DataArray are put in the order of the map's.
        block : int or sequence of int, optional
            The side of a block in pixels; by default twenty correlation lengths of the errors.
        missing : label, optional
            What ``y`` is where a pixel has no label; see `labeled`.
        **options
            Those of `caveat.evaluate`.
        """
        one = self.labeled(y, block=block, missing=missing)
        result = evaluate(one.prediction, one.y, cluster=one.cluster, **options)
        return MapEvaluation(result, one.block, one.unlabeled)

    def to_xarray(self, layers: Mapping[str, Any] | None = None) -> Any:
        """Return layers as an xarray.Dataset with the coordinates of the grid.

        Parameters
        ----------
        layers : mapping of str to array of shape (samples,) or of the image, optional
            By default the most probable class and the scaled Gini impurity.
        """
        import xarray as xr

        if layers is None:
            layers = {"class": self.classes(), "gini_impurity": self.measure("gini_impurity")}
        arrays = {}
        for name, values in layers.items():
            array = to_numpy(values, "layers").array
            array = array if array.shape == self.shape else self.layer(array)
            arrays[name] = (self.axes, array)
        result = xr.Dataset(arrays, coords=dict(self.coordinates))
        if self.reference is not None and hasattr(result, "rio"):
            result = result.rio.write_crs(self.reference)
        return result

    def to_geotiff(self, path: Any, values: Any = "gini_impurity", **options: Any) -> None:
        """Write a layer as a GeoTIFF, with the coordinates that the map has; needs rioxarray.

        Parameters
        ----------
        path : str or path
        values : str or array, default="gini_impurity"
            The name of a measure, or the numbers of the layer.
        **options
            Those of the measure.
        """
        try:
            import rioxarray  # noqa: F401
        except ImportError as error:
            raise OptionError(
                "GeoTIFF files need rioxarray: pip install 'caveat[maps]'; to_xarray and layer "
                "work without"
            ) from error
        layer = self.measure(values, **options) if isinstance(values, str) else values
        data = self.to_xarray({"layer": layer})["layer"]
        data.rio.set_spatial_dims(self.axes[-1], self.axes[-2]).rio.to_raster(path)

    def report(
        self, path: Any, *, title: str | None = None, source: str = "", **layers: Any
    ) -> Any:
        """Write a page of linked maps: zoom all together, click a pixel for what it says.

        Parameters
        ----------
        path : str or path
            Where to write, ending in ``.html``.
        title : str, optional
            The headline.
        source : str, default=""
            What stands below it: the file, the model, ...
        **layers
            What to show beside the classes, as `caveat.maps.map_layers` takes it: ``measures=``,
            ``distances=`` between the classes, ``truth=`` with ``missing=`` and ``block=``, and the
            ``image=`` itself with its ``channels=``.

        Returns
        -------
        Path
        """
        return map_layers(self, **layers).report(path, title=title, source=source)

    def __repr__(self) -> str:
        some = "" if self.valid is None else f", {len(self.prediction):,} of them predicted"
        return (
            f"PredictionMap: {' x '.join(map(str, self.shape))} pixels{some}, {self.prediction!r}"
        )


def _check_missing(values: NDArray[Any], order: list[str], valid: Any) -> None:
    """Raise if pixels have no numbers, with what to do about them."""
    empty = np.isnan(values).any(axis=-1) if values.dtype.kind == "f" else np.zeros(1, bool)
    empty = empty.any(axis=0) if order[0] == "member" else empty
    if valid is not None:
        empty = empty & valid
    if empty.any():
        names = [name for name in order if name not in ("class", "member")]
        first = ", ".join(f"{n} {k}" for n, k in zip(names, np.argwhere(empty)[0], strict=True))
        raise InvalidValueError(
            f"NaN among the probabilities of {counted(int(empty.sum()), 'pixel')}, the first at "
            f"{first}; leave them out with valid=, which is true elsewhere"
        )


def _check_order(values: NDArray[Any], order: list[str]) -> None:
    """Raise if probabilities sum to 1 along an axis that is not named class."""
    for axis, name in enumerate(order):
        if name not in ("class", "member") and np.allclose(values.sum(axis=axis), 1, atol=1e-2):
            raise InvalidValueError(
                f"probabilities sum to 1 along the axis {name!r}, not along 'class'; name the axes "
                'of the array in their order, as in axes="y x class"'
            )
