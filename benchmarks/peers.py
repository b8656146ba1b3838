"""Imports of peers that need a hand: import this before them.

Without a build of torchvision for this torch, importing it fails on the operators that its compiled
part would bring. The peers measured here import torchvision but never call these: declare them.
"""

import torch

_library = torch.library.Library("torchvision", "DEF")
for _name in ("nms", "qnms"):
    _library.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
