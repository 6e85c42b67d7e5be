//! The numbers themselves show that the machine was not quiet.

use measurement::{Confidence, Finding};

use crate::{Case, noise};

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let symptoms = noise::symptoms(case);
    let first = symptoms.first()?;
    let more = match symptoms.len() - 1 {
        0 => String::new(),
        1 => ", and one more symptom".to_owned(),
        more => format!(", and {more} more symptoms"),
    };
    Some(Finding {
        id: "noisy-numbers".to_owned(),
        title: format!("The numbers are noisy: {}{more}.", first.what),
        evidence: symptoms.into_iter().map(|symptom| symptom.evidence).collect(),
        confidence: Confidence::High,
        doubt: None,
        advice: if case.is_modelled() {
            format!(
                "Nothing disturbs a model, so run it for longer: `flushmark run journal --time 60s \
                 --target {}`.",
                case.path()
            )
        } else {
            format!(
                "Measure again for longer while nothing else uses the drive (check with `iostat -x \
                 1`): `flushmark run journal --time 60s {}`.",
                case.path()
            )
        },
    })
}
