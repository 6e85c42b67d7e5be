//! The machine was not quiet, as the numbers themselves say.

use measurement::{Confidence, Finding};

use crate::{Case, noise};

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let symptoms = noise::symptoms(case);
    let first = symptoms.first()?;
    let more = match symptoms.len() - 1 {
        0 => String::new(),
        1 => ", and one more sign of it".to_owned(),
        more => format!(", and {more} more signs of it"),
    };
    Some(Finding {
        id: "noisy-numbers".to_owned(),
        title: format!("The numbers are noisy: {}{more}.", first.what),
        evidence: symptoms.into_iter().map(|symptom| symptom.evidence).collect(),
        confidence: Confidence::High,
        doubt: None,
        advice: if case.is_modelled() {
            format!(
                "Nothing disturbs a model, so a longer run tells: `flushmark run journal --time 60s --target {}`.",
                case.path()
            )
        } else {
            format!(
                "Measure again while nothing else uses the drive (`iostat -x 1` shows what does), and for longer: `flushmark run journal --time 60s --target {}`.",
                case.path()
            )
        },
    })
}
