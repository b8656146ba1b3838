"""What the paper concludes, as questions to a run."""

from collections.abc import Callable, Sequence

import numpy as np

from .._validation import FloatArray
from ._fairness_paper import EXPERIMENTS, ODDS, POINT, THRESHOLD, UNCERTAIN, Attribute
from ._fairness_runs import Key, Values
from ._table import Conclusion

Outcomes = list[bool | None]

WORDS = {
    "statistical_parity": "statistical parity",
    "equal_opportunity": "equal opportunity",
    "equalized_odds_as_printed": "equalized odds as printed",
    "equalized_odds": "equalized odds",
    "equal_accuracy": "accuracy",
    "epistemic_uncertainty": "epistemic uncertainty",
    "aleatoric_uncertainty": "aleatoric uncertainty",
    "predictive_uncertainty": "predictive uncertainty",
}
_SATURATED, _USUAL = 0.01, 100


def side(ratio: float) -> int:
    r"""Return on which side of 1 a ratio is unfair, -1 or 1; 0 if :math:`|F - 1| \le 0.2`."""
    limit = THRESHOLD * (1 + 1e-12)  # 0.8 is 0.2 from 1
    return int(np.sign(ratio - 1)) if abs(ratio - 1) > limit else 0


def as_printed(ratios: FloatArray, printed: float) -> Outcomes:
    """Return whether each run says what the paper says: fair, or unfair on the same side of 1."""
    return [None if np.isnan(ratio) else side(ratio) == side(printed) for ratio in ratios]


def both(first: Outcomes, second: Outcomes) -> Outcomes:
    """Return where both are so; a single no decides."""
    return [
        False if one is False or two is False else None if None in (one, two) else True
        for one, two in zip(first, second, strict=True)
    ]


def opposite(outcomes: Outcomes) -> Outcomes:
    """Return where it is not so."""
    return [None if outcome is None else not outcome for outcome in outcomes]


def all_of(parts: Sequence[Outcomes]) -> Outcomes:
    """Return where everything is so."""
    found = parts[0]
    for part in parts[1:]:
        found = both(found, part)
    return found


def above(first: FloatArray, second: FloatArray) -> Outcomes:
    """Return where the first is above the second."""
    known = np.isfinite(first) & np.isfinite(second)
    return [
        bool(one > two) if defined else None
        for one, two, defined in zip(first, second, known, strict=True)
    ]


def conclusions(name: str, values: Values, confidence: float) -> list[Conclusion]:
    """Return what the paper concludes from one data set, and how many runs agree."""
    made: list[tuple[str, str, Outcomes]] = []
    experiment = EXPERIMENTS[name]
    for part in ("test", "expectation"):
        if any(key.part == part for key in values):
            for attribute in experiment.attributes:
                made += _of_ratios(attribute, values, part)
    if any(key.part == "scaled consistency" for key in values):
        made += (_figure_4 if name == "compas" else _figure_5)(values)
    if any(key.part == "capacity" for key in values):
        made += _figure_6(experiment.attributes[:2], values)  # age is not in the figure
    return [Conclusion.of(source, text, outcomes, confidence) for source, text, outcomes in made]


def _of_ratios(
    attribute: Attribute, values: Values, part: str
) -> list[tuple[str, str, Outcomes]]:  # fmt: skip
    """Return one conclusion for the point-based ratios and one for those of uncertainty."""
    printed = attribute.printed()
    pair = attribute.minority, attribute.majority
    made = []
    # The printed odds are no measure of fairness, and undefined in most runs on few samples.
    points = tuple(measure for measure in POINT if measure != ODDS)
    for kind, measures in (("point-based", points), ("uncertainty-based", UNCERTAIN)):
        flags, parts = [], []
        for measure in measures:
            number = float(printed[(*pair, measure)])
            parts.append(as_printed(values[Key(part, attribute.name, *pair, measure)], number))
            flags.append(bool(side(number)))
        where = "" if attribute.name == "group" else f"{attribute.name}: "
        source = attribute.source if part == "test" else f"{attribute.source}, in expectation"
        made.append((source, where + _sentence(kind, measures, flags), all_of(parts)))
    return made


def _sentence(kind: str, measures: Sequence[str], flags: Sequence[bool]) -> str:
    unfair = [WORDS[measure] for measure, flag in zip(measures, flags, strict=True) if flag]
    if not unfair:
        return f"fair by {_listed([WORDS[measure] for measure in measures])}"
    if all(flags):
        return f"unfair by {_listed(unfair)}"
    return f"of the {kind} measures unfair by {_listed(unfair)} alone"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _consistency(values: Values) -> Callable[..., FloatArray]:
    def find(attribute: str, group: str, outcome: str, measure: str) -> FloatArray:
        return values[Key("scaled consistency", attribute, group, "", measure, outcome)]

    return find


def _figure_4(values: Values) -> list[tuple[str, str, Outcomes]]:
    of = _consistency(values)
    black, white = "African-American", "Caucasian"
    aleatoric, epistemic = "aleatoric_uncertainty", "epistemic_uncertainty"
    cells = [(group, outcome) for group in (black, white) for outcome in ("0", "1")]
    lowest = [
        above(of("race", *cell, aleatoric), of("race", black, "1", aleatoric))
        for cell in cells
        if cell != (black, "1")
    ]
    gap = {
        measure: np.abs(of("race", black, "0", measure) - of("race", white, "0", measure))
        for measure in ("prediction", aleatoric, epistemic)
    }
    differ = [above(gap[measure], gap["prediction"]) for measure in (aleatoric, epistemic)]
    more_data = [
        above(of(name, group, "0", epistemic), of(name, group, "1", epistemic))
        for name, group in (("race", black), ("sex", "Male"))
    ]
    return [
        (
            "figure 4",
            "the aleatoric uncertainty of African-Americans predicted to be charged again is the "
            "least consistent among race and outcome",
            all_of(lowest),
        ),
        (
            "figure 4",
            "both races predicted not to be charged again differ more in the consistency of either "
            "uncertainty than in that of the prediction",
            all_of(differ),
        ),
        (
            "figure 4",
            "the epistemic uncertainty of African-Americans, and of men, is less consistent where "
            "a new charge is predicted",
            all_of(more_data),
        ),
    ]


def _figure_5(values: Values) -> list[tuple[str, str, Outcomes]]:
    of = _consistency(values)
    groups = [("race", "Black"), ("race", "White"), ("sex", "Female"), ("sex", "Male")]
    aleatoric, epistemic = "aleatoric_uncertainty", "epistemic_uncertainty"
    positives = [
        above(of(name, group, "1", measure), of(name, group, "0", measure))
        for measure in ("prediction", aleatoric)
        for name, group in groups
    ]
    minority = [
        above(of(name, major, "0", epistemic), of(name, minor, "0", epistemic))
        for name, minor, major in (("race", "Black", "White"), ("sex", "Female", "Male"))
    ]
    return [
        (
            "figure 5",
            "in every group predictions and aleatoric uncertainties are more consistent where a "
            "high income is predicted",
            all_of(positives),
        ),
        (
            "figure 5",
            "where a low income is predicted, the epistemic uncertainty of women and of Black "
            "people is less consistent",
            all_of(minority),
        ),
    ]


def _figure_6(
    attributes: Sequence[Attribute], values: Values
) -> list[tuple[str, str, Outcomes]]:  # fmt: skip
    widths = sorted({key.hidden for key in values if key.part == "capacity"})
    made = []
    for measure in ("aleatoric_uncertainty", "epistemic_uncertainty"):
        same = []
        for attribute in attributes:
            first, *others = (
                above(
                    values[Key("capacity", attribute.name, attribute.minority, "", measure, "", w)],
                    values[Key("capacity", attribute.name, attribute.majority, "", measure, "", w)],
                )
                for w in widths
            )
            same += [_equal(first, other) for other in others]
        if same:
            text = f"the order of groups by {WORDS[measure]} is the same at every width"
            made.append(("figure 6", text, all_of(same)))
    wider = [w for w in widths if w > _USUAL]
    if _USUAL in widths and wider:
        gains = [
            opposite(
                above(
                    values[Key("capacity", attribute.name, group, "", "accuracy", "", w)],
                    values[Key("capacity", attribute.name, group, "", "accuracy", "", _USUAL)]
                    + _SATURATED,
                )
            )
            for attribute in attributes
            for group in (attribute.minority, attribute.majority)
            for w in wider
        ]
        text = "no network of more than 100 units is more accurate by over 0.01 in any group"
        made.append(("figure 6", text, all_of(gains)))
    return made


def _equal(first: Outcomes, second: Outcomes) -> Outcomes:
    return [
        None if None in (one, two) else one == two for one, two in zip(first, second, strict=True)
    ]
