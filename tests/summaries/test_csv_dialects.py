"""Text files in pieces are read as they are written, or not at all."""

import numpy as np
import pytest

import caveat


def rows(mark, separator, number=4000):
    rng = np.random.default_rng(0)
    p = rng.random(number)
    y = (rng.random(number) < p).astype(int)
    lines = [
        f"{value:.6f}".replace(".", mark) + f"{separator}{label}"
        for value, label in zip(p, y, strict=True)
    ]
    return p, y, "\n".join([f"p{separator}y", *lines]) + "\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_decimal_comma_and_encodings(tmp_path, encoding):
    p, _, text = rows(",", ";")
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(text, encoding=encoding)
    summary = caveat.summarize(str(tmp_path / "*.csv"))
    assert summary.samples == 2 * len(p)
    assert np.sort(summary.kept.prediction.mean[:, 1])[::2] == pytest.approx(
        np.sort(np.round(p, 6))
    )


def test_thousands_marks_are_settled_by_the_whole_file(tmp_path):
    lines = ["mean;sd;y", *(f"1.{i:03},5;2,5;1.{i:03},0" for i in range(200))]
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(lines) + "\n")
    summary = caveat.summarize([path], mean="mean", std="sd", target="y")
    assert summary.kept.prediction.mean.min() == 1000.5


def test_numbers_that_can_be_read_in_two_ways_are_refused(tmp_path):
    path = tmp_path / "doubt.csv"
    path.write_text("mean;sd;y\n" + "1.234;2.345;1.234\n" * 50)
    with pytest.raises(caveat.exceptions.CaveatError, match="decimal"):
        caveat.summarize([path], mean="mean", std="sd", target="y")
