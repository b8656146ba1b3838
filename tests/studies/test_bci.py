"""Imagined movements in the disentanglement study: each subject is a repeat."""

import numpy as np
import pytest

from caveat.exceptions import OptionError
from caveat.experiments import ClassDetection, Curve, Disentanglement
from caveat.signals import load_bci2a
from caveat.studies import STUDIES, _bci, disentanglement, run_study
from caveat.studies._samples import TrainTest
from caveat.studies.study import Task

from ..signals.test_published import write_bci2a

STUDY = STUDIES["disentanglement"]


def task(**options):
    return Task("bci", "quick", 2, np.random.default_rng(0), options={"data": None, **options})


def test_printed_numbers():
    text = STUDY.printed_texts("bci")
    key = STUDY.key("table 2", "error", method="flipout", decomposition="information")
    assert text(key) == ("0.448", ".046")
    # Table 2's last column is the mean over the four data sets.
    for method, mean in (("mc-dropout", 0.460), ("deep-ensemble", 0.434)):
        key = STUDY.key("table 2", "error", method=method, decomposition="information")
        values = [
            float(STUDY.printed_texts(name)(key)[0])
            for name in ("cifar10", "fashion-mnist", "wine", "bci")
        ]
        assert np.mean(values) == pytest.approx(mean, abs=0.001)


def test_each_subject_has_samples_of_its_own():
    people = _bci.people_of(task())
    assert len(people) == 2
    for one in people:
        assert one.X.shape == (64, 22, 768)
        assert len(one.test[1]) == 16
        assert one.classes == 4
        assert one.X.std() == pytest.approx(1, abs=0.05)
    assert not np.array_equal(people[0].X, people[1].X)
    with pytest.raises(OptionError, match="data must be moabb, a folder with"):
        _bci.people_of(task(data="here"))


def test_real_signals_come_from_moabb(monkeypatch):
    from caveat.signals import make_motor_imagery

    asked = []

    def load(subjects):
        asked.extend(subjects)
        return make_motor_imagery(len(asked), 20, random_state=0)

    monkeypatch.setattr(_bci, "load_bci2a", load)
    assert len(_bci.people_of(task(data="moabb"))) == 2
    assert asked == [1, 2]


def test_real_signals_come_from_a_folder(tmp_path):
    for subject in (1, 3, 4):
        for session in "TE":
            write_bci2a(tmp_path / f"A0{subject}{session}.mat")
    people = _bci.people_of(task(data=str(tmp_path)))
    assert [one.X.shape for one in people] == [(25, 22, 768)] * 2
    # The reader has filtered them; to do so again would change them.
    own = load_bci2a([1], folder=tmp_path).X
    own = own.reshape(len(own), -1) / own.std()
    for sample in people[0].X.reshape(25, -1):
        assert np.abs(own - sample).max(axis=1).min() < 1e-5


def made(value):
    rng = np.random.default_rng(value)
    curves = [
        Curve(
            kind,
            "information",
            [0.1, 0.5, 1.0],
            *rng.random((3, 1, 3)),
            train_score=rng.random((1, 3)) if kind == "size" else None,
        )
        for kind in ("size", "noise")
    ]
    return Disentanglement(curves=tuple(curves))


def test_subjects_become_repeats():
    one, two = made(1), made(2)
    both = _bci.joined([one, two])
    assert both.repeats == 2
    for kind in ("size", "noise"):
        for name in ("score", "aleatoric", "epistemic"):
            expected = [getattr(each.curve(kind, "information"), name)[0] for each in (one, two)]
            np.testing.assert_array_equal(getattr(both.curve(kind, "information"), name), expected)
    assert _bci.joined([one]) is one
    parts = [
        ClassDetection(("a", "b"), ("information",), np.full((1, 1, 2, 3), v)) for v in (0.5, 0.7)
    ]
    np.testing.assert_allclose(_bci.joined_detections(parts).auc[0, :, 0, 0], [0.5, 0.7])


def test_the_study_runs_a_model_for_each_subject(monkeypatch):
    rng = np.random.default_rng(0)

    def people(task):
        X = rng.normal(size=(2, 24, 3)).astype(np.float32)
        y = np.arange(24) % 3
        return [TrainTest("bci", "small", x[:18], y[:18], (x[18:], y[18:])) for x in X]

    monkeypatch.setattr(disentanglement, "people_of", people)
    protocol = disentanglement.Protocol(sizes=(0.5, 1.0), noise=(0.0, 0.5), repeats=1)

    def model(samples, method, head, task, **more):
        from caveat.estimators import MCDropoutClassifier

        return MCDropoutClassifier(hidden=4, epochs=1, passes=2, head="softmax")

    monkeypatch.setattr(disentanglement, "model_of", model)
    result = run_study(
        "disentanglement", "bci", methods="mc-dropout", decompositions="information",
        protocol=protocol, detection=True, random_state=0,
    )  # fmt: skip
    (row,) = result.select(source="table 2")
    assert row.runs == 2
    assert row.printed == "0.608"
    assert row.differs is None
    (row,) = result.select(source="table 4", measure="epistemic")
    assert row.runs == 2
