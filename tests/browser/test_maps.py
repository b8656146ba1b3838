"""Linked maps in a browser: one zoom for all, pixels by pointer and keys, no scripts, paper."""

import re

import numpy as np
import pytest

import caveat
from caveat.maps import PredictionMap

from .conftest import scene
from .pages import opened

HEIGHT, WIDTH = 30, 40
STACKS = "[...document.querySelectorAll('.map-stack')].map((e) => getComputedStyle(e).transform)"


def ready(page):
    page.wait_for_selector(".maps.ready")


def click(page, number, line, column):
    """Click a pixel of one of the maps."""
    frame = page.locator(".map-view").nth(number)
    frame.scroll_into_view_if_needed()
    box = frame.locator(".map-stack").bounding_box()
    page.mouse.click(
        box["x"] + box["width"] * (column + 0.5) / WIDTH,
        box["y"] + box["height"] * (line + 0.5) / HEIGHT,
    )


def said(page):
    return " ".join(page.locator(".map-pixel").inner_text().split())


def expected(line, column):
    """What a page says of a pixel, from the prediction itself."""
    layers = scene()
    p = layers.pixels.prediction.mean.reshape(HEIGHT, WIDTH, -1)[line, column]
    order = np.argsort(-p, kind="stable")
    names = [str(name) for name in layers.pixels.prediction.classes[order]]
    percents = [f"{int(np.rint(100 * p[k]))} %" for k in order]
    between = [name for name, k in zip(names, order, strict=True) if p[k] > 1 / len(p)]
    return names, percents, between


@pytest.mark.parametrize(("width", "number"), [(1280, 2), (1280, 5), (390, 0)])
def test_a_click_says_what_the_model_says(browser, reports, width, number):
    names, percents, between = expected(12, 20)
    layers = scene()
    with opened(browser, reports("map"), width) as page:
        ready(page)
        click(page, number, 12, 20)
        text = said(page)
        assert text.startswith(f"Line 12, column 20 (y 112, x 220): {names[0]}.")
        rows = page.locator(".map-chances li")
        shown = [" ".join(row.inner_text().split()) for row in rows.all()]
        wanted = [f"{n} {q}" for n, q in zip(names, percents, strict=True) if q != "0 %"]
        assert shown == wanted
        if len(between) > 1:
            assert f"Hesitates between {', '.join(between[:-1])} and {between[-1]}." in text
        for name, layer in layers.numbers.items():
            value = re.search(f"(?i){name.replace('_', ' ')} ([0-9.]+)", text)[1].rstrip(".")
            assert float(value) == pytest.approx(layer[12, 20], abs=0.0051)
        true = layers.pixels.prediction.classes[layers.truth[12, 20]]
        assert f"True class: {true}." in text
        spots = page.locator(".map-spot")
        assert spots.count() == len(layers.numbers) + 4
        assert all(spot.is_visible() for spot in spots.all())


def test_similar_pixels_are_those_that_share_nearly_all_probability(browser, reports):
    p = scene().pixels.prediction.mean
    percent = np.rint(100 * p)
    own = percent[12 * WIDTH + 20]
    count = int((np.minimum(percent, own).sum(axis=1) >= 0.9 * own.sum()).sum())
    alpha = """() => {
      const canvas = document.querySelector('canvas[data-paints="class"]');
      const copy = new OffscreenCanvas(canvas.width, canvas.height);
      const pen = copy.getContext("2d", { willReadFrequently: true });
      pen.drawImage(canvas, 0, 0);
      const data = pen.getImageData(0, 0, canvas.width, canvas.height).data;
      return [...data].filter((_, i) => i % 4 === 3).filter((a) => a === 255).length;
    }"""
    with opened(browser, reports("map")) as page:
        ready(page)
        assert page.evaluate(alpha) == HEIGHT * WIDTH
        click(page, 2, 12, 20)
        assert f"{count} pixels" in said(page)
        assert page.evaluate(alpha) == count
        page.locator(".map-grid").focus()
        page.keyboard.press("Escape")
        assert page.evaluate(alpha) == HEIGHT * WIDTH
        assert "Choose a pixel" in said(page)
        page.locator(".map-only").select_option("1")
        assert page.evaluate(alpha) == int((p.argmax(axis=1) == 1).sum())


def test_all_maps_zoom_and_move_together(browser, reports, picture):
    with opened(browser, reports("map")) as page:
        ready(page)
        whole = page.evaluate(STACKS)
        page.get_by_role("button", name="Zoom in").click()
        zoomed = page.evaluate(STACKS)
        assert {t.split(",")[0] for t in zoomed} == {"matrix(2"}
        frame = page.locator(".map-view").nth(3)
        frame.scroll_into_view_if_needed()
        box = frame.bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] + 20, middle[1] + 10, steps=4)
        page.mouse.up()
        moved = page.evaluate(STACKS)
        assert all(a != b for a, b in zip(moved, zoomed, strict=True))
        assert "Choose a pixel" in said(page)  # a drag is no click
        # The pixel in the middle of the frame is the one that the shift brought there.
        page.mouse.click(*middle)
        line, column = (int(n) for n in re.findall(r"Line (\d+), column (\d+)", said(page))[0])
        shift = np.array([20 / box["width"], 10 / box["height"]]) / 2
        assert column == pytest.approx((0.5 - shift[0]) * WIDTH, abs=1.01)
        assert line == pytest.approx((0.5 - shift[1]) * HEIGHT, abs=1.01)
        page.mouse.move(*middle)
        page.keyboard.down("Control")
        page.mouse.wheel(0, -200)
        page.keyboard.up("Control")
        page.wait_for_function(f"{STACKS}[0].startsWith('matrix(5')")
        picture(page, "map-zoomed")
        page.get_by_role("button", name="Zoom out").click()
        page.get_by_role("button", name="Whole map").click()
        assert page.evaluate(STACKS) == whole
        page.mouse.dblclick(*middle)
        assert page.evaluate(STACKS)[0].startswith("matrix(2")


def test_two_fingers_zoom_and_a_tap_chooses(browser, reports):
    with opened(browser, reports("map"), 390, has_touch=True) as page:
        ready(page)
        frame = page.locator(".map-view").nth(1)
        frame.scroll_into_view_if_needed()
        box = frame.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        fingers = page.context.new_cdp_session(page)

        def touch(kind, *places):
            points = [{"x": a, "y": b, "id": k} for k, (a, b) in enumerate(places)]
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        touch("touchStart", (x - 20, y), (x + 20, y))
        for far in (25, 30, 35, 40):
            touch("touchMove", (x - far, y), (x + far, y))
        touch("touchEnd")
        zoom = page.evaluate(
            "getComputedStyle(document.querySelector('.maps')).getPropertyValue('--zoom')"
        )
        assert float(zoom) == pytest.approx(2.0, rel=0.02)
        assert "Choose a pixel" in said(page)
        page.touchscreen.tap(x, y)
        line, column = (int(n) for n in re.findall(r"Line (\d+), column (\d+)", said(page))[0])
        assert (line, column) == pytest.approx((HEIGHT / 2, WIDTH / 2), abs=1.01)


def test_pixels_by_keyboard(browser, reports):
    with opened(browser, reports("map")) as page:
        ready(page)
        page.locator(".map-grid").focus()
        page.keyboard.press("ArrowDown")
        assert said(page).startswith(f"Line {HEIGHT // 2}, column {WIDTH // 2}")
        for key, line, column in (
            ("ArrowUp", 14, 20), ("ArrowLeft", 14, 19), ("Shift+ArrowRight", 14, 29),
            ("Shift+ArrowRight", 14, 39), ("ArrowRight", 14, 39), ("Shift+ArrowDown", 24, 39),
            ("Shift+ArrowDown", 29, 39),
        ):  # fmt: skip
            page.keyboard.press(key)
            assert said(page).startswith(f"Line {line}, column {column}")
        page.keyboard.press("+")
        page.keyboard.press("+")
        assert page.evaluate(STACKS)[0].startswith("matrix(4")
        # The chosen pixel stays in sight wherever it goes.
        for _ in range(3):
            page.keyboard.press("Shift+ArrowLeft")
        inside = """() => {
          const edge = document.querySelector(".map-view").getBoundingClientRect();
          const spot = document.querySelector(".map-spot").getBoundingClientRect();
          return spot.left >= edge.left && spot.right <= edge.right && spot.top >= edge.top - 9
            && spot.bottom <= edge.bottom + 9;
        }"""
        assert page.evaluate(inside)
        page.keyboard.press("-")
        assert page.evaluate(STACKS)[0].startswith("matrix(2")
        page.keyboard.press("0")
        assert page.evaluate(STACKS)[0].startswith("matrix(1")


def test_pixels_without_prediction_and_truth(browser, reports):
    with opened(browser, reports("map-gaps")) as page:
        ready(page)
        page.locator(".map-grid").focus()
        page.keyboard.press("ArrowDown")
        assert said(page) == f"Line {HEIGHT // 2}, column {WIDTH // 2}: no prediction."


def test_a_map_of_numbers(browser, reports):
    with opened(browser, reports("map-numbers")) as page:
        ready(page)
        click(page, 0, 3, 4)
        text = said(page)
        mean, spread = re.search(r"Mean ([\d.]+) and standard deviation ([\d.]+)\.$", text).groups()
        # Layers come in hundredths of their range: 0 to 419, and 2 to 5.
        assert float(mean) == pytest.approx(43.0, abs=4.19 / 2 + 0.5)
        assert float(spread) == pytest.approx(2.0, abs=0.02)


def test_static_without_scripts_and_on_paper(browser, reports, picture):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports("map").as_uri())
    assert all(image.is_visible() for image in page.locator(".map-stack img").all())
    assert page.locator("canvas").first.is_hidden()
    for selector in (".map-tools", ".map-pixel"):
        assert page.locator(selector).is_hidden()
    context.close()
    with opened(browser, reports("map"), color_scheme="dark") as page:
        ready(page)
        page.get_by_role("button", name="Zoom in").click()
        click(page, 1, 3, 4)
        page.emulate_media(media="print")
        page.wait_for_selector("html[data-theme=light]")
        assert set(page.evaluate(STACKS)) == {"none"}
        assert page.locator(".map-pixel").is_hidden()
        assert page.locator(".map-stack img").first.is_visible()
        picture(page, "map-print")


def test_text_is_shown_and_not_run(browser, reports):
    with opened(browser, reports("map")) as page:
        ready(page)
        page.locator(".map-only").select_option("3")
        click(page, 0, 12, 20)
        assert page.locator(".maps b, .maps a, .maps iframe").count() == 0
        assert page.locator(".map-legend", has_text="<b>roof</b>").count() == 1


def test_many_classes_with_long_names_stay_inside(browser, tmp_path):
    names = [f"{'a_name_without_any_break' * 3}_{k}" for k in range(9)]
    p = np.tile([0.124] * 8 + [0.008], (HEIGHT * WIDTH, 1))
    pixels = PredictionMap(caveat.Categorical(p, classes=names), (HEIGHT, WIDTH))
    path = pixels.report(tmp_path / "map.html")
    with opened(browser, path, 390) as page:
        ready(page)
        click(page, 0, 3, 4)
        assert f"{names[5]} and 2 others." in said(page)
        assert page.evaluate(
            "[...document.querySelectorAll('.map-tools *, .map-legend *, .map-chances *')]"
            ".every((e) => e.getBoundingClientRect().right <= innerWidth)"
        )
        stack = page.locator(".map-stack").first.bounding_box()
        name = page.locator(".map-name").first.bounding_box()
        assert stack["x"] <= name["x"]
        assert name["x"] + name["width"] <= stack["x"] + stack["width"]
