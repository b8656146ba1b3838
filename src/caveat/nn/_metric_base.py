"""What a metric of a validation loop stands on: torchmetrics where it is installed."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor


class StandIn:
    """The part of ``torchmetrics.Metric`` that is needed, for those who do not have it."""

    sums: Tensor

    def __init__(self) -> None:
        pass

    def add_state(self, name: str, default: Tensor, dist_reduce_fx: str) -> None:
        """Keep a tensor of zeros that is summed over processes."""
        setattr(self, name, default)

    def to(self, device: Any) -> "StandIn":
        """Move the sums to a device."""
        self.sums = self.sums.to(device)
        return self

    def reset(self) -> None:
        """Forget all samples."""
        self.sums = torch.zeros_like(self.sums)

    def _all_sums(self) -> Tensor:
        """Return the sums over all processes."""
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            return self.sums
        total = self.sums.clone()
        torch.distributed.all_reduce(total)
        return total


if TYPE_CHECKING:
    Base = StandIn
else:
    try:
        from torchmetrics import Metric
    except ImportError:
        Base = StandIn
    else:

        class Base(Metric):
            """torchmetrics sums over processes before it calls ``compute``."""

            is_differentiable = False
            full_state_update = False

            def _all_sums(self) -> Tensor:
                """Return the sums over all processes."""
                return self.sums
