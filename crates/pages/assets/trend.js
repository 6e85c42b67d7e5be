// Latency from run to run, with a line where a fact changed.

// All times on these pages are in UTC.
const TWO_DAYS_MS = 2 * 86400e3;
const minute = (ms) => new Date(ms).toISOString().slice(0, 16).replace("T", " ");

charts.trend = (data, theme, width) => {
  const figures = [
    { name: "half within", of: (point) => point.p50_us },
    { name: "99 % within", of: (point) => point.p99_us },
  ];
  const names = figures.map((figure) => figure.name);
  const all = data.points.flatMap((point) => figures.map((figure) => figure.of(point)));
  const changes = data.points.filter((point) => point.change !== null);
  const spanMs = data.points.at(-1).at_ms - data.points[0].at_ms;
  const when = spanMs < TWO_DAYS_MS ? (ms) => minute(ms).slice(5) : (ms) => minute(ms).slice(0, 10);
  return {
    ...base(theme),
    legend: legend(theme, names, width),
    grid: grid({ top: legendHeight(names, width) + 22, right: 40 }),
    xAxis: axis(theme, {
      type: "time",
      axisLabel: { formatter: when },
      splitLine: { show: false },
      splitNumber: Math.max(2, Math.floor(width / 160)),
      // No label twice.
      minInterval: spanMs < TWO_DAYS_MS ? 60e3 : 86400e3,
    }),
    yAxis: logAxis(theme, Math.min(...all), Math.max(...all), latency),
    useUTC: true,
    series: figures.map((figure, index) => ({
      name: figure.name,
      type: "line",
      symbol: mark(index),
      symbolSize: 8,
      color: colour(theme, index),
      lineStyle: { width: 2.2, type: dash(index), color: colour(theme, index) },
      data: data.points.map((point) => [point.at_ms, Math.log10(figure.of(point))]),
      emphasis: { disabled: true },
      markLine: index > 0 || changes.length === 0 ? undefined : {
        silent: true,
        symbol: "none",
        lineStyle: { color: theme.stalled, type: [6, 4], width: 1.5 },
        label: { position: "end", color: theme.text, fontWeight: 600, formatter: ({ dataIndex }) => `(${changes[dataIndex].change})` },
        data: changes.map((point) => ({ xAxis: point.at_ms })),
      },
    })),
    tooltip: {
      ...base(theme).tooltip,
      trigger: "axis",
      formatter: (under) => {
        if (under.length === 0) return "";
        const point = data.points[under[0].dataIndex];
        const lines = figures.map((figure, index) => ({ colour: colour(theme, index), name: figure.name, value: latency(figure.of(point)) }));
        const changed = point.change === null ? [] : [{ name: `(${point.change}) ${point.changed}`, value: "" }];
        return tip(`${point.run}, ${minute(point.at_ms)}`, [...lines, ...changed]);
      },
    },
  };
};
