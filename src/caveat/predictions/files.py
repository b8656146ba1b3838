"""One file for one prediction: ``.npz`` without pickle, or Parquet with a row for each sample.

A file holds the arrays and a JSON header with the type, the version of the format and the values
that are not arrays. Loading goes through the type's own constructor, so a file can hold nothing
that a user could not have passed, and never runs code.
"""

import json
import zipfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import CaveatError, FileFormatError
from ._container import Container
from .categorical import Categorical
from .decomposition import Decomposition
from .ellipsoid import Ellipsoid
from .gaussian import Gaussian
from .gaussian_logits import GaussianLogits
from .interval import Interval
from .prediction_set import PredictionSet
from .probability_interval import ProbabilityInterval
from .quantiles import Quantiles

VERSION = 1
_HEADER = "caveat"
_TYPES: dict[str, type[Container]] = {
    kind.__name__: kind
    for kind in (
        Categorical,
        Decomposition,
        Ellipsoid,
        Gaussian,
        GaussianLogits,
        Interval,
        PredictionSet,
        ProbabilityInterval,
        Quantiles,
    )
}
# A small file must not unpack into all of the memory.
_MOST_BYTES, _MOST_RATIO = 2**28, 1000


def save(prediction: Container, path: str | PathLike[str]) -> None:
    """Write a prediction to ``path``; the ending says which format."""
    path = Path(path)
    _format(path, {".npz": _save_npz, ".parquet": _save_parquet})(prediction, path)


def load_prediction(path: str | PathLike[str]) -> Any:
    """Read a prediction that ``save`` wrote, of whatever type it was.

    Parameters
    ----------
    path : str or path
        A file ending in ``.npz`` or ``.parquet``.
    """
    path = Path(path)
    read = _format(path, {".npz": _load_npz, ".parquet": _load_parquet})
    try:
        return read(path)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error
    except CaveatError as error:
        raise FileFormatError(f"{path} does not hold a valid prediction: {error}") from error
    except (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from error


def _format(path: Path, formats: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    if path.suffix not in formats:
        raise FileFormatError(f"{path} must end in .npz or .parquet")
    return formats[path.suffix]


def header_of(prediction: Container) -> dict[str, Any]:
    """Return what a file says of a prediction: its type, and the values that are not arrays."""
    shared: dict[str, Any] = {}
    for name in prediction._shared:
        value = getattr(prediction, name)
        shared[name] = value.tolist() if isinstance(value, np.ndarray) else value
    shapes = {name: getattr(prediction, name).shape for name in prediction._arrays}
    return {
        "type": type(prediction).__name__,
        "version": VERSION,
        "shared": shared,
        "shapes": shapes,
    }


def read_header(text: str) -> tuple[type[Container], dict[str, Any]]:
    """Return the type and the checked header of a prediction in a file."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"the header is not JSON that caveat wrote: {error}") from error
    if not isinstance(header, dict) or header.get("type") not in _TYPES:
        raise FileFormatError("the header does not name a type that caveat knows")
    if not isinstance(header.get("version"), int) or header["version"] > VERSION:
        raise FileFormatError(
            f"written in version {header.get('version')} of the format, and this caveat reads up "
            f"to {VERSION}; install a newer one"
        )
    kind = _TYPES[header["type"]]
    shared, shapes = header.get("shared"), header.get("shapes")
    if not isinstance(shared, dict) or set(shared) != set(kind._shared):
        raise FileFormatError(f"a {kind.__name__} needs {list(kind._shared)} in its header")
    if not isinstance(shapes, dict) or set(shapes) != set(kind._arrays):
        raise FileFormatError(f"a {kind.__name__} needs the shapes of {list(kind._arrays)}")
    return kind, header


def build_prediction(
    kind: type[Container], header: dict[str, Any], arrays: dict[str, Any]
) -> Container:
    """Return the prediction of a header and its arrays, by its own constructor."""
    for name, shape in header["shapes"].items():
        if list(arrays[name].shape) != shape:
            raise FileFormatError(
                f"{name} should have shape {shape} and has {list(arrays[name].shape)}"
            )
    make = Categorical._of_any_precision if kind is Categorical else kind
    return make(**arrays, **header["shared"])


def _refuse_bomb(unpacked: int, packed: int) -> None:
    if unpacked > max(_MOST_BYTES, _MOST_RATIO * packed):
        raise FileFormatError(
            f"{packed} bytes that unpack to {unpacked}: refused as a decompression bomb"
        )


def read_member(file: Any, name: str) -> NDArray[Any]:
    """Return one array of an opened NPZ file; nothing is unpickled."""
    try:
        array = file[name]
    except Exception as error:  # numpy evaluates a header as Python, so it can fail in any way
        if "allow_pickle" in str(error):
            raise FileFormatError(
                f"the array {name!r} holds Python objects, and loading a file never runs code; "
                f"store numbers or text instead ({error})"
            ) from error
        words = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(f"the array {name!r} cannot be read: {words}") from error
    if not isinstance(array, np.ndarray):
        raise FileFormatError(
            f"the member {name!r} is not an array of numpy; write the file with numpy.savez"
        )
    return array


def _save_npz(prediction: Container, path: Path) -> None:
    arrays = {name: getattr(prediction, name) for name in prediction._arrays}
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **{_HEADER: json.dumps(header_of(prediction))}, **arrays)


def _load_npz(path: Path) -> Container:
    with zipfile.ZipFile(path) as archive:
        _refuse_bomb(sum(entry.file_size for entry in archive.infolist()), path.stat().st_size)
    with np.load(path, allow_pickle=False) as file:
        if _HEADER not in file.files:
            raise FileFormatError("an .npz file without the header that caveat writes")
        kind, header = read_header(str(read_member(file, _HEADER)[()]))
        missing = set(kind._arrays) - set(file.files)
        if missing:
            raise FileFormatError(f"a {kind.__name__} needs the arrays {sorted(missing)}")
        return build_prediction(
            kind, header, {name: read_member(file, name) for name in kind._arrays}
        )


def _save_parquet(prediction: Container, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    columns = {}
    for name, axis in prediction._arrays.items():
        rows = np.moveaxis(getattr(prediction, name), axis, 0).reshape(len(prediction), -1)
        flat = pa.array(np.ascontiguousarray(rows).ravel())
        columns[name] = pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
    table = pa.table(columns).replace_schema_metadata({_HEADER: json.dumps(header_of(prediction))})
    pa.parquet.write_table(table, path)


def _load_parquet(path: Path) -> Container:
    import pyarrow as pa
    import pyarrow.parquet

    with pa.parquet.ParquetFile(path) as file:
        metadata = file.schema_arrow.metadata or {}
        if _HEADER.encode() not in metadata:
            raise FileFormatError("a Parquet file without the header that caveat writes")
        kind, header = read_header(metadata[_HEADER.encode()].decode())
        names = list(kind._arrays)
        missing = set(names) - set(file.schema_arrow.names)
        if missing:
            raise FileFormatError(f"a {kind.__name__} needs the columns {sorted(missing)}")
        _refuse_bomb(_parquet_bytes(file), path.stat().st_size)
        table = file.read(columns=names)
    arrays = {}
    for name in names:
        column = table.column(name).combine_chunks()
        if not pa.types.is_fixed_size_list(column.type) or column.flatten().null_count:
            raise FileFormatError(f"{name} must be a column of lists of one length without nulls")
        shape, axis = header["shapes"][name], kind._arrays[name]
        moved = [shape[axis], *shape[:axis], *shape[axis + 1 :]]
        values = column.flatten().to_numpy(zero_copy_only=False)
        if len(column) != shape[axis] or values.size != np.prod(moved):
            raise FileFormatError(
                f"{name} should have shape {shape} and has {values.size} entries in "
                f"{len(column)} rows"
            )
        arrays[name] = np.moveaxis(values.reshape(moved), 0, axis)
    return build_prediction(kind, header, arrays)


def _parquet_bytes(file: Any) -> int:
    """What the columns take in memory, as their lists declare it: the encodings hide it."""
    import pyarrow as pa

    return sum(
        file.metadata.num_rows * field.type.list_size * 8
        for field in file.schema_arrow
        if pa.types.is_fixed_size_list(field.type)
    )
