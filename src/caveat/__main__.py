"""A first look: what a forest knows about handwritten digits, and what it does not."""

from typing import Any

import numpy as np

from .predictions import Categorical
from .uncertainty import decompose


def forest_prediction(random_state: int = 0) -> tuple[Categorical, Any]:
    """Fit a forest on scikit-learn's digits; return its trees' test predictions and the truth."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, random_state=random_state, stratify=y
    )
    forest = RandomForestClassifier(min_samples_leaf=3, random_state=random_state)
    forest.fit(X_train, y_train)
    members = [tree.predict_proba(X_test) for tree in forest.estimators_]
    return Categorical(members, classes=forest.classes_), y_test


def main() -> None:
    """Print how often the forest errs, by how uncertain it says it is, and why it is."""
    from rich.console import Console
    from rich.table import Table

    prediction, y = forest_prediction()
    split = decompose(prediction)
    wrong = prediction.labels != y
    console = Console()
    console.print(f"[bold]A forest on handwritten digits[/]\n{prediction}")
    table = Table(title="Ten equal groups, from the surest to the least sure")
    for column in ("group", "samples", "errors", "total", "aleatoric", "epistemic"):
        table.add_column(column, justify="right")
    for i, rows in enumerate(np.array_split(np.argsort(split.total, kind="stable"), 10), start=1):
        part = split.take(rows)
        table.add_row(
            str(i),
            str(len(rows)),
            f"{wrong[rows].mean():.1%}",
            f"{part.total.mean():.2f}",
            f"{part.aleatoric.mean():.2f}",
            f"{part.epistemic.mean():.2f}",
        )
    console.print(table)
    console.print(
        "Entropies in nats: [bold]aleatoric[/] is what the trees agree they cannot tell, "
        "[bold]epistemic[/] is where they contradict each other."
    )


if __name__ == "__main__":  # pragma: no cover
    main()
