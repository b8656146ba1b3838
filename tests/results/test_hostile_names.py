"""Names of groups that look like texts of ours: no code may read a text that other code wrote."""

import json
import re

import numpy as np
import pytest

import caveat
from caveat import charts
from caveat.cli._tables import show_groups, show_rows
from caveat.evaluation.verdict import verdict

N = 1200
HALF = np.arange(N) % 2
GROUPS = {
    "class": np.array(["a=b", ": gap"])[HALF],
    "class (group)": np.array(["x", "y"])[HALF],
    "a": np.array(["b=c", "x: ratio"])[HALF],
    "a=b": np.array(["c", "d"])[np.arange(N) // 2 % 2],
    "sex: gap": np.array(["f", "class=f"])[HALF],
    "class against the rest": np.array(["1", "2"])[HALF],
    "": np.array(["", "="])[HALF],
}
"""The texts of a="b=c" and a=b="c" are the same."""


def classes(seed=0, sharpen=1.0):
    """Three classes; in one half of the samples, probabilities are far too sure."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(N, 3))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (rng.random(N)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    logits = logits * np.where(HALF, sharpen, 1.0)[:, None]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return caveat.Categorical(p, classes=["class=a", "x: gap", ""]), np.array(
        ["class=a", "x: gap", ""]
    )[y]


def numbers(worse=3.0, seed=0):
    """Numbers whose errors are larger in one half of the samples."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=N)
    noise = rng.normal(size=N) * np.where(HALF, worse, 1.0)
    return caveat.Gaussian(mean, np.ones(N)), mean + noise


def evaluated(case, **options):
    prediction, y = case
    return caveat.evaluate(prediction, y, groups=GROUPS, resamples=60, random_state=0, **options)


CLASSES = evaluated(classes(sharpen=6.0))
NUMBERS = evaluated(numbers())
GIVEN = {
    "classes": ["class", "class (group) (group)", "class (group)", *list(GROUPS)[2:]],
    "numbers": list(GROUPS),
}
RESULTS = {"classes": CLASSES, "numbers": NUMBERS}
ACCURACY = {"classes": "accuracy_score", "numbers": "mean_absolute_error"}


@pytest.fixture(params=["classes", "numbers"])
def case(request):
    return request.param


def test_attributes_keep_their_names_and_values_in_the_rows(case):
    rows = [row for row in RESULTS[case].rows if row.metric == ACCURACY[case] and not row.overall]
    found = {}
    for row in rows:
        found.setdefault(row.attribute, []).append((row.statistic, row.category, row.reference))
    assert list(found) == GIVEN[case]
    labels = ["class=a", "x: gap", ""] if case == "classes" else []
    values = [*([labels] if labels else []), *(sorted(set(v.tolist())) for v in GROUPS.values())]
    for of_it, wanted in zip(found.values(), values, strict=True):
        assert [category for what, category, _ in of_it if what == "value"] == wanted
        for what in ("gap", "ratio"):
            ((worst, best),) = [(one, other) for kind, one, other in of_it if kind == what]
            assert {worst, best} <= set(wanted)
            assert worst != best


def test_a_gap_is_between_the_groups_that_its_fields_name(case):
    result = RESULTS[case]
    for row in result.rows:
        if row.statistic == "gap" and row.metric == ACCURACY[case]:
            one, other = (
                result.matching(
                    metric=row.metric,
                    attribute=row.attribute,
                    category=name,
                    statistic="value",
                    scale="adaptive",
                )[0].value
                for name in (row.category, row.reference)
            )
            assert row.value == pytest.approx(one - other)


def test_the_frame_has_the_fields_and_the_old_text(case):
    frame = RESULTS[case].to_frame()
    new = {"attribute", "category", "reference", "statistic", "coverage", "quantile", "one_class"}
    assert new <= set(frame.columns)
    part = frame[(frame.attribute == "a") & (frame.statistic == "value")]
    assert set(part.group) == {"a=b=c", "a=x: ratio"}
    assert set(frame[(frame.attribute == "a") & (frame.statistic == "gap")].group) == {"a: gap"}
    overall = frame[frame.group == ""]
    assert set(overall.scale) <= {"global", "local"}
    assert set(overall.attribute) == {""}
    rows = json.loads(RESULTS[case].to_json())
    assert [row["group"] for row in rows] == frame.group.tolist()


def test_the_verdict_names_the_groups(case):
    said = str(verdict(RESULTS[case]))
    worse = ["class (group) (group)=: gap"] if case == "classes" else ["class=: gap"]
    # The second half is worse, whatever its groups are called; of a=b all are alike.
    for name in [*worse, "class (group)=y", "a=x: ratio", "sex: gap=f", "==", "the rest=2"]:
        name = name.replace("sex: gap=f", "sex: gap=class=f")
        assert re.search(rf" for [^:]*{re.escape(name)}", said), name
    alike = re.search(r"No difference that matters can be shown (.*)\.", said)
    assert alike is not None
    assert "a=b" in alike[1]


def test_charts_keep_the_attributes_apart(case):
    frame = charts.groups(RESULTS[case], ACCURACY[case]).to_frame()
    assert frame["attribute"].drop_duplicates().tolist() == GIVEN[case]
    assert frame["group"][frame["attribute"] == "a=b"].tolist() == ["c", "d"]
    one = charts.groups(RESULTS[case], ACCURACY[case], attribute="a=b")
    assert (one.numbers["group"], one.title[-7:]) == (["c", "d"], " by a=b")
    assert one.note.startswith("Largest gap: ")


def page_and_groups(case, folder):
    page = RESULTS[case].report(folder / "page.html").read_text(encoding="utf-8")
    return page, page.partition('<section id="groups"')[2].partition("</section>")[0]


def test_the_page_has_a_group_called_like_its_chart_of_classes(case, tmp_path):
    page, groups = page_and_groups(case, tmp_path)
    assert ('<section id="classes"' in page) == (case == "classes")
    assert " by class against the rest" in groups


def test_the_page_puts_groups_under_groups(case, tmp_path):
    _, groups = page_and_groups(case, tmp_path)
    assert " by a=b" in groups
    assert "Largest gap: " in groups


def test_the_terminal_has_a_table_for_each_attribute(case, capsys):
    show_rows(RESULTS[case], True)
    show_groups(RESULTS[case])
    titles = re.findall(r"^ *(By .*?) *$", capsys.readouterr().out, re.M)
    names = [f"By {name}" for name in GIVEN[case]]
    assert titles == (["By true class", *names[1:]] if case == "classes" else names)


def test_techniques_are_compared_by_fields(case):
    make = classes if case == "classes" else numbers
    (one, y), (other, _) = (make(), make(seed=0)) if case == "classes" else (numbers(), numbers(2))
    result = caveat.compare(
        {"one": one, "other": other}, y, groups=GROUPS, metrics=[ACCURACY[case]], resamples=20,
        random_state=0,
    )  # fmt: skip
    rows = [row for row in result.rows if row.technique == "one" and not row.overall]
    assert list(dict.fromkeys(row.attribute for row in rows)) == GIVEN[case]
    for row in rows:
        (same,) = result.evaluations["one"].matching(
            metric=row.metric,
            attribute=row.attribute,
            category=row.category,
            statistic="value",
            scale="adaptive",
        )
        assert (row.value, row.low, row.high, row.group) == (
            same.value, same.low, same.high, same.group
        )  # fmt: skip
    assert len(repr(result))
    assert result.matching(attribute="a", category="b=c")


def test_an_audit_of_combinations_splits_no_name():
    prediction, y = classes()
    groups = {"a x b": np.array(["a=1", "2"])[HALF], "c": GROUPS["a=b"]}
    result = caveat.audit(
        prediction, y, groups, intersections=True, resamples=0,
        privileged={"a x b": "a=1", "c": "c"},
    )  # fmt: skip
    assert result.privileged == {"a x b": "a=1", "c": "c", "a x b x c": "a x b=a=1, c=c"}
    names = {row.attribute: row.group_name for row in result.matching(measure="samples")}
    assert names["a x b"] in ("a x b=a=1", "a x b=2")
    assert names["a x b x c"] in ("a x b=2, c=c", "a x b=2, c=d", "a x b=a=1, c=d")


def test_a_target_called_like_a_quantity_is_a_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    means = np.stack([X, X + 0.1])
    prediction = caveat.Gaussian(
        means, np.ones((2, 200, 2)), targets=["prediction y", "quantile=0.95"]
    )
    result = caveat.audit(
        prediction, X, {"g": np.array(["u", "v"])[HALF[:200]]}, X=X, resamples=50, random_state=0
    )
    said = str(result.verdict())
    assert "The prediction of prediction y is on average" in said
    assert "aleatoric uncertainty prediction of y" not in said
    assert "prediction of y " not in said
