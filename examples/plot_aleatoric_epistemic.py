"""
What the data cannot tell, and what the model does not know
===========================================================

Two reasons for being uncertain, two maps. Between the moons the classes overlap: more data would
not help. In the corners the model has never seen anything, and its trees contradict each other.
"""

# %%
# Two moons and a forest
# ----------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier

import caveat

X, y = make_moons(600, noise=0.3, random_state=0)
forest = RandomForestClassifier(200, min_samples_leaf=10, random_state=0).fit(X, y)

# %%
# Split the uncertainty everywhere
# --------------------------------
#
# Each tree is a member. The entropy of their mean is the total; the mean of their entropies is
# what each of them leaves open (aleatoric); the difference is what they disagree about
# (epistemic).

across, up = np.meshgrid(np.linspace(-2, 3, 160), np.linspace(-1.6, 2.1, 120))
places = np.column_stack([across.ravel(), up.ravel()])
members = caveat.Categorical([tree.predict_proba(places) for tree in forest.estimators_])
split = caveat.decompose(members, "information")

figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained", sharex=True, sharey=True)
for ax, part in zip(axes, ("total", "aleatoric", "epistemic"), strict=True):
    values = getattr(split, part).reshape(across.shape)
    filled = ax.contourf(across, up, values, levels=12, cmap="cividis")
    for label, marker in ((0, "o"), (1, "^")):
        ax.scatter(*X[y == label].T, s=8, marker=marker, color="white", linewidths=0, alpha=0.6)
    ax.set_title(part)
    figure.colorbar(filled, ax=ax, label="nats")

# %%
# Sample by sample
# ----------------
#
# For new samples, wrong predictions lie where one of the parts is large. Which one it is says what
# to do: measure again, or learn more.

X_new, y_new = make_moons(1000, noise=0.3, random_state=1)
prediction = caveat.Categorical([tree.predict_proba(X_new) for tree in forest.estimators_])
result = caveat.evaluate(prediction, y_new, metrics=["accuracy", "error_detection_auroc_score"])
ax = result.plot("split")

# %%
# A split is the model's own account. To the left and in the lower right corner this forest is
# certain, though it has seen nothing there either: each of its trees carries on what it knows from
# the border. Other members, such as networks, disagree in other places. Look before you trust a
# map like this one.
