// Formats numbers with the same three digits and units as the rest of flushmark
// (`workload::number`).

const threeDigits = (value) => {
  const decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  const text = value.toFixed(decimals);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
};

const grouped = (value) => value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");

const latency = (us) => {
  if (us < 0.09995) return `${threeDigits(us * 1e3)} ns`;
  if (us < 0.9995) return `${us.toFixed(3).replace(/\.?0+$/, "")} µs`;
  if (us < 999.5) return `${threeDigits(us)} µs`;
  if (us < 999500) return `${threeDigits(us / 1e3)} ms`;
  return `${threeDigits(us / 1e6)} s`;
};

const rate = (perSecond) => (perSecond < 999.5 ? threeDigits(perSecond) : grouped(perSecond));

// Labels on an axis, which has no room for millions.
const short = (value) => {
  if (value >= 999500) return `${threeDigits(value / 1e6)} M`;
  if (value >= 999.5) return `${threeDigits(value / 1e3)} k`;
  return threeDigits(value);
};

const seconds = (value) => {
  if (value < 120) return `${threeDigits(value)} s`;
  return value < 7200 ? `${threeDigits(value / 60)} min` : `${threeDigits(value / 3600)} h`;
};

// A number of nines as a share: 2 is 99 %.
const share = (nines) => {
  const percent = 100 * (1 - 10 ** -nines);
  const decimals = Math.max(0, Math.ceil(nines) - 2 + (Number.isInteger(nines) ? 0 : 1));
  return `${percent.toFixed(Math.min(decimals, 7))} %`;
};

const units = {
  us: { axis: latency, words: latency },
  s: { axis: seconds, words: (value) => latency(value * 1e6) },
  per_s: { axis: short, words: (value) => `${rate(value)}/s` },
  mib_per_s: { axis: short, words: (value) => `${threeDigits(value)} MiB/s` },
};
