/* Shows new estimates when reports were counted, at most once a second; what is open stays open. */
const live = document.getElementById("live");
let busy = false;
let missed = false;

async function refresh() {
  if (busy) {
    missed = true;
    return;
  }
  busy = true;
  missed = false;
  try {
    const response = await fetch(live.dataset.source);
    if (response.ok) {
      const name = (one) => one.querySelector("summary").textContent;
      const open = [...live.querySelectorAll("details[open]")].map(name);
      live.innerHTML = await response.text();
      for (const one of live.querySelectorAll("details")) one.open = open.includes(name(one));
    }
  } finally {
    setTimeout(() => {
      busy = false;
      if (missed) void refresh();
    }, 1000);
  }
}

new EventSource(live.dataset.stream).addEventListener("estimates", () => void refresh());

/* Certificates that are not computed yet come after the page. */
const certificates = document.getElementById("certificates");
if (certificates.dataset.source) {
  const response = await fetch(certificates.dataset.source);
  if (response.ok) certificates.innerHTML = await response.text();
  certificates.removeAttribute("aria-busy");
}
