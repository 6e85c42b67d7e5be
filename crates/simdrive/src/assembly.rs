//! Builds a drive from a model's parameters, after checking that they are possible.

use catalogue::model::{self, Level, Parameters};

use crate::array::Array;
use crate::array::layout::Layout;
use crate::device::{Device, SECTOR_BYTES};
use crate::disk::Disk;
use crate::flash::contents::UNIT_BYTES;
use crate::solid_state::SolidState;
use crate::stick::Stick;
use crate::volume::Volume;

/// Parameters that no drive can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model `{model}` is impossible: {what}")]
pub struct Impossible {
    /// The model's name.
    pub model: String,
    /// The contradiction, as one sentence.
    pub what: String,
}

/// The parameters of an assembly that are not part of the model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Assembly {
    /// Replaces the model's capacity, with the same share of spare flash: a small drive fills up
    /// sooner.
    pub capacity_bytes: Option<u64>,
    /// Track contents, for power cuts. A drive that is only measured tracks none.
    pub track_contents: bool,
    /// Index among the members of an array. The platters of several disks are not synchronised.
    pub number: u32,
}

impl Assembly {
    /// Fraction of a rotation by which a disk's platters are ahead of the first one's: well apart
    /// for neighbours, whatever their number.
    fn ahead(&self) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        (f64::from(self.number) * GOLDEN).fract()
    }
}

/// The number of bytes of a drive with this nominal capacity.
fn capacity_bytes(gb: f64) -> u64 {
    // Whole mebibytes, as in real drives.
    (gb * 1e9) as u64 >> 20 << 20
}

/// Builds the drive of a model.
pub fn assemble(
    name: &str,
    parameters: &Parameters,
    assembly: Assembly,
) -> Result<Box<dyn Device>, Impossible> {
    let impossible = |what: String| Impossible { model: name.to_owned(), what };
    match parameters {
        Parameters::SolidState(parameters) => {
            let capacity =
                assembly.capacity_bytes.unwrap_or_else(|| capacity_bytes(parameters.capacity_gb));
            let capacity = capacity / UNIT_BYTES * UNIT_BYTES;
            check_solid_state(parameters, capacity).map_err(impossible)?;
            Ok(Box::new(SolidState::new(parameters, capacity, assembly.track_contents)))
        }
        Parameters::Disk(parameters) => {
            let capacity =
                assembly.capacity_bytes.unwrap_or_else(|| capacity_bytes(parameters.capacity_gb));
            check_disk(parameters, capacity).map_err(impossible)?;
            Ok(Box::new(Disk::new(parameters, capacity, assembly.ahead(), assembly.track_contents)))
        }
        Parameters::Stick(parameters) => {
            let capacity =
                assembly.capacity_bytes.unwrap_or_else(|| capacity_bytes(parameters.capacity_gb));
            check_stick(parameters, capacity).map_err(impossible)?;
            Ok(Box::new(Stick::new(parameters, capacity, assembly.track_contents)))
        }
        Parameters::Volume(parameters) => {
            let capacity =
                assembly.capacity_bytes.unwrap_or_else(|| capacity_bytes(parameters.capacity_gb));
            check_volume(parameters, capacity).map_err(impossible)?;
            Ok(Box::new(Volume::new(parameters, capacity, assembly.track_contents)))
        }
        Parameters::Array(array) => {
            check_array(array).map_err(impossible)?;
            let layout = Layout {
                level: array.level,
                members: array.members as usize,
                chunk: array.chunk.0,
            };
            // The requested capacity is that of the array.
            let share = |bytes: u64| bytes.div_ceil(layout.stripe_bytes()) * layout.chunk;
            let member =
                Assembly { capacity_bytes: assembly.capacity_bytes.map(share), ..assembly };
            let one = |number| assemble(name, &array.member, Assembly { number, ..member });
            let members: Vec<Box<dyn Device>> =
                (0..array.members).map(one).collect::<Result<_, _>>()?;
            let journal = array.journal.then(|| one(array.members)).transpose()?;
            let least = if array.journal {
                (u64::from(array.members) + 1) * layout.chunk
            } else {
                layout.chunk
            };
            if members[0].identity().capacity_bytes < least {
                let chunk = workload::format_bytes(layout.chunk);
                return Err(impossible(format!(
                    "its drives are too small for a chunk size of {chunk}"
                )));
            }
            Ok(Box::new(Array::new(layout, members, journal, assembly.track_contents)))
        }
    }
}

/// Far beyond any drive, and still far from an overflow of a nanosecond clock.
const NUMBER_MAX: f64 = 1e9;
/// Maximum number of parts of each kind in a drive: a larger number is a typing error, and would
/// need as much memory.
const PARTS_MAX: u32 = 65_536;
/// Maximum number of drives in an array.
const MEMBERS_MAX: u32 = 64;
/// Maximum chunk size of an array. The stripe of the largest array still fits in a journal.
const CHUNK_MAX: u64 = 8 << 20;

/// Checks a number that must be above zero. For a speed, the minimum is a thousandth of a MB/s.
fn above_zero(what: &str, value: f64) -> Result<(), String> {
    if value.is_nan() || value <= 0.0 {
        return Err(format!("{what} must be above zero, not {value}"));
    }
    if (0.001..=NUMBER_MAX).contains(&value) {
        Ok(())
    } else {
        Err(format!("{what} cannot be {value:e}"))
    }
}

/// Checks a number that can be zero.
fn not_negative(what: &str, value: f64) -> Result<(), String> {
    if (0.0..=NUMBER_MAX).contains(&value) {
        Ok(())
    } else {
        Err(format!("{what} cannot be {value}"))
    }
}

/// Checks a number of parts.
fn parts(what: &str, value: u32) -> Result<(), String> {
    match value {
        0 => Err(format!("{what} must be above zero, not 0")),
        1..=PARTS_MAX => Ok(()),
        _ => Err(format!("{what} cannot be {value}; the limit is {PARTS_MAX}")),
    }
}

/// Checks a size that must be whole sectors.
fn some_bytes(what: &str, bytes: u64) -> Result<(), String> {
    if bytes >= SECTOR_BYTES && bytes.is_multiple_of(SECTOR_BYTES) {
        Ok(())
    } else {
        Err(format!(
            "{what} must be a multiple of 512 bytes, not {}",
            workload::format_bytes(bytes)
        ))
    }
}

pub fn check_host(name: &str, host: &model::Host) -> Result<(), Impossible> {
    let checked = || {
        not_negative("host.call_us", host.call_us)?;
        not_negative("host.sync_us", host.sync_us)?;
        above_zero("host.tick_us", host.tick_us)?;
        parts("host.hardware_queues", host.hardware_queues)?;
        not_negative("host.wake_us", host.wake_us)?;
        if host.request_most.0 < UNIT_BYTES || !host.request_most.0.is_multiple_of(UNIT_BYTES) {
            return Err(format!(
                "host.request_most must be a multiple of 4 KiB, not {}",
                workload::format_bytes(host.request_most.0)
            ));
        }
        Ok(())
    };
    checked().map_err(|what| Impossible { model: name.to_owned(), what })
}

fn check_solid_state(drive: &model::SolidState, capacity: u64) -> Result<(), String> {
    let model::SolidState { link, cache, flush, flash, .. } = drive;
    if !(0.0..=1.0).contains(&flash.read_spread) {
        return Err(format!("flash.read_spread must be from 0 to 1, not {}", flash.read_spread));
    }
    above_zero("link.mb_per_s", link.mb_per_s)?;
    above_zero("flash.channel_mb_per_s", flash.channel_mb_per_s)?;
    above_zero("flash.program_us", flash.program_us)?;
    if let Some(throttle) = &drive.throttle {
        above_zero("throttle.mb_per_s", throttle.mb_per_s)?;
        // Whole bytes and nanoseconds.
        if throttle.tick_us < 1.0 || throttle.mb_per_s * throttle.tick_us < 1.0 {
            return Err(format!(
                "throttle.tick_us must be at least 1, and long enough for a byte, not {}",
                throttle.tick_us
            ));
        }
        above_zero("throttle.tick_us", throttle.tick_us)?;
        some_bytes("throttle.chunk", throttle.chunk.0)?;
    }
    for (what, value) in [
        ("link.command_us", link.command_us),
        ("link.write_us", link.write_us),
        ("link.read_us", link.read_us),
        ("flush.command_us", flush.command_us),
        ("flush.journal_us", flush.journal_us),
        ("flush.map_page_us", flush.map_page_us),
        ("flash.read_us", flash.read_us),
        ("flash.erase_us", flash.erase_us),
        ("flash.spare_percent", flash.spare_percent),
    ] {
        not_negative(what, value)?;
    }
    for (what, value) in [
        ("link.queue_depth", link.queue_depth),
        ("flash.dies", flash.dies),
        ("flash.channels", flash.channels),
        ("flash.programs_per_block", flash.programs_per_block),
    ] {
        parts(what, value)?;
    }
    if flash.programs_per_block < 2 {
        return Err("flash.programs_per_block must be at least 2, not 1".to_owned());
    }
    let unit = |what: &str, bytes: model::Bytes| {
        if bytes.0 == 0 || !bytes.0.is_multiple_of(UNIT_BYTES) {
            return Err(format!(
                "{what} must be a multiple of 4 KiB, not {}",
                workload::format_bytes(bytes.0)
            ));
        }
        Ok(())
    };
    unit("flash.program", flash.program)?;
    let mut largest = flash.program.0;
    if let Some(slc) = &flash.slc {
        unit("flash.slc.program", slc.program)?;
        above_zero("flash.slc.program_us", slc.program_us)?;
        largest = largest.max(slc.program.0);
        if slc.program > flash.program {
            return Err(
                "flash.slc.program cannot be larger than flash.program: one bit per cell cannot \
                 hold more than several"
                    .to_owned(),
            );
        }
        if slc.free > slc.size {
            return Err("flash.slc.free cannot be larger than flash.slc.size".to_owned());
        }
    }
    if cache.size.0 < 2 * largest {
        return Err(format!(
            "cache.size must hold at least two programs of {}, not {}",
            workload::format_bytes(largest),
            workload::format_bytes(cache.size.0)
        ));
    }
    let stripe = u64::from(flash.dies) * flash.program.0;
    if capacity < 64 * stripe {
        return Err(format!(
            "a capacity of {} is too small for {} dies with programs of {}",
            workload::format_bytes(capacity),
            flash.dies,
            workload::format_bytes(flash.program.0)
        ));
    }
    let physical = capacity as f64 * (1.0 + flash.spare_percent / 100.0) / UNIT_BYTES as f64;
    if physical * 1.1 > f64::from(u32::MAX) {
        return Err("it has more than 14 TB, the limit of the simulation".to_owned());
    }
    Ok(())
}

fn check_disk(disk: &model::Disk, capacity: u64) -> Result<(), String> {
    for (what, value) in [
        ("rpm", disk.rpm),
        ("seek_mean_us", disk.seek_mean_us),
        ("outer_mb_per_s", disk.outer_mb_per_s),
        ("inner_mb_per_s", disk.inner_mb_per_s),
        ("link_mb_per_s", disk.link_mb_per_s),
    ] {
        above_zero(what, value)?;
    }
    parts("queue_depth", disk.queue_depth)?;
    some_bytes("capacity", capacity)?;
    for (what, value) in [
        ("seek_track_us", disk.seek_track_us),
        ("write_settle_us", disk.write_settle_us),
        ("command_us", disk.command_us),
    ] {
        not_negative(what, value)?;
    }
    if disk.seek_track_us > disk.seek_mean_us {
        return Err("seek_track_us cannot be longer than seek_mean_us".to_owned());
    }
    if disk.inner_mb_per_s > disk.outer_mb_per_s {
        return Err(
            "inner_mb_per_s cannot be above outer_mb_per_s: tracks are longer outside".to_owned()
        );
    }
    let inner_track = disk.inner_mb_per_s * 1e6 * 60.0 / disk.rpm;
    if inner_track < 2.0 * UNIT_BYTES as f64 {
        return Err(format!(
            "at rpm {} and inner_mb_per_s {}, a track cannot hold any data",
            disk.rpm, disk.inner_mb_per_s
        ));
    }
    Ok(())
}

fn check_stick(stick: &model::Stick, capacity: u64) -> Result<(), String> {
    for (what, value) in [
        ("write_mb_per_s", stick.write_mb_per_s),
        ("read_mb_per_s", stick.read_mb_per_s),
        ("copy_mb_per_s", stick.copy_mb_per_s),
    ] {
        above_zero(what, value)?;
    }
    parts("open_blocks", stick.open_blocks)?;
    some_bytes("block", stick.block.0)?;
    not_negative("command_us", stick.command_us)?;
    not_negative("erase_us", stick.erase_us)?;
    let blocks = capacity / stick.block.0;
    if u64::from(stick.open_blocks) > blocks {
        return Err(format!("it keeps {} blocks open but has only {blocks}", stick.open_blocks));
    }
    Ok(())
}

fn check_volume(volume: &model::Volume, capacity: u64) -> Result<(), String> {
    for (what, value) in [
        ("unit_mb_per_s", volume.unit_mb_per_s),
        ("link_mb_per_s", volume.link_mb_per_s),
        ("sustained_mb_per_s", volume.sustained_mb_per_s),
        ("iops_most", volume.iops_most),
    ] {
        above_zero(what, value)?;
    }
    parts("queue_depth", volume.queue_depth)?;
    some_bytes("unit", volume.unit.0)?;
    some_bytes("capacity", capacity)?;
    for (what, value) in
        [("write_us", volume.write_us), ("read_us", volume.read_us), ("flush_us", volume.flush_us)]
    {
        not_negative(what, value)?;
    }
    Ok(())
}

fn check_array(array: &model::Array) -> Result<(), String> {
    let least = match array.level {
        Level::Raid0 | Level::Raid1 => 2,
        Level::Raid5 => 3,
        Level::Raid6 => 4,
    };
    if array.members < least {
        return Err(format!(
            "RAID {} needs at least {least} drives, not {}",
            array.level.number(),
            array.members
        ));
    }
    if array.members > MEMBERS_MAX {
        return Err(format!(
            "an array of {} drives is not supported; the limit is {MEMBERS_MAX}",
            array.members
        ));
    }
    if array.chunk.0 == 0 || !array.chunk.0.is_multiple_of(UNIT_BYTES) {
        return Err(format!(
            "chunk must be a multiple of 4 KiB, not {}",
            workload::format_bytes(array.chunk.0)
        ));
    }
    if array.chunk.0 > CHUNK_MAX {
        return Err(format!(
            "chunk cannot be {}; the limit is {}",
            workload::format_bytes(array.chunk.0),
            workload::format_bytes(CHUNK_MAX)
        ));
    }
    if array.journal && matches!(array.level, Level::Raid0 | Level::Raid1) {
        return Err(
            "a journal closes the write hole of RAID 5 and 6, which other levels do not have"
                .to_owned(),
        );
    }
    if matches!(*array.member, Parameters::Array(_)) {
        return Err("an array of arrays is not supported".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use catalogue::model::{Array, Bytes, Slc};

    use super::*;

    /// The error for a built-in model after a change.
    fn refused(name: &str, change: impl FnOnce(&mut Parameters)) -> String {
        let mut parameters = catalogue::find_model(name).unwrap().drive.clone();
        change(&mut parameters);
        assemble("mine", &parameters, Assembly::default()).err().expect("a refusal").to_string()
    }

    fn ssd(change: impl FnOnce(&mut model::SolidState)) -> String {
        refused("consumer-nvme", |parameters| {
            let Parameters::SolidState(drive) = parameters else { unreachable!("it is one") };
            change(drive);
        })
    }

    fn disk(change: impl FnOnce(&mut model::Disk)) -> String {
        refused("disk-7200rpm-cache-on", |parameters| {
            let Parameters::Disk(drive) = parameters else { unreachable!("it is one") };
            change(drive);
        })
    }

    fn stick(change: impl FnOnce(&mut model::Stick)) -> String {
        refused("usb-stick", |parameters| {
            let Parameters::Stick(drive) = parameters else { unreachable!("it is one") };
            change(drive);
        })
    }

    fn raid(level: Level, members: u32, chunk: u64, journal: bool) -> String {
        refused("enterprise-sata", |parameters| {
            let member = Box::new(parameters.clone());
            *parameters =
                Parameters::Array(Array { level, members, chunk: Bytes(chunk), journal, member });
        })
    }

    #[test]
    fn every_built_in_model_is_possible() {
        for model in catalogue::models() {
            assemble(&model.model, &model.drive, Assembly::default())
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn impossible_solid_state_drives() {
        insta::assert_snapshot!(ssd(|drive| drive.link.mb_per_s = 0.0), @"the model `mine` is impossible: link.mb_per_s must be above zero, not 0");
        insta::assert_snapshot!(ssd(|drive| drive.flash.channel_mb_per_s = -1.0), @"the model `mine` is impossible: flash.channel_mb_per_s must be above zero, not -1");
        let throttle = |mb_per_s, tick_us, chunk| {
            move |drive: &mut model::SolidState| {
                drive.throttle = Some(model::Throttle { mb_per_s, tick_us, chunk: Bytes(chunk) });
            }
        };
        insta::assert_snapshot!(ssd(throttle(0.0, 1000.0, 4096)), @"the model `mine` is impossible: throttle.mb_per_s must be above zero, not 0");
        insta::assert_snapshot!(ssd(throttle(1000.0, 0.0, 4096)), @"the model `mine` is impossible: throttle.tick_us must be at least 1, and long enough for a byte, not 0");
        insta::assert_snapshot!(ssd(throttle(1000.0, f64::NAN, 4096)), @"the model `mine` is impossible: throttle.tick_us must be above zero, not NaN");
        insta::assert_snapshot!(ssd(throttle(1000.0, 1000.0, 0)), @"the model `mine` is impossible: throttle.chunk must be a multiple of 512 bytes, not 0 B");
        insta::assert_snapshot!(ssd(|drive| drive.flash.program_us = f64::NAN), @"the model `mine` is impossible: flash.program_us must be above zero, not NaN");
        insta::assert_snapshot!(ssd(|drive| drive.flush.journal_us = -5.0), @"the model `mine` is impossible: flush.journal_us cannot be -5");
        insta::assert_snapshot!(ssd(|drive| drive.flash.dies = 0), @"the model `mine` is impossible: flash.dies must be above zero, not 0");
        insta::assert_snapshot!(ssd(|drive| drive.flash.dies = 4_000_000_000), @"the model `mine` is impossible: flash.dies cannot be 4000000000; the limit is 65536");
        insta::assert_snapshot!(ssd(|drive| drive.flash.program_us = 1e300), @"the model `mine` is impossible: flash.program_us cannot be 1e300");
        insta::assert_snapshot!(ssd(|drive| drive.link.mb_per_s = 1e-300), @"the model `mine` is impossible: link.mb_per_s cannot be 1e-300");
        insta::assert_snapshot!(ssd(|drive| drive.link.queue_depth = 0), @"the model `mine` is impossible: link.queue_depth must be above zero, not 0");
        insta::assert_snapshot!(ssd(|drive| drive.flash.programs_per_block = 1), @"the model `mine` is impossible: flash.programs_per_block must be at least 2, not 1");
        insta::assert_snapshot!(ssd(|drive| drive.flash.read_spread = 1.5), @"the model `mine` is impossible: flash.read_spread must be from 0 to 1, not 1.5");
        insta::assert_snapshot!(ssd(|drive| drive.flash.program = Bytes(5000)), @"the model `mine` is impossible: flash.program must be a multiple of 4 KiB, not 5000 B");
        insta::assert_snapshot!(ssd(|drive| drive.cache.size = Bytes(4096)), @"the model `mine` is impossible: cache.size must hold at least two programs of 96 KiB, not 4 KiB");
        insta::assert_snapshot!(ssd(|drive| drive.capacity_gb = 0.001), @"the model `mine` is impossible: a capacity of 0 B is too small for 16 dies with programs of 96 KiB");
        insta::assert_snapshot!(ssd(|drive| drive.capacity_gb = 100_000.0), @"the model `mine` is impossible: it has more than 14 TB, the limit of the simulation");
        let slc = |size, free, program| {
            move |drive: &mut model::SolidState| {
                drive.flash.slc = Some(Slc {
                    size: Bytes(size),
                    free: Bytes(free),
                    program: Bytes(program),
                    program_us: 1.0,
                    request_most: None,
                });
            }
        };
        insta::assert_snapshot!(ssd(slc(1 << 30, 2 << 30, 16 << 10)), @"the model `mine` is impossible: flash.slc.free cannot be larger than flash.slc.size");
        insta::assert_snapshot!(ssd(slc(1 << 30, 1 << 30, 256 << 10)), @"the model `mine` is impossible: flash.slc.program cannot be larger than flash.program: one bit per cell cannot hold more than several");
    }

    #[test]
    fn other_impossible_drives() {
        insta::assert_snapshot!(disk(|disk| disk.rpm = 0.0), @"the model `mine` is impossible: rpm must be above zero, not 0");
        insta::assert_snapshot!(disk(|disk| disk.rpm = 7_200_000.0), @"the model `mine` is impossible: at rpm 7200000 and inner_mb_per_s 120, a track cannot hold any data");
        insta::assert_snapshot!(disk(|disk| disk.seek_track_us = 20_000.0), @"the model `mine` is impossible: seek_track_us cannot be longer than seek_mean_us");
        insta::assert_snapshot!(disk(|disk| disk.inner_mb_per_s = 300.0), @"the model `mine` is impossible: inner_mb_per_s cannot be above outer_mb_per_s: tracks are longer outside");
        insta::assert_snapshot!(stick(|stick| stick.open_blocks = 20_000), @"the model `mine` is impossible: it keeps 20000 blocks open but has only 3814");
        insta::assert_snapshot!(stick(|stick| stick.open_blocks = 0), @"the model `mine` is impossible: open_blocks must be above zero, not 0");
        insta::assert_snapshot!(stick(|stick| stick.block = Bytes(0)), @"the model `mine` is impossible: block must be a multiple of 512 bytes, not 0 B");
        insta::assert_snapshot!(stick(|stick| stick.copy_mb_per_s = 0.0), @"the model `mine` is impossible: copy_mb_per_s must be above zero, not 0");
        let volume = refused("cloud-volume", |parameters| {
            let Parameters::Volume(volume) = parameters else { unreachable!("it is one") };
            volume.iops_most = 0.0;
        });
        insta::assert_snapshot!(volume, @"the model `mine` is impossible: iops_most must be above zero, not 0");
    }

    #[test]
    fn impossible_arrays() {
        insta::assert_snapshot!(raid(Level::Raid5, 2, 64 << 10, false), @"the model `mine` is impossible: RAID 5 needs at least 3 drives, not 2");
        insta::assert_snapshot!(raid(Level::Raid5, 1000, 64 << 10, false), @"the model `mine` is impossible: an array of 1000 drives is not supported; the limit is 64");
        insta::assert_snapshot!(raid(Level::Raid5, 3, 1 << 62, false), @"the model `mine` is impossible: chunk cannot be 4194304 TiB; the limit is 8 MiB");
        insta::assert_snapshot!(raid(Level::Raid0, 2, 1000, false), @"the model `mine` is impossible: chunk must be a multiple of 4 KiB, not 1000 B");
        insta::assert_snapshot!(raid(Level::Raid1, 2, 64 << 10, true), @"the model `mine` is impossible: a journal closes the write hole of RAID 5 and 6, which other levels do not have");
        let nested = refused("gcp-local-nvme-x2-raid0-ext4", |parameters| {
            let Parameters::Array(array) = parameters else { unreachable!("it is one") };
            *array.member = Parameters::Array(array.clone());
        });
        insta::assert_snapshot!(nested, @"the model `mine` is impossible: an array of arrays is not supported");
    }

    #[test]
    fn impossible_hosts() {
        let host = |change: &dyn Fn(&mut model::Host)| {
            let mut host = model::Host::default();
            change(&mut host);
            check_host("mine", &host).unwrap_err().to_string()
        };
        insta::assert_snapshot!(host(&|host| host.request_most = Bytes(0)), @"the model `mine` is impossible: host.request_most must be a multiple of 4 KiB, not 0 B");
        insta::assert_snapshot!(host(&|host| host.call_us = -1.0), @"the model `mine` is impossible: host.call_us cannot be -1");
        insta::assert_snapshot!(host(&|host| host.hardware_queues = 0), @"the model `mine` is impossible: host.hardware_queues must be above zero, not 0");
        insta::assert_snapshot!(host(&|host| host.wake_us = -1.0), @"the model `mine` is impossible: host.wake_us cannot be -1");
        insta::assert_snapshot!(host(&|host| host.tick_us = 0.0), @"the model `mine` is impossible: host.tick_us must be above zero, not 0");
    }

    #[test]
    fn the_limits_of_a_solid_state_drive_belong_to_it() {
        let Parameters::SolidState(possible) =
            &catalogue::find_model("consumer-nvme").unwrap().drive
        else {
            unreachable!("it is one")
        };
        // Programs of 64 KiB on ten dies, two of which fit in the cache.
        let mut limit = possible.clone();
        (limit.flash.program, limit.flash.dies, limit.flash.programs_per_block) =
            (Bytes(64 << 10), 10, 2);
        (limit.cache.size, limit.flash.spare_percent) = (Bytes(128 << 10), 0.0);
        let slc = Slc {
            size: Bytes(1 << 30),
            free: Bytes(1 << 30),
            program: Bytes(64 << 10),
            program_us: 0.001,
            request_most: None,
        };
        limit.flash.slc = Some(slc);
        (limit.link.command_us, limit.link.queue_depth, limit.link.mb_per_s) =
            (0.0, PARTS_MAX, NUMBER_MAX);
        let least = 64 * 10 * (64 << 10);
        check_solid_state(&limit, least).unwrap();
        assert!(check_solid_state(&limit, least - 1).is_err());
        let beyond: [fn(&mut model::SolidState); 7] = [
            |drive| drive.flash.programs_per_block = 1,
            |drive| drive.cache.size = Bytes((128 << 10) - 1),
            |drive| drive.flash.dies += 1,
            |drive| drive.link.queue_depth += 1,
            |drive| drive.link.mb_per_s *= 1.001,
            |drive| drive.link.command_us = -0.001,
            |drive| drive.flash.slc.as_mut().unwrap().free.0 += 1,
        ];
        for (index, change) in beyond.into_iter().enumerate() {
            let mut drive = limit.clone();
            change(&mut drive);
            assert!(check_solid_state(&drive, least).is_err(), "{index}");
        }
        // Units of 4 KiB, plus a tenth, must have 32-bit numbers: (2^32 - 1) / 1.1 * 4096 bytes of
        // flash, of which a quarter can be spare.
        for (spare_percent, most_gb) in [(0.0, 15_992), (25.0, 12_794)] {
            limit.flash.spare_percent = spare_percent;
            check_solid_state(&limit, most_gb * 1_000_000_000).unwrap();
            assert!(check_solid_state(&limit, (most_gb + 2) * 1_000_000_000).is_err());
        }
    }

    #[test]
    fn the_limits_of_other_drives_belong_to_them() {
        let of = |name| catalogue::find_model(name).unwrap().drive.clone();
        let Parameters::Disk(mut disk) = of("disk-7200rpm-cache-on") else {
            unreachable!("it is one")
        };
        disk.seek_track_us = disk.seek_mean_us;
        // A track of the innermost zone holds two units: 8192 bytes per rotation of 60 s / 7200.
        (disk.rpm, disk.inner_mb_per_s) = (7200.0, 0.98304);
        disk.outer_mb_per_s = disk.inner_mb_per_s;
        check_disk(&disk, 512).unwrap();
        assert!(check_disk(&disk, 256).is_err());
        assert!(check_disk(&model::Disk { inner_mb_per_s: 0.983, ..disk }, 512).is_err());
        assert!(check_disk(&model::Disk { outer_mb_per_s: 0.983, ..disk }, 512).is_err());
        let Parameters::Stick(stick) = of("usb-stick") else { unreachable!("it is one") };
        let capacity = u64::from(stick.open_blocks) * stick.block.0;
        check_stick(&stick, capacity).unwrap();
        assert!(check_stick(&stick, capacity - 1).is_err());
        let array = |level, members, chunk| {
            let (chunk, member) = (Bytes(chunk), Box::new(of("enterprise-sata")));
            check_array(&Array { level, members, chunk, journal: false, member }).is_ok()
        };
        for (level, least) in
            [(Level::Raid0, 2), (Level::Raid1, 2), (Level::Raid5, 3), (Level::Raid6, 4)]
        {
            assert!(array(level, least, CHUNK_MAX) && array(level, MEMBERS_MAX, 4096));
            assert!(!array(level, least - 1, 4096) && !array(level, MEMBERS_MAX + 1, 4096));
            assert!(!array(level, least, CHUNK_MAX + 4096) && !array(level, least, 2048));
        }
        let host = |bytes| {
            check_host(
                "mine",
                &model::Host { request_most: Bytes(bytes), ..model::Host::default() },
            )
        };
        assert!(host(4096).is_ok() && host(2048).is_err() && host(6144).is_err());
    }

    #[test]
    fn the_platters_of_an_array_s_disks_are_out_of_step() {
        let ahead = |number| Assembly { number, ..Assembly::default() }.ahead();
        // Multiples of the fractional part of the golden ratio.
        let expected = [0.0, 0.618, 0.236, 0.854, 0.472];
        for (number, expected) in (0u32..).zip(expected) {
            assert!((ahead(number) - expected).abs() < 0.001, "{number}");
        }
        assert_eq!(capacity_bytes(1.0), 953 << 20);
    }
}
