"""Every sentence of a audit_verdict, taken apart and held against rates that are computed here."""

import re

import numpy as np
import pytest

import caveat
from caveat.fairness import audit
from caveat.results.judgments import Judgment

TIMES = r"(?P<value>[\d.]+) times"
PAIR_FOR = r"for g=(?P<group>\w+) as for g=(?P<reference>\w+)"
PAIR_OF = rf"of g=(?P<group>\w+) is {TIMES} that of g=(?P<reference>\w+)"
FOR_CLASS = r"for class (?P<label>\w+)"
WORSE = r"g=(?P<group>\w+)"
ITS = (
    r": its {part} uncertainty( of (?P<label>\w+))? is "
    r"((?P<value>[\d.]+) times that|(?P<one>[\d.e-]+) and that) of g=(?P<reference>\w+)"
    r"( is (?P<other>[\d.e-]+))?"
)
FORMS = {
    "statistical_parity": rf"Class (?P<label>\w+) is predicted {TIMES} as often {PAIR_FOR}",
    "equal_opportunity": rf"The true positive rate {FOR_CLASS} {PAIR_OF}",
    "false_negative_rate": rf"The false negative rate {FOR_CLASS} {PAIR_OF}",
    "equalized_odds": rf"The false positive rate {FOR_CLASS} {PAIR_OF}",
    "equal_accuracy": rf"The accuracy {PAIR_OF}",
    "equal_calibration": rf"Observed over predicted, class (?P<label>\w+) is {TIMES} as frequent {PAIR_FOR}",
    "mean_absolute_error": rf"The mean absolute error( of (?P<label>\w+))? is {TIMES} as large {PAIR_FOR}",
    "epistemic_uncertainty": rf"The model knows less about {WORSE}{ITS.format(part='epistemic')}",
    "aleatoric_uncertainty": rf"By the model's account the data of {WORSE} is noisier{ITS.format(part='aleatoric')}",
    "predictive_uncertainty": rf"Predictions for {WORSE} are less certain{ITS.format(part='predictive')}",
}
SHARES = {
    "statistical_parity": r"Class (?P<label>\w+) is predicted for {one} of {group} and {other} of {reference}",
    "equal_opportunity": r"The true positive rate for class (?P<label>\w+) is {one} for {group} and {other} for {reference}",
    "false_negative_rate": r"The false negative rate for class (?P<label>\w+) is {one} for {group} and {other} for {reference}",
    "equalized_odds": r"The false positive rate for class (?P<label>\w+) is {one} for {group} and {other} for {reference}",
    "equal_accuracy": r"The accuracy is {one} for {group} and {other} for {reference}",
}
PARTS = {
    "one": r"(?P<one>[\d.]+) %",
    "other": r"(?P<other>[\d.]+) %",
    "group": r"g=(?P<group>\w+)",
    "reference": r"g=(?P<reference>\w+)",
}
NAMES = {
    "statistical parity": "statistical_parity",
    "equal opportunity": "equal_opportunity",
    "false negative rates": "false_negative_rate",
    "false positive rates": "equalized_odds",
    "accuracy": "equal_accuracy",
    "calibration on average": "equal_calibration",
    "mean absolute error": "mean_absolute_error",
}
OTHERS = (
    r"There (is|are) (?P<number>\d+) other gaps? in (?P<name>[\w ]+?) "
    r"(?P<size>beyond the threshold|which may or may not exceed the threshold)\."
)
SIZES = {
    Judgment.BEYOND: "), beyond the threshold",
    Judgment.GAP: "), a gap which may or may not exceed the threshold",
}
FIXED = (
    r"It is what more or better data of this group would reduce\.",
    r"More of the same data will not help: .*",
    r"How much of that is noise .*",
    r"Point measures miss this: .*",
    r"The uncertainties do not show it: .*",
    r"No gap beyond the threshold.*",
    r"No (point measure|uncertainty) shows a gap beyond the threshold, .*",
    r"The data cannot show whether there is a gap beyond the threshold in .*",
    r"There is a gap, but within the threshold, in .*",
    r"Not all could be compared\.",
    r"There is no (ratio|interval) of .*",
    r"Nothing could be compared.*",
    r"Whether the .*",
)


def rates(prediction, y, groups):
    """Every rate of every group by (measure, label), from the arrays alone."""
    found = {}
    for name in np.unique(groups):
        rows = groups == name
        of = found[name] = {}
        if isinstance(prediction, caveat.Gaussian):
            several = prediction.mean.shape[-1] > 1
            for i, target in enumerate(prediction.targets.tolist()):
                mean, variance = prediction.mean[:, rows, i], prediction.variance[:, rows, i]
                label = str(target) if several else ""
                of["epistemic_uncertainty", label] = mean.var(axis=0).mean()
                of["aleatoric_uncertainty", label] = variance.mean()
                of["predictive_uncertainty", label] = (mean.var(axis=0) + variance).mean()
                error = np.abs(mean.mean(axis=0) - y.reshape(len(rows), -1)[rows, i])
                of["mean_absolute_error", label] = error.mean()
            continue
        p, truth = prediction.probabilities[:, rows], y[rows]
        chosen = prediction.classes[p.mean(axis=0).argmax(axis=1)]
        of["epistemic_uncertainty", ""] = p.var(axis=0).sum(axis=1).mean()
        of["aleatoric_uncertainty", ""] = (p * (1 - p)).sum(axis=2).mean()
        mean = p.mean(axis=0)
        of["predictive_uncertainty", ""] = (mean * (1 - mean)).sum(axis=1).mean()
        of["equal_accuracy", ""] = (chosen == truth).mean()
        for label in prediction.classes:
            of["statistical_parity", str(label)] = (chosen == label).mean()
            of["equal_opportunity", str(label)] = (chosen == label)[truth == label].mean()
            of["false_negative_rate", str(label)] = (chosen != label)[truth == label].mean()
            of["equalized_odds", str(label)] = (chosen == label)[truth != label].mean()
            if len(prediction.classes) == 2:
                said = p.mean(axis=0)[:, prediction.classes == label].mean()
                of["equal_calibration", str(label)] = (truth == label).mean() / said
    return found


def parsed(sentence):
    """What a sentence claims: (measure, label, group, reference, value or None, rates or None)."""
    for measure, form in FORMS.items():
        match = re.match(form, sentence)
        if match:
            found = match.groupdict()
            both = [float(found[k]) for k in ("one", "other")] if found.get("one") else None
            value = float(found["value"]) if found["value"] else None
            return (
                measure,
                found.get("label") or "",
                found["group"],
                found["reference"],
                value,
                both,
            )
    for measure, form in SHARES.items():
        match = re.match(form.format(**PARTS), sentence)
        if match:
            found = match.groupdict()
            both = [float(found[k]) / 100 for k in ("one", "other")]
            return measure, found.get("label") or "", found["group"], found["reference"], None, both
    return None


def names_in(words):
    return re.findall(r"g=(\w+)", words)


def check(prediction, y, groups, **options):
    """Take the audit_verdict apart; return what was claimed, and the sentences that claim nothing."""
    result = audit(prediction, y, {"g": groups}, resamples=100, random_state=0, **options)
    (paragraph,) = result.verdict()
    truth = rates(prediction, y, groups)
    band = result.fair_band
    said, counted, rest = [], {}, []
    for sentence in re.split(r"(?<=\.) (?=[A-Z0-9])", paragraph.text):
        claim = parsed(sentence)
        others = re.fullmatch(OTHERS, sentence)
        if others:
            name = NAMES.get(others["name"], others["name"].replace(" ", "_"))
            counted[name] = int(others["number"])
            beyond = others["size"].startswith("beyond")
            assert any(
                measure == name and (SIZES[Judgment.BEYOND] in before) == beyond
                for before in re.split(r"(?<=\.) (?=[A-Z0-9])", paragraph.text)
                if (measure := (parsed(before) or [None])[0])
            )
        elif claim is None:
            assert any(re.fullmatch(form, sentence) for form in FIXED), sentence
            rest.append(sentence)
        else:
            measure, label, group, reference, value, both = claim
            key = (measure, label)
            one, other = truth[group][key], truth[reference][key]
            beyond = SIZES[Judgment.BEYOND] in sentence
            assert beyond or SIZES[Judgment.GAP] in sentence, sentence
            if both is None:
                assert value == pytest.approx(one / other, rel=0.006), sentence
                if beyond:
                    assert not band[0] <= one / other <= band[1], sentence
                assert one != other, sentence
            else:
                assert both == pytest.approx([one, other], rel=0.05, abs=5e-4), sentence
                assert min(one, other) == 0 < max(one, other), sentence
            said.append((measure, label, frozenset({group, reference})))
            likewise = sentence.partition("; likewise for ")[2].partition(";")[0]
            for name in names_in(likewise):
                assert (truth[name][key] > other) == (one > other), sentence
                said.append((measure, label, frozenset({name, reference})))
            larger = sentence.partition("; it is larger than that of ")[2]
            for name in names_in(larger):
                assert one > truth[name][key], sentence
                said.append((measure, label, frozenset({group, name})))
    assert len(said) == len(set(said))
    assert_complete(result, said, counted, options.get("privileged") is not None)
    return paragraph, said, rest


RATES = {
    "statistical_parity": "selection_rate",
    "equal_opportunity": "true_positive_rate",
    "equalized_odds": "false_positive_rate",
    "equal_accuracy": "accuracy",
    "equal_calibration": "observed_over_predicted",
}


def far(result, twin):
    """Whether a difference to a rate of 0 is surely above 20 % of the other rate."""
    wanted = {"kind": "group", "measure": RATES.get(twin.measure, twin.measure)}
    rates = [
        row for row in result.select(**wanted, label=twin.label) if row.statistic in ("", "mean")
    ]
    high = max(row.high for row in rates if row.group in (twin.group, twin.reference))
    return min(abs(twin.verdict_low), abs(twin.verdict_high)) > 0.2 * high


def place(row):
    return row.measure, row.statistic, row.label, row.group, row.reference, row.comparison


def assert_complete(result, said, counted, privileged):
    """Every gap of the table is said or counted, and none but those.

    With a privileged group only those with it; of a measure with gaps beyond the threshold only
    these.
    """
    places = {}
    for row in result.select(kind="difference"):
        places[place(row)] = row
    sizes = {Judgment.BEYOND: set(), Judgment.GAP: set()}
    for row in result.select(kind="ratio"):
        if row.statistic not in ("", "y=0") or (privileged and row.comparison != "reference"):
            continue
        twin = places.get(place(row))
        zero = row.verdict.startswith("undefined") and twin is not None
        if row.judgment in sizes or (zero and twin.judgment == Judgment.DIFFERENT):
            # Of a rate of 0 the other group has at least five times the threshold.
            size = (
                Judgment.BEYOND
                if zero and far(result, twin)
                else Judgment.GAP
                if zero
                else row.judgment
            )
            sizes[size].add((row.measure, row.label, frozenset({row.group, row.reference})))
    known = {gap[0] for gap in sizes[Judgment.BEYOND]}
    gaps = sizes[Judgment.BEYOND] | {gap for gap in sizes[Judgment.GAP] if gap[0] not in known}
    assert set(said) <= gaps
    for measure in {gap[0] for gap in gaps}:
        number = sum(gap[0] == measure for gap in said) + counted.get(measure, 0)
        expected = [gap for gap in gaps if gap[0] == measure]
        if measure == "predictive_uncertainty":  # only where neither part shows it
            larger = sizes[Judgment.BEYOND] if measure in known else gaps
            parts = {
                gap[1]
                for gap in larger
                if gap[0] in ("aleatoric_uncertainty", "epistemic_uncertainty")
            }
            expected = [gap for gap in expected if gap[1] not in parts]
        assert number == len(expected), measure


def classes(seed, number, groups, *, never=False):
    """Groups whose classes are predicted at random rates, with members that disagree at random."""
    rng = np.random.default_rng(seed)
    n = 4000
    g = np.array(list("abcdefgh"))[rng.integers(groups, size=n)]
    tables = {name: rng.dirichlet(np.full(number, 2.0)) for name in "abcdefgh"}
    chosen = np.array([rng.choice(number, p=tables[name]) for name in g])
    if never:
        chosen[(g == "a") & (chosen == 1)] = 0
    hit = {name: rng.uniform(0.5, 1) for name in "abcdefgh"}
    right = rng.random(n) < np.array([hit[name] for name in g])
    y = np.where(right, chosen, rng.integers(number, size=n))
    spread = {name: rng.choice([0.02, 0.05, 0.1]) for name in "abcdefgh"}
    noise = rng.random((4, n, number)) * np.array([spread[name] for name in g])[:, None]
    p = np.full((4, n, number), 0.3 / number) + noise
    p[:, np.arange(n), chosen] += 0.7
    names = np.array(["no", "yes", "maybe", "never", "other"][:number])
    p /= p.sum(axis=-1, keepdims=True)
    order = np.argsort(names)
    return caveat.Categorical(p[:, :, order], classes=names[order]), names[y], g


def numbers(seed, targets, groups):
    rng = np.random.default_rng(seed)
    n = 3000
    g = np.array(list("abcdef"))[rng.integers(groups, size=n)]
    code = np.searchsorted(list("abcdef"), g)
    wide, noisy, wrong = (rng.choice([0.5, 1.0, 2.0], size=(6, targets))[code] for _ in range(3))
    mean = rng.normal(size=(4, n, targets)) * wide
    variance = noisy * rng.uniform(0.9, 1.1, size=(4, n, targets))
    y = mean.mean(axis=0) + rng.normal(size=(n, targets)) * wrong
    labels = [f"t{i + 1}" for i in range(targets)]
    return caveat.Gaussian(mean, variance, targets=labels), y, g


@pytest.mark.parametrize("privileged", [None, "b"])
@pytest.mark.parametrize("seed", range(6))
class TestClaims:
    def test_of_two_classes(self, seed, privileged):
        prediction, y, g = classes(seed, 2, 2 + seed)
        check(prediction, y, g, privileged=privileged, positive="yes")

    def test_of_several_classes(self, seed, privileged):
        check(*classes(seed, 3 + seed % 3, 2 + seed % 4), privileged=privileged)

    def test_of_a_class_that_is_never_predicted(self, seed, privileged):
        check(*classes(seed, 2 + seed % 2, 2 + seed % 3, never=True), privileged=privileged)

    def test_of_numbers(self, seed, privileged):
        check(*numbers(seed, 1 + seed % 3, 2 + seed % 5), privileged=privileged)


def selected(rates, sizes, seed=0):
    """Groups in which the class is predicted at given rates, exactly; truth is mostly the same."""
    rng = np.random.default_rng(seed)
    g = np.repeat(list("abcde")[: len(rates)], sizes)
    up = np.concatenate(
        [np.arange(size) < round(rate * size) for rate, size in zip(rates, sizes, strict=True)]
    )
    p = np.where(up, 0.7, 0.3) + rng.uniform(-0.1, 0.1, size=(3, len(g)))
    y = np.where(rng.random(len(g)) < 0.9, up, ~up).astype(int)
    return caveat.Categorical.from_binary(p), y, g


class TestWhichIsWhich:
    def test_groups_on_both_sides_of_the_privileged_one(self):
        paragraph, said, _ = check(*selected((0.2, 0.4, 0.8), [2000] * 3), privileged="b")
        parity = [entry[2] for entry in said if entry[0] == "statistical_parity"]
        assert parity == [{"a", "b"}, {"b", "c"}]
        assert "likewise" not in paragraph.text
        assert "predicted 0.500 times as often for g=a as for g=b" in paragraph.text
        assert "predicted 2.00 times as often for g=c as for g=b" in paragraph.text

    def test_several_on_one_side_are_put_together(self):
        paragraph, _, _ = check(*selected((0.2, 0.3, 0.8, 0.9, 0.5), [2000] * 5), privileged="e")
        assert "0.400 times as often for g=a as for g=e" in paragraph.text
        assert "beyond the threshold; likewise for g=b; 2" in paragraph.text

    def test_a_privileged_group_that_is_less_known_than_several(self):
        rng = np.random.default_rng(0)
        g = np.repeat(["a", "b", "c"], 1000)
        wide = np.repeat([0.5, 1.0, 3.0], 1000)
        mean, variance = wide * rng.normal(size=(4, 3000)), rng.uniform(0.9, 1.1, size=(4, 3000))
        paragraph, _, _ = check(
            caveat.Gaussian.from_members(mean, variance), rng.normal(size=3000), g, privileged="c"
        )
        assert "The model knows less about g=c: its epistemic uncertainty is " in paragraph.text
        assert ", beyond the threshold; it is larger than that of g=b too." in paragraph.text

    def test_targets_with_opposite_gaps(self):
        rng = np.random.default_rng(0)
        g = np.repeat(["a", "b"], 1500)
        wide = np.stack([np.where(g == "a", 2.0, 0.5), np.where(g == "b", 2.0, 0.5)], axis=1)
        mean = rng.normal(size=(5, 3000, 2)) * wide
        variance = rng.uniform(0.9, 1.1, size=mean.shape)
        prediction = caveat.Gaussian(mean, variance, targets=["t1", "t2"])
        paragraph, said, _ = check(prediction, mean.mean(axis=0) + rng.normal(size=(3000, 2)), g)
        assert [entry[1] for entry in said] == ["t1", "t2"]
        assert "knows less about g=a: its epistemic uncertainty of t1" in paragraph.text
        assert "knows less about g=b: its epistemic uncertainty of t2" in paragraph.text
        assert paragraph.text.count("more or better data") == 1

    def test_the_predictive_gap_of_a_target_that_no_part_explains(self):
        # Of t2 each sample has its own share of both parts, which hides what their sum shows.
        rng = np.random.default_rng(2)
        g = np.repeat(["a", "b"], 100)
        whole = np.where(g == "a", 1.5, 1.0) * rng.uniform(0.95, 1.05, size=200)
        epistemic = np.stack([np.where(g == "a", 4.0, 0.3), whole * rng.beta(0.2, 0.2, 200)], 1)
        epistemic[:, 0] *= rng.uniform(0.9, 1.1, size=200)
        aleatoric = np.stack([rng.uniform(0.9, 1.1, size=200), whole - epistemic[:, 1]], axis=1)
        mean = np.array([-1.0, 1.0])[:, None, None] * np.sqrt(epistemic)
        prediction = caveat.Gaussian(mean, np.stack([aleatoric] * 2), targets=["t1", "t2"])
        _, said, _ = check(prediction, rng.normal(size=(200, 2)), g)
        assert ("epistemic_uncertainty", "t1", frozenset("ab")) in said
        uncertain = [entry[:2] for entry in said if entry[0] != "mean_absolute_error"]
        assert (
            next(name for name, target in uncertain if target == "t2") == "predictive_uncertainty"
        )
        assert ("predictive_uncertainty", "t1") not in uncertain

    def test_more_gaps_than_sentences_are_counted(self):
        paragraph, said, _ = check(*classes(3, 5, 3))
        parity = [entry for entry in said if entry[0] == "statistical_parity"]
        assert paragraph.text.count("is predicted") == 3
        assert re.search(
            r"There (is|are) \d+ other gaps? in statistical parity beyond the threshold\.",
            paragraph.text,
        )
        assert len(parity) >= 3


class TestNoRatio:
    def test_a_group_that_is_never_chosen_is_a_gap(self):
        paragraph, said, rest = check(*selected((0.0, 0.02), [20_000, 20_000]))
        assert paragraph.level == "bad"
        assert "point gap" in paragraph.patterns
        assert ("statistical_parity", "1", frozenset("ab")) in said
        assert paragraph.text.startswith(
            "Class 1 is predicted for 0 % of g=a and 2.0 % of g=b (95 % interval for all comparisons "
            "of the difference "
        )
        assert not any("no ratio of statistical parity" in sentence for sentence in rest)
        assert {row.kind for row in paragraph.rows} <= {"ratio", "difference"}
        assert all(row.judgment in (Judgment.BEYOND, Judgment.DIFFERENT) for row in paragraph.rows)

    def test_a_gap_to_the_privileged_group(self):
        sizes, chosen = [300, 300, 300, 80], [36, 36, 36, 0]
        g = np.repeat(list("pqwz"), sizes)
        up = np.concatenate([np.arange(n) < k for n, k in zip(sizes, chosen, strict=True)])
        p = np.where(up, 0.9, 0.1) * np.array([[1.0], [0.95]])
        y = up.astype(int)
        y[-5:] = 1
        paragraph, said, _ = check(caveat.Categorical.from_binary(p), y, g, privileged="p")
        assert ("statistical_parity", "1", frozenset("pz")) in said
        assert "Class 1 is predicted for 0 % of g=z and 12.0 % of g=p (" in paragraph.text

    def test_nor_is_a_group_without_positives_no_gap(self):
        rng = np.random.default_rng(0)
        g = np.repeat(["a", "b"], 3000)
        p = 0.1 + rng.uniform(-0.02, 0.02, size=(3, 6000))
        y = ((rng.random(6000) < 0.001) & (g == "b")).astype(int)
        result = audit(
            caveat.Categorical.from_binary(p), y, {"g": g}, resamples=100, random_state=0
        )
        audit_verdict = result.verdict()
        (paragraph,) = audit_verdict
        assert paragraph.patterns == ("not all compared",)
        assert audit_verdict.level == paragraph.level == "unsure"
        assert audit_verdict.summary == (
            "This audit cannot show whether there is a gap beyond the threshold between groups of g."
        )
        assert paragraph.text.startswith(
            "Not all could be compared. No gap beyond the threshold in "
        )
        assert (
            "There is no ratio of statistical parity and false positive rates: 0 in g=a and g=b."
            in (paragraph.text)
        )

    def test_an_uncertainty_that_one_group_has_none_of(self):
        rng = np.random.default_rng(0)
        g = np.repeat(["a", "b"], 2000)
        mean = rng.normal(size=4000) + np.where(g == "a", 0, 0.5) * rng.normal(size=(4, 4000))
        variance = rng.uniform(0.9, 1.1, size=mean.shape)
        y = mean.mean(axis=0) + rng.normal(size=4000)
        paragraph, said, _ = check(caveat.Gaussian.from_members(mean, variance), y, g)
        assert ("epistemic_uncertainty", "", frozenset("ab")) in said
        assert paragraph.patterns[0] == "epistemic gap"
        assert "knows less about g=b: its epistemic uncertainty is 0.1" in paragraph.text
        assert " and that of g=a is 0 (95 % interval for all comparisons of the difference 0.1" in (
            paragraph.text
        )

    def test_errors_that_one_group_has_none_of(self):
        rng = np.random.default_rng(0)
        g = np.repeat(["a", "b"], 2000)
        mean, variance = rng.normal(size=(2, 4000)), rng.uniform(0.9, 1.1, size=(2, 4000))
        y = mean.mean(axis=0) + np.where(g == "a", 0, 1) * rng.normal(size=4000)
        result = audit(
            caveat.Gaussian.from_members(mean, variance), y, {"g": g}, resamples=100, random_state=0
        )
        text = result.verdict().paragraphs[0].text
        assert re.search(r"The mean absolute error is 0\.[78]\d+ for g=b and 0 for g=a \(", text)
