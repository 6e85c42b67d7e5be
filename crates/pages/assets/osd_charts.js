// Charts of the OSDs of a Ceph cluster: all of them in a map, and the parts of one's latency.

charts["osd-map"] = (data, theme, width) => {
  const narrow = width < NARROW;
  const limits = [0, ...data.bands, Infinity];
  const times = (ratio) => `${threeDigits(ratio)}×`;
  const label = (from, to) => (from === 0 ? `< ${times(to)}` : to === Infinity ? `≥ ${times(from)}` : `${threeDigits(from)}–${times(to)}`);
  const pieces = theme.heat.map((color, band) => {
    const [from, to] = [limits[band], limits[band + 1]];
    return { gte: from, ...(to === Infinity ? {} : { lt: to }), color, label: label(from, to) };
  });
  return heatMap(theme, {
    xAxis: {
      data: Array.from({ length: data.columns }, (_, column) => column + 1),
      name: data.across,
      nameGap: data.across === "pass" ? 24 : 8,
      axisLabel: { show: data.across === "pass" },
    },
    yAxis: {
      data: data.rows,
      inverse: true,
      // A narrow view has no room for the host beside the OSD.
      axisLabel: { interval: 0, color: theme.text, formatter: (name) => (narrow ? clipped(name.replace(/ \(.*\)$/, ""), 18) : clipped(name, 32)) },
    },
    scale: {
      type: "piecewise",
      pieces,
      itemWidth: 10,
      itemHeight: 10,
      itemGap: narrow ? 4 : 12,
      textGap: 4,
      selectedMode: false,
      ...(narrow ? { textStyle: { color: theme.faint, fontSize: 10 } } : {}),
    },
    cells: data.cells.map((cell) => [cell.column, cell.row, cell.ratio]),
    border: 1,
    tooltip: ({ dataIndex }) => {
      const { name, us, ratio } = data.cells[dataIndex];
      return tip(name, [{ name: "half within", value: latency(us) }, { name: "of the median", value: times(ratio) }]);
    },
  });
};

charts.waterfall = (data, theme, width) => {
  const ink = (cause) => partColour(theme, cause, data.causes.length);
  const rows = data.parts.map((part) => part.what);
  const shown = data.causes.filter((_, cause) => data.parts.some((part) => part.cause === cause));
  return {
    ...base(theme),
    legend: { ...legend(theme, shown, width), itemWidth: 14, itemHeight: 10 },
    grid: grid({ top: legendHeight(shown, width) + 8, right: 58, bottom: 24 }),
    xAxis: axis(theme, {
      type: "value",
      min: 0,
      max: data.axis_us,
      name: "time",
      nameLocation: "middle",
      nameGap: 24,
      axisLabel: { formatter: latency, showMaxLabel: false },
    }),
    // Two parts may have the same name, so the rows are numbered.
    yAxis: { ...testAxis(theme, rows.map((_, row) => row), width), axisLabel: {
      interval: 0,
      color: theme.text,
      hideOverlap: false,
      lineHeight: 12,
      formatter: (row) => folded(rows[row], width < NARROW ? 20 : 26),
    } },
    series: [
      // What a bar begins after.
      { type: "bar", stack: "time", silent: true, data: data.parts.map((part) => part.start_us), itemStyle: { color: "transparent" } },
      ...data.causes.map((name, cause) => ({
        name,
        type: "bar",
        stack: "time",
        barCategoryGap: "28%",
        color: ink(cause),
        data: data.parts.map((part) => (part.cause === cause && part.us > 0 ? part.us : null)),
        barMinHeight: 2,
        label: { show: true, position: "right", color: theme.faint, fontSize: 11, formatter: ({ value }) => latency(value) },
        emphasis: { disabled: true },
      })),
    ],
    tooltip: barTooltip(theme, rows, (row) => {
      const part = data.parts[row];
      return [{ colour: ink(part.cause), name: data.causes[part.cause], value: latency(part.us) }, { name: part.from, value: "" }];
    }),
  };
};
