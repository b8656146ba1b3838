"""
Intervals that keep their promise
=================================

Quantile regression draws an interval around each prediction. On new samples it covers less than it
says, since it was fitted to other ones. Conformal repair widens it until it covers - on average.
For each group there is another call.
"""

# %%
# Data with two kinds of noise
# ----------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

import caveat

rng = np.random.default_rng(0)


def simulate(number):
    """Return inputs, outcomes, and the kind of each sample; the rare kind is noisier."""
    x = rng.uniform(0, 10, size=number)
    rare = rng.random(number) < 0.25
    noise = (0.3 + 0.08 * x) * np.where(rare, 2.2, 1.0)
    return x[:, None], np.sin(x) + noise * rng.normal(size=number), np.where(rare, "rare", "common")


X, y, _ = simulate(400)
LEVELS = [0.05, 0.5, 0.95]
models = [
    GradientBoostingRegressor(loss="quantile", alpha=level, max_depth=3, random_state=0).fit(X, y)
    for level in LEVELS
]


def quantiles(X):
    """Return the three quantiles of each sample; boosted ones may cross, so they are sorted."""
    values = np.column_stack([model.predict(X) for model in models])
    return caveat.Quantiles(LEVELS, values, targets=["y"], sort=True)


# %%
# Repair on samples of its own
# ----------------------------

X_held, y_held, kind_held = simulate(1500)
X, y, kind = simulate(3000)
held, raw = quantiles(X_held), quantiles(X)
conformal = caveat.ConformalQuantiles(0.9).fit(held, y_held)
by_kind = caveat.ConformalQuantiles(0.9).fit(held, y_held, groups=kind_held)
techniques = {
    "boosting": raw.interval(0.9),
    "conformal": conformal.transform(raw),
    "conformal by kind": by_kind.transform(raw, groups=kind),
}

# %%
# The repaired intervals are wider by the same amount everywhere:

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
order = np.argsort(X[:, 0])
for ax, name in zip(axes, ("boosting", "conformal"), strict=True):
    interval = techniques[name]
    for label, color in (("common", "0.6"), ("rare", "tab:orange")):
        ax.scatter(X[kind == label, 0], y[kind == label], s=3, color=color, label=label)
    ends = (interval.lower[order, 0], interval.upper[order, 0])
    ax.fill_between(X[order, 0], *ends, alpha=0.35, label="90 % interval", linewidth=0)
    ax.set(title=name, xlabel="x")
axes[0].set_ylabel("y")
axes[0].legend(loc="upper left", ncols=3, fontsize="small", markerscale=3)

# %%
# Coverage and width by group
# ---------------------------
#
# The promise of the conformal interval holds over all samples, and is paid for by the rare kind.
# One repair for each kind gives it to both: wider where it must be, narrower where it can be.

metrics = ["interval_coverage", "mean_interval_width"]
results = {
    name: caveat.evaluate(interval, y, groups={"kind": kind}, metrics=metrics, random_state=0)
    for name, interval in techniques.items()
}
figure, axes = plt.subplots(1, 2, figsize=(12, 3.4), layout="constrained")
for ax, metric in zip(axes, metrics, strict=True):
    for name, result in results.items():
        result.plot("groups", metric=metric, ax=ax, name=name)

# %%
# In words, for the interval that was promised to everybody and did not reach all:

print(results["conformal"].verdict())
