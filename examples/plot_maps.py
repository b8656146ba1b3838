"""
Where a map is uncertain, and why
=================================

A logistic regression classifies the pixels of an image with 20 channels. Its training data have
four classes; the image has a fifth one, a tennis court. No label is needed to find it: the model
hesitates between classes that are far apart.
"""

# %%
# An image, a model, and the map of its predictions
# -------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.linear_model import LogisticRegression

import caveat
from caveat import charts
from caveat.confusion import embed_samples
from caveat.maps import PredictionMap

# sphinx_gallery_thumbnail_number = 1

rng = np.random.default_rng(3)
HEIGHT, WIDTH, CHANNELS = 90, 120, 20
NAMES = np.array(["forest", "meadow", "road", "roof"])
bands = np.linspace(0, 1, CHANNELS)
infrared = bands > 0.5
spectra = np.array(
    [
        0.15 + 0.6 * infrared,  # forest: dark, and bright in the infrared
        0.25 + 0.5 * infrared,  # meadow: close to the forest
        np.full(CHANNELS, 0.45),  # road
        0.4 + 0.15 * bands,  # roof: close to the road
        0.3 + 0.3 * infrared,  # a tennis court: green, but not in the infrared
    ]
)
fields = np.stack([gaussian_filter(rng.normal(size=(HEIGHT, WIDTH)), 8) for _ in NAMES], axis=-1)
truth = fields.argmax(axis=-1)
truth[38:50, 70:88] = 4
image = spectra[truth] + 0.06 * rng.normal(size=(HEIGHT, WIDTH, CHANNELS))
image[1:] += 0.3 * (spectra[truth[:-1]] - spectra[truth[1:]])  # pixels are mixed

train = rng.choice(np.flatnonzero(truth < 4), 600, replace=False)
X, y = image.reshape(-1, CHANNELS), truth.ravel()
model = LogisticRegression(C=20.0, max_iter=2000).fit(X[train], y[train])
pixels = PredictionMap(
    caveat.Categorical(model.predict_proba(X), classes=NAMES), grid=(HEIGHT, WIDTH)
)
pixels

# %%
# Maps side by side
# -----------------
#
# Geometric uncertainty is high wherever classes meet. Homophily-based uncertainty is high where the
# confused classes are distant, and low between a forest and a meadow.

distances = caveat.class_distances(X[train], y[train])
fig, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
charts.false_color(image, (18, 12, 5)).plot(ax=axes[0, 0])
pixels.plot("class_map", ax=axes[0, 1])
pixels.plot("layer_map", measure="gini", ax=axes[1, 0])
pixels.plot("layer_map", measure="homophily", distances=distances, ax=axes[1, 1])
plt.show()

# %%
# What kind of uncertainty
# ------------------------
#
# Candidates for outliers, wrong labels and unknown classes: nearly half of the court, and one in
# 400 of all other pixels.

explained = caveat.explain_uncertainty(pixels.prediction, distances)
print(explained.verdict())
candidates = explained.kinds == "candidate"
print(f"{candidates[y == 4].mean():.0%} of the court, {candidates[y < 4].mean():.2%} elsewhere")
pixels.plot("kind_map", distances=distances)
plt.show()

# %%
# One pixel of the court beside the classes: like a meadow in the first channels, and like none of
# the classes in the infrared. The more probable a class is for the model, the more opaque it is.

worst = explained.candidates()[0]
charts.signatures(X[train], NAMES[y[train]], X[worst], pixels.prediction.mean[worst]).plot()
plt.show()

# %%
# Samples on a plane: neighbors have like channels. The dark group in the middle is the court.

embedded = embed_samples(X, pixels.prediction, samples=600, random_state=0)
embedded.plot("embedding", measure="gini")
plt.show()

# %%
# How right is it?
# ----------------
#
# Neighboring pixels are not independent samples: intervals come from blocks of them.

labels = np.append(NAMES, None)[truth]  # the court has no label, and is left out
print(pixels.evaluate(labels, metrics=["accuracy", "ece"], random_state=0))

# %%
# A page of linked maps is one line: all zoom together, and a click on a pixel says what the model
# says of it.
#
# .. code-block:: python
#
#     pixels.report("map.html", distances=distances, truth=labels, image=image)
