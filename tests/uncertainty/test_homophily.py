"""Homophily-based uncertainty, against the Karush-Kuhn-Tucker points of all supports and theory."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from caveat import Categorical
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.uncertainty.measures import homophily
from caveat.uncertainty.measures.homophily import homophily_maximum, homophily_uncertainty

TRENTO = np.array(
    [
        [0, 0.89, 0.58, 0.35, 0.36, 0.88],
        [0.89, 0, 0.56, 0.85, 1, 0.33],
        [0.58, 0.56, 0, 0.6, 0.73, 0.65],
        [0.35, 0.85, 0.6, 0, 0.51, 0.91],
        [0.36, 1, 0.73, 0.51, 0, 0.95],
        [0.88, 0.33, 0.65, 0.91, 0.95, 0],
    ]
)
BREAST_AS_PRINTED = np.array(
    [
        [0, 0.46, 0.34, 0.51, 0.74],
        [0.46, 0, 0.26, 0.8, 0.33],
        [0.34, 0.26, 0, 0.55, 0.47],
        [0.51, 0.8, 0.55, 0, 1],
        [0.74, 0.36, 0.47, 1, 0],
    ]
)
BREAST = (BREAST_AS_PRINTED + BREAST_AS_PRINTED.T) / 2
EQUAL_OR_CLOSED = 1e-6  # what "exact" promises, for a largest distance of 1


def random_distances(classes, seed, metric=False):
    rng = np.random.default_rng(seed)
    if metric:
        points = rng.normal(size=(classes, 3))
        H = np.linalg.norm(points[:, None] - points, axis=-1)
    else:
        H = np.triu(rng.uniform(size=(classes, classes)), 1)
        H = H + H.T
    return H / H.max()


def cycle(classes):
    """Distance 1 between neighbors on a cycle, 0 between the others."""
    H = np.zeros((classes, classes))
    H[np.arange(classes), np.arange(1, classes + 1) % classes] = 1.0
    return H + H.T


def joined(H, times):
    """Copies of H with distance 1 between the classes of different copies."""
    classes = times * len(H)
    same = np.kron(np.eye(times), np.ones_like(H))
    return np.kron(np.eye(times), H) + (np.ones((classes, classes)) - same)


def maximum_by_supports(H):
    """Largest p'(H∘H)p over the stationary points of every face of the simplex.

    A maximum of smallest support is the only stationary point of its face, so that singular systems
    can be left out.
    """
    A = H**2
    best = 0.0
    for size in range(1, len(H) + 1):
        for support in itertools.combinations(range(len(H)), size):
            inner = A[np.ix_(support, support)]
            system = np.block([[inner, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
            if np.linalg.cond(system) > 1e12:
                continue
            p = np.linalg.solve(system, np.append(np.zeros(size), 1.0))[:-1]
            if p.min() >= 0:
                best = max(best, p @ inner @ p)
    return best


def is_concave(H):
    centering = np.eye(len(H)) - 1 / len(H)
    return np.linalg.eigvalsh(centering @ H**2 @ centering)[-1] < 1e-10


def check_consistent(maximum, H):
    """The argmax is on the simplex, attains ``lower``, and the numbers fit together."""
    p = maximum.argmax
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, rel=1e-12)
    assert p @ H**2 @ p == pytest.approx(maximum.lower, rel=1e-12)
    assert maximum.gap == maximum.value - maximum.lower >= 0


# The maximum


@pytest.mark.parametrize("metric", [True, False])
@pytest.mark.parametrize("classes", [2, 3, 4, 5, 6, 7])
def test_maximum_is_that_of_the_best_support(classes, metric):
    for seed in range(6):
        H = random_distances(classes, seed, metric)
        maximum = homophily_maximum(H)
        check_consistent(maximum, H)
        assert maximum.certificate == ("concave" if is_concave(H) else "exact")
        assert maximum.gap <= EQUAL_OR_CLOSED
        truth = maximum_by_supports(H)
        # Rounding of the solution of systems with condition numbers of up to 1e12 aside.
        assert maximum.value >= truth - 1e-12
        assert maximum.value - truth <= EQUAL_OR_CLOSED


@pytest.mark.parametrize("seed", range(4))
def test_maximum_is_that_of_a_fine_grid(seed):
    H = random_distances(4, seed)
    steps = 60
    grid = np.array(
        [
            (i, j, k, steps - i - j - k)
            for i in range(steps + 1)
            for j in range(steps + 1 - i)
            for k in range(steps + 1 - i - j)
        ]
    )
    largest = np.einsum("ni,ij,nj->n", grid, H**2, grid).max() / steps**2
    value = homophily_maximum(H).value
    # A grid point is within 3 / steps of each point in the sum of absolute differences, along which
    # the function changes by at most twice its largest slope of 1.
    assert largest <= value <= largest + 2 * 3 / steps


def test_trento_matrix():
    maximum = homophily_maximum(TRENTO)
    assert maximum.certificate == "concave"
    assert maximum.value == pytest.approx(0.500165, abs=5e-7)
    np.testing.assert_allclose(maximum.argmax, [0, 0.474, 0, 0, 0.497, 0.029], atol=5e-4)


def test_breast_cancer_matrix():
    maximum = homophily_maximum(BREAST)
    assert maximum.value == pytest.approx(0.5, abs=1e-8)
    np.testing.assert_allclose(maximum.argmax, [0, 0, 0, 0.5, 0.5], atol=1e-6)
    with pytest.raises(
        InvalidValueError,
        match=r"H\[1, 4\] is 0.33, but H\[4, 1\] is 0.36; symmetrize with \(H \+ H.T\) / 2",
    ):
        homophily_maximum(BREAST_AS_PRINTED)


@pytest.mark.parametrize("classes", [20, 300])
def test_euclidean_distances_give_the_smallest_enclosing_ball(classes):
    # The maximum is then twice its squared radius: here 4 points on the unit sphere hold it, with
    # the others inside.
    rng = np.random.default_rng(classes)
    directions = rng.normal(size=(classes - 4, 3))
    inside = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    inside *= rng.uniform(0, 0.99, size=(classes - 4, 1))
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3)
    points = np.concatenate([inside, corners])
    H = np.linalg.norm(points[:, None] - points, axis=-1)
    maximum = homophily_maximum(H)
    assert maximum.certificate == "concave"
    assert maximum.value == pytest.approx(2, rel=1e-10)
    # A value within 1e-10 of a quadratic maximum leaves the point within some 1e-5.
    np.testing.assert_allclose(maximum.argmax[-4:], 0.25, atol=1e-4)


@pytest.mark.parametrize(("times", "clique"), [(1, 2), (2, 4), (3, 6)])
def test_cycles_need_the_integer_program(times, clique):
    # Motzkin and Straus: for distances 0 and 1 the maximum is 1 - 1/clique, with the largest number
    # of classes that are all at distance 1. The relaxation ends at 1 - 1/(times sqrt 5).
    H = joined(cycle(5), times)
    maximum = homophily_maximum(H)
    check_consistent(maximum, H)
    assert maximum.certificate == "exact"
    assert maximum.value == pytest.approx(1 - 1 / clique, abs=EQUAL_OR_CLOSED)
    relaxed = homophily_maximum(H, node_limit=0)
    check_consistent(relaxed, H)
    assert relaxed.certificate == "bound"
    assert relaxed.lower == pytest.approx(1 - 1 / clique, rel=1e-10)
    theta = 1 - 1 / (times * np.sqrt(5))
    assert theta - 1e-10 <= relaxed.value <= theta + 1e-3


def test_random_graph_against_its_largest_clique():
    H = np.triu(np.random.default_rng(5).uniform(size=(14, 14)) < 0.5, 1).astype(float)
    H = H + H.T
    clique = max(
        len(nodes)
        for size in range(2, 8)
        for nodes in itertools.combinations(range(14), size)
        if H[np.ix_(nodes, nodes)].sum() == size * (size - 1)
    )
    maximum = homophily_maximum(H)
    assert maximum.certificate == "exact"
    assert maximum.value == pytest.approx(1 - 1 / clique, abs=EQUAL_OR_CLOSED)


def test_many_classes_that_are_not_concave_have_a_bound(monkeypatch):
    # 21 copies of each class of a cycle, at distance 0 from each other: 105 classes, and the
    # maximum stays 1/2.
    monkeypatch.setattr(homophily, "_RELAXATION_STEPS", 50)
    H = np.kron(cycle(5), np.ones((21, 21)))
    maximum = homophily_maximum(H)
    check_consistent(maximum, H)
    assert maximum.certificate == "bound"
    assert maximum.lower == pytest.approx(0.5, rel=1e-10)
    assert 1 - 1 / np.sqrt(5) - 1e-10 <= maximum.value < 0.6
    p = np.random.default_rng(0).dirichlet(np.full(105, 0.05), 1000)
    assert homophily_uncertainty(p, H, maximum=maximum).max() < 1


def test_many_classes_can_be_exact():
    points = np.random.default_rng(0).normal(size=(150, 5))
    H = np.abs(points[:, None] - points).max(axis=-1)
    H /= H.max()
    assert not is_concave(H)
    maximum = homophily_maximum(H)
    check_consistent(maximum, H)
    assert maximum.certificate == "exact"
    assert maximum.gap <= EQUAL_OR_CLOSED


def test_a_local_search_from_the_uniform_point_is_not_enough():
    # Two distant classes, and three others that the uniform point is drawn to.
    H = np.full((5, 5), 0.5)
    H[:2, :2] = 1.0
    H[2:, 2:] = 0.8
    np.fill_diagonal(H, 0.0)
    local = minimize(
        lambda p: -p @ H**2 @ p,
        np.full(5, 0.2),
        method="SLSQP",
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-9},
    )
    truth = maximum_by_supports(H)
    assert -local.fun < 0.9 * truth
    assert homophily_maximum(H).value == pytest.approx(truth, abs=EQUAL_OR_CLOSED)
    best = np.array([[0.5, 0.5, 0, 0, 0]])
    assert homophily_uncertainty(best, H)[0] == pytest.approx(1, abs=EQUAL_OR_CLOSED)


def test_maximum_scales_with_the_square():
    for H in (TRENTO, BREAST):
        value = homophily_maximum(H).value
        for scale in (1e-140, 0.25, 1e140):
            assert homophily_maximum(scale * H).value == pytest.approx(scale**2 * value, rel=1e-9)


def test_two_classes():
    maximum = homophily_maximum([[0, 3], [3, 0]])
    assert maximum.value == pytest.approx(4.5, rel=1e-12)
    np.testing.assert_allclose(maximum.argmax, 0.5, rtol=1e-12)


def test_no_distance_at_all():
    maximum = homophily_maximum(np.zeros((3, 3)))
    assert (maximum.value, maximum.lower, maximum.gap) == (0, 0, 0)
    p = np.random.default_rng(0).dirichlet(np.ones(3), 5)
    np.testing.assert_array_equal(homophily_uncertainty(p, np.zeros((3, 3))), np.zeros(5))
    np.testing.assert_array_equal(
        homophily_uncertainty(p, np.zeros((3, 3)), maximum=maximum), np.zeros(5)
    )


def test_result_cannot_be_changed():
    maximum = homophily_maximum(TRENTO)
    with pytest.raises(AttributeError):
        maximum.value = 0.1
    with pytest.raises(ValueError, match="read-only"):
        maximum.argmax[0] = 1


# The uncertainty


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_equidistant_classes_give_the_scaled_gini_impurity(classes):
    p = np.random.default_rng(classes).dirichlet(np.ones(classes), 100)
    p = np.concatenate([p, np.eye(classes), np.full((1, classes), 1 / classes)])
    H = 0.37 * (1 - np.eye(classes))
    expected = classes / (classes - 1) * (1 - (p**2).sum(axis=1))
    np.testing.assert_allclose(homophily_uncertainty(p, H), expected, atol=1e-12)


def gaussian_example(x, alpha):
    means = np.array([[0, 0], [2, 0], [alpha, alpha]], dtype=float)
    density = np.exp(-((means - x) ** 2).sum(axis=1) / 2)
    H = np.abs(means[:, None] - means).max(axis=-1)
    return homophily_uncertainty([density / density.sum()], H)[0]


def test_gaussian_example():
    assert gaussian_example([1, 1], 0) == pytest.approx(8 / 9, rel=1e-9)
    assert gaussian_example([1, 1], 2) == pytest.approx(1, rel=1e-9)
    away = [gaussian_example([1, 1], alpha) for alpha in (2, 3, 4, 6, 8, 12)]
    assert (np.diff(away) < 0).all()


def test_every_sample_has_its_value():
    # Several blocks and thousands, with no multiple of either left out.
    p = np.random.default_rng(1).dirichlet(np.ones(6), 20_001)
    p[0] = 0
    p[0, 3] = 1
    values = homophily_uncertainty(p, TRENTO)
    expected = [row @ TRENTO**2 @ row for row in p]
    np.testing.assert_allclose(values, np.array(expected) / homophily_maximum(TRENTO).value)
    assert values[0] == 0
    assert (values[1:] > 0).all()


def test_members_are_averaged():
    members = np.random.default_rng(2).dirichlet(np.ones(6), (4, 7))
    expected = homophily_uncertainty(members.mean(axis=0), TRENTO)
    np.testing.assert_allclose(homophily_uncertainty(members, TRENTO), expected)
    np.testing.assert_allclose(homophily_uncertainty(Categorical(members), TRENTO), expected)


def test_concave_where_the_certificate_says_so():
    first, second = np.random.default_rng(3).dirichlet(np.ones(6), (2, 500))
    ends = homophily_uncertainty(first, TRENTO) + homophily_uncertainty(second, TRENTO)
    assert (homophily_uncertainty((first + second) / 2, TRENTO) >= ends / 2 - 1e-12).all()


def test_classes_at_distance_zero_are_not_confused():
    H = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    values = homophily_uncertainty([[0.3, 0.7, 0], [0.3, 0.2, 0.5]], H)
    np.testing.assert_allclose(values, [0, 1], atol=1e-12)


@given(data=st.data(), classes=st.integers(2, 5))
@settings(max_examples=60, deadline=None)
def test_range_permutation_and_scale(data, classes):
    distance = st.floats(0, 1, allow_subnormal=False)
    H = np.zeros((classes, classes))
    for i, j in itertools.combinations(range(classes), 2):
        H[i, j] = H[j, i] = data.draw(distance)
    weights = data.draw(st.lists(st.floats(0, 1), min_size=classes, max_size=classes))
    p = np.array([weights, np.eye(classes)[0], np.full(classes, 1 / classes)])
    p[0] += 1e-3
    p /= p.sum(axis=1, keepdims=True)
    if 0 < H.max() < 1e-150:
        H /= H.max()
    maximum = homophily_maximum(H)
    check_consistent(maximum, H)
    p = np.concatenate([p, [maximum.argmax]])
    values = homophily_uncertainty(p, H, maximum=maximum)
    assert (values >= 0).all()
    assert (values <= 1).all()
    assert values[1] == 0
    if maximum.certificate != "bound" and maximum.value > 0:
        # The gap is relative to the largest squared distance, which is at most twice the maximum.
        assert values[-1] >= 1 - 2 * EQUAL_OR_CLOSED
    order = np.array(data.draw(st.permutations(range(classes))))
    moved = homophily_uncertainty(p[:, order], H[np.ix_(order, order)])
    np.testing.assert_allclose(moved, values, atol=2 * EQUAL_OR_CLOSED)
    scaled = homophily_uncertainty(p, 2.0 * H)
    np.testing.assert_allclose(scaled, values, atol=2 * EQUAL_OR_CLOSED)


def test_classes_that_are_nearly_equal():
    """Between them the function is nearly flat, where short steps end before the top."""
    H = np.array([[0, 1, 1], [1, 0, 1 / 64], [1, 1 / 64, 0]])
    maximum = homophily_maximum(H)
    # By symmetry q is (a, (1 - a) / 2, (1 - a) / 2): a quadratic in a, maximal where its slope is 0.
    near = 1 / 64**2
    a = (1 - near / 2) / (2 - near / 2)
    truth = 2 * a * (1 - a) + near * (1 - a) ** 2 / 2
    np.testing.assert_allclose(maximum.argmax, [a, (1 - a) / 2, (1 - a) / 2], atol=1e-9)
    assert maximum.value == pytest.approx(truth, abs=1e-12)
    assert maximum.gap < 1e-9
    # A point outside of the simplex is not taken.
    assert (
        homophily._solved(np.array([[0, 1, 9], [1, 0, 1], [9, 1, 0]]) * 1.0, np.ones(3) / 3)[1]
        == -np.inf
    )


# Arguments


def test_a_maximum_can_be_used_again():
    p = np.random.default_rng(4).dirichlet(np.ones(5), 20)
    maximum = homophily_maximum(BREAST)
    np.testing.assert_array_equal(
        homophily_uncertainty(p, BREAST, maximum=maximum), homophily_uncertainty(p, BREAST)
    )


@pytest.mark.parametrize("H", [2 * BREAST, TRENTO])
def test_a_maximum_of_another_matrix_is_refused(H):
    p = np.full((1, len(H)), 1 / len(H))
    with pytest.raises(OptionError, match="maximum is not that of this H; pass what"):
        homophily_uncertainty(p, H, maximum=homophily_maximum(BREAST))


def test_a_maximum_that_is_a_number_is_refused():
    with pytest.raises(OptionError, match="what homophily_maximum returned; got float"):
        homophily_uncertainty(np.full((1, 5), 0.2), BREAST, maximum=0.5)


def test_rounding_of_single_precision_is_not_asymmetry():
    H = TRENTO.astype(np.float32)
    H[0, 1] += 1e-7
    H[2, 2] = 1e-7
    assert homophily_maximum(H).value == pytest.approx(0.500165, abs=1e-6)


@pytest.mark.parametrize(
    ("H", "error", "message"),
    [
        (np.zeros((2, 3)), ShapeError, r"H must have shape \(classes, classes\); got \(2, 3\)"),
        (np.zeros(3), ShapeError, r"got \(3,\)"),
        ([[0, np.nan], [np.nan, 0]], InvalidValueError, r"H\[0, 1\] is nan; distances must be fin"),
        ([[0, np.inf], [np.inf, 0]], InvalidValueError, r"H\[0, 1\] is inf"),
        ([[0, -1], [-1, 0]], InvalidValueError, r"H\[0, 1\] is -1; distances must not be negative"),
        ([[0, 1], [1, 0.5]], InvalidValueError, r"H\[1, 1\] is 0.5; a class is at distance 0 from"),
        ([[0, 1], [2, 0]], InvalidValueError, r"H\[0, 1\] is 1, but H\[1, 0\] is 2; symmetrize"),
        ([[0, 1e200], [1e200, 0]], InvalidValueError, r"is 1e\+200, whose square .* divide H by"),
        ([[0, 1e-200], [1e-200, 0]], InvalidValueError, "is 1e-200, whose square is out of range"),
        ([["a", "b"], ["b", "a"]], InvalidValueError, "H must be real numbers"),
    ],
)
def test_matrices_that_are_no_distances(H, error, message):
    with pytest.raises(error, match=message):
        homophily_maximum(H)


def test_wrong_number_of_classes():
    with pytest.raises(ShapeError, match="H is for 5 classes, but the probabilities are for 6"):
        homophily_uncertainty(np.full((1, 6), 1 / 6), BREAST)


def test_no_limit_searches_to_the_end():
    rng = np.random.default_rng(11)
    H = rng.random((12, 12))
    H = np.triu(H, 1) + np.triu(H, 1).T
    whole = homophily_maximum(H, node_limit=None)
    assert whole.certificate == "exact"
    assert whole.value == pytest.approx(homophily_maximum(H).value, rel=1e-6)


@pytest.mark.parametrize("node_limit", [-1, 2.5, "many", True])
def test_node_limit_must_be_a_number_of_nodes(node_limit):
    with pytest.raises(OptionError, match="node_limit must be a whole number of at least 0; got"):
        homophily_maximum(TRENTO, node_limit=node_limit)
