"""Measures side by side: table VII's columns against scipy, the verdict against known orders."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

import caveat
from caveat.confusion._measure_rows import skewness
from caveat.exceptions import OptionError, ShapeError
from caveat.uncertainty import MEASURES

H = np.array([[0, 1.0, 4], [1, 0, 4], [4, 4, 0]])


def draw(samples=400, seed=0, sharp=1.0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.7, 0.5, 0.3], samples)
    y = (rng.random((samples, 1)) > p.cumsum(axis=1)).sum(axis=1)
    return p**sharp / (p**sharp).sum(axis=1, keepdims=True), y


def test_rows_against_scipy():
    p, y = draw()
    result = caveat.compare_measures(p, y, distances=H, resamples=0)
    wrong = p.argmax(axis=1) != y
    assert {row.measure for row in result.rows} == set(MEASURES)
    for row in result.select(one_class=""):
        values = caveat.measure(p, row.measure, **({"H": H} if "homo" in row.measure else {}))
        assert row.right_mean == pytest.approx(values[~wrong].mean())
        assert row.wrong_skewness == pytest.approx(stats.skew(values[wrong]))
        assert row.detection == pytest.approx(roc_auc_score(wrong, values))
        assert np.isnan(row.low)
        assert row.right + row.wrong == len(y)
    (row,) = result.select(one_class="1", measure="margin")
    own = y == 1
    assert row.detection == pytest.approx(
        roc_auc_score(wrong[own], caveat.measure(p, "margin")[own])
    )


def test_a_measure_that_is_better_is_shown_to_be():
    p, y = draw(1500)
    rng = np.random.default_rng(1)
    noise = rng.normal(size=p.shape)  # the energy of random logits says nothing
    result = caveat.compare_measures(
        p, y, logits=noise, measures=["gini", "least_confidence"], by_class=False, random_state=0
    )
    (energy,) = result.select(measure="energy")
    assert energy.behind_low > 0.1
    assert energy.low < 0.5 < energy.high
    assert "Shown to be worse: energy." in str(result.verdict())
    assert "separates wrong from right predictions best" in result.verdict().statements[0].text
    assert result.verdict().statements[0].level == "good"
    text = repr(result)
    assert "The data cannot show that" in text
    assert "energy" in result._repr_html_()


def test_energy_is_minus_the_log_of_the_sum():
    p, y = draw(50)
    logits = np.log(p) + 3.0
    result = caveat.compare_measures(p, y, logits=logits, resamples=0)
    np.testing.assert_allclose(result.values["energy"], -3.0, atol=1e-12)
    with pytest.raises(ShapeError, match=r"shape of the probabilities, \(50, 3\); got \(50, 2\)"):
        caveat.compare_measures(p, y, logits=logits[:, :2])


def test_two_classes_have_one_order():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    result = caveat.compare_measures(
        p, y, measures=["gini", "entropy", "margin"], resamples=40, random_state=0
    )
    assert [row.behind for row in result.select(one_class="")] == pytest.approx(
        [0, 0, 0], abs=1e-12
    )
    assert "do so equally well in these samples." in str(result.verdict())


@pytest.mark.parametrize(("y", "words"), [([0, 0], "right"), ([1, 1], "wrong")])
def test_nothing_to_tell_apart(y, words):
    p = caveat.Categorical([[0.9, 0.1], [0.8, 0.2]])
    result = caveat.compare_measures(p, y, resamples=20)
    assert f"All predictions are {words}" in str(result.verdict())
    assert np.isnan(result.rows[0].detection)
    assert caveat.plot(result, "measure_ecdf").get_xlabel() == "least confidence"
    with pytest.raises(OptionError, match="measure must be one of"):
        caveat.charts.measure_ecdf(result, "none")


def test_uncertainty_of_a_few_samples_is_unsure():
    p, y = draw(8, seed=3)
    result = caveat.compare_measures(p, y, measures=["confused_classes"], random_state=0)
    assert result.verdict().statements[0].level == "unsure"
    assert len(result.verdict()) == 1  # it is no measure from 0 to 1


def test_binary_variance_falls_with_the_number_of_confused_classes():
    """Figure 9: all measures increase with the number of confused classes but the variance."""
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.dirichlet(np.full(6, a), 4000) for a in (0.1, 0.5, 3.0, 30.0)])
    frame = caveat.compare_measures(p, p.argmax(axis=1), resamples=0).by_confusion()
    frame = frame[frame["samples"] > 50]
    assert frame["gini_impurity"].is_monotonic_increasing
    assert frame["shannon_entropy"].is_monotonic_increasing
    assert not frame["binary_variance"].is_monotonic_increasing


def test_near_misses():
    """Figure 8: homophily is below the equidistant case for close classes, above for distant."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 0], 200)
    p = np.full((400, 3), 0.02)
    top = rng.uniform(0.5, 0.6, 400)
    p[:200, 1], p[:200, 0] = top[:200], 0.98 - top[:200]
    p[200:, 2], p[200:, 0] = top[200:], 0.98 - top[200:]
    frame = caveat.compare_measures(p, y, distances=H, resamples=0).near_misses()
    assert frame[["true", "predicted", "samples"]].to_numpy().tolist() == [[0, 1, 200], [0, 2, 200]]
    near, far = frame.iloc[0], frame.iloc[1]
    assert near["homophily_mean"] < 0.2 < near["equidistant_mean"]
    assert far["homophily_mean"] > far["equidistant_mean"]
    gini = caveat.measure(p, "gini")[:200]
    chart = caveat.charts.measure_ecdf(caveat.compare_measures(p, y, resamples=0), "gini")
    assert chart.numbers["right"].sum() == 0  # there are none
    assert near["equidistant_deviation"] == pytest.approx(gini.std())
    with pytest.raises(OptionError, match="near misses need distances between the classes"):
        caveat.compare_measures(p, y, resamples=0).near_misses()


def test_options():
    p, y = draw(50)
    with pytest.raises(OptionError, match="homophily_uncertainty needs distances"):
        caveat.compare_measures(p, y, measures=["homophily"])
    result = caveat.compare_measures(p, y, measures=["margin"], distances=H, resamples=0)
    assert list(result.values) == ["margin", "homophily_uncertainty", "gini_impurity"]


def test_skewness():
    assert skewness(np.array([0.0, 0.0, 3.0])) == pytest.approx(stats.skew([0.0, 0.0, 3.0]))
    assert np.isnan(skewness(np.ones(4)))
    assert np.isnan(skewness(np.array([])))


def test_pages(tmp_path):
    p, y = draw(120)
    result = caveat.compare_measures(p, y, distances=H, resamples=40, random_state=0)
    page = result.report(tmp_path / "m.html").read_text(encoding="utf-8")
    assert "Which measure of uncertainty finds the wrong predictions?" in page
    assert "By true class" in page
    plain = caveat.compare_measures(p, y, by_class=False, resamples=0)
    assert "By true class" not in plain.report(tmp_path / "p.html").read_text(encoding="utf-8")
    policy = caveat.TriagePolicy(0.4, random_state=0)
    with pytest.raises(OptionError, match="policy decides on predictions"):
        result.report(tmp_path / "m.html", policy=policy)


class TestClassEcdf:
    """Figures 14 and 15: all measures of right and of wrong predictions of one class."""

    def setup_method(self):
        rng = np.random.default_rng(4)
        self.y = rng.integers(3, size=1500)
        # Classes 0 and 1 are taken for each other, class 2 for the distant class 0.
        other = np.array([1, 0, 0])[self.y]
        share = rng.uniform(0.2, 0.9, 1500)
        p = np.full((1500, 3), 0.04)
        p[np.arange(1500), self.y] += 0.88 * share
        p[np.arange(1500), other] += 0.88 * (1 - share)
        self.result = caveat.compare_measures(p, self.y, distances=H, resamples=30, random_state=0)

    @pytest.mark.parametrize("one_class", [None, 0, 1, 2])
    def test_shares_are_those_of_a_count(self, one_class):
        result = self.result
        right, wrong = caveat.charts.class_ecdf(result, one_class)
        own = np.ones(1500, bool) if one_class is None else self.y == one_class
        for chart, part in ((right, own & ~result.wrong), (wrong, own & result.wrong)):
            assert chart.note.startswith(f"{part.sum():,} predictions. Best error detection: ")
            assert set(chart.numbers) == {"value", *result.values} - {"confused_classes"}
            for name in ("gini_impurity", "homophily_uncertainty", "margin"):
                expected = [(result.values[name][part] <= t).mean() for t in chart.numbers["value"]]
                np.testing.assert_allclose(chart.numbers[name], expected, atol=1e-12)
        assert len({(mark.color, mark.dash) for mark in wrong.marks}) == len(wrong.marks) == 10

    def test_homophily_sees_which_class_is_taken_for_a_distant_one(self):
        """The paper's reading: alike by the Gini index, far apart by homophily."""
        above = {}
        for one_class in (1, 2):
            numbers = caveat.charts.class_ecdf(self.result, one_class)[1].numbers
            at = int(np.searchsorted(numbers["value"], 0.6))
            above[one_class] = [
                1 - numbers[name][at] for name in ("gini_impurity", "homophily_uncertainty")
            ]
        assert min(above[1][0], above[2][0]) > 0.5
        assert above[1][1] < 0.1
        assert above[2][1] > 0.9

    def test_views_are_classes_with_wrong_predictions(self):
        from caveat.charts import CHARTS

        entry = CHARTS["class_ecdf"]
        assert entry.views(self.result) == [{}, *({"one_class": k} for k in range(3))]
        p = np.full((40, 20), 0.01)
        p[np.arange(40), np.arange(40) % 20] = 0.81
        y = np.arange(40) % 20
        y[:16] = y[:16] % 8 + 10  # classes 10 to 17 have two wrong predictions each
        few = caveat.compare_measures(p, y, resamples=0)
        assert entry.views(few) == [{}, *({"one_class": k} for k in range(10, 13))]

    def test_one_part_and_none(self):
        p = caveat.Categorical([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0]], classes=["a", "b", "c"])
        (only,) = caveat.charts.class_ecdf(caveat.compare_measures(p, ["a", "a"], resamples=0), "a")
        assert only.title == "Right predictions of class a"
        assert only.note == "2 predictions."
        result = caveat.compare_measures(p, ["a", "b"], resamples=0, by_class=False)
        assert [one.title for one in caveat.charts.class_ecdf(result)] == [
            "Right predictions",
            "Wrong predictions",
        ]
        with pytest.raises(OptionError, match="no sample has the true class 'c'"):
            caveat.charts.class_ecdf(result, "c")
        with pytest.raises(OptionError, match="one_class must be one of 'a', 'b', 'c'; got 'z'"):
            caveat.charts.class_ecdf(result, "z")


def test_one_cluster_shows_nothing():
    p, y = draw()
    result = caveat.compare_measures(p, y, cluster=np.zeros(len(y)), random_state=0)
    assert all(np.isnan(row.behind_low) for row in result.rows if row.behind > 0)
    assert "Shown to be worse" not in str(result.verdict())
    assert "The data cannot show that" in str(result.verdict())


def test_a_class_without_a_name_is_not_all_samples(tmp_path):
    p, y = draw()
    names = np.array(["", "oak", "road"])
    options = {"measures": ["gini", "margin"], "random_state": 0, "resamples": 50}
    result = caveat.compare_measures(caveat.Categorical(p, classes=names), names[y], **options)
    plain = caveat.compare_measures(p, y, **options)
    assert str(result.verdict()) == str(plain.verdict())
    assert result.tables() == plain.tables()
    assert [row.one_class for row in result.rows[2::2]] == ["''", "oak", "road"]


def test_means_that_are_not_there_are_called_none(tmp_path):
    p = caveat.Categorical(np.tile([0.8, 0.2], (4, 1)), classes=["no", "yes"])
    result = caveat.compare_measures(p, ["no"] * 4, measures=["gini"], resamples=0)
    assert result.tables()[0][2][0][1:3] == ["0.64, none", "none, none"]
    text = result.report(tmp_path / "m.html").read_text(encoding="utf-8")
    assert "<bdi>nan</bdi>" not in text
    assert "<bdi>none</bdi>" in text


def test_near_misses_of_long_names_keep_how_many_they_are():
    p = np.tile([0.4, 0.6, 0.0], (7, 1))
    names = np.array(["a very long name of a class " * 4 + str(k) for k in range(3)])
    result = caveat.compare_measures(
        caveat.Categorical(p, classes=names), names[np.zeros(7, int)], distances=H, resamples=0
    )
    chart = caveat.charts.near_misses(result)
    assert chart.y.ticks[0][1].endswith("(7)")
