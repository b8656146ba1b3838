"""The experiments of "Uncertainty as a fairness measure", the printed numbers beside ours."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._validation import FloatArray, check_integer
from ..datasets import Dataset, load_adult, load_compas, make_sd1, make_sd2, make_sd3
from ..fairness import consistency
from ..results.words import joined
from ..uncertainty import decompose
from ._d_vlog import measure_videos
from ._fairness_figures import (
    confidence_differs,
    confidence_of,
    depth_label,
    depth_values,
    layers_of,
    layers_overfit,
    scatter,
)
from ._fairness_flags import as_printed, flags, side
from ._fairness_rates import audited
from .paper import Paper
from .study import Key, Label, Measured, Option, Said, Study, StudyRow, Table, Task
from .summary import NAN, Count, above, all_of, equal

PAPER = Paper.read("fairness")
POINT = ("statistical_parity", "equal_opportunity", "equal_accuracy")
ALEATORIC, EPISTEMIC = "aleatoric_uncertainty", "epistemic_uncertainty"
UNCERTAINTIES = (EPISTEMIC, ALEATORIC, "predictive_uncertainty")
QUANTITIES = ("prediction", ALEATORIC, EPISTEMIC)
"""Figures 4 and 5 show the consistency of these."""
LARGE = 10_000
"""New samples of each group and class, to estimate the expectation of a network."""
EXPECTED = "in expectation"

_SATURATED, _USUAL_WIDTH = 0.01, 100
_REPEATS = {"quick": 40, "paper": 200}
_QUERIES = {"quick": 3000, "paper": None}
_WIDTHS = {"quick": (10, 50, 100, 200), "paper": (10, 25, 50, 100, 200, 400)}
_DEPTHS: dict[str, tuple[int, ...]] = {"quick": (), "paper": (0, 1, 2, 3)}
_FEWER_RUNS = {"quick": 10, "paper": 40}
_GENERATED: dict[str, Callable[..., Dataset]] = {"sd1": make_sd1, "sd2": make_sd2, "sd3": make_sd3}


@dataclass(frozen=True)
class FairnessRow(StudyRow):
    r"""One number of the fairness study.

    ``group`` and ``reference`` are the groups in the numerator and denominator of a ratio,
    ``outcome`` is the predicted class of a consistency, ``hidden`` the units of the hidden layer of
    figure 6 and ``layers`` the number of hidden layers of section 6.4. For a ratio F,
    ``paper_flag`` says whether the printed one has :math:`|F - 1| > 0.2`; ``flagged`` and
    ``symmetric_flagged`` are the shares of runs with that, and with :math:`|\log F| > -\log 0.8`,
    which does not depend on the order of the groups; so many runs as ``agreeing`` have the printed
    flag on the same side of 1; ``agreement``: whether most do.
    """

    factors: ClassVar = ("kind", "attribute", "group", "reference", "outcome", "hidden", "layers")
    kind: str = ""
    attribute: str = ""
    group: str = ""
    reference: str = ""
    outcome: str = ""
    hidden: int = 0
    layers: int = 0
    paper_flag: bool | None = None
    flagged: float = NAN
    symmetric_flagged: float = NAN
    agreeing: int | None = None
    agreement: str = ""


@dataclass(frozen=True, eq=False)
class StudyRun:
    """One training: the samples to learn from, and those to test on."""

    X: FloatArray
    y: NDArray[Any]
    rows: NDArray[np.intp] | None
    seed: int
    test: Dataset
    large: Dataset | None = None


def make_runs(name: str, seeds: Sequence[int]) -> list[StudyRun]:
    """Return the runs on a data set; each draws its own data or split where it can."""
    if name in _GENERATED:
        return [_generated(_GENERATED[name], seed) for seed in seeds]
    if name == "adult":
        data = load_adult()
        rows, test = np.flatnonzero(~data.test), data.split()[1]
        return [StudyRun(data.X, data.y, rows, seed, test) for seed in seeds]
    data = load_compas()
    runs = []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(data))
        rows, held = np.sort(order[len(data) // 2 :]), np.sort(order[: len(data) // 2])
        runs.append(StudyRun(data.X, data.y, rows, seed, data.take(held)))
    return runs


def _generated(make: Callable[..., Dataset], seed: int) -> StudyRun:
    own, new = np.random.SeedSequence(seed).spawn(2)
    train, test = make(own).split()
    return StudyRun(train.X, train.y, None, seed, test, make(new, samples=LARGE))


def counts(name: str) -> dict[Key, int]:
    """Return the sizes of groups and classes that tables 2 to 5 print."""
    if name in _GENERATED:
        return {}
    data = load_compas() if name == "compas" else load_adult().split()[0]
    result = {}
    for cell, _, _ in PAPER.cells(name):
        if cell["kind"] == "count":
            label = cell["measure"].partition(" of class ")[2]
            member = data.groups[cell["attribute"]] == cell["group"]
            result[FAIRNESS.key(**cell)] = int((member & (not label or data.y == int(label))).sum())
    return result


def train(runs: Sequence[StudyRun], settings: Mapping[str, Any], **options: Any) -> list[Any]:
    """Train a network for each run, all of them in lock-step."""
    from ..estimators import BayesByBackpropClassifier, Problem, fit_many

    problems = [Problem(run.X, run.y, rows=run.rows, random_state=run.seed) for run in runs]
    return fit_many(BayesByBackpropClassifier(**settings), problems, **options)


def pairs_of(name: str) -> dict[str, tuple[str, str]]:
    """Return the two groups that are compared, by attribute."""
    attributes = PAPER.datasets[name]["attributes"]
    return {attribute: tuple(pair) for attribute, pair in attributes.items()}


def group_values(
    name: str, model: Any, data: Dataset, variant: str = "", hidden: int = 0
) -> dict[Key, float]:
    """Return rates and mean uncertainties of the groups, and the ratios between them.

    With ``hidden`` those of figure 6, which has two attributes and no ratios.
    """
    pairs = dict(list(pairs_of(name).items())[: 2 if hidden else None])
    rates, results = audited(model.predict_distribution(data.X), data.y, data.groups, pairs)
    if hidden:
        return {
            FAIRNESS.key("figure 6", what, kind="capacity", attribute=attribute, group=group,
                         hidden=hidden): rates.get((attribute, group, "", what), NAN)
            for attribute, pair in pairs.items()
            for group in pair
            for what in ("accuracy", EPISTEMIC, ALEATORIC)
        }  # fmt: skip
    values = {}
    for cell, _, _ in PAPER.cells(name):
        if cell["kind"] != "count":
            place = cell["attribute"], cell["group"], cell.get("reference", ""), cell["measure"]
            source = ", ".join(filter(None, (cell["source"], variant)))
            values[FAIRNESS.key(**{**cell, "source": source})] = results.get(place, NAN)
    return values


def consistencies(
    name: str, models: Sequence[Any], runs: Sequence[StudyRun], queries: int | None, seed: int
) -> list[dict[Key, float]]:
    """Return figures 4 and 5 for each run; runs that share their test set share its neighbors."""
    shared: dict[int, list[int]] = {}
    for i, run in enumerate(runs):
        shared.setdefault(id(run.test), []).append(i)
    results: list[dict[Key, float]] = [{} for _ in runs]
    for places in shared.values():
        test = runs[places[0]].test
        values: dict[str, FloatArray] = {}
        for i in places:
            prediction = models[i].predict_distribution(test.X)
            split = decompose(prediction, "variance")
            values[f"{i} prediction"] = prediction.mean.argmax(axis=1).astype(np.float64)
            values |= {f"{i} {ALEATORIC}": split.aleatoric, f"{i} {EPISTEMIC}": split.epistemic}
        result = consistency(values, test.X, queries=queries, resamples=0, random_state=seed)
        for i in places:
            predicted = values[f"{i} prediction"][result.queries]
            for attribute, pair in list(pairs_of(name).items())[:2]:
                for group, outcome, what in product(pair, (0, 1), QUANTITIES):
                    member = test.groups[attribute][result.queries] == group
                    far = result.differences[f"{i} {what}"][member & (predicted == outcome)]
                    mean = float(far.mean()) if len(far) else NAN
                    spread = result.spread[f"{i} {what}"] or NAN
                    for kind, unit in (("consistency", 1.0), ("scaled consistency", spread)):
                        key = FAIRNESS.key(
                            PAPER.datasets[name]["figure"], what, kind=kind, attribute=attribute,
                            group=group, outcome=str(outcome),
                        )  # fmt: skip
                        results[i][key] = 1 - mean / unit
    return results


def collated(result: Sequence[Mapping[Key, float]]) -> dict[Key, FloatArray]:
    """Return the numbers of single runs as arrays over runs."""
    return {key: np.array([run[key] for run in result]) for key in result[0]}


def measure(task: Task) -> Measured:
    """Train networks with Gaussian weights, one for each run, and audit their predictions."""
    from ..estimators import preset

    name, options = task.dataset, task.options
    if name == "d-vlog":
        return measure_videos(task, FAIRNESS)
    own = PAPER.datasets[name]
    widths, queries = options["widths"], options["queries"]
    if widths is None:
        widths = _WIDTHS[task.scale] if name == "compas" else ()
    widths = [check_integer(width, "widths") for width in np.atleast_1d(widths).tolist()]
    depths = _DEPTHS[task.scale] if options["layers"] is None else options["layers"]
    depths = [check_integer(depth, "layers", 0) for depth in np.atleast_1d(depths).tolist()]
    queries = _QUERIES[task.scale] if queries is None else check_integer(queries, "queries")
    repeats = _REPEATS[task.scale] if task.repeats is None else task.repeats
    settings = {**preset(own["preset"]), "standardize": options["standardize"]}
    usual = settings["learning_rate"]
    if options["learning_rate"] is not None:
        settings["learning_rate"] = options["learning_rate"]
    settings |= options["settings"] or {}
    runs = make_runs(name, [int(seed) for seed in task.rng.integers(2**32, size=repeats)])
    seed = int(task.rng.integers(2**32))
    models = train(runs, settings, checkpoint=task.place("networks"), progress=task.progress)
    pairs = list(zip(models, runs, strict=True))
    exact = counts(name)
    values = {key: np.array([float(count)]) for key, count in exact.items()}
    values |= collated([group_values(name, model, run.test) for model, run in pairs])
    large = [(model, run.large) for model, run in pairs if run.large is not None]
    if large:
        values |= collated([group_values(name, m, data, EXPECTED) for m, data in large])
    if own["figure"]:
        values |= collated(consistencies(name, models, runs, queries, seed))
    details: dict[str, Any] = {}
    if name == "compas":
        drawn = [confidence_of(FAIRNESS, model, run.test) for model, run in pairs]
        values |= collated([numbers for numbers, _ in drawn])
        details["figure 2"] = drawn[0][1]
    if name in _GENERATED:
        details["figure 3"] = scatter(runs[0].test)
    some = runs[: _FEWER_RUNS[task.scale]]
    for width in widths:
        place, wide = task.place(f"width-{width}"), {**settings, "hidden": (width,)}
        models = train(some, wide, checkpoint=place, progress=task.progress)
        pairs = list(zip(models, some, strict=True))
        values |= collated([group_values(name, m, run.test, hidden=width) for m, run in pairs])
    for depth in depths:
        place, deep = task.place(f"depth-{depth}"), layers_of(settings["hidden"], depth)
        models = train(some, {**settings, "hidden": deep}, checkpoint=place, progress=task.progress)
        pairs = list(zip(models, some, strict=True))
        values |= collated([depth_values(FAIRNESS, m, run, depth) for m, run in pairs])
    rate = settings["learning_rate"]
    notes = [PAPER.notes_where["learning rate"].format(rate=rate)]
    notes += [PAPER.notes_where["chosen rate"]] if rate == usual else []
    summaries = {key: Count.exactly(count) for key, count in exact.items()}
    return Measured(
        name, own["title"], _model_words(settings), repeats, values, summaries,
        judged=lambda source: not source.endswith(EXPECTED), notes=tuple(notes), details=details,
    )  # fmt: skip


def _model_words(settings: Mapping[str, Any]) -> str:
    units = " and ".join(map(str, settings["hidden"]))
    hidden = f"with {units} hidden units" if units else "without a hidden layer"
    scaled = "" if settings["standardize"] else ", features as they are"
    return f"Bayes by backprop {hidden}, {settings['epochs']} epochs{scaled}"


def flags_are_as_printed(table: Table) -> Iterator[Said]:
    """Each table flags the point-based and the uncertainty-based ratios that the paper flags."""
    ratios = table.rows(kind="ratio")
    for (source, attribute), _ in ratios.groupby(["source", "attribute"], sort=False):
        for kind, measures in (("point-based", POINT), ("uncertainty-based", UNCERTAINTIES)):
            place = {"kind": "ratio", "source": source, "attribute": attribute, "measure": measures}
            ours, paper = (table.wide("measure", what, **place) for what in ("value", "paper"))
            printed = paper.iloc[0][[*measures]]
            outcomes = [as_printed(ours[name].to_numpy(), printed[name]) for name in measures]
            where = "" if attribute == "group" else f"{attribute}: "
            yield str(source), where + _flag_words(kind, printed), all_of(outcomes)


def _flag_words(kind: str, printed: Any) -> str:
    unfair = [PAPER.word(measure) for measure, ratio in printed.items() if side(ratio)]
    if not unfair:
        return f"fair by {joined([PAPER.word(measure) for measure in printed.index])}"
    if len(unfair) == len(printed):
        return f"unfair by {joined(unfair)}"
    return f"among the {kind} measures, unfair by {joined(unfair)} alone"


def widths_change_little(table: Table) -> Iterator[Said]:
    """Whether the width of the network changes the order of groups, or the accuracy."""
    of = table.wide(["measure", "hidden", "attribute", "group"], source="figure 6")
    widths = sorted(table.rows(source="figure 6")["hidden"].unique())
    pairs = [(name, *pair) for name, pair in list(pairs_of(table.dataset).items())[:2]]
    for what in (ALEATORIC, EPISTEMIC):
        orders = [
            [above(of[what, width, name, a], of[what, width, name, b]) for name, a, b in pairs]
            for width in widths
        ]
        if len(widths) > 1:
            text = f"the order of groups by {PAPER.word(what)} is the same at every width"
            same = [equal(orders[0], other) for other in orders[1:]]
            yield "figure 6", text, all_of([*np.concatenate(same)])
    wider = [width for width in widths if width > _USUAL_WIDTH]
    if _USUAL_WIDTH in widths and wider:
        accuracy = {
            width: np.array([of["accuracy", width, name, g] for name, *pair in pairs for g in pair])
            for width in (_USUAL_WIDTH, *wider)
        }
        limit = accuracy[_USUAL_WIDTH] + _SATURATED
        text = "no network of more than 100 units is more accurate by over 0.01 in any group"
        gains = [1 - above(accuracy[width], limit) for width in wider]
        yield "figure 6", text, all_of([*np.concatenate(gains)])


def labels(row: FairnessRow) -> Label | None:
    """Return in which table a row is shown, what it is, and what follows its numbers."""
    if row.kind == "consistency":
        return None
    if row.kind in ("depth", "confidence"):
        return depth_label(row)
    if row.kind == "ratio":
        title = f"{row.source}: {row.attribute}, {row.group} / {row.reference}"
        same = "" if row.agreeing is None else f"{row.agreeing} of {row.runs}"
        flag = {True: "yes", False: "no", None: ""}[row.paper_flag]
        more = {"unfair": flag, "as printed": same, "": row.agreement}
        return title, {"ratio": PAPER.word(row.measure)}, more
    name = "consistency of " if row.kind == "scaled consistency" else ""
    group = f"{row.attribute} {row.group}"
    group += f", predicted {row.outcome}" if row.outcome else ""
    group += f", {row.hidden} units" if row.hidden else ""
    names = {"measure": name + row.measure.replace("_", " "), "group": group}
    return f"{row.source}: groups", names, {}


FAIRNESS = Study(
    name="fairness",
    paper=PAPER,
    row=FairnessRow,
    measure=measure,
    printed="runs",
    claims=(flags_are_as_printed, confidence_differs, widths_change_little, layers_overfit),
    labels=labels,
    options=(
        Option("learning_rate", None, "Learning rate of Adam, not given in the paper."),
        Option("standardize", True, "Whether features are standardized."),
        Option("widths", None, "Hidden units of figure 6; by default only for COMPAS."),
        Option("layers", None, "Hidden layers of section 6.4; by default with scale 'paper'."),
        Option("queries", None, "Test samples whose neighbors are looked up, at most."),
        Option("data", None, "Folder of D-Vlog; by default its files are generated."),
        Option("videos", None, "How many videos of D-Vlog are generated."),
        Option("seconds", None, "Seconds kept of a video of D-Vlog: 596 with scale 'paper'."),
        Option("settings", None, "Other settings of the estimator, a dict.", False),
    ),
    extra=flags,
    explanation="unfair: the paper's flag, |F - 1| > 0.2; as printed: how many runs have that "
    "flag on the same side of 1, and whether most runs do",
)  # fmt: skip
