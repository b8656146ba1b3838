"""``caveat compare``: several techniques on the same samples."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import LabelError, OptionError
from ..results.words import joined
from ._console import print_json, say, steps, working
from ._evaluate import with_target
from ._options import ALL, PAGE, ROWS, Columns, Settings, about, argument, option, shared
from ._output import check_files, write_result
from ._summarize import is_summary, load_summary
from ._tables import show_comparison

_PARTS = (
    "probability", "logit", "mean", "variance", "std", "quantile", "lower", "upper", "half_width",
)  # fmt: skip


@shared
def compare_command(
    columns: Columns,
    settings: Settings,
    files: list[str] = argument(
        "Files, each a technique named after it, or NAME=FILE.", metavar="FILE..."
    ),
    technique: list[str] | None = option(
        "In one file: NAME=PATTERN of probabilities, or NAME=mean:PATTERN,std:PATTERN and so "
        "on; repeated."
    ),
    expression: str | None = option(
        "What to recommend by: probability, entropy, variance or interval."
    ),
    models: bool = option(
        "Summaries are of different models on samples of the same kind: recommend one.",
        "--models",
        default=False,
    ),
    scale: str = option("Where it must be right: global, local or adaptive.", default="local"),
    output: Path | None = ROWS,
    report: Path | None = PAGE,
    all_metrics: bool = ALL,
) -> None:
    """Say which of several techniques is best, and whether the difference is real.

    Example: caveat compare raw.csv repaired.csv
    Example: caveat compare week-45.caveat week-46.caveat
    Example: caveat compare both.csv --technique 'raw=p_*' --technique 'repaired=fixed_*'
    """
    check_files(output, report)
    settings.check()
    stored = [path for _, path in map(_named, files) if is_summary(path)]
    if stored:
        comparison = _compared_summaries(files, stored, technique, columns, settings, models)
    elif models:
        raise OptionError("--models goes with summaries; other files have the same samples")
    else:
        comparison = _compared(read_techniques(files, technique or [], columns), settings)
    recommendation = _recommended(comparison, expression, scale)
    write_result(comparison, output, report, source=joined(_sources(files)))
    if settings.json:
        print_json(_as_json(comparison, recommendation))
        return
    show_comparison(comparison, all_metrics or settings.metric is not None)
    if comparison.different_samples:
        say(
            "These are different samples, so none is recommended: caveat drift says what changed "
            "between them. If they are different models on samples of the same kind, say so with "
            "--models."
        )
    else:
        say(
            recommendation
            if recommendation is not None
            else "No recommendation: its metric is not among those asked for."
        )
    if report is not None:
        say(f"report: {report}", error=True)


def read_techniques(files: list[str], techniques: list[str], columns: Columns) -> dict[str, Any]:
    """Read one table for each technique."""
    if techniques:
        if len(files) != 1:
            raise OptionError("--technique compares columns of one file; give one file")
        parts = {name: _parts(text) for name, text in map(_pair, techniques)}
        wanted = [(name, Path(files[0]), result) for name, result in parts.items()]
        if len(wanted) < len(techniques):
            raise OptionError("--technique: each needs a name of its own")
    else:
        wanted = [(name, Path(file), {}) for name, file in map(_named, files)]
        if len({name for name, _, _ in wanted}) < len(files):
            raise OptionError("two files have the same name; give them as NAME=FILE")
    if len(wanted) < 2:
        raise OptionError(
            "compare needs at least two techniques: two files, or --technique NAME=PATTERN twice"
        )
    tables: dict[str, Any] = {}
    for name, path, parts_of in wanted:
        first = next(iter(tables.values()), None)
        shared_classes = getattr(first.prediction, "classes", None) if first else None
        tables[name] = columns.read(path, classes=shared_classes, **parts_of)
        _check_same(name, tables)
    return tables


def _compared_summaries(
    files: list[str],
    stored: list[str],
    technique: list[str] | None,
    columns: Columns,
    settings: Settings,
    models: bool,
) -> Any:
    """Compare summaries of different samples."""
    from ..summaries import compare_summaries

    given = [*columns.given().values(), *(["--technique"] if technique else [])]
    if given:
        raise OptionError(f"{given[0]} goes with predictions, not with summaries")
    if not 2 <= len(files) == len(stored):
        raise OptionError("compare needs at least two summaries, or files with the same samples")
    named = dict(map(_named, files))
    if len(named) < len(files):
        raise OptionError("two files have the same name; give them as NAME=FILE")
    summaries = {name: load_summary(path) for name, path in named.items()}
    with working(f"comparing {len(summaries)} summaries"):
        return compare_summaries(summaries, models=models, **settings.options())


def _sources(files: list[str]) -> list[str]:
    """Return the names of the files, without their folders."""
    return [Path(path).name for _, path in map(_named, files)]


def _named(text: str) -> tuple[str, str]:
    if "=" in text and not Path(text).exists():
        return _pair(text, "FILE")
    stem = Path(text).name
    return stem.removesuffix(".gz").rpartition(".")[0] or stem, text


def _pair(text: str, what: str = "--technique") -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not (mark and name and value):
        raise OptionError(f"{what}: expected NAME=..., got {text!r}")
    return name, value


def _parts(text: str) -> dict[str, str]:
    """Return patterns by kind: ``p_*`` is a probability; ``mean:m,std:s`` names two kinds."""
    result = {}
    for piece in text.split(","):
        kind, mark, pattern = piece.partition(":")
        if not mark:
            kind, pattern = "probability", piece
        if kind not in _PARTS or kind in result:
            raise OptionError(
                f"--technique: {piece!r} is not understood; write PATTERN or KIND:PATTERN with one "
                f"of {', '.join(_PARTS)}"
            )
        result[kind] = pattern
    return result


def _check_same(name: str, tables: dict[str, Any]) -> None:
    """Raise if a technique has other samples than those before it."""
    words = {"y": "target", "ids": "id", "sample_weight": "weight", "cluster": "cluster"}
    for what, word in words.items():
        start, theirs = _known(what, tables)
        mine = getattr(tables[name], what)
        if mine is None or len(mine) != len(theirs):
            continue
        if not np.array_equal(mine.astype(str), theirs.astype(str)):
            row = int(
                np.argmax((mine.astype(str) != theirs.astype(str)).reshape(len(mine), -1).any(1))
            )
            raise LabelError(
                f"{name!r} and {start!r} differ in the {word} of data row {row + 1}; they must "
                "hold the same samples in the same order"
            )


def _known(what: str, tables: dict[str, Any]) -> tuple[str, Any]:
    """Return the first table that has an attribute of samples, and what it has; or None."""
    having = ((name, getattr(table, what)) for name, table in tables.items())
    return next(((name, value) for name, value in having if value is not None), ("", None))


class Watched(dict[str, Any]):
    """Predictions that report when the next one is used."""

    step: Any = None

    def items(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        """Yield as a dict does."""
        for done, (name, prediction) in enumerate(super().items()):
            self.step(name, done)
            yield name, prediction


def _compared(tables: dict[str, Any], settings: Settings) -> Any:
    from ..evaluation import compare

    start, first = next(iter(tables.items()))
    with_target(first, Path(start))
    shared = {what: _known(what, tables)[1] for what in ("groups", "sample_weight", "cluster")}
    predictions = Watched({name: table.prediction for name, table in tables.items()})
    with steps("evaluating", len(tables)) as predictions.step:
        return compare(
            predictions, first.y, **about(replace(first, **shared)), **settings.options()
        )


def _recommended(comparison: Any, expression: str | None, scale: str) -> Any:
    """Return the recommendation; None if its metric is not wanted, or samples are different."""
    if comparison.different_samples:
        return None
    try:
        return comparison.recommend(expression, scale=scale)
    except OptionError as error:
        if expression is not None or "was not measured" not in str(error):
            raise
        return None


def _as_json(comparison: Any, recommendation: Any) -> dict[str, Any]:
    names = ("technique", "tied", "primary", "skill", "worse_in_skill", "pareto", "verdict",
             "cautions")  # fmt: skip
    result = None
    if recommendation is not None:
        result = {name: getattr(recommendation, name) for name in names}
    return {
        "techniques": comparison.techniques,
        "different_samples": comparison.different_samples,
        "confidence": comparison.confidence,
        "recommendation": result,
        "rows": comparison,
    }
