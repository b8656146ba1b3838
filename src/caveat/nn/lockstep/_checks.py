"""Between steps: losses are recorded, validation is evaluated, copies stop."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...exceptions import TrainingError
from .._products import products_as_before
from ._optimizers import Own
from ._ragged import Shared
from ._run import Run
from .sources import Stream, block_size

_ROWS = 2**16
"""Validation rows of all copies that are passed at a time."""


RECORDED = ("loss", "validation", "monitor")
"""What is known of a copy after an epoch."""


def check_progress(run: Run, indices: np.ndarray) -> None:
    """Record the losses of some copies of the stack; stop those that are done or diverged."""
    if not len(indices):
        return
    chosen = torch.from_numpy(indices).to(run.device)
    sums = run.sums[chosen].cpu().numpy()
    run.sums[chosen] = 0.0
    losses = sums / np.maximum(run.step - run.summed[indices], 1)
    run.summed[indices] = run.step
    running = run.running[indices]
    indices, losses = indices[running], losses[running]
    if not len(indices):
        return
    copies = run.active[indices]
    record: dict[str, Any] = {"step": run.step, "copies": copies, "loss": losses}
    finite = np.isfinite(losses)
    if run.problem.checked:
        measured = validation_losses(run, indices)
        record["validation"] = measured
        finite &= np.isfinite(measured)
        if run.training.monitor is not None:
            record["monitor"] = np.full(len(indices), np.nan)
            record["monitor"][finite] = monitored(run, indices[finite])
            measured = record["monitor"] * (-1 if run.training.monitor.higher else 1)
        _update_best(run, indices[finite], measured[finite])
    run.history.append(record)
    told = _tell(run, record)
    ended = run.step >= run.steps[copies]
    # The last step may have diverged, and no later loss would show it.
    finite[finite & ended] &= _are_finite(run, indices[finite & ended])
    run.finish(indices[~finite], "diverged")
    run.finish(indices[finite & ended], "finished")
    if run.training.patience is not None:
        exhausted = finite & ~ended & (run.since_best[copies] >= run.training.patience)
        run.finish(indices[exhausted], "stopped early")
    run.finish(indices[finite & told & run.running[indices]], "stopped early")


def _tell(run: Run, record: dict[str, Any]) -> np.ndarray:
    """Tell the scheduler and the user of an epoch; return which copies are to stop."""
    if isinstance(run.optimizer, Own):
        run.optimizer.end_epoch(float(record.get("validation", record["loss"])[0]))
    stop = np.zeros(len(record["copies"]), dtype=bool)
    if run.training.on_epoch is None:
        return stop
    for i, copy in enumerate(record["copies"]):
        told: dict[str, Any] = {
            "copy": int(run.places[copy]),
            "epoch": -(-run.step // int(run.per_epoch[copy])),
            "step": run.step,
        }
        told |= {name: float(record[name][i]) for name in RECORDED if name in record}
        with products_as_before():
            answer = run.training.on_epoch(told)
        stop[i] = isinstance(answer, bool | np.bool_) and bool(answer)
    return stop


def _are_finite(run: Run, indices: np.ndarray) -> np.ndarray:
    """Return whether all weights of some copies are finite."""
    finite = np.ones(len(indices), dtype=bool)
    if len(indices):
        chosen = torch.from_numpy(indices).to(run.device)
        for weights in run.stack.parameters.values():
            mine = weights.detach()[chosen].reshape(len(indices), -1)
            finite &= torch.isfinite(mine).all(1).cpu().numpy()
    return finite


def _update_best(run: Run, indices: np.ndarray, measured: np.ndarray) -> None:
    """Keep the best weights, count epochs without a new best, lower learning rates.

    What was measured is better the lower it is.
    """
    copies = run.active[indices]
    better = measured < run.best[copies]
    run.since_best[copies] = np.where(better, 0, run.since_best[copies] + 1)
    run.since_lowered[copies] = np.where(better, 0, run.since_lowered[copies] + 1)
    run.best[copies[better]] = measured[better]
    if run.training.restore_best and better.any():
        state = run.stack.take(torch.from_numpy(indices[better]).to(run.device))
        for name, value in state.items():
            if name not in run.best_state:
                shape = len(run.places), *value.shape[1:]
                run.best_state[name] = torch.zeros(shape, dtype=value.dtype)
            run.best_state[name][copies[better]] = value
    plateau = run.training.plateau
    if plateau is None:
        return
    low = copies[run.since_lowered[copies] >= plateau.patience]
    if len(low):
        run.rates[low] = np.maximum(run.rates[low] * plateau.factor, plateau.minimum)
        run.since_lowered[low] = 0
        run.set_rates()


def validation_losses(run: Run, indices: np.ndarray) -> np.ndarray:
    """Return the weighted mean loss of some copies on their validation samples, without noise."""
    if isinstance(run.data.X, Stream):
        return _stream_losses(run, run.data.X.held)
    sums, total = torch.zeros(2, len(run.active), device=run.device)
    with torch.no_grad():
        for rows, counts in _held_rows(run):
            sums += _losses(run, rows, counts)
            total += counts.sum(1)
    return (sums / total)[torch.from_numpy(indices).to(run.device)].cpu().numpy().astype(np.float64)


def _held_rows(run: Run) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield validation samples of all copies, block by block, and how much each of them counts."""
    table, validation = run.data.validation, run.problem.validation
    assert table is not None
    assert validation is not None
    lengths = torch.from_numpy(validation.lengths()[run.places[run.active]]).to(run.device)
    size = block_size(run.data.X, _ROWS // len(run.active) or 1)
    for start in range(0, table.shape[1], size):
        places = torch.arange(start, min(start + size, table.shape[1]), device=run.device)
        rows = table[run.index["validation"], places]
        counts = (places < lengths[:, None]).to(torch.float32)
        if run.data.weights is not None:
            counts *= run.data.weights.at(run.index["weights"], rows)
        yield rows, counts


def monitored(run: Run, indices: np.ndarray) -> np.ndarray:
    """Return what the monitor says about some copies."""
    assert run.training.monitor is not None
    with torch.no_grad(), run.autocast():
        parts = [[part.cpu() for part in batch] for batch in _held_outputs(run)]
    outputs, y, counts = (torch.cat(list(part), 1) for part in zip(*parts, strict=True))
    weighted = run.data.weights is not None
    result = np.empty(len(indices))
    for i, k in enumerate(indices):
        # Copies with fewer samples than others are filled up with some that do not count.
        mine = counts[k] > 0
        weight = counts[k, mine].double().numpy() if weighted else None
        given = outputs[k, mine].float().numpy(), y[k, mine].numpy()
        result[i] = run.training.monitor.measure(*given, weight)
        if not np.isfinite(result[i]):
            raise TrainingError(
                f"monitor is {result[i]} for the {int(mine.sum())} validation samples of copy "
                f"{run.places[run.active[k]]}; it must be a number, so give samples for which it "
                "is defined, such as some of each class, or leave monitor out"
            )
    return result


def _held_outputs(run: Run) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield outputs, labels and counts of validation samples, each (copies, samples, ...)."""
    if isinstance(run.data.X, Stream):
        assert run.data.X.held is not None
        for x, y in run.data.X.held:
            yield run.stack.outputs(Shared(x)), y[None], torch.ones(1, len(y))
        return
    for rows, counts in _held_rows(run):
        x = run.data.samples(rows)
        each = run.stack.outputs(x) if isinstance(x, Shared) else run.stack.own_outputs(x)
        yield each, run.data.label(run.index, rows), counts


def _stream_losses(run: Run, held: Any) -> np.ndarray:
    """Return the mean loss of the copy on the batches of another loader."""
    total, rows = torch.zeros(1, device=run.device), 0
    with torch.no_grad(), run.autocast():
        for x, y in held:
            counts = torch.ones(1, len(y), device=run.device)
            total += run.stack.losses(
                Shared(x), y[None], counts, None, run.active_keys, noise=False
            )
            rows += len(y)
    return (total / rows).cpu().numpy().astype(np.float64)


def _losses(run: Run, rows: Tensor, counts: Tensor) -> Tensor:
    y = run.data.label(run.index, rows)
    with run.autocast():
        x = run.data.samples(rows)
        return run.stack.losses(x, y, counts, None, run.active_keys, noise=False)
