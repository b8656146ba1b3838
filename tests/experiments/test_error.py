"""The error by hand: perfect, trapped, swapped, constant and anti-correlated uncertainties."""

import numpy as np
import pytest
from scipy import stats

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.experiments import Curve, Disentanglement, Protocol
from caveat.experiments import error as error_module
from caveat.experiments.error import mean_curve_interval

from .oracles import Oracle, mean_prediction, oracle_data

PROTOCOL = Protocol(sizes=(0.1, 0.3, 0.6, 1), noise=(0, 0.3, 0.5, 1), repeats=2)


def measured(aleatoric, epistemic, **options):
    X, y, test = oracle_data()
    return caveat.disentanglement_error(
        Oracle(aleatoric, epistemic), X, y, test=test, score=mean_prediction, protocol=PROTOCOL,
        random_state=0, **options
    )  # fmt: skip


@pytest.mark.parametrize(
    ("aleatoric", "epistemic", "terms", "error"),
    [
        # Each follows its own cause alone.
        (lambda s, q: 1 + q, lambda s, q: 2 - s, (0, 0, 0, 0), 0),
        # The trap: the total under both names is consistent, and nothing is separated.
        (lambda s, q: 3 - s + q, lambda s, q: 3 - s + q, (0, 0, 1, 1), 0.5),
        # Each is constant where it should rise, and rises where it should not.
        (lambda s, q: 2 - s, lambda s, q: 1 + q, (1, 1, 1, 1), 1),
        (lambda s, q: 1.0, lambda s, q: 1.0, (1, 1, 0, 0), 0.5),
        (lambda s, q: 2 - q, lambda s, q: 1 + s, (2, 2, 0, 0), 1),
        (lambda s, q: 3 + s - q, lambda s, q: 3 + s - q, (2, 2, 1, 1), 1.5),
        # One half right.
        (lambda s, q: 1 + q, lambda s, q: 3 - s + q, (0, 0, 0, 1), 0.25),
    ],
    ids=["perfect", "trap", "swapped", "constant", "anti", "worst", "leak"],
)  # fmt: skip
def test_known_models(aleatoric, epistemic, terms, error):
    result = measured(aleatoric, epistemic)
    ude = result.error()
    assert [term.value for term in ude.terms.values()] == pytest.approx(terms, abs=1e-9)
    assert ude.value == pytest.approx(error, abs=1e-9)
    assert ude.of_mean_curves == pytest.approx(error, abs=1e-9)
    assert (ude.std, ude.low, ude.high) == pytest.approx((0, error, error), abs=1e-9)
    assert float(ude) == ude.value
    # The sweeps are what the protocol says.
    np.testing.assert_allclose(result.curve("size").score, [[0.1, 0.3, 0.6, 1]] * 2)
    assert result.curve("size").samples.tolist() == [20, 60, 120, 200]
    assert result.curve("noise").samples.tolist() == [200] * 4
    # A permutation leaves one label in its place on average: 5 of 60 would be most unlikely.
    touched = 1 - result.curve("noise").score
    np.testing.assert_allclose(touched, [[0, 0.3, 0.5, 1]] * 2, atol=5 / 200)


def test_counting_c1_twice_would_hide_an_epistemic_part_that_says_nothing():
    ude = measured(lambda s, q: 1 + q, lambda s, q: 1.0).error()
    c1, c2, o1, o2 = (term.value for term in ude.terms.values())
    assert ude.value == pytest.approx((0 + 1 + 0 + 0) / 4, abs=1e-9)
    # What disentanglement-error 0.1.6 computes.
    assert (c1 + c1 + o1 + o2) / 4 == pytest.approx(0, abs=1e-9)
    assert c2 == 1


def result_of(size, noise, name="information", **given):
    """Curves from (score, aleatoric, epistemic), each (repeats, levels)."""
    levels = np.linspace(0.1, 1, len(size[0][0]))
    return Disentanglement(
        curves=(Curve("size", name, levels, *size), Curve("noise", name, levels, *noise)), **given
    )


def test_correlation_by_hand():
    score = [[0, 1, 2]]
    ude = result_of((score, [[0, 0, 3]], [[0, 0, 3]]), (score, [[3, 0, 0]], [[3, 1, 0]])).error()
    # Deviations (-1, -1, 2) and (1, 0, -1) of minus the score: -3 / sqrt(6 * 2).
    half = np.sqrt(3) / 2
    assert ude.terms["aleatoric_orthogonality"].correlation == pytest.approx(-half)
    assert ude.terms["epistemic_consistency"].correlation == pytest.approx(-half)
    assert ude.terms["epistemic_consistency"].value == pytest.approx(1 + half)
    assert ude.terms["aleatoric_consistency"].correlation == pytest.approx(half)
    # (5, -1, -4) / 3 and (1, 0, -1): 3 / sqrt(42 / 9 * 2).
    third = 3 / np.sqrt(28 / 3)
    assert ude.terms["epistemic_orthogonality"].correlation == pytest.approx(third)
    assert ude.value == pytest.approx(((1 - half) + (1 + half) + half + third) / 4)
    assert np.isnan([ude.std, ude.low, ude.high]).all()


def random_curves(seed, repeats=4, levels=6, scale=1.0):
    draw = np.random.default_rng(seed)
    parts = draw.random((6, repeats, levels))
    return parts[:3] * [[[1]], [[scale]], [[scale]]], parts[3:] * [[[1]], [[scale]], [[scale]]]


@pytest.mark.parametrize(
    ("name", "oracle"), [("pearson", stats.pearsonr), ("spearman", stats.spearmanr)]
)
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e74])
def test_against_scipy(name, oracle, scale):
    size, noise = random_curves(0)
    ude = result_of(*random_curves(0, scale=scale)).error(name, weights=(1, 2, 0, 5))
    rho = np.array(
        [
            [oracle(u, -score)[0] for u, score in zip(sweep[part], sweep[0], strict=True)]
            for part, sweep in ((1, noise), (2, size), (1, size), (2, noise))
        ]
    )
    per_run = np.abs(rho - [[1], [1], [0], [0]])
    assert [term.correlation for term in ude.terms.values()] == pytest.approx(rho.mean(axis=1))
    assert [term.value for term in ude.terms.values()] == pytest.approx(per_run.mean(axis=1))
    assert [term.std for term in ude.terms.values()] == pytest.approx(per_run.std(axis=1, ddof=1))
    assert ude.per_repeat == pytest.approx((per_run * [[1], [2], [0], [5]]).sum(axis=0) / 8)
    assert ude.value == pytest.approx(np.mean(ude.per_repeat))
    of_mean = [
        oracle(sweep[part].mean(axis=0), -sweep[0].mean(axis=0))[0]
        for part, sweep in ((1, noise), (2, size), (1, size), (2, noise))
    ]
    assert [term.of_mean_curves for term in ude.terms.values()] == pytest.approx(of_mean)
    weights = np.array([1, 2, 0, 5]) / 8
    assert ude.of_mean_curves == pytest.approx(weights @ np.abs(of_mean - np.array([1, 1, 0, 0])))
    assert ude.low < ude.value < ude.high


def test_runs_first_or_curves_first_are_different_numbers():
    """Two runs that disagree: their mean curve can be perfect while no run is."""
    score = [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]
    u = [[2.0, 0.0, 1.0], [2.0, 2.0, -1.0]]
    ude = result_of((score, u, u), (score, u, u)).error()
    assert ude.terms["aleatoric_consistency"].of_mean_curves == pytest.approx(1)
    assert ude.terms["aleatoric_consistency"].correlation < 0.9


def test_intervals_hold_the_truth_as_often_as_they_say():
    from caveat.resampling.student import student_interval as student

    draw = np.random.default_rng(1)
    for repeats in (3, 10):
        ends = [student(draw.normal(0.5, 0.05, repeats), 0.95, (0.0, 2.0)) for _ in range(400)]
        held = np.mean([low <= 0.5 <= high for _, low, high in ends])
        assert abs(held - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)


@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_constant_curves_give_0_and_a_note(name):
    score, u = [[0.5, 0.7, 0.9]] * 2, [[3, 2, 1]] * 2
    flat = [[0.3, 0.3, 0.3]] * 2
    ude = result_of((score, u, flat), (flat, u, u)).error(name)
    assert [term.correlation for term in ude.terms.values()] == [0, 0, 1, 0]
    assert ude.notes == (
        "C1: the score is constant along noise level, so the correlation counts as 0",
        "C2: epistemic uncertainty is constant along training size, so the correlation counts as 0",
        "O2: the score is constant along noise level, so the correlation counts as 0",
    )
    assert "nan" not in repr(ude)
    assert "noise level" in repr(ude)
    assert "noise level" in ude._repr_html_()


def test_rounding_errors_beside_the_other_part_are_no_uncertainty():
    score, u = [[0.5, 0.7, 0.9]], [[0.3, 0.2, 0.1]]
    nothing = [[3e-17, 1e-17, 2e-17]]
    ude = result_of((score, u, nothing), (score, u, nothing)).error()
    assert ude.terms["epistemic_consistency"].correlation == 0
    assert "C2: epistemic uncertainty is constant" in ude.notes[0]


def test_some_repeats_may_be_constant():
    score, u = [[0.5, 0.7, 0.9]] * 2, [[3, 2, 1], [2, 2, 2]]
    ude = result_of((score, u, u), (score, u, u)).error()
    assert ude.terms["aleatoric_consistency"].correlation == pytest.approx(0.5)
    assert ude.terms["aleatoric_consistency"].of_mean_curves == pytest.approx(1)
    assert (
        "C1: aleatoric uncertainty is constant along noise level in 1 of 2 repeats" in ude.notes[0]
    )


def test_infinite_uncertainty():
    score, u = [[0.5, 0.7, 0.9]], [[np.inf, 2.0, 1.0]]
    result = result_of((score, u, u), (score, [[np.inf] * 3], [[np.inf] * 3]))
    ude = result.error()
    assert [term.correlation for term in ude.terms.values()] == [0, 0, 0, 0]
    assert "C2: epistemic uncertainty is infinite at some training size" in ude.notes[1]
    ranks = result.error("spearman")
    assert ranks.terms["epistemic_consistency"].correlation == pytest.approx(1)
    assert ranks.terms["aleatoric_consistency"].correlation == 0
    again = Disentanglement.from_json(result.to_json())
    np.testing.assert_array_equal(again.curve("noise").epistemic, [[np.inf] * 3])


def test_bad_options():
    result = result_of(*random_curves(0))
    with pytest.raises(
        OptionError, match="correlation must be 'pearson' or 'spearman'; got 'kendall'"
    ):
        result.error("kendall")
    for weights in ((1, 1, 1), (1, 1, 1, -1), (1, 1, 1, np.nan), "abcd"):
        with pytest.raises(OptionError, match="weights must be four numbers of at least 0"):
            result.error(weights=weights)
    with pytest.raises(OptionError, match="weights are all 0"):
        result.error(weights=(0, 0, 0, 0))


def test_curves_must_fit_together():
    size, noise = random_curves(0)
    levels = np.linspace(0.1, 1, 6)
    a, b = Curve("size", "x", levels, *size), Curve("noise", "x", levels, *noise)
    for curves in ((), (a,), (a, a), (a, b, b), (a, Curve("noise", "y", levels, *noise))):
        with pytest.raises(
            OptionError, match="curves must be one of kind 'size' and one of kind 'noise'"
        ):
            Disentanglement(curves=curves)
    with pytest.raises(ShapeError, match="same number of repeats"):
        Disentanglement(curves=(a, Curve("noise", "x", levels, *noise[:, :2])))
    with pytest.raises(OptionError, match="kind of a curve must be 'size' or 'noise'; got 'sizes'"):
        Curve("sizes", "x", levels, *size)
    for place, value in ((0, np.nan), (0, np.inf), (1, np.nan), (2, np.nan)):
        wrong = size.copy()
        wrong[place, 1, 2] = value
        with pytest.raises(InvalidValueError, match=f"of a curve is {value} somewhere"):
            Curve("size", "x", levels, *wrong)
    with pytest.raises(ShapeError, match=r"score of a curve must have shape \(repeats, 5\)"):
        Curve("size", "x", levels[:5], *size)
    with pytest.raises(OptionError, match="kind of a curve must be 'size' or 'noise'; got 'x'"):
        Disentanglement(curves=(a, b)).curve("x")


C2, O1 = error_module.TERMS["epistemic_consistency"], error_module.TERMS["aleatoric_orthogonality"]


def size_curve(repeats=3, aleatoric=(1.0, 1.0, 1.0)):
    """A sweep whose epistemic part falls as the score rises, alike in all repeats."""
    parts = [np.tile(part, (repeats, 1)) for part in ([0.5, 0.7, 0.9], aleatoric, [5.0, 3.0, 1.0])]
    return Curve("size", "information", [0.1, 0.5, 1], *parts)


def test_spread_of_mean_curves():
    size = size_curve()
    spread, low, high = mean_curve_interval(size, C2, 1.0, 0.95)
    assert (spread, low, high) == (pytest.approx(0), pytest.approx(1), pytest.approx(1))
    assert np.isnan(mean_curve_interval(size, O1, 0.0, 0.95)).all()
    single = size_curve(repeats=1)
    assert np.isnan(mean_curve_interval(single, C2, 1.0, 0.95)).all()
    # Rounding errors beside the other part are no curve.
    noisy = size_curve(aleatoric=1e-16 * np.array([1.0, 3.0, 5.0]))
    assert np.isnan(mean_curve_interval(noisy, O1, 0.0, 0.95)).all()


def noisy_curve(rho, noise, repeats, rng):
    """A sweep whose mean curves correlate by ``rho`` as repeats become many."""
    along = np.linspace(-1, 1, 7) / np.linalg.norm(np.linspace(-1, 1, 7))
    across = np.cos(2.0 * np.arange(7))
    across -= across.mean() + along * (across @ along)
    across /= np.linalg.norm(across)
    u = rho * along + np.sqrt(1 - rho**2) * across
    wobble = noise * rng.normal(size=(2, repeats, 7))
    parts = 3 + u + wobble[0]
    return Curve("size", "information", np.arange(1.0, 8), 3 - along + wobble[1], parts, parts)


@pytest.mark.parametrize(("rho", "repeats"), [(0.0, 3), (0.9, 3), (0.5, 5)])
def test_intervals_of_mean_curves_hold_the_truth(monkeypatch, rho, repeats):
    """Of 100 intervals of 95 %, fewer than 87 would do so once in a thousand."""
    monkeypatch.setattr(error_module, "RESAMPLES", 100)
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(100):
        curve = noisy_curve(rho, 0.2, repeats, rng)
        value = np.corrcoef(curve.epistemic.mean(axis=0), -curve.score.mean(axis=0))[0, 1]
        spread, low, high = mean_curve_interval(curve, C2, value, 0.95)
        half = stats.t.ppf(0.975, repeats - 1) * spread
        assert low == pytest.approx(max(-1, value - half))
        assert high == pytest.approx(min(1, value + half))
        held += low <= rho <= high
    assert held >= 87


def test_some_levels_of_a_curve():
    whole = Curve(
        "size", "information", [0.1, 0.5, 1], [[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]],
        train_score=[[1, 1, 0]], samples=[10, 50, 100],
    )  # fmt: skip
    ends = whole._take([0, 2])
    assert ends.levels.tolist() == [0.1, 1]
    assert ends.epistemic.tolist() == [[7, 9]]
    assert ends.train_score.tolist() == [[1, 0]]
    assert ends.samples.tolist() == [10, 100]
    assert whole._take([1]).kind == "size"


def test_terms_have_the_correlation_of_each_repeat():
    rng = np.random.default_rng(0)
    size, noise = (
        Curve(kind, "information", np.linspace(0.1, 1, 5), *rng.random((3, 4, 5)))
        for kind in ("size", "noise")
    )
    term = Disentanglement(curves=(size, noise)).error().terms["epistemic_consistency"]
    each = [np.corrcoef(size.epistemic[r], -size.score[r])[0, 1] for r in range(4)]
    assert term.per_repeat == pytest.approx(each)
    assert term.correlation == pytest.approx(np.mean(each))


@pytest.mark.parametrize(
    ("weights", "worst"),
    [((1, 1, 1, 1), 1.5), ((0, 0, 1, 1), 1.0), ((1, 1, 0, 0), 2.0), ((3, 0, 1, 0), 1.75)],
)
def test_no_interval_leaves_the_range_of_the_error(weights, worst):
    # The error is near its largest value in one repeat and far from it in the other.
    levels, score = [0.1, 0.5, 1.0], np.array([[0.5, 0.7, 0.9]] * 2)
    rising = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 2.9]])
    size = Curve("size", "information", levels, score, rising, rising)
    noise = Curve("noise", "information", levels, score, rising, rising[:, [1, 2, 0]])
    error = Disentanglement(curves=(size, noise), confidence=0.9999).error(weights=weights)
    assert error.high == pytest.approx(worst)
    assert max(error.per_repeat) <= worst * (1 + 1e-12)
