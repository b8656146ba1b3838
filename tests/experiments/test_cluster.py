"""A real Dask cluster on this machine, whose workers are killed in mid-run."""

import json
import os
import signal

import joblib
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

import caveat
from caveat.experiments import Protocol
from caveat.experiments.checkpoint import Folder

distributed = pytest.importorskip("distributed")


def numbers(result):
    return json.loads(result.to_json())["curves"]


def kill_workers(tmp_path, monkeypatch, after, all_of_them):
    """Kill one or all workers of a cluster after some conditions; nothing changes."""
    import dask

    X, y = load_wine(return_X_y=True)
    # On a worker of a cluster joblib would send the trees to the other workers.
    model = RandomForestClassifier(n_estimators=20, max_depth=5)
    options = {
        "protocol": Protocol(sizes=(0.05, 0.3, 1), noise=(0, 0.5, 1), repeats=3),
        "random_state": 0,
    }
    alone = caveat.disentanglement_error(model, X, y, n_jobs=1, **options)
    settings = {
        "distributed.worker.daemon": False,
        "distributed.comm.timeouts.connect": "5s",
        "distributed.admin.log-format": "%(message)s",
    }
    killed, saved, save = [], [], Folder.save
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        pids = list(client.run(os.getpid).values())

        def save_and_kill(folder, condition, outcome):
            save(folder, condition, outcome)
            saved.append(condition)
            if len(saved) == after:
                killed.extend(pids if all_of_them else pids[:1])
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)

        monkeypatch.setattr(Folder, "save", save_and_kill)
        with joblib.parallel_config("dask"):
            shared = caveat.disentanglement_error(
                model, X, y, checkpoint=tmp_path / "run", **options
            )
        assert killed
        # The cluster replaced them, or went on with one; either way there are other processes.
        assert not set(killed) & set(client.run(os.getpid).values())
    assert numbers(shared) == numbers(alone)
    assert len(saved) == shared.cost.trainings == 18
    assert len(list((tmp_path / "run" / "conditions").glob("*.json"))) == 18


@pytest.mark.filterwarnings("ignore:a worker was lost:RuntimeWarning")
def test_killed_workers_change_nothing(tmp_path, monkeypatch):
    kill_workers(tmp_path, monkeypatch, 7, False)
