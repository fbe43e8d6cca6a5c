/* Places of the page: a link keeps the filters. */
const lead = (id) => {
  const goal = id && byId(id);
  document.querySelector(".found")?.classList.remove("found");
  if (!goal || goal === panel || panel.contains(goal)) return;
  const whole = goal.closest("[hidden]");
  if (whole) return;
  goal.scrollIntoView();
  const head = goal.querySelector("h2[tabindex],h3[tabindex]");
  if (head) head.focus({ preventScroll: true });
  if (goal.classList.contains("exhibit")) goal.classList.add("found");
};
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const id = link.getAttribute("href").slice(1);
  const hidden = byId(id)?.closest("[hidden]");
  go({ ...hidden ? { text: "", component: "", changed: false, affected: false } : {}, at: id });
});

/* All of it together. */
function apply(next) {
  const before = state;
  state = next;
  for (const id of ["text", "component"]) if (byId(id).value !== state[id]) byId(id).value = state[id];
  for (const id of ["changed", "affected"]) byId(id).checked = state[id];
  if (["text", "component", "changed", "affected"].some((key) => before[key] !== state[key])) filter(state);
  lookAt(state);
  if (state.at && state.at !== before.at) lead(state.at);
}
const clear = () => {
  go({ text: "", component: "", changed: false, affected: false, at: "" });
  byId("text").focus();
};
for (const axis of [...data.axes].sort()) byId("component").append(make("option", { value: axis, textContent: axis }));
for (const id of ["changed", "affected"]) byId(id).addEventListener("change", (event) => go({ [id]: event.target.checked, at: "" }));
byId("component").addEventListener("change", (event) => go({ component: event.target.value, at: "" }));
/* Letters of one search are one step back. */
byId("text").addEventListener("input", (event) => go({ text: event.target.value, at: "" },
  history.state?.typing ? { replace: true } : { mark: { typing: true } }));
byId("text").addEventListener("change", () => history.replaceState(null, "", asAddress(state)));
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("clear").addEventListener("click", clear);
byId("nothing").querySelector("button").addEventListener("click", clear);
addEventListener("popstate", () => apply(fromAddress()));

tables.forEach((table) => {
  table.setAttribute("role", "grid");
  table.parentElement.removeAttribute("tabindex");
});
byId("filters").hidden = false;
if (byId("keys")) byId("keys").hidden = false;
filter(state);
apply(fromAddress());
document.documentElement.dataset.ready = "1";
performance.mark("ready");
