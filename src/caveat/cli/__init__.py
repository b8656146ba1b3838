"""The command line: parse, call, print."""

from ._main import app, main

__all__ = ["app", "main"]
