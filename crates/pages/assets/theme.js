// Colours. The series use Okabe and Ito's palette, which people with any form of colour blindness
// can distinguish, darkened or lightened for sufficient contrast with the background; dashes and
// marks repeat the distinction. A test (`contrast.rs`) computes all contrasts and requires every
// colour here to be of a known kind.

const dark = window.matchMedia("(prefers-color-scheme: dark)");

const themes = {
  light: {
    text: "#1f2328",
    faint: "#5b6470",
    line: "#d5dae0",
    split: "#eaedf0",
    span: "#7f8b99",
    published: "#8b939d",
    ground: "#ffffff",
    series: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a86f00", "#2f97d1", "#7a4a9e"],
    heat: ["#5096c4", "#2a7db5", "#145f96", "#0b4774", "#06243d"],
    steady: "rgba(0, 158, 115, 0.12)",
    stall: "rgba(213, 94, 0, 0.2)",
    stalled: "#d55e00",
  },
  dark: {
    text: "#e6e9ed",
    faint: "#a3acb7",
    line: "#3c444e",
    split: "#2a3038",
    span: "#7d8792",
    published: "#7d8792",
    ground: "#171b21",
    series: ["#56b4e9", "#f08a4b", "#35c79b", "#e3a3c6", "#e6b422", "#8fb8ff", "#c3a1e6"],
    heat: ["#2b70a1", "#3d8cc4", "#62b1e2", "#a0d2f2", "#e6f4fe"],
    steady: "rgba(53, 199, 155, 0.16)",
    stall: "rgba(240, 138, 75, 0.24)",
    stalled: "#f08a4b",
  },
};

const dashes = ["solid", [7, 4], [2, 3], [10, 3, 2, 3], [4, 4], [12, 4], [1, 4]];
const marks = ["circle", "diamond", "triangle", "rect", "roundRect", "pin", "arrow"];

const colour = (theme, index) => theme.series[index % theme.series.length];
const dash = (index) => dashes[index % dashes.length];
const mark = (index) => marks[index % marks.length];
