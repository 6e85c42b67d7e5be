//! Whether a run proves anything. A test in which no power was cut, or no flush was asked for, is void, not passed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ledger::Cycle;
use crate::verdict::Legal;

/// What is known about the cut and the way to the drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Circumstance {
    /// The drive's count of power cuts before the run.
    pub unsafe_shutdowns_before: Option<u64>,
    /// The same now.
    pub unsafe_shutdowns_now: Option<u64>,
    /// What the lanes that never flush came to; `None` where there were none, or where not only the drive can have lost what they wrote.
    pub control: Option<Legal>,
    /// Whether the drive is said to have power-loss protection, by a person or by having no volatile cache.
    pub protected: bool,
    /// Whether the recorder's cut command did its part, and the run broke off.
    pub cut_by_recorder: bool,
    /// Whether a person says that the power was cut.
    pub on_word: bool,
    /// Whether the kernel believes in a volatile cache, and so has a reason to send flushes.
    pub volatile_cache: Option<bool>,
    /// Syncs that returned, and flushes that the drive's driver counted meanwhile.
    pub syncs_and_flushes: Option<(u64, u64)>,
    /// Lanes that sync.
    pub flush_lanes: u16,
    /// Records that nobody can have written.
    pub never_issued: Option<(u64, u64)>,
    /// Writes that the run had acknowledged.
    pub acknowledged_writes: u64,
    /// What the drive was at when the power went.
    pub at_cut: AtCut,
}

/// What the drive was at when its power went, as far as can be told from what was heard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AtCut {
    /// It may have been carrying out a flush, which saves the writes of control lanes as well.
    Flush,
    /// No flush was under way.
    #[default]
    NoFlush,
}

impl AtCut {
    /// Of a cycle, where there was one that somebody heard.
    pub fn of(cycle: Option<&Cycle>) -> AtCut {
        if cycle.is_some_and(Cycle::flush_under_way) { AtCut::Flush } else { AtCut::NoFlush }
    }
}

/// What shows that the power was cut. A new boot is none: a reset makes one, too, and leaves the drive its power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Sign {
    /// The drive counted an unsafe shutdown.
    Counted {
        /// Its count before the run.
        before: u64,
        /// And now.
        now: u64,
    },
    /// Writes of control lanes are missing, which only the drive can have lost.
    ControlLost {
        /// In so many slots.
        slots: u64,
    },
    /// The recorder's cut command ended well, and the run broke off.
    Recorder,
    /// A person says so.
    Word,
}

impl Sign {
    /// One sentence.
    pub fn sentence(&self) -> String {
        match self {
            Sign::Counted { before, now } => {
                format!("the drive counts {now} unsafe shutdowns, and counted {before} before the run")
            }
            Sign::ControlLost { slots } => {
                format!("the drive lost unsynced writes of the control lanes in {slots} slots")
            }
            Sign::Recorder => {
                "the recorder's cut command ended well and the run broke off, which proves as much as that command does"
                    .to_owned()
            }
            Sign::Word => "whoever checks says so (--power-was-cut)".to_owned(),
        }
    }
}

/// Everything that shows that the power was cut.
pub fn signs(about: &Circumstance) -> Vec<Sign> {
    let counted = about.unsafe_shutdowns_before.zip(about.unsafe_shutdowns_now);
    [
        counted.filter(|(before, now)| now > before).map(|(before, now)| Sign::Counted { before, now }),
        about
            .control
            .filter(|legal| legal.control_lost > 0)
            .map(|legal| Sign::ControlLost { slots: legal.control_lost }),
        about.cut_by_recorder.then_some(Sign::Recorder),
        about.on_word.then_some(Sign::Word),
    ]
    .into_iter()
    .flatten()
    .collect()
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
    /// What was never flushed survived, as it may where a flush of another lane was under way.
    ControlFlushed {
        /// Writes that the control lanes had completed.
        completed: u64,
    },
    /// Nothing can tell whether there was a cut.
    NoSignOfACut,
    /// Syncs were acknowledged, and too few flushes came to the driver although it has a volatile cache.
    TooFewFlushes {
        /// Syncs that returned.
        syncs: u64,
        /// Flushes that the driver counted.
        flushes: u64,
        /// The fewest that can serve so many syncs.
        least: u64,
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
                "the drive counts {count} unsafe shutdowns, no more than before the run: its power was not cut"
            ),
            Void::ControlLostNothing { completed } => format!(
                "the control lanes completed {completed} writes without ever asking for durability, and none of them is missing: the cut did not reach the cache (a drive with power-loss protection may do that: say so with --protected when writing)"
            ),
            Void::ControlFlushed { completed } => format!(
                "none of the {completed} writes that the control lanes completed is missing, as is possible where a flush of another lane was under way: nothing shows whether the cut reached the cache. The drive's own count of unsafe shutdowns would (write and check as root), or another run with rarer flushes (--lanes 1 --fua-lanes 0 --writes-per-sync 256)"
            ),
            Void::NoSignOfACut => "nothing shows that power was cut: the drive's count of unsafe shutdowns is not known, no write of a control lane is missing that only the drive can have lost, and no recorder's command cut it; where you cut it yourself, say --power-was-cut".to_owned(),
            Void::TooFewFlushes { syncs, flushes, least } => format!(
                "{syncs} syncs returned and {flushes} flushes reached the drive's driver, although it has a volatile cache and so many syncs take {least} flushes at least: the drive was not asked each time"
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
    if let Some((before, now)) = about.unsafe_shutdowns_before.zip(about.unsafe_shutdowns_now)
        && now <= before
    {
        // What the drive itself says stands against everything else.
        voids.push(Void::NoUnsafeShutdown { count: now });
    } else if let Some(legal) = about.control.filter(|legal| !about.protected && lost_nothing(legal)) {
        let completed = legal.control_completed;
        if about.at_cut == AtCut::NoFlush {
            // Also where the drive counted: whatever its count means, what it had not written out was not taken.
            voids.push(Void::ControlLostNothing { completed });
        } else if !is_counted(about) {
            voids.push(Void::ControlFlushed { completed });
        }
    } else if signs(about).is_empty() {
        voids.push(Void::NoSignOfACut);
    }
    voids.extend(too_few_flushes(about));
    if about.acknowledged_writes == 0 {
        voids.push(Void::NothingAcknowledged);
    }
    if let Some((sectors, first_bytes)) = about.never_issued {
        voids.push(Void::NeverIssued { sectors, first_bytes });
    }
    voids
}

/// Whether the drive itself counted an unsafe shutdown. What anybody else says of the cut does not tell whether it reached the cache.
fn is_counted(about: &Circumstance) -> bool {
    signs(about).iter().any(|sign| matches!(sign, Sign::Counted { .. }))
}

/// Whether control lanes had something to lose and kept it. Of writes that nobody heard of, none can be missed.
const fn lost_nothing(legal: &Legal) -> bool {
    legal.control_completed > 0 && legal.control_lost == 0
}

/// One flush serves every lane that waits for one, and each lane once: it asks again only when its sync has returned.
fn too_few_flushes(about: &Circumstance) -> Option<Void> {
    let (syncs, flushes) = about.syncs_and_flushes.filter(|_| about.volatile_cache == Some(true))?;
    let least = syncs / u64::from(about.flush_lanes.max(1));
    // The two are not counted at one moment, so a count a little below is none that is missing.
    (syncs > 0 && flushes <= least / 2).then_some(Void::TooFewFlushes { syncs, flushes, least: least.max(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(control_lost: u64) -> Legal {
        Legal { control_lost, control_completed: 100, ..Legal::default() }
    }

    fn cut() -> Circumstance {
        Circumstance {
            unsafe_shutdowns_before: Some(4),
            unsafe_shutdowns_now: Some(5),
            control: Some(lost(3)),
            protected: false,
            cut_by_recorder: false,
            on_word: false,
            volatile_cache: Some(true),
            syncs_and_flushes: Some((1000, 300)),
            flush_lanes: 4,
            never_issued: None,
            acknowledged_writes: 1,
            at_cut: AtCut::NoFlush,
        }
    }

    /// A protected drive that does not count, whose control lane loses nothing: as any that an ordinary user tests.
    fn silent() -> Circumstance {
        Circumstance { unsafe_shutdowns_now: None, protected: true, control: Some(lost(0)), ..cut() }
    }

    #[test]
    fn a_cut_that_bit_is_valid() {
        assert_eq!(voids(&cut()), []);
        let unknown = Circumstance { unsafe_shutdowns_now: None, syncs_and_flushes: None, ..cut() };
        assert_eq!(voids(&unknown), []);
        let uncontrolled = Circumstance { control: None, ..cut() };
        assert_eq!(voids(&uncontrolled), [], "the count rose");
        let protected = Circumstance { protected: true, control: Some(lost(0)), ..cut() };
        assert_eq!(voids(&protected), [], "the count rose");
        let no_cache = Circumstance { volatile_cache: Some(false), syncs_and_flushes: Some((10, 0)), ..cut() };
        assert_eq!(voids(&no_cache), [], "without a cache no flush is needed");
    }

    #[test]
    fn a_control_lane_speaks_only_when_it_was_heard() {
        let counted = |control| voids(&Circumstance { control: Some(control), ..cut() });
        assert_eq!(counted(lost(0)), [Void::ControlLostNothing { completed: 100 }], "the count is not all");
        let unheard = Legal { control_completed: 0, ..lost(0) };
        assert_eq!(counted(unheard), [], "the count rose, and nothing speaks against it");
        let uncounted = Circumstance { unsafe_shutdowns_now: None, control: Some(unheard), ..cut() };
        assert_eq!(voids(&uncounted), [Void::NoSignOfACut]);
    }

    /// Under load most cuts find a flush under way, which writes out what control lanes had in the cache.
    #[test]
    fn a_flush_that_was_under_way_explains_what_control_lanes_kept_but_shows_no_cut() {
        let flushing = Circumstance { at_cut: AtCut::Flush, control: Some(lost(0)), ..cut() };
        assert_eq!(voids(&flushing), [], "the drive counted");
        let uncounted = Circumstance { unsafe_shutdowns_now: None, ..flushing };
        for about in [
            uncounted,
            Circumstance { on_word: true, ..uncounted },
            Circumstance { cut_by_recorder: true, ..uncounted },
        ] {
            assert_eq!(voids(&about), [Void::ControlFlushed { completed: 100 }], "{about:?}");
        }
        let not_counted = Circumstance { unsafe_shutdowns_now: Some(4), ..flushing };
        assert_eq!(voids(&not_counted), [Void::NoUnsafeShutdown { count: 4 }]);
    }

    #[test]
    fn protection_is_no_sign_of_a_cut() {
        assert_eq!(voids(&silent()), [Void::NoSignOfACut]);
        assert_eq!(voids(&Circumstance { control: None, ..silent() }), [Void::NoSignOfACut]);
        let by_word = Circumstance { on_word: true, ..silent() };
        assert_eq!((voids(&by_word), signs(&by_word)), (vec![], vec![Sign::Word]));
        let by_recorder = Circumstance { cut_by_recorder: true, ..silent() };
        assert_eq!((voids(&by_recorder), signs(&by_recorder)), (vec![], vec![Sign::Recorder]));
        let missing = Circumstance { control: cut().control, ..silent() };
        assert_eq!((voids(&missing), signs(&missing)), (vec![], vec![Sign::ControlLost { slots: 3 }]));
    }

    #[test]
    fn nobody_contradicts_the_drives_own_count_and_control_lane() {
        let not_counted = Circumstance { unsafe_shutdowns_now: Some(4), on_word: true, cut_by_recorder: true, ..cut() };
        assert_eq!(voids(&not_counted), [Void::NoUnsafeShutdown { count: 4 }]);
        let nothing_lost = Circumstance { protected: false, on_word: true, ..silent() };
        assert_eq!(voids(&nothing_lost), [Void::ControlLostNothing { completed: 100 }]);
    }

    #[test]
    fn flushes_may_serve_each_lane_once_and_no_more() {
        let with = |syncs_and_flushes| voids(&Circumstance { syncs_and_flushes, ..cut() });
        for enough in [None, Some((0, 0)), Some((1000, 250)), Some((1000, 240)), Some((8, 2)), Some((3, 1))] {
            assert_eq!(with(enough), [], "{enough:?}");
        }
        for (syncs, flushes, least) in [(1000, 0, 250), (1000, 3, 250), (1000, 125, 250), (2, 0, 1)] {
            assert_eq!(with(Some((syncs, flushes))), [Void::TooFewFlushes { syncs, flushes, least }]);
        }
    }

    #[test]
    fn each_reason_has_its_sentence() {
        let all = [
            Circumstance { unsafe_shutdowns_now: Some(4), ..cut() },
            Circumstance { unsafe_shutdowns_now: None, control: Some(lost(0)), ..cut() },
            Circumstance { unsafe_shutdowns_now: None, control: Some(lost(0)), at_cut: AtCut::Flush, ..cut() },
            silent(),
            Circumstance { syncs_and_flushes: Some((10, 0)), ..cut() },
            Circumstance { acknowledged_writes: 0, ..cut() },
            Circumstance { never_issued: Some((1, 4096)), ..cut() },
        ];
        let said: Vec<String> =
            all.iter().map(|about| voids(about).iter().map(Void::sentence).collect::<Vec<_>>().join("; ")).collect();
        insta::assert_snapshot!(said.join("\n"), @"
        the drive counts 4 unsafe shutdowns, no more than before the run: its power was not cut
        the control lanes completed 100 writes without ever asking for durability, and none of them is missing: the cut did not reach the cache (a drive with power-loss protection may do that: say so with --protected when writing)
        none of the 100 writes that the control lanes completed is missing, as is possible where a flush of another lane was under way: nothing shows whether the cut reached the cache. The drive's own count of unsafe shutdowns would (write and check as root), or another run with rarer flushes (--lanes 1 --fua-lanes 0 --writes-per-sync 256)
        nothing shows that power was cut: the drive's count of unsafe shutdowns is not known, no write of a control lane is missing that only the drive can have lost, and no recorder's command cut it; where you cut it yourself, say --power-was-cut
        10 syncs returned and 0 flushes reached the drive's driver, although it has a volatile cache and so many syncs take 2 flushes at least: the drive was not asked each time
        nothing had been acknowledged when the run ended, so nothing could be lost: let it write for longer
        1 sectors, the first at byte 4096, hold records that this run cannot have written: an error of flushmark, please report it
        ");
    }

    #[test]
    fn each_sign_has_its_sentence() {
        let all = Circumstance { cut_by_recorder: true, on_word: true, ..cut() };
        let said: Vec<String> = signs(&all).iter().map(Sign::sentence).collect();
        insta::assert_snapshot!(said.join("\n"), @"
        the drive counts 5 unsafe shutdowns, and counted 4 before the run
        the drive lost unsynced writes of the control lanes in 3 slots
        the recorder's cut command ended well and the run broke off, which proves as much as that command does
        whoever checks says so (--power-was-cut)
        ");
    }
}
