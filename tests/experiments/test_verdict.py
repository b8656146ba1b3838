"""What is said of curves whose correlations are known exactly, by construction."""

import json
import re
from itertools import permutations

import numpy as np
import pytest

from caveat.evaluation.verdict import Verdict
from caveat.exceptions import OptionError
from caveat.experiments import Check, Curve, Disentanglement, Protocol
from caveat.experiments._checks import checks_of
from caveat.experiments.evidence import TOLERANCE
from caveat.experiments.verdict import sentence
from caveat.experiments.verdict import verdict as verdict_of

LOST = {"size": np.array([0.6, 0.4, 0.3, 0.2, 0.1]), "noise": np.array([0.1, 0.3, 0.4, 0.7])}
LEVELS = {"size": [0.05, 0.1, 0.25, 0.5, 1.0], "noise": [0.0, 0.3, 0.6, 1.0]}
NAMES = (
    "aleatoric_consistency",
    "epistemic_consistency",
    "aleatoric_orthogonality",
    "epistemic_orthogonality",
)
GOOD = {"C1": 1, "C2": 1, "O1": 0, "O2": 0}


def with_correlation(lost, rho):
    """Return values whose correlation with what was lost is ``rho``, no more and no less."""
    along = lost - lost.mean()
    along /= np.linalg.norm(along)
    across = np.cos(2.0 * np.arange(len(lost)))
    across -= across.mean() + along * (across @ along)
    across /= np.linalg.norm(across)
    return 3 + rho * along + np.sqrt(1 - rho**2) * across


def made(*, repeats=12, constant=(), **given):
    """Return a result with these correlations, which repeats take in turn."""
    rho = {name: np.resize(value, repeats) for name, value in (GOOD | given).items()}
    curves = []
    for kind, aleatoric, epistemic in (("size", "O1", "C2"), ("noise", "C1", "O2")):
        lost = LOST[kind]
        score = np.tile(1 - lost, (repeats, 1))
        parts = {
            part: np.array([with_correlation(lost, r) for r in rho[name]])
            for part, name in (("aleatoric", aleatoric), ("epistemic", epistemic))
        }
        for part in constant:
            parts[part] = np.full_like(parts[part], 0.3)
        curves.append(Curve(kind, "information", LEVELS[kind], score, **parts))
    return curves


def verdict(*, result=None, **given):
    return Disentanglement(curves=tuple(made(**given)), **(result or {})).verdict()


def states(found):
    return [found.states[name] for name in NAMES]


def test_the_construction():
    for rho in (-1, -0.6, 0, 0.25, 1):
        values = with_correlation(LOST["size"], rho)
        assert np.corrcoef(values, LOST["size"])[0, 1] == pytest.approx(rho, abs=1e-12)


@pytest.mark.parametrize(
    ("given", "pattern", "expected", "level", "summary"),
    [
        (
            {},
            "separated",
            ["holds"] * 4,
            "good",
            "The split can be relied on here: each part follows its own cause, and neither follows "
            "that of the other.",
        ),
        (
            {"O1": 0.9, "O2": 1},
            "total uncertainty twice",
            ["holds", "holds", "fails", "fails"],
            "bad",
            "The split is not real: both parts rise with missing data and with noise in the labels "
            "alike, as the total uncertainty under two names would. Each part does follow its own "
            "cause, so a test of that alone would have passed it.",
        ),
        (
            {"O1": -0.8},
            "leak",
            ["holds", "holds", "fails", "holds"],
            "bad",
            "The split is not clean: the aleatoric part also grows with more data. Each part does "
            "follow its own cause, so a test of that alone would have passed it.",
        ),
        (
            {"O1": 0.8, "O2": -0.8},
            "leak",
            ["holds", "holds", "fails", "fails"],
            "bad",
            "The split is not clean: the aleatoric part also rises with missing data and the "
            "epistemic part also falls with noise in the labels. Each part does follow its own "
            "cause, so a test of that alone would have passed it.",
        ),
        (
            {"O2": 0.5},
            "leak",
            ["holds", "holds", "holds", "fails"],
            "bad",
            "The split is not clean: the epistemic part also rises with noise in the labels. Each "
            "part does follow its own cause, so a test of that alone would have passed it.",
        ),
        (
            {"C1": 0, "C2": 0.1, "O1": 1, "O2": 0.9},
            "swapped",
            ["fails"] * 4,
            "bad",
            "The two parts are swapped: the aleatoric part follows missing data, and the epistemic "
            "part follows noise in the labels.",
        ),
        (
            {"C1": -1, "C2": -0.5},
            "inconsistent",
            ["fails", "fails", "holds", "holds"],
            "bad",
            "The split is not what it says: the aleatoric part does not follow noise in the labels "
            "and the epistemic part does not follow missing data.",
        ),
        (
            {"C1": [1, 1, 0.3, 0.4]},
            "unclear",
            ["unclear", "holds", "holds", "holds"],
            "unsure",
            "Whether the split is real cannot be told: C1 may hold or fail, C2, O1 and O2 hold.",
        ),
        (
            {"C1": [1, 0.2] * 2, "C2": [1, 0.2] * 2, "O1": [0, 0.7] * 2, "O2": [0, 0.7] * 2},
            "unclear",
            ["unclear"] * 4,
            "unsure",
            "Whether the split is real cannot be told: C1, C2, O1 and O2 may hold or fail.",
        ),
        (
            {"C1": [1, 0.2] * 2, "O1": [0, 0.7] * 2, "O2": [0, 0.7] * 2},
            "unclear",
            ["unclear", "holds", "unclear", "unclear"],
            "unsure",
            "Whether the split is real cannot be told: C1, O1 and O2 may hold or fail, C2 holds.",
        ),
        (
            {"C1": [1, 1, 0.3, 0.4], "O1": 0.9},
            "leak",
            ["unclear", "holds", "fails", "holds"],
            "bad",
            "The split is not clean: the aleatoric part also rises with missing data.",
        ),
        (
            {"constant": ["epistemic"]},
            "constant",
            ["holds", "fails", "holds", "holds"],
            "bad",
            "The split is empty: the epistemic part is the same whatever is done to the data, so "
            "it tells nothing about it.",
        ),
        (
            {"constant": ["aleatoric", "epistemic"]},
            "constant",
            ["fails", "fails", "holds", "holds"],
            "bad",
            "The split says nothing: both parts are the same whatever is done to the data.",
        ),
        (
            {"repeats": 1, "O1": 1, "O2": 1},
            "not judged",
            ["not judged"] * 4,
            "unsure",
            "Nothing is claimed from 1 repeat: how much the numbers below vary is not known. Run "
            "at least 3; 5 are usual, 10 better on few samples.",
        ),
        (
            {"repeats": 2},
            "not judged",
            ["not judged"] * 4,
            "unsure",
            "Nothing is claimed from 2 repeats: how much the numbers below vary is not known. Run "
            "at least 3; 5 are usual, 10 better on few samples.",
        ),
    ],
)
def test_patterns(given, pattern, expected, level, summary):
    found = verdict(**given)
    assert found.pattern == pattern
    assert states(found) == expected
    assert (found.statements[0].level, found.statements[0].text) == (level, summary)


@pytest.mark.parametrize(("rho", "state"), [(0.29, "holds"), (0.31, "fails"), (-0.31, "fails")])
def test_where_orthogonality_ends(rho, state):
    assert TOLERANCE == 0.3
    assert verdict(O1=rho).states["aleatoric_orthogonality"] == state
    assert verdict(C2=1 - abs(rho)).states["epistemic_consistency"] == state


def test_a_claim_is_never_surer_than_the_interval():
    """Whatever the correlations, what holds or fails does so over the whole interval."""
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(60):
        center = rng.uniform(-1, 1, 4)
        given = {
            name: np.clip(c + rng.normal(0, 0.3, 5), -1, 1)
            for name, c in zip(GOOD, center, strict=True)
        }
        result = Disentanglement(curves=tuple(made(repeats=5, **given)))
        found, error = result.verdict(), result.error()
        for name, state in found.states.items():
            term = error.terms[name]
            seen.add(state)
            if state == "holds":
                assert term.high <= 0.3
                assert "orthogonality" in name or term.correlation > 0.7
            elif state == "fails":
                assert term.low > 0.3
                assert "consistency" in name or abs(term.correlation) > 0.4
            else:
                assert state == "unclear"
        if found.pattern == "separated":
            assert set(states(found)) == {"holds"}
        assert (found.statements[0].level == "good") == (found.pattern == "separated")
    assert seen == {"holds", "fails", "unclear"}


def test_correlations_that_cancel_are_chance_and_no_leak():
    found = verdict(O1=[1, -1, 1, -1])
    assert found.states["aleatoric_orthogonality"] == "unclear"
    (text,) = (s.text for s in found.statements if s.text.startswith("O1"))
    assert text == (
        "O1: whether the aleatoric part is moved by the amount of training data cannot be told; "
        "correlation 0.00 where 0 is ideal, an error of 1.00 (95 % interval 1.00 to 1.00); the "
        "repeats point in different directions, as chance alone would."
    )


@pytest.mark.parametrize(("repeats", "state"), [(4, "unclear"), (5, "fails"), (10, "fails")])
def test_few_levels_and_repeats_correlate_by_chance(repeats, state):
    """Of 4 levels in a random order, correlations have variance 1 / 3; 0.53 is no surprise."""
    found = verdict(repeats=repeats, O2=0.53)
    assert 1.959964 / np.sqrt(3 * 4) > 0.53 > 1.959964 / np.sqrt(3 * 5)
    assert found.states["epistemic_orthogonality"] == state
    (text,) = (s.text for s in found.statements if s.text.startswith("O2"))
    chance = "; with so few levels and repeats chance alone could do this."
    assert text.endswith(chance) == (state == "unclear")


def test_two_levels_show_nothing_with_three_repeats():
    """Two levels always correlate fully, one way or the other."""
    score, falls = [[0.9, 0.5]] * 3, [[0.1, 0.4]] * 3
    curves = [Curve(kind, "information", [0.5, 1], score, falls, falls) for kind in LEVELS]
    found = Disentanglement(curves=tuple(curves)).verdict()
    assert states(found) == ["unclear"] * 4
    assert found.pattern == "unclear"


def test_the_variance_of_a_correlation_in_random_order():
    """The closed form behind the rule, over all orders of five levels."""
    lost, values = LOST["size"], np.array([0.3, 0.1, 0.45, 0.2, 0.9])
    found = [np.corrcoef(values[list(order)], lost)[0, 1] for order in permutations(range(5))]
    assert np.mean(found) == pytest.approx(0, abs=1e-12)
    assert np.var(found) == pytest.approx(1 / 4)


def test_the_conditions_in_words():
    held = [s.text for s in verdict().statements]
    assert held[1:5] == [
        "C1: the aleatoric part follows noise in the labels; correlation 1.00 where 1 is ideal, an "
        "error of 0.00 (95 % interval 0.00 to 0.00).",
        "C2: the epistemic part follows missing data; correlation 1.00 where 1 is ideal, an error "
        "of 0.00 (95 % interval 0.00 to 0.00).",
        "O1: the aleatoric part is not moved by the amount of training data; correlation 0.00 where "
        "0 is ideal, an error of 0.00 (95 % interval 0.00 to 0.00).",
        "O2: the epistemic part is not moved by noise in the labels; correlation 0.00 where 0 is "
        "ideal, an error of 0.00 (95 % interval 0.00 to 0.00).",
    ]
    assert held[5] == (
        "The uncertainty disentanglement error (UDE), the mean of the four, is 0.00 (95 % interval "
        "0.00 to 0.00); 0 is ideal, and the total uncertainty under two names gets up to 0.5."
    )
    failed = [s.text for s in verdict(C1=0.6, C2=-1, O1=0.5, O2=0.5).statements]
    assert failed[1].startswith("C1: the aleatoric part follows noise in the labels only loosely; ")
    assert failed[2].startswith("C2: the epistemic part does not follow missing data; ")
    assert failed[3].startswith("O1: the aleatoric part rises with less training data, and should ")
    assert failed[4].startswith("O2: the epistemic part rises with noise in the labels, and should")
    failed = [s.text for s in verdict(O1=-0.5, O2=-0.5).statements]
    assert failed[3].startswith("O1: the aleatoric part grows with more training data, and should")
    assert failed[4].startswith("O2: the epistemic part falls with noise in the labels, and should")
    single = [s.text for s in verdict(repeats=1, O2=0.64).statements]
    assert single[1] == (
        "C1: the aleatoric part beside noise in the labels; correlation 1.00 where 1 is ideal, an "
        "error of 0.00."
    )
    assert single[4] == (
        "O2: the epistemic part beside noise in the labels, which should not move it; correlation "
        "0.64 where 0 is ideal, an error of 0.64."
    )
    assert "UDE), the mean of the four, is 0.16; 0 is ideal" in single[5]


def test_a_part_that_never_moves_is_not_praised_for_it():
    for part, symbol, kept in (
        ("aleatoric", "O1", "the amount of training data"),
        ("epistemic", "O2", "noise in the labels"),
    ):
        found = verdict(constant=[part])
        (said,) = (s for s in found.statements if s.text.startswith(f"{symbol}: the {part}"))
        assert said.level == "info"
        assert said.text.startswith(
            f"{symbol}: the {part} part is not moved by {kept}, nor by anything else; correlation 0"
        )
        (said,) = (
            s for s in found.statements if s.text.startswith(f"C{symbol[1]}: the {part} part")
        )
        assert said.level == "bad"
    # What stays in one sweep alone is what is wished for.
    size, noise = made()
    level = np.full_like(size.aleatoric, 0.3)
    still = Curve("size", "information", size.levels, size.score, level, size.epistemic)
    found = Disentanglement(curves=(still, noise)).verdict()
    (said,) = (s for s in found.statements if s.text.startswith("O1: the aleatoric"))
    assert said.level == "good"
    assert "nor by anything else" not in said.text


def test_one_part_alone_may_be_right():
    found = [s.text for s in verdict(O1=0.9).statements]
    assert (
        "The epistemic part can be relied on by itself: it follows missing data, and not noise in "
        "the labels."
    ) in found
    found = [s.text for s in verdict(C2=-1).statements]
    assert (
        "The aleatoric part can be relied on by itself: it follows noise in the labels, and not "
        "missing data."
    ) in found
    assert not any("by itself" in s.text for s in verdict().statements)
    assert not any("by itself" in s.text for s in verdict(O1=1, O2=1).statements)


def test_regression_speaks_of_targets():
    found = verdict(O1=1, O2=1, result={"task": "regression"})
    assert "noise in the targets alike" in found.statements[0].text
    assert "labels" not in str(found)


def test_a_failed_check_takes_the_praise_back():
    checks = (
        Check("small training sets are fitted", False, "the model underfits; train longer"),
        Check("another", True, "not of interest"),
    )
    found = verdict(result={"checks": checks, "notes": ("a note",)})
    assert found.pattern == "separated"
    assert found.statements[0].level == "unsure"
    assert found.statements[0].text.endswith("But the experiment failed 1 check; see below.")
    assert [(s.level, s.text) for s in found.statements[-2:]] == [
        ("unsure", "The model underfits; train longer."),
        ("info", "A note."),
    ]
    assert verdict(O1=1, result={"checks": checks}).statements[0].level == "bad"


def test_a_score_that_does_not_move_tests_nothing():
    size, noise = made()
    flat = Curve("size", "information", size.levels, np.full_like(size.score, 0.9), size.aleatoric,
                 size.epistemic)  # fmt: skip
    found = Disentanglement(curves=(flat, noise)).verdict()
    assert states(found) == ["holds", "unclear", "unclear", "holds"]
    (text,) = (s.text for s in found.statements if s.text.startswith("O1: whether"))
    assert text.endswith("; the accuracy hardly changes, so nothing was put to the test.")


@pytest.mark.parametrize("kind", ["size", "noise"])
def test_the_checks_of_the_experiment_are_known_by_name(kind):
    """The score moves a little, and by too little: the checks as the experiment makes them."""
    curves = made()
    place = ("size", "noise").index(kind)
    old = curves[place]
    little = 0.9 + 0.01 * (old.score - old.score.mean())
    curves[place] = Curve(kind, "information", old.levels, little, old.aleatoric, old.epistemic)
    checks = checks_of(
        curves, Protocol(), 2, 100, network=True, own_score=False, task="classification"
    )
    assert [check.passed for check in checks] == [kind != "size", kind != "noise"]
    found = Disentanglement(curves=tuple(curves), checks=checks).verdict()
    expected = {
        "size": ["holds", "unclear", "unclear", "holds"],
        "noise": ["unclear", "holds", "holds", "unclear"],
    }
    assert states(found) == expected[kind]


def test_an_infinite_part_is_neither_right_nor_wrong():
    size, noise = made()
    epistemic = noise.epistemic.copy()
    epistemic[:] = np.inf
    infinite = Curve("noise", "information", noise.levels, noise.score, noise.aleatoric, epistemic)
    every = Curve("size", "information", size.levels, size.score, size.aleatoric,
                  np.full_like(size.epistemic, np.inf))  # fmt: skip
    found = Disentanglement(curves=(every, infinite)).verdict()
    assert found.pattern == "unclear"
    assert states(found) == ["holds", "unclear", "holds", "unclear"]
    (text,) = (s.text for s in found.statements if s.text.startswith("O2: whether"))
    assert text.endswith(
        "; it is infinite somewhere, which no correlation but that of ranks can take."
    )
    one = size.epistemic.copy()
    one[0, 0] = np.inf  # the largest, where the most is missing
    ranked = Curve("size", "information", size.levels, size.score, size.aleatoric, one)
    result = Disentanglement(curves=(ranked, noise))
    assert result.verdict().states["epistemic_consistency"] == "unclear"
    assert result.verdict(correlation="spearman").states["epistemic_consistency"] == "holds"


def test_each_decomposition_is_read_by_itself():
    curves = [*made(), *(
        Curve(c.kind, "pairwise_kl", c.levels, c.score, c.aleatoric, c.epistemic)
        for c in made(O1=1, O2=1)
    )]  # fmt: skip
    result = Disentanglement(curves=tuple(curves))
    assert result.verdict().decomposition == "information"
    assert verdict_of(result).pattern == "separated"
    found = result.verdict("kl")
    assert (found.decomposition, found.pattern) == ("pairwise_kl", "total uncertainty twice")
    with pytest.raises(OptionError, match="'variance' was not asked for"):
        result.verdict("variance")


def test_a_reading_is_a_verdict():
    found = verdict(O1=1)
    assert isinstance(found, Verdict)
    assert str(found).splitlines()[0] == found.statements[0].text
    assert "<strong>The split is not clean" in found._repr_html_()
    content = json.loads(found.to_json())
    assert content["pattern"] == "leak"
    assert content["decomposition"] == "information"
    assert content["states"]["aleatoric_orthogonality"] == "fails"
    assert content["statements"][0] == {"level": "bad", "text": found.statements[0].text}
    assert len(content["statements"]) == len(found)


def test_sentences_end():
    assert sentence("a note") == "A note."
    assert sentence("A note.") == "A note."


class TestNextStep:
    def test_each_pattern(self):
        assert verdict().next_step == "Use each part for its own question on data like these."
        assert verdict(O1=1, O2=1).next_step.startswith("Do not use the two parts for different qu")
        assert verdict(O2=0.9).next_step == (
            "Use the aleatoric part by itself, and do not use the epistemic part."
        )
        assert verdict(repeats=2).next_step.startswith("Repeat the experiment: at least 3 repeats")

    def test_a_failed_check_comes_first(self):
        failed = {"checks": (Check("a", False, "it went wrong"),)}
        assert verdict(result=failed).next_step.startswith("Repair the experiment first: a check")

    def test_a_number_of_repeats(self):
        # Errors around 0.2 that vary by 0.25 from repeat to repeat.
        found = verdict(C1=[1.0, 0.55, 0.85], repeats=3)
        assert found.pattern == "unclear"
        number = re.match(r"Run about (\d+) more repeats \((\d+) in all\)\.", found.next_step)
        many = verdict(C1=[1.0, 0.55, 0.85], repeats=int(number[2]))
        assert many.states["aleatoric_consistency"] == "holds"

    def test_no_number_at_the_limit(self):
        found = verdict(C1=[0.9, 0.5], repeats=4)  # errors of 0.3 on average, the limit itself
        assert found.pattern == "unclear"
        assert found.next_step.startswith("Repeat the experiment with more levels")

    def test_no_number_where_chance_could_do_it(self):
        found = verdict(O1=[1, -1], repeats=4)
        assert found.pattern == "unclear"
        assert found.next_step.startswith("Repeat the experiment with more levels")
