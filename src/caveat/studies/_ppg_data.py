"""Signals for the study of pulse waves: generated, from a folder, or extracts of public data."""

import io
import lzma
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import FileFormatError, OptionError
from ..signals import (
    Resample,
    Screening,
    Signals,
    Standardize,
    check_heart_rate,
    load_deepbeat,
    load_pulsedb,
    make_af_ppg,
    make_pressure_ppg,
    screen,
)
from ..signals.quality import in_mmhg

SIZES = {"af": 800, "bp": 1250}
"""Values of a segment."""

_AF = 5
"""Atrial fibrillation among the six rhythms."""

_MIMIC = {"mimic": "mimic4", "mimic3": "mimic3"}
"""Releases of MIMIC by the name of the data."""

FOLDER = "CAVEAT_DATA"

NAMED = {"af": ("synthetic", "arrhythmia"), "bp": ("synthetic", "mimic", "mimic3")}


def take_signals(
    task: str, data: Any, rng: np.random.Generator, generated: tuple[int, int], trusted: bool
) -> Screening:
    """Return usable segments of the published length, each standardized by itself, and the others.

    Raises if pressures are in another unit, or hearts say that the sampling rate is wrong.
    """
    if data == "synthetic":
        make = make_af_ppg if task == "af" else make_pressure_ppg
        signals = make(*generated, random_state=rng)
    elif data in NAMED[task]:
        signals = arrhythmia() if task == "af" else mimic(_MIMIC[data])
    elif isinstance(data, str | Path) and Path(data).exists():
        signals = load_deepbeat(data, trusted=trusted) if task == "af" else load_pulsedb(data)
    else:
        known = ", ".join(NAMED[task])
        raise OptionError(f"data must be one of {known}, or a folder; got {str(data)!r}")
    if task == "bp":
        in_mmhg(signals.y, subject=signals.subject)
    usable = screen(signals)
    signals = usable.signals
    check_heart_rate(signals)
    if signals.X.shape[2] != SIZES[task]:
        signals = Resample(to=SIZES[task] / signals.seconds).fit_transform(signals)
    return replace(usable, signals=Standardize().fit_transform(signals))


def arrhythmia() -> Signals:
    """Return the segments of Liu and others (2022) from the folder of public data."""
    place = _place("ppg_arrhythmia")
    differences = np.load(io.BytesIO(_unpacked(place / "ppgseg_delta2_int16.npy.xz")))
    X = np.cumsum(np.cumsum(differences.astype(np.int32), 1), 1) / 4095.0
    meta = np.load(place / "meta.npz")
    return Signals(
        X.astype(np.float32), 100, y=(meta["label"] == _AF).astype(np.int64),
        subject=meta["subject"], channels=["ppg"], description="arrhythmia; 1: fibrillation",
    )  # fmt: skip


def mimic(release: str = "mimic4") -> Signals:
    """Return windows of MIMIC records with their pressures from the folder of public data."""
    place = _place("mimic_ppg_bp") / f"{release}_ppg_abp_delta1.npz.xz"
    arrays = np.load(io.BytesIO(_unpacked(place)))
    X = np.cumsum(arrays["ppg_d"].astype(int), 1) / arrays["ppg_scale"]
    return Signals(
        X.astype(np.float32), float(np.ravel(arrays["fs"])[0]),
        y=np.stack([arrays["sbp"], arrays["dbp"]], axis=1).astype(np.float64),
        subject=arrays["record"], channels=["ppg"], targets=["systolic", "diastolic"],
        description="MIMIC; pressures in mmHg",
    )  # fmt: skip


def _place(name: str) -> Path:
    folder = os.environ.get(FOLDER)
    if not folder or not (Path(folder) / name).is_dir():
        raise OptionError(
            f"these signals are read from the folder {name} of the folder that {FOLDER} names; "
            "there is none"
        )
    return Path(folder) / name


def _unpacked(path: Path) -> bytes:
    try:
        return lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from error
