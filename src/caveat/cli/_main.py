"""The program: its commands, and one line for an error instead of a traceback."""

import sys
from collections.abc import Sequence
from typing import Any

import typer

from ..exceptions import CaveatError
from ._arena import arena_command
from ._audit import audit_command
from ._compare import compare_command
from ._console import in_options, print_json, say, speaking_of
from ._demo import demo_command
from ._disentangle import disentangle_command
from ._drift import drift_command
from ._evaluate import evaluate_command
from ._metrics import metrics_command
from ._molecules import molecules_app
from ._options import option
from ._repair import repair_command
from ._report import report_command
from ._study import StudyHelp, study_command
from ._summarize import merge_command, summarize_command
from ._triage import triage_command

_HELP = """How far can each prediction of a model be trusted, and why not further?

Give it a file with predictions and what was true: CSV, Parquet, NPZ, Arrow or JSON lines.

\b
  caveat evaluate predictions.csv
  caveat evaluate predictions.csv --probability 'p_*' --target y --group sex
  caveat compare raw.csv fixed.csv
  caveat repair old.csv --apply new.csv -o fixed.csv
  caveat report predictions.csv -o report.html
  caveat audit predictions.csv --group race --group sex --report audit.html
  caveat triage new.csv --calibration old.csv --risk 0.05 --output actions.csv
  caveat disentangle table.csv --target y --method deep-ensemble
  caveat summarize 'predictions/*.parquet' -o week-46.caveat
  caveat compare week-45.caveat week-46.caveat
  caveat drift last.caveat this.caveat
  caveat molecules evaluate solubility.csv --target logS --split scaffold
  caveat demo
  caveat study fairness --dataset sd1
  caveat study disentanglement --dataset wine
  caveat arena --cache arena
"""

app = typer.Typer(
    name="caveat",
    help=_HELP,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _each in (
    evaluate_command, compare_command, triage_command, repair_command, report_command,
    audit_command, metrics_command, disentangle_command, summarize_command, merge_command,
    drift_command, demo_command, study_command, arena_command,
):  # fmt: skip
    _help = StudyHelp if _each is study_command else None
    app.command(_each.__name__.removesuffix("_command"), cls=_help)(_each)
app.command("summarise", hidden=True)(summarize_command)
app.add_typer(molecules_app, name="molecules")


def _print_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        sys.stdout.write(f"caveat {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: bool = option(
        "Show the version.", "--version", default=False, callback=_print_version, is_eager=True
    ),
) -> None:
    """Take options of the program itself."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, or 2 with one line of what is wrong.

    A condition of ``--fail-if`` that holds gives 3.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.

    Examples
    --------
    >>> from caveat.cli import main
    >>> main(["--version"])
    caveat 0.1.0.dev0
    0
    """
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    with speaking_of(lambda: _command(given)):
        return _run(given)


def _command(given: Sequence[str]) -> Any:
    """Return the command that the arguments name."""
    command: Any = typer.main.get_command(app)
    for word in given:
        command = getattr(command, "commands", {}).get(word, command)
    return command


def _run(given: list[str]) -> int:
    try:
        code = app(given, prog_name="caveat", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except BrokenPipeError:
        return 1
    except SystemExit as end:
        return int(end.code or 0)
    except Exception as error:
        return _failed(error, "--json" in given)
    if code == 130:
        say("stopped", error=True)
    return int(code or 0)


def _failed(error: Exception, as_json: bool) -> int:
    """Print in one line what is wrong with the input; raise errors of the program itself."""
    import pyarrow as pa

    usage = hasattr(error, "format_message")
    known = (CaveatError, OSError, UnicodeError, MemoryError, pa.ArrowException)
    if not usage and not isinstance(error, known):
        raise error
    text = " ".join(_words(error, usage).split())
    if as_json:
        print_json({"error": text})
    else:
        say(f"caveat: {text}", error=True, style="red")
    return 2


def _words(error: Any, usage: bool) -> str:
    if usage:
        message = str(error.format_message())
        return message or "no command; see caveat --help"
    if isinstance(error, MemoryError):
        return "not enough memory; name fewer columns or metrics, or take a part of the rows"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'cannot be used').lower()}"
    return in_options(str(error)) or type(error).__name__
