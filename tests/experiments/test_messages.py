"""A training that diverges is named by its condition, not by a number."""

import re
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import caveat
from caveat.exceptions import TrainingError
from caveat.experiments import Protocol, class_detection

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.arange(60) % 3
LABELS = np.array(["a", "b", "c"])[Y]
PROTOCOL = Protocol(sizes=(0.5, 1), noise=(0, 1), repeats=2)


class Burst(torch.nn.Module):
    """Its answer is infinite from the start if its draw says so."""

    def __init__(self, classes, often):
        super().__init__()
        self.line, self.often = torch.nn.Linear(2, classes), often
        self.register_buffer("size", torch.ones(()))
        self.reset_parameters()

    def reset_parameters(self):
        self.line.reset_parameters()
        self.size.fill_(float("inf") if torch.rand(()) < self.often else 1.0)

    def forward(self, x):
        return self.line(x) * self.size


def network(classes, often):
    made = partial(Burst, classes, often)
    return caveat.DeepEnsembleClassifier(module=made, members=2, epochs=1)


@pytest.mark.filterwarnings("ignore:training of the condition")
def test_networks_in_lock_step():
    with pytest.raises(TrainingError) as error:
        caveat.disentanglement_error(network(3, 0.8), X, Y, protocol=PROTOCOL, random_state=0)
    assert re.match(
        r"training of the condition '(size (50|100)|noise (0|100)) %, repeat [12]' diverged in "
        "every member; lower",
        str(error.value),
    )
    with pytest.raises(TrainingError) as error:
        class_detection(network(2, 0.8), X, LABELS, repeats=2, random_state=0)
    assert re.match(
        r"training of the condition 'without class [abc], repeat [12]' diverged in every member; "
        "lower",
        str(error.value),
    )


def test_members_that_are_left_out():
    named = r"training of the condition '.* %, repeat [12]' diverged in 1 of 2 members"
    with pytest.warns(RuntimeWarning, match=named):
        caveat.disentanglement_error(network(3, 0.1), X, Y, protocol=PROTOCOL, random_state=0)


def test_networks_within_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), network(3, 1.0))
    with pytest.raises(TrainingError) as error:
        caveat.disentanglement_error(pipeline, X, Y, protocol=PROTOCOL, random_state=0)
    assert str(error.value).startswith("the condition 'size 50 %, repeat 1': training diverged: ")
    pipeline = make_pipeline(StandardScaler(), network(2, 1.0))
    with pytest.raises(TrainingError) as error:
        class_detection(pipeline, X, LABELS, repeats=1, random_state=0)
    assert str(error.value).startswith("the condition 'without class a, repeat 1': training ")
