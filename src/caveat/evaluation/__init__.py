"""All the numbers, how sure each one is, and what they mean: evaluate, compare, recommend."""

from typing import TYPE_CHECKING

from .._docstrings import describe_package, entries_of
from .._renamed import old_names
from .answers import evaluate
from .comparison import ComparedRow, Comparison, compare
from .recommend import Recommendation
from .reference import ReferenceRow, reference_values
from .result import Evaluation
from .verdict import Statement, Verdict

__all__ = [
    "ComparedRow",
    "Comparison",
    "Evaluation",
    "Recommendation",
    "ReferenceRow",
    "Statement",
    "Verdict",
    "compare",
    "evaluate",
    "reference_values",
]

PARAMETERS = entries_of(r"""
y : array of shape (samples,) or (samples, targets)
    True labels or values. Of several targets some values may be missing (NaN): such a sample
    is left out of the metrics of that target only.
groups : array, Series, dict of arrays or frame
    Attributes of the samples. Each value gets rows of its own, with gap and ratio. If there are
    classes, an attribute named "class" is renamed to "class (group)".
sample_weight : array of shape (samples,)
    Weights of the samples; only their ratios matter. Metrics that depend on the number of
    samples use the effective number :math:`(\sum w)^2 / \sum w^2`.
cluster : array of shape (samples,)
    The cluster of each sample, such as its patient: intervals resample whole clusters.
metrics : list of str
    Names or aliases from ``caveat.metrics.METRICS``; by default all that apply.
classes : sequence of labels
    The classes of an array; by default its columns' names, or the labels of ``y`` in order.
random_state : int or Generator
    Seed of the resamples.
""")
describe_package(__name__, PARAMETERS)

if not TYPE_CHECKING:  # pragma: no branch
    __getattr__ = old_names(__name__)
