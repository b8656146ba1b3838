"""``caveat report``: one page to read and to forward."""

from pathlib import Path

from ..exceptions import OptionError
from ._console import print_json, say, working
from ._evaluate import evaluate_files, with_target
from ._options import TITLE, Columns, Settings, option, shared
from ._output import check_page
from ._summarize import FilesArgument, Summarized, source_name
from ._tables import show_verdict
from ._triage import CALIBRATION, TOLERANCE, fit_policy


@shared
def report_command(
    files: FilesArgument,
    columns: Columns,
    settings: Settings,
    output: Path = option("The page.", "--output", "-o", default=Path("report.html")),
    title: str | None = TITLE,
    calibration: Path | None = CALIBRATION,
    risk: float | None = option("With --calibration: the maximum error rate."),
    tolerance: float | None = TOLERANCE,
) -> None:
    """Write one self-contained page about the predictions in a file.

    Example: caveat report predictions.csv -o report.html
    """
    from ..report import write_report

    check_page(output, "--output")
    if (calibration is None) != (risk is None):
        raise OptionError("--calibration and --risk go together: samples to learn a threshold from")
    policy = None
    if calibration is not None and risk is not None:
        old = with_target(columns.read(calibration), calibration)
        policy = fit_policy(
            old, risk, settings.random_state, tolerance=tolerance, confidence=settings.confidence
        )
    table, evaluation = evaluate_files(files, columns, settings)
    if policy is not None and isinstance(table, Summarized):
        raise OptionError("--calibration needs single samples; a summary has none")
    with working("writing the page"):
        path = write_report(
            evaluation, output, title=title, policy=policy, source=source_name(files)
        )
    if settings.json:
        print_json({"report": path})
        return
    show_verdict(evaluation)
    say(f"report: {path}")
