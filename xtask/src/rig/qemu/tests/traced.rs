//! `flushmark trace` with the drivers of real drives: the commands that it counts are those that
//! QEMU's controllers executed.

use anyhow::{Context as _, ensure};
use measurement::{OperationCounts, TraceDocument};

use super::cache::name;
use crate::rig::qemu::guest::Guest;
use crate::rig::qemu::monitor::Executed;

/// Writes by each job, each of which is durable before the next.
const WRITES: u64 = 16;

/// The way in which the program makes each write durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    OSync,
    Fsync,
}

/// A drive's volatile cache, as the kernel knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cache {
    Off,
    On,
    /// Single writes can bypass it.
    OnWithFua,
}

/// The flushes of a drive that QEMU counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    Flushes,
    /// Writes with FUA as well: QEMU flushes after each.
    FlushesAndFua,
    /// None: they are in QEMU's log.
    Logged,
}

const DRIVES: [(&str, Cache, Counted); 7] = [
    ("SATAON", Cache::On, Counted::Flushes),
    ("SATAOFF", Cache::Off, Counted::Flushes),
    ("SASON", Cache::On, Counted::Flushes),
    ("SASOFF", Cache::Off, Counted::Flushes),
    ("NVMEON", Cache::OnWithFua, Counted::Logged),
    ("VSCSION", Cache::On, Counted::Flushes),
    ("EMUSCSI", Cache::OnWithFua, Counted::FlushesAndFua),
];

/// The operations that the block layer is asked for, that it sends, and that the drive is given.
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
    drives: &[(&str, Cache, Counted)],
) -> anyhow::Result<(TraceDocument, Vec<Executed>)> {
    let durable = match sync {
        Sync::OSync => "--sync=sync",
        // The last write is synced because of the second option.
        Sync::Fsync => "--fsync=1 --end_fsync=1",
    };
    let mut program = format!(
        "fio --output=/dev/null --name=global --ioengine=psync --direct=1 --rw=write --bs=4k \
         --size={}k --stonewall {durable}",
        WRITES * 4
    );
    for (serial, ..) in drives {
        program += &format!(" --name={serial} --filename={}", guest.device(serial)?);
    }
    let executed = |guest: &mut Guest| -> anyhow::Result<Vec<Executed>> {
        let each = drives.iter().map(|&(serial, _, counted)| {
            let executed = guest.monitor().executed(serial)?;
            Ok(match counted {
                Counted::Flushes | Counted::FlushesAndFua => executed,
                Counted::Logged => {
                    Executed { flushes: guest.monitor().nvme_flushes()?, ..executed }
                }
            })
        });
        each.collect()
    };
    let before = executed(guest)?;
    let document = guest.json(&format!("flushmark trace --format json -- {program}"))?;
    let after = executed(guest)?;
    let executed = after.into_iter().zip(before).map(|(after, before)| after.since(before));
    Ok((serde_json::from_value(document)?, executed.collect()))
}

/// Checks a drive's traffic, and that it is what QEMU has executed.
fn check(
    guest: &mut Guest,
    trace: &TraceDocument,
    sync: Sync,
    (serial, cache, counted): (&str, Cache, Counted),
    executed: Executed,
) -> anyhow::Result<()> {
    let device = guest.device(serial)?;
    let mut traffic = trace.trace.traffic.iter();
    let found = traffic.find(|traffic| traffic.device == name(&device));
    let traffic =
        found.with_context(|| format!("{serial} has no traffic: {:?}", trace.trace.traffic))?;
    let levels = [traffic.asked, traffic.sent, traffic.given];
    let wanted = expected(sync, cache);
    ensure!(levels == wanted, "{serial}, {sync:?}: {levels:?} instead of {wanted:?}");
    let OperationCounts { writes, fua_writes, flushes, .. } = traffic.given;
    let given = match counted {
        Counted::FlushesAndFua => Executed { writes, flushes: flushes + fua_writes },
        Counted::Flushes | Counted::Logged => Executed { writes, flushes },
    };
    ensure!(executed == given, "{serial}, {sync:?}: QEMU counts {executed:?} instead of {given:?}");
    Ok(())
}

pub fn drives(guest: &mut Guest) -> anyhow::Result<()> {
    for sync in [Sync::OSync, Sync::Fsync] {
        let (trace, executed) = traced(guest, sync, &DRIVES)?;
        ensure!(trace.trace.missing.is_empty(), "the kernel lacks {:?}", trace.trace.missing);
        for (drive, executed) in DRIVES.into_iter().zip(executed) {
            check(guest, &trace, sync, drive, executed)?;
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
    let may_use = guest.must("cat /sys/module/libata/parameters/fua")?;
    ensure!(may_use == "1", "libata.fua is {may_use}");
    let (trace, executed) = traced(guest, Sync::OSync, &DRIVES[..1])?;
    check(guest, &trace, Sync::OSync, DRIVES[0], executed[0])?;
    reload(guest, "0")
}
