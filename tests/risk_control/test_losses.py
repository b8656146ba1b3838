import numpy as np
import pytest

from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.risk_control import set_losses

RNG = np.random.default_rng(0)
P = RNG.random((40, 5)).round(1)  # with ties between scores and thresholds
Y = RNG.random((40, 5)) < 0.3
T = np.linspace(0, 1, 11)


def by_brute_force(loss):
    result = np.empty((40, 11))
    for i in range(40):
        for k, t in enumerate(T):
            chosen = P[i] >= t
            hits, true, size = (chosen & Y[i]).sum(), Y[i].sum(), chosen.sum()
            result[i, k] = {
                "false negatives": (true - hits) / true if true else 0.0,
                "false discoveries": (size - hits) / size if size else 0.0,
                "missed": float(true > hits),
                "size": size / 5,
            }[loss]
    return result


@pytest.mark.parametrize("loss", ["false negatives", "false discoveries", "missed", "size"])
def test_by_brute_force(loss):
    np.testing.assert_allclose(set_losses(P, Y, T, loss=loss), by_brute_force(loss))
    assert not Y.any(axis=1).all()  # some samples have no true label


def test_positions():
    codes = RNG.integers(5, size=40)
    np.testing.assert_array_equal(
        set_losses(P, codes, T), set_losses(P, codes[:, None] == np.arange(5), T)
    )


def test_refused():
    with pytest.raises(OptionError, match="loss must be one of 'false negatives'"):
        set_losses(P, Y, T, loss="recall")
    with pytest.raises(ShapeError, match=r"score must have shape \(samples, labels\); got \(5,\)"):
        set_losses(P[0], Y[0], T)
    with pytest.raises(ShapeError, match=r"y must have shape \(40, 5\), whether each label"):
        set_losses(P, Y[1:], T)
    with pytest.raises(InvalidValueError, match="positions of labels from 0 to 4"):
        set_losses(P, np.full(40, 5), T)
    with pytest.raises(InvalidValueError, match="y must be true or false for each label"):
        set_losses(P, P, T)
    with pytest.raises(InvalidValueError, match="thresholds must increase; sort them"):
        set_losses(P, Y, T[::-1])
    with pytest.raises(InvalidValueError, match="score of sample 0, label 0 is nan"):
        set_losses(np.where(P[0, 0] == P, np.nan, P), Y, T)
