"""What tests do with a page in a browser."""

import re
import zlib
from contextlib import contextmanager

SETTLED = """() => document.fonts.ready.then(
  () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))
)"""
"""Wait until fonts are there and the page is drawn, so that what is measured no longer moves."""


@contextmanager
def opened(browser, path, width=1280, everything=False, **options):
    """Open a page; any error on it, and any request but the page itself, fails the test."""
    page = browser.new_page(viewport={"width": width, "height": 900}, **options)
    troubles = []
    page.on("console", lambda m: troubles.append(f"console {m.type}: {m.text}"))
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
    page.on("request", lambda r: troubles.append(r.url) if r.url != path.as_uri() else None)
    page.goto(path.as_uri())
    page.evaluate(SETTLED)
    if everything:
        unfold(page)
    yield page
    page.close()
    assert troubles == []


def unfold(page):
    """Open all that can be opened, and let the page lay out its tables."""
    page.evaluate(
        """() => {
          document.querySelectorAll("details").forEach((part) => { part.open = true; });
          const frame = () => new Promise(requestAnimationFrame);
          return frame().then(frame).then(frame);
        }"""
    )


def text_of(page, selector):
    return " ".join(page.locator(selector).first.inner_text().split())


def chart(page, title):
    """The box of the chart with a title that can be seen."""
    card = page.locator("article", has=page.get_by_text(title, exact=True))
    return card.locator(".chart").first


def filled(paper):
    """How far down each page of a PDF has text, as a share of its height.

    Chromium writes one compressed stream for each page, in which matrices scale and move only.
    """
    objects = dict(re.findall(rb"(\d+) 0 obj\n(.*?)\nendobj", paper, re.DOTALL))
    found = []
    for page in (text for text in objects.values() if text.startswith(b"<</Type /Page\n")):
        height = float(re.search(rb"/MediaBox \[0 0 \S+ (\S+)\]", page)[1])
        content = objects[re.search(rb"/Contents (\d+)", page)[1]]
        stream = zlib.decompress(content[content.index(b"stream\n") + 7 :]).decode("latin-1")
        scale, move, held, places = 1.0, 0.0, [], []
        for *numbers, operator in (line.split() for line in stream.splitlines()):
            if operator == "q":
                held.append((scale, move))
            elif operator == "Q":
                scale, move = held.pop()
            elif operator == "cm":
                scale, move = scale * float(numbers[3]), move + scale * float(numbers[5])
            elif operator == "Tm":
                places.append(move + scale * float(numbers[5]))
        found.append(1 - min(places, default=height) / height)
    return found


LAYOUT = """() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const seen = (e) => e.checkVisibility();
  const name = (e) => (e.textContent || "").trim().slice(0, 40);
  const meet = (boxes) => boxes.flatMap(([a, p], i) => boxes.slice(i + 1)
    .filter(([, q]) => Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1
      && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 1)
    .map(([b]) => `${name(a)} | ${name(b)}`));
  const words = (e) => {
    const range = document.createRange(); range.selectNodeContents(e);
    return range.getBoundingClientRect();
  };
  const root = document.documentElement;
  const found = { sideways: root.scrollWidth - root.clientWidth, clipped: [], overlaps: [], outside: [] };
  for (const box of all(".table-box").filter(seen)) {
    if (box.scrollWidth > box.clientWidth) found.clipped.push(box.getAttribute("aria-label"));
    found.overlaps.push(...meet(all("thead th", box).filter(seen).map((e) => [e, words(e)])));
  }
  for (const item of all(".verdict > li, .tiles > li").filter(seen)) {
    found.overlaps.push(...meet([...item.children].filter(seen).map((e) => [e, words(e)])));
  }
  for (const svg of all(".chart-svg").filter(seen)) {
    const texts = all("text", svg).filter((e) => e.textContent.trim()).map((e) => [e, e.getBoundingClientRect()]);
    found.overlaps.push(...meet(texts));
    const card = svg.closest(".card").getBoundingClientRect();
    found.outside.push(...texts.filter(([, p]) => p.left < card.left || p.right > card.right).map(([e]) => name(e)));
  }
  return found;
}"""

CONTRAST = """() => {
  const channel = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map(Number).map(channel);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const texts = [...document.querySelectorAll(".chart-svg text")].filter((e) => e.checkVisibility());
  return texts.map((e) => {
    const pair = [getComputedStyle(e).fill, getComputedStyle(e.closest(".card")).backgroundColor].map(light);
    return [getComputedStyle(e).fill, (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05)];
  });
}"""
