"""Open reports in a real browser, use them as a person would, and keep pictures of them."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from caveat import figures
from caveat.evaluation.verdict import verdict
from caveat.report import write_report

from ..report.results import classification, comparison, hostile_classification, regression

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


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    results = {
        "classification": classification(),
        "regression": regression(),
        "comparison": comparison(),
        "plain": classification(members=1, resamples=0),
        "hostile": hostile_classification(),
    }
    return {name: write_report(r, folder / f"{name}.html") for name, r in results.items()}


@contextmanager
def opened(browser, path, **options):
    """Open a page; any error on it, and any request but the page itself, fails the test."""
    page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}} | options)
    troubles = []
    page.on("console", lambda m: troubles.append(f"console {m.type}: {m.text}"))
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("request", lambda r: troubles.append(r.url) if r.url != path.as_uri() else None)
    page.goto(path.as_uri())
    yield page
    page.close()
    assert troubles == []


def scroll_through(page):
    """Bring everything near the window once, so that every chart is drawn."""
    height = page.evaluate("document.documentElement.scrollHeight")
    for y in range(0, height, 700):
        page.evaluate(f"scrollTo(0, {y})")
        page.wait_for_timeout(30)
    page.evaluate("scrollTo(0, 0)")


def undrawn(page):
    return page.evaluate(
        "[...document.querySelectorAll('.chart')].filter(c => c.checkVisibility() && "
        "!c.querySelector('.main-svg')).length"
    )


def fits(page):
    return page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )


def picture(page, pictures, name):
    page.screenshot(path=pictures / f"{name}.png", full_page=True)


@pytest.mark.parametrize("name", ["classification", "regression", "comparison"])
def test_opens_and_draws_in_both_themes_and_on_a_phone(browser, reports, pictures, name):
    with opened(browser, reports[name], color_scheme="light") as page:
        scroll_through(page)
        assert undrawn(page) == 0
        assert fits(page)
        assert brightness(page) > 600
        picture(page, pictures, f"{name}-light")
        page.get_by_role("button", name="Dark colors").click()
        assert brightness(page) < 200
        picture(page, pictures, f"{name}-dark")
        page.get_by_role("button", name="Light colors").click()
        page.set_viewport_size({"width": 360, "height": 740})
        if name == "comparison":
            page.locator("details.technique > summary").first.click()
        scroll_through(page)
        assert fits(page)
        assert undrawn(page) == 0
        picture(page, pictures, f"{name}-phone")


def brightness(page):
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, background[4:-1].split(",")))


def test_verdict_is_what_is_read_first(browser, reports):
    with opened(browser, reports["classification"]) as page:
        summary = page.locator(".verdict > li").first
        assert verdict(classification()).statements[0].text in summary.inner_text()
        assert summary.is_visible()
        assert page.locator("h1").inner_text() == "How far can these predictions be trusted?"


def test_slider_by_keyboard(browser, reports, pictures):
    figure = figures.split(classification())
    with opened(browser, reports["classification"]) as page:
        slider = page.get_by_label("Share of samples to defer, the most uncertain first")
        said = page.locator(".slider output")
        slider.scroll_into_view_if_needed()
        page.wait_for_selector("[data-chart] .scatterlayer .point >> nth=0", state="attached")
        slider.focus()
        page.keyboard.press("Home")
        first = f"{100 * figure.error_kept[0]:.1f} %"
        assert said.inner_text() == f"Defer nothing: the error is {first}."
        before = grays(page)
        for _ in range(30):
            page.keyboard.press("ArrowRight")
        later = f"{100 * figure.error_kept[30]:.1f} %"
        text = f"Defer 30 %: error among the rest falls from {first} to {later}."
        assert said.inner_text() == text
        assert slider.get_attribute("aria-valuetext") == text
        deferred = int((figure.uncertainty > figure.threshold[30]).sum())
        assert (before, grays(page)) == (0, deferred)
        page.locator("#why").screenshot(path=pictures / "slider.png")


def grays(page):
    """How many samples the chart beside the slider shows as deferred."""
    return page.evaluate(
        """() => {
          const box = document.getElementById(document.querySelector('.slider').dataset.paints);
          const chart = document.querySelector(`[data-chart="${box.id}"]`);
          const gray = getComputedStyle(document.documentElement).getPropertyValue('--gray').trim();
          return chart.data.flatMap(t => Array.isArray(t.marker.color) ? t.marker.color : [])
            .filter(c => c === gray).length;
        }"""
    )


def test_slider_of_a_plain_model_moves_a_mark(browser, reports):
    figure = figures.confidence_curve(classification(members=1, resamples=0))
    with opened(browser, reports["plain"]) as page:
        page.locator(".slider input").focus()
        page.wait_for_selector(".slider ~ .chart .main-svg", state="attached")
        page.keyboard.press("End")
        place = page.evaluate(
            "(() => {const t = document.querySelector('.slider ~ .chart').data.at(-1); return [t.x[0], t.y[0]];})()"
        )
        assert place == pytest.approx([0.99, figure.error[99]], rel=1e-5)
        assert page.locator(".slider output").inner_text().startswith("Defer 99 %: error among")


def test_theme_button_switches_and_forgets(browser, reports):
    with opened(browser, reports["classification"], color_scheme="light") as page:
        button = page.get_by_role("button", name="Dark colors")
        button.click()
        color = "getComputedStyle(document.querySelector('.main-svg text')).fill"
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.locator("#calibration").scroll_into_view_if_needed()
        page.wait_for_selector(".main-svg text", state="attached")
        assert page.evaluate(color) == "rgb(232, 236, 241)"
        page.get_by_role("button", name="Light colors").click()
        assert page.evaluate(color) == "rgb(27, 33, 41)"
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
        page.reload()
        assert page.evaluate("document.documentElement.dataset.theme ?? ''") == ""


def test_tables_sort_by_keyboard(browser, reports):
    with opened(browser, reports["classification"]) as page:
        table = page.locator("#numbers table").first
        button = table.get_by_role("button", name="value")
        values = "[...document.querySelector('#numbers table').tBodies[0].rows].map(r => r.cells[1].dataset.sort).filter(Boolean).map(Number)"
        for order, way in ((1, "ascending"), (-1, "descending")):
            button.focus()
            page.keyboard.press("Enter")
            found = page.evaluate(values)
            assert [order * v for v in found] == sorted(order * v for v in found)
            assert button.locator("..").get_attribute("aria-sort") == way
        table.get_by_role("button", name="measure").click()
        names = table.locator("tbody th bdi").all_inner_texts()
        assert names == sorted(names, key=str.lower)


def test_tab_reaches_every_control(browser, reports):
    with opened(browser, reports["classification"]) as page:
        seen = []
        for _ in range(120):
            page.keyboard.press("Tab")
            seen.append(
                page.evaluate(
                    "(a => a.matches('.skip') ? 'skip' : a.matches('.theme') ? 'theme' : "
                    "a.matches('nav a') ? 'contents' : a.matches('th button') ? 'sort' : "
                    "a.matches('input[type=range]') ? 'slider' : a.tagName)(document.activeElement)"
                )
            )
            if "slider" in seen:
                break
        assert seen[:3] == ["skip", "theme", "contents"]
        assert seen.index("contents") < seen.index("sort") < seen.index("slider")


def test_targets_are_chosen(browser, reports):
    with opened(browser, reports["regression"]) as page:
        assert page.get_by_text("Coverage of target 0", exact=True).is_visible()
        chooser = page.locator("#calibration select")
        chooser.select_option(label="target 1")
        assert not page.get_by_text("Coverage of target 0", exact=True).is_visible()
        assert page.get_by_text("Coverage of target 1", exact=True).is_visible()
        assert page.locator("#ranking select").input_value() == chooser.input_value()
        scroll_through(page)
        assert undrawn(page) == 0


def test_techniques_draw_when_opened(browser, reports, pictures):
    with opened(browser, reports["comparison"]) as page:
        scroll_through(page)
        inside = page.locator("details.technique .main-svg")
        assert inside.count() == 0
        page.locator("details.technique > summary").nth(1).click()
        scroll_through(page)
        assert undrawn(page) == 0
        assert inside.count() > 0
        picture(page, pictures, "comparison-opened")


def test_prints_light_and_whole(browser, reports, pictures):
    with opened(browser, reports["classification"], color_scheme="dark") as page:
        page.emulate_media(media="print")
        page.wait_for_timeout(300)
        assert undrawn(page) == 0
        assert not page.locator("nav.contents").is_visible()
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        )
        assert (
            page.evaluate("getComputedStyle(document.querySelector('.main-svg text')).fill")
            == "rgb(27, 33, 41)"
        )
        picture(page, pictures, "classification-print")
        page.emulate_media(media="screen")
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.dataset.theme ?? ''") == ""
        paper = page.pdf(path=pictures / "classification.pdf", format="A4")
        assert paper.startswith(b"%PDF")


def test_hostile_text_is_shown_and_not_run(browser, reports, pictures):
    with opened(browser, reports["hostile"], viewport={"width": 360, "height": 740}) as page:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        scroll_through(page)
        assert undrawn(page) == 0
        assert fits(page)
        assert page.locator("img, iframe, object, svg a").count() == 0
        labels = page.locator("#classes .chart text").all_text_contents()
        assert any(text.startswith("<script>alert(1)") for text in labels)
        picture(page, pictures, "hostile-phone")


def test_text_and_tables_without_scripts(browser, reports, pictures):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports["regression"].as_uri())
    assert "Charts and the slider need JavaScript" in page.locator("noscript").inner_text()
    assert page.locator("input[type=range]").first.is_hidden()
    assert page.get_by_text("Coverage of target 1").first.is_visible()
    picture(page, pictures, "regression-no-scripts")
    context.close()
