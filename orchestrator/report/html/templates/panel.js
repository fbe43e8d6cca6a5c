/* Building the panel. Text goes in as text, never as markup. */
const make = (name, props = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
};
const foreign = (value) => make("bdi", { textContent: value });
const quoted = (word) => /^[A-Za-z0-9_@%+=:,.\/-]+$/.test(word) ? word : "'" + word.replaceAll("'", `'"'"'`) + "'";
const instant = (minute) => new Date(minute * 60000).toISOString().slice(0, 16).replace("T", " ") + " UTC";
const span = (seconds) => seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
const facts = (row, place, old) => {
  const cell = row.cells[place];
  const { verdict, signature } = kind(row, place);
  const found = [];
  const say = (label, value) => { if (value) found.push([label, value]); };
  say("signature", signature);
  say("reason", text(cells.reason[cell] || 0));
  const runs = row.runs[place];
  if (runs) say("runs", `${runs[0]} bad, ${runs[1]} good`);
  else if (verdict !== "unknown") say("runs", verdict === "bad" ? "1 bad" : "1 good");
  const took = seconds(row, place);
  if (took) say("took", `${span(took)} for its probes`);
  for (const [name, values] of row.metrics) {
    if (values[place] !== null) say(data.names[name], String(values[place]));
  }
  say("cell", ids[cell]);
  say("python", text(cells.python[cell]));
  cells.packages.forEach((name, number) => say(name, text(cells.versions[number][cell])));
  if (cells.started[cell] >= 0) {
    say("measured", `${instant(cells.since + cells.started[cell])}, in ${span(cells.took[cell])}${old ? `; more than ${data.stale} days before this run` : ""}`);
    const [runtime, base, device, driver, system, firmware, libraries] = cells.settings[cells.on[cell]].map(text);
    say("device", device);
    say("driver", device && (driver || "none"));
    say("system", system);
    say("firmware", firmware);
    say("libraries", libraries);
    say("runtime", runtime);
    say("base", base);
  }
  const lock = cells.lock.slice(cells.digest * cell, cells.digest * (cell + 1)).trim();
  say("lock", lock && `${lock}…`);
  if (row.also) say("stands for", row.also);
  return found;
};
const log = (row, place) => {
  const same = (_, other) => other in row.logs && kind(row, other).signature === kind(row, place).signature;
  const at = place in row.logs ? place : kind(row, place).signature ? row.kinds.slice(0, place).findIndex(same) : -1;
  if (at < 0) return [];
  const title = make("h3", { textContent: at === place ? "Log" : `Log, as at ${row.axis} ${versionOf(row, at)}` });
  const number = row.logs[at];
  if (number < 0) {
    return [title, make("p", { className: "mute", textContent: "Left out to keep this page small; orchestrator show prints it." })];
  }
  const box = make("pre", { tabIndex: 0, ariaLabel: "Log", role: "region" });
  for (const line of data.logs[number]) box.append(foreign(data.lines[line]), "\n");
  return [title, box];
};
const moved = (row, place) => {
  const cell = row.cells[place];
  const [back, lists, others] = cells.near[row.axis];
  if (!back[cell]) return [];
  const title = make("h3", {}, "Differs from ", foreign(ids[cell - back[cell]]));
  const list = cells.moved[lists[cell]].map((number) => cells.moves[number]);
  if (!list.length) return [title, make("p", { className: "mute", textContent: "No distribution differs." })];
  const head = make("tr", {}, ...["distribution", "there", "here"].map((name) => make("th", { scope: "col", textContent: name })));
  const table = make("table", {}, make("caption", { className: "v", textContent: "Distributions that differ" }), make("thead", {}, head));
  const body = table.createTBody();
  for (const [name, before, after] of list) {
    body.append(make("tr", {}, make("th", { scope: "row" }, foreign(name)),
      make("td", {}, foreign(before ?? "not installed")), make("td", {}, foreign(after ?? "not installed"))));
  }
  const more = others[cell];
  return [title, table, ...more ? [make("p", { className: "mute", textContent: `and ${more} more` })] : []];
};
const copied = async (command, box, button) => {
  try {
    await navigator.clipboard.writeText(command);
    button.textContent = "Copied";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(box);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = "Selected: copy it with Ctrl+C";
  }
};
const beside = (row, place, step) => {
  const other = place + step;
  const there = other >= 0 && other < row.cells.length;
  const name = there ? `${row.axis} ${versionOf(row, other)}` : "";
  const word = step < 0 ? "older" : "newer";
  return make("button", {
    type: "button", disabled: !there, ariaLabel: there ? `${word}: ${name}` : `nothing ${word}`,
    textContent: step < 0 ? "‹ older" : "newer ›", id: word, onclick: () => show(row, other, true),
  });
};
const fill = (row, place, old) => {
  const version = versionOf(row, place);
  const tone = { good: "ok", bad: "bad", unknown: "unknown" }[kind(row, place).verdict];
  const command = `orchestrator repro ${quoted(ids[row.cells[place]])} --issue ${quoted(row.issue)} --run`;
  const box = make("code", { className: "cmd", textContent: command });
  const copy = make("button", { type: "button", textContent: "Copy the command", onclick: () => copied(command, box, copy) });
  const list = make("dl");
  for (const [label, value] of facts(row, place, old)) list.append(make("dt", {}, foreign(label)), make("dd", {}, foreign(value)));
  panel.replaceChildren(
    make("header", {}, beside(row, place, -1), beside(row, place, 1),
      make("button", { type: "button", textContent: "Close", onclick: () => panel.close() })),
    make("h2", { id: "panel-h", tabIndex: -1, autofocus: true }, foreign(row.issue), ` at ${version}`),
    make("p", { className: "mute" }, foreign(row.title === row.issue ? "" : row.title)),
    make("p", { className: "mute" }, foreign(`${row.stack} along ${row.axis}`)),
    make("p", { className: `state verdict ${tone}`, textContent: worded(row, place) }),
    list,
    ...log(row, place),
    make("h3", { textContent: "Run it again" }), box, copy,
    ...moved(row, place),
  );
};
