"""Is the split into aleatoric and epistemic real? Two sweeps, and four correlations."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._random import RandomState
from .._validation import check_fraction
from ..exceptions import OptionError
from ._checks import checks_of
from ._cost import cost_of
from ._engine import Training, run
from ._identity import identity
from ._inputs import (
    TrainTestData,
    check_sizes,
    hold_out,
    in_dataset,
    read_dataset,
    said_task,
    take_samples,
    task_of,
)
from ._models import Network, check_model, members_of, network_of, resolve, seeds_of, words_for
from ._result import Curve, Disentanglement
from ._scoring import Outcome, Scorer
from .checkpoint import Folder, check_seed, mark_of
from .conditions import HELD, Condition, Draws, conditions_of, least_samples, rows_of, subset_size
from .protocol import Protocol, as_protocol


def disentanglement_error(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    test: Any = None,
    decomposition: str | Sequence[str] = "auto",
    protocol: str | Protocol = "paper",
    score: Callable[[Any, Any], float] | None = None,
    loader: Callable[[Any, bool], Any] | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    checkpoint: Any = None,
    progress: bool = False,
    confidence: float = 0.95,
) -> Disentanglement:
    """Retrain a model on fewer samples and on noisier labels, and compare uncertainty with error.

    The epistemic uncertainty should rise with the error as samples get fewer, and not follow the
    noise of the labels; the aleatoric uncertainty the other way round. `UDE` measures how far
    the model is from that.

    Parameters
    ----------
    model : estimator
        One of caveat; a classifier or regressor of scikit-learn with members (forest, bagging,
        voting); or any object with ``fit`` and ``predict_distribution``. It is copied, and stays as
        it is. Networks of caveat train in lock-step, all conditions at once; other models train one
        by one through joblib.
    X : array of shape (samples, ...), or Dataset
        A data set of torch, for a network of caveat with ``module``, need not fit into memory: its
        items are inputs, or pairs of inputs and a label, and are read when they are needed.
    y : array of shape (samples,), optional
        Labels; without them, those of a ``Dataset`` are read from it, one sample at a time.
    test : pair (X, y), optional
        Samples to score on and to take uncertainties of; by default a fifth of the samples, held
        out by class, or by quantile bins of a number. Beside a ``Dataset`` another one, or a pair
        of it and its labels.
    decomposition : str or sequence of str, default="auto"
        Names in ``caveat.uncertainty.DECOMPOSITIONS``; several are computed from one set of
        trainings.
        "auto" is as in `caveat.decompose`.
    protocol : {"paper", "cheap"} or Protocol, default="paper"
        "paper" has 7 sizes from 1 % to 100 %, 11 shares of noise and 5 repeats: 90 conditions;
        "cheap" has 4 of each, once. `caveat.experiments.Protocol` is for others.
    score : callable, optional
        ``score(y_true, y_pred)``, higher is better. By default the accuracy; for regression 1 less
        the mean absolute error, divided by that of the median of all training samples.
    loader : callable, optional
        ``loader(dataset, shuffle)`` returns the ``DataLoader`` of a part of a ``Dataset``, whose
        items are pairs of inputs and a label, for instance with workers that read images. By
        default samples are read by this process.
    n_jobs : int, optional
        How many trainings run side by side, by joblib, whose ``parallel_config`` can send them to a
        cluster. It does not change the numbers. For networks it is the number of lock-step batches
        into which the conditions are divided, one by default, and numbers agree up to rounding.
    random_state : int, Generator or None, optional
        Decides subsets, noise and seeds of the models.
    confidence : float, default=0.95
        Confidence of the intervals over repeats.

    Notes
    -----
    Subsets are nested and stratified, with one sample at least of each class. Noise permutes a
    share of the labels among themselves, in the training and in the test samples, so that the
    shares of the classes stay; labels that are permuted at one level are permuted at all higher
    ones. ``Protocol(noise_in="train")`` leaves the test labels as they are. Each repeat has other
    subsets, noise and seeds.

    If a network has a ``validation_fraction``, or chooses one for so many samples, that share of
    the samples is held out once, outside of all subsets, and chooses the epoch in every condition;
    its labels get the noise of the training labels. A network within a pipeline or an ensemble of
    estimators holds out a part of each subset.

    Nothing of a ``Dataset`` is copied for a condition: subsets are row numbers, and noise is in
    labels that stand beside it. Conditions train one after another, and each is in the checkpoint
    once it is finished. In memory are a batch of inputs, the predictions of 512 samples (or of a
    batch of ``loader``), and a few numbers for each sample. The score on samples learned from is
    that of as many as there are to test on.

    References
    ----------
    De Jong et al., Measuring orthogonality as the blind-spot of uncertainty disentanglement, 2026.

    Examples
    --------
    >>> import caveat
    >>> from caveat.experiments import Protocol
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> result = caveat.disentanglement_error(
    ...     RandomForestClassifier(n_estimators=20, max_depth=4), X, y,
    ...     protocol=Protocol(sizes=(0.05, 0.2, 1), noise=(0, 0.4, 0.8), repeats=2), random_state=0
    ... )
    >>> error = result.error()
    >>> error.terms["aleatoric_consistency"].correlation > 0.9
    True
    >>> result.cost.trainings
    12
    """
    start = time.perf_counter()
    check_fraction(confidence, "confidence")
    protocol = as_protocol(protocol)
    check_model(model)
    if score is not None and not callable(score):
        raise OptionError(f"score must be score(y_true, y_pred) -> float, or None; got {score!r}")
    X, y, test = read_dataset(X, y, test, model, loader)
    task = task_of(model, y, decomposition)
    methods = tuple(entry.name for entry in resolve(decomposition, model, task))
    check_seed(checkpoint, random_state)
    draws = Draws.of(random_state)
    guessed = said_task(model) is None
    samples, held_out = take_samples(X, y, test, task, draws, guessed=guessed)
    samples, outside = hold_out(samples, network_of(model), draws)
    raised = check_sizes(protocol, samples)
    counted = members_of(model) is not None
    scorer = Scorer(samples, methods, draws, score, counted, protocol.noise_in)
    conditions = conditions_of(protocol)
    folder = None
    if checkpoint is not None:
        settings = identity(model), protocol, methods, identity(score), draws.root
        arrays = samples.X, samples.y, samples.X_test, samples.y_test, *(samples.validation or ())
        content = tuple(part.digest() if in_dataset(part) else part for part in arrays)
        folder = Folder(checkpoint, mark_of(content, *settings))
    trainings = [
        _training(condition, samples, draws, network_of(model), protocol.schedule)
        for condition in conditions
    ]
    result: list[Outcome] = run(
        model, trainings, scorer, Outcome.restore, n_jobs=n_jobs, folder=folder, progress=progress
    )
    outcomes = dict(zip(conditions, result, strict=True))
    curves = tuple(
        _curve(kind, name, protocol, conditions, outcomes)
        for name in methods
        for kind in ("size", "noise")
    )
    least = least_samples(samples.y, task)
    return Disentanglement(
        curves=curves,
        protocol=protocol,
        model=words_for(model),
        task=task,
        score_name=scorer.name,
        samples=len(samples.y),
        test_samples=len(samples.y_test),
        checks=checks_of(
            curves,
            protocol,
            least,
            len(samples.y),
            network_of(model) is not None,
            scorer.score is not None,
            task,
        ),
        notes=(
            *held_out,
            *outside,
            *raised,
            *_notes(model, protocol, network_of(model)),
            *_without_spread(curves),
        ),
        cost=cost_of(result, time.perf_counter() - start),
        confidence=float(confidence),
    )


def _training(
    condition: Condition,
    samples: TrainTestData,
    draws: Draws,
    network: Network | None,
    schedule: str,
) -> Training:
    """Return what a model learns under a condition, and how long."""
    rows = rows_of(condition, samples.y, samples.task, draws)
    y = draws.noisy(samples.y, condition) if condition.kind == "noise" else samples.y
    learned = len(y) if rows is None else len(rows)
    length = {} if network is None else _length(condition, samples, learned, network, schedule)
    seed = draws.seeds(condition, 1)[0]
    return Training(
        condition.name, condition.words, samples.X, y, rows, seed, condition, length,
        _validation(condition, samples, draws),
    )  # fmt: skip


def _length(
    condition: Condition, samples: TrainTestData, learned: int, network: Network, schedule: str
) -> dict[str, int]:
    """Return how long a network trains, where that is not its own number of epochs."""
    epochs = network.epochs
    if condition.kind == "size" and schedule == "inverse-epochs":
        epochs = round(epochs / condition.level)
    elif condition.kind == "size" and schedule == "constant-steps":
        outside = samples.validation is not None
        whole, part = (_steps(network, n, outside) for n in (len(samples.y), learned))
        epochs = round(epochs * whole / part)
    elif not network.chooses_epochs:
        return {}
    return {f"{network.prefix}epochs": max(1, epochs)}


def _validation(
    condition: Condition, samples: TrainTestData, draws: Draws
) -> tuple[Any, np.ndarray] | None:
    """Return the samples that choose the epoch: as noisy as those to learn from."""
    if samples.validation is None or condition.kind == "size":
        return samples.validation
    X, y = samples.validation
    return X, draws.noisy(y, condition, HELD)


def _steps(network: Network, samples: int, outside: bool) -> int:
    """Return the steps of an epoch; ``outside`` means that nothing is held out of it."""
    share = None if outside else network.estimator.held_out_share(samples)
    held_out = subset_size(share or 0.0, samples)
    return max(1, -(-(samples - held_out) // network.estimator.batch_size))


def _curve(
    kind: str,
    method: str,
    protocol: Protocol,
    conditions: list[Condition],
    outcomes: dict[Condition, Outcome],
) -> Curve:
    levels = protocol.sizes if kind == "size" else protocol.noise
    shape = protocol.repeats, len(levels)
    score, aleatoric, epistemic, learned = (np.zeros(shape) for _ in range(4))
    together = np.full(shape, np.nan)
    samples = np.zeros(len(levels), dtype=np.int64)
    for condition in conditions:
        if condition.kind == kind:
            outcome = outcomes[condition]
            place = condition.repeat, condition.place
            score[place] = outcome.score
            aleatoric[place], epistemic[place] = outcome.uncertainties[method]
            if outcome.train_score is not None:
                learned[place] = outcome.train_score
            samples[condition.place] = outcome.samples
            together[place] = outcome.part_correlations.get(method, np.nan)
    train_score = learned if kind == "size" else None
    return Curve(
        kind, method, np.array(levels), score, aleatoric, epistemic, train_score, samples,
        together,
    )  # fmt: skip


def _notes(model: Any, protocol: Protocol, network: Network | None) -> list[str]:
    notes = []
    if network is None:
        notes.append(
            f"{type(model).__name__} has no training length that could be set, so the schedule "
            f"({protocol.schedule}) plays no part"
        )
    elif network.chooses_epochs:
        notes.append(
            f"{type(network.estimator).__name__} has epochs={network.estimator.epochs!r}, but here "
            f"the schedule sets how long it trains: {network.epochs} epochs on all samples; give "
            "epochs a number for another length"
        )
    if not seeds_of(model):
        notes.append(
            f"{type(model).__name__} has no random_state; what it draws may differ in a second run"
        )
    if protocol.repeats == 1:
        notes.append("one repeat shows no spread, so there are no intervals")
    return notes


def _without_spread(curves: tuple[Curve, ...]) -> list[str]:
    """Say that the members of a regression predict points: C1 and O1 are decided beforehand."""
    if any(c.decomposition != "total_variance" or c.aleatoric.any() for c in curves):
        return []
    return [
        "the members predict numbers without a spread of their own, so the aleatoric uncertainty "
        "is zero by construction: C1 fails and O1 holds whatever the data; use a model that learns "
        "a spread, such as caveat.DeepEnsembleRegressor"
    ]
