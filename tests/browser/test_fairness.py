"""Open the page of an audit in a real browser: it draws, fits, and asks for nothing."""

import numpy as np
import pytest

import caveat
from caveat.fairness import audit
from caveat.report import write_report

from ..report.results import HOSTILE
from .test_report import (
    BROWSER,
    brightness,
    browser,
    fits,
    opened,
    picture,
    pictures,
    playwright,
    scroll_through,
    undrawn,
)

__all__ = ["browser", "pictures", "playwright"]
pytestmark = pytest.mark.skipif(
    not BROWSER, reason="no browser: install chromium, or name one in CAVEAT_BROWSER"
)


def classes(names=("asian", "black", "white"), attribute="race"):
    rng = np.random.default_rng(0)
    n = 600
    race = rng.choice(names, size=n)
    X = rng.normal(size=(n, 2))
    spread = np.where(race == names[1], 0.9, 0.3)
    logit = X[:, 0] + rng.normal(size=(3, n)) * spread
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    prediction = caveat.Categorical.from_binary(1 / (1 + np.exp(-logit)))
    groups = {"sex": rng.choice(["f", "m"], size=n), attribute: race}
    return audit(prediction, y, groups, X=X, resamples=60, random_state=0)


def numbers():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=(2, 200, 2))
    prediction = caveat.Gaussian(mean, np.ones_like(mean), targets=["sbp", "dbp"])
    y = mean.mean(axis=0) + rng.normal(size=(200, 2))
    return audit(prediction, y, {"sex": rng.choice(["f", "m"], size=200)}, resamples=0)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audits")
    results = {
        "audit": classes(),
        "numbers": numbers(),
        "hostile": classes(HOSTILE[:3], HOSTILE[1]),
    }
    return {name: write_report(r, folder / f"{name}.html") for name, r in results.items()}


def test_opens_and_draws_in_both_themes_and_on_a_phone(browser, pages, pictures):
    with opened(browser, pages["audit"], color_scheme="light") as page:
        scroll_through(page)
        assert undrawn(page) == 0
        assert fits(page)
        assert brightness(page) > 600
        picture(page, pictures, "audit-light")
        page.get_by_role("button", name="Dark colors").click()
        assert brightness(page) < 200
        picture(page, pictures, "audit-dark")
        page.get_by_role("button", name="Light colors").click()
        page.set_viewport_size({"width": 360, "height": 740})
        scroll_through(page)
        assert fits(page)
        assert undrawn(page) == 0
        picture(page, pictures, "audit-phone")


def test_reading_is_first_and_the_axis_logarithmic(browser, pages):
    with opened(browser, pages["audit"]) as page:
        summary = page.locator(".verdict > li").first
        assert classes().reading().summary in summary.inner_text()
        assert summary.is_visible()
        page.locator(".verdict details summary").first.click()
        assert page.locator(".verdict details table").first.is_visible()
        page.locator("#ratios").scroll_into_view_if_needed()
        page.wait_for_selector("#ratios .chart .main-svg", state="attached")
        # One is as far from either end of the band; plotly rounds places to 0.01 pixels.
        ends = page.evaluate(
            """() => {
              const axis = document.querySelector('#ratios .chart')._fullLayout.xaxis;
              return [0.8, 1, 1.25].map((value) => axis.d2p(value));
            }"""
        )
        assert ends[1] - ends[0] == pytest.approx(ends[2] - ends[1], abs=0.02)
        assert page.locator("#ratios .chart .js-fill").count() > 0


def test_targets_are_chosen(browser, pages):
    with opened(browser, pages["numbers"]) as page:
        first = page.locator("h3", has_text="Predictive uncertainty of sbp by sex")
        assert first.is_visible()
        page.locator("#uncertainty select").select_option(label="dbp")
        assert not first.is_visible()
        scroll_through(page)
        assert undrawn(page) == 0


def test_hostile_text_is_shown_and_not_run(browser, pages, pictures):
    with opened(browser, pages["hostile"], viewport={"width": 360, "height": 740}) as page:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        scroll_through(page)
        assert undrawn(page) == 0
        assert fits(page)
        assert page.locator("img, iframe, object, svg a").count() == 0
        labels = page.locator("#ratios .chart text").all_text_contents()
        assert any("<script>" in text for text in labels)
        picture(page, pictures, "audit-hostile-phone")
