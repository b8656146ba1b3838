"""Models on data that scikit-learn ships, for the demonstration."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..predictions import Categorical, Quantiles
from ..recalibration import ConformalQuantiles, TemperatureScaling

LEVELS = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Case:
    """Predictions of the same test samples by several techniques.

    Attributes
    ----------
    predictions : dict of str to prediction
    y : ndarray
    groups : dict of str to ndarray
    calibration : prediction
        Predictions of the first technique for the samples that recalibration was fitted on.
    y_calibration : ndarray
    """

    predictions: dict[str, Any]
    y: np.ndarray
    groups: dict[str, np.ndarray]
    calibration: Any
    y_calibration: np.ndarray


def digits(random_state: int = 0) -> Case:
    """Return handwritten digits by a forest, raw and recalibrated, and by naive Bayes."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.naive_bayes import GaussianNB

    X, y = load_digits(return_X_y=True)
    train, held, test = _three_parts(y, random_state, stratify=True)
    forest = RandomForestClassifier(min_samples_leaf=3, random_state=random_state)
    forest.fit(X[train], y[train])

    def trees(rows: np.ndarray) -> Categorical:
        members = [tree.predict_proba(X[rows]) for tree in forest.estimators_]
        return Categorical(members, classes=forest.classes_)

    raw, calibration = trees(test), trees(held)
    bayes = GaussianNB(var_smoothing=0.05).fit(X[train], y[train])
    ink = np.digitize(X[test].sum(axis=1), np.quantile(X[train].sum(axis=1), [1 / 3, 2 / 3]))
    return Case(
        {
            "forest": raw,
            "forest + temperature": TemperatureScaling().fit(calibration, y[held]).transform(raw),
            "naive Bayes": Categorical(bayes.predict_proba(X[test]), classes=bayes.classes_),
        },
        y[test],
        {"ink": np.array(["little", "medium", "much"])[ink]},
        calibration,
        y[held],
    )


def diabetes(random_state: int = 0) -> Case:
    """Return the progress of diabetes by quantile gradient boosting, raw and conformal."""
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import GradientBoostingRegressor

    X, y = load_diabetes(return_X_y=True)
    train, held, test = _three_parts(y, random_state, stratify=False)
    models = [
        GradientBoostingRegressor(
            loss="quantile", alpha=level, n_estimators=100, random_state=random_state
        ).fit(X[train], y[train])
        for level in LEVELS
    ]

    def quantiles(rows: np.ndarray) -> Quantiles:
        values = np.stack([model.predict(X[rows]) for model in models], axis=1)
        return Quantiles(LEVELS, values, targets=["progression"], sort=True)

    raw, calibration = quantiles(test), quantiles(held)
    conformal = ConformalQuantiles(0.9).fit(calibration, y[held])
    sex = np.where(X[test, 1] > 0, "sex 2", "sex 1")
    return Case(
        {"boosting": raw.interval(0.9), "boosting + conformal": conformal.transform(raw)},
        y[test],
        {"sex": sex},
        calibration,
        y[held],
    )


def _three_parts(y: np.ndarray, random_state: int, stratify: bool) -> list[np.ndarray]:
    """Return rows to train on (two fifths), to recalibrate with, and to test on."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(y))
    train, rest = train_test_split(
        rows, train_size=0.4, random_state=random_state, stratify=y if stratify else None
    )
    held, test = train_test_split(
        rest, train_size=0.5, random_state=random_state, stratify=y[rest] if stratify else None
    )
    return [train, held, test]
