import re
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from caveat._groups import combined
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.fairness._consistency import consistency
from caveat.fairness._consistency_result import Consistency


def by_hand(values, X, k, squared=True):
    """Equations 6 and 9 on whole numbers, exactly: equal distances share the last places."""
    found = []
    for i in range(len(X)):
        far = [
            sum((int(a) - int(b)) ** 2 if squared else abs(int(a) - int(b)) for a, b in pairs)
            for pairs in (zip(X[i], other, strict=True) for other in X)
        ]
        others = [j for j in range(len(X)) if j != i]
        limit = sorted(far[j] for j in others)[k - 1]
        nearer = [j for j in others if far[j] < limit]
        tied = [j for j in others if far[j] == limit]
        share = Fraction(k - len(nearer), len(tied))
        mean = sum(Fraction(values[j]) for j in nearer)
        mean += share * sum(Fraction(values[j]) for j in tied)
        found.append(1 - abs(Fraction(values[i]) - mean / k))
    return np.array([float(value) for value in found])


def example(samples=200, features=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(samples, features)), rng.random(samples)


class TestNumbers:
    @pytest.mark.parametrize("k", [1, 3, 7])
    @pytest.mark.parametrize("features", [2, 20])
    def test_like_scikit_learn_without_ties(self, k, features):
        X, u = example(300, features)
        scaled = StandardScaler().fit_transform(X)
        index = NearestNeighbors(n_neighbors=k).fit(scaled).kneighbors(return_distance=False)
        expected = 1 - np.abs(u - u[index].mean(axis=1))
        found = consistency(u, X, neighbors=k, resamples=0)
        np.testing.assert_allclose(found.per_sample["prediction"], expected, rtol=1e-12)
        assert found.rows[0].consistency == pytest.approx(expected.mean(), rel=1e-12)

    @pytest.mark.parametrize("features", [1, 2, 20])
    @pytest.mark.parametrize(
        ("distance", "squared"),
        [("euclidean", True), ("sqeuclidean", True), ("manhattan", False)],
    )
    def test_equal_rows_and_equal_distances_by_hand(self, features, distance, squared):
        rng = np.random.default_rng(features)
        X = rng.integers(0, 3, size=(70, features))
        u = rng.integers(0, 10, size=70)
        for k in (1, 4, 69):
            found = consistency(u, X + 0.0, neighbors=k, distance=distance, scale=None, resamples=0)
            np.testing.assert_allclose(
                found.per_sample["prediction"], by_hand(u, X, k, squared), atol=1e-12
            )

    def test_ties_are_found_after_scaling_and_far_from_the_origin(self):
        rng = np.random.default_rng(3)
        X = rng.integers(0, 2, size=(80, 18))
        u = rng.integers(0, 10, size=80)
        # All columns have the same scale, so that the neighbors are those of whole numbers.
        moved = 1e6 + X / 3
        found = consistency(u, moved, scale=np.full(18, 1 / 7), resamples=0)
        np.testing.assert_allclose(found.per_sample["prediction"], by_hand(u, X, 5), atol=1e-12)

    def test_the_order_of_the_samples_does_not_matter(self):
        rng = np.random.default_rng(4)
        X, u = rng.integers(0, 3, size=(150, 3)).astype(float), rng.random(150)
        order = rng.permutation(150)
        one = consistency(u, X, resamples=0).per_sample["prediction"]
        other = consistency(u[order], X[order], resamples=0).per_sample["prediction"]
        np.testing.assert_allclose(one[order], other, rtol=1e-12)

    def test_duplicates_are_neighbors_and_a_row_is_not_its_own(self):
        X = np.array([[0.0], [-0.0], [0.0], [9.0], [9.0], [9.0]])
        u = np.array([0.0, 0.3, 0.6, 1.0, 1.0, 1.0])
        found = consistency(u, X, neighbors=2, scale=None, resamples=0).per_sample["prediction"]
        np.testing.assert_allclose(found, [1 - 0.45, 1, 1 - 0.45, 1, 1, 1], atol=1e-15)

    def test_all_rows_are_equal(self):
        u = np.arange(6.0)
        found = consistency(u, np.ones((6, 2)), neighbors=2, resamples=0)
        rest = np.array([(15 - value) / 5 for value in u])
        np.testing.assert_allclose(found.per_sample["prediction"], 1 - np.abs(u - rest))

    def test_two_classes_as_text_are_those_as_numbers(self):
        X, u = example()
        y = (u > 0.3).astype(int)
        both = consistency({"n": y, "t": np.where(y, "yes", "no"), "b": y == 1}, X, resamples=0)
        for name in ("t", "b"):
            np.testing.assert_allclose(both.per_sample[name], both.per_sample["n"], atol=1e-12)
            assert both.spread[name] == pytest.approx(both.spread["n"])

    def test_classes_are_the_share_of_neighbors_alike(self):
        X, u = example()
        labels = np.array(["a", "b", "c"])[(3 * u).astype(int)]
        index = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(return_distance=False)
        found = consistency(pd.Series(labels), X, scale=None, resamples=0)
        expected = (labels[index] == labels[:, None]).mean(axis=1)
        np.testing.assert_allclose(found.per_sample["prediction"], expected, atol=1e-12)

    def test_scaled_by_the_spread(self):
        X, u = example()
        large = consistency({"u": u}, X, resamples=200, random_state=0)
        small = consistency({"u": 1e-4 * u}, X, resamples=200, random_state=0)
        difference = 1 - large.per_sample["u"]
        np.testing.assert_allclose(large.scaled_per_sample("u"), 1 - difference / u.std())
        np.testing.assert_allclose(large.scaled_per_sample("u"), small.scaled_per_sample("u"))
        assert small.rows[0].consistency > 0.9999
        for end in ("scaled", "scaled_low", "scaled_high"):
            assert getattr(small.rows[0], end) == pytest.approx(getattr(large.rows[0], end))
        assert large.rows[0].scaled == pytest.approx(1 - difference.mean() / u.std())
        assert large.rows[0].scaled_low < large.rows[0].scaled < large.rows[0].scaled_high

    def test_the_smallest_values_are_scaled_as_well(self):
        X, u = example()
        large = consistency({"u": u}, X, resamples=0)
        tiny = consistency({"u": 1e-15 * u}, X, resamples=0)
        assert tiny.rows[0].consistency == pytest.approx(1, abs=1e-15)
        assert tiny.rows[0].scaled == pytest.approx(large.rows[0].scaled, rel=1e-9)
        np.testing.assert_allclose(tiny.scaled_per_sample("u"), large.scaled_per_sample("u"))

    def test_a_constant_has_no_scaled_value(self):
        X, _ = example(30)
        (row,) = consistency({"u": np.full(30, 0.1)}, X).rows
        assert row.consistency == 1
        assert np.isnan([row.low, row.high, row.scaled, row.scaled_low, row.scaled_high]).all()
        assert row.note == (
            "the same for every sample, whose spread does not show; all samples have one value, by "
            "whose spread nothing can be scaled"
        )
        (row,) = consistency({"u": np.full(30, 0.1)}, X, resamples=0).rows
        assert row.note.startswith("all samples")
        assert np.isnan(consistency(np.ones(30), X, resamples=0).scaled_per_sample("prediction")[0])


class TestDistances:
    def test_precomputed_is_the_same(self):
        X, u = example(60)
        matrix = np.linalg.norm(X[:, None] - X, axis=2)
        given = consistency(u, matrix, distance="precomputed", resamples=0)
        own = consistency(u, X, scale=None, resamples=0)
        np.testing.assert_allclose(given.per_sample["prediction"], own.per_sample["prediction"])
        with pytest.raises(ShapeError, match=re.escape("square matrix of distances")):
            consistency(u, X, distance="precomputed")
        with pytest.raises(InvalidValueError, match="a distance is 0 or more"):
            consistency(u, matrix - 1, distance="precomputed")

    def test_precomputed_rows_are_those_of_the_sample(self):
        matrix = np.array([[0.0, 1, 2], [2, 0, 1], [1, 2, 0]])
        found = consistency([0, 10, 100], matrix, neighbors=1, distance="precomputed", resamples=0)
        assert found.per_sample["prediction"].tolist() == [1 - 10, 1 - 90, 1 - 100]

    def test_a_function_need_not_be_a_metric(self):
        def bent(a, b):  # no triangle inequality: the square of a distance
            return float(((a - b) ** 2).sum() ** 3)

        X, u = example(80, 2)
        found = consistency(u, X, distance=bent, scale=None, resamples=0)
        own = consistency(u, X, scale=None, resamples=0)
        np.testing.assert_allclose(found.per_sample["prediction"], own.per_sample["prediction"])
        assert found.distance == "bent"

    def test_cosine(self):
        X, u = example(100)
        unit = X / np.linalg.norm(X, axis=1)[:, None]
        found = consistency(u, np.abs(X[:, :1]) * unit, distance="cosine", scale=None, resamples=0)
        own = consistency(u, unit, scale=None, resamples=0)
        np.testing.assert_allclose(found.per_sample["prediction"], own.per_sample["prediction"])

    def test_unknown_and_unusable_names(self):
        X, u = example(20)
        with pytest.raises(OptionError, match="distance must be a function of two rows or one of"):
            consistency(u, X, distance="euclid")
        with pytest.raises(OptionError, match="got 3"):
            consistency(u, X, distance=3)
        with pytest.raises(OptionError, match="distance 'haversine' does not work with these rows"):
            consistency(u, X, distance="haversine")
        with pytest.raises(OptionError, match="does not work with these rows: no way;"):
            consistency(u, X, distance=_broken)

    def test_scales(self):
        X, u = example(60)
        by = np.array([1.0, 2.0, 3.0, 4.0])
        given = consistency(u, X, scale=by, resamples=0).per_sample["prediction"]
        own = consistency(u, X / by, scale=None, resamples=0).per_sample["prediction"]
        np.testing.assert_allclose(given, own)
        for wrong in (by[:2], by - 1):
            with pytest.raises((ShapeError, InvalidValueError), match="scale must be"):
                consistency(u, X, scale=wrong)
        with pytest.raises(OptionError, match="got 'minmax'"):
            consistency(u, X, scale="minmax")

    def test_a_constant_feature_is_of_no_weight(self):
        X, u = example(60)
        more = np.column_stack([X, np.full(60, 0.1)])
        one = consistency(u, more, resamples=0).per_sample["prediction"]
        np.testing.assert_allclose(one, consistency(u, X, resamples=0).per_sample["prediction"])

    @pytest.mark.parametrize("factor", [1e160, 1e-200, 1e-310, 1e307, [1e-200, 1e300, 1, 1e-5]])
    def test_the_size_of_features_does_not_matter_where_they_are_scaled(self, factor):
        X, values = example()
        wanted = consistency(values, X, resamples=0).rows[0].consistency
        found = consistency(values, X * np.asarray(factor), resamples=0).rows[0].consistency
        assert found == pytest.approx(wanted, rel=1e-9)

    @pytest.mark.parametrize("factor", [1e160, 1e-200, 1e307])
    @pytest.mark.parametrize("distance", ["euclidean", "manhattan", "chebyshev", "cosine"])
    def test_nor_does_one_size_for_all(self, factor, distance):
        X, values = example()
        options = {"distance": distance, "scale": None, "resamples": 0}
        wanted = consistency(values, X, **options).rows[0].consistency
        found = consistency(values, X * factor, **options).rows[0].consistency
        assert found == pytest.approx(wanted, rel=1e-9)

    @pytest.mark.parametrize("far", [np.inf, np.nan])
    def test_distances_are_finite(self, far):
        X, values = example()
        with pytest.raises(
            InvalidValueError, match=rf"between two rows is {far}; it must be a finite number: sca"
        ):
            consistency(values, X, distance=lambda a, b: far, resamples=0)

    def test_nor_does_scaling_cure_a_metric_that_a_row_has_none_of(self):
        X, values = example()
        X[3] = 1.0
        with pytest.raises(
            InvalidValueError,
            match=r"^distance 'correlation' between two rows is nan; it must be a finite number: choose another distance$",
        ):
            consistency(values, X, distance="correlation", scale=None, resamples=0)

    @pytest.mark.filterwarnings("ignore:Data was converted to boolean")
    @pytest.mark.parametrize("features", [5, 20])
    @pytest.mark.parametrize("zeros", [1, 3])
    @pytest.mark.parametrize("k", [1, 4, 39])
    @pytest.mark.parametrize("distance", ["dice", "sokalsneath", "braycurtis"])
    def test_rows_without_any_feature(self, features, zeros, k, distance):
        rng = np.random.default_rng(features)
        X = (rng.random((40, features)) < 0.4).astype(float)
        X[:, 0] = 1.0
        X[7 : 7 + zeros] = 0.0
        u = rng.random(40)
        found = consistency(u, X, neighbors=k, distance=distance, scale=None, resamples=0)
        differing = (X[:, None] != X[None]).sum(axis=2)
        both = ((X[:, None] == 1) & (X[None] == 1)).sum(axis=2)
        below = both / 2 + differing if distance == "sokalsneath" else 2 * both + differing
        far = np.where(differing, differing / np.maximum(below, 0.5), 0.0)
        expected = []
        for i in range(40):
            others = np.delete(np.arange(40), i)
            limit = np.sort(far[i, others])[k - 1]
            nearer = others[far[i, others] < limit - 1e-12]
            tied = others[np.abs(far[i, others] - limit) <= 1e-12]
            mean = (u[nearer].sum() + (k - len(nearer)) * u[tied].mean()) / k
            expected.append(1 - abs(u[i] - mean))
        np.testing.assert_allclose(found.per_sample["prediction"], expected, atol=1e-12)


def _broken(a, b):
    raise ValueError("no way")


class TestQueries:
    def test_some_are_looked_up_among_all(self):
        X, u = example(500)
        every = consistency(u, X, resamples=0)
        some = consistency(u, X, queries=100, random_state=0)
        assert len(np.unique(some.queries)) == 100
        np.testing.assert_allclose(
            some.per_sample["prediction"], every.per_sample["prediction"][some.queries]
        )
        assert some.rows[0].samples == 100
        assert some.rows[0].low < every.rows[0].consistency < some.rows[0].high
        again = consistency(u, X, queries=100, random_state=0)
        assert again.rows == some.rows
        assert "100 of 500 samples" in some.description

    def test_more_than_there_are_is_all(self):
        X, u = example(50)
        assert consistency(u, X, queries=50, resamples=0).queries.tolist() == list(range(50))

    def test_blocks_give_the_same(self, monkeypatch):
        rng = np.random.default_rng(0)
        X, u = rng.integers(0, 3, size=(150, 3)).astype(float), rng.random(150)
        whole = consistency(u, X, resamples=0).per_sample["prediction"]
        monkeypatch.setattr("caveat.fairness._neighbors._HELD", 50)
        blocks = consistency(u, X, resamples=0).per_sample["prediction"]
        np.testing.assert_allclose(whole, blocks, rtol=1e-12)


class TestGroups:
    def test_means_of_groups_and_outcomes(self):
        X, u = example(400)
        rng = np.random.default_rng(1)
        frame = pd.DataFrame({"race": rng.choice(["a", "b"], 400), "sex": rng.choice([0, 1], 400)})
        y = rng.integers(0, 2, 400)
        values = {"prediction": y, "epistemic": u}
        found = consistency(values, X, groups=frame, outcomes=y, random_state=0)
        assert len(found.rows) == 2 * (3 + 6 + 6)
        for row in found.rows:
            mask = np.ones(400, dtype=bool)
            if row.attribute:
                mask &= frame[row.attribute].astype(str).to_numpy() == row.group
            if row.outcome:
                mask &= y.astype(str) == row.outcome
            each = found.per_sample[row.quantity][mask]
            assert row.samples == mask.sum()
            assert row.consistency == pytest.approx(each.mean(), rel=1e-12)
            error = each.std(ddof=1) / np.sqrt(len(each))
            assert (row.high - row.low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.15)
        labels = [row.label for row in found.select(quantity="epistemic", attribute="race")]
        assert labels[:2] == ["race=a", "race=a, outcome 0"]
        assert found.rows[1].label == "outcome 0"

    def test_what_does_not_exist_has_no_row(self):
        X, u = example(20)
        group = np.repeat(["a", "b"], 10)
        found = consistency(u, X, groups=group, outcomes=group == "a", resamples=0)
        labels = {row.label for row in found.rows}
        assert "group=a, outcome True" in labels
        assert "group=a, outcome False" not in labels

    def test_missing_values_are_a_group(self):
        X, u = example(20)
        found = consistency(u, X, groups=["a"] * 10 + [None] * 10, resamples=0)
        assert [row.group for row in found.rows] == ["", "a", "(missing)"]

    def test_a_group_without_queries_or_with_one(self):
        X, u = example(200)
        group = np.full(200, "many")
        group[consistency(u, X, queries=20, random_state=0).queries[0]] = "one"
        none = np.setdiff1d(np.arange(200), consistency(u, X, queries=20, random_state=0).queries)[
            0
        ]
        group[none] = "none"
        found = consistency(u, X, queries=20, groups=group, random_state=0)
        rows = {row.group: row for row in found.rows}
        assert rows["none"].note == "no sample of this group was looked up"
        assert rows["none"].samples == 0
        assert np.isnan([rows["none"].consistency, rows["none"].low, rows["none"].scaled]).all()
        assert rows["one"].note == "too few samples for an interval"
        assert np.isfinite(rows["one"].consistency)
        assert np.isnan(rows["one"].low)
        assert "nan" not in repr(found).replace("many", "")

    @pytest.mark.parametrize(("confidence", "least"), [(0.9, 5), (0.95, 6), (0.99, 8)])
    def test_few_samples_have_no_interval(self, confidence, least):
        X, u = example(200)
        group = np.full(200, "others")
        group[:least] = "few"
        group[least : 2 * least - 1] = "fewer"
        found = consistency(u, X, groups=group, confidence=confidence, random_state=0)
        rows = {row.group: row for row in found.rows}
        each = found.per_sample["prediction"][:least]
        assert rows["few"].low < each.mean() < rows["few"].high
        assert rows["few"].high - rows["few"].low > 2 * each.std() / np.sqrt(least)
        assert rows["few"].note == ""
        assert np.isnan(rows["fewer"].low)
        assert rows["fewer"].note == "too few samples for an interval"


class TestShown:
    def result(self, **options):
        X, u = example(40)
        values = {"prediction": (u > 0.5).astype(int), "<b>": u}
        return consistency(values, X, groups=np.repeat(["[red]", "x"], 20), **options)

    def test_frame(self):
        frame = self.result(random_state=0).to_frame()
        assert list(frame.columns) == [
            "quantity", "attribute", "group", "outcome", "consistency", "low", "high",
            "scaled", "scaled_low", "scaled_high", "samples", "units", "note",
        ]  # fmt: skip
        assert len(frame) == 6
        assert frame["samples"].tolist() == [40, 20, 20] * 2

    def test_combinations_are_named_once(self):
        X, values = example()
        groups = {"sex": np.where(X[:, 0] > 0, "f", "m"), "race": np.full(len(X), "a")}
        rows = consistency(values, X, groups=[combined(groups, len(X))], resamples=0).rows
        assert [row.label for row in rows] == ["all samples", "sex=f, race=a", "sex=m, race=a"]
        own = {"sex x race": np.where(X[:, 0] > 0, "sex=f, race=a", "sex=m, race=a")}
        rows = consistency(values, X, groups=own, resamples=0).rows
        assert rows[1].label == "sex x race=sex=f, race=a"

    def test_texts(self):
        result = self.result(random_state=0)
        assert isinstance(result, Consistency)
        text = repr(result)
        assert "Consistency of 40 samples among their 5 nearest neighbors (euclidean)" in text
        assert "[red]" in text
        assert "<b>" in text
        html = result._repr_html_()
        assert "&lt;b&gt;" in html
        assert "<b>" not in html

    def test_without_intervals(self):
        result = self.result(resamples=0)
        assert all(np.isnan([row.low, row.high, row.scaled_low]).all() for row in result.rows)
        assert "nan" not in repr(result)

    def test_an_unnamed_distance(self):
        class Far:
            def __call__(self, a, b):
                return float(np.abs(a - b).sum())

        X, u = example(20)
        found = consistency(u, X, distance=Far(), resamples=0)
        assert found.distance == "given"


class TestInput:
    def test_frames_and_columns(self):
        X, u = example(30)
        frame = pd.DataFrame(X, columns=list("abcd"))
        expected = consistency(u, X, resamples=0).per_sample["prediction"]
        values = pd.DataFrame({"prediction": u})
        for given in (frame, pl.from_pandas(frame), frame.astype(object), X.tolist()):
            found = consistency(values, given, resamples=0).per_sample["prediction"]
            np.testing.assert_allclose(found, expected)

    @pytest.mark.parametrize(
        "column",
        [
            ["1", "2"] * 15,
            pd.Categorical([1, 2] * 15),
            pd.date_range("2020-01-01", periods=30),
            [None, "x"] * 15,
        ],
    )
    def test_a_column_that_is_not_numeric_is_named(self, column):
        X, u = example(30)
        frame = pd.DataFrame({"age": X[:, 0], "job": column})
        with pytest.raises(InvalidValueError, match="column 'job' of X is not numeric; encode it"):
            consistency(u, frame)

    def test_sparse_features_are_refused(self):
        with pytest.raises(InvalidValueError, match=r"X is sparse; pass X\.toarray\(\)"):
            consistency([0, 1], csr_array(np.eye(2)), neighbors=1)

    def test_an_array_of_text_names_the_column_by_number(self):
        with pytest.raises(InvalidValueError, match="column 1 of X is not numeric"):
            consistency([0, 1], np.array([[1, "a"], [2, "b"]], dtype=object), neighbors=1)

    def test_features(self):
        _, u = example(30)
        with pytest.raises(ShapeError, match=re.escape("(samples, features); got shape (30,)")):
            consistency(u, u)
        broken = np.ones((30, 2))
        broken[3, 1] = np.nan
        with pytest.raises(InvalidValueError, match="X of sample 3, feature 1 is nan"):
            consistency(u, broken)

    def test_values(self):
        X, u = example(30)
        with pytest.raises(ShapeError, match="values is empty"):
            consistency({}, X)
        with pytest.raises(ShapeError, match=re.escape("values must be one value for each of 30")):
            consistency(u[:5], X)
        with pytest.raises(ShapeError, match=re.escape("values['e'] must be one value")):
            consistency({"e": X}, X)
        with pytest.raises(InvalidValueError, match=re.escape("values['e'] of sample 2 is nan")):
            consistency({"e": np.where(np.arange(30) == 2, np.nan, u)}, X)
        with pytest.raises(InvalidValueError, match="values of sample 1 is None, but others are"):
            consistency(np.array(["a", None] * 15, dtype=object), X)
        with pytest.raises(InvalidValueError, match="must be real numbers"):
            consistency(u + 1j, X)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"neighbors": 30}, "neighbors must be at most 29, the number of other samples"),
            ({"neighbors": 0}, "neighbors must be a whole number of at least 1; got 0"),
            ({"neighbors": True}, "neighbors must be a whole number"),
            ({"queries": 0}, "queries must be a whole number of at least 1"),
            ({"queries": 2.5}, "queries must be a whole number of at least 1"),
            ({"resamples": -1}, "resamples must be a whole number of at least 0"),
            ({"confidence": 95}, "confidence must be a number strictly between 0 and 1"),
            ({"groups": ["a"]}, "must be one value for each of 30 samples"),
            ({"outcomes": ["a"]}, "must be one value for each of 30 samples"),
        ],
    )
    def test_options(self, options, message):
        X, u = example(30)
        with pytest.raises((OptionError, ShapeError), match=re.escape(message)):
            consistency(u, X, **options)
