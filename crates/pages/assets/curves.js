// Figures over a parameter that grows in steps: panels that share its axis.

const PANEL_PX = 250;
// Below the last row, the steps and the name of the parameter.
const STEPS_PX = 44;
const PANEL_TITLE_PX = 24;
const VALUES_PX = 62;
const BETWEEN_PX = 26;
const PANEL_MIN_PX = 330;
// Without a legend, above the first title.
const MARGIN_PX = 4;

// The number of panels beside each other, and of rows of panels.
const panelsOf = (data, width) => {
  const columns = Math.max(1, Math.min(data.columns, Math.floor(width / PANEL_MIN_PX)));
  return { columns, rows: Math.ceil(data.panels.length / columns) };
};
const linesOf = (data) => [...new Set(data.panels.flatMap((panel) => panel.lines.map((line) => line.name)))];
const curvesTop = (data, width) => Math.max(MARGIN_PX, legendHeight(linesOf(data), width));
const curvesHeight = (data, width) => {
  const { rows } = panelsOf(data, width);
  return curvesTop(data, width) + rows * (PANEL_PX + PANEL_TITLE_PX) + STEPS_PX;
};

charts.curves = (data, theme, width, height) => {
  const { columns, rows } = panelsOf(data, width);
  const names = linesOf(data);
  const top = curvesTop(data, width);
  const rowHeight = (height - top - STEPS_PX) / rows;
  const published = data.panels.flatMap((panel) => panel.published);
  const labelled = published.length > 0 && width / columns >= 500;
  const right = labelled ? labelsWidth(published) : 14;
  const between = labelled ? right : BETWEEN_PX;
  const panelWidth = (width - right - (columns - 1) * between) / columns;
  const place = (index) => [index % columns, Math.floor(index / columns)];
  const last = data.steps.length - 1;
  const extent = (panels) => {
    const values = panels.flatMap((panel) => [...panel.lines, ...panel.published]).flatMap((line) => line.values).filter((value) => value !== null);
    return [Math.min(...values), Math.max(...values)];
  };
  // Panels with the same figure beside each other are compared, so they have one scale.
  const scaleOf = (index) => {
    const row = place(index)[1];
    const same = data.panels.filter((panel, other) => place(other)[1] === row && panel.unit === data.panels[index].unit);
    return extent(same);
  };
  const points = (line) => line.values.map((value, step) => [step, value === null ? null : Math.log10(value)]);
  const every = Math.ceil(data.steps.length / Math.max(2, Math.floor((panelWidth - VALUES_PX) / 52)));
  const shown = data.steps.map((_, step) => step).filter((step) => step % every === 0);
  const grids = data.panels.map((_, index) => {
    const [column, row] = place(index);
    const y = top + row * rowHeight + PANEL_TITLE_PX;
    return { left: column * (panelWidth + between) + VALUES_PX, width: panelWidth - VALUES_PX, top: y, height: rowHeight - PANEL_TITLE_PX - (row === rows - 1 ? 0 : 20) };
  });
  const isLow = (index) => index + columns >= data.panels.length;
  const yAxes = data.panels.map((panel, index) => logAxis(theme, ...scaleOf(index), units[panel.unit].axis, { gridIndex: index }));
  const behind = data.panels.flatMap((panel, index) => {
    const lines = panel.published.map((line) => ({ name: line.name, data: points(line) }));
    return publishedLines(theme, lines, { axis: yAxes[index], height: grids[index].height }, labelled)
      .map((line) => ({ ...line, xAxisIndex: index, yAxisIndex: index }));
  });
  const noted = (panel) => panel.mark && {
    silent: true,
    symbol: "none",
    lineStyle: { color: theme.stalled, type: [6, 4], width: 1.5 },
    label: {
      formatter: panel.mark.text,
      position: "insideEndTop",
      rotate: 0,
      // The text is on the side where there is room.
      align: panel.mark.at > last / 2 ? "right" : "left",
      padding: [0, 6],
      // Above the line and its points.
      backgroundColor: theme.ground,
      color: theme.text,
      fontSize: 12,
      fontWeight: 600,
      width: Math.max(90, (panelWidth - VALUES_PX) * Math.max(panel.mark.at, last - panel.mark.at) / Math.max(1, last) - 16),
      overflow: "break",
      lineHeight: 15,
      verticalAlign: "top",
    },
    data: [{ xAxis: panel.mark.at }],
  };
  const ours = data.panels.flatMap((panel, index) => panel.lines.map((line, at) => {
    const which = names.indexOf(line.name);
    return {
      name: line.name,
      type: "line",
      xAxisIndex: index,
      yAxisIndex: index,
      data: points(line),
      symbol: mark(which),
      symbolSize: 7,
      color: colour(theme, which),
      lineStyle: { width: 2.2, type: dash(which), color: colour(theme, which) },
      connectNulls: true,
      emphasis: { disabled: true },
      markLine: at === 0 ? noted(panel) || undefined : undefined,
      z: 5,
    };
  }));
  return {
    ...base(theme),
    legend: legend(theme, names, width),
    title: data.panels.map((panel, index) => ({
      text: [panel.name, panel.unit === "mib_per_s" ? `${panel.what}, MiB/s` : panel.what].filter(Boolean).join(": "),
      left: grids[index].left - VALUES_PX + 2,
      top: grids[index].top - PANEL_TITLE_PX,
      padding: 0,
      textStyle: { color: theme.faint, fontSize: 12, fontWeight: 400 },
    })),
    grid: grids,
    xAxis: data.panels.map((_, index) => axis(theme, {
      type: "value",
      gridIndex: index,
      min: 0,
      max: Math.max(last, 1),
      name: isLow(index) ? data.over : "",
      nameLocation: "middle",
      nameGap: 26,
      splitLine: { show: false },
      axisTick: { customValues: data.steps.map((_, step) => step), lineStyle: { color: theme.line } },
      axisLabel: { show: isLow(index), customValues: shown, formatter: (step) => data.steps[step] ?? "" },
    })),
    yAxis: yAxes,
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    series: [...behind, ...ours],
    tooltip: {
      ...base(theme).tooltip,
      trigger: "axis",
      formatter: (under) => {
        if (under.length === 0) return "";
        const step = Math.round(under[0].axisValue);
        const lines = data.panels.flatMap((panel) => {
          const of = (line, known) => ({
            colour: known ? theme.published : colour(theme, names.indexOf(line.name)),
            name: [line.name, known ? "published" : "", data.panels.length > 1 ? panel.name : ""].filter(Boolean).join(", "),
            value: line.values[step] === null ? "–" : units[panel.unit].words(line.values[step]),
          });
          return [
            ...panel.lines.map((line) => of(line, false)),
            ...panel.published.filter((line) => line.values[step] !== null).map((line) => of(line, true)),
          ];
        });
        return tip(`${data.over}: ${data.steps[step]}`, lines);
      },
    },
  };
};
