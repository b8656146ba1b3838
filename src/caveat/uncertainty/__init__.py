"""Uncertainty of each sample: aleatoric and epistemic parts, and measures."""

from .decompositions import DECOMPOSITIONS, DecompositionMethod, decompose
from .distances import class_distances, cost_distances, taxonomy_distances
from .measures import (
    MEASURES,
    HomophilyMaximum,
    Measure,
    binary_variance,
    confused_classes,
    geometric_uncertainty,
    gini_impurity,
    homophily_maximum,
    homophily_uncertainty,
    least_confidence,
    margin,
    measure,
    renyi_entropy,
    shannon_entropy,
    t_entropy,
    tsallis_entropy,
)

__all__ = [
    "DECOMPOSITIONS",
    "MEASURES",
    "DecompositionMethod",
    "HomophilyMaximum",
    "Measure",
    "binary_variance",
    "class_distances",
    "confused_classes",
    "cost_distances",
    "decompose",
    "geometric_uncertainty",
    "gini_impurity",
    "homophily_maximum",
    "homophily_uncertainty",
    "least_confidence",
    "margin",
    "measure",
    "renyi_entropy",
    "shannon_entropy",
    "t_entropy",
    "taxonomy_distances",
    "tsallis_entropy",
]
