"""Frames with categories and missing values, for models that take numbers alone."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .._arrays import column_numbers, holds_numbers, is_frame, missing_among
from ..estimators import NetworkEstimator

MOST_CATEGORIES = 50
"""Categories of a column that get a column each; the rarer ones share one."""


class Encoded(Pipeline):
    """A transformer and an estimator that gets the weights of samples."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "Encoded":
        """Fit both; weights are for the estimator alone.

        Parameters
        ----------
        X : array or frame of shape (samples, features)
        y : array of shape (samples,), optional
        sample_weight : array of shape (samples,), optional
        """
        given = {} if sample_weight is None else {"estimator__sample_weight": sample_weight}
        super().fit(X, y, **given)
        return self


def after(transformer: Any, estimator: Any) -> Encoded:
    """Return an estimator that sees what a transformer gives."""
    return Encoded([("transformer", transformer), ("estimator", estimator)])


def fits_table(estimator: Any, X: Any) -> Any:
    """Return the estimator, after an encoder if it does not take the columns of X.

    Categories become one column for each value; missing numbers become the median, with a column
    that says so. CatBoost gets categories as text, and missing numbers as they are. Numbers of any
    type become floats.

    Parameters
    ----------
    estimator : estimator
    X : array or frame of shape (samples, features)
    """
    table = columns_of(X)
    categories = tuple(table.categories)
    if table.plain and not categories and not table.gaps:
        return estimator
    if hasattr(estimator, "get_cat_feature_indices") and (
        categories or not table.plain
    ):  # CatBoost
        if categories:
            # A tuple, which copies of CatBoost keep as it is, so that it can be cloned.
            estimator.set_params(cat_features=categories)
        return after(_as_types(categories), estimator)
    if hasattr(estimator, "__sklearn_tags__"):
        takes = get_tags(estimator).input_tags
        # Networks that take missing values take whole tables as they are.
        whole = isinstance(estimator, NetworkEstimator) and takes.allow_nan
        # Boosted trees of scikit-learn fail at a column without values.
        filled = not table.gaps or (takes.allow_nan and not table.empty)
        if whole or (filled and (takes.categorical or takes.string)):
            return estimator
        if filled and not categories:
            return estimator if table.plain else after(_as_types(()), estimator)
    return after(encoder(table.categories, table.numbers), estimator)


def encoder(categories: list[int], numbers: list[int]) -> Any:
    """Return a transformer of frames to numbers; columns are given by their places."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False
    )
    texts = _as_types(tuple(range(len(categories))))
    median = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return ColumnTransformer([
        ("categories", make_pipeline(texts, one_hot), categories),
        ("numbers", make_pipeline(_as_types(()), median), numbers),
    ])  # fmt: skip


def _as_types(categories: tuple[int, ...]) -> Any:
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(as_types, kw_args={"categories": categories})


def as_types(X: Any, categories: tuple[int, ...]) -> Any:
    """Return a frame whose columns at some places are text, and all others floats.

    A missing value of a category is a text, too.
    """
    import pandas as pd

    X = X if is_frame(X) else pd.DataFrame(X)
    columns = [(i, name, X.iloc[:, i]) for i, name in enumerate(X.columns)]
    parts = [
        column.astype(object).where(column.notna(), "missing").astype(str)
        if i in categories
        else pd.Series(column_numbers(column, name), index=X.index, name=name)
        for i, name, column in columns
    ]
    return pd.concat(parts, axis=1)


class Columns(NamedTuple):
    """What the columns of a table hold."""

    categories: list[int]
    """Places of categories."""
    numbers: list[int]
    """Places of numbers."""
    gaps: bool
    """Whether values are missing."""
    empty: bool
    """Whether all values of a column are missing."""
    plain: bool
    """Whether all numbers have a type of numpy."""


def columns_of(X: Any) -> Columns:
    """Return what the columns of a table hold."""
    if is_frame(X):
        places = range(X.shape[1])
        numbers = [i for i in places if holds_numbers(X.iloc[:, i])]
        categories = [i for i in places if i not in numbers]
        missing = X.isna().to_numpy()
        plain = all(
            isinstance(kind, np.dtype) and kind.kind in "iufb" for kind in X.dtypes.iloc[numbers]
        )
    else:
        array = np.asarray(X)
        numbers, categories, plain = list(range(array.shape[-1])), [], array.dtype != object
        missing = missing_among(array)
    return Columns(categories, numbers, bool(missing.any()), bool(missing.all(axis=0).any()), plain)
