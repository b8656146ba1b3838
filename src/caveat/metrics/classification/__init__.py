"""Metrics of class probabilities and of sets of classes."""

from importlib import import_module

MODULES = tuple(
    import_module(f".{name}", __name__)
    for name in (
        "discrimination", "areas", "operating_points", "net_benefit", "scores", "brier_split",
        "calibration", "risk", "adaptive", "smooth", "entropy", "variation",
        "debiased", "sets",
    )
)  # fmt: skip
"""In the order of the table."""
