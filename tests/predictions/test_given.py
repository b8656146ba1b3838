"""Arrays in place of predictions, at every door."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import caveat
from caveat.exceptions import LabelError, OptionError, ShapeError, UnsupportedPredictionError
from caveat.metrics import brier_loss
from caveat.predictions.given import as_prediction, prediction_of

RNG = np.random.default_rng(0)
P = RNG.random(200)
Y = (RNG.random(200) < P).astype(int)
K = RNG.dirichlet(np.ones(3), 200)
LABELS = np.array(["cat", "dog", "eel"])[RNG.integers(0, 3, 200)]


@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        list,
        pd.Series,
        lambda p: pd.DataFrame({"p": p}),
        pl.Series,
        pa.array,
        torch.tensor,
        lambda p: p[:, None],
    ],
)
def test_one_column_is_the_second_class(make):
    prediction = as_prediction(make(P), Y)
    np.testing.assert_allclose(prediction.mean[:, 1], P)
    assert prediction.classes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (Y, [0, 1]),
        (Y.astype(bool), [0, 1]),
        (Y.astype(float), [0, 1]),
        (np.where(Y, "yes", "no"), ["no", "yes"]),
        (np.where(Y, "yes", "no").astype(object), ["no", "yes"]),
        (Y + 1, [1, 2]),
        (Y[:, None], [0, 1]),
    ],
)
def test_classes_are_the_labels_of_the_truth(y, classes):
    prediction = as_prediction(P, y)
    assert prediction.classes.tolist() == classes
    assert np.array_equal(prediction.align(y), Y)


def test_several_classes_have_the_names_of_columns_or_labels():
    frame = pd.DataFrame(K, columns=["dog", "cat", "eel"])
    assert as_prediction(frame, LABELS).classes.tolist() == ["dog", "cat", "eel"]
    assert as_prediction(K, LABELS).classes.tolist() == ["cat", "dog", "eel"]
    assert as_prediction(K, Y).classes.tolist() == [0, 1, 2]  # one of them did not occur
    assert as_prediction(pd.DataFrame(K, columns=list("abc")), Y).classes.tolist() == [0, 1, 2]
    assert as_prediction(K, LABELS, classes=["eel", "dog", "cat"]).classes[0] == "eel"
    assert as_prediction(np.stack([K, K]), LABELS).members == 2
    assert as_prediction(frame).classes.tolist() == ["dog", "cat", "eel"]
    assert as_prediction(P).classes.tolist() == [0, 1]


def test_every_door_takes_arrays():
    prediction = caveat.Categorical.from_binary(P)
    options = {"random_state": 0, "resamples": 50}
    one, other = (caveat.evaluate(p, Y, **options) for p in (P, prediction))
    assert [row.low for row in one.rows] == pytest.approx(
        [row.low for row in other.rows], nan_ok=True
    )
    result = caveat.compare({"raw": P, "fixed": P**2}, Y, metrics=["brier"], **options)
    assert result.techniques == ["raw", "fixed"]
    groups = RNG.choice(["f", "m"], 200)
    audit = caveat.audit(P, Y, groups, **options)
    assert len(audit.rows) == len(caveat.audit(prediction, Y, groups, **options).rows)
    repair = caveat.TemperatureScaling().fit(P, Y)
    assert repair.transform(P) == repair.transform(prediction)
    assert repair.fit_transform(P, Y) == repair.transform(P, calibration=P)
    text = np.where(Y, "yes", "no")
    assert caveat.IsotonicCalibration().fit(P, text).transform(P).classes.tolist() == ["no", "yes"]
    policy = caveat.TriagePolicy(risk=0.4, random_state=0).fit(P, text)
    assert (
        policy.decide(P).counts
        == policy.decide(caveat.Categorical.from_binary(P, classes=["no", "yes"])).counts
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: caveat.evaluate(Y, P),
        lambda: caveat.evaluate(LABELS, P),
        lambda: caveat.evaluate(Y, caveat.Categorical.from_binary(P)),
        lambda: caveat.audit(Y, P, LABELS),
        lambda: caveat.compare({"a": Y, "b": Y}, P),
        lambda: caveat.TemperatureScaling().fit(Y, P),
        lambda: caveat.TriagePolicy(risk=0.1).fit(Y, P),
    ],
)
def test_swapped_arguments_are_named(call):
    with pytest.raises(OptionError, match="look swapped: the prediction comes first"):
        call()


def test_metrics_say_that_the_truth_comes_first():
    with pytest.raises(LabelError, match="look swapped: y_true comes first"):
        brier_loss(P, Y)
    with pytest.raises(LabelError, match="are swapped: y_true comes first"):
        brier_loss(caveat.Categorical.from_binary(P), Y)
    with pytest.raises(LabelError, match="but the classes are"):
        brier_loss(Y + 5, P)


@pytest.mark.parametrize(
    ("value", "y", "kind", "words"),
    [
        (P, np.linspace(0, 9, 200), LabelError, r"not made of labels.*caveat\.Gaussian"),
        (P, np.arange(200), LabelError, "has 2 classes, and y has 200 labels: 0, 1, 2"),
        (K, np.where(Y, "a", "b"), LabelError, "has 3 classes, and y has 2 labels"),
        (P[:20], Y, ShapeError, r"shape \(20,\), and y has 200 samples$"),
        (np.stack([P, P]), Y, ShapeError, "for members of two classes pass"),
        (K, np.stack([Y, Y], 1), ShapeError, "one label for each sample"),
        (object(), Y, UnsupportedPredictionError, "got a object"),
        (["a", "b"], Y, UnsupportedPredictionError, "got a list of type"),
        ([[0.1], [0.2, 0.3]], Y, UnsupportedPredictionError, "got a list$"),
        (np.zeros((2, 2, 2, 2)), Y, UnsupportedPredictionError, r"shape \(2, 2, 2, 2\)"),
    ],
)
def test_what_is_no_prediction_is_explained(value, y, kind, words):
    with pytest.raises(kind, match=words):
        caveat.evaluate(value, y)


def test_classes_of_a_prediction_are_its_own():
    with pytest.raises(OptionError, match="a prediction has its own"):
        caveat.evaluate(caveat.Categorical.from_binary(P), Y, classes=[0, 1])


def test_predictions_are_sliced_like_arrays():
    prediction = caveat.Categorical.from_binary(P)
    np.testing.assert_array_equal(prediction[:10].mean[:, 1], P[:10])
    np.testing.assert_array_equal(prediction[P > 0.5].mean[:, 1], P[P > 0.5])
    np.testing.assert_array_equal(prediction[[3, 1]].mean[:, 1], P[[3, 1]])
    assert len(prediction[-1]) == 1
    with pytest.raises(TypeError, match="cannot be iterated over"):
        list(prediction)


GRID = RNG.dirichlet(np.ones(3), (8, 5))
CELLS = RNG.integers(0, 3, (8, 5))


@pytest.mark.parametrize(
    ("prediction", "y", "remedy"),
    [
        (GRID, CELLS, "prediction.reshape"),
        (GRID, CELLS.reshape(-1), "prediction.reshape"),
        (GRID[:5], CELLS[:5], "prediction.reshape"),  # as many rows as columns
        (GRID[None], CELLS[None], "prediction.reshape"),
        (np.moveaxis(GRID, -1, 0), CELLS, r"numpy.moveaxis\(prediction, 0, -1\).reshape"),
        (
            np.moveaxis(GRID, -1, 0)[None],
            CELLS[None],
            r"numpy.moveaxis\(prediction, 1, -1\).reshape",
        ),
        (caveat.Categorical(GRID), CELLS, "prediction.reshape"),
        (caveat.Categorical(GRID), CELLS.reshape(-1), "prediction.reshape"),
    ],
)
@pytest.mark.parametrize("door", [caveat.evaluate, caveat.TemperatureScaling().fit])
def test_a_grid_is_not_taken_for_members(door, prediction, y, remedy):
    with pytest.raises(ShapeError, match=rf"{remedy}\(-1, 3\) and y.reshape\(-1\)"):
        door(prediction, y)


def test_the_remedy_for_a_grid_is_right():
    wanted = as_prediction(GRID.reshape(-1, 3), CELLS.reshape(-1))
    first = np.moveaxis(GRID, -1, 0)
    assert as_prediction(np.moveaxis(first, 0, -1).reshape(-1, 3), CELLS.reshape(-1)) == wanted


def test_members_are_not_taken_for_a_grid():
    for shape in ((1, 40, 3), (40, 40, 3), (2, 40, 3)):
        members = RNG.dirichlet(np.ones(3), shape[:2])
        assert as_prediction(members, CELLS.reshape(-1)).members == shape[0]
        assert as_prediction(caveat.Categorical(members), CELLS.reshape(-1)).members == shape[0]
    with pytest.raises(ShapeError, match=r"shape \(8, 5, 3\), and y has 7 samples"):
        as_prediction(GRID, CELLS.reshape(-1)[:7])


@pytest.mark.parametrize("missing", [np.nan, None])
def test_a_missing_label(missing):
    with pytest.raises(
        LabelError, match="y of sample 2 is missing; leave out samples without a label"
    ):
        caveat.confusion_matrix([[0.2, 0.8]] * 3, [0, 1, missing])


AFTER_FIT = {
    "recalibrator": lambda p, y: (
        lambda new: caveat.TemperatureScaling().fit(p, y).transform(new).mean
    ),
    "sets": lambda p, y: lambda new: caveat.ConformalSets().fit(p, y).transform(new).membership,
    "p-values": lambda p, y: caveat.ConformalSets().fit(p, y).p_values,
    "repair": lambda p, y: lambda new: caveat.repair(p, y, random_state=0).transform(new).mean,
    "triage": lambda p, y: (
        lambda new: caveat.TriagePolicy(0.4, random_state=0).fit(p, y).decide(new).scores
    ),
    "label shift": lambda p, y: lambda new: caveat.label_shift(p, y, new).weights,
}


class TestAfterFit:
    """A frame after a fit: its columns are found by the names of the classes."""

    P = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    FRAME = pd.DataFrame(P, columns=["a", "b", "c"])

    @pytest.mark.parametrize(
        "columns", [["a", "b", "c"], ["c", "a", "b"], ["b", "a", "c"]], ids=" ".join
    )
    def test_any_order(self, columns):
        made = prediction_of(self.FRAME[columns], ("a", "b", "c"))
        np.testing.assert_array_equal(made.mean, self.P)
        assert made.classes.tolist() == ["a", "b", "c"]

    def test_names_of_numbers(self):
        frame = pd.DataFrame(self.P, columns=["1", "2", "3"])
        made = prediction_of(frame[["3", "1", "2"]], np.array([1, 2, 3]))
        np.testing.assert_array_equal(made.mean, self.P)
        assert made.classes.tolist() == [1, 2, 3]

    def test_other_names_and_arrays_are_in_the_order_of_the_classes(self):
        frame = self.FRAME.rename(columns={"a": "p0", "b": "p1", "c": "p2"})
        for given in (frame, self.P, np.stack([self.P, self.P])):
            made = prediction_of(given, ["x", "y", "z"])
            np.testing.assert_array_equal(made.mean, self.P)
            assert made.classes.tolist() == ["x", "y", "z"]

    def test_numbered_columns_may_be_no_names(self):
        frame = pd.DataFrame(self.P)
        np.testing.assert_array_equal(prediction_of(frame, [0, 1, 2]).mean, self.P)
        with pytest.raises(LabelError, match=r"the columns 0, 1, 2 are no names, or the classes"):
            prediction_of(frame, [2, 0, 1])

    def test_predictions_and_what_is_none(self):
        given = caveat.Categorical(self.P)
        assert prediction_of(given, ["a", "b", "c"]) is given
        with pytest.raises(UnsupportedPredictionError, match="expected a prediction"):
            prediction_of([[0.5], [0.2, 0.8]], ["a", "b"])

    @pytest.mark.parametrize("name", AFTER_FIT)
    def test_everywhere(self, name):
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(3), size=200)
        q = p**2 / (p**2).sum(axis=1, keepdims=True)
        y = np.array([rng.choice(["a", "b", "c"], p=row) for row in p])
        frame = pd.DataFrame(q, columns=["a", "b", "c"])
        use = AFTER_FIT[name](frame, y)
        first = use(frame)
        assert np.isfinite(first).all()
        for same in (frame[["c", "a", "b"]], q):
            np.testing.assert_allclose(use(same), first, rtol=1e-12)

    def test_a_repair_takes_the_frame_it_was_chosen_for(self):
        frame = pd.DataFrame({"p0": 1 - P**3, "p1": P**3})
        fixed = caveat.repair(frame, Y, random_state=0)
        assert fixed.transform(frame).classes.tolist() == [0, 1]
