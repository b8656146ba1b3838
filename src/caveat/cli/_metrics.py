"""``caveat metrics``: the table of all metrics."""

from ..exceptions import OptionError
from ._console import print_json, show_table
from ._options import JSON, option


def metrics_command(
    task: str | None = option(
        "Only those of classification, regression, ranking or detection.",
        autocompletion=lambda: ["classification", "regression", "ranking", "detection"],
    ),
    json: bool = JSON,
) -> None:
    """Show every metric: its short names, what it says and what it cannot see."""
    from ..metrics import METRICS
    from ..results.tables import ARROWS

    tasks = list(dict.fromkeys(entry.task for entry in METRICS.values()))
    if task is not None and task not in tasks:
        raise OptionError(f"--task must be one of {', '.join(tasks)}; got {task!r}")
    result = [entry for entry in METRICS.values() if task in (None, entry.task)]
    if json:
        names = (
            "name", "aliases", "task", "inputs", "direction", "range", "optimum", "locality",
            "proper", "says", "cannot_see",
        )  # fmt: skip
        print_json([{name: getattr(entry, name) for name in names} for entry in result])
        return
    for name in [task] if task else tasks:
        show_table(
            name.capitalize(),
            ["metric", "short", "better", "says"],
            [
                [entry.name, ", ".join(entry.aliases), ARROWS[entry.direction], entry.says]
                for entry in result
                if entry.task == name
            ],
            left=(0, 1, 2, 3),
        )
