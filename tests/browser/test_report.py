"""Use pages as a person would: by pointer, by keyboard, and without scripts."""

import re

import numpy as np
import pytest

from caveat import charts
from caveat.evaluation.verdict import verdict

from ..report.disentanglements import result, two_decompositions
from ..report.results import classification, regression
from .conftest import people
from .pages import chart, opened, text_of

SHARE = "Share of samples to defer, the most uncertain first"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("classification", lambda: verdict(classification()).statements[0].text),
        ("audit", lambda: people().verdict().summary),
        ("trap", lambda: result("trap").verdict().statements[0].text),
        ("two", lambda: two_decompositions().verdict().statements[0].text),
    ],
)
def test_verdict_is_what_is_read_first_and_shows_its_rows(browser, reports, name, said):
    with opened(browser, reports(name)) as page:
        summary = page.locator(".verdict > li").first
        assert summary.is_visible()
        assert said() in text_of(page, ".verdict > li")
        if name in ("classification", "audit"):
            page.locator(".verdict details summary").first.click()
            assert page.locator(".verdict details table").first.is_visible()


def test_contents_open_their_part(browser, reports):
    with opened(browser, reports("classification")) as page:
        links = page.locator("nav.contents a").all()
        assert len(links) == 9
        for link in links[1:]:
            part = page.locator(link.get_attribute("href"))
            body = part.locator("details.part > :not(summary)").first
            assert body.is_hidden()
            link.click()
            body.wait_for(state="visible")
            assert part.locator("h2").is_visible()
        button = page.get_by_role("button", name="Open all")
        button.click()
        assert page.locator("details.part:not([open])").count() == 0
        page.get_by_role("button", name="Close all").click()
        assert page.locator("details.part[open]").count() == 0
    path = reports("classification")
    with opened(browser, path) as page:
        page.evaluate("location.hash = '#ranking'")
        page.locator("#ranking .chart").first.wait_for(state="visible")


def read_off(page, box, place):
    """The text that appears when the pointer is at a place of a drawing."""
    box.scroll_into_view_if_needed()
    at = box.locator("svg").evaluate(
        """(svg, [x, y]) => {
          const p = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
          return [p.x, p.y];
        }""",
        place,
    )
    page.mouse.move(*at)
    return box.locator(".tip")


def path_of(box, selector):
    """The places along a line of a drawing."""
    return [
        [float(number) for number in pair.split(",")]
        for pair in re.findall(r"[ML]([-\d.]+,[-\d.]+)", box.locator(selector).get_attribute("d"))
    ]


@pytest.mark.parametrize("width", [390, 1280])
def test_values_are_read_off_by_pointer_and_keys(browser, reports, width):
    curve = charts.reliability(classification())
    both = zip(curve.numbers["predicted"], curve.numbers["observed"], strict=True)
    texts = [f"predicted {x:.3g}, observed {y:.3g}" for x, y in both]
    with opened(browser, reports("classification"), width, everything=True) as page:
        box = chart(page, curve.title)
        places = path_of(box, "svg > path.s-blue[stroke-width='2']")
        assert len(places) == len(texts)
        for place, text in zip(places, texts, strict=True):
            tip = read_off(page, box, place)
            assert tip.inner_text() == text
            assert tip.is_visible()
            inside, around = tip.bounding_box(), box.bounding_box()
            assert inside["x"] >= around["x"] - 1
            assert inside["x"] + inside["width"] <= around["x"] + around["width"] + 1
        page.mouse.move(1, 1)
        assert box.locator(".tip").is_hidden()
        box.focus()
        for key, text in (
            ("ArrowRight", 0),
            ("ArrowRight", 1),
            ("ArrowLeft", 0),
            ("ArrowLeft", -1),
        ):
            page.keyboard.press(key)
            assert box.locator(".tip").inner_text() == texts[text]
        page.keyboard.press("Escape")
        assert box.locator(".tip").is_hidden()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Tab")
        assert box.locator(".tip").is_hidden()


def test_ratios_are_read_off_and_lie_on_a_logarithmic_axis(browser, reports):
    ratios = charts.ratios(people(), "sex")
    with opened(browser, reports("audit"), everything=True) as page:
        box = chart(page, ratios.title)
        box.focus()
        said = set()
        for _ in ratios.numbers["ratio"]:
            page.keyboard.press("ArrowRight")
            said.add(box.locator(".tip").inner_text())
        for measure, groups, ratio in zip(
            *(ratios.numbers[name] for name in ("measure", "groups", "ratio")), strict=True
        ):
            assert f"{measure}, {groups}: {ratio:.3g}" in said
        # One is as far from either end of the band; places are rounded to tenths.
        band = box.locator("svg > path.f-green.band").first.get_attribute("d")
        left, right = (float(number) for number in re.findall(r"[MH]([\d.]+)", band)[:2])
        rule = box.locator("svg > path.s-ink").first.get_attribute("d")
        one = float(re.match(r"M([\d.]+)", rule)[1])
        assert one - left == pytest.approx(right - one, abs=0.2)


def test_slider_by_keyboard_colors_what_is_deferred(browser, reports, picture):
    left = charts.deferral(classification())
    shown = charts.split(classification(), points=1000).numbers
    with opened(browser, reports("classification"), everything=True) as page:
        slider = page.get_by_label(SHARE)
        said = page.locator(".slider output")
        slider.focus()
        page.keyboard.press("Home")
        first = f"{100 * left.error[0]:.1f} %"
        assert said.inner_text() == f"Defer nothing: the error is {first}."
        assert marks(page) == {
            "gray": 0,
            "blue": int((shown["error"] == 0).sum()),
            "orange": int((shown["error"] > 0).sum()),
        }
        for _ in range(30):
            page.keyboard.press("ArrowRight")
        later = f"{100 * left.error[30]:.1f} %"
        text = f"Defer 30 %: error among the rest falls from {first} to {later}."
        assert said.inner_text() == text
        assert slider.get_attribute("aria-valuetext") == text
        kept = shown["uncertainty"] <= left.threshold[30]
        assert marks(page) == {
            "gray": int((~kept).sum()),
            "blue": int((kept & (shown["error"] == 0)).sum()),
            "orange": int((kept & (shown["error"] > 0)).sum()),
        }
        picture(page, "slider")


def marks(page):
    """How many samples the chart beside the slider shows in each color."""
    return page.evaluate(
        """() => {
          const id = document.querySelector(".slider").dataset.paints;
          const svg = document.querySelector(`[data-points="${id}"] svg`);
          const found = { gray: 0, blue: 0, orange: 0 };
          for (const path of svg.querySelectorAll("[data-keyed] path")) {
            const color = path.getAttribute("class").match(/[sf]-(\\w+)/)[1];
            found[color] += (path.getAttribute("d").match(/M/g) || []).length;
          }
          return found;
        }"""
    )


def test_slider_of_a_plain_model_moves_along_the_curve(browser, reports):
    curve = charts.confidence_curve(classification(members=1, resamples=0))
    with opened(browser, reports("plain"), everything=True) as page:
        box = chart(page, curve.title)
        line = np.array(path_of(box, "svg > path.s-blue[stroke-width='2']"))
        assert len(line) == 100
        page.get_by_label(SHARE).focus()
        for key, step in (("End", 99), ("Home", 0), ("ArrowRight", 1)):
            page.keyboard.press(key)
            spot = box.locator("[data-spot]")
            place = [float(spot.get_attribute(name)) for name in ("cx", "cy")]
            assert place == pytest.approx(line[step], abs=0.11)
        page.keyboard.press("End")
        assert page.locator(".slider output").inner_text().startswith("Defer 99 %: error among")


def test_theme_button_switches_and_forgets(browser, reports):
    with opened(browser, reports("classification"), color_scheme="light") as page:
        background = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(background) == "rgb(246, 247, 249)"
        page.get_by_role("button", name="Dark colors").click()
        assert page.evaluate(background) == "rgb(18, 22, 27)"
        page.get_by_role("button", name="Light colors").click()
        assert page.evaluate(background) == "rgb(246, 247, 249)"
        page.get_by_role("button", name="Dark colors").click()
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
        page.reload()
        assert page.evaluate(background) == "rgb(246, 247, 249)"


@pytest.mark.parametrize(("name", "column"), [("classification", "value"), ("two", "error")])
def test_tables_sort_by_keyboard(browser, reports, name, column):
    with opened(browser, reports(name), everything=True) as page:
        table = page.locator("#numbers table").first
        button = table.get_by_role("button", name=column, exact=True)
        for order, way in ((1, "ascending"), (-1, "descending")):
            button.focus()
            page.keyboard.press("Enter")
            found = table.locator(f'td[data-name="{column}"]').evaluate_all(
                "cells => cells.map(c => c.dataset.sort).filter(Boolean).map(Number)"
            )
            assert len(found) > 4
            assert [order * v for v in found] == sorted(order * v for v in found)
            assert button.locator("..").get_attribute("aria-sort") == way
        table.get_by_role("button").first.click()
        names = table.locator("tbody th bdi").all_inner_texts()
        assert names == sorted(names, key=str.lower)


def test_tab_reaches_every_control(browser, reports):
    kinds = {
        "skip": ".skip", "unfold": ".unfold", "theme": ".theme", "contents": "nav a",
        "part": "details.part > summary", "sort": "th button", "chart": ".chart",
        "slider": "input[type=range]",
    }  # fmt: skip
    with opened(browser, reports("classification")) as page:
        page.evaluate("document.querySelectorAll('.part').forEach((part) => { part.open = true; })")
        seen = []
        while "slider" not in seen and len(seen) < 200:
            page.keyboard.press("Tab")
            seen.append(
                page.evaluate(
                    "kinds => Object.keys(kinds).find(k => document.activeElement.matches(kinds[k]))",
                    kinds,
                )
            )
        assert seen[:4] == ["skip", "unfold", "theme", "contents"]
        assert list(dict.fromkeys(kind for kind in seen if kind)) == list(kinds)


@pytest.mark.parametrize(
    ("name", "section", "first", "second", "choice"),
    [
        ("regression", "calibration", "Coverage of target 0", "Coverage of target 1", "target 1"),
        ("numbers", "uncertainty", "Predictive uncertainty of sbp by sex",
         "Predictive uncertainty of dbp by sex", "dbp"),
        ("two", "sweeps", "(split by information)",
         "(split by pairwise kl)", "pairwise kl"),
    ],
)  # fmt: skip
def test_one_target_is_chosen_at_a_time(browser, reports, name, section, first, second, choice):
    with opened(browser, reports(name), everything=True) as page:
        before, after = (
            page.locator(f"#{section} h3", has_text=title).first for title in (first, second)
        )
        assert (before.is_visible(), after.is_visible()) == (True, False)
        chooser = page.locator(f"#{section} select")
        chooser.select_option(label=choice)
        assert (before.is_visible(), after.is_visible()) == (False, True)
        values = {select.input_value() for select in page.locator("select").all()}
        assert values == {chooser.input_value()}


def test_techniques_open_and_have_choosers_and_sliders_of_their_own(browser, reports):
    with opened(browser, reports("comparison")) as page:
        page.locator("#techniques > details > summary").click()
        inside = page.locator("details.technique").nth(1)
        assert inside.locator(".verdict").first.is_hidden()
        inside.locator(":scope > summary").click()
        assert inside.locator(".verdict").first.is_visible()
        inside.locator("#t1-why > details > summary").click()
        outputs = page.locator(".slider output")
        before = outputs.all_text_contents()
        inside.locator("input[type=range]").focus()
        page.keyboard.press("Home")
        after = outputs.all_text_contents()
        assert [a == b for a, b in zip(before, after, strict=True)] == [True, False]


def test_without_scripts_all_is_there(browser, reports):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports("regression").as_uri())
    assert "Everything else is complete without it" in page.locator("noscript").inner_text()
    for selector in (".slider", ".tools", ".chooser"):
        assert page.locator(selector).first.is_hidden()
    for statement in verdict(regression()).statements:
        assert statement.text in " ".join(page.locator("#verdict").inner_text().split())
    page.locator("#calibration > details > summary").click()
    for target in ("target 0", "target 1"):
        title = page.get_by_text(f"Coverage of {target}", exact=True).first
        assert title.is_visible()
    assert page.locator("#calibration .chart-svg").first.is_visible()
    page.locator("#calibration .behind > summary").first.click()
    assert page.locator("#calibration .behind table").first.is_visible()
    context.close()
