"""
Intervals for a series that changes
===================================

A forecast was right last year, and its intervals were made then. What happens to them when the
noise grows, and what do methods do that learn from every truth?
"""

# %%
# A series, and its forecast
# --------------------------
#
# The noise triples after 1,000 days and falls back after 2,000. The forecast knows the season, and
# nothing of the noise.

import matplotlib.pyplot as plt
import numpy as np

import caveat

rng = np.random.default_rng(0)
day = np.arange(3000)
season = 10 + 2 * np.sin(2 * np.pi * day / 365)
noise = np.where((day >= 1000) & (day < 2000), 3.0, 1.0)
truth = season + noise * rng.normal(size=len(day))
forecast = caveat.Gaussian(season, 1.0)

# %%
# Three methods
# -------------
#
# Each makes the interval of a day before its truth is known.

methods = {
    "all residuals of the past": caveat.BlockConformal(0.9, window=None, shortest=False),
    "adaptive, step 0.01": caveat.AdaptiveConformal(0.9, step=0.01),
    "aggregated": caveat.AggregatedConformal(0.9),
}
runs = {name: method.run(forecast, truth, time=day) for name, method in methods.items()}
for name, run in runs.items():
    print(f"{name}: covers {run.coverage[0]:.3f}")

# %%
# Coverage of the last 100 days
# -----------------------------
#
# Nothing promises it for a given time. The promise is that of the long run, for every series:

print(runs["adaptive, step 0.01"].guarantee)

figure, (above, below) = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
for (name, run), color in zip(runs.items(), ("0.5", "#0072b2", "#d55e00"), strict=True):
    above.plot(day[99:], run.local_coverage(100)[:, 0], color=color, label=name)
    width = (run.interval.upper - run.interval.lower)[:, 0]
    below.plot(day, np.where(np.isfinite(width), width, np.nan), color=color, linewidth=0.8)
above.axhline(0.9, color="black", linewidth=1, linestyle=":")
above.set(ylabel="covered, last 100 days", ylim=(0.4, 1.02))
above.legend()
below.set(xlabel="day", ylabel="width of the interval", ylim=(0, 25))

# %%
# The state is a small file
# -------------------------
#
# ``save`` and ``load`` go on tomorrow where today ended; ``level_`` is one minus the coverage that
# the next interval aims at.

print(methods["adaptive, step 0.01"].level_.round(3))
