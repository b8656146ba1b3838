"""The library names arguments; the command line names its own options for the same mistakes."""

import re
import warnings

import pytest

from caveat.cli import _main, main
from caveat.cli._console import in_options, speaking_of
from caveat.exceptions import CaveatError
from caveat.files import read_predictions


@pytest.mark.parametrize(
    ("text", "arguments", "library", "options", "program"),
    [
        (
            "p_a,p_b,y\n60,40,a\n",
            {},
            "values up to 60 look like percentages: percent=True divides them by 100",
            [],
            "values up to 60 look like percentages: --percent divides them by 100",
        ),
        (
            "q0.1,q0.9,y\n2,1,1\n",
            {},
            "; sort=True sorts those of each sample",
            [],
            "; --sort-quantiles sorts those of each sample",
        ),
        (
            "p,prob_a,y\n0.5,0.5,1\n",
            {},
            "name one with probability='p'",
            [],
            "name one with --probability p",
        ),
        (
            "p;y\n1,234;1\n",
            {},
            "say it with decimal=',' or decimal='.'",
            [],
            "say it with --decimal , or --decimal .",
        ),
        (
            "a\tb|c\n1\t2|3\n",
            {},
            r"say which: delimiter='\t' or delimiter='|'",
            [],
            r"say which: --delimiter $'\t' or --delimiter '|'",
        ),
        (
            "p,y\n0.5,1\n,0\n",
            {},
            "missing='drop' leaves them out",
            [],
            "--missing drop leaves them out",
        ),
        (
            "p,y\n0.5,1\n",
            {"group": ["q_*"]},
            "group='q_*' matches no column",
            ["--group", "q_*"],
            "--group 'q_*' matches no column",
        ),
        (
            "lo,hi,y\n1,2,1\n",
            {"lower": "lo", "upper": "hi"},
            "add coverage=, for example coverage=0.9",
            ["--lower", "lo", "--upper", "hi"],
            "add --coverage, for example --coverage 0.9",
        ),
    ],
)
def test_one_mistake_at_both_doors(tmp_path, capsys, text, arguments, library, options, program):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(CaveatError, match=re.escape(library)) as refused:
        read_predictions(path, **arguments)
    assert "--" not in str(refused.value)
    assert main(["evaluate", str(path), *options]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert program in line
    assert library not in line


def test_notes_on_columns_are_translated_too(tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_text("p,y\n0.5,ill\n0.4,well\n")
    assert "(positive= changes it)" in read_predictions(path).recognized[0]
    main(["evaluate", str(path), "--resamples", "0"])
    assert "(--positive changes it)" in capsys.readouterr().err


def test_what_is_no_option_of_the_command_stays():
    message = "pass classes= or target='y', metrics=, n_jobs=2, a=b"
    assert in_options(message) == message  # no command runs
    with speaking_of(lambda: _main._command(["evaluate", "x.csv"])):
        assert in_options(message) == "pass classes= or --target y, --metric, n_jobs=2, a=b"
    with speaking_of(lambda: _main._command(["disentangle", "x.csv"])):
        assert in_options(message) == "pass classes= or --target y, metrics=, --jobs 2, a=b"


def test_warnings_are_lines_that_name_options():
    before = warnings.formatwarning
    with speaking_of(lambda: _main._command(["evaluate", "x.csv"])):
        line = warnings.formatwarning("no\n  target=; \x1b[2J", UserWarning, "x.py", 1)
    assert line == "caveat: warning: no --target; \\x1b[2J\n"
    assert warnings.formatwarning is before


def test_commands_of_a_group_of_commands():
    assert _main._command(["study", "fairness", "--dataset", "sd1"]).name == "study"
