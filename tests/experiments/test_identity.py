"""What decides a result is told apart by what it does, and is the same in every process."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

import caveat
from caveat.experiments._identity import identity


class Setting:
    def __init__(self, value):
        self.value = value

    def method(self, x):
        return x + self.value


def closing(value):
    return lambda x: x + value


def late():
    def itself(n):
        return later if n else itself

    kept = itself
    if False:
        later = 3
    return kept


def by_default(x, power=2, *, scale=1):
    return scale * x**power


class Slots:
    __slots__ = ("value",)


PAIRS = [
    (3, 4),
    (1, "1"),
    ((1, 2), [1, 2]),
    ({1, 2}, {1, 3}),
    ({"a": 1}, {"a": 2}),
    (lambda y, p: 1.0, lambda y, p: 2.0),
    (lambda x: x.real, lambda x: x.imag),
    (lambda x: lambda: 1, lambda x: lambda: 2),
    (closing(1), closing(2)),
    (by_default, partial(by_default, power=3)),
    (partial(by_default, power=3), partial(by_default, power=4)),
    (Setting(1), Setting(2)),
    (Setting(1).method, Setting(2).method),
    (Setting(closing(1)), Setting(closing(2))),
    (np.arange(5000), np.where(np.arange(5000) == 2500, 0, np.arange(5000))),
    (accuracy_score, balanced_accuracy_score),
    (f1_score, partial(f1_score, average="macro")),
    (RandomForestClassifier(), RandomForestClassifier(max_depth=3)),
    (RandomForestClassifier(), ExtraTreesClassifier()),
    (
        caveat.EnsembleClassifier(RandomForestClassifier(max_depth=2)),
        caveat.EnsembleClassifier(RandomForestClassifier(max_depth=3)),
    ),
    (int, float),
    (np, sys),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_content_tells_apart(pair):
    texts = [identity(one) for one in pair]
    assert texts[0] != texts[1]
    assert texts == [identity(one) for one in pair]
    assert " at 0x" not in "".join(texts)


def test_the_same_content_made_twice():
    for make in (lambda: closing(1), lambda: Setting(closing([1, {2}])), lambda: {1: 2, "a": 3}):
        assert identity(make()) == identity(make())
    assert identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1})


def test_what_contains_itself():
    one = Setting(1)
    one.value = one
    assert identity(one) == "Setting({('value', Setting)})"
    assert "code" in identity(late())
    assert identity(Slots()).endswith("Slots object>")
    nested = [1]
    for _ in range(100):
        nested = [nested]
    assert identity(nested).count("list") < 20


def test_weights_of_networks_count():
    torch = pytest.importorskip("torch")

    def network(first):
        made = torch.nn.Linear(2, 1)
        with torch.no_grad():
            made.weight.fill_(first)
            made.bias.fill_(0)
        return caveat.DeepEnsembleClassifier(module=made)

    assert identity(network(1.0)) == identity(network(1.0)) != identity(network(2.0))


SCRIPT = """
from tests.experiments.test_identity import PAIRS, identity
print([identity(one) for pair in PAIRS for one in pair])
"""


def test_other_processes_agree():
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == f"{[identity(one) for pair in PAIRS for one in pair]}\n"
