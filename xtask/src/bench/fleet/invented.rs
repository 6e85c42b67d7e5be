//! A fleet that does not exist: drives of several models with hidden slow ones among them, and
//! their runs. Latencies are those of the project's models in virtual time, varied from drive to
//! drive and from run to run by a seed.

use std::collections::BTreeSet;

use anyhow::Context as _;
use drive::{Backing, BlockDevice, WriteCache};
use jiff::{SignedDuration, Timestamp};
use measurement::{Histogram, Histograms, Measured, RunDocument, TestResult};
use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Each drive's deviation from its model, and each run's from its drive: of logarithms.
const DRIVES: f64 = 0.06;
const RUNS: f64 = 0.03;
/// A latency of a model is a few values; real ones spread.
const SPREAD: f64 = 0.02;
/// A run on each drive every week.
const WEEK_S: i64 = 604_800;
/// The time at which the oldest run began, in seconds since 1970: 7 September 2026.
const BEGAN_S: i64 = 1_788_739_200;

/// The reason why a drive is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Defect {
    WriteCache,
    Firmware,
    Scheduler,
    Governor,
    /// Nothing that a host knows.
    Unknown,
}

impl Defect {
    const ALL: [Defect; 5] = [
        Defect::WriteCache,
        Defect::Firmware,
        Defect::Scheduler,
        Defect::Governor,
        Defect::Unknown,
    ];

    fn show(self, device: &mut BlockDevice, governor: &mut Option<String>) {
        match self {
            Defect::WriteCache => device.queue.write_cache = Some(WriteCache::WriteBack),
            Defect::Firmware => device.firmware = Some("0.9".to_owned()),
            Defect::Scheduler => device.queue.scheduler = Some("bfq".to_owned()),
            Defect::Governor => *governor = Some("powersave".to_owned()),
            Defect::Unknown => {}
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Slow {
    host: u32,
    defect: Defect,
    factor: f64,
    /// The first of its runs that is slow.
    from: u32,
}

/// A run of each model.
pub(super) struct Models(Vec<RunDocument>);

impl Models {
    pub(super) const NAMES: [&'static str; 5] =
        ["enterprise-nvme", "enterprise-sata", "consumer-nvme", "consumer-sata", "samsung-980-1tb"];

    /// From documents of a run of the same suite on each of [`Models::NAMES`].
    pub(super) fn of(documents: Vec<RunDocument>) -> Models {
        assert_eq!(documents.len(), Models::NAMES.len(), "a document of each model");
        Models(documents)
    }
}

/// The runs of a fleet, any of which can be made at any time.
pub(super) struct Fleet {
    models: Models,
    seed: u64,
    pub(super) hosts: u32,
    pub(super) runs_each: u32,
    slow: Vec<Slow>,
}

impl Fleet {
    /// This many hosts with this many runs each. `slow` of them are slow, and `drifting` of these
    /// became so.
    pub(super) fn new(
        models: Models,
        seed: u64,
        [hosts, runs_each]: [u32; 2],
        [slow, drifting]: [u32; 2],
    ) -> Fleet {
        let mut chance = workload::random::generator(seed, 0);
        let mut chosen = BTreeSet::new();
        while chosen.len() < slow as usize {
            chosen.insert(workload::random::below(&mut chance, hosts.into()) as u32);
        }
        let slow = chosen
            .into_iter()
            .enumerate()
            .map(|(number, host)| Slow {
                host,
                defect: Defect::ALL[number % Defect::ALL.len()],
                factor: 1.7 + 2.0 * unit(&mut chance),
                from: if number < drifting as usize { runs_each / 2 } else { 0 },
            })
            .collect();
        Fleet { models, seed, hosts, runs_each, slow }
    }

    pub(super) fn runs(&self) -> u32 {
        self.hosts * self.runs_each
    }

    /// The time at which the first run of a week begins; the other hosts follow, a second apart.
    pub(super) fn week(week: u32) -> anyhow::Result<Timestamp> {
        Ok(Timestamp::from_second(BEGAN_S + i64::from(week) * WEEK_S)?)
    }

    pub(super) fn name(host: u32) -> String {
        format!("host{host:05}")
    }

    /// The hosts with a slow drive.
    pub(super) fn slow(&self) -> BTreeSet<String> {
        self.slow.iter().map(|slow| Fleet::name(slow.host)).collect()
    }

    /// Those whose drive was as fast as the others at first.
    pub(super) fn drifting(&self) -> BTreeSet<String> {
        let drifting = self.slow.iter().filter(|slow| slow.from > 0);
        drifting.map(|slow| Fleet::name(slow.host)).collect()
    }

    /// A run: the number of its host, and its document. Those of one week have successive numbers.
    pub(super) fn run(&self, number: u32) -> anyhow::Result<(u32, RunDocument)> {
        let (week, host) = (number / self.hosts, number % self.hosts);
        let model = host as usize % self.models.0.len();
        let mut document = self.models.0[model].clone();
        let mut of_drive = workload::random::generator(self.seed ^ u64::from(host), 1);
        let mut of_run = workload::random::generator(self.seed ^ u64::from(number), 2);
        let slow = self.slow.iter().find(|slow| slow.host == host && week >= slow.from);
        let usual = (DRIVES * normal(&mut of_drive)).exp() * slow.map_or(1.0, |slow| slow.factor);
        document.results = document
            .results
            .iter()
            .map(|result| varied(result, usual * (RUNS * normal(&mut of_run)).exp()))
            .collect();
        let at = Fleet::week(week)? + SignedDuration::from_secs(host.into());
        document.started_at = at.to_string();
        document.host.kernel_release = Some("6.12.48".to_owned());
        document.host.cpu_governor = Some("performance".to_owned());
        let place = document.drive.as_mut().context("a model without a drive")?;
        let Backing::BlockDevice(device) = &mut place.backing else {
            anyhow::bail!("a model without a device")
        };
        device.serial = Some(format!("S{host:06}"));
        device.firmware = Some(if host % 3 == 0 { "1.1" } else { "1.0" }.to_owned());
        device.queue.scheduler = Some("none".to_owned());
        device.queue.write_cache = Some(WriteCache::WriteThrough);
        if let Some(slow) = slow {
            slow.defect.show(device, &mut document.host.cpu_governor);
        }
        Ok((host, document))
    }
}

/// The result with its latencies this many times as long, and spread.
fn varied(result: &TestResult, factor: f64) -> TestResult {
    let varied = |histogram: &Option<Histogram>| {
        let histogram = histogram.as_ref()?;
        let mut spread = Histogram::new();
        for (latency_ns, count) in histogram.buckets() {
            // Shares of a binomial distribution: 1, 8, 28, 56, 70 and back, of 256.
            let mut left = count;
            for (step, share) in [70, 56, 56, 28, 28, 8, 8, 1].into_iter().enumerate() {
                let side = if step % 2 == 0 { 1.0 } else { -1.0 };
                let away = side * step.div_ceil(2) as f64 * SPREAD;
                let part = (count * share / 256).min(left);
                left -= part;
                let ns = latency_ns as f64 * factor * away.exp();
                spread.record_n(ns as u64, part);
            }
            spread.record_n((latency_ns as f64 * factor) as u64, left);
        }
        spread.compact();
        Some(spread)
    };
    let of = &result.histograms;
    let bytes = result.mib_per_s * result.elapsed_s * f64::from(1 << 20);
    let measured = Measured {
        workload: result.workload.clone(),
        engine: "sim",
        elapsed_s: result.elapsed_s * factor,
        turns: Some(result.ops),
        bytes: bytes as u64,
        histograms: Histograms {
            read: varied(&of.read),
            write: varied(&of.write),
            sync: varied(&of.sync),
            commit: varied(&of.commit),
        },
        series: result.series.clone(),
        proof: result.proof,
        cpu: result.cpu,
        ended: result.ended.clone(),
        notes: Vec::new(),
    };
    TestResult::new(&result.test, measured)
}

/// A number from 0 to 1.
fn unit(chance: &mut Xoshiro256PlusPlus) -> f64 {
    chance.next_u64() as f64 / u64::MAX as f64
}

/// A normally distributed number: a sum of twelve uniform ones.
fn normal(chance: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| unit(chance)).sum::<f64>() - 6.0
}
