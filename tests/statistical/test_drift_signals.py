"""Drift of signals is seen in the uncertainty, without labels: power against the noise.

Figure 13 of the paper on measures: a model that was trained at 50 dB and gets 15 dB, and the other
way round.
"""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import caveat
from caveat.datasets import make_modulations

SETS, EACH = 200, 100


def features(X):
    """Spectrum, moments of the amplitude, and steps of the phase: enough for a forest."""
    signal = X[:, 0] + 1j * X[:, 1]
    power = np.abs(np.fft.fft(signal, axis=1)) ** 2
    spectrum = np.log(power.reshape(len(X), 64, 16).mean(axis=2) + 1e-6)
    size = np.abs(signal)
    moments = [(size**k).mean(axis=1) for k in (1, 3, 4, 6)]
    moments += [np.abs((signal**k).mean(axis=1)) for k in (2, 4, 8)]
    steps = np.angle(signal[:, 1:] * signal[:, :-1].conj())
    moments += [np.abs(steps).mean(axis=1), steps.std(axis=1)]
    return np.column_stack([spectrum, *moments])


def predictions(train, snrs):
    data = make_modulations(0, samples=80, snr=train)
    model = RandomForestClassifier(60, min_samples_leaf=3, random_state=0)
    model.fit(features(data.X), data.y)
    # The same transmissions at each noise.
    return {
        snr: model.predict_proba(features(make_modulations(1, samples=150, snr=snr).X))
        for snr in snrs
    }


def share_changed(pool, new, rng):
    """How often the uncertainty of new samples is judged to have changed since a reference."""
    found = 0
    for _ in range(SETS):
        one, other = np.split(rng.permutation(len(pool))[: 2 * EACH], 2)
        result = caveat.drift(
            caveat.Categorical(pool[one]), caveat.Categorical(new[other]), resamples=0
        )
        found += result.state("uncertainty") == "changed"
    return found / SETS


@pytest.mark.parametrize("train", [50, 15])
def test_power_against_noise(train, promise):
    rng = np.random.default_rng(0)
    snrs = (50, 40, 35, 30, 15) if train == 50 else (15, 20, 50, 10, 0)
    made = predictions(train, snrs)
    seen = {snr: share_changed(made[train], made[snr], rng) for snr in snrs}
    words = ", ".join(f"{snr} dB: {share:.2f}" for snr, share in seen.items())
    promise(
        "Maps", "drift of signals is seen in the uncertainty, without labels",
        f"trained at {train} dB, {EACH} frames on each side", SETS, words, "0.05 at most without",
    )  # fmt: skip
    # Without a change a false "changed" has a probability of at most 0.05: three standard errors.
    assert seen[train] <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / SETS)
    assert seen[15 if train == 50 else 0] > 0.6
    if train == 50:
        assert seen[15] >= seen[30] >= seen[40]
