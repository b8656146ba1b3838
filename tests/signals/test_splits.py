"""Splits by subject: who is where, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from caveat.exceptions import CaveatError, InvalidValueError, LabelError, OptionError, ShapeError
from caveat.signals import Signals, SubjectSplit, make_af_ppg, split_subjects


def people(counts, y=None):
    """Segments of subjects, as many as `counts` says."""
    subject = np.repeat(np.arange(len(counts)), counts)
    X = np.random.default_rng(0).normal(size=(len(subject), 1, 4))
    return Signals(X, 1, subject=subject, y=None if y is None else np.repeat(y, counts))


@pytest.mark.parametrize("seed", range(5))
def test_calibfree_shares_no_subject_and_keeps_the_ratio(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(5, 60, 80)
    signals = people(counts, (np.arange(80) < 30).astype(int))
    split = split_subjects(signals, random_state=seed)
    parts = list(split)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(signals)))
    owners = [set(signals.subject[rows]) for rows in parts]
    assert not any(owners[i] & owners[j] for i in range(4) for j in range(i))
    # 80 subjects of up to 59 segments: single subjects are exchanged until parts differ little.
    for rows, share in zip(parts, (0.7, 0.1, 0.1, 0.1), strict=True):
        assert abs(len(rows) / len(signals) - share) < 0.01
        assert abs(signals.y[rows].mean() - signals.y.mean()) < 0.03


def test_an_exact_division_is_met():
    signals = people([10] * 20, [0, 1] * 10)
    split = split_subjects(signals, sizes=(0.4, 0.2, 0.2, 0.2), random_state=0)
    table = split.table(signals)
    assert table["segments"].tolist() == [80, 40, 40, 40]
    assert table["1"].tolist() == [40, 20, 20, 20]
    assert table["subjects"].tolist() == [8, 4, 4, 4]


@pytest.mark.parametrize("seed", range(3))
def test_calib_has_all_subjects_in_all_parts(seed):
    signals = people([40] * 12, [0, 1] * 6)
    split = split_subjects(signals, "calib", random_state=seed)
    for rows, share in zip(split, (28, 4, 4, 4), strict=True):
        counts = np.bincount(signals.subject[rows], minlength=12)
        # A random start for each subject may move one segment.
        assert np.abs(counts - share).max() <= 1
    np.testing.assert_array_equal(np.sort(np.concatenate(list(split))), np.arange(480))


def test_the_same_seed_gives_the_same_split():
    signals = people([7] * 30)
    first, second, other = (list(split_subjects(signals, random_state=s)) for s in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[3], other[3])


def test_a_part_of_size_0_is_empty():
    split = split_subjects(people([5] * 10), sizes=(0.5, 0, 0, 0.5), random_state=0)
    assert [len(rows) for rows in split] == [25, 0, 0, 25]


def test_numbers_are_no_classes():
    signals = Signals(np.zeros((6, 4)), 1, y=np.arange(6.0) + 0.5, subject=[1, 1, 2, 2, 3, 4])
    split = split_subjects(signals, sizes=(0.25, 0.25, 0.25, 0.25), random_state=0)
    assert list(split.table(signals).columns) == ["segments", "subjects"]
    plain = Signals(signals.X, 1)
    assert list(split.table(plain).columns) == ["segments"]


@pytest.mark.parametrize("kind", [int, float, bool, str])
def test_few_whole_numbers_are_classes_whatever_their_type(kind):
    signals = people([10] * 20, np.array([0, 1] * 10).astype(kind))
    split = split_subjects(signals, sizes=(0.4, 0.2, 0.2, 0.2), random_state=0)
    assert split.table(signals).iloc[:, 2:].to_numpy().tolist() == [[40, 40]] + [[20, 20]] * 3
    rare = people([10] * 20, np.array([1, 1] + [0] * 18).astype(kind))
    with pytest.raises(LabelError, match=r"class (1|1\.0|True) is missing from"):
        split_subjects(rare, sizes=(0.25, 0.25, 0.25, 0.25), random_state=0)


def test_many_whole_numbers_are_numbers_and_missing_labels_no_class():
    pressures = people([10] * 24, np.arange(90, 114))
    split = split_subjects(pressures, sizes=(0.25, 0.25, 0.25, 0.25), random_state=0)
    assert list(split.table(pressures).columns) == ["segments", "subjects"]
    y = np.array([0.0, 1.0] * 10)
    y[3] = np.nan
    partly = people([10] * 20, y)
    table = split_subjects(partly, sizes=(0.4, 0.2, 0.2, 0.2), random_state=0).table(partly)
    assert list(table.columns) == ["segments", "subjects", "0.0", "1.0"]
    assert table[["0.0", "1.0"]].sum().tolist() == [100, 90]


def test_parts_are_row_numbers():
    split = SubjectSplit([0, 1], [], [], [2, 3])
    split.check(people([2, 2]))
    assert [part.dtype for part in split] == [np.int64] * 4
    with pytest.raises(ShapeError, match="validation must be row numbers; got type bool of shape"):
        SubjectSplit([0], [True, False], [], [])
    with pytest.raises(ShapeError, match="test must be row numbers; got type int64 of shape"):
        SubjectSplit([0], [1], [], [[2]])


def test_parts_are_taken_by_place():
    signals = people([3, 3, 3, 3], [0, 1, 0, 1])
    split = SubjectSplit([3, 0, 1], [], [4, 5], [10, 11])
    index = np.random.default_rng(0).permutation(12)
    y = pd.Series(np.arange(12), index=index)
    for X in (signals, signals.X, signals.X[:, 0].tolist(), pd.DataFrame(signals.X[:, 0], index)):
        made = split.parts(X, y)
        assert list(made) == ["train", "calibration", "test"]
        for values, labels in made.values():
            own = np.asarray(values).reshape(len(labels), 1, 4)
            np.testing.assert_array_equal(own, signals.X[np.asarray(labels)])
        assert made["train"][1].tolist() == [3, 0, 1]
    made = split.parts(csr_matrix(signals.X[:, 0]), y)
    np.testing.assert_array_equal(made["test"][0].toarray(), signals.X[[10, 11], 0])
    with pytest.raises(ShapeError, match="X and y must have the same samples; got 12 and 11"):
        split.parts(signals, y[:11])


def test_leakage_is_refused():
    signals = people([4, 4])
    leaky = SubjectSplit(np.arange(5), np.array([], int), np.array([], int), np.arange(5, 8))
    with pytest.raises(
        InvalidValueError,
        match='subject 1 is in train and in test, of a split that is called "calibfree"',
    ):
        leaky.check(signals)
    SubjectSplit(*leaky, kind="calib").check(signals)


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        (([0, 1], [1], [], []), InvalidValueError, "row 1 is in two parts"),
        (([0, 9], [], [], []), ShapeError, "rows must lie from 0 to 7"),
    ],
)
def test_splits_that_are_none(parts, error, message):
    with pytest.raises(error, match=message):
        SubjectSplit(*(np.array(part, dtype=int) for part in parts)).check(people([4, 4]))


def test_a_class_that_is_missing_from_a_part():
    signals = people([10] * 8, [1] + [0] * 7)
    with pytest.raises(LabelError, match="class 1 is missing from"):
        split_subjects(signals, sizes=(0.25, 0.25, 0.25, 0.25), random_state=0)


@pytest.mark.parametrize(
    ("signals", "options", "message"),
    [
        (people([4, 4]), {}, "too few subjects or segments for"),
        (people([4, 4]), {"sizes": (0.5, 0.5)}, "four shares that add up to 1"),
        (people([4, 4]), {"kind": "random"}, "kind must be one of 'calibfree', 'calib'"),
        (Signals(np.zeros((3, 4)), 1), {}, "a split by subject needs them"),
    ],
)
def test_options_that_cannot_be(signals, options, message):
    with pytest.raises(CaveatError, match=message):
        split_subjects(signals, **options)


def test_generated_people_split():
    signals = make_af_ppg(subjects=40, segments=5, random_state=0)
    split = split_subjects(signals, random_state=0)
    assert split.table(signals)["1"].min() > 0
    parts = split.parts(signals.X, signals.y)
    assert list(parts) == ["train", "validation", "calibration", "test"]
    np.testing.assert_array_equal(parts["test"][0], signals.X[split.test])
    halves = split_subjects(signals, sizes=(0.5, 0, 0, 0.5), random_state=0)
    assert list(halves.parts(signals.X, signals.y)) == ["train", "test"]
    with pytest.raises(OptionError, match="kind must be one of"):
        SubjectSplit(*split, kind="other").check(signals)
