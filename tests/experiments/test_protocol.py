import numpy as np
import pytest

from caveat.exceptions import OptionError
from caveat.experiments import Protocol
from caveat.experiments.protocol import as_protocol


def test_paper_and_cheap():
    paper, cheap = as_protocol("paper"), as_protocol("cheap")
    assert paper.sizes == (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1)
    assert paper.noise == tuple(i / 10 for i in range(11))
    assert (paper.repeats, paper.schedule, paper.conditions) == (5, "inverse-epochs", 90)
    assert cheap.sizes == (0.25, 0.5, 0.75, 1)
    assert cheap.noise == (0, 0.25, 0.5, 0.75)
    assert (cheap.repeats, cheap.schedule, cheap.conditions) == (1, "inverse-epochs", 8)
    assert as_protocol(cheap) is cheap
    assert Protocol(repeats=np.int64(2)).repeats == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sizes": (1,)}, "sizes must have two different levels at least, .* got 1"),
        ({"sizes": ()}, "sizes must have two different levels at least, .* got none"),
        ({"sizes": 0.5}, "sizes must be a sequence of shares; got 0.5"),
        ({"sizes": ("few", "all")}, "sizes must be a sequence of shares"),
        ({"sizes": (0, 1)}, "sizes must be above 0"),
        ({"sizes": (25, 100)}, r"sizes must be shares from 0 to 1 \(0.25 for 25 %\); got 25, 100"),
        ({"sizes": (0.5, 0.5, 1)}, "sizes names a level twice: 0.5, 0.5, 1"),
        ({"noise": (0, 1.5)}, "noise must be shares from 0 to 1 .* got 1.5"),
        ({"noise": (-0.1, 1)}, "got -0.1"),
        ({"noise": (0, np.nan)}, "got nan"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1; got 0"),
        ({"repeats": True}, "got True"),
        ({"repeats": 2.5}, "got 2.5"),
        ({"schedule": "linear"}, "schedule must be one of 'inverse-epochs', .* got 'linear'"),
    ],
)
def test_bad_protocols(given, message):
    with pytest.raises(OptionError, match=message):
        Protocol(**given)


@pytest.mark.parametrize("wrong", ["quick", None, {"sizes": (0.5, 1)}])
def test_unknown_protocol(wrong):
    with pytest.raises(OptionError, match="protocol must be 'paper', 'cheap' or"):
        as_protocol(wrong)
