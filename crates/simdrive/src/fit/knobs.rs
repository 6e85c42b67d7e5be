//! The parameters that a fit can change, with their ranges. The ranges cover what drives of the
//! kind have been measured to have. They keep a fit from explaining a result by a part that no
//! drive has.

use catalogue::Class;
use catalogue::model::{Bytes, Disk, Fua, Model, Parameters, SolidState, Stick, Volume, WaitsFor};

/// A parameter of a model that a fit can change.
#[derive(Debug, Clone, Copy)]
pub struct Knob {
    /// Its path in the model file.
    pub path: &'static str,
    /// The smallest and largest value.
    pub range: (f64, f64),
    /// One standard deviation, as a factor, from what is typical of the class or printed in the
    /// datasheet.
    pub spread: f64,
    /// Only whole numbers are meaningful.
    pub whole: bool,
    reach: fn(&mut Model) -> Option<Value<'_>>,
}

enum Value<'a> {
    Real(&'a mut f64),
    Count(&'a mut u32),
    Size(&'a mut Bytes),
}

impl Knob {
    /// The current value; `None` if the model does not have this part, or the part has no effect.
    pub fn get(&self, model: &Model) -> Option<f64> {
        let mut model = model.clone();
        Some(match (self.reach)(&mut model)? {
            Value::Real(value) => *value,
            Value::Count(value) => f64::from(*value),
            Value::Size(Bytes(value)) => *value as f64,
        })
    }

    /// Changes the value, within the range.
    pub fn set(&self, model: &mut Model, to: f64) {
        let to = to.clamp(self.range.0, self.range.1);
        match (self.reach)(model) {
            Some(Value::Real(value)) => *value = three_digits(to),
            Some(Value::Count(value)) => *value = to.round() as u32,
            Some(Value::Size(Bytes(value))) => *value = ((to / 4096.0).round() * 4096.0) as u64,
            None => {}
        }
    }
}

/// No parameter is known more precisely.
fn three_digits(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10f64.powf(2.0 - value.abs().log10().floor());
    (value * scale).round() / scale
}

fn parameters(model: &mut Model) -> &mut Parameters {
    match &mut model.drive {
        Parameters::Array(array) => &mut array.member,
        drive => drive,
    }
}

fn solid_state(model: &mut Model) -> Option<&mut SolidState> {
    if let Parameters::SolidState(drive) = parameters(model) { Some(drive) } else { None }
}

fn disk(model: &mut Model) -> Option<&mut Disk> {
    if let Parameters::Disk(drive) = parameters(model) { Some(drive) } else { None }
}

fn stick(model: &mut Model) -> Option<&mut Stick> {
    if let Parameters::Stick(drive) = parameters(model) { Some(drive) } else { None }
}

fn volume(model: &mut Model) -> Option<&mut Volume> {
    if let Parameters::Volume(drive) = parameters(model) { Some(drive) } else { None }
}

macro_rules! knob {
    ($path:literal, $low:literal..$high:literal, $spread:literal, |$model:ident| $value:expr) => {
        Knob {
            path: $path,
            range: ($low, $high),
            spread: $spread,
            whole: false,
            reach: |$model| Some(Value::Real($value)),
        }
    };
    ($path:literal, $low:literal..$high:literal, $spread:literal, whole |$model:ident| $value:expr) => {
        Knob {
            path: $path,
            range: ($low, $high),
            spread: $spread,
            whole: true,
            reach: |$model| Some(Value::Count($value)),
        }
    };
    ($path:literal, $low:literal..$high:literal, $spread:literal, size |$model:ident| $value:expr) => {
        Knob {
            path: $path,
            range: ($low, $high),
            spread: $spread,
            whole: true,
            reach: |$model| Some(Value::Size($value)),
        }
    };
}

/// Every parameter, with the most influential ones first.
pub const KNOBS: &[Knob] = &[
    knob!("drive.flush.command_us", 1.0..1000.0, 1.6, |model| &mut solid_state(model)?
        .flush
        .command_us),
    knob!("drive.flush.journal_us", 10.0..20000.0, 2.0, |model| &mut flush_of_map(model)?
        .flush
        .journal_us),
    knob!("drive.flush.map_page_us", 0.1..500.0, 3.0, |model| &mut flush_of_map(model)?
        .flush
        .map_page_us),
    knob!("drive.fua.extra_us", 0.1..5000.0, 2.0, |model| {
        match &mut solid_state(model)?.fua {
            Fua::Cached { extra_us } | Fua::Programmed { extra_us, .. } => extra_us,
            Fua::Absent | Fua::Ignored => return None,
        }
    }),
    knob!("drive.link.command_us", 0.2..50.0, 1.4, |model| &mut solid_state(model)?
        .link
        .command_us),
    knob!("drive.link.write_us", 0.5..500.0, 1.5, |model| &mut solid_state(model)?.link.write_us),
    knob!("drive.link.read_us", 0.5..500.0, 1.5, |model| &mut solid_state(model)?.link.read_us),
    knob!("drive.link.mb_per_s", 100.0..15000.0, 1.1, |model| {
        // The throughput of SATA is known.
        if matches!(model.class, Class::EnterpriseSata | Class::ConsumerSata) {
            return None;
        }
        &mut solid_state(model)?.link.mb_per_s
    }),
    knob!("drive.flash.slc.program_us", 30.0..1500.0, 1.4, |model| {
        &mut solid_state(model)?.flash.slc.as_mut()?.program_us
    }),
    knob!("drive.flash.program_us", 100.0..6000.0, 1.3, |model| &mut solid_state(model)?
        .flash
        .program_us),
    knob!("drive.flash.read_us", 20.0..250.0, 1.3, |model| &mut solid_state(model)?.flash.read_us),
    knob!("drive.flash.read_spread", 0.0..1.0, 3.0, |model| {
        let spread = &mut solid_state(model)?.flash.read_spread;
        // Models of drives whose reads were not measured at depth keep a constant time.
        if *spread == 0.0 {
            return None;
        }
        spread
    }),
    knob!(
        "host.hardware_queues",
        1.0..128.0,
        2.0,
        whole | model | {
            let queues = &mut model.host.hardware_queues;
            if *queues == 1 {
                return None;
            }
            queues
        }
    ),
    knob!("host.wake_us", 0.5..500.0, 2.0, |model| &mut model.host.wake_us),
    knob!("drive.flash.dies", 2.0..512.0, 1.3, whole | model | &mut solid_state(model)?.flash.dies),
    knob!("drive.flash.channel_mb_per_s", 30.0..4000.0, 1.3, |model| &mut solid_state(model)?
        .flash
        .channel_mb_per_s),
    knob!(
        "drive.flash.slc.free",
        0.0..1e12,
        2.0,
        size | model | &mut solid_state(model)?.flash.slc.as_mut()?.free
    ),
    knob!("drive.rpm", 4200.0..15000.0, 1.02, |model| &mut disk(model)?.rpm),
    knob!("drive.seek_mean_us", 2000.0..20000.0, 1.2, |model| &mut disk(model)?.seek_mean_us),
    knob!("drive.seek_track_us", 100.0..2000.0, 1.4, |model| &mut disk(model)?.seek_track_us),
    knob!("drive.write_settle_us", 10.0..2000.0, 1.5, |model| &mut disk(model)?.write_settle_us),
    knob!("drive.outer_mb_per_s", 30.0..400.0, 1.2, |model| &mut disk(model)?.outer_mb_per_s),
    knob!("drive.command_us", 5.0..5000.0, 1.5, |model| {
        match parameters(model) {
            Parameters::Disk(disk) => &mut disk.command_us,
            Parameters::Stick(stick) => &mut stick.command_us,
            _ => return None,
        }
    }),
    knob!("drive.write_mb_per_s", 1.0..500.0, 2.0, |model| &mut stick(model)?.write_mb_per_s),
    knob!("drive.read_mb_per_s", 1.0..1000.0, 2.0, |model| &mut stick(model)?.read_mb_per_s),
    knob!("drive.copy_mb_per_s", 1.0..500.0, 2.0, |model| &mut stick(model)?.copy_mb_per_s),
    knob!("drive.open_blocks", 1.0..64.0, 2.0, whole | model | &mut stick(model)?.open_blocks),
    knob!("drive.write_us", 5.0..20000.0, 2.0, |model| &mut volume(model)?.write_us),
    knob!("drive.read_us", 5.0..20000.0, 2.0, |model| &mut volume(model)?.read_us),
    knob!("drive.flush_us", 1.0..50000.0, 2.0, |model| &mut volume(model)?.flush_us),
    knob!("drive.unit_mb_per_s", 10.0..5000.0, 2.0, |model| &mut volume(model)?.unit_mb_per_s),
    knob!("drive.link_mb_per_s", 10.0..15000.0, 2.0, |model| &mut volume(model)?.link_mb_per_s),
    knob!("drive.sustained_mb_per_s", 5.0..15000.0, 2.0, |model| &mut volume(model)?
        .sustained_mb_per_s),
    knob!("drive.iops_most", 50.0..2000000.0, 3.0, |model| &mut volume(model)?.iops_most),
    knob!("host.call_us", 0.3..20.0, 1.3, |model| &mut model.host.call_us),
    knob!("host.sync_us", 0.3..10.0, 1.3, |model| &mut model.host.sync_us),
];

fn flush_of_map(model: &mut Model) -> Option<&mut SolidState> {
    solid_state(model).filter(|drive| drive.flush.waits_for == WaitsFor::Map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_stands_within_the_ranges() {
        for model in catalogue::models() {
            for knob in KNOBS {
                if let Some(value) = knob.get(model) {
                    let (low, high) = knob.range;
                    assert!(
                        value == 0.0 || (low..=high).contains(&value),
                        "{}: {} = {value}",
                        model.model,
                        knob.path
                    );
                }
            }
        }
    }

    #[test]
    fn a_turned_knob_stands_where_it_was_turned_to() {
        for model in catalogue::models() {
            for knob in KNOBS {
                if knob.get(model).is_some() {
                    let mut turned = model.clone();
                    knob.set(&mut turned, 1e300);
                    assert!(
                        (knob.get(&turned).unwrap() / knob.range.1 - 1.0).abs() < 1e-6,
                        "{}",
                        knob.path
                    );
                }
            }
        }
    }

    #[test]
    fn three_digits_are_kept() {
        let kept =
            [0.0, 0.123_456, 1234.5, 99.96, 7.0].map(|value| three_digits(value).to_string());
        assert_eq!(kept, ["0", "0.123", "1230", "100", "7"]);
    }
}
