//! Invariants of every plan and every error, whichever parser made it.

use workload::plan::PlanError;
use workload::{Plan, Room};

/// Ends the process if it does not hold.
pub fn check(text: &str, parsed: Result<Plan, PlanError>) {
    match parsed {
        Ok(plan) => {
            let names: std::collections::HashSet<&str> =
                plan.tests.iter().map(|test| test.name.as_str()).collect();
            assert!(!names.is_empty() && names.len() == plan.tests.len(), "names are unique");
            let room = Room::Whole(1 << 40);
            assert!(
                plan.tests.iter().all(|test| test.work.size_bytes(room) > 0),
                "each test has something to work on"
            );
            assert_eq!(plan.clone().smoke().tests.len(), plan.tests.len());
            let _ = plan.requested_time();
        }
        Err(error) => {
            assert!((1..=text.lines().count() + 1).contains(&error.line), "{error}");
            assert!(!error.message.is_empty() && !error.to_string().contains('\n'), "{error:?}");
        }
    }
}
