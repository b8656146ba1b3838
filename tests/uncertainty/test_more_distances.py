"""Weighted, joint, embedded and given distances between classes, against independent sums."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import energy_distance, multivariate_normal, norm, wasserstein_distance

from caveat import Categorical
from caveat.exceptions import InvalidValueError, LabelError, OptionError, ShapeError
from caveat.uncertainty import (
    class_distances,
    cost_distances,
    homophily_maximum,
    homophily_uncertainty,
    taxonomy_distances,
)

SCIPY = {"energy": energy_distance, "wasserstein": wasserstein_distance}


def sample(sizes, channels, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    shift = rng.normal(size=(len(sizes), channels))
    return rng.normal(size=(len(y), channels)) + shift[y], y


@pytest.mark.parametrize("distance", list(SCIPY))
def test_weights_against_scipy(distance):
    X, y = sample([7, 30, 50], 1)
    weight = np.random.default_rng(1).uniform(0, 3, len(y))
    weight[np.flatnonzero(y == 1)[:5]] = 0.0
    result = class_distances(X, y, distance=distance, sample_weight=weight)
    for i in range(3):
        for j in range(3):
            one, other = y == i, y == j
            expected = SCIPY[distance](X[one, 0], X[other, 0], weight[one], weight[other])
            assert result[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("distance", ["energy", "wasserstein", "bhattacharyya"])
@pytest.mark.parametrize("combine", ["mean+std", "rms", "joint"])
def test_a_weight_of_two_is_the_sample_twice(distance, combine):
    if (distance, combine) == ("wasserstein", "joint"):
        return
    X, y = sample([12, 15, 20], 3)
    times = np.random.default_rng(2).integers(1, 4, len(y))
    np.testing.assert_allclose(
        class_distances(X, y, distance=distance, combine=combine, sample_weight=times),
        class_distances(np.repeat(X, times, 0), np.repeat(y, times), distance=distance,
                        combine=combine),
        rtol=1e-9,
    )  # fmt: skip


@pytest.mark.parametrize("distance", list(SCIPY))
@pytest.mark.parametrize("weighted", [False, True])
def test_many_classes(distance, weighted):
    # Beyond 100 classes the energy distance sums in another order.
    X, y = sample([5] * 60 + [7] * 60, 1)
    weight = np.random.default_rng(0).uniform(0.5, 1, len(y)) if weighted else np.ones(len(y))
    result = class_distances(X, y, distance=distance, sample_weight=weight if weighted else None)
    for i, j in np.random.default_rng(3).integers(0, 120, (40, 2)):
        one, other = y == i, y == j
        expected = SCIPY[distance](X[one, 0], X[other, 0], weight[one], weight[other])
        assert result[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_bhattacharyya_distance_is_that_of_normal_densities():
    X, y = sample([40, 60], 1)
    first, second = (norm(X[y == k].mean(), X[y == k].std()) for k in (0, 1))
    overlap = quad(lambda t: np.sqrt(first.pdf(t) * second.pdf(t)), -20, 20)[0]
    for combine in ("rms", "joint"):
        result = class_distances(X, y, distance="bhattacharyya", combine=combine)
        assert result[0, 1] == pytest.approx(-np.log(overlap), rel=1e-7)


def test_the_joint_bhattacharyya_distance_in_two_dimensions():
    X, y = sample([80, 90], 2)
    X[y == 1, 1] += X[y == 1, 0]
    densities = [
        multivariate_normal(X[y == k].mean(0), np.cov(X[y == k].T, ddof=0)) for k in (0, 1)
    ]
    axis = np.linspace(-12, 12, 601)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    overlap = (
        np.sqrt(densities[0].pdf(grid) * densities[1].pdf(grid)).sum() * (axis[1] - axis[0]) ** 2
    )
    result = class_distances(X, y, distance="bhattacharyya", combine="joint")
    assert result[0, 1] == pytest.approx(-np.log(overlap), rel=1e-6)


def by_sums(X, y, i, j):
    def mean(a, b):
        return np.mean([[np.linalg.norm(u - v) for v in b] for u in a])

    one, other = X[y == i], X[y == j]
    return np.sqrt(2 * mean(one, other) - mean(one, one) - mean(other, other))


def test_the_joint_energy_distance(monkeypatch):
    from caveat.uncertainty.distances import joint

    X, y = sample([9, 14, 20], 3)
    expected = [by_sums(X, y, i, j) for i, j in ((0, 1), (0, 2), (1, 2))]
    for block in (1 << 20, 100, 1):  # in one piece, in pieces, sample by sample
        monkeypatch.setattr(joint, "_BLOCK", block)
        result = class_distances(X, y, combine="joint")
        np.testing.assert_allclose(result[np.triu_indices(3, 1)], expected, rtol=1e-10)
        np.testing.assert_array_equal(result, result.T)
    one = class_distances(X[:, :1], y, combine="joint")
    np.testing.assert_allclose(one, class_distances(X[:, :1], y), rtol=1e-9)


def test_joint_distances_see_what_single_channels_cannot():
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 400)), 0.1 * rng.normal(size=400)
    X = np.column_stack([x[0], np.where(np.arange(400) < 200, x[0], -x[0]) + noise])
    y = np.arange(400) // 200
    apart = class_distances(X, y, combine="rms")[0, 1]
    assert class_distances(X, y, combine="joint")[0, 1] > 2 * apart
    same = class_distances(np.vstack([X, X]), np.repeat([0, 1], 400), combine="joint")
    np.testing.assert_array_equal(same, 0)


def test_a_joint_function_of_two_samples():
    X, y = sample([5, 6, 7], 2)
    result = class_distances(
        X, y, combine="joint", distance=lambda a, b: np.linalg.norm(a.mean(0) - b.mean(0))
    )
    assert result[0, 2] == pytest.approx(np.linalg.norm(X[y == 0].mean(0) - X[y == 2].mean(0)))
    with pytest.raises(InvalidValueError, match=r"got -1 for the classes 0, 1$"):
        class_distances(X, y, combine="joint", distance=lambda a, b: -1)


def test_an_embedding():
    torch = pytest.importorskip("torch")
    X, y = sample([20, 30], 3)
    layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()).double()
    result = class_distances(torch.tensor(X), y, embedding=layers)
    features = layers(torch.tensor(X)).detach().numpy()
    np.testing.assert_allclose(result, class_distances(features, y), rtol=1e-12)
    with pytest.raises(InvalidValueError, match=r"embedding\(X\) of sample 0, channel 0 is nan"):
        class_distances(X, y, embedding=lambda X: X * np.nan)
    with pytest.raises(ShapeError, match=r"embedding\(X\) must have shape"):
        class_distances(X, y, embedding=lambda X: 3.0)


def test_scaled():
    X, y = sample([20, 30, 10], 3)
    result = class_distances(X, y, scaled=True)
    np.testing.assert_allclose(result, (plain := class_distances(X, y)) / plain.max())
    np.testing.assert_array_equal(class_distances([1.0, 1.0], [0, 1], scaled=True), 0)


def test_channels_without_spread():
    X, y = np.random.default_rng(0).normal(size=(6, 2)), ["a", "a", "a", "b", "b", "b"]
    X[3:, 1] = 7.0
    with pytest.raises(InvalidValueError, match="channel 1 is constant in class 'b', and"):
        class_distances(X, y, distance="bhattacharyya")
    with pytest.raises(
        InvalidValueError, match=r"class 'b' have a singular covariance \(3 samples, 2"
    ):
        class_distances(X, y, distance="bhattacharyya", combine="joint")
    X[:, 1] = 2 * X[:, 0]
    with pytest.raises(InvalidValueError, match="class 'a' have a singular covariance"):
        class_distances(X, y, distance="bhattacharyya", combine="joint")


def test_weights_that_do_not_fit():
    with pytest.raises(InvalidValueError, match="all samples of class 'b' have weight 0"):
        class_distances([0.0, 1.0, 2.0], ["a", "b", "a"], sample_weight=[1, 0, 1])
    with pytest.raises(OptionError, match="sample_weight cannot be given to a distance of your"):
        class_distances([0.0, 1.0], [0, 1], sample_weight=[1, 1], distance=lambda a, b: 1.0)


def test_costs_make_the_uncertainty_an_expected_cost():
    rng = np.random.default_rng(0)
    costs = rng.uniform(0, 10, (4, 4))
    np.fill_diagonal(costs, 0)
    p = rng.dirichlet(np.ones(4), 50)
    H = cost_distances(costs)
    best = homophily_maximum(H)
    expected = np.einsum("ni,ij,nj->n", p, costs, p)
    np.testing.assert_allclose(homophily_uncertainty(p, H) * best.value, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("costs", "error", "message"),
    [
        ([[0, 1]], ShapeError, r"costs must have shape \(classes, classes\); got \(1, 2\)"),
        ([[0, -1], [1, 0]], InvalidValueError, r"costs\[0, 1\] is -1; costs must not be negative"),
        ([[0, np.inf], [1, 0]], InvalidValueError, r"costs\[0, 1\] is inf; costs must be finite"),
        ([[0, 1], [1, 2]], InvalidValueError, r"costs\[1, 1\] is 2; a right prediction costs"),
        (
            pd.DataFrame([[0, 1], [1, 0]], index=["a", "b"], columns=["b", "a"]),
            LabelError,
            "costs must have the same names",
        ),
    ],
)
def test_costs_that_do_not_fit(costs, error, message):
    with pytest.raises(error, match=message):
        cost_distances(costs)


def test_named_distances_are_put_in_order():
    frame = pd.DataFrame(
        [[0.0, 1, 5], [1, 0, 4], [5, 4, 0]], index=["c", "a", "b"], columns=["c", "a", "b"]
    )
    p = Categorical([[0.5, 0.5, 0.0]], classes=["a", "b", "c"])
    ordered = frame.to_numpy()[np.ix_([1, 2, 0], [1, 2, 0])]
    np.testing.assert_allclose(homophily_uncertainty(p, frame), homophily_uncertainty(p, ordered))
    costs = cost_distances(frame)
    assert list(costs.columns) == ["c", "a", "b"]
    assert costs.loc["c", "b"] == pytest.approx(np.sqrt(5))
    with pytest.raises(LabelError, match="no row for class 'b'; their rows are 'c', 'a'"):
        homophily_uncertainty(p, frame.iloc[:2])
    with pytest.raises(LabelError, match="two rows of one name"):
        homophily_uncertainty(p, pd.concat([frame, frame.iloc[:1]]))
    # Without names in the prediction the order is that of the frame.
    np.testing.assert_allclose(
        homophily_uncertainty(p.mean, frame), homophily_uncertainty(p.mean, frame.to_numpy())
    )


def test_a_taxonomy():
    taxonomy = {
        "oak": ("plants", "trees"),
        "vine": "plants",
        "road": "built",
        "pine": ["plants", "trees"],
    }
    H = taxonomy_distances(taxonomy, classes=["road", "pine", "oak", "vine"])
    np.testing.assert_array_equal(H, [[0, 5, 5, 4], [5, 0, 2, 3], [5, 2, 0, 3], [4, 3, 3, 0]])
    # The same name under another group is another group.
    H = taxonomy_distances({"a": ["x", "z"], "b": ["y", "z"]})
    assert H[0, 1] == 6
    assert taxonomy_distances({1: [], 2: []})[0, 1] == 2


@pytest.mark.parametrize(
    ("taxonomy", "classes", "error", "message"),
    [
        ([1, 2], None, OptionError, "taxonomy must be a mapping of each class to its groups"),
        ({"a": "x", "b": 1}, None, OptionError, "groups of class 'b' must be text or a list of te"),
        ({"a": "x"}, None, LabelError, "two classes at least"),
        ({"a": "x"}, ["a", "b"], LabelError, "taxonomy has no class 'b'; add it with its groups"),
    ],
)
def test_taxonomies_that_do_not_fit(taxonomy, classes, error, message):
    with pytest.raises(error, match=message):
        taxonomy_distances(taxonomy, classes=classes)


def test_a_local_search_can_miss_the_maximum():
    """The paper's public code starts one local search at the uniform point; it can stop there."""
    from scipy.optimize import minimize

    # Two far pairs: the uniform point is stationary between them.
    H = np.array([[0, 9.0, 1, 1], [9, 0, 1, 1], [1, 1, 0, 9], [1, 1, 9, 0]])
    local = minimize(
        lambda p: -p @ H**2 @ p, np.full(4, 0.25), method="SLSQP", bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1}, options={"ftol": 1e-9},
    )  # fmt: skip
    best = homophily_maximum(H)
    assert best.value == pytest.approx(81 / 2)
    assert -local.fun == pytest.approx(81 / 4 + 1 / 2)
    p = np.array([0.5, 0.5, 0, 0])
    assert p @ H**2 @ p / -local.fun > 1.9  # an "uncertainty" far above 1
    assert homophily_uncertainty(p[None], H)[0] == pytest.approx(1)
