import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax as scipy_softmax

import caveat
from caveat.exceptions import InvalidValueError, LabelError, ShapeError

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(3), size=7)
MEMBERS = RNG.dirichlet(np.ones(3), size=(4, 7))


def test_one_member_gets_a_member_axis():
    prediction = caveat.Categorical(P)
    assert prediction.probabilities.shape == (1, 7, 3)
    np.testing.assert_array_equal(prediction.probabilities[0], P)
    assert prediction.members == 1
    assert len(prediction) == 7
    np.testing.assert_array_equal(prediction.classes, [0, 1, 2])


def test_members_are_kept_and_averaged():
    prediction = caveat.Categorical(MEMBERS)
    assert prediction.members == 4
    np.testing.assert_allclose(prediction.mean, MEMBERS.mean(axis=0), rtol=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        prediction.mean[0] = 0


def test_labels_are_the_most_probable_classes():
    prediction = caveat.Categorical([[0.2, 0.8], [0.5, 0.5]], classes=["no", "yes"])
    assert prediction.labels.tolist() == ["yes", "no"]


def test_a_canonical_array_is_not_copied_and_not_writeable():
    prediction = caveat.Categorical(MEMBERS)
    assert np.shares_memory(prediction.probabilities, MEMBERS)
    assert MEMBERS.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        prediction.probabilities[0] = 0


def test_from_binary_is_the_second_class():
    prediction = caveat.Categorical.from_binary([0.2, 1.0], classes=["no", "yes"])
    np.testing.assert_allclose(prediction.mean, [[0.8, 0.2], [0, 1]])
    assert caveat.Categorical.from_binary([[0.2, 0.3], [0.4, 0.5]]).members == 2


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 800))
def test_from_logits_is_the_softmax(seed, scale):
    logits = np.random.default_rng(seed).normal(size=(2, 3, 4)) * scale
    prediction = caveat.Categorical.from_logits(logits)
    np.testing.assert_allclose(
        prediction.probabilities, scipy_softmax(logits, axis=-1), rtol=1e-12, atol=1e-300
    )


@pytest.mark.parametrize(
    ("dtype", "off", "fine"),
    [
        ("float64", 0.9e-8, True),
        ("float64", 1.2e-8, False),
        ("float32", 0.8e-5, True),
        ("float32", 2e-5, False),
        ("float16", 4e-3, True),
        ("float16", 8e-3, False),
    ],
)
def test_rows_sum_to_one_to_the_precision_they_came_in(dtype, off, fine):
    rows = np.array([[0.5, 0.5 + off]], dtype=dtype)
    if fine:
        assert caveat.Categorical(rows).probabilities.dtype == np.float64
    else:
        with pytest.raises(InvalidValueError, match="sum to"):
            caveat.Categorical(rows)


def test_unnormalized_rows_are_named_and_normalized_when_asked():
    rows = P.copy()
    rows[5] *= 0.93
    with pytest.raises(
        InvalidValueError,
        match=r"probabilities of sample 5 sum to 0\.93; pass normalize=True, or logits to "
        r"Categorical\.from_logits",
    ):
        caveat.Categorical(rows)
    np.testing.assert_allclose(caveat.Categorical(rows, normalize=True).mean, P, rtol=1e-14)
    assert rows[5].sum() == pytest.approx(0.93)  # the user's array is left alone
    rows[2] = 0
    with pytest.raises(InvalidValueError, match="of sample 2 are all 0"):
        caveat.Categorical(rows, normalize=True)
    rows[2] = np.inf
    with pytest.raises(InvalidValueError, match="of sample 2, class 0 is inf"):
        caveat.Categorical(rows, normalize=True)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(bad):
    members = MEMBERS.copy()
    members[1, 3, 2] = bad
    with pytest.raises(
        InvalidValueError, match=rf"probabilities of sample 3, member 1, class 2 is {bad}"
    ):
        caveat.Categorical(members)


def test_nan_hidden_among_infinities():
    rows = P.copy()
    rows[0, 0], rows[0, 1] = np.inf, np.nan
    with pytest.raises(InvalidValueError, match="of sample 0, class 0 is inf"):
        caveat.Categorical(rows)


def test_negative():
    rows = np.array([[0.5, 0.5], [1.1, -0.1]])
    with pytest.raises(InvalidValueError, match=r"of sample 1, class 1 is -0\.1, below 0; pass"):
        caveat.Categorical(rows)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([0.1, 0.9]), r"got \(2,\); for the probability of the second.*from_binary"),
        (np.zeros((1, 1, 1, 2)), r"got \(1, 1, 1, 2\)"),
        (np.ones((4, 1)), r"at least two classes.*\(4, 1\).*from_binary"),
        (np.zeros((0, 3)), r"probabilities is empty: got shape \(0, 3\)"),
        ([[0.5, 0.5], [1.0]], "rectangular array; got nested sequences of unequal lengths"),
    ],
)
def test_wrong_shapes(value, text):
    with pytest.raises(ShapeError, match=text):
        caveat.Categorical(value)


def test_not_numbers():
    with pytest.raises(InvalidValueError, match="must be real numbers; got an array of type <U1"):
        caveat.Categorical([["a", "b"]])
    with pytest.raises(
        InvalidValueError, match="must be real numbers; got an array of type complex"
    ):
        caveat.Categorical(np.ones((2, 2), dtype=complex))
    with pytest.raises(
        InvalidValueError, match="must be real numbers; got an array of type object"
    ):
        caveat.Categorical(np.array([[None, {}]], dtype=object))


def test_from_binary_errors():
    with pytest.raises(ShapeError, match=r"\(samples,\) or \(members, samples\); got \(1, 1, 2\)"):
        caveat.Categorical.from_binary(np.ones((1, 1, 2)))
    with pytest.raises(InvalidValueError, match=r"of sample 1 is 1\.5, outside \[0, 1\]"):
        caveat.Categorical.from_binary([0.5, 1.5])
    with pytest.raises(InvalidValueError, match="of sample 1 is nan"):
        caveat.Categorical.from_binary([0.5, np.nan])


def test_from_logits_errors():
    with pytest.raises(InvalidValueError, match="logits of sample 0, class 1 is nan"):
        caveat.Categorical.from_logits([[0.0, np.nan]])
    with pytest.raises(ShapeError, match="logits must have shape"):
        caveat.Categorical.from_logits([0.0, 1.0])


@pytest.mark.parametrize(
    "classes",
    [
        ["a", "b", "c"],
        [3, 1, 2],
        [0.5, 1.5, 2.5],
        np.array(["x", "y", "z"], dtype=object),
        np.array([0, 0.5, 2], dtype=object),
    ],
)
def test_classes_of_every_type(classes):
    prediction = caveat.Categorical(P, classes=classes)
    assert prediction.classes.tolist() == list(classes)
    assert prediction.encode([classes[2], classes[0]]).tolist() == [2, 0]


def test_boolean_classes():
    prediction = caveat.Categorical([[0.5, 0.5]], classes=[False, True])
    assert prediction.classes.dtype == bool
    assert prediction.encode([True, False, True]).tolist() == [1, 0, 1]
    assert prediction.encode([1, 0]).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("classes", "text"),
    [
        (
            ["a", "b"],
            r"classes must be 3 labels, one for each class of the array; got shape \(2,\)",
        ),
        (["a", "b", "a"], "classes must be distinct; got .*'a'.* more than once"),
        (["a", 1, "b"], "of one type; got int, str"),
        ([0.0, 1.0, np.nan], "classes must be finite"),
        ([0, 1, None], "of one type; got NoneType, int"),
        (np.array(["2020", "2021", "2022"], dtype="datetime64[Y]"), "str, int, float or bool"),
    ],
)
def test_wrong_classes(classes, text):
    with pytest.raises(LabelError, match=text):
        caveat.Categorical(P, classes=classes)


def test_encode_errors():
    prediction = caveat.Categorical(P, classes=["a", "b", "c"])
    with pytest.raises(
        LabelError, match=r"y of sample 1 is .*'d'.*, but the classes are 'a', 'b', 'c'"
    ):
        prediction.encode(["a", "d"])
    with pytest.raises(LabelError, match="y has labels of type int64, but the classes are"):
        prediction.encode([0, 1])
    with pytest.raises(ShapeError, match="one label for each sample"):
        prediction.encode([["a", "b"]])
    with pytest.raises(ShapeError, match="y is empty"):
        prediction.encode([])
    with pytest.raises(LabelError, match=r"y of sample 0 is .*0\.5"):
        caveat.Categorical(P).encode([0.5, 1])
    with pytest.raises(LabelError, match=r"y of sample 1 is .*nan"):
        caveat.Categorical(P).encode([0, np.nan])
    assert caveat.Categorical(P).encode([[2], [0]]).tolist() == [2, 0]


def test_repr_shortens_many_classes():
    prediction = caveat.Categorical(np.full((1, 20), 0.05))
    assert repr(prediction) == (
        "Categorical: 1 member x 1 sample x 20 classes (0, 1, 2, 3, 4, 5, ..., 19)"
    )


@pytest.mark.parametrize("precision", [np.float32, np.float16])
def test_the_mean_of_single_precision_is_a_distribution_in_double(precision):
    p = np.random.default_rng(0).dirichlet(np.ones(5), (2, 2000)).astype(precision)
    assert np.abs(p.astype(float).sum(axis=2) - 1).max() > 1e-8
    prediction = caveat.Categorical(p)
    np.testing.assert_allclose(prediction.probabilities, p, rtol=np.finfo(precision).eps * 5)
    caveat.Categorical(prediction.mean)
    assert caveat.measure(prediction.mean, "gini").shape == (2000,)
    double = np.full((3, 3), 1 / 3) + 1e-9  # within the tolerance of float64: as it is
    np.testing.assert_array_equal(caveat.Categorical(double).probabilities[0], double)


def test_arrays_of_single_precision_give_what_their_prediction_does():
    p = np.random.default_rng(0).dirichlet(np.ones(5), 2000).astype(np.float32)
    y = np.arange(2000) % 5
    prediction = caveat.Categorical(p)
    for loss in (caveat.metrics.brier_loss, caveat.metrics.negative_log_likelihood_loss):
        assert loss(y, p) == pytest.approx(loss(y, prediction), rel=1e-14)
    with pytest.raises(InvalidValueError, match="probabilities of sample 7 sum to"):
        caveat.metrics.brier_loss(y, np.where(np.arange(2000)[:, None] == 7, 0.5 * p, p))
