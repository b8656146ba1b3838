"""Hooks into tools that people already use: scorers for scikit-learn, logging to MLflow."""

from .mlflow import log_evaluation
from .sklearn import scorer

__all__ = ["log_evaluation", "scorer"]
