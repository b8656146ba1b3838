"""Drawings of molecules, activity cliffs, and their section on the page of an evaluation."""

import base64
import re

import numpy as np
import pytest

pytest.importorskip("cuik_molmaker")

import caveat
from caveat.exceptions import InvalidValueError, OptionError, ShapeError
from caveat.molecules import Structures, draw_molecule
from caveat.report import write_report

SMILES = ["C" * n + tail for n in range(1, 7) for tail in ("", "O", "N", "=O", "c1ccccc1")]
HOSTILE = "C |$</svg><script>alert(1)</script>$|"


def test_a_drawing_is_one_svg_without_words_of_the_data():
    from xml.etree import ElementTree

    for text in ("CCO", "c1ccccc1C(=O)O", "[Na+].[Cl-]", HOSTILE):
        drawn = draw_molecule(text)
        assert ElementTree.fromstring(drawn).tag == "{http://www.w3.org/2000/svg}svg"
        assert "script" not in drawn
        assert "<?xml" not in drawn
        assert len(drawn) < 8000
    # A label would have its letters drawn: without it the drawing is that of the molecule.
    assert draw_molecule(HOSTILE) == draw_molecule("C")
    assert draw_molecule("C" * 151) == ""
    with pytest.raises(InvalidValueError, match="not a valid SMILES"):
        draw_molecule("C(")
    with pytest.raises(OptionError, match="width"):
        draw_molecule("C", width=0)


def test_cliffs_are_similar_molecules_of_other_values():
    behind = Structures(
        ["CCCCCCCO", "CCCCCCO", "c1ccccc1"], known=["CCCCCCCCO", "N"], known_values=[1.0, 5.0]
    )
    assert behind.near.nearest.tolist() == [0, 0, 0]
    assert behind.cliffs([1.5, 9.0, 100.0]).tolist() == [1, 0]
    assert behind.cliffs([1.0, 1.0, 100.0]).tolist() == []
    kinds = Structures(behind.smiles, known=behind.known, known_values=["active", "none"])
    assert kinds.cliffs(["none", "active", "none"]).tolist() == [0]
    several = Structures(behind.smiles, known=behind.known, known_values=[[1, 7], [1, 7]])
    assert several.nearest_values(1).tolist() == [7, 7, 7]
    assert several.cliffs([1, 1, 1]).tolist() == []
    assert several.cliffs([1, 2, 1], target=1).tolist() == [0, 1]


def test_without_known_molecules_there_are_none_near():
    alone = Structures(SMILES)
    assert alone.near is None
    assert alone.nearest_values() is None
    assert alone.cliffs(np.zeros(30)).tolist() == []
    assert Structures(SMILES, known=["C"]).nearest_values() is None
    with pytest.raises(OptionError, match="pass known="):
        Structures(SMILES, known_values=[1.0])
    with pytest.raises(ShapeError, match=r"known_values must have shape \(1,\)"):
        Structures(SMILES, known=["C"], known_values=[1.0, 2.0])


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=30)
    prediction = caveat.Gaussian.from_members(mean + rng.normal(size=(3, 30)), np.ones((3, 30)))
    return caveat.evaluate(
        prediction, mean, ids=[f"<b>{i}</b>" for i in range(30)], resamples=0, random_state=0
    )


def section(path):
    text = path.read_text(encoding="utf-8")
    return text[text.index('<section id="molecules"') : text.index('<section id="notes"')]


def test_the_page_has_them_beside_what_the_model_knew(numbers, tmp_path):
    smiles = [HOSTILE, *SMILES[1:]]
    behind = Structures(smiles, known=[*SMILES[::2], HOSTILE], known_values=np.arange(16.0))
    page = section(numbers.report(tmp_path / "page.html", molecules=behind))
    assert [page.count(title) for title in ("Most uncertain", "Most confidently wrong")] == [1, 1]
    assert "Worst activity cliffs" in page
    assert "<script>alert" not in page
    assert "<b>" not in page
    pictures = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert len(pictures) == 2 * 18
    rows = caveat.charts.extremes(numbers, 6).most_uncertain
    assert base64.b64decode(pictures[0]).decode() == draw_molecule(smiles[rows[0].row])
    assert f"similarity {behind.near.similarity[rows[0].row]:.2f}" in page
    assert "its value" in page


def test_pages_of_molecules_alone_and_of_classes_and_targets(numbers, tmp_path):
    large = ["C" * 200, *SMILES[1:]]
    page = section(write_report(numbers, tmp_path / "page.html", molecules=Structures(large)))
    assert "nearest known molecule" not in page
    assert "cliffs" not in page
    rng = np.random.default_rng(0)
    p = caveat.Categorical(rng.dirichlet(np.ones(2), (3, 30)), classes=["off", "on"])
    classes = caveat.evaluate(p, rng.choice(["off", "on"], 30), resamples=0)
    behind = Structures(SMILES, known=SMILES, known_values=rng.choice(["off", "on"], 30))
    page = section(classes.report(tmp_path / "page.html", molecules=behind))
    assert re.search("its value (off|on)", page)
    two = caveat.Gaussian(rng.normal(size=(30, 2)), np.ones((30, 2)), targets=["a", "b"])
    several = caveat.evaluate(two, rng.normal(size=(30, 2)), resamples=0)
    page = section(several.report(tmp_path / "page.html", molecules=Structures(SMILES)))
    assert 'data-target="2"' in page
    assert "Most uncertain (b)" in page
    interval = caveat.PredictionSet(np.ones((30, 2), dtype=bool), coverage=0.9)
    sets = caveat.evaluate(interval, np.zeros(30, dtype=int), resamples=0)
    text = sets.report(tmp_path / "page.html", molecules=Structures(SMILES)).read_text("utf-8")
    assert '<section id="molecules"' not in text


def test_what_does_not_belong_together_is_refused(numbers, tmp_path):
    with pytest.raises(ShapeError, match="2 molecules; the evaluation has 30"):
        numbers.report(tmp_path / "page.html", molecules=Structures(["C", "CC"]))
    with pytest.raises(OptionError, match=r"caveat\.molecules\.Structures; got a list"):
        numbers.report(tmp_path / "page.html", molecules=["C"])
    comparison = caveat.compare(
        {"a": numbers.prediction, "b": numbers.prediction}, np.zeros(30), resamples=0
    )
    with pytest.raises(OptionError, match="page of an evaluation"):
        comparison.report(tmp_path / "page.html", molecules=Structures(SMILES))
