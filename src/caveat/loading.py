"""One door to all files that caveat writes."""

import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

from .exceptions import FileFormatError, OptionError

__all__ = ["load"]


def load(path: str | PathLike[str], *, module: Any = None) -> Any:
    """Read what a ``save`` method wrote: a prediction, a model, a summary, a state or a repair.

    Reading never runs code from the file.

    Parameters
    ----------
    path : str or path
    module : torch module or function that makes one, optional
        The network of a model that was given one: a file holds its weights, not its code.

    Returns
    -------
    prediction, fitted estimator, Summary, State or Repair
        A model predicts what the saved one did, bit for bit on the same machine; a recalibrator
        that was saved with it is its ``recalibrator_``.

    Examples
    --------
    >>> import caveat, pathlib, tempfile
    >>> prediction = caveat.Gaussian([1.0, 2.0], [0.5, 0.5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "prediction.npz")
    ...     prediction.save(path)
    ...     caveat.load(path) == prediction
    True
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.is_dir():
        raise FileFormatError(f"{path} is a folder; name a file that caveat wrote")
    if _is_model(path):
        from .estimators.files import load_model

        return load_model(path, module=module)
    if module is not None:
        raise OptionError(f"module is for a saved model, and {path} holds none")
    from .repairing.files import is_repair, load_repair

    if is_repair(path):
        return load_repair(path)
    from .summaries.files import is_summary

    if is_summary(path):
        from .summaries.files import load_summary

        return load_summary(path)
    if _is_state(path):
        from .metrics.state_files import load_state

        return load_state(path)
    if path.suffix not in (".npz", ".parquet"):
        raise FileFormatError(
            f"{path} is damaged, or no file that caveat wrote: expected a prediction (.npz or "
            ".parquet), a model (.safetensors), a summary (.caveat), a state of a metric or a "
            "repair"
        )
    from .predictions.files import load_prediction

    return load_prediction(path)


def _is_model(path: Path) -> bool:
    """Whether a file begins as safetensors do: a length, then JSON."""
    with path.open("rb") as file:
        return file.read(9)[8:] == b"{"


def _is_state(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "state.npy" in archive.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False
