"""The splits against loops written from the papers, in exact arithmetic where it matters."""

import itertools
import tracemalloc

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

import caveat
from caveat.exceptions import OptionError, UnknownNameError, UnsupportedPredictionError
from caveat.uncertainty import DECOMPOSITIONS

RNG = np.random.default_rng(3)
FOR_CLASSES = [name for name, entry in DECOMPOSITIONS.items() if entry.takes is caveat.Categorical]
# Generic rows, and rows that reach 0, 1 and the smallest probabilities people meet.
EXTREMES = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.5, 0.5],
    [1.0 - 1e-10, 1e-10, 0.0],
    [1e-300, 1.0, 1e-300],
    [1e-300, 1e-12, 1.0 - 1e-12],
    [1 / 3, 1 / 3, 1 / 3],
    [0.2, 0.3, 0.5],
]


def entropy(p):
    return -mpmath.fsum(x * mpmath.log(x) for x in p if x > 0)


def divergence(p, q):
    if any(x > 0 and y == 0 for x, y in zip(p, q, strict=True)):
        return mpmath.inf
    return mpmath.fsum(x * mpmath.log(x / y) for x, y in zip(p, q, strict=True) if x > 0)


def by_hand(method, members):
    """Return total, aleatoric and epistemic of one sample, literally as defined."""
    members = [[mpf(float(x)) for x in p] for p in members]
    count, classes = len(members), len(members[0])
    mean = [mpmath.fsum(p[c] for p in members) / count for c in range(classes)]
    spread = [mpmath.fsum((p[c] - mean[c]) ** 2 for p in members) / count for c in range(classes)]
    if method == "information":
        aleatoric = mpmath.fsum(entropy(p) for p in members) / count
        return entropy(mean), aleatoric, entropy(mean) - aleatoric
    if method == "pairwise_kl":
        aleatoric = mpmath.fsum(entropy(p) for p in members) / count
        pairs = list(itertools.permutations(range(count), 2))
        total = mpmath.fsum(divergence(members[i], members[j]) for i, j in pairs)
        epistemic = total / len(pairs) if pairs else mpf(0)
        return aleatoric + epistemic, aleatoric, epistemic
    if method == "variance":
        aleatoric = mpmath.fsum(x * (1 - x) for p in members for x in p) / count
        epistemic = mpmath.fsum(spread)
        return aleatoric + epistemic, aleatoric, epistemic
    assert method == "bias_variance", f"write down what {method} is, as the paper says it"
    impurity = mpmath.fsum(x * (1 - x) for x in mean)
    return impurity, impurity, mpmath.fsum(spread) / classes


@pytest.mark.parametrize("method", FOR_CLASSES)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_against_exact_arithmetic(method, count):
    with mpmath.workdps(700):  # 1e-300 next to 1 needs more than 300 digits
        extremes = list(itertools.product(EXTREMES, repeat=min(count, 2)))
        cases = [[*case, *([EXTREMES[-1]] * (count - len(case)))] for case in extremes]
        cases += RNG.dirichlet(np.full(3, 0.3), size=(50, count)).tolist()
        probabilities = np.array(cases).transpose(1, 0, 2)
        split = caveat.decompose(caveat.Categorical(probabilities), method)
        for i, case in enumerate(cases):
            exact = [float(x) for x in by_hand(method, case)]
            ours = [split.total[i], split.aleatoric[i], split.epistemic[i]]
            np.testing.assert_allclose(ours, exact, rtol=1e-13, atol=5e-15, err_msg=str(case))


@st.composite
def categoricals(draw):
    members, samples, classes = (
        draw(st.integers(1, 6)),
        draw(st.integers(1, 5)),
        draw(st.integers(2, 6)),
    )
    seed, sharpness = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.02, 0.3, 1.0, 50.0]))
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(classes, sharpness), size=(members, samples))


@pytest.mark.parametrize("method", FOR_CLASSES)
@given(p=categoricals())
def test_invariants_for_classes(method, p):
    split = caveat.decompose(caveat.Categorical(p), method)
    for part in (split.total, split.aleatoric, split.epistemic):
        assert part.shape == p.shape[1:2]
        assert (part >= 0).all()
    assert split.additive == DECOMPOSITIONS[method].additive
    if split.additive:
        np.testing.assert_allclose(split.total, split.aleatoric + split.epistemic, atol=1e-14)
    if len(p) == 1:
        np.testing.assert_allclose(split.epistemic, 0, atol=1e-15)
    rng = np.random.default_rng(0)
    for other in (p[rng.permutation(len(p))], p[..., rng.permutation(p.shape[-1])]):
        shuffled = caveat.decompose(caveat.Categorical(other), method)
        for name in ("total", "aleatoric", "epistemic"):
            np.testing.assert_allclose(
                getattr(shuffled, name), getattr(split, name), rtol=1e-10, atol=1e-13
            )


@pytest.mark.parametrize("method", FOR_CLASSES)
@given(p=categoricals(), copies=st.integers(2, 9))
def test_equal_members_know_the_same(method, p, copies):
    one = caveat.decompose(caveat.Categorical(p[0]), method)
    many = caveat.decompose(caveat.Categorical(np.repeat(p[:1], copies, axis=0)), method)
    np.testing.assert_allclose(many.epistemic, 0, atol=1e-13)
    np.testing.assert_allclose(many.aleatoric, one.aleatoric, rtol=1e-12, atol=1e-15)


@given(p=categoricals())
def test_what_the_splits_share(p):
    information, pairwise, variance, bias = (
        caveat.decompose(caveat.Categorical(p), method)
        for method in ("information", "pairwise_kl", "variance", "bias_variance")
    )
    np.testing.assert_allclose(pairwise.aleatoric, information.aleatoric, atol=1e-14)
    np.testing.assert_allclose(bias.aleatoric, variance.total, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(bias.epistemic * p.shape[-1], variance.epistemic, rtol=1e-12)
    # The divergence between two members is at least that from a member to their mean.
    assert (pairwise.epistemic >= information.epistemic - 1e-13).all()


def test_members_that_rule_each_other_out():
    split = caveat.decompose(caveat.Categorical([[[1.0, 0.0]], [[0.5, 0.5]]]), "pairwise_kl")
    assert split.epistemic[0] == split.total[0] == np.inf
    agreed = caveat.decompose(caveat.Categorical([[[1.0, 0.0]], [[1.0, 0.0]]]), "pairwise_kl")
    assert agreed.epistemic[0] == agreed.total[0] == 0


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 5), st.integers(1, 3))
def test_total_variance(seed, members, samples, targets):
    rng = np.random.default_rng(seed)
    shape = (members, samples, targets)
    mean, variance = rng.normal(size=shape), rng.gamma(1.0, size=shape)
    split = caveat.decompose(caveat.Gaussian(mean, variance))
    assert split.method == "total_variance"
    np.testing.assert_allclose(split.aleatoric, variance.mean(axis=0), rtol=1e-13)
    second = (mean**2 + variance).mean(axis=0) - mean.mean(axis=0) ** 2
    np.testing.assert_allclose(split.total, second, rtol=1e-10)
    np.testing.assert_allclose(split.total, split.aleatoric + split.epistemic, rtol=1e-14)
    assert (split.epistemic >= 0).all()
    if members == 1:
        assert (split.epistemic == 0).all()


class TestGaussianLogits:
    MEAN, VARIANCE = RNG.normal(size=(5, 20, 3)), RNG.gamma(1.0, size=(5, 20, 3))

    def binary(self, difference_mean, difference_variance):
        """The expected softmax of two classes by quadrature: its entropy."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(100)
        p = np.sum(
            weights / (1 + np.exp(-(difference_mean + np.sqrt(difference_variance) * nodes)))
        )
        p /= np.sqrt(2 * np.pi)
        return -p * np.log(p) - (1 - p) * np.log(1 - p)

    def test_against_quadrature(self):
        mean = np.array([[[1.0, 0.2]], [[0.4, -0.8]], [[2.0, 0.0]]])
        variance = np.array([[[0.5, 0.1]], [[0.3, 0.9]], [[1.0, 0.2]]])
        center = float(np.diff(mean.mean(axis=0)[0, ::-1])[0])
        aleatoric, epistemic = variance.mean(axis=0).sum(), mean.var(axis=0).sum()
        split = caveat.decompose(
            caveat.GaussianLogits(mean, variance), "gaussian_logits", draws=40_000, random_state=0
        )
        # A probability's mean over n draws strays by at most 1 / (2 sqrt n), opposite pairs by less;
        # the entropy's slope is the logit, which averaging only pulls towards 0. Four deviations.
        bound = 4 * abs(center) / (2 * np.sqrt(40_000))
        assert abs(split.aleatoric[0] - self.binary(center, aleatoric)) < bound
        assert abs(split.epistemic[0] - self.binary(center, epistemic)) < bound
        assert abs(split.total[0] - self.binary(center, aleatoric + epistemic)) < bound

    def test_without_draws_it_is_integrated(self):
        mean = np.array([[[1.0, 0.2]], [[0.4, -0.8]], [[2.0, 0.0]]])
        variance = np.array([[[0.5, 0.1]], [[0.3, 0.9]], [[1.0, 0.2]]])
        center = float(np.diff(mean.mean(axis=0)[0, ::-1])[0])
        aleatoric, epistemic = variance.mean(axis=0).sum(), mean.var(axis=0).sum()
        split = caveat.decompose(caveat.GaussianLogits(mean, variance), "gaussian_logits")
        assert split.aleatoric[0] == pytest.approx(self.binary(center, aleatoric), abs=1e-5)
        assert split.epistemic[0] == pytest.approx(self.binary(center, epistemic), abs=1e-5)
        total = self.binary(center, aleatoric + epistemic)
        assert split.total[0] == pytest.approx(total, abs=1e-5)

    def test_integrals_depend_on_neither_members_nor_rows_nor_classes(self):
        prediction = caveat.GaussianLogits(self.MEAN, self.VARIANCE)
        members, rows, classes = [3, 0, 4, 1, 2], [7, 3, 11], [2, 0, 1]
        other = caveat.GaussianLogits(
            self.MEAN[np.ix_(members, rows, classes)], self.VARIANCE[np.ix_(members, rows, classes)]
        )
        for method in ("gaussian_logits", "information"):
            split, shuffled = prediction.decompose(method), other.decompose(method)
            for name in ("total", "aleatoric", "epistemic"):
                np.testing.assert_allclose(
                    getattr(shuffled, name), getattr(split, name)[rows], rtol=1e-9
                )

    def test_one_member_is_not_zero(self):
        mean, variance = self.MEAN[:1], self.VARIANCE[:1]
        split = caveat.decompose(caveat.GaussianLogits(mean, variance), "gaussian_logits")
        p = np.exp(mean[0]) / np.exp(mean[0]).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(split.epistemic, -(p * np.log(p)).sum(axis=1), rtol=1e-12)
        assert (split.epistemic > 0).all()
        assert not split.additive

    @settings(max_examples=20)
    @given(st.integers(0, 1000), st.integers(1, 7))
    def test_invariants(self, seed, draws):
        prediction = caveat.GaussianLogits(self.MEAN, self.VARIANCE)
        split = caveat.decompose(prediction, "gaussian_logits", draws=draws, random_state=seed)
        rng = np.random.default_rng(seed)
        members, classes, rows = rng.permutation(5), rng.permutation(3), rng.permutation(20)
        other = caveat.GaussianLogits(
            self.MEAN[np.ix_(members, rows, classes)], self.VARIANCE[np.ix_(members, rows, classes)]
        )
        shuffled = caveat.decompose(other, "gaussian_logits", draws=draws, random_state=seed)
        for name in ("total", "aleatoric", "epistemic"):
            part = getattr(split, name)
            assert ((part >= 0) & (part <= np.log(3) + 1e-12)).all()
            np.testing.assert_allclose(getattr(shuffled, name), part[rows], rtol=1e-9)

    def test_extreme_logits_give_no_warning(self):
        prediction = caveat.GaussianLogits([[1e5, -1e5, 0.0]], [[0.0, 1e4, 1.0]])
        split = caveat.decompose(prediction, "gaussian_logits", random_state=0)
        assert split.epistemic[0] == 0

    @pytest.mark.parametrize("method", ["auto", *FOR_CLASSES])
    def test_methods_for_classes_sample_first(self, method):
        prediction = caveat.GaussianLogits(self.MEAN, self.VARIANCE)
        split = prediction.decompose(method, draws=30, random_state=1)
        expected = caveat.decompose(prediction.sample(30, random_state=1), method)
        assert split == expected
        expected = caveat.decompose(prediction.to_categorical(), method)
        assert prediction.decompose(method) == expected


def test_forwards():
    p, mean = RNG.dirichlet(np.ones(3), size=(2, 4)), RNG.normal(size=(2, 4, 1))
    for prediction in (caveat.Categorical(p), caveat.Gaussian(mean, 1.0)):
        assert prediction.decompose() == caveat.decompose(prediction)


def test_registry():
    assert list(DECOMPOSITIONS) == [
        "information", "pairwise_kl", "bias_variance", "variance", "gaussian_logits", "total_variance",
    ]  # fmt: skip
    assert len(DECOMPOSITIONS) == 6
    assert DECOMPOSITIONS["kwon"] is DECOMPOSITIONS["variance"]
    assert "nothing" not in DECOMPOSITIONS
    assert repr(DECOMPOSITIONS).startswith("<6 decompositions: information, ")
    with pytest.raises(
        UnknownNameError,
        match=r"^unknown decomposition 'infomation'; did you mean 'information'\? known are inf",
    ):
        caveat.decompose(caveat.Categorical([[0.5, 0.5]]), "infomation")
    with pytest.raises(UnknownNameError, match="unknown decomposition 'xyz'; known are"):
        DECOMPOSITIONS["xyz"]


@pytest.mark.parametrize(
    ("prediction", "method", "text"),
    [
        (caveat.Gaussian([1.0], 1.0), "information",
         "information splits a Categorical; got a Gaussian; pass a Categorical"),
        (caveat.Categorical([[0.5, 0.5]]), "total_variance", "splits a Gaussian; got a Categorical"),
        (caveat.GaussianLogits([[0.5, 0.5]], [[1, 1]]), "total_variance", "got a GaussianLogits"),
        (caveat.Categorical([[0.5, 0.5]]), "gaussian_logits", "splits a GaussianLogits"),
        (caveat.Quantiles([0.1, 0.9], [[1, 2]]), "auto", r"a Quantiles; convert.*to_gaussian\(level\)"),
        (caveat.Interval([1], [2], coverage=0.5), "total_variance", r"convert it with \.to_gaussian"),
        (caveat.ProbabilityInterval([[0, 0]], [[1, 1]]), "auto", r"convert it with \.to_categorical"),
        (np.ones((3, 2)), "auto", "a ndarray; pass a Categorical, a GaussianLogits or a Gaussian"),
    ],
)  # fmt: skip
def test_predictions_that_cannot_be_split(prediction, method, text):
    with pytest.raises(UnsupportedPredictionError, match=text):
        caveat.decompose(prediction, method)


def test_options_that_are_not_there():
    with pytest.raises(
        OptionError, match="information of a Categorical has no option draws; it takes none"
    ):
        caveat.decompose(caveat.Categorical([[0.5, 0.5]]), draws=10)
    logits = caveat.GaussianLogits([[0.5, 0.5]], [[1, 1]])
    with pytest.raises(OptionError, match="no option samples; it takes draws and random_state"):
        caveat.decompose(logits, "gaussian_logits", samples=10)


@pytest.mark.parametrize("method", [*FOR_CLASSES, "gaussian_logits", "total_variance"])
def test_no_second_array_of_the_inputs_size(method):
    shape = (40, 20_000, 5)
    p = RNG.dirichlet(np.ones(5), size=shape[:2])
    prediction = {
        "gaussian_logits": lambda: caveat.GaussianLogits(p, p),
        "total_variance": lambda: caveat.Gaussian(p, p),
    }.get(method, lambda: caveat.Categorical(p))()
    options = {"draws": 4} if method == "gaussian_logits" else {}
    tracemalloc.start()
    caveat.decompose(prediction, method, **options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < p.nbytes / 4


@pytest.mark.parametrize("name", [*FOR_CLASSES, "total_variance"])
def test_the_epistemic_part_of_one_member_is_shown_as_unknown(name):
    p = RNG.dirichlet(np.ones(4), (3, 50))
    mean = RNG.normal(size=(3, 50, 2))
    classes = name != "total_variance"
    several = caveat.Categorical(p) if classes else caveat.Gaussian(mean, 1.0)
    one = caveat.Categorical(p[:1]) if classes else caveat.Gaussian(mean[:1], 1.0)
    assert "unknown" not in repr(caveat.decompose(several, name))
    text = repr(caveat.decompose(one, name))
    assert "; the epistemic part is unknown, since there is one member" in text
    assert "epistemic 0" not in text
