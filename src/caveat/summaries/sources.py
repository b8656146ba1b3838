"""Where summaries come from: predictions in memory, files, streams and clusters."""

from collections.abc import Sequence
from typing import Any

from ..exceptions import OptionError
from ..predictions import Container
from .summary import Summary, summarize_batch

__all__ = ["summarize"]


def summarize(
    source: Any,
    y: Any = None,
    *,
    groups: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    ids: Any = None,
    metrics: Sequence[str] | None = None,
) -> Summary:
    """Sum up predictions, so that they can be evaluated, merged and compared.

    Parameters
    ----------
    source : any prediction type
    y : array of shape (samples,) or (samples, targets), optional
        Without it, only the predictions and their uncertainty are summed up.
    groups : array, Series, dict of arrays or frame, optional
    sample_weight, cluster : arrays of shape (samples,), optional
    ids : array of shape (samples,), optional
        By which samples are dealt to units and kept; by default their number.
    metrics : list of str, optional

    Returns
    -------
    Summary

    Examples
    --------
    >>> import caveat
    >>> caveat.summarize(caveat.Categorical.from_binary([0.2, 0.9, 0.6]), [0, 1, 0])
    Summary: 3 samples of a Categorical of 2 classes (0, 1) (0.4 MiB)
    """
    if isinstance(source, Container):
        return summarize_batch(
            source, y, groups=groups, sample_weight=sample_weight, cluster=cluster, ids=ids,
            metrics=metrics,
        )  # fmt: skip
    raise OptionError(f"a summary needs a prediction; got a {type(source).__name__}")
