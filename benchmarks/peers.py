"""Imports of peers that need a hand."""

import torch


def define_torchvision_operators() -> None:
    """Declare the operators that torchvision's compiled part would bring.

    Without a build of torchvision for this torch, importing it fails on their absence; the peers
    measured here import torchvision but never call these.
    """
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    globals()["_library"] = library  # it must outlive this call
