"""One number per sample: splits into aleatoric and epistemic, and measures of uncertainty."""

from .decompositions import DECOMPOSITIONS, DecompositionMethod, decompose

__all__ = ["DECOMPOSITIONS", "DecompositionMethod", "decompose"]
