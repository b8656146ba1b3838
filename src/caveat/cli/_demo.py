"""``caveat demo``: a tour on data that scikit-learn ships."""

from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import OptionError
from ._console import say, show_table, steps, working
from ._options import SEED, option
from ._tables import show_comparison, show_verdict

NAME = "report.html"
RESAMPLES = 300
"""Fewer than usual, to be quick."""


def demo_command(
    output: Path = option(
        "A folder, or an .html file, for the pages.", "--output", "-o", default=Path(NAME)
    ),
    random_state: int = SEED,
) -> None:
    """Fit a few models on data that scikit-learn ships, and show what caveat says about them."""
    from . import _demo_models as models

    page = _page(output)
    with working("a forest and naive Bayes learn to read digits"):
        digits = models.digits(random_state)
    _heading("1. Which class? Handwritten digits, a forest of 100 trees")
    comparison = _compared(digits, random_state)
    first = comparison.evaluations["forest"]
    say(first.description)
    show_verdict(first)
    _show_by_uncertainty(first)
    _heading("2. Is another technique better?")
    show_comparison(comparison, everything=False)
    say(comparison.recommend("probability"))
    _heading("3. What to do with each prediction, if 1 in 20 accepted ones may be wrong?")
    _show_triage(digits, random_state)
    with working("quantile gradient boosting learns about diabetes"):
        diabetes = models.diabetes(random_state)
    _heading("4. How much? The progress of diabetes, intervals meant to hold 90 %")
    intervals = _compared(diabetes, random_state)
    show_comparison(intervals, everything=False)
    say(intervals.recommend("interval"))
    _heading("5. To read and to forward")
    for result, path, title in (
        (comparison, page, "Handwritten digits: three techniques"),
        (intervals, page.with_stem(f"{page.stem}-regression"), "Diabetes: two techniques"),
    ):
        say(_written(result, path, title))


def _page(output: Path) -> Path:
    page = output if output.suffix.lower() in (".html", ".htm") else output / NAME
    if page.is_dir():
        raise OptionError(f"--output {page}: this is a folder; give a file or another folder")
    page.parent.mkdir(parents=True, exist_ok=True)
    return page


def _heading(text: str) -> None:
    say(f"\n{text}", style="bold cyan")


def _compared(case: Any, random_state: int) -> Any:
    from ..evaluation import compare
    from ._compare import Watched

    predictions = Watched(case.predictions)
    with steps("evaluating", len(predictions)) as predictions.step:
        return compare(
            predictions,
            case.y,
            groups=case.groups,
            resamples=RESAMPLES,
            random_state=random_state,
        )


def _written(result: Any, path: Path, title: str) -> Path:
    from ..report import write_report

    with working("writing the page"):
        return write_report(result, path, title=title)


def _show_triage(case: Any, random_state: int) -> None:
    from ..triage import TriagePolicy
    from ._triage import show_triage

    policy = TriagePolicy(risk=0.05, random_state=random_state)
    policy.fit(case.calibration, case.y_calibration)
    prediction = next(iter(case.predictions.values()))
    show_triage(policy.decide(prediction), prediction, case.y)


def _show_by_uncertainty(evaluation: Any, groups: int = 5) -> None:
    """Print errors and both parts of the uncertainty, from certain samples to uncertain ones."""
    split, wrong = evaluation.decomposition, evaluation.error[:, 0]
    order = np.argsort(split.total, kind="stable")
    body = []
    for i, rows in enumerate(np.array_split(order, groups), start=1):
        part = split.take(rows)
        means = (part.total.mean(), part.aleatoric.mean(), part.epistemic.mean())
        body.append(
            [f"{i}", f"{len(rows)}", f"{wrong[rows].mean():.1%}", *(f"{m:.2f}" for m in means)]
        )
    show_table(
        "Five equal groups, from the surest to the least sure (entropies in nats)",
        ["group", "samples", "errors", "total", "aleatoric", "epistemic"],
        body,
    )
    say(
        "aleatoric: what the trees agree they cannot tell; epistemic: where they contradict each "
        "other.",
        style="dim",
    )
