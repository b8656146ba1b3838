"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  root.classList.remove("no-js");

  /* Values are read off charts by pointer or arrow keys; their texts come with the page. */
  const SVG = "http://www.w3.org/2000/svg";
  function readable(box) {
    const svg = box.querySelector("svg");
    const tip = box.querySelector(".tip");
    let points = null, ring = null, now = -1;
    const known = () => (points ??= read(box.dataset.points));
    const show = (i) => {
      now = i;
      const [x, y, text] = known()[i];
      if (!ring) {
        ring = document.createElementNS(SVG, "circle");
        ring.setAttribute("r", "6");
        ring.setAttribute("class", "ring");
        svg.append(ring);
      }
      ring.setAttribute("cx", x);
      ring.setAttribute("cy", y);
      ring.style.display = "";
      tip.textContent = text;
      tip.hidden = false;
      const scale = svg.clientWidth / svg.viewBox.baseVal.width;
      const half = tip.offsetWidth / 2;
      const left = Math.min(Math.max(x * scale, half), Math.max(box.clientWidth - half, half));
      tip.style.left = `${left}px`;
      const above = y * scale - tip.offsetHeight - 12;
      tip.style.top = `${above < 0 ? y * scale + 14 : above}px`;
    };
    const hide = () => { now = -1; tip.hidden = true; if (ring) ring.style.display = "none"; };
    box.addEventListener("pointermove", (event) => {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      let best = -1, least = 900;
      known().forEach(([x, y], i) => {
        const far = (x - place.x) ** 2 + (y - place.y) ** 2;
        if (far < least) { least = far; best = i; }
      });
      if (best < 0) hide(); else show(best);
    });
    box.addEventListener("pointerleave", hide);
    box.addEventListener("blur", hide);
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step || !known().length) return;
      event.preventDefault();
      show((now + step + known().length) % known().length);
    });
  }
  all(".chart").forEach(readable);

  /* Slider: the sentences, places and thresholds come with the page; nothing is computed here. */
  all(".slider").forEach((part) => {
    const input = part.querySelector("input");
    const said = part.querySelector("output");
    const steps = read(part.dataset.steps);
    const svg = document.querySelector(`[data-points="${part.dataset.paints}"] svg`);
    const groups = steps.keyed.map((_, i) => svg.querySelector(`[data-keyed="${i}"]`));
    const drawn = (group, keep, name) => {
      const path = document.createElementNS(SVG, "path");
      const d = group.places.filter((_, i) => keep(group.keys[i])).map(([x, y]) => `M${x},${y}${group.shape}`);
      path.setAttribute("d", d.join(""));
      const dot = group.shape === "h0";
      path.setAttribute("class", group.filled ? `f-${name}` : `s-${name} round`);
      if (!group.filled) path.setAttribute("stroke-width", dot ? "6" : "1.8");
      return path;
    };
    const paint = () => {
      const step = Number(input.value);
      said.textContent = steps.sentences[step];
      input.setAttribute("aria-valuetext", steps.sentences[step]);
      const spot = svg.querySelector("[data-spot]");
      if (spot) {
        spot.setAttribute("cx", steps.spot[step][0]);
        spot.setAttribute("cy", steps.spot[step][1]);
      }
      steps.keyed.forEach((group, i) => {
        const kept = (key) => key <= steps.threshold[step];
        groups[i].replaceChildren(drawn(group, (key) => !kept(key), "gray"), drawn(group, kept, group.color));
      });
    };
    input.addEventListener("input", paint);
    paint();
  });

  /* Parts are folded; links, "Open all" and printing unfold them. */
  const parts = all("details.part, details.more, details.technique");
  const unfold = document.querySelector(".unfold");
  const open = (yes) => parts.forEach((part) => { part.open = yes; });
  unfold.addEventListener("click", () => {
    const yes = unfold.textContent === "Open all";
    open(yes);
    unfold.textContent = yes ? "Close all" : "Open all";
  });
  const follow = () => {
    const part = location.hash && document.getElementById(location.hash.slice(1));
    const details = part && part.querySelector("details.part");
    if (details) { details.open = true; part.scrollIntoView(); }
  };
  addEventListener("hashchange", follow);
  all("nav.contents a").forEach((a) => a.addEventListener("click", () => setTimeout(follow)));
  follow();

  /* Theme: follows the system until the button is pressed; nothing is stored. */
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.querySelector(".theme");
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "Light colors" : "Dark colors"; };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  dark.addEventListener("change", name);
  name();

  /* Paper is light, and shows the parts that are folded. */
  let before = null;
  const paper = () => {
    if (before) return;
    before = { theme: root.dataset.theme || "", open: parts.map((part) => part.open) };
    root.dataset.theme = "light";
    parts.forEach((part) => { if (!part.matches(".technique")) part.open = true; });
  };
  const screen = () => {
    if (!before) return;
    if (before.theme) root.dataset.theme = before.theme; else delete root.dataset.theme;
    parts.forEach((part, i) => { part.open = before.open[i]; });
    before = null;
  };
  addEventListener("beforeprint", paper);
  addEventListener("afterprint", screen);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? paper() : screen()));

  /* Tables sort by their buttons; cells that hold numbers carry them in full. */
  const key = (row, column) => {
    const cell = row.cells[column];
    return "sort" in cell.dataset ? (cell.dataset.sort === "" ? NaN : Number(cell.dataset.sort)) : cell.textContent.trim();
  };
  function sort(header) {
    const body = header.closest("table").tBodies[0];
    const down = header.getAttribute("aria-sort") === "ascending";
    const order = (first, second) => {
      const [a, b] = [key(first, header.cellIndex), key(second, header.cellIndex)];
      if (typeof a === "string") return a.localeCompare(b) * (down ? -1 : 1);
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return (a - b) * (down ? -1 : 1);
    };
    all("th", header.parentElement).forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    [...body.rows].sort(order).forEach((row) => body.append(row));
  }
  all("th button").forEach((b) => b.addEventListener("click", () => sort(b.closest("th"))));

  /* A table that does not fit its box is stacked: decided again when the width changes. */
  const widths = new WeakMap();
  const fit = new ResizeObserver((entries) => requestAnimationFrame(() => {
    for (const { target: box } of entries) {
      if (widths.get(box) === box.clientWidth) continue;
      widths.set(box, box.clientWidth);
      box.classList.remove("stacked");
      box.classList.toggle("stacked", box.scrollWidth > box.clientWidth);
    }
  }));
  all(".table-box").forEach((box) => fit.observe(box));

  /* One target at a time; choosers of one part go together. */
  const inScope = (selector, scope) => all(selector, scope).filter((e) => e.closest("[data-scope]") === scope);
  const choosers = all("select[data-chooses]");
  for (const select of choosers) {
    const scope = select.closest("[data-scope]");
    const kind = select.dataset.chooses;
    const choose = () => {
      inScope(`select[data-chooses="${kind}"]`, scope).forEach((other) => { other.value = select.value; });
      inScope(`[data-${kind}]`, scope).forEach((part) => { part.hidden = part.dataset[kind] !== select.value; });
    };
    select.addEventListener("change", choose);
    choose();
  }

  /* The contents follow the reader. */
  const links = new Map(all("nav.contents a").map((a) => [a.hash.slice(1), a]));
  const here = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((a) => a.removeAttribute("aria-current"));
      links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  links.forEach((_, id) => here.observe(document.getElementById(id)));
})();
