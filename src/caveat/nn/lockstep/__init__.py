"""Train many copies of a network as one program."""

from ._factories import as_factory, fresh_parts
from ._problem import Copy
from ._result import Trained
from ._settings import Monitor, Plateau, Training
from ._stack import check_parts
from ._train import train

__all__ = [
    "Copy",
    "Monitor",
    "Plateau",
    "Trained",
    "Training",
    "as_factory",
    "check_parts",
    "fresh_parts",
    "train",
]
