"""Columns by name, by shell pattern (``p_*``) or by pattern with names (``p_{class}_{member}``)."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ..exceptions import FileFormatError, OptionError

_PARTS = re.compile(r"(\{[^{}]*\}|\*|\?|\[[^\]]+\])")
_LEVEL = r"\d*\.?\d+"
_FIRST = re.compile(rf"(?:q(?:uantile)?|p)_?({_LEVEL})_", re.IGNORECASE)
BOUND = re.compile(r"(?P<model>.+)-(?P<end>lo|hi)-(?P<coverage>\d+(?:\.\d+)?)")
"""An end of an interval as the nixtla packages name it: the model, and the coverage in percent."""

MEDIAN = "-median"
"""How the name of a median ends there."""


@dataclass(frozen=True)
class Layout:
    """Columns in a grid, such as classes by members.

    Attributes
    ----------
    columns : dict
        The column of each pair of a label (class, target or level) and so on, by axis.
    labels : dict of str to tuple of str
        The labels along each axis that the pattern names, in the order of the file; members that
        are numbered in the order of their numbers.
    """

    axes: tuple[str, ...]
    columns: dict[tuple[str, ...], str]
    labels: dict[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """All columns of the grid."""
        return tuple(self.columns.values())


def lay_out(
    patterns: str | Sequence[str], names: Sequence[str], axes: tuple[str, ...], argument: str
) -> Layout:
    """Find the columns of the patterns and arrange them along the axes; ``*`` is the first axis."""
    wanted = [patterns] if isinstance(patterns, str) else list(patterns)
    columns: dict[tuple[str, ...], str] = {}
    for pattern in wanted:
        for column, matched in expand(pattern, names, axes, argument):
            if pattern == column and len(wanted) > 1 and not matched:
                matched = {axes[0]: column}
            key = tuple(matched.get(axis, "") for axis in axes)
            if key in columns:
                raise OptionError(
                    f"{argument}=: {columns[key]!r} and {column!r} are both taken for "
                    f"{_words(axes, key) or 'the same'}; name one of them"
                )
            columns[key] = column
    labels = {
        axis: _ordered(axis, dict.fromkeys(key[i] for key in columns))
        for i, axis in enumerate(axes)
    }
    _check_complete(columns, axes, labels, argument)
    return Layout(axes, columns, labels)


def expand(
    pattern: str, names: Sequence[str], axes: tuple[str, ...], argument: str, exact: bool = False
) -> list[tuple[str, dict[str, str]]]:
    """Return the columns that match a pattern, each with the values of its parts."""
    if pattern in names:
        return [(pattern, _level(pattern, argument) if axes[0] == "level" else {})]
    if exact or not _PARTS.search(pattern):
        raise OptionError(
            f"{argument}={pattern!r}: there is no such column; {suggestion(pattern, names)}"
        )
    # Members are numbered as a rule, and then a class may hold the separator itself.
    for member in (r"\d+", ".+?"):
        regex = _regex(pattern, axes, argument, member)
        matches = [(name, match) for name in names if (match := regex.fullmatch(name))]
        if matches:
            return [(name, match.groupdict()) for name, match in matches]
    raise OptionError(f"{argument}={pattern!r} matches no column; the columns are {listed(names)}")


def level_in(name: str) -> str | None:
    """Return the level that a column names: q0.05, price_q05, q05_price, p5, model-lo-90."""
    bound = BOUND.fullmatch(name)
    if bound:
        share = Decimal(bound["coverage"]) / 200
        return str(Decimal("0.5") + (share if bound["end"] == "hi" else -share))
    if name.endswith(MEDIAN):
        return "0.5"
    match = _FIRST.match(name)
    if match:
        return match[1]
    match = re.search(f"{_LEVEL}$", name)
    return match and match[0]


def _level(name: str, argument: str) -> dict[str, str]:
    level = level_in(name)
    if level is None:
        raise OptionError(f"{argument}={name!r} does not end in its level, as q0.05 does")
    return {"level": level}


def levels(labels: Iterable[str]) -> dict[str, float]:
    """Return the levels that names of quantiles stand for.

    0.05 is what it says; 5, 50 and 97.5 are percent; 05, 025 and 975 are digits after the point.
    """
    texts = list(labels)
    if all("." in text for text in texts) and all(float(text) <= 1 for text in texts):
        return {text: float(text) for text in texts}
    digits = not any("." in text for text in texts)
    if digits and any((len(text) > 1 and text[0] == "0") or len(text) > 2 for text in texts):
        unclear = any(len(text) == 1 or text == "100" for text in texts)
        result = {text: float(f"0.{text}") for text in texts}
    else:
        unclear = all(len(text) == 1 for text in texts)
        result = {text: float(Decimal(text) / 100) for text in texts}
    if unclear or len(set(result.values())) < len(texts):
        raise OptionError(
            f"the levels {', '.join(texts)} of quantiles are not clear; name the columns by level, "
            "such as q0.05, or by percent, such as p5 and p95"
        )
    return result


def _regex(pattern: str, axes: tuple[str, ...], argument: str, member: str) -> re.Pattern[str]:
    shapes = {"class": ".+", "target": ".+", "member": member, "level": _LEVEL}
    used: set[str] = set()
    text = ""
    for part in _PARTS.split(pattern):
        axis = axes[0] if part == "*" and axes[0] not in used else part[1:-1]
        if part == "?":
            text += "."
        elif part.startswith("[") and part.endswith("]"):
            text += "[" + part[1:-1].replace("\\", "\\\\").replace("!", "^", 1) + "]"
        elif part == "*" and axes[0] in used:
            text += ".*"
        elif part == "*" or (part.startswith("{") and part.endswith("}")):
            if axis not in axes or axis in used:
                known = ", ".join(f"{{{name}}}" for name in axes)
                raise OptionError(
                    f"{argument}={pattern!r}: {part} is not understood; the parts are {known}, "
                    "each once"
                )
            used.add(axis)
            text += f"(?P<{axis}>{shapes[axis]})"
        else:
            text += re.escape(part)
    try:
        return re.compile(text)
    except re.error:
        raise OptionError(f"{argument}={pattern!r} is not a valid pattern") from None


def _ordered(axis: str, labels: Iterable[str]) -> tuple[str, ...]:
    ordered = list(labels)
    if axis == "member" and all(label.isdecimal() for label in ordered):
        ordered.sort(key=int)
    if axis == "level":
        ordered.sort(key=levels(ordered).__getitem__)
    return tuple(ordered)


def _check_complete(
    columns: dict[tuple[str, ...], str],
    axes: tuple[str, ...],
    labels: dict[str, tuple[str, ...]],
    argument: str,
) -> None:
    keys: list[tuple[str, ...]] = [()]
    for axis in axes:
        keys = [(*key, label) for key in keys for label in labels[axis]]
    missing = [key for key in keys if key not in columns]
    if missing:
        raise FileFormatError(
            f"{argument}=: there is no column for {_words(axes, missing[0])} "
            f"({len(missing)} of {len(keys)} are missing)"
        )


def _words(axes: tuple[str, ...], key: tuple[str, ...]) -> str:
    return ", ".join(f"{axis} {label}" for axis, label in zip(axes, key, strict=True) if label)


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return a suggestion for a misspelled name, or all names."""
    lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), list(lower), n=3)
    if near:
        return f"did you mean {' or '.join(repr(lower[word]) for word in near)}?"
    return f"the columns are {listed(names)}"


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names for a message, the middle left out when there are many."""
    words = [repr(name) for name in names]
    if len(words) > most:
        words = [*words[: most - 2], f"... ({len(words) - most + 1} more)", words[-1]]
    return ", ".join(words) or "none"
