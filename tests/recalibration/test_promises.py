"""What summaries say is promised: of one target or of all, of a class, in a bin."""

import numpy as np
import pytest

import caveat

RNG = np.random.default_rng(5)
MEAN = RNG.normal(size=(60, 2))
Y = MEAN + RNG.normal(size=(60, 2))
TWO, ONE = caveat.Gaussian(MEAN, 1.0), caveat.Gaussian(MEAN[:, 0], 1.0)
COVERED = "Promised: at least 80 % of new samples like the calibration samples are covered"


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (caveat.ConformalResiduals(0.8), ", each target by itself, on average"),
        (caveat.ConformalQuantiles(0.8, joint=True), ", all targets together, on average"),
        (caveat.ConformalResiduals(0.8, joint="copula"), ", all targets together, on average"),
        (caveat.ConformalEllipsoids(0.8), ", all targets together, on average"),
    ],
    ids=["residuals", "joint", "copula", "ellipsoids"],
)
def test_several_targets(method, words):
    assert method.fit(TWO, Y).summary().startswith(COVERED + words)
    assert method.fit(ONE, Y[:, 0]).summary().startswith(COVERED + ", on average")


def test_several_targets_of_folds():
    cross = caveat.CrossConformal(0.8).fit(TWO, Y, folds=np.arange(60) % 5)
    assert "of new samples are covered, each target by itself; 80 % were" in cross.summary()


def test_each_class():
    p = RNG.dirichlet(np.ones(2), size=60)
    y = np.arange(60) % 2
    sets = caveat.ConformalSets(0.8, class_conditional=True).fit(p, y)
    assert sets.summary().startswith(COVERED + ", each class by itself, on average")
    assert caveat.ConformalSets(0.8).fit(p, y).summary().startswith(COVERED + ", on average")


def test_bins():
    said = caveat.ConformalResiduals(0.8, bins=3).fit(ONE, Y[:, 0]).summary()
    assert (
        "In a bin of n calibration samples 20 % / n less are promised, since one of them set the "
        "edge of the bin."
    ) in said
    assert "bin" not in caveat.ConformalResiduals(0.8, bins=1).fit(ONE, Y[:, 0]).summary()
