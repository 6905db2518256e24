/* The planner: the server plans, this page asks it at most four times a second. People are numbers of two digits. */
const form = document.getElementById("planner");
const rows = document.getElementById("rows");
const get = (id) => document.getElementById(id);
const peopleAt = (place) => (10 + (place % 90)) * 10 ** (1 + Math.floor(place / 90));
const placeOf = (people) => {
  const power = Math.floor(Math.log10(people) + 1e-9) - 1;
  return 90 * (power - 1) + Math.round(people / 10 ** power) - 10;
};
let timer = null;
let asked = 0;

function query() {
  const values = { people: peopleAt(Number(form.people.value)), epsilon: form.epsilon.value / 4 };
  for (const name of ["question", "goal", "without"]) values[name] = form[name].value.trim();
  return new URLSearchParams(values);
}

function say() {
  get("people-said").textContent = peopleAt(Number(form.people.value)).toLocaleString("en");
  get("epsilon-said").textContent = String(form.epsilon.value / 4);
  get("unit").textContent = form.question.selectedOptions[0].dataset.unit;
  const left = [...form.question.options].find((one) => one.value === form.without.value);
  get("left-out").hidden = !left;
  if (left) get("left-out-said").textContent = left.textContent;
}

async function refresh() {
  const number = ++asked;
  const response = await fetch(`${form.dataset.source}?${query()}`);
  if (number !== asked || !response.ok) return; // a newer question is under way
  const details = () => [...rows.querySelectorAll("details")];
  const text = await response.text();
  const open = details().map((one) => one.open);
  rows.innerHTML = text;
  for (const [place, one] of details().entries()) one.open = open[place] ?? false; // what is open stays open
}

function changed() {
  say();
  clearTimeout(timer);
  timer = setTimeout(() => void refresh(), 250);
}

form.addEventListener("input", ({ target }) => {
  if (target.name === "question" && form.without.value === target.value) form.without.value = "";
  changed();
});
form.addEventListener("submit", (event) => event.preventDefault());
get("put-back").addEventListener("click", () => {
  form.without.value = "";
  changed();
});
/* A way is a button that sets what it says. */
rows.addEventListener("click", ({ target }) => {
  const { people, epsilon, without } = target.closest("button")?.dataset ?? {};
  if (people) form.people.value = placeOf(Number(people));
  if (epsilon) form.epsilon.value = 4 * epsilon;
  if (without) form.without.value = without;
  if (people || epsilon || without) changed();
});
/* Margins at other budgets may take seconds: they are asked for when somebody looks. */
rows.addEventListener(
  "toggle",
  async ({ target }) => {
    if (!target.open || !("curve" in target.dataset) || target.dataset.loaded) return;
    target.dataset.loaded = "yes";
    const response = await fetch(`${form.dataset.source}/curve?${query()}`);
    target.querySelector("[data-place]").innerHTML = response.ok ? await response.text() : "<p>Not available.</p>";
  },
  true,
);
form.people.value = placeOf(Number(form.dataset.people));
form.epsilon.value = 4 * form.dataset.epsilon;
say();
