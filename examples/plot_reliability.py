"""
Is 80 % right in 80 % of cases?
===============================

A forest votes carefully: the mean of its trees is often less certain than it should be. One
number, the temperature, repairs that. The three kinds of reliability diagrams show it before and
after.
"""

# %%
# A forest for three classes
# --------------------------
#
# 2,000 samples train the forest, 3,000 repair it, and 5,000 are there to look at. The trees are
# the members of the prediction.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import caveat

X, y = make_classification(
    10_000, n_features=12, n_informative=6, n_classes=3, class_sep=1.2, random_state=0
)
train, held, test = slice(0, 2000), slice(2000, 5000), slice(5000, None)
forest = RandomForestClassifier(min_samples_leaf=5, random_state=0).fit(X[train], y[train])


def trees(rows):
    """Return what each tree says."""
    members = [tree.predict_proba(X[rows]) for tree in forest.estimators_]
    return caveat.Categorical(members, classes=forest.classes_)


raw = trees(test)
raw

# %%
# The repair
# ----------
#
# A temperature below 1 makes probabilities more certain.

scaling = caveat.TemperatureScaling().fit(trees(held), y[held])
fixed = scaling.transform(raw)
print(f"temperature: {np.ravel(scaling.temperature_)[0]:.2f}")

# %%
# Before and after
# ----------------
#
# Left: of the predictions made with 80 %, how many are right? Above the diagonal, the model is
# better than it says. The band says how sure that is, bin by bin; below are the numbers of
# predictions.
#
# Middle: the same question for the entropy of the probabilities, against the rate of errors. The
# diagonal is not what a calibrated model reaches, since the two are different quantities. Right:
# the variation compares like with like, the entropy of what was predicted with that of what
# happened.

results = {
    name: caveat.evaluate(
        prediction, y[test], metrics=["accuracy", "ece", "uce", "vce"], random_state=0
    )
    for name, prediction in {"forest": raw, "with temperature": fixed}.items()
}
figure, axes = plt.subplots(1, 3, figsize=(14, 5.2), layout="constrained")
for ax, kind in zip(axes, ("confidence", "entropy", "variation"), strict=True):
    for name, result in results.items():
        result.plot("reliability", view=kind, ax=ax, name=name)

# %%
# In words
# --------

for name, result in results.items():
    print(f"{name}: {result.verdict().statements[0].text}")
