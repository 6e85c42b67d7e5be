//! From a model's parameters to a drive: checks that they are possible, and puts the parts together.

use catalogue::model::{self, Level, Parameters};

use crate::array::Array;
use crate::array::layout::Layout;
use crate::device::Device;
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
    /// What cannot be, one sentence.
    pub what: String,
}

/// How a drive is put together, apart from its model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Assembly {
    /// Another capacity than the model's, with the same share of spare flash: a small drive fills sooner.
    pub capacity_bytes: Option<u64>,
    /// Whether contents are kept, for power cuts. A drive that is only measured keeps none.
    pub track_contents: bool,
    /// Its number among the members of an array. Nothing keeps the platters of several disks in step.
    pub number: u32,
}

impl Assembly {
    /// Share of a turn by which a disk's platters are ahead of the first one's: far from each other for neighbours, whatever their number.
    fn ahead(&self) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        (f64::from(self.number) * GOLDEN).fract()
    }
}

/// Bytes that a drive of this marketing capacity has.
fn capacity_bytes(gb: f64) -> u64 {
    // Whole mebibytes, as drives have.
    (gb * 1e9) as u64 >> 20 << 20
}

/// The drive of a model.
///
/// # Errors
/// When the parameters are impossible; the sentence says which.
pub fn assemble(name: &str, parameters: &Parameters, assembly: Assembly) -> Result<Box<dyn Device>, Impossible> {
    let impossible = |what: String| Impossible { model: name.to_owned(), what };
    match parameters {
        Parameters::SolidState(parameters) => {
            let capacity = assembly.capacity_bytes.unwrap_or_else(|| capacity_bytes(parameters.capacity_gb));
            check_solid_state(parameters, capacity).map_err(impossible)?;
            Ok(Box::new(SolidState::new(parameters, capacity, assembly.track_contents)))
        }
        Parameters::Disk(parameters) => {
            let capacity = assembly.capacity_bytes.unwrap_or_else(|| capacity_bytes(parameters.capacity_gb));
            check_disk(parameters, capacity).map_err(impossible)?;
            Ok(Box::new(Disk::new(parameters, capacity, assembly.ahead(), assembly.track_contents)))
        }
        Parameters::Stick(parameters) => {
            let capacity = assembly.capacity_bytes.unwrap_or_else(|| capacity_bytes(parameters.capacity_gb));
            check_stick(parameters, capacity).map_err(impossible)?;
            Ok(Box::new(Stick::new(parameters, capacity, assembly.track_contents)))
        }
        Parameters::Volume(parameters) => {
            let capacity = assembly.capacity_bytes.unwrap_or_else(|| capacity_bytes(parameters.capacity_gb));
            check_volume(parameters, capacity).map_err(impossible)?;
            Ok(Box::new(Volume::new(parameters, capacity, assembly.track_contents)))
        }
        Parameters::Array(array) => {
            check_array(array).map_err(impossible)?;
            let layout = Layout { level: array.level, members: array.members as usize, chunk: array.chunk.0 };
            // The capacity asked for is the array's.
            let share = |bytes: u64| bytes.div_ceil(layout.stripe_bytes()) * layout.chunk;
            let member = Assembly { capacity_bytes: assembly.capacity_bytes.map(share), ..assembly };
            let one = |number| assemble(name, &array.member, Assembly { number, ..member });
            let members = (0..array.members).map(one).collect::<Result<_, _>>()?;
            let journal = array.journal.then(|| one(array.members)).transpose()?;
            Ok(Box::new(Array::new(layout, members, journal, assembly.track_contents)))
        }
    }
}

/// A number that has to be above zero.
fn above_zero(what: &str, value: f64) -> Result<(), String> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(format!("{what} has to be above zero, not {value}")) }
}

/// A number that may be zero.
fn not_negative(what: &str, value: f64) -> Result<(), String> {
    if value >= 0.0 && value.is_finite() { Ok(()) } else { Err(format!("{what} cannot be {value}")) }
}

fn check_solid_state(drive: &model::SolidState, capacity: u64) -> Result<(), String> {
    let model::SolidState { link, cache, flush, flash, .. } = drive;
    above_zero("link.mb_per_s", link.mb_per_s)?;
    above_zero("flash.channel_mb_per_s", flash.channel_mb_per_s)?;
    above_zero("flash.program_us", flash.program_us)?;
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
        above_zero(what, f64::from(value))?;
    }
    let unit = |what: &str, bytes: model::Bytes| {
        if bytes.0 == 0 || !bytes.0.is_multiple_of(UNIT_BYTES) {
            return Err(format!("{what} has to be a multiple of 4 KiB, not {}", workload::format_bytes(bytes.0)));
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
                "flash.slc.program cannot be larger than flash.program: one bit a cell holds no more than several"
                    .to_owned(),
            );
        }
        if slc.free > slc.size {
            return Err("flash.slc.free cannot be more than flash.slc.size".to_owned());
        }
    }
    if cache.size.0 < 2 * largest {
        return Err(format!(
            "cache.size has to hold two programs of {} at least, not {}",
            workload::format_bytes(largest),
            workload::format_bytes(cache.size.0)
        ));
    }
    let stripe = u64::from(flash.dies) * flash.program.0;
    if capacity < 64 * stripe {
        return Err(format!(
            "a capacity of {} is too small for {} dies that program {} at once",
            workload::format_bytes(capacity),
            flash.dies,
            workload::format_bytes(flash.program.0)
        ));
    }
    let physical = capacity as f64 * (1.0 + flash.spare_percent / 100.0) / UNIT_BYTES as f64;
    if physical * 1.1 > f64::from(u32::MAX) {
        return Err("it has more than 14 TB, beyond what is simulated".to_owned());
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
        ("queue_depth", f64::from(disk.queue_depth)),
        ("capacity", capacity as f64),
    ] {
        above_zero(what, value)?;
    }
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
        return Err("inner_mb_per_s cannot be above outer_mb_per_s: tracks are longer outside".to_owned());
    }
    Ok(())
}

fn check_stick(stick: &model::Stick, capacity: u64) -> Result<(), String> {
    for (what, value) in [
        ("write_mb_per_s", stick.write_mb_per_s),
        ("read_mb_per_s", stick.read_mb_per_s),
        ("copy_mb_per_s", stick.copy_mb_per_s),
        ("open_blocks", f64::from(stick.open_blocks)),
        ("block", stick.block.0 as f64),
    ] {
        above_zero(what, value)?;
    }
    not_negative("command_us", stick.command_us)?;
    not_negative("erase_us", stick.erase_us)?;
    let blocks = capacity / stick.block.0;
    if u64::from(stick.open_blocks) > blocks {
        return Err(format!("it keeps {} blocks open and has {blocks}", stick.open_blocks));
    }
    Ok(())
}

fn check_volume(volume: &model::Volume, capacity: u64) -> Result<(), String> {
    for (what, value) in [
        ("unit_mb_per_s", volume.unit_mb_per_s),
        ("link_mb_per_s", volume.link_mb_per_s),
        ("sustained_mb_per_s", volume.sustained_mb_per_s),
        ("iops_most", volume.iops_most),
        ("unit", volume.unit.0 as f64),
        ("queue_depth", f64::from(volume.queue_depth)),
        ("capacity", capacity as f64),
    ] {
        above_zero(what, value)?;
    }
    for (what, value) in [("write_us", volume.write_us), ("read_us", volume.read_us), ("flush_us", volume.flush_us)] {
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
        return Err(format!("RAID {} needs {least} drives at least, not {}", array.level.number(), array.members));
    }
    if array.chunk.0 == 0 || !array.chunk.0.is_multiple_of(UNIT_BYTES) {
        return Err(format!("chunk has to be a multiple of 4 KiB, not {}", workload::format_bytes(array.chunk.0)));
    }
    if array.journal && matches!(array.level, Level::Raid0 | Level::Raid1) {
        return Err("a journal closes the write hole of RAID 5 and 6; other levels have none".to_owned());
    }
    if matches!(*array.member, Parameters::Array(_)) {
        return Err("an array of arrays is not simulated".to_owned());
    }
    Ok(())
}
