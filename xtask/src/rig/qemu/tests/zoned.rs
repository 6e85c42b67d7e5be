//! Zoned drives: what the drive reports after job files of flushmark and of fio.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::rig::qemu::guest::Guest;

/// Limit of the drive on open zones, and the sizes of its zones and of what they can hold.
const OPEN_MAX: usize = 4;
const ZONE_BYTES: u64 = 4 << 20;
const CAPACITY_BYTES: u64 = 3 << 20;

/// A zone as `blkzone` reports it, in bytes.
#[derive(Debug)]
struct Zone {
    /// Bytes from the start to the write pointer; those of a full zone are its capacity.
    written: u64,
    /// Its condition: `em`, `oi`, `oe`, `cl`, `fu`, `nw`.
    condition: String,
}

fn zones(guest: &mut Guest, device: &str) -> anyhow::Result<Vec<Zone>> {
    let listed = guest.must(&format!("blkzone report {device}"))?;
    let zone = |line: &str| {
        let number = |key: &str| {
            let rest = line.split_once(key)?.1.trim_start();
            let digits = rest.trim_start_matches("0x");
            let end = digits.find(|letter: char| !letter.is_ascii_hexdigit());
            u64::from_str_radix(&digits[..end.unwrap_or(digits.len())], 16).ok()
        };
        let condition = line.split_once("zcond:")?.1.split_once('(')?.1.split_once(')')?.0;
        let written = match condition {
            "fu" => number("cap ")?,
            _ => number("wptr ")?,
        };
        Some(Zone { written: written << 9, condition: condition.to_owned() })
    };
    let zones = listed.lines().map(|line| zone(line).with_context(|| line.to_owned()));
    zones.collect()
}

fn written(zones: &[Zone]) -> u64 {
    zones.iter().map(|zone| zone.written).sum()
}

/// Zones that take up resources of the drive.
fn active(zones: &[Zone]) -> usize {
    let open = ["oi", "oe", "cl"];
    zones.iter().filter(|zone| open.contains(&zone.condition.as_str())).count()
}

fn jobs(guest: &mut Guest, text: &str) -> anyhow::Result<()> {
    guest.must(&format!("cat > /tmp/job.fio << 'END'\n{text}END"))?;
    Ok(())
}

/// Runs the job file with flushmark; returns the results.
fn run(guest: &mut Guest, device: &str) -> anyhow::Result<Vec<Value>> {
    let document = guest.json(&format!(
        "FIO_RW=write FIO_IODEPTH=1 FIO_BS=4K flushmark run /tmp/job.fio --quiet --format json \
         --destroy-data --target {device}"
    ))?;
    let skipped = &document["skipped"];
    ensure!(skipped.as_array().is_none_or(Vec::is_empty), "{skipped}");
    let results = document["results"].as_array().cloned().unwrap_or_default();
    for result in &results {
        ensure!(result["ended"]["why"] == "limit", "{result}");
    }
    Ok(results)
}

/// Runs the job file with fio; returns its jobs.
fn fio(guest: &mut Guest, device: &str) -> anyhow::Result<Vec<Value>> {
    let text = guest.must(&format!(
        "FIO_RW=write FIO_IODEPTH=1 FIO_BS=4K fio --filename={device} --output-format=json \
         --group_reporting /tmp/job.fio"
    ))?;
    let start = text.find('{').context("fio printed no JSON")?;
    let document: Value = serde_json::from_str(&text[start..])?;
    Ok(document["jobs"].as_array().cloned().unwrap_or_default())
}

fn count(result: &Value, pointer: &str) -> u64 {
    result.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// Number of full zones that a test reset because they were drawn again.
fn resets(result: &Value) -> u64 {
    let notes = result["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let number =
        |note: &Value| note.as_str()?.strip_prefix("zones that were reset: ")?.parse().ok();
    notes.iter().find_map(number).unwrap_or(0)
}

fn reset(guest: &mut Guest, device: &str) -> anyhow::Result<()> {
    guest.must(&format!("blkzone reset {device}"))?;
    Ok(())
}

/// The facts, and the refusal of what the drive would not accept.
pub fn facts(guest: &mut Guest) -> anyhow::Result<()> {
    let device = guest.device("ZONED")?;
    let document = guest.json(&format!("flushmark drives {device} --format json"))?;
    let queue = &document["drives"][0]["device"]["queue"];
    ensure!(queue["zoned"] == "host-managed", "{queue}");
    ensure!(queue["zone_bytes"] == ZONE_BYTES && queue["max_open_zones"] == OPEN_MAX, "{queue}");
    jobs(guest, "[t]\nrw=randwrite\ndirect=1\nsize=8m\nruntime=1\n")?;
    let refused =
        guest.run(&format!("flushmark run /tmp/job.fio --destroy-data --target {device}"))?;
    ensure!(refused.code != 0 && refused.stderr.contains("zonemode=zbd"), "{}", refused.stderr);
    jobs(guest, "[t]\nrw=randwrite\ndirect=1\nsize=8m\nzonemode=zbd\nmax_open_zones=9\n")?;
    let refused =
        guest.run(&format!("flushmark run /tmp/job.fio --destroy-data --target {device}"))?;
    ensure!(
        refused.code != 0 && refused.stderr.contains("exceeds the limit"),
        "{}",
        refused.stderr
    );
    let kept = guest.run(&format!("flushmark run /tmp/job.fio --target {device}"))?;
    ensure!(kept.code == 3, "written without --destroy-data: {}", kept.stderr);
    Ok(())
}

/// Random writes, and what the drive has then, with flushmark and with fio.
pub fn writes(guest: &mut Guest) -> anyhow::Result<()> {
    let device = guest.device("ZONED")?;
    for (engine, depth) in [("psync", 1), ("libzbc", 1), ("libaio", 8), ("io_uring", 8)] {
        reset(guest, &device)?;
        jobs(
            guest,
            &format!(
                "[w]\nrw=randwrite\nzonemode=zbd\nzonesize=4m\nbs=64k\ndirect=1\nnumjobs=3\n\
                 size=32z\nio_size=8m\nioengine={engine}\niodepth={depth}\n"
            ),
        )?;
        let results = run(guest, &device)?;
        ensure!(count(&results[0], "/proof/writes") == 384, "{engine}: {}", results[0]);
        let after = zones(guest, &device)?;
        let lost = resets(&results[0]) * CAPACITY_BYTES;
        ensure!(written(&after) + lost == 384 << 16, "{engine}: {} B written", written(&after));
        ensure!(active(&after) <= OPEN_MAX, "{engine}: {after:?}");
        if engine == "psync" {
            reset(guest, &device)?;
            let job = &fio(guest, &device)?[0];
            let same = count(job, "/write/io_bytes");
            ensure!(same == 384 << 16, "fio wrote {same} B: {job}");
            let beside = zones(guest, &device)?;
            let lost = same - written(&beside);
            ensure!(lost.is_multiple_of(CAPACITY_BYTES), "fio: {beside:?}");
            ensure!(active(&beside) <= OPEN_MAX, "fio: {beside:?}");
        }
    }
    reset(guest, &device)?;
    // Until a time: zones become full and are reset.
    jobs(
        guest,
        "[w]\nrw=randwrite\nzonemode=zbd\nzonesize=4m\nmax_open_zones=3\nbs=256k\ndirect=1\nnumjobs=4\nsize=6z\n\
         time_based\nruntime=3\nioengine=libaio\niodepth=2\n",
    )?;
    let results = run(guest, &device)?;
    ensure!(results[0]["notes"].to_string().contains("zones that were reset"), "{}", results[0]);
    let after = zones(guest, &device)?;
    ensure!(active(&after[..6]) <= 3, "{after:?}");
    Ok(())
}

/// Sequential writes, and reads that end at the write pointers, with flushmark and with fio.
pub fn reads(guest: &mut Guest) -> anyhow::Result<()> {
    let device = guest.device("ZONED")?;
    reset(guest, &device)?;
    jobs(
        guest,
        "[w]\nrw=write\nzonemode=zbd\nbs=64k\ndirect=1\nsize=8z\noffset=4z\nio_size=10m\nzonesize=4m\n",
    )?;
    run(guest, &device)?;
    let after = zones(guest, &device)?;
    let full: Vec<u64> = after[4..8].iter().map(|zone| zone.written).collect();
    ensure!(full == [CAPACITY_BYTES, CAPACITY_BYTES, CAPACITY_BYTES, 1 << 20], "{full:?}");
    for engine in ["libaio\niodepth=16", "libzbc"] {
        let text = format!(
            "[r]\nrw=read\nzonemode=zbd\nzonesize=4m\nbs=128k\ndirect=1\nread_beyond_wp=0\n\
             size=16z\nioengine={engine}\n"
        );
        jobs(guest, &text)?;
        let results = run(guest, &device)?;
        ensure!(count(&results[0], "/proof/reads") == 80, "{engine}: {}", results[0]);
    }
    jobs(guest, "[r]\nrw=read\nzonemode=zbd\nzonesize=4m\nbs=128k\ndirect=1\nsize=16z\n")?;
    let job = &fio(guest, &device)?[0];
    ensure!(count(job, "/read/io_bytes") == 10 << 20, "fio: {job}");
    Ok(())
}

/// The garbage collection of fio's examples, and verification.
pub fn examples(guest: &mut Guest) -> anyhow::Result<()> {
    let device = guest.device("ZONED")?;
    reset(guest, &device)?;
    jobs(
        guest,
        "[global]\nzonemode=zbd\nzonesize=4m\ndirect=1\ntime_based\nruntime=4\noffset=8z\n\
         [warmup]\nrw=randwrite\nbs=256k\nsize=16z\nioengine=libaio\nruntime=1\n\
         [wjob]\nwait_for=warmup\nrw=randwrite\nbs=256k\nsize=16z\nioengine=libaio\nflow=16\n\
         [trimjob]\nwait_for=warmup\nrw=randtrim\nbs=4m\nsize=16z\nioengine=psync\nflow=1\n",
    )?;
    let results = run(guest, &device)?;
    ensure!(results.len() == 3 && count(&results[2], "/proof/writes") > 0, "{results:?}");
    let after = zones(guest, &device)?;
    ensure!(active(&after) <= OPEN_MAX, "{after:?}");
    // Open zones elsewhere count towards the limit of the drive.
    reset(guest, &device)?;
    jobs(
        guest,
        "[w]\nrw=randwrite\nzonemode=zbd\nzonesize=4m\nbs=1m\ndirect=1\nsize=8z\nio_size=64m\n\
         zone_reset_threshold=0.7\nzone_reset_frequency=0.125\n",
    )?;
    let results = run(guest, &device)?;
    ensure!(count(&results[0], "/proof/writes") == 64, "{}", results[0]);
    reset(guest, &device)?;
    // As xnvme-zoned.fio.
    jobs(
        guest,
        "[global]\nzonemode=zbd\nrw=write\nsize=32m\niodepth=1\nbs=4K\ndirect=1\nthread=1\n\
         ramp_time=1\nnorandommap=1\nverify=crc32c\nallow_file_create=0\n[default]\n\
         [override]\nrw=${FIO_RW}\niodepth=${FIO_IODEPTH}\nbs=${FIO_BS}\n",
    )?;
    for result in run(guest, &device)? {
        ensure!(result["notes"].to_string().contains("read back and verified"), "{result}");
    }
    Ok(())
}

/// Conventional zones, which are written like any other drive.
pub fn conventional(guest: &mut Guest) -> anyhow::Result<()> {
    guest.must(
        "load null_blk zoned=1 zone_size=4 zone_nr_conv=2 zone_max_open=3 gb=1 memory_backed=1 \
         nr_devices=1",
    )?;
    let device = "/dev/nullb0";
    jobs(guest, "[w]\nrw=randwrite\nbs=4k\ndirect=1\nsize=8m\nio_size=1m\n")?;
    run(guest, device)?;
    jobs(
        guest,
        "[w]\nrw=randwrite\nzonemode=zbd\nbs=64k\ndirect=1\nsize=16m\nio_size=32m\nnumjobs=2\n",
    )?;
    run(guest, device)?;
    let after = zones(guest, device)?;
    ensure!(after[0].condition == "nw" && active(&after) <= 3, "{after:?}");
    ensure!(written(&after[2..4]) > 0, "{after:?}");
    guest.must("rmmod null_blk")?;
    Ok(())
}
