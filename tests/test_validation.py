import math
import re

import numpy as np
import pandas as pd
import pytest

from caveat._validation import (
    LARGEST,
    as_column,
    as_floats,
    as_labels,
    as_weights,
    check_choice,
    check_finite,
    check_integer,
    check_number,
    check_size,
    encode_labels,
)
from caveat.exceptions import InvalidValueError, LabelError, OptionError, UnknownNameError
from caveat.metrics import METRICS
from caveat.metrics._inputs import count


def test_numbers_whose_squares_overflow_are_refused():
    check_size(np.array([-LARGEST, 0.0, LARGEST]), "y", ("sample",))
    message = r"^y of sample 1 is -1e\+76; squares of numbers beyond 1e\+75 cannot be summed. Give "
    for infinite in (False, True):
        with pytest.raises(InvalidValueError, match=message):
            check_size(np.array([0.0, -1e76]), "y", ("sample",), infinite=infinite)
        with pytest.raises(InvalidValueError, match="y of sample 0 is nan"):
            check_size(np.array([np.nan, 0.0]), "y", ("sample",), infinite=infinite)
    check_size(np.array([-np.inf, np.inf]), "y", ("sample",), infinite=True)
    with pytest.raises(InvalidValueError, match="y of sample 0 is inf"):
        check_size(np.array([np.inf]), "y", ("sample",))


@pytest.mark.parametrize("scale", [1e-80, 1e80, 1e308])
def test_weights_that_cannot_be_summed_are_refused(scale):
    with pytest.raises(InvalidValueError, match=r"^sample_weight goes up to .*, so that the larg"):
        as_weights([scale, scale / 2], 2)


def test_weights_of_0():
    with pytest.raises(InvalidValueError, match="is 0 for every sample"):
        as_weights([0.0, 0.0], 2)
    assert as_weights([0.0, 1e-320 + 1], 2) is not None


def test_finite_numbers_whose_sum_is_not():
    check_finite(np.array([1.7e308, 1.7e308]), "y", ("sample",))


def test_whole_numbers_that_are_too_large():
    with pytest.raises(InvalidValueError, match="y must be real numbers"):
        as_floats(np.array([10**400], dtype=object), "y")
    with pytest.raises(
        LabelError, match=r"^classes has whole numbers beyond 64 bits; pass them as"
    ):
        as_labels([10**30, 1], "classes", 2, "class")


def test_labels_that_are_none():
    with pytest.raises(LabelError, match="classes must be 2 labels"):
        as_labels(dict, "classes", 2, "class")
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    with pytest.raises(LabelError, match="y has labels of type datetime64"):
        encode_labels(days, np.array([0, 1]))


def test_options_that_cannot_be_looked_up():
    for odd in ([1], np.array([1]), {"a": 1}):
        with pytest.raises(OptionError, match="norm must be one of 1, 2"):
            check_choice(odd, "norm", (1, 2))
        with pytest.raises(UnknownNameError, match=r"^the name of a metric is a str; got"):
            METRICS.find(odd)
    assert METRICS.get("accuracy_score", task=np.array([1, 2])) is None
    with pytest.raises(OptionError, match="bins must be at most 10,000,000; got 1000000000000"):
        count(10**12, "bins")


class TestOptions:
    @pytest.mark.parametrize("value", [3, np.int32(3), np.uint8(3)])
    def test_integers_of_python_and_numpy_are_returned_as_int(self, value):
        assert type(check_integer(value, "bins")) is int

    @pytest.mark.parametrize("value", [0, -1, 2.0, True, "3", None, np.float64(3)])
    def test_others_are_refused(self, value):
        message = f"bins must be a whole number of at least 1; got {value!r}"
        with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
            check_integer(value, "bins")

    def test_bounds_of_integers(self):
        assert check_integer(0, "depth", 0) == 0
        with pytest.raises(OptionError, match=r"^depth must be at most 1,000; got 1001$"):
            check_integer(1001, "depth", 0, 1000)

    @pytest.mark.parametrize(
        ("arguments", "good", "bad", "words"),
        [
            ((0, 1), (0, 1, 0.5), (-0.1, 1.1), "from 0 to 1"),
            ((0, 1, "left"), (0, 0.9), (1, -1), "of at least 0 and below 1"),
            ((0, 1, "right"), (1, 0.1), (0, 2), "above 0 and at most 1"),
            ((0, 1, "neither"), (0.5,), (0, 1), "strictly between 0 and 1"),
            ((2,), (2, 1e300), (1.9, math.inf), "of at least 2"),
            ((0, math.inf, "neither"), (1e-300,), (0,), "above 0"),
        ],
    )
    def test_numbers(self, arguments, good, bad, words):
        for value in good:
            assert check_number(value, "x", *arguments) == value
        for value in (*bad, math.nan, True, "1", None, [1]):
            with pytest.raises(OptionError, match=f"^x must be a number {words}; got "):
                check_number(value, "x", *arguments)

    def test_choices(self):
        assert check_choice("a", "kind", ("a", "b")) == "a"
        for value in ("c", None, ["a"]):
            with pytest.raises(OptionError, match=r"^kind must be one of 'a', 'b'; got"):
                check_choice(value, "kind", ("a", "b"))
        with pytest.raises(OptionError, match=r"^kind must be 'a' or a callable; got 3$"):
            check_choice(3, "kind", ("a",), "a callable")


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_value_of_a_column(missing):
    with pytest.raises(InvalidValueError, match="cluster of sample 1 is missing; give it a value"):
        as_column(pd.Series(["a", missing, "b"], dtype=object), "cluster", 3)
