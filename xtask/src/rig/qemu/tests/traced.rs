//! `flushmark trace` with the drivers of real drives: the commands that it counts are those that
//! QEMU's controllers executed.

use anyhow::{Context as _, ensure};
use measurement::{DriveTraffic, OperationCounts, TraceDocument};

use super::cache::name;
use crate::rig::qemu::guest::Guest;
use crate::rig::qemu::monitor::Executed;

/// Writes by each job, each of which is durable before the next.
const WRITES: u64 = 16;

/// How the program makes each write durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    OSync,
    Fsync,
}

/// What the kernel knows about a drive's volatile cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cache {
    Off,
    On,
    /// Single writes can bypass it.
    OnWithFua,
}

/// Drives of each kind, and whether QEMU counts a flush for each write with FUA.
const DRIVES: [(&str, Cache, bool); 7] = [
    ("SATAON", Cache::On, false),
    ("SATAOFF", Cache::Off, false),
    ("SASON", Cache::On, false),
    ("SASOFF", Cache::Off, false),
    ("NVMEON", Cache::OnWithFua, false),
    ("VSCSION", Cache::On, false),
    ("EMUSCSI", Cache::OnWithFua, true),
];

/// What the block layer is asked for, sends, and the drive is given.
fn expected(sync: Sync, cache: Cache) -> [OperationCounts; 3] {
    let counts = |fua_writes, flushes| OperationCounts {
        writes: WRITES,
        fua_writes,
        flushes,
        ..OperationCounts::default()
    };
    match (sync, cache) {
        (_, Cache::Off) => [counts(0, 0); 3],
        (Sync::Fsync, _) => [counts(0, WRITES); 3],
        // The call flushes the device after its write with FUA.
        (Sync::OSync, Cache::OnWithFua) => [counts(WRITES, WRITES); 3],
        // A flush in place of FUA, and that of the call.
        (Sync::OSync, Cache::On) => {
            [counts(WRITES, WRITES), counts(0, 2 * WRITES), counts(0, 2 * WRITES)]
        }
    }
}

/// Traces a program that writes to these drives, one after the other. Returns the trace, and what
/// each drive has executed meanwhile.
fn traced(
    guest: &mut Guest,
    sync: Sync,
    serials: &[&str],
) -> anyhow::Result<(TraceDocument, Vec<Executed>)> {
    let durable = match sync {
        Sync::OSync => "--sync=sync",
        Sync::Fsync => "--fsync=1",
    };
    let mut program = format!(
        "fio --output=/dev/null --name=global --ioengine=psync --direct=1 --rw=write --bs=4k \
         --size={}k --stonewall {durable}",
        WRITES * 4
    );
    for serial in serials {
        program += &format!(" --name={serial} --filename={}", guest.device(serial)?);
    }
    let executed = |guest: &mut Guest| -> anyhow::Result<Vec<Executed>> {
        serials.iter().map(|serial| guest.executed(serial)).collect()
    };
    let before = executed(guest)?;
    let document = guest.json(&format!("flushmark trace --format json -- {program}"))?;
    let after = executed(guest)?;
    let executed = after.into_iter().zip(before).map(|(after, before)| after.since(before));
    Ok((serde_json::from_value(document)?, executed.collect()))
}

fn of_drive<'a>(
    guest: &mut Guest,
    trace: &'a TraceDocument,
    serial: &str,
) -> anyhow::Result<&'a DriveTraffic> {
    let device = guest.device(serial)?;
    let mut traffic = trace.trace.traffic.iter();
    let found = traffic.find(|traffic| traffic.device == name(&device));
    found.with_context(|| format!("{serial} has no traffic: {:?}", trace.trace.traffic))
}

pub fn drives(guest: &mut Guest) -> anyhow::Result<()> {
    let serials = DRIVES.map(|(serial, ..)| serial);
    for sync in [Sync::OSync, Sync::Fsync] {
        let (trace, executed) = traced(guest, sync, &serials)?;
        ensure!(trace.trace.missing.is_empty(), "the kernel lacks {:?}", trace.trace.missing);
        for ((serial, cache, flushes_for_fua), executed) in DRIVES.into_iter().zip(executed) {
            let traffic = of_drive(guest, &trace, serial)?;
            let levels = [traffic.asked, traffic.sent, traffic.given];
            let wanted = expected(sync, cache);
            ensure!(levels == wanted, "{serial}, {sync:?}: {levels:#?} instead of {wanted:#?}");
            let for_fua = if flushes_for_fua { traffic.given.fua_writes } else { 0 };
            let given =
                Executed { writes: traffic.given.writes, flushes: traffic.given.flushes + for_fua };
            ensure!(executed == given, "{serial}, {sync:?}: QEMU counts {executed:?}: {given:?}");
        }
    }
    Ok(())
}

/// QEMU's disk does not report FUA, so the kernel flushes also where libata may use it.
pub fn libata_fua(guest: &mut Guest) -> anyhow::Result<()> {
    let reload = |guest: &mut Guest, fua: &str| -> anyhow::Result<()> {
        guest.must(&format!(
            "rmmod ahci libahci libata && insmod /modules/libata.ko fua={fua} && \
             insmod /modules/libahci.ko && insmod /modules/ahci.ko && \
             for n in $(seq 100); do serials | grep -q SATAON && break; sleep 0.1; done"
        ))?;
        guest.forget_devices();
        guest.device("SATAON").map(drop)
    };
    reload(guest, "1")?;
    let traced = traced(guest, Sync::OSync, &["SATAON"]);
    let may_use = guest.must("cat /sys/module/libata/parameters/fua")?;
    let (trace, executed) = traced?;
    ensure!(may_use == "1", "libata.fua is {may_use}");
    let traffic = of_drive(guest, &trace, "SATAON")?;
    let wanted = expected(Sync::OSync, Cache::On);
    ensure!([traffic.asked, traffic.sent, traffic.given] == wanted, "{traffic:#?}");
    let given = Executed { writes: traffic.given.writes, flushes: traffic.given.flushes };
    ensure!(executed == [given], "QEMU counts {executed:?}: {given:?}");
    reload(guest, "0")
}
