"""A repair is the same after a file, and a damaged file is refused."""

import json

import numpy as np
import pytest
from scipy.special import expit

import caveat
from caveat.exceptions import FileFormatError, OptionError
from caveat.recalibration import RECALIBRATORS

RNG = np.random.default_rng(0)
P = RNG.random(120)
Y = (RNG.random(120) < P).astype(int)
SEX = np.array(["f", "m"])[np.arange(120) % 2]


def with_recalibrator(recalibrator, by_group=False, classes=None):
    return caveat.Repair((), "As asked.", recalibrator, by_group, "brier_loss", "", classes=classes)


def again(made, tmp_path):
    path = tmp_path / "repair.caveat"
    made.save(path)
    return caveat.load(path)


@pytest.mark.parametrize("groups", [None, SEX])
@pytest.mark.parametrize("name", list(RECALIBRATORS))
def test_every_recalibrator_is_the_same_after_a_file(name, groups, tmp_path):
    kind = RECALIBRATORS[name].recalibrator
    classes = caveat.Categorical in kind.takes
    options = {"random_state": 0} if name == "ConformalSets" else {}
    prediction = (
        caveat.Categorical.from_binary(P, classes=["no", "yes"])
        if classes
        else caveat.Gaussian(P, 0.1 + P)
    )
    truth = np.array(["no", "yes"])[Y] if classes else P + RNG.normal(size=120)
    fitted = kind(**options).fit(prediction, truth, groups=groups)
    made = with_recalibrator(fitted, groups is not None, ("no", "yes") if classes else None)
    loaded = again(made, tmp_path)
    assert loaded.transform(prediction, groups=groups) == made.transform(prediction, groups=groups)
    if hasattr(fitted, "too_few_"):
        assert loaded.recalibrator.too_few_ == fitted.too_few_


@pytest.mark.parametrize("factor", [1, 4])
def test_a_choice_is_the_same_after_a_file(factor, tmp_path):
    z = RNG.normal(size=300)
    y = (RNG.random(300) < expit(z)).astype(int)
    made = caveat.repair(expit(factor * z), y, random_state=0)
    loaded = again(made, tmp_path)
    assert (made.chosen is None) == (factor == 1)
    assert (loaded.why, loaded.classes, loaded.samples) == (made.why, made.classes, made.samples)
    assert loaded.to_json() == made.to_json()
    assert repr(loaded) == repr(made)
    assert loaded.transform(P) == made.transform(P)


def test_settings_may_be_numbers_of_numpy(tmp_path):
    fitted = caveat.PlattScaling(eps=np.float64(1e-6)).fit(P, Y)
    loaded = again(with_recalibrator(fitted, classes=(0, 1)), tmp_path)
    assert loaded.recalibrator.eps == 1e-6


def test_what_no_file_can_hold_is_refused(tmp_path):
    class Own(caveat.TemperatureScaling):
        pass

    made = with_recalibrator(Own().fit(P, Y))
    with pytest.raises(OptionError, match="a Own cannot be saved: a repair holds recalibrators of"):
        made.save(tmp_path / "repair.caveat")
    assert not (tmp_path / "repair.caveat").exists()


def damaged(change):
    content = {
        "caveat repair": 1,
        "why": "",
        "by_group": False,
        "measure": "",
        "calibration_measure": "",
        "samples": 1,
        "confidence": 0.95,
        "classes": None,
        "rows": [],
        "recalibrator": None,
    }
    change(content)
    return json.dumps(content)


def learned(name):
    return {"recalibrator": "TemperatureScaling", "settings": {}, "learned": {name: 1}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.update({"caveat repair": 2}), "in version 2 of the format"),
        (lambda c: c.pop("rows"), "is a damaged repair: 'rows'"),
        (lambda c: c.update(recalibrator=3), "it holds no recalibrator"),
        (lambda c: c.update(recalibrator={"code": 3}), "the unknown kind 'code'"),
        (lambda c: c.update(recalibrator={}), "is a damaged repair"),
        (lambda c: c.update(recalibrator=learned("fit")), "'fit' is no name of something learned"),
        (lambda c: c.update(recalibrator=learned("__class__")), "is no name of something learned"),
        (lambda c: c.update(recalibrator={**learned("a_"), "recalibrator": "os"}), "'os'"),
        (
            lambda c: c.update(classes={"array": "", "dtype": "|O", "shape": [0]}),
            "an array of the unknown type",
        ),
        (lambda c: c.update(classes={"array": "AA==", "dtype": "<f8", "shape": [2]}), "damaged"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(change, said, tmp_path):
    path = tmp_path / "repair.caveat"
    path.write_text(damaged(change))
    with pytest.raises(FileFormatError, match=said):
        caveat.load(path)


def test_a_file_that_was_cut_is_refused(tmp_path):
    path = tmp_path / "repair.caveat"
    path.write_text(damaged(lambda c: None)[:60])
    with pytest.raises(FileFormatError, match="is a damaged repair"):
        caveat.load(path)
    path.write_text(damaged(lambda c: None))
    assert caveat.load(path).recalibrator is None
