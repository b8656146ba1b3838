"""A first look: what a forest knows about handwritten digits, and what it does not."""

from typing import Any

import numpy as np

from .evaluation import Comparison, TriagePolicy, compare
from .predictions import Categorical
from .recalibration import TemperatureScaling
from .uncertainty import decompose

METRICS = ["accuracy", "nll", "brier", "ece", "smece", "auroc_error"]


def forest_predictions(random_state: int = 0) -> tuple[Categorical, Any]:
    """Fit a forest on some of scikit-learn's digits; return what its trees say of the rest."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(
        X, y, test_size=0.6, random_state=random_state, stratify=y
    )
    forest = RandomForestClassifier(min_samples_leaf=3, random_state=random_state)
    forest.fit(X_train, y_train)
    members = [tree.predict_proba(X_rest) for tree in forest.estimators_]
    return Categorical(members, classes=forest.classes_), y_rest


def main() -> None:
    """Show how uncertain the forest is and why, repair it, compare, and decide what to accept."""
    from rich.console import Console

    console = Console()
    prediction, y = forest_predictions()
    half = len(prediction) // 2
    calibration, test = prediction.take(slice(0, half)), prediction.take(slice(half, None))
    y_calibration, y_test = y[:half], y[half:]
    console.print("[bold]A forest on handwritten digits[/]", str(test), sep="\n")
    console.print(by_uncertainty(test, y_test))
    console.print(
        "Entropies in nats: [bold]aleatoric[/] is what the trees agree they cannot tell, "
        "[bold]epistemic[/] is where they contradict each other.\n"
    )
    fixed = TemperatureScaling().fit(calibration, y_calibration).transform(test)
    comparison = compare(
        {"forest": test, "with a temperature": fixed}, y_test, metrics=METRICS, random_state=0
    )
    console.print(side_by_side(comparison))
    console.print(str(comparison.recommend("probability")), "\n", highlight=False)
    policy = TriagePolicy(risk=0.05, random_state=0).fit(calibration, y_calibration)
    console.print(str(policy.decide(test)), highlight=False)


def side_by_side(comparison: Comparison) -> Any:
    """Return a table of the techniques over all samples, with intervals."""
    from rich.table import Table

    table = Table(title="Before and after a repair, with 95 % intervals")
    table.add_column("metric")
    for technique in comparison.techniques:
        table.add_column(technique, justify="right")
    cells: dict[str, list[str]] = {}
    for row in comparison.select(group=""):
        text = f"{row.value:.3g} ({row.low:.2g} to {row.high:.2g})"
        cells.setdefault(row.metric, []).append(text)
    for name, values in cells.items():
        table.add_row(name, *values)
    return table


def by_uncertainty(prediction: Categorical, y: Any, groups: int = 10) -> Any:
    """Return a table of errors and uncertainty, from the surest samples to the least sure."""
    from rich.table import Table

    split = decompose(prediction)
    wrong = prediction.labels != y
    table = Table(title="Ten equal groups, from the surest to the least sure")
    for column in ("group", "samples", "errors", "total", "aleatoric", "epistemic"):
        table.add_column(column, justify="right")
    order = np.argsort(split.total, kind="stable")
    for i, rows in enumerate(np.array_split(order, groups), start=1):
        part = split.take(rows)
        table.add_row(
            str(i),
            str(len(rows)),
            f"{wrong[rows].mean():.1%}",
            f"{part.total.mean():.2f}",
            f"{part.aleatoric.mean():.2f}",
            f"{part.epistemic.mean():.2f}",
        )
    return table


if __name__ == "__main__":  # pragma: no cover
    main()
