"use strict";
// Tables sort and filter. Without this script the page lacks nothing but these.
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
    if (!button.textContent.trim()) button.ariaLabel = "Sort by name";
    title.append(button);
    title.ariaSort = "none";
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[title.ariaSort];
      for (const other of titles) other.ariaSort = "none";
      title.ariaSort = next;
      const rows = [...first];
      const by = order(title.classList.contains("number"), next === "ascending" ? 1 : -1);
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
