"""What a repair says of itself: what changed, what it cost, what it cannot promise."""

import numpy as np
import pytest
from scipy.special import expit, softmax

import caveat
from caveat.repairing.changes import Change, change_statements, changes_of, learned_words

RNG = np.random.default_rng(0)


def risk(samples=800, factor=3.0, shift=0.0):
    z = np.random.default_rng(1).normal(size=samples)
    y = (np.random.default_rng(2).random(samples) < expit(z + shift)).astype(int)
    return expit(factor * z), y


def texts(made):
    return [statement.text for statement in made.summary()]


def test_a_temperature_keeps_every_class():
    p, y = risk()
    made = caveat.repair(p, y, candidates=["ts"], random_state=0)
    why, does, accuracy, sharp, cost, cannot = texts(made)
    assert why == made.why
    assert does == (
        "What it does: One temperature with the least log loss; the predicted class stays. "
        f"Learned: temperature {made.recalibrator.temperature_:.3g}."
    )
    share = np.mean((p > 0.5) == y)
    assert accuracy == f"Accuracy stays at {share:.1%}: no predicted class changes.".replace(
        "%", " %"
    )
    assert sharp.startswith("Predictions become less sharp: the mean confidence goes from ")
    assert cost == "It cost 800 samples: they have served the repair, so judge it on others."
    assert cannot.startswith("It cannot repair this: a miscalibration that differs between classes")
    assert cannot.endswith("(caveat.warn_if_shifted compares samples).")
    assert str(made.summary()).endswith("Next: plot the map, and evaluate new samples.")


def test_changes_are_those_of_cross_fitted_predictions():
    """Against counts by hand; with weights."""
    p = caveat.Categorical.from_binary([0.2, 0.6, 0.7, 0.9])
    q = caveat.Categorical.from_binary([0.3, 0.4, 0.6, 0.8])
    weight = np.array([1.0, 2.0, 3.0, 4.0])
    accuracy, confidence, changed = changes_of(p, q, np.array([0, 0, 1, 0]), weight)
    assert accuracy == Change("accuracy", pytest.approx(0.4), pytest.approx(0.6))
    assert confidence.before == pytest.approx((0.8 + 2 * 0.6 + 3 * 0.7 + 4 * 0.9) / 10)
    assert confidence.after == pytest.approx((0.7 + 2 * 0.6 + 3 * 0.6 + 4 * 0.8) / 10)
    assert changed == Change("changed", 0.0, pytest.approx(0.2))
    one, two = change_statements((accuracy, confidence, changed))
    assert (
        one.text == "Accuracy goes from 40.0 % to 60.0 %; 20.0 % of the predicted classes change."
    )
    assert (one.level, two.level) == ("info", "info")
    worse = change_statements((Change("accuracy", 0.6, 0.4), confidence, changed))
    assert worse[0].level == "bad"


def test_a_repair_that_sharpens():
    p, y = risk(factor=0.3)
    made = caveat.repair(p, y, candidates=["ts"], random_state=0)
    assert texts(made)[3].startswith("Predictions become more sharp")


@pytest.mark.parametrize("kind", ["Gaussian", "Quantiles", "Interval"])
def test_widths_of_numbers(kind):
    mean = RNG.normal(size=500)
    y = mean + 2 * RNG.normal(size=500)
    gaussian = caveat.Gaussian(mean, 1.0)
    prediction = {
        "Gaussian": gaussian,
        "Quantiles": gaussian.to_quantiles([0.05, 0.25, 0.5, 0.75, 0.95]),
        "Interval": gaussian.interval(0.9),
    }[kind]
    made = caveat.repair(prediction, y, random_state=0)
    (change,) = made.changes
    assert change.before == pytest.approx(2 * 1.6449, rel=1e-3)
    assert change.after / change.before == pytest.approx(2, rel=0.2)
    assert f"become {change.after / change.before:.2g} times as wide" in texts(made)[2]


def test_widths_of_several_targets():
    mean = RNG.normal(size=(500, 2))
    y = mean + [2.0, 1.0] * RNG.normal(size=(500, 2))
    made = caveat.repair(caveat.Gaussian(mean, 1.0, targets=["a", "b"]), y, random_state=0)
    assert [change.target for change in made.changes] == ["a", "b"]
    assert texts(made)[2].startswith("Intervals of a become")


def test_intervals_of_no_width():
    (statement,) = change_statements((Change("width", 0.0, 1.0),))
    assert "become inf times as wide" in statement.text


def test_left_as_it_is():
    p, y = risk(factor=1.0)
    made = caveat.repair(p, y, random_state=0)
    assert texts(made)[1:] == [
        "Nothing changes and nothing is lost: transform returns the prediction itself."
    ]


def test_groups_members_and_recalibrators_of_your_own():
    p, y = risk()
    sex = np.array(["f", "m"])[np.arange(800) % 2]
    made = caveat.repair(p, y, groups=sex, candidates=["ts"], random_state=0)
    fitted = caveat.TemperatureScaling().fit(p, y, groups=sex)
    assert learned_words(fitted).startswith("f: temperature ")
    assert made.summary()

    class Own(caveat.IsotonicCalibration):
        pass

    own = caveat.Repair((), "Mine.", Own().fit(p, y), False, "brier_loss", "", samples=800)
    assert texts(own)[1].startswith("It cost 800 samples")
    assert texts(own)[2].startswith("It holds for samples like these")
    by_group = Own().fit(p, y, groups=sex)
    assert learned_words(by_group) == ""


def test_logits_and_files(tmp_path):
    z = RNG.normal(size=(300, 3))
    y = (z + RNG.gumbel(size=(300, 3))).argmax(axis=1)
    logits = caveat.GaussianLogits(4 * z, np.full(z.shape, 0.1))
    made = caveat.repair(logits, y, random_state=0)
    assert len(made.changes) == 3
    made.save(tmp_path / "repair.caveat")
    assert texts(caveat.load(tmp_path / "repair.caveat")) == texts(made)
    text = (tmp_path / "repair.caveat").read_text().replace('"changes"', '"other"')
    (tmp_path / "old.caveat").write_text(text)
    assert caveat.load(tmp_path / "old.caveat").changes == ()


class TestCalibrator:
    def test_is_the_choice_of_repair(self):
        p, y = risk()
        auto = caveat.Calibrator("auto").fit(p, y)
        made = caveat.repair(p, y, random_state=0)
        assert auto.repair_.why == made.why
        assert auto.transform(p) == made.transform(p)
        assert auto.repair_.summary().statements[0].text == made.why

    def test_may_leave_it(self):
        p, y = risk(factor=1.0)
        auto = caveat.Calibrator().fit(p, y)
        assert auto.recalibrator_ is None
        np.testing.assert_array_equal(auto.transform(p).mean[:, 1], p)

    @pytest.mark.parametrize("method", ["beta", caveat.BetaCalibration()])
    def test_or_does_what_is_asked(self, method):
        p, y = risk()
        made = caveat.Calibrator(method).fit(p, y)
        assert made.repair_ is None
        assert made.transform(p) == caveat.BetaCalibration().fit_transform(p, y)
        assert isinstance(caveat.Calibrator("va").fit_transform(p, y), caveat.Categorical)

    def test_labels_weights_and_groups(self):
        p, y = risk()
        named = caveat.Categorical.from_binary(p, classes=["no", "yes"])
        truth = np.array(["no", "yes"])[y]
        sex = np.array(["f", "m"])[np.arange(800) % 2]
        auto = caveat.Calibrator(candidates=["ts"]).fit(
            named, truth, groups=sex, sample_weight=np.ones(800)
        )
        assert set(auto.groups_) == {"f", "m"}
        assert auto.transform(named, groups=sex).classes.tolist() == ["no", "yes"]

    def test_groups_that_choose_differently_are_joined(self):
        z = RNG.normal(size=(2, 1200, 3)) * 0.1 + RNG.normal(size=(1200, 3))
        y = (z[0] + RNG.gumbel(size=(1200, 3))).argmax(axis=1)
        sex = np.array(["f", "m"])[np.arange(1200) % 2]
        off = np.where((sex == "f")[:, None], 4 * z, z)
        members = caveat.Categorical(softmax(off, axis=-1))
        auto = caveat.Calibrator(candidates=["ts"]).fit(members, y, groups=sex)
        chosen = {name: part.recalibrator_ is not None for name, part in auto.groups_.items()}
        assert chosen == {"f": True, "m": False}
        assert auto.transform(members, groups=sex).members == 1
        logits = caveat.GaussianLogits(off[0], np.full(off[0].shape, 0.01))
        auto = caveat.Calibrator(candidates=["ts", "platt"]).fit(logits, y, groups=sex)
        assert isinstance(auto.transform(logits, groups=sex), caveat.Categorical)

    def test_numbers(self):
        mean = RNG.normal(size=400)
        y = mean + 2 * RNG.normal(size=400)
        auto = caveat.Calibrator().fit(caveat.Gaussian(mean, 1.0), y)
        assert type(auto.recalibrator_).__name__ == "VarianceScaling"
        assert isinstance(auto.transform(caveat.Gaussian(mean, 1.0)), caveat.Gaussian)

    def test_bad_methods(self):
        p, y = risk(100)
        with pytest.raises(caveat.exceptions.OptionError, match="or its name; got 3"):
            caveat.Calibrator(3).fit(p, y)
        with pytest.raises(caveat.exceptions.UnknownNameError, match="tempscale"):
            caveat.Calibrator("tempscale").fit(p, y)
