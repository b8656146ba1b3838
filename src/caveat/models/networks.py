"""Networks: torch modules, Hugging Face, chemprop."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._validation import as_floats, check_integer
from ..exceptions import OptionError, ShapeError
from ..predictions import Categorical, Gaussian, Interval
from .table import samples_are_missing


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """Switch off dropout and gradients, and leave the module as it was."""
    import torch

    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        module.train(training)


def from_module(module: Any, X: Any, **options: Any) -> Any:
    """Read a module of torch by `caveat.nn.predict`."""
    from ..nn import predict

    return predict(module, X, **options)


def from_huggingface(model: Any, X: Any = None) -> Any:
    """Read a model with its tokens, a ``Trainer`` with its data set, or what they gave."""
    output, config = model, None
    if X is None and (hasattr(model, "predict") or callable(model)):
        raise samples_are_missing(model)
    if hasattr(model, "predict"):
        output, config = model.predict(X), model.model.config
    elif callable(model):
        with _evaluating(model):
            output, config = model(**X), model.config
    logits = output.logits if hasattr(output, "logits") else output.predictions
    logits = as_floats(logits[0] if isinstance(logits, tuple) else logits, "logits")[0]
    if logits.ndim != 2:
        raise ShapeError(
            f"logits must have shape (samples, labels); got {logits.shape}. For labels of tokens "
            "keep those that count: caveat.Categorical.from_logits(logits[labels != -100])"
        )
    if getattr(config, "problem_type", None) == "multi_label_classification":
        raise OptionError(
            "this model gives labels that do not exclude each other; take one column as a "
            "prediction of its own: caveat.Categorical.from_binary(1 / (1 + numpy.exp(-logit)))"
        )
    if logits.shape[1] == 1:
        return Gaussian(logits, 0.0)
    names = None if config is None else [config.id2label[i] for i in range(logits.shape[1])]
    return Categorical.from_logits(logits, classes=names)


def from_chemprop(model: Any, X: Any, *, task: int | None = None) -> Any:
    """Read an ``MPNN`` with its data loader; the class of its predictor says what it gives."""
    with _evaluating(model):
        parts = [model.predict_step(batch, place) for place, batch in enumerate(X)]
    values = np.concatenate([as_floats(part, "predictions")[0] for part in parts])
    kind = type(model.predictor).__name__
    if kind == "MveFFN":
        return Gaussian(values[..., 0], values[..., 1])
    if kind == "EvidentialFFN":
        mean, evidence, alpha, beta = np.moveaxis(values, -1, 0)
        return Gaussian(mean, beta * (1 + 1 / evidence) / (alpha - 1))
    if kind == "QuantileFFN":
        middle, half = values[..., 0], values[..., 1] / 2
        # Bounds that cross give a negative width.
        return Interval(
            middle - abs(half), middle + abs(half), coverage=1 - model.predictor.criterion.alpha
        )
    if kind == "RegressionFFN":
        return Gaussian(values, 0.0)
    if kind == "BinaryDirichletFFN":
        values = values[..., 0]
    if "Classification" not in kind and "Dirichlet" not in kind:
        raise OptionError(f"no prediction of caveat holds what a {kind} of chemprop gives")
    several = values.shape[1]
    if task is None and several > 1:
        raise OptionError(f"this model has {several} tasks; choose one, such as task=0")
    one = values[:, check_integer(task or 0, "task", least=0, most=several - 1)]
    return Categorical.from_binary(one) if one.ndim == 1 else Categorical(one, normalize=True)
