"""The confusion matrix against scikit-learn and Wilson's interval."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn import metrics as sklearn_metrics

import caveat
from caveat.exceptions import OptionError, UnsupportedPredictionError


def draw(samples=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.7, 0.5, 0.3], samples)
    return p, (rng.random((samples, 1)) > p.cumsum(axis=1)).sum(axis=1)


def test_counts_and_scores_are_those_of_scikit_learn():
    p, y = draw()
    weight = np.random.default_rng(1).uniform(0, 2, len(y))
    for w in (None, weight):
        result = caveat.confusion_matrix(p, y, sample_weight=w, resamples=50, random_state=0)
        expected = sklearn_metrics.confusion_matrix(y, p.argmax(1), sample_weight=w)
        np.testing.assert_allclose(result.counts, expected)
        np.testing.assert_allclose(result.shares, expected / expected.sum(1, keepdims=True))
        kappa = sklearn_metrics.cohen_kappa_score(y, p.argmax(1), sample_weight=w)
        assert result.kappa == pytest.approx(kappa)
        assert result.kappa_interval.low < kappa < result.kappa_interval.high
        assert result.accuracy == pytest.approx(
            sklearn_metrics.accuracy_score(y, p.argmax(1), sample_weight=w)
        )


def test_intervals_are_wilsons():
    p, y = draw()
    result = caveat.confusion_matrix(p, y, resamples=50, random_state=0)
    for i, j in ((0, 0), (1, 2), (2, 1)):
        counts = result.counts.astype(int)
        wilson = binomtest(counts[i, j], counts[i].sum()).proportion_ci(0.95, "wilson")
        assert (result.low[i, j], result.high[i, j]) == pytest.approx((wilson.low, wilson.high))


def test_clusters_widen_the_intervals():
    p, y = draw(60)
    alone = caveat.confusion_matrix(p, y, resamples=50, random_state=0)
    five = np.repeat(np.arange(60), 5)
    p, y = np.repeat(p, 5, axis=0), np.repeat(y, 5)
    rows = caveat.confusion_matrix(p, y, resamples=50, random_state=0)
    whole = caveat.confusion_matrix(p, y, cluster=five, resamples=50, random_state=0)
    width = [(m.high - m.low)[0, 0] for m in (alone, rows, whole)]
    assert width[1] < 0.6 * width[0]
    assert width[2] == pytest.approx(width[0], rel=0.1)


def test_a_class_that_does_not_occur():
    prediction = caveat.Categorical([[0.9, 0.1, 0.0]] * 4, classes=["a", "b", "c"])
    result = caveat.confusion_matrix(prediction, ["a", "a", "b", "b"], random_state=0)
    assert np.isnan(result.shares[2]).all()
    assert "50.0" not in repr(result).splitlines()[-4]  # the row of class c is empty
    assert "accuracy 0.5" in repr(result)
    assert "<td>c</td><td>0</td><td></td>" in result._repr_html_()
    frame = result.to_frame()
    assert len(frame) == 9
    assert frame.loc[3, ["true", "predicted", "count", "share"]].tolist() == ["b", "a", 2.0, 1.0]


def test_what_does_not_fit():
    with pytest.raises(UnsupportedPredictionError, match="predictions of classes; expected a Cat"):
        caveat.confusion_matrix(caveat.Gaussian([0.0], [1.0]), [1.0])
    with pytest.raises(OptionError, match="confidence"):
        caveat.confusion_matrix([[0.5, 0.5]], [1], confidence=2)


def test_single_precision():
    p = np.random.default_rng(0).dirichlet(np.ones(5), 500).astype(np.float32)
    y = np.arange(500) % 5
    matrix = caveat.confusion_matrix(p, y, resamples=10, random_state=0)
    assert matrix.accuracy == pytest.approx((p.argmax(axis=1) == y).mean())


def test_weights_are_not_called_samples():
    p = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]]
    options = {"resamples": 10, "random_state": 0}
    matrix = caveat.confusion.confusion_matrix(
        p, [0, 1, 1, 1], sample_weight=[0.1, 0.2, 0.3, 0.4], **options
    )
    _, header, body = matrix.tables()[0]
    assert header[1] == "weight"
    assert [line[1] for line in body] == ["0.100", "0.900"]
    assert (
        caveat.confusion.confusion_matrix(p, [0, 1, 1, 1], **options).tables()[0][1][1] == "samples"
    )


def test_a_kappa_that_is_undefined():
    p = np.tile([0.8, 0.2], (4, 1))
    matrix = caveat.confusion.confusion_matrix(p, [0] * 4, resamples=10, random_state=0)
    assert repr(matrix).endswith("Cohen's kappa undefined")
