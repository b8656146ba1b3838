"""One prediction of every type, generic in all its values."""

import numpy as np

import caveat


def every_type():
    rng = np.random.default_rng(7)
    members = rng.dirichlet(np.ones(3), size=(4, 9))
    low = rng.uniform(0, 0.5, size=(9, 3))
    return [
        caveat.Categorical(members, classes=["ja", "nein", "доверие"]),
        caveat.Categorical(members[0], classes=[2, 3, 5]),
        caveat.Categorical.from_binary(rng.uniform(size=9), classes=[False, True]),
        caveat.GaussianLogits(
            rng.normal(size=(4, 9, 3)), rng.gamma(2, size=(4, 9, 3)), classes=[0.5, 1, 2]
        ),
        caveat.Gaussian(
            rng.normal(size=(4, 9, 2)), rng.gamma(2, size=(4, 9, 2)), targets=["sbp", "dbp"]
        ),
        caveat.Quantiles([0.1, 0.5, 0.9], np.sort(rng.normal(size=(2, 9, 2, 3)), axis=-1)),
        caveat.Interval(rng.normal(size=9), rng.normal(size=9) + 9, coverage=0.9),
        caveat.Interval([-np.inf] * 9, rng.normal(size=9), coverage=0.9),
        caveat.Ellipsoid(
            rng.normal(size=(9, 2)),
            np.tril(1 + rng.random((9, 2, 2))),
            coverage=0.9,
            targets=["a", "b"],
        ),
        caveat.PredictionSet(rng.uniform(size=(9, 3)) < 0.5, coverage=0.8, classes=["a", "b", "c"]),
        caveat.ProbabilityInterval(low, low + 0.1),
        caveat.decompose(caveat.Categorical(members)),
        caveat.decompose(caveat.Gaussian(rng.normal(size=(4, 9, 2)), np.ones((4, 9, 2)))),
    ]
