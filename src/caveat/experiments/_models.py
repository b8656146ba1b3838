"""What can be known of a model before it is trained, and how copies of it are made."""

import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from .._validation import check_integer
from ..exceptions import OptionError, TrainingError
from ..predictions import Categorical, Gaussian, GaussianLogits
from ..uncertainty.decompositions import DECOMPOSITIONS, DecompositionMethod

_LONGEST = 120


def innermost(model: Any) -> Any:
    """Return the estimator at the end of pipelines and searches."""
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.pipeline import Pipeline

    while isinstance(model, Pipeline | BaseSearchCV):
        model = model.steps[-1][1] if isinstance(model, Pipeline) else model.estimator
    return model


@dataclass(frozen=True)
class Network:
    """A network of caveat within a model, and how its settings are called there."""

    estimator: Any
    prefix: str

    @property
    def chooses_epochs(self) -> bool:
        """Whether the network would choose itself how long it trains."""
        return isinstance(self.estimator.epochs, str)

    @property
    def epochs(self) -> int:
        """How often it sees all samples; the usual number if it would choose that itself."""
        from sklearn.base import clone

        return check_integer(clone(self.estimator)._setting("epochs"), "epochs")


def network_of(model: Any) -> Network | None:
    """Return the network that is trained, whose training length can be set."""
    from sklearn.pipeline import Pipeline

    from ..estimators import EnsembleClassifier, EnsembleRegressor, NetworkEstimator

    prefix = ""
    while not isinstance(model, NetworkEstimator):
        if isinstance(model, Pipeline):
            name, model = model.steps[-1]
            prefix += f"{name}__"
        elif isinstance(model, EnsembleClassifier | EnsembleRegressor):
            model = model.estimator
            prefix += "estimator__"
        else:
            return None
    return Network(model, prefix)


def check_model(model: Any) -> None:
    """Raise if the model cannot be trained, or does not say how uncertain it is."""
    if isinstance(model, type):
        raise OptionError(
            f"model is the class {model.__name__}; pass an object, {model.__name__}()"
        )
    inner = innermost(model)
    if not hasattr(model, "fit"):
        raise OptionError(f"model must have fit; got {model!r}")
    if hasattr(inner, "predict_distribution") or hasattr(inner, "__sklearn_tags__"):
        return
    raise OptionError(
        "model must be an estimator of caveat or scikit-learn, or have predict_distribution; got "
        f"{model!r}"
    )


def members_of(model: Any) -> int | None:
    """Return how many members a model will have; None where it is not known before."""
    from sklearn.ensemble import VotingClassifier, VotingRegressor
    from sklearn.ensemble._bagging import BaseBagging
    from sklearn.ensemble._forest import ForestClassifier, ForestRegressor

    from ..estimators import EnsembleClassifier, EnsembleRegressor, NetworkEstimator

    model = innermost(model)
    if isinstance(model, NetworkEstimator):
        passes = model._pass_count()
        if passes is None:  # networks, or draws from a posterior
            passes = getattr(model, "passes", getattr(model, "members", 1))
        return int(passes)
    if isinstance(model, EnsembleClassifier | EnsembleRegressor):
        inner = members_of(model.estimator)
        return None if inner is None else inner * int(model.members)
    if hasattr(model, "predict_distribution"):
        return None
    if isinstance(model, ForestClassifier | ForestRegressor | BaseBagging):
        return int(model.n_estimators)
    if isinstance(model, VotingClassifier | VotingRegressor):
        return sum(part != "drop" for _, part in model.estimators)
    return 1


def expected(model: Any, task: str) -> type | None:
    """Return the kind of prediction a model will give; None where it is not known before."""
    from ..estimators import QuantileNetworkRegressor

    network = network_of(model)
    if network is not None:
        if isinstance(network.estimator, QuantileNetworkRegressor):
            name = type(network.estimator).__name__
            raise OptionError(
                f"model {name} says quantiles, which have no split into aleatoric and epistemic; "
                "use an estimator of means and spreads"
            )
        logits = getattr(network.estimator, "head", "") == "gaussian-logits"
        if task == "classification":
            return GaussianLogits if logits else Categorical
        return Gaussian
    if hasattr(innermost(model), "predict_distribution"):
        return None
    return Categorical if task == "classification" else Gaussian


def resolve(decomposition: Any, model: Any, task: str) -> tuple[DecompositionMethod, ...]:
    """Return the ways to split that were asked for, each of which this model can answer."""
    wanted = [decomposition] if isinstance(decomposition, str) else decomposition
    if not isinstance(wanted, Sequence) or not wanted:
        raise OptionError(
            f"decomposition must be a name or a sequence of names; got {decomposition!r}"
        )
    automatic = "information" if task == "classification" else "total_variance"
    result = {}
    for name in wanted:
        entry = DECOMPOSITIONS[automatic if name == "auto" else name]
        result[entry.name] = entry
    kind, members = expected(model, task), members_of(model)
    for entry in result.values():
        check_split(entry, kind, members, model, task)
    return tuple(result.values())


def check_split(
    entry: DecompositionMethod, kind: type | None, members: int | None, model: Any, task: str
) -> None:
    """Raise if a decomposition does not apply; members are checked where they are known."""
    name = type(innermost(model)).__name__
    if (entry.takes is Gaussian) != (task == "regression"):
        fit = [
            e.name
            for e in DECOMPOSITIONS.values()
            if (e.takes is Gaussian) == (task != "classification")
        ]
        raise OptionError(f"decomposition {entry.name!r} is not for {task}; use {', '.join(fit)}")
    if entry.takes is GaussianLogits and kind is Categorical:
        raise OptionError(
            f"decomposition {entry.name!r} needs logits with a learned spread, and {name} has "
            "none; use a network with head='gaussian-logits'"
        )
    if members == 1 and entry.takes is not GaussianLogits:
        wrapper = "EnsembleClassifier" if task == "classification" else "EnsembleRegressor"
        raise OptionError(
            f"model {name} has one member, so its epistemic uncertainty by {entry.name!r} is zero "
            "by construction and there is nothing to disentangle; use an ensemble, several passes "
            f"or a forest, or wrap it: caveat.{wrapper}({name}(...), resample=True)"
        )


def seeds_of(model: Any) -> list[str]:
    """Return the names of the settings that are seeds, also those of parts."""
    if not hasattr(model, "get_params"):
        return ["random_state"] if hasattr(model, "random_state") else []
    return sorted(
        name
        for name in model.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )


def copy_of(model: Any, seed: int, parameters: dict[str, Any]) -> Any:
    """Return an unfitted copy with its own seed and settings."""
    settings = {**dict.fromkeys(seeds_of(model), seed), **parameters}
    if hasattr(model, "get_params"):
        from sklearn.base import clone

        return clone(model).set_params(**settings)
    made = deepcopy(model)
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def fit(model: Any, X: Any, y: Any, words: str) -> Any:
    """Fit a model; one that diverges is named by what it was trained for."""
    try:
        made = model.fit(X, y)
    except TrainingError as error:
        raise TrainingError(f"{words}: {error}") from error
    return model if made is None else made


def effort_of(fitted: Any) -> tuple[int, int | None]:
    """Return how many networks were trained, and their steps; one fit for other models."""
    from sklearn.pipeline import Pipeline

    from ..estimators import EnsembleClassifier, EnsembleRegressor, NetworkEstimator

    if isinstance(fitted, Pipeline):
        return effort_of(fitted.steps[-1][1])
    if isinstance(fitted, NetworkEstimator):
        trainings = len(fitted.history_)
        return trainings, trainings * fitted.n_iter_
    if isinstance(fitted, EnsembleClassifier | EnsembleRegressor) and network_of(fitted):
        members = [effort_of(part) for part in fitted.estimators_]
        return sum(count for count, _ in members), sum(steps or 0 for _, steps in members)
    return 1, None


def distribution(fitted: Any, X: Any) -> Any:
    """Return the prediction of a fitted model, by itself or by its members."""
    from ..estimators import member_predictions

    if hasattr(fitted, "predict_distribution"):
        return fitted.predict_distribution(X)
    return member_predictions(fitted, X)


def words_for(model: Any) -> str:
    """Return a model in one line."""
    text = " ".join(repr(model).split())
    if re.search(r" at 0x[0-9a-fA-F]+", text):
        return type(model).__name__
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
