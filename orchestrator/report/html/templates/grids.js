/* Grids: one place of each is in the tab order; arrow keys move it. */
const places = (table) => table.tBodies;
const isPlace = (element) => element?.tagName === "TD" && !!element.closest(".m tbody");
const currents = new Map();
const makeCurrent = (cell) => {
  const table = cell.closest("table");
  currents.get(table)?.removeAttribute("tabindex");
  currents.set(table, cell);
  cell.tabIndex = 0;
};
const reachable = (table) => {
  const current = currents.get(table);
  if (current && !current.closest("[hidden]")) return;
  const first = table.querySelector("tbody:not([hidden]) tr:not(.h):not([hidden]) td");
  if (first) makeCurrent(first);
};
const step = (cell, key, far) => {
  const line = cell.parentElement;
  const across = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (across) return line.cells[Math.max(1, cell.cellIndex + across)];
  if (key === "Home" && !far) return line.cells[1];
  if (key === "End" && !far) return line.cells[line.cells.length - 1];
  const shown = [...line.closest("table").querySelectorAll("tbody tr:not(.h)")].filter((one) => !one.closest("[hidden]"));
  const at = shown.indexOf(line);
  const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: shown.length - 1 }[key];
  const goal = shown[to];
  if (!goal) return null;
  return goal.cells[key === "Home" ? 1 : key === "End" ? goal.cells.length - 1 : cell.cellIndex];
};
const open = (cell) => {
  const number = numbers.get(cell.parentElement);
  const place = placeOf(rows[number], cell.cellIndex - 1);
  if (place >= 0 && place < rows[number].cells.length && !cell.classList.contains("n")) show(rows[number], place);
};
const grids = byId("grids");
grids?.addEventListener("click", (event) => {
  const cell = event.target.closest("td");
  if (isPlace(cell)) open(cell);
});
grids?.addEventListener("keydown", (event) => {
  if (!isPlace(event.target) || event.altKey || event.metaKey) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    open(event.target);
  } else if (/^(Arrow|Home|End)/.test(event.key)) {
    event.preventDefault();
    const goal = step(event.target, event.key, event.ctrlKey);
    if (goal && goal.tagName === "TD") {
      makeCurrent(goal);
      goal.focus();
      goal.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }
});
/* What the page says itself where it is small (tables.py). */
const edge = (row, place, cell) => {
  const { verdict } = kind(row, place);
  if (!cell.classList.contains("k") || verdict === "unknown") return "";
  const old = verdict === "bad" ? "good" : "bad";
  const last = row.kinds.slice(0, place).findLastIndex((_, other) => kind(row, other).verdict === old);
  return `${last < 0 ? `no ${old} one before` : `last ${old} ${versionOf(row, last)}`}, first ${verdict} ${versionOf(row, place)}`;
};
grids?.addEventListener("mouseover", (event) => {
  const cell = event.target;
  if (!isPlace(cell) || cell.dataset.told || cell.classList.contains("n")) return;
  const row = rows[numbers.get(cell.parentElement)];
  const place = placeOf(row, cell.cellIndex - 1);
  const why = kind(row, place).signature || text(cells.reason[row.cells[place]] || 0);
  cell.title = [`${row.axis} ${versionOf(row, place)}: ${worded(row, place)}`, why.slice(0, 200), cell.title || edge(row, place, cell)]
    .filter(Boolean).join("\n");
  cell.dataset.told = "1";
});
