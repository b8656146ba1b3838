"""A residual network of torch and a DataLoader: three trainings of it are members."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import caveat


class Residual(nn.Module):
    """A small residual network; take your own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.last = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        h = self.first(x).relu()
        h = (h + self.second(h)).relu()
        return self.last(h.mean(dim=(2, 3)))


def trained(loader: DataLoader, seed: int) -> nn.Module:
    """Train as one usually does."""
    torch.manual_seed(seed)
    module = Residual()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(x), y).backward()
            optimizer.step()
    return module


torch.manual_seed(0)
y = torch.randint(3, (1200,))
x = torch.randn(1200, 1, 8, 8) + 0.25 * y[:, None, None, None]
train, test = TensorDataset(x[:600], y[:600]), TensorDataset(x[600:], y[600:])
modules = [trained(DataLoader(train, 32, shuffle=True), seed) for seed in range(3)]

prediction = caveat.nn.predict(modules, DataLoader(test, 64), head="logits")
print(prediction)
evaluation = caveat.evaluate(prediction, y[600:], random_state=0)
print(evaluation.verdict())
