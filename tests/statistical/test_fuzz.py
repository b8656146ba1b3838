"""Every public callable, called with what nobody should pass: a right answer or an error of ours.

A warning is an error in all tests, so that a call that warns fails here, too.
"""

import inspect

import matplotlib
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from matplotlib import pyplot

from . import fuzzing

matplotlib.use("Agg")

CALLABLES = fuzzing.discover()
# How many examples each of them gets, by how long one takes: some three minutes in all.
EXAMPLES = {"evaluation": 8, "fairness": 8, "charts": 8, "experiments": 15}
_QUICK, _SLOW = 60, {"evaluation.compare": 3, "recalibration.DirichletCalibration": 3}


def examples(name):
    long = [number for start, number in _SLOW.items() if name.startswith(start)]
    return min(long, default=EXAMPLES.get(name.partition(".")[0], _QUICK))


@pytest.mark.parametrize("name", CALLABLES)
def test_a_right_answer_or_an_own_error(name, fuzz_calls):
    @settings(
        max_examples=examples(name),
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        # A slow call is not made simpler: that would take minutes.
        phases=[Phase.generate, Phase.shrink][: 1 + (examples(name) == _QUICK)],
    )
    @given(st.data())
    def calls(data):
        try:
            fuzzing.one_call(name, CALLABLES[name], fuzzing.Pick(data.draw))
        except fuzzing.UnfitError:
            return
        finally:
            pyplot.close("all")

    with fuzz_calls():
        calls()


def test_every_argument_has_a_way_to_be_made():
    missing = [
        f"{name}({parameter.name})"
        for name, function in CALLABLES.items()
        for parameter in list(inspect.signature(function).parameters.values())
        if parameter.name != "self"
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        and not _known(name, parameter.name)
    ]
    assert missing == []


def _known(name, parameter):
    try:
        return fuzzing.argument(name, parameter) is not None
    except KeyError:
        return False
