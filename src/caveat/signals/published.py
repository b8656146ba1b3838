"""Readers of published data sets, in the form in which they are published."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import check_choice, check_integer
from ..exceptions import FileFormatError, InvalidValueError
from .container import Signals, read_npz
from .generators import EEG_CHANNELS
from .preprocessing import BandPass, Resample
from .quality import in_mmhg
from .recordings import imported

__all__ = ["load_bci2a", "load_d_vlog", "load_deepbeat", "load_pulsedb"]

ACOUSTIC, VISUAL = 25, 136
"""Features of D-Vlog a second."""

_SESSIONS = {"T": "0train", "E": "1test"}
"""Sessions of BCI IV 2a by the letter in the name of their file, as MOABB calls them."""

_MODALITIES = {"both": ("visual", "acoustic"), "audio": ("acoustic",), "visual": ("visual",)}
_FEATURES = {"acoustic": ACOUSTIC, "visual": VISUAL}


def load_deepbeat(folder: str | PathLike[str], *, trusted: bool = False) -> Signals:
    """Read DeepBeat: pulse waves of a wrist, with and without atrial fibrillation.

    Parameters
    ----------
    folder : str or path
        A folder with ``train.npz``, ``validate.npz`` and ``test.npz``, or one of these files. Each
        has "signal" (n, 800, 1), "rhythm" (n, 2), "qa_label" (n, 3) and "parameters" (n, 3): time,
        stream and subject.
    trusted : bool, default=False
        Whether pickled arrays may be read. As published, "parameters" is pickled, and reading such
        a file can run any program; say True for the file of the authors (Synapse syn21985690).

    Returns
    -------
    Signals
        32 Hz; ``y`` is 1 for atrial fibrillation, ``part`` the file. The published parts share
        subjects; `split_subjects` makes others.

    References
    ----------
    Torres-Soto, Ashley: Multi-task deep learning for cardiac rhythm detection in wearable devices,
    2020.
    """
    place = Path(folder)
    known = {"train": "train", "validate": "validation", "test": "test"}
    paths = [place] if place.is_file() else [place / f"{name}.npz" for name in known]
    paths = [path for path in paths if path.is_file()]
    if not paths:
        raise FileFormatError(f"{place} has none of {', '.join(f'{n}.npz' for n in known)}")
    parts: dict[str, list[Any]] = {"X": [], "y": [], "subject": [], "part": []}
    for path in paths:
        arrays = read_npz(path, trusted)
        for name, shape in (("signal", (800, 1)), ("rhythm", (2,)), ("parameters", (3,))):
            if name not in arrays or arrays[name].shape[1:] != shape:
                got = arrays[name].shape if name in arrays else "none"
                raise FileFormatError(
                    f'{path} must have "{name}" of shape {("n", *shape)}; got {got}'
                )
        parts["X"].append(arrays["signal"][:, :, 0].astype(np.float32))
        parts["y"].append(arrays["rhythm"].argmax(axis=1))
        parts["subject"].append(arrays["parameters"][:, 2].astype(str))
        parts["part"].append(np.full(len(arrays["signal"]), known.get(path.stem, path.stem)))
    joined: dict[str, Any] = {name: np.concatenate(each) for name, each in parts.items()}
    return Signals(
        **joined, sampling_rate=32, channels=["ppg"], description="DeepBeat; 1: atrial fibrillation"
    )


def load_pulsedb(path: str | PathLike[str], *, channels: tuple[str, ...] = ("ppg",)) -> Signals:
    """Read PulseDB: segments of 10 s with invasive pressures, from VitalDB or MIMIC.

    Parameters
    ----------
    path : str or path
        A MATLAB file of version 7.3: a subset ("Subset": Signals, SBP, DBP, Subject), or the
        segments of one subject ("Subj_Wins": PPG_Raw, SegSBP, SegDBP, ...). Or a folder with the
        latter, one file a subject.
    channels : tuple of {"ecg", "ppg", "abp"}, default=("ppg",)

    Returns
    -------
    Signals
        125 Hz; ``y`` has systolic and diastolic pressure in mmHg.

    References
    ----------
    Wang and others: PulseDB, a large, cleaned dataset based on MIMIC-III and VitalDB, 2023.
    """
    for name in channels:
        check_choice(name, "channels", ("ecg", "ppg", "abp"))
    place = Path(path)
    paths = sorted(place.glob("*.mat")) if place.is_dir() else [place]
    if not paths or not all(each.is_file() for each in paths):
        raise FileFormatError(f"{place} is no MATLAB file, and no folder of such files")
    read = [_mat_segments(each, channels) for each in paths]
    X, y, subject = (np.concatenate([part[i] for part in read]) for i in range(3))
    return Signals(
        X, 125, y=in_mmhg(y, subject=subject), subject=subject, channels=channels,
        targets=["systolic", "diastolic"], description="PulseDB; pressures in mmHg",
    )  # fmt: skip


def _mat_segments(
    path: Path, channels: tuple[str, ...]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    h5py = imported("h5py", "MATLAB files of version 7.3 are")
    order = ("ecg", "ppg", "abp")
    try:
        with h5py.File(path, "r") as file:
            if "Subset" in file:
                group = file["Subset"]
                # MATLAB writes the last axis first.
                signals = np.asarray(group["Signals"]).transpose(2, 1, 0)
                X = signals[:, [order.index(name) for name in channels]]
                y = np.stack([np.asarray(group[name]).ravel() for name in ("SBP", "DBP")], axis=1)
                subject = [_text(file[ref]) for ref in np.asarray(group["Subject"]).ravel()]
            else:
                group = file["Subj_Wins"]
                names = [f"{name.upper()}_Raw" for name in channels]
                X = np.stack([_referred(file, group[name]) for name in names], axis=1)
                y = np.stack(
                    [_referred(file, group[n])[:, 0] for n in ("SegSBP", "SegDBP")], axis=1
                )
                subject = [path.stem] * len(X)
    except (OSError, KeyError, ValueError) as error:
        raise FileFormatError(f"{path} cannot be read as PulseDB: {error}") from error
    return X.astype(np.float32), y, np.array(subject)


def _referred(file: Any, references: Any) -> NDArray[Any]:
    """Return what the entries of a structure refer to, one row each."""
    return np.stack([np.asarray(file[ref]).ravel() for ref in np.asarray(references).ravel()])


def _text(dataset: Any) -> str:
    return "".join(map(chr, np.asarray(dataset).ravel()))


def load_bci2a(
    subjects: Any = None, *, folder: str | PathLike[str] | None = None, moabb: Any = None
) -> Signals:
    """Read BCI Competition IV 2a from a folder, or through MOABB, which fetches it.

    22 channels from 7.5 to 30 Hz, 128 Hz, six seconds: two of a fixation cross, then the cue.

    Parameters
    ----------
    subjects : list of int, optional
        From 1 to 9; by default all, or those that the folder has.
    folder : str or path, optional
        With ``A01T.mat``, ``A01E.mat``, ... in the form of BNCI Horizon 2020 (data set 001-2014).
    moabb : module, optional
        In place of the installed one.

    Returns
    -------
    Signals
        ``part`` is the session.

    References
    ----------
    Brunner and others: BCI competition 2008, Graz data set A.
    """
    wanted = list(range(1, 10)) if subjects is None else list(subjects)
    for one in wanted:
        check_integer(one, "subjects", 1, 9)
    if folder is not None:
        return _bci2a_of(Path(folder), wanted, every=subjects is None)
    if moabb is None:
        moabb = imported("moabb", "BCI IV 2a is")
        for part in ("datasets", "paradigms"):
            imported(f"moabb.{part}", "BCI IV 2a is")
    data = moabb.datasets.BNCI2014_001()
    # The task of this data set starts two seconds after the fixation cross.
    paradigm = moabb.paradigms.MotorImagery(
        n_classes=4, fmin=7.5, fmax=30, tmin=-2, tmax=4, resample=128
    )
    X, y, about = paradigm.get_data(dataset=data, subjects=wanted)
    if X.ndim != 3 or X.shape[1] != 22:
        raise FileFormatError(f"expected 22 channels; got an array of shape {X.shape}")
    return Signals(
        X[:, :, :768].astype(np.float32), 128, y=np.asarray(y, dtype=str),
        subject=about["subject"].to_numpy(), part=about["session"].to_numpy().astype(str),
        description="BCI Competition IV 2a",
    )  # fmt: skip


def _bci2a_of(folder: Path, subjects: list[int], every: bool) -> Signals:
    made = []
    for subject in subjects:
        for session, part in _SESSIONS.items():
            path = folder / f"A{subject:02d}{session}.mat"
            if path.is_file():
                made.append(_session(path, subject, part))
            elif not every:
                raise FileFormatError(f"there is no file {path}")
    if not made:
        raise FileFormatError(f"{folder} has none of A01T.mat, A01E.mat, A02T.mat, ...")
    X, y, people, parts = (np.concatenate([one[i] for one in made]) for i in range(4))
    return Signals(
        X, 128, y=y, subject=people, part=parts, channels=EEG_CHANNELS,
        description="BCI Competition IV 2a",
    )  # fmt: skip


def _session(path: Path, subject: int, part: str) -> tuple[NDArray[Any], ...]:
    """Return trials of a file, which has a recording and the starts of its trials for each run."""
    from scipy.io import loadmat

    try:
        content = loadmat(path, squeeze_me=True, struct_as_record=False)
        trials, labels = [], []
        for run in np.atleast_1d(content["data"]):
            if np.size(run.trial):  # the first runs have movements of the eyes alone
                trials.append(_trials(run))
                names = [str(name).strip().replace(" ", "_") for name in run.classes]
                labels.append(np.array(names)[np.atleast_1d(run.y).astype(int) - 1])
        X, y = np.concatenate(trials), np.concatenate(labels)
    except (OSError, KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
        raise FileFormatError(f"{path} cannot be read as BCI IV 2a: {error}") from error
    return X, y, np.full(len(y), subject), np.full(len(y), part)


def _trials(run: Any) -> NDArray[np.float32]:
    """Return the trials of a run in volts, at 128 Hz; it is filtered as a whole."""
    recording = 1e-6 * np.asarray(run.X, dtype=np.float64).T[None, : len(EEG_CHANNELS)]
    rate = float(run.fs)
    whole = BandPass(low=7.5, high=30, sampling_rate=rate).fit_transform(recording)[0]
    starts = np.atleast_1d(run.trial).astype(int) - 1  # MATLAB counts from 1
    cut = np.stack([whole[:, start : start + round(6 * rate)] for start in starts])
    made = Resample(to=128, sampling_rate=rate).fit_transform(cut)
    return np.asarray(made[:, :, :768], dtype=np.float32)


def load_d_vlog(
    folder: str | PathLike[str], *, modality: str = "both", seconds: int = 596
) -> tuple[Signals, Any]:
    """Read D-Vlog: features of videos in which people talk, by second.

    Parameters
    ----------
    folder : str or path
        With ``labels.csv`` (index, label, duration, gender, fold), and ``{id}_visual.npy``
        (seconds, 136) and ``{id}_acoustic.npy`` (seconds, 25) beside it or in a folder ``{id}``.
    modality : {"both", "audio", "visual"}, default="both"
        "both" has the visual features first.
    seconds : int, default=596
        Longer videos are cut off, shorter ones filled with 0.

    Returns
    -------
    signals : Signals
        One value a second; ``y`` is 1 for depression, ``part`` the published split.
    about : pandas.DataFrame
        A row for each video: index, gender, duration (of the longer features), and "cut", the
        seconds that were cut off (below 0: filled).

    References
    ----------
    Yoon, Kang, Kim, Han: D-vlog: multimodal vlog dataset for depression detection, 2022.
    """
    import pandas as pd

    names = _MODALITIES[check_choice(modality, "modality", tuple(_MODALITIES))]
    length = check_integer(seconds, "seconds")
    place = Path(folder)
    table = place / "labels.csv"
    if not table.is_file():
        raise FileFormatError(f"{place} has no labels.csv")
    frame = pd.read_csv(table)
    for name in ("index", "label", "gender", "fold"):
        if name not in frame.columns:
            raise FileFormatError(
                f"{table} lacks the column {name!r}; it has {list(frame.columns)}"
            )
    strange = sorted(set(frame["label"]) - {"depression", "normal"})
    if strange:
        raise FileFormatError(f'label must be "depression" or "normal"; got {strange[0]!r}')
    X = np.zeros((len(frame), sum(_FEATURES[n] for n in names), length), dtype=np.float32)
    durations = np.zeros(len(frame), dtype=np.int64)
    for row, index in enumerate(frame["index"].astype(str)):
        start = 0
        for name in names:
            values = _features(place, index, name)
            durations[row] = max(durations[row], len(values))
            part = values[:length]
            X[row, start : start + _FEATURES[name], : len(part)] = part.T
            start += _FEATURES[name]
    about = pd.DataFrame(
        {"index": frame["index"], "gender": frame["gender"], "duration": durations,
         "cut": durations - length}
    )  # fmt: skip
    part = frame["fold"].replace({"valid": "validation"}).to_numpy().astype(str)
    signals = Signals(
        X, 1, y=(frame["label"] == "depression").to_numpy().astype(np.int64),
        subject=frame["index"].to_numpy(), part=part, description="D-Vlog; 1: depression",
    )  # fmt: skip
    return signals, about


def _features(place: Path, index: str, name: str) -> NDArray[Any]:
    file = f"{index}_{name}.npy"
    path = next((each for each in (place / index / file, place / file) if each.is_file()), None)
    if path is None:
        raise FileFormatError(f"there is no {file} in {place}, nor in its folder {index}")
    values = np.load(path)
    if values.ndim != 2 or values.shape[1] != _FEATURES[name]:
        raise FileFormatError(
            f"{path} must have shape (seconds, {_FEATURES[name]}); got {values.shape}"
        )
    if not np.isfinite(values).all():
        raise InvalidValueError(f"{path} has gaps (NaN); fill them in")
    return values
