"""Each first try runs as it is written, in a folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import caveat

FOLDER = Path(__file__).parents[2] / "examples" / "first_mile"
SAID = {
    "ci_gate": ["good: exit code 0", "overconfident: exit code 3"],
    "credit": ["Its probabilities cannot be taken at face value", "sex"],
    "notebook": ["Categorical: 1 member x 5 samples"],
    "quantile_forecasts": ["load:", "price:"],
    "r_export": ["Köln", "Zürich"],
    "sklearn_search": ["min_samples_leaf", "50 members"],
    "torch_loader": ["members"],
}
QUICK = ("ci_gate", "notebook", "quantile_forecasts")
"""The others are among the slow tests."""
NEEDS = {"credit": "lightgbm", "torch_loader": "torch"}


def test_every_script_is_tested_and_in_the_list():
    names = {path.stem for path in FOLDER.glob("*.py")}
    assert names == set(SAID)
    page = (FOLDER / "scripts.md").read_text(encoding="utf-8")
    assert all(f"`{name}.py`" in page for name in names)


def run(name, tmp_path):
    """Run a script in a folder, and compare what it prints."""
    pytest.importorskip(NEEDS.get(name, "caveat"))
    source = str(Path(caveat.__file__).parents[1])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PYTHONPATH": source, "PATH": path, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py")], cwd=tmp_path, env=env, text=True,
        capture_output=True, check=False, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for words in SAID[name]:
        assert words in done.stdout + done.stderr


@pytest.mark.parametrize("name", QUICK)
def test_a_first_try(name, tmp_path):
    run(name, tmp_path)
