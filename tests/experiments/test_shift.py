"""Shifts of inputs and of domains: closed forms, brute force, simulation of intervals."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, log_loss

import caveat
from caveat.exceptions import (
    FileFormatError,
    InvalidValueError,
    OptionError,
    ShapeError,
    UnsupportedPredictionError,
)
from caveat.experiments import (
    DomainShift,
    ShiftCurves,
    domain_shift,
    gaussian_noise,
    shift_curves,
)
from caveat.experiments._shift_quantities import mean_replicates
from caveat.resampling import make_plan

WINE, Y = load_wine(return_X_y=True)
FOREST = RandomForestClassifier(n_estimators=20, min_samples_leaf=3, random_state=0)
FOREST.fit(WINE[::2], Y[::2])
X, TRUTH = WINE[1::2], Y[1::2]


def spread(variances, samples, members=1):
    return np.broadcast_to(np.array(variances, dtype=float), (members, samples, 2))


class TestNoise:
    def test_in_units_of_each_feature(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20_000, 3)) * [1, 100, 0]
        noise = gaussian_noise(X, 0.5, np.random.default_rng(1)) - X
        spread = noise.std(axis=0)
        # The standard error of a standard deviation is sigma / sqrt(2 n).
        np.testing.assert_allclose(spread[:2] / X.std(axis=0)[:2], 0.5, rtol=4.5 / 200)
        assert spread[2] == 0

    def test_nothing_at_strength_0(self):
        np.testing.assert_array_equal(gaussian_noise(X, 0, np.random.default_rng(0)), X)

    def test_kinds(self):
        rng = np.random.default_rng
        frame = pd.DataFrame(X[:, :2], columns=["a", "b"], index=np.arange(len(X)) + 7)
        noisy = gaussian_noise(frame, 1, rng(0))
        assert list(noisy.columns) == ["a", "b"]
        assert noisy.index.equals(frame.index)
        np.testing.assert_array_equal(noisy.to_numpy(), gaussian_noise(X[:, :2], 1, rng(0)))
        images = np.zeros((4, 1, 2, 2), dtype=np.float32)
        images[0] = 1
        assert gaussian_noise(images, 1, rng(0)).dtype == np.float32
        assert gaussian_noise(images, 1, rng(0)).shape == images.shape
        assert gaussian_noise(np.arange(4)[:, None], 1, rng(0)).dtype == np.float64

    def test_words(self):
        with pytest.raises(InvalidValueError, match="X must hold numbers alone"):
            gaussian_noise(np.array([["a"], ["b"]]), 1, np.random.default_rng(0))


class TestCurves:
    def test_a_line_that_is_shifted(self):
        """The prediction is x itself: after adding s, every error is s and nothing else changes."""
        x = np.linspace(-1, 1, 50)[:, None]
        members = np.array([[-0.5], [0.5]])

        def model(X):
            return caveat.Gaussian.from_members(X[:, 0] + members, 2.0)

        result = shift_curves(
            model,
            x,
            x[:, 0],
            corruption=lambda X, strength, rng: X + strength,
            strengths=[0, 1, 3],
            random_state=0,
        )
        assert result.strengths == (0.0, 1.0, 3.0)
        np.testing.assert_allclose(result.curve("mean_absolute_error"), [[0, 1, 3]] * 3, atol=1e-12)
        np.testing.assert_allclose(result.curve("aleatoric"), 2)
        np.testing.assert_allclose(result.curve("epistemic"), 0.25)
        np.testing.assert_allclose(result.curve("total")[0], 2.25)
        assert result.corruption == "<lambda>"

    def test_by_hand_for_a_forest(self):
        result = shift_curves(FOREST, X, TRUTH, strengths=[0, 1], resamples=50, random_state=3)
        seed = int(np.random.default_rng(3).integers(2**31))
        for place, strength in enumerate(result.strengths):
            noisy = gaussian_noise(X, strength, np.random.default_rng(seed))
            p = FOREST.predict_proba(noisy)
            accuracy, low, high = result.curve("accuracy_score")[:, place]
            assert accuracy == pytest.approx(accuracy_score(TRUTH, FOREST.predict(noisy)))
            assert low <= accuracy <= high
            loss = result.curve("negative_log_likelihood_loss")[0, place]
            # Probabilities of 0 are cut at other places.
            if (p[np.arange(len(p)), TRUTH] > 0).all():
                assert loss == pytest.approx(log_loss(TRUTH, p), rel=1e-6)
            tree = np.array([t.predict_proba(noisy) for t in FOREST.estimators_])
            with np.errstate(divide="ignore", invalid="ignore"):
                inner = -np.nansum(tree * np.log(tree), axis=-1).mean(axis=0)
            assert result.curve("aleatoric")[0, place] == pytest.approx(inner.mean())

    def test_the_same_draw_for_every_strength(self):
        drawn = []

        def keep(X, strength, rng):
            drawn.append(rng.random(3).tolist())
            return X

        shift_curves(FOREST, X, TRUTH, corruption=keep, strengths=[0, 1, 2], resamples=0)
        assert drawn[0] == drawn[1] == drawn[2]

    def test_seeds(self):
        first, again, other = (
            shift_curves(FOREST, X, TRUTH, resamples=50, random_state=seed).to_json()
            for seed in (1, 1, 2)
        )
        assert first == again
        assert first != other

    def test_without_resamples(self):
        result = shift_curves(FOREST, X, TRUTH, metrics=["accuracy"], strengths=[0], resamples=0)
        assert np.isnan(result.curve("accuracy_score")[1:]).all()
        assert "nan" not in repr(result).lower()
        rows = json.loads(result.to_json())["rows"]
        assert rows[0]["low"] is None
        assert [row["quantity"] for row in rows] == [
            "accuracy_score", "aleatoric", "epistemic", "total",
        ]  # fmt: skip

    def test_json_and_frame(self):
        result = shift_curves(FOREST, X, TRUTH, strengths=[0, 1], resamples=20, random_state=0)
        again = ShiftCurves.from_json(result.to_json())
        assert again.to_json() == result.to_json()
        assert repr(again.rows) == repr(result.rows)
        assert (again.strengths, again.confidence) == (result.strengths, result.confidence)
        assert repr(again) == repr(result)
        assert len(result.to_frame()) == len(result) == len(list(result))

    def test_what_has_a_predict_distribution(self):
        wrapped = caveat.from_sklearn(FOREST)
        first, second = (
            shift_curves(model, X, TRUTH, strengths=[0, 1], resamples=0, random_state=0).to_json()
            for model in (wrapped, FOREST)
        )
        assert first == second

    def test_a_blank_cell_has_a_note(self):
        def model(X):
            return caveat.Categorical(np.stack([X[:, 0] > 0, X[:, 0] <= 0], axis=1).astype(float))

        X = np.linspace(-1, 1.2, 40)[:, None]
        result = shift_curves(
            model, X, X[:, 0] <= 0, strengths=[0, 1, 2], resamples=0, random_state=0
        )
        text = " ".join(repr(result).replace("│", " ").split())
        assert "negative_log_likelihood_loss 0 at 1, 2: infinite here" in text
        assert "error_drop_score 1 1 at 0: undefined here" in text
        assert "<td>at 1, 2: infinite here</td>" in result._repr_html_()
        plain = shift_curves(model, X, X[:, 0] <= 0, metrics=["accuracy"], resamples=0)
        assert "note" not in repr(plain)

    def test_targets_and_options(self):
        rng = np.random.default_rng(0)
        y = rng.normal(size=(30, 2))

        def model(X):
            return caveat.Gaussian(np.zeros((1, 30, 2)), spread([1, 4], 30), targets=["a", "b"])

        result = shift_curves(model, y, y, strengths=[0, 1], resamples=0)
        assert result.curve("aleatoric")[0].tolist() == [1, 1]
        assert result.curve("aleatoric", target="b")[0].tolist() == [4, 4]
        covered = result.curve("interval_coverage", "coverage=0.9545", "a")[0]
        assert covered[0] == (np.abs(y[:, 0]) <= 2.0000).mean()
        with pytest.raises(OptionError, match="there is no curve of quantity 'aleatoric' with"):
            result.curve("aleatoric", target="c")
        with pytest.raises(OptionError, match="known are mean_absolute_error, "):
            result.curve("accuracy_score")

    def test_a_prediction_that_has_no_split(self):
        y = np.arange(20.0)

        def model(X):
            return caveat.Interval(X[:, 0] - 1, X[:, 0] + 1, coverage=0.9)

        result = shift_curves(model, y[:, None], y, strengths=[0], resamples=0)
        assert result.matching(kind="uncertainty") == []
        assert result.curve("interval_coverage", "coverage=0.9")[0].tolist() == [1]
        with pytest.raises(UnsupportedPredictionError, match="splits a Gaussian"):
            shift_curves(model, y[:, None], y, decomposition="total_variance", strengths=[0])

    def test_metrics_that_come_and_go(self):
        """A model whose variance is 0 without a shift supports fewer metrics there."""
        y = np.arange(10.0)

        def model(X):
            return caveat.Gaussian(y + 1, np.full(10, X.std()))

        result = shift_curves(
            model, np.zeros((10, 1)), y, corruption=lambda X, s, rng: X + s * y[:, None],
            strengths=[0, 1], resamples=0,
        )  # fmt: skip
        assert len(result.matching(quantity="sharpness")) == 1
        assert len(result.select(quantity="mean_absolute_error")) == 2
        assert "sharpness" in repr(result)
        np.testing.assert_array_equal(np.isnan(result.curve("sharpness")[0]), [True, False])

    def test_frame_and_html(self):
        def shift(X, strength, rng):
            return X

        shift.__name__ = "<b>_x"
        result = shift_curves(
            FOREST, X, TRUTH, corruption=shift, metrics=["ece"], resamples=20, random_state=0
        )
        frame = result.to_frame()
        assert len(frame) == len(result) == len(list(result)) == 4 * 5
        assert "&lt;b&gt; x" in result._repr_html_()
        assert "<b>" not in result._repr_html_()
        assert "0.25" in repr(result)
        assert "have the 95% intervals" in repr(result)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"strengths": []}, "strengths must be a sequence of numbers; got []"),
            ({"strengths": ["a"]}, "strengths must be a sequence of numbers; got ['a']"),
            ({"strengths": [0, np.nan]}, "strengths must be a sequence of numbers"),
            ({"strengths": 1}, "strengths must be a sequence of numbers; got 1"),
            ({"strengths": [-1, 0]}, "strengths must be at least 0, each larger"),
            ({"strengths": [0, 0]}, "strengths must be at least 0, each larger"),
            ({"corruption": 3}, "corruption must be a function of X, strength and rng; got 3"),
            ({"confidence": 2}, "confidence must be a number strictly between 0 and 1; got 2"),
            ({"resamples": -1}, "resamples must be a whole number of at least 0; got -1"),
            ({"model": 3}, "model must be fitted and have predict_distribution"),
            ({"model": RandomForestClassifier}, "model must be a fitted model, not a class"),
        ],
    )
    def test_bad_input(self, arguments, message):
        given = {"model": FOREST, **arguments}
        with pytest.raises(OptionError, match=re.escape(message)):
            shift_curves(given.pop("model"), X, TRUTH, **given)

    def test_a_function_that_returns_no_prediction(self):
        with pytest.raises(UnsupportedPredictionError, match="expected a prediction"):
            shift_curves(lambda X: X, X, TRUTH)


def test_replicates_of_a_mean_are_weighted_means():
    values = np.random.default_rng(0).random(5000)  # blocks of rows, not rows
    plan = make_plan(5000, resamples=5, random_state=0)
    found = mean_replicates(values, plan)
    expected = [np.average(values, weights=plan.weights(i)) for i in range(5)]
    np.testing.assert_allclose(found.values, expected)
    assert found.center == pytest.approx(values.mean())


def gaussians(n_in, n_out, spread=3.0, variance=4.0, rng=None):
    """Members that spread more out of domain, with more noise there; truths drawn from them."""
    rng = np.random.default_rng(0) if rng is None else rng
    pairs = []
    for number, scale, noise in ((n_in, 1.0, 1.0), (n_out, spread, variance)):
        members = rng.normal(size=(6, number, 1)) * scale
        y = rng.normal(size=number) * np.sqrt(noise)
        pairs += [caveat.Gaussian(members, noise), y]
    return pairs


class TestDomain:
    def test_values_by_hand(self):
        inside, y_in, outside, y_out = gaussians(400, 300)
        result = domain_shift(inside, y_in, outside, y_out, resamples=200, random_state=0)
        (mae,) = result.select(quantity="mean_absolute_error")
        assert mae.inside == pytest.approx(np.abs(y_in - inside.mean[..., 0].mean(axis=0)).mean())
        assert mae.outside == pytest.approx(
            np.abs(y_out - outside.mean[..., 0].mean(axis=0)).mean()
        )
        assert mae.ratio == pytest.approx(mae.outside / mae.inside)
        assert mae.gap == pytest.approx(mae.outside - mae.inside)
        assert mae.ratio_low < mae.ratio < mae.ratio_high
        assert mae.gap_low < mae.gap < mae.gap_high
        assert mae.inside_low < mae.inside < mae.inside_high
        (aleatoric,) = result.select(quantity="aleatoric")
        assert (aleatoric.inside, aleatoric.outside, aleatoric.ratio) == (1, 4, 4)
        (epistemic,) = result.select(quantity="epistemic")
        assert epistemic.inside == pytest.approx(inside.mean[..., 0].var(axis=0).mean())
        assert epistemic.outside == pytest.approx(outside.mean[..., 0].var(axis=0).mean())
        more, error = result.growth
        assert more.value == pytest.approx(epistemic.ratio / 4)
        assert more.answer == "yes"
        squared = [
            np.mean((y - p.mean[..., 0].mean(axis=0)) ** 2)
            for p, y in ((inside, y_in), (outside, y_out))
        ]
        (total,) = result.select(quantity="total")
        assert error.value == pytest.approx(total.ratio / (squared[1] / squared[0]))

    @pytest.mark.parametrize(
        ("spread", "variance", "answer"), [(3.0, 4.0, "yes"), (2.0, 4.0, "cannot tell"), (1.0, 4.0, "no")]
    )  # fmt: skip
    def test_which_grows_more(self, spread, variance, answer):
        pairs = gaussians(300, 300, spread, variance)
        growth = domain_shift(*pairs, resamples=300, random_state=0).growth[0]
        assert growth.answer == answer
        assert growth.question == "does epistemic uncertainty grow more than aleatoric?"
        assert growth.text.startswith("epistemic uncertainty is ")
        assert "a factor of " in growth.text
        assert "(95% interval " in growth.text

    @pytest.mark.parametrize(("scale", "answer"), [(1, "cannot tell"), (4, "less"), (0.3, "more")])
    def test_does_uncertainty_keep_up_with_the_error(self, scale, answer):
        rng = np.random.default_rng(1)
        inside, y_in = caveat.Gaussian(np.zeros(800), 1.0), rng.normal(size=800)
        outside, y_out = caveat.Gaussian(np.zeros(800), 9.0), 3 * scale * rng.normal(size=800)
        growth = domain_shift(inside, y_in, outside, y_out, resamples=300, random_state=0).growth
        # One member: nothing epistemic.
        assert growth[0].answer == "undefined"
        assert growth[0].text == "cannot be said: epistemic uncertainty is 0 in domain"
        assert growth[1].answer == answer

    def test_samples_are_independent(self):
        """The variance of a log ratio is the sum of both: by a delta method."""
        rng = np.random.default_rng(2)
        pairs, spreads, errors = [], [], []
        for size, scale in ((1500, 1.0), (900, 3.0)):
            members = scale * rng.normal(size=(4, size, 1))
            y = scale * rng.normal(size=size)
            pairs += [caveat.Gaussian(members, np.ones_like(members)), y]
            spreads.append(members[..., 0].var(axis=0))
            errors.append(np.abs(y - members[..., 0].mean(axis=0)))
        result = domain_shift(*pairs, metrics=["mae"], resamples=4000, random_state=0)
        for name, parts in (("mean_absolute_error", errors), ("epistemic", spreads)):
            (row,) = result.select(quantity=name)
            variance = sum(part.var() / len(part) / part.mean() ** 2 for part in parts)
            half = 1.96 * np.sqrt(variance)
            # An end of 4,000 resamples varies by 2.2 % of the half width; five times that are allowed.
            assert np.log(row.ratio_high / row.ratio) == pytest.approx(half, rel=0.12), name
            assert np.log(row.ratio / row.ratio_low) == pytest.approx(half, rel=0.12), name
            half = 1.96 * np.sqrt(sum(part.var() / len(part) for part in parts))
            assert row.gap_high - row.gap_low == pytest.approx(2 * half, rel=0.08), name

    def test_classes(self):
        rng = np.random.default_rng(0)
        y_in, y_out = rng.integers(2, size=(2, 500))
        sure = np.where(y_in, 0.9, 0.1) + rng.normal(size=(5, 500)) * 0.02
        unsure = 0.5 + rng.normal(size=(5, 500)) * 0.1
        inside, outside = (
            caveat.Categorical.from_binary(np.clip(p, 0.01, 0.99)) for p in (sure, unsure)
        )
        result = domain_shift(inside, y_in, outside, y_out, resamples=100, random_state=0)
        (accuracy,) = result.select(quantity="accuracy_score")
        assert accuracy.inside == 1
        assert accuracy.outside == pytest.approx(
            np.mean((outside.mean[:, 1] > 0.5) == y_out), abs=1e-12
        )
        assert result.growth[0].answer == "yes"
        assert result.growth[1].answer == "undefined"
        expected = "cannot be said: the share of wrong predictions is 0 in domain"
        assert result.growth[1].text == expected
        notes = {row.quantity: row.note for row in result}
        assert notes["confidence_oracle_area_error"] == "no ratio: it is 0 in domain"
        back = domain_shift(outside, y_out, inside, y_in, resamples=100, random_state=0)
        expected = "cannot be said: the share of wrong predictions is 0 out of domain"
        assert back.growth[1].text == expected
        assert back.growth[0].answer == "no"

    def test_binned_errors_have_intervals_that_may_go_on(self):
        rng = np.random.default_rng(0)
        p = rng.random(400)
        y = (rng.random(400) < p).astype(int)
        one = caveat.Categorical.from_binary(p)
        result = domain_shift(one, y, one, y, metrics=["ece"], resamples=200, random_state=0)
        (row,) = result.select(kind="metric")
        assert row.ratio == 1
        assert row.inside_low == 0
        assert row.ratio_high == np.inf
        assert "inf" not in repr(result)
        assert '"inf"' in result.to_json()
        again = DomainShift.from_json(result.to_json())
        assert again.select(kind="metric")[0].ratio_high == np.inf

    def test_what_can_be_negative_has_no_ratio(self):
        pairs = gaussians(50, 50)
        result = domain_shift(*pairs, metrics=["nll", "spearman"], resamples=50, random_state=0)
        for row in result.select(kind="metric"):
            assert np.isnan(row.ratio)
            assert row.note == "no ratio: it can be negative"
            assert row.gap_low <= row.gap <= row.gap_high
        assert "nan" not in repr(result).lower()

    def test_infinite_divergences(self):
        sure = caveat.Categorical(np.array([np.eye(2)[[0, 1]], np.eye(2)[[1, 1]]]))
        fine = caveat.Categorical([[[0.4, 0.6], [0.3, 0.7]], [[0.6, 0.4], [0.4, 0.6]]])
        options = {"metrics": ["accuracy"], "decomposition": "kl", "random_state": 0}
        for pair in ((sure, fine), (fine, sure)):
            result = domain_shift(pair[0], [0, 1], pair[1], [0, 1], **options)
            row = result.select(quantity="epistemic")[0]
            assert np.isnan(row.ratio)
            assert row.note == "undefined: infinite for 1 samples"
            assert result.growth[0].text == (
                "cannot be said: epistemic uncertainty is infinite for some samples"
            )

    def test_undefined_metrics_say_so(self):
        one = caveat.Categorical([[0.4, 0.6], [0.3, 0.7], [0.2, 0.8]])
        result = domain_shift(one, [1, 1, 1], one, [1, 1, 0], metrics=["auroc_error"])
        (row,) = result.select(kind="metric")
        assert np.isnan(row.inside)
        assert row.note == "undefined here"

    def test_infinite_metrics_say_so(self):
        sure, fine = caveat.Categorical([[1.0, 0.0]] * 3), caveat.Categorical([[0.9, 0.1]] * 3)
        result = domain_shift(fine, [0, 0, 0], sure, [1, 1, 1], metrics=["nll"], random_state=0)
        (row,) = result.select(kind="metric")
        assert np.isnan([row.outside, row.ratio, row.gap, row.ratio_low]).all()
        assert row.inside == pytest.approx(-np.log(0.9))
        assert row.note == "infinite here"
        assert "inf" not in repr(result).replace("infinite", "").replace("information", "")

    def test_metrics_that_one_side_lacks(self):
        y = np.arange(5.0)
        points, spreads = caveat.Gaussian(y, 0.0), caveat.Gaussian(y, 1.0)
        for one, other in ((points, spreads), (spreads, points)):
            result = domain_shift(one, y, other, y, resamples=0)
            assert result.matching(quantity="sharpness") == []
            assert len(result.select(quantity="mean_absolute_error")) == 1

    def test_of_two_models_nothing_is_answered(self):
        pairs = gaussians(300, 300)
        one, two = (
            domain_shift(*pairs, one_model=m, resamples=50, random_state=0) for m in (True, False)
        )
        assert [growth.answer for growth in two.growth] == ["open", "open"]
        for growth, same in zip(two.growth, one.growth, strict=True):
            assert (growth.low, growth.high) == pytest.approx((same.low, same.high))
            assert "another split or training gives another factor" in growth.text
        assert "of these two models alone" in repr(two)
        assert "of these two" not in repr(one)
        with pytest.raises(OptionError, match="one_model must be True or False"):
            domain_shift(*pairs, one_model=2)

    def test_without_resamples(self):
        result = domain_shift(*gaussians(50, 40), resamples=0)
        assert {growth.answer for growth in result.growth} == {"no interval"}
        assert all(np.isnan(row.ratio_low) for row in result)
        assert "nan" not in repr(result).lower()

    def test_targets(self):
        rng = np.random.default_rng(0)
        means, y = rng.normal(size=(4, 60, 2)), rng.normal(size=(60, 2))
        one = caveat.Gaussian(means, spread([1, 2], 60, 4), targets=["a", "<b>"])
        two = caveat.Gaussian(3 * means, spread([1, 8], 60, 4), targets=["a", "<b>"])
        result = domain_shift(one, y, two, y, resamples=50, random_state=0)
        assert [growth.target for growth in result.growth] == ["a", "a", "<b>", "<b>"]
        rows = result.select(quantity="aleatoric")
        assert [(row.target, row.ratio) for row in rows] == [("a", 1), ("<b>", 4)]
        assert result.select(quantity="epistemic")[0].ratio == pytest.approx(9)
        assert result.growth[0].value == pytest.approx(9)
        assert result.growth[2].value == pytest.approx(9 / 4)
        html = result._repr_html_()
        assert "&lt;b&gt;" in html
        assert "<b>" not in html
        other = caveat.Gaussian(means, 1.0, targets=["a", "c"])
        with pytest.raises(
            ShapeError, match="prediction_in has the targets a, <b>, prediction_out"
        ):
            domain_shift(one, y, other, y)

    def test_no_split_no_growth(self):
        y = np.arange(30.0)
        one = caveat.Interval(y - 1, y + 1, coverage=0.9)
        result = domain_shift(one, y, one, y, resamples=0)
        assert result.growth == ()
        assert result.matching(kind="uncertainty") == []

    def test_json_and_frame(self):
        result = domain_shift(*gaussians(50, 40), resamples=20, random_state=0)
        content = json.loads(result.to_json())
        assert len(content["rows"]) == len(result) == len(result.to_frame())
        assert [growth["answer"] for growth in content["growth"]] == [
            growth.answer for growth in result.growth
        ]
        again = DomainShift.from_json(result.to_json())
        assert isinstance(result, DomainShift)
        assert repr(again.rows) == repr(result.rows)  # NaN is not equal to itself
        assert (again.growth, repr(again)) == (result.growth, repr(result))
        with pytest.raises(FileFormatError, match=r"not what ShiftCurves.to_json writes; it has"):
            ShiftCurves.from_json(result.to_json())
        assert "50 samples in domain, 40 out" in repr(result)

    def test_seeds(self):
        pairs = gaussians(50, 40)
        first, again, other = (
            domain_shift(*pairs, resamples=20, random_state=seed).to_json() for seed in (1, 1, 2)
        )
        assert first == again
        assert first != other

    def test_bad_input(self):
        inside, y_in, _, _ = gaussians(50, 40)
        with pytest.raises(
            UnsupportedPredictionError, match="is a Gaussian and prediction_out a C"
        ):
            domain_shift(inside, y_in, caveat.Categorical([[0.5, 0.5]]), [0])
        with pytest.raises(OptionError, match="confidence must be a number strictly"):
            domain_shift(inside, y_in, inside, y_in, confidence=0)
        with pytest.raises(UnsupportedPredictionError, match="expected a prediction"):
            domain_shift(y_in, y_in, y_in, y_in)


def test_the_interval_of_the_growth_covers():
    """200 draws in which epistemic and aleatoric grow alike: 95 % intervals hold 1."""
    rng = np.random.default_rng(0)
    hits = 0
    for draw in range(200):
        pairs = []
        for scale in (1.0, 2.0):
            members = rng.normal(size=(4, 80, 1)) * np.sqrt(scale)
            noise = scale * rng.chisquare(3, size=(4, 80, 1))
            pairs += [caveat.Gaussian(members, noise), rng.normal(size=80)]
        options = {"metrics": ["mae"], "resamples": 200, "random_state": draw}
        growth = domain_shift(*pairs, **options).growth[0]
        hits += growth.low <= 1 <= growth.high
    # Binomial(200, 0.95) is below 179 with a chance of 0.001.
    assert hits >= 179
