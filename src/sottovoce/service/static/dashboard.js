/* Shows new estimates when reports were counted, at most once a second. Only parts that changed are replaced: what is
   open stays open, and the keyboard stays where it is. */
const COMPARE_SECONDS = 5;
const KEYS = "a, summary, [tabindex]";
const compared = new Map();
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

/** A part by its newer one, with what was loaded later, what is open in it, and the keyboard. */
function replace(old, made) {
  const all = (part, selector) => [...part.querySelectorAll(selector)];
  const place = all(old, KEYS).indexOf(document.activeElement);
  const loaded = new Map(all(old, "[data-loaded]").map((box) => [box.dataset.source, box]));
  for (const box of all(made, "[data-source]")) {
    const from = loaded.get(box.dataset.source);
    if (!from) continue;
    box.replaceChildren(...[...from.childNodes].map((node) => node.cloneNode(true)));
    box.dataset.loaded = "yes";
  }
  const before = all(old, "details");
  for (const [number, one] of all(made, "details").entries()) one.open = before[number]?.open ?? false;
  old.replaceWith(made);
  if (place >= 0) all(made, KEYS)[place]?.focus({ preventScroll: true });
}

/* Comparing groups takes the collector long: what is in sight is asked for, and again every few seconds. */
async function compare(source) {
  const response = await fetch(source);
  const box = live.querySelector(`[data-source="${source}"]`); // its card may be a newer one by now
  if (!response.ok || !box) return;
  const text = await response.text();
  if (compared.get(source) === text && box.dataset.loaded) return;
  compared.set(source, text);
  const open = [...box.querySelectorAll("details")].map((one) => one.open);
  box.innerHTML = text;
  for (const [number, one] of [...box.querySelectorAll("details")].entries()) one.open = open[number] ?? false;
  box.dataset.loaded = "yes";
}

function inSight(box) {
  const { top, bottom } = box.closest("section").getBoundingClientRect();
  return bottom > -innerHeight && top < 2 * innerHeight;
}

function compareSeen() {
  if (document.hidden) return;
  for (const box of live.querySelectorAll("[data-source]")) if (inSight(box)) void compare(box.dataset.source);
}
setInterval(compareSeen, 1000 * COMPARE_SECONDS);

document.getElementById("all").addEventListener("click", async () => {
  await Promise.all([...live.querySelectorAll("[data-source]:not([data-loaded])")].map((box) => compare(box.dataset.source)));
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

/* All comparisons once, one after the other. */
for (const box of live.querySelectorAll("[data-source]")) await compare(box.dataset.source);
