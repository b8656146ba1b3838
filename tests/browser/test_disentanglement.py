"""Open the page of a disentanglement in a real browser."""

import os
import shutil
from pathlib import Path

import pytest

from ..report.disentanglements import result, two_decompositions

BROWSER = os.environ.get("CAVEAT_BROWSER") or shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(
    not BROWSER, reason="no browser: install chromium, or name one in CAVEAT_BROWSER"
)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    given = os.environ.get("CAVEAT_SCREENSHOTS")
    folder = Path(given) if given else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("name", ["trap", "two"])
def test_opens_and_draws_in_both_themes_and_on_a_phone(browser, tmp_path, pictures, name):
    from .test_report import brightness, fits, opened, picture, scroll_through, undrawn

    given = two_decompositions() if name == "two" else result(name)
    path = given.report(tmp_path / "report.html")
    with opened(browser, path, color_scheme="light") as page:
        summary = page.locator(".verdict > li").first
        assert given.verdict().statements[0].text in summary.inner_text()
        scroll_through(page)
        assert undrawn(page) == 0
        assert fits(page)
        picture(page, pictures, f"disentanglement-{name}-light")
        page.get_by_role("button", name="Dark colors").click()
        assert brightness(page) < 200
        picture(page, pictures, f"disentanglement-{name}-dark")
        page.get_by_role("button", name="Light colors").click()
        page.set_viewport_size({"width": 360, "height": 740})
        scroll_through(page)
        assert fits(page)
        assert undrawn(page) == 0
        picture(page, pictures, f"disentanglement-{name}-phone")


def test_the_split_is_chosen(browser, tmp_path):
    from .test_report import opened, scroll_through, undrawn

    path = two_decompositions().report(tmp_path / "report.html")
    with opened(browser, path) as page:
        first = page.get_by_text("Noise in the labels by information", exact=True)
        second = page.get_by_text("Noise in the labels by pairwise kl", exact=True)
        assert first.is_visible()
        assert not second.is_visible()
        page.locator("#sweeps select").select_option(label="pairwise kl")
        assert not first.is_visible()
        assert second.is_visible()
        scroll_through(page)
        assert undrawn(page) == 0


def test_terms_sort_by_error(browser, tmp_path):
    from .test_report import opened

    path = result("leak").report(tmp_path / "report.html")
    with opened(browser, path) as page:
        page.locator("#numbers table").first.get_by_role("button", name="error").first.click()
        found = page.evaluate(
            "[...document.querySelector('#numbers table').tBodies[0].rows]"
            ".map(r => Number(r.cells[2].dataset.sort))"
        )
        assert found == sorted(found)
        assert len(found) == 5
