//! Whether a run proves anything. A test in which no power was cut, or no flush was asked for, is void, not passed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Legal;

/// What is known about the cut and the way to the drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Circumstance {
    /// The drive's count of power cuts before the run.
    pub unsafe_shutdowns_before: Option<u64>,
    /// The same now.
    pub unsafe_shutdowns_now: Option<u64>,
    /// Whether there was a lane that never flushes.
    pub has_control: bool,
    /// What that lane came to.
    pub legal: Legal,
    /// Whether the drive is said to have power-loss protection, by a person or by having no volatile cache.
    pub protected: bool,
    /// Whether the kernel believes in a volatile cache, and so has a reason to send flushes.
    pub volatile_cache: Option<bool>,
    /// Syncs that returned, and flushes that the drive's driver counted meanwhile.
    pub syncs_and_flushes: Option<(u64, u64)>,
    /// Records that nobody can have written.
    pub never_issued: Option<(u64, u64)>,
    /// Whether the run had acknowledged anything.
    pub acknowledged: bool,
}

/// Why a run proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "because")]
pub enum Void {
    /// The drive counted no power cut.
    NoUnsafeShutdown {
        /// Its count, before and after.
        count: u64,
    },
    /// What was never flushed survived, too.
    ControlLostNothing {
        /// Writes that the control lanes had completed.
        completed: u64,
    },
    /// Neither a count nor a control lane can tell whether there was a cut.
    NoSignOfACut,
    /// Syncs were acknowledged, and no flush came to the driver although it has a volatile cache.
    NoFlushReachedTheDriver {
        /// Syncs that returned.
        syncs: u64,
    },
    /// Nothing was acknowledged.
    NothingAcknowledged,
    /// Records were found that the run cannot have written: flushmark's error.
    NeverIssued {
        /// How many.
        sectors: u64,
        /// Where the first lies.
        first_bytes: u64,
    },
}

impl Void {
    /// One sentence.
    pub fn sentence(&self) -> String {
        match self {
            Void::NoUnsafeShutdown { count } => format!(
                "the drive counts {count} unsafe shutdowns, as many as before the run: its power was not cut"
            ),
            Void::ControlLostNothing { completed } => format!(
                "the control lanes completed {completed} writes without ever asking for durability, and none of them is missing: the cut did not reach the cache (a drive with power-loss protection may do that: say so with --protected when writing)"
            ),
            Void::NoSignOfACut => "nothing shows that power was cut: there was no control lane, and the drive's count of unsafe shutdowns is not known".to_owned(),
            Void::NoFlushReachedTheDriver { syncs } => format!(
                "{syncs} syncs returned and not one flush reached the drive's driver, although it has a volatile cache: the drive was never asked"
            ),
            Void::NothingAcknowledged => "nothing had been acknowledged when the run ended, so nothing could be lost: let it write for longer".to_owned(),
            Void::NeverIssued { sectors, first_bytes } => format!(
                "{sectors} sectors, the first at byte {first_bytes}, hold records that this run cannot have written: an error of flushmark, please report it"
            ),
        }
    }

    /// Whether it takes the ground from under a loss, too, and not only from under a success.
    pub fn voids_a_failure(&self) -> bool {
        matches!(self, Void::NeverIssued { .. })
    }
}

/// Everything that makes a run void.
pub fn voids(about: &Circumstance) -> Vec<Void> {
    let mut voids = Vec::new();
    let counted = about.unsafe_shutdowns_before.zip(about.unsafe_shutdowns_now);
    if let Some((before, now)) = counted
        && now <= before
    {
        voids.push(Void::NoUnsafeShutdown { count: now });
    }
    if !about.protected {
        if !about.has_control {
            if counted.is_none() {
                voids.push(Void::NoSignOfACut);
            }
        } else if about.legal.control_lost == 0 {
            voids.push(Void::ControlLostNothing { completed: about.legal.control_completed });
        }
    }
    if about.volatile_cache == Some(true)
        && let Some((syncs @ 1.., 0)) = about.syncs_and_flushes
    {
        voids.push(Void::NoFlushReachedTheDriver { syncs });
    }
    if !about.acknowledged {
        voids.push(Void::NothingAcknowledged);
    }
    if let Some((sectors, first_bytes)) = about.never_issued {
        voids.push(Void::NeverIssued { sectors, first_bytes });
    }
    voids
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut() -> Circumstance {
        Circumstance {
            unsafe_shutdowns_before: Some(4),
            unsafe_shutdowns_now: Some(5),
            has_control: true,
            legal: Legal { control_lost: 3, control_completed: 100, ..Legal::default() },
            protected: false,
            volatile_cache: Some(true),
            syncs_and_flushes: Some((10, 9)),
            never_issued: None,
            acknowledged: true,
        }
    }

    #[test]
    fn a_cut_that_bit_is_valid() {
        assert_eq!(voids(&cut()), []);
        let unknown = Circumstance { unsafe_shutdowns_now: None, syncs_and_flushes: None, ..cut() };
        assert_eq!(voids(&unknown), []);
        let uncontrolled = Circumstance { has_control: false, legal: Legal::default(), ..cut() };
        assert_eq!(voids(&uncontrolled), [], "the count rose");
        let protected = Circumstance { protected: true, legal: Legal::default(), ..cut() };
        assert_eq!(voids(&protected), []);
        let no_cache = Circumstance { volatile_cache: Some(false), syncs_and_flushes: Some((10, 0)), ..cut() };
        assert_eq!(voids(&no_cache), [], "without a cache no flush is needed");
    }

    #[test]
    fn each_reason_has_its_sentence() {
        let none = Legal { control_lost: 0, ..cut().legal };
        let all = [
            Circumstance { unsafe_shutdowns_now: Some(4), ..cut() },
            Circumstance { legal: none, ..cut() },
            Circumstance { has_control: false, unsafe_shutdowns_now: None, legal: none, ..cut() },
            Circumstance { syncs_and_flushes: Some((10, 0)), ..cut() },
            Circumstance { acknowledged: false, ..cut() },
            Circumstance { never_issued: Some((1, 4096)), ..cut() },
        ];
        let said: Vec<String> =
            all.iter().map(|about| voids(about).iter().map(Void::sentence).collect::<Vec<_>>().join("; ")).collect();
        insta::assert_snapshot!(said.join("\n"), @"
        the drive counts 4 unsafe shutdowns, as many as before the run: its power was not cut
        the control lanes completed 100 writes without ever asking for durability, and none of them is missing: the cut did not reach the cache (a drive with power-loss protection may do that: say so with --protected when writing)
        nothing shows that power was cut: there was no control lane, and the drive's count of unsafe shutdowns is not known
        10 syncs returned and not one flush reached the drive's driver, although it has a volatile cache: the drive was never asked
        nothing had been acknowledged when the run ended, so nothing could be lost: let it write for longer
        1 sectors, the first at byte 4096, hold records that this run cannot have written: an error of flushmark, please report it
        ");
    }
}
