"""One idea has one default, wherever it is a parameter."""

import inspect

import pytest

pytest.importorskip("torch")

from caveat import _defaults, estimators, nn

SHARED = {
    "hidden": _defaults.HIDDEN,
    "activation": _defaults.ACTIVATION,
    "epochs": _defaults.EPOCHS,
    "batch_size": _defaults.BATCH_SIZE,
    "optimizer": _defaults.OPTIMIZER,
    "learning_rate": _defaults.LEARNING_RATE,
    "rate": _defaults.RATE,
    "where": _defaults.WHERE,
    "passes": _defaults.PASSES,
    "members": _defaults.MEMBERS,
    "weight_decay": 0.0,
    "precision": "float32",
    "compile": False,
    "device": "auto",
    "patience": None,
    "random_state": None,
}
"""Defaults by parameter; where an epoch, a batch or a device is optional, None leaves it open."""

OPEN = {
    # A copy takes the epochs of its training; passes take the rows that fit, on the module's device.
    ("Copy", "epochs"),
    ("predict", "batch_size"),
    ("predict", "device"),
    # One module of a list is one member.
    ("predict", "passes"),
    ("monte_carlo", "batch_size"),
    ("monte_carlo", "device"),
    ("explain", "device"),
    ("laplace", "device"),
    # Members that share a backbone are cheap, and need a wider one.
    ("BatchEnsembleClassifier", "hidden"),
    ("BatchEnsembleRegressor", "hidden"),
    ("BatchEnsembleClassifier", "members"),
    ("BatchEnsembleRegressor", "members"),
    ("MLP", "members"),
    # One mask of weights for a whole batch is noisier than masks of units.
    ("DropConnectClassifier", "rate"),
    ("DropConnectRegressor", "rate"),
    # Chosen on held-out samples.
    ("MCDropoutRegressor", "rate"),
    ("MCDropoutRegressor", "epochs"),
    ("DropConnectRegressor", "epochs"),
    ("ConcreteDropoutRegressor", "epochs"),
    ("AnchoredEnsembleRegressor", "epochs"),
    ("BayesByBackpropRegressor", "epochs"),
    ("FlipoutRegressor", "epochs"),
    # Published as such.
    ("ResNet18", "rate"),
    ("Plateau", "patience"),
}


def doors():
    """Yield the public callables of networks and estimators."""
    for module in (nn, estimators):
        for name in module.__all__:
            if callable(getattr(module, name)):
                yield name, getattr(module, name)


@pytest.mark.parametrize("parameter", SHARED)
def test_a_default_is_the_same_at_every_door(parameter):
    defaults = {
        name: signature[parameter].default
        for name, value in doors()
        if parameter in (signature := inspect.signature(value).parameters)
        and signature[parameter].default is not inspect.Parameter.empty
        and (name, parameter) not in OPEN
    }
    assert defaults
    assert {name: d for name, d in defaults.items() if d != SHARED[parameter]} == {}
