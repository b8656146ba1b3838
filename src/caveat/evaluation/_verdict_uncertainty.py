"""Statements on the uncertainties themselves: do they warn of errors, and what are they made of?"""

import numpy as np

from ..results.judgments import FindingState
from ..results.rows import Row
from ..results.words import (
    Level,
    Statement,
    correlation_with_interval,
    counted,
    listed,
    share_with_interval,
    whole,
)
from ._verdict_evidence import HARDLY, LEAST_ERRORS, Evidence, Finding, weighted_mean

_WELL = 0.7
_HARDLY_CORRELATED = 0.1
_UNKNOWN = "Whether its uncertainty warns of errors cannot be determined"


def warning_findings(evidence: Evidence) -> list[Finding]:
    """Return findings on whether larger uncertainties go with errors."""
    if hasattr(evidence.evaluation.prediction, "classes"):
        return _class_warning(evidence)
    return _number_warnings(evidence)


def _class_warning(evidence: Evidence) -> list[Finding]:
    row = evidence.one("error_detection_auroc_score")
    wrong, samples = evidence.wrong, evidence.samples
    fewer = min(wrong, samples - wrong)
    asked = evidence.evaluation.matching(metric="error_detection_auroc_score", group="")
    if row is None:
        if not asked or samples < 2:
            return []
        kind = "right" if wrong == 0 else "wrong"
        text = (
            f"Every prediction was {kind}, so nothing shows whether its uncertainty would warn "
            "of errors."
        )
        return [Finding("warning", FindingState.UNSURE, Statement("unsure", text, tuple(asked)))]
    pairs = (
        "of a wrong and a right prediction, the wrong one is the more uncertain in "
        f"{share_with_interval(row, evidence.confidence, ' of such pairs')}; chance is 50 %"
    )
    level: Level
    if np.isnan(row.low):
        level, claim = "info", "How surely its uncertainty warns of errors was not measured"
    elif fewer < LEAST_ERRORS:
        kind = "wrong" if wrong == fewer else "right"
        level = "unsure"
        claim = f"{_UNKNOWN}, as only {fewer:,} of {samples:,} predictions were {kind}"
    elif not evidence.enough(row):
        level, claim = "unsure", f"{_UNKNOWN} from so few independent samples"
    else:
        level, claim = _area(row)
    reason = claim if level == "bad" else ""
    statement = Statement(level, f"{claim}: {pairs}.", (row,))
    return [Finding("warning", FindingState.NONE, statement, reason=reason)]


def _area(row: Row) -> tuple[Level, str]:
    if row.high < 0.5:
        return "bad", "Its uncertainty points the wrong way"
    if row.high < HARDLY:
        word = "hardly warns" if row.low > 0.5 else "does not warn"
        return "bad", f"Its uncertainty {word} of errors"
    if row.low > 0.5:
        return "good", f"Its uncertainty warns {'well ' if row.low >= _WELL else ''}of errors"
    return "unsure", _UNKNOWN


def _number_warnings(evidence: Evidence) -> list[Finding]:
    findings, same = _constant(evidence)
    rows = [r for r in evidence.overall("error_uncertainty_correlation") if r.target not in same]
    by_claim: dict[tuple[Level, str], list[Row]] = {}
    for row in rows:
        by_claim.setdefault(_correlation(evidence, row, len(rows)), []).append(row)
    for (level, claim), result in by_claim.items():
        several = len(evidence.targets) > 1
        parts = [
            (f"{row.target} " if several else "")
            + correlation_with_interval(row, evidence.confidence, short=i > 0)
            for i, row in enumerate(result)
        ]
        text = f"{claim}: rank correlation {listed(parts)}; 0 is none, 1 the same order."
        of = f" (for {listed(row.target for row in result)})" if several else ""
        reason = f"{claim}{of}" if level == "bad" else ""
        statement = Statement(level, text, tuple(result))
        findings.append(Finding("warning", FindingState.NONE, statement, reason=reason))
    return findings


def _correlation(evidence: Evidence, row: Row, looked_at: int) -> tuple[Level, str]:
    """Judge a rank correlation; a low one may be right if all samples are equally noisy."""
    if np.isnan(row.low):
        return "info", "How surely larger uncertainty goes with larger errors was not measured"
    bounds = evidence.bounds(row, looked_at)
    if evidence.enough(row):
        if bounds.low > 0:
            hardly = "hardly " if bounds.high < _HARDLY_CORRELATED else ""
            return (
                "info" if hardly else "good",
                f"Larger uncertainty {hardly}goes with larger errors",
            )
        if bounds.high < 0:
            return "bad", "Larger uncertainty goes with smaller errors, the wrong way"
        if bounds.high < _HARDLY_CORRELATED:
            return "info", "Larger uncertainty hardly goes with larger errors, if at all"
    return "unsure", "Whether larger uncertainty goes with larger errors cannot be determined"


def _constant(evidence: Evidence) -> tuple[list[Finding], list[str]]:
    """Return a finding on constant uncertainties, and their targets."""
    spread = evidence.evaluation.uncertainty
    names = evidence.targets
    # Equal widths may differ by rounding errors.
    same = [
        name
        for t, name in enumerate(names)
        if 0 < spread[0, t] < np.inf and np.ptp(spread[:, t]) <= 1e-9 * spread[0, t]
    ]
    if not same:
        return [], []
    which = f" for {listed(same)}" if len(names) > 1 else ""
    text = (
        f"It states the same uncertainty for every sample{which}: it does not tell which "
        "predictions are the less sure ones."
    )
    return [Finding("warning", FindingState.NONE, Statement("info", text))], same


def source_findings(evidence: Evidence) -> list[Finding]:
    """Return a finding on the model's split into aleatoric and epistemic uncertainty."""
    prediction, split = evidence.evaluation.prediction, evidence.evaluation.decomposition
    members = getattr(prediction, "members", None)
    part = evidence.evaluation.component
    if part != "total":
        text = (
            f"Only the {part} part of the uncertainty was judged: all that is said here is about "
            "that part."
        )
        return [Finding("sources", FindingState.NONE, Statement("info", text))]
    if members == 1:
        if not (evidence.evaluation.uncertainty > 0).any():
            return []  # a point: that it has no uncertainty is said elsewhere
        text = (
            "Each sample has one prediction, not those of several members: how much of its "
            "uncertainty is what the model itself does not know (the epistemic part) cannot be "
            "judged. The members of an ensemble, the same model trained several times, would show "
            "it: where they disagree, more data of that kind may help."
        )
        return [Finding("sources", FindingState.NONE, Statement("info", text))]
    if members is None or split is None:
        return []
    aleatoric, epistemic = (np.atleast_2d(p.T).T for p in (split.aleatoric, split.epistemic))
    if not np.isfinite(aleatoric + epistemic).all():
        return []
    weight, shares = evidence.evaluation.sample_weight, {}
    names = [str(target) for target in getattr(prediction, "targets", np.array([""])).tolist()]
    for t, name in enumerate(names):
        parts = weighted_mean(aleatoric[:, t], weight), weighted_mean(epistemic[:, t], weight)
        if sum(parts) > 0:
            shares[name] = parts[0] / sum(parts)
    if not shares:
        return []
    text = _split(shares, len(names) > 1, counted(members, "member"))
    return [Finding("sources", FindingState.NONE, Statement("info", text))]


def _split(shares: dict[str, float], several: bool, members: str) -> str:
    """Return what the split assigns to each part, and on which condition."""
    if not any(shares.values()):
        return (
            f"Its split assigns all of the uncertainty to disagreement between its {members} "
            "(epistemic): each one is certain, so noise in the data (aleatoric) cannot be seen."
        )
    if several:
        parts = listed([f"{whole(share)} for {name}" for name, share in shares.items()])
        rest = "the rest"
    else:
        (share,) = shares.values()
        parts, rest = whole(share), whole(1 - share)
    return (
        f"Its split assigns {parts} of the uncertainty to what its {members} are unsure of alike "
        f"(aleatoric), {rest} to disagreement between them (epistemic). The first is noise in the "
        "data only if the model is well trained and of the right kind: members that learned too "
        "little agree on what they do not know. That was not checked here; "
        "caveat.disentanglement_error can check it."
    )
