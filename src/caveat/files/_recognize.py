"""Recognize columns by their common names, never by their values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ..exceptions import FileFormatError, OptionError
from ._columns import LISTED
from ._patterns import BOUND, MEDIAN, levels, listed

_TARGET = (
    "y", "target", "label", "truth", "y_true", "true", "actual", "outcome", "observed",
    "ground_truth", "true_label",
)  # fmt: skip
_ID = ("id", "sample_id", "uid", "key")
_WEIGHT = ("weight", "sample_weight", "weights")
_CLUSTER = ("cluster", "cluster_id")
_GROUP = ("group", "groups")
_PREFIXES = {
    "probability": (
        "probabilities", "probability", "probs", "proba", "prob", "p", "pred_prob", "pred_proba",
        "predicted_prob", "predicted_probability", "y_prob", "y_proba", "y_pred_prob",
        "y_pred_proba",
    ),
    "logit": ("logits", "logit"),
    "mean": ("mean", "mu", "prediction", "predicted", "pred", "forecast"),
    "variance": ("variance", "var"),
    "std": ("std", "stddev", "stdev", "sigma", "sd"),
    "lower": ("lower", "lower_bound", "lo"),
    "upper": ("upper", "upper_bound", "hi"),
}  # fmt: skip
_KINDS = {prefix: kind for kind, prefixes in _PREFIXES.items() for prefix in prefixes}
_ALONE = {"mean": ("y_pred", "y_hat", "yhat")}
_WEAK = ("score", "risk", "y_score", "risk_score", "pred_risk", "predicted_risk")
"""Probabilities if nothing else is a prediction."""

_QUANTILES = (
    re.compile(
        r"(?:(?P<target>.+)_)?(?P<word>q(?:uantile)?_?|p)(?P<level>\d*\.?\d+)", re.IGNORECASE
    ),
    re.compile(r"(?P<word>q(?:uantile)?_?|p)(?P<level>\d*\.?\d+)_(?P<target>.+)", re.IGNORECASE),
)
_UNCERTAINTY = "_unc"
"""How chemprop ends the name of the column beside that of a target's prediction."""
_MODEL = re.compile(r"(?P<target>.+?)(?P<unc>_unc)?_model_(?P<member>\d+)")
"""How it names the predictions of each model of an ensemble."""


@dataclass(frozen=True)
class Choice:
    """The columns that are named: names, patterns or None."""

    probability: Any = None
    logit: Any = None
    mean: Any = None
    variance: Any = None
    std: Any = None
    quantile: Any = None
    lower: Any = None
    upper: Any = None
    half_width: Any = None
    target: Any = None
    group: tuple[str, ...] = ()
    id: str | None = None
    weight: str | None = None
    cluster: str | None = None
    notes: tuple[str, ...] = ()
    """What was assumed, for the user to know."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of prediction that are named."""
        mean = any(
            part is not None for part in (self.mean, self.variance, self.std, self.half_width)
        )
        interval = self.lower is not None or self.upper is not None
        by_kind = {
            "probability": self.probability is not None,
            "logit": self.logit is not None,
            "mean": mean,
            "quantile": self.quantile is not None,
            "interval": interval,
        }
        return [kind for kind, named in by_kind.items() if named]


def recognize_attributes(choice: Choice, names: Sequence[str]) -> Choice:
    """Fill in target, id, weight, cluster and group where they were not named."""
    free = _Free(names, choice)
    return replace(
        choice,
        id=choice.id or free.take(_ID),
        weight=choice.weight or free.take(_WEIGHT),
        cluster=choice.cluster or free.take(_CLUSTER),
        group=choice.group or tuple(filter(None, [free.take(_GROUP)])),
        target=_target(free) if choice.target is None else choice.target,
    )


def recognize_prediction(choice: Choice, names: Sequence[str], same_file: bool) -> Choice:
    """Fill in the columns of the prediction where they were not named."""
    free = _Free(names, choice if same_file else Choice())
    if not choice.kinds:
        return replace(choice, **_prediction(free, names))
    if choice.kinds == ["mean"]:
        return _completed(choice, free)
    if choice.kinds == ["interval"]:
        return replace(
            choice,
            lower=choice.lower or free.pattern("lower", "target"),
            upper=choice.upper or free.pattern("upper", "target"),
        )
    return choice


class _Free:
    """The columns that have no meaning yet."""

    def __init__(self, names: Sequence[str], choice: Choice) -> None:
        given: set[str] = set()
        for name in sorted({field.name for field in fields(choice)} - {"notes"}):
            value = getattr(choice, name)
            given.update([value] if isinstance(value, str) else value or ())
        self.names = [name for name in names if name not in given]

    def named(self, wanted: Sequence[str]) -> list[str]:
        return [name for name in self.names if name.lower() in wanted]

    def take(self, wanted: Sequence[str]) -> str | None:
        """Take the only column of one of these names; with several, none."""
        matches = self.named(wanted)
        if len(matches) != 1:
            return None
        self.names.remove(matches[0])
        return matches[0]

    def pattern(self, kind: str, label: str) -> str | None:
        """The name or pattern of the columns of a kind; an error if there are several."""
        patterns = self.named((*_PREFIXES[kind], *_ALONE.get(kind, ())))
        starts: dict[str, list[str]] = {}
        for name in self.names:
            prefix, rest = _split(name)
            if rest and name not in patterns and _KINDS[prefix.lower()] == kind:
                starts.setdefault(prefix, []).append(rest)
        patterns += [_shape(prefix, rests, kind, label) for prefix, rests in starts.items()]
        if len(patterns) > 1:
            raise FileFormatError(
                f"{' and '.join(map(repr, patterns))} could each be the {kind}; name one with "
                f"{kind}={patterns[0]!r}"
            )
        return patterns[0] if patterns else None


def _split(name: str) -> tuple[str, str]:
    """Return the longest common prefix that a name begins with, and the rest of the name."""
    known = [prefix for prefix in _KINDS if f"{name.lower()}_".startswith(f"{prefix}_")]
    length = max(map(len, known), default=len(name))
    return name[:length], name[length + 1 :]


def class_in(name: str) -> str:
    """Return the class that the name of a column may tell: no of p_no, or all of the name."""
    prefix, rest = _split(name)
    return rest if rest and _KINDS[prefix.lower()] in ("probability", "logit") else name


def _shape(prefix: str, rests: list[str], kind: str, label: str) -> str:
    """``p_*``, or ``p_{class}_{member}`` where the names are a grid of labels and numbers."""
    if kind not in ("probability", "logit") and all(rest.isdecimal() for rest in rests):
        return f"{prefix}_{{member}}"
    pairs = {rest.rpartition("_")[::2] for rest in rests}
    heads, tails = {head for head, _ in pairs}, {tail for _, tail in pairs}
    grid = len(pairs) == len(rests) == len(heads) * len(tails)
    least = 2 if label == "class" else 1
    numbered = len(tails) > 1 and all(tail.isdecimal() for tail in tails)
    if grid and numbered and len(heads) >= least and all(heads):
        return f"{prefix}_{{{label}}}_{{member}}"
    return f"{prefix}_*"


def _target(free: _Free) -> str | None:
    matches = free.named(_TARGET)
    if len(matches) > 1:
        raise FileFormatError(
            f"{' and '.join(map(repr, matches))} could each be the target; name one with "
            f"target={matches[0]!r}"
        )
    return free.take(_TARGET)


def _prediction(free: _Free, names: Sequence[str]) -> dict[str, Any]:
    """Return the only reading of the columns; names that often mean something else come last."""
    usual = _chemprop_classes(free) or _chemprop_members(free) or _chemprop(free)
    by_level, by_number = _quantiles(free)
    usual += by_number
    weak = [{"probability": name} for name in free.named(_WEAK)]
    clear = [*_nixtla(free), *by_level]
    for kind in ("probability", "logit"):
        pattern = free.pattern(kind, "class")
        if pattern:
            clear.append({kind: pattern})
    stored = free.named(("quantiles",)) if free.named(("levels",)) else []
    if stored:
        clear.append({"quantile": stored[0]})
    lower, upper = free.pattern("lower", "target"), free.pattern("upper", "target")
    if lower and upper:
        clear.append({"lower": lower, "upper": upper})
    clear += _gaussian(free, alone=not (clear or usual or weak))
    readings = clear or usual or weak
    if len(readings) == 1:
        return readings[0]
    if not readings:
        patterns = list(_quantile_names(free))
        raise FileFormatError(
            f"no prediction is recognized among the columns {listed(names)}; name its columns, for "
            "example with probability='p_*', or with mean='mean' and std='std'"
            + (f"; or quantiles with quantile={patterns[0]!r}" if patterns else "")
        )
    raise FileFormatError(
        f"the columns {listed(names)} hold more than one prediction; name one: "
        + ", or ".join(map(_arguments, readings))
    )


def _quantile_names(free: _Free) -> dict[str, dict[str, list[str]]]:
    """Return the names that could be of quantiles by pattern, with the levels of each target."""
    result: dict[str, dict[str, list[str]]] = {}
    for name in free.names:
        for form, regex in enumerate(_QUANTILES):
            match = regex.fullmatch(name)
            if match is None:
                continue
            parts = [match["word"] + "{level}", *(["{target}"] if match["target"] else [])]
            pattern = "_".join(parts if form else parts[::-1])
            targets = result.setdefault(pattern, {})
            targets.setdefault(match["target"] or "", []).append(match["level"])
            break
    return result


def _quantiles(free: _Free) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return quantiles whose names say a level, as q0.05, and those that a number could mean."""
    by_level: list[dict[str, Any]] = []
    by_number: list[dict[str, Any]] = []
    for pattern, targets in _quantile_names(free).items():
        texts = [text for target in targets.values() for text in target]
        if "q" in pattern.lower() and all("." in text and float(text) <= 1 for text in texts):
            by_level.append({"quantile": pattern})
        elif _are_levels(targets):
            by_number.append({"quantile": pattern})
    return by_level, by_number


def _are_levels(targets: dict[str, list[str]]) -> bool:
    """Whether numbers in names are levels, as 5 and 95, or 10 and 50, in percent.

    They may as well count something: questions, classes or members.
    """
    texts = next(iter(targets.values()))
    try:
        values = [round(level, 9) for level in levels(texts).values()]
    except OptionError:
        return False
    alike = all(sorted(others) == sorted(texts) for others in targets.values())
    symmetric = all(round(1 - value, 9) in values for value in values)
    return alike and len(values) > 1 and (symmetric or 0.5 in values)


def _nixtla(free: _Free) -> list[dict[str, Any]]:
    """``model-lo-90`` and ``model-hi-90``: the ends of an interval; with more, quantiles."""
    models: dict[str, dict[str, dict[str, str]]] = {}
    for name in free.names:
        if match := BOUND.fullmatch(name):
            ends = models.setdefault(match["model"], {}).setdefault(match["coverage"], {})
            ends[match["end"]] = name
    readings: list[dict[str, Any]] = []
    for model, coverages in models.items():
        pairs = [ends for ends in coverages.values() if len(ends) == 2]
        medians = [name for name in free.names if name == model + MEDIAN]
        if len(pairs) == 1 and not medians:
            readings.append({"lower": pairs[0]["lo"], "upper": pairs[0]["hi"]})
        elif pairs:
            names = [pair[end] for pair in pairs for end in ("lo", "hi")]
            readings.append({"quantile": [*names, *medians]})
    return readings


def _chemprop_classes(free: _Free) -> list[dict[str, Any]]:
    """``kind`` beside ``kind_prob``: the predicted class, and the probabilities of all."""
    names = [name for name in free.names if name + LISTED in free.names]
    free.names = [
        name
        for name in free.names
        if name not in names and name.removesuffix(_UNCERTAINTY).removesuffix(LISTED) not in names
    ]
    return [{"probability": name + LISTED} for name in names]


def _chemprop_members(free: _Free) -> list[dict[str, Any]]:
    """``logP_model_0``, ``logP_model_1``, ...: the models of an ensemble, with or without _unc."""
    matches = {name: match for name in free.names if (match := _MODEL.fullmatch(name))}
    spread = {match["target"] for match in matches.values() if match["unc"]}
    targets = list(dict.fromkeys(match["target"] for match in matches.values()))
    if len({match["member"] for match in matches.values()}) < 2:
        return []
    free.names = [name for name in free.names if name not in matches]
    if not spread:
        note = (
            f"{listed(list(matches))}: taken for the means of an ensemble of chemprop; if they are "
            f"probabilities, name probability={targets[0] + '_model_{member}'!r}"
        )
        return [{"mean": "{target}_model_{member}", "notes": (note,)}]
    note = (
        f"{listed([name for name in matches if matches[name]['unc']])}: taken for variances, as "
        "most methods of chemprop write them"
    )
    return [
        {
            "mean": target + "_model_{member}",
            "variance": target + _UNCERTAINTY + "_model_{member}",
            "notes": (note,),
        }
        for target in targets
    ]


def _chemprop(free: _Free) -> list[dict[str, Any]]:
    """``logP`` and ``logP_unc``: a mean and its variance."""
    others = (*_PREFIXES["probability"], *_PREFIXES["logit"], *_WEAK)
    means = [
        name
        for name in free.names
        if name + _UNCERTAINTY in free.names and name.lower() not in others
    ]
    if not means:
        return []
    free.names = [name for name in free.names if name.removesuffix(_UNCERTAINTY) not in means]
    spread = means[0] + _UNCERTAINTY if len(means) == 1 else "{target}" + _UNCERTAINTY
    mean: Any = means[0] if len(means) == 1 else means
    note = (
        f"{listed([name + _UNCERTAINTY for name in means])}: taken for a variance, as most methods "
        f"of chemprop write it; if it is a standard deviation, name {_arguments({'mean': mean})} "
        f"and std={spread!r}; if it is half the width of an interval, as after quantile regression "
        f"and conformal calibration, half_width={spread!r} and coverage="
    )
    return [{"mean": mean, "variance": spread, "notes": (note,)}]


def _arguments(reading: dict[str, Any]) -> str:
    return " and ".join(
        f"{kind}={pattern!r}"
        for kind, given in reading.items()
        if kind != "notes"
        for pattern in ([given] if isinstance(given, str) else given)
    )


def _gaussian(free: _Free, alone: bool) -> list[dict[str, Any]]:
    parts = {kind: free.pattern(kind, "target") for kind in ("mean", "variance", "std")}
    named = {kind: pattern for kind, pattern in parts.items() if pattern}
    if "mean" not in named or (len(named) == 1 and not alone):
        return []
    if "{member}" not in str(named["mean"]) and len(named) == 1:
        raise FileFormatError(
            f"{named['mean']!r} gives means without an uncertainty; name the columns of it with "
            "variance=, std=, quantile=, or lower= and upper="
        )
    if len(named) == 3:
        raise FileFormatError(
            f"{named['variance']!r} and {named['std']!r} both tell the spread; name one: "
            f"{_arguments({'variance': named['variance']})}, or {_arguments({'std': named['std']})}"
        )
    return [named]


def _completed(choice: Choice, free: _Free) -> Choice:
    """The mean of a named spread, or the spread of a named mean."""
    if choice.mean is None:
        return replace(choice, mean=free.pattern("mean", "target"))
    if choice.variance is None and choice.std is None and choice.half_width is None:
        return replace(
            choice, variance=free.pattern("variance", "target"), std=free.pattern("std", "target")
        )
    return choice
