"""The residual network as the module of an estimator."""

import numpy as np

import caveat
from caveat.nn import ResNet18


def test_it_trains_as_the_module_of_an_estimator():
    rng = np.random.default_rng(0)
    y = np.arange(8) % 2
    X = (rng.normal(size=(8, 1, 8, 8)) + 2 * y[:, None, None, None]).astype(np.float32)
    model = caveat.MCDropoutClassifier(
        module=lambda: ResNet18(1, 2, size=8, rate=0.1), epochs=3, batch_size=8, passes=2,
        learning_rate=1e-3, standardize=None, random_state=0,
    )  # fmt: skip
    model.fit(X, y)
    losses = model.history_[0]["loss"]
    assert losses[-1] < losses[0]
    assert model.predict_distribution(X).members == 2
