"""Predictions of pixels, voxels and windows that keep their grid: layers, regions, blocks, files.

A `PredictionMap` is a prediction with the shape of an image. Measures become layers of that shape,
metrics get intervals from blocks of neighboring pixels, and images that do not fit into memory are
measured window by window.
"""

from .._docstrings import describe_package
from .blocks import BlockSize, block_codes, choose_block, correlation_length
from .evaluating import LabeledPixels, MapEvaluation
from .layers import MapLayers, map_layers
from .neighbors import average_neighbors
from .prediction_map import PredictionMap
from .windowed import measure_windows, windows

__all__ = [
    "BlockSize",
    "LabeledPixels",
    "MapEvaluation",
    "MapLayers",
    "PredictionMap",
    "average_neighbors",
    "block_codes",
    "choose_block",
    "correlation_length",
    "map_layers",
    "measure_windows",
    "windows",
]

describe_package(__name__)
