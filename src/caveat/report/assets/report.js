"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  root.classList.remove("no-js");

  /* Colors: charts name them ("@blue", "@blue/0.2"); the style sheet knows them for each theme. */
  const COLORED = new Set(["color", "fillcolor", "bgcolor", "bordercolor", "colorscale"]);
  function color(token) {
    const [name, opacity] = token.slice(1).split("/");
    const value = getComputedStyle(root).getPropertyValue(`--${name}`).trim();
    if (!opacity) return value;
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(value.slice(i, i + 2), 16));
    return `rgba(${r},${g},${b},${opacity})`;
  }
  function themed(value, key) {
    if (typeof value === "string") return COLORED.has(key) && value[0] === "@" ? color(value) : value;
    if (Array.isArray(value)) return COLORED.has(key) || typeof value[0] === "object" ? value.map((v) => themed(v, key)) : value;
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, themed(v, k)]));
  }
  function layoutOf(given, room, width) {
    const layout = themed(given, "");
    const size = room < 420 ? 11.5 : 13;
    const axis = { gridcolor: color("@grid"), linecolor: color("@line"), zeroline: false, automargin: true, ticks: "outside", tickcolor: color("@line") };
    const base = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
      font: { family: getComputedStyle(document.body).fontFamily, size, color: color("@text") },
      margin: { l: 8, r: 12, t: 8, b: 8 }, hovermode: "closest", dragmode: false,
      hoverlabel: { bgcolor: color("@surface"), bordercolor: color("@line"), font: { color: color("@text") }, align: "left" },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, itemclick: false, itemdoubleclick: false },
    };
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(name)) layout[name] = { ...axis, ...layout[name], title: { ...layout[name].title, font: { size } } };
      else if (name === "legend") layout[name] = { ...base.legend, ...layout[name] };
      else if (name === "margin") layout[name] = { ...base.margin, ...layout[name] };
    }
    return { ...base, ...layout, ...(width ? { width, autosize: false } : {}) };
  }

  /* Charts are drawn when they come near the window, and again when the theme changes. */
  const charts = new Map();
  const config = { displaylogo: false, displayModeBar: false, responsive: true, scrollZoom: false };
  function draw(box, width) {
    if (!charts.has(box)) charts.set(box, read(box.dataset.chart));
    const chart = charts.get(box);
    Plotly.react(box, themed(chart.data, ""), layoutOf(chart.layout, width || box.clientWidth, width), config);
    const slider = sliders.find((s) => s.box === box);
    if (slider) slider.paint();
  }
  const shown = (box) => (box.checkVisibility ? box.checkVisibility() : box.offsetParent !== null);
  const redraw = (width) => charts.forEach((_, box) => { if (shown(box)) draw(box, width); });
  const waiting = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      waiting.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "400px" });

  /* Slider: the sentences and thresholds come with the page; nothing is computed here. */
  const sliders = all(".slider").map((part) => {
    const input = part.querySelector("input");
    const said = part.querySelector("output");
    const steps = read(part.dataset.steps);
    const box = document.querySelector(`[data-chart="${part.dataset.paints}"]`);
    const paint = () => {
      const step = Number(input.value);
      said.textContent = steps.sentences[step];
      input.setAttribute("aria-valuetext", steps.sentences[step]);
      if (!box || !charts.has(box)) return;
      if (steps.spot !== undefined) {
        Plotly.restyle(box, { x: [[steps.x[step]]], y: [[steps.y[step]]] }, [steps.spot]);
        return;
      }
      const [deferred, kept, wrong] = ["@gray", "@blue", "@orange"].map(color);
      const colors = steps.uncertainty.map((values, trace) => values.map((value) =>
        (value > steps.threshold[step] ? deferred : trace === 1 ? wrong : kept)));
      Plotly.restyle(box, { "marker.color": colors }, colors.map((_, i) => i));
    };
    input.addEventListener("input", paint);
    paint();
    return { box, paint };
  });
  all(".chart").forEach((box) => waiting.observe(box));

  /* Theme: follows the system until the button is pressed; nothing is stored. */
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.querySelector(".theme");
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "Light colors" : "Dark colors"; };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
    redraw();
  });
  dark.addEventListener("change", () => { name(); redraw(); });
  name();

  /* Paper is light, and shows every chart that is not folded away. */
  let before = null;
  const paper = () => {
    if (before !== null) return;
    before = root.dataset.theme || "";
    root.dataset.theme = "light";
    all(".chart").forEach((box) => { if (shown(box)) draw(box, 640); });
  };
  const screen = () => {
    if (before === null) return;
    if (before) root.dataset.theme = before; else delete root.dataset.theme;
    before = null;
    redraw();
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
