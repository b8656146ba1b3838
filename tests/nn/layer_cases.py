"""All stochastic layers, each with the torch layer that it is without noise."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

from caveat.nn import layers
from caveat.nn.layers import ScaleMixturePrior

MIXTURE = ScaleMixturePrior(0.5, 1.0, 0.1)


@dataclass(frozen=True)
class Case:
    make: type
    torch: Callable[..., nn.Module]
    shape: tuple[int, ...]
    arguments: tuple = ()
    options: dict = field(default_factory=dict)

    @property
    def kind(self):
        return self.make.__name__

    def layer(self, seed=0, **options):
        torch.manual_seed(seed)
        return self.make(*self.arguments, **{**self.options, **options})

    def plain(self, layer):
        """Return the torch layer with the mean weights."""
        plain = self.torch(*self.arguments)
        with torch.no_grad():
            for name, value in plain.named_parameters():
                own = getattr(layer, name if hasattr(layer, name) else f"{name}_mean")
                value.copy_(own)
        return plain

    def inputs(self, rows=4, seed=0, dtype=torch.float32):
        return torch.randn(
            rows, *self.shape, generator=torch.Generator().manual_seed(seed), dtype=dtype
        )


DENSE = ((6, 3), (6,))
SERIES = ((4, 6, 3, 2, 1, 2, 2), (4, 9))
IMAGE = ((4, 6, (3, 1), 1, "same", 1, 2), (4, 5, 6))

WEIGHTED = [
    Case(getattr(layers, f"{method}{kind}"), torch_layer, shape, arguments, options)
    for method, options in {
        "DropConnect": {"p": 0.4},
        "ConcreteDropout": {"initial_p": 0.4, "length_scale": 0.01},
        "Bayes": {"prior": MIXTURE, "initial_std": 0.3},
        "Flipout": {"prior": MIXTURE, "initial_std": 0.3},
    }.items()
    for kind, torch_layer, (arguments, shape) in [
        ("Linear", nn.Linear, DENSE),
        ("Conv1d", nn.Conv1d, SERIES),
        ("Conv2d", nn.Conv2d, IMAGE),
    ]
]
CASES = [
    Case(layers.Dropout, nn.Dropout, (40,), (0.4,)),
    Case(layers.SpatialDropout, nn.Dropout2d, (40, 3, 2), (0.4,)),
    *WEIGHTED,
]
PER_ROW = [case for case in CASES if not case.kind.startswith(("DropConnect", "Bayes"))]
