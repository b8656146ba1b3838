"""What the parameters of metrics mean; `registry` adds these entries to the docstrings.

A docstring that describes a parameter itself keeps its own words.
"""

from .._docstrings import entries_of

COMMON = entries_of("""\
y_true : array of shape (samples,)
    True values.
bins : int
    Number of bins.
per_sample : bool
    Return the value of each sample, unweighted, instead of their mean.
sample_weight : array of shape (samples,)
    How often each sample counts.
""")

CLASSIFICATION = COMMON | entries_of("""\
y_true : array of shape (samples,)
    True classes: 0, 1, ... or the labels in ``classes``.
probabilities : array of shape (samples, classes) or (samples,), or Categorical
    Predicted probabilities. One dimension is the probability of the second of two classes. The
    members of a Categorical are averaged.
classes : sequence of labels
    Label of each class; by default those of the prediction or frame, or 0, 1, ...
membership : array of bool of shape (samples, classes), or PredictionSet
    Whether each class is in the set of the sample. A set may be empty.
average : {"macro", "weighted"}
    With more than two classes, the mean over those that occur, or the mean weighted by how often
    they do. With two it makes no difference.
kind : {"top-label", "positive", "classwise"}
    Which event. "top-label": the most probable class (the first of equals) is the true one, at
    its probability. "positive": the second of two classes is the true one; elsewhere this is
    called binary ECE. "classwise": each class in turn is the true one, and an error is the mean
    over the classes.
norm : {1, 2, "max"}
    Weighted mean of the absolute differences, root of the weighted mean of their squares, or the
    largest of them; classwise within each class.
binning : {"equal-width", "equal-count"}
    Bins :math:`[(m-1)/M, m/M)` of which the last is closed, or bins with the same weight. In
    the second case samples with equal probabilities are spread over the bins they reach in
    every order at once, and a bin that ends inside a sample takes the fraction inside: neither
    the order of the rows nor a remainder of samples / bins changes the result.
""")

REGRESSION = COMMON | entries_of("""\
mean : array of shape (samples,)
    Predicted values.
variance : array of shape (samples,)
    Predicted variances, which may be 0.
value : array of shape (samples,)
    Predicted quantile :math:`q`.
level : float
    Level :math:`\\tau` of the quantile, strictly between 0 and 1.
values : array of shape (samples, levels)
    Predicted quantiles, used as they are where they cross.
levels : array of shape (levels,)
    Levels of the quantiles, strictly between 0 and 1, increasing.
lower, upper : arrays of shape (samples,)
    Ends of the intervals, which belong to them and may be infinite.
coverage : float
    Nominal coverage :math:`c` of the intervals, strictly between 0 and 1.
""")

RANKING = COMMON | entries_of("""\
error : array of shape (samples,)
    Error of each prediction, not negative; 0 for right and 1 for wrong gives the error rate.
uncertainty : array of shape (samples,)
    Any measure of uncertainty; only its order counts.
aggregate : {"mean", "root_mean_square"}
    How the errors of a set become one number.
points : int
    Number of points :math:`q` of the curve; 100 removes 0, 1, ..., 99 percent.
is_out : array of shape (samples,)
    Whether each sample is out of distribution: booleans, or 0 and 1. These are the positives.
score : array of shape (samples,)
    Higher where a sample is more likely to be out of distribution, such as an epistemic
    uncertainty; only its order counts. Negate a confidence.
""")
