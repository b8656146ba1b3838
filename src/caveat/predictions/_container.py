"""The base class of predictions: frozen arrays with a sample axis."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .._docstrings import describe_parameters, entries_of
from .._validation import LabelArray, as_labels, as_rows, shorten
from ..exceptions import ShapeError

_NOUNS = {"classes": "class", "targets": "target"}
_LABELS = entries_of("""\
classes : sequence of str, int, float or bool
    The label of each class; by default the frame's columns, or 0, 1, 2, ...
targets : sequence of str, int, float or bool
    The name of each target; by default the frame's columns, or 0, 1, 2, ...
""")


class Container:
    """Frozen arrays that share a sample axis, and a few values that hold for all samples.

    A subclass names its arrays in ``_arrays`` (name to sample axis) and its shared values in
    ``_shared``; its ``__init__`` validates and ends with ``self._store(...)``. Arrays that are
    already canonical are stored without a copy, as read-only views.
    """

    _arrays: ClassVar[dict[str, int]]
    _shared: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            describe_parameters(_LABELS)(cls)

    def _store(self, **fields: Any) -> None:
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def _trusted(cls, fields: Mapping[str, Any]) -> Self:
        """Build a prediction from fields that are already checked."""
        new = object.__new__(cls)
        new._store(**fields)
        return new

    @classmethod
    def _deferred(cls, shared: Mapping[str, Any], make: Callable[[], "Container"]) -> Self:
        """Build a prediction whose arrays are made, without fail, when one is first asked for."""
        new = object.__new__(cls)
        new._store(**shared, _make=make)
        return new

    if not TYPE_CHECKING:  # pragma: no branch - else every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            """Return an array that was not there yet, and make all of them."""
            make = self.__dict__.get("_make")
            if make is not None and name in self._arrays:
                self._store(**make()._fields(), _make=None)
            if name not in self.__dict__:  # another thread may have made it by now
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return self.__dict__[name]

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*self._arrays, *self._shared)}

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; make a new one instead")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; make a new one instead")

    def __getstate__(self) -> dict[str, Any]:
        return self._fields()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._store(**state)

    def __len__(self) -> int:
        name, axis = next(iter(self._arrays.items()))
        return getattr(self, name).shape[axis]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self._fields(), other._fields()
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        members = [count(self.members, "member")] if hasattr(self, "members") else []
        sizes = " x ".join([*members, count(len(self), "sample"), *self._words()])
        infinite = int(self._infinite().sum())
        more = f", coverage {self.coverage:g}" if hasattr(self, "coverage") else ""
        return f"{type(self).__name__}: {sizes}{more}" + (
            f", {infinite} infinite" if infinite else ""
        )

    def _words(self) -> list[str]:
        """Return the axes after that of the samples."""
        known = {name: getattr(self, name) for name in _NOUNS if name in self._shared}
        return [f"{count(len(x), _NOUNS[name])} ({shorten(x)})" for name, x in known.items()]

    def _infinite(self) -> Any:
        """Return which samples have infinite regions."""
        return np.zeros(1)

    def take(self, rows: Any) -> Self:
        """Return the prediction for some of the samples.

        Parameters
        ----------
        rows : slice, array of int or array of bool
            Which samples, in which order; a boolean array has one entry for each sample.
        """
        rows = as_rows(rows, len(self))
        fields = self._fields()
        for name, axis in self._arrays.items():
            fields[name] = fields[name][(slice(None),) * axis + (rows,)]
            if fields[name].size == 0:
                raise ShapeError("rows selects no sample; a prediction has at least one")
        return self._trusted(fields)

    def __getitem__(self, rows: Any) -> Self:
        """Return the prediction for some of the samples, as in ``p[:10]`` and ``p[mask]``."""
        if isinstance(rows, int | np.integer) and not isinstance(rows, bool | np.bool_):
            return self.take(np.array([rows]))
        return self.take(rows)

    def __iter__(self) -> Any:
        kind = type(self).__name__
        raise TypeError(f"a {kind} cannot be iterated over; prediction[i] is that of sample i")

    def save(self, path: str | PathLike[str]) -> None:
        """Write one file, ``.npz`` or ``.parquet``; :func:`caveat.load` reads it back."""
        from .files import save

        save(self, path)


class WithMembers(Container):
    """A prediction with a set of arrays for each member."""

    @property
    def members(self) -> int:
        """How many sets there are for each sample."""
        return getattr(self, next(iter(self._arrays))).shape[0]


class Decomposable(WithMembers):
    """A prediction whose uncertainty can be split into an aleatoric and an epistemic part."""

    def decompose(self, method: str = "auto", **options: Any) -> Any:
        """Split the uncertainty; see :func:`caveat.decompose`.

        Parameters
        ----------
        method : str, default="auto"
            A name in ``caveat.uncertainty.DECOMPOSITIONS``.
        **options
            Options of the method.
        """
        from ..uncertainty import decompose

        return decompose(self, method, **options)


def concat(predictions: Sequence[Container]) -> Any:
    """Join predictions of one kind along the samples.

    Parameters
    ----------
    predictions : sequence of predictions
        All with the same members, classes or targets, and nominal coverage.

    Examples
    --------
    >>> import caveat
    >>> first = caveat.Categorical([[0.9, 0.1]])
    >>> caveat.concat([first, first])
    Categorical: 1 member x 2 samples x 2 classes (0, 1)
    """
    try:
        predictions = list(predictions)
    except TypeError:
        kind = type(predictions).__name__
        raise ShapeError(f"concat takes a list of predictions; got a {kind}") from None
    if not predictions:
        raise ShapeError("concat needs at least one prediction; got none")
    first = predictions[0]
    if not isinstance(first, Container):
        raise ShapeError(f"concat joins predictions; number 0 is a {type(first).__name__}")
    for i, other in enumerate(predictions):
        if type(other) is not type(first):
            raise ShapeError(
                f"concat joins predictions of one kind; number 0 is a {type(first).__name__}, "
                f"number {i} a {type(other).__name__}"
            )
        for name in first._shared:
            if not np.array_equal(getattr(first, name), getattr(other, name)):
                raise ShapeError(f"concat: {name} of number {i} differs from that of number 0")
        for name, axis in first._arrays.items():
            shapes = [np.delete(getattr(p, name).shape, axis).tolist() for p in (first, other)]
            if shapes[0] != shapes[1]:
                raise ShapeError(
                    f"concat: {name} of number {i} has shape {getattr(other, name).shape}, that of "
                    f"number 0 {getattr(first, name).shape}; only the samples may differ"
                )
    joined = {
        name: np.concatenate([getattr(p, name) for p in predictions], axis=axis)
        for name, axis in first._arrays.items()
    }
    return first._trusted({**first._fields(), **joined})


def named(given: Any, columns: Any, name: str, number: int) -> LabelArray:
    """Return the checked classes or targets: those given, or the columns of a frame."""
    return as_labels(columns if given is None else given, name, number, _NOUNS[name])


def count(number: int, noun: str) -> str:
    """``1 member``, ``2 members``."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number} {noun if number == 1 else plural}"
