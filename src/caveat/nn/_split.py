"""The information-theoretic split of uncertainty, of tensors and on their device."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from ..exceptions import InvalidValueError, OptionError, ShapeError

_ENTRIES_CPU, _ENTRIES_GPU = 2**19, 2**24
"""Probabilities that are worked on at once: on a CPU they stay in the cache."""


class TensorSplit(NamedTuple):
    """Parts of the uncertainty of each sample, (samples,), in nats."""

    total: Tensor
    aleatoric: Tensor
    epistemic: Tensor


def information_split(probabilities: Tensor) -> TensorSplit:
    r"""Split the entropy of members' predictions, on the device of the tensor.

    .. math:: H[\mathrm{E}_t\, p_t] = \mathrm{E}_t\, H[p_t] + I(Y; \Theta)

    This is ``caveat.decompose(prediction, "information")`` for tensors that should not be copied to
    the host. There is no gradient. On a GPU with Triton the probabilities are read once.

    Parameters
    ----------
    probabilities : floating Tensor of shape (members, samples, classes)
        Rows sum to 1. Values are not checked, since that would wait for the device; NaN gives NaN.

    Returns
    -------
    TensorSplit
        ``total``, ``aleatoric`` and ``epistemic``, of shape (samples,): in float64 for float64, and
        in float32 for all shorter types, where each part is within
        :math:`(M + K + 8)\, 2^{-23} \log K` of the exact one for :math:`M` members and :math:`K`
        classes.

    Examples
    --------
    >>> import torch
    >>> members = torch.tensor([[[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> split = information_split(members)
    >>> split.aleatoric, split.epistemic
    (tensor([0.6931, 0.0000]), tensor([0.0000, 0.6931]))
    """
    if not isinstance(probabilities, Tensor):
        raise OptionError(
            f"probabilities must be a Tensor; got a {type(probabilities).__name__}: for arrays use "
            "caveat.decompose(caveat.Categorical(probabilities))"
        )
    shape = tuple(probabilities.shape)
    if len(shape) != 3 or 0 in shape or shape[2] < 2:
        raise ShapeError(
            "probabilities must have shape (members, samples, classes), of two classes at least; "
            f"got {shape}"
        )
    if not probabilities.is_floating_point():
        raise InvalidValueError(
            f"probabilities must be floating point numbers; got {probabilities.dtype}"
        )
    values = probabilities.detach()
    dtype = torch.float64 if values.dtype == torch.float64 else torch.float32
    total, aleatoric = torch.empty(2, shape[1], dtype=dtype, device=values.device)
    _writer(values)(values, total, aleatoric)
    return TensorSplit(total, aleatoric, (total - aleatoric).clamp(min=0))


def _writer(values: Tensor) -> Callable[[Tensor, Tensor, Tensor], None]:
    """Return what writes the entropy of the mean, and the mean entropy."""
    if values.is_cuda and values[0].is_contiguous():  # pragma: no cover - needs a GPU
        from ._split_kernel import HAS_TRITON, split_on_gpu

        if HAS_TRITON:
            return split_on_gpu
    return _by_blocks


def _by_blocks(values: Tensor, total: Tensor, aleatoric: Tensor) -> None:
    members, samples, classes = values.shape
    entries = _ENTRIES_GPU if values.is_cuda else _ENTRIES_CPU
    step = max(1, entries // (members * classes))
    for start in range(0, samples, step):
        rows = slice(start, start + step)
        block = values[:, rows].to(total.dtype)
        aleatoric[rows] = 0 - _times_log(block).sum(0).sum(-1) / members
        total[rows] = 0 - _times_log(block.mean(0)).sum(-1)


def _times_log(p: Tensor) -> Tensor:
    # A tiny number in place of 0 leaves 0 log 0 = 0; this is quicker than torch's own.
    return p.clamp(min=torch.finfo(p.dtype).tiny).log_().mul_(p)
