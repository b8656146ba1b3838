"""Formulas and shared kernels, without checks."""
