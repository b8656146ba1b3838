"""A prediction with the shape of an image."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._validation import FloatArray, check_integer
from ..evaluation import Evaluation, Verdict, evaluate
from ..exceptions import LabelError, OptionError, ShapeError, UnsupportedPredictionError
from ..predictions import Categorical, Container, Gaussian
from ..results.tables import Drawable
from ..uncertainty import measure
from .blocks import BlockSize, block_codes, choose_block
from .windowed import check_memory

_NAMES = {"class": "class", "classes": "class", "band": "class", "member": "member"}


@dataclass(frozen=True, repr=False, eq=False)
class PredictionMap(Drawable):
    """A prediction of all pixels of an image, or of some of them, that keeps the grid.

    Attributes
    ----------
    prediction : Categorical, Gaussian or another prediction
        One sample for each pixel that counts, line by line.
    shape : tuple of int
        Height and width; depth, height and width of a volume.
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
    shape: tuple[int, ...]
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
        shape = tuple(check_integer(length, "shape") for length in np.atleast_1d(self.shape))
        axes = tuple(self.axes) or ("z", "y", "x")[-len(shape) :]
        if len(shape) not in (2, 3) or len(axes) != len(shape):
            raise ShapeError(
                f"shape must be (height, width) or (depth, height, width); got {shape}"
            )
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
        for name, value in (("shape", shape), ("axes", axes), ("valid", valid)):
            object.__setattr__(self, name, value)

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
        labeled = hasattr(array, "dims") and hasattr(array, "coords")
        dims = list(array.dims) if labeled else []
        names = dims if labeled and axes is None else _axis_names(axes)
        known = [_NAMES.get(str(name), str(name)) for name in names]
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
        if labeled and classes is None:
            own = next(name for name in dims if _NAMES.get(str(name)) == "class")
            classes = array.coords[own].values if own in array.coords else None
        make = Categorical.from_logits if logits else Categorical
        coordinates = {}
        if labeled:
            coordinates = {
                name: np.asarray(array.coords[name].values)
                for name in spatial
                if name in array.coords
            }
        return cls(
            make(flat, classes=classes), tuple(lengths), valid, coordinates, tuple(spatial),
            getattr(getattr(array, "rio", None), "crs", None),
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
        """Return a region: one slice for each axis, as in ``pixels[100:200, :50]``."""
        slices = region if isinstance(region, tuple) else (region,)
        if len(slices) > len(self.shape) or not all(isinstance(one, slice) for one in slices):
            raise OptionError(f"a region is one slice for each of {len(self.shape)} axes")
        slices = (*slices, *[slice(None)] * (len(self.shape) - len(slices)))
        places = np.arange(prod(self.shape)).reshape(self.shape)[slices]
        if places.size == 0:
            raise ShapeError("the region has no pixel")
        chosen, valid = places.ravel(), None
        if self.valid is not None:
            valid = self.valid[chosen]
            chosen = (np.cumsum(self.valid) - 1)[chosen[valid]]
        coordinates = {
            name: np.asarray(values)[one]
            for (name, one) in zip(self.axes, slices, strict=True)
            if (values := self.coordinates.get(name)) is not None
        }
        return replace(
            self, prediction=self.prediction.take(chosen), shape=places.shape, valid=valid,
            coordinates=coordinates,
        )  # fmt: skip

    def blocks(self, side: Any) -> NDArray[np.intp]:
        """Return the block of each sample, for ``cluster=`` of metrics and intervals.

        Parameters
        ----------
        side : int or sequence of int
            Pixels along each axis.
        """
        codes = block_codes(self.shape, side)
        return codes if self.valid is None else codes[self.valid]

    def evaluate(
        self, y: Any, *, block: Any = None, missing: Any = None, **options: Any
    ) -> "MapEvaluation":
        """Evaluate the prediction with intervals from blocks of neighboring pixels.

        Parameters
        ----------
        y : array of the shape of the image
            The truth.
        block : int or sequence of int, optional
            The side of a block in pixels; by default twenty correlation lengths of the errors.
        missing : label, optional
            What ``y`` is where a pixel has no label, such as 0 or -1; NaN and None always are. Such
            pixels are left out and counted.
        **options
            Those of `caveat.evaluate`.

        Returns
        -------
        MapEvaluation
        """
        truth = to_numpy(y, "y").array
        if truth.shape != self.shape:
            raise ShapeError(f"y must have the size of the image, {self.shape}; got {truth.shape}")
        flat = truth.ravel() if self.valid is None else truth.ravel()[self.valid]
        empty = np.array([one is None for one in flat]) if flat.dtype == object else flat != flat
        if missing is not None:
            empty = empty | (flat == missing)
        if empty.all():
            raise LabelError("no pixel has a label")
        kept = np.flatnonzero(~empty)
        prediction, flat = self.prediction.take(kept), flat[kept]
        if flat.dtype.kind == "f" and isinstance(prediction, Categorical):
            whole = flat.astype(np.int64)  # labels beside NaN come as floats
            flat = (
                whole if prediction.classes.dtype.kind in "iu" and (whole == flat).all() else flat
            )
        positions = np.flatnonzero(self.valid)[kept] if self.valid is not None else kept
        if block is None:
            size = self._chosen(prediction, flat, positions)
        else:
            codes = block_codes(self.shape, block)[positions]
            sides = [block] * len(self.shape) if np.ndim(block) == 0 else block
            size = BlockSize(tuple(map(int, sides)), len(np.unique(codes)))
        cluster = block_codes(self.shape, size.side)[positions]
        result = evaluate(prediction, flat, cluster=cluster, **options)
        return MapEvaluation(result, size, int(empty.sum()))

    def _chosen(self, prediction: Any, y: Any, positions: Any) -> BlockSize:
        """Choose blocks by how far the errors are correlated."""
        if isinstance(prediction, Categorical):
            errors = (prediction.mean.argmax(axis=1) != prediction.align(y)).astype(np.float64)
        elif isinstance(prediction, Gaussian):
            means = prediction.mean.reshape(len(prediction), -1)[:, 0]
            errors = np.asarray(y, dtype=np.float64) - means
        else:
            raise UnsupportedPredictionError(
                f"blocks cannot be chosen for a {type(prediction).__name__}; pass block="
            )
        grid, mask = np.zeros(prod(self.shape)), np.zeros(prod(self.shape), dtype=bool)
        grid[positions], mask[positions] = errors, True
        return choose_block(grid.reshape(self.shape), mask.reshape(self.shape))

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

    def __repr__(self) -> str:
        some = "" if self.valid is None else f", {len(self.prediction):,} of them predicted"
        return (
            f"PredictionMap: {' x '.join(map(str, self.shape))} pixels{some}, {self.prediction!r}"
        )


def _axis_names(axes: Any) -> list[str]:
    if axes is None:
        return ["class", "y", "x"]
    return axes.split() if isinstance(axes, str) else [str(name) for name in axes]


@dataclass(frozen=True, repr=False, eq=False)
class MapEvaluation:
    """The evaluation of a map, with the blocks that its intervals rest on.

    Attributes
    ----------
    evaluation : Evaluation
    block : BlockSize
    unlabeled : int
        Pixels without a label, which were left out.
    """

    evaluation: Evaluation
    block: BlockSize
    unlabeled: int

    @property
    def remark(self) -> str:
        """What intervals rest on, in one line."""
        left = f"; {self.unlabeled:,} pixels without label left out" if self.unlabeled else ""
        return f"Intervals from {self.block}{left}."

    def verdict(self) -> Verdict:
        """Return the verdict on the evaluation."""
        return self.evaluation.verdict()

    def __repr__(self) -> str:
        return f"{self.evaluation!r}\n{self.remark}\n"
