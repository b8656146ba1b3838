"""Coverage of conformal intervals over many simulated sets.

Without ties, the number of m new samples that an interval from n calibration samples covers is
Beta-binomial: m draws with a chance that is Beta(k, n + 1 - k), k = ceil((n + 1) c). Sets are
independent, so the mean over R sets has a known standard error; a test allows five of them, which
fails by chance in less than one of a million runs. Seeds are fixed.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import betabinom, chi2

import caveat
from caveat.recalibration.conformal_quantiles import ConformalQuantiles
from caveat.recalibration.conformal_residuals import ConformalResiduals

SETS, FRESH = 1500, 200
ERRORS = 5.0
SECTION = "Conformal prediction"


def exactly(count, coverage):
    """The mean coverage that is promised to the last digit: ceil((n + 1) c) / (n + 1)."""
    return f"{math.ceil((count + 1) * Fraction(str(coverage))) / (count + 1):.3f}"


def draw(rng, count, targets=1, bias=0.3):
    """A skewed truth with noise that grows, and a model that gets all of it a little wrong."""
    x = rng.uniform(0.2, 3.0, size=(count, targets))
    common = rng.normal(size=(count, 1))
    noise = rng.gamma(2.0, size=(count, targets)) - 2.0 + 0.7 * common
    y = np.sin(3 * x) + x * noise * np.arange(1, targets + 1)
    mean = np.sin(3 * x) + bias
    std = 0.5 + 0.6 * x
    return mean, std, y


def as_gaussian(mean, std):
    return caveat.Gaussian.from_std(mean, std)


def as_quantiles(mean, std):
    z = np.array([-1.0, 0.2, 1.9])  # crude, and not symmetric
    return caveat.Quantiles([0.1, 0.5, 0.9], mean[..., None] + std[..., None] * z)


def as_interval(mean, std):
    return caveat.Interval(mean - std, mean + 2 * std, coverage=0.5)


KINDS = {as_gaussian: "a Gaussian", as_quantiles: "quantiles", as_interval: "intervals"}


def covered(conformal, kind, rng, count, targets=1):
    """Fit on one set, and say which of some fresh samples are covered, (samples, targets)."""
    mean, std, y = draw(rng, count, targets)
    conformal.fit(kind(mean, std), y)
    mean, std, y = draw(rng, FRESH, targets)
    interval = conformal.transform(kind(mean, std))
    return (interval.lower <= y) & (y <= interval.upper)


def law(count, coverage, fresh=FRESH):
    rank = math.ceil((count + 1) * Fraction(str(coverage)))
    return betabinom(fresh, rank, count + 1 - rank)


def assert_mean(counts, distribution):
    error = distribution.std() / math.sqrt(len(counts))
    assert abs(np.mean(counts) - distribution.mean()) < ERRORS * error


EXACT = {
    "absolute residuals": (ConformalResiduals(0.8), as_gaussian),
    "normalized residuals": (ConformalResiduals(0.8, normalize=True), as_gaussian),
    "quantiles": (ConformalQuantiles(0.8), as_quantiles),
    "the quantiles of a Gaussian": (ConformalQuantiles(0.8), as_gaussian),
    "given intervals": (ConformalQuantiles(0.8), as_interval),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("count", [4, 60])  # 4 is the smallest for 80 %
def test_coverage_is_beta_binomial(name, count, promise):
    conformal, kind = EXACT[name]
    rng = np.random.default_rng(100 + count)
    counts = [covered(conformal, kind, rng, count).sum() for _ in range(SETS)]
    distribution = law(count, 0.8)
    promise(
        SECTION, f"intervals from {name} cover 80 %", f"wrong model, n = {count}", SETS,
        np.mean(counts) / FRESH, exactly(count, 0.8),
    )  # fmt: skip
    assert_mean(counts, distribution)
    # Not the mean alone: ten classes of about equal chance, at the one-in-a-million level.
    edges = np.unique(distribution.ppf(np.arange(1, 10) / 10))
    chances = np.diff(np.r_[0.0, distribution.cdf(edges), 1.0])
    seen = np.bincount(np.searchsorted(edges, counts), minlength=len(chances))
    statistic = ((seen - SETS * chances) ** 2 / (SETS * chances)).sum()
    assert statistic < chi2.ppf(1 - 1e-6, len(chances) - 1)


@pytest.mark.parametrize(
    ("conformal", "kind"),
    [
        (ConformalResiduals(0.8, symmetric=False), as_gaussian),
        (ConformalResiduals(0.8, normalize=True, symmetric=False), as_gaussian),
        (ConformalQuantiles(0.8, symmetric=False), as_quantiles),
        (ConformalQuantiles(0.8, symmetric=False), as_gaussian),
    ],
)
def test_each_side_misses_half(conformal, kind, promise):
    # The chance to miss one side is 1 - k / (n + 1), k = ceil((n + 1) 0.9), and no sample can miss
    # both; sides may depend on each other, so that the variance is bounded by four of one side.
    rng = np.random.default_rng(7)
    counts = [covered(conformal, kind, rng, 60).sum() for _ in range(SETS)]
    side = law(60, 0.9)
    error = 2 * side.std() / math.sqrt(SETS)
    name = type(conformal).__name__ + (" normalized" if "True" in repr(conformal) else "")
    promise(
        SECTION, "each side misses 10 %, so both cover 80 %", f"{name} of {KINDS[kind]}, n = 60",
        SETS, np.mean(counts) / FRESH, f"{2 * side.mean() / FRESH - 1:.3f}",
    )  # fmt: skip
    assert abs(np.mean(counts) - (2 * side.mean() - FRESH)) < ERRORS * error


@pytest.mark.parametrize(
    ("conformal", "kind"),
    [(ConformalResiduals(0.8), as_gaussian), (ConformalQuantiles(0.8), as_quantiles)],
)
def test_each_target_is_covered(conformal, kind, promise):
    rng = np.random.default_rng(8)
    counts = np.array([covered(conformal, kind, rng, 40, 3).sum(axis=0) for _ in range(SETS)])
    for target in range(3):
        promise(
            SECTION, "each of three targets is covered in 80 %",
            f"{type(conformal).__name__}, target {target}, n = 40", SETS,
            counts[:, target].mean() / FRESH, exactly(40, 0.8),
        )  # fmt: skip
        assert_mean(counts[:, target], law(40, 0.8))


class TestJoint:
    def counts(self, conformal, kind, count):
        rng = np.random.default_rng(9)
        return [covered(conformal, kind, rng, count, 3).all(axis=1).sum() for _ in range(SETS)]

    def test_separate_intervals_do_not_cover_jointly(self):
        counts = self.counts(ConformalResiduals(0.8, normalize=True), as_gaussian, 40)
        distribution = law(40, 0.8)
        assert np.mean(counts) < distribution.mean() - 20 * distribution.std() / math.sqrt(SETS)

    def test_normalized_is_exact(self, promise):
        conformal = ConformalResiduals(0.8, normalize=True, joint=True)
        counts = self.counts(conformal, as_gaussian, 40)
        promise(
            SECTION, "three targets are covered together in 80 %", "normalized residuals, n = 40",
            SETS, np.mean(counts) / FRESH, exactly(40, 0.8),
        )  # fmt: skip
        assert_mean(counts, law(40, 0.8))

    @pytest.mark.parametrize(
        ("conformal", "kind"),
        [
            (ConformalResiduals(0.8, joint=True), as_gaussian),
            (ConformalQuantiles(0.8, joint=True), as_quantiles),
            (ConformalQuantiles(0.8, joint=True), as_gaussian),
            (ConformalResiduals(0.8, joint=True, symmetric=False), as_gaussian),
            (ConformalQuantiles(0.8, joint=True, symmetric=False), as_quantiles),
        ],
    )
    @pytest.mark.parametrize("count", [20, 80])
    def test_a_learned_unit_costs_no_coverage(self, conformal, kind, count, promise):
        counts = self.counts(conformal, kind, count)
        error = np.std(counts) / math.sqrt(SETS)
        sides = "" if conformal.symmetric else ", each side"
        promise(
            SECTION, "three targets are covered together in 80 %",
            f"{type(conformal).__name__} of {KINDS[kind]}{sides}, n = {count}", SETS,
            np.mean(counts) / FRESH, "at least 0.8",
        )  # fmt: skip
        assert np.mean(counts) > 0.8 * FRESH - ERRORS * error

    def test_a_median_that_leaves_out_the_new_sample_would_cost_coverage(self):
        # Why the median is bounded: taken from the calibration samples alone, it undercovers.
        rng = np.random.default_rng(10)
        inside = []
        for _ in range(20_000):
            residual = np.abs(rng.standard_t(3, size=(21, 6)))
            ratio = (residual / np.median(residual[:-1], axis=0)).max(axis=1)
            inside.append(ratio[-1] <= np.sort(ratio[:-1])[12])  # 13 of 21: k for 0.6
        error = math.sqrt(0.25 / len(inside))
        assert np.mean(inside) < 0.6 - ERRORS * error


@pytest.mark.parametrize("conformal", [ConformalResiduals(0.8), ConformalQuantiles(0.8)])
def test_each_group_is_covered(conformal, promise):
    rng = np.random.default_rng(11)
    sizes = {"small": 10, "large": 50}
    groups = np.repeat(list(sizes), list(sizes.values()))
    fresh = np.repeat(list(sizes), FRESH)
    counts = {group: [] for group in sizes}
    alone = []
    for _ in range(SETS):
        y = rng.normal(size=60) * np.where(groups == "small", 5.0, 1.0)
        prediction = caveat.Gaussian(np.zeros(60), 1.0)
        new = rng.normal(size=2 * FRESH) * np.where(fresh == "small", 5.0, 1.0)
        start = caveat.Gaussian(np.zeros(2 * FRESH), 1.0)
        interval = conformal.fit(prediction, y, groups=groups).transform(start, groups=fresh)
        inside = ((interval.lower <= new[:, None]) & (new[:, None] <= interval.upper))[:, 0]
        for group in sizes:
            counts[group].append(inside[fresh == group].sum())
        interval = conformal.fit(prediction, y).transform(start)
        alone.append((np.abs(new) <= interval.upper[:, 0])[fresh == "small"].sum())
    for group, size in sizes.items():
        promise(
            SECTION, "each group is covered in 80 %",
            f"{type(conformal).__name__}, group of {size}", SETS,
            np.mean(counts[group]) / FRESH, exactly(size, 0.8),
        )  # fmt: skip
        assert_mean(counts[group], law(size, 0.8))
    assert np.mean(alone) < 0.6 * FRESH  # without groups the noisier one is left out


@pytest.mark.parametrize(
    ("conformal", "kind"),
    [
        (ConformalResiduals(0.8, bins=4), as_gaussian),
        (ConformalResiduals(0.8, bins=4, normalize=True), as_gaussian),
        (ConformalQuantiles(0.8, bins=4), as_quantiles),
    ],
)
def test_each_bin_is_covered(conformal, kind, promise):
    # 15 samples in each of four bins, k = 13. One of them set the edge: with the score of 14 free
    # ones the chance is 13 / 15 at most (its score is the largest) and 12 / 15 at least.
    rng = np.random.default_rng(12)
    shares = []
    for _ in range(SETS):
        mean, std, y = draw(rng, 60)
        conformal.fit(kind(mean, std), y)
        mean, std, y = draw(rng, 2 * FRESH)
        interval = conformal.transform(kind(mean, std))
        inside = ((interval.lower <= y) & (y <= interval.upper))[:, 0]
        width = std if isinstance(conformal, ConformalResiduals) else 2.9 * std
        bins = np.searchsorted(conformal.edges_[0], width[:, 0])
        shares.append([inside[bins == i].mean() for i in range(4)])
    means = np.mean(shares, axis=0)
    error = np.std(shares, axis=0) / math.sqrt(SETS)
    promise(
        SECTION, "each of four bins of spread is covered in 80 %",
        f"{type(conformal).__name__}{' normalized' if 'normalize' in repr(conformal) else ''}, "
        "15 samples in each", SETS, f"{means.min():.3f} to {means.max():.3f}", "0.800 to 0.867",
    )  # fmt: skip
    assert (means > 12 / 15 - ERRORS * error).all()
    assert (means < 13 / 15 + ERRORS * error).all()


def test_without_bins_the_most_uncertain_are_left_out():
    rng = np.random.default_rng(13)
    shares = []
    for _ in range(200):
        mean, std, y = draw(rng, 60)
        conformal = ConformalResiduals(0.8).fit(as_gaussian(mean, std), y)
        mean, std, y = draw(rng, 2 * FRESH)
        wide = std[:, 0] > np.quantile(std, 0.75)
        interval = conformal.transform(as_gaussian(mean, std))
        shares.append(((interval.lower <= y) & (y <= interval.upper))[wide, 0].mean())
    assert np.mean(shares) < 0.75


@pytest.mark.parametrize("count", [19, 100, 1000])
@pytest.mark.parametrize("name", ["absolute residuals", "normalized residuals", "quantiles"])
def test_width_of_a_right_model(name, count, promise):
    """A right model: the shortest intervals are known, and coverage stays what it is."""
    rng = np.random.default_rng([14, count])
    sets = min(SETS, 300_000 // count)
    widths, counts = [], []
    for _ in range(sets):
        std = np.exp(rng.normal(scale=0.5, size=count + FRESH))
        scale = std if name != "absolute residuals" else np.ones(len(std))
        y = scale * rng.normal(size=len(std))
        prediction = caveat.Gaussian.from_std(np.zeros(len(std)), scale)
        conformal = ConformalResiduals(0.9, normalize=name == "normalized residuals")
        if name == "quantiles":
            conformal = ConformalQuantiles(0.9)
        conformal.fit(prediction.take(slice(count)), y[:count])
        found = conformal.transform(prediction.take(slice(count, None)))
        inside = (found.lower[:, 0] <= y[count:]) & (y[count:] <= found.upper[:, 0])
        counts.append(inside.sum())
        widths.append((found.upper - found.lower).mean() / (2 * 1.6448536 * scale[count:].mean()))
    promise(
        SECTION, f"intervals from {name} cover 90 %", f"right model, n = {count}", sets,
        np.mean(counts) / FRESH, exactly(count, 0.9), float(np.mean(widths)),
    )  # fmt: skip
    assert_mean(counts, law(count, 0.9))
    # The width is the price of not knowing the distribution: it falls as 1 / n.
    assert 0.97 < np.mean(widths) < 1 + 8 / count


def test_too_few_samples_cover_always(promise):
    # 5 of the 9 samples that 90 % need: the small group has infinite intervals, the other its own.
    rng = np.random.default_rng(15)
    groups = np.repeat(["small", "large"], [5, 39])
    fresh = np.repeat(["small", "large"], FRESH)
    large = []
    for _ in range(SETS):
        y, new = rng.normal(size=44), rng.normal(size=2 * FRESH)
        conformal = ConformalResiduals(0.9)
        conformal.fit(caveat.Gaussian(np.zeros(44), 1.0), y, groups=groups)
        start = caveat.Gaussian(np.zeros(2 * FRESH), 1.0)
        upper = conformal.transform(start, groups=fresh).upper[:, 0]
        assert np.isinf(upper[:FRESH]).all()
        large.append((np.abs(new[FRESH:]) <= upper[FRESH:]).sum())
    promise(
        SECTION, "each group is covered in 90 %", "a group of 39 beside one of 5", SETS,
        np.mean(large) / FRESH, exactly(39, 0.9),
    )  # fmt: skip
    promise(
        SECTION, "each group is covered in 90 %", "a group of 5 beside one of 39", SETS,
        "1.000 (infinite intervals)", "at least 0.9",
    )  # fmt: skip
    assert_mean(large, law(39, 0.9))
