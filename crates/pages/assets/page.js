// Draws each chart when it comes into view, all of them before printing, and all again when the
// colour scheme changes. Opens what a link leads to.

const figures = JSON.parse(document.getElementById("chart-data").textContent);
const drawn = new Map();
// A4 without its margins, at 96 dots per inch.
const PRINTED_WIDTH = 690;
const AHEAD_OF_VIEW = "300px";
// The three charts of a test fit on one sheet.
const PRINTED_PX = { percentiles: 300, "heat-map": 230, "rate-over-time": 170 };
const NARROW = 560;
// Rows of a map have no space between them.
const MAP_ROW_PX = 18;
// Narrower figures are placed below each other.
const BESIDE_MIN = 440;
let printing = false;

document.documentElement.classList.add("drawing");

const heightOf = (place, width) => {
  const rows = Number(place.dataset.rows || 0);
  const isMap = figures[place.dataset.figure].kind === "osd-map";
  if (figures[place.dataset.figure].kind === "curves") return curvesHeight(figures[place.dataset.figure], width);
  if (rows > 0) return 70 + rows * (isMap ? MAP_ROW_PX : width < NARROW ? 34 : 24);
  const beside = place.closest(".beside") !== null && width >= BESIDE_MIN;
  const heights = beside ? { percentiles: 480, "heat-map": 250, "rate-over-time": 190 } : { "rate-over-time": 230 };
  if (printing) return PRINTED_PX[figures[place.dataset.figure].kind] || 280;
  const { kind, least_per_s: slowest = [] } = figures[place.dataset.figure];
  // Two lines have a legend above them.
  if (slowest.length > 0) return heights[kind] + LEGEND_PX + 30;
  return heights[kind] || (width < NARROW ? 280 : 330);
};

const draw = (place, theme, width = place.clientWidth) => {
  const data = figures[place.dataset.figure];
  const height = heightOf(place, width);
  place.style.height = `${height}px`;
  const chart = drawn.get(place) || echarts.init(place, null, { renderer: "svg", width, height });
  drawn.set(place, chart);
  chart.resize({ width, height });
  chart.setOption(charts[data.kind](data, theme, width, height), { notMerge: true });
  chart.getZr().flush();
};

const isOpen = (place) => place.clientWidth > 0;
const theme = () => (dark.matches ? themes.dark : themes.light);
const places = [...document.querySelectorAll("[data-figure]")];

const inView = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting && !drawn.has(target)) draw(target, theme());
  },
  { rootMargin: AHEAD_OF_VIEW },
);
const sized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const chart = drawn.get(target);
    if (!printing && chart && isOpen(target) && chart.getWidth() !== target.clientWidth) draw(target, theme());
  }
});
for (const place of places) {
  place.style.height = `${heightOf(place, place.clientWidth)}px`;
  inView.observe(place);
  sized.observe(place);
}

dark.addEventListener("change", () => {
  for (const place of drawn.keys()) if (isOpen(place)) draw(place, theme());
});

// For pages that change after loading, such as one of a running test: figures may change and are
// drawn again.
globalThis.flushmark = {
  figures,
  draw: (place) => draw(place, theme()),
  numbers: { latency, rate },
};

// A link to something that is closed opens it, and everything around it.
const openTarget = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const inside = target.querySelector(":scope > details.fold");
  for (let fold = inside || target.closest("details.fold"); fold; fold = fold.parentElement.closest("details.fold")) fold.open = true;
  target.scrollIntoView();
};
window.addEventListener("hashchange", openTarget);
// The address does not change if the same link is followed again.
document.addEventListener("click", ({ target }) => {
  const link = target.closest?.("a[href^='#']");
  if (link && link.hash === location.hash) openTarget();
});
openTarget();

// On paper, everything is open.
let opened = [];
window.addEventListener("beforeprint", () => {
  printing = true;
  opened = [...document.querySelectorAll("details.fold:not([open])")];
  for (const fold of opened) fold.open = true;
  for (const place of places) draw(place, themes.light, PRINTED_WIDTH);
});
window.addEventListener("afterprint", () => {
  printing = false;
  for (const fold of opened) fold.open = false;
  for (const place of places) {
    if (isOpen(place)) draw(place, theme());
    else if (drawn.has(place)) {
      drawn.get(place).dispose();
      drawn.delete(place);
    }
  }
});
