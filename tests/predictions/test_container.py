import copy
import pickle

import numpy as np
import pytest

import caveat
from caveat.exceptions import CaveatError, InvalidValueError, OptionError, ShapeError

from .examples import every_type

EVERY = pytest.mark.parametrize("prediction", every_type(), ids=lambda p: type(p).__name__)


def arrays(prediction):
    return [
        np.moveaxis(getattr(prediction, name), axis, 0) for name, axis in prediction._arrays.items()
    ]


@EVERY
@pytest.mark.parametrize(
    "rows", [[3, 1, 3], np.array([-1, 0]), slice(2, 7, 2), np.arange(9) % 2 == 0, [True] * 9]
)
def test_take(prediction, rows):
    taken = prediction.take(rows)
    assert type(taken) is type(prediction)
    for mine, whole in zip(arrays(taken), arrays(prediction), strict=True):
        np.testing.assert_array_equal(mine, whole[rows])


@EVERY
def test_concat_undoes_take(prediction):
    parts = [prediction.take(slice(0, 2)), prediction.take([2]), prediction.take(slice(3, None))]
    assert caveat.concat(parts) == prediction
    assert len(caveat.concat(parts)) == len(prediction) == 9


@EVERY
def test_equality(prediction):
    assert prediction == copy.deepcopy(prediction)
    assert prediction != prediction.take(slice(0, 8))
    assert prediction != prediction.take(slice(None, None, -1))
    assert prediction != "prediction"
    with pytest.raises(TypeError, match="unhashable"):
        hash(prediction)


@EVERY
def test_pickle_and_freeze(prediction):
    back = pickle.loads(pickle.dumps(prediction))
    assert back == prediction
    name = next(iter(prediction._arrays))
    assert not getattr(back, name).flags.writeable
    for change in (lambda: setattr(back, name, 1), lambda: delattr(back, name)):
        with pytest.raises(AttributeError, match="is frozen; make a new one instead"):
            change()


@EVERY
def test_repr_says_type_and_size(prediction):
    text = repr(prediction)
    assert text.startswith(type(prediction).__name__)
    assert "9 samples" in text


def test_labels_count_in_equality():
    p = [[0.5, 0.5]]
    assert caveat.Categorical(p, classes=["a", "b"]) != caveat.Categorical(p)


@pytest.mark.parametrize(
    ("rows", "error", "text"),
    [
        ([9], InvalidValueError, "rows asks for sample 9 of a prediction of 9"),
        ([0, -10], InvalidValueError, "rows asks for sample -10"),
        ([True, False], ShapeError, "a mask of length 2 for a prediction of 9 samples"),
        ([0.5], ShapeError, "integers or booleans; got type float64"),
        ([[0, 1]], ShapeError, r"of shape \(1, 2\)"),
        ([False] * 9, ShapeError, "rows selects no sample"),
        (slice(20, 30), ShapeError, "rows selects no sample"),
    ],
)
def test_take_errors(rows, error, text):
    with pytest.raises(error, match=text):
        every_type()[0].take(rows)


def test_concat_errors():
    first, other = every_type()[0], every_type()[4]
    with pytest.raises(ShapeError, match="at least one prediction"):
        caveat.concat([])
    with pytest.raises(ShapeError, match="number 0 is a Categorical, number 1 a Gaussian"):
        caveat.concat([first, other])
    with pytest.raises(ShapeError, match="classes of number 1 differs"):
        caveat.concat([first, caveat.Categorical(first.probabilities)])
    with pytest.raises(ShapeError, match=r"probabilities of number 1 has shape \(1, 9, 3\)"):
        caveat.concat([first, caveat.Categorical(first.mean, classes=first.classes)])


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"total": [[[1.0]]]}, ShapeError, r"total must have shape \(samples,\)"),
        ({"aleatoric": [1.0, 2.0]}, ShapeError, "total and aleatoric must have the same shape"),
        ({"epistemic": [-1.0]}, InvalidValueError, "epistemic of sample 0 is -1, below 0"),
        ({"epistemic": [np.nan]}, InvalidValueError, "epistemic of sample 0 is nan"),
        ({"method": 3}, OptionError, "method must be the name"),
    ],
)
def test_decomposition_errors(change, error, text):
    fields = {
        "total": [1.0],
        "aleatoric": [0.5],
        "epistemic": [0.5],
        "additive": True,
        "method": "m",
    }
    with pytest.raises(error, match=text):
        caveat.Decomposition(**{**fields, **change})


def test_decomposition_repr_without_addition():
    split = caveat.Decomposition([1.0], [1.0], [np.inf], additive=False, method="mine")
    assert repr(split) == (
        "Decomposition by mine of 1 sample (means): total 1, aleatoric 1, epistemic inf"
    )
    assert issubclass(CaveatError, ValueError)


def test_arrays_are_made_when_they_are_asked_for_once_also_by_two_threads():
    made = []

    def make():
        made.append(caveat.Categorical([[0.25, 0.75]]))
        return made[-1]

    prediction = caveat.Categorical._deferred({"classes": None}, make)
    assert made == []
    assert prediction.probabilities.tolist() == [[[0.25, 0.75]]]
    # A thread that asked while another one made them finds them.
    assert prediction.__getattr__("probabilities") is prediction.probabilities
    assert len(made) == 1
    with pytest.raises(AttributeError, match="'Categorical' object has no attribute 'nothing'"):
        _ = prediction.nothing
