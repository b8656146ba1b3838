"""Bootstrap confidence intervals and paired comparisons for any metric.

``make_plan(samples, ...)`` draws once which samples each resample holds; ``replicates(metric,
truth, inputs, plan, ...)`` gives the metric in every resample, for all samples or the ``rows`` of a
group; ``confidence_interval(metric, value, replicates)`` the interval. All replicates from one plan
are paired, so their differences and ratios are replicates of gaps:

>>> import numpy as np
>>> from caveat.metrics import METRICS
>>> from caveat.resampling import Prepared, interval_of, make_plan, replicates
>>> rng = np.random.default_rng(0)
>>> p = rng.random(1000)
>>> y, old = (rng.random(1000) < p).astype(int), rng.random(1000) < 0.5
>>> plan = make_plan(1000, random_state=0)
>>> brier = METRICS["brier"]
>>> a = replicates(brier, y, {"probabilities": p}, plan, rows=old)
>>> b = replicates(brier, y, {"probabilities": p}, plan, rows=~old)
>>> gap = interval_of(a.center - b.center, a - b)
>>> bool(gap.low < 0 < gap.high)
True

What comes back
---------------
``replicates`` returns `Replicates`: ``.values`` (resamples,), ``.center`` (the same computation on
the samples themselves), ``.units``; for binned errors also ``.gaps`` (gaps,), ``.deviations``
(resamples, gaps) and ``.norm``, which `confidence_interval` needs. ``a - b`` and ``a / b`` are
`Replicates` again, ``np.asarray(a)`` is the values. `confidence_interval` and `interval_of` return
`ConfidenceInterval` with ``low``, ``high``, ``method`` and ``estimate`` (None unless the method is
test inversion or half-samples). Gaps and ratios of two groups: ``pair_interval(metric, (value_a,
value_b), (a, b), kind="gap")`` combines their own intervals; ``equal_errors([a], [b])`` is the
question whether two predictions of the same samples may have the same binned error.

Several metrics of one truth share their work through `Prepared`:

>>> shared = Prepared(y, {"probabilities": p}, plan)
>>> draws = [replicates(METRICS[name], prepared=shared) for name in ("auc", "ece", "brier")]
"""

from .._docstrings import describe_package, entries_of
from .from_states import state_interval
from .intervals import ConfidenceInterval, confidence_interval, interval_of
from .pairs import equal_errors, pair_interval
from .plan import Plan, make_plan
from .prepared import Prepared
from .replication import Replicates, replicates

__all__ = [
    "ConfidenceInterval",
    "Plan",
    "Prepared",
    "Replicates",
    "confidence_interval",
    "equal_errors",
    "interval_of",
    "make_plan",
    "pair_interval",
    "replicates",
    "state_interval",
]

PARAMETERS = entries_of("""\
metric : Metric
state : State
resamples : int
random_state : int, Generator or None
    Seed of the random draws.
""")
describe_package(__name__, PARAMETERS)
