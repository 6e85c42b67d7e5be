//! Models of drives that have too few published rows to fit one: the model of the drive's class,
//! with the cost of a commit adjusted to the rows.
//!
//! The parameters that a commit waits for are scaled by one factor, which is found by the secant
//! method. Of a protected and an unprotected model of the class, the one that needs the smaller
//! change is taken, unless a source says which one it is.

use std::borrow::Cow;

use catalogue::model::{Array, Bytes, Level, Parameters};
use catalogue::{
    Adjustment, ArrayLevel, Class, Controller, Drive, Model, NoSuchModel, PowerLossProtection,
};

use crate::fit::knobs::KNOBS;
use crate::published::{self, PublishedTest};
use crate::sample::{NoComparison, compare};

/// The parameters that a commit waits for.
const COMMIT_COSTS: [&str; 12] = [
    "drive.link.command_us",
    "drive.link.write_us",
    "drive.fua.extra_us",
    "drive.flush.command_us",
    "drive.flush.journal_us",
    "drive.flash.slc.program_us",
    "drive.seek_mean_us",
    "drive.seek_track_us",
    "drive.write_settle_us",
    "drive.command_us",
    "drive.write_us",
    "drive.flush_us",
];
/// The largest change, as the logarithm of a factor.
const CHANGE_MAX: f64 = 5.0;
/// A difference that does not matter, as the logarithm of a factor.
const CLOSE: f64 = 0.005;
const STEPS_MAX: u32 = 8;
/// Changes are rounded to this part of one.
const PRECISION: f64 = 1e4;
/// A commit of which hardly anything depends on these costs.
const SLOPE_MAX: f64 = -0.05;
/// Tests of a drive that are adjusted to; a class model has one degree of freedom.
const TESTS_MAX: usize = 4;
/// A model that misses its rows is further away than one that was changed to meet them.
const REMAINS_WEIGHT: f64 = 10.0;
const CHUNK: Bytes = Bytes(512 << 10);

/// The model with this name, or the model of the published drive with this name.
///
/// # Errors
/// Fails if neither exists.
pub fn model(name: &str) -> Result<Cow<'static, Model>, NoSuchModel> {
    catalogue::find_model(name).map(Cow::Borrowed).or_else(|error| {
        let drive = catalogue::find(name).map_err(|_| error.clone())?;
        adjusted(drive).map(Cow::Owned).ok_or(error)
    })
}

/// The model of a drive's class, adjusted to the drive's commits; `None` if it can run none of
/// them.
fn adjusted(drive: &Drive) -> Option<Model> {
    let adjustment = catalogue::adjustment(&drive.name)?;
    let class = catalogue::find_model(&adjustment.model).ok()?;
    Some(scaled(&of_drive(class, drive, &adjusted_to(drive)), adjustment.change))
}

/// Finds the class model that commits like a drive with the smallest change; `None` if the model
/// can run none of its tests.
pub fn adjustment(drive: &Drive) -> Option<Adjustment> {
    let tests = adjusted_to(drive);
    let candidates = class_models(drive).into_iter().filter_map(|name| {
        let start = of_drive(catalogue::find_model(name).ok()?, drive, &tests);
        let (change, remains) = change(&start, &tests).ok()?;
        Some((change.abs() + REMAINS_WEIGHT * remains.abs(), name, change))
    });
    let (_, model, change) = candidates.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let (drive, model) = (drive.name.clone(), model.to_owned());
    Some(Adjustment { drive, model, change: (change * PRECISION).round() / PRECISION })
}

/// The contents of the catalogue's `adjustments.toml`: every drive without a separate model.
pub fn adjustments() -> String {
    let mut text =
        "# Changes of class models. Written by `cargo xtask docs`; a test compares some.\n"
            .to_owned();
    for drive in catalogue::drives() {
        if catalogue::find_model(&drive.name).is_ok() {
            continue;
        }
        if let Some(Adjustment { drive, model, change }) = adjustment(drive) {
            text += &format!(
                "\n[[adjustment]]\ndrive = \"{drive}\"\nmodel = \"{model}\"\nchange = {change:.4}\n"
            );
        }
    }
    text
}

/// The tests that a drive's class model is adjusted to: commits, those of one writer and without
/// doubts if there are any.
pub fn adjusted_to(drive: &Drive) -> Vec<PublishedTest<'_>> {
    let all = published::tests(drive).unwrap_or_default();
    let first = |count: usize, wanted: fn(&PublishedTest<'_>) -> bool| {
        let chosen: Vec<_> = all.iter().filter(|test| wanted(test)).take(count).cloned().collect();
        (!chosen.is_empty()).then_some(chosen)
    };
    first(TESTS_MAX, |test| test.row.commit_us().is_some() && test.is_for_fitting())
        .or_else(|| first(TESTS_MAX, |test| test.row.commit_us().is_some()))
        .or_else(|| first(1, |test| test.row.sync.is_durable()))
        .unwrap_or_default()
}

/// The models that a drive of its class may have.
fn class_models(drive: &Drive) -> Vec<&'static str> {
    let [protected, unprotected] = match drive.class {
        Class::EnterpriseNvme
        | Class::EnterprisePcie
        | Class::ConsumerNvme
        | Class::ConsumerPcie
        | Class::CloudLocal => ["enterprise-nvme", "consumer-nvme"],
        Class::EnterpriseSas | Class::EnterpriseSata | Class::ConsumerSata => {
            ["enterprise-sata", "consumer-sata"]
        }
        Class::CloudVolume => return vec!["cloud-volume"],
        Class::Disk => return vec!["disk-7200rpm-cache-off", "disk-7200rpm-cache-on"],
        Class::UsbStick => return vec!["usb-stick"],
    };
    match drive.power_loss_protection {
        PowerLossProtection::Yes { .. } => vec![protected],
        PowerLossProtection::No { .. } | PowerLossProtection::Claimed { .. } => vec![unprotected],
        PowerLossProtection::Unknown => vec![protected, unprotected],
    }
}

/// A class model with the drive's names, its capacity and its array.
fn of_drive(class: &Model, drive: &Drive, tests: &[PublishedTest<'_>]) -> Model {
    let mut model = Model {
        model: drive.name.clone(),
        label: drive.label.clone(),
        class: drive.class,
        basis: format!(
            "the model {} with the cost of a commit adjusted to {}",
            class.model,
            match tests.len() {
                1 => "1 published row".to_owned(),
                rows => format!("{rows} published rows"),
            }
        ),
        fitted_to: Some(drive.name.clone()),
        ..class.clone()
    };
    if let Some(gb) = drive.capacity_gb {
        model.drive.set_capacity_gb(f64::from(gb));
    }
    if let Some(test) = tests.first() {
        model.host.filesystem = test.filesystem;
    }
    let array = drive.array.filter(|array| array.controller == Controller::Software);
    // Other arrays are modelled as one drive, with the cost of the array's commits.
    let level = array.and_then(|array| match array.level {
        ArrayLevel::Raid0 => Some(Level::Raid0),
        ArrayLevel::Raid1 => Some(Level::Raid1),
        ArrayLevel::Raid5 => Some(Level::Raid5),
        ArrayLevel::Raid10 => None,
    });
    if let (Some(level), Some(array)) = (level, array) {
        let member = Box::new(model.drive);
        let (members, chunk) = (array.members, CHUNK);
        model.drive = Parameters::Array(Array { level, members, chunk, journal: false, member });
    }
    model
}

/// The model with the costs of a commit multiplied by `e^change`.
fn scaled(model: &Model, change: f64) -> Model {
    let mut scaled = model.clone();
    for knob in KNOBS.iter().filter(|knob| COMMIT_COSTS.contains(&knob.path)) {
        if let Some(value) = knob.get(model) {
            knob.set(&mut scaled, value * change.exp());
        }
    }
    scaled
}

/// The change with which the model commits as fast as the tests on average, and what remains of the
/// difference, both as logarithms.
fn change(start: &Model, tests: &[PublishedTest<'_>]) -> Result<(f64, f64), NoComparison> {
    let (mut at, mut off) = (0.0_f64, too_fast(start, tests)?);
    let mut best = (at, off);
    // A commit that consists of these costs alone takes twice as long if they are twice as high.
    let mut slope = -1.0;
    for _ in 0..STEPS_MAX {
        if best.1.abs() < CLOSE {
            break;
        }
        let next = (at - off / slope).clamp(-CHANGE_MAX, CHANGE_MAX);
        let next_off = too_fast(&scaled(start, next), tests)?;
        let secant = (next_off - off) / (next - at);
        slope = if secant < SLOPE_MAX { secant } else { -1.0 };
        (at, off) = (next, next_off);
        if off.abs() < best.1.abs() {
            best = (at, off);
        }
    }
    Ok(best)
}

/// The mean logarithm of the modelled rates by the published ones.
fn too_fast(model: &Model, tests: &[PublishedTest<'_>]) -> Result<f64, NoComparison> {
    let mut sum = 0.0;
    for test in tests {
        let compared = compare(&test.machine(model), std::slice::from_ref(&test.sample))?;
        let published = test.sample.figure.value();
        let logarithms =
            compared.iter().map(|made| (made.modelled.max(f64::MIN_POSITIVE) / published).ln());
        sum += logarithms.sum::<f64>();
    }
    Ok(sum / tests.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::ERROR_MAX;

    /// Drives whose rows their class model cannot reach: the mapped pages of this array take up to
    /// 168 ms, longer than any seek.
    const BEYOND: [&str; 1] = ["wd-wd40ezrx-4tb-x2-raid1"];

    #[test]
    fn a_class_model_commits_like_its_drive() {
        // One drive in five, because each is adjusted; `cargo xtask reproduce` runs all of them.
        for drive in catalogue::drives().iter().step_by(5) {
            let model = model(&drive.name).unwrap();
            if matches!(model, Cow::Owned(_)) && !BEYOND.contains(&drive.name.as_str()) {
                assert_eq!((model.class, &model.label), (drive.class, &drive.label));
                let off = too_fast(&model, &adjusted_to(drive)).unwrap();
                assert!((off.exp() - 1.0).abs() < ERROR_MAX, "{}: {off:.3}", drive.name);
            }
        }
    }

    #[test]
    fn the_adjustments_of_the_catalogue_are_those_found() {
        // Some, because each is a search; `cargo xtask docs` writes all of them.
        for drive in catalogue::drives().iter().step_by(9) {
            if catalogue::find_model(&drive.name).is_err() {
                let found = adjustment(drive);
                assert_eq!(found.as_ref(), catalogue::adjustment(&drive.name), "{}", drive.name);
            }
        }
    }

    #[test]
    fn of_two_class_models_the_nearer_one_is_taken_unless_a_source_decides() {
        let basis = |name: &str| model(name).unwrap().basis.clone();
        assert!(basis("intel-750-400gb").starts_with("the model enterprise-nvme "));
        assert!(basis("intel-545-512gb").starts_with("the model consumer-sata "));
        let drive = catalogue::find("intel-750-400gb").unwrap();
        let source = "a datasheet".to_owned();
        let power_loss_protection = PowerLossProtection::No { source };
        let unprotected = Drive { power_loss_protection, ..drive.clone() };
        assert_eq!(class_models(&unprotected), ["consumer-nvme"]);
    }

    #[test]
    fn an_array_in_software_is_an_array() {
        let Parameters::Array(array) = model("micron-1100-256gb-x2-raid1").unwrap().drive.clone()
        else {
            panic!("no array")
        };
        assert_eq!((array.level, array.members), (Level::Raid1, 2));
        let single = model("samsung-860-evo-2tb-x4-raid10").unwrap();
        assert!(matches!(single.drive, Parameters::SolidState(_)));
    }

    #[test]
    fn names() {
        assert!(matches!(model("consumer-nvme").unwrap(), Cow::Borrowed(_)));
        assert_eq!(model("samsung-990-pro-2tb").unwrap().model, "samsung-990-pro-ext4");
        let adjusted = model("Intel-545-512GB").unwrap();
        assert_eq!(
            (adjusted.model.as_str(), adjusted.basis.as_str()),
            (
                "intel-545-512gb",
                "the model consumer-sata with the cost of a commit adjusted to 1 published row"
            )
        );
        assert!(model("floppy").is_err());
    }
}
