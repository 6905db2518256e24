/* The participant's page: welcome, one question on each screen, what would be sent, thanks. The client in sottovoce.js
   scrambles and sends. Notices take the place of questions that cannot be answered. */
import * as sottovoce from "./sottovoce.js";

const get = (id) => document.getElementById(id);
const all = (selector, part = document) => [...part.querySelectorAll(selector)];
const form = get("form");
const { lang } = document.documentElement;
const device = Number(!matchMedia("(pointer: coarse), (max-width: 40rem)").matches);
const words = JSON.parse(form.dataset.words, (_, text) => (typeof text === "string" ? text.replace(/\[(.*?)\|(.*?)\]/g, (_, ...parts) => parts[device]) : text));
const MARK = (1.5).toLocaleString(lang)[1];
const MOST_LISTED = 6; // answers of a report that is a set
const TROUBLE = { privacy: "refused", network: "offline" };
const KNOWN = ["closed", "not_begun", "answered", "waiting", "opted_out", "invitation", "no_storage", "outdated"];
let study = null;
let screens = []; // of the question that the device drew, or of all
let answers = null;
let typed = {}; // the numbers as this page understood them
let here = { step: get("welcome") ? "welcome" : "notice", place: 0 };
let finished = false; // a report was written on this page

const fill = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// --- steps ------------------------------------------------------------------------------------------------
/** Show one step only. What is new is brought into view and gets the keyboard. */
function show(step, place = 0) {
  here = { step, place };
  for (const part of all("[data-on]")) part.hidden = !part.dataset.on.split(" ").includes(step) || part.dataset.empty === "yes";
  screens.forEach((screen, at) => (screen.hidden = step !== "form" || at !== place));
  if (step === "form") progress(place);
  get("missing").hidden = true;
  const heading = all("h1[tabindex]").find((one) => one.offsetParent);
  heading?.focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** Show a step that the browser's way back leaves again. */
function go(step, place = 0) {
  history.pushState({ step, place }, "");
  show(step, place);
}

function progress(place) {
  const many = screens.length > 1;
  get("step").textContent = many ? fill(words.step, { step: place + 1, count: screens.length }) : "";
  get("step").parentNode.hidden = get("bars").hidden = !many;
  get("bars").replaceChildren(
    ...screens.map((_, at) => {
      const bar = document.createElement("li");
      bar.className = at < place ? "past" : at === place ? "now" : "";
      return bar;
    }),
  );
}

/** A notice instead of the questions. */
function tell(name, message = "") {
  for (const one of all("[data-notice]")) one.hidden = !one.dataset.notice.split(" ").includes(name);
  get("again-load").hidden = !["offline", "outdated"].includes(name);
  get("restart").hidden = name !== "declined";
  get("why").hidden = !message;
  get("problem").textContent = message;
  show("notice");
}

/** What became of an attempt that failed. Sentences of the client never repeat an answer. */
function fail(problem) {
  const { code, kind, message } = problem instanceof sottovoce.SottovoceError ? problem : {};
  if (code === "ended") tell("closed");
  else if (code === "not_begun" && document.querySelector("[data-notice=begins]")) tell("begins");
  else if (KNOWN.includes(code)) tell(code);
  else tell(TROUBLE[kind] ?? "broken", kind === "network" ? "" : message);
}

// --- numbers ----------------------------------------------------------------------------------------------
/** A number as people write it, with a point or a comma; null where it is none, or where the mark may be one of thousands. */
function plain(written) {
  const said = written.trim().replace("\u2212", "-");
  const thousands = MARK === "," ? /^[+-]?[1-9]\d{0,2}\.\d{3}$/ : /^[+-]?[1-9]\d{0,2},\d{3}$/;
  return /^[+-]?(\d+[.,]?\d*|[.,]\d+)$/.test(said) && !thousands.test(said) ? said.replace(",", ".") : null;
}
const isNumber = (text) => /^-?\d+(\.\d+)?$/.test(text);
/** As people of the page's language write it, digit by digit. */
function local(number) {
  if (!isNumber(number)) return number;
  const [whole, part] = number.replace("-", "").split(".");
  return (number.startsWith("-") ? "\u2212" : "") + BigInt(whole).toLocaleString(lang) + (part ? MARK + part : "");
}
const rounded = (number) => number.toLocaleString(lang, { maximumFractionDigits: 2 });

function fits(field) {
  const { low, high, step, letters, longest } = field.dataset;
  if (letters !== undefined) {
    const word = [...field.value.trim().normalize("NFC")];
    return word[0] && word.length <= longest && word.every((one) => letters.includes(one) || letters.includes(one.toLowerCase()));
  }
  if (low === undefined) return field.value.trim() !== "";
  const number = plain(field.value);
  const steps = step ? (number - low) / step : 0; // rounded: the device itself compares exactly
  return number !== null && Number(number) >= low && Number(number) <= high && Math.abs(steps - Math.round(steps)) < 1e-6;
}

// --- questions --------------------------------------------------------------------------------------------
const picked = (screen) => screen.querySelector("input[type=radio]:not([data-key]):checked");
const ticked = (screen) => all("input[type=checkbox]:checked", screen);
const field = (screen) => screen.querySelector("input[data-help]");
/** The number that a person gave to a ticked answer: chosen, or typed; null where there is none that fits. */
function numberOf(box) {
  const own = box.closest("li").querySelector(".own");
  const typed = own.querySelector("input[type=text]");
  return own.querySelector(":checked")?.value ?? (typed && fits(typed) ? plain(typed.value) : null);
}
/** The ticked answers in the order in which they were ticked. */
const inOrder = (screen) => ticked(screen).sort((one, other) => one.dataset.place - other.dataset.place);

/** Say beside the button what is missing on a screen; whether nothing is. */
function complete(screen) {
  const text = field(screen);
  const { kind, most } = screen.dataset;
  const chosen = ticked(screen);
  const many = chosen.length > most;
  const bare = kind === "rated" ? chosen.find((box) => numberOf(box) === null) : undefined;
  const enough = kind === "rank" ? chosen.length === all("input", screen).length : chosen.length > 0;
  const fine = picked(screen) !== null || (text !== null && fits(text)) || (enough && !many && !bare);
  get("missing").textContent = fine ? "" : many ? screen.dataset.many : bare ? screen.dataset.each : (text ?? screen).dataset.help;
  get("missing").hidden = fine;
  text?.setAttribute("aria-invalid", String(!fine));
  const own = bare?.closest("li").querySelector(".own input");
  if (!fine) (text ?? own ?? screen.querySelector("input:not(:checked)") ?? screen.querySelector("input")).focus();
  return fine;
}

/** What a screen holds: the choice, or what was typed, as the device reads it. */
function heldBy(asked, screen, group) {
  const { kind, attribute } = screen.dataset;
  const text = field(screen);
  if (kind === "several") return ticked(screen).flatMap((one) => asked.read(one.value));
  if (kind === "rank") return asked.read(inOrder(screen).map((one) => one.value).join(">"));
  if (kind === "rated") {
    typed[`${asked.name}/`] = ticked(screen).map((one) => [one.value, numberOf(one)]);
    return asked.read(typed[`${asked.name}/`].map((entry) => entry.join("=")).join(";"));
  }
  const value = picked(screen)?.value ?? (kind === "text" ? text.value : plain(text.value));
  if (kind !== "text" && isNumber(value)) typed[`${asked.name}/${attribute ?? ""}`] = value;
  return asked.read(value, group, attribute);
}

/** The answer that the screens of a question give, or a reason for giving none; of a table a record of its attributes. */
function answerOf(asked, parts) {
  if (parts[0].dataset.attribute) return Object.fromEntries(parts.map((screen) => [screen.dataset.attribute, heldBy(asked, screen)]));
  let group;
  for (const screen of parts) {
    const choice = picked(screen)?.value;
    if (choice !== undefined && asked.missing.includes(choice)) return choice;
    if (screen.dataset.part === "group") group = choice;
    else return heldBy(asked, screen, group);
  }
  return group;
}

function read() {
  typed = {};
  const names = [...new Set(screens.map((screen) => screen.dataset.question))];
  return Object.fromEntries(
    names.map((name) => [name, answerOf(named(name), screens.filter((screen) => screen.dataset.question === name))]),
  );
}
const named = (name) => study.questions.find((one) => one.name === name);
const isReason = (screen) => picked(screen)?.closest(".none");

async function next() {
  if (!complete(screens[here.place])) return;
  // Who gives a reason instead of a group is not asked for the number.
  const skip = screens[here.place].dataset.part === "group" && isReason(screens[here.place]) ? 2 : 1;
  if (here.place + skip < screens.length) return go("form", here.place + skip);
  try {
    answers = read();
    preview(await study.preview(answers));
    go("preview");
  } catch (problem) {
    fail(problem);
  }
}

/** A list shows only the answers that contain what was typed. */
function search({ target }) {
  const simple = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const list = target.closest("fieldset").querySelector(".letters");
  let count = 0;
  for (const item of all("li li", list)) count += !(item.hidden = !simple(item.textContent).includes(simple(target.value.trim())));
  for (const letter of list.children) letter.hidden = !letter.querySelector("li:not([hidden])");
  const status = target.closest(".find").querySelector(".found");
  status.textContent = target.value.trim() ? fill(words.found, { count }) : status.dataset.all;
}

function changed({ target }) {
  const screen = target.closest("fieldset");
  if (target.type === "search") return search({ target });
  const [text, slider] = [field(screen), screen.querySelector("[type=range]")];
  if (target === slider) {
    text.value = local(slider.value);
    slider.className = "";
  } else if (target === text && slider) {
    slider.className = fits(text) ? "" : "unset";
    if (fits(text)) slider.value = plain(text.value);
  }
  const alone = target.type === "radio" && !target.dataset.key; // one answer for all, such as none of these
  if (alone) for (const one of ticked(screen)) one.checked = false;
  if (alone && text) text.value = "";
  if (alone && slider) slider.className = "unset";
  if (!alone && picked(screen)) picked(screen).checked = false;
  if (screen.dataset.kind === "rank") rank(screen, target);
  if (screen.dataset.kind === "rated") for (const box of all("input[type=checkbox]", screen)) box.closest("li").querySelector(".own").hidden = !box.checked;
  get("missing").hidden = true;
  // Who has ticked as many as allowed is told at once, and nothing is unticked behind their back.
  if (ticked(screen).length > screen.dataset.most) complete(screen);
  text?.removeAttribute("aria-invalid");
}

/** Each ticked answer shows its place; who takes one back moves those after it up. */
function rank(screen, target) {
  if (target.checked) target.dataset.place = ticked(screen).length;
  inOrder(screen).forEach((box, place) => (box.dataset.place = place + 1));
  for (const box of all("input", screen)) box.parentNode.querySelector(".place").textContent = box.checked ? box.dataset.place : "";
}

// --- what would be sent -----------------------------------------------------------------------------------
/** An answer in words: a label, or a number with its unit. */
function inWords(asked, text, unit = true) {
  const label = asked.label(text, lang);
  if (!isNumber(text) || asked.choices?.includes(text)) return label;
  const named = asked.units[lang] ?? asked.unit;
  const number = local(text) + (label === text ? "" : ` (${label})`);
  return unit && named ? `${number}\u00a0${named}` : number;
}
function shown(asked, value) {
  const fields = value?.constructor === Object ? Object.entries(value) : null;
  if (fields) return fields.map(([name, one]) => inWords(asked, typed[`${asked.name}/${name}`] ?? String(one))).join(", ");
  const parts = (Array.isArray(value) ? value : [value]).map(String);
  if (!parts.length) return severalOf(asked).dataset.none;
  const number = typed[`${asked.name}/`];
  if (Array.isArray(number)) return number.map(([key, one]) => `${asked.label(key, lang)}: ${inWords(asked, one)}`).join(", ");
  if (rankedOf(asked)) return parts.map((one, place) => `${place + 1}. ${asked.label(one, lang)}`).join(", ");
  if (number && !asked.missing.includes(parts.at(-1))) parts[parts.length - 1] = number;
  return parts.map((one) => inWords(asked, one)).join(", ");
}
/** The screen of a question with check boxes, where it is one. */
const severalOf = (asked) => screens.find(({ dataset }) => dataset.question === asked.name && ["several", "rated"].includes(dataset.kind));
const rankedOf = (asked) => screens.find(({ dataset }) => dataset.question === asked.name && dataset.kind === "rank");
/** What a report says: an answer, a range, or a list of answers. */
function said(asked, { answers, any }) {
  if (any) return words.anything;
  if (!answers.length) return words.pattern;
  const written = answers.map(({ group, from, to, cell }) => {
    const named = cell?.map((one) => asked.label(one, lang));
    if (named) return rankedOf(asked) ? fill(words.ahead, { first: named[0], second: named[1] }) : named.join(", ");
    if (from === "") return severalOf(asked).dataset.none;
    const number = from === to ? inWords(asked, from) : fill(words.from_to, { low: inWords(asked, from, false), high: inWords(asked, to) });
    return group ? `${asked.label(group, lang)}, ${number}` : number;
  });
  const more = written.length - MOST_LISTED;
  return more > 0 ? `${written.slice(0, MOST_LISTED).join("; ")} ${fill(words.more, { count: more })}` : written.join("; ");
}
const dots = (payload) => Array.from(payload.slice(0, 12), (one) => one.toString(2).padStart(8, "0").replaceAll("0", "\u25cb").replaceAll("1", "\u25cf")).join(" ");
const hex = (bytes) => Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join(" ");

function preview({ question, before, after, payload, bytes }) {
  const asked = named(named(question).key);
  const list = after.answers.length !== 1 || after.any || severalOf(asked) !== undefined;
  get("asked").textContent = asked.text(lang);
  get("before").textContent = shown(asked, before);
  get("after").textContent = said(asked, after);
  get("dots").hidden = after.any || after.answers.length > 0;
  get("dots").textContent = dots(payload);
  const range = !list && after.answers[0].from !== after.answers[0].to;
  const order = rankedOf(asked) && !list ? after.answers[0].cell.map((one) => before.map(String).indexOf(one)) : null;
  const same = order ? order[0] < order[1] : get("after").textContent === get("before").textContent;
  get("kept").textContent = list ? words.list : range ? words.range : same ? words.same : words.other;
  get("unlearned").textContent = list || range ? words.unlearned_list : fill(words.unlearned, { answer: get("after").textContent });
  get("bytes").textContent = hex(bytes);
  for (const one of all("[data-coin]")) one.hidden = one.dataset.coin !== question;
}

async function send() {
  get("send").disabled = true;
  try {
    const { state } = await study.send(answers);
    finished = true;
    form.reset();
    answers = null;
    get("before").textContent = get("after").textContent = "";
    outcome(state);
    await know();
    show("done");
  } catch (problem) {
    fail(problem);
  }
  get("send").disabled = false;
}

// --- afterwards -------------------------------------------------------------------------------------------
/** The word for what became of a report. */
const fate = (state) => (state === "accepted" && "sealed" in form.dataset ? "passed" : ["queued", "accepted", "withdrawn"].includes(state) ? state : "refused");
function outcome(state) {
  for (const one of all("[data-outcome]")) one.hidden = one.dataset.outcome !== fate(state);
  document.querySelector(".thanks > svg").classList.toggle("faint", ["refused", "queued"].includes(fate(state)));
}

/** The state of a study; of a repeated one that is not asked now, whether this device has a turn later, with its date. */
async function turn(state) {
  if (!study.facts.repeat || !["answered", "waiting"].includes(state)) return state;
  const day = await study.nextTurn();
  if (!day) return "no_turn";
  const date = new Date(day).toLocaleDateString(lang, { dateStyle: "long", timeZone: "UTC" });
  for (const one of all("[data-turn]")) one.textContent = date;
  return "waiting";
}

/** What this device knows by now: also what another tab did, or that the study was closed. */
async function know() {
  const before = here;
  const [state, sent, spent] = [await turn(await study.state()), await study.sent(), await study.spent()];
  get("told").dataset.empty = sent.length ? "no" : "yes";
  get("history").replaceChildren(
    ...sent.map((entry) => {
      const item = document.createElement("li");
      const state = document.createElement("span");
      state.textContent = words[fate(entry.state)];
      item.append(named(named(entry.question)?.key)?.text(lang) ?? "", state);
      return item;
    }),
  );
  const limit = rounded(Number(study.facts.lifetime));
  const total = spent.total > spent.study + 1e-9 ? ` ${fill(words.total, { spent: rounded(spent.total) })}` : "";
  get("spent").textContent = fill(words.spent, { spent: rounded(spent.study), limit }) + total;
  get("mind").dataset.empty = state === "closed" || (!sent.length && state !== "opted_out") ? "yes" : "no";
  get("stopping").hidden = get("optout").hidden = state === "opted_out";
  get("optin").hidden = state !== "opted_out";
  get("again").hidden = state !== "open";
  const takenBack = finished && !sent.length && state === "open"; // it waited while its study closed or changed
  finished &&= !takenBack;
  if (finished && sent.length) outcome(sent.at(-1).state);
  if (here !== before) return; // the participant was quicker
  for (const part of [get("told"), get("mind")]) part.hidden = !part.dataset.on.split(" ").includes(here.step) || part.dataset.empty === "yes";
  const told = document.querySelector(".notice[data-notice]:not([hidden])")?.dataset.notice;
  if (takenBack) tell("outdated");
  else if (state === "opted_out" ? told !== state || here.step !== "notice" : state !== "open" && !finished && told !== state) tell(state);
  else if (state === "open" && here.step === "notice" && ["answered", "waiting", "opted_out"].includes(told)) show("welcome");
}

/** Ask only what the device drew, below the text of the arm that it drew with it. */
async function ask() {
  const [drawn, attributes, arm] = [await study.asks(), await study.attributes(), await study.experimentArm()];
  for (const one of all("[data-arm]")) one.hidden = one.dataset.arm !== arm?.name;
  const isAsked = ({ question, attribute }) => drawn.includes(question) && (!attribute || "all" in form.dataset || attributes.includes(attribute));
  screens = all("fieldset[data-question]").filter((screen) => isAsked(screen.dataset));
}

async function begin() {
  try {
    // After the hash sign: browsers send it to nobody, so that no server or proxy sees it beside an address and a time.
    const invitation = new URLSearchParams(location.hash.slice(1)).get("invitation") ?? undefined;
    study = await sottovoce.open(form.dataset.study, { invitation });
    await ask();
    await know();
    setInterval(() => void know(), 2000);
  } catch (problem) {
    if (here.step !== "notice") fail(problem);
  }
}

const act = (id, action) => get(id)?.addEventListener("click", action);
act("start", async () => {
  get("consent-problem").hidden = get("consent").checked;
  if (!get("consent").checked) return get("consent").focus();
  await ready;
  if (here.step === "welcome") go("form");
});
get("consent")?.addEventListener("change", () => (get("consent-problem").hidden = true));
act("decline", () => tell("declined"));
act("stop", () => tell("declined"));
act("restart", () => show("welcome"));
act("again-load", () => location.reload());
act("back", () => history.back());
act("change", () => show("form"));
act("send", send);
act("again", async () => {
  finished = false;
  await ask();
  go("form");
});
act("optout", async () => {
  await study.optOut();
  await know();
});
act("optin", async () => {
  await study.optIn();
  finished = false;
  await know();
});
form.addEventListener("input", changed);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  void next();
});
addEventListener("popstate", ({ state }) => {
  if (finished || here.step === "notice") return;
  const { step, place } = state ?? { step: "welcome", place: 0 };
  if (step !== "preview" || answers) show(step, place);
});
for (const link of all("header a[hreflang]")) link.hash = location.hash;
for (const row of all("[data-secure]")) row.hidden = (row.dataset.secure === "yes") !== (location.protocol === "https:");
const ready = begin();
