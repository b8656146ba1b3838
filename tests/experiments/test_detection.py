"""Classes that are left out: known answers, brute force, resumption, bad input."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import caveat
from caveat.estimators import DeepEnsembleClassifier, MCDropoutClassifier
from caveat.exceptions import (
    FileFormatError,
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
    UnknownNameError,
)
from caveat.experiments import ClassDetection, Cost, class_detection
from caveat.experiments._detection import _ranks

X, Y = load_wine(return_X_y=True)
TRAIN, TEST = np.arange(178) % 3 > 0, np.arange(178) % 3 == 0
HELD = (X[TEST], Y[TEST])
FOREST = RandomForestClassifier(n_estimators=8, min_samples_leaf=5)


def entropy(p):
    return stats.entropy(p, axis=-1)


class Known:
    """Members whose disagreement and whose own doubt are what a function says of a sample.

    The first feature is the class; the model remembers which it was trained on.
    """

    seen: list = []  # noqa: RUF012 - shared by the copies on purpose

    def __init__(self, disagree=lambda new: new, doubt=lambda new: 0 * new):
        self.disagree, self.doubt = disagree, doubt

    def fit(self, X, y):
        self.known = np.unique(y)
        Known.seen.append((self.known.tolist(), len(y)))
        assert np.array_equal(np.unique(X[:, 0]), self.known)

    def predict_distribution(self, X):
        new = ~np.isin(X[:, 0], self.known)
        tilt = 0.45 * self.disagree(new).astype(float) * (1 - 0.9 * self.doubt(new))
        sure = 0.5 + 0.45 * (1 - self.doubt(new).astype(float))
        sure = np.where(self.disagree(new) > 0, 0.5, sure)
        first = np.stack([sure + tilt, 1 - sure - tilt], axis=1)
        second = np.stack([sure - tilt, 1 - sure + tilt], axis=1)
        rest = np.zeros((len(X), len(self.known) - 2))
        members = [np.concatenate([one, rest], axis=1) for one in (first, second)]
        return caveat.Categorical(np.array(members), classes=self.known)


def known_data(classes=4, each=6):
    y = np.repeat(np.arange(classes), each)
    return np.column_stack([y, np.arange(len(y))]).astype(float), y


class TestKnownAnswers:
    def areas(self, model):
        data = known_data()
        return class_detection(model, *data, test=data, repeats=2, random_state=0)

    def test_a_model_that_knows_what_it_does_not_know(self):
        result = self.areas(Known())
        assert result.auc.shape == (1, 2, 4, 3)
        np.testing.assert_array_equal(result.auc[..., 1], 1)
        # Each member is as sure of new samples as of others.
        np.testing.assert_array_equal(result.auc[..., 0], 0.5)

    def test_a_model_that_is_surest_of_what_is_new(self):
        result = self.areas(Known(disagree=lambda new: ~new))
        np.testing.assert_array_equal(result.auc[..., 1], 0)

    def test_a_model_that_cannot_tell(self):
        result = self.areas(Known(disagree=lambda new: np.ones_like(new)))
        np.testing.assert_array_equal(result.auc, 0.5)
        (mean,) = result.select(left_out="", uncertainty="epistemic")
        assert (mean.value, mean.std, mean.low, mean.high) == (0.5, 0, 0.5, 0.5)
        assert result.notes[1:] == tuple(
            f"{part} uncertainty by information is the same for all samples; its area is 0.5 there"
            for part in ("aleatoric", "epistemic", "total")
        )

    def test_doubt_is_aleatoric(self):
        model = Known(disagree=lambda new: np.zeros(len(new)), doubt=lambda new: new)
        result = self.areas(model)
        np.testing.assert_array_equal(result.auc[..., 0], 1)
        np.testing.assert_array_equal(result.auc[..., 1], 0.5)
        np.testing.assert_array_equal(result.auc[..., 2], 1)

    def test_the_class_is_not_seen_in_training(self):
        Known.seen.clear()
        self.areas(Known())
        expected = [([c for c in range(4) if c != out], 18) for out in range(4)] * 2
        assert Known.seen == expected

    def test_a_split_is_drawn_in_every_class(self):
        Known.seen.clear()
        data = known_data(each=10)
        result = class_detection(Known(), *data, repeats=2, random_state=0)
        assert [size for _, size in Known.seen] == [24] * 8  # two of ten of each class are held
        assert (result.samples, result.test_samples) == (32, 8)
        np.testing.assert_array_equal(result.auc[..., 1], 1)

    def test_divergences_may_be_infinite(self):
        class Sure(Known):
            def predict_distribution(self, X):
                new = ~np.isin(X[:, 0], self.known)
                first = np.zeros((2, len(X), len(self.known)))
                first[..., 0] = 1
                first[1, new] = np.eye(len(self.known))[1]
                return caveat.Categorical(first, classes=self.known)

        data = known_data()
        result = class_detection(
            Sure(), *data, test=data, decomposition="kl", repeats=1, random_state=0
        )
        np.testing.assert_array_equal(result.auc[..., 1], 1)
        assert result.decompositions == ("pairwise_kl",)

    def test_rounding_errors_are_no_order(self):
        """A doubt of 1e-17 here and there, beside a disagreement of 1, finds nothing."""

        class Noisy(Known):
            def predict_distribution(self, X):
                new = ~np.isin(X[:, 0], self.known)
                first = np.zeros((2, len(X), len(self.known)))
                first[..., 0] = 1 - 1e-16 * new
                first[..., 1] = 1e-17 * new
                first[1, ::2] = first[1, ::2, ::-1]
                return caveat.Categorical(first, classes=self.known)

        data = known_data()
        result = class_detection(
            Noisy(), *data, test=data, decomposition="variance", repeats=1, random_state=0
        )
        np.testing.assert_array_equal(result.auc[..., 0], 0.5)
        assert result.notes[1] == (
            "aleatoric uncertainty by variance is the same for all samples; its area is 0.5 there"
        )

    def test_a_small_uncertainty_by_itself_is_an_order(self):
        values = np.array([3e-20, 1e-20, 2e-20, 1e-20])
        np.testing.assert_array_equal(_ranks(values, 3e-20), [2, 0, 1, 0])
        np.testing.assert_array_equal(_ranks(values, 1.0), 0)
        np.testing.assert_array_equal(_ranks(np.array([np.inf, 1, np.inf, 0]), 1.0), [2, 1, 2, 0])


@pytest.mark.parametrize("decomposition", ["variance", "information"])
def test_trees_that_are_pure_have_no_aleatoric_order(decomposition):
    """Areas by scipy, of values that are rounded to 12 digits."""
    fits = []

    class Watched(BaggingClassifier):
        def fit(self, X, y):
            fits.append(self)
            return super().fit(X, y)

    held = (X[TEST], Y[TEST])
    result = class_detection(
        Watched(n_estimators=10), X[TRAIN], Y[TRAIN], test=held, decomposition=decomposition,
        repeats=2, random_state=0,
    )  # fmt: skip
    for place, fitted in enumerate(fits):
        repeat, left_out = divmod(place, 3)
        split = caveat.decompose(
            caveat.from_sklearn(fitted).predict_distribution(X[TEST]), decomposition
        )
        is_out = Y[TEST] == left_out
        for i, part in enumerate(("aleatoric", "epistemic", "total")):
            values = np.round(getattr(split, part), 12)
            pairs = is_out.sum() * (~is_out).sum()
            area = stats.mannwhitneyu(values[is_out], values[~is_out]).statistic / pairs
            assert result.auc[0, repeat, left_out, i] == pytest.approx(area, abs=1e-12)
    np.testing.assert_array_equal(result.auc[..., 0], 0.5)
    np.testing.assert_array_equal(result.auc[..., 1], result.auc[..., 2])
    assert result.notes[1:] == (
        f"aleatoric uncertainty by {decomposition} is the same for all samples; its area is 0.5 "
        "there",
    )


def test_against_brute_force():
    """Two models without randomness; entropies by scipy, areas by scikit-learn."""
    parts = [GaussianNB(), LinearDiscriminantAnalysis(), KNeighborsClassifier(30)]
    model = VotingClassifier([(str(i), part) for i, part in enumerate(parts)], voting="soft")
    result = class_detection(model, X[TRAIN], Y[TRAIN], test=HELD, repeats=1, random_state=0)
    for out in range(3):
        kept = TRAIN & (out != Y)
        p = np.array([part.fit(X[kept], Y[kept]).predict_proba(X[TEST]) for part in parts])
        total, aleatoric = entropy(p.mean(axis=0)), entropy(p).mean(axis=0)
        # A doubt of 1e-15 is no order beside one of 1.
        scores = np.round([aleatoric, total - aleatoric, total] / total.max(), 12)
        expected = [roc_auc_score(Y[TEST] == out, score) for score in scores]
        np.testing.assert_allclose(result.auc[0, 0, out], expected, atol=1e-3)
    assert result.classes == (0, 1, 2)
    assert result.cost.trainings == 3
    assert result.cost.steps is None


def test_means_and_intervals():
    auc = np.random.default_rng(0).random((2, 5, 3, 3))
    result = ClassDetection(("a", "b", "c"), ("information", "variance"), auc, confidence=0.9)
    assert result.repeats == 5
    (row,) = result.select(decomposition="variance", uncertainty="epistemic", left_out="")
    per_repeat = auc[1, :, :, 1].mean(axis=1)
    assert row.value == pytest.approx(per_repeat.mean())
    assert row.std == pytest.approx(per_repeat.std(ddof=1))
    expected = stats.t.interval(0.9, 4, per_repeat.mean(), stats.sem(per_repeat))
    assert (row.low, row.high) == pytest.approx(expected)
    (gap,) = result.select(decomposition="variance", uncertainty="epistemic - aleatoric")
    assert gap.value == pytest.approx((auc[1, :, :, 1] - auc[1, :, :, 0]).mean())
    (one,) = result.select(decomposition="information", uncertainty="total", left_out="b")
    assert one.value == pytest.approx(auc[0, :, 1, 2].mean())
    assert len(result.rows) == 2 * (4 + 9)
    assert all(row.low >= 0 and row.high <= 1 for row in result.rows if "-" not in row.uncertainty)


def test_one_repeat_has_no_interval():
    result = ClassDetection(("a", "b"), ("information",), [[[[0.6, 0.9, 0.8], [0.5, 0.8, 0.7]]]])
    assert all(np.isnan([row.std, row.low, row.high]).all() for row in result.rows)
    text = repr(result)
    assert "nan" not in text.lower()
    assert "0.850" in text
    assert "repeats" not in text


@pytest.fixture(scope="module")
def forest():
    return class_detection(
        FOREST, X, Y, repeats=2, decomposition=["it", "bv"], random_state=5, n_jobs=1
    )


class TestSameNumbers:
    def test_two_processes(self, forest, capsys):
        other = class_detection(
            FOREST, X, Y, repeats=2, decomposition=["it", "bv"], random_state=5, n_jobs=2,
            progress=True,
        )  # fmt: skip
        np.testing.assert_array_equal(other.auc, forest.auc)
        assert "6/6" in capsys.readouterr().err

    def test_other_seeds_differ(self, forest):
        other = class_detection(FOREST, X, Y, repeats=2, random_state=6)
        assert not np.array_equal(other.auc[0], forest.auc[0])
        assert not np.array_equal(forest.auc[0, 0], forest.auc[0, 1])

    def test_several_splits_of_one_training(self, forest):
        alone = class_detection(FOREST, X, Y, repeats=2, decomposition="bv", random_state=5)
        np.testing.assert_array_equal(alone.auc[0], forest.auc[1])
        assert forest.decompositions == ("information", "bias_variance")

    def test_frames_lists_and_names_of_classes(self, forest):
        names = np.array(["x", "y", "z"])[Y]
        frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(13)])
        other = class_detection(FOREST, frame, pd.Series(names), repeats=2, random_state=5)
        np.testing.assert_array_equal(other.auc[0], forest.auc[0])
        assert other.classes == ("x", "y", "z")
        listed = class_detection(FOREST, X.tolist(), Y.tolist(), repeats=2, random_state=5)
        np.testing.assert_array_equal(listed.auc[0], forest.auc[0])

    def test_a_pipeline_is_seeded_within(self):
        model = make_pipeline(StandardScaler(), FOREST)
        first, second = (class_detection(model, X, Y, repeats=1, random_state=1) for _ in range(2))
        np.testing.assert_array_equal(first.auc, second.auc)

    def test_a_resumed_run(self, forest, tmp_path):
        options = {"repeats": 2, "decomposition": ["it", "bv"], "random_state": 5}
        folder = tmp_path / "run"
        with pytest.raises(KeyboardInterrupt):
            class_detection(Killed(after=3), X, Y, checkpoint=folder, **options)
        done = sorted((folder / "conditions").iterdir())
        assert len(done) == 3
        times = [path.stat().st_mtime_ns for path in done]
        # The same settings and name: only what kills it is gone.
        Killed.left = 100
        result = class_detection(Killed(after=3), X, Y, checkpoint=folder, **options)
        np.testing.assert_array_equal(result.auc, forest.auc)
        assert [path.stat().st_mtime_ns for path in done] == times
        again = class_detection(Killed(after=3), X, Y, checkpoint=folder, **options)
        np.testing.assert_array_equal(again.auc, forest.auc)
        with pytest.raises(OptionError, match="belongs to another experiment"):
            class_detection(Killed(after=3), X[:, :5], Y, checkpoint=folder, **options)
        done[0].write_text("{}")
        with pytest.raises(FileFormatError, match="cannot be read; delete it to run its condition"):
            class_detection(Killed(after=3), X, Y, checkpoint=folder, **options)

    def test_a_checkpoint_needs_a_seed(self, tmp_path):
        for state in (None, True, np.random.default_rng(0)):
            with pytest.raises(OptionError, match="checkpoint needs random_state to be an integer"):
                class_detection(FOREST, X, Y, checkpoint=tmp_path, random_state=state)


class Killed(RandomForestClassifier):
    """A forest whose process ends after some fits."""

    left = None

    def __init__(self, after=3, n_estimators=8, min_samples_leaf=5, random_state=None):
        super().__init__(
            n_estimators=n_estimators, min_samples_leaf=min_samples_leaf, random_state=random_state
        )
        self.after = after

    def fit(self, X, y):
        if Killed.left is None:
            Killed.left = self.after
        if Killed.left == 0:
            raise KeyboardInterrupt
        Killed.left -= 1
        return super().fit(X, y)


class TestNetworks:
    SETTINGS = {"hidden": (8,), "epochs": 4, "device": "cpu"}  # noqa: RUF012

    def test_lock_step_equals_one_after_another(self, tmp_path):
        model = DeepEnsembleClassifier(members=2, **self.SETTINGS)
        options = {"test": HELD, "repeats": 2, "random_state": 3}
        result = class_detection(
            model, X[TRAIN], Y[TRAIN], checkpoint=tmp_path / "nets", progress=True, **options
        )
        rng = np.random.default_rng(3)
        for repeat in range(2):
            for out in range(3):
                seed = int(rng.integers(2**31))
                kept = TRAIN & (out != Y)
                one = DeepEnsembleClassifier(members=2, random_state=seed, **self.SETTINGS)
                split = one.fit(X[kept], Y[kept]).predict_distribution(X[TEST]).decompose()
                expected = roc_auc_score(Y[TEST] == out, split.epistemic)
                assert result.auc[0, repeat, out, 1] == pytest.approx(expected, abs=0.01)
        assert result.cost.trainings == 12
        # Three classes of about 40: two batches of 64 in each of four epochs.
        assert result.cost.steps == 12 * 4 * 2
        inside = class_detection(
            make_pipeline(StandardScaler(), model), X[TRAIN], Y[TRAIN], **options
        )
        assert (inside.cost.trainings, inside.cost.steps) == (12, 12 * 4 * 2)
        again = class_detection(model, X[TRAIN], Y[TRAIN], checkpoint=tmp_path / "nets", **options)
        np.testing.assert_array_equal(again.auc, result.auc)
        for path in (tmp_path / "nets" / "conditions").iterdir():
            path.unlink()
        resumed = class_detection(
            model, X[TRAIN], Y[TRAIN], checkpoint=tmp_path / "nets", **options
        )
        np.testing.assert_array_equal(resumed.auc, result.auc)

    def test_gaussian_logits(self):
        model = MCDropoutClassifier(head="gaussian-logits", passes=3, **self.SETTINGS)
        found = [
            class_detection(
                model, X, Y, decomposition=["gl", "it"], repeats=1, random_state=0
            )
            for _ in range(2)
        ]  # fmt: skip
        assert found[0].decompositions == ("gaussian_logits", "information")
        np.testing.assert_array_equal(found[0].auc, found[1].auc)


def test_one_member_cannot_disagree():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    result = class_detection(model, X, Y, repeats=1, random_state=0)
    np.testing.assert_array_equal(result.auc[..., 1], 0.5)
    np.testing.assert_array_equal(result.auc[..., 0], result.auc[..., 2])
    assert result.notes[1] == (
        "epistemic uncertainty by information is the same for all samples: the model has one "
        "member, which cannot disagree with itself; its area is 0.5 there"
    )


def test_what_is_constant_in_some_trainings():
    class Blind(Known):
        def predict_distribution(self, X):
            prediction = super().predict_distribution(X)
            return prediction if 0 in self.known else prediction.take([0] * len(X))

    data = known_data()
    result = class_detection(Blind(), *data, test=data, repeats=2, random_state=0)
    np.testing.assert_array_equal(result.auc[0, :, :, 1], [[0.5, 1, 1, 1]] * 2)
    assert result.notes[2] == (
        "epistemic uncertainty by information is the same for all samples in 2 of 8 trainings; its "
        "area is 0.5 there"
    )


class TestText:
    def test_json(self, forest):
        text = forest.to_json()
        back = ClassDetection.from_json(text)
        assert back.to_json() == text
        np.testing.assert_array_equal(back.auc, forest.auc)
        assert back.rows == forest.rows
        assert isinstance(back.cost, Cost)
        assert (back.classes, back.notes) == (forest.classes, forest.notes)

    @pytest.mark.parametrize("text", ["", "[1]", "{}", None, '{"format": "other"}'])
    def test_other_json(self, text):
        with pytest.raises(FileFormatError, match=re.escape("not what ClassDetection.to_json")):
            ClassDetection.from_json(text)

    def test_newer_json(self, forest):
        newer = json.loads(forest.to_json()) | {"version": 2}
        with pytest.raises(FileFormatError, match="newer version of caveat"):
            ClassDetection.from_json(json.dumps(newer))

    def test_frame(self, forest):
        frame = forest.to_frame()
        assert len(frame) == len(forest.rows) == 2 * (4 + 9)
        assert frame["value"].between(-1, 1).all()

    def test_tables(self, forest):
        text = repr(forest)
        assert text.count("mean over classes") == 2
        assert "information" in text
        assert "bias_variance" in text
        assert "renormalize" in text
        assert max(map(len, text.split("\n")[:8])) <= 120

    def test_html_is_escaped(self):
        auc = np.full((1, 2, 2, 3), 0.5)
        html = ClassDetection(("<b>", "b"), ("information",), auc, model="<i>")._repr_html_()
        assert "&lt;b&gt;" in html
        assert "&lt;i&gt;" in html
        assert "<b>" not in html

    def test_many_classes(self):
        auc = np.random.default_rng(0).random((1, 2, 60, 3))
        text = repr(ClassDetection(tuple(range(60)), ("information",), auc))
        assert "and 21 classes: to_frame()" in text
        assert len(text.splitlines()) < 50


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"y": Y > 0}, LabelError, "y has 2 classes; without one of them two must be left"),
            ({"y": np.zeros(178)}, InvalidValueError, "y is 0.0 in all 178 samples"),
            ({"y": Y[:-1]}, ShapeError, "X has 178 samples and y 177"),
            ({"y": np.r_[Y[:-1], 9]}, LabelError, "class 9 has one sample, and both training"),
            ({"repeats": 0}, OptionError, "repeats must be a whole number of at least 1; got 0"),
            ({"repeats": True}, OptionError, "repeats must be a whole number"),
            ({"confidence": 1}, OptionError, "confidence must be a number strictly between"),
            ({"decomposition": []}, OptionError, "decomposition is an empty list"),
            ({"decomposition": "total_variance"}, OptionError, "'total_variance' splits numbers"),
            ({"decomposition": ["it", "gl"]}, OptionError, "needs logits with a learned spr"),
            ({"decomposition": "infomation"}, UnknownNameError, "did you mean 'information'"),
            ({"model": RandomForestRegressor()}, OptionError, "model must be a classifier; got R"),
            ({"model": RandomForestClassifier}, OptionError, "model is the class RandomForestC"),
            ({"model": 3}, OptionError, "model must have fit"),
            ({"test": X}, OptionError, "test must be a pair (X, y) of samples; got a ndarray"),
            ({"test": (X[:, 1:], Y)}, ShapeError, "samples of test have shape (12,), those of X"),
            (
                {"test": (X, Y + 1)},
                LabelError,
                "test has classes that are not among those to learn from: 3",
            ),
            ({"test": (X[Y > 0], Y[Y > 0])}, LabelError, "test has no sample of class 0, which"),
            ({"test": (X[1:], Y)}, ShapeError, "X of test has 177 samples and y of test 178"),
        ],
    )
    def test_is_refused_before_training(self, arguments, error, message, monkeypatch):
        def trained(self, X, y):
            raise AssertionError("trained")

        monkeypatch.setattr(RandomForestClassifier, "fit", trained)
        given = {"model": FOREST, "X": X, "y": Y, **arguments}
        with pytest.raises(error, match=re.escape(message)):
            class_detection(given.pop("model"), given.pop("X"), given.pop("y"), **given)

    def test_areas_of_another_shape(self):
        with pytest.raises(ShapeError, match="for 1 decompositions and 2 classes; got"):
            ClassDetection(("a", "b"), ("information",), np.zeros((1, 2, 3, 3)))
