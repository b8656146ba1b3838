import numpy as np
import pytest

from caveat._validation import (
    LARGEST,
    as_floats,
    as_labels,
    as_weights,
    check_finite,
    check_size,
    encode_labels,
)
from caveat.exceptions import InvalidValueError, LabelError, OptionError, UnknownNameError
from caveat.metrics import METRICS
from caveat.metrics._inputs import count, option


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
            option(odd, "norm", (1, 2))
        with pytest.raises(UnknownNameError, match=r"^the name of a metric is a str; got"):
            METRICS.find(odd)
    assert METRICS.get("accuracy_score", task=np.array([1, 2])) is None
    with pytest.raises(OptionError, match="bins must be at most 10,000,000; got 1000000000000"):
        count(10**12, "bins")
