"""Frames with categories and missing values, for models that take numbers alone."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

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
    that says so. CatBoost gets categories as text, and missing numbers as they are.

    Parameters
    ----------
    estimator : estimator
    X : array or frame of shape (samples, features)
    """
    categories, numbers, gaps = columns_of(X)
    if not categories and not gaps:
        return estimator
    if categories and hasattr(estimator, "get_cat_feature_indices"):  # CatBoost
        # A tuple, which copies of CatBoost keep as it is, so that it can be cloned.
        estimator.set_params(cat_features=tuple(categories))
        return after(_texts(tuple(categories)), estimator)
    if hasattr(estimator, "__sklearn_tags__"):
        takes = get_tags(estimator).input_tags
        # Networks that take missing values take whole tables as they are.
        whole = isinstance(estimator, NetworkEstimator) and takes.allow_nan
        plain = not categories or takes.categorical or takes.string
        if whole or (plain and (takes.allow_nan or not gaps)):
            return estimator
    return after(encoder(categories, numbers), estimator)


def encoder(categories: list[int], numbers: list[int]) -> Any:
    """Return a transformer of frames to numbers; columns are given by their places."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False
    )
    texts = _texts(tuple(range(len(categories))))
    median = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return ColumnTransformer(
        [("categories", make_pipeline(texts, one_hot), categories), ("numbers", median, numbers)]
    )


def _texts(places: tuple[int, ...]) -> Any:
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(as_text, kw_args={"places": places})


def as_text(X: Any, places: tuple[int, ...]) -> Any:
    """Return a frame whose columns at some places are text; a missing value is a text, too."""
    import pandas as pd

    chosen = set(places)
    parts = [X.iloc[:, i] for i in range(X.shape[1])]
    text = [
        part.astype(object).where(part.notna(), "missing").astype(str) if i in chosen else part
        for i, part in enumerate(parts)
    ]
    return pd.concat(text, axis=1)


def columns_of(X: Any) -> tuple[list[int], list[int], bool]:
    """Return the places of categories and of numbers, and whether values are missing."""
    if hasattr(X, "columns"):
        numbers = [i for i, dtype in enumerate(X.dtypes) if dtype.kind in "iufb"]
        categories = [i for i in range(X.shape[1]) if i not in numbers]
        return categories, numbers, bool(X.isna().to_numpy().any())
    array = np.asarray(X)
    gaps = array.dtype.kind == "f" and bool(np.isnan(array).any())
    return [], list(range(array.shape[-1])), gaps
