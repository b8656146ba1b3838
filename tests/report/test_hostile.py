"""Labels, ids, names of groups, targets and techniques are hostile until escaped."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import caveat
from caveat.charts.svg import shown
from caveat.report import write_report
from caveat.report._escape import for_script

from .pages import read
from .results import HOSTILE, classification, hostile_classification, probabilities

# What the template itself has; whatever else is there was injected.
ELEMENTS = {
    "html", "head", "meta", "title", "link", "style", "body", "a", "header", "div", "p", "h1", "h2",
    "h3", "bdi", "button", "nav", "ol", "ul", "li", "main", "noscript", "section", "span", "svg",
    "circle", "path", "details", "summary", "table", "caption", "thead", "tbody", "tr", "th", "td",
    "article", "script", "label", "input", "output", "select", "option", "dl", "dt", "dd", "strong",
    "footer", "g", "text",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "class", "charset", "http-equiv", "content", "name", "rel", "href", "type", "aria-label",
    "id", "aria-labelledby", "viewbox", "aria-hidden", "fill", "stroke", "stroke-width",
    "stroke-linecap", "stroke-linejoin", "cx", "cy", "r", "d", "tabindex", "role", "scope",
    "data-sort", "data-scope", "data-target", "data-points", "data-steps", "data-paints", "data-name",
    "for", "min", "max", "step", "value", "aria-live", "data-chooses", "hidden", "xmlns",
    "text-anchor", "x", "y", "transform", "stroke-dasharray", "fill-opacity", "data-keyed",
    "data-spot", "overflow", "height", "width",
}  # fmt: skip
TEXT = "{http://www.w3.org/2000/svg}text"
UNSEEN = set("\u202e\u202c\u2028\u2029\ufeff\u200e\x00\x07\ud800")


def check(path):
    """Nothing of a page is markup but its own: not in text, drawings, attributes or data."""
    page = read(path)
    assert {tag for tag, _ in page.elements} <= ELEMENTS
    assert {name for _, attributes in page.elements for name in attributes} <= ATTRIBUTES
    (script,) = page.scripts
    own = page.source.replace(script, "")
    for bad in ("<script>alert", "<img", "onerror=alert(2)>", "<!--", "<b>"):
        assert bad not in own
    assert not any(name and name.startswith("on") for _, a in page.elements for name in a)
    drawings = re.findall(r"(<svg xmlns.*?</svg>)<output", page.source, re.DOTALL)
    assert len(drawings) == len(page.titles)
    for drawing in drawings:
        labels = ["".join(text.itertext()) for text in ElementTree.fromstring(drawing).iter(TEXT)]
        assert not UNSEEN & set("".join(labels))
    for text in re.findall(r'application/json" id="[^"]+">(.*?)</script>', page.source, re.DOTALL):
        assert not set("<>&\u2028\u2029") & set(text)
    return page


def test_classes_ids_groups_and_title(tmp_path):
    title = " ".join(HOSTILE)
    page = check(write_report(hostile_classification(), tmp_path / "all.html", title=title))
    assert " ".join(title.split()) in page.text
    for label in HOSTILE:
        assert " ".join(f"{label} 1".split())[:-2] in page.text


def test_policy(tmp_path):
    result = hostile_classification(groups=None)
    policy = caveat.TriagePolicy(risk=0.9, random_state=0).fit(
        result.prediction, result.prediction.classes[result.truth[:, 0]]
    )
    check(write_report(result, tmp_path / "policy.html", policy=policy))


def test_targets(tmp_path):
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(2, 40, len(HOSTILE)))
    prediction = caveat.Gaussian(mean, np.ones_like(mean), targets=HOSTILE)
    result = caveat.evaluate(
        prediction, rng.normal(size=mean.shape[1:]), groups={HOSTILE[0]: ["a", HOSTILE[1]] * 20},
        resamples=0,
    )  # fmt: skip
    page = check(write_report(result, tmp_path / "targets.html"))
    assert HOSTILE[0] in page.text


def test_techniques(tmp_path):
    p, truth = probabilities(50, 2)
    rng = np.random.default_rng(0)
    predictions = {name: caveat.Categorical(rng.permutation(p, axis=1)) for name in HOSTILE}
    result = caveat.compare(
        predictions, truth, metrics=["ece", "auc", "accuracy"], resamples=5, random_state=0
    )
    page = check(write_report(result, tmp_path / "techniques.html", title=HOSTILE[1]))
    for name in HOSTILE:
        assert " ".join(name.split()) in page.text


def test_half_a_character_does_not_stop_the_page(tmp_path):
    path = write_report(classification(), tmp_path / "half.html", title="half \ud800 of it")
    assert "half ? of it" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("<a href='x'>&amp;\"", 200, "&lt;a href=&#x27;x&#x27;&gt;&amp;amp;&quot;"),
        ("a\u202eb\u2028c\x00d\ud800e\x1bf", 200, "ab cdef"),
        ("long " * 10, 10, "long long…"),
        ("<" * 40, 3, "&lt;&lt;…"),
        (7, 200, "7"),
    ],
)
def test_text_of_charts(text, longest, expected):
    assert shown(text, longest) == expected


@pytest.mark.parametrize("text", HOSTILE)
def test_text_in_scripts(text):
    found = for_script({"a": [text, 1.23456789, np.array([np.nan, np.inf, 2.0]), True, None]})
    assert not set("<>&\u2028\u2029") & set(found)
    assert json.loads(found) == {"a": [text, 1.23457, [None, None, 2.0], True, None]}
