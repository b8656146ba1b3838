"""The program itself: exit codes, streams, one line instead of a traceback."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import caveat
from caveat.cli import _main, main
from caveat.cli._console import clean, plain, steps
from caveat.cli._options import metric_names

from ..files.tables import FORMATS, write

rng = np.random.default_rng(0)
N = 60
P = rng.dirichlet(np.ones(3), N)
Y = np.array([rng.choice(3, p=p) for p in P])


def classes() -> dict:
    return {
        **{f"p_{name}": P[:, i] for i, name in enumerate("abc")},
        "y": np.array(["a", "b", "c"])[Y],
        "sex": np.where(np.arange(N) % 2, "f", "m"),
    }


def run(*arguments, **options):
    """Run the program as a user does."""
    command = [sys.executable, "-c", "import sys; from caveat.cli import main; sys.exit(main())"]
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_process_evaluates_a_file(tmp_path, ending):
    path = write(tmp_path, ending, classes())
    done = run(
        "evaluate", path, "--metric", "accuracy", "--metric", "nll", "--resamples", "50", "--json"
    )
    assert done.returncode == 0
    found = json.loads(done.stdout)
    value = {row["metric"]: row["value"] for row in found["rows"] if row["group"] == ""}
    assert value["accuracy_score"] == np.mean(P.argmax(axis=1) == Y)
    assert value["negative_log_likelihood_loss"] == pytest.approx(
        -np.log(P[np.arange(N), Y]).mean()
    )
    assert "'p_a', 'p_b', 'p_c': probabilities of the classes 'a', 'b', 'c'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_warning_is_one_line_without_a_place_in_the_program(tmp_path):
    good, bad = write(tmp_path, "parquet", classes()), tmp_path / "bad\x1b.parquet"
    bad.write_bytes(b"PAR1")
    done = run("summarize", bad, good, "-o", tmp_path / "a.caveat", "--skip-broken")
    (line,) = [each for each in done.stderr.splitlines() if "warning:" in each]
    assert line.startswith("caveat: warning: file 1 is left out: ")
    assert r"bad\x1b.parquet cannot be read" in line
    assert done.returncode == 0
    assert ".py" not in done.stderr


def test_an_evaluation_imports_nothing_for_models(tmp_path):
    path = write(tmp_path, "csv", classes())
    code = (
        "import sys; from caveat.cli import main; main(); "
        "print([name for name in ('scipy.stats', 'sklearn', 'torch') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "evaluate", path, "--resamples", "50"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_process_that_fails(tmp_path):
    done = run("evaluate", tmp_path / "none.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"caveat: {tmp_path / 'none.csv'} does not exist\n"


def test_a_reader_that_stops_reading_is_no_error(tmp_path):
    script = "import sys; from caveat.cli import main; sys.exit(main(['metrics', '--json']))"
    read, wrote = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", script], stdout=wrote, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(wrote)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format(tmp_path, capsys, ending):
    path = write(tmp_path, ending, classes())
    assert main(["evaluate", str(path), "--metric", "ece", "--resamples", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["samples"] == N
    assert found["rows"][0]["metric"] == "expected_calibration_error"


def test_without_arguments_there_is_help_with_examples(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    for words in ("caveat evaluate predictions.csv", "caveat demo", "triage", "report", "metrics"):
        assert words in text


def test_help_of_a_command_groups_its_options(capsys):
    assert main(["evaluate", "-h"]) == 0
    text = capsys.readouterr().out
    for words in ("--probability", "p_{class}_{member}", "--metric", "--json", "--delimiter"):
        assert words in text


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"caveat {caveat.__version__}\n"


def test_arguments_of_the_process(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["caveat", "--version"])
    assert main() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluat"], "No such command 'evaluat'"),
        (["evaluate"], "Missing argument"),
        (["evaluate", "x.csv", "--resamples", "many"], "Invalid value for '--resamples'"),
        (["evaluate", "x.csv", "--nonsense"], "No such option"),
        (["evaluate", "x.csv"], "x.csv does not exist"),
        (
            ["evaluate", "x.csv", "--output", "y.txt"],
            "--output y.txt: the ending must be one of .csv, .json, .parquet",
        ),
        (["evaluate", "x.csv", "--output", "no/y.csv"], "--output no/y.csv: there is no folder no"),
        (["evaluate", "x.csv", "--metric", "eec"], "unknown metric 'eec'; did you mean 'ece'?"),
        (
            ["metrics", "--task", "x"],
            "--task must be one of classification, regression, ranking, detection; got 'x'",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("caveat: ")
    assert err.count("\n") == 1
    assert message in err
    assert main([*arguments, "--json"]) == 2
    out, err = capsys.readouterr()
    assert message in json.loads(out)["error"] or "No such option" in json.loads(out)["error"]
    assert err == ""


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "stopped\n"),
        (
            MemoryError(),
            2,
            "caveat: not enough memory; name fewer columns or metrics, or take a part of the rows\n",
        ),
        (
            PermissionError(13, "Permission denied", "a.csv"),
            2,
            "caveat: a.csv: permission denied\n",
        ),
        (OSError(5, None, "a.csv"), 2, "caveat: a.csv: cannot be used\n"),
        (UnicodeError(), 2, "caveat: UnicodeError\n"),
        (BrokenPipeError(), 1, ""),
        (SystemExit(3), 3, ""),
    ],
)
def test_what_can_go_wrong(capsys, monkeypatch, error, code, message):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(_main, "app", fail)
    assert main(["evaluate"]) == code
    assert capsys.readouterr() == ("", message)


def test_an_interrupt_inside_a_command(capsys, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("caveat.files.read_predictions", stop)
    assert main(["evaluate", "x.csv"]) == 130
    assert capsys.readouterr().err == "stopped\n"


def test_our_own_mistakes_are_not_hidden(monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(_main, "app", fail)
    with pytest.raises(ZeroDivisionError):
        main(["evaluate"])


def test_an_empty_message_of_the_parser(capsys, monkeypatch):
    class SilentError(Exception):
        def format_message(self):
            return ""

    def fail(*arguments, **options):
        raise SilentError

    monkeypatch.setattr(_main, "app", fail)
    assert main(["x"]) == 2
    assert capsys.readouterr().err == "caveat: no command; see caveat --help\n"


def test_text_from_data_neither_moves_the_cursor_nor_is_markup(tmp_path, capsys):
    hostile = "[red]\x1b\u202e\x07"
    columns = {"p": [0.2, 0.8, 0.4, 0.6], "y": [0, 1, 0, 1], "g": [hostile, "b", hostile, "b"]}
    path = write(tmp_path, "parquet", columns)
    assert main(["evaluate", str(path), "--group", "g", "--resamples", "0"]) == 0
    out, err = capsys.readouterr()
    for mark in "\x1b\u202e\x07":
        assert mark not in out + err
    assert r"[red]\x1b\u202e\x07" in out


def test_clean_and_plain():
    assert clean("a\nb\u2028é\ud800") == r"a\nb\u2028é\ud800"
    found = plain({1: np.float64("nan"), "a": (np.inf, np.arange(2)), "b": "x"})
    assert found == {"1": None, "a": ["inf", [0, 1]], "b": "x"}


def test_shell_completion_knows_the_metrics():
    environment = {**os.environ, "_CAVEAT_COMPLETE": "complete_bash"}
    environment |= {"COMP_WORDS": "caveat evaluate x.csv --metric brier_", "COMP_CWORD": "4"}
    done = run(env=environment)
    wanted = "brier_calibration brier_calibration_error brier_loss brier_refinement brier_refinement_loss"
    assert done.stdout.split() == wanted.split()
    assert metric_names("brier_") == wanted.split()


def test_progress_is_shown_on_a_terminal_only(capsys, monkeypatch):
    with steps("doing", 2) as step:
        step("one", 0)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with steps("doing", 2) as step:
        step("one", 0)
    out, err = capsys.readouterr()
    assert out == ""
    assert "doing: one" in err


def test_python_dash_m():
    from caveat import __main__

    assert __main__.main is main
