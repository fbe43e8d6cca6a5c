const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);

/* The data: a number stands for a text, a cell or a list (data.py, cells.py, logs.py). */
const spread = (coded) => {
  const values = [];
  for (let i = 0; i < coded.length; i += 2) for (let n = coded[i + 1]; n; n--) values.push(coded[i]);
  return values;
};
const cells = data.cells;
cells.versions = cells.versions.map(spread);
for (const key of ["python", "on"]) cells[key] = spread(cells[key]);
for (const axis of Object.keys(cells.near)) cells.near[axis] = cells.near[axis].map(spread);
const ids = [];
for (let i = 0, last = ""; i < cells.ids.length; i += 2) {
  last = last.slice(0, cells.ids[i]) + cells.ids[i + 1];
  ids.push(last);
}
const text = (number) => data.texts[number] || "";
const read = ([where, flags, also, along, kinds, seconds = "", logs = {}, columns = [], runs = {}, metrics = []]) => {
  const [issue, stack, axis, grid] = data.places[where];
  return {
    issue: data.issues[issue][0], title: data.issues[issue][1], stack: data.stacks[stack], axis: data.axes[axis],
    changed: !!(flags & 1), affected: !!(flags & 2), also: text(also), versions: data.grids[grid] || [],
    cells: data.along[along], coded: kinds, seconds, logs, columns, runs, metrics,
    get kinds() { return this.spread ??= spread(this.coded); },
  };
};
const rows = data.rows.map(read);
const columnOf = (row, place) => row.columns.length ? row.columns[place] : place;
const placeOf = (row, column) => row.columns.length ? row.columns.indexOf(column) : column;
const versionOf = (row, place) => row.versions[columnOf(row, place)];
const kind = (row, place) => {
  const [outcome, verdict, signature] = data.kinds[row.kinds[place]];
  return { outcome, verdict, signature: text(signature) };
};
const meaning = { good: "ok", bad: "affected", unknown: "unknown" };
const worded = (row, place) => {
  const { outcome, verdict } = kind(row, place);
  if (verdict === "good") return "ok";
  return outcome === "fail" ? meaning[verdict] : `${meaning[verdict]}: ${outcome}`;
};
const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const seconds = (row, place) => {
  const [high, low] = [0, 1].map((at) => digits.indexOf(row.seconds[2 * place + at] ?? "0"));
  const steps = high * digits.length + low;
  return steps && Number((0.001 * 1.005 ** (steps - 1)).toPrecision(2));
};

/* The elements, in the order of the data. */
const lines = [...document.querySelectorAll(".m tbody tr:not(.h)")];
const numbers = new Map(lines.map((line, number) => [line, number]));
const answers = [...document.querySelectorAll(".a tbody")];
const exhibits = [...document.querySelectorAll(".exhibit")];
const tables = [...document.querySelectorAll(".m")];
const panel = byId("panel");
