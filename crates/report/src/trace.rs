//! The time of traced commits, stage by stage.

use measurement::{
    Anatomy, Company, Drawn, DrawnRequest, Histogram, Layer, Reached, Stage, TestResult,
    TraceDocument, TraceRecord,
};
use workload::number::{about_bytes, latency, number, seconds};

use crate::columns::{Column, Columns, NONE};
use crate::drive_traffic::commands_given;
use crate::findings::findings;
use crate::look::{Look, paint};
use crate::prose::counted;

/// Threads named in one sentence.
const NAMED: usize = 3;
/// Requests of the drawn commit that are listed.
const LISTED: usize = 8;
/// Events with a lower count per commit are not listed.
const RARE: f64 = 0.005;
/// Width of the names of layers.
const LANE: usize = 13;

/// The sentence about a trace without commits.
pub const NO_COMMIT: &str = "No commit was seen: no fsync or fdatasync, and no write that had to be \
                             durable when it returned.";

/// The name of a stage.
pub fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Thread => "thread works",
        Stage::DataQueue => "data waits in the block layer",
        Stage::DataWrite => "data write",
        Stage::EarlierCommit => "earlier commit of the journal",
        Stage::JournalStart => "journal's thread is woken",
        Stage::Journal => "journal works",
        Stage::LogQueue => "journal waits in the block layer",
        Stage::LogWrite => "journal write",
        Stage::FlushQueue => "flush waits",
        Stage::Flush => "flush",
        Stage::OtherWrites => "writes of others",
        Stage::WakeUp => "wake-up",
        Stage::Unexplained => "unexplained",
    }
}

/// The page of `flushmark trace`.
pub fn trace_page(document: &TraceDocument, look: &Look) -> String {
    let mut text = look.heading(&format!("Commits of {}", document.subject));
    text += &look.paragraph(&circumstances(document));
    if document.trace.anatomies.is_empty() {
        text += &look.paragraph(NO_COMMIT);
    }
    for anatomy in &document.trace.anatomies {
        text.push('\n');
        text += &anatomy_text(anatomy, look);
    }
    text += &commands_given(&document.trace.traffic, look);
    if !document.findings.is_empty() {
        text.push('\n');
        text += &findings(&document.findings, look);
    }
    look.finish(text)
}

fn circumstances(document: &TraceDocument) -> String {
    let kernel = match document.kernel.as_str() {
        "" => String::new(),
        kernel => format!(" Linux {kernel}."),
    };
    format!("{}{kernel}", recorded(&document.trace))
}

/// A sentence on the length of the trace, and on events that were lost or are missing.
pub fn recorded(trace: &TraceRecord) -> String {
    let lost = match (trace.lost, trace.lost_uncounted) {
        (0, false) => "none lost".to_owned(),
        (0, true) => "some lost, the kernel does not say how many".to_owned(),
        (lost, false) => format!("{} lost", number(lost as f64)),
        (lost, true) => format!("more than {} lost", number(lost as f64)),
    };
    let missing = if trace.missing.is_empty() {
        String::new()
    } else {
        format!("; this kernel has no {}", trace.missing.join(", "))
    };
    format!(
        "Traced for {}: {} events, {lost}{missing}.",
        seconds(trace.seconds),
        number(trace.events as f64)
    )
}

/// The anatomies of the tests that were traced, below the name of each.
pub(crate) fn traces(results: &[TestResult], look: &Look) -> String {
    let mut text = String::new();
    for (test, trace) in
        results.iter().filter_map(|result| Some((&result.test, result.trace.as_ref()?)))
    {
        text += if text.is_empty() { "" } else { "\n" };
        text += &look.heading(&format!("Commits of {test}"));
        text += &look.paragraph(&recorded(trace));
        for anatomy in &trace.anatomies {
            text.push('\n');
            text += &anatomy_text(anatomy, look);
        }
        text += &commands_given(&trace.traffic, look);
    }
    look.finish(text)
}

/// The sentences about an anatomy.
pub struct AnatomyWords {
    /// The call, filesystem and drives.
    pub title: String,
    /// The number of commits, the programs that made them, and the time they took.
    pub commits: String,
    /// The requests that reached the drive for each commit.
    pub per_commit: String,
    /// Requests of others, if there were any.
    pub others: Option<String>,
}

impl AnatomyWords {
    /// ```
    /// let words = report::AnatomyWords::of(&measurement::Anatomy::default());
    /// assert_eq!(words.per_commit, "nothing reached a drive.");
    /// ```
    pub fn of(anatomy: &Anatomy) -> AnatomyWords {
        let filesystem = anatomy.filesystem.as_deref();
        let on = filesystem.map_or_else(String::new, |filesystem| format!(" on {filesystem}"));
        let devices = if anatomy.devices.is_empty() {
            ", no drive".to_owned()
        } else {
            format!(", {}", anatomy.devices.join(" and "))
        };
        AnatomyWords {
            title: format!("{}{on}{devices}", anatomy.call),
            commits: commits_sentence(anatomy),
            per_commit: reached_words(anatomy),
            others: company_words(&anatomy.company),
        }
    }
}

fn anatomy_text(anatomy: &Anatomy, look: &Look) -> String {
    let words = AnatomyWords::of(anatomy);
    let mut text = look.heading(&words.title);
    text += &look.paragraph(&words.commits);
    text += &stages_table(anatomy, look);
    text += &look.hanging("  Per commit: ", &words.per_commit);
    if let Some(words) = words.others {
        text += &look.hanging("  Others: ", &words);
    }
    text += &drawing("The median commit", &anatomy.median, look);
    if anatomy.longest.ns > anatomy.median.ns {
        text += &drawing("The longest commit", &anatomy.longest, look);
    }
    text
}

fn commits_sentence(anatomy: &Anatomy) -> String {
    let named = anatomy.committers.iter().take(NAMED);
    let named = named.map(|one| format!("{} ({})", one.command, one.thread));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = anatomy.committers.len().saturating_sub(NAMED);
    let more = if more > 0 { " and others" } else { "" };
    let figures = anatomy.commits.summary().map_or_else(String::new, |summary| {
        format!(
            ": median {}, p99 {}, longest {}",
            latency(summary.p50),
            latency(summary.p99),
            latency(summary.max)
        )
    });
    format!("{} by {named}{more}{figures}.", counted(anatomy.commits.count(), "commit"))
}

struct Row {
    name: String,
    mean_us: f64,
    share: f64,
    quantiles: Option<(f64, f64)>,
    slowest_us: Option<f64>,
}

fn quantiles(histogram: &Histogram) -> Option<(f64, f64)> {
    histogram.summary().map(|summary| (summary.p50, summary.p99))
}

fn stages_table(anatomy: &Anatomy, look: &Look) -> String {
    let commit_us = anatomy.commit_us();
    let mut rows: Vec<Row> = anatomy
        .stages
        .iter()
        .map(|(&stage, times)| Row {
            name: stage_name(stage).to_owned(),
            mean_us: anatomy.mean_us(stage),
            share: if commit_us > 0.0 { anatomy.mean_us(stage) / commit_us } else { 0.0 },
            quantiles: quantiles(&times.times),
            slowest_us: anatomy.slowest_us.get(&stage).copied(),
        })
        .collect();
    rows.push(Row {
        name: "the call".to_owned(),
        mean_us: commit_us,
        share: 1.0,
        quantiles: quantiles(&anatomy.commits),
        slowest_us: Some(anatomy.slowest_us.values().sum()),
    });
    let quantile = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), latency);
    Columns::<Row>::new()
        .with(Column::left("stage"), |row| row.name.clone())
        .with(Column::right("mean"), |row| latency(row.mean_us))
        .with(Column::right("share"), |row| format!("{:.1} %", row.share * 100.0))
        .with(Column::right("median"), move |row| quantile(row.quantiles.map(|two| two.0)))
        .with(Column::right("p99"), move |row| quantile(row.quantiles.map(|two| two.1)))
        .with(Column::right("slowest 1 %"), |row| row.slowest_us.map(latency))
        .of(&rows, look)
}

fn reached_words(anatomy: &Anatomy) -> String {
    let count = anatomy.commits.count().max(1) as f64;
    let Reached { data_writes, journal_writes, bytes, .. } = anatomy.reached;
    let reached = &anatomy.reached;
    let mut words = Vec::new();
    let writes = (data_writes + journal_writes) as f64;
    for (times, what) in [
        (data_writes, "data writes"),
        (journal_writes, "journal writes"),
        (reached.bare_flushes, "flushes without data"),
        (reached.flushes_before, "flushes before a write"),
        (reached.flushes_after, "flushes after a write in place of FUA"),
        (reached.shared_flushes, "flushes shared with others"),
        (reached.fua_asked, "FUA asked for"),
        (reached.fua_sent, "FUA sent"),
        (reached.merged, "merged"),
        (reached.split, "split"),
        (reached.discards, "discards"),
        (reached.failed, "failed"),
    ] {
        let each = times as f64 / count;
        if each >= RARE || (what == "FUA sent" && reached.fua_asked > 0) {
            words.push(format!("{what} {}", number(each)));
        }
    }
    if writes > 0.0 {
        let each = about_bytes((bytes as f64 / writes) as u64);
        let all = about_bytes((bytes as f64 / count) as u64);
        words.push(format!("{all} written in requests of {each}"));
    }
    if words.is_empty() {
        return "nothing reached a drive.".to_owned();
    }
    words.join("; ") + "."
}

fn company_words(company: &Company) -> Option<String> {
    if company.accompanied == 0 && company.after_earlier_commit == 0 {
        return None;
    }
    let mut sentences = Vec::new();
    if company.accompanied > 0 {
        let others = company.others.iter().take(NAMED);
        let others = others.map(|one| format!("{} ({})", one.command, one.thread));
        let alone = if company.alone > 0 {
            format!(", and the other {} {}", counted(company.alone, "commit"), {
                latency(company.alone_mean_us)
            })
        } else {
            String::new()
        };
        sentences.push(format!(
            "while {} at the drive, so were requests of {}; these took {} on average{alone}.",
            match company.accompanied {
                1 => "1 commit was".to_owned(),
                more => format!("{} commits were", number(more as f64)),
            },
            others.collect::<Vec<_>>().join(", "),
            latency(company.accompanied_mean_us)
        ));
    }
    if company.after_earlier_commit > 0 {
        sentences.push(format!(
            "{} waited for a commit of the journal that had begun before.",
            counted(company.after_earlier_commit, "commit")
        ));
    }
    Some(sentences.join(" "))
}

/// The letter of a stage in a drawing.
const fn letter(stage: Stage) -> char {
    match stage {
        Stage::Thread => 't',
        Stage::WakeUp => 'w',
        Stage::Unexplained => '?',
        Stage::EarlierCommit => 'e',
        Stage::JournalStart => 's',
        Stage::Journal => 'j',
        Stage::DataQueue | Stage::LogQueue | Stage::FlushQueue => 'q',
        Stage::DataWrite => 'W',
        Stage::LogWrite => 'J',
        Stage::Flush => 'F',
        Stage::OtherWrites => 'o',
    }
}

/// A commit to scale: each column shows, in one lane, what took most of its time.
fn drawing(title: &str, drawn: &Drawn, look: &Look) -> String {
    if drawn.ns == 0 {
        return String::new();
    }
    let width = look.columns().saturating_sub(LANE + 2).min(80);
    let columns: Vec<Option<Stage>> = (0..width).map(|index| column(drawn, index, width)).collect();
    let in_layer =
        |layer: Layer| Stage::ALL.into_iter().filter(move |stage| stage.layer() == layer);
    let mut legend: Vec<String> = Vec::new();
    for stage in Layer::ALL.into_iter().flat_map(in_layer) {
        let words = match letter(stage) {
            'q' => "q waits".to_owned(),
            letter => format!("{letter} {}", stage_name(stage)),
        };
        if columns.contains(&Some(stage)) && !legend.contains(&words) {
            legend.push(words);
        }
    }
    let words =
        format!("{title}, {} to scale: {}", latency(drawn.ns as f64 / 1e3), { legend.join(", ") });
    let mut text = look.hanging("  ", &words);
    for layer in Layer::ALL {
        let letter = |stage: &Option<Stage>| {
            stage.filter(|stage| stage.layer() == layer).map_or(' ', letter)
        };
        let line: String = columns.iter().map(letter).collect();
        if !line.trim().is_empty() {
            let name = paint(look.palette.faint, &format!("{:<LANE$}", layer.name()));
            text += &format!("  {name}{}\n", line.trim_end());
        }
    }
    for request in drawn.requests.iter().take(LISTED) {
        text += &look.hanging("    ", &request_words(request));
    }
    let more = drawn.requests.len().saturating_sub(LISTED);
    if more > 0 {
        text += &format!("    and {}\n", counted(more as u64, "more request"));
    }
    text
}

fn column(drawn: &Drawn, index: usize, width: usize) -> Option<Stage> {
    let edge = |index: usize| (drawn.ns as f64 * index as f64 / width as f64) as u64;
    let (from, to) = (edge(index), edge(index + 1).max(edge(index) + 1));
    let within = |from_ns: u64, to_ns: u64| to_ns.min(to).saturating_sub(from_ns.max(from));
    let longest = drawn.stages.iter().max_by_key(|one| within(one.from_ns, one.to_ns))?;
    Some(longest.stage)
}

/// A request of a drawn commit: its beginning, size, place, thread and times.
pub fn request_words(request: &DrawnRequest) -> String {
    let begin = request.spans.first().map_or(0, |span| span.from_ns);
    let us = |ns: u64| latency(ns as f64 / 1e3);
    let what = match (request.sectors, request.journal) {
        (0, _) => "flush".to_owned(),
        (sectors, journal) => format!(
            "{} of {} at sector {}",
            if journal { "journal write" } else { "write" },
            about_bytes(u64::from(sectors) * 512),
            request.sector
        ),
    };
    let spans = request.spans.iter().map(|span| {
        format!("{} {}", stage_name(span.stage), us(span.to_ns.saturating_sub(span.from_ns)))
    });
    let spans = spans.collect::<Vec<_>>().join(", ");
    format!("after {}: {} {what} by {}: {spans}", us(begin), request.flags, request.command)
}

#[cfg(test)]
mod tests {
    use measurement::{DriveTraffic, OperationCounts};

    use super::*;

    fn document(anatomies: Vec<Anatomy>) -> TraceDocument {
        TraceDocument {
            schema: measurement::trace_document::SCHEMA.to_owned(),
            flushmark: "0.1.0".to_owned(),
            subject: "/var/lib/postgresql".to_owned(),
            kernel: "6.12.0".to_owned(),
            trace: TraceRecord {
                seconds: 10.0,
                events: 51_234,
                anatomies,
                ..TraceRecord::default()
            },
            findings: Vec::new(),
        }
    }

    #[test]
    fn a_page() {
        let page = trace_page(&document(vec![samples::fsync_on_ext4(1_000)]), &Look::plain());
        insta::assert_snapshot!(page, @"
        Commits of /var/lib/postgresql
        Traced for 10.00 s: 51,234 events, none lost. Linux 6.12.0.

        fsync on ext4, sda
        1,000 commits by postgres (4711): median 8.99 ms, p99 8.99 ms, longest 8.99 ms.
          stage                             mean    share   median      p99  slowest 1 %
          thread works                     22 µs    0.2 %    22 µs    22 µs        22 µs
          data waits in the block layer     3 µs    0.0 %     3 µs     3 µs         3 µs
          data write                      340 µs    3.8 %   340 µs   340 µs       340 µs
          journal's thread is woken        12 µs    0.1 %    12 µs    12 µs        12 µs
          journal works                    30 µs    0.3 %    30 µs    30 µs        30 µs
          journal write                   260 µs    2.9 %   260 µs   260 µs       260 µs
          flush waits                       5 µs    0.1 %     5 µs     5 µs         5 µs
          flush                           8.3 ms   92.3 %   8.3 ms   8.3 ms       8.3 ms
          wake-up                          18 µs    0.2 %    18 µs    18 µs        18 µs
          the call                       8.99 ms  100.0 %  8.99 ms  8.99 ms      8.99 ms
          Per commit: data writes 1; journal writes 2; flushes before a write 1; flushes after a write in
                      place of FUA 1; FUA asked for 1; FUA sent 0; merged 1; 12 KiB written in requests of
                      4 KiB.
          The median commit, 8.99 ms to scale: W data write, J journal write, F flush
          drive        WWWFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFJJFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF
            after 22 µs: WS write of 4 KiB at sector 2048 by postgres: data waits in the block layer 3 µs,
            data write 340 µs
            after 407 µs: FWFSM journal write of 4 KiB at sector 90120 by jbd2/sda-8: flush waits 5 µs,
            flush 4.1 ms, journal write 260 µs, flush 4.2 ms
        ");
    }

    #[test]
    fn company_and_losses() {
        let mut anatomy = samples::traced("fdatasync", None, 50, &[(Stage::Flush, 100.0)]);
        anatomy.company = Company {
            alone: 30,
            alone_mean_us: 80.0,
            accompanied: 20,
            accompanied_mean_us: 130.0,
            after_earlier_commit: 4,
            others: vec![measurement::Committer {
                command: "mariadbd".to_owned(),
                thread: 99,
                count: 200,
            }],
        };
        let mut document = document(vec![anatomy]);
        (document.trace.lost, document.trace.lost_uncounted) = (1_234, true);
        document.trace.missing = vec!["block/block_rq_insert".to_owned()];
        insta::assert_snapshot!(trace_page(&document, &Look::plain()), @"
        Commits of /var/lib/postgresql
        Traced for 10.00 s: 51,234 events, more than 1,234 lost; this kernel has no block/block_rq_insert.
        Linux 6.12.0.

        fdatasync, sda
        50 commits by postgres (4711): median 100 µs, p99 100 µs, longest 100 µs.
          stage       mean    share  median     p99  slowest 1 %
          flush     100 µs  100.0 %  100 µs  100 µs       100 µs
          the call  100 µs  100.0 %  100 µs  100 µs       100 µs
          Per commit: nothing reached a drive.
          Others: while 20 commits were at the drive, so were requests of mariadbd (99); these took 130 µs
                  on average, and the other 30 commits 80 µs. 4 commits waited for a commit of the journal
                  that had begun before.
          The median commit, 100 µs to scale: F flush
          drive        FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF
        ");
    }

    #[test]
    fn commands_beside_what_was_asked() {
        let counts = |writes, fua_writes, flushes| OperationCounts {
            writes,
            fua_writes,
            flushes,
            ..OperationCounts::default()
        };
        let mut document = document(Vec::new());
        let emulated = counts(1_000, 0, 1_000);
        document.trace.traffic = vec![
            DriveTraffic {
                device: "sda".to_owned(),
                asked: counts(1_000, 1_000, 0),
                sent: emulated,
                given: OperationCounts { discards: 3, failed: 1, ..emulated },
            },
            DriveTraffic {
                device: "nvme0n1".to_owned(),
                given: counts(7, 7, 0),
                ..DriveTraffic::default()
            },
        ];
        insta::assert_snapshot!(trace_page(&document, &Look::plain()), @"
        Commits of /var/lib/postgresql
        Traced for 10.00 s: 51,234 events, none lost. Linux 6.12.0.
        No commit was seen: no fsync or fdatasync, and no write that had to be durable when it returned.

        Commands that drives were given
          drive    level                     writes  with FUA  flushes  discards  failed
          sda      asked of the block layer   1,000     1,000        0         -       -
          sda      sent to the driver         1,000         0    1,000         -       -
          sda      given to the drive         1,000         0    1,000         3       1
          nvme0n1  given to the drive             7         7        0         -       -
        ");
    }

    #[test]
    fn nothing_was_seen() {
        insta::assert_snapshot!(trace_page(&document(Vec::new()), &Look::plain()), @"
        Commits of /var/lib/postgresql
        Traced for 10.00 s: 51,234 events, none lost. Linux 6.12.0.
        No commit was seen: no fsync or fdatasync, and no write that had to be durable when it returned.
        ");
    }
}
