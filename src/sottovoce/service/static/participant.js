/* The participant's page: the noise is added here. Everything is sent by the client in sottovoce.js. */
import * as sottovoce from "./sottovoce.js";

const get = (id) => document.getElementById(id);
const form = get("form");
const words = JSON.parse(form.dataset.words);
const { lang } = document.documentElement;
const MARK = (1.5).toLocaleString(lang)[1];
let study = null;
let answers = null;
let typed = {}; // the numbers as this page understood them
let step = "form"; // or "preview", or "done": it changes when the participant acts or the study no longer takes an answer

/** Show one step only. What is new is brought into view and gets the keyboard. */
function show(next, heading) {
  step = next;
  form.hidden = next !== "form";
  get("preview").hidden = next !== "preview";
  if (!heading) return;
  heading.focus({ preventScroll: true });
  heading.scrollIntoView({ block: "start" });
}

function trouble(problem) {
  const known = problem instanceof sottovoce.SottovoceError;
  get("problem").textContent = known ? problem.message : "This browser cannot answer the study.";
  get("problem").hidden = false;
  get("problem").scrollIntoView({ block: "nearest" });
}

/** A number as people write it, with a point or a comma; null where it is none, or where the mark may be one of thousands. */
function plain(written) {
  const said = written.trim().replace("\u2212", "-");
  const thousands = MARK === "," ? /^[+-]?[1-9]\d{0,2}\.\d{3}$/ : /^[+-]?[1-9]\d{0,2},\d{3}$/;
  return /^[+-]?(\d+[.,]?\d*|[.,]\d+)$/.test(said) && !thousands.test(said) ? said.replace(",", ".") : null;
}
const local = (number) => (/^-?\d+\.\d+$/.test(number) ? number.replace(".", MARK) : number);

/** Say in the page's language what is wrong with a number, where the form says what is missing. */
function check() {
  for (const part of form.querySelectorAll("[data-help]")) {
    const { low, high, step, help } = part.dataset;
    const number = plain(part.value);
    const steps = step ? (number - low) / step : 0; // rounded: the device itself compares exactly
    const fits = number !== null && Number(number) >= low && Number(number) <= high && Math.abs(steps - Math.round(steps)) < 1e-6;
    part.setCustomValidity(part.value && !fits ? help : "");
  }
}

/** What the form says: an answer to each question, or a reason for giving none. */
function read() {
  const found = {};
  typed = {};
  for (const part of form.querySelectorAll("fieldset")) {
    const { question, kind } = part.dataset;
    const asked = study.questions.find((one) => one.name === question);
    const field = (name) => part.querySelector(`[name="${name}"]`);
    const reason = field(`${question}-reason`)?.value;
    if (reason) found[question] = reason;
    else if (kind === "choice") found[question] = asked.read(part.querySelector("input:checked").value);
    else if (kind === "text") found[question] = asked.read(field(question).value);
    else {
      typed[question] = plain(field(question).value);
      found[question] = kind === "pair" ? [field(`${question}-group`).value, Number(typed[question])] : asked.read(typed[question]);
    }
  }
  return found;
}

/** An answer as people of the page's language read it; a number as it was typed. */
function shown(asked, value) {
  const parts = Array.isArray(value) ? value : [value];
  const last = parts.at(-1);
  const number = typeof last === "string" ? last : (typed[asked.key] ?? String(last));
  return [...parts.slice(0, -1), number].map((one) => local(asked.label(String(one), lang))).join(", ");
}
const fate = (state) => ({ queued: words.queued, accepted: words.sent })[state] ?? `${words.refused} (${state})`;
const hex = (bytes) => Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join(" ");

/** Who gives a reason need not give a number. */
function loosen() {
  for (const part of form.querySelectorAll("fieldset")) {
    const { question } = part.dataset;
    const reason = part.querySelector(`[name="${question}-reason"]`);
    if (reason) for (const one of part.querySelectorAll("[name]")) if (one !== reason) one.required = !reason.value;
  }
}

/** What this device knows by now: also what another tab did, or that the study was closed. The step stays otherwise. */
async function refresh() {
  const before = step;
  const [state, sent] = [await study.state(), await study.sent()];
  if (step !== before) return; // the participant was quicker
  if (state === "open") show(step === "done" ? "form" : step);
  else {
    show("done");
    const said = { answered: words.answered, closed: get("closed") ? "" : words.closed, opted_out: words.opted };
    get("outcome").textContent ||= said[state];
  }
  get("optout").hidden = state === "opted_out" || state === "closed";
  get("optin").hidden = state !== "opted_out";
  get("nothing").hidden = sent.length > 0;
  get("history").replaceChildren(
    ...sent.map((entry) => {
      const item = document.createElement("li");
      const asked = study.questions.find((one) => one.name === entry.question);
      item.textContent = `${asked?.text(lang) ?? entry.question} ${fate(entry.state)}`;
      return item;
    }),
  );
}

form.addEventListener("input", check);
form.addEventListener("change", loosen);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  get("problem").hidden = true;
  get("outcome").textContent = "";
  try {
    answers = read();
    const preview = await study.preview(answers);
    const asked = study.questions.find((one) => one.name === preview.question);
    get("asked").textContent = asked.text(lang);
    get("before").textContent = shown(asked, preview.before);
    get("after").textContent = local(asked.label(preview.after, lang));
    get("bytes").textContent = hex(preview.bytes);
    show("preview", get("preview-title"));
  } catch (problem) {
    trouble(problem);
  }
});

get("change").addEventListener("click", () => show("form", form));

get("send").addEventListener("click", async () => {
  get("send").disabled = true;
  get("problem").hidden = true;
  try {
    const { state } = await study.send(answers);
    get("outcome").textContent = fate(state);
    form.reset();
    show("done");
  } catch (problem) {
    if (problem.code !== "closed") trouble(problem);
  }
  get("send").disabled = false;
  await refresh();
  if (step !== "preview") show(step, get("outcome"));
});

get("optout").addEventListener("click", async () => {
  await study.optOut();
  get("outcome").textContent = words.opted;
  await refresh();
});

get("optin").addEventListener("click", async () => {
  await study.optIn();
  get("outcome").textContent = "";
  await refresh();
});

try {
  // After the hash sign: browsers send it to nobody, so that no server or proxy sees it beside an address and a time.
  const invitation = new URLSearchParams(location.hash.slice(1)).get("invitation") ?? undefined;
  for (const link of document.querySelectorAll("header nav a")) link.hash = location.hash;
  study = await sottovoce.open(form.dataset.study, { invitation });
  await refresh();
  setInterval(() => void refresh(), 2000);
} catch (problem) {
  if (!get("closed")) trouble(problem);
}
