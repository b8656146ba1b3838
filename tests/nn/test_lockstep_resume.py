"""What a folder goes on from, and what a step that cannot be recorded leaves behind."""

import contextlib
import copy
import dataclasses
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from caveat.exceptions import OptionError
from caveat.nn import MLP, losses
from caveat.nn.lockstep import Copy, _steppers, _work, train

from .test_lockstep import CLASSES, SHORT, X, fit


def test_a_copy_that_is_done_but_still_in_the_stack_is_no_record(tmp_path):
    copies = [Copy(seed=0, rows=range(10), validation=range(50, 60), epochs=4)]
    copies += [Copy(seed=i, rows=range(40), validation=range(50, 60)) for i in range(1, 5)]
    training = dataclasses.replace(SHORT, epochs=5)
    first = fit(lambda: MLP(5, 3), copies, training, checkpoint=tmp_path)
    again = fit(lambda: MLP(5, 3), copies, training, checkpoint=tmp_path)
    for name, value in first.state.items():
        torch.testing.assert_close(again.state[name], value, rtol=0, atol=0)
    for one, other in zip(first.history, again.history, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def dropping(rate, activation="relu"):
    return MLP(5, 3, hidden=(8,), stochastic="dropout", rate=rate, activation=activation)


@pytest.mark.parametrize(
    "other",
    [
        {"module": partial(dropping, 0.9)},
        {"module": partial(dropping, 0.1, "tanh")},
        {"loss": lambda output, y: losses.nll(output, y)},
        {"loss": partial(losses.sampled_softmax_nll, draws=7)},
        {"X": X.astype(np.float64)},
    ],
    ids=["rate", "activation", "loss", "options", "precision"],
)
def test_the_folder_of_another_network_or_loss_is_refused(tmp_path, other):
    given = {"module": partial(dropping, 0.1), "X": X, "y": CLASSES, "loss": losses.nll}
    options = {"copies": [Copy(seed=0)], "training": SHORT, "checkpoint": tmp_path}
    train(**given, **options)
    train(**given, **options)
    if "X" in other:
        other = {**other, "module": lambda: dropping(0.1).double()}
    with pytest.raises(OptionError, match=r"another training .*network, loss, seeds"):
        train(**{**given, **other}, **options)


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, output, y):
        return self.factor * losses.nll(output, y)


def by(output, y, base):
    return base(output, y)


@pytest.mark.parametrize(
    ("loss", "others"),
    [
        (Scaled(1), [Scaled(2)]),
        (nn.CrossEntropyLoss(reduction="none"), [nn.CrossEntropyLoss(reduction="none", label_smoothing=0.1)]),
        (lambda output, y: 2 * losses.nll(output, y), [lambda output, y: 3 * losses.nll(output, y)]),
        (partial(by, base=losses.nll), [partial(by, base=Scaled(2)), losses.nll]),
    ],
    ids=["object", "module", "lambda", "partial"],
)  # fmt: skip
def test_losses_are_known_by_what_they_are(tmp_path, loss, others):
    for _ in range(2):
        fit(partial(dropping, 0.1), [Copy(seed=0)], loss=copy.deepcopy(loss), checkpoint=tmp_path)
    for other in others:
        with pytest.raises(OptionError, match="belongs to another training"):
            fit(partial(dropping, 0.1), [Copy(seed=0)], loss=other, checkpoint=tmp_path)


PROCESS = """
import sys
from functools import partial
import numpy as np
from torch import nn
from caveat.nn import Copy, Training, layers, losses, train

class Flat(layers.Prior):
    def log_density(self, weight):
        return -weight.abs()

def by(output, y, base):
    return base(output, y)

X = np.random.default_rng(0).normal(size=(40, 3)).astype("f4")
module = lambda: nn.Sequential(layers.BayesLinear(3, 2, prior=Flat()))
assert " at 0x" in repr(module())
train(module, X, (X[:, 0] > 0).astype(int), loss=partial(by, base=losses.nll),
      copies=[Copy(seed=1)], training=Training(epochs=2), checkpoint=sys.argv[1])
"""


def test_another_process_goes_on_although_objects_lie_elsewhere(tmp_path):
    for _ in range(2):
        subprocess.run([sys.executable, "-c", PROCESS, str(tmp_path)], check=True)


def test_a_step_that_cannot_be_recorded_leaves_nothing_behind(monkeypatch):
    """The steps before a recording are taken back, also when it fails; streams are stand-ins."""

    class Stream:
        def wait_stream(self, other):
            pass

    @contextlib.contextmanager
    def refuse(graph):
        raise RuntimeError("operation not permitted when stream is capturing")
        yield

    for name, value in {
        "Stream": Stream,
        "current_stream": Stream,
        "stream": lambda stream: contextlib.nullcontext(),
        "synchronize": lambda: None,
        "CUDAGraph": object,
        "graph": refuse,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    expected = fit(partial(dropping, 0.3), [Copy(seed=0), Copy(seed=1)])
    monkeypatch.setattr(_work, "make_stepper", _steppers._recorded)
    found = fit(partial(dropping, 0.3), [Copy(seed=0), Copy(seed=1)])
    assert "not recorded as a CUDA graph: operation not permitted" in found.engine
    for name, value in expected.state.items():
        torch.testing.assert_close(found.state[name], value, rtol=0, atol=0)
    np.testing.assert_array_equal(found.history[0]["loss"], expected.history[0]["loss"])
