//! Names of operations and settings as shown to the user, and evidence built from results.

use measurement::{Evidence, TestResult};
use workload::{Operation, SpaceCall, Submission, SyncMethod, TargetName};

use crate::case::Case;

/// The way to switch a drive's write cache: a command, or for a model a part of the target name.
pub(crate) fn switch_cache(setting: &str, disk: &str) -> String {
    match TargetName::parse(disk) {
        TargetName::Model(_) => format!("`--target {disk},write-cache={setting}`"),
        _ => format!("`flushmark cache {setting} {disk}`"),
    }
}

/// The command that measures both settings of the write cache.
pub(crate) fn measure_write_cache(case: &Case<'_>) -> String {
    let path = shell_word(&case.path());
    if case.is_modelled() {
        format!("`flushmark run write-cache {path}`")
    } else {
        let option = if case.is_raw_device() { "--destroy-data" } else { "--in-use" };
        format!("`sudo flushmark run write-cache {path} {option}`")
    }
}

/// Quotes `text` for a POSIX shell so that it stays one word when pasted.
pub fn shell_word(text: &str) -> String {
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:,=@%+".contains(&byte);
    if !text.is_empty() && text.bytes().all(harmless) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// The text with its first letter in upper case, as a sentence begins.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The mount option that re-enables flushes after `option` disabled them, if a remount can do it.
pub(crate) fn option_restoring_flushes(option: &str) -> Option<&'static str> {
    match option {
        "nobarrier" | "barrier=0" => Some("barrier"),
        "barrier=none" | "barrier=off" => Some("barrier=flush"),
        "fsync_mode=nobarrier" => Some("fsync_mode=posix"),
        _ => None,
    }
}

/// The name of the method as in the manual pages.
pub(crate) const fn sync_name(sync: SyncMethod) -> &'static str {
    match sync {
        SyncMethod::None => "no sync",
        SyncMethod::Fsync => "fsync",
        SyncMethod::Fdatasync => "fdatasync",
        SyncMethod::OSync => "O_SYNC",
        SyncMethod::ODsync => "O_DSYNC",
        SyncMethod::RwfDsync => "RWF_DSYNC",
        SyncMethod::LinkedFsync => "linked fsync",
        SyncMethod::LinkedFdatasync => "linked fdatasync",
    }
}

/// Says whether a write with a flag at depth 1 was asynchronous: on a raw device that is FUA alone,
/// while `pwrite` also flushes. Deeper queues are always asynchronous.
pub(crate) fn submission_suffix(result: &TestResult) -> &'static str {
    match result.comparable_workload().submission {
        Some(Submission::Asynchronous) if result.workload.depth == 1 => ", asynchronous",
        _ => "",
    }
}

/// A short description of a test's workload: `4 KiB write + fsync`, `4 KiB write`,
/// `16 KiB write + fdatasync, 8 jobs`, `4 KiB read`.
pub fn operation_name(result: &TestResult) -> String {
    let work = &result.workload;
    let block = work.block_title();
    let jobs = if work.jobs == 1 { String::new() } else { format!(", {} jobs", work.jobs) };
    let Some(pattern) = work.pattern else { return format!("a turn of {block}{jobs}") };
    let verb = match pattern.operation() {
        Operation::Transfer if pattern.writes() => "write",
        Operation::Transfer => "read",
        Operation::Space(SpaceCall::Discard) => "discard",
        Operation::Space(SpaceCall::Allocate | SpaceCall::Reserve) => "fallocate",
        Operation::Space(SpaceCall::Exchange) => "exchange of blocks",
        Operation::Space(SpaceCall::Truncate) => return format!("ftruncate{jobs}"),
        Operation::Entry(..) => return format!("{}{jobs}", pattern.name()),
        Operation::Compute => return format!("computation{jobs}"),
    };
    match work.sync {
        Some(sync) if sync.is_durable() && pattern.writes() => {
            format!("{block} {verb} + {}{}{jobs}", sync_name(sync), submission_suffix(result))
        }
        _ => format!("{block} {verb}{jobs}"),
    }
}

/// The median of a test as evidence, rounded to the precision of the measurement.
pub(crate) fn median(result: &TestResult) -> Evidence {
    Evidence::number(format!("{} p50", operation_name(result)), rounded(result.p50_us()), "us")
}

/// A test's commits per second as evidence.
pub(crate) fn commit_rate(result: &TestResult) -> Evidence {
    Evidence::number(
        format!("{} rate", operation_name(result)),
        rounded(result.commits_per_s.unwrap_or(0.0)),
        "commits/s",
    )
}

/// A test's flushes per commit as evidence, if the device counts them.
pub(crate) fn flushes(result: &TestResult) -> Option<Evidence> {
    let per_commit = result.flushes_per_commit()?;
    Some(Evidence::number(
        format!("{}: flushes", operation_name(result)),
        rounded(per_commit),
        "per commit",
    ))
}

/// Two decimals below 100, one above: histograms keep three significant digits.
pub(crate) fn rounded(value: f64) -> f64 {
    let scale = if value < 100.0 { 100.0 } else { 10.0 };
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_keeps_what_was_measured() {
        let two_decimals_or_one = [0.126, 99.126, 100.26, 1234.56].map(rounded);
        assert_eq!(
            two_decimals_or_one.map(|value| value.to_string()),
            ["0.13", "99.13", "100.3", "1234.6"]
        );
    }

    #[test]
    fn a_quoted_path_stays_one_shell_word() {
        assert_eq!(
            shell_word("/dev/disk/by-id/a_b.c:d,e=f@g%h+i"),
            "/dev/disk/by-id/a_b.c:d,e=f@g%h+i"
        );
        assert_eq!(
            ["", "a b", "a;b", "it's"].map(shell_word),
            ["''", "'a b'", "'a;b'", "'it'\\''s'"]
        );
        assert_eq!(switch_cache("off", "/dev/sda"), "`flushmark cache off /dev/sda`");
        assert_eq!(switch_cache("off", "sim:a-drive"), "`--target sim:a-drive,write-cache=off`");
    }

    #[test]
    fn each_option_that_disables_flushes_has_a_counterpart() {
        let options = [
            "nobarrier", "barrier=0", "barrier=none", "barrier=off", "fsync_mode=nobarrier",
            "volatile",
        ];
        let back =
            ["barrier", "barrier", "barrier=flush", "barrier=flush", "fsync_mode=posix"].map(Some);
        assert_eq!(options.map(option_restoring_flushes)[..5], back);
        assert_eq!(option_restoring_flushes("volatile"), None);
    }

    #[test]
    fn operation_names_are_short() {
        use workload::Pattern;

        use samples::machine::{read, write};
        let of = |change: fn(&mut TestResult)| {
            let mut result = write(SyncMethod::ODsync, 10.0, 0.0).result();
            change(&mut result);
            operation_name(&result)
        };
        assert_eq!(of(|_| ()), "4 KiB write + O_DSYNC");
        let asynchronous =
            |result: &mut TestResult| result.workload.submission = Some(Submission::Asynchronous);
        assert_eq!(of(asynchronous), "4 KiB write + O_DSYNC, asynchronous");
        assert_eq!(
            of(|result| {
                result.workload.submission = Some(Submission::Asynchronous);
                (result.workload.depth, result.workload.jobs) = (8, 2);
            }),
            "4 KiB write + O_DSYNC, 2 jobs"
        );
        assert_eq!(of(|result| result.workload.pattern = None), "a turn of 4 KiB");
        assert_eq!(of(|result| result.workload.pattern = Some(Pattern::RandRead)), "4 KiB read");
        assert_eq!(of(|result| result.workload.sync = Some(SyncMethod::None)), "4 KiB write");
        assert_eq!(operation_name(&read(80.0).jobs(4).result()), "4 KiB read, 4 jobs");
        for pattern in Pattern::ALL.into_iter().filter(|pattern| pattern.trims()) {
            let mut discarding = read(80.0).result();
            discarding.workload.pattern = Some(pattern);
            assert_eq!(operation_name(&discarding), "4 KiB discard", "{pattern:?}");
        }
        for (pattern, name) in [
            (Pattern::RandAllocate, "4 KiB fallocate, 2 jobs"),
            (Pattern::Reserve, "4 KiB fallocate, 2 jobs"),
            (Pattern::RandTruncate, "ftruncate, 2 jobs"),
            (Pattern::Create, "create, 2 jobs"),
            (Pattern::StatDir, "statdir, 2 jobs"),
        ] {
            let mut other = read(80.0).jobs(2).result();
            other.workload.pattern = Some(pattern);
            assert_eq!(operation_name(&other), name);
        }
    }
}
