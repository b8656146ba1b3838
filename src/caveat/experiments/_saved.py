"""What results of experiments share: text, tables, charts, JSON and back."""

import json
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from ..exceptions import FileFormatError
from ..results.tables import Plottable, Tabulated, plain

_VERSION = 1

Part = TypeVar("Part")


class Saved(Tabulated, Plottable):
    """A dataclass that can be shown, drawn, written as JSON and read again."""

    format_name: ClassVar[str]
    """What tells the files of one kind of result from others."""

    def to_json(self) -> str:
        """Return all of it as JSON, from which `from_json` makes the same again."""
        content = {"format": self.format_name, "version": _VERSION, **_plain(self)}
        return json.dumps(content, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the result that `to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        The result
        """
        wrong = f"text is not what {cls.__name__}.to_json writes"
        try:
            content = json.loads(text)
        except (TypeError, ValueError):
            content = None
        if not isinstance(content, dict) or content.get("format") != cls.format_name:
            raise FileFormatError(f"{wrong}; it has no format {cls.format_name!r}")
        if content.get("version") != _VERSION:
            if "version" not in content:
                raise FileFormatError(f"{wrong}; it has no version")
            raise FileFormatError("text was written by a newer version of caveat; update it")
        names = [part.name for part in fields(cls)]  # type: ignore[arg-type]
        missing = [name for name in names if name not in content]
        if missing:
            raise FileFormatError(f"{wrong}; it has no {', '.join(missing)}")
        try:
            return cls(**cls._restored({name: content[name] for name in names}))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{wrong}; it cannot be read: {error!r}") from error

    @classmethod
    def _restored(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Return the fields as they were: JSON has lists for tuples, and no parts."""
        return {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
        }


def parts_of(kind: type[Part], given: list[dict[str, Any]]) -> tuple[Part, ...]:
    """Return dataclasses from their fields, with the numbers that JSON has no words for."""
    floats = [part.name for part in fields(kind) if part.type is float]  # type: ignore[arg-type]
    return tuple(kind(**{**one, **{name: _number(one[name]) for name in floats}}) for one in given)


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: NaN as null, infinities as text."""
    if is_dataclass(value):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return plain(value)
