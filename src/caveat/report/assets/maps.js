"use strict";
(() => {
  /* Linked maps: bytes of the page become pixels; one zoom for all, one pixel chosen in all. */
  const NONE = 255, FADED = 40, ALIKE = 0.9;
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const add = (parent, tag, text = "", name = "") => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (name) made.className = name;
    parent.append(made);
    return made;
  };
  const listed = (words) => (words.length < 2 ? words.join("")
    : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`);
  const count = (number) => number.toLocaleString("en-US");

  async function link(box) {
    const facts = JSON.parse(document.getElementById(box.dataset.maps).textContent);
    const all = await unpack(document.getElementById(`${box.dataset.maps}-data`).textContent);
    const { width, height, step, places, levels } = facts;
    const size = width * height;
    const planes = Object.fromEntries(facts.planes.map((name, i) => [name, all.subarray(i * size, (i + 1) * size)]));
    const first = planes.share0 ?? planes.layer0;
    const grid = box.querySelector(".map-grid");
    const views = [...box.querySelectorAll(".map-view")];
    const said = box.querySelector(".map-pixel");
    const only = box.querySelector(".map-only");
    const view = { zoom: 1, x: 0, y: 0 };
    const largest = Math.max(8, Math.max(width, height) / 8);
    let chosen = null, alike = null;

    const percent = (share) => Math.round((100 * share) / levels);
    const code = (name, i) => planes[`${name}low`][i] + 256 * planes[`${name}high`][i];
    const known = (i) => first[i] !== NONE;
    const inks = (colors) => Uint32Array.from(colors, ([r, g, b]) => (b << 16) | (g << 8) | r);
    const [classInks, shadeInks, kindInks] = [facts.colors, facts.shades, facts.kindColors].map(inks);
    const painters = {
      class: (i) => (known(i) ? classInks[code("code0", i)] : -1),
      truth: (i) => { const label = code("truth", i); return label ? classInks[label - 1] : -1; },
      kind: (i) => (planes.kind[i] === NONE ? -1 : kindInks[planes.kind[i]]),
      color: (i) => (planes.blue[i] << 16) | (planes.green[i] << 8) | planes.red[i],
    };
    facts.layers.forEach((_, k) => {
      const plane = planes[`layer${k}`];
      painters[`layer${k}`] = (i) => (plane[i] === NONE ? -1 : shadeInks[plane[i]]);
    });
    const canvases = [...box.querySelectorAll("canvas")].map((canvas) => {
      canvas.width = width;
      canvas.height = height;
      return { pen: canvas.getContext("2d"), ink: painters[canvas.dataset.paints] };
    });
    /* The first byte of a color is red on every machine that browsers run on. */
    const paint = () => {
      const wanted = only && only.value !== "" ? Number(only.value) : -1;
      const shown = (i) => (alike ? alike[i] : wanted < 0 || (known(i) && code("code0", i) === wanted));
      for (const { pen, ink } of canvases) {
        const picture = pen.createImageData(width, height);
        const cells = new Uint32Array(picture.data.buffer);
        for (let i = 0; i < size; i++) {
          const color = ink(i);
          if (color >= 0) cells[i] = color | ((shown(i) ? 255 : FADED) << 24);
        }
        pen.putImageData(picture, 0, 0);
      }
    };

    const look = () => {
      view.x = Math.min(0, Math.max(1 - view.zoom, view.x));
      view.y = Math.min(0, Math.max(1 - view.zoom, view.y));
      for (const name of ["zoom", "x", "y"]) box.style.setProperty(`--${name}`, view[name]);
      box.classList.toggle("zoomed", view.zoom > 1);
    };
    const zoom = (factor, x = 0.5, y = 0.5) => {
      const next = factor ? Math.min(largest, Math.max(1, view.zoom * factor)) : 1;
      view.x = x - ((x - view.x) / view.zoom) * next;
      view.y = y - ((y - view.y) / view.zoom) * next;
      view.zoom = next;
      look();
    };
    /* The place of a pointer, from 0 to 1 along each side of the map as it is framed. */
    const place = (frame, event) => {
      const edge = frame.getBoundingClientRect(), stack = frame.firstElementChild;
      return [
        (event.clientX - edge.left - frame.clientLeft - stack.offsetLeft) / stack.offsetWidth,
        (event.clientY - edge.top - frame.clientTop - stack.offsetTop) / stack.offsetHeight,
      ];
    };
    const pixelAt = ([x, y]) => [
      Math.floor(((y - view.y) / view.zoom) * height), Math.floor(((x - view.x) / view.zoom) * width),
    ];

    /* Pixels that share nearly all probability with the chosen one. */
    const similar = (at) => {
      const own = new Uint8Array(facts.names.length);
      let total = 0;
      for (let k = 0; k < places; k++) {
        const share = planes[`share${k}`][at];
        if (share) { own[code(`code${k}`, at)] = share; total += share; }
      }
      const found = new Uint8Array(size);
      let several = 0;
      for (let i = 0; i < size; i++) {
        if (!known(i)) continue;
        let common = 0;
        for (let k = 0; k < places; k++) {
          const share = planes[`share${k}`][i];
          if (!share) break;
          common += Math.min(share, own[code(`code${k}`, i)]);
        }
        if (common >= ALIKE * total) { found[i] = 1; several++; }
      }
      return [found, several];
    };
    const tell = (line, column) => {
      const at = line * width + column;
      const named = facts.coordinates.map((axis, k) => axis && `${axis[0]} ${axis[1][k ? column : line]}`).filter(Boolean);
      const where = `Line ${count(line * step)}, column ${count(column * step)}${named.length ? ` (${named.join(", ")})` : ""}`;
      said.replaceChildren();
      if (!known(at)) { add(said, "p", `${where}: no prediction.`); return; }
      const left = add(said, "div"), right = add(said, "div");
      if (places) {
        add(left, "p", `${where}: ${facts.names[code("code0", at)]}.`);
        const list = add(left, "ul", "", "map-chances");
        let rest = levels;
        const above = planes.confused[at];
        const between = [];
        for (let k = 0; k < places; k++) {
          const share = planes[`share${k}`][at], label = code(`code${k}`, at);
          if (!share) break;
          rest -= share;
          if (k < above) between.push(facts.names[label]);
          const row = add(list, "li", "", k < above ? "above" : "");
          add(add(row, "span"), "bdi", facts.names[label]);
          const bar = add(add(row, "span"), "i");
          bar.style.width = `${percent(share)}%`;
          bar.style.background = `rgb(${facts.colors[label].join(" ")})`;
          add(row, "span", `${percent(share)} %`);
        }
        if (rest > 0 && facts.names.length > places) add(left, "p", `All other classes: ${percent(rest)} %.`, "note");
        if (above > between.length) between.push(`${count(above - between.length)} other${above - between.length > 1 ? "s" : ""}`);
        if (between.length > 1) add(right, "p", `Hesitates between ${listed(between)}.`);
      } else add(left, "p", `${where}.`);
      const values = facts.layers.map(({ name, low, high }, k) =>
        `${name} ${Number((low + ((high - low) * planes[`layer${k}`][at]) / levels).toPrecision(3))}`);
      if (planes.kind) values.push(`kind of uncertainty: ${facts.kinds[planes.kind[at]]}`);
      add(right, "p", `${listed(values)}.`.replace(/^./, (letter) => letter.toUpperCase()));
      if (planes.truthlow) {
        const label = code("truth", at);
        add(right, "p", label ? `True class: ${facts.names[label - 1]}.` : "The true class is not known.");
      }
      if (!places) return;
      const [found, several] = similar(at);
      alike = found;
      const share = Number(((100 * several * step * step) / facts.pixels).toPrecision(2));
      add(right, "p", several > 1
        ? `${count(several)} pixels (${Math.min(share, 100)} %) have nearly the same probabilities; all others are faded.`
        : "No other pixel has nearly the same probabilities.");
    };
    const choose = (line, column) => {
      chosen = [Math.min(height - 1, Math.max(0, line)), Math.min(width - 1, Math.max(0, column))];
      alike = null;
      if (only) only.value = "";
      tell(...chosen);
      for (const frame of views) {
        const spot = frame.querySelector(".map-spot");
        spot.hidden = false;
        spot.style.left = `${(100 * (chosen[1] + 0.5)) / width}%`;
        spot.style.top = `${(100 * (chosen[0] + 0.5)) / height}%`;
      }
      paint();
    };
    const clear = () => {
      chosen = alike = null;
      views.forEach((frame) => { frame.querySelector(".map-spot").hidden = true; });
      said.replaceChildren();
      add(said, "p", "Choose a pixel in any of the maps.", "note");
      paint();
    };
    /* Keep the chosen pixel in sight. */
    const follow = () => {
      const inside = (share, shift) => Math.min(0, Math.max(1 - view.zoom,
        share * view.zoom + shift < 0.05 || share * view.zoom + shift > 0.95 ? 0.5 - share * view.zoom : shift));
      view.x = inside((chosen[1] + 0.5) / width, view.x);
      view.y = inside((chosen[0] + 0.5) / height, view.y);
      look();
    };

    /* Pointers: a click chooses, a drag moves, two fingers zoom. */
    for (const frame of views) {
      const down = new Map();
      let moved = false;
      frame.addEventListener("pointerdown", (event) => {
        if (!down.size) moved = false;
        down.set(event.pointerId, event);
      });
      frame.addEventListener("pointermove", (event) => {
        const last = down.get(event.pointerId);
        if (!last) return;
        const [x, y] = place(frame, event), [x0, y0] = place(frame, last);
        if (!moved && down.size < 2 && Math.hypot(event.clientX - last.clientX, event.clientY - last.clientY) < 5) return;
        moved = true;
        frame.setPointerCapture(event.pointerId);
        const other = [...down.values()].find((one) => one.pointerId !== event.pointerId);
        down.set(event.pointerId, event);
        if (other) {
          const far = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
          const [u, v] = place(frame, other);
          zoom(far(event) / far(last), (x + u) / 2, (y + v) / 2);
        } else { view.x += x - x0; view.y += y - y0; look(); }
      });
      const up = (event) => {
        if (down.delete(event.pointerId) && !moved && event.type === "pointerup") {
          const [line, column] = pixelAt(place(frame, event));
          if (line >= 0 && line < height && column >= 0 && column < width) choose(line, column);
        }
      };
      frame.addEventListener("pointerup", up);
      frame.addEventListener("pointercancel", up);
      frame.addEventListener("dblclick", (event) => zoom(2, ...place(frame, event)));
      frame.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        zoom(Math.exp(-event.deltaY / 200), ...place(frame, event));
      }, { passive: false });
    }
    grid.addEventListener("keydown", (event) => {
      const far = event.shiftKey ? 10 : 1;
      const way = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      const factor = { "+": 2, "=": 2, "-": 0.5, 0: 0 }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (way) {
        const [line, column] = chosen ?? pixelAt([0.5, 0.5]);
        if (chosen) choose(line + far * way[0], column + far * way[1]); else choose(line, column);
        follow();
      } else if (factor !== undefined) {
        const at = chosen ? [view.x + ((chosen[1] + 0.5) / width) * view.zoom, view.y + ((chosen[0] + 0.5) / height) * view.zoom] : [];
        zoom(factor, ...at);
      } else if (event.key === "Escape") clear();
      else return;
      event.preventDefault();
    });
    for (const button of box.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => zoom(Number(button.dataset.zoom)));
    }
    only?.addEventListener("change", () => { const value = only.value; clear(); only.value = value; paint(); });
    paint();
    box.classList.add("ready");
  }
  if ("DecompressionStream" in window) document.querySelectorAll(".maps").forEach(link);
})();
