"""A fairness term for training: groups should be equally uncertain."""

from typing import Any

import torch
from torch import Tensor

from .._arrays import to_numpy
from .._validation import check_choice
from ..exceptions import LabelError, OptionError, ShapeError


def uncertainty_gap(logits: Tensor, group: Any, *, part: str = "aleatoric") -> Tensor:
    r"""Return how far the mean uncertainties of groups are apart: one differentiable number.

    .. math:: \frac{2}{G (G - 1)} \sum_{g < h} \Bigl(\log \frac{U_g}{U_h}\Bigr)^2,

    where :math:`U_g` is the mean uncertainty of the samples of group g, by variances over classes
    and members. For two groups it is the squared logarithm of the ratio that an audit reports, and
    0 if the groups are equally uncertain. Added to a loss with a weight, it trades likelihood for
    equal uncertainties; it makes a model say that it is equally sure, not that it is.

    Parameters
    ----------
    logits : Tensor of shape (members, samples, classes)
        Logits of members, or of passes.
    group : integer Tensor or array of shape (samples,)
        Codes 0, 1, 2, ... of the groups; each code up to the largest must occur in the batch.
    part : {"aleatoric", "epistemic", "predictive"}, default="aleatoric"
        Which uncertainty; the epistemic one needs two members.

    Returns
    -------
    Tensor of shape ()

    References
    ----------
    S. Kuzucu, J. Cheong, H. Gunes & S. Kalkan (2024). Uncertainty as a fairness measure. JAIR.

    Examples
    --------
    >>> import torch
    >>> from caveat.nn.losses import uncertainty_gap
    >>> logits = torch.tensor([[[0.0, 0.0], [0.0, 3.0], [0.0, 0.0], [3.0, 0.0]]])
    >>> uncertainty_gap(logits, torch.tensor([0, 0, 1, 1]))
    tensor(0.)
    >>> round(float(uncertainty_gap(logits, torch.tensor([0, 1, 0, 1]))), 3)
    2.927
    """
    check_choice(part, "part", ("aleatoric", "epistemic", "predictive"))
    group = _codes(group, logits.device)
    if logits.ndim != 3 or group.shape != logits.shape[1:2]:
        raise ShapeError(
            "logits must have shape (members, samples, classes) and group (samples,); got "
            f"{tuple(logits.shape)} and {tuple(group.shape)}"
        )
    p = torch.softmax(logits, dim=-1)
    aleatoric = (1 - p.square().sum(dim=-1)).mean(dim=0)
    predictive = 1 - p.mean(dim=0).square().sum(dim=-1)
    values = {"aleatoric": aleatoric, "predictive": predictive}
    values["epistemic"] = (p - p.mean(dim=0)).square().sum(dim=-1).mean(dim=0)
    member = torch.nn.functional.one_hot(group).to(p.dtype)
    counts = member.sum(dim=0)
    if len(counts) < 2 or not bool((counts > 0).all()):
        raise OptionError(
            "group must have two codes at least, and samples of each from 0 to the largest; got "
            f"counts {counts.long().tolist()}"
        )
    means = (values[part] @ member) / counts
    # A mean of 0 has no logarithm; below rounding error it is as good as that.
    logs = torch.log(means.clamp_min(torch.finfo(p.dtype).eps ** 2))
    return (logs[:, None] - logs).square().sum() / (len(counts) * (len(counts) - 1))


def _codes(group: Any, device: torch.device) -> Tensor:
    """Return codes of groups as whole numbers beside the logits."""
    if not isinstance(group, Tensor):
        array = to_numpy(group, "group").array
        if array.dtype.kind not in "iub":
            raise LabelError(f"group must hold codes 0, 1, 2, ...; got {array.dtype}")
        group = torch.tensor(array)
    codes: Tensor = group.to(device, torch.int64)
    if bool((codes != group.to(device)).any()) or bool((codes < 0).any()):
        raise LabelError(
            f"group must hold codes 0, 1, 2, ...; got {sorted(set(group.flatten().tolist()))[:5]}"
        )
    return codes
