"""``caveat drift``: what changed since a reference."""

import re
from pathlib import Path
from typing import Any

import typer

from ..exceptions import CaveatError, OptionError
from ._console import print_json, say, show_table, steps
from ._evaluate import FAILED
from ._options import TITLE, Columns, Numbers, about, argument, option, shared
from ._output import check_output, header, write_table
from ._summarize import load_summary

_ENDINGS = (".csv", ".json", ".parquet", ".html", ".htm")
_TABLES = (".csv", ".gz", ".parquet", ".pq", ".npz", ".arrow", ".feather", ".jsonl", ".ndjson")


@shared
def drift_command(
    columns: Columns,
    numbers: Numbers,
    files: list[Path] = argument(
        "The reference and the new samples: .caveat files or files of predictions; more than two, "
        "or a folder, are a history in the order of their names.",
        metavar="FILE...",
    ),
    reference: Path | None = option("The file to compare with; by default the first."),
    threshold: list[str] | None = option(
        "How large a change must be to matter: a distance such as 0.1, or share=0.02 or "
        "relative=0.1; repeated.",
        metavar="NUMBER",
    ),
    alpha: float = option("Level of the tests, and of the monitor.", default=0.05),
    output: Path | None = option(
        "Write a page (.html), or all rows (.csv, .json, .parquet).", "--output", "-o"
    ),
    title: str | None = TITLE,
    fail_if: list[str] | None = option(
        "End with exit code 3 if this holds: 'ece.change > 0.02'. Repeat for several."
    ),
    fail_on_change: bool = option(
        "End with exit code 3 if the last file changed, or on alarm.",
        "--fail-on-change",
        default=False,
    ),
) -> None:
    """Say what changed since a reference: predictions, uncertainty, calibration, groups.

    Example: caveat drift last.caveat this.caveat
    Example: caveat drift weeks/ -o history.html
    """
    from ..monitoring import DriftHistory, drift, drift_history
    from ..monitoring.gates import DriftGate

    check_output(output, _ENDINGS)
    gates = [DriftGate.parse(text) for text in fail_if or ()]
    limits = _thresholds(threshold or [])
    paths = _paths(files, reference)
    given = {"threshold": limits, "alpha": alpha, **numbers.options()}
    if len(paths) < 2:
        raise OptionError(
            f"{paths[0]}: there is nothing to compare it with; give a second file, a folder of "
            "several, or --reference"
        )
    summaries = dict(zip(_names(paths), _read(paths, columns), strict=True))
    result: Any
    if len(summaries) == 2:
        first, second = summaries
        result = drift(summaries[first], summaries[second], names=(first, second), **given)
    else:
        result = drift_history(summaries, **given)
    last = result.last if isinstance(result, DriftHistory) else result
    failing = [sentence for gate in gates for sentence in gate.failing(last.rows)]
    if fail_on_change and result.changed:
        summary = last.verdict().statements[0].text
        alarm = " The monitor gives an alarm." if getattr(result, "alarm", False) else ""
        failing.append(f"{last.names[1]}: {summary}{alarm}")
    if output is not None:
        _write(result, output, title, joined_names(paths))
    if numbers.json:
        start = header("drift", paths, numbers.random_state)
        print_json(start | as_json(result) | {"failing": failing})
    else:
        _show(result)
        for sentence in failing:
            say(f"caveat: {sentence}", error=True, style="red")
        if output is not None:
            say(f"written: {output}", error=True)
    if failing:
        raise typer.Exit(FAILED)


def joined_names(paths: list[Path]) -> str:
    """Return where the samples are from, in a few words."""
    folders = {path.parent.name for path in paths}
    if len(paths) > 3 and len(folders) == 1:
        return f"{len(paths)} files of {folders.pop() or 'this folder'}"
    return ", ".join(path.name for path in paths)


def _thresholds(texts: list[str]) -> dict[str, float]:
    result = {}
    for text in texts:
        name, mark, value = text.rpartition("=")
        try:
            result[name if mark else "distribution"] = float(value)
        except ValueError:
            raise OptionError(
                f"--threshold: expected a number, share=NUMBER or relative=NUMBER; got {text!r}"
            ) from None
    return result


def _paths(files: list[Path], reference: Path | None) -> list[Path]:
    """Return the reference and the others: two as they are given, more in the order of names."""
    result: list[Path] = []
    for path in files:
        if not path.is_dir():
            result.append(path)
            continue
        inside = [p for p in path.iterdir() if p.is_file() and not p.name.startswith(".")]
        some = [p for p in inside if p.suffix == ".caveat"]
        some = some or [p for p in inside if p.suffix.lower() in _TABLES]
        if not some:
            raise OptionError(f"{path} holds no .caveat file and no file of predictions")
        result += some
    if reference is not None:
        others = [path for path in result if path.resolve() != reference.resolve()]
        return [reference, *sorted(others, key=_order)]
    return sorted(result, key=_order) if result != files or len(result) > 2 else result


def _order(path: Path) -> list[tuple[bool, int, str]]:
    """Sort names with numbers in them by the numbers: week-9 before week-10."""
    parts = re.split(r"(\d+)", path.name)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def _names(paths: list[Path]) -> list[str]:
    """Return the names of the files without their endings, or the files if two are alike."""
    stems = [path.name.removesuffix(".gz").rpartition(".")[0] or path.name for path in paths]
    return stems if len({*stems}) == len(stems) else [str(path) for path in paths]


def _read(paths: list[Path], columns: Columns) -> list[Any]:
    """Read each file as a summary."""
    from ..summaries import summarize

    result: list[Any] = []
    classes = None
    with steps("reading", len(paths)) as step:
        for i, path in enumerate(paths):
            step(path.name, i)
            if path.suffix == ".caveat":
                one = load_summary(path)
            else:
                table = columns.read_alike(path, classes)
                try:
                    one = summarize(table.prediction, table.y, **about(table))
                except CaveatError as error:
                    raise type(error)(f"{path}: {error}") from error
            classes = dict(one.about.shared).get("classes")
            result.append(one)
    return result


def _write(result: Any, output: Path, title: str | None, source: str) -> None:
    if output.suffix.lower() in (".html", ".htm"):
        from ..report import write_report

        write_report(result, output, title=title, source=source)
    else:
        write_table(result, output)


def _show(result: Any) -> None:
    from ..monitoring import Drift

    say(result.verdict())
    if isinstance(result, Drift):
        header, title, body = result.readable()
        show_table(
            title.replace("to_frame()", "--output and --json have them"),
            header,
            body,
            left=(0, 1, 7),
        )
    else:
        header, body = result.table()
        show_table(f"against {result.reference}", header, body, left=tuple(range(len(header))))


def as_json(result: Any) -> dict[str, Any]:
    """Return a drift or a history for machines."""
    from ..monitoring import Drift

    last = result if isinstance(result, Drift) else result.last
    verdict = result.verdict()
    content = {
        "alpha": last.alpha,
        "confidence": last.confidence,
        "thresholds": last.thresholds,
        "changed": result.changed,
        "verdict": verdict,
        "next_step": verdict.next_step,
    }
    if isinstance(result, Drift):
        return content | _one(result)
    periods = [
        {"period": name, **_one(drift), "monitor": result.states.get(name)}
        for name, drift in result.drifts.items()
    ]
    return content | {
        "reference": result.reference,
        "alarm": result.alarm,
        "periods": periods,
        "history": result,
    }


def _one(drift: Any) -> dict[str, Any]:
    from ..monitoring.result import DriftQuestion

    return {
        "names": drift.names,
        "samples": drift.samples,
        "states": {q.value: drift.state(q) for q in DriftQuestion if drift.state(q) is not None},
        "left_out": drift.left_out,
        "rows": drift,
    }
