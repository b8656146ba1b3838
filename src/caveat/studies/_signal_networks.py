"""The networks of the study of measures: a plain and a residual convolutional network."""

from typing import Any

import numpy as np

from .._validation import FloatArray

FILTERS = (16, 24, 32, 48, 64, 96)
_TAPS = 9


def plain_network(channels: int, classes: int, filters: tuple[int, ...] = FILTERS) -> Any:
    """Six convolutions, each but the last followed by normalization, ReLU and pooling."""
    from torch import nn

    layers: list[Any] = []
    for number, width in enumerate(filters):
        layers += [
            nn.Conv1d(channels, width, _TAPS, padding="same"), nn.BatchNorm1d(width), nn.ReLU(),
        ]  # fmt: skip
        last = number == len(filters) - 1
        layers.append(nn.AdaptiveAvgPool1d(1) if last else nn.MaxPool1d(2, ceil_mode=True))
        channels = width
    return nn.Sequential(nn.Sequential(*layers, nn.Flatten()), nn.Linear(channels, classes))


def residual_network(channels: int, classes: int, width: int = 32, blocks: int = 4) -> Any:
    """A residual network at a size that trains on a CPU; the paper's has 50 layers."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(
                nn.Conv1d(width, width, _TAPS, padding="same"), nn.BatchNorm1d(width), nn.ReLU(),
                nn.Conv1d(width, width, _TAPS, padding="same"), nn.BatchNorm1d(width),
            )  # fmt: skip
            self.after = nn.Sequential(nn.ReLU(), nn.MaxPool1d(2, ceil_mode=True))

        def forward(self, x: Any) -> Any:
            return self.after(x + self.inner(x))

    body = nn.Sequential(
        nn.Conv1d(channels, width, _TAPS, padding="same"), nn.BatchNorm1d(width), nn.ReLU(),
        *(Block() for _ in range(blocks)), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
    )  # fmt: skip
    return nn.Sequential(body, nn.Linear(width, classes))


class SignalClassifier:
    """A network for signals (samples, channels, length), with isotonic calibration.

    A fifth of the training samples is kept for the calibration.
    """

    def __init__(self, make: Any, epochs: int, seed: int) -> None:
        self.make, self.epochs, self.seed = make, epochs, seed

    def fit(self, X: FloatArray, y: Any) -> "SignalClassifier":
        """Train by Adam, then calibrate."""
        import torch

        from ..nn.generators import Generators
        from ..recalibration import IsotonicCalibration

        rng = np.random.default_rng(self.seed)
        order = rng.permutation(len(y))
        held, rest = order[: len(y) // 5], order[len(y) // 5 :]
        classes = int(np.max(y)) + 1
        with Generators().kept():
            torch.manual_seed(self.seed)
            self.network = self.make(X.shape[1], classes)
            self._train(X[rest], np.asarray(y)[rest], rng)
        probabilities = self._raw(X[held])
        self.calibration = IsotonicCalibration().fit(probabilities, np.asarray(y)[held])
        return self

    def _train(self, X: FloatArray, y: Any, rng: np.random.Generator) -> None:
        import torch

        inputs, labels = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y)
        optimizer = torch.optim.Adam(self.network.parameters(), lr=2e-3)
        steps = self.epochs * max(1, len(y) // 64)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        self.network.train()
        for _ in range(self.epochs):
            for rows in np.array_split(rng.permutation(len(y)), max(1, len(y) // 64)):
                loss = torch.nn.functional.cross_entropy(self.network(inputs[rows]), labels[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
        self.network.eval()

    def features(self, X: FloatArray) -> FloatArray:
        """Return what the last layer sees."""
        return self._forward(self.network[0], X)

    def _raw(self, X: FloatArray) -> Any:
        from ..predictions import Categorical

        return Categorical.from_logits(self._forward(self.network, X))

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return calibrated probabilities."""
        return self.calibration.transform(self._raw(X)).mean

    @staticmethod
    def _forward(network: Any, X: FloatArray) -> FloatArray:
        import torch

        parts = []
        with torch.no_grad():
            for start in range(0, len(X), 256):
                batch = torch.as_tensor(X[start : start + 256], dtype=torch.float32)
                parts.append(network(batch).double().numpy())
        return np.concatenate(parts)
