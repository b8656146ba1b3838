import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError


def data(samples=200, seed=0):
    """Scores with ties, and nulls that are rarer the larger the score."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.5, samples).round(2)
    return p, rng.random(samples) >= p


def by_brute_force(score, null, new, weight=None, own=None):
    weight = np.ones(len(score)) if weight is None else weight
    own = np.ones(len(new)) if own is None else own
    return np.array(
        [
            (weight[null & (score >= s)].sum() + w) / (weight.sum() + w)
            for s, w in zip(new, own, strict=True)
        ]
    )


class TestPValues:
    def test_by_brute_force(self):
        score, null = data()
        new = data(50, seed=1)[0]
        selection = caveat.ConformalSelection(0.1).fit(score, null).select(new)
        np.testing.assert_allclose(selection.p_values, by_brute_force(score, null, new))

    def test_outliers_are_by_crepes_too(self):
        """Without nulls all calibration samples are: p-values of conformal prediction."""
        from crepes.base import p_values_batch

        score, new = data()[0], data(50, seed=1)[0]
        found = caveat.ConformalSelection(0.2).fit(score).select(new)
        theirs = p_values_batch(score, new, smoothing=False)
        np.testing.assert_allclose(found.p_values, np.ravel(theirs))

    def test_weights(self):
        score, null = data()
        new = data(50, seed=1)[0]
        rng = np.random.default_rng(2)
        ratio, own = rng.random(200), rng.random(50) + 0.1
        method = caveat.ConformalSelection(0.1, dependence="any")
        selection = method.fit(score, null, shift=ratio).select(new, shift=own)
        expected = by_brute_force(score, null, new, ratio, own)
        np.testing.assert_allclose(selection.p_values, expected)
        assert "weighted by their likelihood ratios" in selection.guarantee
        assert method.effective_samples_ < 200


class TestSelection:
    def test_by_scipy(self):
        from scipy.stats import false_discovery_control

        score, null = data()
        new = data(100, seed=1)[0]
        for dependence, method in (("exchangeable", "bh"), ("any", "by")):
            fitted = caveat.ConformalSelection(0.2, dependence=dependence).fit(score, null)
            found = fitted.select(new)
            expected = false_discovery_control(found.p_values, method=method) <= 0.2
            np.testing.assert_array_equal(found.selected, expected)
        assert expected.any()
        assert repr(found) == (
            f"Selection: {expected.sum()} of 100 samples, false discovery rate 0.2"
        )
        assert (fitted.samples_, fitted.nulls_) == (200, null.sum())
        assert len(found) == 100

    def test_none(self):
        score, _ = data()
        fitted = caveat.ConformalSelection(0.1).fit(score, np.ones(200))
        assert not fitted.select(np.zeros(5)).selected.any()

    def test_words(self):
        selection = caveat.ConformalSelection(0.1).fit(*data()).select([0.5])
        assert selection.guarantee == (
            "On average over calibration sets and batches, at most 10 % of the selected samples "
            "are null, for new samples that are exchangeable with the calibration samples."
        )
        other = caveat.ConformalSelection(0.1, dependence="any").fit(*data()).select([0.5])
        assert "however they depend on each other." in other.guarantee

    def test_pickle(self):
        fitted = caveat.ConformalSelection(0.1).fit(*data())
        new = data(30, seed=1)[0]
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.select(new).selected, fitted.select(new).selected)


class TestGroups:
    def test_each_by_itself_and_its_price(self):
        score, null = data(400)
        group = np.where(np.arange(400) < 300, "a", "b")
        null = null | ((group == "b") & (np.arange(400) % 3 == 0))  # worse in b
        new, wards = data(200, seed=1)[0], np.where(np.arange(200) < 120, "a", "b")
        fitted = caveat.ConformalSelection(0.2).fit(score, null, groups=group)
        found = fitted.select(new, groups=wards)
        together = caveat.ConformalSelection(0.2).fit(score, null).select(new)
        for name, price in zip("ab", found.prices, strict=True):
            rows, old = wards == name, group == name
            alone = caveat.ConformalSelection(0.2).fit(score[old], null[old]).select(new[rows])
            np.testing.assert_array_equal(found.selected[rows], alone.selected)
            assert (price.group, price.samples) == (name, rows.sum())
            assert price.accepted == alone.selected.sum()
            assert price.together == together.selected[rows].sum()
        assert found.price_frame()["group"].tolist() == ["a", "b"]
        assert (
            f"change the number of samples selected from {together.selected.sum()} to "
            f"{found.selected.sum()}: a: {found.prices[0].accepted} of 120 samples ("
        ) in found.guarantee
        assert found.guarantee.startswith("In each group: On average over")

    def test_with_ratios(self):
        score, null = data()
        group, ratio = np.arange(200) % 2, np.random.default_rng(0).random(200) + 0.5
        fitted = caveat.ConformalSelection(0.1, dependence="any")
        fitted.fit(score, null, groups=group, shift=ratio)
        found = fitted.select([0.9, 0.8], groups=[0, 1], shift=[1.0, 2.0])
        for k in (0, 1):
            rows = group == k
            expected = by_brute_force(
                score[rows], null[rows], [[0.9], [0.8]][k], ratio[rows], [[1.0], [2.0]][k]
            )
            np.testing.assert_allclose(found.p_values[[k]], expected)

    def test_refused(self):
        score, null = data()
        fitted = caveat.ConformalSelection(0.1).fit(score, null, groups=["a"] * 200)
        with pytest.raises(OptionError, match="group 'b' had no samples in fit"):
            fitted.select([0.5], groups=["b"])
        with pytest.raises(OptionError, match="fit was given groups, so select needs them too"):
            fitted.select([0.5])
        with pytest.raises(
            InvalidValueError, match="group 'few': 3 calibration samples cannot sho"
        ):
            fitted.fit(score, null, groups=np.where(np.arange(200) < 3, "few", "many"))


class TestInput:
    @pytest.mark.parametrize(("rate", "least"), [(0.1, 9), (0.05, 19), (0.5, 1)])
    def test_too_few(self, rate, least):
        fitted = caveat.ConformalSelection(rate).fit(np.zeros(least), np.zeros(least))
        assert fitted.select([1.0]).selected.all()  # the smallest p-value just passes
        if least > 1:
            with pytest.raises(InvalidValueError, match=f"rate of {rate:g}: at least {least} are"):
                caveat.ConformalSelection(rate).fit(np.zeros(least - 1))

    def test_weights(self):
        score, null = data()
        with pytest.raises(OptionError, match='with shift use dependence="any"'):
            caveat.ConformalSelection(0.1).fit(score, null, shift=np.ones(200))
        method = caveat.ConformalSelection(0.1, dependence="any")
        method.fit(score, null, shift=np.ones(200))
        with pytest.raises(OptionError, match="give shift to both fit and select"):
            method.select([0.5])
        with pytest.raises(InvalidValueError, match="of test sample 0 is 0; it must be above 0"):
            method.select([0.5], shift=[0.0])
        ratio = np.full(200, 1e-9)
        ratio[0] = 1
        with pytest.raises(InvalidValueError, match="1 effective calibration samples"):
            method.fit(score, null, shift=ratio)

    def test_refused(self):
        score, null = data()
        with pytest.raises(ShapeError, match="null must be true or false for each of 200 samples"):
            caveat.ConformalSelection(0.1).fit(score, null[1:])
        with pytest.raises(InvalidValueError, match="null must be true or false for each sample"):
            caveat.ConformalSelection(0.1).fit(score, score)
        with pytest.raises(ShapeError, match=r"score must be one number for each sample; got shap"):
            caveat.ConformalSelection(0.1).fit(score[:, None], null)
        with pytest.raises(InvalidValueError, match="score of sample 0 is nan"):
            caveat.ConformalSelection(0.1).fit([np.nan] * 20)
        with pytest.raises(OptionError, match="rate must be a number strictly between 0 and 1"):
            caveat.ConformalSelection(1).fit(score)
        with pytest.raises(OptionError, match="dependence must be one of 'exchangeable', 'any'"):
            caveat.ConformalSelection(0.1, dependence="prds").fit(score)
        with pytest.raises(NotFittedError, match=r"call fit\(score, null\) first"):
            caveat.ConformalSelection(0.1).select(score)
