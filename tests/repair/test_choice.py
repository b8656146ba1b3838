"""The choice of a repair: known answers, what is refused, and what the sentence says."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax

import caveat
from caveat.exceptions import (
    InvalidValueError,
    OptionError,
    ShapeError,
    UnknownNameError,
    UnsupportedPredictionError,
)
from caveat.recalibration import TemperatureScaling
from caveat.repairing.folds import cross_fitted, fold_numbers


def risk(samples=600, seed=0, factor=1.0):
    """Probabilities of two classes that are ``factor`` times too sure, and the truth."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=samples)
    return expit(factor * z), (rng.random(samples) < expit(z)).astype(int)


def numbers(samples=400, seed=0, scale=1.0):
    """Means and true values that lie ``scale`` standard deviations around them."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=samples)
    return mean, mean + scale * rng.normal(size=samples)


def test_an_overconfident_model_gets_a_temperature():
    p, y = risk(factor=3.0)
    made = caveat.repair(p, y, random_state=0)
    assert made.chosen == "TemperatureScaling"
    assert made.recalibrator.temperature_ == pytest.approx(3, rel=0.25)  # known, 2 standard errors
    row = made.select(candidate="TemperatureScaling")[0]
    base = made.select(candidate="as it is")[0]
    assert row.chosen
    assert row.low > 0
    assert row.gain == pytest.approx(base.score - row.score)
    assert row.calibration_gain == pytest.approx(base.calibration - row.calibration)
    assert made.why.startswith("Temperature scaling lowers the log loss by 0.")
    assert "(95 % interval 0." in made.why
    assert "the positive calibration error falls from 0.1" in made.why
    assert str(made) == made.why


def test_cross_fitted_scores_are_those_of_folds_fitted_by_hand():
    p, y = risk(factor=3.0)
    prediction = caveat.Categorical.from_binary(p)
    fold = np.arange(len(y)) % 3
    made = cross_fitted(TemperatureScaling(), prediction, y, fold)
    expected = np.empty((len(y), 2))
    for k in range(3):
        fitted = TemperatureScaling().fit(p[fold != k], y[fold != k])
        expected[fold == k] = fitted.transform(p[fold == k]).mean
    np.testing.assert_allclose(made.mean, expected)


def test_the_score_in_the_table_is_the_metric_of_cross_fitted_predictions():
    from caveat.metrics import negative_log_likelihood_loss

    p, y = risk(factor=3.0)
    made = caveat.repair(p, y, candidates=["ts"], random_state=np.random.default_rng(5))
    rng = np.random.default_rng(5)
    rng.integers(2**63)
    fold = fold_numbers(len(y), 5, rng, None, [y])
    crossed = cross_fitted(TemperatureScaling(), caveat.Categorical.from_binary(p), y, fold)
    assert made.rows[1].score == pytest.approx(negative_log_likelihood_loss(y, crossed))


def test_a_calibrated_model_is_left():
    p, y = risk()
    made = caveat.repair(p, y, random_state=0)
    assert made.chosen is None
    assert made.recalibrator is None
    assert made.why.startswith(
        "Leave it: no repair lowers the log loss by more than chance; the be"
    )
    np.testing.assert_array_equal(made.transform(p).mean[:, 1], p)
    prediction = caveat.Categorical.from_binary(p)
    assert made.transform(prediction) is prediction


@pytest.mark.parametrize("samples", [2, 8, 49])
def test_few_samples_are_left(samples):
    p, y = risk(60, factor=5.0)
    y = np.where(np.arange(60) < 2, [0, 1] * 30, y)
    made = caveat.repair(p[:samples], y[:samples])
    assert made.why == (
        f"Leave it: {samples} samples are too few to choose a repair; 50 are needed."
    )
    assert len(made) == 0
    assert "too few" in repr(made)


def test_one_class_is_left():
    """Probabilities of 0 and 1 would have the best score on samples of one class."""
    made = caveat.repair(np.full(100, 0.3), np.zeros(100, int), random_state=0)
    assert made.why == "Leave it: all samples are of class=0, which tells nothing of the others."
    weighted = caveat.repair(
        np.full(100, 0.3), np.arange(100) % 2, sample_weight=np.arange(100) % 2, random_state=0
    )
    assert (
        weighted.why == "Leave it: all samples are of class=1, which tells nothing of the others."
    )


@pytest.mark.parametrize("count", [4, 8])
def test_classes_without_samples_are_said(count):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, count))
    y = np.array([rng.choice(2, p=row) for row in softmax(z[:, :2], axis=1)])
    p = softmax(np.column_stack([3 * z[:, :2], z[:, 2:] - 4]), axis=1)
    made = caveat.repair(p, y, classes=range(count), random_state=0)
    names = "2, 3" if count == 4 else "2, 3, 4, 5, 6, ..."
    assert made.chosen is not None
    assert made.why.endswith(
        f" No sample is of class={names}: how likely these are cannot be judged."
    )


def test_few_clusters_are_left_and_clusters_are_never_split():
    p, y = risk(600, factor=3.0)
    made = caveat.repair(p, y, cluster=np.arange(600) % 9)
    assert made.why == "Leave it: 9 clusters are too few to choose a repair; 10 are needed."
    assert caveat.repair(p, y, cluster=np.arange(600) % 60, random_state=0).chosen is not None
    cluster = np.arange(600) % 37
    fold = fold_numbers(600, 5, np.random.default_rng(0), cluster, [y])
    assert all(len(np.unique(fold[cluster == c])) == 1 for c in range(37))
    assert set(fold) == set(range(5))


def test_copies_of_samples_gain_nothing_if_they_are_a_cluster():
    """Each sample ten times: without clusters the fit has seen what it repairs."""
    rng = np.random.default_rng(1)
    p, y = np.repeat(rng.random(30), 20), np.repeat(rng.integers(2, size=30), 20)
    blind = caveat.repair(p, y, random_state=0)
    aware = caveat.repair(p, y, cluster=np.repeat(np.arange(30), 20), random_state=0)
    width = [
        row.high - row.low for made in (blind, aware) for row in made if row.candidate[0] == "T"
    ]
    assert width[1] > 2 * width[0]


def test_folds_have_alike_shares_of_strata():
    y = np.r_[np.zeros(90), np.ones(10)]
    fold = fold_numbers(100, 5, np.random.default_rng(0), None, [y, None])
    np.testing.assert_array_equal(np.bincount(fold), 20)
    np.testing.assert_array_equal(np.bincount(fold[90:]), 2)


def test_groups_that_are_off_in_opposite_directions_are_repaired_by_group():
    p, y = risk(1500, factor=1.0)
    z = np.log(p / (1 - p))
    sex = np.array(["f", "m"])[np.arange(1500) % 2]
    off = expit(np.where(sex == "f", 3 * z, z / 3))
    made = caveat.repair(off, y, groups={"sex": sex}, candidates=["ts", "va"], random_state=0)
    assert (made.chosen, made.by_group) == ("TemperatureScaling", True)
    assert made.why.startswith("Temperature scaling by group lowers")
    assert made.recalibrator.groups_["f"].temperature_ == pytest.approx(3, rel=0.25)
    assert made.recalibrator.groups_["m"].temperature_ == pytest.approx(1 / 3, rel=0.25)
    fixed = made.transform(off, groups={"sex": sex})
    assert np.abs(fixed.mean[:, 1] - p).max() < 0.06
    with pytest.raises(OptionError, match="fit was given groups"):
        made.transform(off)
    both = caveat.repair(
        off, y, groups={"sex": sex, "one": y * 0}, candidates=["ts", "va"], random_state=0
    )
    again = both.transform(off, groups={"sex": sex, "one": y * 0})
    np.testing.assert_allclose(again.mean, fixed.mean)
    shared = caveat.repair(expit(3 * z), y, groups=sex, random_state=0)
    assert not shared.by_group
    assert len(shared.transform(off, groups=sex)) == len(shared.transform(off)) == 1500


def test_a_group_of_one_fold_is_said_in_the_table():
    p, y = risk(100, factor=3.0)
    rare = np.where(np.arange(100) == 0, "a", "b")
    made = caveat.repair(p, y, groups=rare, random_state=0)
    notes = [row.note for row in made.select(by_group=True)]
    assert all("group 'a'" in note for note in notes)


@pytest.mark.parametrize("kind", ["Gaussian", "Quantiles", "Interval"])
def test_numbers(kind):
    mean, y = numbers(scale=2.0)
    gaussian = caveat.Gaussian(mean, 1.0)
    prediction = {
        "Gaussian": gaussian,
        "Quantiles": gaussian.to_quantiles([0.05, 0.25, 0.5, 0.75, 0.95]),
        "Interval": gaussian.interval(0.9),
    }[kind]
    made = caveat.repair(prediction, y, random_state=0)
    name = "ConformalQuantiles" if kind == "Interval" else "VarianceScaling"
    assert made.chosen == name
    fixed = made.transform(prediction)
    assert type(fixed) is type(prediction)
    words = {"Gaussian": "CRPS", "Quantiles": "quantile loss", "Interval": "interval score"}
    assert f"lowers the {words[kind]} by" in made.why
    start = "The conformal correction lowers" if kind == "Interval" else "Variance scaling lowers"
    assert made.why.startswith(start)
    if kind == "Gaussian":
        np.testing.assert_allclose(np.sqrt(fixed.variance), 2, rtol=0.15)
    calibrated = caveat.Gaussian(mean, 4.0)
    assert caveat.repair(calibrated, y, random_state=0).recalibrator is None


def test_a_frame_of_true_values_goes_by_the_names_of_its_columns():
    rng = np.random.default_rng(0)
    mean = np.c_[rng.normal(size=300), 100 + rng.normal(size=300)]
    y = pd.DataFrame(mean + rng.normal(size=(300, 2)) * [1, 3], columns=["a", "b"])
    prediction = caveat.Gaussian(mean, 1.0, targets=["a", "b"])
    one, other = (
        caveat.repair(prediction, y[list(names)], random_state=0) for names in ("ab", "ba")
    )
    assert one.why == other.why
    assert one.transform(prediction) == other.transform(prediction)


def test_several_targets_count_alike_whatever_their_units():
    mean, y = numbers(scale=2.0)
    other, z = numbers(seed=1)
    means, truth = np.c_[mean, 1000 * other], np.c_[y, 1000 * z]
    prediction = caveat.Gaussian(means, np.tile([1.0, 1e6], (len(y), 1)))
    made = caveat.repair(prediction, truth, random_state=0)
    single = caveat.repair(caveat.Gaussian(mean, 1.0), y, candidates=["VarianceScaling"])
    assert made.chosen == "VarianceScaling"
    assert made.rows[0].score == pytest.approx(1)
    share = single.rows[1].gain / single.rows[0].score
    assert made.rows[1].gain == pytest.approx(share / 2, abs=0.02)
    assert "relative to that as it is" in made.why


def test_more_classes_and_text_labels():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(600, 3))
    codes = (logits + rng.gumbel(size=(600, 3))).argmax(axis=1)
    labels = np.array(["cat", "dog", "fox"])[codes]
    made = caveat.repair(softmax(4 * logits, axis=1), labels, random_state=0)
    assert made.chosen == "TemperatureScaling"
    assert made.classes == ("cat", "dog", "fox")
    assert made.calibration_measure == "expected_calibration_error"
    fixed = made.transform(softmax(4 * logits, axis=1))
    assert fixed.classes.tolist() == ["cat", "dog", "fox"]
    wide = caveat.Categorical(rng.dirichlet(np.ones(101), 202))
    names = [row.candidate for row in caveat.repair(wide, np.arange(202) % 101, folds=2)]
    assert names[:3] == ["as it is", "TemperatureScaling", "StructuredVectorScaling"]
    assert "StructuredMatrixScaling" not in names


def test_an_infinite_log_loss_is_replaced_by_the_brier_score():
    p, y = risk(factor=3.0)
    p = np.r_[p, 0.0]
    y = np.r_[y, 1]
    made = caveat.repair(p, y, random_state=0)
    assert made.measure == "brier_loss"
    assert "lowers the Brier score by" in made.why


def test_a_repair_with_an_infinite_score_is_left():
    p, y = risk(200)
    made = caveat.repair(p, y, candidates=["isotonic"], random_state=0)
    assert made.rows[1].score == np.inf
    assert made.why == "Leave it: every repair makes the log loss infinite."


def test_a_repair_that_loses_is_named():
    p, y = risk(60, seed=1)
    made = caveat.repair(p, y, candidates=["VennAbers"], random_state=0)
    assert made.rows[1].gain < 0
    assert made.why == (
        "Leave it: no repair lowers the log loss by more than chance; the best, the Venn-Abers "
        f"method, raises it by {-made.rows[1].gain:.2g} on samples that it was not fitted on."
    )


def test_a_better_score_with_worse_calibration_is_left(monkeypatch):
    """A repair that tells samples apart better, but is less calibrated."""
    rng = np.random.default_rng(0)
    z = 3 * rng.normal(size=2000)
    y = (rng.random(2000) < expit(z)).astype(int)
    sharp = caveat.Categorical.from_binary(expit(2 * z))
    flat = caveat.Categorical.from_binary(np.full(2000, y.mean()))
    monkeypatch.setattr("caveat.repairing.choice.cross_fitted", lambda *_, **__: sharp)
    made = caveat.repair(flat, y, candidates=["ts"], random_state=0)
    assert made.chosen is None
    assert made.rows[1].low > 0
    assert made.rows[1].note == "its calibration error is larger"
    assert made.why.startswith("Leave it: temperature scaling lowers the log loss by 0.")
    assert made.why.endswith("but makes the positive calibration error larger.")


def test_a_repair_that_cannot_be_fitted_is_said():
    mean, y = numbers(60)
    variance = np.where(np.arange(60) == 0, 1e-320, 1.0)
    made = caveat.repair(caveat.Gaussian(mean, variance), y, random_state=0)
    assert made.why.startswith("Leave it: no repair could be fitted (VarianceScaling: ")


def test_weights_count_as_repetitions():
    p, y = risk(300, factor=3.0)
    weight = np.r_[np.ones(250), np.zeros(50)]
    made = caveat.repair(p, y, sample_weight=weight, candidates=["ts"], random_state=0)
    alone = TemperatureScaling().fit(p[:250], y[:250])
    assert made.recalibrator.temperature_ == pytest.approx(alone.temperature_)


def test_candidates_by_name_and_with_settings():
    p, y = risk(factor=3.0)
    made = caveat.repair(p, y, candidates=[caveat.PlattScaling(smoothing=False), "ts"])
    assert [row.candidate for row in made] == ["as it is", "PlattScaling", "TemperatureScaling"]
    members = caveat.Categorical(np.stack([np.c_[1 - p, p]] * 2))
    each = caveat.repair(members, y, candidates=[TemperatureScaling(members="each")])
    assert each.transform(members).members == 2
    mean, y = numbers()
    levels = caveat.Gaussian(mean, 1.0).to_quantiles([0.05, 0.95])
    scaling = caveat.repair(levels, y, candidates=["VarianceScaling"])
    assert scaling.rows[1].note == ""  # by its level, 0.9, not by the usual one


def test_the_same_seed_gives_the_same_table():
    p, y = risk(200, factor=2.0)
    first, second = (caveat.repair(p, y, random_state=3).to_json() for _ in range(2))
    assert first == second


def test_tables():
    p, y = risk(200, factor=3.0)
    made = caveat.repair(p, y, random_state=0)
    assert made.to_frame()["candidate"].iloc[0] == "as it is"
    assert "TemperatureScaling *" in made._repr_html_()
    assert made.why in made._repr_html_()
    assert repr(made).startswith(f"{made.why}\n")
    few = caveat.repair(p[:9], y[:9])
    assert few.why in few._repr_html_()


def gaussian():
    return caveat.Gaussian(np.zeros(60), 1.0)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda p, y: caveat.repair(y, p), OptionError, "the arguments look swapped"),
        (lambda p, y: caveat.repair(p, y, candidates="ts"), OptionError, "candidates must be a li"),
        (lambda p, y: caveat.repair(p, y, candidates=[]), OptionError, "candidates must be a list"),
        (lambda p, y: caveat.repair(p, y, candidates=[3]), OptionError, "or its name; got 3"),
        (lambda p, y: caveat.repair(p, y, candidates=["tempscale"]), UnknownNameError, "tempscale"),
        (lambda p, y: caveat.repair(p, y, candidates=["lac"]), OptionError, "use it after the rep"),
        (
            lambda p, y: caveat.repair(p, y, candidates=["VarianceScaling"]),
            OptionError,
            "VarianceScaling does not repair a Categorical",
        ),
        (lambda p, y: caveat.repair(p, y, folds=1), OptionError, "folds must be a whole number"),
        (lambda p, y: caveat.repair(p, y, cluster=y[:3]), ShapeError, "cluster"),
        (lambda p, y: caveat.repair(p, y, sample_weight=-y), InvalidValueError, "sample_weight"),
        (
            lambda p, y: caveat.repair(caveat.Gaussian(p, 0.0), y),
            UnsupportedPredictionError,
            "some predicted variances are 0, so that there is no spread to repair",
        ),
        (
            lambda p, y: caveat.repair(gaussian().to_quantiles([0.1, 0.2]), np.zeros(60)),
            UnsupportedPredictionError,
            "symmetric about 0.5",
        ),
        (
            lambda p, y: caveat.repair(
                caveat.ConformalSets().fit(p, y).transform(p), y
            ),
            UnsupportedPredictionError,
            "repair takes probabilities, a Gaussian, quantiles or intervals; got a PredictionSet",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call(*risk(60))


def test_probabilities_of_the_other_class_are_warned_of():
    p, y = risk()
    with pytest.warns(UserWarning, match="class=1 are higher where class=0 is true: check which"):
        fixed = caveat.repair(1 - p, y, random_state=0)
    assert fixed.transform(1 - p).mean[:, 1] @ (2 * y - 1) > 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(5))
def test_chance_is_not_warned_of(seed):
    rng = np.random.default_rng(seed)
    caveat.repair(rng.random(300), rng.integers(0, 2, 300), random_state=0)
    caveat.repair(rng.random(60), np.ones(60, dtype=int), classes=[0, 1], random_state=0)
