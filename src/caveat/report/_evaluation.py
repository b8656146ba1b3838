"""The page of one evaluation: the verdict first, then what it rests on."""

from typing import Any

from .. import figures
from ..evaluation import Evaluation, TriagePolicy
from ..metrics import METRICS
from ..results.words import center
from . import _figure_charts as charts
from ._deferral import curve_deferral, policy_blocks, split_deferral
from ._groups import group_sections
from ._samples import samples_tables
from ._words import definition, rows_table
from .content import Chooser, Definitions, Names, Page, Said, Section, Sentences, Target

MOST_TARGETS = 12
"""Charts of more targets would make the page heavy; the tables have all of them."""

_TITLE = "How far can these predictions be trusted?"


def evaluation_page(evaluation: Evaluation, title: str | None, policy: TriagePolicy | None) -> Page:
    """Return the page of one evaluation."""
    about = f"{evaluation.description}. {_sure(evaluation)}"
    sections = evaluation_sections(evaluation, Names(), "", policy)
    return Page("Evaluation", title or _TITLE, about, sections)


def evaluation_sections(
    evaluation: Evaluation, names: Names, prefix: str, policy: TriagePolicy | None = None
) -> list[Section]:
    """Return the sections of an evaluation; the prefix keeps several on one page apart."""
    targets = targets_of(evaluation)
    sections = [
        _verdict(evaluation),
        _numbers(evaluation),
        _calibration(evaluation, names, targets),
        _ranking(evaluation, names, targets, policy),
        _why(evaluation, names, targets, policy),
        *group_sections(evaluation, names, targets),
        _samples(evaluation, targets),
        _notes(evaluation),
    ]
    kept = [section for section in sections if section.blocks]
    return [
        Section(prefix + s.id, s.title, s.short, s.lead, with_chooser(s.blocks, targets, names))
        for s in kept
    ]


def targets_of(evaluation: Evaluation) -> list[Target]:
    """Return the targets that have charts of their own."""
    if evaluation.error.shape[1] == 1:
        return [Target()]
    names = [str(name) for name in evaluation.prediction.targets.tolist()[:MOST_TARGETS]]
    return [Target(str(i), name) for i, name in enumerate(names, start=1)]


def with_chooser(blocks: list[Any], targets: list[Target], names: Names) -> list[Any]:
    """Return the blocks with a list of targets before them, if they have several."""
    if not any(getattr(block, "target", "") for block in blocks):
        return blocks
    choices = [(target.key, str(target.name)) for target in targets]
    return [Chooser(names("chooser"), "Target", "target", choices), *blocks]


def _sure(evaluation: Evaluation) -> str:
    if all(row.low != row.low for row in evaluation.rows):
        return "No intervals: nothing here says how sure a number is."
    return f"Intervals and bands have {100 * evaluation.confidence:g} % confidence."


def _verdict(evaluation: Evaluation) -> Section:
    from ..evaluation.verdict import verdict

    said = [
        Said(
            statement.level,
            statement.text,
            rows_table(list(statement.rows), "The rows of the table behind this sentence")
            if statement.rows
            else None,
        )
        for statement in verdict(evaluation).statements
    ]
    return Section("verdict", "Verdict", "Verdict", "", [Sentences("Verdict", said)])


def _numbers(evaluation: Evaluation) -> Section:
    every = evaluation.matching(group="")
    place = {name: i for i, name in enumerate(METRICS.shown("headline"))}
    headline = sorted(
        (row for row in every if row.metric in place and row.one_class is None),
        key=lambda row: place[row.metric],
    )
    blocks: list[Any] = []
    if headline:
        blocks.append(rows_table(headline, "Headline numbers over all samples"))
    rest = [row for row in every if row not in headline]
    if rest:
        opened = f"All other numbers ({len(rest)})" if headline else ""
        blocks.append(rows_table(rest, "Other numbers over all samples", folded=opened))
    return Section(
        "numbers",
        "The numbers",
        "Numbers",
        "Over all samples. The interval says where the value could be as well, were other samples "
        "of the same kind drawn. A binned calibration error is above 0 by chance alone: the value "
        "is that of these samples, and “without chance” is the estimate free of this bias, which "
        "the sentences above give. The buttons in the head sort the table.",
        blocks,
    )


def _calibration(evaluation: Evaluation, names: Names, targets: list[Target]) -> Section:
    sure = evaluation.confidence
    blocks: list[Any] = []
    if "reliability" in figures.available(evaluation):
        for kind, label in (*_classes(evaluation), ("entropy", None), ("variation", None)):
            figure = figures.reliability(evaluation, kind, label=label)
            blocks.append(charts.reliability(figure, names, sure))
    for target in targets:
        have = figures.available(evaluation, target.name)
        if "coverage" in have:
            covered = figures.coverage(evaluation, target.name)
            blocks.append(charts.coverage(covered, names, sure, target))
        if "error_calibration" in have:
            errors = figures.error_calibration(evaluation, target.name)
            blocks.append(charts.error_calibration(errors, names, sure, target))
    return Section(
        "calibration",
        "Does it mean what it says?",
        "Calibration",
        "A calibrated model is right as often as it says, and off by as much as it says. The "
        "shaded band says where the line could be as well, by chance.",
        blocks,
    )


def _classes(evaluation: Evaluation) -> list[tuple[str, str | None]]:
    """Which probabilities to draw: of the second of two classes; of more, of the worst as well."""
    if len(evaluation.prediction.classes) == 2:
        return [("class", None), ("confidence", None)]
    rows = evaluation.matching(metric="positive_calibration_error", group="")
    worst = max(rows, key=center, default=None)
    found: list[tuple[str, str | None]] = [("confidence", None)]
    return found + ([("class", worst.one_class)] if worst else [])


def _ranking(
    evaluation: Evaluation, names: Names, targets: list[Target], policy: TriagePolicy | None
) -> Section:
    blocks: list[Any] = []
    for target in targets:
        have = figures.available(evaluation, target.name)
        if "confidence_curve" in have:
            curve = figures.confidence_curve(evaluation, target.name)
            chart = charts.confidence_curve(curve, names, evaluation.confidence, target)
            # The slider is where the split is; without one it moves along this curve.
            plain = policy is not None or "split" in have
            blocks.append(chart if plain else curve_deferral(curve, chart, evaluation, names))
            blocks.append(charts.ecdf(figures.ecdf(evaluation, target.name), names, target))
            cells = figures.error_histogram(evaluation, target.name)
            blocks.append(charts.error_histogram(cells, names, target))
    return Section(
        "ranking",
        "Does it know when it is wrong?",
        "Ranking",
        "If uncertainty means anything, the uncertain predictions are the ones with the errors.",
        blocks,
    )


def _why(
    evaluation: Evaluation, names: Names, targets: list[Target], policy: TriagePolicy | None
) -> Section:
    found = [
        (target, figures.split(evaluation, target.name))
        for target in targets
        if "split" in figures.available(evaluation, target.name)
    ]
    if policy is not None:
        blocks = policy_blocks(found[0][1] if found else None, evaluation, policy, names)
    else:
        blocks = [split_deferral(split, evaluation, names, target) for target, split in found]
    return Section(
        "why",
        "Why is it uncertain, and what to do about it?",
        "Why, and what to do",
        "Some uncertainty is in the data and stays whatever the model (aleatoric); some is what "
        "the model has not learned (epistemic). The split is the model's own account: what all "
        "members are unsure of alike counts as aleatoric, and is noise in the data only if they "
        "are well trained.",
        blocks,
    )


def _samples(evaluation: Evaluation, targets: list[Target]) -> Section:
    tables: list[Any] = []
    for target in targets:
        if "extremes" in figures.available(evaluation, target.name):
            found = figures.extremes(evaluation, target=target.name)
            tables += samples_tables(found, target)
    return Section(
        "samples",
        "Samples to look at",
        "Samples",
        "By their id, so that they can be found in the data.",
        tables,
    )


def _notes(evaluation: Evaluation) -> Section:
    metrics = dict.fromkeys(row.metric for row in evaluation.rows)
    notes = [*_METHOD, *_particular(evaluation)]
    return Section(
        "notes",
        "How this was made",
        "Method",
        "",
        [Definitions(notes, [definition(name) for name in metrics])],
    )


def _particular(evaluation: Evaluation) -> list[str]:
    """Notes that hold for this evaluation only."""
    found = [f"Evaluated: {evaluation.description}."]
    conversions = dict.fromkeys(
        row.conversion for row in evaluation.rows if row.overall and row.conversion
    )
    if conversions:
        found.append("Some measures needed a conversion: " + "; ".join(conversions) + ".")
    if evaluation.decomposition is not None:
        found.append(
            f"Uncertainty is split by the method {evaluation.decomposition.method!r} of "
            "caveat.decompose."
        )
    if evaluation.sample_weight is not None:
        found.append("Samples are weighted, in the numbers and in the charts.")
    if evaluation.cluster is not None:
        found.append(
            "Samples of one cluster belong together: intervals and bands allow for it, and are "
            "wider than for independent samples."
        )
    return found


_METHOD = (
    "Intervals come from resampling the samples, or whole clusters of them. A binned calibration "
    "error is above 0 by chance alone; its interval holds the values of the population under which "
    "what was seen is not unusual, and begins at 0 where a perfectly calibrated model could have "
    "given it. Its value may therefore lie above its interval.",
    "Bands in the charts hold point by point, not for the whole line at once.",
    "The verdict is written by fixed rules from the rows of the table; each sentence names those "
    "it rests on. It speaks of samples like these, and of no others.",
)
