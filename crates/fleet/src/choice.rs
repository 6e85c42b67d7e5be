//! A choice of drives, by what the store cannot filter by.

use store::{DriveName, Figures};

/// A choice of drives; by default all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriveChoice {
    /// Part of the model's name; case is ignored.
    pub model: Option<String>,
    /// The whole version of the firmware.
    pub firmware: Option<String>,
}

impl DriveChoice {
    /// Returns whether a run's only drive is chosen. A run on no drive, or on several, is chosen if
    /// every drive would be.
    pub fn has(&self, drive: Option<&DriveName>) -> bool {
        let model = drive.and_then(|drive| drive.model.as_ref());
        let firmware = drive.and_then(|drive| drive.firmware.as_ref());
        let contains = |part: &String| {
            model.is_some_and(|model| model.to_lowercase().contains(&part.to_lowercase()))
        };
        self.model.as_ref().is_none_or(contains)
            && self.firmware.as_ref().is_none_or(|wanted| firmware == Some(wanted))
    }

    /// Leaves only the runs on chosen drives.
    pub fn retain(&self, figures: &mut Figures) {
        figures.runs.retain(|run| self.has(run.drive.as_ref()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_chosen_by_a_part_and_firmware_as_a_whole() {
        let drive = DriveName {
            model: Some("Samsung PM9A3".to_owned()),
            serial: None,
            firmware: Some("GDC5602Q".to_owned()),
        };
        let choice = |model: &str, firmware: &str| {
            let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            DriveChoice { model: text(model), firmware: text(firmware) }
        };
        assert!(choice("", "").has(Some(&drive)) && choice("", "").has(None));
        assert!(choice("pm9", "GDC5602Q").has(Some(&drive)));
        assert!(!choice("pm9", "GDC").has(Some(&drive)));
        assert!(!choice("990", "").has(Some(&drive)));
        assert!(!choice("pm9", "").has(None));
    }
}
