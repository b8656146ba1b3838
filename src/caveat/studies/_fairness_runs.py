"""The runs of the fairness study: data, trainings, and what is measured of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray
from ..datasets import Dataset, load_adult, load_compas, make_sd1, make_sd2, make_sd3
from ..fairness import audit, consistency
from ..results.judgments import Pairing, Part
from ..uncertainty import decompose
from ._fairness_paper import EXPERIMENTS, ODDS, OURS, POINT, RATES, UNCERTAIN, Attribute

LARGE = 10_000
"""New samples of each group and class, for what is expected of a network."""

QUANTITIES = ("prediction", "aleatoric_uncertainty", "epistemic_uncertainty")
"""Whose consistency figures 4 and 5 show."""

_MAKERS: dict[str, Callable[..., Dataset]] = {"sd1": make_sd1, "sd2": make_sd2, "sd3": make_sd3}


class Key(NamedTuple):
    """What a number is of."""

    part: str
    """"test", "expectation", "consistency", "scaled consistency" or "capacity"."""
    attribute: str
    group: str
    reference: str
    measure: str
    outcome: str = ""
    hidden: int = 0


Values = dict[Key, FloatArray]
"""One number for each run; NaN where it is undefined."""


@dataclass(frozen=True, eq=False)
class Run:
    """One training: the samples to learn from, and those to test with."""

    X: FloatArray
    y: NDArray[Any]
    rows: NDArray[np.intp] | None
    seed: int
    test: Dataset
    large: Dataset | None = None


def make_runs(name: str, seeds: Sequence[int]) -> list[Run]:
    """Return the runs on one of the data sets; each draws its own data or split where it can."""
    if name in _MAKERS:
        return [_drawn(_MAKERS[name], seed) for seed in seeds]
    if name == "adult":
        data = load_adult()
        _, test = data.split()
        learned = np.flatnonzero(~data.test)
        return [Run(data.X, data.y, learned, seed, test) for seed in seeds]
    data = load_compas()
    runs = []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(data))
        rows, held = np.sort(order[len(data) // 2 :]), np.sort(order[: len(data) // 2])
        runs.append(Run(data.X, data.y, rows, seed, data.take(held)))
    return runs


def _drawn(make: Callable[..., Dataset], seed: int) -> Run:
    own, new = np.random.SeedSequence(seed).spawn(2)
    train, test = make(own).split()
    return Run(train.X, train.y, None, seed, test, make(new, samples=LARGE))


def counts(name: str) -> dict[Key, int]:
    """Return the sizes of groups and classes that tables 2 to 5 print."""
    found: dict[Key, int] = {}
    if name in _MAKERS:
        return found
    data = load_compas() if name == "compas" else load_adult().split()[0]
    for attribute in EXPERIMENTS[name].attributes:
        member = data.groups[attribute.name]
        for group, measure, label, _ in attribute.counts():
            mask = (member == group) & (True if label is None else data.y == label)
            found[Key("count", attribute.name, group, "", measure)] = int(mask.sum())
    return found


def train(runs: Sequence[Run], settings: Mapping[str, Any], progress: bool) -> list[Any]:
    """Train a network for each run, all of them in lock-step."""
    from ..estimators import BayesByBackpropClassifier, Problem, fit_many

    problems = [Problem(run.X, run.y, rows=run.rows, random_state=run.seed) for run in runs]
    return fit_many(BayesByBackpropClassifier(**settings), problems, progress=progress)


def measured(
    model: Any, data: Dataset, attributes: Sequence[Attribute], part: str, hidden: int = 0
) -> dict[Key, float]:
    """Return rates and mean uncertainties of the groups, and the ratios between them."""
    groups = {attribute.name: data.groups[attribute.name] for attribute in attributes}
    privileged = {attribute.name: attribute.majority for attribute in attributes}
    result = audit(
        model.predict_distribution(data.X), data.y, groups, privileged=privileged, resamples=0
    )
    found: dict[Key, float] = {}
    for attribute in attributes:
        rows = result.matching(attribute=attribute.name)
        of_groups = {
            (row.group, row.measure): row.value
            for row in rows
            if row.kind == "group" and row.part in (Part.WHOLE, Part.MEAN)
        }
        for group in attribute.groups:
            for measure in (*RATES, *UNCERTAIN):
                key = Key(part, attribute.name, group, "", measure, hidden=hidden)
                found[key] = of_groups.get((group, measure), np.nan)
        pair = attribute.minority, attribute.majority
        ratios = {
            row.measure: row.value
            for row in rows
            if (row.kind, row.group, row.reference) == ("ratio", *pair)
            and row.comparison is Pairing.REFERENCE
            and row.part in (Part.WHOLE, Part.FARTHER)
        }
        ratios[ODDS] = printed_odds(of_groups, *pair)
        for measure in (*POINT, *UNCERTAIN, *OURS):
            key = Key(part, attribute.name, *pair, measure, hidden=hidden)
            found[key] = ratios.get(measure, np.nan)
    return found


def printed_odds(of_groups: Mapping[tuple[str, str], float], minority: str, majority: str) -> float:
    """Return (FPR0 / FPR1) / (TPR0 / TPR1), the number that the tables print as equalized odds."""
    rates = [
        of_groups.get((group, f"{name}_positive_rate"), np.nan)
        for name in ("false", "true")
        for group in (minority, majority)
    ]
    if not all(rate > 0 for rate in rates):
        return np.nan
    return (rates[0] / rates[1]) / (rates[2] / rates[3])


def consistencies(
    models: Sequence[Any],
    runs: Sequence[Run],
    attributes: Sequence[Attribute],
    queries: int | None,
    seed: int,
) -> list[dict[Key, float]]:
    """Return figures 4 and 5 for each run; runs that share their test set share its neighbors."""
    shared: dict[int, list[int]] = {}
    for i, run in enumerate(runs):
        shared.setdefault(id(run.test), []).append(i)
    found: list[dict[Key, float]] = [{} for _ in runs]
    for places in shared.values():
        test = runs[places[0]].test
        values: dict[str, FloatArray] = {}
        for i in places:
            prediction = models[i].predict_distribution(test.X)
            split = decompose(prediction, "variance")
            points = prediction.mean.argmax(axis=1).astype(np.float64)
            numbers = (points, split.aleatoric, split.epistemic)
            values |= {f"{i} {name}": v for name, v in zip(QUANTITIES, numbers, strict=True)}
        result = consistency(values, test.X, queries=queries, resamples=0, random_state=seed)
        for i in places:
            predicted = values[f"{i} prediction"][result.queries]
            for attribute in attributes:
                member = test.groups[attribute.name][result.queries]
                for group in (attribute.minority, attribute.majority):
                    for outcome in (0, 1):
                        mask = (member == group) & (predicted == outcome)
                        for name in QUANTITIES:
                            far = result.differences[f"{i} {name}"][mask]
                            mean = float(far.mean()) if len(far) else np.nan
                            by = result.spread[f"{i} {name}"] or np.nan
                            key = Key("", attribute.name, group, "", name, str(outcome))
                            found[i][key._replace(part="consistency")] = 1 - mean
                            found[i][key._replace(part="scaled consistency")] = 1 - mean / by
    return found


def collated(found: Sequence[Mapping[Key, float]]) -> Values:
    """Return what was measured of each run as arrays over runs."""
    return {key: np.array([run[key] for run in found]) for key in found[0]}
