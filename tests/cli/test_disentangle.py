"""``caveat disentangle`` on small tables."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier

import caveat
from caveat import estimators
from caveat.cli import _disentangle as command
from caveat.experiments import Protocol

from ..files.tables import write
from .test_commands import call, failure

QUICK = ("--sizes", "0.1,0.4,1", "--noise", "0,0.5,1", "--repeats", "3")
FOREST = ("--method", "random-forest", "--members", "5", *QUICK)


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    data = load_wine(as_frame=True)
    frame = data.frame.drop(columns="target")
    frame["kind"] = [f"kind {target}" for target in data.target]
    path = tmp_path_factory.mktemp("tables") / "wine.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    columns = {"x": x, "y": 2 * x + rng.normal(0, 0.2, 120)}
    return write(tmp_path_factory.mktemp("tables"), "parquet", columns, "line")


def expected(path, seed=0):
    """The same by the library."""
    frame = pd.read_csv(path)
    return caveat.disentanglement_error(
        RandomForestClassifier(n_estimators=5, max_depth=4),
        frame.drop(columns="kind").to_numpy(),
        frame["kind"].to_numpy(),
        decomposition=["information", "variance"],
        protocol=Protocol(sizes=(0.1, 0.4, 1), noise=(0, 0.5, 1), repeats=3),
        random_state=seed,
    )


def test_prints_the_verdict_and_the_numbers_of_each_split(wine, tmp_path, capsys):
    page = tmp_path / "report.html"
    out, err = call(
        capsys, "disentangle", wine, "--target", "kind", *FOREST, "--report", page, "--title",
        "Wine", "--decomposition", "information", "--decomposition", "variance",
    )  # fmt: skip
    result = expected(wine)
    assert out.startswith(f"Disentanglement of {result.model}, 142 samples, 36 for testing")
    flat = " ".join(out.split())
    for name in ("information", "variance"):
        error = result.error(decomposition=name)
        assert f"Split by {name}" in out
        assert result.verdict(name).statements[0].text in flat
        term = error.terms["aleatoric_orthogonality"]
        row = f"O1 aleatoric orthogonality {term.correlation:z.3f} 0 {term.value:.3f} "
        assert row + f"{term.low:.3f} to {term.high:.3f}" in flat
        assert f"UDE, mean of the four {error.value:.3f} {error.low:.3f} to" in flat
    assert flat.count("36 of 178 samples were held out") == 1
    assert "18 trainings, " in out
    assert out.rstrip().endswith(f"report: {page}")
    assert "Wine" in page.read_text(encoding="utf-8")
    assert "wine.csv: 'kind': target with 3 classes" in err
    assert "random-forest: trees of a depth of 4; --depth changes it" in err


def test_a_forest_learns_small_tables(wine, capsys):
    """Seven samples can be learned by heart; a forest that cannot split them spoils the sweep."""
    out, _ = call(
        capsys, "disentangle", wine, "--target", "kind", "--method", "random-forest", "--members",
        "30", "--sizes", "0.05,0.1,0.25,1", "--noise", "0,0.5,1", "--repeats", "3", "--json",
    )  # fmt: skip
    found = json.loads(out)
    (check,) = (c for c in found["result"]["checks"] if c["name"].startswith("small training"))
    assert check["passed"]
    assert found["errors"][0]["value"] < 0.7


def test_the_depth_of_trees(line, capsys):
    model = command._model("random-forest", "classification", ["auto"], {"depth": 7, "members": 3})
    assert (model.max_depth, model.n_estimators) == (7, 3)
    assert capsys.readouterr().err == ""
    model = command._model("extra-trees", "regression", ["auto"], {"depth": 2})
    assert (model.max_depth, model.n_estimators) == (2, 100)
    out, err = call(capsys, "disentangle", line, "--target", "y", *FOREST)
    assert "depth" not in err
    assert "RandomForestRegressor(n_estimators=5)" in out
    assert "aleatoric uncertainty is zero by construction" in " ".join(out.split())


def test_json_has_all_of_it(wine, capsys):
    out, _ = call(
        capsys, "disentangle", wine, "--target", "kind", *FOREST, "--json", "--seed", "3", "--jobs",
        "1", "--decomposition", "it", "--decomposition", "variance",
    )  # fmt: skip
    found, result = json.loads(out), expected(wine, 3)
    assert [error["value"] for error in found["errors"]] == [
        result.error(decomposition=name).value for name in ("information", "variance")
    ]
    assert found["errors"][0]["terms"]["epistemic_consistency"]["correlation"] == (
        result.error().terms["epistemic_consistency"].correlation
    )
    assert [verdict["pattern"] for verdict in found["verdicts"]] == [
        result.verdict(name).pattern for name in ("information", "variance")
    ]
    again = caveat.Disentanglement.from_json(json.dumps(found["result"]))
    assert again.error().value == result.error().value
    assert found["report"] is None
    assert found["recognized"] == ["'kind': target with 3 classes"]


def test_one_split_and_one_repeat(wine, tmp_path, capsys):
    page = tmp_path / "a.html"
    out, _ = call(
        capsys, "disentangle", wine, "--target", "kind", "--method", "extra-trees", "--protocol",
        "cheap", "--members", "3", "--json", "--report", page,
    )  # fmt: skip
    found = json.loads(out)
    assert found["report"] == str(page)
    assert page.exists()
    assert found["result"]["protocol"]["sizes"] == [0.25, 0.5, 0.75, 1.0]
    assert found["errors"][0]["low"] is None
    assert found["verdicts"][0]["pattern"] == "not judged"
    rows = tmp_path / "rows.csv"
    out, err = call(
        capsys, "disentangle", wine, "--target", "kind", "--method", "Random_Forest", "--protocol",
        "cheap", "--members", "3", "-o", rows,
    )  # fmt: skip
    assert len(pd.read_csv(rows)) == 8
    assert f"all 8 rows: {rows}" in err
    assert "Split by" not in out
    assert "Nothing is claimed from 1 repeat" in " ".join(out.split())


def test_a_network_for_a_regression(line, tmp_path, capsys):
    given = (
        "disentangle", line, "--target", "y", "--method", "mc-dropout", "--epochs", "2", "--hidden",
        "4", "--passes", "5", "--sizes", "0.5,1", "--noise", "0,1", "--repeats", "1", "--schedule",
        "constant-epochs", "--checkpoint", tmp_path / "folder",
    )  # fmt: skip
    out, err = call(capsys, *given)
    assert "MCDropoutRegressor" in out
    assert "noise in the targets" in " ".join(out.split())
    assert "4 trainings, " in out
    assert " steps, " in out
    assert "line.parquet: 'y': target of a regression" in err
    again, _ = call(capsys, *given)
    assert out.splitlines()[:-1] == again.splitlines()[:-1]


def test_gaussian_logits_get_their_head(capsys):
    model = command._model("flipout", "classification", ["gaussian_logits"], {"epochs": 3})
    assert isinstance(model, estimators.FlipoutClassifier)
    assert (model.head, model.epochs) == ("gaussian-logits", 3)
    model = command._model("flipout", "classification", ["information"], {})
    assert model.head == "softmax"


def test_every_method_has_a_model_for_both_tasks(capsys):
    known = command.methods()
    assert list(known) == [
        "anchored-ensemble", "batch-ensemble", "bayes-by-backprop", "bootstrap", "concrete-dropout",
        "deep-ensemble", "dropconnect", "flipout", "laplace", "mc-dropout", "swag", "random-forest",
        "extra-trees",
    ]  # fmt: skip
    for name in known:
        for task in ("classification", "regression"):
            model = command._model(name, task, ["auto"], {"members": None})
            assert type(model).__name__.lower().startswith(name.replace("-", ""))
    assert command.method_names("d") == ["deep-ensemble", "dropconnect"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "map"], "--method map is one network: without members its epistemic part is zero by construction; take one of anchored-ensemble, batch-ensemble, bayes-by-backprop, bootstrap, concrete-dropout, deep-ensemble, dropconnect, flipout, laplace, mc-dropout, swag, random-forest, extra-trees"),
        (["--method", "deep-ensembl"], "unknown --method 'deep-ensembl'; did you mean 'deep-ensemble'? known are anchored-ensemble, batch-ensemble, bayes-by-backprop, bootstrap, concrete-dropout, deep-ensemble, dropconnect, flipout, laplace, mc-dropout, swag, random-forest, extra-trees"),
        (["--method", "xyz"], "unknown --method 'xyz'; known are anchored-ensemble, batch-ensemble, bayes-by-backprop, bootstrap, concrete-dropout, deep-ensemble, dropconnect, flipout, laplace, mc-dropout, swag, random-forest, extra-trees"),
        (["--sizes", "a,b"], "--sizes must be shares such as 0.1,0.5,1; got 'a,b'"),
        (["--noise", "0,2"], "noise must be shares from 0 to 1 (0.25 for 25 %); got 2"),
        (["--hidden", "a"], "--hidden must be whole numbers such as 32,32; got 'a'"),
        (["--protocol", "long"], "protocol must be 'paper', 'cheap' or a caveat.experiments.Protocol; got 'long'"),
        (["--schedule", "none"], "schedule must be one of 'inverse-epochs', 'constant-steps', 'constant-epochs'; got 'none'"),
        (["--method", "random-forest", "--epochs", "3"], "--epochs is no setting of --method random-forest; leave it out"),
        (["--method", "mc-dropout", "--depth", "3"], "--depth is no setting of --method mc-dropout; leave it out"),
        (["--method", "mc-dropout", "--members", "3"], "--members is no setting of --method mc-dropout; leave it out"),
        (["--task", "guess"], "task must be one of 'auto', 'classification', 'regression'; got 'guess'"),
        (["--report", "x.txt"], "--report x.txt: the ending must be one of .html, .htm"),
    ],
)  # fmt: skip
def test_what_is_refused(wine, capsys, arguments, message):
    assert failure(capsys, "disentangle", wine, "--target", "kind", *arguments) == (
        f"caveat: {message}"
    )


def test_a_file_that_cannot_be_learned_from(wine, tmp_path, capsys):
    path = tmp_path / "gaps.csv"
    path.write_text("a,y\n1,0\n,1\n3,0\n")
    assert failure(capsys, "disentangle", path, "--target", "y") == (
        f"caveat: {path}: column 'a' has no number in data row 2 (1 of 3 rows have none); remove "
        "or fill such rows first"
    )
    assert failure(capsys, "disentangle", wine, "--target", "kin") == (
        f"caveat: {wine}: --target kin: there is no such column; did you mean 'kind'?"
    )
