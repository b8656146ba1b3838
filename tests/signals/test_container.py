"""The container: shapes, names, files; recordings that are cut; long tables."""

import numpy as np
import pandas as pd
import pytest

from caveat.exceptions import (
    CaveatError,
    FileFormatError,
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
)
from caveat.signals import Signals, cut, read_edf, read_long_csv, read_wfdb


@pytest.fixture
def signals():
    X = np.arange(48.0).reshape(4, 2, 6)
    y = [[120.0, 80.0], [110.0, np.nan], [130.0, 85.0], [100.0, 60.0]]
    return Signals(
        X, 3, y=y, subject=["a", "a", "b", "b"], channels=["ppg", "ecg"],
        targets=["sbp", "dbp"], part=["train", "train", "test", "test"], description="four",
    )  # fmt: skip


def test_one_channel_needs_no_axis():
    assert Signals(np.zeros((3, 10)), 5).X.shape == (3, 1, 10)
    assert repr(Signals(np.zeros((3, 10), dtype=int), 5)) == (
        "Signals: 3 segments of 2 s at 5 Hz, 1 channel (0)"
    )
    assert "(0, 1, 2, 3, 4, 5, ...)" in repr(Signals(np.zeros((1, 7, 4)), 4))


def test_single_precision_stays_so():
    assert Signals(np.zeros((3, 10), dtype=np.float32), 5).X.dtype == np.float32
    assert Signals(np.zeros((3, 10), dtype=np.float16), 5).X.dtype == np.float64


def test_signals_are_an_array_of_their_values(signals):
    np.testing.assert_array_equal(np.asarray(signals), signals.X)
    assert np.asarray(signals, dtype=np.float32).dtype == np.float32


def test_rows_take_everything_along(signals):
    assert repr(signals).endswith("2 channels (ppg, ecg), 2 subjects")
    some = signals.take([2, 0])
    np.testing.assert_array_equal(some.X, signals.X[[2, 0]])
    assert some.subject.tolist() == ["b", "a"]
    assert some.part.tolist() == ["test", "train"]
    np.testing.assert_array_equal(some.y, signals.y[[2, 0]])
    assert signals.take(signals.subject == "b").X.shape == (2, 2, 6)
    assert Signals(signals.X, 3).take([1]).y is None


@pytest.mark.parametrize("rows", [[4], [[0]], [0.5], [True], np.zeros(4, dtype=bool)])
def test_rows_that_are_none(signals, rows):
    with pytest.raises(ShapeError, match="rows must be positions"):
        signals.take(np.array(rows))


def test_channels_in_another_order_are_found_by_name(signals):
    swapped = signals.select("ecg", "ppg")
    np.testing.assert_array_equal(swapped.X[:, 0], signals.X[:, 1])
    assert swapped.channels == ("ecg", "ppg")
    with pytest.raises(LabelError, match="no channel 'abp'; there are ppg, ecg"):
        signals.select("abp")
    with pytest.raises(LabelError, match="name each channel once"):
        signals.select("ppg", "ppg")


def test_missing_targets(signals):
    assert signals.with_targets().subject.tolist() == ["a", "b", "b"]
    labeled = Signals(signals.X, 3, y=[0, 1, 0, 1])
    assert labeled.with_targets() is labeled
    with pytest.raises(OptionError, match="there is no y"):
        Signals(signals.X, 3).with_targets()
    with pytest.raises(LabelError, match="no segment has all"):
        Signals(signals.X, 3, y=[np.nan] * 4).with_targets()


def test_names_of_targets():
    X = np.zeros((2, 5))
    assert Signals(X, 1, y=pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})).targets == ("a", "b")
    assert Signals(X, 1, y=[[1.0, 2.0], [3.0, 4.0]]).targets == ("0", "1")
    assert Signals(X, 1, y=[[1.0], [3.0]]).y.shape == (2,)
    assert Signals(X, 1, y=np.array(["x", "y"], dtype=object)).y.dtype.kind == "U"
    with pytest.raises(OptionError, match="names of the columns of y, which is missing"):
        Signals(X, 1, targets=["a"])


@pytest.mark.parametrize(
    ("X", "rate", "options", "message"),
    [
        (np.zeros(5), 1, {}, r"X must have shape \(samples, channels, time\)"),
        (np.zeros((2, 0)), 1, {}, "none of them may be 0"),
        (np.array([["a", "b"]]), 1, {}, "X must hold real numbers"),
        (np.zeros((2, 5)), 0, {}, "sampling_rate must be a number above 0"),
        (np.zeros((2, 5)), 1, {"y": [1, 2, 3]}, r"y must have shape \(2,\)"),
        (np.zeros((2, 5)), 1, {"subject": ["a"]}, "subject must be one value for each of 2"),
        (np.zeros((2, 5)), 1, {"channels": ["a", "b"]}, "channels must be 1 labels"),
    ],
)
def test_what_is_no_signal(X, rate, options, message):
    with pytest.raises(CaveatError, match=message):
        Signals(X, rate, **options)


def test_a_file_gives_back_what_was_saved(signals, tmp_path):
    path = tmp_path / "s.npz"
    signals.save(path)
    back = Signals.from_npz(path)
    for name in ("X", "y", "subject", "part"):
        np.testing.assert_array_equal(getattr(back, name), getattr(signals, name))
    assert (back.sampling_rate, back.channels, back.targets, back.description) == (
        3, ("ppg", "ecg"), ("sbp", "dbp"), "four",
    )  # fmt: skip
    Signals(signals.X, 3).save(path)
    assert Signals.from_npz(path, sampling_rate=6).seconds == 1.0


def test_files_of_others(tmp_path):
    path = tmp_path / "own.npz"
    np.savez(path, ppg=np.ones((3, 8)), label=[0, 1, 0])
    back = Signals.from_npz(path, sampling_rate=4, X="ppg", y="label")
    assert back.y.tolist() == [0, 1, 0]
    assert back.subject is None
    with pytest.raises(OptionError, match="does not say its sampling rate"):
        Signals.from_npz(path, X="ppg")
    with pytest.raises(FileFormatError, match="no array 'X'; there are label, ppg"):
        Signals.from_npz(path, sampling_rate=4)
    with pytest.raises(FileFormatError, match="no array 'who'"):
        Signals.from_npz(path, sampling_rate=4, X="ppg", subject="who")
    with pytest.raises(OptionError, match="names are those of X, y, subject and part; got 'z'"):
        Signals.from_npz(path, z="label")
    with pytest.raises(FileFormatError, match="there is no file"):
        Signals.from_npz(tmp_path / "none.npz")
    path.write_bytes(b"nothing")
    with pytest.raises(FileFormatError, match="cannot be read as NPZ"):
        Signals.from_npz(path, sampling_rate=4)
    for about in ('{"format": "other"}', "recorded at night", "[1]", "1"):
        np.savez(path, X=np.ones((3, 8)), about=np.array(about))
        with pytest.raises(FileFormatError, match="is no file of"):
            Signals.from_npz(path)
    np.save(tmp_path / "one.npy", np.ones((3, 8)))
    with pytest.raises(FileFormatError, match="cannot be read as NPZ"):
        Signals.from_npz(tmp_path / "one.npy", sampling_rate=4)


def test_a_recording_is_cut_where_it_says():
    recording = np.stack([np.arange(100.0), -np.arange(100.0)])
    made = cut(recording, 10, window=2, hop=1.5, subject=7, channels=["up", "down"])
    assert made.X.shape == (6, 2, 20)
    np.testing.assert_array_equal(made.X[:, 0, 0], 15.0 * np.arange(6))
    np.testing.assert_array_equal(made.X[:, 1], -made.X[:, 0])
    assert made.subject.tolist() == [7] * 6
    assert cut(recording[0], 10, window=5).X.shape == (2, 1, 50)


@pytest.mark.parametrize(
    ("recording", "options", "message"),
    [
        (np.zeros((1, 2, 3)), {"window": 1}, "recording must have shape"),
        (np.zeros(5), {"window": 1}, "the recording has 0.5 s, less than one window of 1 s"),
        (np.zeros(50), {"window": 0.01}, "window=0.01 s is less than one value at 10 Hz"),
        (np.zeros(50), {"window": 1, "hop": -1}, "hop must be a number above 0"),
    ],
)
def test_recordings_that_cannot_be_cut(recording, options, message):
    with pytest.raises(CaveatError, match=message):
        cut(recording, 10, **options)


def long_table():
    rows = [
        {
            "id": name,
            "t": 0.25 * k,
            "ppg": 10.0 * i + k,
            "ecg": -k,
            "who": name[0],
            "sbp": 100.0 + i,
        }
        for i, name in enumerate(["b1", "a1", "a2"])
        for k in range(4)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=0)


def test_a_long_table_in_any_order(tmp_path):
    path = tmp_path / "long.csv"
    long_table().to_csv(path, index=False)
    options = {"value": ["ppg", "ecg"], "segment": "id", "time": "t", "subject": "who"}
    made = read_long_csv(path, **options, target="sbp")
    assert made.sampling_rate == pytest.approx(4)
    assert made.channels == ("ppg", "ecg")
    assert made.subject.tolist() == ["a", "a", "b"]
    np.testing.assert_array_equal(made.y, [101, 102, 100])
    np.testing.assert_array_equal(made.X[0, 0], [10, 11, 12, 13])
    several = read_long_csv(long_table(), **options, target=["sbp"], sampling_rate=8)
    assert several.targets == ("sbp",)
    assert several.seconds == 0.5
    assert read_long_csv(long_table(), value="ppg", segment="id", time="t").y is None
    named = read_long_csv(long_table().set_index("id", drop=False), **options)
    np.testing.assert_array_equal(named.X, made.X)


def test_times_that_are_rounded_are_equally_spaced():
    table = pd.DataFrame({"id": np.repeat([1, 2], 500), "ppg": np.arange(1000.0)})
    table["t"] = np.round(np.tile(np.arange(500) / 128, 2) + table.id * 3.0001, 3)
    steps = np.diff(table.t[:500])
    assert np.abs(steps / np.median(steps) - 1).max() > 0.1
    made = read_long_csv(table, value="ppg", segment="id", time="t")
    # Both ends may be half a millisecond off.
    assert made.sampling_rate == pytest.approx(128, rel=0.001 / (499 / 128))
    for lost in (250, 498, 1):  # a value that is missing shifts those behind it
        with pytest.raises(InvalidValueError, match="times of segment 1 are not equally spaced"):
            read_long_csv(table.drop([lost, 750]), value="ppg", segment="id", time="t")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="t"), "there is no column 't'"),
        (lambda f: f.iloc[1:], "segments must have the same number of rows"),
        (lambda f: f.assign(t=0.0), "times must be known and differ"),
        (lambda f: f.assign(t=f.t**2), "are not equally spaced"),
        (lambda f: f.assign(who=range(12)), "'who' changes within segment a1"),
        (lambda f: f.iloc[:0], "the table has no rows"),
        (lambda f: f.assign(id=f.id.where(f.id != "a1")), "'id' of row . is missing"),
        (lambda f: f.assign(ppg=f.ppg.astype(object).where(f.id != "a1", "no")), "real numbers"),
        (
            lambda f: f.assign(t=f.t.where(f.id != "a1", 0.9 * f.t)),
            "a1 4.444; read those of each rate",
        ),
    ],
)
def test_long_tables_that_cannot_be_read(change, message):
    with pytest.raises(CaveatError, match=message):
        read_long_csv(
            change(long_table()), value="ppg", segment="id", time="t", subject="who", target="sbp"
        )


@pytest.mark.parametrize("unit", ["us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_dates_are_seconds(unit, zone):
    start = pd.Timestamp("2020-09-01 23:59:59.98", tz=zone).as_unit(unit)
    times = start + pd.to_timedelta(np.arange(8) * 10, unit="ms")
    table = pd.DataFrame({"id": [1] * 4 + [2] * 4, "t": times, "ppg": np.arange(8.0)})
    made = read_long_csv(table.iloc[::-1], value="ppg", segment="id", time="t")
    assert made.sampling_rate == pytest.approx(100)
    np.testing.assert_array_equal(made.X[:, 0], [[0, 1, 2, 3], [4, 5, 6, 7]])
    with pytest.raises(
        InvalidValueError, match=r"got type .*Convert texts with pandas.to_datetime"
    ):
        read_long_csv(table.assign(t=table.t.astype(str)), value="ppg", segment="id", time="t")


def test_segments_of_one_name_are_not_mixed():
    table = long_table().sort_values(["id", "t"], kind="stable")
    options = {"value": "ppg", "segment": "id", "time": "t", "sampling_rate": 4}
    # Times that are too coarse are those of rows in their order.
    coarse = read_long_csv(table.assign(t=table.t.round()), **options)
    np.testing.assert_array_equal(coarse.X, read_long_csv(table, **options).X)
    with pytest.raises(InvalidValueError, match="segment a has times that repeat"):
        read_long_csv(table[table.who == "a"].assign(id="a"), **options)


def test_segments_at_nearly_one_rate_are_read():
    step = np.repeat([0.04, 0.04002], 500)
    table = pd.DataFrame({"id": np.repeat([1, 2], 500), "t": step * np.tile(np.arange(500), 2)})
    options = {"value": "t", "segment": "id", "time": "t"}
    assert read_long_csv(table, **options).sampling_rate == pytest.approx(25, rel=1e-3)
    # The same with clocks that differ by 4 %, which no single time shows.
    table.loc[table.id == 2, "t"] *= 1.04
    with pytest.raises(InvalidValueError, match=r"segment 2 has 24\.03 values a second and .* 25;"):
        read_long_csv(table, **options)


def test_dates_in_a_file(tmp_path):
    path = tmp_path / "dates.csv"
    times = pd.Timestamp("2020-09-01 23:59:59.98") + pd.to_timedelta(np.arange(4) * 10, unit="ms")
    table = pd.DataFrame({"id": 1, "t": times, "ppg": np.arange(4.0)})
    table.iloc[::-1].to_csv(path, index=False)
    made = read_long_csv(path, value="ppg", segment="id", time="t")
    assert made.sampling_rate == pytest.approx(100)
    np.testing.assert_array_equal(made.X[0, 0], [0, 1, 2, 3])
    table.assign(t="noon").to_csv(path, index=False)
    with pytest.raises(FileFormatError, match=r"dates\.csv cannot be read as a table"):
        read_long_csv(path, value="ppg", segment="id", time="t")


def test_a_long_table_that_is_none(tmp_path):
    with pytest.raises(FileFormatError, match="cannot be read as a table"):
        read_long_csv(tmp_path / "none.csv", value="a", segment="b", time="c")
    with pytest.raises(InvalidValueError, match="times must be known"):
        read_long_csv(
            pd.DataFrame({"i": [1], "t": [0.0], "v": [1.0]}), value="v", segment="i", time="t"
        )


def edf_bytes(names, values, rate, starts=None):
    """Return an EDF file of one-second records, as its specification of 1992 has it.

    With starts of its records it is an EDF+D, which may have gaps, of 2002.
    """
    records = values.shape[1] // rate
    digital = np.round((values + 1000) / 2000 * 65535 - 32768).astype("<i2")
    if starts is not None:
        texts = b"".join(f"+{start}\x14\x14".encode().ljust(2 * rate, b"\0") for start in starts)
        digital = np.vstack([digital, np.frombuffer(texts, "<i2")])
        names = [*names, "EDF Annotations"]
    count = len(names)

    def field(text, width):
        return str(text).ljust(width)[:width].encode()

    head = b"".join(
        field(text, width)
        for text, width in (
            ("0", 8), ("X X X X", 80), ("Startdate X X X X", 80), ("01.01.20", 8), ("00.00.00", 8),
            (256 * (1 + count), 8), ("" if starts is None else "EDF+D", 44), (records, 8), (1, 8),
            (count, 4),
        )
    )  # fmt: skip
    for entries, width in (
        (names, 16), ([""] * count, 80), (["uV"] * count, 8), ([-1000] * count, 8),
        ([1000] * count, 8), ([-32768] * count, 8), ([32767] * count, 8), ([""] * count, 80),
        ([rate] * count, 8), ([""] * count, 32),
    ):  # fmt: skip
        head += b"".join(field(entry, width) for entry in entries)
    body = digital.reshape(count, records, rate).transpose(1, 0, 2).tobytes()
    return head + body


def test_an_edf_file(tmp_path):
    pytest.importorskip("mne")
    path = tmp_path / "night.edf"
    values = 100 * np.stack([np.sin(np.arange(400) / 9), np.cos(np.arange(400) / 7)])
    path.write_bytes(edf_bytes(["C3", "C4"], values, 100))
    made = read_edf(path, window=2)
    assert made.X.shape == (2, 2, 200)
    assert made.channels == ("C3", "C4")
    assert made.subject.tolist() == ["night", "night"]
    np.testing.assert_allclose(made.X[1], 1e-6 * values[:, 200:], atol=1e-6 * 0.05)
    path.write_bytes(b"no header")
    with pytest.raises(FileFormatError, match="cannot be read as EDF"):
        read_edf(path, window=2)


def test_an_edf_file_with_gaps(tmp_path):
    pytest.importorskip("mne")
    path = tmp_path / "night.edf"
    values = 100 * np.sin(np.arange(400) / 9)[None]
    path.write_bytes(edf_bytes(["C3"], values, 100, starts=[0, 1, 2, 3]))
    made = read_edf(path, window=2)
    assert made.channels == ("C3",)
    np.testing.assert_allclose(made.X[1, 0], 1e-6 * values[0, 200:], atol=1e-6 * 0.05)
    path.write_bytes(edf_bytes(["C3"], values, 100, starts=[5, 6, 60.5, 61.5]))
    with pytest.raises(FileFormatError, match=r"night\.edf has a gap after 2 s \(EDF\+D\), which"):
        read_edf(path, window=2)


@pytest.mark.filterwarnings("ignore")  # wfdb's own, of pandas
def test_a_wfdb_record(tmp_path):
    pytest.importorskip("wfdb")
    values = np.stack([np.sin(np.arange(250) / 9), 2 + np.cos(np.arange(250) / 7)], axis=1)
    (tmp_path / "r1.dat").write_bytes(np.round(1000 * values).astype("<i2").tobytes())
    lines = [
        "r1 2 125 250",
        "r1.dat 16 1000/mV 16 0 0 0 0 II",
        "r1.dat 16 1000/NU 16 0 0 0 0 PLETH",
    ]
    (tmp_path / "r1.hea").write_text("\n".join(lines) + "\n")
    made = read_wfdb(tmp_path / "r1.hea", window=1, subject="p")
    assert made.X.shape == (2, 2, 125)
    assert made.channels == ("II", "PLETH")
    np.testing.assert_allclose(made.X[0], values[:125].T, atol=1e-3)
    with pytest.raises(FileFormatError, match="cannot be read as a WFDB record"):
        read_wfdb(tmp_path / "none", window=1)


class Stub:
    """Stands for a library that may be missing where the tests run."""

    def __init__(self, **members):
        vars(self).update(members)


def test_the_calls_of_other_libraries(monkeypatch, tmp_path):
    raw = Stub(get_data=lambda: np.ones((1, 20)), info={"sfreq": 10.0}, ch_names=["Cz"])
    calls = []

    def read(path, **options):
        calls.append(path[-4:])
        if "bad" in path:
            raise ValueError("no header")
        return raw

    io = Stub(read_raw_edf=read, read_raw_bdf=read)
    record = Stub(record_name="r", p_signal=np.ones((20, 1)), fs=10, sig_name=["II"])

    def record_of(name):
        if "bad" in name:
            raise OSError("nothing")
        return record

    monkeypatch.setitem(__import__("sys").modules, "mne", Stub(io=io))
    monkeypatch.setitem(__import__("sys").modules, "wfdb", Stub(rdrecord=record_of))
    monkeypatch.chdir(tmp_path)
    for name, last in (("x.edf", 2), ("x.bdf", 2), ("gap.edf", 3)):
        whole = edf_bytes(["C3"], np.zeros((1, 300)), 100, starts=[0, 1, last])
        (tmp_path / name).write_bytes(whole)
    assert read_edf("x.edf", window=1).subject.tolist() == ["x", "x"]
    assert read_edf("x.bdf", window=1, subject=3).subject.tolist() == [3, 3]
    assert calls == [".edf", ".bdf"]
    with pytest.raises(FileFormatError, match=r"gap\.edf has a gap after 2 s"):
        read_edf("gap.edf", window=1)
    assert read_wfdb("x", window=2).subject.tolist() == ["r"]
    record.p_signal = None
    with pytest.raises(FileFormatError, match="x is a WFDB record without signals"):
        read_wfdb("x", window=2)
    with pytest.raises(FileFormatError, match="cannot be read as EDF: no header"):
        read_edf("bad.edf", window=1)
    with pytest.raises(FileFormatError, match="cannot be read as a WFDB record: nothing"):
        read_wfdb("bad", window=1)


def test_a_library_that_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mne", None)
    with pytest.raises(CaveatError, match=r"EDF files are read by mne, which is not installed"):
        read_edf("x.edf", window=1)
