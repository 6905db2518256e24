/* Shows new estimates when reports were counted, at most once a second; what is open stays open. */
const live = document.getElementById("live");
let waiting = false;

async function refresh() {
  if (waiting) return;
  waiting = true;
  try {
    const response = await fetch(live.dataset.source);
    if (response.ok) {
      const open = [...live.querySelectorAll("details[open]")].map((one) => one.parentElement.getAttribute("aria-labelledby"));
      live.innerHTML = await response.text();
      for (const one of live.querySelectorAll("details"))
        one.open = open.includes(one.parentElement.getAttribute("aria-labelledby"));
    }
  } finally {
    setTimeout(() => (waiting = false), 1000);
  }
}

new EventSource(live.dataset.stream).addEventListener("estimates", () => void refresh());
