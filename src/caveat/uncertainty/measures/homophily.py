r"""Uncertainty that counts confusion between distant classes for more than between close ones.

The denominator of the homophily-based uncertainty is the largest value of :math:`p^T A p`, with
:math:`A = H \odot H`, over the simplex. A point that attains some value is easy to find; what takes
the work here is the bound that no point exceeds. On the simplex :math:`p^T B p` is concave exactly
if :math:`B` is negative semidefinite on the vectors that sum to 0, and then an ascent comes with
its own bound. Where :math:`A` is not so, every :math:`B \geq A` that is gives an upper bound: the
lowest of them is the doubly non-negative relaxation, which mostly meets the point that was found.
Where it does not, a mixed-integer program over the Karush-Kuhn-Tucker points decides.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._validation import FloatArray, check_integer
from ...exceptions import OptionError
from ...predictions.categorical import Categorical
from ..distances.given import check_distances
from ._common import bounded, by_blocks, mean_probabilities, sum_classes

__all__ = ["HomophilyMaximum", "homophily_maximum", "homophily_uncertainty"]

Bounds = tuple[FloatArray, float, float]  # best point, its value, a value that no point exceeds
Certificate = Literal["concave", "exact", "bound"]

# All of these are relative to the largest entry of A, which is scaled to 1.
_CONCAVE = 1e-10  # a larger eigenvalue of the centered A is not rounding
_EXACT = 1e-6  # bounds this close are one value; the feasibility tolerance of the solver
_CLOSED = 1e-8  # bounds this close need no more work
_STATIONARY = 1e-12  # where the ascent stops

_SOLVER_CLASSES = 100  # the mixed-integer program takes too long for more
_RELAXATION_STEPS = 1000
_RELAXATION_WORK = 1e10  # steps times classes cubed: some seconds
_CHECK_EVERY = 25
_LONG = 2**31 - 1  # nodes: what the solver takes for no limit
_OBJECTIVE = 1e4  # the solver stops at an absolute gap of 1e-6


@dataclass(frozen=True, eq=False)
class HomophilyMaximum:
    """The largest value of p'(H ∘ H)p over the simplex; see :func:`homophily_maximum`.

    Attributes
    ----------
    value : float
        No point of the simplex exceeds it. The denominator of the homophily-based uncertainty.
    lower : float
        The value attained at ``argmax``.
    argmax : ndarray of shape (classes,)
        The best point found.
    certificate : {"concave", "exact", "bound"}
        How ``value`` is known.
    """

    value: float
    lower: float
    argmax: FloatArray
    certificate: Certificate

    @property
    def gap(self) -> float:
        """How far the maximum may be below ``value``."""
        return self.value - self.lower


def homophily_uncertainty(
    probabilities: Any, H: Any, *, maximum: HomophilyMaximum | None = None
) -> FloatArray:
    r"""How much of the probability is shared between classes that are far apart.

    .. math:: HU(p) = \frac{p^T (H \odot H) p}{\max_{q \in \Delta} q^T (H \odot H) q}

    where :math:`H_{ij}` is a distance between the classes i and j, for instance from
    :func:`~caveat.uncertainty.class_distances`. The scale of H does not matter. If
    all classes are equally far apart, this is the scaled Gini impurity
    :math:`\frac{C}{C - 1} (1 - \sum_c p_c^2)`.

    Parameters
    ----------
    H : array of shape (classes, classes), or data frame
        Distances between the classes: symmetric, not negative, 0 on the diagonal. A data frame is
        put in the order of the classes of a Categorical by its names.
    maximum : HomophilyMaximum, optional
        What :func:`homophily_maximum` returned for this H, to compute it only once.

    Returns
    -------
    ndarray of shape (samples,)
        From 0 (all on one class, or on classes at distance 0) to 1 (the most uncertain prediction
        for this H). Where the maximum is only known to within its ``gap``, the values are too low
        by up to that fraction, never too high. If H is all 0, so is the result.

    References
    ----------
    .. [1] S. Chlaily, D. Ratha, P. Lozou, A. Marinoni. On Measures of Uncertainty in
       Classification. IEEE Transactions on Signal Processing 71, 3710-3725, 2023. Definition 2.

    Examples
    --------
    Cats and dogs are close, ships are far from both:

    >>> from caveat.uncertainty import homophily_uncertainty
    >>> H = [[0, 1, 4], [1, 0, 4], [4, 4, 0]]
    >>> p = [[1.0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0.3, 0.2, 0.5]]
    >>> homophily_uncertainty(p, H).round(3)
    array([0.   , 0.062, 0.984, 0.999])
    """
    p = mean_probabilities(probabilities)
    named = isinstance(probabilities, Categorical)
    H = check_distances(H, probabilities.classes if named else p.shape[1])
    if maximum is None:
        maximum = homophily_maximum(H)
    else:
        _check_maximum(maximum, H)
    weights = (H / (np.sqrt(maximum.value) or 1.0)) ** 2

    def kernel(block: FloatArray, scratch: FloatArray) -> FloatArray:
        np.matmul(block, weights.astype(block.dtype, copy=False), out=scratch)
        scratch *= block
        return bounded(sum_classes(scratch), 1.0)

    return by_blocks(kernel, p)


def homophily_maximum(H: Any, *, node_limit: int | None = 5000) -> HomophilyMaximum:
    r"""Largest value of :math:`p^T (H \odot H) p` over the simplex, with a certificate.

    The certificate says how it is known that no point exceeds ``value``:

    - "concave": the function is concave on the simplex, since :math:`H \odot H` is conditionally
      negative definite. So it is for Euclidean distances, for energy distances of one channel and
      for root mean squares of those, with any number of classes. ``gap`` is the duality gap.
    - "exact": it is not concave, and the point found meets the upper bound to 1e-8.
    - "bound": the upper bound could not be brought down to the best point found, as can happen for
      many classes. The maximum is in [``lower``, ``value``].

    Parameters
    ----------
    H : array of shape (classes, classes)
        Distances between the classes: symmetric, not negative, 0 on the diagonal. If all are 0,
        so is the maximum.
    node_limit : int or None, default=5000
        After how many nodes the search for the last resort, a mixed-integer program for up to 100
        classes, is given up. The default takes some seconds at 50 classes, half a minute at 100;
        None searches to the end, however long it takes.

    Returns
    -------
    HomophilyMaximum

    Examples
    --------
    >>> from caveat.uncertainty import homophily_maximum
    >>> best = homophily_maximum([[0, 1, 4], [1, 0, 4], [4, 4, 0]])
    >>> round(best.value, 3), best.argmax.round(3), best.certificate
    (8.127, array([0.254, 0.254, 0.492]), 'concave')
    """
    H = check_distances(H)
    if node_limit is not None:
        check_integer(node_limit, "node_limit", 0)
    scale = float(H.max())
    A = (H / (scale or 1.0)) ** 2
    certificate: Certificate = "concave"
    curvature = max(0.0, float(np.linalg.eigvalsh(_centered(A))[-1]))
    if curvature <= _CONCAVE:
        p, lower, upper = _maximize_concave(A, max(_starts(A, 1), key=lambda p: p @ A @ p))
        upper += 2 * curvature  # two points of the simplex are at most sqrt(2) apart
    else:
        p, lower, upper = _maximize(A, _LONG if node_limit is None else int(node_limit))
        certificate = "exact" if upper - lower <= _EXACT else "bound"
    p.flags.writeable = False
    return HomophilyMaximum(max(lower, upper) * scale**2, lower * scale**2, p, certificate)


def _maximize(A: FloatArray, node_limit: int) -> Bounds:
    """Maximize p'Ap where it is not concave; A has 1 as its largest entry."""
    p, lower = max(
        (_ascend(A, start) for start in _starts(A, 20)), key=lambda candidate: candidate[1]
    )
    kept = _candidates(A, lower)
    inner = A[np.ix_(kept, kept)]
    solution = _relax(inner, p[kept] / p[kept].sum(), lower)
    if solution[2] - solution[1] > _EXACT and len(kept) <= _SOLVER_CLASSES:
        solution = _solve_integer(inner, *solution, node_limit)
    q, _, upper = solution
    p = np.zeros(len(A))
    p[kept] = q
    return p, float(p @ A @ p), upper


def _candidates(A: FloatArray, lower: float) -> NDArray[np.intp]:
    """Classes that can have a positive probability at a maximum of at least ``lower``."""
    # There (Ap)_i is the maximum for each class i of the support, and at most the row's largest.
    kept = np.arange(len(A))
    while True:
        far = A[np.ix_(kept, kept)].max(axis=1) >= lower - _CLOSED
        if far.all():
            return kept
        kept = kept[far]


def _ascend(A: FloatArray, start: FloatArray, steps: int = 20_000) -> tuple[FloatArray, float]:
    """Pairwise Frank-Wolfe: move probability from the worst class to the best, until stationary."""
    p = start.copy()
    slopes = A @ p
    for _ in range(steps + 5 * len(p)):
        best = int(slopes.argmax())
        if slopes[best] - p @ slopes <= _STATIONARY:
            break
        worst = int(np.where(p > 0, slopes, np.inf).argmin())
        # The diagonal is 0, so along this direction the curvature is -2 A[best, worst].
        step = p[worst]
        if 2 * A[best, worst] * step > slopes[best] - slopes[worst]:
            step = (slopes[best] - slopes[worst]) / (2 * A[best, worst])
        p[worst] -= step
        p[best] += step
        slopes += step * (A[best] - A[worst])
    p /= p.sum()
    return p, float(p @ A @ p)


def _maximize_concave(B: FloatArray, start: FloatArray, steps: int = 20_000) -> Bounds:
    """Ascend where p'Bp is concave; the bound is the highest point of the tangent plane."""
    p, value = _ascend(B, start, steps)
    if float((B @ p).max()) - value > _STATIONARY:
        # Between classes that are nearly equal the function is nearly flat, and steps are short.
        p, value = max([(p, value), _solved(B, p)], key=lambda pair: pair[1])
    return p, value, value + 2 * max(0.0, float((B @ p).max()) - value)


def _solved(B: FloatArray, p: FloatArray) -> tuple[FloatArray, float]:
    """Return the point where all slopes of the classes of p are equal, if it is a distribution."""
    held = np.flatnonzero(p > 0)
    ones = np.ones((len(held), 1))
    system = np.block([[B[np.ix_(held, held)], -ones], [ones.T, np.zeros((1, 1))]])
    equal = np.linalg.lstsq(system, np.append(np.zeros(len(held)), 1.0), rcond=None)[0][:-1]
    point = np.zeros(len(p))
    point[held] = equal
    return (point, float(point @ B @ point)) if equal.min() >= 0 else (p, -np.inf)


def _concave_above(B: FloatArray) -> FloatArray:
    """Return a matrix that is concave on the simplex and off the diagonal at least B."""
    np.fill_diagonal(B, 0.0)
    convex = _positive_part(_centered(B))
    # A convex function on the simplex is at most the linear one through its corners.
    corners = np.diag(convex)
    return B - convex + (corners[:, None] + corners) / 2


def _positive_part(A: FloatArray) -> FloatArray:
    """Leave out the negative eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh(A)
    positive = eigenvalues > 0
    return (vectors[:, positive] * eigenvalues[positive]) @ vectors[:, positive].T


def _relax(A: FloatArray, p: FloatArray, lower: float) -> Bounds:
    r"""Bring the upper bound down by the doubly non-negative relaxation.

    Its dual is the least m with :math:`m J = A + N + S`, J all 1, N not negative and S positive
    semidefinite, solved here by alternating directions; X is the multiplier, whose row sums are
    the relaxation's guess of the best point. Any N bounds the maximum, so it may stop anywhere.
    """
    classes = len(A)
    penalty = float(classes)
    N, S = np.zeros_like(A), np.zeros_like(A)
    X = np.full_like(A, 1 / classes**2)
    upper = 1 - 1 / classes
    steps = int(np.clip(_RELAXATION_WORK / classes**3, _CHECK_EVERY, _RELAXATION_STEPS))
    for step in range(steps + 1):
        if step % _CHECK_EVERY == 0:
            guess = np.maximum(X.sum(axis=1), _STATIONARY)
            p, lower = max((p, lower), _ascend(A, guess / guess.sum()), key=lambda at: at[1])
            upper = min(upper, _maximize_concave(_concave_above(A + N), p, 1000)[2])
            if upper - lower <= _CLOSED:
                break
        m = ((A + N + S).sum() + penalty * (X.sum() - 1)) / classes**2
        target = m - A - penalty * X
        S = _positive_part(target - N)
        N = np.maximum(target - S, 0.0)
        X -= 1.618 / penalty * (m - A - N - S)
    return p, lower, upper


def _solve_integer(
    A: FloatArray, p: FloatArray, lower: float, upper: float, node_limit: int
) -> Bounds:
    """Search all Karush-Kuhn-Tucker points for one above ``lower``.

    The largest m that is at most (Ap)_i for each class i with a positive probability is the maximum
    of p'Ap. The variables are p, which classes are in its support, m, and whether to settle for
    ``lower``, so that the solver has a solution to begin with.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    classes = len(A)
    most = _most_probable(A, lower)
    slack = upper - _least_slopes(A, most)
    ones = np.ones((classes, 1))
    rows = np.block(
        [
            [np.eye(classes), -np.diag(most), 0 * ones, 0 * ones],  # p is 0 outside the support
            [-A, np.diag(slack), ones, -upper * ones],  # m is at most (Ap)_i inside
            [np.ones((1, classes)), np.zeros((1, classes + 2))],
            [np.zeros((1, 2 * classes)), np.array([[1.0, upper - lower]])],
        ]
    )
    at_most = np.concatenate([np.zeros(classes), slack, [1.0, upper]])
    at_least = np.full(len(rows), -np.inf)
    at_least[-2] = 1.0
    objective = np.zeros(2 * classes + 2)
    objective[-2] = -_OBJECTIVE
    solution: Any = milp(
        objective,
        integrality=np.repeat([0, 1, 0, 1], [classes, classes, 1, 1]),
        bounds=Bounds(
            np.concatenate([np.zeros(2 * classes), [lower, 0.0]]),
            np.concatenate([most, np.ones(classes), [upper, 1.0]]),
        ),
        constraints=LinearConstraint(rows, at_least, at_most),
        options={"mip_rel_gap": 0.0, "node_limit": node_limit},
    )
    if solution.x is None:
        return p, lower, upper
    guess = np.clip(solution.x[:classes], 0.0, None)
    p, lower = max((p, lower), _ascend(A, guess / guess.sum()), key=lambda at: at[1])
    return p, lower, min(upper, -solution.mip_dual_bound / _OBJECTIVE)


def _most_probable(A: FloatArray, lower: float) -> FloatArray:
    """Upper bounds of p where p'Ap is at least ``lower`` and stationary."""
    # (Ap)_i is at least that, and at most the row's largest entry times 1 - p_i.
    return np.minimum(1.0, 1 - (lower - _CLOSED) / A.max(axis=1))


def _least_slopes(A: FloatArray, most: FloatArray) -> FloatArray:
    """Lower bounds of (Ap)_i where p_i is 0, by filling up the closest classes."""
    others = np.where(np.eye(len(A), dtype=bool), 0.0, most)
    order = np.argsort(A, axis=1)
    filled = np.minimum(np.cumsum(np.take_along_axis(others, order, axis=1), axis=1), 1.0)
    shares = np.diff(filled, axis=1, prepend=0.0)
    return (shares * np.take_along_axis(A, order, axis=1)).sum(axis=1)


def _centered(A: FloatArray) -> FloatArray:
    """Project onto the vectors that sum to 0, from both sides."""
    means = A.mean(axis=0)
    return A - means - means[:, None] + means.mean()


def _starts(A: FloatArray, pairs: int) -> list[FloatArray]:
    """The uniform distribution and the middle between two classes, for the farthest of them."""
    corners = np.eye(len(A))
    ends = np.argsort(-A.max(axis=1), kind="stable")[:pairs]
    return [corners.mean(axis=0), *((corners[i] + corners[A[i].argmax()]) / 2 for i in ends)]


def _check_maximum(maximum: Any, H: FloatArray) -> None:
    if not isinstance(maximum, HomophilyMaximum):
        raise OptionError(
            f"maximum must be what homophily_maximum returned; got {type(maximum).__name__}"
        )
    p = maximum.argmax
    if len(p) != len(H) or not np.isclose(p @ H**2 @ p, maximum.lower, rtol=1e-6, atol=0):
        raise OptionError(
            "maximum is not that of this H; pass what homophily_maximum returns for it, or leave "
            "maximum out"
        )
