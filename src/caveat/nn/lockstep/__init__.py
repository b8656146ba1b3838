"""Train many copies of a network as one program."""

from ._factories import as_factory
from ._problem import Copy
from ._result import Trained
from ._settings import Monitor, Plateau, Training
from ._train import train

__all__ = ["Copy", "Monitor", "Plateau", "Trained", "Training", "as_factory", "train"]
