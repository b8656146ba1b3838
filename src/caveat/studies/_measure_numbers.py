"""The numbers of the study of measures, from the predictions of one model."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..confusion import MeasureComparison, confusion_matrix
from .study import Key
from .summary import NAN

GEOMETRIC = (
    "gini_impurity", "shannon_entropy", "geometric_uncertainty", "t_entropy", "renyi_entropy",
    "tsallis_entropy",
)  # fmt: skip
HOMOPHILY, VARIANCE = "homophily_uncertainty", "binary_variance"
MEASURES = (*GEOMETRIC, HOMOPHILY)
"""The columns of table VII."""
TABLES = {"svm": "table II", "opt-svm": "table III", "opt-rf": "table IV"}
CLASS_FIGURES = {"bcss": {"c3": "figure 14", "c4": "figure 15"}}
"""Classes of a data set that have a figure of their own."""
EQUATIONS = {"bcss": "equation 10"}
"""Where the distances between the classes are printed; equation 9 for the others."""
_MOST_CELLS = 6


def key(source: str, measure: str, *, model: str = "", part: str = "", statistic: str = "") -> Key:
    """Return what a number is."""
    return source, model, part, statistic, measure


def of_distances(dataset: str, H: FloatArray) -> dict[Key, float]:
    """Return the distances between few classes, relative to the largest."""
    if len(H) > _MOST_CELLS:
        return {}
    source = EQUATIONS.get(dataset, "equation 9")
    return {
        key(source, "distance", part=f"c{i + 1} to c{j + 1}"): float(H[i, j] / H.max())
        for i in range(len(H))
        for j in range(i + 1, len(H))
    }


def of_classes(dataset: str, model: str, compared: MeasureComparison) -> dict[Key, float]:
    """Return the shares above a limit for the classes that have a figure of their own."""
    values: dict[Key, float] = {}
    for name, source in CLASS_FIGURES.get(dataset, {}).items():
        own = compared.codes == int(name[1:]) - 1
        for part, chosen in (("correct", own & ~compared.wrong), ("wrong", own & compared.wrong)):
            for measure, limit in (("gini_impurity", 0.6), (HOMOPHILY, 0.2)):
                words = f"{name}, above {limit}"
                values[key(source, measure, model=model, part=part, statistic=words)] = _share(
                    compared.values[measure][chosen], limit
                )
    return values


def _share(values: FloatArray, limit: float) -> float:
    """Return the share of the values above a limit; NaN where there is none."""
    return float((values > limit).mean()) if len(values) else NAN


def of_comparison(model: str, compared: MeasureComparison) -> dict[Key, float]:
    """Return table VII, and how each measure goes with the number of confused classes."""
    values: dict[Key, float] = {}
    for row in compared.select(one_class=""):
        if row.measure in MEASURES:
            for part, mean, skew in (
                ("correct", row.right_mean, row.right_skewness),
                ("wrong", row.wrong_mean, row.wrong_skewness),
            ):
                for statistic, number in (("mean", mean), ("skewness", skew)):
                    values[
                        key("table VII", row.measure, model=model, part=part, statistic=statistic)
                    ] = number
    frame = compared.by_confusion()
    frame = frame[frame["samples"] >= 20]
    for name in (*GEOMETRIC, VARIANCE):
        # The largest step down from one number of confused classes to the next.
        down = float(np.max(-np.diff(frame[name]), initial=0.0))
        values[key("figure 9", name, model=model, part="", statistic="largest fall")] = down
    for part, chosen in (("correct", ~compared.wrong), ("wrong", compared.wrong)):
        for name, limit in (("gini_impurity", 0.6), (HOMOPHILY, 0.5), (HOMOPHILY, 0.2)):
            words = f"above {limit}"
            values[key("figure 10", name, model=model, part=part, statistic=words)] = _share(
                compared.values[name][chosen], limit
            )
    return values


def of_matrix(model: str, p: FloatArray, y: Any, names: Sequence[str]) -> dict[Key, float]:
    """Return accuracy, kappa, and for few classes the confusion matrix, in percent."""
    matrix = confusion_matrix(p, y, resamples=40, random_state=0)
    values = {
        key("table I", what, model=model, part="", statistic=""): 100 * number
        for what, number in (("accuracy", matrix.accuracy), ("kappa", matrix.kappa))
    }
    if len(names) <= _MOST_CELLS and model in TABLES:
        for (i, j), share in np.ndenumerate(matrix.shares):
            part = f"c{i + 1} as c{j + 1}"
            values[key(TABLES[model], "share", model=model, part=part)] = 100 * float(share)
    return values


def of_near_misses(model: str, compared: MeasureComparison, H: FloatArray) -> dict[Key, float]:
    """Return homophily less its equidistant case, for the closest and the most distant pair."""
    frame = compared.near_misses()
    frame = frame[frame["samples"] >= 3]
    if len(frame) < 2:
        return {}
    apart = H[frame["true"], frame["predicted"]]
    difference = (frame["homophily_mean"] - frame["equidistant_mean"]).to_numpy()
    return {
        key("figure 8", "homophily less equidistant", model=model, part=part): float(number)
        for part, number in (
            ("closest pair", difference[apart.argmin()]),
            ("most distant pair", difference[apart.argmax()]),
        )
    }


def of_signals(where: str, compared: MeasureComparison, drifted: bool) -> dict[Key, float]:
    source = "figure 13" if drifted else "figure 12"
    chosen = np.ones_like(compared.wrong) if drifted else compared.wrong
    limits = (("gini_impurity", 0.6), (HOMOPHILY, 0.2 if drifted else 0.15))
    values = {
        key(
            source, name, model=where, part="all" if drifted else "wrong", statistic="share above"
        ): _share(compared.values[name][chosen], limit)
        for name, limit in limits
    }  # fmt: skip
    accuracy = 1 - float(compared.wrong.mean())
    values[key(source, "accuracy", model=where, part="all", statistic="")] = accuracy
    return values
