"""Logging to MLflow: to a stand-in that records, and to the package itself where it is installed."""

import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import caveat
from caveat.exceptions import OptionError
from caveat.integrations import log_evaluation
from caveat.metrics import METRICS


class Recorder:
    """The functions of MLflow that are used, with its rules for names."""

    def __init__(self):
        self.metrics, self.tags, self.files, self.steps, self.calls = {}, {}, {}, [], []

    def log_metrics(self, metrics, step=None):
        self.calls.append("metrics")
        self.metrics.update(metrics)
        self.steps.append(step)

    def set_tags(self, tags):
        self.calls.append("tags")
        self.tags.update(tags)

    def log_artifacts(self, local_dir, artifact_path=None):
        self.calls.append("artifacts")
        for path in Path(local_dir).iterdir():
            self.files[f"{artifact_path}/{path.name}"] = path.read_text(encoding="utf-8")


@pytest.fixture
def recorder(monkeypatch):
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, "mlflow", recorder)
    return recorder


def classes(classes=("ill", "well"), samples=300):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(len(classes)), size=samples)
    y = np.array([rng.choice(classes, p=row) for row in p])
    groups = {"ward": rng.choice(["A", "B"], size=samples)}
    prediction = caveat.Categorical(p, classes=list(classes))
    return caveat.evaluate(prediction, y, groups=groups, resamples=50, random_state=0)


def numbers(targets=None):
    rng = np.random.default_rng(1)
    shape = (60,) if targets is None else (60, len(targets))
    mean = rng.normal(size=shape)
    prediction = caveat.Gaussian(mean, np.ones(shape), targets=targets)
    return caveat.evaluate(prediction, mean + rng.normal(size=shape), resamples=50, random_state=0)


def check(evaluation, metrics, tags, files, name="caveat"):
    """What is logged is what the evaluation says."""
    (ece,) = evaluation.select(metric="ece", group="")
    key = f"{name}/expected_calibration_error"
    assert metrics[key] == pytest.approx(ece.value, rel=1e-12)
    assert metrics[f"{key}.low"] == pytest.approx(ece.low, rel=1e-12)
    assert metrics[f"{key}.high"] == pytest.approx(ece.high, rel=1e-12)
    assert not any("ward" in key for key in metrics)
    assert tags[f"{name}.verdict"] == evaluation.verdict().statements[0].text
    assert tags[f"{name}.level"] == evaluation.verdict().statements[0].level
    assert tags[f"{name}.version"] == caveat.__version__
    assert set(files) == {f"{name}/evaluation.{e}" for e in ("json", "csv")} | {
        f"{name}/report.html"
    }
    assert files[f"{name}/evaluation.json"] == evaluation.to_json()
    assert len(json.loads(files[f"{name}/evaluation.json"])) == len(evaluation)
    table = pd.read_csv(io.StringIO(files[f"{name}/evaluation.csv"]), keep_default_na=False)
    assert list(table["metric"]) == list(evaluation.to_frame()["metric"])
    assert "ward=A" in set(table["group"])
    page = files[f"{name}/report.html"]
    assert page.startswith("<!DOCTYPE html>")
    assert "</html>" in page


def test_what_is_logged(recorder):
    evaluation = classes()
    logged = log_evaluation(evaluation)
    assert logged == recorder.metrics
    check(evaluation, recorder.metrics, recorder.tags, recorder.files)
    headline = {key.partition("/")[2].partition(".")[0] for key in recorder.metrics}
    assert headline == set(METRICS.shown("headline")) & {row.metric for row in evaluation}
    assert recorder.steps == [None]


def test_name_step_and_no_page(recorder):
    evaluation = classes(("a", "b", "c"))
    log_evaluation(evaluation, name="test/epoch", step=3, page=False)
    assert all(key.startswith("test/epoch/") for key in recorder.metrics)
    # The classes against the rest are in the table.
    assert evaluation.select(metric="positive_ece", group="")
    assert not any("positive_calibration_error" in key for key in recorder.metrics)
    assert set(recorder.tags) == {f"test/epoch.{key}" for key in ("verdict", "level", "version")}
    assert set(recorder.files) == {"test/epoch/evaluation.json", "test/epoch/evaluation.csv"}
    assert recorder.steps == [3]


def test_coverages_and_targets_are_in_the_names(recorder):
    evaluation = numbers()
    log_evaluation(evaluation, page=False)
    one = {k for k in recorder.metrics if k.startswith("caveat/interval_coverage")}
    assert "caveat/interval_coverage.coverage_0.9545.low" in one
    assert "caveat/root_mean_squared_error" in recorder.metrics
    recorder.metrics.clear()
    # Two names that become one when their signs are replaced.
    evaluation = numbers(["a=b", "a?b"])
    logged = log_evaluation(evaluation, page=False)
    first, second = evaluation.select(metric="rmse")
    key = "caveat/root_mean_squared_error.a_b"
    assert logged[key] == pytest.approx(first.value, rel=1e-12)
    assert logged[f"{key}_2"] == pytest.approx(second.value, rel=1e-12)
    assert logged[f"{key}_2.high"] == pytest.approx(second.high, rel=1e-12)


def test_undefined_numbers_are_left_out(recorder):
    prediction = caveat.Categorical([[0.9, 0.1], [0.2, 0.8]])
    evaluation = caveat.evaluate(prediction, [1, 1], resamples=0)
    (auc,) = evaluation.select(metric="roc_auc", group="")
    assert np.isnan(auc.value)
    logged = log_evaluation(evaluation, page=False)
    assert "caveat/accuracy_score" in logged
    assert not any("roc_auc" in key or key.endswith((".low", ".high")) for key in logged)


def test_metrics_that_no_short_table_has(recorder):
    (name,) = {"sharpness"} - set(METRICS.shown("headline"))
    evaluation = numbers()
    only = caveat.evaluate(evaluation.prediction, evaluation.truth, metrics=[name], resamples=0)
    assert set(log_evaluation(only, page=False)) == {f"caveat/{name}"}


def test_errors_come_before_anything_is_logged(recorder):
    evaluation = classes()
    with pytest.raises(
        OptionError, match=r"takes what caveat.evaluate returned; got a Categorical$"
    ):
        log_evaluation(evaluation.prediction)
    for name in ("", "/a", "a//b", "../a", "a=b", 3):
        with pytest.raises(OptionError, match=r"name must be text of letters.* got"):
            log_evaluation(evaluation, name=name)
    assert recorder.calls == []


def test_without_mlflow(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(OptionError, match=r"needs MLflow: pip install 'caveat\[mlflow\]'$"):
        log_evaluation(classes())


def test_mlflow_is_not_imported_before_it_is_used():
    code = "import sys, caveat.integrations as i; i.log_evaluation; print('mlflow' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"


@pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="MLflow is not installed")
@pytest.mark.filterwarnings("default")  # those of MLflow are its own
def test_the_package_itself(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # no database is needed for a folder
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    mlflow.set_experiment("a test")
    evaluation, targets = classes(), numbers(["a=b", "a?b", "größe/cm"])
    with mlflow.start_run() as run:
        log_evaluation(evaluation)
        log_evaluation(evaluation, name="validation", step=1, page=False)
        log_evaluation(evaluation, name="validation", step=2, page=False)
        logged = log_evaluation(targets, name="numbers")
    client = mlflow.MlflowClient()
    data = client.get_run(run.info.run_id).data
    assert data.metrics.items() >= logged.items()
    folder = Path(client.download_artifacts(run.info.run_id, "caveat", str(tmp_path)))
    files = {f"caveat/{path.name}": path.read_text(encoding="utf-8") for path in folder.iterdir()}
    ours = {key: value for key, value in data.metrics.items() if key.startswith("caveat/")}
    check(evaluation, ours, data.tags, files)
    history = client.get_metric_history(run.info.run_id, "validation/expected_calibration_error")
    assert [entry.step for entry in history] == [1, 2]
    assert {item.path for item in client.list_artifacts(run.info.run_id, "validation")} == {
        "validation/evaluation.json",
        "validation/evaluation.csv",
    }
    level = evaluation.verdict().statements[0].level
    found = mlflow.search_runs(filter_string=f"tags.`caveat.level` = '{level}'")
    assert list(found["run_id"]) == [run.info.run_id]
