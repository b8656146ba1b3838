"""Readers of published files, on small files of exactly their form."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from caveat.exceptions import CaveatError, FileFormatError, InvalidValueError, OptionError
from caveat.signals import load_bci2a, load_d_vlog, load_deepbeat, load_pulsedb


def write_deepbeat(path, count, first=0, **changes):
    """One file: signals (n, 800, 1), one-hot rhythm and quality, pickled parameters."""
    rng = np.random.default_rng(count)
    rhythm = np.eye(2)[np.arange(count) % 2]
    parameters = np.array(
        [[f"2017-01-01 00:{i:02d}", "stream", first + i // 2] for i in range(count)], dtype=object
    )
    arrays = {
        "signal": rng.normal(size=(count, 800, 1)),
        "rhythm": rhythm,
        "qa_label": np.eye(3)[np.arange(count) % 3],
        "parameters": parameters,
    }
    np.savez(path, **(arrays | changes))


def test_deepbeat(tmp_path):
    write_deepbeat(tmp_path / "train.npz", 6)
    write_deepbeat(tmp_path / "validate.npz", 2, 10)
    write_deepbeat(tmp_path / "test.npz", 4, 20)
    made = load_deepbeat(tmp_path, trusted=True)
    assert made.X.shape == (12, 1, 800)
    assert made.seconds == 25.0
    assert made.y.tolist() == [0, 1] * 6
    assert made.part.tolist() == ["train"] * 6 + ["validation"] * 2 + ["test"] * 4
    assert made.subject.tolist()[:7] == ["0", "0", "1", "1", "2", "2", "10"]
    assert len(load_deepbeat(tmp_path / "test.npz", trusted=True)) == 4


def test_deepbeat_that_cannot_be_read(tmp_path):
    with pytest.raises(FileFormatError, match=r"has none of train.npz, validate.npz, test.npz"):
        load_deepbeat(tmp_path)
    write_deepbeat(tmp_path / "train.npz", 2)
    with pytest.raises(FileFormatError, match="Object arrays cannot be loaded"):
        load_deepbeat(tmp_path)
    write_deepbeat(tmp_path / "train.npz", 2, signal=np.zeros((2, 700, 1)))
    with pytest.raises(
        FileFormatError, match=r'"signal" of shape \(.n., 800, 1\); got \(2, 700, 1\)'
    ):
        load_deepbeat(tmp_path, trusted=True)
    np.savez(tmp_path / "train.npz", signal=np.zeros((2, 800, 1)))
    with pytest.raises(FileFormatError, match=r'must have "rhythm" of shape .* got none'):
        load_deepbeat(tmp_path)


SUBJECTS = ["p000001", "p000001", "p000002"]


class StubFile(dict):
    """The calls of an HDF5 file that are used, on arrays."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def pulsedb_arrays():
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(3, 3, 1250))
    pressures = np.array([[120.0, 80.0], [118.0, 79.0], [140.0, 90.0]])
    return signals, pressures


def write_subset(path, h5py):
    signals, pressures = pulsedb_arrays()
    with h5py.File(path, "w") as file:
        group = file.create_group("Subset")
        group["Signals"] = signals.transpose(2, 1, 0)
        group["SBP"], group["DBP"] = pressures[:, :1].T, pressures[:, 1:].T
        references = []
        for i, name in enumerate(SUBJECTS):
            one = file.create_dataset(f"#refs#/{i}", data=np.array([[ord(c)] for c in name], "u2"))
            references.append(one.ref)
        group.create_dataset("Subject", data=np.array([references], dtype=h5py.ref_dtype))


def write_subject(path, h5py):
    signals, pressures = pulsedb_arrays()
    with h5py.File(path, "w") as file:
        fields = {
            "ECG_Raw": signals[:, 0], "PPG_Raw": signals[:, 1], "ABP_Raw": signals[:, 2],
            "SegSBP": pressures[:, :1], "SegDBP": pressures[:, 1:],
        }  # fmt: skip
        for name, rows in fields.items():
            references = []
            for i, row in enumerate(rows):
                references.append(file.create_dataset(f"#refs#/{name}{i}", data=row[None]).ref)
            file[f"Subj_Wins/{name}"] = np.array([references], dtype=h5py.ref_dtype)


def test_pulsedb_files(tmp_path):
    h5py = pytest.importorskip("h5py")
    signals, pressures = pulsedb_arrays()
    write_subset(tmp_path / "VitalDB_CalFree_Test_Subset.mat", h5py)
    made = load_pulsedb(tmp_path / "VitalDB_CalFree_Test_Subset.mat", channels=("abp", "ppg"))
    np.testing.assert_allclose(made.X, signals[:, [2, 1]], rtol=1e-6)
    np.testing.assert_array_equal(made.y, pressures)
    assert made.subject.tolist() == SUBJECTS
    folder = tmp_path / "subjects"
    folder.mkdir()
    for name in ("p1", "p2"):
        write_subject(folder / f"{name}.mat", h5py)
    made = load_pulsedb(folder)
    assert made.subject.tolist() == ["p1"] * 3 + ["p2"] * 3
    np.testing.assert_allclose(made.X[3:, 0], signals[:, 1], rtol=1e-6)
    (tmp_path / "other.mat").write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match="cannot be read as PulseDB"):
        load_pulsedb(tmp_path / "other.mat")


def test_pulsedb_through_the_calls_of_h5py(monkeypatch, tmp_path):
    signals, pressures = pulsedb_arrays()
    text = {i: np.array([[ord(c)] for c in name]) for i, name in enumerate(SUBJECTS)}
    subset = StubFile(
        Subset={
            "Signals": signals.transpose(2, 1, 0), "SBP": pressures[:, 0][None],
            "DBP": pressures[:, 1][None], "Subject": np.array([[0, 1, 2]]),
        },
        **{},
    )  # fmt: skip
    subset.update(text)
    wins = StubFile(
        {
            "Subj_Wins": {
                name: np.array([[f"{name}{i}" for i in range(3)]])
                for name in ("PPG_Raw", "SegSBP", "SegDBP")
            }
        }
    )
    for i in range(3):
        wins[f"PPG_Raw{i}"] = signals[i, 1][None]
        wins[f"SegSBP{i}"], wins[f"SegDBP{i}"] = pressures[i, :1][None], pressures[i, 1:][None]
    files = {"subset.mat": subset, "wins.mat": wins, "none.mat": StubFile()}

    class Library:
        @staticmethod
        def File(path, mode):  # noqa: N802
            return files[path.name]

    monkeypatch.setitem(sys.modules, "h5py", Library)
    for name in files:
        (tmp_path / name).touch()
    assert load_pulsedb(tmp_path / "subset.mat").subject.tolist() == SUBJECTS
    made = load_pulsedb(tmp_path / "wins.mat")
    assert made.subject.tolist() == ["wins"] * 3
    np.testing.assert_allclose(made.X[:, 0], signals[:, 1], rtol=1e-6)
    with pytest.raises(FileFormatError, match="cannot be read as PulseDB"):
        load_pulsedb(tmp_path / "none.mat")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(CaveatError, match="read by h5py, which is not installed"):
        load_pulsedb(tmp_path / "subset.mat")
    with pytest.raises(FileFormatError, match="is no MATLAB file, and no folder"):
        load_pulsedb(tmp_path / "missing.mat")
    with pytest.raises(OptionError, match="channels must be one of"):
        load_pulsedb(tmp_path, channels=("eeg",))


class Moabb:
    """What MOABB returns for BCI IV 2a: trials of a session, (trials, 22, 769) in volts."""

    asked = None

    class datasets:  # noqa: N801
        class BNCI2014_001:  # noqa: N801
            pass

    class paradigms:  # noqa: N801
        class MotorImagery:
            def __init__(self, **options):
                Moabb.asked = options

            def get_data(self, dataset, subjects):
                count = 8 * len(subjects)
                channels = 3 if subjects == [9] else 22
                X = np.random.default_rng(0).normal(size=(count, channels, 769))
                y = np.array(["left_hand", "right_hand", "feet", "tongue"] * (count // 4))
                about = pd.DataFrame(
                    {"subject": np.repeat(subjects, 8), "session": "0train", "run": "0"}
                )
                return X, y, about


def test_bci_competition():
    made = load_bci2a([1, 2], moabb=Moabb)
    assert made.X.shape == (16, 22, 768)
    assert made.seconds == 6.0
    assert made.subject.tolist() == [1] * 8 + [2] * 8
    assert Moabb.asked == {
        "n_classes": 4,
        "fmin": 7.5,
        "fmax": 30,
        "tmin": -2,
        "tmax": 4,
        "resample": 128,
    }
    assert len(np.unique(load_bci2a(moabb=Moabb).subject)) == 9
    with pytest.raises(FileFormatError, match="expected 22 channels"):
        load_bci2a([9], moabb=Moabb)
    with pytest.raises(OptionError, match="subjects must be at most 9"):
        load_bci2a([10], moabb=Moabb)


NAMES = ["left hand", "right hand", "feet", "tongue"]


def write_bci2a(path, trials=8, runs=2, **changes):
    """A file of BNCI Horizon 2020: a rhythm of 12 Hz from 2 s of each trial on, in microvolts."""
    rate, time = 250, np.arange(250 * (8 * trials + 2)) / 250
    starts = 250 * 8 * np.arange(trials) + 100
    active = sum(((time >= s / rate + 2) & (time < s / rate + 6)).astype(float) for s in starts)
    X = 5 * (active * np.sin(2 * np.pi * 12 * time))[:, None] * np.arange(1, 26)
    empty = {"X": X[:500], "trial": [], "y": [], "fs": rate, "classes": NAMES}
    run = {"X": X, "trial": starts + 1, "y": np.arange(trials) % 4 + 1, "fs": rate}
    data = np.empty(1 + runs, dtype=object)
    data[:] = [empty] + [{**run, "classes": NAMES, **changes}] * runs
    savemat(path, {"data": data})


def test_bci_files_of_a_folder(tmp_path):
    write_bci2a(tmp_path / "A02T.mat")
    write_bci2a(tmp_path / "A02E.mat", runs=1)
    write_bci2a(tmp_path / "A05T.mat", trials=4)
    made = load_bci2a(folder=tmp_path)
    assert made.X.shape == (16 + 8 + 8, 22, 768)
    assert (made.seconds, made.channels[7]) == (6.0, "C3")
    assert made.subject.tolist() == [2] * 24 + [5] * 8
    assert made.part.tolist() == ["0train"] * 16 + ["1test"] * 8 + ["0train"] * 8
    assert made.y[:4].tolist() == ["left_hand", "right_hand", "feet", "tongue"]
    time = np.arange(768) / 128
    size = np.abs(made.X[:, :, (time > 3) & (time < 5)]).max(axis=2)
    np.testing.assert_allclose(size, np.tile(5e-6 * np.arange(1, 23), (32, 1)), rtol=0.02)
    assert np.abs(made.X[:, :, time < 1.5]).max() < 0.1 * size.max()
    with pytest.raises(FileFormatError, match=r"there is no file .*A05E\.mat"):
        load_bci2a([5], folder=tmp_path)
    with pytest.raises(FileFormatError, match=r"has none of A01T\.mat, A01E\.mat"):
        load_bci2a(folder=tmp_path / "nothing")
    write_bci2a(tmp_path / "A07T.mat", y=np.full(8, 9))
    with pytest.raises(FileFormatError, match=r"A07T\.mat cannot be read as BCI IV 2a"):
        load_bci2a(folder=tmp_path)


def test_bci_without_moabb(monkeypatch):
    monkeypatch.setitem(sys.modules, "moabb", None)
    with pytest.raises(CaveatError, match="read by moabb, which is not installed"):
        load_bci2a([1])


def test_bci_with_moabb_installed(monkeypatch):
    for name, module in (
        ("", Moabb),
        (".datasets", Moabb.datasets),
        (".paradigms", Moabb.paradigms),
    ):
        monkeypatch.setitem(sys.modules, f"moabb{name}", module)
    assert len(load_bci2a([3])) == 8


def write_d_vlog(folder, lengths=(10, 4, 8), nested=True, **labels):
    rng = np.random.default_rng(0)
    for index, length in enumerate(lengths):
        place = folder / str(index) if nested else folder
        place.mkdir(exist_ok=True)
        np.save(place / f"{index}_visual.npy", rng.normal(size=(length, 136)))
        np.save(place / f"{index}_acoustic.npy", rng.normal(size=(length, 25)))
    columns = {
        "index": [0, 1, 2], "label": ["depression", "normal", "depression"],
        "duration": [10.2, 4.1, 8.9], "gender": ["f", "m", "f"], "fold": ["train", "valid", "test"],
    }  # fmt: skip
    pd.DataFrame(columns | labels).to_csv(folder / "labels.csv", index=False)


@pytest.mark.parametrize("nested", [True, False])
def test_d_vlog(tmp_path, nested):
    write_d_vlog(tmp_path, nested=nested)
    made, about = load_d_vlog(tmp_path, seconds=8)
    assert made.X.shape == (3, 161, 8)
    assert made.y.tolist() == [1, 0, 1]
    assert made.part.tolist() == ["train", "validation", "test"]
    assert about["cut"].tolist() == [2, -4, 0]
    assert about["gender"].tolist() == ["f", "m", "f"]
    place = tmp_path / "0" if nested else tmp_path
    visual = np.load(place / "0_visual.npy")
    np.testing.assert_allclose(made.X[0, :136], visual[:8].T, rtol=1e-6)
    assert (made.X[1, :, 4:] == 0).all()
    np.save(place / "0_acoustic.npy", np.ones((3, 25)))
    made, about = load_d_vlog(tmp_path, seconds=8)
    assert about["cut"].tolist() == [2, -4, 0]
    assert (made.X[0, 136:, 3:] == 0).all()
    assert load_d_vlog(tmp_path, modality="audio")[0].X.shape == (3, 25, 596)
    assert load_d_vlog(tmp_path, modality="visual")[0].X.shape == (3, 136, 596)


def test_d_vlog_that_cannot_be_read(tmp_path):
    with pytest.raises(FileFormatError, match=r"has no labels.csv"):
        load_d_vlog(tmp_path)
    write_d_vlog(tmp_path, label=["sad"] * 3)
    with pytest.raises(FileFormatError, match="got 'sad'"):
        load_d_vlog(tmp_path)
    write_d_vlog(tmp_path)
    np.save(tmp_path / "0" / "0_visual.npy", np.zeros((5, 3)))
    with pytest.raises(FileFormatError, match=r"must have shape \(seconds, 136\); got \(5, 3\)"):
        load_d_vlog(tmp_path)
    np.save(tmp_path / "0" / "0_visual.npy", np.full((5, 136), np.nan))
    with pytest.raises(InvalidValueError, match="has gaps"):
        load_d_vlog(tmp_path)
    (tmp_path / "0" / "0_visual.npy").unlink()
    with pytest.raises(FileFormatError, match=r"there is no 0_visual.npy"):
        load_d_vlog(tmp_path)
    pd.DataFrame({"index": [0]}).to_csv(tmp_path / "labels.csv", index=False)
    with pytest.raises(FileFormatError, match="lacks the column 'label'"):
        load_d_vlog(tmp_path)
