//! Latency distributions.
//!
//! The layout is HdrHistogram's: 3 significant digits from 1 ns to 1 h. One histogram holds both
//! the nanoseconds of a null target and the stalled minute of a drive, and the histograms of many
//! jobs, runs and hosts add up to true percentiles.

use std::cell::RefCell;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The smallest latency distinguished from zero.
pub const LOWEST_NS: u64 = 1;
/// The largest latency recorded; longer ones count as this one.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits of every recorded latency.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// A distribution of latencies in nanoseconds.
///
/// ```
/// let mut histogram = measurement::Histogram::new();
/// histogram.record(1_500);
/// histogram.record_n(2_000, 3);
/// assert_eq!(histogram.count(), 4);
/// assert_eq!(histogram.quantile_ns(0.5), 2_000);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Histogram(Counts);

type Dense = hdrhistogram::Histogram<u64>;

/// While it is being recorded, a histogram is dense: one counter for each of 32,000 buckets, a
/// quarter of a megabyte. A histogram that was read has some hundred non-empty buckets, and a
/// comparison with the last ten runs of a large suite holds thousands of such histograms.
#[derive(Debug, Clone)]
enum Counts {
    Dense(Box<Dense>),
    /// The lowest latency and the count of each non-empty bucket, lowest first.
    Sparse(Vec<(u64, u64)>),
}

impl Default for Counts {
    fn default() -> Self {
        Counts::Sparse(Vec::new())
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        self.buckets().eq(other.buckets())
    }
}

thread_local! {
    /// Scratch space to expand sparse histograms for queries, so HdrHistogram's arithmetic serves
    /// both forms.
    static SPREAD: RefCell<Dense> = RefCell::new(dense());
}

#[expect(clippy::expect_used, reason = "the bounds are constants that HdrHistogram accepts")]
fn dense() -> Dense {
    Dense::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
        .expect("HdrHistogram accepts these constant bounds")
}

/// A text could not be read as a histogram.
#[derive(Debug, thiserror::Error)]
#[error("not an HdrHistogram (V2 deflate, base64): {0}")]
pub struct HistogramError(String);

/// Bytes could not be read as a histogram.
#[derive(Debug, thiserror::Error)]
#[error("not a histogram: damaged at byte {at} of {length}")]
pub struct BytesError {
    at: usize,
    length: usize,
}

impl Histogram {
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// The dense form, for recording.
    fn dense(&mut self) -> &mut Dense {
        if let Counts::Sparse(counts) = &self.0 {
            let mut spread = dense();
            fill(&mut spread, counts);
            self.0 = Counts::Dense(Box::new(spread));
        }
        match &mut self.0 {
            Counts::Dense(dense) => dense,
            Counts::Sparse(_) => unreachable!("it was made dense above"),
        }
    }

    fn with_dense<R>(&self, question: impl FnOnce(&Dense) -> R) -> R {
        match &self.0 {
            Counts::Dense(dense) => question(dense),
            Counts::Sparse(counts) => SPREAD.with_borrow_mut(|spread| {
                spread.reset();
                fill(spread, counts);
                question(spread)
            }),
        }
    }

    /// Records one latency; above [`HIGHEST_NS`] it counts as that.
    pub fn record(&mut self, latency_ns: u64) {
        self.dense().saturating_record(latency_ns);
    }

    /// Records the same latency `times` times.
    pub fn record_n(&mut self, latency_ns: u64, times: u64) {
        self.dense().saturating_record_n(latency_ns, times);
    }

    /// Frees the counters of empty buckets. Recording allocates them again.
    pub fn compact(&mut self) {
        if let Counts::Dense(dense) = &self.0 {
            self.0 = Counts::Sparse(recorded(dense).collect());
        }
    }

    /// Adds all latencies of another histogram, without loss.
    pub fn merge(&mut self, other: &Histogram) {
        match &other.0 {
            // Cannot fail: both have the same bounds.
            Counts::Dense(dense) => drop(self.dense().add(&**dense)),
            Counts::Sparse(counts) => fill(self.dense(), counts),
        }
    }

    /// Number of recorded latencies.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Counts::Dense(dense) => dense.len(),
            Counts::Sparse(counts) => counts.iter().map(|(_, count)| count).sum(),
        }
    }

    /// Returns `true` if no latency was recorded.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The latency at or below which this share (0 to 1) of all latencies lies; 0 when empty.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.with_dense(|dense| value_at(dense, quantile))
    }

    /// The arithmetic mean, exact to the bucket; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        self.with_dense(Dense::mean)
    }

    /// The share of latencies at or below `latency_ns`; 1 when empty.
    pub fn share_at_or_below(&self, latency_ns: u64) -> f64 {
        if self.is_empty() {
            return 1.0;
        }
        self.with_dense(|dense| dense.count_between(0, latency_ns)) as f64 / self.count() as f64
    }

    /// The non-empty buckets, lowest first: each one's lowest latency and its count.
    pub fn buckets(&self) -> Box<dyn Iterator<Item = (u64, u64)> + '_> {
        match &self.0 {
            Counts::Dense(dense) => Box::new(recorded(dense)),
            Counts::Sparse(counts) => Box::new(counts.iter().copied()),
        }
    }

    /// The usual figures, in microseconds; `None` when empty.
    pub fn summary(&self) -> Option<LatencySummary> {
        if self.is_empty() {
            return None;
        }
        let us = |ns: u64| ns as f64 / 1e3;
        Some(self.with_dense(|dense| LatencySummary {
            mean: dense.mean() / 1e3,
            min: us(dense.min()),
            p50: us(value_at(dense, 0.50)),
            p90: us(value_at(dense, 0.90)),
            p99: us(value_at(dense, 0.99)),
            p99_9: us(value_at(dense, 0.999)),
            p99_99: us(value_at(dense, 0.9999)),
            max: us(dense.max()),
            count: dense.len(),
        }))
    }

    /// HdrHistogram V2, deflated, base64: readable by other HdrHistogram implementations.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail, and the counts are 64 bit, like the format's.
        let _ = self.with_dense(|dense| V2DeflateSerializer::new().serialize(dense, &mut bytes));
        BASE64.encode(bytes)
    }

    /// Reads [`to_text`](Histogram::to_text)'s format, also with other bounds.
    pub fn from_text(text: &str) -> Result<Histogram, HistogramError> {
        let bytes = BASE64.decode(text).map_err(|error| HistogramError(error.to_string()))?;
        let read: Dense = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| HistogramError(error.to_string()))?;
        if (read.low(), read.high(), read.sigfig()) == (LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS) {
            return Ok(Histogram(Counts::Sparse(recorded(&read).collect())));
        }
        let mut ours = dense();
        ours.add(read).map_err(|error| HistogramError(error.to_string()))?;
        Ok(Histogram(Counts::Sparse(recorded(&ours).collect())))
    }

    /// A compact form to keep in a database, which is read without decompression and without a
    /// counter for every bucket: for each non-empty bucket its distance from the one before, and its
    /// count, as LEB128.
    ///
    /// ```
    /// use measurement::Histogram;
    /// let mut histogram = Histogram::new();
    /// histogram.record_n(1_500, 3);
    /// assert_eq!(histogram.to_bytes().len(), 3);
    /// assert_eq!(Histogram::from_bytes(&histogram.to_bytes())?, histogram);
    /// # Ok::<(), measurement::BytesError>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut after = 0;
        for (latency_ns, count) in self.buckets() {
            let bucket = bucket_of(latency_ns);
            leb128::write(bucket - after, &mut bytes);
            leb128::write(count, &mut bytes);
            after = bucket + 1;
        }
        bytes
    }

    /// Reads [`to_bytes`](Histogram::to_bytes)'s format.
    ///
    /// # Errors
    /// For any other bytes, except that many begin like a histogram does.
    pub fn from_bytes(bytes: &[u8]) -> Result<Histogram, BytesError> {
        let mut rest = bytes;
        let mut counts = Vec::with_capacity(bytes.len() / 3);
        let mut after: u64 = 0;
        while !rest.is_empty() {
            let damaged = BytesError { at: bytes.len() - rest.len(), length: bytes.len() };
            let bucket = leb128::read(&mut rest).and_then(|gap| after.checked_add(gap));
            let bucket = bucket.filter(|&bucket| bucket <= bucket_of(HIGHEST_NS));
            let count = leb128::read(&mut rest).filter(|&count| count > 0);
            let (Some(bucket), Some(count)) = (bucket, count) else { return Err(damaged) };
            counts.push((latency_of(bucket), count));
            after = bucket + 1;
        }
        Ok(Histogram(Counts::Sparse(counts)))
    }
}

/// Latencies below this have a bucket each; above, each power of two is divided into half as many.
const EXACT_NS: u64 = 2048;

/// The number of the bucket that begins with this latency, of HdrHistogram's for our bounds.
fn bucket_of(latency_ns: u64) -> u64 {
    let shift = u64::from(latency_ns.checked_ilog2().unwrap_or(0).saturating_sub(10));
    shift * (EXACT_NS / 2) + (latency_ns >> shift)
}

/// The latency with which a bucket begins.
fn latency_of(bucket: u64) -> u64 {
    let shift = (bucket / (EXACT_NS / 2)).saturating_sub(1);
    (bucket - shift * (EXACT_NS / 2)) << shift
}

/// Numbers in as few bytes as they need, seven bits in each.
mod leb128 {
    pub(super) fn write(mut number: u64, bytes: &mut Vec<u8>) {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }

    /// Takes a number from the front; `None` if there is none, or one of more than 64 bits.
    pub(super) fn read(bytes: &mut &[u8]) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = bytes.split_first()?;
            *bytes = rest;
            let part = u64::from(byte & 0x7f);
            if (part << shift) >> shift != part {
                return None;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

/// The non-empty buckets: the lowest latency and the count of each.
fn recorded(dense: &Dense) -> impl Iterator<Item = (u64, u64)> + '_ {
    dense
        .iter_recorded()
        .map(|step| (dense.lowest_equivalent(step.value_iterated_to()), step.count_at_value()))
}

fn fill(dense: &mut Dense, counts: &[(u64, u64)]) {
    counts.iter().for_each(|&(latency_ns, count)| dense.saturating_record_n(latency_ns, count));
}

fn value_at(dense: &Dense, quantile: f64) -> u64 {
    dense.value_at_quantile(quantile).min(dense.max())
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Histogram, D::Error> {
        let text = String::deserialize(deserializer)?;
        Histogram::from_text(&text).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "HdrHistogram V2 deflate, base64; values in nanoseconds"
        })
    }
}

/// A latency distribution in a few figures, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    pub mean: f64,
    pub min: f64,
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p99_9: f64,
    /// 99.99th percentile.
    pub p99_99: f64,
    pub max: f64,
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merging_loses_nothing(a in prop::collection::vec(1u64..HIGHEST_NS, 1..50), b in prop::collection::vec(1u64..HIGHEST_NS, 1..50)) {
            let fill = |values: &[u64]| {
                let mut histogram = Histogram::new();
                for &value in values {
                    histogram.record(value);
                }
                histogram
            };
            let mut merged = fill(&a);
            merged.merge(&fill(&b));
            let together: Vec<u64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(merged, fill(&together));
        }

        #[test]
        fn text_reads_back(values in prop::collection::vec(1u64..HIGHEST_NS, 0..50)) {
            let mut histogram = Histogram::new();
            for &value in &values {
                histogram.record(value);
            }
            prop_assert_eq!(Histogram::from_text(&histogram.to_text()).unwrap(), histogram);
        }

        #[test]
        fn bytes_read_back(
            values in prop::collection::vec((0u64..HIGHEST_NS, 1u64..u64::from(u32::MAX)), 0..50),
        ) {
            let mut histogram = Histogram::new();
            for &(value, times) in &values {
                histogram.record_n(value, times);
            }
            let back = Histogram::from_bytes(&histogram.to_bytes()).unwrap();
            prop_assert_eq!(&back, &histogram);
            prop_assert_eq!(back.summary(), histogram.summary());
        }

        #[test]
        fn foreign_bytes_are_refused_not_fatal(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(read) = Histogram::from_bytes(&bytes) {
                let count = read.buckets().fold(0_u64, |sum, (_, count)| sum.saturating_add(count));
                prop_assert!(count > 0 || bytes.is_empty());
            }
        }

        #[test]
        fn three_digits_are_kept(value in 1u64..HIGHEST_NS) {
            let mut histogram = Histogram::new();
            histogram.record(value);
            let kept = histogram.quantile_ns(0.5);
            prop_assert!(kept.abs_diff(value) as f64 <= value as f64 / 1000.0);
        }

        #[test]
        fn foreign_text_is_refused_not_fatal(text in "\\PC{0,60}") {
            let _ = Histogram::from_text(&text);
        }
    }

    #[test]
    fn what_was_read_answers_as_what_was_recorded() {
        let mut recorded = Histogram::new();
        for n in 1_u64..3_000 {
            recorded.record_n(n * n * 37, n % 5);
        }
        let read = Histogram::from_text(&recorded.to_text()).unwrap();
        assert!(matches!(read.0, Counts::Sparse(_)) && matches!(recorded.0, Counts::Dense(_)));
        assert_eq!((read.summary(), read.count()), (recorded.summary(), recorded.count()));
        for share in 0..=1000 {
            let quantile = f64::from(share) / 1e3;
            assert_eq!(read.quantile_ns(quantile), recorded.quantile_ns(quantile));
        }
        assert!(
            (read.share_at_or_below(999_999) - recorded.share_at_or_below(999_999)).abs()
                < f64::EPSILON
        );
        assert!((read.mean_ns() - recorded.mean_ns()).abs() < f64::EPSILON);
        assert_eq!(read.to_text(), recorded.to_text());
        let mut compact = recorded.clone();
        compact.compact();
        assert!(matches!(compact.0, Counts::Sparse(_)));
        assert_eq!((&compact, compact.summary()), (&recorded, recorded.summary()));
        let mut twice = read.clone();
        twice.merge(&read);
        recorded.merge(&recorded.clone());
        assert_eq!(twice, recorded);
    }

    #[test]
    fn buckets_are_those_of_hdrhistogram() {
        let dense = dense();
        let mut latency_ns = 0;
        for bucket in 0.. {
            assert_eq!((bucket_of(latency_ns), latency_of(bucket)), (bucket, latency_ns));
            if latency_ns > HIGHEST_NS {
                break;
            }
            latency_ns = dense.next_non_equivalent(latency_ns);
        }
        assert!(matches!(Histogram::from_bytes(&[0x80]), Err(BytesError { at: 0, length: 1 })));
        assert!(Histogram::from_bytes(&[1, 0]).is_err(), "a bucket without a latency");
    }

    #[test]
    fn more_than_an_hour_counts_as_an_hour() {
        let mut histogram = Histogram::new();
        histogram.record(u64::MAX);
        assert_eq!(histogram.count(), 1);
        assert!(histogram.quantile_ns(1.0) >= HIGHEST_NS - HIGHEST_NS / 1000);
    }

    #[test]
    fn an_empty_histogram_has_no_latency_and_no_summary() {
        let none = Histogram::new();
        assert!(none.is_empty() && none.summary().is_none());
        assert_eq!(
            (none.mean_ns(), none.quantile_ns(0.5), none.share_at_or_below(0)),
            (0.0, 0, 1.0)
        );
    }

    /// Two of 1000 ns, one of 1200 ns and one of 2000 ns.
    fn four() -> Histogram {
        let mut histogram = Histogram::new();
        histogram.record_n(1000, 2);
        histogram.record(1200);
        histogram.record(2000);
        histogram
    }

    #[test]
    fn four_latencies_by_hand() {
        let four = four();
        assert_eq!(four.count(), 4);
        assert_eq!(four.buckets().collect::<Vec<_>>(), [(1000, 2), (1200, 1), (2000, 1)]);
        assert_eq!(
            [0.5, 0.51, 0.76].map(|quantile| four.quantile_ns(quantile)),
            [1000, 1200, 2000]
        );
        assert!((four.mean_ns() - 1300.0).abs() < 1e-9);
        for (latency_ns, share) in [(999, 0.0), (1000, 0.5), (1999, 0.75), (2000, 1.0)] {
            assert!((four.share_at_or_below(latency_ns) - share).abs() < 1e-12, "{latency_ns}");
        }
        let LatencySummary { mean, min, p50, p90, p99_99, max, count, .. } =
            four.summary().unwrap();
        assert!((mean - 1.3).abs() < 1e-9);
        assert_eq!(([min, p50, p90, p99_99, max], count), ([1.0, 1.0, 2.0, 2.0, 2.0], 4));
    }

    #[test]
    fn histograms_are_equal_by_their_counts() {
        let (same, mut more) = (four(), four());
        more.record(1000);
        assert!(four() == same && four() != more && four() != Histogram::new());
    }

    #[test]
    fn a_histogram_of_other_bounds_is_read_into_ours() {
        let mut finer = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 5).unwrap();
        let mut ours = Histogram::new();
        for latency_ns in [1500, 1_234_567, 7_654_321_000] {
            finer.record(latency_ns).unwrap();
            ours.record(latency_ns);
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&finer, &mut bytes).unwrap();
        assert_eq!(Histogram::from_text(&BASE64.encode(bytes)).unwrap(), ours);
    }
}
