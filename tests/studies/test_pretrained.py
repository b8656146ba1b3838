"""Pretrained networks against networks from scratch: known curves, halves of classes, one run."""

import numpy as np
import pytest

from caveat.exceptions import FileFormatError, OptionError
from caveat.experiments import Protocol
from caveat.studies import STUDIES, pretrained, run_study
from caveat.studies.study import Measured, Task, conclusions_of, rows_of, table_of

from .disentanglements import images, perfect, trap

torch = pytest.importorskip("torch")
STUDY = STUDIES["pretrained"]
TINY = Protocol(sizes=(0.3, 1), noise=(0, 1), repeats=2)
SHORT = {"epochs": 1, "members": 2}


def measured(**results):
    values = pretrained.values_of(results)
    return Measured("digits", "", "", 3, values, judged=lambda source: False)


def test_known_curves_have_known_numbers_and_conclusions():
    # The total uncertainty twice for ResNet18, a perfect split for the smaller network.
    every = measured(
        pretrained=trap("information"),
        scratch=trap("information"),
        smaller=perfect("information"),
    )
    rows = {(row.start, row.measure): row for row in rows_of(STUDY, every, 0.95)}
    assert rows["pretrained", "error"].mean == pytest.approx(0.5)
    assert rows["smaller", "error"].mean == pytest.approx(0)
    assert rows["pretrained", "aleatoric_orthogonality"].mean == pytest.approx(1)
    assert rows["pretrained", "aleatoric_orthogonality"].printed == "0.985"
    assert rows["smaller", "error"].printed == "0.415"
    assert rows["smaller", "accuracy"].mean == pytest.approx(0.9)
    # Epistemic: 1, 3, 5 in both sweeps, or 5, 3, 1 and flat at 1.
    assert rows["pretrained", "epistemic_uncertainty"].mean == pytest.approx(3)
    assert rows["smaller", "epistemic_uncertainty"].mean == pytest.approx(2)
    said = {c.name: c.holds / c.runs for c in conclusions_of(STUDY, table_of(STUDY, every), 0.95)}
    assert said["pretraining_raises_the_error"] == 1
    assert said["pretraining_raises_the_error_of_the_same_network"] == 0
    assert said["aleatoric_rises_with_data_of_the_same_network"] == 0
    assert said["pretraining_lowers_epistemic_uncertainty"] == 0
    assert said["pretrained_aleatoric_falls_with_data"] == 1


def test_limits():
    assert pretrained.limits("error") == (0, 1.5)
    assert pretrained.limits("epistemic_consistency") == (-1, 1)


def task(dataset, scale="quick"):
    options = {option.name: option.default for option in STUDY.options}
    return Task(dataset, scale, None, np.random.default_rng(0), options=options)


def test_halves_share_no_class():
    samples = pretrained.take_images(task("digits"))
    first, second = pretrained.halves(samples)
    assert samples.X.shape[1:] == (1, 8, 8)
    assert (samples.X.min(), samples.X.max()) == (0, 1)
    assert len(first.y) + len(second.y) == len(samples.y)
    for half, odd in ((first, 1), (second, 0)):
        assert np.unique(half.y).tolist() == np.unique(half.test[1]).tolist() == [0, 1, 2, 3, 4]
        np.testing.assert_array_equal(half.X[half.y == 2], samples.X[samples.y == 4 + odd])


def test_at_most_so_many_images_of_each_class():
    samples = pretrained.halves(pretrained.take_images(task("digits")))[1]
    few = pretrained.fewer(samples, 7, np.random.default_rng(0))
    assert np.bincount(few.y).tolist() == [7] * 5
    known = {image.tobytes(): label for image, label in zip(samples.X, samples.y, strict=True)}
    assert [known[image.tobytes()] for image in few.X] == few.y.tolist()
    np.testing.assert_array_equal(few.test[1], samples.test[1])
    assert pretrained.fewer(samples, 1000, np.random.default_rng(0)) is samples
    assert pretrained.fewer(samples, None, np.random.default_rng(0)) is samples


def test_smaller_images_are_means_of_four_pixels(monkeypatch):
    monkeypatch.setattr("caveat.datasets.load_fashion_mnist", images)
    small = pretrained.take_images(task("fashion-mnist"))
    whole = pretrained.take_images(task("fashion-mnist", "paper"))
    assert (small.X.shape[1:], whole.X.shape[1:]) == ((1, 14, 14), (1, 28, 28))
    assert small.test[0].mean() == pytest.approx(whole.test[0].mean(), rel=1e-4)
    corner = whole.X[0, 0, 2:4, 4:6]
    assert pretrained._halved(whole.X)[0, 0, 1, 2] == pytest.approx(corner.mean(), rel=1e-5)


def tiny(monkeypatch, **changes):
    monkeypatch.setattr("caveat.datasets.load_fashion_mnist", images)
    size = pretrained.SIZES["quick"]._replace(width=2, epochs=2, **changes)
    monkeypatch.setitem(pretrained.SIZES, "quick", size)


def test_the_study_from_start_to_end(monkeypatch, tmp_path):
    tiny(monkeypatch)
    options = {"protocol": TINY, "settings": SHORT, "random_state": 0, "checkpoint": tmp_path}
    study = run_study("pretrained", "fashion-mnist", repeats=1, **options)
    assert study.repeats == 1
    assert "60 images to learn from, 20 to test on, 5 classes, 24 trainings" in study.model
    assert {row.start for row in study} == {"pretrained", "scratch", "smaller"}
    assert any("stands for ImageNet" in note for note in study.notes)
    assert list(study.charts()) == ["numbers", "sweeps"]
    assert all(row.differs is None for row in study)
    # What was learned first is kept, and is where all members begin.
    (file,) = tmp_path.glob("fashion-mnist-quick-*.npz")
    weights = np.load(file)
    again = run_study("pretrained", "fashion-mnist", repeats=1, **options)
    assert [row.mean for row in again] == [row.mean for row in study]
    assert weights["fc.weight"].shape == (5, 16)


def test_members_begin_with_the_learned_weights(monkeypatch):
    from caveat.nn import ResNet18

    first = pretrained.halves(pretrained.take_images(task("digits")))[0]
    few = first.y[:40]
    size = pretrained.SIZES["quick"]._replace(width=2, epochs=1)
    part = first.__class__("digits", "", first.X[:40], few, (None, None))
    network = pretrained.pretrained(part, 1, size, 0, None, False)

    def make():
        return ResNet18(1, 3, size=8, width=2)

    before = torch.get_rng_state()
    made = pretrained.start_of(network.state_dict(), make).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    assert made["fc.weight"].shape == (3, 16)
    assert not made["fc.weight"].any()
    for name, value in network.state_dict().items():
        if not name.startswith("fc."):
            assert torch.equal(made[name], value)


def test_weights_of_a_file_take_all_classes(monkeypatch, tmp_path):
    from caveat.nn import ResNet18

    tiny(monkeypatch, halved=False)
    file = ResNet18(1, 7, size=224, width=2).save_weights(tmp_path / "published.npz")
    once = Protocol(sizes=(0.3, 1), noise=(0, 1), repeats=1)
    study = run_study(
        "pretrained", "fashion-mnist", protocol=once, settings=SHORT, random_state=0, weights=file
    )
    assert "10 classes" in study.model
    assert study.repeats == 1
    assert not any("stands for ImageNet" in note for note in study.notes)
    with pytest.raises(FileFormatError):
        run_study("pretrained", "digits", weights=tmp_path / "absent.npz", random_state=0)


def test_errors():
    with pytest.raises(OptionError, match="dataset must be one of digits"):
        run_study("pretrained", "wine")
    with pytest.raises(OptionError, match="no setting 'epoch'; did you mean 'epochs'"):
        run_study("pretrained", "digits", settings={"epoch": 3})
