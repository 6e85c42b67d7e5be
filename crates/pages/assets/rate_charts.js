// Charts of rates: over time, with both settings of the write cache, of commits in different ways;
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

// A line from one figure of a test to another: its row, and the two logarithms.
const spanSeries = (theme, spans, more = {}) => ({
  type: "custom",
  silent: true,
  renderItem: (_, api) => {
    const left = api.coord([api.value(0), api.value(2)]);
    const right = api.coord([api.value(1), api.value(2)]);
    return {
      type: "line",
      shape: { x1: left[0], y1: left[1], x2: right[0], y2: right[1] },
      style: { stroke: theme.span, lineWidth: 3, lineCap: "round" },
    };
  },
  data: spans,
  encode: { x: [0, 1], y: 2 },
  z: 1,
  ...more,
});

// Space for a ratio at the end of a row: `off 13.9 ×`.
const RATIO_PX = 84;

charts.dumbbells = (data, theme, width) => {
  const unit = units[data.unit];
  const [off, on] = data.settings;
  const values = data.settings.flatMap((setting) => setting.values).filter((value) => value !== null);
  const names = data.settings.map((setting) => setting.name);
  const both = data.tests.map((_, row) => row).filter((row) => off.values[row] !== null && on.values[row] !== null);
  const spans = both.map((row) => {
    const ends = [off.values[row], on.values[row]].map(Math.log10);
    return [Math.min(...ends), Math.max(...ends), row];
  });
  return {
    ...base(theme),
    legend: { ...legend(theme, names, width), itemWidth: 14, itemHeight: 10 },
    grid: grid({ top: 54, right: RATIO_PX, bottom: 4 }),
    xAxis: logAxis(theme, Math.min(...values), Math.max(...values), unit.axis, {
      position: "top",
      name: data.unit === "mib_per_s" ? "MiB/s" : "per second",
      nameLocation: "middle",
      nameGap: 22,
      axisLabel: { margin: 6 },
    }),
    yAxis: [
      { ...testAxis(theme, data.tests, width), splitLine: { show: true, lineStyle: { color: theme.split } } },
      // The ratios, as the labels of a second axis.
      {
        ...testAxis(theme, data.tests.map((_, row) => row), width),
        position: "right",
        axisLine: { show: false },
        axisLabel: { interval: 0, color: theme.text, fontWeight: 600, hideOverlap: false, formatter: (row) => data.ratios[row] },
      },
    ],
    series: [
      spanSeries(theme, spans),
      ...data.settings.map((setting, index) => ({
        name: setting.name,
        type: "scatter",
        symbol: mark(index),
        symbolSize: index === 0 ? 11 : 12,
        color: colour(theme, index),
        data: setting.values.map((value, row) => (value === null ? null : [Math.log10(value), row])).filter(Boolean),
        emphasis: { disabled: true },
        z: 4,
      })),
    ],
    tooltip: {
      ...base(theme).tooltip,
      trigger: "item",
      formatter: ({ value }) => {
        const row = value[1];
        const lines = data.settings.map((setting, index) => ({
          colour: colour(theme, index),
          name: setting.name,
          value: setting.values[row] === null ? "–" : unit.words(setting.values[row]),
        }));
        return tip(data.tests[row], [...lines, { name: data.ratios[row], value: "" }]);
      },
    },
  };
};

// Space for the names of tests, and for a rate at the end of a bar.
const NAMES_PX = 220;
const RATE_PX = 90;

charts["commit-rates"] = (data, theme, width) => {
  const narrow = width < 700;
  // A row for each test, after a row with the name of its group.
  const rows = [];
  data.tests.forEach((test, index) => {
    if (test.group && test.group !== data.tests[index - 1]?.group) rows.push({ heading: test.group });
    rows.push(test);
  });
  const isLate = (test) => data.limit !== null && test.name.startsWith("etcd") && test.p99_us > data.limit.us;
  const label = (test) => {
    if (!narrow || test.p99_us === null) return `${rate(test.per_s)}/s`;
    return `${rate(test.per_s)}/s, p99 ${latency(test.p99_us)}${isLate(test) ? " !" : ""}`;
  };
  const names = {
    ...testAxis(theme, rows.map((_, row) => row), width),
    axisLabel: {
      interval: 0,
      hideOverlap: false,
      lineHeight: 14,
      color: theme.text,
      formatter: (row) => (rows[row].heading ? `{heading|${clipped(rows[row].heading, narrow ? 26 : 30)}}` : narrow ? folded(rows[row].name, 20) : clipped(rows[row].name, 34)),
      rich: { heading: { fontWeight: 700, color: theme.text, fontSize: 12 } },
    },
  };
  const timed = rows.map((test, row) => ({ ...test, row })).filter((test) => test.p50_us > 0 && test.p99_us > 0);
  const all = [...timed.flatMap((test) => [test.p50_us, test.p99_us]), ...(data.limit === null ? [] : [data.limit.us])];
  const bars = {
    name: "per second",
    type: "bar",
    barCategoryGap: "34%",
    color: colour(theme, 0),
    data: rows.map((test) => (test.heading ? null : test.per_s)),
    label: { show: true, position: "right", color: theme.text, fontSize: 11, formatter: ({ dataIndex }) => (rows[dataIndex].heading ? "" : label(rows[dataIndex])) },
    emphasis: { disabled: true },
    z: 3,
  };
  const perSecond = (more) => axis(theme, { type: "value", min: 0, position: "top", name: "per second", nameLocation: "middle", nameGap: 22, splitNumber: 3, axisLabel: { formatter: short, margin: 6 }, ...more });
  const tooltip = {
    ...base(theme).tooltip,
    trigger: "item",
    formatter: ({ value, dataIndex, seriesType }) => {
      const test = rows[seriesType === "bar" ? dataIndex : value[1]];
      return tip([test.group, test.name].filter(Boolean).join(": "), [
        { colour: colour(theme, 0), name: "per second", value: rate(test.per_s) },
        { name: "half within", value: test.p50_us === null ? "–" : latency(test.p50_us) },
        { name: "99 % within", value: test.p99_us === null ? "–" : latency(test.p99_us) },
        ...(data.limit === null || test.p99_us === null ? [] : [{ name: `${data.limit.name}: p99 of ${latency(data.limit.us)}`, value: test.p99_us > data.limit.us ? "exceeded" : "met" }]),
      ]);
    },
  };
  if (narrow || timed.length === 0) {
    return { ...base(theme), grid: grid({ top: 40, right: narrow ? 110 : 70, bottom: 4 }), xAxis: perSecond({}), yAxis: names, series: [bars], tooltip };
  }
  // Rows of both panels are at the same height, so neither may shrink for its labels.
  const middle = Math.round(width * 0.62);
  const panel = { top: 54, bottom: 26, outerBoundsMode: "none" };
  const ends = (name, of, index) => ({
    name,
    type: "scatter",
    xAxisIndex: 1,
    yAxisIndex: 1,
    symbol: mark(index),
    symbolSize: 10,
    color: colour(theme, index),
    data: timed.map((test) => [Math.log10(of(test)), test.row]),
    emphasis: { disabled: true },
    z: 4,
  });
  return {
    ...base(theme),
    legend: { ...legend(theme, ["half within", "99 % within"], width), left: middle, itemWidth: 12, itemHeight: 10 },
    grid: [
      { ...panel, left: NAMES_PX, right: width - middle + RATE_PX },
      { ...panel, left: middle, right: 18 },
    ],
    xAxis: [
      perSecond({}),
      logAxis(theme, Math.min(...all), Math.max(...all), latency, { gridIndex: 1, position: "top", axisLabel: { margin: 6 } }),
    ],
    yAxis: [
      names,
      { ...testAxis(theme, rows.map((_, row) => row), width), gridIndex: 1, axisLabel: { show: false }, splitLine: { show: true, lineStyle: { color: theme.split } } },
    ],
    series: [
      bars,
      spanSeries(theme, timed.map((test) => [Math.log10(test.p50_us), Math.log10(test.p99_us), test.row]), { xAxisIndex: 1, yAxisIndex: 1 }),
      ends("half within", (test) => test.p50_us, 0),
      {
        ...ends("99 % within", (test) => test.p99_us, 1),
        markLine: data.limit === null ? undefined : {
          silent: true,
          symbol: "none",
          lineStyle: { color: theme.stalled, type: [6, 4], width: 1.5 },
          label: { formatter: `${data.limit.name}: p99 ${latency(data.limit.us)}`, position: "end", distance: 6, align: "right", color: theme.text, fontSize: 11 },
          data: [{ xAxis: Math.log10(data.limit.us) }],
        },
      },
    ],
    tooltip,
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
