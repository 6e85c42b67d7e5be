// Charts of rates: over time, by depth, jobs or size, and with both settings of the write cache;
// also of the time of sorts.

charts["rate-over-time"] = (data, theme, width) => {
  const end = data.end_s;
  // Each value covers its whole interval, so the last one is drawn to the end.
  const stepsOf = (values) => [...values.map((perSecond, index) => [index * data.interval_s, perSecond]), [end, values[values.length - 1]]];
  // In a long test a value is the mean of many seconds; the slowest of them is drawn below, where a
  // stall is a spike.
  const slowest = data.least_per_s.length > 0 ? [{
    name: "slowest second of each",
    type: "line",
    step: "end",
    showSymbol: false,
    symbol: mark(1),
    data: stepsOf(data.least_per_s),
    color: colour(theme, 1),
    lineStyle: { width: 1, color: colour(theme, 1) },
    emphasis: { disabled: true },
  }] : [];
  const mean = slowest.length > 0 ? `mean of ${seconds(data.interval_s)}` : "per second";
  const names = [mean, ...slowest.map((series) => series.name)];
  const steady = data.steady_from_s === null ? [] : [[{ xAxis: data.steady_from_s, name: "steady" }, { xAxis: end }]];
  return {
    ...base(theme),
    legend: legend(theme, names, width),
    grid: grid({ top: 26 + legendHeight(names, width) }),
    xAxis: axis(theme, {
      type: "value",
      min: 0,
      max: end,
      name: "time",
      nameLocation: "middle",
      nameGap: 24,
      interval: timeStep(end),
      splitLine: { show: false },
      axisLabel: { formatter: seconds, showMaxLabel: end % timeStep(end) === 0 },
    }),
    yAxis: axis(theme, {
      type: "value",
      min: 0,
      name: "per second",
      nameLocation: "end",
      nameGap: 10,
      nameTextStyle: { align: "left", color: theme.faint, fontSize: 12 },
      splitNumber: 4,
      axisLabel: { formatter: short },
    }),
    series: [
      {
        name: mean,
        type: "line",
        step: "end",
        showSymbol: false,
        symbol: "circle",
        data: stepsOf(data.per_s),
        color: colour(theme, 0),
        lineStyle: { width: 2 },
        areaStyle: { opacity: 0.08 },
        emphasis: { disabled: true },
        markArea: {
          silent: true,
          itemStyle: { color: theme.steady },
          label: { position: "insideBottom", color: theme.faint, fontSize: 12 },
          data: steady,
        },
      },
      ...slowest,
    ],
    tooltip: {
      ...base(theme).tooltip,
      trigger: "axis",
      formatter: (under) => {
        if (under.length === 0) return "";
        const from = Math.min(under[0].value[0], end - data.interval_s);
        const heading = `${seconds(from)} to ${seconds(Math.min(from + data.interval_s, end))}`;
        const line = ({ value }, index) => ({ colour: colour(theme, index), name: names[index], value: rate(value[1]) });
        return tip(heading, under.map(line));
      },
    },
  };
};

charts.curve = (data, theme, width, height) => {
  const narrow = width < 500;
  const unit = units[data.unit];
  const values = [...data.lines, ...data.published].flatMap((line) => line.values).filter((value) => value !== null);
  const logarithms = (line) => line.values.map((value) => (value === null ? null : Math.log10(value)));
  const named = data.published.length > 0 && !narrow;
  const ours = data.lines.map((line, index) => ({
    name: line.name,
    type: "line",
    data: logarithms(line),
    symbol: mark(index),
    symbolSize: 7,
    color: colour(theme, index),
    lineStyle: { width: 2.2, type: dash(index), color: colour(theme, index) },
    connectNulls: true,
    emphasis: { disabled: true },
    z: 5,
  }));
  const yAxis = logAxis(theme, Math.min(...values), Math.max(...values), unit.axis, {
    name: data.unit === "mib_per_s" ? "MiB/s" : data.what,
    nameLocation: "end",
    nameGap: 10,
    nameTextStyle: { align: "left", color: theme.faint, fontSize: 12 },
  });
  const top = legendHeight(data.lines.map((line) => line.name), width) + 26;
  const others = data.published.map((line) => ({ name: line.name, data: logarithms(line) }));
  const behind = publishedLines(theme, others, { axis: yAxis, height: height - top - BELOW_PX }, named);
  return {
    ...base(theme),
    legend: legend(theme, data.lines.map((line) => line.name), width),
    grid: grid({ right: named ? labelsWidth(data.published) : 18, top }),
    xAxis: axis(theme, {
      type: "category",
      data: data.steps,
      boundaryGap: false,
      name: data.over,
      nameLocation: "middle",
      nameGap: 26,
      splitLine: { show: false },
    }),
    yAxis,
    series: [...behind, ...ours],
    tooltip: {
      ...base(theme).tooltip,
      trigger: "axis",
      formatter: (under) => {
        if (under.length === 0) return "";
        const step = under[0].dataIndex;
        const line = (published) => (from, index) => ({
          colour: published ? theme.published : colour(theme, index),
          name: published ? `${from.name}, published` : from.name,
          value: from.values[step] === null ? "–" : unit.words(from.values[step]),
        });
        const known = data.published.filter((published) => published.values[step] !== null);
        return tip(`${data.over} ${data.steps[step]}`, [...data.lines.map(line(false)), ...known.map(line(true))]);
      },
    },
  };
};

// The names of tests, the first at the top.
const testAxis = (theme, tests, width) => {
  const named = (name) => (width < 560 ? folded(name, 20) : clipped(name, 44));
  return axis(theme, {
    type: "category",
    data: tests,
    inverse: true,
    axisTick: { show: false },
    splitLine: { show: false },
    axisLabel: { interval: 0, color: theme.text, hideOverlap: false, lineHeight: 14, formatter: named },
  });
};

// The tooltip of bars that lie in rows, one for each test; `linesOf` gives the lines of a row.
const barTooltip = (theme, tests, linesOf) => ({
  ...base(theme).tooltip,
  trigger: "axis",
  axisPointer: { type: "shadow", shadowStyle: { color: theme.split, opacity: 0.5 } },
  formatter: (under) => {
    if (under.length === 0) return "";
    const row = under[0].dataIndex;
    return tip(tests[row], linesOf(row));
  },
});

charts.bars = (data, theme, width) => {
  const unit = units[data.unit];
  const values = data.settings.flatMap((setting) => setting.values).filter((value) => value !== null);
  // A logarithmic axis has no zero; bars begin at the power of ten below the least value.
  const floor = Math.floor(Math.log10(Math.min(...values)) - 0.001);
  const ceiling = Math.ceil(Math.log10(Math.max(...values)));
  const powers = Array.from({ length: ceiling - floor + 1 }, (_, index) => floor + index);
  return {
    ...base(theme),
    legend: { ...legend(theme, data.settings.map((setting) => setting.name), width), itemWidth: 14, itemHeight: 10 },
    grid: grid({ top: 54, right: 64 }),
    xAxis: axis(theme, {
      type: "value",
      min: floor,
      max: ceiling,
      position: "top",
      name: data.unit === "mib_per_s" ? "MiB/s" : "per second",
      nameLocation: "middle",
      nameGap: 22,
      axisTick: { customValues: powers, lineStyle: { color: theme.line } },
      axisLabel: { customValues: powers, margin: 6, formatter: (value) => unit.axis(10 ** value) },
    }),
    yAxis: testAxis(theme, data.tests, width),
    series: data.settings.map((setting, index) => ({
      name: setting.name,
      type: "bar",
      data: setting.values.map((value) => (value === null ? null : Math.log10(value))),
      color: colour(theme, index),
      itemStyle: {
        borderRadius: [0, 2, 2, 0],
        decal: index === 0 ? undefined : { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -Math.PI / 4, color: theme.ground },
      },
      barGap: "10%",
      barCategoryGap: "28%",
      label: {
        show: true,
        position: "right",
        color: theme.faint,
        fontSize: 11,
        formatter: ({ value }) => (data.unit === "mib_per_s" ? threeDigits(10 ** value) : rate(10 ** value)),
      },
      emphasis: { disabled: true },
    })),
    tooltip: barTooltip(theme, data.tests, (row) =>
      data.settings.map((setting, index) => ({
        colour: colour(theme, index),
        name: setting.name,
        value: setting.values[row] === null ? "–" : unit.words(setting.values[row]),
      }))),
  };
};

// The last part is not one of those that are looked for, so it has a weaker colour.
const partColour = (theme, index, count) => (index === count - 1 ? theme.published : colour(theme, index));

charts.stacks = (data, theme, width) => {
  const unit = units[data.unit];
  const names = data.parts.map((part) => part.name);
  const ink = (index) => partColour(theme, index, data.parts.length);
  return {
    ...base(theme),
    legend: { ...legend(theme, names, width), itemWidth: 14, itemHeight: 10 },
    grid: grid({ top: legendHeight(names, width) + 8, bottom: 24 }),
    xAxis: axis(theme, {
      type: "value",
      min: 0,
      name: "time",
      nameLocation: "middle",
      nameGap: 24,
      axisLabel: { formatter: unit.axis },
    }),
    yAxis: testAxis(theme, data.tests, width),
    series: data.parts.map((part, index) => ({
      name: part.name,
      type: "bar",
      stack: "time",
      data: part.values,
      color: ink(index),
      // A gap between two parts separates them without relying on colour.
      itemStyle: { borderColor: theme.ground, borderWidth: 1 },
      barCategoryGap: "28%",
      emphasis: { disabled: true },
    })),
    tooltip: barTooltip(theme, data.tests, (row) =>
      data.parts.map((part, index) => ({
        colour: ink(index),
        name: part.name,
        value: unit.words(part.values[row]),
      }))),
  };
};
