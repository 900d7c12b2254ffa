"use strict";
// Tables sort and filter, and curves tell their values. Without this script the page lacks nothing but these.
const shown = (cell) => (cell?.firstChild?.textContent ?? "").trim();
const amount = (text) => {
  const found = text.replaceAll(",", "").replace("−", "-").match(/-?\d+(\.\d+)?(e[+-]?\d+)?/i);
  return found ? Number(found[0]) : NaN;
};
const order = (numeric, sign) => (a, b) => {
  if (!numeric) return sign * a.localeCompare(b, "en", { numeric: true });
  const [x, y] = [amount(a), amount(b)];
  return isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) : sign * (x - y); // what has no number comes last
};

function sortable(table) {
  const body = table.tBodies[0], first = [...body.rows];
  const titles = [...table.tHead.rows].flatMap((row) => [...row.cells]).filter((cell) => cell.scope === "col");
  titles.forEach((title, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...title.childNodes);
    if (!button.textContent.trim()) button.append("Name");
    title.append(button);
    title.ariaSort = "none";
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[title.ariaSort];
      for (const other of titles) other.ariaSort = "none";
      title.ariaSort = next;
      const rows = [...first];
      const numeric = title.classList.contains("number") || first.every((row) => /^[−–\d.,]*$/.test(shown(row.cells[place])));
      const by = order(numeric, next === "ascending" ? 1 : -1);
      if (next !== "none") rows.sort((a, b) => by(shown(a.cells[place]), shown(b.cells[place])));
      body.append(...rows);
    });
  });
}

function filterable(table) {
  const rows = [...table.tBodies[0].rows], box = table.closest(".scroll");
  const line = document.createElement("p"), field = document.createElement("input"), count = document.createElement("output");
  line.className = "filter";
  field.type = "search";
  field.placeholder = `Filter ${rows.length} rows`;
  field.ariaLabel = `Filter the rows of: ${box.ariaLabel}`;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    count.value = words.length ? `${rows.filter((row) => !row.hidden).length} of ${rows.length}` : "";
  });
  line.append(field, " ", count);
  box.before(line);
}

for (const table of document.querySelectorAll(".scroll > table")) {
  if (table.tHead && table.tBodies[0].rows.length > 1) sortable(table);
  if (table.tBodies[0].rows.length > 12) filterable(table);
}

// A frame over each panel holds the ends of its axes, from which a place becomes values.
const scale = (text) => {
  const [low, high, log] = text.split(" ");
  const [a, b] = [low, high].map((end) => (log ? Math.log10(end) : Number(end)));
  return (share) => (log ? 10 ** (a + share * (b - a)) : a + share * (b - a));
};
const spell = (value) => (Math.abs(value) < 1e-300 ? "0" : Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 }));

function panel(frame) {
  const side = (name) => Number(frame.getAttribute(name));
  const box = { x: side("x"), y: side("y"), width: side("width"), height: side("height") };
  const across = scale(frame.dataset.x), up = scale(frame.dataset.y);
  const inside = ([x]) => x >= box.x - 1 && x <= box.x + box.width + 1;
  const lines = [...frame.ownerSVGElement.querySelectorAll("[data-name]")]
    .map((path) => ({ path, name: path.dataset.name, points: path.getAttribute("d").slice(1).split("L").map((pair) => pair.split(" ").map(Number)) }))
    .filter((line) => line.points.some(inside));
  return { frame, box, across: (x) => across((x - box.x) / box.width), up: (y) => up((box.y + box.height - y) / box.height), lines };
}

// The height of a line at x. Lines of few points tell the nearest one.
function height(points, x) {
  if (points.length < 25) {
    const near = points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
    return Math.abs(near[0] - x) < 25 ? near[1] : NaN;
  }
  const next = points.findIndex((point) => point[0] >= x);
  if (next < 1) return next === 0 && points[0][0] - x < 2 ? points[0][1] : NaN;
  const [[x0, y0], [x1, y1]] = [points[next - 1], points[next]];
  return x1 > x0 ? y0 + ((y1 - y0) * (x - x0)) / (x1 - x0) : y1;
}

function telling(picture) {
  const panels = [...picture.querySelectorAll("rect[data-x]")].map(panel);
  if (!panels.length) return;
  const told = document.createElement("div"), at = document.createElement("div");
  told.className = "told";
  told.role = "status";
  at.className = "at";
  let place = [0, 0.5];
  const hide = () => { told.remove(); at.remove(); };

  function tell(number, share) {
    const { frame, box, across, up, lines } = panels[number];
    place = [number, share];
    const x = box.x + share * box.width;
    const rows = lines.map((line) => [line, height(line.points, x)]).filter(([, y]) => y >= box.y - 1 && y <= box.y + box.height + 1);
    rows.sort(([, a], [, b]) => a - b); // as they lie, the highest first
    const list = document.createElement("table");
    for (const [line, y] of rows) {
      const row = list.insertRow(), swatch = document.createElement("i");
      swatch.style.background = getComputedStyle(line.path).stroke;
      row.insertCell().append(swatch);
      row.insertCell().textContent = line.name;
      row.insertCell().textContent = spell(up(y));
    }
    told.replaceChildren(`${frame.dataset.xTitle}: ${spell(across(x))}`, list);
    const [drawn, around] = [frame.getBoundingClientRect(), picture.getBoundingClientRect()];
    const left = drawn.left - around.left + share * drawn.width;
    at.style.cssText = `left:${left}px;top:${drawn.top - around.top}px;height:${drawn.height}px`;
    picture.append(at, told);
    const side = left + told.offsetWidth + 12 < around.width ? left + 10 : Math.max(left - told.offsetWidth - 10, 0);
    told.style.cssText = `left:${side}px;top:${drawn.top - around.top + 4}px`;
  }

  const point = (event) => {
    const number = panels.findIndex(({ frame }) => {
      const box = frame.getBoundingClientRect();
      return event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
    });
    if (number < 0) return hide();
    const box = panels[number].frame.getBoundingClientRect();
    tell(number, (event.clientX - box.left) / box.width);
  };
  picture.addEventListener("pointermove", point);
  picture.addEventListener("pointerdown", point);
  picture.addEventListener("pointerleave", hide);
  picture.addEventListener("blur", hide);
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
    if (event.key === "Escape") hide();
    if (!step) return;
    event.preventDefault();
    let [number, share] = [place[0], place[1] + step];
    if (share < 0 || share > 1) {
      number = (number + Math.sign(step) + panels.length) % panels.length;
      share = share < 0 ? 1 : 0;
    }
    tell(number, share);
  });
}

for (const picture of document.querySelectorAll(".picture")) telling(picture);
