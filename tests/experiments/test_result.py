import json

import numpy as np
import pytest

from caveat.exceptions import FileFormatError, OptionError, UnknownNameError
from caveat.experiments import (
    Check,
    ClassDetection,
    Cost,
    Curve,
    Disentanglement,
    DomainShift,
    Protocol,
    ShiftCurves,
)
from caveat.experiments._checks import checks_of, smaller_sizes

SIZES, NOISE = (0.1, 0.5, 1.0), (0.0, 1.0)


def build(names=("information", "variance"), repeats=3, **given):
    draw = np.random.default_rng(0)
    curves = []
    for name in names:
        curves.append(
            Curve("size", name, SIZES, *draw.random((4, repeats, 3)), samples=[10, 50, 100])
        )
        curves.append(Curve("noise", name, NOISE, *draw.random((3, repeats, 2))))
    return Disentanglement(
        curves=tuple(curves),
        model="<b>Model</b>",
        samples=1000,
        test_samples=200,
        checks=(Check("one", True, "fine"), Check("two", False, "not <i>fine</i>")),
        notes=("a & b",),
        cost=Cost(30, 1200, 1.5),
        confidence=0.9,
        **given,
    )


def test_json_gives_the_same_again():
    result = build()
    again = Disentanglement.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    assert repr(again) == repr(result)
    assert (again.checks, again.notes, again.cost) == (result.checks, result.notes, result.cost)
    assert again.protocol == result.protocol == Protocol(SIZES, NOISE, 3)
    for a, b in zip(again.curves, result.curves, strict=True):
        for name in ("levels", "score", "aleatoric", "epistemic", "train_score", "samples"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert again.error().value == result.error().value


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "else"}', None])
def test_other_json_is_refused(text):
    with pytest.raises(FileFormatError, match=r"not what Disentanglement.to_json writes"):
        Disentanglement.from_json(text)


@pytest.mark.parametrize("kind", [Disentanglement, ClassDetection, ShiftCurves, DomainShift])
def test_json_that_lacks_something(kind):
    text = json.dumps({"format": kind.format_name, "version": 1})
    message = rf"text is not what {kind.__name__}.to_json writes; it has no \w+, \w+"
    with pytest.raises(FileFormatError, match=message):
        kind.from_json(text)
    with pytest.raises(FileFormatError, match="writes; it has no version"):
        kind.from_json(json.dumps({"format": kind.format_name}))
    with pytest.raises(FileFormatError, match="newer version of caveat"):
        kind.from_json(json.dumps({"format": kind.format_name, "version": 2}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("curves", 3),
        ("curves", []),
        ("curves", [{"kind": "size"}]),
        ("curves", [[1]]),
        ("cost", {"price": 3}),
        ("cost", None),
        ("protocol", {"sizes": [3], "noise": [0, 1], "repeats": 3, "schedule": "none"}),
        ("protocol", []),
    ],
)
def test_json_that_cannot_be_read(name, value):
    content = json.loads(build().to_json()) | {name: value}
    with pytest.raises(
        FileFormatError, match=r"Disentanglement.to_json writes; it cannot be read: "
    ):
        Disentanglement.from_json(json.dumps(content))


def test_newer_json_is_refused():
    content = json.loads(build().to_json())
    content["version"] = 2
    with pytest.raises(FileFormatError, match="newer version"):
        Disentanglement.from_json(json.dumps(content))


def test_frame():
    result = build()
    frame = result.to_frame()
    assert len(frame) == 2 * 3 * (3 + 2)
    row = frame.query(
        "decomposition == 'variance' and kind == 'size' and level == 0.5 and repeat == 2"
    )
    curve = result.curve("size", "variance")
    assert row["score"].item() == curve.score[2, 1]
    assert row["train_score"].item() == curve.train_score[2, 1]
    assert row["samples"].item() == 50
    assert frame.query("kind == 'noise'")["train_score"].isna().all()


def test_decompositions_by_name():
    result = build()
    assert result.decompositions == ("information", "variance")
    assert result.error().decomposition == "information"
    assert result.error(decomposition="kwon").decomposition == "variance"
    assert result.verdict("variance").decomposition == "variance"
    with pytest.raises(
        OptionError, match="decomposition 'kl' was not asked for; there are information, variance"
    ):
        result.error(decomposition="kl")
    with pytest.raises(UnknownNameError, match="unknown decomposition 'nothing'"):
        result.error(decomposition="nothing")
    own = build(names=("my own",))
    assert own.error(decomposition="my own").decomposition == "my own"


def test_what_a_reader_sees():
    text = repr(build())
    assert text.startswith(
        "Disentanglement of <b>Model</b>, 1,000 samples, 200 for testing, 3 repeats\n"
    )
    assert text.count("C1 aleatoric consistency") == 2
    assert "90% intervals over 3 repeats" in text
    assert "passed: one: fine" in text
    assert "FAILED: two: not <i>fine</i>" in text
    assert "a & b" in text
    page = build()._repr_html_()
    assert "&lt;b&gt;Model&lt;/b&gt;" in page
    assert "not &lt;i&gt;fine&lt;/i&gt;" in page
    assert "a &amp; b" in page
    assert "<b>" not in page
    once = repr(build(repeats=1))
    assert "nan" not in once.lower()
    assert "intervals" not in once
    bare = Disentanglement(curves=build().curves)
    assert bare.description == "Disentanglement, 3 repeats"


def test_charts_and_page(tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    result = build()
    try:
        result.plot()
        assert plt.get_fignums()
    finally:
        plt.close("all")
    result.report(tmp_path / "page.html")
    assert "&lt;b&gt;Model&lt;/b&gt;" in (tmp_path / "page.html").read_text(encoding="utf-8")


def checked(score, train_score=None, noise=((0.9, 0.5),), schedule="inverse-epochs", network=True,
            least=3, samples=1000, sizes=SIZES, own_score=False, task="classification"):  # fmt: skip
    score = np.atleast_2d(score)
    u = np.ones_like(score)
    noise = np.broadcast_to(noise, (len(score), 2))
    curves = (
        Curve("size", "information", sizes, score, u, u, None if train_score is None else np.atleast_2d(train_score)),
        Curve("noise", "information", NOISE, noise, noise, noise),
    )  # fmt: skip
    protocol = Protocol(sizes, NOISE, len(score), schedule)
    found = checks_of(curves, protocol, least, samples, network, own_score, task)
    return {check.name: check for check in found}


SIZE, NOISY, FITTED = (
    "the score moves with the training size",
    "the score falls with the noise",
    "small training sets are fitted as well as large ones",
)


def test_scores_that_move():
    found = checked([[0.5, 0.7, 0.9]])
    assert list(found) == [SIZE, NOISY]
    assert all(check.passed for check in found.values())
    assert found[SIZE].text == (
        "the score is 0.900 with 100 % of the training samples and 0.500 with 10 %"
    )
    assert (
        found[NOISY].text
        == "the score is 0.900 with 0 % of the labels permuted and 0.500 with 100 %"
    )
    found = checked([[0.5, 0.7, 0.9]], task="regression")
    assert "with 0 % of the targets permuted" in found[NOISY].text


def test_scores_that_do_not_move():
    found = checked([[0.9, 0.92, 0.94]], noise=((0.5, 0.48),))
    assert not found[SIZE].passed
    assert "try smaller sizes as well, such as 0.0034, 0.011, 0.033" in found[SIZE].text
    assert not found[NOISY].passed
    assert "does no better than chance" in found[NOISY].text
    assert "sizes cannot be smaller here" in checked([[0.9, 0.92, 0.94]], samples=30)[SIZE].text
    # It rises where it should fall.
    assert not checked([[0.9, 0.7, 0.5]])[SIZE].passed


def test_a_change_within_the_spread_of_repeats_is_none():
    assert not checked([[0.5, 0.7, 0.9], [0.9, 0.7, 0.6]])[SIZE].passed
    assert checked([[0.5, 0.7, 0.9], [0.5, 0.7, 0.8]])[SIZE].passed


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_score_of_ones_own_has_its_own_scale(unit):
    def passed(*score, **options):
        options = {"noise": ((0.9, 0.5),), **options}
        scaled = {name: unit * np.array(value) for name, value in options.items()}
        found = checked(unit * np.array([score]), own_score=True, **scaled)
        return [check.passed for check in found.values()]

    text = checked(unit * np.array([[0.5, 0.7, 0.9]]), own_score=True)[SIZE].text
    assert f"{0.5 * unit:.3g}".rstrip("0") in text
    assert passed(0.5, 0.7, 0.9) == [True, True]
    assert passed(0.885, 0.89, 0.9) == [False, True]
    assert passed(0.5, 0.7, 0.9, noise=[[0.9, 0.89]]) == [True, False]
    assert passed(0.5, 0.7, 0.9, train_score=[[0.97, 0.98, 0.98]]) == [True, True, True]
    assert passed(0.5, 0.7, 0.9, train_score=[[0.9, 0.98, 0.98]]) == [True, True, False]


def test_smaller_sizes():
    assert smaller_sizes(0.01, 0.008) == []
    for first, least in ((0.25, 0.001), (0.01, 0.002), (1.0, 0.5), (0.1, 0.03)):
        found = [float(size) for size in smaller_sizes(first, least)]
        assert all(least <= size < first for size in found)
        assert found == sorted(found)


def test_underfitting():
    assert checked([[0.5, 0.7, 0.9]], [[1, 0.99, 0.98]])[FITTED].passed
    found = checked([[0.5, 0.7, 0.9]], [[0.7, 0.9, 0.98]])[FITTED]
    assert not found.passed
    assert found.text == (
        "the score on the samples learned from is 0.980 with 100 % of them and 0.700 with 10 %: the "
        "model underfits there, and passes off what it did not learn as aleatoric uncertainty; "
        "train for more epochs"
    )
    found = checked([[0.5, 0.7, 0.9]], [[0.7, 0.9, 0.98]], schedule="constant-epochs")[FITTED]
    assert "use schedule='inverse-epochs' in place of 'constant-epochs'" in found.text
    found = checked([[0.5, 0.7, 0.9]], [[0.7, 0.9, 0.98]], network=False)[FITTED]
    assert "give the model more freedom on few samples" in found.text
