"""Measures of arrays that are converted and checked by blocks: the numbers of double precision."""

import tracemalloc

import numpy as np
import pytest

import caveat
from caveat._blocks import BLOCK_ELEMENTS
from caveat.exceptions import InvalidValueError, ShapeError
from caveat.uncertainty import MEASURES
from caveat.uncertainty.blockwise import Blockwise, Workspace

RNG = np.random.default_rng(5)


def options_of(name, classes):
    points = np.arange(classes)[:, None] ** np.linspace(0.5, 1, 3)
    H = np.linalg.norm(points[:, None] - points, axis=2)
    return {"H": H / H.max()} if name == "homophily_uncertainty" else {}


def rows_of(classes, samples, dtype=np.float64):
    """Rows of all kinds: spread out, nearly certain, certain, between two classes, uniform."""
    p = RNG.dirichlet(np.full(classes, 0.4), samples)
    p[::5] = np.eye(classes)[RNG.integers(classes, size=len(p[::5]))] * (1 - 1e-4) + 1e-4 / classes
    p[1::50] = np.eye(classes)[0]
    p[2::50] = (np.eye(classes)[0] + np.eye(classes)[1]) / 2
    p[3::50] = 1 / classes
    return p.astype(dtype)


LAYOUTS = {
    "rows": lambda p: p,
    "classes first": lambda p: np.ascontiguousarray(p.T).T,
    "every second row": lambda p: np.repeat(p, 2, axis=0)[::2],
    "backwards": lambda p: p[::-1].copy()[::-1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", ">f4"])
@pytest.mark.parametrize("name", list(MEASURES))
def test_any_type_and_order_in_memory(name, dtype, layout):
    p = rows_of(3, BLOCK_ELEMENTS // 3 + 7, dtype)  # a whole block and a small one
    options = options_of(name, 3)
    expected = caveat.measure(caveat.Categorical(p), name, **options)
    result = caveat.measure(LAYOUTS[layout](p), name, **options)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-14)


EXTREME = [
    ("renyi", {"alpha": alpha}) for alpha in (0.0, 1e-60, 0.01, 0.99999, 1.4, 50.0, 1e300, np.inf)
] + [
    ("tsallis", {"alpha": 1e-60}), ("tsallis", {"alpha": 3.0}), ("t_entropy", {"alpha": 1e300}),
    ("geometric", {"distance": "euclidean", "order": 1}), ("geometric", {"order": 1000}),
    ("geometric", {"distance": "kl"}), ("geometric", {"distance": "renyi", "alpha": 1e200}),
    ("geometric", {"distance": lambda p, u: abs(p - u).sum(axis=1)}),
]  # fmt: skip


@pytest.mark.parametrize("classes", [2, 6, 100])
@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in MEASURES), *EXTREME])
def test_single_precision_is_within_its_bound(name, options, classes):
    p = rows_of(classes, 3000, np.float32)
    options = options | options_of(name, classes)
    exact = caveat.measure(p, name, **options)
    for array in (p, np.ascontiguousarray(p.T).T):
        result = caveat.measure(Blockwise.of(array, single=True), name, **options)
        np.testing.assert_allclose(result, exact, atol=1e-5, rtol=0)


def test_which_numbers_are_single():
    p = rows_of(3, 10)
    assert caveat.measure(p.astype(np.float32), "gini").dtype == np.float64
    assert caveat.measure(Blockwise.of(p.astype(np.float32), single=True), "gini").dtype == "f4"
    assert caveat.measure(Blockwise.of(p.astype(np.float16), single=True), "gini").dtype == "f4"
    for array in (p, rows_of(101, 10, np.float32), np.eye(3, dtype=int)):
        assert caveat.measure(Blockwise.of(array, single=True), "gini").dtype == np.float64


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_logits_and_members(dtype, single):
    z = RNG.normal(scale=3, size=(2, 500, 4)).astype(dtype)
    for given, expected in (
        (z[0], caveat.Categorical.from_logits(z[0])),
        (z, caveat.Categorical.from_logits(z)),
    ):
        result = caveat.measure(Blockwise.of(given, logits=True, single=single), "entropy")
        atol = 1e-6 if single else 1e-14
        np.testing.assert_allclose(result, caveat.measure(expected, "entropy"), atol=atol)
    p = caveat.Categorical.from_logits(z.astype(float)).probabilities
    np.testing.assert_allclose(caveat.measure(Blockwise.of(p), "gini"), caveat.measure(p, "gini"))


def test_no_second_array_of_the_size_of_the_input():
    p = np.ascontiguousarray(rows_of(6, 100_000, np.float32).T).T
    tracemalloc.start()
    try:
        caveat.measure(p, "gini")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.8e6 + 1.5e6  # the result, and some blocks; in double precision p has 4.8 MB


def test_a_workspace_is_used_again():
    space = Workspace()
    first = space.array("a", (3, 4))
    first[:] = 1
    again = space.array("a", (2, 5))
    assert np.shares_memory(first, again)
    assert again.shape == (2, 5)
    assert not np.shares_memory(first, space.array("b", (3, 4)))
    assert not np.shares_memory(first, space.array("a", (4, 4)))
    assert space.array("a", (4, 4), np.float32).dtype == np.float32
    p = rows_of(4, 50)
    one = caveat.measure(Blockwise.of(p, workspace=space), "gini")
    other = caveat.measure(Blockwise.of(p[:20], workspace=space), "margin")
    assert np.shares_memory(one, other)
    np.testing.assert_array_equal(other, caveat.measure(p[:20], "margin"))


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.nan, "of sample 24000, class 1 is nan; remove or impute"),
        (-0.25, "of sample 24000, class 1 is -0.25, below 0; pass probabilities, or logits"),
        (0.75, "of sample 24000 sum to 1.75; pass normalize=True"),
        (np.inf, "of sample 24000, class 1 is inf"),
    ],
)
def test_a_bad_row_in_a_later_block_is_named(bad, message, dtype, single):
    p = np.tile([1.0, 0.0, 0.0], (25_000, 1)).astype(dtype)
    p[24_000, 1] = bad
    with pytest.raises(InvalidValueError, match=f"^probabilities {message}"):
        caveat.measure(Blockwise.of(p, single=single), "gini")
    if not np.isfinite(bad):
        with pytest.raises(
            InvalidValueError, match=r"^logits of sample 24000, class 1 is (nan|inf)"
        ):
            caveat.measure(Blockwise.of(p, logits=True, single=single), "gini")


@pytest.mark.parametrize("classes", [2, 40, 100])
@pytest.mark.parametrize(("off", "fine"), [(0.9e-5, True), (1.1e-5, False)])
def test_single_precision_accepts_the_same_rows(classes, off, fine):
    """Close to the tolerance, the sums of single precision cannot say; those of double do."""
    p = np.zeros((4, classes), np.float32)
    p[:, 0], p[:, -1] = 0.5, 0.5
    p[2, 1 % (classes - 1)] += np.float32(off)
    if fine:
        caveat.measure(Blockwise.of(p, single=True), "gini")
        caveat.Categorical(p)
    else:
        for make in (
            caveat.Categorical,
            lambda p: caveat.measure(Blockwise.of(p, single=True), "gini"),
        ):
            with pytest.raises(InvalidValueError, match=r"of sample 2 sum to 1\.00001"):
                make(p)


def test_distances_of_zero_still_check_the_rows():
    with pytest.raises(InvalidValueError, match="of sample 1 sum to 2"):
        caveat.measure([[1.0, 0.0], [1.0, 1.0]], "homophily", H=np.zeros((2, 2)))
    assert caveat.measure([[0.5, 0.5]], "homophily", H=np.zeros((2, 2)))[0] == 0


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2, 2), (5, 1)])
def test_shapes_are_checked_first(shape):
    with pytest.raises(ShapeError, match="probabilities must have"):
        caveat.measure(np.full(shape, 0.5, np.float32), "gini")
