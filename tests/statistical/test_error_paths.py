"""Every error path of the command line ends with exit code 2 and one line, however often it runs.

A process that ends right after it has read a file must not race with threads that still read: that
fault showed in two of a hundred runs, so each path runs many times. ``CAVEAT_ERROR_RUNS`` says how
often. One process imports what the program needs and forks for every run, and each fork ends as
an interpreter ends, with all that it finalizes.
"""

import gzip
import json
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import caveat

from ..files.tables import write

RUNS = int(os.environ.get("CAVEAT_ERROR_RUNS", "10"))
SERVER = """
import gc, json, os, sys, tempfile
import numpy, pandas, pyarrow, pyarrow.csv, pyarrow.feather, pyarrow.json, pyarrow.parquet
import rich.console, rich.progress, rich.table, rich.text
from caveat import evaluation, experiments, fairness, files, metrics, report, studies
from caveat.cli import main

gc.collect()
gc.freeze()  # so that a fork need not look through what it shares

for line in sys.stdin:
    arguments, runs = json.loads(line)
    outcomes = {}
    for _ in range(runs):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if not child:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.exit(main(arguments))
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0), err.seek(0)
            found = code, out.read().decode(), err.read().decode()
        outcomes[found] = outcomes.get(found, 0) + 1
    sys.stdout.write(json.dumps([[*found, count] for found, count in outcomes.items()]) + "\\n")
    sys.stdout.flush()
"""

rng = np.random.default_rng(0)
P = rng.dirichlet(np.ones(3), 60)
Y = np.array(["a", "b", "c"])[[rng.choice(3, p=p) for p in P]]
SEX = np.where(np.arange(60) % 2, "f", "m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that are right, and files that are wrong in one way each."""
    place = tmp_path_factory.mktemp("files")
    classes = {f"p_{name}": P[:, i] for i, name in enumerate("abc")}
    good = {**classes, "y": Y, "sex": SEX}
    for ending in ("csv", "csv.gz", "parquet", "npz", "arrow", "jsonl"):
        write(place, ending, good, "good")
        write(place, ending, {**good, "p_a": 2 * P[:, 0]}, "wrong")
    write(place, "csv", {**{name: 100 * p for name, p in classes.items()}, "y": Y}, "percent")
    write(place, "csv", {"p": np.round(100 * P[:, 0], 1), "y": Y == "a"}, "percent2")
    write(place, "csv", classes, "untrue")
    write(place, "csv", {"y": Y[:1]}, "one")
    write(place, "csv", {"y": Y, "x": rng.normal(size=60)}, "features")
    write(place, "csv", {"m": P[:, 0], "s": P[:, 1], "y": P[:, 2]}, "numbers")
    write(place, "csv", {**good, "y": np.where(np.arange(60) == 7, "NA", Y)}, "na")
    write(place, "csv", {**good, "w": np.full(60, 1e308)}, "heavy")
    write(place, "csv", {**good, "y": np.roll(Y, 1)}, "other")
    (place / "empty.csv").write_bytes(b"")
    (place / "header.csv").write_text("p_a,p_b,y\n")
    (place / "latin.csv").write_bytes(b"p,y\n0.5,\x81\n0.5,b\n")  # no letter of cp1252
    (place / "utf16.csv").write_bytes("p,y\n0.5,1\n".encode("utf-16-le"))  # without a mark
    (place / "zero.csv").write_bytes(b"p,y\n0.5,1\x00\n")
    (place / "semicolon.csv").write_text("p;y\n0,5;1\n0,5;0\n")
    (place / "twice.csv").write_text("p,p,y\n0.5,0.5,1\n")
    (place / "ragged.csv").write_text("p,y\n0.5,1\n0.5\n")
    (place / "words.csv").write_text("p,y\n0.5,1\nhigh,0\n")
    (place / "cut.csv.gz").write_bytes(gzip.compress((place / "good.csv").read_bytes())[:-9])
    (place / "fake.parquet").write_text("p,y\n0.5,1\n")
    (place / "fake.npz").write_text("p,y\n0.5,1\n")
    (place / "fake.jsonl").write_text("{,\n")
    for name, content in {"text": b"1", "nothing": b"", "pickled": pickle.dumps([1])}.items():
        np.savez(place / f"{name}.npz", p=P)
        with zipfile.ZipFile(place / f"{name}.npz", "a") as archive:
            archive.writestr("y.npy", content)
    (place / "table.xlsx").write_bytes(b"PK")
    (place / "page.html").mkdir()
    return place


@pytest.fixture(scope="module")
def server():
    source = os.path.dirname(os.path.dirname(caveat.__file__))
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        yield process
        process.stdin.close()


READ = "cannot be read"
PATHS = [
    # What is wrong with the command itself.
    ("evaluate", "Missing argument"),
    ("evalute {}/good.csv", "No such command 'evalute'"),
    ("evaluate {}/good.csv --metrik ece", "--metrik"),
    ("evaluate {}/good.csv --resamples many", "Invalid value for '--resamples'"),
    ("evaluate {}/good.csv --metric eec", "unknown metric 'eec'; did you mean"),
    ("evaluate {}/good.csv --resamples -1", "resamples must be"),
    ("evaluate {}/good.csv --confidence 2", "confidence must"),
    ("evaluate {}/good.csv --seed -1", "random_state must"),
    ("evaluate {}/good.csv -o {}/rows.xlsx", "the ending must be one of .csv"),
    ("evaluate {}/good.csv -o {}/none/rows.csv", "there is no folder"),
    ("metrics --task sorting", "--task must be one of"),
    # Which file.
    ("evaluate {}/none.csv", "does not exist"),
    ("evaluate {}", "cannot be read: Error creating dataset"),
    ("triage {} --risk 0.1 --split 0.5", "is a folder; give one file"),
    ("evaluate {}/table.xlsx", "has an ending that is not known"),
    ("evaluate {}/empty.csv", "is empty"),
    # What is in it.
    ("evaluate {}/header.csv", "there are columns, but no rows"),
    ("evaluate {}/latin.csv", "is neither UTF-8 text nor that of Windows"),
    ("evaluate {}/utf16.csv", "has too many zero bytes"),
    ("evaluate {}/zero.csv", "in every row; name the class"),
    ("evaluate {}/twice.csv", "has more than one column 'p'"),
    ("evaluate {}/ragged.csv", "Expected 2 columns, got 1"),
    ("evaluate {}/words.csv", "data row 2 holds the text 'high'"),
    ("evaluate {}/cut.csv.gz", READ),
    ("evaluate {}/fake.parquet", READ),
    ("evaluate {}/fake.npz", READ),
    ("evaluate {}/fake.jsonl", READ),
    ("evaluate {}/text.npz", "the member 'y' is not an array"),
    ("evaluate {}/nothing.npz", "the member 'y' is not an array"),
    ("evaluate {}/pickled.npz", "the member 'y' is not an array"),
    ("evaluate {}/percent.csv", "look like percentages: --percent"),
    ("evaluate {}/percent2.csv", "look like percentages: --percent"),
    ("evaluate {}/percent.csv --percent --json --positive q --logit p_*", "--percent goes with --probability"),
    *((f"evaluate {{}}/wrong.{ending}", "--normalize divides each row by its sum")
      for ending in ("csv", "csv.gz", "parquet", "npz", "arrow", "jsonl")),
    ("evaluate {}/na.csv", "column 'y' has no label in data row 8"),
    ("evaluate {}/heavy.csv --weight w", "sample_weight goes up to 1e+308"),
    # Which columns.
    ("evaluate {}/untrue.csv", "no column says what is true"),
    ("evaluate {}/untrue.csv --target-file {}/one.csv", "the target has 1 row, the prediction has"),
    ("evaluate {}/untrue.csv --target-file {}/none.csv", "does not exist"),
    ("evaluate {}/good.csv --target z", "--target z: there is no such column"),
    ("evaluate {}/good.csv --group sox", "did you mean 'sex'"),
    ("evaluate {}/good.csv --probability q_*", "--probability 'q_*' matches no column"),
    ("evaluate {}/good.csv --id sex", "does not tell all samples apart"),
    ("evaluate {}/good.csv --weight sex", "must be numbers"),
    ("evaluate {}/good.csv --decimal ,", "they must differ"),
    ("evaluate {}/numbers.csv --lower m --upper s", "needs its nominal coverage"),
    ("evaluate {}/numbers.csv --mean m", "a mean needs its uncertainty"),
    ("evaluate {}/numbers.csv --mean m --std s --quantile y", "name one kind of prediction"),
    # The other commands.
    ("compare {}/good.csv", "compare needs at least two techniques"),
    ("compare {}/good.csv {}/good.csv", "two files have the same name"),
    ("compare a={}/good.csv b={}/other.csv", "differ in the target of data row"),
    ("compare a={}/good.csv b={}/percent.csv", "look like percentages"),
    ("compare a={}/untrue.csv b={}/untrue.csv", "no column says what is true"),
    ("compare {}/good.csv --technique x --technique y", "expected NAME=..."),
    ("compare a={}/good.csv b={}/good.csv --scale odd --resamples 0", "scale must be"),
    ("report {}/good.csv -o {}/page.pdf", "the ending must be one of .html"),
    ("report {}/good.csv -o {}/page.html", "this is a folder"),
    ("report {}/percent.csv -o {}/new.html", "look like percentages"),
    ("report {}/good.csv -o {}/new.html --risk 0.1", "--calibration and --risk go together"),
    ("audit {}/good.csv", "an audit compares groups"),
    ("audit {}/untrue.csv --group sex", "--group sex: there is no such column"),
    ("audit {}/percent.csv --group y", "look like percentages"),
    ("audit {}/good.csv --group sex --privileged f", "expected ATTRIBUTE=VALUE"),
    ("audit {}/good.csv --group sex --privileged sex=x", "privileged"),
    ("audit {}/good.csv --group sex --threshold 3", "threshold must"),
    ("audit {}/good.csv --group sex --feature z", "--feature z: there is no such column"),
    ("audit {}/good.csv --group sex --neighbors 5", "--neighbors and --queries need features"),
    ("triage {}/good.csv --risk 0.1", "triage needs samples with known truth"),
    ("triage {}/good.csv --risk 7 --split 0.5", "risk must"),
    ("triage {}/good.csv --risk 0.1 --split 2", "--split must be a share between 0 and 1"),
    ("triage {}/percent.csv --risk 0.1 --split 0.5", "look like percentages"),
    ("triage {}/good.csv --risk 0.1 --calibration {}/untrue.csv", "no column says what is true"),
    ("disentangle {}/features.csv", "Missing option '--target'"),
    ("disentangle {}/features.csv --target z", "--target z: there is no such column"),
    ("disentangle {}/features.csv --target y --jobs 0", "--jobs must be a number of processes"),
    ("disentangle {}/features.csv --target y --method ensembel", "unknown --method 'ensembel'"),
    ("disentangle {}/features.csv --target y --sizes x", "--sizes must be shares"),
    ("disentangle {}/features.csv --target y --protocol odd", "protocol"),
    ("disentangle {}/features.csv --target y --depth 3", "--depth is no setting of --method"),
    ("disentangle {}/na.csv --target y", "column 'y' has no label in data row 8"),
    ("study fairness --dataset sd9", "sd9"),
    ("study fairness --dataset sd1 --repeats 0", "repeats must"),
    ("study disentanglement --dataset {}/features.csv --set target=z", "there is no such column"),
    ("study disentanglement --dataset none", "none"),
    ("demo --output {}/good.csv/x", "good.csv"),
]  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the server forks")
@pytest.mark.parametrize(("command", "message"), PATHS, ids=[command for command, _ in PATHS])
def test_an_error_is_exit_code_2_and_one_line(server, folder, command, message):
    arguments = command.replace("{}", str(folder)).split()
    server.stdin.write(json.dumps([arguments, RUNS]) + "\n")
    server.stdin.flush()
    outcomes = json.loads(server.stdout.readline())
    assert sum(count for *_, count in outcomes) == RUNS
    assert len(outcomes) == 1, outcomes
    ((code, out, err, _),) = outcomes
    assert code == 2, (out, err)
    said = json.loads(out)["error"] if "--json" in arguments else err.splitlines()[-1]
    assert "Traceback" not in err
    assert message in said
    assert err.count("caveat: ") == (0 if "--json" in arguments else 1), err
