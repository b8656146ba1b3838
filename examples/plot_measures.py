"""
Measures of uncertainty on the triangle
=======================================

Probabilities of three classes are points of a triangle: a corner is certainty, the center is a
guess. Measures agree about these and differ in between. The white line is where they are one half.
"""

# %%
# Points of the triangle
# ----------------------

import matplotlib.pyplot as plt
import numpy as np

import caveat

# sphinx_gallery_thumbnail_number = 2

STEPS = 80
first, second = np.meshgrid(np.arange(STEPS + 1), np.arange(STEPS + 1))
inside = first + second <= STEPS
points = np.column_stack([first[inside], second[inside], STEPS - (first + second)[inside]]) / STEPS
CORNERS = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])


def draw(ax, values, title, names=("meadow", "forest", "water")):
    """Draw a measure as a map over the triangle."""
    x, y = (points @ CORNERS).T
    filled = ax.tricontourf(x, y, values, levels=np.linspace(0, 1, 13), cmap="cividis")
    ax.tricontour(x, y, values, levels=[0.5], colors="white", linewidths=1)
    for (across, up), name, side in zip(CORNERS, names, ("top", "top", "bottom"), strict=True):
        ax.annotate(
            name,
            (across, up),
            (0, -6 if side == "top" else 6),
            va=side,
            ha="center",
            textcoords="offset points",
        )
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(title, pad=24)
    return filled


# %%
# How near to a guess
# -------------------
#
# The margin looks at the two most probable classes only: half against half is as bad as it gets,
# and the third does not count. The entropy and the Gini impurity see all three. The geometric
# measure is a distance to the center, here along the curved surface on which probabilities live
# (Fisher-Rao).

options = {
    "margin": {},
    "shannon_entropy": {},
    "gini_impurity": {},
    "geometric_uncertainty": {"distance": "fisher-rao"},
}
figure, axes = plt.subplots(1, 4, figsize=(14, 4), layout="constrained")
for ax, name in zip(axes, options, strict=True):
    values = caveat.measure(points, name, **options[name])
    filled = draw(ax, values, name.replace("_", " "))
figure.colorbar(filled, ax=axes, shrink=0.7, ticks=[0, 0.5, 1], label="uncertainty")

# %%
# Which classes are confused
# --------------------------
#
# To take a meadow for a forest is one thing, to take it for water another. The homophily measure
# knows how far the classes are apart, here from samples of them.

rng = np.random.default_rng(0)
labels = np.repeat(["meadow", "forest", "water"], 500)
samples = rng.normal(size=(1500, 4)) + np.repeat([0.0, 1.5, 6.0], 500)[:, None]
H = caveat.class_distances(samples, labels, classes=["meadow", "forest", "water"])
print(H.round(2))

# %%
# Between meadow and forest there is little to fear, whatever the probabilities. Towards water the
# measure rises, and no longer has its peak in the center.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
draw(axes[0], caveat.measure(points, "shannon_entropy"), "shannon entropy")
filled = draw(axes[1], caveat.measure(points, "homophily", H=H), "homophily uncertainty")
figure.colorbar(filled, ax=axes, shrink=0.7, ticks=[0, 0.5, 1], label="uncertainty")
