"""
How much dropout separates the two uncertainties?
=================================================

The rate of Monte-Carlo dropout is a choice, and accuracy says little about it. The uncertainty
disentanglement error (UDE) does: it asks whether aleatoric uncertainty follows noise alone, and
epistemic uncertainty missing data alone.
"""

# %%
# A grid of rates
# ---------------
#
# Nothing special is needed for such a search: scikit-learn's ``ParameterGrid`` gives the settings,
# and each is an estimator of its own. The sweeps are short here: four sizes, four shares of noise,
# three repeats, for each rate 24 networks that train at once.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import ParameterGrid

import caveat
from caveat.experiments import Protocol

X, y = make_moons(300, noise=0.15, random_state=0)
X_test, y_test = make_moons(500, noise=0.15, random_state=1)
protocol = Protocol(sizes=(0.03, 0.1, 0.3, 1), noise=(0, 0.25, 0.5, 0.75), repeats=3)
model = caveat.MCDropoutClassifier(
    hidden=(32, 32), epochs=30, learning_rate=0.01, passes=30, prior_std=None
)

grid = ParameterGrid({"rate": [0.05, 0.2, 0.5, 0.8]})
results = {
    settings["rate"]: caveat.disentanglement_error(
        clone(model).set_params(**settings),
        X,
        y,
        test=(X_test, y_test),
        protocol=protocol,
        random_state=0,
    )
    for settings in grid
}
results[0.05].error()

# %%
# Error and accuracy
# ------------------
#
# Left: the UDE with its interval over repeats, and the accuracy of the network that learned from
# all samples without noise. Right: the four terms that the UDE is the mean of. C1 and C2 ask
# whether each part follows its own cause, O1 and O2 whether it leaves the other's alone.

rates = np.array(list(results))
errors = [result.error() for result in results.values()]
accuracy = [result.curve("size").score[:, -1].mean() for result in results.values()]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
value = np.array([error.value for error in errors])
ends = np.array([[error.low, error.high] for error in errors]).T
left.plot(rates, value, "o-", color="tab:blue", label="UDE; 0 is ideal")
left.fill_between(rates, *ends, color="tab:blue", alpha=0.2, linewidth=0)
left.plot(rates, accuracy, "s--", color="0.2", label="accuracy")
left.set(xlabel="dropout rate", ylim=(0, 1.02), title="The choice")
left.legend(loc="lower right")

names = {
    "aleatoric_consistency": "C1 aleatoric follows noise",
    "epistemic_consistency": "C2 epistemic follows missing data",
    "aleatoric_orthogonality": "O1 aleatoric unmoved by size",
    "epistemic_orthogonality": "O2 epistemic unmoved by noise",
}
for (name, label), style in zip(names.items(), ("o-", "s-", "^--", "D--"), strict=True):
    right.plot(rates, [error.terms[name].value for error in errors], style, label=label)
right.set(xlabel="dropout rate", ylabel="error of the term", title="Which of the four it is")
right.legend(fontsize="small")

# %%
# What the curves look like
# -------------------------
#
# The rate with the least error, and what is said of it in words. The verdict is no surer than three
# repeats allow: with a small rate the passes hardly differ, and the band is wide. With four of five
# units dropped the epistemic part follows missing data again, at the price of accuracy.

best = rates[value.argmin()]
results[best].plot()
print(f"rate {best:g}")
print(results[best].verdict())
