"""The bare formulas and the shared kernels: no checks, a few lines each."""
