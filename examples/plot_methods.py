"""
Ten methods on the same data
============================

The same data and the same network, by every method. Where there are data they agree on most of it.
Where there are none they differ: in what they take for noise (aleatoric), and still more in what
they say the model does not know (epistemic).
"""

# %%
# Two moons
# ---------
#
# A method is a word: ``DeepEnsembleClassifier``, ``FlipoutClassifier``. All share the settings of
# the network, and each has a few of its own. Bayes by backprop and Flipout count their divergence a
# tenth of what the evidence's lower bound asks: with all of it, a network this small learns little
# from 200 samples.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from caveat import estimators

METHODS = {
    "MAP": {},
    "DeepEnsemble": {"members": 10},
    "Bootstrap": {"members": 10},
    "AnchoredEnsemble": {"members": 10},
    "MCDropout": {"rate": 0.1},
    "ConcreteDropout": {},
    "DropConnect": {"rate": 0.1},
    "BayesByBackprop": {"divergence_weight": 0.0005},
    "Flipout": {"divergence_weight": 0.0005},
}
NETWORK = {"hidden": (32, 32), "learning_rate": 0.01, "random_state": 0}

X, y = make_moons(200, noise=0.2, random_state=0)
across, up = np.meshgrid(np.linspace(-3, 4, 90), np.linspace(-2.5, 3, 70))
places = np.column_stack([across.ravel(), up.ravel()])

splits = {}
for name, settings in METHODS.items():
    kind = getattr(estimators, f"{name}Classifier")
    model = kind(epochs=60, **NETWORK, **settings).fit(X, y)
    splits[name] = model.predict_distribution(places).decompose("information")


def nine():
    """Return a figure with a panel for each method."""
    return plt.subplots(3, 3, figsize=(11, 8.5), layout="constrained", sharex=True, sharey=True)


def maps(part, highest):
    """Draw one part of the uncertainty for each method, all on one scale."""
    figure, axes = nine()
    levels = np.arange(0, highest + 0.01, highest / 14)
    for ax, (name, split) in zip(axes.flat, splits.items(), strict=True):
        values = getattr(split, part).reshape(across.shape)
        filled = ax.contourf(across, up, values, levels=levels, cmap="cividis", extend="max")
        for label, marker in ((0, "o"), (1, "^")):
            ax.scatter(*X[y == label].T, s=7, marker=marker, color="white", linewidths=0, alpha=0.7)
        ax.set_title(name, fontsize="medium")
    figure.colorbar(filled, ax=axes, label=f"{part}, nats", shrink=0.6, ticks=levels[::2])


# %%
# What the data cannot tell: a band along the border between the moons, at most log 2 = 0.69 nats.
# Among the data every method has it. One network carries it on as bright as before to where it has
# seen nothing (MAP). Dropped units and weights and draws from a prior carry it on, too, but wider
# and paler. Of other initial weights, resamples of the data and Gaussian weights little of it is
# left there: they are less sure where the border runs, and call that epistemic. So the mean over
# the map is some six times as high for AnchoredEnsemble as for Bootstrap.

maps("aleatoric", 0.7)

# %%
# What the model does not know. One network knows of nothing (MAP). All others see wedges that open
# away from the data, where the border may go on in many ways: strong ones for other initial weights
# (DeepEnsemble), resamples of the data (Bootstrap, the widest) and Gaussian weights; weaker ones
# for dropped units (MCDropout), faint ones for draws from a prior (AnchoredEnsemble) and dropped
# weights (DropConnect). Concrete dropout drops inputs, too, and so doubts along the axes. *No*
# method is uncertain everywhere outside: far from every possible border all members say the same
# class.

maps("epistemic", 0.35)

# %%
# A curve with noise that grows, and a gap
# ----------------------------------------
#
# The dark band is twice the noise that was learned; the light one adds what the members disagree
# about. Dashed lines are twice the true noise around the true curve.

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(-2, -0.7, 50), rng.uniform(0.8, 2, 50)])


def curve(x):
    """Return the truth: mean and standard deviation."""
    return np.sin(2.5 * x), 0.04 + 0.06 * (x + 2)


truth, noise = curve(x)
target = truth + noise * rng.normal(size=len(x))
grid = np.linspace(-3, 3, 161)
inner = np.linspace(-2, 2, 101)

figure, axes = nine()
for ax, (name, settings) in zip(axes.flat, METHODS.items(), strict=True):
    kind = getattr(estimators, f"{name}Regressor")
    model = kind(epochs=250, **NETWORK, **settings).fit(x[:, None], target)
    prediction = model.predict_distribution(grid[:, None])
    mean, total = (value[:, 0] for value in prediction.moments())
    aleatoric = prediction.decompose().aleatoric[:, 0]
    ax.scatter(x, target, s=5, color="0.4", linewidths=0)
    for variance, shade in ((total, 0.2), (aleatoric, 0.35)):
        ends = mean - 2 * np.sqrt(variance), mean + 2 * np.sqrt(variance)
        ax.fill_between(grid, *ends, color="tab:blue", alpha=shade, linewidth=0)
    ax.plot(grid, mean, color="tab:blue")
    for sign in (-2, 2):
        edge = curve(inner)[0] + sign * curve(inner)[1]
        ax.plot(inner, edge, color="0.2", linewidth=0.8, linestyle="--")
    ax.set_title(name, fontsize="medium")
    ax.set_ylim(-3, 3)

# %%
# To the left and right the ensembles open up: resamples of the data (Bootstrap) the most, other
# initial weights (DeepEnsemble) to the right alone. Gaussian weights add little to the noise.
# Dropout and DropConnect open up, too, but they also bend the curve less, and call what they miss
# noise. In the gap the true curve leaves the band of most methods: a network joins what it knows by
# the straightest line, and all members do the same. And nobody learned the noise from nothing:
# outside of the data the dark band is a guess, too.
#
# Quantiles instead of a Gaussian
# -------------------------------
#
# ``QuantileNetworkRegressor`` learns the ends of the band themselves, whatever the shape of the
# noise. It is one network: nothing in it opens up in the gap.

levels = [0.025, 0.25, 0.5, 0.75, 0.975]
model = estimators.QuantileNetworkRegressor(levels=levels, prior_std=None, epochs=150, **NETWORK)
values = model.fit(x[:, None], target).predict_distribution(grid[:, None]).values[0, :, 0]
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.scatter(x, target, s=5, color="0.4", linewidths=0)
for low, high, label, shade in ((0, 4, "95 %", 0.25), (1, 3, "50 %", 0.35)):
    ax.fill_between(
        grid,
        values[:, low],
        values[:, high],
        color="tab:blue",
        alpha=shade,
        linewidth=0,
        label=label,
    )
ax.plot(grid, values[:, 2], color="tab:blue", label="median")
ax.set(xlabel="x", ylabel="y", ylim=(-3, 3))
_ = ax.legend(loc="upper left", ncols=3)
