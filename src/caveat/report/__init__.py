"""Results in, one self-contained HTML file out; nothing is computed here that is not in them."""

from .write import write_report

__all__ = ["write_report"]
