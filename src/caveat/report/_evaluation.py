"""The page of one evaluation: the verdict first, then what it rests on."""

from datetime import date
from typing import Any

import numpy as np

from .. import charts
from ..charts import CHARTS
from ..evaluation import Evaluation
from ..metrics import METRICS
from ..metrics.entry import Place
from ..results.judgments import Contrast
from ..results.rows import Row
from ..results.tables import headline_rows, number
from ..results.words import center
from ..triage import TriagePolicy
from ._deferral import curve_slider, policy_blocks, split_slider
from ._words import definition, label, rows_table, share
from .content import (
    Cell,
    Definitions,
    Figure,
    Folded,
    Names,
    Page,
    Said,
    Section,
    Sentences,
    Step,
    Table,
    Target,
    Tiles,
    page_sections,
    with_chooser,
)

MOST_TARGETS = 12
"""Charts of more targets would make the page heavy; the tables have all of them."""

_TITLE = "How far can these predictions be trusted?"


def evaluation_page(
    evaluation: Evaluation, title: str | None, policy: TriagePolicy | None, source: str
) -> Page:
    """Return the page of one evaluation."""
    sections = evaluation_sections(evaluation, Names(), "", policy)
    about = title_line(described(evaluation), source, _sure(evaluation))
    return Page("Evaluation", title or _TITLE, about, sections)


def title_line(what: str, source: str, *more: str) -> str:
    """Return the line below the title: what was evaluated, where it is from, and the date."""
    today = date.today()
    parts = [what, source, f"{today.day} {today:%B %Y}", *more]
    return " · ".join(part for part in parts if part)


def described(evaluation: Evaluation, members: bool = True) -> str:
    """Return what was evaluated, in words; of several techniques only what they share."""
    prediction = evaluation.prediction
    samples = f"{evaluation.samples:,} samples"
    many = getattr(prediction, "members", 1)
    of = f", {many} members" if members and many > 1 else ""
    if hasattr(prediction, "classes"):
        names = [str(name) for name in prediction.classes.tolist()]
        listed = f" ({', '.join(names)})" if len(names) <= 4 else ""
        return f"{samples}, {len(names)} classes{listed}{of}"
    targets = [str(name) for name in prediction.targets.tolist()]
    several = f", {len(targets)} targets" if len(targets) > 1 else ""
    return f"{samples}{several}{of}"


def evaluation_sections(
    evaluation: Evaluation, names: Names, prefix: str, policy: TriagePolicy | None = None
) -> list[Section]:
    """Return the sections of an evaluation; the prefix keeps several on one page apart."""
    targets = targets_of(evaluation)
    blocks = {
        "verdict": _verdict(evaluation),
        "numbers": _numbers(evaluation),
        "calibration": _calibration(evaluation, names, targets),
        "ranking": _ranking(evaluation, names, targets, policy),
        "why": _why(evaluation, names, targets, policy),
        **_groups(evaluation, names, targets),
        "samples": _samples(evaluation, targets),
        "notes": _notes(evaluation),
    }
    chosen = {name: with_chooser(some, targets, names) for name, some in blocks.items()}
    return page_sections(_WORDS, chosen, prefix)


_WORDS = """
verdict | Verdict | open
numbers | The numbers | Numbers
    Over all samples. The interval says where the value could be as well, were other samples of the
    same kind drawn. A binned calibration error is above 0 by chance alone: the value is that of
    these samples, and “without chance” is the estimate free of this bias, which the sentences above
    give. The buttons in the head sort the table.
calibration | Does it mean what it says? | Calibration
    A calibrated model is right as often as it says, and off by as much as it says. The shaded band
    says where the line could be as well, by chance.
ranking | Does it know when it is wrong? | Ranking
    If uncertainty means anything, the uncertain predictions are the ones with the errors.
why | Why is it uncertain, and what to do about it? | Why, and what to do
    Some uncertainty is in the data and stays whatever the model (aleatoric); some is what the model
    has not learned (epistemic). The split is the model's own account: what all members are unsure
    of alike counts as aleatoric, and is noise in the data only if they are well trained.
classes | Is it as good for every class? | Classes
    One dot for each class, with its interval; the dotted line is the value over all samples. A
    rarer class is usually recognized less often, by perfect probabilities as well.
groups | Is it as good for everybody? | Groups
    One dot for each group, with its interval; the dotted line is the value over all samples.
samples | Samples to look at | Samples
    By their id. Without ids, those of a file have the number of their row, from 1 on; those of
    arrays have their place, from 0 on.
notes | How this was made | Method
"""


def targets_of(evaluation: Evaluation) -> list[Target]:
    """Return the targets that have charts of their own."""
    if evaluation.error.shape[1] == 1:
        return [Target()]
    names = [str(name) for name in evaluation.prediction.targets.tolist()[:MOST_TARGETS]]
    return [Target(str(i), name) for i, name in enumerate(names, start=1)]


def _sure(evaluation: Evaluation) -> str:
    if all(row.low != row.low for row in evaluation.rows):
        return "no intervals: nothing here says how sure a number is"
    return f"{100 * evaluation.confidence:g} % intervals and bands"


def _verdict(evaluation: Evaluation) -> list[Any]:
    answer = evaluation.verdict()
    summary, *others = answer.statements
    said = [_said(summary)]
    for statement in others:
        # What explains the summary needs no alarm of its own.
        part_of_it = statement.level == summary.level == "bad" and shares_rows(statement, summary)
        said.append(_said(statement, "Detail" if part_of_it else ""))
    blocks: list[Any] = [Sentences("Verdict", said[:1])]
    tiles = tiles_of(evaluation)
    blocks += [Tiles(tiles)] if tiles else []
    blocks.append(Step(answer.next_step))
    rests_on = Sentences("What the verdict rests on", said[1:], details=True)
    return [*blocks, rests_on] if said[1:] else blocks


def shares_rows(statement: Any, summary: Any) -> bool:
    """Whether two statements rest on the same numbers."""
    return any(row in summary.rows for row in statement.rows)


def _said(statement: Any, called: str = "") -> Said:
    rows = list(statement.rows)
    table = rows_table(rows, "The rows of the table behind this sentence") if rows else None
    return Said(statement.level, statement.text, table, called)


def tiles_of(evaluation: Evaluation, free: bool = True) -> list[tuple[str, str, str]]:
    """Return the three numbers that carry the verdict: how good, how honest, how knowing.

    Verdicts speak of values that are free of chance, recommendations of those in the table.
    """
    places: tuple[Place, ...] = ("skill", "calibration", "ranking")
    result = [
        [
            row
            for metric in METRICS.shown(place)
            for row in evaluation.matching(metric=metric, group="")
            if row.one_class is None and row.value == row.value
        ]
        for place in places
    ]
    # Of several the last: two classes are read by the second, intervals by the widest.
    return [_tile(rows[-1], free) for rows in result if rows]


def _tile(row: Row, free: bool) -> tuple[str, str, str]:
    words = share if METRICS[row.metric].unit == "share" else number
    between = "" if row.low != row.low else f"{words(row.low)} to {words(row.high)}"
    return label(row), words(center(row) if free else row.value), between


def _numbers(evaluation: Evaluation) -> list[Any]:
    every = evaluation.matching(group="")
    headline = headline_rows(every)
    blocks: list[Any] = []
    if headline:
        blocks.append(rows_table(headline, "Headline numbers over all samples"))
    rest = [row for row in every if row not in headline]
    if rest:
        opened = f"All other numbers ({len(rest)})" if headline else ""
        blocks.append(rows_table(rest, "Other numbers over all samples", folded=opened))
    return blocks


def _figures(
    section: str, evaluation: Evaluation, target: Target, names: Names, first: bool
) -> tuple[list[Any], list[Any]]:
    """Return the charts of a section for one target: those to show, and those to fold away."""
    shown: list[Any] = []
    folded: list[Any] = []
    have = charts.available(evaluation, target.name)
    for entry in CHARTS.of(evaluation):
        if entry.section != section or entry.name not in have or not (entry.of_target or first):
            continue
        for options in entry.views(evaluation):
            given = {"target": target.name} if entry.of_target else {}
            chart = entry.function(evaluation, **options, **given)
            figure = Figure(names("chart"), chart, target.key if entry.of_target else "")
            (folded if entry.folded(options) else shown).append(figure)
    return shown, folded


def _calibration(evaluation: Evaluation, names: Names, targets: list[Target]) -> list[Any]:
    blocks: list[Any] = []
    folded: list[Any] = []
    for i, target in enumerate(targets):
        shown, more = _figures("calibration", evaluation, target, names, i == 0)
        blocks, folded = [*blocks, *shown], [*folded, *more]
    return [*blocks, Folded("More charts", folded)] if folded else blocks


def _ranking(
    evaluation: Evaluation, names: Names, targets: list[Target], policy: TriagePolicy | None
) -> list[Any]:
    blocks: list[Any] = []
    for i, target in enumerate(targets):
        shown, _ = _figures("ranking", evaluation, target, names, i == 0)
        # The slider is where the split is; without one it moves along the confidence curve.
        has_split = "split" in charts.available(evaluation, target.name)
        if shown and policy is None and not has_split:
            shown[0] = curve_slider(evaluation, names, target)
        blocks += shown
    return blocks


def _why(
    evaluation: Evaluation, names: Names, targets: list[Target], policy: TriagePolicy | None
) -> list[Any]:
    result = [t for t in targets if "split" in charts.available(evaluation, t.name)]
    if policy is not None:
        return policy_blocks(evaluation, policy, bool(result), names)
    return [split_slider(evaluation, names, target) for target in result]


def _groups(
    evaluation: Evaluation, names: Names, targets: list[Target]
) -> dict[str, list[Any]]:  # fmt: skip
    """Return charts of the true classes, and of the groups that were given."""
    blocks: dict[str, list[Any]] = {"classes": [], "groups": []}
    for target in targets:
        for metric in _group_metrics(evaluation):
            rows = [row for row in evaluation.matching(metric=metric) if target.has(row)]
            rest = all(row.one_class is not None for row in rows if row.overall)
            for attribute in [charts.AGAINST_REST] if rest else _attributes(rows):
                of_class = rest or attribute == evaluation.true_class
                if not of_class and metric == "negative_log_likelihood_loss":
                    continue
                # Of several options the last, which is the widest interval.
                option = [row.option for row in rows if row.overall][-1]
                given = {} if rest else {"option": option}
                chart = charts.groups(
                    evaluation, metric, target.name, attribute=attribute, **given
                )  # fmt: skip
                name = "classes" if of_class else "groups"
                blocks[name].append(Figure(names("chart"), chart, target.key))
    return blocks


def _group_metrics(evaluation: Evaluation) -> list[str]:
    """The metrics to show: the usual ones, or the first two if none of these was asked for."""
    have = dict.fromkeys(
        row.metric for row in evaluation.rows if not row.overall or row.one_class is not None
    )
    if evaluation.matching(metric="positive_calibration_error", option="", group=""):
        have.pop("expected_calibration_error", None)  # two classes: one reading says it all
    return [name for name in METRICS.shown("groups") if name in have] or list(have)[:2]


def _attributes(rows: list[Row]) -> list[str]:
    """Return the attributes of a metric that have a group in which it is defined."""
    defined = (
        row
        for row in rows
        if not row.overall and row.contrast is Contrast.NONE and np.isfinite(row.value)
    )
    return list(dict.fromkeys(row.attribute for row in defined))


_LISTS = {
    "most_uncertain": ("Most uncertain", "Where the model says itself that it does not know."),
    "most_confidently_wrong": (
        "Most confidently wrong",
        "Errors at the least uncertainty: look for mislabeled samples, and for a kind of sample "
        "that the model has not learned.",
    ),
}


def _samples(evaluation: Evaluation, targets: list[Target]) -> list[Any]:
    tables: list[Any] = []
    for target in targets:
        if "confidence_curve" in charts.available(evaluation, target.name):
            result = charts.extremes(evaluation, target=target.name)
            for name, words in _LISTS.items():
                rows = getattr(result, name)
                tables += [_sample_table(rows, *words, target)] if rows else []
    return tables


def _sample_table(samples: list[Any], title: str, read: str, target: Target) -> Table:
    rows = [
        [
            Cell(sample.id),
            *(
                Cell(value) if isinstance(value, str) else Cell(number(value), value)
                for value in (sample.truth, sample.predicted)
            ),
            Cell(number(sample.uncertainty), sample.uncertainty),
            Cell("wrong" if sample.error else "right")
            if isinstance(sample.truth, str)
            else Cell(number(sample.error), sample.error),
        ]
        for sample in samples
    ]
    of = f" ({target.name})" if target.name is not None else ""
    header = ("id", "truth", "predicted", "uncertainty", "error")
    return Table(
        f"{title} samples{of}", header, rows, title=title + of, read=read, target=target.key,
        sortable=True, heads=True, narrow=True,
    )  # fmt: skip


def _notes(evaluation: Evaluation) -> list[Any]:
    metrics = dict.fromkeys(row.metric for row in evaluation.rows)
    notes = [*_METHOD, *_particular(evaluation)]
    return [Definitions(notes, [definition(name) for name in metrics])]


def _particular(evaluation: Evaluation) -> list[str]:
    """Notes that hold for this evaluation only."""
    result = [f"Evaluated: {evaluation.description}."]
    conversions = dict.fromkeys(
        row.conversion for row in evaluation.rows if row.overall and row.conversion
    )
    if conversions:
        result.append("Some measures needed a conversion: " + "; ".join(conversions) + ".")
    if evaluation.decomposition is not None:
        result.append(
            f"Uncertainty is split by the method {evaluation.decomposition.method!r} of "
            "caveat.decompose."
        )
    if evaluation.stands_for is not None:
        rows = f"{len(evaluation.truth):,} rows"
        result.append(
            f"The numbers are of all samples; charts of single samples show {rows} that stand for "
            "them."
        )
    elif evaluation.sample_weight is not None:
        result.append("Samples are weighted, in the numbers and in the charts.")
    if evaluation.cluster is not None:
        result.append(
            "Samples of one cluster belong together: intervals and bands allow for it, and are "
            "wider than for independent samples."
        )
    return result


_METHOD = (
    "Intervals come from resampling the samples, or whole clusters of them. A binned calibration "
    "error is above 0 by chance alone; its interval holds the values of the population under which "
    "what was seen is not unusual, and begins at 0 where a perfectly calibrated model could have "
    "given it. Its value may therefore lie above its interval.",
    "Bands in the charts hold point by point, not for the whole line at once.",
    "The verdict is written by fixed rules from the rows of the table; each sentence names those "
    "it rests on. It speaks of samples like these, and of no others.",
)
