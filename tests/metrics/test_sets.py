import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caveat
from caveat.exceptions import InvalidValueError, LabelError, ShapeError
from caveat.metrics.classification.sets import ENTRIES, mean_set_size, set_coverage

METRICS = [set_coverage, mean_set_size]


def generic(samples=1000, classes=5):
    rng = np.random.default_rng(0)
    return (
        rng.integers(0, classes, samples),
        rng.random((samples, classes)) < 0.6,
        rng.random(samples),
    )


@st.composite
def small(draw):
    samples, classes = draw(st.integers(1, 8)), draw(st.integers(2, 4))
    row = st.lists(st.booleans(), min_size=classes, max_size=classes)
    sets = draw(st.lists(row, min_size=samples, max_size=samples))
    y = draw(st.lists(st.integers(0, classes - 1), min_size=samples, max_size=samples))
    times = draw(st.lists(st.integers(0, 3), min_size=samples, max_size=samples).filter(any))
    return np.array(y), np.array(sets), np.array(times)


@pytest.mark.parametrize("weighted", [False, True])
def test_literal(weighted):
    y, sets, w = generic()
    members = [{k for k in range(5) if row[k]} for row in sets]
    total = w.sum() if weighted else len(y)
    each = w if weighted else np.ones(len(y))
    weight = w if weighted else None
    covered = sum(each[i] for i in range(len(y)) if y[i] in members[i]) / total
    size = sum(each[i] * len(members[i]) for i in range(len(y))) / total
    assert set_coverage(y, sets, sample_weight=weight) == pytest.approx(covered, rel=1e-12)
    assert mean_set_size(y, sets, sample_weight=weight) == pytest.approx(size, rel=1e-12)


def test_mapie_on_generic_sets():
    scores = pytest.importorskip("mapie.metrics.classification", reason="MAPIE is the oracle")
    y, sets, _ = generic()
    coverage = scores.classification_coverage_score(y, sets[:, :, None])[0]
    width = scores.classification_mean_width_score(sets[:, :, None])[0]
    assert set_coverage(y, sets) == pytest.approx(coverage, rel=1e-12)
    assert mean_set_size(y, sets) == pytest.approx(width, rel=1e-12)


def test_ends():
    y = [0, 1, 2]
    empty, everything = np.zeros((3, 3), bool), np.ones((3, 3), bool)
    assert (set_coverage(y, empty), mean_set_size(y, empty)) == (0, 0)
    assert (set_coverage(y, everything), mean_set_size(y, everything)) == (1, 3)
    assert (set_coverage([1], [[0, 1]]), mean_set_size([1], [[0, 1]])) == (1, 1)


@pytest.mark.parametrize("metric", METRICS)
class TestBoth:
    @given(data=small())
    def test_weight_is_repetition(self, metric, data):
        y, sets, times = data
        repeated = metric(np.repeat(y, times), np.repeat(sets, times, axis=0))
        assert metric(y, sets, sample_weight=times) == pytest.approx(repeated, rel=1e-12)

    @given(data=small())
    def test_the_order_of_rows_and_classes_does_not_matter(self, metric, data):
        y, sets, times = data
        value = metric(y, sets, sample_weight=times)
        last = sets.shape[1] - 1
        assert metric(y[::-1], sets[::-1], sample_weight=times[::-1]) == pytest.approx(value)
        assert metric(last - y, sets[:, ::-1], sample_weight=times) == pytest.approx(value)

    def test_per_sample(self, metric):
        y, sets, w = generic()
        each = metric(y, sets, per_sample=True, sample_weight=w)
        assert each.shape == y.shape
        assert each.dtype == np.float64
        assert metric(y, sets) == each.mean()

    def test_forms_of_input(self, metric):
        y, sets, _ = generic()
        names = np.array(list("abcde"))
        expected = metric(y, sets)
        held = caveat.PredictionSet(sets, coverage=0.9)
        assert metric(y, held) == expected
        assert metric(y, sets.astype(int)) == expected
        assert metric(names[y], sets, classes=names) == expected
        assert metric(names[y], pd.DataFrame(sets, columns=names)) == expected
        assert metric(names[y], held, classes=names) == expected
        assert metric(names[y], caveat.PredictionSet(sets, coverage=0.9, classes=names)) == expected

    def test_bad_input(self, metric):
        with pytest.raises(ShapeError, match=r"membership must have shape \(samples, classes\)"):
            metric([0], [True])
        with pytest.raises(InvalidValueError, match=r"membership of sample 1, class 0 is 0\.3; it"):
            metric([0, 1], [[1.0, 0.0], [0.3, 0.7]])
        with pytest.raises(LabelError, match="y_true of sample 1 is 2, but the classes are 0 to 1"):
            metric([0, 2], [[1, 0], [0, 1]])
        with pytest.raises(LabelError, match=r"y_true of sample 0 is .*, but the classes are 'a'"):
            metric(["c"], [[1, 0]], classes=["a", "b"])
        with pytest.raises(ShapeError, match="y_true has 1 samples, membership has 2"):
            metric([0], [[1, 0], [0, 1]])
        with pytest.raises(InvalidValueError, match="sample_weight is 0 for every sample"):
            metric([0], [[1, 0]], sample_weight=[0])


def test_entries():
    assert [(e.name, e.function) for e in ENTRIES] == [(m.__name__, m) for m in METRICS]
    assert [e.optimum for e in ENTRIES] == [None, None]
