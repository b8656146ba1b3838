"""Repair a prediction after the fact: ``fit(prediction, y)``, then ``transform(prediction)``."""

from dataclasses import dataclass

from .._docstrings import describe_package
from .._registry import Registry
from ..predictions import Container
from ._base import Recalibrator
from .bayesian_binning import BayesianBinning
from .beta_calibration import BetaCalibration
from .conformal_distribution import ConformalDistribution
from .conformal_ellipsoids import ConformalEllipsoids
from .conformal_quantiles import ConformalQuantiles
from .conformal_residuals import ConformalResiduals
from .conformal_sets import ConformalSets
from .cross_conformal import CrossConformal
from .dirichlet_calibration import DirichletCalibration
from .exchangeability import (
    ExchangeabilityTest,
    ShiftWarning,
    exchangeability_test,
    warn_if_shifted,
)
from .histogram_binning import HistogramBinning
from .isotonic_calibration import IsotonicCalibration
from .isotonic_distribution import IsotonicDistribution
from .platt_scaling import PlattScaling
from .quadratic_scaling import QuadraticScaling
from .regions import RegionRow, compare_regions, region_volumes
from .scaling_binning import ScalingBinning
from .shift import LabelShift, LikelihoodRatio, label_shift, likelihood_ratio
from .spline_calibration import SplineCalibration
from .structured_matrix_scaling import StructuredMatrixScaling
from .structured_vector_scaling import StructuredVectorScaling
from .temperature_scaling import TemperatureScaling
from .variance_scaling import VarianceScaling
from .venn_abers import VennAbers

__all__ = [
    "RECALIBRATORS",
    "BayesianBinning",
    "BetaCalibration",
    "ConformalDistribution",
    "ConformalEllipsoids",
    "ConformalQuantiles",
    "ConformalResiduals",
    "ConformalSets",
    "CrossConformal",
    "DirichletCalibration",
    "ExchangeabilityTest",
    "HistogramBinning",
    "IsotonicCalibration",
    "IsotonicDistribution",
    "LabelShift",
    "LikelihoodRatio",
    "PlattScaling",
    "QuadraticScaling",
    "RecalibrationMethod",
    "Recalibrator",
    "RegionRow",
    "ScalingBinning",
    "ShiftWarning",
    "SplineCalibration",
    "StructuredMatrixScaling",
    "StructuredVectorScaling",
    "TemperatureScaling",
    "VarianceScaling",
    "VennAbers",
    "compare_regions",
    "exchangeability_test",
    "label_shift",
    "likelihood_ratio",
    "region_volumes",
    "warn_if_shifted",
]


@dataclass(frozen=True)
class RecalibrationMethod:
    """An entry of the table of recalibrators.

    Attributes
    ----------
    recalibrator : type
    promises : str
        What it promises, in one sentence.
    cannot : str
        What it cannot repair, in one sentence.
    aliases : tuple of str
    """

    recalibrator: type[Recalibrator]
    promises: str
    cannot: str
    aliases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.recalibrator.__name__

    @property
    def takes(self) -> tuple[type[Container], ...]:
        """The predictions that it repairs."""
        return self.recalibrator.takes


RECALIBRATORS = Registry(
    "recalibrator",
    [
        RecalibrationMethod(
            TemperatureScaling,
            "One temperature with the least log loss; the predicted class stays.",
            "A miscalibration that differs between classes or levels of confidence.",
            ("ts",),
        ),
        RecalibrationMethod(
            PlattScaling,
            "A sigmoid for each class with the least log loss.",
            "A miscalibration that is not a sigmoid of the logit.",
            ("platt",),
        ),
        RecalibrationMethod(
            BetaCalibration,
            "A curve with two slopes for each class, one for each end, with the least log loss.",
            "A bend in the middle; classes that are the wrong way round.",
            ("beta",),
        ),
        RecalibrationMethod(
            QuadraticScaling,
            "A parabola of each class's logit with the least log loss.",
            "The order of samples, which a parabola may turn around.",
            ("quadratic",),
        ),
        RecalibrationMethod(
            SplineCalibration,
            "A smooth increasing curve for each class with the least penalized log loss.",
            "Steps and bends between its knots; classes that are the wrong way round.",
            ("spline",),
        ),
        RecalibrationMethod(
            IsotonicCalibration,
            "The best increasing map for each class: nothing increasing fits these samples better.",
            "Small calibration sets, which it overfits; the order of samples within a class.",
            ("ir", "isotonic"),
        ),
        RecalibrationMethod(
            HistogramBinning,
            "The observed frequency in each bin.",
            "Differences within a bin, which it erases.",
        ),
        RecalibrationMethod(
            BayesianBinning,
            "An average of binnings of many sizes by their evidence; never 0 or 1.",
            "The order of samples, which neighboring bins may turn around.",
            ("bbq",),
        ),
        RecalibrationMethod(
            ScalingBinning,
            "The mean of a sigmoid in each bin: few values, whose calibration can be measured.",
            "Differences within a bin, which it erases; a miscalibration that is no sigmoid.",
            ("scaling_binning",),
        ),
        RecalibrationMethod(
            StructuredVectorScaling,
            "A factor and a shift for each class, near one temperature where samples are few.",
            "A class that is taken for a certain other one.",
            ("svs",),
        ),
        RecalibrationMethod(
            StructuredMatrixScaling,
            "A linear map of all logits, near one temperature where samples are few.",
            "Hundreds of classes: it has classes squared parameters.",
            ("sms",),
        ),
        RecalibrationMethod(
            DirichletCalibration,
            "The best linear map of log probabilities under its penalty; it may mix classes.",
            "Small calibration sets with many classes: it has classes squared parameters.",
            ("dirichlet",),
        ),
        RecalibrationMethod(
            VennAbers,
            "One of the two probabilities is calibrated, whatever the distribution, if samples are "
            "exchangeable.",
            "Which of the two it is; the merged probability has no guarantee.",
            ("va",),
        ),
        RecalibrationMethod(
            VarianceScaling,
            "The mean squared standard score is 1 on the calibration samples; means stay.",
            "Spreads that are wrong in different directions for different samples.",
        ),
        RecalibrationMethod(
            IsotonicDistribution,
            "The predictive distribution is calibrated on average over samples.",
            "Whether each sample's spread fits it: one map for all.",
        ),
        RecalibrationMethod(
            ConformalResiduals,
            "Intervals cover at least as often as asked, on average over exchangeable samples.",
            "Coverage for each group or region, unless asked for by groups or bins.",
            ("split_conformal",),
        ),
        RecalibrationMethod(
            ConformalQuantiles,
            "Intervals cover at least as often as asked, and keep the shape of the quantiles.",
            "Quantiles that have the wrong shape: it shifts their ends alike.",
            ("cqr", "cmap"),
        ),
        RecalibrationMethod(
            ConformalDistribution,
            "Quantiles at any level are covered as often as they say, over exchangeable samples.",
            "The shape of a single sample's distribution: one for all, shifted and stretched.",
            ("cps",),
        ),
        RecalibrationMethod(
            ConformalEllipsoids,
            "All targets are inside one region at least as often as asked.",
            "Residuals that fill a box, for which joint boxes are smaller.",
        ),
        RecalibrationMethod(
            ConformalSets,
            "Sets hold the true class at least as often as asked, over exchangeable samples.",
            "Coverage of each class, unless asked for; sets may be empty or large.",
            ("lac", "aps", "raps"),
        ),
    ],
)

describe_package(__name__)
