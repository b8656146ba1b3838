"""Rows and conclusions from curves that are made up, and the printed numbers."""

import numpy as np
import pytest
from scipy import stats

from caveat.experiments import ClassDetection, Curve, Disentanglement
from caveat.experiments.error import TERMS
from caveat.studies import _disentanglement_paper as paper
from caveat.studies import _disentanglement_rows as rows
from caveat.studies._disentanglement_conclusions import conclusions, words_of
from caveat.studies._disentanglement_pictures import FeatureSpace

from .disentanglements import FLAT, RISING, curves, perfect, trap

BCI = "0.803 0.638 0.639 0.737 0.608 0.811 0.448 0.531"
AVERAGE = "0.729 0.564 0.507 0.590 0.460 0.459 0.363 0.434"
BCI_RHO = {
    "aleatoric_orthogonality": "-0.944 0.697 -0.961 -0.964 -0.921 -0.248 -0.918 -0.965",
    "epistemic_consistency": "-0.873 0.194 0.718 -0.403 0.787 -0.893 0.879 0.976",
    "aleatoric_consistency": "0.975 0.968 0.979 0.991 0.976 0.962 0.953 0.996",
    "epistemic_orthogonality": "0.972 0.977 0.985 0.990 0.947 0.915 0.926 0.932",
}
AVERAGE_RHO = {
    "aleatoric_orthogonality": "0.869 0.449 0.714 0.740 0.850 0.498 0.530 0.868",
    "epistemic_consistency": "-0.399 0.440 0.885 0.340 0.877 0.410 0.941 0.964",
    "aleatoric_consistency": "0.970 0.981 0.918 0.979 0.954 0.971 0.864 0.969",
    "epistemic_orthogonality": "0.976 0.987 0.907 0.988 0.586 0.666 0.733 0.626",
}
BCI_AUC = {
    "aleatoric": "0.517 0.510 0.512 0.514 0.512 0.517 0.510 0.523",
    "epistemic": "0.512 0.509 0.514 0.516 0.511 0.510 0.505 0.522",
}
AVERAGE_AUC = {
    "aleatoric": "0.721 0.717 0.692 0.737 0.717 0.724 0.695 0.743",
    "epistemic": "0.721 0.726 0.699 0.755 0.649 0.699 0.659 0.741",
}
KEYS = [(split, method) for split in paper.SPLITS for method in paper.METHODS]
WINE = "wine"


def averages(table, fourth, absolute=False):
    """Return the printed averages again, from our three data sets and the fourth."""
    found = []
    for key, last in zip(KEYS, fourth.split(), strict=True):
        four = [float(table[name, *key]) for name in ("cifar10", "fashion-mnist", WINE)] + [
            float(last)
        ]
        found.append(np.mean(np.abs(four) if absolute else four))
    return np.array(found)


def numbers(text):
    return np.array([float(part) for part in text.split()])


def test_what_was_copied_gives_the_printed_averages():
    # A rounded number is off by half a unit of its last digit.
    np.testing.assert_allclose(averages(paper.ERRORS, BCI), numbers(AVERAGE), atol=0.0011)
    for part, table in paper.DETECTION.items():
        np.testing.assert_allclose(
            averages(table, BCI_AUC[part]), numbers(AVERAGE_AUC[part]), atol=0.0011
        )


@pytest.mark.parametrize("name", paper.CORRELATIONS)
def test_copied_correlations_give_the_printed_averages(name):
    absolute = name.endswith("orthogonality")
    found = averages(paper.CORRELATIONS[name], BCI_RHO[name], absolute)
    wrong = np.abs(found - numbers(AVERAGE_RHO[name])) > 0.0011
    assert wrong.sum() == 0, np.array(KEYS)[wrong]


def test_the_errors_of_table_3_are_means_of_their_terms():
    for column in paper.IMAGENET.values():
        terms = [float(column[name]) for name in TERMS]
        assert float(column[rows.ERROR]) == pytest.approx(np.mean(terms), abs=0.0011)


def made(sweeps, detections=None, rates=None, same=True, dataset=WINE):
    return rows.make_rows(dataset, sweeps, detections or {}, rates or {}, same, 0.95)


def one(found, source, **wanted):
    (row,) = [
        r for r in found if r.source == source and all(getattr(r, k) == v for k, v in wanted.items())
    ]  # fmt: skip
    return row


def test_table_2_has_the_error_and_whether_it_differs():
    found = made(
        {
            ("mc-dropout", "information"): trap("information"),
            ("flipout", "information"): perfect("information"),
        }
    )
    row = one(found, "table 2", method="mc-dropout")
    assert (row.printed, row.paper, row.paper_spread) == ("0.645", 0.645, 0.041)
    assert (row.mean, row.spread, row.runs) == (pytest.approx(0.5), pytest.approx(0), 3)
    assert row.differs  # 0.145 is more than 0.082
    assert row.within is None
    assert one(found, "table 2", method="flipout").mean == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("paper_value", "ours", "spread", "theirs", "differs"),
    [
        (0.5, 0.2, 0.1, np.nan, True),
        (0.5, 0.3125, 0.1, np.nan, False),
        (0.5, 0.2, 0.01, 0.2, False),
        (np.nan, 0.2, 0.1, 0.1, None),
        (0.5, 0.2, np.nan, 0.01, None),
    ],
)
def test_two_spreads_are_the_larger_of_both(paper_value, ours, spread, theirs, differs):
    assert rows._apart(paper_value, ours, spread, theirs) is differs


def test_nothing_is_judged_that_is_another_experiment():
    found = made({("mc-dropout", "information"): trap("information")}, same=False)
    assert {row.differs for row in found} == {None}
    unknown = made({("mc-dropout", "information"): trap("information")}, dataset="mine")
    assert {row.printed for row in unknown} == {""}


def random_result(name="information", repeats=4, seed=0):
    rng = np.random.default_rng(seed)
    parts = [
        Curve(kind, name, np.linspace(0.1, 1, 5), *rng.random((3, repeats, 5)))
        for kind in ("size", "noise")
    ]
    return Disentanglement(curves=tuple(parts))


def test_tables_5_and_6_are_correlations_of_mean_curves():
    result = random_result()
    found = made({("flipout", "information"): result})
    for name, uncertainty, kind in (
        ("aleatoric_consistency", "aleatoric", "noise"),
        ("epistemic_consistency", "epistemic", "size"),
        ("aleatoric_orthogonality", "aleatoric", "size"),
        ("epistemic_orthogonality", "epistemic", "noise"),
    ):
        curve = result.curve(kind)
        u, score = getattr(curve, uncertainty).mean(axis=0), curve.score.mean(axis=0)
        row = one(found, "table 5" if kind == "size" else "table 6", measure=name)
        assert row.mean == pytest.approx(np.corrcoef(u, -score)[0, 1])
        assert row.printed == paper.CORRELATIONS[name][WINE, "information", "flipout"]
        assert row.mean_low <= row.mean <= row.mean_high
        assert row.spread > 0


def test_spread_of_mean_curves():
    size, _ = curves("information")
    spread, low, high = rows._mean_curves(size, "epistemic", 1.0, 0.95)
    assert (spread, low, high) == (pytest.approx(0), pytest.approx(1), pytest.approx(1))
    assert np.isnan(rows._mean_curves(size, "aleatoric", 0.0, 0.95)).all()
    single, _ = curves("information", repeats=1)
    assert np.isnan(rows._mean_curves(single, "epistemic", 1.0, 0.95)).all()
    # Rounding errors beside the other part are no curve.
    noisy, _ = curves("information", a_size=1e-16 * RISING)
    assert np.isnan(rows._mean_curves(noisy, "aleatoric", 0.0, 0.95)).all()


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
    monkeypatch.setattr(rows, "_RESAMPLES", 100)
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(100):
        curve = noisy_curve(rho, 0.2, repeats, rng)
        value = np.corrcoef(curve.epistemic.mean(axis=0), -curve.score.mean(axis=0))[0, 1]
        spread, low, high = rows._mean_curves(curve, "epistemic", value, 0.95)
        half = stats.t.ppf(0.975, repeats - 1) * spread
        assert low == pytest.approx(max(-1, value - half))
        assert high == pytest.approx(min(1, value + half))
        held += low <= rho <= high
    assert held >= 87


def test_terms_of_each_run():
    result = random_result(repeats=3)
    found = made({("flipout", "information"): result})
    row = one(found, "figure 6", measure="epistemic_consistency")
    curve = result.curve("size")
    each = [abs(np.corrcoef(curve.epistemic[r], -curve.score[r])[0, 1] - 1) for r in range(3)]
    assert row.mean == pytest.approx(np.mean(each))
    assert row.spread == pytest.approx(np.std(each, ddof=1))
    assert 0 <= row.mean_low <= row.mean <= row.mean_high <= 2


def three(repeats=3):
    """A deep ensemble that is perfect by information; by the others one part follows all."""
    parts = [
        *curves("information", repeats),
        *curves("bias_variance", repeats, a_size=RISING),
        *curves("pairwise_kl", repeats, e_noise=RISING),
    ]
    return Disentanglement(curves=tuple(parts))


def test_table_3_mixes_the_parts_as_the_paper_did():
    found = made({("deep-ensemble", "information"): three()})
    mixed = {
        r.measure: r for r in found if r.source == "table 3" and r.decomposition == paper.AS_PRINTED
    }
    assert mixed["aleatoric_orthogonality"].mean == pytest.approx(1)  # from bias and variance
    assert mixed["epistemic_orthogonality"].mean == pytest.approx(1)  # from pairwise KL
    assert mixed[rows.ERROR].mean == pytest.approx(0.5)
    assert mixed[rows.ERROR].printed == "0.419"
    plain = [r for r in found if r.source == "table 3" and r.decomposition == "pairwise_kl"]
    assert {r.printed for r in plain} == {""}
    assert {r.differs for r in found if r.source == "table 3"} == {None}


def test_figure_9_uses_fewer_levels_of_the_same_runs():
    found = made({("deep-ensemble", "information"): three()})
    some = [r for r in found if r.source == "figure 9" and r.decomposition == "bias_variance"]
    assert [r.setting for r in some] == ["2", "3"]
    assert (
        some[-1].mean == one(found, "table 3", decomposition="bias_variance", measure="error").mean
    )
    assert rows._even(random_result().curve("size"), 3).tolist() == [0, 2, 4]


def test_a_deep_ensemble_without_the_three_splits_has_no_table_3():
    found = made({("deep-ensemble", "gaussian_logits"): perfect("gaussian_logits")})
    assert {r.source for r in found} == {"table 2", "table 5", "table 6", "figure 6"}


def detection(aleatoric, epistemic, name="information"):
    auc = np.array([[[[a, e, 0.5]] for a, e in zip(aleatoric, epistemic, strict=True)]])
    return ClassDetection(("a",), (name,), auc)


def test_table_4_averages_over_classes():
    auc = np.array([[[[0.9, 0.5, 0.5], [0.7, 0.7, 0.5]], [[0.8, 0.6, 0.5], [0.8, 0.4, 0.5]]]])
    found = made(
        {}, {("flipout", "information", "all"): ClassDetection((0, 1), ("information",), auc)}
    )
    row = one(found, "table 4, scaled by all", measure="epistemic")
    assert (row.mean, row.spread) == (
        pytest.approx(0.55),
        pytest.approx(np.std([0.6, 0.5], ddof=1)),
    )
    assert row.printed == "0.974"
    assert row.differs
    assert (
        one(
            made({}, {("flipout", "information", ""): detection([0.9], [0.5])}),
            "table 4",
            measure="aleatoric",
        ).differs
        is None
    )


def test_figure_8_has_error_terms_and_accuracy_by_rate():
    found = made({}, rates={0.1: perfect("information"), 0.5: trap("information")})
    assert one(found, "figure 8", setting="0.5", measure="error").mean == pytest.approx(0.5)
    assert one(found, "figure 8", setting="0.1", measure="accuracy").mean == pytest.approx(0.9)


def said(dataset, sweeps=None, detections=None, pictures=()):
    found = conclusions(dataset, sweeps or {}, detections or {}, pictures, 0.95)
    return {f"{one.source}: {one.text}": (one.holds, one.runs) for one in found}


def test_conclusions_on_errors():
    sweeps = {
        (method, split): trap(split) if split == "gaussian_logits" else perfect(split)
        for method in paper.METHODS
        for split in paper.SPLITS
    }
    sweeps["flipout", "information"] = three()
    found = said(WINE, sweeps)
    assert found["table 2: the error by information is below that by Gaussian logits"] == (12, 12)
    # All by information are perfect: the first of them is taken, which is not Flipout.
    assert found["table 2: the least error is that of Flipout by information"] == (0, 3)
    assert found[
        "section 4.2, figure 4: Gaussian logits: epistemic uncertainty rises with noise, with a correlation above 0.7"
    ] == (12, 12)
    assert found["figure 6: information: epistemic uncertainty is consistent (C2 up to 0.3)"] == (
        12,
        12,
    )
    assert found[
        "figure 6: Gaussian logits: epistemic uncertainty is not consistent (C2 above 0.3)"
    ] == (0, 12)
    assert found[
        "figure 6: information: the parts are not both orthogonal (O1 or O2 above 0.3)"
    ] == (0, 12)
    assert found[
        "figure 6: Gaussian logits: the parts are not both orthogonal (O1 or O2 above 0.3)"
    ] == (12, 12)
    assert not any(key.startswith("table 3") for key in found)
    assert not any("least error" in key for key in said("mine", sweeps))


def test_conclusions_on_other_splits_and_rising_curves():
    rising = Disentanglement(curves=curves("variance", a_size=RISING, a_noise=FLAT))
    found = said(WINE, {("mc-dropout", "variance"): rising})
    assert found[
        "section 4.1, figure 3: variance: aleatoric uncertainty rises with the amount of data"
    ] == (3, 3)
    assert found["figure 6: variance: aleatoric uncertainty is consistent (C1 up to 0.3)"] == (0, 3)
    assert not any("C2" in key or key.startswith("table 2") for key in found)
    assert words_of("variance") == "variance"


def test_conclusions_on_three_splits():
    found = said(WINE, {("deep-ensemble", "information"): three()})
    assert found["table 3: the error by information is below that by bias and variance"] == (3, 3)
    assert found["table 3: the error by information is below that by pairwise KL as printed"] == (
        3,
        3,
    )


def test_conclusions_on_detections():
    given = {
        ("flipout", "information", "within"): detection([0.9, 0.7, 0.5], [0.8, 0.8, 0.4]),
        ("flipout", "gaussian_logits", ""): detection([0.9], [0.95], "gaussian_logits"),
    }
    found = said(WINE, detections=given)
    text = "aleatoric uncertainty finds a class that was left out (ROC AUC above 0.6)"
    assert found[f"table 4, scaled within: {text}"] == (2, 3)
    assert found[
        "table 4, scaled within: information: epistemic uncertainty finds it worse than the aleatoric"
    ] == (2, 3)
    assert found[f"table 4: {text}"] == (1, 1)
    assert len(found) == 3


def space(figure, level, schedule, aleatoric, epistemic):
    grid = np.linspace(-1, 1, 5)
    return FeatureSpace(
        figure, "information", "size", level, schedule, grid, grid, aleatoric, epistemic,
        np.array([[-0.6, 0.0], [0.6, 0.0]]), np.array([0, 1]),
    )  # fmt: skip


def test_conclusions_on_pictures():
    low, high = np.zeros((2, 5, 5)), np.ones((2, 5, 5))
    left = low.copy()
    left[:, :, 0] = 1
    left[1, :, -1] = 2
    found = said("triangle", pictures=[space("figure 10", 1.0, "inverse-epochs", low, left)])
    assert list(found.values()) == [(1, 2)]
    pictures = [
        space("figure 5a", 0.02, "inverse-epochs", low, low),
        space("figure 5a", 1.0, "inverse-epochs", low, low),
        space("figure 11", 0.02, "constant-epochs", high, low),
        space("figure 11", 1.0, "constant-epochs", low, low),
    ]
    found = said("two-moons", pictures=pictures)
    assert list(found.values()) == [(2, 2)]
    assert "with 2% of the samples" in next(iter(found))
