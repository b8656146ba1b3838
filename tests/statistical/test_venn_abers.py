"""Validity of Venn-ABERS over many simulated calibration sets.

The value p for the true label is calibrated: given p, the label is Bernoulli(p). So over
independent sets, one new sample each, the sum of (label - p) over any choice of samples made by p
alone has mean 0 and variance sum p (1 - p), whatever the size of the sets.
"""

import numpy as np
import pytest

import caveat
from caveat.recalibration.venn_abers import VennAbers

SETS = 6000
# Two-sided; with the dozen comparisons of a test a false alarm has a chance below 1e-3.
MOST = 4.0
SECTION = "Venn-ABERS"


def calibration_error(p, label, bins=10):
    """Return the mean over bins of |label - p|, and what chance alone would give it."""
    code = np.minimum((p * bins).astype(int), bins - 1)
    error = noise = 0.0
    for i in np.unique(code):
        rows = code == i
        error += abs((label - p)[rows].sum()) / len(p)
        noise += np.sqrt(2 / np.pi * (p * (1 - p))[rows].sum()) / len(p)
    return error, noise


def simulate(samples, decimals, seed, center=0.0):
    """Yield calibration scores and labels with a new sample last; the model is overconfident."""
    rng = np.random.default_rng(seed)
    for _ in range(SETS):
        z = rng.normal(center, size=samples + 1)
        label = (rng.random(samples + 1) < 1 / (1 + np.exp(-z))).astype(int)
        yield (1 / (1 + np.exp(-3 * z))).round(decimals), label


def new_values(samples, decimals, seed, center=0.0, **options):
    """Return lower, upper, merged value and label of the new sample of each set."""
    rows = np.empty((SETS, 4))
    for i, (score, label) in enumerate(simulate(samples, decimals, seed, center)):
        recalibrator = VennAbers(**options)
        recalibrator.fit(caveat.Categorical.from_binary(score[:-1]), label[:-1])
        interval = recalibrator.transform(caveat.Categorical.from_binary(score[-1:]))
        rows[i] = (
            interval.lower[0, 1],
            interval.upper[0, 1],
            interval.to_categorical().mean[0, 1],
            label[-1],
        )
    return rows.T


def deviations(p, label, bins=10):
    """Return the standardized sum of label - p, overall and in bins of p."""
    choices = [np.ones(len(p), dtype=bool)]
    edges = np.linspace(0, 1, bins + 1)[1:-1]
    choices += [np.digitize(p, edges) == i for i in range(bins)]
    return np.array(
        [
            (label - p)[chosen].sum() / np.sqrt((p * (1 - p))[chosen].sum())
            for chosen in choices
            if (p * (1 - p))[chosen].sum() > 5
        ]
    )


@pytest.mark.parametrize("decimals", [16, 1], ids=["distinct", "ties"])
@pytest.mark.parametrize("samples", [5, 40])
def test_the_value_of_the_true_label_is_calibrated(samples, decimals, promise):
    lower, upper, _, label = new_values(samples, decimals, seed=samples)
    true = np.where(label == 1, upper, lower)
    found = deviations(true, label)
    error, noise = calibration_error(true, label)
    promise(
        SECTION, "the value of the true label is calibrated: its expected calibration error",
        f"over-confident model, n = {samples}{', ties' if decimals == 1 else ''}", SETS, error,
        f"{noise:.3f} by chance",
    )  # fmt: skip
    assert error < 3 * noise
    assert len(found) > 3
    assert np.abs(found).max() < MOST
    # A value of 0 or 1 for the true label is never wrong.
    assert (label[true == 0] == 0).all()
    assert (label[true == 1] == 1).all()


def test_neither_end_nor_the_merged_value_is(promise):
    # A rare class and 10 samples: wide intervals, whose ends and whose middle miss by far, while
    # the value of the true label does not.
    lower, upper, merged, label = new_values(10, 16, seed=5, center=-2.5)
    assert np.abs(deviations(np.where(label == 1, upper, lower), label)).max() < MOST
    assert deviations(lower, label)[0] > 2 * MOST
    assert deviations(upper, label)[0] < -2 * MOST
    assert deviations(merged, label)[0] < -2 * MOST
    for name, p in (("lower end", lower), ("upper end", upper), ("merged value", merged)):
        error, noise = calibration_error(p, label)
        promise(
            SECTION, f"the {name} (promised nothing): its expected calibration error",
            "rare class, n = 10", SETS, error, f"{noise:.3f} by chance",
        )  # fmt: skip


def test_each_class_of_several_is_calibrated(promise):
    rng = np.random.default_rng(0)
    true = np.empty((3, SETS))
    label = np.empty(SETS, dtype=int)
    for i in range(SETS):
        z = rng.normal(size=(31, 3))
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        y = (p.cumsum(axis=1) > rng.random((31, 1))).argmax(axis=1)
        score = np.exp(3 * z) / np.exp(3 * z).sum(axis=1, keepdims=True)
        recalibrator = VennAbers().fit(caveat.Categorical(score[:-1]), y[:-1])
        interval = recalibrator.transform(caveat.Categorical(score[-1:]))
        true[:, i] = np.where(np.arange(3) == y[-1], interval.upper[0], interval.lower[0])
        label[i] = y[-1]
    for k in range(3):
        error, noise = calibration_error(true[k], (label == k).astype(int))
        promise(
            SECTION, "the value of the true label is calibrated: its expected calibration error",
            f"class {k} of three, n = 30", SETS, error, f"{noise:.3f} by chance",
        )  # fmt: skip
        assert np.abs(deviations(true[k], (label == k).astype(int))).max() < MOST


@pytest.mark.parametrize("samples", [30, 100, 1000])
def test_the_merged_value_comes_close_with_more_samples(samples, promise):
    # The interval has the width of one sample among some, so the merged value errs by less.
    lower, upper, merged, label = new_values(samples, 16, seed=7)
    width = (upper - lower).mean()
    found, noise = calibration_error(merged, label)
    promise(
        SECTION, "the merged value (promised nothing): its expected calibration error",
        f"over-confident model, n = {samples}, intervals {width:.3f} wide", SETS, found,
        f"{noise:.3f} by chance",
    )  # fmt: skip
    if samples == 1000:
        assert width < 0.05
        assert found < 2 * noise
    error = np.abs(merged.mean() - label.mean())
    assert error < width + MOST * np.sqrt(0.25 / SETS)


def test_folds_come_close_too(promise):
    lower, upper, merged, label = new_values(300, 16, seed=8, folds=3)
    width = (upper - lower).mean()
    found, noise = calibration_error(merged, label)
    promise(
        SECTION, "the merged value (promised nothing): its expected calibration error",
        f"three folds, n = 300, intervals {width:.3f} wide", SETS, found, f"{noise:.3f} by chance",
    )  # fmt: skip
    error = np.abs(merged.mean() - label.mean())
    assert error < width + MOST * np.sqrt(0.25 / SETS)
