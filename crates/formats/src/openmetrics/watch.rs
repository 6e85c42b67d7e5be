//! A watched machine as metrics.
//!
//! The values are those of the kernel, since a device appeared, so that rates do not depend on how
//! often they are read. Prometheus expects a counter to begin again now and then.

use std::fmt::Write as _;

use measurement::Histogram;
use measurement::watch::{DeviceReading, ProcessReading, Reading};

use super::{Family, Kind, escaped};

type Figure = fn(&DeviceReading) -> Option<f64>;

const DEVICES: [(Family, Figure); 4] = [
    (
        Family {
            name: "flushmark_device_writes",
            help: "Writes that the device completed; merged writes count as one.",
        },
        |device| Some(device.counters.writes as f64),
    ),
    (
        Family {
            name: "flushmark_device_flushes",
            help: "Flushes that the device completed; no sample where it does not count them.",
        },
        |device| device.counters.flushes.map(|flushes| flushes as f64),
    ),
    (
        Family { name: "flushmark_device_write_seconds", help: "Time that writes took, added up." },
        |device| Some(device.counters.write_ms as f64 / 1e3),
    ),
    (
        Family {
            name: "flushmark_device_flush_seconds",
            help: "Time that flushes took, added up.",
        },
        |device| device.counters.flush_ms.map(|ms| ms as f64 / 1e3),
    ),
];

const SYNCS: Family = Family {
    name: "flushmark_process_syncs",
    help: "Calls of fsync, fdatasync, msync, sync_file_range, sync and syncfs since the watch began.",
};

/// Upper limits of the buckets of latencies, in nanoseconds, as Prometheus writes them.
const BUCKETS: [(u64, &str); 19] = [
    (10_000, "1e-05"),
    (20_000, "2e-05"),
    (50_000, "5e-05"),
    (100_000, "0.0001"),
    (200_000, "0.0002"),
    (500_000, "0.0005"),
    (1_000_000, "0.001"),
    (2_000_000, "0.002"),
    (5_000_000, "0.005"),
    (10_000_000, "0.01"),
    (20_000_000, "0.02"),
    (50_000_000, "0.05"),
    (100_000_000, "0.1"),
    (200_000_000, "0.2"),
    (500_000_000, "0.5"),
    (1_000_000_000, "1.0"),
    (2_000_000_000, "2.0"),
    (5_000_000_000, "5.0"),
    (10_000_000_000, "10.0"),
];

/// Writes histograms with their labels.
fn histograms<'a>(
    text: &mut String,
    family: &Family,
    all: impl Iterator<Item = (String, &'a Histogram)>,
) {
    let mut all = all.filter(|(_, times)| !times.is_empty()).peekable();
    if all.peek().is_none() {
        return;
    }
    let Family { name, help } = family;
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} histogram");
    for (labels, times) in all {
        let count = times.count();
        let mut each = times.buckets().peekable();
        let mut below = 0;
        for (limit_ns, limit) in BUCKETS {
            while let Some((_, times)) = each.next_if(|(ns, _)| *ns <= limit_ns) {
                below += times;
            }
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{limit}\"}} {below}");
        }
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
        let _ = writeln!(text, "{name}_sum{{{labels}}} {}", times.mean_ns() * count as f64 / 1e9);
        let _ = writeln!(text, "{name}_count{{{labels}}} {count}");
    }
}

const COMMITS: Family = Family {
    name: "flushmark_commit_seconds",
    help: "How long a sample of the commits took since the watch began.",
};
const LAYERS: Family = Family {
    name: "flushmark_commit_layer_seconds",
    help: "How long the same commits were in each layer; the layers of a commit add up to its time.",
};

/// The metrics of watched devices, of commits on them, and of the processes that commit.
pub fn watched(reading: &Reading) -> String {
    let mut text = String::new();
    for (family, figure) in DEVICES {
        let samples = reading.devices.iter().filter_map(|device| {
            Some((format!("device=\"{}\"", escaped(&device.device)), figure(device)?))
        });
        family.write_as(Kind::Counter, &mut text, samples);
    }
    let sampled = || {
        reading.devices.iter().filter_map(|device| {
            Some((format!("device=\"{}\"", escaped(&device.device)), &device.commits.as_ref()?.all))
        })
    };
    histograms(&mut text, &COMMITS, sampled().map(|(labels, sampled)| (labels, &sampled.commits)));
    let layers = sampled().flat_map(|(labels, sampled)| {
        let layers = sampled.layers.iter();
        layers.map(move |(layer, times)| (format!("{labels},layer=\"{}\"", layer.name()), times))
    });
    histograms(&mut text, &LAYERS, layers);
    let processes = reading.processes.iter().flatten();
    SYNCS.write_as(
        Kind::Counter,
        &mut text,
        processes.map(|process| {
            let ProcessReading { command, pid, syncs } = process;
            (format!("command=\"{}\",pid=\"{pid}\"", escaped(command)), *syncs as f64)
        }),
    );
    text += "# EOF\n";
    text
}

#[cfg(test)]
mod tests {
    use drive::Counters;
    use measurement::Stage;
    use measurement::watch::{CommitsReading, SampledCommits};

    use super::*;

    #[test]
    fn counters_of_devices_and_processes() {
        let device = |device: &str, counters| DeviceReading {
            device: device.to_owned(),
            counters,
            commits: None,
        };
        let counted = Counters {
            writes: 12_345_678_901,
            write_ms: 1_500,
            flushes: Some(120),
            flush_ms: Some(960),
            ..Counters::default()
        };
        let process =
            |command: &str, pid, syncs| ProcessReading { command: command.to_owned(), pid, syncs };
        let reading = Reading {
            devices: vec![device("sda", counted), device("zram0", Counters::default())],
            processes: Some(vec![process("postgres", 4711, 120), process("a\"b\\c\nd", 7, 1)]),
        };
        insta::assert_snapshot!(watched(&reading), @r#"
        # HELP flushmark_device_writes Writes that the device completed; merged writes count as one.
        # TYPE flushmark_device_writes counter
        flushmark_device_writes_total{device="sda"} 12345678901
        flushmark_device_writes_total{device="zram0"} 0
        # HELP flushmark_device_flushes Flushes that the device completed; no sample where it does not count them.
        # TYPE flushmark_device_flushes counter
        flushmark_device_flushes_total{device="sda"} 120
        # HELP flushmark_device_write_seconds Time that writes took, added up.
        # TYPE flushmark_device_write_seconds counter
        flushmark_device_write_seconds_total{device="sda"} 1.5
        flushmark_device_write_seconds_total{device="zram0"} 0
        # HELP flushmark_device_flush_seconds Time that flushes took, added up.
        # TYPE flushmark_device_flush_seconds counter
        flushmark_device_flush_seconds_total{device="sda"} 0.96
        # HELP flushmark_process_syncs Calls of fsync, fdatasync, msync, sync_file_range, sync and syncfs since the watch began.
        # TYPE flushmark_process_syncs counter
        flushmark_process_syncs_total{command="postgres",pid="4711"} 120
        flushmark_process_syncs_total{command="a\"b\\c\nd",pid="7"} 1
        # EOF
        "#);
    }

    #[test]
    fn sampled_commits_are_histograms() {
        let mut all = SampledCommits::default();
        for flush_ns in [90_000, 150_000, 150_000, 20_000_000_000] {
            all.add(&[(Stage::Thread, 9_000), (Stage::Flush, flush_ns)].into());
        }
        let commits = Some(CommitsReading { all, ..CommitsReading::default() });
        let counters = Counters::default();
        let device = DeviceReading { device: "sda".to_owned(), counters, commits };
        let text = watched(&Reading { devices: vec![device], processes: None });
        let of = |start: &str| {
            let lines = text.lines().filter(|line| line.starts_with(start));
            lines.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(of("flushmark_commit_seconds"), @r#"
        flushmark_commit_seconds_bucket{device="sda",le="1e-05"} 0
        flushmark_commit_seconds_bucket{device="sda",le="2e-05"} 0
        flushmark_commit_seconds_bucket{device="sda",le="5e-05"} 0
        flushmark_commit_seconds_bucket{device="sda",le="0.0001"} 1
        flushmark_commit_seconds_bucket{device="sda",le="0.0002"} 3
        flushmark_commit_seconds_bucket{device="sda",le="0.0005"} 3
        flushmark_commit_seconds_bucket{device="sda",le="0.001"} 3
        flushmark_commit_seconds_bucket{device="sda",le="0.002"} 3
        flushmark_commit_seconds_bucket{device="sda",le="0.005"} 3
        flushmark_commit_seconds_bucket{device="sda",le="0.01"} 3
        flushmark_commit_seconds_bucket{device="sda",le="0.02"} 3
        flushmark_commit_seconds_bucket{device="sda",le="0.05"} 3
        flushmark_commit_seconds_bucket{device="sda",le="0.1"} 3
        flushmark_commit_seconds_bucket{device="sda",le="0.2"} 3
        flushmark_commit_seconds_bucket{device="sda",le="0.5"} 3
        flushmark_commit_seconds_bucket{device="sda",le="1.0"} 3
        flushmark_commit_seconds_bucket{device="sda",le="2.0"} 3
        flushmark_commit_seconds_bucket{device="sda",le="5.0"} 3
        flushmark_commit_seconds_bucket{device="sda",le="10.0"} 3
        flushmark_commit_seconds_bucket{device="sda",le="+Inf"} 4
        flushmark_commit_seconds_sum{device="sda"} 20.007247136
        flushmark_commit_seconds_count{device="sda"} 4
        "#);
        insta::assert_snapshot!(of("flushmark_commit_layer_seconds_count"), @r#"
        flushmark_commit_layer_seconds_count{device="sda",layer="thread"} 4
        flushmark_commit_layer_seconds_count{device="sda",layer="journal"} 4
        flushmark_commit_layer_seconds_count{device="sda",layer="block layer"} 4
        flushmark_commit_layer_seconds_count{device="sda",layer="drive"} 4
        "#);
        let drive = of("flushmark_commit_layer_seconds_bucket{device=\"sda\",layer=\"drive\"");
        assert_eq!(drive.lines().count(), BUCKETS.len() + 1);
    }

    #[test]
    fn nothing_is_an_empty_text() {
        assert_eq!(watched(&Reading::default()), "# EOF\n");
    }
}
