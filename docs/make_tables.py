"""Write the tables of the documentation from the registries; ``--check`` only compares.

Run as ``python docs/make_tables.py``. A table stands between two marks in its page.
"""

import sys
from pathlib import Path

from caveat.metrics import METRICS
from caveat.recalibration import RECALIBRATORS

HERE = Path(__file__).parent


def number(value: float | None) -> str:
    return (
        "" if value is None else {float("inf"): "∞", -float("inf"): "-∞"}.get(value, f"{value:g}")
    )


def metric_table() -> str:
    lines = []
    for task in ("classification", "regression", "ranking", "detection"):
        lines += [
            f"### {task.capitalize()}\n",
            "| metric | takes | better | range | scale | proper | what it says | what it cannot see |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for metric in METRICS.values():
            if metric.task != task:
                continue
            names = f"`{metric.name}`" + (
                f" ({', '.join(metric.aliases)})" if metric.aliases else ""
            )
            known = metric.optimum is not None
            near = f"near {number(metric.optimum)}" if known else "near the nominal value"
            better = near if metric.direction == "target" else metric.direction
            low, high = (number(end) for end in metric.range)
            lines.append(
                f"| {names} | {', '.join(metric.inputs)} | "
                f"{better} | {low} to {high} | "
                f"{metric.locality} | {'yes' if metric.proper else 'no'} | {metric.says} | "
                f"{metric.cannot_see} |"
            )
        lines.append("")
    return "\n".join(lines)


def recalibrator_table() -> str:
    lines = [
        "| technique | takes | promises | cannot fix |",
        "| --- | --- | --- | --- |",
    ]
    for name, entry in RECALIBRATORS.items():
        takes = ", ".join(f"`{kind.__name__}`" for kind in entry.takes)
        lines.append(f"| `{name}` | {takes} | {entry.promises} | {entry.cannot} |")
    return "\n".join([*lines, ""])


TABLES = {"metrics.md": metric_table, "recalibration.md": recalibrator_table}


def updated(page: Path, table: str) -> str:
    """Return the page with what stands between its marks replaced."""
    text = page.read_text(encoding="utf-8")
    start, end = "<!-- table: start -->", "<!-- table: end -->"
    before, rest = text.split(start)
    return f"{before}{start}\n\n{table}\n{end}{rest.split(end)[1]}"


if __name__ == "__main__":
    for name, make in TABLES.items():
        page = HERE / name
        text = updated(page, make())
        if "--check" in sys.argv and text != page.read_text(encoding="utf-8"):
            sys.exit(f"{name} is not what the registry says; run python docs/make_tables.py")
        page.write_text(text, encoding="utf-8")
