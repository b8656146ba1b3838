"""The experiments of "Evaluating scalable uncertainty estimation methods", on molecules."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .._validation import FloatArray, check_choice, check_integer
from .._writing import replacing
from ..evaluation import Comparison, compare
from ..experiments import DomainShift, domain_shift
from ..experiments.checkpoint import Folder, mark_of
from ..molecules import LearningCurves, MoleculeData, Split, active_learning
from ..molecules.experiments import fitted
from ..predictions import Gaussian
from ..predictions.files import load_prediction
from ..results.tables import interval_words
from ..results.words import counted
from ._molecule_data import prepare, take_molecules
from ._molecule_numbers import (
    DOMAINS,
    MEASURES,
    SHIFT,
    Place,
    gathered,
    numbers_of,
    ratios,
    with_ratios,
)  # fmt: skip
from .paper import Paper
from .study import Key, Label, Measured, Option, Study, StudyRow, Task, check_known

__all__ = ["MOLECULES_STUDY", "MoleculesRow", "prepare"]

BASE = "base"
METHODS: dict[str, dict[str, Any]] = {
    BASE: {"method": "map", "head": "mean"},
    "concrete-dropout": {"method": "concrete-dropout"},
    "ensemble": {"method": "ensemble"},
    "bootstrap": {"method": "bootstrap"},
    "mc-dropout": {"method": "mc-dropout"},
    "anchored": {"method": "anchored"},
}
"""The settings of each; the first four are those of the paper."""
DEFAULT = tuple(METHODS)[:4]
SETTINGS: dict[str, dict[str, Any]] = {
    "quick": {
        "hidden": 64, "depth": 3, "dense": 1, "members": 5, "passes": 50, "epochs": 40,
        "learning_rate": 0.003, "batch_size": 50, "aggregation": "norm",
    },
    "paper": {
        "hidden": 1000, "depth": 6, "dense": 2, "members": 15, "passes": 150, "epochs": 30,
        "learning_rate": 0.0005, "batch_size": 256, "aggregation": "norm",
    },
}  # fmt: skip
REPEATS = {"quick": 6, "paper": 1}
MOLECULES = {"quick": 2000, "paper": None}
"""Molecules of a larger data set, drawn at random."""
SEARCHED = {"quick": 4, "paper": 0}
SPACE = {
    "quick": {"hidden": (32, 64), "depth": (2, 3, 4), "dense": (1, 2)},
    "paper": {"hidden": (300, 600, 1000), "depth": (3, 4, 5, 6), "dense": (1, 2, 3)},
}
"""What the search of hyper-parameters draws from."""


@dataclass(frozen=True)
class MoleculesRow(StudyRow):
    """One number of the molecule study.

    ``domain`` is "in" (random split) or "out" (by scaffold); ``component`` the part of the
    uncertainty, or what takes its place; ``setting`` a point of a curve, a number of members, the
    network of a search or molecules that were measured.
    """

    factors: ClassVar[tuple[str, ...]] = ("domain", "method", "component", "setting")
    domain: str = ""
    method: str = ""
    component: str = ""
    setting: str = ""


PAPER = with_ratios(Paper.read("molecules"))


@dataclass(frozen=True)
class _Kept:
    """What a folder keeps of a search, or of active learning."""

    values: dict[str, Any]


@dataclass(eq=False)
class _Runner:
    """Trains on splits; what is finished is kept in the folder of the study."""

    task: Task
    data: MoleculeData
    settings: dict[str, Any]
    methods: tuple[str, ...]
    repeats: int
    searched: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        draws = self.task.rng.integers(2**31, size=(self.repeats, 2)).tolist()
        self.seeds = [tuple(pair) for pair in draws]
        self.kinds = {"in": "random", "out": self.task.options["outside"]}

    def model(self, **settings: Any) -> Any:
        from ..molecules import MoleculeRegressor

        return MoleculeRegressor(verbose=self.task.progress, **{**self.settings, **settings})

    def split(self, run: int, domain: str) -> Split:
        return self.data.split(self.kinds[domain], random_state=self.seeds[run][0])

    def folder(self, name: str, *parts: Any) -> Folder | None:
        place = self.task.place(name)
        if place is None:
            return None
        graphs = self.data.graphs
        arrays = graphs.atom_counts, graphs.bond_counts, graphs.atoms.sum(axis=0), self.data.y
        return Folder(place, mark_of(arrays, sorted(self.settings.items()), parts))

    def kept(self, name: str, make: Callable[[], dict[str, Any]], *parts: Any) -> dict[str, Any]:
        """Return values that are made once."""
        folder = self.folder(name, *parts)
        known = {} if folder is None else folder.load(["values"], lambda given: _Kept(**given))
        if known:
            return dict(known["values"].values)
        values = make()
        if folder is not None:
            folder.save("values", _Kept(values))
        return values

    def search(self, count: int) -> None:
        """Try networks on the base model, and keep the one that is best on the validation part."""
        space = SPACE[self.task.scale]
        drawn = np.random.default_rng(self.seeds[0][1])
        tried: dict[str, dict[str, Any]] = {}
        own = {name: self.settings[name] for name in space}
        for one in [own, *(
            {name: values[drawn.integers(len(values))] for name, values in space.items()}
            for _ in range(count - 1)
        )]:  # fmt: skip
            tried.setdefault(", ".join(f"{name} {value}" for name, value in one.items()), one)

        def errors() -> dict[str, Any]:
            split, result = self.split(0, "in"), {}
            truth = self.data.y[split.validation]
            for name, one in tried.items():
                model = self.model(**METHODS[BASE], **one)
                made = fitted(model, self.data, split, self.seeds[0][1])
                predicted = made.predict(self.data.graphs[split.validation])
                result[name] = float(np.abs(truth - predicted).mean())
            return result

        self.searched = self.kept("search", errors, sorted(tried))
        best = min(self.searched, key=self.searched.__getitem__)
        self.settings |= tried[best]

    def prediction(self, run: int, domain: str, method: str, split: Split) -> Gaussian:
        """Return what a method predicts of the test; it is trained once."""
        name = f"{run}-{domain}-{method}"
        folder = self.folder(name, method, self.kinds[domain], self.seeds[run])
        path = None if folder is None else folder.path / "test.npz"
        if path is not None and path.is_file():
            return load_prediction(path)
        options = {} if folder is None else {"checkpoint": folder.networks}
        model = self.model(**METHODS[method])
        made = fitted(model, self.data, split, self.seeds[run][1], **options)
        prediction = made.predict_distribution(self.data.graphs[split.test])
        if path is not None:
            with replacing(path) as beside:
                prediction.save(beside)
        return prediction

    def run(self, number: int) -> dict[Any, float]:
        """Return the numbers of one run, by domain, method and place."""
        values: dict[Any, float] = {}
        tests: dict[str, tuple[dict[str, Gaussian], FloatArray]] = {}
        for domain in DOMAINS:
            split = self.split(number, domain)
            y = self.data.y[split.test]
            near = self.data.applicability(split.train, split.test)
            predictions = {}
            for method in self.methods:
                made = self.prediction(number, domain, method, split)
                predictions[method] = made
                own = numbers_of(made, y, near.uncertainty, domain, self.seeds[number][1])
                values |= {(domain, method, place): value for place, value in own.items()}
            tests[domain] = predictions, y
        for method in self.methods:
            inside, outside = (
                {place: v for (d, m, place), v in values.items() if (d, m) == (domain, method)}
                for domain in DOMAINS
            )
            made_ratios = ratios(inside, outside)
            values |= {("", method, place): value for place, value in made_ratios.items()}
        # Standard deviations themselves are there for their ratio alone.
        values = {key: v for key, v in values.items() if not (key[0] and key[2][0] == "shift")}
        if number == 0:
            self._compare(tests)
        return values

    def _compare(self, tests: Mapping[str, tuple[dict[str, Gaussian], FloatArray]]) -> None:
        """Compare methods on the tests of the first run, and in with out of domain."""
        common = {"confidence": self.task.confidence, "random_state": self.seeds[0][1]}
        unsure = [method for method in self.methods if method != BASE]
        for domain, (predictions, y) in tests.items():
            some = {method: predictions[method] for method in unsure}
            if len(some) > 1:
                self.details[PAPER.word(domain)] = compare(
                    some, y, metrics=[name for name, _ in MEASURES.values()], resamples=400,
                    **common,
                )  # fmt: skip
        (inside, y_in), (outside, y_out) = tests["in"], tests["out"]
        for method in unsure:
            self.details[f"shift, {method}"] = domain_shift(
                inside[method], y_in, outside[method], y_out, one_model=False, resamples=400,
                **common,
            )  # fmt: skip

    def active(self) -> LearningCurves:
        """Return errors as molecules are chosen by epistemic uncertainty, or at random."""
        total = len(self.data)

        def learn() -> dict[str, Any]:
            made = active_learning(
                self.model(method="ensemble"), self.data, start=max(10, round(0.1 * total)),
                batch=max(5, round(0.05 * total)), rounds=4, repeats=self.repeats,
                random_state=self.seeds[0][0],
            )  # fmt: skip
            return {
                "strategies": made.strategies,
                "sizes": made.sizes,
                "error": made.error.tolist(),
            }

        kept = self.kept("active", learn, self.seeds)
        return LearningCurves(
            tuple(kept["strategies"]), tuple(kept["sizes"]), np.array(kept["error"]),
            self.task.confidence,
        )  # fmt: skip


def measure(task: Task) -> Measured:
    """Train every method on random splits and on splits by scaffold."""
    options = task.options
    given = [options["methods"]] if isinstance(options["methods"], str) else options["methods"]
    check_known(given, tuple(METHODS), "there is no method")
    check_choice(options["outside"], "outside", ("scaffold-balanced", "scaffold", "cluster"))
    methods = tuple(dict.fromkeys((BASE, *given)))
    own = {key: options[key] for key in ("members", "passes", "epochs") if options[key] is not None}
    settings = SETTINGS[task.scale] | own | (options["settings"] or {})
    repeats = task.repeats or REPEATS[task.scale]
    data, left_out = take_molecules(task)
    read = len(data)
    most = options["molecules"] if options["molecules"] is not None else MOLECULES[task.scale]
    if most is not None and check_integer(most, "molecules", 20) < read:
        data = data[np.sort(task.rng.permutation(read)[:most])]
    runner = _Runner(task, data, dict(settings), methods, repeats)
    tries = SEARCHED[task.scale] if options["search"] is None else options["search"]
    if check_integer(tries, "search", 0):
        runner.search(tries)
    runs = [runner.run(number) for number in range(repeats)]
    values: dict[Key, FloatArray] = gathered(runs, _key)
    for network, error in runner.searched.items():
        key = MOLECULES_STUDY.key("search", "mae", method=BASE, setting=network)
        values[key] = np.array([error])
    compared = [(name, one) for name, one in runner.details.items() if isinstance(one, Comparison)]
    notes = [*left_out, *(_said(name, one) for name, one in compared)]
    notes += [
        f"First run, {PAPER.word(name.partition(', ')[2])}: {growth.question} {growth.answer}: "
        f"{growth.text}."
        for name, one in runner.details.items()
        if isinstance(one, DomainShift)
        for growth in one.growth
    ]
    if options["active"]:
        curves = runner.active()
        values |= _learned(curves)
        notes.append(f"Active learning: {curves}")
        runner.details["active learning"] = curves
    same = not ({*own} - {"epochs"} or options["settings"]) and task.scale == "paper"
    words = ", ".join(f"{k} {runner.settings[k]}" for k in ("hidden", "depth", "dense", "epochs"))
    subset = "" if len(data) == read else f" of {read:,}"
    model = f"{len(data):,}{subset} molecules, {counted(len(methods), 'method')}, network: {words}"
    return Measured(
        data.name, data.description, model, repeats, values,
        judged=lambda source: same and (data.name, len(data)) == ("qm9", read),
        notes=tuple(notes), details=runner.details,
    )  # fmt: skip


def _key(place: tuple[str, str, Place]) -> Key:
    domain, method, (source, component, setting, measure) = place
    source = SHIFT if source == "shift" else source
    return MOLECULES_STUDY.key(
        source, measure, domain=domain, method=method, component=component, setting=setting
    )


def _learned(curves: LearningCurves) -> dict[Key, FloatArray]:
    return {
        MOLECULES_STUDY.key(
            "active learning", "mae", domain="in", method="ensemble", component=strategy,
            setting=str(size),
        ): curves.error[s, :, k]
        for s, strategy in enumerate(curves.strategies)
        for k, size in enumerate(curves.sizes)
    }  # fmt: skip


def _said(name: str, comparison: Comparison) -> str:
    """Say which method ranks errors best on the test of the first run."""
    rows = [row for row in comparison.rows if row.metric == MEASURES["auco"][0]]
    best = min(rows, key=lambda row: row.value)
    tied = [row.technique for row in rows if row.tied and row is not best]
    worse = [row.technique for row in rows if not row.tied]
    parts = [f"{best.technique} has the lowest AUCO ({interval_words(best.low, best.high)})"]
    parts += [f"not distinguished from it: {', '.join(tied)}"] if tied else []
    parts += [f"worse: {', '.join(worse)}"] if worse else []
    return f"First run, {name}, {best.samples} molecules: {'; '.join(parts)}."


def labels(row: MoleculesRow) -> Label | None:
    """Return in which table a row is shown; curves are drawn, not listed."""
    if row.source.startswith("figure") and "," not in row.source:
        return None
    title = f"{row.source}: {PAPER.titles[row.source]}"
    names = ("domain", "method", "component", "setting", "measure")
    return title, {name: PAPER.word(getattr(row, name)) for name in names}, {}


def limits(measure: str) -> tuple[float, float]:
    """Return the lowest and the highest possible value of a measure."""
    if measure in ("correlation", "spearman"):
        return -1.0, 1.0
    return 0.0, {"decrease_ratio": 1.0, "mce": 1.0, "coverage": 1.0, "auce": 50.0}.get(
        measure, np.inf
    )


def grown(table: Any) -> Iterator[Any]:
    """Whether the total uncertainty grows less than the error out of domain."""
    for method in table.rows(source=SHIFT)["method"].unique():
        wide = table.wide("measure", source=SHIFT, method=method, component=["", "total"])
        wide = wide.groupby("run").max()
        if {"mae", "std"} <= {*wide}:
            outcomes = (wide["std"] < wide["mae"]).astype(float)
            word = PAPER.word(method)
            yield "discussion", f"{word}: errors grow more than uncertainties", outcomes


def learned(table: Any) -> Iterator[Any]:
    """Whether molecules chosen by epistemic uncertainty end with a lower error than random ones."""
    rows = table.rows(source="active learning")
    if len(rows):
        last = max(rows["setting"], key=int)
        wide = table.wide("component", source="active learning", setting=last)
        text = "molecules chosen by epistemic uncertainty end with a lower MAE than random ones"
        yield "active learning", text, (wide["epistemic"] < wide["random"]).astype(float)


MOLECULES_STUDY = Study(
    name="molecules",
    paper=PAPER,
    row=MoleculesRow,
    measure=measure,
    printed="runs",
    claims=(grown, learned),
    labels=labels,
    limits=limits,
    takes_files=True,
    options=(
        Option("methods", DEFAULT, f"Some of {', '.join(METHODS)}."),
        Option("outside", "scaffold-balanced", "The split out of domain; or scaffold, or cluster."),
        Option("molecules", None, "Molecules at most; by default 2,000, or all (paper)."),
        Option("members", None, "Networks of an ensemble."),
        Option("passes", None, "Passes of dropout."),
        Option("epochs", None, "How often a network sees its molecules."),
        Option("search", None, "Networks that a search tries on the base model; 0 is none."),
        Option("active", False, "Whether to choose molecules by uncertainty and at random."),
        Option("smiles", "smiles", "The column of the SMILES, for a table file."),
        Option("target", None, "The column to predict, for a table file; or another property."),
        Option("settings", None, "Other settings of the networks, a dict.", False),
    ),
    explanation="in and out: random split, and split by scaffold; the paper's numbers are for QM9",
)  # fmt: skip
