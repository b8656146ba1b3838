"""A process that is killed without a word, and another that goes on where it was."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

import caveat
from caveat._writing import PARTIAL
from caveat.experiments import Protocol

X, Y = load_wine(return_X_y=True)
PROTOCOL = Protocol(sizes=(0.1, 0.5, 1), noise=(0, 0.5, 1), repeats=2)
FOREST = RandomForestClassifier(n_estimators=10, max_depth=4)
NETWORKS = caveat.DeepEnsembleClassifier(members=2, epochs=30, hidden=(8,), device="cpu")


def run(model, checkpoint=None, **options):
    return caveat.disentanglement_error(
        model, X, Y, protocol=PROTOCOL, random_state=3, checkpoint=checkpoint, **options
    )


def numbers(result):
    return json.loads(result.to_json())["curves"]


SLOW_FOREST = """
import sys, time
from sklearn.ensemble import RandomForestClassifier
from tests.experiments.test_killed import FOREST, run

fit = RandomForestClassifier.fit

def slowly(self, X, y):
    time.sleep(0.15)
    return fit(self, X, y)

RandomForestClassifier.fit = slowly
run(FOREST, sys.argv[1])
"""
SLOW_NETWORKS = """
import sys, time
from caveat.nn.lockstep import _checkpoint
from tests.experiments.test_killed import NETWORKS, run

save = _checkpoint.Checkpoint.save

def slowly(self, run):
    save(self, run)
    time.sleep(0.15)

_checkpoint.Checkpoint.due = lambda self: True
_checkpoint.Checkpoint.save = slowly
run(NETWORKS, sys.argv[1])
"""


def killed(script, folder, pattern, count):
    """Start a process, and kill it as soon as it has written some files."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, "-c", script, str(folder)], cwd=root)
    try:
        for _ in range(1200):
            if len(list(folder.glob(pattern))) >= count:
                break
            assert process.poll() is None, "it ended too soon"
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        assert process.wait() == -signal.SIGKILL


def test_a_forest(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    killed(SLOW_FOREST, folder, "conditions/*.json", 4)
    done = len(list((folder / "conditions").glob("*.json")))
    assert 4 <= done < 12
    fits, fit = [], RandomForestClassifier.fit

    def counting(self, X, y):
        fits.append(len(y))
        return fit(self, X, y)

    monkeypatch.setattr(RandomForestClassifier, "fit", counting)
    resumed = run(FOREST, folder)
    assert len(fits) == 12 - done
    assert numbers(resumed) == numbers(run(FOREST))


def test_a_run_killed_before_it_began(tmp_path):
    """The label is written first: what a kill before that leaves is no other experiment."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / f"{PARTIAL}1-experiment.json").write_text("{")
    for name in ("empty", "half"):
        run(FOREST, tmp_path / name)
        assert len(list((tmp_path / name / "conditions").iterdir())) == 12


def test_scores_of_one_name_are_not_one_score(tmp_path):
    def share(y_true, y_pred, right=1.0):
        return right * float((y_true == y_pred).mean())

    run(FOREST, tmp_path / "run", score=lambda y, p: share(y, p))
    again = run(FOREST, tmp_path / "run", score=lambda y, p: share(y, p))
    assert again.score_name == "<lambda>"
    with pytest.raises(caveat.exceptions.OptionError, match="belongs to another experiment"):
        run(FOREST, tmp_path / "run", score=lambda y, p: share(y, p, 2.0))


def test_samples_of_one_shape_are_not_one_table(tmp_path):
    options = {"protocol": PROTOCOL, "random_state": 3, "checkpoint": tmp_path / "run"}
    caveat.disentanglement_error(FOREST, X, Y, **options)
    other = X.copy()
    other[5, 3] += 1e-9
    with pytest.raises(caveat.exceptions.OptionError, match="belongs to another experiment"):
        caveat.disentanglement_error(FOREST, other, Y, **options)


def test_networks_in_mid_training(tmp_path):
    pytest.importorskip("torch")
    folder = tmp_path / "run"
    killed(SLOW_NETWORKS, folder, "networks/group-0/copies-*.safetensors", 1)
    assert not list((folder / "conditions").glob("*.json"))
    (state,) = (folder / "networks" / "group-0").glob("copies-*.safetensors")
    whole = run(NETWORKS)
    good = state.read_bytes()
    state.write_bytes(good[:100])
    with pytest.raises(caveat.exceptions.FileFormatError, match=r"cannot be read .* delete it"):
        run(NETWORKS, folder)
    state.write_bytes(good)
    assert numbers(run(NETWORKS, folder)) == numbers(whole)
    assert np.isfinite(whole.error().value)
