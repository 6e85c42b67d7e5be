// Charts of latencies: by percentile, over time, of all tests.

const charts = {};

// Space for the horizontal axis and its name.
const BELOW_PX = 44;

const STALLS = "stalls";

charts.percentiles = (data, theme, width, height) => {
  const narrow = width < 500;
  const all = data.lines.flatMap((line) => line.points.map((point) => point[1]));
  const means = data.published.map((drive) => drive.mean_us);
  const least = Math.min(...all, ...means);
  const most = Math.max(...all, ...means);
  const last = Math.max(1, ...data.lines.flatMap((line) => line.points.map((point) => point[0])));
  const nines = [0, 0.30103, 1, 2, 3, 4, 5, 6, 7, 8, 9].filter((value) => value <= last + 0.001);
  const labels = narrow ? nines.filter((value) => value !== 0) : nines;
  const named = data.published.length > 0 && !narrow;
  const ours = data.lines.map((line, index) => ({
    name: line.name,
    type: "line",
    showSymbol: line.points.length < 4,
    symbol: mark(index),
    symbolSize: 7,
    data: line.points.map(([x, us]) => [x, Math.log10(us)]),
    color: colour(theme, index),
    lineStyle: { width: 2.2, type: dash(index), color: colour(theme, index) },
    emphasis: { disabled: true },
    z: 5 - index / 10,
  }));
  const yAxis = logAxis(theme, least, most, latency);
  const top = legendHeight(data.lines.map((line) => line.name), width) + 10;
  const flat = data.published.map((drive) => {
    const mean = Math.log10(drive.mean_us);
    return { name: drive.name, data: [[0, mean], [last, mean]] };
  });
  const behind = publishedLines(theme, flat, { axis: yAxis, height: height - top - BELOW_PX }, named);
  const at = (points, x) => {
    let found = points[0];
    for (const point of points) if (point[0] <= x + 1e-9) found = point;
    return found[1];
  };
  return {
    ...base(theme),
    legend: legend(theme, data.lines.map((line) => line.name), width),
    grid: grid({ right: named ? labelsWidth(data.published) : 14, top }),
    xAxis: axis(theme, {
      type: "value",
      min: 0,
      max: last,
      name: "share of operations within this time",
      nameLocation: "middle",
      nameGap: 26,
      axisTick: { customValues: nines, lineStyle: { color: theme.line } },
      splitLine: { show: false },
      axisLabel: { customValues: labels, formatter: share },
    }),
    yAxis,
    series: [...behind, ...ours],
    tooltip: {
      ...base(theme).tooltip,
      trigger: "axis",
      formatter: (under) => {
        const x = under.length > 0 ? under[0].axisValue : 0;
        const lines = data.lines.map((line, index) => ({
          colour: colour(theme, index),
          name: line.name,
          value: latency(at(line.points, x)),
        }));
        const others = data.published.map((drive) => ({
          colour: theme.published,
          name: `${drive.name}, published mean`,
          value: latency(drive.mean_us),
        }));
        return tip(`${share(x)} within`, [...lines, ...others]);
      },
    },
  };
};

// A map of cells: coordinates and a value, whose colour the scale gives. Axes, scale and tooltip
// are those of the kind of map.
const heatMap = (theme, map) => ({
  ...base(theme),
  grid: grid({ top: 12, bottom: 34 }),
  xAxis: axis(theme, {
    type: "category",
    nameLocation: "middle",
    nameGap: 24,
    splitLine: { show: false },
    axisTick: { show: false },
    ...map.xAxis,
  }),
  yAxis: axis(theme, { type: "category", splitLine: { show: false }, axisTick: { show: false }, ...map.yAxis }),
  visualMap: {
    seriesIndex: 0,
    orient: "horizontal",
    left: "center",
    bottom: 0,
    hoverLink: false,
    textStyle: { color: theme.faint, fontSize: 12 },
    ...map.scale,
  },
  series: [
    {
      name: "latency",
      type: "heatmap",
      data: map.cells,
      itemStyle: { borderWidth: map.border, borderColor: theme.ground },
      emphasis: { itemStyle: { borderColor: theme.text, borderWidth: 1.5 } },
      progressive: 0,
      markArea: map.shaded,
    },
    ...(map.marks || []),
  ],
  tooltip: { ...base(theme).tooltip, formatter: map.tooltip },
});

charts["heat-map"] = (data, theme, width) => {
  const narrow = width < 500;
  const from = (bin) => 10 ** ((data.lowest_bin + bin) / 10) / 1e3;
  const columns = Array.from({ length: data.columns }, (_, column) => column);
  const bins = Array.from({ length: data.bins }, (_, bin) => bin);
  const most = Math.max(...data.cells.map((cell) => cell[2]));
  // A label at each factor of ten, and two between if there is room.
  const every = data.bins <= 12 ? 2 : data.bins <= 24 ? 5 : 10;
  // A label at the column in which a step of the clock begins.
  const step = timeStep(data.columns * data.column_s);
  const stepsBefore = (column) => Math.ceil((column * data.column_s) / step - 1e-9);
  const begins = (column) => column === 0 || stepsBefore(column) * step < (column + 1) * data.column_s - 1e-9;
  const labelled = (bin) => (data.lowest_bin + bin) % every === 0;
  return heatMap(theme, {
    xAxis: {
      data: columns,
      name: "time",
      axisLabel: { interval: (column) => begins(column), formatter: (column) => seconds(stepsBefore(Number(column)) * step) },
    },
    yAxis: {
      data: bins,
      axisLabel: { interval: (bin) => labelled(bin), formatter: (bin) => latency(from(Number(bin))), verticalAlign: "top" },
    },
    scale: {
      type: "continuous",
      min: 0,
      max: Math.max(1, Math.log10(most)),
      itemWidth: 10,
      itemHeight: narrow ? 90 : 140,
      calculable: false,
      text: [rate(most), "1 each"],
      inRange: { color: theme.heat },
    },
    cells: data.cells.map(([column, bin, count]) => [column, bin, Math.log10(count)]),
    border: data.columns > 70 ? 0 : 0.5,
    shaded: {
      silent: true,
      itemStyle: { color: theme.stall },
      data: data.stalls.map(([column]) => [{ xAxis: column }, { xAxis: column }]),
    },
    // A shade alone is easily overlooked, and in a long test a stall is only part of a column, so a
    // mark above the column shows it.
    marks: [{
      name: STALLS,
      type: "custom",
      renderItem: (params, api) => {
        const [x] = api.coord([api.value(0), 0]);
        const y = params.coordSys.y;
        return { type: "polygon", shape: { points: [[x - 4, y - 9], [x + 4, y - 9], [x, y - 2]] }, style: { fill: theme.stalled } };
      },
      data: data.stalls.map(([column, stood]) => [column, 0, stood]),
      encode: { x: 0, y: 1 },
      clip: false,
    }],
    tooltip: ({ seriesName, value }) => {
      const [column, bin, logarithm] = value;
      const heading = `${seconds(column * data.column_s)} to ${seconds((column + 1) * data.column_s)}`;
      if (seriesName === STALLS) return tip(heading, [{ colour: theme.stalled, name: "nothing completed", value: seconds(value[2]) }]);
      const count = Math.round(10 ** logarithm);
      return tip(heading, [{ name: `${latency(from(bin))} to ${latency(from(bin + 1))}`, value: rate(count) }]);
    },
  });
};

charts.glance = (data, theme, width) => {
  const narrow = width < 560;
  const names = data.tests.map((test) => test.name);
  const figures = [
    { name: "half within", of: (test) => test.p50_us },
    { name: "99 % within", of: (test) => test.p99_us },
    { name: "slowest", of: (test) => test.max_us },
  ];
  const all = data.tests.flatMap((test) => figures.map((figure) => figure.of(test))).filter((us) => us > 0);
  return {
    ...base(theme),
    legend: { ...legend(theme, figures.map((figure) => figure.name), width), itemWidth: 12, itemHeight: 10 },
    grid: grid({ top: 54, bottom: 4 }),
    xAxis: logAxis(theme, Math.min(...all), Math.max(...all), latency, { position: "top", axisLabel: { margin: 6 } }),
    yAxis: axis(theme, {
      type: "category",
      data: names,
      inverse: true,
      axisTick: { show: false },
      splitLine: { show: true, lineStyle: { color: theme.split } },
      axisLabel: {
        interval: 0,
        color: theme.text,
        hideOverlap: false,
        lineHeight: 14,
        formatter: (name) => (narrow ? folded(name, 22) : clipped(name, 64)),
      },
    }),
    series: [
      // From the median to the slowest: how much longer than usual a single commit may take.
      spanSeries(theme, data.tests.map((test, index) => [Math.log10(test.p50_us), Math.log10(test.max_us), index])),
      ...figures.map((figure, index) => ({
        name: figure.name,
        type: "scatter",
        symbol: mark(index),
        symbolSize: index === 0 ? 11 : 9,
        color: colour(theme, index),
        data: data.tests.map((test, row) => [Math.log10(figure.of(test)), row]),
        emphasis: { disabled: true },
        z: 5 - index,
      })),
    ],
    tooltip: {
      ...base(theme).tooltip,
      trigger: "item",
      formatter: ({ value }) => {
        const test = data.tests[value[1]];
        const lines = figures.map((figure, index) => ({
          colour: colour(theme, index),
          name: figure.name,
          value: latency(figure.of(test)),
        }));
        return tip(test.name, lines);
      },
    },
  };
};
