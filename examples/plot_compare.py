"""
Which technique, and is the difference real?
============================================

Four ways to predict the same samples. A table has a best in every row; whether the others can be
told from it is another question.
"""

# %%
# Two models, raw and repaired
# ----------------------------

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

import caveat

# sphinx_gallery_thumbnail_number = 2

X, y = make_classification(
    6000, n_features=20, n_informative=5, n_redundant=10, flip_y=0.08, random_state=1
)
train, held, test = slice(0, 1500), slice(1500, 3500), slice(3500, None)
techniques = {}
for name, model in {
    "forest": RandomForestClassifier(min_samples_leaf=10, random_state=0),
    "naive Bayes": GaussianNB(),
}.items():
    model.fit(X[train], y[train])
    old, new = (caveat.Categorical(model.predict_proba(X[rows])) for rows in (held, test))
    techniques[name] = new
    techniques[f"{name}, isotonic"] = caveat.IsotonicCalibration().fit(old, y[held]).transform(new)

# %%
# Side by side
# ------------
#
# All are resampled together, so that the differences are paired.

names = ["accuracy", "roc_auc", "brier", "positive_ece"]
comparison = caveat.compare(techniques, y[test], metrics=names, random_state=0)
figure, axes = plt.subplots(1, 3, figsize=(14, 3.4), layout="constrained", sharey=True)
for ax, metric in zip(axes, ("roc_auc", "brier", "positive_ece"), strict=True):
    comparison.plot(metric=metric, ax=ax)

# %%
# The curves behind the calibration errors:

ax = comparison.plot("reliability")

# %%
# What to use
# -----------
#
# A proper score (here Brier's) decides first: it rewards knowing as well as saying how sure one
# is. Calibration decides among those that are equally good by it, and only those count that are
# good enough to be considered:

print(comparison.recommend("probability", minimum={"roc_auc": 0.9}))

# %%
# And if both calibration and discrimination count, no technique beats one of these in both:

print(comparison.pareto("positive_ece", "roc_auc"))
