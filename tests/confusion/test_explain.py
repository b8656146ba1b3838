"""Kinds of uncertainty: the paper's criterion, candidates under several models, neighbors."""

import numpy as np
import pytest

import caveat
from caveat.confusion import Confusion
from caveat.exceptions import LabelError, OptionError, ShapeError, UnsupportedPredictionError

H = np.array([[0, 1.0, 4], [1, 0, 4], [4, 4, 0]])
P = np.array([[0.97, 0.02, 0.01], [0.5, 0.5, 0.0], [0.8, 0.0, 0.2], [0.4, 0.1, 0.5], [1, 0, 0]])


def test_kinds_are_homophily_against_the_equidistant_case():
    result = caveat.explain_uncertainty(P, H)
    gini, homophily = caveat.measure(P, "gini"), caveat.measure(P, "homophily", H=H)
    np.testing.assert_allclose(result.geometric, gini)
    np.testing.assert_allclose(result.homophily, homophily)
    np.testing.assert_allclose(result.separation[:4], (homophily / np.where(gini, gini, 1))[:4])
    assert np.isnan(result.separation[4])
    assert result.kinds.tolist() == ["sure", "close classes", "candidate", "candidate", "sure"]
    assert result.candidates().tolist() == [3, 2]
    assert result.counts() == {
        Confusion.SURE: 2, Confusion.NEAR: 1, Confusion.DISTANT: 0, Confusion.CANDIDATE: 2,
    }  # fmt: skip


def test_equidistant_classes_are_never_distant():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 500)
    result = caveat.explain_uncertainty(p, 1 - np.eye(4))
    np.testing.assert_allclose(result.separation, 1)
    everything = caveat.explain_uncertainty(p, np.zeros((4, 4)))
    assert not everything.homophily.any()
    assert set(everything.kinds) <= {"sure", "close classes"}


def test_a_candidate_needs_every_model():
    other = P.copy()
    other[3] = [0.5, 0.5, 0.0]
    for both in ([P, other], {"svm": caveat.Categorical(P), "forest": other}):
        result = caveat.explain_uncertainty(both, H)
        assert result.models == 2
        assert result.kinds[2] == "candidate"
        assert result.kinds[3] == "close classes"
        assert "all 2 models hesitate between distant" in str(result.verdict())
    lower = caveat.explain_uncertainty(P, H, suspicious=0.7)
    assert lower.kinds[2] == "distant classes"
    assert "the model hesitates between distant" in str(lower.verdict())


def test_which_classes():
    p = caveat.Categorical([[0.1, 0.45, 0.05, 0.4], [0.4, 0.28, 0.0, 0.32]], classes=list("abcd"))
    result = caveat.explain_uncertainty(p, 1 - np.eye(4))
    assert result.hesitates_between(0) == ["b", "d"]
    assert result.hesitates_between(1) == ["a", "d", "b"]
    rows = {(row.first, row.second): row for row in result.rows}
    assert rows["b", "d"].samples == 1
    assert rows["b", "d"].distance == 1
    frame = result.to_samples()
    assert frame["second"].tolist() == ["d", "d"]
    assert frame["confused"].tolist() == [2, 3]


def test_an_unknown_class_is_found_without_labels():
    """Training knows two close classes and a distant one; new samples lie between the distant."""
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0], [1.5, 0], [12, 0]])
    y = np.repeat([0, 1, 2], 200)
    X = centers[y] + rng.normal(size=(600, 2))
    distances = caveat.class_distances(X, y)

    def posterior(points):
        squares = ((points[:, None] - centers) ** 2).sum(axis=2) / 8  # an underfitted model
        p = np.exp(-(squares - squares.min(axis=1, keepdims=True)))
        return p / p.sum(axis=1, keepdims=True)

    new = np.vstack([X[::6], [[6.6, 0], [6.8, 0]]])
    result = caveat.explain_uncertainty(posterior(new), distances, new, X_train=X, y_train=y)
    assert set(result.candidates()) >= {100, 101}
    assert (result.unlike[[100, 101]] > 0.99).all()
    assert np.median(result.unlike[:100]) < 0.6
    assert result.neighbor_labels.shape == (102, 5)
    assert (result.neighbors[:100, 0] == np.arange(0, 600, 6)).all()  # the sample itself is there
    assert "farther from their neighbors than 95 %" in str(result.verdict())
    assert "nearest" in result.to_samples()
    alone = caveat.explain_uncertainty(posterior(new), distances, new, neighbors=1)
    assert (alone.neighbors[:, 0] != np.arange(102)).all()
    assert alone.neighbor_labels is None


def test_what_is_shown(tmp_path):
    result = caveat.explain_uncertainty(P, H)
    assert "They hesitate most often between" in repr(result)
    assert "close classes" in result._repr_html_()
    page = result.report(tmp_path / "e.html").read_text(encoding="utf-8")
    assert "Candidates: outliers" in page
    sure = caveat.explain_uncertainty(P[:1], H)
    assert len(sure.verdict()) == 1
    assert "Candidates: outliers" not in sure.report(tmp_path / "s.html").read_text(
        encoding="utf-8"
    )
    with_x = caveat.explain_uncertainty(P, H, np.arange(10.0).reshape(5, 2), neighbors=2)
    assert "%" in with_x.report(tmp_path / "x.html").read_text(encoding="utf-8")


def test_kinds_of_mistakes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 300)
    y = (rng.random((300, 1)) > p.cumsum(axis=1)).sum(axis=1)
    named = caveat.Categorical(p, classes=["cat", "dog", "ship"])
    result = caveat.explain_uncertainty(named, H, y=named.classes[y])
    wrong = p.argmax(axis=1) != y
    by_kind = {row.kind: row for row in result.mistakes}
    *kinds, last = result.mistakes
    assert last.kind == "all predictions"
    assert (last.samples, last.wrong) == (300, wrong.sum())
    assert sum(row.wrong for row in kinds) == last.wrong
    sure = result.kinds == "sure"
    assert by_kind["sure"].share == pytest.approx(wrong[sure].mean())
    # Wilson's interval of independent samples, from scipy.
    from scipy.stats import binomtest

    interval = binomtest(int(wrong[sure].sum()), int(sure.sum())).proportion_ci(method="wilson")
    assert (by_kind["sure"].low, by_kind["sure"].high) == pytest.approx(tuple(interval))
    # A mistake is distant if a prediction torn between the two classes would be.
    torn = caveat.explain_uncertainty([[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]], H)
    assert (torn.separation > 1).tolist() == [False, True, True]
    ship = (y == 2) | (p.argmax(axis=1) == 2)
    assert last.distant == (wrong & ship).sum()
    assert last.close == (wrong & ~ship).sum()
    said = str(result.verdict())
    assert f"{100 * last.share:.0f} % of the predictions are wrong (" in said
    assert "of the mistakes are between distant classes." in said
    assert result.tables()[1][0] == "Mistakes"
    (_, header, body) = result.tables()[0]
    assert header[3] == "really wrong"
    low, high = (100 * end for end in interval)
    assert body[0][3] == f"{100 * wrong[sure].mean():.2g} % ({low:.3g} to {high:.3g})"
    some = np.flatnonzero(np.arange(300) % 3 == 0)
    part = result.with_truth(named.classes[y[some]], samples=some)
    assert part.mistakes == caveat.explain_uncertainty(p[some], H, y=y[some]).mistakes
    assert "100 predictions with a known true class are wrong" in str(part.verdict())
    with pytest.raises(ShapeError, match="y has 300 samples, the prediction has 100"):
        result.with_truth(named.classes[y], samples=some)


def test_mistakes_of_clusters_and_without_any(tmp_path):
    y = np.tile(P.argmax(axis=1), 20)
    many = np.tile(P, (20, 1))
    right = caveat.explain_uncertainty(many, H, y=y)
    assert right.mistakes[-1].wrong == 0
    assert "0 % of the predictions are wrong." in str(right.verdict())
    y[:25] = 1
    alone = caveat.explain_uncertainty(many, H, y=y)
    together = caveat.explain_uncertainty(many, H, y=y, cluster=np.repeat(np.arange(10), 10))
    assert together.mistakes[-1].high > alone.mistakes[-1].high + 0.05
    same = caveat.explain_uncertainty(many, np.zeros((3, 3)), y=y)
    assert same.mistakes[-1].distant == 0
    page = together.report(tmp_path / "m.html").read_text(encoding="utf-8")
    assert "share that is wrong" in page
    assert caveat.explain_uncertainty(many, H).mistakes == ()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: caveat.explain_uncertainty(caveat.Gaussian([0.0], [1.0]), H),
         UnsupportedPredictionError, "predictions of classes"),
        (lambda: caveat.explain_uncertainty([P, P[:2]], H), ShapeError, "predict 5 and 2 samples"),
        (lambda: caveat.explain_uncertainty(
            [caveat.Categorical(P), caveat.Categorical(P, classes=[2, 1, 0])], H),
         LabelError, "different classes, or another order"),
        (lambda: caveat.explain_uncertainty(P, H[:2, :2]), ShapeError, "distances is for 2 classes, but"),
        (lambda: caveat.explain_uncertainty(P, H, X_train=P), OptionError, "pass X= too"),
        (lambda: caveat.explain_uncertainty(P, H, P, y_train=[0] * 5, neighbors=2), OptionError,
         "pass X_train="),
        (lambda: caveat.explain_uncertainty(P, H, P[:2]), ShapeError, "X has 2 samples, the pred"),
        (lambda: caveat.explain_uncertainty(P, H, 3.0), ShapeError, r"X must have shape"),
        (lambda: caveat.explain_uncertainty(P, H, P, X_train=P[:, :2]), ShapeError, "X_train has 2"),
        (lambda: caveat.explain_uncertainty(P, H, P, neighbors=5), ShapeError, "need 6 samples at"),
        (lambda: caveat.explain_uncertainty(P, H, P, X_train=P, y_train=[1], neighbors=2),
         ShapeError, "one label for each of the 5 samples of X_train"),
        (lambda: caveat.explain_uncertainty(P, H, hesitant=2), OptionError, "hesitant"),
        (lambda: caveat.explain_uncertainty(P, H, y=[0, 1]), ShapeError, "2"),
        (lambda: caveat.explain_uncertainty(P, H, y=[0, 1, 2, 0, 7]), LabelError, "7"),
        (lambda: caveat.explain_uncertainty(P, H, y=[0] * 5, confidence=2), OptionError, "confid"),
        (lambda: caveat.explain_uncertainty(P, H, y=[0] * 5, cluster=[1]), ShapeError, "cluster"),
    ],
)  # fmt: skip
def test_what_does_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_everything_can_be_taken_for_hesitation():
    assert "sure" not in caveat.explain_uncertainty(P[:4], H, hesitant=0).kinds


def test_rounding_does_not_decide_the_kind():
    p = np.random.default_rng(0).dirichlet([1, 1], 5000)  # two classes: the ratio is 1
    for hesitant in (0.2, 0):
        counts = caveat.explain_uncertainty(p, [[0, 1], [1, 0]], hesitant=hesitant).counts()
        assert counts[Confusion.DISTANT] + counts[Confusion.CANDIDATE] == 0


def test_single_precision_is_explained():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 500).astype(np.float32)
    result = caveat.explain_uncertainty(p, H)
    np.testing.assert_allclose(result.geometric, caveat.measure(p, "gini"), atol=1e-5)


def test_a_pair_is_counted_in_either_order():
    p = [[0.5, 0.4, 0.1]] * 4 + [[0.4, 0.5, 0.1]] * 3 + [[0.1, 0.5, 0.4]] * 5
    said = str(caveat.explain_uncertainty(p, H).verdict())
    assert "most often between 0 and 1 (7 samples; " in said


def test_tables_that_are_cut_say_so(tmp_path):
    p = np.random.default_rng(0).dirichlet(np.full(12, 0.2), 400)
    p[:60] = np.eye(12)[[0, 11]].mean(axis=0)
    places = np.arange(12.0)
    result = caveat.explain_uncertainty(p, np.abs(places - places[:, None]), hesitant=0)
    titles = [title for title, *_ in result.tables()]
    pairs, candidates = len(result.rows), len(result.candidates())
    assert pairs > 20
    assert candidates > 50
    assert f"hesitate between, the 20 most frequent of {pairs}" in titles[-1]
    page = result.report(tmp_path / "e.html").read_text(encoding="utf-8")
    assert f"unknown classes, the 50 worst of {candidates}" in page
