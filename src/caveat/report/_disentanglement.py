"""The page of a disentanglement: is the split real, then the two sweeps it was seen in."""

from dataclasses import replace
from typing import Any

import numpy as np

from .. import charts
from ..experiments import UDE, Disentanglement, Protocol
from ..experiments.error import TERMS, interval_words
from ..experiments.evidence import LEAST, TOLERANCE
from ..experiments.protocol import noise_words
from ..experiments.verdict import remarks, sentence, verdict
from ..results.judgments import ConditionState
from ._evaluation import title_line
from .content import (
    Cell,
    Chooser,
    Definition,
    Definitions,
    Figure,
    Names,
    Page,
    Said,
    Section,
    Sentences,
    Step,
    Table,
    page_sections,
)

_TITLE = "Is the split into aleatoric and epistemic real?"
_SHOULD = {
    "aleatoric_consistency": "Aleatoric uncertainty follows noise",
    "epistemic_consistency": "Epistemic uncertainty follows missing data",
    "aleatoric_orthogonality": "Aleatoric uncertainty is not moved by the amount of data",
    "epistemic_orthogonality": "Epistemic uncertainty is not moved by noise",
}
_STATES = {
    ConditionState.HOLDS: "holds",
    ConditionState.FAILS: "fails",
    ConditionState.UNCLEAR: "cannot be told",
    ConditionState.NOT_JUDGED: "not judged",
}


def disentanglement_page(result: Disentanglement, title: str | None, source: str) -> Page:
    """Return the page of a disentanglement."""
    names = Names()
    blocks = {
        "verdict": _verdict(result),
        "numbers": _numbers(result, names),
        "sweeps": _sweeps(result, names),
        "checks": _checks(result),
        "method": _method(result),
    }
    words = _WORDS.format(tolerance=TOLERANCE, noise=noise_words(result.task))
    first, *others = page_sections(words, blocks)
    splits = _by_decomposition(result) if len(result.decompositions) > 1 else []
    about = title_line(result.description, source)
    return Page("Disentanglement", title or _TITLE, about, [first, *splits, *others])


_WORDS = """
verdict | Verdict | open
numbers | The four conditions | Conditions
    A split is real if each part follows its own cause (C1, C2) and neither follows the other's (O1,
    O2). The first two alone are a trap: the total uncertainty under two names meets them. An error
    of 0 is ideal; up to {tolerance:g} a condition counts as met.
sweeps | What was done to the data, and what the parts did | Sweeps
    With less training data the model knows less, and the noise stays the same. With permuted
    {noise} the noise grows, and the amount of data stays the same. Bands are two standard
    deviations over repeats.
checks | Did the experiment do what it should? | Checks
    The correlations mean nothing if the score did not move, and little if small training sets were
    not learned.
method | How this was made | Method
"""


def _verdict(result: Disentanglement) -> list[Any]:
    names = result.decompositions
    if len(names) == 1:
        said = [Said(s.level, s.text) for s in verdict(result).statements]
    else:
        said = []
        for name in names:
            first = verdict(result, name).statements[0]
            said.append(Said(first.level, f"By {_words(name)}: {first.text}"))
        said += [
            Said("unsure", sentence(check.text)) for check in result.checks if not check.passed
        ]
        said += [Said("info", sentence(note)) for note in result.notes]
    steps = {name: verdict(result, name).next_step for name in names}
    if len({*steps.values()}) == 1:
        step = steps[names[0]]
    else:
        step = " ".join(f"By {_words(name)}: {text}" for name, text in steps.items())
    return [Sentences("Verdict", said), Step(step)]


def _by_decomposition(result: Disentanglement) -> list[Section]:
    """Return a section for each split; what holds for all of them is in the verdict."""
    shared = remarks(result)
    matches = []
    for i, name in enumerate(result.decompositions, start=1):
        said = [Said(s.level, s.text) for s in verdict(result, name).statements if s not in shared]
        title = f"Split by {_words(name)}"
        block = Sentences(f"Verdict on the {title[0].lower()}{title[1:]}", said)
        matches.append(Section(f"split-{i}", title, title, "", [block]))
    return matches


def _words(decomposition: str) -> str:
    return decomposition.replace("_", " ")


def _numbers(result: Disentanglement, names: Names) -> list[Any]:
    errors = [result.error(decomposition=name) for name in result.decompositions]
    return [_term_table(result, errors), Figure(names("chart"), charts.terms(result))]


def _term_table(result: Disentanglement, errors: list[UDE]) -> Table:
    several = len(errors) > 1
    header = ["condition", *(["split by"] if several else []), "met?", "error", "correlation"]
    body = []
    for error in errors:
        states = verdict(result, error.decomposition).states
        split = [Cell(_words(error.decomposition))] if several else []
        for name, kind in TERMS.items():
            term = error.terms[name]
            told = [
                Cell(_SHOULD[name], short=kind.symbol, says=_symbols(name)),
                *split,
                Cell(_STATES[states[name]]),
            ]
            ideal = f"ideal {kind.ideal:g}"
            correlation = Cell(f"{term.correlation:z.3f}", term.correlation, range=ideal)
            body.append([*told, *_numbers_of(term, correlation, f"{term.of_mean_curves:z.3f}")])
        told = [Cell("The mean of the four errors", short="UDE"), *split, Cell("")]
        correlation = Cell("", np.nan)
        body.append([*told, *_numbers_of(error, correlation, f"{error.of_mean_curves:.3f}")])
    header += ["spread of errors", "of mean curves"]
    return Table("The four conditions and their mean", header, body, sortable=True, heads=True)


def _numbers_of(part: Any, correlation: Cell, of_mean_curves: str) -> list[Cell]:
    return [
        Cell(f"{part.value:.3f}", part.value, range=interval_words(part)),
        correlation,
        Cell("none" if np.isnan(part.std) else f"{part.std:.3f}", part.std),
        Cell(of_mean_curves, part.of_mean_curves),
    ]


def _symbols(name: str) -> str:
    kind = TERMS[name]
    cost = "noise" if kind.sweep == "noise" else "missing data"
    return f"Correlation of {kind.uncertainty} uncertainty with what {cost} cost."


def _sweeps(result: Disentanglement, names: Names) -> list[Any]:
    several = len(result.decompositions) > 1
    blocks: list[Any] = []
    if several:
        choices = [(str(i), _words(name)) for i, name in enumerate(result.decompositions, start=1)]
        blocks.append(Chooser(names("chooser"), "Split by", "target", choices))
    for i, name in enumerate(result.decompositions, start=1):
        target, of = (str(i), f" (split by {_words(name)})") if several else ("", "")
        for chart in charts.sweeps(result, name):
            chart = replace(chart, title=f"{chart.title}{of}")
            blocks.append(Figure(names("chart"), chart, target))
    return blocks


def _checks(result: Disentanglement) -> list[Any]:
    rows = [
        [Cell(check.name), Cell("passed" if check.passed else "failed"), Cell(sentence(check.text))]
        for check in result.checks
    ]
    table = Table("Checks of the experiment", ["check", "result", "what was found"], rows)
    return [table] if rows else []


def _method(result: Disentanglement) -> list[Any]:
    notes = [
        _protocol(result.protocol, noise_words(result.task)),
        _cost(result),
        *_MEANING,
        *map(sentence, result.notes),
    ]
    items = [_definition(name) for name in TERMS]
    items.append(
        Definition(
            "Uncertainty disentanglement error",
            "UDE",
            "The mean of the four errors, of each repeat and then over repeats; 0 is ideal, 1.5 "
            "the worst.",
            "which of the four is wrong. A total uncertainty under two names and two constants "
            "can both have 0.5.",
        )
    )
    return [Definitions(notes, items)]


def _definition(name: str) -> Definition:
    kind = TERMS[name]
    other = "other's cause" if kind.ideal else "own cause"
    return Definition(
        _SHOULD[name],
        kind.symbol,
        f"{_symbols(name)} Its error is how far that is from {kind.ideal:g}.",
        f"whether the part also answers to its {other}, nor how large the uncertainty is: a "
        "correlation has no unit.",
    )


def _protocol(protocol: Protocol, what: str) -> str:
    sizes, noise = (
        ", ".join(f"{100 * level:.3g}" for level in levels)
        for levels in (protocol.sizes, protocol.noise)
    )
    times = "once"
    if protocol.repeats > 1:
        times = f"{protocol.repeats} times, with other subsets, noise and seeds"
    return (
        f"Protocol: the model was trained anew on {sizes} % of the training samples, and on all of "
        f"them with {noise} % of the {what} permuted among themselves, in the training "
        f"and in the test samples; all of it {times}. Length of training: {protocol.schedule}."
    )


def _cost(result: Disentanglement) -> str:
    cost = result.cost
    steps = "" if cost.steps is None else f", {cost.steps:,} steps of the optimizer"
    return f"Cost: {cost.trainings:,} trainings{steps}, {cost.seconds:,.1f} seconds."


_MEANING = (
    "Aleatoric uncertainty is what the data cannot tell, however many there are; epistemic "
    "uncertainty is what the model does not know, and could learn from more data. Neither can be "
    "seen directly. So the causes are changed by hand, and what they cost is read off the score.",
    "Correlations are of each repeat, then averaged; those of mean curves average the curves "
    "first, which takes out noise and is closer to the ends. Intervals are Student's over "
    "repeats, which are few: take them as rough.",
    "The result is about this model, this way to split and these data. Another model on the same "
    "data, or a fine-tuned one, has to be tested by itself.",
    "The verdict is written by fixed rules. A condition holds if the whole interval of its error "
    f"is at {TOLERANCE:g} or below, and fails if it is above. That a part follows something is "
    "said only if its correlation, averaged over repeats, is also larger than values in a random "
    f"order would have. With fewer than {LEAST} repeats nothing is claimed.",
)
