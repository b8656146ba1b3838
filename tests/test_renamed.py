"""Old names say the new ones, wherever a user may meet them."""

import copy
import importlib
import inspect
import pickle

import numpy as np
import pytest

import caveat
from caveat._renamed import (
    RENAMED,
    missing_method,
    old_names,
    suggestion,
    suggests_parameters,
)

OLD = [(module, name) for module, names in RENAMED.items() for name in names]


@pytest.mark.parametrize(("module", "name"), OLD)
def test_old_names_say_what_replaced_them(module, name):
    pytest.importorskip("torch")
    new = RENAMED[module][name]
    home = importlib.import_module(module)
    message = f"{module}.{name} is now {new}"
    with pytest.raises(ImportError) as error:
        exec(f"from {module} import {name}", {})
    assert str(error.value) == message
    with pytest.raises(ImportError):
        getattr(home, name)
    path, _, last = new.partition("(")[0].rpartition(".")
    assert getattr(importlib.import_module(path), last) is not None


def test_other_unknown_names_are_plain_attribute_errors():
    with pytest.raises(AttributeError, match=r"^module 'caveat.studies' has no attribute 'x'$"):
        _ = caveat.studies.x
    assert not hasattr(caveat.studies, "x")
    with pytest.raises(ImportError, match="cannot import name 'x'"):
        exec("from caveat.studies import x", {})
    with pytest.raises(AttributeError):
        old_names("caveat.studies")("__wrapped__")


@pytest.mark.parametrize(
    ("call", "name", "new"),
    [
        (caveat.Categorical, "normalise", "normalize"),
        (caveat.read_predictions, "normalise", "normalize"),
        (caveat.audit, "neighbours", "neighbors"),
        (caveat.fairness.consistency, "neighbours", "neighbors"),
        (caveat.Comparison.recommend, "prioritise", "prioritize"),
        (caveat.ConformalResiduals, "normalise", "normalize"),
        (caveat.ConformalSets, "randomised", "randomized"),
        (caveat.DirichletCalibration, "regularisation", "regularization"),
    ],
)
def test_old_parameters_say_the_new_ones(call, name, new):
    with pytest.raises(TypeError, match=rf"^{call.__qualname__} has no .* mean {new!r}\?$"):
        call(**{name: 1})
    assert new in inspect.signature(call).parameters


def test_old_parameters_of_networks_say_the_new_ones():
    pytest.importorskip("torch")
    from caveat.nn import CNN, MLP, Training

    for call, name, new in [
        (Training, "optimiser", "optimizer"),
        (MLP, "features", "in_features"),
        (MLP, "outputs", "out_features"),
        (CNN, "channels", "in_channels"),
        (CNN, "kernel", "kernel_size"),
        (caveat.MAPClassifier, "standardise", "standardize"),
    ]:
        with pytest.raises(TypeError, match=rf"^{call.__name__} has no parameter .*mean '{new}'\?"):
            call(**{name: 1})


def test_old_options_of_studies_say_the_new_ones():
    pytest.importorskip("torch")
    for name in ("seeds", "repeat"):
        with pytest.raises(caveat.exceptions.OptionError, match=r"did you mean 'repeats'\? known"):
            caveat.studies.run_study("fairness", "sd1", **{name: 3})


def test_suggestions():
    assert suggestion("seeds", ["repeats", "seed"]) == "did you mean 'repeats'?"
    assert suggestion("seeds", ["seed", "other"]) == "did you mean 'seed'?"
    assert suggestion("zzz", ["seed", "other"]) == "known are seed, other"


def test_functions_that_suggest_stay_as_they_are():
    @suggests_parameters
    def scale(values, *, normalize=False):
        """Scale."""
        return values, normalize

    assert scale([1], normalize=True) == ([1], True)
    assert (scale.__name__, scale.__doc__) == ("scale", "Scale.")
    assert list(inspect.signature(scale).parameters) == ["values", "normalize"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'values'"):
        scale()


def test_results_say_the_new_name_of_reading():
    y = np.tile([0, 1], 20)
    audit = caveat.audit(caveat.Categorical(np.eye(2)[y] * 0.6 + 0.2), y, np.repeat(["a", "b"], 20))
    with pytest.raises(
        AttributeError,
        match=r"^'FairnessAudit' object has no attribute 'reading'; it is now verdict",
    ):
        audit.reading()
    with pytest.raises(AttributeError, match=r"^'FairnessAudit' object has no attribute 'x'$"):
        _ = audit.x
    with pytest.raises(AttributeError, match="it is now verdict"):
        missing_method(object(), "reading")
    assert not hasattr(audit, "_repr_png_")
    assert str(copy.deepcopy(audit).verdict()) == str(audit.verdict())
    assert len(pickle.loads(pickle.dumps(audit))) == len(audit)
