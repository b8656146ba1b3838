"""Conformal intervals for people: valid when subjects are shared, not when they are apart."""

import numpy as np
import pytest
from scipy.stats import beta, norm
from sklearn.linear_model import Ridge

import caveat
from caveat.signals import CoverageAlarm, make_pressure_ppg, split_subjects

SETS = 40


@pytest.fixture(scope="module")
def outcomes():
    """Coverage of 90 % intervals and p-value of the exchangeability test, for both splits."""
    result = {"calib": [], "calibfree": []}
    for seed in range(SETS):
        signals = make_pressure_ppg(
            16, 40, seconds=5, sampling_rate=40, between=25, random_state=seed
        )
        features = np.log(np.abs(np.fft.rfft(signals.X[:, 0], axis=1))[:, 3:40] + 0.1)
        y = signals.y[:, 0]
        for kind, runs in result.items():
            split = split_subjects(signals, kind, sizes=(0.4, 0, 0.3, 0.3), random_state=seed)
            model = Ridge(10.0).fit(features[split.train], y[split.train])
            said = [
                caveat.Gaussian(model.predict(features[rows]), 100.0)
                for rows in (split.calibration, split.test)
            ]
            truth = y[split.calibration], y[split.test]
            interval = caveat.ConformalQuantiles(0.9).fit(said[0], truth[0]).transform(said[1])
            covered = (interval.lower[:, 0] <= truth[1]) & (truth[1] <= interval.upper[:, 0])
            residuals = [t - p.mean[0, :, 0] for t, p in zip(truth, said, strict=True)]
            test = caveat.exchangeability_test(*residuals, resamples=199, random_state=seed)
            runs.append((covered.mean(), test.p_value, len(truth[0]), len(truth[1])))
    return {kind: np.array(runs) for kind, runs in result.items()}


def test_conformal_intervals_cover_when_subjects_are_shared(outcomes, promise):
    coverage, _, calibration, tested = outcomes["calib"].T
    # Given n calibration samples the coverage is Beta(k, n + 1 - k); m test samples add to it.
    n, m = int(calibration.mean()), tested.mean()
    k = int(np.ceil((n + 1) * 0.9))
    spread = np.sqrt(beta(k, n + 1 - k).var() + 0.09 / m)
    limit = norm.ppf(0.9995) * spread / np.sqrt(SETS)
    promise(
        "Signals", "conformal intervals cover", "pressures of 16 people, subjects shared", SETS,
        coverage.mean(), "0.900 or more",
    )  # fmt: skip
    assert abs(coverage.mean() - k / (n + 1)) < limit
    # The sets differ by chance alone.
    assert coverage.std() < 1.5 * spread


def test_the_exchangeability_test_stays_silent_when_subjects_are_shared(outcomes, promise):
    alarms = (outcomes["calib"][:, 1] <= 0.05).mean()
    promise(
        "Signals", "exchangeability test at 0.05", "pressures of 16 people, subjects shared", SETS,
        alarms, "0.050 or less",
    )  # fmt: skip
    assert alarms <= 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / SETS)


def test_coverage_fails_and_the_test_fires_when_subjects_are_apart(outcomes, promise):
    coverage, p_values, calibration, tested = outcomes["calibfree"].T
    n, m = int(calibration.mean()), tested.mean()
    k = int(np.ceil((n + 1) * 0.9))
    spread = np.sqrt(beta(k, n + 1 - k).var() + 0.09 / m)
    # Five subjects calibrate and five are tested: coverage is far from nominal in many sets.
    assert coverage.std() > 2 * spread
    # Among exchangeable samples one set in a thousand would be off by so much.
    far = np.abs(coverage - 0.9) > 3.3 * spread
    assert far.mean() > 0.1
    fired = p_values <= 0.05
    promise(
        "Signals", "exchangeability test finds failed coverage", "16 people, subjects apart", SETS,
        float(fired[far].mean()), "0.900 or more",
    )  # fmt: skip
    assert fired[far].mean() >= 0.9


def test_alarms_of_a_stream_are_as_far_apart_as_promised(promise):
    rng = np.random.default_rng(0)
    lengths = []
    for _ in range(200):
        alarm = CoverageAlarm(0.9, tolerance=0.0, run_length=200)
        while not alarm.update(rng.random() < 0.9):
            pass
        lengths.append(alarm.alarm_at)
    error = np.std(lengths) / np.sqrt(len(lengths))
    promise(
        "Signals", "truths until a false alarm of a stream", "misses as often as tolerated", 200,
        f"{np.mean(lengths):.0f}", "200 or more",
    )  # fmt: skip
    assert np.mean(lengths) >= 200 - 3.5 * error
