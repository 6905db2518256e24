/* The participant's page: the noise is added here. Everything is sent by the client in sottovoce.js. */
import * as sottovoce from "./sottovoce.js";

const get = (id) => document.getElementById(id);
const form = get("form");
const words = JSON.parse(form.dataset.words);
let study = null;
let answers = null;

function trouble(problem) {
  const known = problem instanceof sottovoce.SottovoceError;
  get("problem").textContent = known ? problem.message : "This browser cannot answer the study.";
  get("problem").hidden = false;
}

/** What the form says: an answer to each question, or a reason for giving none. */
function read() {
  const found = {};
  for (const part of form.querySelectorAll("fieldset")) {
    const { question, kind } = part.dataset;
    const asked = study.questions.find((one) => one.name === question);
    const field = (name) => part.querySelector(`[name="${name}"]`);
    const reason = field(`${question}-reason`)?.value;
    if (reason) found[question] = reason;
    else if (kind === "choice") found[question] = asked.read(part.querySelector("input:checked").value);
    else if (kind === "pair") found[question] = [field(`${question}-group`).value, Number(field(question).value)];
    else found[question] = asked.read(field(question).value);
  }
  return found;
}

/** A value as people of the page's language read it. */
function shown(asked, value) {
  const parts = Array.isArray(value) ? value : [value];
  return parts.map((one) => asked.label(String(one), document.documentElement.lang)).join(", ");
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

async function refresh() {
  const [state, sent] = [await study.state(), await study.sent()];
  form.hidden = state !== "open";
  if (state === "answered" && !get("outcome").textContent) get("outcome").textContent = words.answered;
  get("optout").hidden = state === "opted_out";
  get("optin").hidden = state !== "opted_out";
  get("nothing").hidden = sent.length > 0;
  get("history").replaceChildren(
    ...sent.map((entry) => {
      const item = document.createElement("li");
      const asked = study.questions.find((one) => one.name === entry.question);
      item.textContent = `${asked?.text(document.documentElement.lang) ?? entry.question} ${fate(entry.state)}`;
      return item;
    }),
  );
}

form.addEventListener("change", loosen);
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  get("problem").hidden = true;
  try {
    answers = read();
    const preview = await study.preview(answers);
    const asked = study.questions.find((one) => one.name === preview.question);
    get("asked").textContent = asked.text(document.documentElement.lang);
    get("before").textContent = shown(asked, preview.before);
    get("after").textContent = shown(asked, preview.after);
    get("bytes").textContent = hex(preview.bytes);
    get("preview").hidden = false;
    form.hidden = true;
    get("preview-title").focus();
  } catch (problem) {
    trouble(problem);
  }
});

get("change").addEventListener("click", () => {
  get("preview").hidden = true;
  form.hidden = false;
});

get("send").addEventListener("click", async () => {
  get("send").disabled = true;
  try {
    const { state } = await study.send(answers);
    get("preview").hidden = true;
    get("outcome").textContent = fate(state);
    await refresh();
    get("outcome").focus();
  } catch (problem) {
    trouble(problem);
  } finally {
    get("send").disabled = false;
  }
});

get("optout").addEventListener("click", async () => {
  await study.optOut();
  get("preview").hidden = true;
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
  trouble(problem);
}
