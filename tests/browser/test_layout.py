"""Pages fit phones, screens and paper, in light and dark, whatever is on them."""

import pytest

from .conftest import RESULTS
from .pages import CONTRAST, LAYOUT, filled, opened, unfold

PHONE, SCREEN = 390, 1280
MEGABYTE = 1_000_000


@pytest.mark.parametrize("width", [PHONE, SCREEN])
@pytest.mark.parametrize("name", RESULTS)
def test_nothing_is_clipped_or_overlaps(browser, reports, picture, name, width):
    with opened(browser, reports(name), width) as page:
        closed = page.evaluate(LAYOUT)
        picture(page, f"{name}-{width}")
        unfold(page)
        wanted = {"sideways": 0, "clipped": [], "overlaps": [], "outside": []}
        assert (closed, page.evaluate(LAYOUT)) == (wanted, wanted)
        picture(page, f"{name}-{width}-open")


@pytest.mark.parametrize("name", ["demo", "demo-evaluation"])
def test_the_demo_is_light_and_short(browser, reports, name):
    assert reports(name).stat().st_size < MEGABYTE
    with opened(browser, reports(name), PHONE) as page:
        assert page.evaluate("document.documentElement.scrollHeight") <= 4300
    with opened(browser, reports(name)) as page:
        # One screen says it: the summary, its numbers, and what to do.
        for selector in (".verdict .summary", ".tiles", ".step"):
            box = page.locator(selector).first.bounding_box()
            assert box["y"] + box["height"] <= 900


@pytest.mark.parametrize(
    "name", ["classification", "comparison", "audit", "two", "drift", "history"]
)
def test_text_of_charts_can_be_read_in_light_dark_and_print(browser, reports, picture, name):
    fills = {}
    with opened(browser, reports(name), everything=True, color_scheme="light") as page:
        for theme in ("light", "dark", "print"):
            if theme == "dark":
                page.get_by_role("button", name="Dark colors").click()
                picture(page, f"{name}-dark")
            elif theme == "print":
                page.emulate_media(media="print")
                page.wait_for_selector("html[data-theme=light]")
            found = page.evaluate(CONTRAST)
            assert found
            assert min(contrast for _, contrast in found) >= 4.5
            fills[theme] = {fill for fill, _ in found}
    assert not fills["light"] & fills["dark"]
    assert fills["print"] == fills["light"]


@pytest.mark.parametrize(
    "name",
    ["classification", "regression", "comparison", "audit", "two", "demo", "demo-evaluation"],
)
def test_paper_has_no_half_empty_page(browser, reports, name):
    with opened(browser, reports(name), color_scheme="dark") as page:
        paper = page.pdf(format="A4")
        shares = filled(paper)
        assert len(shares) > 1
        assert min(shares[:-1]) > 0.5, shares
        # Afterwards the page is as it was: dark, and folded.
        assert page.evaluate("document.querySelectorAll('details[open]').length") == 0
        assert page.evaluate("document.documentElement.dataset.theme ?? ''") == ""


def test_paper_is_light_and_whole(browser, reports):
    with opened(browser, reports("classification"), color_scheme="dark") as page:
        page.emulate_media(media="print")
        page.wait_for_selector("html[data-theme=light]")
        assert page.locator("nav.contents").is_hidden()
        assert page.locator(".tools").is_hidden()
        body = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(body) == "rgb(255, 255, 255)"
        charts = page.locator(".chart-svg")
        assert charts.count() == 13
        assert all(box.is_visible() for box in charts.all())
        tall = "[...document.querySelectorAll('article')].map((e) => e.offsetHeight)"
        assert max(page.evaluate(tall)) < 1017  # what A4 has between its margins
        page.emulate_media(media="screen")
        page.wait_for_selector("html:not([data-theme])")
        assert page.evaluate(body) != "rgb(255, 255, 255)"


@pytest.mark.parametrize("name", ["hostile", "hostile-audit"])
def test_hostile_text_is_shown_and_not_run(browser, reports, name):
    with opened(browser, reports(name), PHONE, everything=True) as page:
        assert page.locator("img, iframe, object, svg a, svg script").count() == 0
        labels = page.locator(".chart text").all_text_contents()
        assert any("<script>" in text for text in labels)
