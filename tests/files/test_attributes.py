"""Groups, weights, clusters, ids, and what cannot be understood."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import caveat
from caveat.exceptions import CaveatError, FileFormatError, OptionError

rng = np.random.default_rng(1)
N = 6
P = rng.dirichlet(np.ones(3), (3, N))
Y = np.array([0, 1, 2, 0, 1, 2])


def test_groups_weights_clusters_and_ids(read):
    columns = {
        "p": P[0, :, 0], "y": Y % 2, "sex": ["f", None, "m", "", "f", "m"], "age": [1, 2, None, 1, 2, 2],
        "band": [3, 1, 2, 1, 2, 3], "x": [0.5, None, 1.5, 0.5, 0.5, 1.5], "weight": [1, 2, 3, 4, 5, 6],
        "cluster": ["a", "a", "b", "b", "c", "c"], "id": [10, 11, 12, 13, 14, 15],
        "day": [datetime.date(2020, 1, 1)] * 6,
    }  # fmt: skip
    found = read(columns, group=["sex", "a*", "band", "x", "day", "sex"])
    assert list(found.groups) == ["sex", "age", "band", "x", "day"]
    assert found.groups["sex"].tolist() == ["f", None, "m", None, "f", "m"]
    assert found.groups["age"].tolist() == ["1", "2", None, "1", "2", "2"]
    assert found.groups["band"].tolist() == columns["band"]
    assert np.isnan(found.groups["x"][1])
    assert found.groups["day"].tolist() == ["2020-01-01"] * 6
    assert found.sample_weight.tolist() == [1, 2, 3, 4, 5, 6]
    assert found.sample_weight.dtype == np.float64
    assert found.cluster.tolist() == columns["cluster"]
    assert found.ids.tolist() == columns["id"]
    assert found.recognized[-3:] == (
        "'weight': weight of each sample", "'cluster': cluster of each sample", "'id': id",
    )  # fmt: skip
    result = caveat.evaluate(
        found.prediction,
        found.y,
        groups={"sex": found.groups["sex"]},
        metrics=["brier"],
        resamples=0,
    )
    assert {row.group for row in result if "sex=" in row.group} == {
        "sex=f",
        "sex=m",
        "sex=(missing)",
    }
    assert list(read({"p": [0.5, 1], "y": [1, 0], "group": ["a", "b"]}).groups) == ["group"]
    assert list(read({"p": [0.5, 1], "y": [1, 0], "a": ["a", "b"]}, group="a").groups) == ["a"]


def test_an_id_that_tells_nothing_apart(read):
    for ids in (["a", "a"], ["a", ""], ["a", None]):
        columns = {"p": [0.5, 1], "y": [1, 0], "id": ids}
        found = read(columns)
        assert found.ids is None
        assert "'id': not used as id, for it does not tell all samples apart" in found.recognized
        with pytest.raises(
            CaveatError, match=r"(id='id' does not tell all samples apart|column 'id' has no name)"
        ):
            read(columns, id="id")


def test_decimals_and_other_kinds_of_numbers(read):
    found = read({"p": [Decimal("0.25"), Decimal("0.5")], "y": [1, 0]})
    assert found.prediction.mean[:, 1].tolist() == [0.25, 0.5]
    assert read({"p": pa.array([1, 0], pa.int8()), "y": [1, 0]}).prediction.mean[:, 1].tolist() == [
        1,
        0,
    ]
    with pytest.raises(CaveatError, match="column 'p' holds bool values, not numbers"):
        read({"p": [True, False], "y": [1, 0]})
    with pytest.raises(
        CaveatError, match="'y' is 1e\\+300 in data row 1, but the classes are 0, 1"
    ):
        read({"p_0": [1.0], "p_1": [0.0], "y": [1e300]})


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (
            ["a", "b"],
            {},
            "no prediction is recognized among the columns 'a', 'b'; name its columns, for exam",
        ),
        (
            ["p", "prob_a"],
            {},
            r"'p' and 'prob_\*' could each be the probability; name one with probability='p'",
        ),
        (
            ["p", "mean", "std"],
            {},
            "hold more than one prediction; name one: probability='p', or mean='mean' and std='std'",
        ),
        (
            ["p", "y", "label"],
            {},
            "'y' and 'label' could each be the target; name one with target='y'",
        ),
        (
            ["mean", "y"],
            {},
            "'mean' gives means without an uncertainty; name the columns of it with variance=, std=",
        ),
        (
            ["mean", "y"],
            {"mean": "mean"},
            "a mean needs its uncertainty: name the columns with variance= or std=",
        ),
        (["std", "y"], {"std": "std"}, "std= needs the columns of the means: add mean="),
        (
            ["mean", "std", "var"],
            {},
            "'var' and 'std' both tell the spread; name one: variance='var', or std='std'",
        ),
        (
            ["m", "s", "v"],
            {"mean": "m", "std": "s", "variance": "v"},
            "variance= and std= are different ways to say how wide; name one",
        ),
        (
            ["p", "mean", "std"],
            {"probability": "p", "mean": "mean"},
            "name one kind of prediction; got probability and mean",
        ),
        (
            ["p_a", "p_b"],
            {"probability": "p_x"},
            "probability='p_x': there is no such column; did you mean 'p_",
        ),
        (
            ["p_a", "p_b"],
            {"target": "zzz"},
            "target='zzz': there is no such column; the columns are 'p_a', 'p_b'",
        ),
        (["p_a", "p_b"], {"id": "p_*"}, r"id='p_\*': there is no such column; did you mean"),
        (
            ["p_a", "p_b"],
            {"probability": "q_*"},
            r"probability='q_\*' matches no column; the columns are 'p_a', 'p_b'",
        ),
        (
            ["p_a", "p_b"],
            {"probability": "p_{klass}"},
            r"probability='p_\{klass\}': \{klass\} is not understood; the parts are \{class\}, \{member\}, each once",
        ),
        (["p_a", "p_b"], {"probability": "{class}{class}"}, "is not understood"),
        (
            ["p_a", "p_b"],
            {"probability": "p_[z-a]"},
            r"probability='p_\[z-a\]' is not a valid pattern",
        ),
        (
            ["p_a", "p_b"],
            {"probability": "p?[!x]"},
            "'p_a' and 'p_b' are both taken for the same; name one of them",
        ),
        (
            ["p_a_1", "p_b_1", "p_b_2"],
            {"probability": "p_{class}_{member}"},
            r"there is no column for class a, member 2 \(1 of 4 are missing\)",
        ),
        (
            ["p_a_x", "p_a_y"],
            {"probability": "p_*_?"},
            "'p_a_x' and 'p_a_y' are both taken for class a; name one",
        ),
        (
            ["mean_a", "mean_b", "std_a"],
            {},
            r"std= has the columns 'std_a', which do not go with 'mean_a', 'mean_b': the same",
        ),
    ],
)
def test_what_cannot_be_understood(read, names, options, message):
    with pytest.raises((OptionError, FileFormatError), match=message):
        read({name: [1.0] for name in names}, **options)


def test_many_columns_are_not_all_listed(read):
    with pytest.raises(FileFormatError, match=r"'c9', \.\.\. \(9 more\), 'c19'; name"):
        read({f"c{i}": [1.0] for i in range(20)})


def test_patterns_with_two_stars_and_plain_names(read):
    columns = {"model_p_a": [0.4], "model_p_b": [0.6], "x": [1.0], "y": ["a"]}
    assert read(columns, probability="model_p_*").prediction.classes.tolist() == ["a", "b"]
    found = read(columns | {"y": ["model_p_a"]}, probability=["model_p_a", "model_p_b"])
    assert found.prediction.classes.tolist() == ["model_p_a", "model_p_b"]
    found = read({"a_p": [0.4], "b_p": [0.6], "y": ["a"]}, probability="*_*p")
    assert found.prediction.classes.tolist() == ["a", "b"]
