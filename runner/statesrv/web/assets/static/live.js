// Keeps a page fresh: every few seconds the same address is asked for again, and each
// part that is marked data-live is replaced if it has changed. A part in which somebody
// types or has opened something waits.
"use strict";

const every = 3000;
const pulse = document.getElementById("pulse");

function busy(part) {
  return part.contains(document.activeElement) || part.querySelector("details[open]") !== null;
}

function replace(part, fresh) {
  if (fresh === null || part.innerHTML === fresh.innerHTML || busy(part)) return;
  const known = new Set(Array.from(part.querySelectorAll("tr[id]"), (row) => row.id));
  const picked = Array.from(part.querySelectorAll("input:checked"), (i) => i.name + "=" + i.value);
  part.replaceChildren(...fresh.childNodes);
  for (const row of part.querySelectorAll("tr[id]")) {
    if (!known.has(row.id)) row.classList.add("fresh");
  }
  for (const input of part.querySelectorAll("input")) {
    if (picked.includes(input.name + "=" + input.value)) input.checked = true;
  }
}

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.origin + location.pathname + location.search, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      replace(part, page.querySelector(`[data-live="${part.dataset.live}"]`));
    }
    pulse.textContent = "live";
    pulse.classList.remove("bad");
  } catch {
    pulse.textContent = "no answer";
    pulse.classList.add("bad");
  }
}

if (document.querySelector("[data-live]") !== null) {
  pulse.hidden = false;
  setInterval(refresh, every);
}
