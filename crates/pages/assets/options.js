// What all charts have in common. Texts reach a tooltip as text nodes only, whatever a drive calls itself.

const font = getComputedStyle(document.documentElement).fontFamily;

const element = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

// A tooltip: a heading, then lines of a mark, a name and a value.
const tip = (heading, lines) => {
  const box = element("div", "tip");
  box.append(element("b", "", heading));
  for (const { colour: ink, name, value } of lines) {
    const line = element("div", "tip-line");
    const spot = element("i", "tip-spot");
    spot.style.background = ink || "transparent";
    line.append(spot, element("span", "tip-name", name), element("span", "tip-value", value));
    box.append(line);
  }
  return box;
};

const clipped = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

const base = (theme) => ({
  animation: false,
  backgroundColor: "transparent",
  textStyle: { fontFamily: font, color: theme.text },
  tooltip: {
    confine: true,
    backgroundColor: theme.ground,
    borderColor: theme.line,
    textStyle: { color: theme.text, fontSize: 12, fontFamily: font },
    extraCssText: "box-shadow: 0 2px 10px rgba(0, 0, 0, 0.18);",
    axisPointer: { type: "line", lineStyle: { color: theme.faint, type: "dotted" }, label: { show: false } },
  },
});

const axis = (theme, more) => ({
  axisLine: { show: true, lineStyle: { color: theme.line } },
  axisTick: { lineStyle: { color: theme.line } },
  nameTextStyle: { color: theme.faint, fontSize: 12 },
  splitLine: { lineStyle: { color: theme.split } },
  ...more,
  axisLabel: { color: theme.faint, fontSize: 12, hideOverlap: true, ...(more.axisLabel || {}) },
});

const legend = (theme, names, width) => ({
  show: names.length > 1,
  type: "scroll",
  top: 0,
  left: 0,
  right: 0,
  itemWidth: 26,
  itemHeight: 9,
  data: names,
  pageIconColor: theme.faint,
  pageIconInactiveColor: theme.line,
  pageTextStyle: { color: theme.faint },
  textStyle: { color: theme.text, fontSize: 12 },
  formatter: (name) => clipped(name, width < 500 ? 26 : 48),
});

// Ticks of a logarithmic axis from below the least to above the most: 1, 2, 5 where they have room, else powers of ten. Values are their own logarithms on
// such an axis here, so that bins and values share one scale.
const ticks = (least, most) => {
  const from = Math.floor(Math.log10(least));
  const to = Math.ceil(Math.log10(most));
  const steps = to - from <= 2 ? [1, 2, 5] : to - from <= 3 ? [1, 3] : [1];
  const all = [];
  for (let power = from; power <= to; power += 1) for (const step of steps) all.push(step * 10 ** power);
  let low = 0;
  while (low + 1 < all.length && all[low + 1] <= least) low += 1;
  let high = all.length - 1;
  while (high > low + 1 && all[high - 1] >= most) high -= 1;
  return all.slice(low, high + 1).map(Math.log10);
};

const logAxis = (theme, least, most, format, more = {}) => {
  const values = ticks(least, most);
  return axis(theme, {
    type: "value",
    min: values[0],
    max: values[values.length - 1],
    ...more,
    axisTick: { lineStyle: { color: theme.line }, customValues: values },
    splitLine: { show: true, lineStyle: { color: theme.split }, ...(more.splitLine || {}) },
    axisLabel: { customValues: values, formatter: (value) => format(10 ** value), ...(more.axisLabel || {}) },
  });
};

const grid = (more = {}) => ({ left: 4, right: 14, top: 30, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all", ...more });
