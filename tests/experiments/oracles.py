"""Models whose score and uncertainties are known functions of the training size and the noise."""

import numpy as np

from caveat import Gaussian

SAMPLES = 200


class Oracle:
    """Reads the share of samples and of wrong labels off its training data, and learns nothing.

    The first column of X is the true label. `aleatoric` and `epistemic` are functions of both
    shares; the score, by `mean_prediction`, is the share of samples less that of wrong labels.
    """

    def __init__(self, aleatoric, epistemic):
        self.aleatoric, self.epistemic = aleatoric, epistemic

    def fit(self, X, y):
        self.size = len(y) / SAMPLES
        self.noise = float(np.mean(y != X[:, 0]))

    def predict_distribution(self, X):
        aleatoric = self.aleatoric(self.size, self.noise)
        spread = np.sqrt(self.epistemic(self.size, self.noise))
        center = np.full((len(X), 1), self.size - self.noise)
        return Gaussian([center - spread, center + spread], np.full((2, len(X), 1), aleatoric))


def mean_prediction(y_true, y_pred):
    return float(np.mean(y_pred))


def oracle_data():
    y = np.arange(SAMPLES + 20) + 0.5
    X = np.column_stack([y, y])
    return X[:SAMPLES], y[:SAMPLES], (X[SAMPLES:], y[SAMPLES:])
