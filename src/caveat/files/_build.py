"""Build a prediction of the right type from columns, and note what was done."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import shorten
from ..exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from ..predictions import Categorical, Gaussian, Interval, Quantiles
from ..predictions.categorical import softmax
from ._columns import Labels, numbers, whole
from ._patterns import BOUND, Layout, lay_out, level_in, listed
from ._patterns import levels as levels_of
from ._recognize import Choice, class_in

_AXES = {
    "probability": ("class", "member"),
    "logit": ("class", "member"),
    "quantile": ("level", "target", "member"),
    **dict.fromkeys(
        ("mean", "variance", "std", "half_width", "lower", "upper"), ("target", "member")
    ),
}
_NORMALIZE = "normalize=True divides each row by its sum, as rounded numbers need"
_MANY = 0.5
"""Percentages are above 1 in this share of rows at least."""

_ROUNDING = 2.0
"""How far sums of rounded percentages may be from 100."""
_COVERAGE = "an interval needs its nominal coverage: add coverage=, for example coverage=0.9"
_SPREAD = "variances and standard deviations are never negative, and all numbers are finite"
_CROSSING = "quantiles must be finite and not cross; sort=True sorts those of each sample"


@contextmanager
def advice(words: str | Callable[[], str]) -> Iterator[None]:
    """Replace the advice of an error on arrays by advice for a file."""
    try:
        yield
    except InvalidValueError as error:
        text = words if isinstance(words, str) else words()
        raise InvalidValueError(f"{str(error).partition(';')[0]}; {text}") from error


@dataclass(frozen=True)
class PredictionColumns:
    """The columns of each part of a prediction, arranged along its axes."""

    kind: str
    layouts: dict[str, Layout]
    levels: str | None = None
    """The array of levels, where quantiles come in one array."""

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        names = [name for layout in self.layouts.values() for name in layout.names]
        return [*names, *([self.levels] if self.levels else [])]

    @property
    def is_classification(self) -> bool:
        """Whether the target holds labels."""
        return self.kind in ("probability", "logit")

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the targets, if the columns tell them."""
        return next(iter(self.layouts.values())).labels.get("target", ("",))


@dataclass
class BuildOptions:
    """Options of a prediction that is built from columns, and notes on what was done."""

    classes: Sequence[Any] | None = None
    positive: Any = None
    coverage: float | None = None
    normalize: bool = False
    sort: bool = False
    percent: bool = False
    truth: Labels | None = None
    target: str = ""
    columns: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def numbers(self, name: str) -> NDArray[Any]:
        """Return a column as numbers."""
        return numbers(self.columns[name], name)


def find_columns(choice: Choice, names: Sequence[str]) -> PredictionColumns:
    """Find the columns of the prediction that is named."""
    kinds = choice.kinds
    if len(kinds) != 1:
        raise OptionError(f"name one kind of prediction; got {' and '.join(kinds) or 'none'}")
    kind = kinds[0]
    gaussian = ("mean", "variance", "std", "half_width")
    parts = {"mean": gaussian, "interval": ("lower", "upper")}.get(kind, (kind,))
    wanted = {part: getattr(choice, part) for part in parts if getattr(choice, part) is not None}
    if kind == "mean" and "mean" not in wanted:
        raise OptionError(f"{next(iter(wanted))}= needs the columns of the means: add mean=")
    if kind == "mean" and len(wanted) > 2:
        names = " and ".join(f"{part}=" for part in list(wanted)[1:])
        raise OptionError(f"{names} are different ways to say how wide; name one of them")
    if kind == "interval" and len(wanted) < 2:
        raise OptionError("an interval needs both ends: lower= and upper=")
    if kind == "quantile" and wanted[kind] in names and level_in(str(wanted[kind])) is None:
        if "levels" not in names:
            raise OptionError(
                f"quantile={wanted[kind]!r} does not end in its level, as q0.05 does, and there is "
                "no array of levels"
            )
        layout = Layout(("target",), {("",): wanted[kind]}, {"target": ("",)})
        return PredictionColumns(kind, {kind: layout}, levels="levels")
    layouts = {part: lay_out(pattern, names, _AXES[part], part) for part, pattern in wanted.items()}
    first, *others = layouts.values()
    for part, other in zip(list(layouts)[1:], others, strict=True):
        if other.labels != first.labels:
            raise OptionError(
                f"{part}= has the columns {listed(other.names)}, which do not go with "
                f"{listed(first.names)}: the same targets and members are needed"
            )
    return PredictionColumns(kind, layouts)


def build(made: PredictionColumns, columns: dict[str, Any], given: BuildOptions) -> tuple[Any, Any]:
    """Return the prediction, and the labels of the truth where there are classes."""
    given.columns = columns
    refuse_percent(given, made.kind == "probability")
    if made.is_classification:
        return _classes(made, given)
    makers = {"mean": _gaussian, "quantile": _quantiles, "interval": _interval}
    return makers[made.kind](made, given), None


def refuse_percent(given: BuildOptions, probabilities: bool) -> None:
    """Raise if an option for probabilities comes with something else."""
    if given.percent and not probabilities:
        raise OptionError(
            "percent=True goes with probability=, columns of probabilities in percent"
        )


def _stack(layout: Layout, given: BuildOptions) -> NDArray[Any]:
    """Return (members, rows, labels) from columns, or the array that one name holds."""
    names = layout.names
    if len(names) == 1:
        only = given.numbers(names[0])
        return only if only.ndim > 1 else only[None, :, None]
    first = given.numbers(names[0])
    if first.ndim > 1:
        raise ShapeError(f"{names[0]!r} is an array already and cannot be one of several columns")
    shape = [len(layout.labels[axis]) for axis in layout.axes]
    # Rows next to last: (rows, labels) of one member lie together.
    stacked = np.empty((shape[-1], len(first), *shape[-2::-1]), dtype=first.dtype)
    for index in np.ndindex(*shape):
        key = tuple(layout.labels[a][i] for a, i in zip(layout.axes, index, strict=True))
        column = given.numbers(layout.columns[key])
        if column.dtype.itemsize > stacked.dtype.itemsize:
            stacked = stacked.astype(column.dtype)
        stacked[(index[-1], slice(None), *index[-2::-1])] = column
    return stacked


def _classes(made: PredictionColumns, given: BuildOptions) -> tuple[Categorical, Any]:
    layout = made.layouts[made.kind]
    array = _stack(layout, given)
    words = "logits" if made.kind == "logit" else "probabilities"
    if array.ndim == 3 and array.shape[-1] == 1:
        return _binary(array[..., 0], made, given)
    labels = [label for label in layout.labels["class"] if label]
    classes = _class_labels(labels, array.shape[-1], given)
    given.notes.append(
        f"{listed(layout.names)}: {words} of the classes {shorten(np.array(classes))}"
        + _members(array)
        + ", in percent" * given.percent
    )
    if made.kind == "logit":
        prediction = Categorical.from_logits(array, classes=classes)
    else:
        with advice(lambda: _probability_advice(array, given.percent)):
            shares = array / 100 if given.percent else array
            prediction = Categorical(shares, classes=classes, normalize=given.normalize)
    return prediction, match(given, prediction.classes)


def _members(array: NDArray[Any]) -> str:
    return f", {len(array)} members" if array.ndim == 3 and len(array) > 1 else ""


def _class_labels(labels: Sequence[str], count: int, given: BuildOptions) -> list[Any]:
    """The classes in the order of the columns: from their names, or from the target."""
    if given.classes is not None and not labels:
        return list(given.classes)
    if labels:
        numbers = [whole(label) for label in labels]
        exact = all(
            isinstance(n, int) and str(n) == s for n, s in zip(numbers, labels, strict=True)
        )
        return numbers if exact else list(labels)
    values = () if given.truth is None else given.truth.values
    if all(isinstance(v, int) and 0 <= v < count for v in values):
        return list(range(count))
    if len(values) != count:
        raise LabelError(
            f"{given.target!r} has {len(values)} different labels, but there are {count} classes "
            "without names; store their labels in the file, as classes"
        )
    given.notes.append(f"the classes are the labels of {given.target!r}, in sorted order")
    return list(values)


def _binary(
    array: NDArray[Any], made: PredictionColumns, given: BuildOptions
) -> tuple[Categorical, Any]:
    """One column for two classes: the probability, or the logit, of the positive one."""
    layout = made.layouts[made.kind]
    named = next(iter(layout.labels["class"]))
    if not named and len(layout.names) == 1:  # not p_0 and p_1 of members
        named = class_in(layout.names[0])
    classes = _two_classes(named, given)
    if made.kind == "logit":
        array = softmax(np.stack([np.zeros_like(array, dtype=float), array], axis=-1))[..., 1]
    given.notes.append(
        f"{listed(layout.names)}: {made.kind} of {classes[1]!r}, the other class is {classes[0]!r}"
        + _members(array[..., None])
        + ", in percent" * given.percent
    )
    with advice(lambda: _probability_advice(array[..., None], given.percent)):
        shares = array / 100 if given.percent else array
        prediction = Categorical.from_binary(shares, classes=classes)
    return prediction, match(given, prediction.classes)


def _probability_advice(array: NDArray[Any], percent: bool) -> str:
    """Return advice on numbers that are not probabilities; one column stands for two classes."""
    several = array.shape[-1] > 1
    low, high = np.min(array, initial=0.0), np.max(array, initial=0.0)
    percentages = f"values up to {high:g} look like percentages: percent=True divides them by 100"
    if low < 0:
        noise = low > -1 and high > 10  # percentages of a model that is not bounded
        return "probabilities are never negative" + "; name logits with logit=" * (not noise)
    if not several:
        top = 100 if percent else 1
        if 1 < high <= 100 and not percent and np.mean(array > 1) >= _MANY:
            return percentages
        beyond = (array[..., 0] > top).reshape(-1, array.shape[-2]).any(axis=0)
        row = int(np.argmax(beyond)) + 1
        return f"probabilities lie between 0 and {top}, but not that of data row {row}"
    with np.errstate(over="ignore"):
        sums = array.sum(axis=-1)
    if high > 1 and np.abs(sums - 100).max() <= _ROUNDING and not percent:
        return percentages
    if percent and np.abs(sums - 1).max() <= _ROUNDING / 100:
        return "the rows sum to 1 as they are: leave out percent=True"
    if high > (100 if percent else 1):
        return "normalize=True divides each row by its sum, as counts and votes need"
    return _NORMALIZE


def _two_classes(named: str, given: BuildOptions) -> tuple[Any, Any]:
    if given.classes is not None:
        values = list(given.classes)
    elif given.truth is not None:
        values = list(given.truth.values)
    else:
        return (0, 1) if given.positive is None else (f"not {given.positive}", given.positive)
    if len(values) > 2 or (given.classes is not None and len(values) < 2):
        what = f"{given.target!r} has" if given.classes is None else "there are"
        raise LabelError(
            f"{what} {len(values)} labels ({shorten(np.array(values))}), but one "
            "column of probabilities tells of two; name those of all classes: probability='p_*'"
        )
    if given.positive is not None:
        values = _with_positive(values, given)
    elif len(values) == 1 and set(values) <= {0, 1}:
        values = [False, True] if isinstance(values[0], bool) else [0, 1]
    elif len(values) == 1:
        raise LabelError(
            f"{given.target!r} is {values[0]!r} in every row; name the class that the probability "
            "is of with positive="
        )
    else:
        place = _find(named, values)
        if place is None:  # P_Yes tells of "yes"
            place = _find(named.lower(), [str(value).lower() for value in values])
        if place is None and given.classes is None:
            given.notes.append(
                f"{values[1]!r} is taken for the positive class: the second label in sorted order "
                "(positive= changes it)"
            )
        elif place is not None:
            values = [values[1 - place], values[place]]
    return values[0], values[1]


def _with_positive(values: list[Any], given: BuildOptions) -> list[Any]:
    place = _find(given.positive, values)
    if place is not None:
        return [values[1 - place] if len(values) == 2 else _other(values[0]), values[place]]
    if len(values) == 2:
        whose = "classes" if given.classes is not None else f"labels of {given.target!r}"
        raise LabelError(
            f"positive={given.positive!r}, but the {whose} are {shorten(np.array(values))}"
        )
    positive = whole(given.positive) if isinstance(values[0], int) else given.positive
    if type(positive) is not type(values[0]):
        return [str(values[0]), str(positive)]
    return [values[0], positive]


def _other(value: Any) -> Any:
    return {0: 1, 1: 0}.get(value, value + 1) if isinstance(value, int) else f"not {value}"


def _find(label: Any, values: Sequence[Any]) -> int | None:
    """The place of a label among the values, by its text, or by the number it stands for."""
    for same in (lambda v: str(v) == str(label), lambda v: str(whole(v)) == str(whole(label))):
        places = [i for i, value in enumerate(values) if same(value)]
        if len(places) == 1:
            return places[0]
    return None


def match(given: BuildOptions, classes: NDArray[Any]) -> Any:
    """The true labels, as the classes spell them."""
    if given.truth is None:
        return None
    known = classes.tolist()
    places = np.zeros(len(given.truth.values), dtype=np.intp)
    for i, value in enumerate(given.truth.values):
        place = _find(value, known)
        if place is None:
            row = int(np.argmax(given.truth.codes == i)) + 1
            raise LabelError(
                f"{given.target!r} is {value!r} in data row {row}, but the classes are "
                f"{shorten(classes)}"
            )
        places[i] = place
    return classes[places][given.truth.codes]


def _named(made: PredictionColumns) -> Any:
    names = [name for name in made.targets if name]
    return names or None


def _gaussian(made: PredictionColumns, given: BuildOptions) -> Gaussian | Interval:
    arrays = {part: _stack(layout, given) for part, layout in made.layouts.items()}
    for part, layout in made.layouts.items():
        given.notes.append(f"{listed(layout.names)}: {part}" + _members(arrays[part]))
    mean = arrays["mean"]
    if "half_width" in arrays:
        half = np.abs(arrays["half_width"])  # bounds that cross give a negative one
        if given.coverage is None:
            raise OptionError(_COVERAGE)
        if mean.ndim == 3 and len(mean) > 1:
            raise OptionError("half_width=: intervals of several members cannot be combined")
        ends = (end[0] if end.ndim == 3 else end for end in (mean - half, mean + half))
        return Interval(*ends, coverage=given.coverage, targets=_named(made))
    if "std" in arrays:
        with advice(_SPREAD):
            return Gaussian.from_std(mean, arrays["std"], targets=_named(made))
    if "variance" not in arrays and (mean.ndim < 3 or len(mean) == 1):
        raise OptionError(
            "a mean needs its uncertainty: name the columns with variance= or std=, or the means "
            "of several members with mean='mean_{member}'"
        )
    if "variance" not in arrays:
        given.notes.append("no variance: each member gives a point")
    with advice(_SPREAD):
        return Gaussian(mean, arrays.get("variance", 0.0), targets=_named(made))


def _quantiles(made: PredictionColumns, given: BuildOptions) -> Quantiles:
    layout = made.layouts["quantile"]
    if made.levels is not None:
        levels, values = given.numbers(made.levels), given.numbers(layout.names[0])
        given.notes.append(f"{layout.names[0]!r}: quantiles at {made.levels!r}")
        with advice(_CROSSING):
            return Quantiles(levels, values, sort=given.sort)
    known = levels_of(layout.labels["level"])
    levels = np.array([known[label] for label in layout.labels["level"]])
    values = _stack(layout, given)  # members, rows, targets, levels
    if values.ndim == 3:
        values = values[:, :, None, :]
    given.notes.append(
        f"{listed(layout.names)}: quantiles at {', '.join(f'{level:g}' for level in levels)}"
        + _members(values[..., 0])
    )
    with advice(_CROSSING):
        return Quantiles(levels, values, targets=_named(made), sort=given.sort)


def _interval(made: PredictionColumns, given: BuildOptions) -> Interval:
    coverage = _named_coverage(made) if given.coverage is None else given.coverage
    if coverage is None:
        raise OptionError(_COVERAGE)
    ends = []
    for part, layout in made.layouts.items():
        array = _stack(layout, given)
        if array.ndim == 3 and len(array) > 1:
            raise OptionError(f"{part}=: intervals of several members cannot be combined")
        ends.append(array[0] if array.ndim == 3 else array)
        given.notes.append(f"{listed(layout.names)}: {part} end at coverage {coverage:g}")
    return Interval(*ends, coverage=coverage, targets=_named(made))


def _named_coverage(made: PredictionColumns) -> float | None:
    """Return the coverage that all columns name, as in model-lo-90."""
    ends = [BOUND.fullmatch(name) for name in made.names]
    named = {float(Decimal(end["coverage"]) / 100) if end else None for end in ends}
    return named.pop() if len(named) == 1 else None
