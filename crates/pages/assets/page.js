// Draws each chart when it comes into view, all of them before printing, and all again when light turns to dark.

const figures = JSON.parse(document.getElementById("chart-data").textContent);
const drawn = new Map();
// A4 without its margins, at 96 dots an inch.
const PRINTED_WIDTH = 690;
const AHEAD_OF_VIEW = "300px";
const NARROW = 560;

document.documentElement.classList.add("drawing");

const heightOf = (place, width) => {
  const rows = Number(place.dataset.rows || 0);
  const row = width < NARROW ? 26 : 24;
  return rows > 0 ? 70 + rows * row : width < NARROW ? 280 : 320;
};

const draw = (place, theme, width = place.clientWidth) => {
  const data = figures[place.dataset.figure];
  const height = heightOf(place, width);
  place.style.height = `${height}px`;
  const chart = drawn.get(place) || echarts.init(place, null, { renderer: "svg", width, height });
  drawn.set(place, chart);
  chart.resize({ width, height });
  chart.setOption(charts[data.kind](data, theme, width), { notMerge: true });
  chart.getZr().flush();
};

const theme = () => (dark.matches ? themes.dark : themes.light);
const places = [...document.querySelectorAll("[data-figure]")];
let printing = false;

const inView = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting && !drawn.has(target)) draw(target, theme());
  },
  { rootMargin: AHEAD_OF_VIEW },
);
const sized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const chart = drawn.get(target);
    if (!printing && chart && target.clientWidth > 0 && chart.getWidth() !== target.clientWidth) draw(target, theme());
  }
});
for (const place of places) {
  place.style.height = `${heightOf(place, place.clientWidth)}px`;
  inView.observe(place);
  sized.observe(place);
}

dark.addEventListener("change", () => {
  for (const place of drawn.keys()) draw(place, theme());
});
window.addEventListener("beforeprint", () => {
  printing = true;
  for (const place of places) draw(place, themes.light, PRINTED_WIDTH);
});
window.addEventListener("afterprint", () => {
  printing = false;
  for (const place of places) draw(place, theme());
});
