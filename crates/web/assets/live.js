// Refreshes the page every second: fetches it again from the server and replaces what changed, so the page is defined only there.
(() => {
  "use strict";
  const EVERY_MS = 1000;
  const stale = document.getElementById("stale");
  const sections = (page) => [...page.querySelectorAll("#running > section")];
  const shape = (page) => sections(page).map((section) => section.id + (section.querySelector("[data-figure]") ? " drawn" : "")).join();
  const dataOf = (page) => JSON.parse(page.getElementById("chart-data")?.textContent || "{}");

  const takeOver = (next) => {
    // A page that started without a chart has no script to draw one.
    if (!globalThis.flushmark && next.getElementById("chart-data")) return location.reload();
    if (globalThis.flushmark) Object.assign(globalThis.flushmark.figures, dataOf(next));
    document.querySelector("header.page p").textContent = next.querySelector("header.page p").textContent;
    if (shape(next) !== shape(document)) {
      document.getElementById("running").replaceWith(document.adoptNode(next.getElementById("running")));
    } else {
      for (const fresh of next.querySelectorAll("[data-live], figcaption p")) {
        const place = fresh.id ? document.getElementById(fresh.id) : document.querySelector(`#${fresh.closest("figure").id} figcaption p`);
        if (place.textContent !== fresh.textContent) place.textContent = fresh.textContent;
      }
      for (const fresh of next.querySelectorAll("[data-live-bar]")) {
        const place = document.getElementById(fresh.id);
        if (fresh.hasAttribute("value")) place.value = fresh.value;
        else place.removeAttribute("value");
      }
      for (const fresh of next.querySelectorAll("figure")) {
        const place = document.getElementById(fresh.id);
        place.querySelector(".chart").setAttribute("aria-label", fresh.querySelector(".chart").getAttribute("aria-label"));
        place.querySelector("tbody").replaceWith(document.adoptNode(fresh.querySelector("tbody")));
      }
    }
    for (const place of document.querySelectorAll("#running [data-figure]")) globalThis.flushmark.draw(place);
  };

  const look = async () => {
    try {
      const answer = await fetch("/live", { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"));
      stale.hidden = true;
    } catch {
      stale.hidden = false;
    }
    setTimeout(look, EVERY_MS);
  };
  setTimeout(look, EVERY_MS);
})();
