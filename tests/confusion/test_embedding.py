"""Samples on a plane: neighbors stay neighbors, a seed gives the same, colors are the measure."""

import numpy as np
import pytest
from scipy.spatial import KDTree

import caveat
from caveat import charts
from caveat.confusion import embed_samples
from caveat.exceptions import OptionError, ShapeError

H = np.array([[0, 1.0, 4], [1, 0, 4], [4, 4, 0]])


def groups(features=80):
    """Three groups far apart in many dimensions."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, features)) + 6 * rng.normal(size=(3, features))[y]
    return X, y, caveat.Categorical(rng.dirichlet(np.ones(3), 180), classes=["a", "b", "c"])


def test_neighbors_stay_together():
    X, y, p = groups()
    result = embed_samples(X, p, samples=90, perplexity=10, random_state=0)
    assert result.places.shape == (90, 2)
    assert (np.diff(result.rows) > 0).all()
    nearest = KDTree(result.places).query(result.places, k=6)[1][:, 1:]
    own = y[result.rows]
    assert (own[nearest] == own[:, None]).mean() > 0.99
    np.testing.assert_array_equal(result.prediction.mean, p.mean[result.rows])
    again = embed_samples(X, p, samples=90, perplexity=10, random_state=0)
    np.testing.assert_array_equal(again.rows, result.rows)
    np.testing.assert_allclose(again.places, result.places)
    other = embed_samples(X, p, samples=90, perplexity=10, random_state=1)
    assert (other.rows != result.rows).any()


def test_samples_are_colored_by_the_measure():
    X, _, p = groups(1)
    result = embed_samples(X[:30], p.take(np.arange(30)), random_state=0)
    assert repr(result) == "SampleEmbedding: 30 of 30 samples"
    chart = charts.embedding(result, "entropy")
    expected = caveat.measure(p, "entropy")[:30]
    np.testing.assert_allclose(chart.numbers["shannon entropy"], expected)
    np.testing.assert_array_equal(chart.marks[0].values, chart.numbers["shannon entropy"])
    homophily = charts.embedding(result, "homophily", distances=H)
    np.testing.assert_allclose(
        homophily.numbers["homophily uncertainty"], caveat.measure(p, "homophily", H=H)[:30]
    )
    ax = result.plot("embedding", measure="margin")
    assert ax.get_title() == "Margin of 30 samples on a plane"
    assert "sample 0: " in charts.chart(result).marks[0].text[0]
    with pytest.raises(OptionError, match="pass distances="):
        charts.embedding(result, "homophily")
    with pytest.raises(ShapeError, match="distances is for 2 classes"):
        charts.embedding(result, "homophily", distances=H[:2, :2])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"X": 3.0}, ShapeError, "X must have shape"),
        ({"X": np.ones((4, 2))}, ShapeError, "X has 4 samples, the prediction has 180"),
        ({"X": np.full((180, 2), np.nan)}, caveat.exceptions.InvalidValueError, "X"),
        ({"X": np.ones((4, 2)), "prediction": np.full((4, 2), 0.5)}, ShapeError, "needs 5 samples"),
        ({"samples": 2}, OptionError, "samples must be"),
        ({"perplexity": 0}, OptionError, "perplexity must be"),
        ({"random_state": "a"}, OptionError, "random_state must be"),
    ],
)
def test_what_does_not_fit(options, error, message):
    X, _, p = groups(2)
    with pytest.raises(error, match=message):
        embed_samples(**{"X": X, "prediction": p, **options})
