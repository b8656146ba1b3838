"""A page for one subject: the evaluation of its windows, and its signal over time."""

import numpy as np
import pytest

import caveat
from caveat.exceptions import OptionError
from caveat.report import write_report
from caveat.signals import Signals, StreamRecord

from ..report.pages import read


class Level:
    def predict_distribution(self, X):
        mean = X.mean(axis=2)
        return caveat.Gaussian(mean, np.full(mean.shape, 0.1))


def one_subject(channels=1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, channels, 50))
    X[4] = 1.0
    y = X.mean(axis=2) + 0.3 * rng.normal(size=(30, channels))
    signals = Signals(X, 10, y=y, subject=["a"] * 30)
    return caveat.stream(Level(), 10, 5, channels=channels).replay(signals)


def figures(page):
    at = page.text.index("Signal over time", page.text.index("The numbers"))
    return page.text[at:]


@pytest.mark.parametrize("channels", [1, 2])
def test_the_page_has_the_signal_with_what_was_said(tmp_path, channels):
    record = one_subject(channels)
    result = caveat.evaluate(*record.samples(), resamples=0)
    path = write_report(result, tmp_path / "a.html", title="Subject a", record=record)
    page = read(path)
    assert "Subject a" in page.text
    shown = figures(page)
    assert "30 windows from 0 to 150 s: 29 accept, 1 no signal (flat)." in shown
    assert shown.count("Predictions over time") >= channels
    assert "The signal" in shown


def test_a_record_without_signal_has_its_predictions(tmp_path):
    record = one_subject()
    bare = StreamRecord(record.events, truth=record.truth)
    result = caveat.evaluate(*bare.samples(), resamples=0)
    shown = figures(read(result.report(tmp_path / "a.html", record=bare)))
    assert "Predictions over time" in shown
    assert "Windows that cannot be used are shaded" not in shown


def test_what_is_no_record(tmp_path):
    record = one_subject()
    prediction, y = record.samples()
    result = caveat.evaluate(prediction, y, resamples=0)
    with pytest.raises(OptionError, match=r"record must be a caveat\.signals\.StreamRecord; got a"):
        write_report(result, tmp_path / "a.html", record=record.events)
    both = caveat.compare({"a": prediction, "b": prediction}, y, resamples=0)
    with pytest.raises(OptionError, match="record is shown on the page of an evaluation"):
        write_report(both, tmp_path / "a.html", record=record)
