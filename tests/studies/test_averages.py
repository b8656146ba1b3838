"""Tables over several data sets: the printed averages, known numbers, and one page."""

import numpy as np
import pytest

from caveat.exceptions import OptionError
from caveat.experiments import Protocol
from caveat.studies import STUDIES, averages, disentanglement, run_study
from caveat.studies.study import Measured
from caveat.studies.summary import Summary

from .disentanglements import SMALL, perfect, trap

pytest.importorskip("torch")
STUDY = STUDIES["disentanglement-averages"]


def test_printed_averages_are_those_of_the_printed_numbers():
    cells = {}
    for cell, text, _ in averages.PAPER.cells("wine"):
        key = cell["source"], cell["measure"], cell["method"], cell["decomposition"]
        cells.setdefault(key, {})[cell["data"]] = float(text)
    assert len(cells) == 8 * (1 + 2 + 2 + 2)
    wrong = []
    for key, by_data in cells.items():
        average = by_data.pop("average")
        numbers = list(by_data.values())
        assert len(numbers) == 4
        mean = np.mean(np.abs(numbers) if key[1].endswith("orthogonality") else numbers)
        if abs(mean - average) > 0.0015:  # what was averaged was rounded itself
            wrong.append(key)
    assert wrong == []


def measured(name, result):
    """What the study of one data set measured, with curves that are known."""
    values, summaries = disentanglement.values_of(
        {("flipout", "information"): result}, {}, {}, [], 0.95
    )
    return Measured(name, "", "", 3, values, summaries, details={"flipout, information": result})


def test_averages_of_known_curves():
    results = {"wine": perfect("information"), "bci": trap("information", repeats=2)}
    values, summaries = {}, {}
    for name, result in results.items():
        # Curves without samples have no correlation of both parts.
        for curve in result.curves:
            object.__setattr__(curve, "part_correlation", np.full(curve.score.shape, 0.25))
        own, curves = averages.numbers_of(name, measured(name, result))
        values |= own
        summaries |= curves
    means, of_curves = averages.averages_of(values, summaries, 0.95)
    flipout = "average", "flipout", "information"
    np.testing.assert_allclose(means["table 2", *flipout, "error"], [0.25, 0.25])
    assert of_curves["table 5", *flipout, "aleatoric_orthogonality"].mean == pytest.approx(0.5)
    assert of_curves["table 6", *flipout, "aleatoric_consistency"].mean == pytest.approx(1)
    together = values["theorem 3.2", "wine", "flipout", "information", "part_correlation"]
    np.testing.assert_allclose(together, 0.25)
    assert not any(source == "theorem 3.2" for source, *_ in means)


def test_correlations_where_zero_is_ideal_are_averaged_without_their_sign():
    keys = [("table 6", name, "flipout", "information", term)
            for term in ("epistemic_orthogonality", "aleatoric_consistency")
            for name in ("wine", "bci")]  # fmt: skip
    values = {key: np.array([v, v]) for key, v in zip(keys, (-0.6, 0.4, -0.2, 0.8), strict=True)}
    summaries = {key: Summary(v[0], -1, 1, 0.3, runs=2) for key, v in values.items()}
    means, of_curves = averages.averages_of(values, summaries, 0.95)
    unsigned, signed = (
        ("table 6", "average", "flipout", "information", term)
        for term in ("epistemic_orthogonality", "aleatoric_consistency")
    )
    assert means[unsigned] == pytest.approx([0.5, 0.5])
    assert of_curves[signed].mean == pytest.approx(0.3)
    # The standard error of a mean of two independent numbers, and its interval.
    assert of_curves[unsigned].spread == pytest.approx(0.3 / np.sqrt(2))
    reach = 1.959964 * 0.3 / np.sqrt(2)
    assert of_curves[unsigned].mean_low == pytest.approx(0.5 - reach)
    assert of_curves[unsigned].mean_high == pytest.approx(0.5 + reach)


def test_one_page_of_two_data_sets(monkeypatch, tmp_path):
    protocol = Protocol(sizes=(0.3, 1), noise=(0, 1), repeats=2)
    alone = disentanglement.take_samples

    def few(task):  # a second table in the place of images
        from dataclasses import replace

        name = task.dataset
        return replace(alone(replace(task, dataset="wine")), name=name, title=name)

    monkeypatch.setattr(disentanglement, "take_samples", few)
    study = run_study(
        "disentanglement-averages", "wine, fashion-mnist", methods="mc-dropout",
        decompositions="information", detection=True, protocol=protocol,
        settings={**SMALL, "module": None}, random_state=0, checkpoint=tmp_path / "kept",
    )  # fmt: skip
    assert study.dataset == "wine, fashion-mnist"
    tables = {row.source for row in study}
    assert tables == {"table 2", "table 4", "table 5", "table 6", "theorem 3.2"}
    rows = {row.data: row for row in study.select(source="table 2")}
    assert {*rows} == {"wine", "fashion-mnist", "average"}
    assert rows["average"].printed == "0.460"
    both = (rows["wine"].mean + rows["fashion-mnist"].mean) / 2
    assert rows["average"].mean == pytest.approx(both)
    assert all(row.differs is None for row in study)
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"wine", "fashion-mnist"}
    page = study.report(tmp_path / "page.html").read_text("utf-8")
    assert "theorem 3.2" in page
    assert list(study.charts()) == ["averages", "errors"]


def test_limits_and_errors():
    assert averages.limits("part_correlation") == (-1, 1)
    assert averages.limits("error") == (0, 1.5)
    with pytest.raises(OptionError, match="there is no data set 'two-moons'"):
        run_study("disentanglement-averages", "wine,two-moons")
