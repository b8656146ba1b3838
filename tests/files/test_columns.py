"""Which column is what: by name, by pattern, by common names."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import caveat
from caveat.exceptions import CaveatError, OptionError

rng = np.random.default_rng(1)
N = 6
P = rng.dirichlet(np.ones(3), (3, N))  # members, samples, classes
Z = rng.normal(size=(3, N, 2))  # members, samples, targets
Y = np.array([0, 1, 2, 0, 1, 2])


def grid(pattern, array, labels, members=("1", "2", "10")):
    return {
        pattern.format(label=label, member=member): array[m, :, i]
        for m, member in reversed(list(enumerate(members)))
        for i, label in enumerate(labels)
    }


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        ("p_{label}_{member}", None),
        ("p_{label}_{member}", "p_{class}_{member}"),
        ("p_{member}_{label}", "p_{member}_{class}"),
        ("m{member}.{label}", "m{member}.*"),
    ],
)
def test_members_of_classes_in_the_order_of_their_numbers(read, names, pattern):
    columns = grid(names, P, ["very_low", "b", "c_1"])
    found = read({**columns, "y": np.array(["very_low", "b", "c_1"])[Y]}, probability=pattern)
    assert found.prediction.classes.tolist() == ["very_low", "b", "c_1"]
    np.testing.assert_array_equal(found.prediction.probabilities, P)


def test_members_that_have_names(read):
    columns = grid("p.{label}.{member}", P, "abc", ["tree", "net", "svm"])
    found = read({**columns, "y": ["a"] * N}, probability="p.{class}.{member}")
    np.testing.assert_array_equal(found.prediction.probabilities, P[::-1])


def test_members_of_one_column_for_two_classes(read):
    columns = {f"p_{k}": P[k, :, 0] for k in range(3)}
    found = read({**columns, "y": Y % 2}, probability="p_{member}")
    np.testing.assert_array_equal(found.prediction.probabilities[..., 1], P[..., 0])
    assert found.recognized[1] == (
        "'p_0', 'p_1', 'p_2': probability of 1, the other class is 0, 3 members"
    )


def test_logits(read):
    columns = {f"logit_{name}": np.log(P[0, :, i]) for i, name in enumerate("abc")}
    found = read({**columns, "y": np.array(["a", "b", "c"])[Y]})
    np.testing.assert_allclose(found.prediction.probabilities[0], P[0], rtol=1e-12)
    p = P[0, :, 0]
    found = read({"z": np.log(p / (1 - p)), "y": Y % 2}, logit="z")
    np.testing.assert_allclose(found.prediction.mean[:, 1], p, rtol=1e-12)


@pytest.mark.parametrize(
    ("spread", "power"),
    [("variance", 1), ("var", 1), ("std", 2), ("sigma", 2), ("sd", 2), ("stddev", 2)],
)
def test_variance_or_deviation_by_the_name_alone(read, spread, power):
    found = read({"mean": Z[0, :, 0], spread: np.full(N, 3.0), "y": Z[1, :, 0]})
    assert (found.prediction.variance == 3.0**power).all()
    np.testing.assert_array_equal(found.y, Z[1, :, 0])


def test_a_named_mean_finds_its_spread_and_the_other_way(read):
    columns = {"m": Z[0, :, 0], "mean": Z[1, :, 0], "sd": np.full(N, 2.0), "s": np.full(N, 3.0)}
    found = read({**columns, "y": Z[2, :, 0]}, mean="m")
    assert (found.prediction.variance == 4).all()
    found = read({**columns, "y": Z[2, :, 0]}, variance="s")
    np.testing.assert_array_equal(found.prediction.mean[0, :, 0], Z[1, :, 0])
    found = read({**columns, "y": Z[2, :, 0]}, mean="m", variance="s")
    assert (found.prediction.variance == 3).all()


def test_members_and_targets_of_means(read):
    columns = grid("mean_{label}_{member}", Z, "ab")
    spread = grid("var_{label}_{member}", Z**2, "ab")
    truth = {"y_b": Z[0, :, 1], "y_a": Z[0, :, 0]}
    found = read({**columns, **spread, **truth})
    np.testing.assert_array_equal(found.prediction.mean, Z)
    np.testing.assert_array_equal(found.prediction.variance, Z**2)
    assert found.prediction.targets.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found.y, Z[0])
    found = read({**columns, **truth}, target="y_*")
    np.testing.assert_array_equal(found.y, Z[0])
    assert "no variance: each member gives a point" in found.recognized
    found = read({f"mean_{k}": Z[k, :, 0] for k in range(3)} | {"y": Z[0, :, 1]})
    np.testing.assert_array_equal(found.prediction.mean, Z[..., :1])


def test_targets_in_the_order_they_are_named(read):
    columns = {"mean_a": Z[0, :, 0], "mean_b": Z[0, :, 1], "std_a": Z[1, :, 0] ** 2}
    columns |= {"std_b": Z[1, :, 1] ** 2, "u": Z[2, :, 0], "v": Z[2, :, 1]}
    found = read(columns, target=["v", "u"])
    np.testing.assert_array_equal(found.y, Z[2][:, ::-1])
    assert read(columns).y is None
    with pytest.raises(
        OptionError, match=r"target= names 3 columns \('u', 'v', 'std_a'\), but the pr"
    ):
        read(columns, target=["u", "v", "std_a"])


def test_quantiles(read):
    values = np.sort(Z[0], axis=1)
    for names in (("q0.05", "q0.95"), ("q_0.05", "q_0.95"), ("quantile_0.05", "quantile_0.95")):
        found = read({names[1]: values[:, 1], names[0]: values[:, 0], "y": Z[1, :, 0]})
        assert found.prediction.levels.tolist() == [0.05, 0.95]
        np.testing.assert_array_equal(found.prediction.values[0, :, 0], values)
    columns = {
        f"{t}_q{level}": Z[0, :, 0] + level + i for level in (0.9, 0.1) for i, t in enumerate("ab")
    }
    found = read({**columns, "a": Z[0, :, 0], "b": Z[0, :, 1]})
    assert found.prediction.targets.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found.prediction.values[0, :, 1, 0], columns["b_q0.1"])
    np.testing.assert_array_equal(found.y, Z[0])
    found = read(columns, quantile=["a_q0.9", "a_q0.1"])
    np.testing.assert_array_equal(found.prediction.values[0, :, 0, 1], columns["a_q0.9"])
    with pytest.raises(
        OptionError, match=r"quantile='a' does not end in its level, as q0.05 does, an"
    ):
        read({**columns, "a": Z[0, :, 0]}, quantile="a")
    with pytest.raises(
        OptionError, match=r"quantile='a' does not end in its level, as q0.05 does$"
    ):
        read({**columns, "a": Z[0, :, 0]}, quantile=["a", "a_q0.1"])


def test_intervals(read):
    columns = {"lower": Z[0, :, 0], "upper": Z[0, :, 0] + 1, "y": Z[1, :, 0]}
    found = read(columns, coverage=0.9)
    assert found.prediction.coverage == 0.9
    np.testing.assert_array_equal(found.prediction.upper[:, 0], columns["upper"])
    np.testing.assert_array_equal(
        read(columns, lower="lower", coverage=0.9).prediction.lower[:, 0], columns["lower"]
    )
    several = {
        f"{end}_{t}": Z[0, :, i] + k
        for k, end in enumerate(("lower", "upper"))
        for i, t in enumerate("ab")
    }
    np.testing.assert_array_equal(read(several, coverage=0.5).prediction.upper, Z[0] + 1)
    with pytest.raises(
        OptionError, match=r"needs its nominal coverage: add coverage=, for example coverage=0.9"
    ):
        read(columns)
    with pytest.raises(OptionError, match="an interval needs both ends: lower= and upper="):
        read({"lower": [1.0], "y": [1.0]}, lower="lower")
    with pytest.raises(
        OptionError, match="lower=: intervals of several members cannot be combined"
    ):
        read(
            {"lo_1": [1.0], "lo_2": [1.0], "hi_1": [2.0], "hi_2": [2.0]},
            lower="lo_{member}",
            upper="hi_{member}",
            coverage=0.9,
        )


@pytest.mark.parametrize(
    ("labels", "classes", "positive"),
    [
        ([0, 1], [0, 1], None),
        ([1.0, 0.0], [0, 1], None),
        (["9", "10"], [9, 10], None),
        (["no", "yes"], ["no", "yes"], None),
        (["no", "yes"], ["yes", "no"], "no"),
        ([False, True], [False, True], None),
        ([1, 2], [2, 1], "1"),
        ([1, 1], [0, 1], None),
        ([True, True], [False, True], None),
        (["a", "a"], ["not a", "a"], "a"),
        (["a", "a"], ["a", "b"], "b"),
        ([3, 3], [3, 4], "4"),
        ([3, 3], [4, 3], "3"),
        ([0, 0], [1, 0], "0"),
        ([3, 3], ["3", "b"], "b"),
    ],
)
def test_two_classes_in_one_column(read, labels, classes, positive):
    p = np.array([0.2, 0.7])
    found = read({"prob": p, "label": labels}, positive=positive)
    assert found.prediction.classes.tolist() == classes
    np.testing.assert_array_equal(found.prediction.mean[:, 1], p)
    assert [str(label) for label in found.y.tolist()] == [
        str(label).removesuffix(".0") for label in labels
    ]


def test_the_column_names_the_positive_class(read):
    found = read({"p_ill": [0.2, 0.7], "y": ["ill", "well"]})
    assert found.prediction.classes.tolist() == ["well", "ill"]
    assert found.recognized[0] == "'p_ill': probability of 'ill', the other class is 'well'"
    found = read({"P_Ill": [0.2, 0.7], "y": ["ILL", "well"]})
    assert found.prediction.classes.tolist() == ["well", "ILL"]
    found = read({"p_A": [0.2, 0.7], "y": ["a", "A"]})
    assert found.prediction.classes.tolist() == ["a", "A"]
    found = read({"p": [0.2, 0.7], "y": ["ill", "well"]})
    assert found.recognized[:2] == (
        "'well' is taken for the positive class: the second label in sorted order "
        "(positive= changes it)",
        "'p': probability of 'well', the other class is 'ill'",
    )
    with pytest.raises(CaveatError, match="positive='x', but the labels of 'y' are 'ill', 'well'"):
        read({"p": [0.2, 0.7], "y": ["ill", "well"]}, positive="x")


@pytest.mark.parametrize(
    ("name", "positive", "found"),
    [
        ("p_ill", None, ["well", "ill"]),
        ("p_well", None, ["ill", "well"]),
        ("p", None, ["well", "ill"]),
        ("p", "well", ["ill", "well"]),
        ("p_ill", "well", ["ill", "well"]),
    ],
)
@pytest.mark.parametrize("target", [{}, {"y": ["ill", "well"]}], ids=["unknown", "known"])
def test_the_positive_of_known_classes(read, name, positive, found, target):
    table = read({name: [0.2, 0.7], **target}, classes=["well", "ill"], positive=positive)
    assert table.prediction.classes.tolist() == found
    assert not any("is taken for" in words for words in table.recognized)


@pytest.mark.parametrize("name", ["p_ill", "prob_Ill", "ill", "p"])
def test_a_column_that_is_named_by_the_caller_names_its_class(read, name):
    found = read({name: [0.2, 0.7], "y": ["ill", "well"]}, probability=name)
    positive = "well" if name == "p" else "ill"
    assert found.prediction.classes.tolist()[1] == positive
    found = read({name: [0.2, 0.7], "y": ["ill", "well"]}, probability=name, positive="well")
    assert found.prediction.classes.tolist() == ["ill", "well"]


def test_the_class_of_a_column_of_logits(read):
    found = read({"mean_b": [-1.0], "y": ["b"], "logit_a": [2.0]}, logit="logit_a", positive="b")
    assert found.prediction.classes.tolist() == ["not b", "b"]
    found = read({"logit_a": [2.0, 1.0], "y": ["b", "a"]}, logit="logit_a")
    assert found.prediction.classes.tolist() == ["b", "a"]
    found = read({"mean_a": [0.2, 0.1], "y": ["b", "a"]}, probability="mean_a")
    assert found.prediction.classes.tolist() == ["a", "b"]


def test_one_column_and_known_classes_that_are_not_two(read):
    with pytest.raises(CaveatError, match=r"there are 3 labels \('a', 'b', 'c'\), but one"):
        read({"p": [0.2, 0.7]}, classes=["a", "b", "c"])
    with pytest.raises(CaveatError, match=r"there are 1 labels \('a'\), but one column"):
        read({"p": [0.2, 0.7]}, classes=["a"])
    with pytest.raises(CaveatError, match="positive='x', but the classes are 'a', 'b'"):
        read({"p": [0.2, 0.7]}, classes=["a", "b"], positive="x")


def test_without_a_target(read):
    assert read({"p": [0.5]}).prediction.classes.tolist() == [0, 1]
    assert read({"p": [0.5]}, positive="ill").prediction.classes.tolist() == ["not ill", "ill"]
    assert read({"p": [0.5]}, classes=["well", "ill"]).prediction.classes.tolist() == [
        "well",
        "ill",
    ]
    assert read({"p": [[0.2, 0.8]]}, classes=["a", "b"]).prediction.classes.tolist() == ["a", "b"]
    assert read({"p_a": [0.5], "p_b": [0.5]}).y is None


@pytest.mark.parametrize(
    ("names", "labels", "classes"),
    [
        (["0", "1"], [1, 0], [0, 1]),
        (["0", "1"], [1.0, 0.0], [0, 1]),
        (["0", "1"], ["1", "0"], [0, 1]),
        (["0", "1"], ["1.0", "0.0"], [0, 1]),
        (["1.0", "0.0"], [1, 0], ["1.0", "0.0"]),
        (["007", "008"], ["007", "008"], ["007", "008"]),
        (["True", "False"], [True, False], ["True", "False"]),
        (
            ["2020-01-01", "2020-01-02"],
            [datetime.date(2020, 1, 1)] * 2,
            ["2020-01-01", "2020-01-02"],
        ),
        (["a", "b"], pd.Categorical(["b", "a"]), ["a", "b"]),
        (["0.5", "1.5"], [0.5, 1.5], ["0.5", "1.5"]),
    ],
)
def test_labels_meet_classes_by_their_text(read, names, labels, classes):
    table = pa.Table.from_pandas(
        pd.DataFrame({f"p_{names[0]}": [0.3, 0.4], f"p_{names[1]}": [0.7, 0.6], "y": labels})
    )
    found = read(table)
    assert found.prediction.classes.tolist() == classes
    codes = found.prediction.encode(found.y)
    wanted = [
        names.index(str(label)) if str(label) in names else None for label in table["y"].to_pylist()
    ]
    for code, index, label in zip(codes, wanted, table["y"].to_pylist(), strict=True):
        assert code == index if index is not None else float(names[code]) == float(label)


def test_the_whole_evaluation_of_what_was_read(read):
    columns = {f"p_{i}": P[0, :, i] for i in range(3)}
    found = read({**columns, "y": Y})
    ours = caveat.evaluate(found.prediction, found.y, metrics=["nll"], resamples=0)
    (row,) = ours.select(group="")
    assert row.value == pytest.approx(-np.mean(np.log(P[0, np.arange(N), Y])))
