/* Sliders of the planner: the server plans, this page asks it at most four times a second. */
const form = document.getElementById("planner");
const get = (id) => document.getElementById(id);
const participants = () => Math.round(10 ** (form.participants.value / 10));
const epsilon = () => form.epsilon.value / 4;
let timer = null;

function say() {
  get("participants-said").textContent = participants().toLocaleString("en");
  get("epsilon-said").textContent = String(epsilon());
}

async function refresh() {
  const response = await fetch(`${form.dataset.source}?participants=${participants()}&epsilon=${epsilon()}`);
  if (response.ok) get("rows").innerHTML = await response.text();
}

form.addEventListener("input", () => {
  say();
  clearTimeout(timer);
  timer = setTimeout(() => void refresh(), 250);
});
form.addEventListener("submit", (event) => event.preventDefault());
say();
get("participants-said").textContent = Number(form.dataset.participants).toLocaleString("en"); // of the plan, until it is moved
