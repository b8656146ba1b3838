"""A result in, one self-contained HTML file out."""

import os
from collections.abc import Callable
from pathlib import Path

from .._writing import replacing
from ..confusion import MeasureComparison, UncertaintyExplanation
from ..evaluation import Comparison, Evaluation
from ..exceptions import OptionError
from ..experiments import Disentanglement
from ..fairness import FairnessAudit
from ..maps import MapLayers, PredictionMap
from ..molecules import Structures
from ..monitoring import Drift, DriftHistory
from ..signals import StreamRecord
from ..triage import TriagePolicy
from ._comparison import comparison_page
from ._confusion import explanation_page, measures_page
from ._disentanglement import disentanglement_page
from ._drift import drift_page, history_page
from ._evaluation import evaluation_page
from ._fairness import audit_page, with_audit
from ._maps import map_page
from ._molecules import with_molecules
from ._stream import with_record
from .content import Page
from .page import render

_ENDINGS = ("", ".html", ".htm")


def write_report(
    result: Evaluation
    | Comparison
    | FairnessAudit
    | Disentanglement
    | Drift
    | DriftHistory
    | MeasureComparison
    | UncertaintyExplanation
    | PredictionMap
    | MapLayers,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    policy: TriagePolicy | None = None,
    audit: FairnessAudit | None = None,
    molecules: Structures | None = None,
    record: StreamRecord | None = None,
    source: str = "",
) -> Path:
    """Write a report that a person wants to read: one HTML file that needs nothing else.

    A verdict in plain words comes first, then the numbers with their intervals, the charts, the
    classes and groups, the samples to look at, and what every measure means. The page loads nothing
    and sends nothing, and text from the data is shown as it is, never taken for markup.

    Parameters
    ----------
    result : Evaluation, Comparison, FairnessAudit, Disentanglement, Drift, DriftHistory, \
MeasureComparison, UncertaintyExplanation, PredictionMap or MapLayers
        What `caveat.evaluate`, `caveat.compare`, `caveat.audit`, `caveat.disentanglement_error`,
        `caveat.drift`, `caveat.monitoring.drift_history`, `caveat.compare_measures` or
        `caveat.explain_uncertainty` returned; or a `caveat.maps.PredictionMap`.
    path : str or path
        Where to write, ending in ``.html``, ``.htm`` or nothing. An older file is replaced, in one
        step.
    title : str, optional
        The headline of the page.
    policy : TriagePolicy, optional
        A fitted one, for an `Evaluation`: what it decides of each sample and what it guarantees
        then stand in the place of the slider.
    audit : FairnessAudit, optional
        An audit of the same prediction, for an `Evaluation`: the page gets a section on fairness.
    molecules : caveat.molecules.Structures, optional
        The molecules behind the samples of an `Evaluation`: the page gets a section of drawings.
    record : caveat.signals.StreamRecord, optional
        The signal behind the samples of an `Evaluation`, such as that of one subject: the page gets
        its predictions, intervals and actions over time.
    source : str, default=""
        What stands below the title beside the date: the file, the model, ...

    Returns
    -------
    Path
        Where the page is.

    Examples
    --------
    >>> import tempfile, caveat
    >>> from caveat.report import write_report
    >>> prediction = caveat.Categorical([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> evaluation = caveat.evaluate(prediction, [0, 1, 1], random_state=0)
    >>> path = write_report(evaluation, tempfile.mkdtemp() + "/report.html", title="Three samples")
    >>> path.name, "Three samples" in path.read_text(encoding="utf-8")
    ('report.html', True)
    """
    if title is not None and not isinstance(title, str):
        raise OptionError(f"title must be text; got {title!r}")
    if not isinstance(source, str):
        raise OptionError(f"source must be text; got {source!r}")
    if policy is not None and not isinstance(policy, TriagePolicy):
        raise OptionError(f"policy must be a fitted TriagePolicy; got a {type(policy).__name__}")
    if audit is not None:
        _check_audit(result, audit)
    if molecules is not None and not isinstance(molecules, Structures):
        raise OptionError(
            f"molecules must be caveat.molecules.Structures; got a {type(molecules).__name__}"
        )
    if molecules is not None and not isinstance(result, Evaluation):
        raise OptionError("molecules are drawn on the page of an evaluation: pass them with that")
    if record is not None and not isinstance(record, StreamRecord):
        raise OptionError(
            f"record must be a caveat.signals.StreamRecord; got a {type(record).__name__}"
        )
    if record is not None and not isinstance(result, Evaluation):
        raise OptionError("record is shown on the page of an evaluation: pass it with that")
    place = checked_place(path)
    if isinstance(result, Evaluation):
        page = evaluation_page(result, title, policy, source)
        page = page if audit is None else with_audit(page, result, audit)
        page = page if molecules is None else with_molecules(page, result, molecules)
        page = page if record is None else with_record(page, result, record)
    else:
        page = _page(result, title, policy, source)
    return replace_file(place, render(page))


_PAGES: dict[type, Callable[..., Page]] = {
    FairnessAudit: audit_page,
    Comparison: comparison_page,
    Disentanglement: disentanglement_page,
    Drift: drift_page,
    DriftHistory: history_page,
    MeasureComparison: measures_page,
    UncertaintyExplanation: explanation_page,
    PredictionMap: map_page,
    MapLayers: map_page,
}
_NO_POLICY = {
    FairnessAudit: "policy belongs to an evaluation: pass it with that, and audit= too",
    Comparison: "policy belongs to one technique: pass it with that technique's evaluation, "
    "comparison.evaluations[name]",
}
"""Why a page has no policy; others have no predictions to decide on."""


def _page(result: object, title: str | None, policy: TriagePolicy | None, source: str) -> Page:
    for kind, make in _PAGES.items():
        if isinstance(result, kind):
            if policy is not None:
                why = "policy decides on predictions: pass it with an evaluation"
                raise OptionError(_NO_POLICY.get(kind, why))
            return make(result, title, source)
    raise OptionError(
        "a report is made of what caveat.evaluate, caveat.compare, caveat.audit, "
        "caveat.disentanglement_error, caveat.drift, caveat.monitoring.drift_history, "
        "caveat.compare_measures or caveat.explain_uncertainty returned, or of a "
        f"PredictionMap; got a {type(result).__name__}"
    )


def _check_audit(result: object, audit: object) -> None:
    if not isinstance(audit, FairnessAudit):
        raise OptionError(f"audit must be what caveat.audit returned; got a {type(audit).__name__}")
    if not isinstance(result, Evaluation):
        raise OptionError("audit is a section on the page of an evaluation: pass it with that")


def checked_place(path: str | os.PathLike[str]) -> Path:
    """Return where a page goes; refuse what cannot be written, before any work is done."""
    place = Path(path).expanduser()
    if place.suffix.lower() not in _ENDINGS:
        raise OptionError(
            f"a report is an HTML page, and {place.name} ends in {place.suffix}; name it "
            f"{place.stem}.html, and print it from a browser for another format"
        )
    if place.is_dir():
        raise OptionError(f"path is a folder: {place}; name a file in it, such as report.html")
    if not place.parent.is_dir():
        raise OptionError(f"the folder {place.parent} does not exist; make it first")
    return place


def replace_file(place: Path, text: str) -> Path:
    """Write beside the place and move there, so that a reader never sees half a page."""
    # Text from data may hold halves of characters, which no file can.
    content = text.encode("utf-8", "replace")
    try:
        with replacing(place) as beside:
            beside.write_bytes(content)
    except OSError as error:
        raise OptionError(f"cannot write {place}: {error.strerror}") from error
    return place
