"""Joint regions of several targets, compared by their volume."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray
from ..exceptions import UnsupportedPredictionError
from ..predictions import Ellipsoid, Gaussian, Interval
from ._base import Recalibrator
from .conformal_ellipsoids import ConformalEllipsoids
from .conformal_residuals import ConformalResiduals


@dataclass(frozen=True)
class RegionRow:
    """One kind of joint region, as :func:`compare_regions` returns it.

    Attributes
    ----------
    name : str
        "box", "copula box" or "ellipsoid".
    volume : float
        The median volume over the test samples, in the product of the targets' units.
    ratio : float
        The volume over the smallest of all kinds.
    coverage : float
        The share of test samples inside; NaN without their true values.
    recalibrator : Recalibrator
        Fitted to the calibration samples.
    """

    name: str
    volume: float
    ratio: float
    coverage: float
    recalibrator: Recalibrator


def compare_regions(
    calibration: Gaussian,
    y: Any,
    test: Gaussian,
    y_test: Any = None,
    *,
    coverage: float = 0.9,
    normalize: bool = False,
) -> list[RegionRow]:
    """Fit each kind of joint region, and compare how large it is for the test samples.

    Choosing the smallest by samples that also calibrate it costs some of the coverage; choose by
    other samples where the promise must hold.

    Parameters
    ----------
    calibration : Gaussian
        Several targets.
    y : array of shape (samples, targets)
    test : Gaussian
    y_test : array of shape (samples, targets), optional
    coverage : float, default=0.9
    normalize : bool, default=False
        Divide residuals by the predicted standard deviation.

    Returns
    -------
    list of RegionRow
        From the smallest volume to the largest.

    Examples
    --------
    >>> import caveat, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]], size=500)
    >>> prediction = caveat.Gaussian(np.zeros((500, 2)), 1.0)
    >>> for row in caveat.compare_regions(prediction, y, prediction):
    ...     print(f"{row.name}: {row.volume:.1f} ({row.ratio:.2f})")
    ellipsoid: 6.3 (1.00)
    box: 12.5 (2.00)
    copula box: 12.6 (2.01)
    """
    for prediction in (calibration, test):
        if not isinstance(prediction, Gaussian):
            raise UnsupportedPredictionError(
                f"compare_regions takes a Gaussian; got a {type(prediction).__name__}"
            )
    kinds: dict[str, Recalibrator] = {
        "box": ConformalResiduals(coverage, normalize=normalize, joint=True),
        "copula box": ConformalResiduals(coverage, normalize=normalize, joint="copula"),
        "ellipsoid": ConformalEllipsoids(coverage, normalize=normalize),
    }
    measured = []
    for name, recalibrator in kinds.items():
        region = recalibrator.fit(calibration, y).transform(test)
        volume = float(np.median(region_volumes(region)))
        share = np.nan if y_test is None else float(np.mean(_inside(region, y_test)))
        measured.append((name, volume, share, recalibrator))
    smallest = min(volume for _, volume, _, _ in measured)
    rows = [
        RegionRow(
            name, volume, volume / smallest if volume < np.inf else np.inf, share, recalibrator
        )
        for name, volume, share, recalibrator in measured
    ]
    return sorted(rows, key=lambda row: row.volume)


def region_volumes(region: Interval | Ellipsoid) -> FloatArray:
    """Return the volume of each sample's region: the product of its sides, or that of an ellipsoid.

    Parameters
    ----------
    region : Interval or Ellipsoid

    Examples
    --------
    >>> import caveat
    >>> region_volumes(caveat.Interval([[0.0, 0.0]], [[2.0, 3.0]], coverage=0.9))
    array([6.])
    """
    if isinstance(region, Ellipsoid):
        return region.volumes()
    if not isinstance(region, Interval):
        raise UnsupportedPredictionError(
            f"a volume is that of an Interval or an Ellipsoid; got a {type(region).__name__}"
        )
    sides = region.upper - region.lower
    # A side of 0 makes the volume 0, also where another one is infinite.
    return np.where((sides == 0).any(axis=1), 0.0, np.where(sides == 0, 1.0, sides).prod(axis=1))


def _inside(region: Interval | Ellipsoid, y: Any) -> np.ndarray:
    if isinstance(region, Ellipsoid):
        return region.contains(y)
    truth = region.align(y)
    return np.asarray(((region.lower <= truth) & (truth <= region.upper)).all(axis=1))
