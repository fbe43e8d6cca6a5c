/* Opening and closing. The place that is open is in the address. */
let opened = null;
const spot = (number, place) => {
  const line = lines[number];
  return line ? line.cells[columnOf(rows[number], place) + 1] : null;
};
const show = (row, place, replace = false) => go(
  { cell: ids[row.cells[place]], issue: row.issue, along: row.axis, at: "" },
  replace ? { replace } : { mark: { opened: true } },
);
const find = ({ cell, issue, along }) => {
  const number = cell ? ids.indexOf(cell) : -1;
  if (number < 0) return null;
  const row = rows.findIndex((one, at) =>
    at < lines.length && one.issue === issue && one.axis === along && one.cells.includes(number));
  return row < 0 ? null : { number: row, place: rows[row].cells.indexOf(number) };
};
const lookAt = (at) => {
  const found = find(at);
  opened?.classList.remove("open");
  opened = null;
  if (!found) {
    if (panel.open) panel.close();
    return;
  }
  const focused = panel.contains(document.activeElement) ? document.activeElement.id : "";
  opened = spot(found.number, found.place);
  fill(rows[found.number], found.place, opened?.classList.contains("s"));
  opened?.classList.add("open");
  if (opened) makeCurrent(opened);
  if (!panel.open) panel.showModal();
  const again = focused && byId(focused);
  (again && !again.disabled ? again : byId("panel-h")).focus();
  panel.scrollTop = 0;
};
panel.addEventListener("close", () => {
  const last = opened;
  if (last && !last.closest("[hidden]")) last.focus();
  if (!state.cell) return;
  if (history.state?.opened) history.back();
  else go({ cell: "", issue: "", along: "" }, { replace: true });
});
panel.addEventListener("click", (event) => {
  if (event.target === panel && event.clientX < panel.getBoundingClientRect().left) panel.close();
});
panel.addEventListener("keydown", (event) => {
  const button = { ArrowLeft: "older", ArrowRight: "newer" }[event.key];
  if (button && event.target.tagName !== "PRE" && !event.altKey && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    byId(button).click();
  }
});
