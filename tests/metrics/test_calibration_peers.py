"""Calibration errors against other libraries, and their defects that ours must not have."""

import numpy as np
import pytest

from caveat.metrics import (
    debiased_calibration_error,
    expected_calibration_error,
    reliability_curve,
    smooth_calibration_error,
)

NORMS = {"l1": 1, "l2": 2, "max": "max"}


def two_classes(samples: int = 3000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.3, samples)
    return (rng.random(samples) < p**1.4).astype(int), p


@pytest.mark.parametrize("name", NORMS)
def test_torchmetrics_binary(name: str) -> None:
    """Theirs is on P(y = 1), too; given doubles it also sums in doubles."""
    peer = pytest.importorskip("torchmetrics.functional.classification", reason="an oracle")
    import torch

    y, p = two_classes()
    theirs = peer.binary_calibration_error(
        torch.from_numpy(p), torch.from_numpy(y), n_bins=15, norm=name
    )
    ours = expected_calibration_error(y, p, kind="positive", norm=NORMS[name])
    assert ours == pytest.approx(float(theirs), abs=1e-12)


@pytest.mark.parametrize("name", NORMS)
def test_torchmetrics_top_label(name: str) -> None:
    """Theirs casts the top probability to single precision, which is the tolerance here."""
    peer = pytest.importorskip("torchmetrics.functional.classification", reason="an oracle")
    import torch

    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(5), 2000)
    y = rng.integers(0, 5, 2000)
    theirs = peer.multiclass_calibration_error(
        torch.from_numpy(p), torch.from_numpy(y), num_classes=5, n_bins=15, norm=name
    )
    ours = expected_calibration_error(y, p, norm=NORMS[name])
    assert ours == pytest.approx(float(theirs), abs=2000 * float(np.finfo(np.float32).eps))


def test_torchmetrics_has_a_bin_more_for_probability_one() -> None:
    """In ours the last bin is closed: 0.95 (happened) and 1.0 (did not) share it."""
    peer = pytest.importorskip("torchmetrics.functional.classification", reason="an oracle")
    import torch

    y, p = np.array([1, 0]), np.array([0.95, 1.0])
    theirs = peer.binary_calibration_error(torch.from_numpy(p), torch.from_numpy(y), n_bins=10)
    assert float(theirs) == pytest.approx((0.05 + 1.0) / 2)
    assert expected_calibration_error(y, p, kind="positive", bins=10) == pytest.approx(0.95 / 2)


def test_many_samples_lose_no_precision() -> None:
    """Sums in single precision stop at 2^24, so that 20 million samples came out as nonsense."""
    y, p = two_classes(1000)
    many = expected_calibration_error(
        np.tile(y.astype(np.int8), 20_000), np.tile(p, 20_000), kind="positive"
    )
    assert many == pytest.approx(expected_calibration_error(y, p, kind="positive"), rel=1e-12)


def test_relplot_binned() -> None:
    peer = pytest.importorskip("relplot", reason="an oracle")
    y, p = two_classes()
    theirs = peer.metrics.binnedECE(p, y, 15)
    assert expected_calibration_error(y, p, kind="positive") == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("binning", ["equal-width", "equal-count"])
def test_netcal(binning: str) -> None:
    """Binary ECE on P(y = 1); their equal counts cut at quantiles, the same if n / bins is whole."""
    peer = pytest.importorskip("netcal.metrics", reason="an oracle")
    y, p = two_classes()
    theirs = peer.ECE(15, equal_intervals=binning == "equal-width").measure(p, y)
    ours = expected_calibration_error(y, p, kind="positive", binning=binning)
    assert ours == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("sigma", [0.03, 0.1, 0.2])
def test_relplot_smooth_at_a_bandwidth(sigma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Theirs has cells of 1e-3 twice, a kernel cut at 1/2, and a plain sum over a mesh.

    The sum counts both ends in full, which adds up to a cell times the largest density,
    2 phi(0) / sigma, at each; with a finer mesh than theirs this is small.
    """
    peer = pytest.importorskip("relplot", reason="an oracle")
    from scipy.stats import norm

    mesh = 100_001
    monkeypatch.setattr(peer.config, "smECE_mesh_pts", mesh)
    y, p = two_classes()
    theirs = peer.smECE_sigma(p, y, sigma)
    ours = smooth_calibration_error(y, p, kind="positive", bandwidth=sigma)
    cells = 0.242 * (1e-3 / sigma) ** 2
    ends = 2 * 2 * norm.pdf(0) / sigma / mesh
    assert ours == pytest.approx(theirs, abs=cells + ends + 2 * norm.sf(0.5 / sigma))


@pytest.mark.parametrize("seed", range(3))
def test_relplot_smooth(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Theirs halves the interval of bandwidths ten times and returns its upper end's level."""
    peer = pytest.importorskip("relplot", reason="an oracle")
    monkeypatch.setattr(peer.config, "smECE_mesh_pts", 10_001)
    y, p = two_classes(seed=seed)
    value, width = peer.smECE(p, y, return_width=True)
    ours = smooth_calibration_error(y, p, kind="positive")
    own = 0.242 * (1e-3 / width) ** 2 + 4 * 0.4 / width / 10_001  # as in the test above
    assert width - 2**-10 - own <= ours <= width + own
    assert value - own <= ours


def test_every_bin_is_used() -> None:
    """MAPIE cuts one bin too few: here each of the bins has a gap of its own sign."""
    p = (np.arange(10) + 0.5) / 10
    y = np.arange(10) % 2
    curve = reliability_curve(y, p, kind="positive", bins=10)
    np.testing.assert_array_equal(curve.weight, np.ones(10))
    assert expected_calibration_error(y, p, kind="positive", bins=10) == pytest.approx(
        np.abs(p - y).mean()
    )


@pytest.mark.parametrize("function", [expected_calibration_error, debiased_calibration_error])
def test_equal_counts_are_of_sorted_samples(function: object) -> None:
    """MAPIE splits the rows as they come."""
    y, p = two_classes(60)
    order = np.argsort(p)
    options = {"kind": "positive", "binning": "equal-count", "bins": 6}
    given, ordered = (function(y[i], p[i], **options) for i in (slice(None), order))  # type: ignore[operator]
    assert given == pytest.approx(ordered, rel=1e-12)


def test_the_top_label_is_compared_with_being_right() -> None:
    """MAPIE pairs the largest of two scores with the raw label."""
    p = np.array([[0.9, 0.1]] * 10)
    y = np.array([0] * 9 + [1])  # right in nine of ten: calibrated
    assert expected_calibration_error(y, p) == pytest.approx(0, abs=1e-15)
    assert expected_calibration_error(y, p, kind="positive") == pytest.approx(0, abs=1e-15)
    assert expected_calibration_error(1 - y, p) == pytest.approx(0.8)
