//! The conditions under which a run proves anything. A test without a power cut, or without
//! flushes, is void, not passed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ledger::Cycle;
use crate::verdict::Legal;

/// Facts about the power cut and the path to the drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Circumstance {
    /// The drive's count of unsafe shutdowns before the run.
    pub unsafe_shutdowns_before: Option<u64>,
    /// The count now.
    pub unsafe_shutdowns_now: Option<u64>,
    /// The losses of lanes that never flush; `None` if there are no such lanes, or if not only the
    /// drive could have lost their writes.
    pub control: Option<Legal>,
    /// True if the drive has power-loss protection, because the user says so or because it has no
    /// volatile cache.
    pub protected: bool,
    /// True if the recorder's cut command succeeded, and the run was interrupted.
    pub cut_by_recorder: bool,
    /// True if the user states that the power was cut.
    pub on_word: bool,
    /// True if the kernel assumes a volatile cache, and so has a reason to send flushes.
    pub volatile_cache: Option<bool>,
    /// Syncs that returned, and flushes that the drive's driver counted meanwhile.
    pub syncs_and_flushes: Option<(u64, u64)>,
    /// Number of lanes that sync.
    pub flush_lanes: u16,
    /// Number of records that the run cannot have written, and the address of the first.
    pub never_issued: Option<(u64, u64)>,
    pub acknowledged_writes: u64,
    /// The drive's activity when power was lost.
    pub at_cut: AtCut,
}

/// The drive's activity when it lost power, as far as the record shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum AtCut {
    /// It may have been executing a flush, which also saves the writes of control lanes.
    Flush,
    #[default]
    NoFlush,
}

impl AtCut {
    /// The state at the end of a recorded cycle.
    pub(crate) fn of(cycle: Option<&Cycle>) -> AtCut {
        if cycle.is_some_and(Cycle::flush_under_way) { AtCut::Flush } else { AtCut::NoFlush }
    }
}

/// A sign that the power was cut. A reboot is none, because a reset does not interrupt the drive's
/// power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Sign {
    /// The drive counted an unsafe shutdown.
    Counted { before: u64, now: u64 },
    /// Writes of control lanes are missing, which only the drive can have lost.
    ControlLost { slots: u64 },
    /// The recorder's cut command succeeded, and the run was interrupted.
    Recorder,
    /// The user states it.
    Word,
}

impl Sign {
    pub fn sentence(&self) -> String {
        match self {
            Sign::Counted { before, now } => {
                format!(
                    "the drive's count of unsafe shutdowns rose from {before} before the run \
                         to {now}"
                )
            }
            Sign::ControlLost { slots } => {
                format!("the drive lost unsynced writes of the control lanes in {slots} slots")
            }
            Sign::Recorder => {
                "the recorder's cut command succeeded and the run was interrupted, which is as \
                 reliable as that command"
                    .to_owned()
            }
            Sign::Word => "you state it (--power-was-cut)".to_owned(),
        }
    }
}

/// All signs that the power was cut.
pub(crate) fn signs(about: &Circumstance) -> Vec<Sign> {
    let counted = about.unsafe_shutdowns_before.zip(about.unsafe_shutdowns_now);
    [
        counted
            .filter(|(before, now)| now > before)
            .map(|(before, now)| Sign::Counted { before, now }),
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
    /// The drive counted no unsafe shutdown.
    NoUnsafeShutdown {
        /// The drive's count, before and after the run.
        count: u64,
    },
    /// Writes that were never flushed survived too.
    ControlLostNothing {
        /// Completed writes of control lanes.
        completed: u64,
    },
    /// Writes that were never flushed survived, which may be due to a flush of another lane.
    ControlFlushed {
        /// Completed writes of control lanes.
        completed: u64,
    },
    /// Nothing shows that the power was cut.
    NoSignOfACut,
    /// Too few flushes reached the driver for the acknowledged syncs, although the drive has a
    /// volatile cache.
    TooFewFlushes {
        /// Syncs that returned.
        syncs: u64,
        /// Flushes that the driver counted.
        flushes: u64,
        /// The minimum number of flushes for so many syncs.
        least: u64,
    },
    NothingAcknowledged,
    /// Records were found that the run cannot have written: a bug in flushmark.
    NeverIssued {
        sectors: u64,
        /// Address of the first one.
        first_bytes: u64,
    },
}

impl Void {
    pub fn sentence(&self) -> String {
        match self {
            Void::NoUnsafeShutdown { count } => format!(
                "the drive counts {count} unsafe shutdowns, as many as before the run, so its \
                 power was not cut"
            ),
            Void::ControlLostNothing { completed } => format!(
                "none of the {completed} writes of the control lanes, which never sync, is \
                 missing, so the cut did not reach the cache; if the drive has power-loss \
                 protection, write with --protected"
            ),
            Void::ControlFlushed { completed } => format!(
                "none of the {completed} completed writes of the control lanes is missing, but a \
                 flush of another lane may have saved them, so nothing shows whether the cut \
                 reached the cache. Write and check as root to read the drive's count of unsafe \
                 shutdowns, or flush less often (--lanes 1 --fua-lanes 0 --writes-per-sync 256)"
            ),
            Void::NoSignOfACut => "nothing shows that power was cut: the drive's count of unsafe \
                                   shutdowns is unknown, the drive lost no write of a control \
                                   lane, and no recorder's command cut the power; if you cut it \
                                   yourself, use --power-was-cut"
                .to_owned(),
            Void::TooFewFlushes { syncs, flushes, least } => format!(
                "{syncs} syncs returned but only {flushes} flushes reached the driver of a drive \
                 with a volatile cache; at least {least} are needed, so some syncs did not reach \
                 the drive"
            ),
            Void::NothingAcknowledged => "nothing was acknowledged before the run ended, so \
                                          nothing could be lost; let it write for longer"
                .to_owned(),
            Void::NeverIssued { sectors, first_bytes } => format!(
                "{sectors} sectors, the first at byte {first_bytes}, hold records that this run \
                 cannot have written; this is a bug in flushmark, please report it"
            ),
        }
    }

    /// Returns whether it voids a loss too, and not only a success.
    pub fn voids_a_failure(&self) -> bool {
        matches!(self, Void::NeverIssued { .. })
    }
}

/// All reasons why a run is void.
pub(crate) fn voids(about: &Circumstance) -> Vec<Void> {
    let mut voids = Vec::new();
    if let Some((before, now)) = about.unsafe_shutdowns_before.zip(about.unsafe_shutdowns_now)
        && now <= before
    {
        // The drive's own count overrides everything else.
        voids.push(Void::NoUnsafeShutdown { count: now });
    } else if let Some(legal) =
        about.control.filter(|legal| !about.protected && lost_nothing(legal))
    {
        let completed = legal.control_completed;
        if about.at_cut == AtCut::NoFlush {
            // Even if the drive counted a cut: it kept what it had not written out.
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

/// Returns whether the drive itself counted an unsafe shutdown. Other signs of a cut do not show
/// that it reached the cache.
fn is_counted(about: &Circumstance) -> bool {
    signs(about).iter().any(|sign| matches!(sign, Sign::Counted { .. }))
}

/// Returns whether control lanes had something to lose and kept it. Nothing is known to be missing
/// if no write was recorded.
const fn lost_nothing(legal: &Legal) -> bool {
    legal.control_completed > 0 && legal.control_lost == 0
}

/// One flush can serve every waiting lane, but each lane only once, because it continues only when
/// its sync has returned.
fn too_few_flushes(about: &Circumstance) -> Option<Void> {
    let (syncs, flushes) =
        about.syncs_and_flushes.filter(|_| about.volatile_cache == Some(true))?;
    let least = syncs / u64::from(about.flush_lanes.max(1));
    // The two counts are not read at the same moment, so allow for a count somewhat below the
    // minimum.
    (syncs > 0 && flushes <= least / 2).then_some(Void::TooFewFlushes {
        syncs,
        flushes,
        least: least.max(1),
    })
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

    /// A protected drive without a count, whose control lane loses nothing, as an ordinary user
    /// sees it.
    fn silent() -> Circumstance {
        Circumstance {
            unsafe_shutdowns_now: None,
            protected: true,
            control: Some(lost(0)),
            ..cut()
        }
    }

    #[test]
    fn a_cut_with_losses_is_valid() {
        assert_eq!(voids(&cut()), []);
        let unknown = Circumstance { unsafe_shutdowns_now: None, syncs_and_flushes: None, ..cut() };
        assert_eq!(voids(&unknown), []);
        let uncontrolled = Circumstance { control: None, ..cut() };
        assert_eq!(voids(&uncontrolled), [], "the count rose");
        let protected = Circumstance { protected: true, control: Some(lost(0)), ..cut() };
        assert_eq!(voids(&protected), [], "the count rose");
        let no_cache =
            Circumstance { volatile_cache: Some(false), syncs_and_flushes: Some((10, 0)), ..cut() };
        assert_eq!(voids(&no_cache), [], "without a cache no flush is needed");
    }

    #[test]
    fn a_control_lane_counts_only_if_its_writes_were_recorded() {
        let counted = |control| voids(&Circumstance { control: Some(control), ..cut() });
        assert_eq!(
            counted(lost(0)),
            [Void::ControlLostNothing { completed: 100 }],
            "the count is not enough"
        );
        let unheard = Legal { control_completed: 0, ..lost(0) };
        assert_eq!(counted(unheard), [], "the count rose, and nothing contradicts it");
        let uncounted =
            Circumstance { unsafe_shutdowns_now: None, control: Some(unheard), ..cut() };
        assert_eq!(voids(&uncounted), [Void::NoSignOfACut]);
    }

    /// Under load, most cuts come during a flush, which writes out cached data of control lanes.
    #[test]
    fn a_flush_in_progress_explains_kept_control_writes_but_proves_no_cut() {
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
        assert_eq!(
            (voids(&missing), signs(&missing)),
            (vec![], vec![Sign::ControlLost { slots: 3 }])
        );
    }

    #[test]
    fn the_drives_own_count_and_control_lane_take_precedence() {
        let not_counted = Circumstance {
            unsafe_shutdowns_now: Some(4),
            on_word: true,
            cut_by_recorder: true,
            ..cut()
        };
        assert_eq!(voids(&not_counted), [Void::NoUnsafeShutdown { count: 4 }]);
        let nothing_lost = Circumstance { protected: false, on_word: true, ..silent() };
        assert_eq!(voids(&nothing_lost), [Void::ControlLostNothing { completed: 100 }]);
    }

    #[test]
    fn flushes_may_serve_each_lane_once_and_no_more() {
        let with = |syncs_and_flushes| voids(&Circumstance { syncs_and_flushes, ..cut() });
        for enough in
            [None, Some((0, 0)), Some((1000, 250)), Some((1000, 240)), Some((8, 2)), Some((3, 1))]
        {
            assert_eq!(with(enough), [], "{enough:?}");
        }
        for (syncs, flushes, least) in [(1000, 0, 250), (1000, 3, 250), (1000, 125, 250), (2, 0, 1)]
        {
            assert_eq!(
                with(Some((syncs, flushes))),
                [Void::TooFewFlushes { syncs, flushes, least }]
            );
        }
    }

    #[test]
    fn each_reason_has_its_sentence() {
        let all = [
            Circumstance { unsafe_shutdowns_now: Some(4), ..cut() },
            Circumstance { unsafe_shutdowns_now: None, control: Some(lost(0)), ..cut() },
            Circumstance {
                unsafe_shutdowns_now: None,
                control: Some(lost(0)),
                at_cut: AtCut::Flush,
                ..cut()
            },
            silent(),
            Circumstance { syncs_and_flushes: Some((10, 0)), ..cut() },
            Circumstance { acknowledged_writes: 0, ..cut() },
            Circumstance { never_issued: Some((1, 4096)), ..cut() },
        ];
        let said: Vec<String> = all
            .iter()
            .map(|about| voids(about).iter().map(Void::sentence).collect::<Vec<_>>().join("; "))
            .collect();
        insta::assert_snapshot!(said.join("\n"), @"
        the drive counts 4 unsafe shutdowns, as many as before the run, so its power was not cut
        none of the 100 writes of the control lanes, which never sync, is missing, so the cut did not reach the cache; if the drive has power-loss protection, write with --protected
        none of the 100 completed writes of the control lanes is missing, but a flush of another lane may have saved them, so nothing shows whether the cut reached the cache. Write and check as root to read the drive's count of unsafe shutdowns, or flush less often (--lanes 1 --fua-lanes 0 --writes-per-sync 256)
        nothing shows that power was cut: the drive's count of unsafe shutdowns is unknown, the drive lost no write of a control lane, and no recorder's command cut the power; if you cut it yourself, use --power-was-cut
        10 syncs returned but only 0 flushes reached the driver of a drive with a volatile cache; at least 2 are needed, so some syncs did not reach the drive
        nothing was acknowledged before the run ended, so nothing could be lost; let it write for longer
        1 sectors, the first at byte 4096, hold records that this run cannot have written; this is a bug in flushmark, please report it
        ");
    }

    #[test]
    fn each_sign_has_its_sentence() {
        let all = Circumstance { cut_by_recorder: true, on_word: true, ..cut() };
        let said: Vec<String> = signs(&all).iter().map(Sign::sentence).collect();
        insta::assert_snapshot!(said.join("\n"), @"
        the drive's count of unsafe shutdowns rose from 4 before the run to 5
        the drive lost unsynced writes of the control lanes in 3 slots
        the recorder's cut command succeeded and the run was interrupted, which is as reliable as that command
        you state it (--power-was-cut)
        ");
    }
}
