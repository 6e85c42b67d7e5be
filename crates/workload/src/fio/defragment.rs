//! `ioengine=e4defrag`, which exchanges the blocks of a file with those of a donor.

use super::section::Section;
use crate::blocks::{Jobs, Workload};
use crate::donor::{Donor, DonorSpace};
use crate::plan::{PlanError, Test, Work};

/// The name of the engine.
pub(super) const E4DEFRAG: &str = "e4defrag";
const NAME: &str = "donorname";
const IN_PLACE: &str = "inplace";

impl Section {
    /// The donor of the section. Its number is that of the first section with the same one.
    ///
    /// # Errors
    /// Fails if it is missing, or another engine has these options.
    pub(super) fn donor(&self, workload: &Workload) -> Result<Option<Donor>, PlanError> {
        let name = self.donor_path()?;
        let in_place = self.flag(IN_PLACE)?.unwrap_or(false);
        if !self.has_engine(E4DEFRAG) {
            return match [NAME, IN_PLACE].into_iter().find(|key| self.has_own(key)) {
                Some(key) => Err(self.wrong(key, &format!("{key}: requires ioengine={E4DEFRAG}"))),
                None => Ok(None),
            };
        }
        if name.is_none() {
            let message = format!("{NAME}: missing; name the file whose blocks are used");
            return Err(self.wrong("ioengine", &message));
        }
        if in_place && workload.jobs > Jobs::MIN {
            let message = format!(
                "{IN_PLACE}: several jobs would truncate the file that they share; use numjobs=1"
            );
            return Err(self.wrong(IN_PLACE, &message));
        }
        let space = if in_place { DonorSpace::InPlace } else { DonorSpace::Reserved };
        Ok(Some(Donor { number: 0, space }))
    }

    /// The path of the donor, with the section's directory.
    fn donor_path(&self) -> Result<Option<String>, PlanError> {
        let name = self.text(NAME, "the name of a file")?;
        let directory = self.text("directory", "the path of a directory")?;
        Ok(name.map(|name| match directory {
            Some(directory) => format!("{}/{name}", directory.trim_end_matches('/')),
            None => name,
        }))
    }
}

/// Numbers the donors, and checks that no other job uses them.
///
/// # Errors
/// Fails if a donor is the file of a section, or is truncated under another section.
pub(super) fn number_donors(
    tests: &mut [Test],
    sections: &[Section],
    targets: &[Option<String>],
) -> Result<(), PlanError> {
    let donor_of = |test: &Test| match &test.work {
        Work::Blocks(workload) => workload.donor,
        Work::Steps(_) | Work::Sort(_) => None,
    };
    let mut names: Vec<Option<String>> = Vec::new();
    for index in 0..tests.len() {
        let Some(donor) = donor_of(&tests[index]) else {
            names.push(None);
            continue;
        };
        let (section, name) = (&sections[index], sections[index].donor_path()?);
        if targets.contains(&name) {
            let message = format!(
                "{NAME}: this is the file of a section, which would lose its blocks; name another \
                 file"
            );
            return Err(section.wrong(NAME, &message));
        }
        names.push(name.clone());
        let begin = (0..=index).rfind(|&test| !tests[test].with_previous).unwrap_or(0);
        for other in begin..index {
            let spaces = donor_of(&tests[other]).map(|other| [other.space, donor.space]);
            if names[other] == name
                && spaces.is_some_and(|both| both.contains(&DonorSpace::InPlace))
            {
                let message = format!(
                    "{IN_PLACE}: section {} uses the same donor at the same time, and one of them \
                     truncates it; give each its own {NAME}, or add stonewall",
                    tests[other].name
                );
                return Err(section.wrong(IN_PLACE, &message));
            }
        }
        let number = names.iter().position(|known| *known == name).unwrap_or(index);
        if let Work::Blocks(workload) = &mut tests[index].work {
            workload.donor = Some(Donor { number, ..donor });
        }
    }
    Ok(())
}
