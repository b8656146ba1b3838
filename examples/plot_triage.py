"""
Accept, ask an expert, or measure again
=======================================

How many errors can be borne among the predictions that nobody looks at? A policy learns how
certain a prediction must be for that, and says what to do with the others.
"""

# %%
# Handwritten digits through a bad camera
# ---------------------------------------
#
# A forest is trained on a third of the images. Half of the others are old: what they show is
# known.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import caveat

# sphinx_gallery_thumbnail_number = 2

X, y = load_digits(return_X_y=True)
X = X + np.random.default_rng(0).normal(scale=3, size=X.shape)
train, rest = train_test_split(np.arange(len(y)), train_size=1 / 3, random_state=0, stratify=y)
old, new = train_test_split(rest, train_size=0.5, random_state=0, stratify=y[rest])
forest = RandomForestClassifier(min_samples_leaf=3, random_state=0).fit(X[train], y[train])


def trees(rows):
    """Return what each tree says."""
    members = [tree.predict_proba(X[rows]) for tree in forest.estimators_]
    return caveat.Categorical(members, classes=forest.classes_)


# %%
# The policy
# ----------
#
# At most 2 % errors among the accepted, at 95 % confidence.

policy = caveat.TriagePolicy(risk=0.02, random_state=0).fit(trees(old), y[old])
prediction = trees(new)
triage = policy.decide(prediction)
triage

# %%
# What each threshold would do
# ----------------------------
#
# Thresholds are tried from several starts on, which share the allowed doubt, until the upper limit
# of the error rate exceeds the risk. The last one that was reached is taken.

ax = caveat.plot(triage)
ax.set(ylim=(0, 0.1))

# %%
# Did it hold for the new images?

wrong = prediction.labels != y[new]
print(f"wrong among all: {wrong.mean():.1%}, among accepted: {wrong[triage.accepted].mean():.1%}")

# %%
# Who is sent where
# -----------------
#
# The parts are compared after both were put on the same scale, that of the old images.

figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
looks = {
    "accept": ("o", "0.7"),
    "ask an expert": ("^", "#0072b2"),
    "measure again": ("s", "#d55e00"),
}
for action, (marker, color) in looks.items():
    chosen = triage.actions == action
    points = triage.aleatoric[chosen], triage.epistemic[chosen]
    ax.scatter(*points, s=14, marker=marker, color=color, label=f"{action} ({chosen.sum()})")
ax.axline((0, 0), slope=1, color="0.4", linewidth=1, linestyle=":")
ax.set(xlabel="aleatoric, standardized", ylabel="epistemic, standardized")
ax.legend()

# %%
# A look at some of each
# ----------------------

figure, axes = plt.subplots(3, 10, figsize=(10, 3.6), layout="constrained")
for row, action in zip(axes, looks, strict=True):
    row[0].set_ylabel(action, rotation=0, ha="right", va="center", fontsize=11)
    for ax, sample in zip(row, np.flatnonzero(triage.actions == action)[:10], strict=False):
        ax.imshow(X[new[sample]].reshape(8, 8), cmap="gray_r")
        said, true = prediction.labels[sample], y[new[sample]]
        ax.set_title(f"{said}" if said == true else f"{said}, is {true}", fontsize=10)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
