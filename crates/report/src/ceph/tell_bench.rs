//! `flushmark ceph tell-bench`: the OSDs' own benchmark beside what a commit costs.

use ceph::osd_bench::{BenchedOsd, ComparedWith, OsdBenchResult, TellBenchDocument};
use workload::number::{latency, number, seconds, throughput};

use crate::columns::{Column, Columns};
use crate::look::Look;

/// The page, in the order of the OSDs.
pub fn tell_bench(document: &TellBenchDocument, look: &Look) -> String {
    let mut text = look.heading("The OSDs' own benchmark (ceph tell osd.N bench)");
    text += &look.paragraph(
        "small: 3,000 blocks of 4 KiB over parts of 100 objects; large: 256 blocks of 4 MiB, each a \
         new object",
    );
    text += &table(&document.osds, look);
    text += &format!("\n{}", look.heading("What this says"));
    for sentence in explanation(document) {
        text += &look.paragraph(&sentence);
    }
    look.finish(text)
}

fn table(osds: &[BenchedOsd], look: &Look) -> String {
    let rate = |result: &OsdBenchResult| result.bytes_per_s.map(|bytes| throughput(bytes / 1e6));
    Columns::<BenchedOsd>::new()
        .with(Column::left("OSD"), |osd| format!("osd.{}", osd.id))
        .with(Column::left("host").optional().may_drop(1), |osd| osd.host.clone())
        .with(Column::left("class").optional().may_drop(2), |osd| osd.class.clone())
        .with(Column::right("small IOPS"), |osd| iops(&osd.small).map(number))
        .with(Column::right("MB/s").may_drop(3), move |osd| rate(&osd.small))
        .with(Column::right("time").may_drop(4), |osd| osd.small.elapsed_s.map(seconds))
        .with(Column::right("large IOPS").may_drop(5), |osd| iops(&osd.large).map(number))
        .with(Column::right("MB/s"), move |osd| rate(&osd.large))
        .with(Column::right("time").may_drop(4), |osd| osd.large.elapsed_s.map(seconds))
        .with(Column::right("depth 1 IOPS").optional(), |osd| {
            osd.depth_1.map(|one| number(one.commits_per_s))
        })
        .with(Column::right("commit").optional(), |osd| {
            osd.depth_1.map(|one| latency(one.commit_us))
        })
        .of(osds, look)
}

/// Older releases report bytes and time only.
fn iops(result: &OsdBenchResult) -> Option<f64> {
    let computed = || Some(result.bytes_per_s? / result.block_bytes.filter(|&b| b > 0)? as f64);
    result.iops.or_else(computed)
}

fn explanation(document: &TellBenchDocument) -> Vec<String> {
    let mut sentences = vec![
        "An OSD's benchmark queues all of its writes and waits for the last one, so many of them \
         share a flush: it shows the rate of a deep queue, which no single client gets. It also \
         leaves out the network, the placement group's log and the copies on other OSDs, and the \
         large form creates an object with each write instead of writing over one."
            .to_owned(),
    ];
    match &document.compared_with {
        Some(origin) => sentences.push(compared(document, origin)),
        None => sentences.push(
            "No result of `flushmark ceph osds` of this cluster was found; run that command to see \
             beside it what one write at a time costs, or name a result with --compare."
                .to_owned(),
        ),
    }
    sentences
}

fn compared(document: &TellBenchDocument, origin: &ComparedWith) -> String {
    let copies = match origin.replicas {
        Some(1) => ", one replica".to_owned(),
        Some(copies) => format!(", {copies} copies included"),
        None => String::new(),
    };
    let from = format!("{} of {}, pool {}{copies}", origin.result, origin.started_at, origin.pool);
    let ratio = |osd: &BenchedOsd| Some((osd.id, iops(&osd.small)? / osd.depth_1?.commits_per_s));
    let farthest = document.osds.iter().filter_map(ratio).max_by(|a, b| a.1.total_cmp(&b.1));
    let Some((id, ratio)) = farthest else {
        return format!("The result to compare with ({from}) contains none of these OSDs.");
    };
    format!(
        "At depth 1, a client sends a write only after the previous one is committed ({from}): in \
         its own benchmark, osd.{id} completes {} times as many writes per second. Judge a database \
         or a virtual machine by the figure at depth 1.",
        number(ratio)
    )
}

#[cfg(test)]
mod tests {
    use ceph::osd_bench::{DepthOne, SCHEMA};

    use super::*;

    fn result(block_bytes: u64, bytes: u64, elapsed_s: f64) -> OsdBenchResult {
        let bytes_per_s = bytes as f64 / elapsed_s;
        OsdBenchResult {
            bytes_written: Some(bytes),
            block_bytes: Some(block_bytes),
            elapsed_s: Some(elapsed_s),
            bytes_per_s: Some(bytes_per_s),
            iops: None,
        }
    }

    fn document() -> TellBenchDocument {
        let osd = |id: u32, small_s, large_s| BenchedOsd {
            id,
            host: Some("node1".to_owned()),
            class: Some("ssd".to_owned()),
            small: result(4096, 12_288_000, small_s),
            large: result(4 << 20, 1 << 30, large_s),
            depth_1: None,
        };
        TellBenchDocument {
            schema: SCHEMA.to_owned(),
            flushmark: "0".to_owned(),
            cluster: None,
            compared_with: None,
            osds: vec![osd(0, 0.32, 0.69), osd(11, 21.5, 9.8)],
        }
    }

    #[test]
    fn the_benchmark_alone() {
        insta::assert_snapshot!(tell_bench(&document(), &Look::plain()), @"
        The OSDs' own benchmark (ceph tell osd.N bench)
        small: 3,000 blocks of 4 KiB over parts of 100 objects; large: 256 blocks of 4 MiB, each a new
        object
          OSD     host   class  small IOPS  MB/s     time  large IOPS   MB/s    time
          osd.0   node1  ssd         9,375  38.4   0.32 s         371  1,556  0.69 s
          osd.11  node1  ssd           140  0.57  21.50 s        26.1    110  9.80 s

        What this says
        An OSD's benchmark queues all of its writes and waits for the last one, so many of them share a
        flush: it shows the rate of a deep queue, which no single client gets. It also leaves out the
        network, the placement group's log and the copies on other OSDs, and the large form creates an
        object with each write instead of writing over one.
        No result of `flushmark ceph osds` of this cluster was found; run that command to see beside it what
        one write at a time costs, or name a result with --compare.
        ");
    }

    #[test]
    fn beside_a_commit() {
        let mut document = document();
        document.osds[0].depth_1 = Some(DepthOne { commits_per_s: 470.0, commit_us: 2120.0 });
        document.compared_with = Some(ComparedWith {
            result: "run 12".to_owned(),
            started_at: "2026-03-01T10:00:00Z".to_owned(),
            pool: "bench".to_owned(),
            replicas: Some(3),
        });
        insta::assert_snapshot!(tell_bench(&document, &Look::plain()), @"
        The OSDs' own benchmark (ceph tell osd.N bench)
        small: 3,000 blocks of 4 KiB over parts of 100 objects; large: 256 blocks of 4 MiB, each a new
        object
          OSD     host   class  small IOPS  MB/s     time  large IOPS   MB/s    time  depth 1 IOPS   commit
          osd.0   node1  ssd         9,375  38.4   0.32 s         371  1,556  0.69 s           470  2.12 ms
          osd.11  node1  ssd           140  0.57  21.50 s        26.1    110  9.80 s             -        -

        What this says
        An OSD's benchmark queues all of its writes and waits for the last one, so many of them share a
        flush: it shows the rate of a deep queue, which no single client gets. It also leaves out the
        network, the placement group's log and the copies on other OSDs, and the large form creates an
        object with each write instead of writing over one.
        At depth 1, a client sends a write only after the previous one is committed (run 12 of
        2026-03-01T10:00:00Z, pool bench, 3 copies included): in its own benchmark, osd.0 completes 19.9
        times as many writes per second. Judge a database or a virtual machine by the figure at depth 1.
        ");
        document.osds.remove(0);
        let page = tell_bench(&document, &Look::plain()).replace('\n', " ");
        assert!(page.contains("contains none of these OSDs"), "{page}");
        let narrow = tell_bench(&document, &Look { columns: 60, ..Look::plain() });
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    }
}
