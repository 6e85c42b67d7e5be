// Shared by all charts. Texts reach a tooltip as text nodes only, whatever a drive's name contains.

const font = getComputedStyle(document.documentElement).fontFamily;

const element = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

// A name on two lines, if one line is too short.
const folded = (text, most) => {
  if (text.length <= most) return text;
  const space = text.lastIndexOf(" ", most);
  const end = space > 0 ? space : most;
  return `${text.slice(0, end)}\n${clipped(text.slice(end).trim(), most)}`;
};

// A tooltip: a heading, then lines with a mark, a name and a value.
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
  // Not at 1 of a logarithmic axis.
  axisLine: { show: true, onZero: false, lineStyle: { color: theme.line } },
  axisTick: { lineStyle: { color: theme.line } },
  nameTextStyle: { color: theme.faint, fontSize: 12 },
  splitLine: { lineStyle: { color: theme.split } },
  ...more,
  axisLabel: { color: theme.faint, fontSize: 12, hideOverlap: true, ...(more.axisLabel || {}) },
});

// Letters of a name in the legend, and the height of a line of it.
const legendLetters = (width) => (width < 500 ? 34 : 48);
const LEGEND_PX = 22;

// The height of a legend with as many lines as its names need.
const legendHeight = (names, width) => {
  if (names.length < 2) return 0;
  let [lines, used] = [1, 0];
  for (const name of names) {
    const needed = clipped(name, legendLetters(width)).length * 6.8 + 46;
    if (used > 0 && used + needed > width) [lines, used] = [lines + 1, 0];
    used += needed;
  }
  return lines * LEGEND_PX + 6;
};

const legend = (theme, names, width) => ({
  show: names.length > 1,
  top: 0,
  left: 0,
  right: 0,
  itemWidth: 26,
  itemHeight: 9,
  data: names,
  textStyle: { color: theme.text, fontSize: 12 },
  formatter: (name) => clipped(name, legendLetters(width)),
});

// Ticks of a logarithmic axis between the least and the greatest value: 1, 2, 5 if there is room,
// otherwise powers of ten. On such an axis, values are their own logarithms, so bins and values
// share one scale.
const TICKS_MIN = 2;
const ticks = (least, most) => {
  const from = Math.floor(Math.log10(least));
  const to = Math.ceil(Math.log10(most));
  const within = (steps) => {
    const all = [];
    for (let power = from; power <= to; power += 1) for (const step of steps) all.push(step * 10 ** power);
    return all.filter((value) => value >= least && value <= most).map(Math.log10);
  };
  const decades = Math.log10(most / least);
  const kinds = decades > 3.2 ? [[1]] : decades > 1.8 ? [[1, 3]] : decades > 0.5 ? [[1, 2, 5]] : [[1, 2, 3, 5, 7], [1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]];
  for (const steps of kinds) if (within(steps).length >= TICKS_MIN) return within(steps);
  return [Math.log10(least), Math.log10(most)];
};

// The axis begins and ends where the data do, with a little space beside them; with more if they
// hardly differ, so that noise does not look like a difference.
const SPACE = 0.04;
const DECADES_MIN = Math.log10(1.6);
const logAxis = (theme, least, most, format, more = {}) => {
  const decades = Math.log10(most / least);
  const space = Math.max(decades * SPACE, 0.02, (DECADES_MIN - decades) / 2);
  const [low, high] = [Math.log10(least) - space, Math.log10(most) + space];
  const values = ticks(10 ** low, 10 ** high);
  return axis(theme, {
    type: "value",
    min: low,
    max: high,
    ...more,
    axisTick: { lineStyle: { color: theme.line }, customValues: values },
    splitLine: { show: true, lineStyle: { color: theme.split }, ...(more.splitLine || {}) },
    axisLabel: { customValues: values, formatter: (value) => format(10 ** value), ...(more.axisLabel || {}) },
  });
};

// Seconds between two labels of a time axis: steps of a clock, and no more labels than there is
// room for.
const TIME_STEPS_S = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200];
const TIME_LABELS_MAX = 8;
const timeStep = (end) => TIME_STEPS_S.find((step) => end / step <= TIME_LABELS_MAX) || Math.ceil(end / 86400 / TIME_LABELS_MAX) * 86400;

// How far each label at the end of a line must move down or up, in pixels, so that none overlap:
// they keep their order and are spread around the middle of each cluster. `places` are pixels from
// the top.
const LABEL_PX = 14;
// Space for names next to the lines: as much as the longest name needs.
const LABEL_LETTERS = 32;
const LETTER_PX = 6.9;
const labelsWidth = (lines) =>
  Math.max(...lines.map((line) => Math.min(line.name.length, LABEL_LETTERS))) * LETTER_PX + 10;
const spread = (places) => {
  const order = places.map((_, index) => index).sort((a, b) => places[a] - places[b]);
  let crowds = order.map((index) => ({ middle: places[index], members: [index] }));
  for (let merged = true; merged; ) {
    merged = false;
    for (let at = 0; at + 1 < crowds.length; at += 1) {
      const [one, next] = [crowds[at], crowds[at + 1]];
      const room = ((one.members.length + next.members.length) / 2) * LABEL_PX;
      if (next.middle - one.middle >= room) continue;
      const members = [...one.members, ...next.members];
      const middle = members.reduce((sum, index) => sum + places[index], 0) / members.length;
      crowds.splice(at, 2, { middle, members });
      merged = true;
      break;
    }
  }
  const moved = places.map(() => 0);
  for (const { middle, members } of crowds) {
    members.forEach((index, rank) => {
      moved[index] = middle + (rank - (members.length - 1) / 2) * LABEL_PX - places[index];
    });
  }
  return moved;
};

// Grey lines of published drives, each with its name at the end.
const publishedLines = (theme, lines, scale, named) => {
  const [bottom, top] = [scale.axis.min, scale.axis.max];
  const pixel = (logarithm) => ((top - logarithm) / (top - bottom)) * scale.height;
  const last = (line) => line.data.findLast((point) => (Array.isArray(point) ? point[1] : point) !== null);
  const moved = spread(lines.map((line) => {
    const end = last(line);
    return pixel(Array.isArray(end) ? end[1] : end);
  }));
  return lines.map((line, index) => ({
    ...line,
    type: "line",
    symbol: "none",
    silent: true,
    color: theme.published,
    lineStyle: { width: 1.2, color: theme.published },
    connectNulls: true,
    endLabel: {
      show: named,
      color: theme.faint,
      fontSize: 11,
      distance: 6,
      offset: [0, moved[index]],
      formatter: () => clipped(line.name, LABEL_LETTERS),
    },
    z: 1,
  }));
};

const grid = (more = {}) => ({ left: 4, right: 14, top: 30, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all", ...more });
