//! The error by chance of a ratio of two means.
//!
//! Neighbouring seconds are correlated, so seconds are drawn in blocks: the moving-block bootstrap
//! (Künsch, The jackknife and the bootstrap for general stationary observations, Annals of
//! Statistics 17, 1989), in its circular form, which gives the first and last seconds equal weight
//! (Politis & Romano, A circular block-resampling procedure for stationary data, 1992). The block
//! has n^(1/3) seconds, rounded up: the order that is best for a variance (Hall, Horowitz & Jing,
//! On blocking rules for the bootstrap with dependent data, Biometrika 82, 1995).
//!
//! For strongly correlated seconds these blocks are too short, because the correlation across block
//! boundaries is lost. The lag-1 autocorrelation is estimated and corrected for bias (Kendall, Note
//! on bias in the estimation of autocorrelation, Biometrika 41, 1954), and deviations are widened
//! by the noise of a first-order autoregression that blocks of that length lose.
//!
//! A run of a few seconds does not show that correlation, so [`MEMORY_ASSUMED`] is assumed: its
//! seconds are drawn one by one, and [`MeanNoise`] widens their deviations.
//!
//! Passes of a test, between which something else was measured, are drawn one by one: they are far
//! enough apart to be independent.
//!
//! Several runs differ by more than their seconds do, so whole runs are drawn, and nothing within
//! them: the deviation of a run's mean already contains the noise of its seconds, and drawing those
//! as well would count it twice (Davison & Hinkley, Bootstrap Methods and their Application, 1997,
//! section 3.8). A single run against several is assumed to vary from run to run as those do, or as
//! its own seconds suggest, whichever is more.
//!
//! A bootstrap interval from few values is too narrow (Hesterberg, What teachers should know about
//! the bootstrap, The American Statistician 69, 2015): deviations are widened by sqrt(k / (k - 1))
//! and by the ratio of Student's quantile to the normal one, where k is the number of independent
//! pieces: runs if there are several, otherwise blocks. The degrees of freedom of the two sides are
//! combined by Welch's formula.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use crate::autoregression::MeanNoise;
use crate::metric::{Course, Piece};
use crate::student;

/// Resamples per comparison. The ends of an interval then vary by about 3 % of its width from seed
/// to seed.
const RESAMPLES: usize = 2000;
/// A fixed seed, so the same runs always give the same page.
const SEED: u64 = 0x666c_7573_686d_6172;
/// Share of intervals that may miss the true ratio.
const MISSES: f64 = 0.05;
/// The normal distribution's two-sided 5 % point.
const NORMAL: f64 = 1.959_964;
/// If each side is a single run, fewer seconds do not show its noise (`docs/compare.md` has the
/// coverage by length). Against several runs, half of their length is enough.
pub const SECONDS_MIN: usize = 5;
/// The same for passes, each of which is a block.
pub const PASSES_MIN: usize = 5;
/// Fewer seconds do not show how much each resembles the one before: there would be fewer than five
/// blocks.
pub const MEMORY_SECONDS_MIN: usize = 15;

/// Correlation of a second with the one before that is assumed of shorter runs.
const MEMORY_ASSUMED: f64 = 0.5;

/// If the correlation of seconds is higher than this, the run shows a single state of the drive,
/// however long it was.
const MEMORY_MAX: f64 = 0.9;

/// Why there is no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoInterval {
    /// A run, or all runs of a side, have no series.
    NoSeries,
    /// A single run has too few seconds or passes.
    TooShort {
        pieces: usize,
        /// Seconds or passes that are needed.
        least: usize,
    },
    /// A run stalled for so long that some resamples contain no operation at all.
    Stalled,
}

/// A ratio of two means, and the error by chance of its logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The ratio of the series' means, candidate by baseline.
    pub ratio: f64,
    /// Factor from a ratio to the lower end of its 95 % interval.
    pub low: f64,
    /// Factor from a ratio to the upper end.
    pub high: f64,
    /// Standard error of the ratio's logarithm.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub freedom: f64,
    /// Variance of the ratio's logarithm if each side were a single piece, or a single run where a
    /// side has several. Divided by a number of pieces, it is the variance with that many.
    pub noise: f64,
    /// Number of such pieces or runs on the side that has fewer.
    pub pieces: f64,
}

/// The normal distribution's 80 % point.
const NORMAL_80: f64 = 0.841_621;

impl Spread {
    /// The number of pieces (runs, where a side has several) that each side needs for four in
    /// five comparisons to detect a true difference by this factor (Cohen, Statistical Power
    /// Analysis for the Behavioral Sciences, 1988). `None` if both sides have as many.
    pub fn needed(&self, factor: f64) -> Option<u64> {
        let needed = (self.noise * ((NORMAL + NORMAL_80) / factor.ln()).powi(2)).ceil();
        (needed > self.pieces).then_some(needed as u64)
    }

    /// Probability of a ratio at least this far from 1 if there is no difference.
    pub fn chance_of(&self, ratio: f64) -> f64 {
        if self.error > 0.0 {
            student::two_sided(ratio.ln() / self.error, self.freedom)
        } else if ratio.ln().abs() > 0.0 {
            0.0
        } else {
            1.0
        }
    }
}

/// One side: runs, each piece by piece.
struct Side {
    runs: Vec<Run>,
    /// Logarithm of the mean of all pieces.
    level: f64,
    geometric: bool,
}

/// Prefix sums of a run's pieces, so the sum of a block costs one subtraction.
struct Run {
    pieces: usize,
    block: usize,
    /// Sums of the first 0, 1, 2... pieces, with the run repeated twice.
    sums: Vec<f64>,
    /// For seconds that are too few to show their correlation.
    assumed: Option<MeanNoise>,
}

impl Run {
    fn new(piece: Piece, values: &[f64]) -> Run {
        let mut sums = vec![0.0];
        let mut sum = 0.0;
        for value in values.iter().chain(values) {
            sum += value;
            sums.push(sum);
        }
        let pieces = values.len();
        let few = piece == Piece::Second && (2..MEMORY_SECONDS_MIN).contains(&pieces);
        let assumed = few.then(|| MeanNoise::of(pieces, MEMORY_ASSUMED));
        Run { pieces, block: block_length(piece, pieces), sums, assumed }
    }

    fn total(&self) -> f64 {
        self.sums[self.pieces]
    }

    /// Factor by which resampled means vary too little because blocks lose correlation.
    fn lost_correlation(&self) -> f64 {
        if let Some(assumed) = self.assumed {
            return assumed.inflation.sqrt();
        }
        let count = self.pieces as f64;
        let off = |at: usize| self.sums[at + 1] - self.sums[at] - self.total() / count;
        let squares: f64 = (0..self.pieces).map(|at| off(at).powi(2)).sum();
        let products: f64 = (1..self.pieces).map(|at| off(at) * off(at - 1)).sum();
        if squares <= 0.0 || self.block == 1 {
            return 1.0;
        }
        // The estimate is too low by (1 + 3 memory) / count.
        let memory = ((products / squares * count + 1.0) / (count - 3.0)).clamp(0.0, MEMORY_MAX);
        let (mut kept, mut power) = (1.0, 1.0);
        for lag in 1..self.block {
            power *= memory;
            kept += 2.0 * (1.0 - lag as f64 / self.block as f64) * power;
        }
        ((1.0 + memory) / (1.0 - memory) / kept).sqrt()
    }

    fn resampled_total(&self, draw: &mut Draw) -> f64 {
        let mut left = self.pieces;
        let mut total = 0.0;
        while left > 0 {
            let start = draw.below(self.pieces);
            let length = self.block.min(left);
            total += self.sums[start + length] - self.sums[start];
            left -= length;
        }
        total
    }
}

fn block_length(piece: Piece, count: usize) -> usize {
    match piece {
        Piece::Second if count < MEMORY_SECONDS_MIN => 1,
        // A cube root may be too high in the last digit.
        Piece::Second => ((count as f64).cbrt() - 1e-9).ceil() as usize,
        Piece::Pass => 1,
    }
}

impl Side {
    fn new(piece: Piece, runs: &[Course]) -> Result<Side, NoInterval> {
        let geometric = matches!(runs.first(), Some(Course::Percentiles(_)));
        let runs: Vec<Run> = runs
            .iter()
            .map(|run| match run {
                Course::Rates(values) => Run::new(piece, values),
                Course::Percentiles(values) => {
                    Run::new(piece, &values.iter().map(|value| value.ln()).collect::<Vec<_>>())
                }
            })
            .collect();
        if runs.is_empty() || runs.iter().any(|run| run.pieces == 0) {
            return Err(NoInterval::NoSeries);
        }
        let mut side = Side { runs, level: 0.0, geometric };
        side.level = side.level_of(side.runs.iter().map(|run| (run.total(), run.pieces)));
        if side.level.is_finite() { Ok(side) } else { Err(NoInterval::Stalled) }
    }

    fn level_of(&self, totals: impl Iterator<Item = (f64, usize)>) -> f64 {
        let (total, seconds) =
            totals.fold((0.0, 0), |(total, seconds), (of, n)| (total + of, seconds + n));
        let mean = total / seconds as f64;
        if self.geometric { mean } else { mean.ln() }
    }

    /// Number of pieces that are drawn: runs, or blocks of a single run.
    fn pieces(&self) -> f64 {
        match self.runs.as_slice() {
            [run] => run.pieces as f64 / run.block as f64,
            runs => runs.len() as f64,
        }
    }

    /// Degrees of freedom of the side's noise.
    fn freedom(&self) -> f64 {
        match self.runs.as_slice() {
            [Run { assumed: Some(assumed), .. }] => assumed.freedom,
            _ => self.pieces() - 1.0,
        }
    }

    /// Number of pieces, or of runs if a side has several.
    fn units(&self, several: bool) -> f64 {
        match self.runs.as_slice() {
            [run] if !several => run.pieces as f64,
            runs => runs.len() as f64,
        }
    }

    /// Standard deviation of the runs' levels.
    fn between(&self) -> f64 {
        let off =
            |run: &Run| self.level_of(std::iter::once((run.total(), run.pieces))) - self.level;
        (self.runs.iter().map(|run| off(run).powi(2)).sum::<f64>() / (self.runs.len() - 1) as f64)
            .sqrt()
    }

    /// Average pieces per run.
    fn length(&self) -> f64 {
        self.runs.iter().map(|run| run.pieces).sum::<usize>() as f64 / self.runs.len() as f64
    }

    /// Deviations of the resamples' levels from the side's level.
    fn deviations(&self, draw: &mut Draw) -> Vec<f64> {
        let widened = widened(self.pieces());
        match self.runs.as_slice() {
            [run] => {
                let widened = widened * run.lost_correlation();
                let level = |draw: &mut Draw| {
                    self.level_of(std::iter::once((run.resampled_total(draw), run.pieces)))
                };
                (0..RESAMPLES).map(|_| widened * (level(draw) - self.level)).collect()
            }
            runs => {
                let drawn = |draw: &mut Draw| {
                    self.level_of((0..runs.len()).map(|_| {
                        let run = &runs[draw.below(runs.len())];
                        (run.total(), run.pieces)
                    }))
                };
                (0..RESAMPLES).map(|_| widened * (drawn(draw) - self.level)).collect()
            }
        }
    }
}

/// Random numbers for one comparison.
struct Draw(Xoshiro256PlusPlus);

impl Draw {
    /// The bias of the remainder is negligible because `count` is tiny compared to 2^64.
    fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.0.next_u64()) * count as u128) >> 64) as usize
    }

    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal distribution (Box & Muller, A note on the generation of random normal
    /// deviates, 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A single piece has no deviation from its own mean.
fn widened(pieces: f64) -> f64 {
    if pieces > 1.0 { (pieces / (pieces - 1.0)).sqrt() } else { 0.0 }
}

/// A single run needs enough pieces: to estimate its own noise, or to be compared with the runs of
/// the other side.
fn long_enough(piece: Piece, sides: &[Side; 2]) -> Result<(), NoInterval> {
    let enough = match piece {
        Piece::Second => SECONDS_MIN,
        Piece::Pass => PASSES_MIN,
    };
    for (own, other) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
        let [run] = &own.runs[..] else { continue };
        let half =
            if other.runs.len() > 1 { (other.length() / 2.0).ceil() as usize } else { enough };
        let least = half.min(enough);
        if run.pieces < least {
            return Err(NoInterval::TooShort { pieces: run.pieces, least });
        }
    }
    Ok(())
}

/// If this side is a single run and the other has several: how much a run of this length varies
/// from run to run, as a standard deviation, taken from the other side. Shorter runs vary more, at
/// worst as if all variation came from their seconds.
fn variation_from(other: &Side, own: &Side) -> Option<f64> {
    let lends = own.runs.len() == 1 && other.runs.len() > 1;
    lends.then(|| other.between() * (other.length() / own.length()).max(1.0).sqrt())
}

/// The ratio of the means of `candidate` and `baseline`, with its error by chance; each is a list
/// of runs.
pub fn spread(
    piece: Piece,
    baseline: &[Course],
    candidate: &[Course],
) -> Result<Spread, NoInterval> {
    let sides = [Side::new(piece, baseline)?, Side::new(piece, candidate)?];
    long_enough(piece, &sides)?;
    let mut draw = Draw(Xoshiro256PlusPlus::seed_from_u64(SEED));
    let mut deviations = sides.each_ref().map(|side| side.deviations(&mut draw));
    let freedoms = sides.each_ref().map(Side::freedom);
    let mut lent = None;
    for (own, other) in [(0, 1), (1, 0)] {
        let Some(between) = variation_from(&sides[other], &sides[own]) else { continue };
        lent = Some(freedoms[other]);
        if between.powi(2) >= variance(&deviations[own]) {
            deviations[own] = (0..RESAMPLES).map(|_| between * draw.normal()).collect();
        }
    }
    let [below, above] = &deviations;
    let mut together: Vec<f64> =
        above.iter().zip(below).map(|(above, below)| above - below).collect();
    if together.iter().any(|deviation| !deviation.is_finite()) {
        return Err(NoInterval::Stalled);
    }
    let variances = deviations.each_ref().map(|deviations| variance(deviations));
    let error = variances.iter().sum::<f64>().sqrt();
    let joined: f64 = variances
        .iter()
        .zip(freedoms)
        .map(|(variance, freedom)| variance * variance / freedom)
        .sum();
    let freedom = match lent {
        _ if error <= 0.0 => f64::INFINITY,
        // Both sides use the same estimate, and using it twice adds no information.
        Some(freedom) => freedom,
        None => error.powi(4) / joined,
    };
    let factor = student::beyond(MISSES, freedom) / NORMAL;
    let several = sides.iter().any(|side| side.runs.len() > 1);
    let units = sides.each_ref().map(|side| side.units(several));
    together.sort_by(f64::total_cmp);
    let quantile = |share: f64| together[((RESAMPLES - 1) as f64 * share).round() as usize];
    Ok(Spread {
        ratio: (sides[1].level - sides[0].level).exp(),
        low: (factor * quantile(MISSES / 2.0)).exp().min(1.0),
        high: (factor * quantile(1.0 - MISSES / 2.0)).exp().max(1.0),
        error,
        freedom,
        noise: variances.iter().zip(units).map(|(variance, units)| variance * units).sum(),
        pieces: units[0].min(units[1]),
    })
}

fn variance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests;
