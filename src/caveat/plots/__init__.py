"""Figures as matplotlib Axes, for papers and notebooks.

Each function takes an evaluation, or a figure of `caveat.figures`, and returns the axes it drew in;
``ax=`` draws in yours, ``name=`` labels a curve. Colors, dashes and markers differ together, so
that the plots can be read without colors. No settings of matplotlib are changed.
"""

from ._consistency import plot_consistency
from ._curves import plot_confidence_curve, plot_ecdf
from ._diagonal import plot_coverage, plot_error_calibration, plot_reliability
from ._disentanglement import plot_disentanglement, plot_disentanglement_terms
from ._experiments import plot_detection, plot_domain_shift, plot_shift
from ._fairness import plot_distributions, plot_ratios
from ._groups import plot_comparison, plot_groups
from ._plot import PLOTS, Plot, plot
from ._samples import plot_error_vs_uncertainty, plot_split
from .style import PALETTE

__all__ = [
    "PALETTE",
    "PLOTS",
    "Plot",
    "plot",
    "plot_comparison",
    "plot_confidence_curve",
    "plot_consistency",
    "plot_coverage",
    "plot_detection",
    "plot_disentanglement",
    "plot_disentanglement_terms",
    "plot_distributions",
    "plot_domain_shift",
    "plot_ecdf",
    "plot_error_calibration",
    "plot_error_vs_uncertainty",
    "plot_groups",
    "plot_ratios",
    "plot_reliability",
    "plot_shift",
    "plot_split",
]
