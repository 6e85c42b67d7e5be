//! A watched machine as metrics.
//!
//! The values are those of the kernel, since a device appeared, so that rates do not depend on how
//! often they are read. Prometheus expects a counter to begin again now and then.

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

/// The metrics of watched devices, and of the processes that commit.
pub fn watched(reading: &Reading) -> String {
    let mut text = String::new();
    for (family, figure) in DEVICES {
        let samples = reading.devices.iter().filter_map(|device| {
            Some((format!("device=\"{}\"", escaped(&device.device)), figure(device)?))
        });
        family.write_as(Kind::Counter, &mut text, samples);
    }
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

    use super::*;

    #[test]
    fn counters_of_devices_and_processes() {
        let device = |device: &str, counters| DeviceReading { device: device.to_owned(), counters };
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
    fn nothing_is_an_empty_text() {
        assert_eq!(watched(&Reading::default()), "# EOF\n");
    }
}
