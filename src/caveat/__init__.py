"""How far can each prediction of a model be trusted, and why not further?

Names are imported when they are first used, so that ``import caveat`` stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import _environment as _environment

if TYPE_CHECKING:
    from . import charts as charts
    from . import confusion as confusion
    from . import datasets as datasets
    from . import estimators as estimators
    from . import evaluation as evaluation
    from . import exceptions as exceptions
    from . import experiments as experiments
    from . import fairness as fairness
    from . import files as files
    from . import integrations as integrations
    from . import maps as maps
    from . import metrics as metrics
    from . import models as models
    from . import molecules as molecules
    from . import monitoring as monitoring
    from . import nn as nn
    from . import predictions as predictions
    from . import recalibration as recalibration
    from . import repairing as repairing
    from . import report as report
    from . import resampling as resampling
    from . import risk_control as risk_control
    from . import selection as selection
    from . import sequential as sequential
    from . import signals as signals
    from . import studies as studies
    from . import summaries as summaries
    from . import triage as triage
    from . import uncertainty as uncertainty
    from .charts import plot as plot
    from .confusion import compare_measures as compare_measures
    from .confusion import confusion_matrix as confusion_matrix
    from .confusion import explain_uncertainty as explain_uncertainty
    from .estimators import AnchoredEnsembleClassifier as AnchoredEnsembleClassifier
    from .estimators import AnchoredEnsembleRegressor as AnchoredEnsembleRegressor
    from .estimators import BatchEnsembleClassifier as BatchEnsembleClassifier
    from .estimators import BatchEnsembleRegressor as BatchEnsembleRegressor
    from .estimators import BayesByBackpropClassifier as BayesByBackpropClassifier
    from .estimators import BayesByBackpropRegressor as BayesByBackpropRegressor
    from .estimators import BootstrapClassifier as BootstrapClassifier
    from .estimators import BootstrapRegressor as BootstrapRegressor
    from .estimators import ConcreteDropoutClassifier as ConcreteDropoutClassifier
    from .estimators import ConcreteDropoutRegressor as ConcreteDropoutRegressor
    from .estimators import DeepEnsembleClassifier as DeepEnsembleClassifier
    from .estimators import DeepEnsembleRegressor as DeepEnsembleRegressor
    from .estimators import DropConnectClassifier as DropConnectClassifier
    from .estimators import DropConnectRegressor as DropConnectRegressor
    from .estimators import EnsembleClassifier as EnsembleClassifier
    from .estimators import EnsembleRegressor as EnsembleRegressor
    from .estimators import FlipoutClassifier as FlipoutClassifier
    from .estimators import FlipoutRegressor as FlipoutRegressor
    from .estimators import LaplaceClassifier as LaplaceClassifier
    from .estimators import LaplaceRegressor as LaplaceRegressor
    from .estimators import MAPClassifier as MAPClassifier
    from .estimators import MAPRegressor as MAPRegressor
    from .estimators import MCDropoutClassifier as MCDropoutClassifier
    from .estimators import MCDropoutRegressor as MCDropoutRegressor
    from .estimators import QuantileNetworkRegressor as QuantileNetworkRegressor
    from .estimators import SWAGClassifier as SWAGClassifier
    from .estimators import SWAGRegressor as SWAGRegressor
    from .estimators import fit_many as fit_many
    from .estimators import from_sklearn as from_sklearn
    from .evaluation import Comparison as Comparison
    from .evaluation import Evaluation as Evaluation
    from .evaluation import Verdict as Verdict
    from .evaluation import compare as compare
    from .evaluation import evaluate as evaluate
    from .evaluation import reference_values as reference_values
    from .experiments import Disentanglement as Disentanglement
    from .experiments import disentanglement_error as disentanglement_error
    from .fairness import FairnessAudit as FairnessAudit
    from .fairness import audit as audit
    from .files import read_predictions as read_predictions
    from .integrations import scorer as scorer
    from .loading import load as load
    from .models import from_model as from_model
    from .monitoring import Drift as Drift
    from .monitoring import DriftMonitor as DriftMonitor
    from .monitoring import drift as drift
    from .predictions import Categorical as Categorical
    from .predictions import Decomposition as Decomposition
    from .predictions import Ellipsoid as Ellipsoid
    from .predictions import Gaussian as Gaussian
    from .predictions import GaussianLogits as GaussianLogits
    from .predictions import Interval as Interval
    from .predictions import PredictionSet as PredictionSet
    from .predictions import ProbabilityInterval as ProbabilityInterval
    from .predictions import Quantiles as Quantiles
    from .predictions import concat as concat
    from .recalibration import BayesianBinning as BayesianBinning
    from .recalibration import BetaCalibration as BetaCalibration
    from .recalibration import ConformalDistribution as ConformalDistribution
    from .recalibration import ConformalEllipsoids as ConformalEllipsoids
    from .recalibration import ConformalQuantiles as ConformalQuantiles
    from .recalibration import ConformalResiduals as ConformalResiduals
    from .recalibration import ConformalSets as ConformalSets
    from .recalibration import CrossConformal as CrossConformal
    from .recalibration import DirichletCalibration as DirichletCalibration
    from .recalibration import HistogramBinning as HistogramBinning
    from .recalibration import IsotonicCalibration as IsotonicCalibration
    from .recalibration import IsotonicDistribution as IsotonicDistribution
    from .recalibration import PlattScaling as PlattScaling
    from .recalibration import QuadraticScaling as QuadraticScaling
    from .recalibration import ScalingBinning as ScalingBinning
    from .recalibration import SplineCalibration as SplineCalibration
    from .recalibration import StructuredMatrixScaling as StructuredMatrixScaling
    from .recalibration import StructuredVectorScaling as StructuredVectorScaling
    from .recalibration import TemperatureScaling as TemperatureScaling
    from .recalibration import VarianceScaling as VarianceScaling
    from .recalibration import VennAbers as VennAbers
    from .recalibration import compare_regions as compare_regions
    from .recalibration import exchangeability_test as exchangeability_test
    from .recalibration import label_shift as label_shift
    from .recalibration import likelihood_ratio as likelihood_ratio
    from .recalibration import warn_if_shifted as warn_if_shifted
    from .repairing import Calibrator as Calibrator
    from .repairing import Repair as Repair
    from .repairing import Repaired as Repaired
    from .repairing import repair as repair
    from .report import write_report as write_report
    from .risk_control import ConformalRiskControl as ConformalRiskControl
    from .risk_control import ConformalSelection as ConformalSelection
    from .risk_control import LearnThenTest as LearnThenTest
    from .selection import AutoClassifier as AutoClassifier
    from .selection import AutoRegressor as AutoRegressor
    from .selection import TechniqueGrid as TechniqueGrid
    from .selection import technique_grid as technique_grid
    from .sequential import AdaptiveConformal as AdaptiveConformal
    from .sequential import AggregatedConformal as AggregatedConformal
    from .sequential import BlockConformal as BlockConformal
    from .signals import stream as stream
    from .summaries import Summary as Summary
    from .summaries import merge as merge
    from .summaries import summarise as summarise
    from .summaries import summarize as summarize
    from .triage import Triage as Triage
    from .triage import TriagePolicy as TriagePolicy
    from .uncertainty import class_distances as class_distances
    from .uncertainty import decompose as decompose
    from .uncertainty import measure as measure

__version__ = "0.1.0.dev0"

# Where each public name lives. The block above says the same to editors and type checkers, and a
# test holds the two together.
_HOMES = {
    "AdaptiveConformal": "sequential",
    "AggregatedConformal": "sequential",
    "AnchoredEnsembleClassifier": "estimators",
    "AnchoredEnsembleRegressor": "estimators",
    "AutoClassifier": "selection",
    "AutoRegressor": "selection",
    "BatchEnsembleClassifier": "estimators",
    "BatchEnsembleRegressor": "estimators",
    "BayesByBackpropClassifier": "estimators",
    "BayesByBackpropRegressor": "estimators",
    "BayesianBinning": "recalibration",
    "BetaCalibration": "recalibration",
    "BlockConformal": "sequential",
    "BootstrapClassifier": "estimators",
    "BootstrapRegressor": "estimators",
    "Calibrator": "repairing",
    "Categorical": "predictions",
    "Comparison": "evaluation",
    "ConcreteDropoutClassifier": "estimators",
    "ConcreteDropoutRegressor": "estimators",
    "ConformalDistribution": "recalibration",
    "ConformalEllipsoids": "recalibration",
    "ConformalQuantiles": "recalibration",
    "ConformalResiduals": "recalibration",
    "ConformalRiskControl": "risk_control",
    "ConformalSelection": "risk_control",
    "ConformalSets": "recalibration",
    "CrossConformal": "recalibration",
    "Decomposition": "predictions",
    "DeepEnsembleClassifier": "estimators",
    "DeepEnsembleRegressor": "estimators",
    "DirichletCalibration": "recalibration",
    "Disentanglement": "experiments",
    "Drift": "monitoring",
    "DriftMonitor": "monitoring",
    "DropConnectClassifier": "estimators",
    "DropConnectRegressor": "estimators",
    "Ellipsoid": "predictions",
    "EnsembleClassifier": "estimators",
    "EnsembleRegressor": "estimators",
    "Evaluation": "evaluation",
    "FairnessAudit": "fairness",
    "FlipoutClassifier": "estimators",
    "FlipoutRegressor": "estimators",
    "Gaussian": "predictions",
    "GaussianLogits": "predictions",
    "HistogramBinning": "recalibration",
    "Interval": "predictions",
    "IsotonicCalibration": "recalibration",
    "IsotonicDistribution": "recalibration",
    "LaplaceClassifier": "estimators",
    "LaplaceRegressor": "estimators",
    "LearnThenTest": "risk_control",
    "MAPClassifier": "estimators",
    "MAPRegressor": "estimators",
    "MCDropoutClassifier": "estimators",
    "MCDropoutRegressor": "estimators",
    "PlattScaling": "recalibration",
    "PredictionSet": "predictions",
    "ProbabilityInterval": "predictions",
    "QuadraticScaling": "recalibration",
    "QuantileNetworkRegressor": "estimators",
    "Quantiles": "predictions",
    "Repair": "repairing",
    "Repaired": "repairing",
    "SWAGClassifier": "estimators",
    "SWAGRegressor": "estimators",
    "ScalingBinning": "recalibration",
    "SplineCalibration": "recalibration",
    "StructuredMatrixScaling": "recalibration",
    "StructuredVectorScaling": "recalibration",
    "Summary": "summaries",
    "TechniqueGrid": "selection",
    "TemperatureScaling": "recalibration",
    "Triage": "triage",
    "TriagePolicy": "triage",
    "VarianceScaling": "recalibration",
    "VennAbers": "recalibration",
    "Verdict": "evaluation",
    "audit": "fairness",
    "class_distances": "uncertainty",
    "compare": "evaluation",
    "compare_measures": "confusion",
    "compare_regions": "recalibration",
    "concat": "predictions",
    "confusion_matrix": "confusion",
    "decompose": "uncertainty",
    "disentanglement_error": "experiments",
    "drift": "monitoring",
    "evaluate": "evaluation",
    "exchangeability_test": "recalibration",
    "explain_uncertainty": "confusion",
    "fit_many": "estimators",
    "from_model": "models",
    "from_sklearn": "estimators",
    "label_shift": "recalibration",
    "likelihood_ratio": "recalibration",
    "load": "loading",
    "measure": "uncertainty",
    "merge": "summaries",
    "plot": "charts",
    "read_predictions": "files",
    "reference_values": "evaluation",
    "repair": "repairing",
    "scorer": "integrations",
    "stream": "signals",
    "summarise": "summaries",
    "summarize": "summaries",
    "technique_grid": "selection",
    "warn_if_shifted": "recalibration",
    "write_report": "report",
}
_MODULES = (
    "charts",
    "confusion",
    "datasets",
    "estimators",
    "evaluation",
    "exceptions",
    "experiments",
    "fairness",
    "files",
    "integrations",
    "maps",
    "metrics",
    "models",
    "molecules",
    "monitoring",
    "nn",
    "predictions",
    "recalibration",
    "repairing",
    "report",
    "resampling",
    "risk_control",
    "selection",
    "sequential",
    "signals",
    "studies",
    "summaries",
    "triage",
    "uncertainty",
)

__all__ = [
    "AdaptiveConformal",
    "AggregatedConformal",
    "AnchoredEnsembleClassifier",
    "AnchoredEnsembleRegressor",
    "AutoClassifier",
    "AutoRegressor",
    "BatchEnsembleClassifier",
    "BatchEnsembleRegressor",
    "BayesByBackpropClassifier",
    "BayesByBackpropRegressor",
    "BayesianBinning",
    "BetaCalibration",
    "BlockConformal",
    "BootstrapClassifier",
    "BootstrapRegressor",
    "Calibrator",
    "Categorical",
    "Comparison",
    "ConcreteDropoutClassifier",
    "ConcreteDropoutRegressor",
    "ConformalDistribution",
    "ConformalEllipsoids",
    "ConformalQuantiles",
    "ConformalResiduals",
    "ConformalRiskControl",
    "ConformalSelection",
    "ConformalSets",
    "CrossConformal",
    "Decomposition",
    "DeepEnsembleClassifier",
    "DeepEnsembleRegressor",
    "DirichletCalibration",
    "Disentanglement",
    "Drift",
    "DriftMonitor",
    "DropConnectClassifier",
    "DropConnectRegressor",
    "Ellipsoid",
    "EnsembleClassifier",
    "EnsembleRegressor",
    "Evaluation",
    "FairnessAudit",
    "FlipoutClassifier",
    "FlipoutRegressor",
    "Gaussian",
    "GaussianLogits",
    "HistogramBinning",
    "Interval",
    "IsotonicCalibration",
    "IsotonicDistribution",
    "LaplaceClassifier",
    "LaplaceRegressor",
    "LearnThenTest",
    "MAPClassifier",
    "MAPRegressor",
    "MCDropoutClassifier",
    "MCDropoutRegressor",
    "PlattScaling",
    "PredictionSet",
    "ProbabilityInterval",
    "QuadraticScaling",
    "QuantileNetworkRegressor",
    "Quantiles",
    "Repair",
    "Repaired",
    "SWAGClassifier",
    "SWAGRegressor",
    "ScalingBinning",
    "SplineCalibration",
    "StructuredMatrixScaling",
    "StructuredVectorScaling",
    "Summary",
    "TechniqueGrid",
    "TemperatureScaling",
    "Triage",
    "TriagePolicy",
    "VarianceScaling",
    "VennAbers",
    "Verdict",
    "audit",
    "charts",
    "class_distances",
    "compare",
    "compare_measures",
    "compare_regions",
    "concat",
    "confusion",
    "confusion_matrix",
    "datasets",
    "decompose",
    "disentanglement_error",
    "drift",
    "estimators",
    "evaluate",
    "evaluation",
    "exceptions",
    "exchangeability_test",
    "experiments",
    "explain_uncertainty",
    "fairness",
    "files",
    "fit_many",
    "from_model",
    "from_sklearn",
    "integrations",
    "label_shift",
    "likelihood_ratio",
    "load",
    "maps",
    "measure",
    "merge",
    "metrics",
    "models",
    "molecules",
    "monitoring",
    "nn",
    "plot",
    "predictions",
    "read_predictions",
    "recalibration",
    "reference_values",
    "repair",
    "repairing",
    "report",
    "resampling",
    "risk_control",
    "scorer",
    "selection",
    "sequential",
    "signals",
    "stream",
    "studies",
    "summaries",
    "summarise",
    "summarize",
    "technique_grid",
    "triage",
    "uncertainty",
    "warn_if_shifted",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    from ._renamed import RENAMED

    if name in RENAMED[__name__]:
        raise ImportError(f"{__name__}.{name} is now {RENAMED[__name__][name]}", name=__name__)
    import difflib

    near = [] if name.startswith("_") else difflib.get_close_matches(name, __all__, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
