"""Published configurations by name, as settings for estimators."""

from collections.abc import Callable
from functools import partial
from math import exp
from typing import Any

from .._validation import check_integer
from ..exceptions import OptionError, UnknownNameError

__all__ = ["PRESETS", "preset"]

_AS_PUBLISHED: dict[str, Any] = {
    "scheduler": "constant",
    "standardize": True,
    "validation_fraction": None,
}
"""Settings of all published networks: none of what has been added since."""

_SHARED: dict[str, Any] = {
    **_AS_PUBLISHED,
    "batch_size": 128,
    "optimizer": "adam",
    "learning_rate": 1e-3,
    "epochs": 100,
}
"""Settings of all networks of the disentanglement experiments."""

_RANDOM: dict[str, Any] = {"rate": 0.3, "where": "last", "passes": 50, "prior_std": None}

_METHODS: dict[str, dict[str, Any]] = {
    "map": {"prior_std": None},
    "mc-dropout": _RANDOM,
    "dropconnect": _RANDOM,
    "deep-ensemble": {"members": 10, "prior_std": None},
    "flipout": {
        "prior": (0.5, 5.0, 2.0),
        "likelihood_weight": 1.0,
        "where": "last",
        "passes": 50,
        "epochs": 500,
    },
}
"""Settings that each method of the disentanglement experiments adds."""

_LAYERS = {"mc-dropout": "dropout", "dropconnect": "dropconnect", "flipout": "flipout"}

_BAYES: dict[str, Any] = {
    **_AS_PUBLISHED,
    "optimizer": "adam",
    "learning_rate": 1e-2,
    "prior": (0.5, 1.0, exp(-6)),
    "initial_mean": 1.0,
    "likelihood_weight": 2000.0,
    "divergence_weight": 1.0,
    "where": "all",
    "draws": 10,
    "passes": 10,
}
"""Settings of all Bayesian networks of the fairness experiments."""


_QM9: dict[str, Any] = {
    "depth": 6,
    "dense": 1,  # two dense layers, of which the last gives the outputs
    "hidden": 1000,
    "members": 15,
    "passes": 150,
    "aggregation": "mean",
    "batch_size": 50,
    "epochs": 30,
    "learning_rate": 1e-3,
    "validation_fraction": 0.1,
}
"""Settings of all networks over molecules."""


def preset(
    name: str, method: str | None = None, *, classes: int = 10, head: str | None = None
) -> dict[str, Any]:
    """Return the settings of a published experiment, to be passed to an estimator.

    ====================  ==========================================================================
    name                  configuration
    ====================  ==========================================================================
    "wine"                a dense network of 32, 32 and 16 units, of which the last layer is random
    "two-moons"           32 and 32 units, both random
    "fashion-mnist"       three poolings after convolutions of 64 filters, then 64 random units
    "cifar10"             the same for images of three channels, 32 by 32
    "synthetic-fairness"  Bayes by backprop without a hidden layer, 5 epochs in batches of 8
    "compas"              Bayes by backprop with 100 units, 10 epochs in batches of 256
    "adult"               Bayes by backprop with 25 units, 5 epochs in batches of 256
    "bci"                 a shallow network for EEG of 22 channels, whose dense layer is random
    "ppg-af-alexnet"      AlexNet1d for segments of 800 values: atrial fibrillation, Gaussian logits
    "ppg-af-resnet"       XResNet1d with 50 layers for the same
    "ppg-bp-alexnet"      AlexNet1d for segments of 1,250 values: two blood pressures
    "ppg-bp-resnet"       XResNet1d with 50 layers for the same
    "d-vlog"              a transformer over 136 visual and 25 acoustic features
    "d-vlog-audio"        the same for the acoustic features alone
    "d-vlog-visual"       the same for the visual features alone
    "qm9"                 messages of 1000 units passed 6 times, two dense layers, 15 members or 150
                          passes, for `caveat.molecules`
    ====================  ==========================================================================

    Those for pulse waves (ppg) come from a comparison of techniques: AdamW with rates of 1e-5
    (AlexNet) and 1e-4, stopped after 15 epochs without a new best on validation samples, a dropout
    of 0.2 (AlexNet) and 0.05 with 50 passes, 5 members, and quantiles at -2, -1, 0, 1 and 2
    standard deviations of a Gaussian. Pass the validation samples of a split by subject to ``fit``.
    For fibrillation the area under the ROC curve decides which epoch is the best, and the rate is
    halved after 8 epochs without a new one; for blood pressures the loss decides, at a constant
    rate. The largest number of epochs is not printed; here it is 100.

    "wine", "two-moons", the networks for images and "bci" come from a study of whether aleatoric
    and epistemic uncertainty can be told apart: Adam with a rate of 0.001, batches of 128 and 100
    epochs, with a dropout of 0.3 and 50 passes, or 10 members; for Flipout 500 epochs and an even
    mixture of N(0, 25) and N(0, 4) as prior. The others come from a study of uncertainty as a
    measure of fairness. In its Bayesian networks the mean likelihood counts 2000 times against the
    whole divergence from an even mixture of N(0, 1) and N(0, exp(-12)), means start from N(0, 1),
    10 draws of the weights are averaged in each step, and a prediction has 10 passes. The rate of
    Adam is not given there; here it is 0.01, as in `caveat.studies.run_study`: with 0.001 the
    networks without a hidden layer are little better than chance after the five epochs that they
    are given. Its transformers have 5 members, Adam with a rate of 0.0002, batches of 32, 50 epochs
    and a dropout of 0.1. "qm9" is a study of the uncertainty of graph networks over molecules;
    epochs, batches and the learning rate are not given there, and are the defaults of the program
    that it used. Its ``dense`` is 1: the second of two dense layers gives the outputs.

    Parameters
    ----------
    name : str
        Name of the experiment.
    method : str, optional
        "map", "mc-dropout", "dropconnect", "deep-ensemble", "flipout" or "quantile".
        Adds the settings of the method. Without it the settings for tables suit every estimator,
        and the networks for images, in which nothing is random then, those without passes. The
        fairness experiments have one method only, "bayes-by-backprop", which need not be named;
        "qm9" has those of `caveat.molecules.MoleculeRegressor`.
    classes : int, default=10
        Outputs of the networks for images and of "bci": 9 where a class is left out. No effect on
        networks for tables, which are built for the data, nor for pulse waves and videos.
    head : {"softmax", "gaussian-logits"}, optional
        Head of a classifier, added to its settings and to the network for images and "bci".

    Returns
    -------
    dict of settings
        To be changed as needed before they are passed on.

    Examples
    --------
    >>> from caveat.estimators import FlipoutClassifier, preset
    >>> settings = preset("wine", "flipout")
    >>> settings["hidden"], settings["epochs"], settings["prior"]
    ((32, 32, 16), 500, (0.5, 5.0, 2.0))
    >>> model = FlipoutClassifier(**settings, random_state=0)
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise UnknownNameError(
            f"preset must be one of {', '.join(map(repr, PRESETS))}; got {name!r}"
        )
    make, methods = PRESETS[name]
    if method is not None and method not in methods:
        raise UnknownNameError(
            f"preset {name!r} has settings for {', '.join(map(repr, methods))}; got {method!r}"
        )
    settings = make(method)
    if "module" in settings and "out_features" in settings["module"].keywords:
        if head is not None:
            raise OptionError(f"preset {name!r} has its own head; leave out head={head!r}")
        return settings
    if "module" in settings:
        settings["module"] = _outputs(settings["module"], classes, head)
    return settings if head is None else {**settings, "head": head}


def _outputs(module: Any, classes: int, head: str | None) -> Any:
    """Return a maker of networks with as many outputs, and the head that an estimator needs."""
    check_integer(classes, "classes", 2)
    # A network without a head gives logits, which is what "softmax" reads.
    own = {} if head in (None, "softmax") else {"head": head}
    return partial(module, out_features=classes, **own)


def _table(hidden: tuple[int, ...], where: str, method: str | None) -> dict[str, Any]:
    settings = {**_SHARED, "hidden": hidden, **_METHODS.get(method or "", {})}
    if "where" in settings:
        settings["where"] = where
    return settings


def _images(channels: int, size: tuple[int, int], method: str | None) -> dict[str, Any]:
    from ..nn import CNN
    from ..nn.layers import ScaleMixturePrior

    options: dict[str, Any] = {}
    if method in _LAYERS:
        options = {"stochastic": _LAYERS[method], "where": "last", "rate": 0.3}
    if method == "flipout":
        options["prior"] = ScaleMixturePrior(0.5, 5.0, 2.0)
    module = partial(CNN, channels, size=size, **options)
    return {**_SHARED, "standardize": None, "module": module, **_METHODS.get(method or "", {})}


def _electrodes(method: str | None) -> dict[str, Any]:
    from ..nn import ShallowConvNet
    from ..nn.layers import ScaleMixturePrior

    options: dict[str, Any] = {}
    if method in _LAYERS:
        options = {"stochastic": _LAYERS[method], "where": "last", "rate": 0.3}
    if method == "flipout":
        options["prior"] = ScaleMixturePrior(0.5, 5.0, 2.0)
    module = partial(ShallowConvNet, 22, **options)
    return {**_SHARED, "standardize": True, "module": module, **_METHODS.get(method or "", {})}


LEVELS = (0.0228, 0.1587, 0.5, 0.8413, 0.9772)
"""Levels of quantiles at -2, -1, 0, 1 and 2 standard deviations of a Gaussian."""


def _pulse(task: str, network: str, method: str | None) -> dict[str, Any]:
    from ..nn import AlexNet1d, XResNet1d

    small = network == "alexnet"
    head: dict[str, Any] = {"head": "gaussian-logits" if task == "af" else "mean-std"}
    own: dict[str, Any] = {"prior_std": None, **head}
    options: dict[str, Any] = {**head}
    if method == "mc-dropout":
        own["passes"] = 50
        options |= {"stochastic": "dropout", "rate": 0.2 if small else 0.05}
    if method == "deep-ensemble":
        own["members"] = 5
    if method == "quantile":
        options = {"head": "quantiles", "levels": LEVELS}
        own = {"prior_std": None, "levels": LEVELS}
    return {
        **_AS_PUBLISHED,
        "standardize": False,
        "validation_fraction": 0.1,
        "optimizer": "adamw",
        "batch_size": 64 if task == "af" else 32,
        "learning_rate": 1e-5 if small else 1e-4,
        "weight_decay": 1e-4 if task == "af" and not small else 1e-3,
        "epochs": 100,
        "patience": 15,
        # Printed for fibrillation alone: the other task stops by its loss, at a constant rate.
        **({"monitor": "auc", "plateau": {"factor": 0.5, "patience": 8}} if task == "af" else {}),
        "module": partial(AlexNet1d if small else XResNet1d, 1, out_features=2, **options),
        **own,
    }


def _videos(features: tuple[int, ...], method: str | None) -> dict[str, Any]:
    from ..nn import VideoTransformer

    options: dict[str, Any] = {"stochastic": "dropout", "rate": 0.1}
    return {
        **_AS_PUBLISHED,
        # Seconds after the end of a video are 0 and must stay so: the network leaves them out.
        "standardize": False,
        "optimizer": "adam",
        "batch_size": 32,
        "learning_rate": 2e-4,
        "epochs": 50,
        "members": 5,
        "prior_std": None,
        "module": partial(VideoTransformer, features, out_features=2, **options),
    }


def _fairness(
    hidden: tuple[int, ...], epochs: int, batch_size: int, method: str | None
) -> dict[str, Any]:
    return {**_BAYES, "hidden": hidden, "epochs": epochs, "batch_size": batch_size}


_Maker = Callable[[str | None], dict[str, Any]]

_PULSE = ("map", "mc-dropout", "deep-ensemble")


def _molecules(method: str | None) -> dict[str, Any]:
    return dict(_QM9) if method is None else {**_QM9, "method": method}


PRESETS: dict[str, tuple[_Maker, tuple[str, ...]]] = {
    "adult": (partial(_fairness, (25,), 5, 256), ("bayes-by-backprop",)),
    "bci": (_electrodes, tuple(_METHODS)),
    "cifar10": (partial(_images, 3, (32, 32)), tuple(_METHODS)),
    "compas": (partial(_fairness, (100,), 10, 256), ("bayes-by-backprop",)),
    "d-vlog": (partial(_videos, (136, 25)), ("deep-ensemble",)),
    "d-vlog-audio": (partial(_videos, (25,)), ("deep-ensemble",)),
    "d-vlog-visual": (partial(_videos, (136,)), ("deep-ensemble",)),
    "fashion-mnist": (partial(_images, 1, (28, 28)), tuple(_METHODS)),
    "ppg-af-alexnet": (partial(_pulse, "af", "alexnet"), _PULSE),
    "ppg-af-resnet": (partial(_pulse, "af", "resnet"), _PULSE),
    "ppg-bp-alexnet": (partial(_pulse, "bp", "alexnet"), (*_PULSE, "quantile")),
    "ppg-bp-resnet": (partial(_pulse, "bp", "resnet"), (*_PULSE, "quantile")),
    "qm9": (
        _molecules,
        ("ensemble", "bootstrap", "anchored", "mc-dropout", "concrete-dropout", "map"),
    ),
    "synthetic-fairness": (partial(_fairness, (), 5, 8), ("bayes-by-backprop",)),
    "two-moons": (partial(_table, (32, 32), "all"), tuple(_METHODS)),
    "wine": (partial(_table, (32, 32, 16), "last"), tuple(_METHODS)),
}
"""Names, with what makes the settings and the methods they are for."""
