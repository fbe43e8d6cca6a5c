/* Everything that the address says. */
const empty = () => ({ text: "", component: "", changed: false, affected: false, cell: "", issue: "", along: "", at: "" });
const fromAddress = () => {
  const hash = location.hash.slice(1);
  const state = empty();
  if (!hash.includes("=")) {
    state.at = hash;
    return state;
  }
  const given = new URLSearchParams(hash);
  for (const key of Object.keys(state)) {
    const value = given.get(key) || "";
    state[key] = typeof state[key] === "boolean" ? value === "1" : value;
  }
  return state;
};
const asAddress = (state) => {
  const told = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (value) told.set(key, value === true ? "1" : value);
  }
  const only = state.at && [...told.keys()].length === 1;
  return only ? "#" + state.at : told.size ? "#" + told : location.pathname + location.search;
};
let state = empty();
const go = (change, { replace = false, mark = null } = {}) => {
  const next = { ...state, ...change };
  const address = asAddress(next);
  if (replace) history.replaceState(mark ?? history.state, "", address);
  else history.pushState(mark, "", address);
  apply(next);
};

/* Filters. */
const haystacks = [];
const haystack = (number) => haystacks[number] ??= (({ issue, title, stack, also, coded }) =>
  [issue, title, stack, also, ...coded.map((one, at) => at % 2 ? "" : text(data.kinds[one][2]))].join("\n").toLowerCase())(rows[number]);
const filtered = (at) => at.text || at.component || at.changed || at.affected;
const filter = (at) => {
  const words = at.text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = rows.map((row, number) =>
    (!at.changed || row.changed) && (!at.affected || row.affected) && (!at.component || row.axis === at.component)
    && words.every((word) => haystack(number).includes(word)));
  const some = (members) => members.some((number) => shown[number]);
  lines.forEach((line, number) => { line.hidden = !shown[number]; });
  answers.forEach((body, number) => { body.hidden = !some(data.answers[number]); });
  exhibits.forEach((one, number) => { one.hidden = !some(data.exhibits[number]); });
  const hideEmpty = (selector, inner) => document.querySelectorAll(selector).forEach((one) => {
    one.hidden = !one.querySelector(inner);
  });
  hideEmpty(".m tbody", "tr:not(.h):not([hidden])");
  hideEmpty(".grid", "tbody:not([hidden])");
  hideEmpty(".sheet", ".grid:not([hidden])");
  hideEmpty("#grids", ".sheet:not([hidden])");
  hideEmpty("#evidence", ".exhibit:not([hidden])");
  hideEmpty("#answer .wide", "tbody:not([hidden])");
  const issues = new Set(rows.filter((_, number) => shown[number]).map((row) => row.issue)).size;
  const all = data.issues.length;
  byId("count").textContent = `${issues} of ${all} issue${all === 1 ? "" : "s"}`;
  byId("nothing").hidden = issues > 0 || !filtered(at);
  byId("clear").hidden = !filtered(at);
  tables.forEach(reachable);
};
