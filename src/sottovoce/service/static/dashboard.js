/* Shows new estimates when reports were counted, at most once a second. Only parts that changed are replaced: what is
   open stays open, and the keyboard stays where it is. */
const COMPARE_SECONDS = 5;
const live = document.getElementById("live");
const said = new Map([...live.children].map((part) => [part.dataset.part, part.outerHTML]));
let busy = false;
let missed = false;

async function refresh() {
  if (busy || document.hidden) {
    missed = true;
    return;
  }
  busy = true;
  missed = false;
  try {
    const response = await fetch(live.dataset.source);
    if (response.ok) show(await response.text());
  } finally {
    setTimeout(() => {
      busy = false;
      if (missed) void refresh();
    }, 1000);
  }
}

function show(text) {
  const made = document.createElement("template");
  made.innerHTML = text;
  const parts = [...made.content.children];
  const same = parts.length === live.children.length && parts.every((one, i) => one.dataset.part === live.children[i].dataset.part);
  if (!same) live.replaceChildren(...parts.map((part) => part.cloneNode(true)));
  for (const [place, part] of parts.entries()) {
    const sent = part.outerHTML;
    if (same && said.get(part.dataset.part) !== sent) replace(live.children[place], part);
    said.set(part.dataset.part, sent);
  }
  document.querySelector(".invite").hidden = live.querySelector("[data-state]").dataset.state !== "open";
}

/** A part by its newer one, with what is open in it, what was loaded later, and the keyboard. */
function replace(old, made) {
  const keys = (part) => [...part.querySelectorAll("a, summary, [tabindex]")];
  const tables = (part) => [...part.querySelectorAll("details")];
  const place = keys(old).indexOf(document.activeElement);
  const before = tables(old);
  for (const [number, table] of tables(made).entries()) {
    table.open = before[number]?.open ?? false;
    const [from, to] = [before[number], table].map((one) => one?.querySelector("[data-source]"));
    if (from?.dataset.loaded && to) {
      to.replaceChildren(...from.childNodes);
      to.dataset.loaded = "yes";
    }
  }
  old.replaceWith(made);
  if (place >= 0) keys(made)[place]?.focus({ preventScroll: true });
}

/* Comparing groups takes the collector long: it is asked when somebody looks, and then every few seconds. */
async function compare(source) {
  const response = await fetch(source);
  const box = live.querySelector(`[data-source="${source}"]`); // its card may be a newer one by now
  if (!response.ok || !box) return;
  const text = await response.text();
  if (box.dataset.loaded && box.innerHTML === text) return;
  box.innerHTML = text;
  box.dataset.loaded = "yes";
}

live.addEventListener(
  "toggle",
  ({ target }) => {
    const box = target.open && target.querySelector("[data-source]:not([data-loaded])");
    if (box) void compare(box.dataset.source);
  },
  true,
);
setInterval(() => {
  if (document.hidden) return;
  for (const box of live.querySelectorAll("details[open] [data-source]")) void compare(box.dataset.source);
}, 1000 * COMPARE_SECONDS);

document.getElementById("all").addEventListener("click", () => {
  for (const one of document.querySelectorAll("details")) one.open = true;
});
document.addEventListener("visibilitychange", () => {
  if (missed && !busy) void refresh();
});
new EventSource(live.dataset.stream).addEventListener("estimates", () => void refresh());

/* Certificates that are not computed yet come after the page. */
const certificates = document.getElementById("certificates");
if (certificates.dataset.source) {
  const response = await fetch(certificates.dataset.source);
  if (response.ok) certificates.innerHTML = await response.text();
  certificates.removeAttribute("aria-busy");
}
