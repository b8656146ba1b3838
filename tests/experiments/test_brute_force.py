"""The whole experiment seen from outside: what models are given, and the error written out again.

Nothing of the package is used to check it but the prediction of a fitted model: the samples, the
labels and the seeds are those that reached `fit` and `score`.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import caveat
from caveat.experiments import Protocol

SIZES, NOISE, REPEATS = (0.02, 0.1, 0.4, 1.0), (0.0, 0.3, 0.6, 1.0), 3
PROTOCOL = Protocol(sizes=SIZES, noise=NOISE, repeats=REPEATS)
LOG: list = []


class SeenForest(RandomForestClassifier):
    """A forest that notes what it is given."""

    def fit(self, X, y):
        LOG.append(("fit", X[:, -1].astype(int), y.copy(), self.random_state))
        return super().fit(X, y)

    def predict_distribution(self, X):
        LOG.append(("predict", X[:, -1].astype(int)))
        return caveat.Categorical(
            np.stack([tree.predict_proba(X) for tree in self.estimators_]), classes=self.classes_
        )


class SeenEnsemble(caveat.EnsembleClassifier):
    """Networks that note what they are given."""

    def fit(self, X, y):
        LOG.append(("fit", X[:, -1].astype(int), y.copy(), self.random_state))
        return super().fit(X, y)

    def predict_distribution(self, X):
        LOG.append(("predict", X[:, -1].astype(int)))
        return super().predict_distribution(X)


class SeenRegressor(RandomForestRegressor):
    def fit(self, X, y):
        LOG.append(("fit", X[:, -1].astype(int), y.copy(), self.random_state))
        return super().fit(X, y)

    def predict_distribution(self, X):
        LOG.append(("predict", X[:, -1].astype(int)))
        means = np.stack([tree.predict(X) for tree in self.estimators_])[..., None]
        return caveat.Gaussian(means, np.ones_like(means))


def numbered(X):
    """The last feature is the number of the row."""
    return np.column_stack([X, np.arange(len(X))])


def seen_score(y_true, y_pred):
    LOG.append(("score", np.array(y_true)))
    return float(np.mean(y_true == y_pred))


def trainings(log):
    """Cut the log into trainings; each begins with a fit, and its first score is of the test."""
    found = []
    for event in log:
        if event[0] == "fit":
            found.append({"rows": event[1], "y": event[2], "seed": event[3]})
        elif event[0] == "predict":
            found[-1].setdefault("test", event[1])
        else:
            found[-1].setdefault("y_test", event[1])
    sizes, noisy = len(SIZES) * REPEATS, len(NOISE) * REPEATS
    assert len(found) == sizes + noisy
    return (
        [found[i : i + len(SIZES)] for i in range(0, sizes, len(SIZES))],
        [found[i : i + len(NOISE)] for i in range(sizes, sizes + noisy, len(NOISE))],
    )


def ranks(values):
    """Ranks by counting; ties have the mean of theirs."""
    return np.array([np.sum(values < v) + (np.sum(values == v) - 1) / 2 for v in values])


def written_out(sweeps, weights, spearman):
    """The error as the paper defines it, of curves[sweep][repeat] = (score, u_a, u_e)."""
    rho = np.zeros((4, len(sweeps["size"])))
    means = {name: np.mean(curves, axis=0) for name, curves in sweeps.items()}
    of_mean = np.zeros(4)
    for i, (sweep, part) in enumerate([("noise", 1), ("size", 2), ("size", 1), ("noise", 2)]):
        for r, curve in enumerate([*sweeps[sweep], means[sweep]]):
            a, b = curve[part], -curve[0]
            if spearman:
                a, b = ranks(a), ranks(b)
            value = np.corrcoef(a, b)[0, 1]
            if r < len(sweeps[sweep]):
                rho[i, r] = value
            else:
                of_mean[i] = value
    ideal, share = np.array([1.0, 1.0, 0.0, 0.0]), np.array(weights) / np.sum(weights)
    return share @ np.abs(rho - ideal[:, None]), float(share @ np.abs(of_mean - ideal)), rho


FOREST = SeenForest(n_estimators=7, max_depth=3, min_samples_leaf=2)
NETWORKS = SeenEnsemble(
    caveat.MAPClassifier(epochs=2, hidden=(4,), device="cpu", learning_rate=0.05), members=3
)


@pytest.mark.parametrize("model", [FOREST, NETWORKS], ids=["forest", "networks"])
def test_classification(model):
    X, y = load_wine(return_X_y=True)
    X = numbered(X)
    LOG.clear()
    result = caveat.disentanglement_error(
        model, X, y, protocol=PROTOCOL, score=seen_score, random_state=11, n_jobs=1
    )
    sizes, noise = trainings(list(LOG))
    held = sizes[0][0]["test"]
    train = np.setdiff1d(np.arange(178), held)
    assert len(held) == 36
    shares = np.bincount(y) / 178
    assert (np.abs(np.bincount(y[held]) - 36 * shares) < 1).all()
    for repeat in sizes:
        check_sizes(repeat, train, held, y)
    for repeat in noise:
        check_noise(repeat, train, held, y)
    smallest = [frozenset(repeat[1]["rows"].tolist()) for repeat in sizes]
    assert len(set(smallest)) == REPEATS, "each repeat has other subsets"
    seeds = [one["seed"] for sweep in (sizes, noise) for repeat in sweep for one in repeat]
    assert len(set(seeds)) == len(seeds)

    curves = {
        name: [
            np.array([measured(model, one, X, level, name) for one, level in pairs]).T
            for pairs in (list(zip(repeat, levels, strict=True)) for repeat in sweep)
        ]
        for name, sweep, levels in (("size", sizes, SIZES), ("noise", noise, NOISE))
    }
    for weights, spearman in (((1, 1, 1, 1), False), ((3, 0, 1, 2), False), ((1, 1, 1, 1), True)):
        errors, of_mean, rho = written_out(curves, weights, spearman)
        ude = result.error("spearman" if spearman else "pearson", weights=weights)
        np.testing.assert_allclose(ude.per_repeat, errors, atol=1e-9)
        assert ude.value == pytest.approx(errors.mean(), abs=1e-9)
        assert ude.std == pytest.approx(errors.std(ddof=1), abs=1e-9)
        assert ude.of_mean_curves == pytest.approx(of_mean, abs=1e-9)
        found = [term.correlation for term in ude.terms.values()]
        np.testing.assert_allclose(found, rho.mean(axis=1), atol=1e-9)
        half = 4.302652729749464 * errors.std(ddof=1) / np.sqrt(3)  # t with two degrees of freedom
        ends = max(errors.mean() - half, 0.0), errors.mean() + half
        assert (ude.low, ude.high) == pytest.approx(ends, abs=1e-9)


def check_sizes(repeat, train, held, y):
    before = set()
    for one, level in zip(repeat, SIZES, strict=True):
        rows = one["rows"]
        count = max(3, round(level * len(train)))
        assert len(rows) == len(set(rows)) == count
        assert set(rows) <= set(train)
        assert before <= set(rows)
        np.testing.assert_array_equal(one["y"], y[rows])
        assert set(one["y"]) == {0, 1, 2}
        np.testing.assert_array_equal(one["test"], held)
        np.testing.assert_array_equal(one["y_test"], y[held])
        before = set(rows)


def check_noise(repeat, train, held, y):
    """Labels of a share are permuted among themselves; the others stay."""
    for part, rows in (("y", train), ("y_test", held)):
        for one, level in zip(repeat, NOISE, strict=True):
            np.testing.assert_array_equal(one["rows"], train)
            np.testing.assert_array_equal(np.bincount(one[part]), np.bincount(y[rows]))
            changed = (one[part] != y[rows]).mean()
            # Of a share q that is permuted, about 1 - sum of squared class shares are other labels.
            expected = level * (1 - np.sum((np.bincount(y[rows]) / len(rows)) ** 2))
            assert abs(changed - expected) < 5 * np.sqrt(0.25 / len(rows))
            assert (changed == 0) == (level == 0)
            assert round(changed * len(rows)) <= round(level * len(rows))


def measured(model, one, X, level, sweep):
    """Train again, and return accuracy, mean of entropies, entropy of the mean less that."""
    fresh = clone(model).set_params(random_state=one["seed"])
    if model is NETWORKS:
        epochs = round(2 / level) if sweep == "size" else 2
        fresh.set_params(estimator__epochs=epochs, estimator__random_state=one["seed"])
    fresh.fit(X[one["rows"]], one["y"])
    p = np.asarray(fresh.predict_distribution(X[one["test"]]).probabilities)
    assert p.shape == (len(p), 36, 3)
    accuracy = np.mean(p.mean(axis=0).argmax(axis=1) == one["y_test"])
    aleatoric = entropy(p).mean()
    return accuracy, aleatoric, entropy(p.mean(axis=0)).mean() - aleatoric


def entropy(p):
    return -np.sum(p * np.log(np.where(p > 0, p, 1)), axis=-1)


def test_regression():
    X, y = load_diabetes(return_X_y=True)
    X, y = numbered(X[:250]), y[:250]

    def score(y_true, y_pred):
        LOG.append(("score", np.array(y_true)))
        return -float(np.mean(np.abs(y_true - y_pred)))

    model = SeenRegressor(n_estimators=5, max_depth=4)
    LOG.clear()
    options = {"protocol": PROTOCOL, "random_state": 4, "n_jobs": 1}
    own = caveat.disentanglement_error(model, X, y, score=score, **options)
    sizes, noise = trainings(list(LOG))
    held = sizes[0][0]["test"]
    train = np.setdiff1d(np.arange(250), held)
    assert len(held) == 50
    for repeat in sizes:
        before = set()
        for one, level in zip(repeat, SIZES, strict=True):
            assert len(set(one["rows"])) == round(level * 200)
            assert before <= set(one["rows"]) <= set(train)
            np.testing.assert_array_equal(one["y"], y[one["rows"]])
            if level == 0.1:
                # Two of twenty in each tenth of the target.
                place = np.searchsorted(np.sort(y[train])[20::20], one["y"], side="right")
                assert np.abs(np.bincount(place, minlength=10) - 2).max() <= 1
            before = set(one["rows"])
    for repeat in noise:
        for part, rows in (("y", train), ("y_test", held)):
            for one, level in zip(repeat, NOISE, strict=True):
                np.testing.assert_array_equal(np.sort(one[part]), np.sort(y[rows]))
                touched = np.sum(one[part] != y[rows])
                # Fixed points and equal numbers: a handful at most.
                assert level * len(rows) - 8 <= touched <= level * len(rows)
    # The score of the library is one less the error over that of the median learned from.
    plain = caveat.disentanglement_error(model, X, y, **options)
    by_median = np.abs(y[held] - np.median(y[train])).mean()
    for kind in ("size", "noise"):
        np.testing.assert_allclose(plain.curve(kind).score, 1 + own.curve(kind).score / by_median)
    # Scaling a score does not change a correlation.
    assert plain.error().value == pytest.approx(own.error().value)


def test_a_condition_is_the_same_whatever_else_is_swept():
    X, y = load_wine(return_X_y=True)
    model = RandomForestClassifier(n_estimators=5, max_depth=3, min_samples_leaf=2)

    def run(protocol, seed=11):
        return caveat.disentanglement_error(model, X, y, protocol=protocol, random_state=seed)

    whole = run(PROTOCOL)
    part = run(Protocol(sizes=(0.1, 1.0), noise=(0.3, 1.0), repeats=2))
    for kind, places in (("size", [1, 3]), ("noise", [1, 3])):
        for name in ("score", "aleatoric", "epistemic"):
            found = getattr(whole.curve(kind), name)
            np.testing.assert_array_equal(getattr(part.curve(kind), name), found[:2, places])
            # Repeats and seeds differ.
            assert not np.array_equal(found[0], found[1])
    assert not np.array_equal(
        run(PROTOCOL, 12).curve("size").aleatoric, whole.curve("size").aleatoric
    )
