"""Loops against brute force from the papers, and what is refused."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import caveat
from caveat.exceptions import (
    CaveatError,
    FileFormatError,
    InvalidValueError,
    OptionError,
    ShapeError,
    UnsupportedPredictionError,
)

METHODS = [caveat.AdaptiveConformal, caveat.AggregatedConformal, caveat.BlockConformal]
EACH = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)


def series(samples=300, targets=1, seed=0):
    rng = np.random.default_rng(seed)
    scale = np.where(np.arange(samples) < samples // 2, 1.0, 3.0)[:, None]
    y = rng.normal(size=(samples, targets)) * scale
    return caveat.Gaussian(rng.normal(size=(samples, targets)) * 0.1, 1.0 + 0 * y), y


def quantile(past, level):
    k = int(np.ceil((len(past) + 1) * (1 - level) - 1e-9))
    return np.inf if k > len(past) else -np.inf if k < 1 else np.sort(past)[k - 1]


class TestAdaptive:
    @pytest.mark.parametrize("window", [None, 40])
    @pytest.mark.parametrize("step", [0.005, 0.2])
    def test_from_the_paper(self, window, step):
        prediction, y = series()
        run = caveat.AdaptiveConformal(0.8, step=step, window=window).run(
            prediction, y, time="rows"
        )
        mean, truth = prediction.mean[0, :, 0], y[:, 0]
        scores, alpha = np.abs(truth - mean), 0.2
        for t in range(len(truth)):
            past = scores[max(0, t - (window or t)) : t]
            q = quantile(past, alpha)
            missed = not scores[t] <= q or q == -np.inf
            assert run.level[t, 0] == pytest.approx(alpha)
            assert run.covered[t, 0] == (not missed)
            expected = mean[t] if q == -np.inf else mean[t] + q
            assert run.interval.upper[t, 0] == pytest.approx(expected)
            alpha += step * (0.2 - missed)

    def test_intervals_cover_what_is_said(self):
        prediction, y = series()
        run = caveat.AdaptiveConformal(0.8, step=0.1).run(prediction, y, time="rows")
        inside = (run.interval.lower <= y) & (y <= run.interval.upper)
        np.testing.assert_array_equal(run.covered, inside)
        assert run.interval.coverage == 0.8

    def test_the_bound_holds_at_every_time(self):
        """Also for a series that knows the interval and always goes outside, or never."""
        for clever in (True, False):
            live = caveat.AdaptiveConformal(0.9, step=0.05, window=50)
            zero = caveat.Gaussian([0.0], 1.0)
            for t in range(1, 300):
                upper = live.interval(zero).upper[0, 0]
                live.update(zero, [1e3 + t if np.isinf(upper) else (upper + 1) * clever])
                assert abs(live.covered_[0] - 0.9) <= live.bound_ + 1e-12
            assert live.bound_ == pytest.approx((0.9 + 0.05) / (299 * 0.05))

    def test_blocks(self):
        """All samples of a block have the state from before it."""
        prediction, y = series()
        run = caveat.AdaptiveConformal(0.8, step=0.05).run(prediction, y, time="rows", block=7)
        scores, alpha = np.abs(y[:, 0] - prediction.mean[0, :, 0]), 0.2
        for start in range(0, 300, 7):
            rows = slice(start, start + 7)
            np.testing.assert_allclose(run.level[rows, 0], alpha)
            missed = scores[rows] > quantile(scores[:start], alpha)
            np.testing.assert_array_equal(run.covered[rows, 0], ~missed)
            alpha += 0.05 * (0.2 * len(missed) - missed.sum())
        assert run.bound == pytest.approx((0.8 + 7 * 0.05) / (300 * 0.05))

    def test_an_empty_interval_counts_as_missed(self):
        """Truths that the mean hits: a level of 1 shows a point, which would hold them."""
        zero = caveat.Gaussian(np.zeros(60), 1.0)
        run = caveat.AdaptiveConformal(0.5, step=0.5, window=None).run(
            zero, np.zeros(60), time="rows"
        )
        empty = run.level[:, 0] >= 1
        assert empty.any()
        assert not run.covered[empty].any()
        assert (run.interval.upper[empty] == run.interval.lower[empty]).all()
        assert abs(run.coverage[0] - 0.5) <= run.bound

    @pytest.mark.parametrize("make", [caveat.AdaptiveConformal, caveat.AggregatedConformal])
    def test_the_bound_holds_for_late_truths(self, make):
        """All truths of 40 samples come after the last of them, and are outside if they can."""
        live, zero = make(0.9), caveat.Gaussian([0.0], 1.0)
        for t in range(30):
            upper = live.interval(zero).upper[0, 0]
            margins = live.margins_
            for k in range(40):
                worst = 1e3 + t if np.isinf(upper) else upper + 1
                live.update(zero, [worst], margins=margins, delay=40 - k)
                assert abs(live.covered_[0] - 0.9) <= live.bound_ + 1e-12

    def test_words(self):
        prediction, y = series()
        live = caveat.AdaptiveConformal(0.9, step=0.05)
        assert live.guarantee_ == (
            "In the long run 90 % of the samples are covered, whatever the series does."
        )
        run = live.run(prediction, y, time="rows")
        assert run.guarantee.endswith(
            "after 300 samples the share is within 0.0633 of it, with certainty. Nothing is "
            "promised for a given time."
        )
        few = caveat.AdaptiveConformal(0.9, step=0.05).run(prediction.take([0]), y[:1], time="rows")
        assert few.bound == pytest.approx(19)
        assert few.guarantee == (
            "In the long run 90 % of the samples are covered, whatever the series does. There are "
            "too few samples yet to bound their share."
        )

    def test_refused_step(self):
        for step in (0, -1, np.inf, "fast"):
            with pytest.raises(OptionError, match="step must be a number above 0"):
                caveat.AdaptiveConformal(step=step).interval(series()[0])


class TestAggregated:
    def test_from_the_paper(self):
        """DtACI, algorithm 1, with the average of the levels and no correction."""
        prediction, y = series()
        steps, alpha, span = np.array([0.01, 0.1]), 0.2, 50
        run = caveat.AggregatedConformal(
            0.8, steps=steps.tolist(), horizon=span, correction=0, window=None
        ).run(prediction, y, time="rows")
        eta = np.sqrt(3 / span) * np.sqrt(
            (np.log(2 * span) + 2) / ((1 - alpha) ** 2 * alpha**3 + (1 - alpha) ** 3 * alpha**2)
        )
        sigma, w, levels = 1 / (2 * span), np.ones(2), np.full(2, alpha)
        scores = np.abs(y[:, 0] - prediction.mean[0, :, 0])
        for t in range(300):
            used = w @ levels / w.sum()
            assert run.level[t, 0] == pytest.approx(used)
            past = scores[:t]
            assert run.covered[t, 0] == (scores[t] <= quantile(past, used))
            beta = 1 - (past < scores[t]).sum() / (t + 1)
            loss = alpha * (beta - levels) - np.minimum(0, beta - levels)
            w = w * np.exp(-eta * loss)
            w = (1 - sigma) * w + sigma * w.sum() / 2
            w = w / w.sum()
            levels = levels + steps * (alpha - (levels >= beta))
        assert run.bound is None
        assert "Without a correction no coverage is promised" in run.guarantee

    def test_one_step_is_adaptive(self):
        prediction, y = series()
        one = caveat.AggregatedConformal(0.8, steps=[0.05], correction=0)
        other = caveat.AdaptiveConformal(0.8, step=0.05)
        np.testing.assert_allclose(
            one.run(prediction, y, time="rows").level, other.run(prediction, y, time="rows").level
        )

    def test_the_bound_holds_at_every_time(self):
        for clever in (True, False):
            live = caveat.AggregatedConformal(0.9, window=50, correction=0.05)
            zero = caveat.Gaussian([0.0], 1.0)
            for t in range(1, 300):
                upper = live.interval(zero).upper[0, 0]
                live.update(zero, [1e3 + t if np.isinf(upper) else (upper + 1) * clever])
                assert abs(live.covered_[0] - 0.9) <= live.bound_ + 1e-12
            assert live.bound_ == pytest.approx((1 + 0.128 + 0.05) / (299 * 0.05))
            assert "with certainty" in live.guarantee_

    def test_refused(self):
        prediction, _ = series()
        for steps in ([], 0.1, [[0.1]]):
            with pytest.raises(OptionError, match="steps must be one step size or more"):
                caveat.AggregatedConformal(steps=steps).interval(prediction)
        with pytest.raises(OptionError, match="steps must be a number above 0"):
            caveat.AggregatedConformal(steps=[0.1, 0]).interval(prediction)
        with pytest.raises(OptionError, match="horizon must be a whole number of at least 1"):
            caveat.AggregatedConformal(horizon=0).interval(prediction)
        with pytest.raises(OptionError, match="correction must be a number of at least 0"):
            caveat.AggregatedConformal(correction=-1).interval(prediction)


class TestBlocks:
    def test_by_brute_force(self):
        prediction, _ = series()
        y = np.random.default_rng(1).exponential(size=300)
        mean = prediction.mean[0, :, 0]
        run = caveat.BlockConformal(0.8, window=60).run(prediction, y, time="rows", block=10)
        for start in range(0, 300, 10):
            past = np.sort((y - mean)[max(0, start - 60) : start])
            number = int(np.ceil((len(past) + 1) * 0.8 - 1e-9))
            rows = slice(start, start + 10)
            if number > len(past):
                assert np.isinf(run.interval.upper[rows]).all()
                continue
            pairs = [(past[i + number - 1] - past[i], i) for i in range(len(past) - number + 1)]
            width, i = min(pairs)
            np.testing.assert_allclose(run.interval.lower[rows, 0], mean[rows] + past[i])
            np.testing.assert_allclose(
                (run.interval.upper - run.interval.lower)[rows, 0], width, atol=1e-12
            )
        inside = (run.interval.lower[:, 0] <= y) & (y <= run.interval.upper[:, 0])
        assert np.mean(run.covered[:, 0] == inside) > 0.99  # but for rounding at an end
        assert run.bound is None
        assert run.guarantee.startswith("About 80 % of the samples are covered, if the residuals")

    def test_symmetric_is_split_conformal(self):
        prediction, y = series()
        old, new = prediction.take(slice(0, 200)), prediction.take(slice(200, None))
        method = caveat.BlockConformal(0.9, shortest=False, window=None).warm_up(old, y[:200])
        expected = caveat.ConformalResiduals(0.9).fit(old, y[:200]).transform(new)
        np.testing.assert_allclose(method.interval(new).upper, expected.upper)
        np.testing.assert_allclose(method.interval(new).lower, expected.lower)

    def test_intervals_are_widened_alike(self):
        prediction, y = series()
        start = prediction.interval(0.5)
        run = caveat.BlockConformal(0.8).run(start, y, time="rows")
        both = [start.lower - run.interval.lower, run.interval.upper - start.upper]
        np.testing.assert_allclose(both[0][20:], both[1][20:])

    def test_refused(self):
        with pytest.raises(OptionError, match="shortest must be True or False; got 'yes'"):
            caveat.BlockConformal(shortest="yes").interval(series()[0])


@EACH
class TestAll:
    @pytest.mark.parametrize("block", [1, 5])
    def test_a_run_is_the_loop(self, method, block):
        prediction, y = series(targets=2)
        whole = method(0.8).run(prediction, y, time="rows", block=block)
        live, covered = method(0.8), []
        for start in range(0, 300, block):
            part = prediction.take(slice(start, start + block))
            interval = live.interval(part)
            rows = slice(start, start + block)
            np.testing.assert_array_equal(interval.upper, whole.interval.upper[rows])
            np.testing.assert_array_equal(interval.lower, whole.interval.lower[rows])
            covered.append(live.update(part, y[rows]))
        np.testing.assert_array_equal(np.concatenate(covered), whole.covered)
        np.testing.assert_allclose(live.covered_, whole.coverage)
        assert live.samples_ == 300

    def test_late_truths_are_judged_by_their_own_interval(self, method):
        """One by one, with the margins of their block: the same as the block at once."""
        prediction, y = series(targets=2)
        whole = method(0.8).run(prediction, y, time="rows", block=10)
        live, covered = method(0.8), []
        for start in range(0, 300, 10):
            live.interval(prediction.take(slice(start, start + 10)))
            margins = live.margins_
            for row in range(start, start + 10):
                one = prediction.take([row])
                inside = live.update(one, y[[row]], margins=margins, delay=start + 10 - row)
                covered.append(inside[0])
        if method is not caveat.AggregatedConformal:  # its weights move within a block
            np.testing.assert_array_equal(covered, whole.covered)
        assert live.bound_ == whole.bound
        for wrong, message in (
            ([[1.0, 1.0]], r"margins must have shape \(2, 2\), as margins_ has; got \(1, 2\)"),
            ([[1.0, np.nan]] * 2, "margins of target 0, end 1 is nan"),
            (["a"], "margins must"),
        ):
            with pytest.raises(CaveatError, match=message):
                live.update(one, y[[0]], margins=wrong)
        with pytest.raises(OptionError, match="delay must be a whole number of at least 1"):
            live.update(one, y[[0]], delay=0)

    def test_targets_do_not_know_each_other(self, method):
        prediction, y = series(targets=2)
        both = method(0.8).run(prediction, y, time="rows")
        second = caveat.Gaussian(prediction.mean[0, :, 1], 1.0)
        alone = method(0.8).run(second, y[:, 1], time="rows")
        np.testing.assert_array_equal(both.interval.upper[:, [1]], alone.interval.upper)

    @pytest.mark.parametrize("kind", ["Gaussian", "Quantiles", "Interval"])
    def test_a_file_goes_on(self, method, kind, tmp_path):
        prediction, y = series()
        if kind == "Quantiles":
            prediction = prediction.to_quantiles([0.1, 0.5, 0.9])
        elif kind == "Interval":
            prediction = prediction.interval(0.8)
        first, then = prediction.take(slice(0, 150)), prediction.take(slice(150, None))
        live = method(0.8, window=100)
        times = pd.date_range("2026-01-01", periods=300, freq="h")
        live.run(first, y[:150], time=times[:150])
        live.save(tmp_path / "state.json")
        again = method.load(tmp_path / "state.json")
        assert again.get_params() == live.get_params()
        ours, theirs = (m.run(then, y[150:], time=times[150:]) for m in (live, again))
        np.testing.assert_array_equal(ours.interval.upper, theirs.interval.upper)
        np.testing.assert_allclose(ours.level, theirs.level)
        np.testing.assert_allclose(live.covered_, again.covered_)
        assert live.bound_ == again.bound_
        with pytest.raises(InvalidValueError, match="time of sample 0 is not after the one before"):
            again.update(prediction.take([0]), y[[0]], time=times[[0]])

    def test_reset(self, method):
        prediction, y = series()
        live = method(0.8)
        first = live.run(prediction, y, time="rows")
        live.reset()
        assert live.samples_ == 0
        assert live.bound_ is None
        second = live.run(prediction, y, time="rows")
        np.testing.assert_array_equal(first.interval.upper, second.interval.upper)
        assert clone(live).samples_ == 0

    def test_infinite_until_there_are_enough_scores(self, method):
        prediction, y = series()
        run = method(0.9).run(prediction, y, time="rows")
        assert np.isinf(run.interval.upper[:8]).all()  # levels may rise a little until then
        ready = method(0.9).warm_up(prediction.take(slice(0, 100)), y[:100])
        assert ready.samples_ == 0
        assert np.isfinite(ready.interval(prediction).upper).all()

    def test_normalized(self, method):
        prediction, y = series()
        wide = caveat.Gaussian(prediction.mean[0], np.where(np.arange(300) < 150, 1, 9)[:, None])
        plain = method(0.8).run(prediction.take(slice(0, 150)), y[:150], time="rows")
        run = method(0.8, normalize=True).run(wide, y, time="rows")
        np.testing.assert_allclose(plain.interval.upper, run.interval.upper[:150])
        scaled = method(0.8, normalize=True)
        scaled.warm_up(wide, y)
        three = scaled.interval(caveat.Gaussian([0.0, 0.0], [1.0, 9.0])).upper
        assert three[1] == pytest.approx(3 * three[0])
        with pytest.raises(InvalidValueError, match="normalize=True needs variances above 0"):
            method(0.8, normalize=True).interval(caveat.Gaussian([0.0], 0.0))

    def test_time_is_needed(self, method):
        prediction, y = series()
        with pytest.raises(OptionError, match="sequential methods need the order of time: pass"):
            method().run(prediction, y)
        with pytest.raises(InvalidValueError, match="time of sample 3 is not after the one before"):
            method().run(prediction, y, time=np.where(np.arange(300) == 3, 0, np.arange(300)))
        with pytest.raises(ShapeError, match="time must be one number or date for each of 300"):
            method().run(prediction, y, time=[1, 2])
        with pytest.raises(InvalidValueError, match="time must be numbers or dates; got type <U"):
            method().run(prediction, y, time=["monday"] * 300)
        for bad in (np.full(300, np.nan), np.full(300, np.datetime64("NaT"))):
            with pytest.raises(InvalidValueError, match="time of sample 0 is missing"):
                method().run(prediction, y, time=bad)
        live = method().warm_up(prediction.take([0]), y[[0]], time=[1.5])
        with pytest.raises(InvalidValueError, match="time was numbers before, now it is dates"):
            live.update(prediction.take([1]), y[[1]], time=[np.datetime64("2026-01-01")])
        with pytest.raises(InvalidValueError, match="time of sample 0 is not after"):
            live.update(prediction.take([1]), y[[1]], time=1.5)
        assert live.update(prediction.take([1]), y[[1]], time=2).shape == (1, 1)

    def test_kinds_of_dates(self, method):
        prediction, y = series(3)
        for times in (
            pd.date_range("2026-01-01", periods=3, tz="Europe/Paris"),
            pd.Series(pd.date_range("2026-01-01", periods=3)),
            [datetime.date(2026, 1, day) for day in (1, 2, 3)],
            pd.Series([9, 10, 100], dtype=object),
            np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="datetime64[D]"),
        ):
            assert len(method().run(prediction, y, time=times)) == 3
            with pytest.raises(InvalidValueError, match="time of sample 1 is not after"):
                method().run(prediction, y, time=times[::-1])

    def test_refused(self, method):
        prediction, y = series()
        with pytest.raises(UnsupportedPredictionError, match="takes one of Gaussian, Quantiles"):
            method().interval(caveat.Categorical([[0.5, 0.5]]))
        with pytest.raises(
            OptionError, match=r"window=8 scores cannot give a coverage of 0\.9: at l"
        ):
            method(window=8).interval(prediction)
        assert len(method(window=9).interval(prediction)) == 300
        with pytest.raises(OptionError, match="window must be a whole number"):
            method(window=1.5).interval(prediction)
        with pytest.raises(OptionError, match="coverage must be a number strictly between 0 and 1"):
            method(1.0).interval(prediction)
        with pytest.raises(OptionError, match="normalize must be True or False; got 1"):
            method(normalize=1).interval(prediction)
        with pytest.raises(OptionError, match="block must be a whole number of at least 1"):
            method().run(prediction, y, time="rows", block=0)
        with pytest.raises(
            OptionError, match=r"has seen no sample yet; call update\(prediction, y"
        ):
            _ = method().covered_
        with pytest.raises(OptionError, match="has seen no sample yet"):
            _ = method().level_
        live = method()
        live.interval(prediction)
        assert live.level_.tolist() == pytest.approx([0.1])
        with pytest.raises(
            ShapeError, match=r"started with a Gaussian of targets \[0\]; got a Gau"
        ):
            live.interval(series(targets=2)[0])
        endless = caveat.Interval([-np.inf], [1.0], coverage=0.9)
        with pytest.raises(InvalidValueError, match="lower of sample 0 is -inf"):
            method().interval(endless)

    def test_no_file(self, method, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.json"):
            method.load(tmp_path / "none.json")

    def test_damaged_files(self, method, tmp_path):
        prediction, y = series(60)
        live, path = method(), tmp_path / "state.json"
        with pytest.raises(OptionError, match="has seen no sample yet"):
            live.save(path)
        live.run(prediction, y, time="rows")
        live.save(path)
        whole = json.loads(path.read_text())
        damages = [
            {"format": "caveat monitor 1"},
            {"method": "AnotherMethod"},
            {"parameters": {"gamma": 1}},
            {"parameters": {**whole["parameters"], "coverage": 2}},
            {"histories": []},
            {"histories": [["a"]]},
            {"missed": None},
        ]
        if whole["arrays"]:
            damages += [{"arrays": {}}, {"arrays": {name: [] for name in whole["arrays"]}}]
        for damage in damages:
            path.write_text(json.dumps({**whole, **damage}))
            with pytest.raises(FileFormatError, match="state"):
                method.load(path)
        path.write_text("no json")
        with pytest.raises(FileFormatError, match="is damaged, or no state"):
            method.load(path)


class TestRun:
    def test_frame_and_stretches(self):
        prediction, y = series(targets=2)
        run = caveat.AdaptiveConformal(0.8).run(prediction, y, time="rows")
        frame = run.to_frame()
        assert len(frame) == 600
        assert frame.columns.tolist() == ["sample", "target", "lower", "upper", "covered", "level"]
        local = run.local_coverage(50)
        expected = [run.covered[i : i + 50].mean(axis=0) for i in range(251)]
        np.testing.assert_allclose(local, expected)
        assert repr(run).startswith("SequentialRun: 300 samples, coverage 0.")
        with pytest.raises(OptionError, match="samples must be at most 300"):
            run.local_coverage(301)
        many = caveat.BlockConformal(0.8).run(*series(20, targets=9), time="rows")
        assert repr(many).endswith(", ...")


def test_quantiles_start_at_their_interval():
    prediction, y = series()
    quantiles = prediction.to_quantiles([0.1, 0.5, 0.9])
    ours = caveat.AdaptiveConformal(0.8).run(quantiles, y, time="rows")
    theirs = caveat.AdaptiveConformal(0.8).run(quantiles.interval(0.8), y, time="rows")
    np.testing.assert_array_equal(ours.interval.upper, theirs.interval.upper)


def test_scores_of_intervals_are_those_of_conformal_quantiles():
    prediction, y = series()
    start = prediction.interval(0.8)
    old, new = start.take(slice(0, 200)), start.take(slice(200, None))
    live = caveat.AdaptiveConformal(0.8, window=None).warm_up(old, y[:200])
    expected = caveat.ConformalQuantiles(0.8).fit(old, y[:200]).transform(new)
    np.testing.assert_allclose(live.interval(new).upper, expected.upper)


def test_the_base_class_needs_a_method():
    from caveat.sequential import SequentialConformal

    base = SequentialConformal()
    for call in (
        lambda: base._begin(1),
        base._levels,
        lambda: base._learn(None, None),
        base._bound,
        base._words,
    ):
        with pytest.raises(NotImplementedError):
            call()
