import numpy as np
import pytest

import caveat
from caveat.exceptions import InvalidValueError
from caveat.metrics import METRICS, _inputs
from caveat.metrics._core.sharing import is_sharing, shared, sharing

from ..contracts.metric_cases import make


def test_nothing_is_kept_outside():
    calls = []
    array = np.arange(3.0)
    for _ in range(2):
        shared("what", (array,), lambda: calls.append(1))
    assert len(calls) == 2
    assert not is_sharing()


def test_the_same_entries_are_computed_once():
    calls = []
    array = np.arange(6.0)
    with sharing():
        assert is_sharing()
        for same in (array, array[:], array.view()):
            shared("what", (same, None), lambda: calls.append(1))
        assert len(calls) == 1
        shared("what", (array[::2], None), lambda: calls.append(1))
        shared("else", (array, None), lambda: calls.append(1))
        shared("what", (array.copy(), None), lambda: calls.append(1))
        assert len(calls) == 4
    assert not is_sharing()


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_say_the_same_when_they_share(weighted):
    cases = {}
    for name in METRICS:
        case = make(name, 5000)
        # One set of arrays for all metrics that take the same.
        key = (METRICS[name].task, *case.inputs, str(case.truth.dtype), case.inputs_shape())
        first = cases.setdefault(key, [])
        if first:
            case.truth, case.inputs = first[0].truth, first[0].inputs
        first.append(case)
    weight = np.random.default_rng(0).random(5000) if weighted else None
    for group in cases.values():
        alone = [case.value(sample_weight=weight) for case in group]
        with sharing():
            together = [case.value(sample_weight=weight) for case in group]
            again = [case.value(sample_weight=weight) for case in group]
        assert together == again
        assert together == pytest.approx(alone, rel=1e-12, nan_ok=True)


def test_a_block_within_another_shares_with_it():
    calls, array = [], np.arange(3.0)
    with sharing():
        with sharing():
            shared("what", (array,), lambda: calls.append(1))
        assert is_sharing()
        shared("what", (array,), lambda: calls.append(1))
    assert len(calls) == 1
    assert not is_sharing()


def test_rows_are_checked_once_and_never_less(monkeypatch):
    p = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    y = np.arange(200) % 3
    starts = []
    check = _inputs.check_rows
    monkeypatch.setattr(
        _inputs,
        "check_rows",
        lambda block, *given: [starts.append(len(block)), check(block, *given)],
    )
    with sharing():
        for metric in (caveat.metrics.accuracy_score, caveat.metrics.brier_loss):
            metric(y, p)
        assert sum(starts) == 200
        bad = p.copy()
        bad[7] = [0.5, 0.5, 0.5]
        for _ in range(2):
            with pytest.raises(InvalidValueError, match=r"sample 7 sum to 1\.5"):
                caveat.metrics.accuracy_score(y, bad)
