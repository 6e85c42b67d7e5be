//! `flushmark ceph osds`: the OSDs in the order of their speed, and where the time of a write goes.

use ceph::latency::Cause;
use judge::OsdRow;
use measurement::RunDocument;
use workload::number::{latency, number};

use crate::columns::{Column, Columns};
use crate::findings::findings;
use crate::look::{Glyphs, Look};
use crate::notes::notes;

/// Length of a bar in characters.
const BAR: f64 = 30.0;

/// The page.
pub fn osds(document: &RunDocument, look: &Look) -> String {
    let mut text = String::new();
    if let Some(ceph) = &document.target.ceph {
        let copies = match ceph.replicas {
            Some(1) => ", one replica".to_owned(),
            Some(copies) => format!(", size={copies}: writes include the copies on other OSDs"),
            None => String::new(),
        };
        text += &format!("\ncluster {}, pool {}{copies}\n", ceph.cluster, ceph.pool);
    }
    if document.results.is_empty() {
        return text;
    }
    text += &format!("\n{}", tables(document, look));
    let found = findings(&document.findings, look);
    if !found.is_empty() {
        text += &format!("\n{found}");
    }
    text
}

/// The ranking, slowest first, because that is what is looked for; and where the time goes.
pub(super) fn tables(document: &RunDocument, look: &Look) -> String {
    let rows = judge::osd_rows(&document.results);
    let mut text =
        look.heading("Writes of 4 KiB over existing data at depth 1, OSD by OSD, slowest first");
    text += &look.finish(ranking(&rows, look));
    let times = times(&rows, look);
    if !times.is_empty() {
        text += &format!("\n{}{times}", look.heading("Where the time of a write goes (mean)"));
    }
    let notes = notes(&document.results, &document.skipped, look);
    if !notes.is_empty() {
        text += &format!("\n{notes}");
    }
    let are_compared = rows.iter().any(|row| row.standing.is_some_and(|one| one.z.is_some()));
    if !are_compared {
        text += "\nToo few OSDs to compare: a device class needs three.\n";
    } else if !document.findings.iter().any(|finding| finding.id == "ceph-slow-osd") {
        text += "\nNo OSD is slower than its peers by more than they differ.\n";
    }
    text
}

fn ranking(rows: &[OsdRow<'_>], look: &Look) -> String {
    Columns::<OsdRow<'_>>::new()
        .with(Column::left("OSD"), |row| row.osd.name())
        .with(Column::left("host").optional(), |row| row.osd.host.clone())
        .with(Column::left("class").optional(), |row| row.osd.class.clone())
        .with(Column::right("commits/s"), |row| {
            row.write.map(|result| number(result.commits_per_s.unwrap_or(result.iops)))
        })
        .with(Column::right("p50"), |row| {
            row.write.and_then(|one| Some(latency(one.commit_us?.p50)))
        })
        .with(Column::right("p99"), |row| {
            row.write.and_then(|one| Some(latency(one.commit_us?.p99)))
        })
        .with(Column::right("p99.9").may_drop(3), |row| {
            row.write.and_then(|one| Some(latency(one.commit_us?.p99_9)))
        })
        .with(Column::right("max").may_drop(2), |row| {
            row.write.and_then(|one| Some(latency(one.commit_us?.max)))
        })
        .with(Column::right("× median"), |row| row.standing.map(|one| number(one.ratio)))
        .with(Column::right("z").optional(), |row| row.standing.and_then(|one| one.z).map(number))
        .with(Column::right("read p50"), |row| {
            row.read.and_then(|one| Some(latency(one.read_us?.p50)))
        })
        .with(Column::right("first write").may_drop(1).optional(), |row| {
            row.osd.first_write_us.map(|us| latency(us.p50))
        })
        .with(Column::right("at depth").optional(), |row| {
            row.deep.map(|one| format!("{} ({})", number(one.iops), one.workload.depth))
        })
        .of(rows, look)
}

/// The shares of each cause, as a bar and in microseconds.
fn times(rows: &[OsdRow<'_>], look: &Look) -> String {
    let most = rows.iter().filter_map(|row| Some(row.osd.write_time.as_ref()?.latency_us));
    let most = most.fold(0.0, f64::max);
    let known: Vec<&OsdRow<'_>> = rows.iter().filter(|row| row.osd.write_time.is_some()).collect();
    if known.is_empty() || most <= 0.0 {
        return String::new();
    }
    let mut table = Columns::<&OsdRow<'_>>::new()
        .with(Column::left("OSD"), |row| row.osd.name())
        .with(Column::right("mean"), |row| {
            row.osd.write_time.as_ref().map(|time| latency(time.latency_us))
        })
        .with(Column::right("drive alone").optional(), |row| {
            row.osd.drive.as_ref().map(|drive| latency(drive.us))
        });
    for cause in Cause::ALL {
        table = table.with(Column::right(cause.label()).optional(), move |row| {
            share(row, cause).map(latency)
        });
    }
    let glyphs = look.glyphs;
    let bar = move |row: &&OsdRow<'_>| {
        let cells = |cause| {
            let length = (share(row, cause).unwrap_or(0.0) / most * BAR).round() as usize;
            symbol(cause, glyphs).repeat(length)
        };
        Cause::ALL.map(cells).concat()
    };
    let table = table.with(Column::left("").may_drop(1), bar).of(&known, look);
    let legend: Vec<String> = Cause::ALL
        .into_iter()
        .filter(|cause| known.iter().any(|row| share(row, *cause).is_some()))
        .map(|cause| format!("{} {}", symbol(cause, glyphs), cause.label()))
        .collect();
    look.finish(format!("{table}  {}\n", legend.join("  ")))
}

fn share(row: &OsdRow<'_>, cause: Cause) -> Option<f64> {
    let shares = row.osd.write_time.as_ref()?.shares();
    shares.into_iter().find(|share| share.cause == cause).map(|share| share.us)
}

const fn symbol(cause: Cause, glyphs: Glyphs) -> &'static str {
    match (cause, glyphs) {
        (Cause::Network, _) => "~",
        (Cause::Queue, _) => "=",
        (Cause::Cpu, _) => "+",
        (Cause::Flush, Glyphs::Ascii) => "#",
        (Cause::Flush, _) => "█",
        (Cause::Copies, _) => ":",
        (Cause::Rest, _) => ".",
    }
}

#[cfg(test)]
mod tests {
    use ceph::latency::{Decomposition, Part};
    use measurement::{CephRecord, OsdRecord, TargetKind, TargetRecord, TestResult};
    use samples::machine::{read, write};
    use workload::SyncMethod;

    use super::*;

    fn time(latency_us: f64, parts: &[(Cause, f64)]) -> Decomposition {
        let part = |&(cause, us): &(Cause, f64)| Part {
            cause,
            what: "part".to_owned(),
            us,
            from: "counters".to_owned(),
        };
        let parts = parts.iter().map(part).collect();
        Decomposition { latency_us, parts, foreign_transactions: None, missing: Vec::new() }
    }

    fn results(id: u32, commit_us: f64, flush_us: f64) -> [TestResult; 2] {
        let host = Some(format!("node{}", id + 1));
        let osd = OsdRecord::new(id, host, Some("ssd".to_owned()));
        let parts = [
            (Cause::Network, 80.0),
            (Cause::Queue, 40.0),
            (Cause::Cpu, commit_us - flush_us - 120.0),
            (Cause::Flush, flush_us),
        ];
        let written = OsdRecord { write_time: Some(time(commit_us, &parts)), ..osd.clone() };
        let write = write(SyncMethod::ODsync, commit_us, 0.0).result();
        [
            TestResult { osd: Some(written), ..write },
            TestResult { osd: Some(osd), ..read(250.0).result() },
        ]
    }

    fn page(results: Vec<TestResult>) -> String {
        let ceph = CephRecord {
            cluster: "3f1c".to_owned(),
            pool: "flushmark-bench".to_owned(),
            image: None,
            size_bytes: 64 << 20,
            object_bytes: 4 << 20,
            replicas: Some(1),
            cached: false,
        };
        let target = TargetRecord::new("rados:flushmark-bench", TargetKind::Objects);
        let findings = judge::measured_osds(&ceph, &results);
        let document = samples::document(results);
        osds(&RunDocument { target: target.with_ceph(ceph), findings, ..document }, &Look::plain())
    }

    #[test]
    fn the_slow_osd_comes_first_with_its_cause() {
        let all = [results(0, 700.0, 300.0), results(1, 720.0, 310.0), results(2, 3900.0, 3400.0)];
        insta::assert_snapshot!(page(all.concat()), @"

        cluster 3f1c, pool flushmark-bench, one replica

        Writes of 4 KiB over existing data at depth 1, OSD by OSD, slowest first
          OSD    host   class  commits/s     p50      p99   p99.9     max  × median      z  read p50
          osd.2  node3  ssd          256  3.9 ms  4.09 ms  4.1 ms  4.1 ms      5.42   88.3    250 µs
          osd.1  node2  ssd        1,389  720 µs   756 µs  756 µs  756 µs         1      0    250 µs
          osd.0  node1  ssd        1,429  700 µs   735 µs  735 µs  735 µs      0.97  -0.55    250 µs

        Where the time of a write goes (mean)
          OSD      mean  network  OSD queue  OSD and BlueStore CPU  device flush
          osd.2  3.9 ms    80 µs      40 µs                 380 µs        3.4 ms
          osd.1  720 µs    80 µs      40 µs                 290 µs        310 µs
          osd.0  700 µs    80 µs      40 µs                 280 µs        300 µs
          ~ network  = OSD queue  + OSD and BlueStore CPU  █ device flush

        Findings
         1. osd.2 on node3 is slow: its writes take 3.9 ms (p50), 5.42 times the median of the ssd OSDs; 97
            % of the time that it takes longer is device flush.
            because: osd.2: write p50 3.9 ms; median of its class 720 µs; robust z-score 88.32; commits/s
                     256.4; more device flush 3.1 ms
            confidence: high
            to do: Measure a commit of the drive itself with `flushmark check`. With power-loss protection
                   it takes 20 to 100 µs; without, milliseconds. For a hard disk, put block.db on flash with
                   power-loss protection.
         2. A commit on osd.1, the median OSD, takes 720 µs (without replication): what Ceph itself costs,
            0.7 to 1 ms.
            because: commit at depth 1, p50 720 µs; commits/s 1388.9; read at depth 1, p50 250 µs
            confidence: medium
            to do: Nothing to do: drives are not what it waits for. One client at depth 1 makes
                   1,389 commits/s however many OSDs there are: more come only from depth or from more
                   clients.
        ");
    }

    #[test]
    fn two_osds_are_not_compared() {
        let text = page([results(0, 700.0, 300.0), results(1, 4000.0, 3500.0)].concat());
        assert!(text.contains("Too few OSDs to compare: a device class needs three."), "{text}");
        assert!(!text.contains("No OSD is slower"), "{text}");
    }

    #[test]
    fn equal_osds() {
        let all = [results(0, 700.0, 300.0), results(1, 720.0, 310.0), results(2, 690.0, 290.0)];
        insta::assert_snapshot!(page(all.concat()), @"

        cluster 3f1c, pool flushmark-bench, one replica

        Writes of 4 KiB over existing data at depth 1, OSD by OSD, slowest first
          OSD    host   class  commits/s     p50     p99   p99.9     max  × median      z  read p50
          osd.1  node2  ssd        1,389  720 µs  756 µs  756 µs  756 µs      1.03   0.57    250 µs
          osd.0  node1  ssd        1,429  700 µs  735 µs  735 µs  735 µs         1      0    250 µs
          osd.2  node3  ssd        1,449  690 µs  724 µs  725 µs  725 µs      0.99  -0.29    250 µs

        Where the time of a write goes (mean)
          OSD      mean  network  OSD queue  OSD and BlueStore CPU  device flush
          osd.1  720 µs    80 µs      40 µs                 290 µs        310 µs
          osd.0  700 µs    80 µs      40 µs                 280 µs        300 µs
          osd.2  690 µs    80 µs      40 µs                 280 µs        290 µs
          ~ network  = OSD queue  + OSD and BlueStore CPU  █ device flush

        No OSD is slower than its peers by more than they differ.

        Findings
         1. A commit on osd.0, the median OSD, takes 700 µs (without replication): what Ceph itself costs,
            0.7 to 1 ms.
            because: commit at depth 1, p50 700 µs; commits/s 1428.6; read at depth 1, p50 250 µs
            confidence: medium
            to do: Nothing to do: drives are not what it waits for. One client at depth 1 makes
                   1,429 commits/s however many OSDs there are: more come only from depth or from more
                   clients.
        ");
    }
}
