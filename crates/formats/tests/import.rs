//! Importing other tools' output, complete and damaged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::float_cmp,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "figures come back bit by bit, names are ours"
)]

use formats::{ImportError, Origin, import};
use measurement::{LatencySummary, RunDocument};

fn fixture(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR")))
        .unwrap()
}

fn read(name: &str) -> Vec<RunDocument> {
    import(name, &fixture(name), None).unwrap_or_else(|error| panic!("{name}: {error}")).documents
}

fn refusal(text: &str) -> String {
    import("text", text, None).unwrap_err().to_string()
}

/// A document in a few lines, for review.
fn told(documents: &[RunDocument]) -> String {
    let us = |us: Option<LatencySummary>| {
        us.map_or("-".to_owned(), |us| {
            format!("{:.1}/{:.1}/{:.1} n={}", us.p50, us.p99, us.max, us.count)
        })
    };
    let mut text = String::new();
    for document in documents {
        let source = document.source.as_ref().unwrap();
        text += &format!(
            "{} {} | {} | drive {} | {} {} | {}\n",
            source.tool,
            source.version.as_deref().unwrap_or("-"),
            document.suite,
            source.drive.as_deref().unwrap_or("-"),
            document.target.kind.name(),
            document.target.given,
            document.started_at,
        );
        for result in &document.results {
            let work = &result.workload;
            text += &format!(
                "  {}: {} {} B {} every {}, depth {} jobs {}{}{} | {:.1} iops, {:.2} MiB/s, \
                 commits {} | r {} w {} s {} c {}\n",
                result.test,
                work.pattern.map_or("-", |pattern| pattern.name()),
                work.block_bytes,
                work.sync.map_or("-", |sync| sync.name()),
                work.sync_every,
                work.depth,
                work.jobs,
                if work.drain { "" } else { " undrained" },
                if work.direct { " direct" } else { "" },
                result.iops,
                result.mib_per_s,
                result.commits_per_s.map_or("-".to_owned(), |rate| format!("{rate:.1}")),
                us(result.read_us),
                us(result.write_us),
                us(result.sync_us),
                us(result.commit_us),
            );
        }
        for skipped in &document.skipped {
            text += &format!("  skipped {}: {}\n", skipped.test, skipped.because);
        }
    }
    text
}

#[test]
fn fio_s_text_from_forums() {
    insta::assert_snapshot!(told(&read("fio/kioxia-cd6.txt")), @"
    fio 3.33 | kioxia-cd6 | drive nvme2n1 | block-device /dev/nvme2n1 | 2023-10-18T17:04:09Z
      test: randwrite 4096 B fsync every 1, depth 1 jobs 1 direct | 36580.0 iops, 142.89 MiB/s, commits 36580.0 | r - w 18.0/24.0/1772.2 n=548737 s 21.0/28.0/1790.0 n=548736 c -
    ");
    insta::assert_snapshot!(told(&read("fio/samsung-980.txt")), @"
    fio 3.33 | samsung-980 | drive nvme0n1 | block-device /dev/nvme0n1 | 2023-10-18T08:03:32Z
      test: randwrite 4096 B fsync every 1, depth 1 jobs 1 direct | 574.3 iops, 2.24 MiB/s, commits 574.3 | r - w 15.8/22.9/72.2 n=8615 s 1696.0/2638.0/6437.0 n=8615 c -
    ");
}

#[test]
fn fio_s_text_of_every_kind_of_job() {
    insta::assert_snapshot!(told(&read("fio/3.33-mix.txt")), @"
    fio 3.33 | 3.33-mix | drive vda | unknown unknown | 2026-11-21T17:20:39Z
      writer: randwrite 4096 B fsync every 1, depth 1 jobs 1 | 1014.9 iops, 3.96 MiB/s, commits 1014.9 | r - w 9.0/137.0/5089.0 n=1021 s 474.0/8160.0/17634.0 n=1021 c -
      reader: randread 16384 B none every 1, depth 1 jobs 1 | 3265.9 iops, 51.03 MiB/s, commits - | r 137.0/4015.0/9386.0 n=3279 w - s - c -
      mixed: randrw 4096 B none every 1, depth 4 jobs 1 | 5275.2 iops, 20.61 MiB/s, commits - | r 285.0/4948.0/66114.0 n=3690 w 285.0/5407.0/69923.0 n=1601 s - c -
    ");
    insta::assert_snapshot!(told(&read("fio/3.33-group.txt")), @"
    fio 3.33 | 3.33-group | drive vda | unknown unknown | 2026-11-21T17:20:51Z
      g: randwrite 4096 B fdatasync every 1, depth 1 jobs 3 | 1358.5 iops, 5.31 MiB/s, commits 1358.5 | r - w 8.0/64.0/2914.0 n=1368 s 498.0/11731.0/14121.0 n=1368 c -
    ");
    insta::assert_snapshot!(told(&read("fio/3.33-two-processes.txt")), @"
    fio 3.33 | 3.33-two-processes | drive vda | unknown unknown | 2026-11-21T17:26:12Z
      q: randwrite 4096 B fsync every 4, depth 8 jobs 2 undrained | 8531.5 iops, 33.33 MiB/s, commits - | r - w - s - c -
    ");
    insta::assert_snapshot!(told(&read("fio/3.33-client.txt")), @"
    fio 3.33 | 3.33-client | drive vda | unknown unknown | 2026-11-21T17:21:14Z
      writer on vm: randwrite 4096 B fsync every 1, depth 1 jobs 1 | 1454.2 iops, 5.68 MiB/s, commits 1454.2 | r - w 6.0/47.0/3819.0 n=1460 s 322.0/7570.0/14236.0 n=1460 c -
      reader on vm: randread 16384 B none every 1, depth 1 jobs 1 | 4058.9 iops, 63.42 MiB/s, commits - | r 106.0/4047.0/19862.0 n=4063 w - s - c -
      mixed on vm: randrw 4096 B none every 1, depth 4 jobs 1 | 8720.6 iops, 34.06 MiB/s, commits - | r 192.0/3949.0/32191.0 n=6047 w 194.0/5211.0/32258.0 n=2691 s - c -
    ");
    insta::assert_snapshot!(told(&read("fio/2.16.txt")), @"
    fio 2.16 | 2.16 | drive sdb | block-device /dev/sdb | 2018-03-12T10:14:00Z
      osd: write 4096 B o_sync every 1, depth 1 jobs 1 direct | 610.5 iops, 2.38 MiB/s, commits 610.5 | r - w 1592.0/2640.0/21874.0 n=36631 s - c 1592.0/2640.0/21874.0 n=36631
    ");
}

#[test]
fn fio_s_json_of_every_kind_of_job() {
    insta::assert_snapshot!(told(&read("fio/3.33-mix.json")), @"
    fio 3.33 | 3.33-mix | drive vda | directory /srv/test | 2026-11-21T17:20:41Z
      writer: randwrite 4096 B fsync every 1, depth 1 jobs 1 | 424.3 iops, 1.66 MiB/s, commits 424.3 | r - w 7.6/50.4/88.3 n=468 s 252.9/12124.2/205373.2 n=468 c -
      reader: randread 16384 B none every 1, depth 1 jobs 1 | 1146.7 iops, 17.92 MiB/s, commits - | r 97.8/5406.7/203623.7 n=1290 w - s - c -
      mixed: randrw 4096 B none every 1, depth 4 jobs 1 | 1150.7 iops, 4.49 MiB/s, commits - | r 189.4/95944.7/380306.1 n=862 w 162.8/7962.6/159875.8 n=398 s - c -
    ");
    insta::assert_snapshot!(told(&read("fio/3.33-mix-plus.json")), @"
    fio 3.33 | 3.33-mix-plus | drive vda | directory /srv/test | 2026-11-21T17:20:43Z
      writer: randwrite 4096 B fsync every 1, depth 1 jobs 1 | 89.8 iops, 0.35 MiB/s, commits 89.8 | r - w 11.8/45.3/52.7 n=114 s 659.5/208666.6/758135.5 n=114 c -
      reader: randread 16384 B none every 1, depth 1 jobs 1 | 824.4 iops, 12.88 MiB/s, commits - | r 146.4/7176.2/210111.5 n=826 w - s - c -
      mixed: randrw 4096 B none every 1, depth 4 jobs 1 | 658.2 iops, 2.57 MiB/s, commits - | r 305.2/12648.4/757270.7 n=570 w 268.3/16449.5/756816.5 n=264 s - c -
    ");
    insta::assert_snapshot!(told(&read("fio/3.33-group-plus.json")), @"
    fio 3.33 | 3.33-group-plus | drive vda | directory /srv/test | 2026-11-21T17:20:50Z
      g: randwrite 4096 B fdatasync every 1, depth 1 jobs 3 | 2393.0 iops, 9.35 MiB/s, commits 2393.0 | r - w 5.6/169.0/2498.6 n=2405 s 411.6/11599.9/20085.7 n=2405 c -
    ");
    insta::assert_snapshot!(told(&read("fio/3.33-lat-percentiles-plus.json")), @"
    fio 3.33 | 3.33-lat-percentiles-plus | drive vda | directory /srv/test | 2026-11-21T17:20:53Z
      s: write 4096 B o_sync every 1, depth 1 jobs 1 | 310.4 iops, 1.21 MiB/s, commits 310.4 | r - w 2637.8/12255.2/28637.9 n=311 s - c 2637.8/12255.2/28637.9 n=311
    ");
    insta::assert_snapshot!(told(&read("fio/3.33-client-plus.json")), @"
    fio 3.33 | 3.33-client-plus | drive vda | directory /srv/test | 2026-11-21T17:21:09Z
      writer on 127.0.0.1: randwrite 4096 B fsync every 1, depth 1 jobs 1 | 160.8 iops, 0.63 MiB/s, commits 160.8 | r - w 23.4/88.6/117.1 n=161 s 4685.8/19005.4/27289.6 n=161 c -
      reader on 127.0.0.1: randread 16384 B none every 1, depth 1 jobs 1 | 7372.6 iops, 115.20 MiB/s, commits - | r 86.5/1744.9/16777.9 n=7380 w - s - c -
      mixed on 127.0.0.1: randrw 4096 B none every 1, depth 4 jobs 1 | 10627.4 iops, 41.51 MiB/s, commits - | r 173.1/3063.8/31099.2 n=7385 w 169.0/4112.4/21778.4 n=3253 s - c -
    ");
    insta::assert_snapshot!(told(&read("fio/3.33-two-processes-plus.json")), @"
    fio 3.33 | 3.33-two-processes-plus | drive vda | directory /srv/test | 2026-11-21T17:26:11Z
      q: randwrite 4096 B fsync every 4, depth 8 jobs 2 undrained direct | 30034.0 iops, 117.32 MiB/s, commits - | r - w 424.2/1582.1/13970.6 n=30064 s 444.7/1778.7/211911.3 n=7515 c -
    ");
    insta::assert_snapshot!(told(&read("fio/3.33-end-fsync.json")), @"
    fio 3.33 | 3.33-end-fsync | drive vda | directory /srv/test | 2026-11-21T17:26:14Z
      verify: write 4096 B none every 1, depth 1 jobs 1 | 12800.0 iops, 50.00 MiB/s, commits - | r - w 3.2/8.8/59.1 n=256 s - c -
    ");
    insta::assert_snapshot!(told(&read("fio/3.33-two-percentiles.json")), @"
    fio 3.33 | 3.33-two-percentiles | drive vda | directory /srv/test | 2026-11-21T17:26:15Z
      tr: write 4096 B none every 1, depth 1 jobs 1 | 128000.0 iops, 500.00 MiB/s, commits - | r - w - s - c -
    ");
    insta::assert_snapshot!(told(&read("fio/2.2.10.json")), @"
    fio 2.2.10 | 2.2.10 | drive sdb | unknown unknown | 2015-10-06T15:17:28Z
      journal: - 4096 B none every 1, depth 0 jobs 1 | 574.3 iops, 2.24 MiB/s, commits - | r - w 15.0/22.0/72.0 n=8615 s - c -
    ");
}

#[test]
fn fio_s_json_about_an_image_names_it_as_a_target() {
    insta::assert_snapshot!(told(&read("fio/3.33-rbd.json")), @"
    fio 3.33 | 3.33-rbd | drive - | rbd rbd:rbd/disk | 2026-11-25T16:30:46Z
      journal: randwrite 4096 B fsync every 1, depth 1 jobs 1 | 104.2 iops, 0.41 MiB/s, commits 104.2 | r - w 47.9/3620.9/103156.6 n=210 s 7438.3/32112.6/35936.2 n=210 c -
      deep: randwrite 4096 B none every 1, depth 8 jobs 1 | 4122.3 iops, 16.10 MiB/s, commits - | r - w 74.2/9895.9/762017.8 n=8261 s - c -
    ");
    let objects = fixture("fio/3.33-rbd.json").replace(r#""rbd","#, r#""rados","#);
    let target = &import("rados", &objects, None).unwrap().documents[0].target;
    assert_eq!((target.kind.name(), target.given.as_str()), ("rados", "rados:rados"));
}

#[test]
fn json_takes_precedence_over_text_in_the_same_file() {
    let imported = import("both", &fixture("fio/3.33-mix-text-and-json.txt"), None).unwrap();
    assert_eq!(imported.origin, Origin::FioJson);
    assert_eq!(imported.documents[0].results.len(), 3);
}

#[test]
fn diskinfo_and_pg_test_fsync() {
    insta::assert_snapshot!(told(&read("diskinfo/intel-710.txt")), @"
    diskinfo - | slog | drive INTEL SSDSA2BZ100G3 | block-device /dev/ada1 | 1970-01-01T00:00:00Z
      randwrite 512 B, fsync=1, depth 1, jobs 1: randwrite 512 B fsync every 1, depth 1 jobs 1 direct | 7230.7 iops, 3.50 MiB/s, commits 7230.7 | r - w - s - c -
      randwrite 1 KiB, fsync=1, depth 1, jobs 1: randwrite 1024 B fsync every 1, depth 1 jobs 1 direct | 7262.2 iops, 7.10 MiB/s, commits 7262.2 | r - w - s - c -
      randwrite 2 KiB, fsync=1, depth 1, jobs 1: randwrite 2048 B fsync every 1, depth 1 jobs 1 direct | 6618.1 iops, 12.90 MiB/s, commits 6618.1 | r - w - s - c -
      randwrite 4 KiB, fsync=1, depth 1, jobs 1: randwrite 4096 B fsync every 1, depth 1 jobs 1 direct | 6321.1 iops, 24.70 MiB/s, commits 6321.1 | r - w - s - c -
      randwrite 8 KiB, fsync=1, depth 1, jobs 1: randwrite 8192 B fsync every 1, depth 1 jobs 1 direct | 5694.8 iops, 44.50 MiB/s, commits 5694.8 | r - w - s - c -
      randwrite 16 KiB, fsync=1, depth 1, jobs 1: randwrite 16384 B fsync every 1, depth 1 jobs 1 direct | 4759.6 iops, 74.40 MiB/s, commits 4759.6 | r - w - s - c -
      randwrite 32 KiB, fsync=1, depth 1, jobs 1: randwrite 32768 B fsync every 1, depth 1 jobs 1 direct | 3647.0 iops, 114.00 MiB/s, commits 3647.0 | r - w - s - c -
      randwrite 64 KiB, fsync=1, depth 1, jobs 1: randwrite 65536 B fsync every 1, depth 1 jobs 1 direct | 2401.0 iops, 150.10 MiB/s, commits 2401.0 | r - w - s - c -
      randwrite 128 KiB, fsync=1, depth 1, jobs 1: randwrite 131072 B fsync every 1, depth 1 jobs 1 direct | 1287.7 iops, 161.00 MiB/s, commits 1287.7 | r - w - s - c -
      randwrite 256 KiB, fsync=1, depth 1, jobs 1: randwrite 262144 B fsync every 1, depth 1 jobs 1 direct | 665.3 iops, 166.30 MiB/s, commits 665.3 | r - w - s - c -
      randwrite 512 KiB, fsync=1, depth 1, jobs 1: randwrite 524288 B fsync every 1, depth 1 jobs 1 direct | 336.8 iops, 168.40 MiB/s, commits 336.8 | r - w - s - c -
      randwrite 1 MiB, fsync=1, depth 1, jobs 1: randwrite 1048576 B fsync every 1, depth 1 jobs 1 direct | 170.5 iops, 170.50 MiB/s, commits 170.5 | r - w - s - c -
      randwrite 2 MiB, fsync=1, depth 1, jobs 1: randwrite 2097152 B fsync every 1, depth 1 jobs 1 direct | 85.5 iops, 171.00 MiB/s, commits 85.5 | r - w - s - c -
      randwrite 4 MiB, fsync=1, depth 1, jobs 1: randwrite 4194304 B fsync every 1, depth 1 jobs 1 direct | 42.9 iops, 171.50 MiB/s, commits 42.9 | r - w - s - c -
      randwrite 8 MiB, fsync=1, depth 1, jobs 1: randwrite 8388608 B fsync every 1, depth 1 jobs 1 direct | 21.4 iops, 171.00 MiB/s, commits 21.4 | r - w - s - c -
    ");
    insta::assert_snapshot!(told(&read("pg_test_fsync/15.txt")), @"
    pg_test_fsync - | wal | drive - | unknown unknown | 1970-01-01T00:00:00Z
      one 8 KiB write: open_datasync: - 8192 B - every 1, depth 1 jobs 1 direct | 3282.7 iops, 25.65 MiB/s, commits 3282.7 | r - w - s - c -
      one 8 KiB write: fdatasync: - 8192 B - every 1, depth 1 jobs 1 | 4704.0 iops, 36.75 MiB/s, commits 4704.0 | r - w - s - c -
      one 8 KiB write: fsync: - 8192 B - every 1, depth 1 jobs 1 | 4314.1 iops, 33.70 MiB/s, commits 4314.1 | r - w - s - c -
      one 8 KiB write: open_sync: - 8192 B - every 1, depth 1 jobs 1 direct | 7909.8 iops, 61.80 MiB/s, commits 7909.8 | r - w - s - c -
      two 8 KiB writes: open_datasync: - 16384 B - every 1, depth 1 jobs 1 direct | 2499.4 iops, 39.05 MiB/s, commits 2499.4 | r - w - s - c -
      two 8 KiB writes: fdatasync: - 16384 B - every 1, depth 1 jobs 1 | 1539.3 iops, 24.05 MiB/s, commits 1539.3 | r - w - s - c -
      two 8 KiB writes: fsync: - 16384 B - every 1, depth 1 jobs 1 | 1672.8 iops, 26.14 MiB/s, commits 1672.8 | r - w - s - c -
      two 8 KiB writes: open_sync: - 16384 B - every 1, depth 1 jobs 1 direct | 5407.5 iops, 84.49 MiB/s, commits 5407.5 | r - w - s - c -
      open_sync, 16 KiB: 1 x 16 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 4273.7 iops, 66.78 MiB/s, commits 4273.7 | r - w - s - c -
      open_sync, 16 KiB: 2 x 8 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 1000.6 iops, 15.63 MiB/s, commits 1000.6 | r - w - s - c -
      open_sync, 16 KiB: 4 x 4 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 1407.4 iops, 21.99 MiB/s, commits 1407.4 | r - w - s - c -
      open_sync, 16 KiB: 8 x 2 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 229.0 iops, 3.58 MiB/s, commits 229.0 | r - w - s - c -
      open_sync, 16 KiB: 16 x 1 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 325.5 iops, 5.09 MiB/s, commits 325.5 | r - w - s - c -
      another handle: write, fsync, close: - 8192 B - every 1, depth 1 jobs 1 | 5213.7 iops, 40.73 MiB/s, commits 5213.7 | r - w - s - c -
      another handle: write, close, fsync: - 8192 B - every 1, depth 1 jobs 1 | 4493.7 iops, 35.11 MiB/s, commits 4493.7 | r - w - s - c -
      not synced: write: - 8192 B - every 1, depth 1 jobs 1 | 762376.6 iops, 5956.07 MiB/s, commits - | r - w - s - c -
      skipped one 8 KiB write: fsync_writethrough: pg_test_fsync reports n/a: the system or the filesystem does not support this method
      skipped two 8 KiB writes: fsync_writethrough: pg_test_fsync reports n/a: the system or the filesystem does not support this method
    ");
}

#[test]
fn assumptions_are_notes() {
    let notes = |name: &str| {
        let documents = read(name);
        let results = documents.iter().flat_map(|document| &document.results);
        results
            .map(|result| format!("{}: {}\n", result.test, result.notes.join(" ")))
            .collect::<String>()
    };
    insta::assert_snapshot!(notes("fio/3.33-mix.json"), @"
    writer: It ran at the same time as reader, mixed. fio times the write and its sync separately: the latency of a commit is unknown; its syncs count as commits. Latencies are fio's clat, which for this engine covers the whole call; lat: write min 4.22 µs, mean 12.19 µs, max 88.3 µs.
    reader: It ran at the same time as writer, mixed. Latencies are fio's clat, which for this engine covers the whole call; lat: read min 60.86 µs, mean 867.08 µs, max 203623.72 µs.
    mixed: It ran at the same time as writer, reader. Latencies are fio's clat, which excludes the submission (mean 1223.9 µs); lat: read min 75.76 µs, mean 4491.69 µs, max 383477.82 µs; write min 15.36 µs, mean 911.47 µs, max 159881.23 µs; with --lat_percentiles=1 fio reports them whole.
    ");
    insta::assert_snapshot!(notes("fio/3.33-lat-percentiles-plus.json"), @"s: Latencies are fio's lat, from before the submission.");
    insta::assert_snapshot!(notes("fio/3.33-two-processes.txt"), @"q: The text does not contain fio's command: options missing in its report (direct, sync, size) are assumed to be fio's defaults. fio syncs while writes are in flight, and a sync covers only completed ones: commits cannot be counted. fio reported each process separately, and percentiles cannot be merged; use group_reporting, or bins (--output-format=json+). Latency of each write as far as it was reported: min 99 µs, mean 1663.15 µs, max 16105 µs. Latency of each sync as far as it was reported: min 117 µs, mean 2102.39 µs, max 279179 µs.");
    insta::assert_snapshot!(notes("fio/3.33-group.txt"), @"g: The text does not contain fio's command: options missing in its report (direct, sync, size) are assumed to be fio's defaults. fio times the write and its sync separately: the latency of a commit is unknown; its syncs count as commits. Latencies are fio's clat, which for this engine covers the whole call; lat: write min 3 µs, mean 17.49 µs, max 2914 µs.");
    insta::assert_snapshot!(notes("fio/3.33-end-fsync.json"), @"verify: Latencies are fio's clat, which for this engine covers the whole call; lat: write min 2.8 µs, mean 3.85 µs, max 59.17 µs.");
    insta::assert_snapshot!(notes("fio/samsung-980.txt"), @"test: fio times the write and its sync separately: the latency of a commit is unknown; its syncs count as commits. Latencies are fio's clat, which excludes the submission (mean 4.7 µs); lat: write min 12.9 µs, mean 21.18 µs, max 76.82 µs; with --lat_percentiles=1 fio reports them whole.");
}

/// Every complete output, with its name.
fn whole() -> Vec<(String, String)> {
    let folder = format!("{}/tests/fixtures", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .flat_map(|tool| std::fs::read_dir(tool.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| !path.ends_with("3.33-mix-terse.txt"))
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(&path).unwrap(),
            )
        })
        .collect();
    files.sort();
    assert!(files.len() > 15, "{}", files.len());
    files
}

#[test]
fn quotes_fences_and_lost_indentation_are_ignored() {
    for (name, text) in
        whole().into_iter().filter(|(name, _)| !name.ends_with(".json") && !name.contains("json"))
    {
        let plain = import(&name, &text, None).unwrap().documents;
        let quoted: String = text.lines().map(|line| format!("> {line}\r\n")).collect();
        let fenced = format!("Look at this:\n```text\n{text}\n```\nWhat is wrong?\n");
        let bare: String = text.lines().map(|line| format!("{}\n", line.trim())).collect();
        let spaced = text.replace("\n ", "\n\u{a0}");
        for changed in [quoted, fenced, bare, spaced] {
            assert_eq!(
                import(&name, &changed, None)
                    .unwrap_or_else(|error| panic!("{name}: {error}\n{changed}"))
                    .documents,
                plain,
                "{name}"
            );
        }
    }
}

#[test]
fn every_document_is_a_result_document() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../schemas/run-1.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (name, text) in whole() {
        for document in import(&name, &text, Some("the drive")).unwrap().documents {
            let json = serde_json::to_value(&document).unwrap();
            let errors: Vec<String> =
                validator.iter_errors(&json).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{name}: {errors:?}");
            assert_eq!(RunDocument::from_json(&json.to_string()).unwrap(), document, "{name}");
            assert_eq!(document.source.unwrap().drive.as_deref(), Some("the drive"));
        }
    }
}

#[test]
fn flushmark_s_own_documents_come_back_as_they_were() {
    let (one, two) = (samples::document::CHECKED, samples::document::MODELLED);
    let imported = import("both.json", &format!("{one}\n{two}"), Some("sda")).unwrap();
    assert_eq!(imported.origin, Origin::Flushmark);
    assert_eq!(
        import("list.json", &format!("[{one},{two}]"), None).unwrap().documents,
        imported.documents
    );
    assert!(matches!(
        import("list.json", &format!("[{one},"), None),
        Err(ImportError::CutShort(Origin::Flushmark, _))
    ));
    assert_eq!(
        imported.documents,
        [RunDocument::from_json(one).unwrap(), RunDocument::from_json(two).unwrap()]
    );
    insta::assert_snapshot!(imported.remarks.join("\n"), @"flushmark's own documents name their drives themselves, so --drive changes nothing");
}

#[test]
fn unreadable_texts_are_rejected_with_a_message() {
    let json = fixture("fio/3.33-mix.json");
    let text = fixture("fio/3.33-mix.txt");
    insta::assert_snapshot!(refusal(" \n"), @"it is empty");
    insta::assert_snapshot!(refusal("hello\nworld"), @"unknown format; expected a result document of check or run, or output of fio (JSON, JSON+ or text), diskinfo -S, pg_test_fsync, fsyncperf or sysbench fileio");
    insta::assert_snapshot!(refusal("{\"name\": \"something\"}"), @"unknown format; expected a result document of check or run, or output of fio (JSON, JSON+ or text), diskinfo -S, pg_test_fsync, fsyncperf or sysbench fileio");
    insta::assert_snapshot!(refusal(&fixture("fio/3.33-mix-terse.txt")), @"fio's terse output is not supported because its fields differ between versions; run fio with --output-format=json+ and import that");
    insta::assert_snapshot!(refusal(&json[..json.len() / 2]), @"the output of fio (JSON) is cut short (EOF while parsing a string at line 399 column 13): import the complete output");
    insta::assert_snapshot!(refusal(&json.replace("\"total_ios\" : 468", "\"total_ios\" : many")), @"invalid output of fio (JSON): expected value at line 75 column 23");
    insta::assert_snapshot!(refusal(&json.replace("\"50.000000\"", "\"half\"")), @"invalid output of fio (JSON): job writer has an invalid percentile `half`");
    insta::assert_snapshot!(refusal("{\"fio version\": \"fio-3.33\", \"jobs\": []}"), @"the output of fio (JSON) contains no test that read or wrote anything");
    insta::assert_snapshot!(refusal("{\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"a\", \"error\": 5}]}"), @"the output of fio (JSON) contains no test that read or wrote anything (a: it ended with error 5 before it read or wrote anything)");
    insta::assert_snapshot!(refusal("{\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"a\", \"mixed\": {\"total_ios\": 5}}]}"), @"the output of fio (JSON) contains no test that read or wrote anything (a: fio reported reads and writes as one (unified_rw_reporting), so neither is known)");
    insta::assert_snapshot!(refusal("{\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"a\", \"trim\": {\"total_ios\": 5}}]}"), @"the output of fio (JSON) contains no test that read or wrote anything (a: it only trimmed)");
    insta::assert_snapshot!(refusal("{\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"a\", \"error\": 25, \"trim\": {\"total_ios\": 1}}]}"), @"the output of fio (JSON) contains no test that read or wrote anything (a: it ended with error 25 before it read or wrote anything)");
    insta::assert_snapshot!(refusal(text.split("IO depths").next().unwrap()), @"the output of fio (text) is cut short (job writer has no line `issued rwts`): import the complete output");
    insta::assert_snapshot!(refusal(&text.replace("avg=26.76", "avg=a lot")), @"invalid output of fio (text): line 12 has an invalid value for a latency (avg): `clat (usec): min=3, max=5089, avg=a lot, stdev=162.33`");
    insta::assert_snapshot!(refusal(&text.replace("50.00th=[    9]", "50.00th=[nine]")), @"invalid output of fio (text): line 16 has an invalid value for a percentile: `| 30.00th=[    7], 40.00th=[    8], 50.00th=[nine], 60.00th=[   11],`");
    insta::assert_snapshot!(refusal(&text.replace("total=0,1021,0,1021", "total=none")), @"invalid output of fio (text): line 37 has an invalid value for a count: `issued rwts: total=none short=0,0,0,0 dropped=0,0,0,0`");
    insta::assert_snapshot!(refusal(&text.replace("/1006msec", "")), @"invalid output of fio (text): line 11 has an invalid value for a run time: `write: IOPS=1014, BW=4060KiB/s (4157kB/s)(4084KiB); 0 zone resets`");
    insta::assert_snapshot!(refusal("Synchronous random writes:\n"), @"the output of diskinfo -S is cut short (no figures follow heading 1): import the complete output");
    insta::assert_snapshot!(refusal("Synchronous random writes:\n\t 0.5 kbytes:    138.3 usec"), @"invalid output of diskinfo -S: line 2 is invalid: expected `N kbytes: N usec/IO = N Mbytes/s`, found `0.5 kbytes:    138.3 usec`");
    insta::assert_snapshot!(refusal("Synchronous random writes:\n\t 3 kbytes:    138.3 usec/IO = 1 \
                                     Mbytes/s"), @"invalid output of diskinfo -S: line 2 is invalid: expected `N kbytes: N usec/IO = N Mbytes/s`, found `3 kbytes:    138.3 usec/IO = 1 Mbytes/s`");
    insta::assert_snapshot!(refusal("Compare file sync methods using one 8kB write:\n fdatasync  5 \
                                     ops/sec 200000 usecs/op"), @"the output of pg_test_fsync is cut short (`Compare file sync methods using one write` has 1 rows instead of 5): import the complete output");
    insta::assert_snapshot!(refusal(&fixture("pg_test_fsync/15.txt").replace("4704.005", "4.704.005")), @"invalid output of pg_test_fsync: line 7 has invalid operations per second: `fdatasync                          4.704.005 ops/sec     213 usecs/op`");
    insta::assert_snapshot!(refusal("{\"schema\": \"flushmark/run/9\"}"), @"document `flushmark/run/9` was written by a newer flushmark; this version reads up to `flushmark/run/1`. Use that version or a later one");
    insta::assert_snapshot!(refusal("{\"schema\": \"flushmark/run/1\", "), @"the output of flushmark is cut short (EOF while parsing an object at line 1 column 30): import the complete output");
}

#[test]
fn messages_around_fio_s_document_are_passed_on() {
    let text = format!(
        "fio: io_u error on file /srv/test/a: Input/output error: write offset=0, buflen=4096\n{}",
        fixture("fio/3.33-mix.json")
    );
    insta::assert_snapshot!(import("a", &text, None).unwrap().remarks.join("\n"), @"message from fio outside the document: fio: io_u error on file /srv/test/a: Input/output error: write offset=0, buflen=4096");
    let several = "fio: one\nfio: two\nfio: three\nfio: four\nfio: five\n";
    let text = format!("{several}{}", fixture("fio/3.33-mix.json"));
    insta::assert_snapshot!(import("a", &text, None).unwrap().remarks.join("\n"), @"
    message from fio outside the document: fio: one
    message from fio outside the document: fio: two
    message from fio outside the document: fio: three
    2 more such lines
    ");
}

#[test]
fn appended_outputs_are_one_document_each() {
    let json = format!(
        "{}{}",
        fixture("fio/3.33-mix.json"),
        fixture("fio/3.33-lat-percentiles-plus.json")
    );
    let counts: Vec<usize> = import("a", &json, None)
        .unwrap()
        .documents
        .iter()
        .map(|document| document.results.len())
        .collect();
    assert_eq!(counts, [3, 1]);
    let cut = &json[..json.len() - 100];
    assert!(matches!(import("a", cut, None), Err(ImportError::CutShort(Origin::FioJson, _))));
    let text = format!("{}\n{}", fixture("fio/kioxia-cd6.txt"), fixture("fio/samsung-980.txt"));
    let drives = import("a", &text, None)
        .unwrap()
        .documents
        .into_iter()
        .map(|document| document.source.unwrap().drive.unwrap());
    assert_eq!(drives.collect::<Vec<_>>(), ["nvme2n1", "nvme0n1"]);
}

#[test]
fn intermediate_reports_are_not_results() {
    let json = fixture("fio/3.33-status-interval.json");
    let imported = import("a", &json, None).unwrap();
    insta::assert_snapshot!(told(&imported.documents), @"
    fio 3.33 | a | drive vda | directory /srv/test | 2026-11-21T22:19:24Z
      a: randwrite 4096 B fsync every 1, depth 1 jobs 2 | 7115.9 iops, 27.80 MiB/s, commits 7115.6 | r - w - s - c -
    ");
    insta::assert_snapshot!(imported.remarks.join("\n"), @"fio also reported while running (--status-interval); its last report is cumulative and is the result");
    insta::assert_snapshot!(told(&read("fio/3.33-status-interval.txt")), @"
    fio 3.33 | 3.33-status-interval | drive vda | unknown unknown | 2026-11-21T22:19:26Z
      a: randwrite 4096 B fsync every 1, depth 1 jobs 2 | 6638.5 iops, 25.93 MiB/s, commits 6638.5 | r - w - s - c -
    ");
    // Identical reports are two runs, and so are concurrent runs on two hosts.
    let last = &json[json.rfind("\n{").unwrap()..];
    assert_eq!(import("a", &format!("{last}{last}"), None).unwrap().documents.len(), 2);
    let slower = last.replace("\"total_ios\" : 10254", "\"total_ios\" : 9254");
    assert_ne!(slower, last);
    let later = slower.replace("1795299567490", "1795299567495");
    assert_ne!(slower, later);
    assert_eq!(import("a", &format!("{last}{later}"), None).unwrap().documents.len(), 2);
}

/// A client puts all reports into one list, including its own totals.
#[test]
fn a_client_s_intermediate_reports_are_not_results() {
    let client = fixture("fio/3.33-client-plus.json");
    let mut document: serde_json::Value =
        serde_json::from_str(&client[client.find('{').unwrap()..]).unwrap();
    let list = document["client_stats"].as_array_mut().unwrap();
    let mut earlier = list.clone();
    earlier.iter_mut().for_each(|job| job["write"]["total_ios"] = 1.into());
    list.splice(0..0, earlier);
    let imported = import("3.33-client-plus.json", &document.to_string(), None).unwrap();
    assert!(
        imported.documents == read("fio/3.33-client-plus.json"),
        "{}",
        told(&imported.documents)
    );
    assert_eq!(imported.remarks.len(), 1, "{:?}", imported.remarks);
}

/// Verification, sync_file_range, no timing, no percentiles, blocks of several sizes, options by
/// their alternative names, in consecutive groups.
#[test]
fn unusual_jobs() {
    let notes = |documents: &[RunDocument]| -> String {
        let results = documents.iter().flat_map(|document| &document.results);
        results.map(|result| format!("{}: {}\n", result.test, result.notes.join(" "))).collect()
    };
    let json = read("fio/3.33-odd.json");
    insta::assert_snapshot!(told(&json), @"
    fio 3.33 | 3.33-odd | drive vda | directory /srv/test | 2026-11-21T22:19:18Z
      verified: write 4096 B none every 1, depth 1 jobs 1 | 23272.7 iops, 90.91 MiB/s, commits - | r - w 2.7/7.3/28.8 n=256 s - c -
      ranges: write 4096 B none every 1, depth 1 jobs 1 | 64641.2 iops, 252.50 MiB/s, commits - | r - w 2.5/5.5/8726.1 n=19457 s - c -
      untimed: randwrite 4096 B none every 1, depth 1 jobs 1 | 221790.2 iops, 866.37 MiB/s, commits - | r - w - s - c -
      means: randwrite 4096 B none every 1, depth 1 jobs 1 | 200497.2 iops, 783.19 MiB/s, commits - | r - w - s - c -
      split: randwrite 7953 B none every 1, depth 1 jobs 1 | 235598.0 iops, 1786.92 MiB/s, commits - | r - w 1.1/3.5/6798.2 n=70915 s - c -
      pair: randwrite 16384 B none every 1, depth 2 jobs 1 direct | 16473.3 iops, 257.40 MiB/s, commits - | r - w 50.9/2703.4/5664.0 n=4942 s - c -
    ");
    insta::assert_snapshot!(notes(&json), @"
    verified: 256 verification reads are not counted. Latencies are fio's clat, which for this engine covers the whole call; lat: write min 3.44 µs, mean 4.25 µs, max 39.35 µs.
    ranges: Its syncs are calls of sync_file_range, which do not make data durable: they and their latencies are omitted. Latencies are fio's clat, which for this engine covers the whole call; lat: write min 0.85 µs, mean 7.2 µs, max 8726.1 µs.
    untimed: fio was configured not to time I/Os (gtod_reduce, disable_clat).
    means: fio was configured not to print latency percentiles (clat_percentiles), so no latencies are imported. Latency of each write as far as it was reported: min 0.76 µs, mean 3.58 µs, max 72009.39 µs.
    split: Blocks had several sizes; block_bytes is their mean. Latencies are fio's clat, which for this engine covers the whole call; lat: write min 0.76 µs, mean 2.87 µs, max 6798.22 µs.
    pair: Latencies are fio's clat, which excludes the submission (mean 11.8 µs); lat: write min 38.68 µs, mean 118.14 µs, max 5678.5 µs; with --lat_percentiles=1 fio reports them whole.
    ");
    let text = read("fio/3.33-odd.txt");
    insta::assert_snapshot!(told(&text), @"
    fio 3.33 | 3.33-odd | drive vda | unknown unknown | 2026-11-21T22:19:18Z
      verified: write 4096 B none every 1, depth 1 jobs 1 | 23272.7 iops, 90.91 MiB/s, commits - | r - w 2.7/7.3/28.8 n=256 s - c -
      ranges: write 4096 B none every 1, depth 1 jobs 1 | 64641.2 iops, 252.50 MiB/s, commits - | r - w 2.5/5.5/8726.1 n=19457 s - c -
      untimed: randwrite 4096 B none every 1, depth 1 jobs 1 | 221790.2 iops, 866.37 MiB/s, commits - | r - w - s - c -
      means: randwrite 4096 B none every 1, depth 1 jobs 1 | 200497.2 iops, 783.19 MiB/s, commits - | r - w - s - c -
      split: randwrite 7955 B none every 1, depth 1 jobs 1 | 235598.0 iops, 1787.38 MiB/s, commits - | r - w 1.1/3.5/6798.2 n=70915 s - c -
      pair: randwrite 16384 B none every 1, depth 2 jobs 1 | 16473.3 iops, 257.40 MiB/s, commits - | r - w 51.0/2704.0/5664.0 n=4942 s - c -
    ");
    insta::assert_snapshot!(notes(&text), @"
    verified: The text does not contain fio's command: options missing in its report (direct, sync, size) are assumed to be fio's defaults. 256 verification reads are not counted. Latencies are fio's clat, which for this engine covers the whole call; lat: write min 3.44 µs, mean 4.25 µs, max 39.35 µs.
    ranges: The text does not contain fio's command: options missing in its report (direct, sync, size) are assumed to be fio's defaults. Its syncs are calls of sync_file_range, which do not make data durable: they and their latencies are omitted. Latencies are fio's clat, which for this engine covers the whole call; lat: write min 0.85 µs, mean 7.2 µs, max 8726.1 µs.
    untimed: The text does not contain fio's command: options missing in its report (direct, sync, size) are assumed to be fio's defaults. fio was configured not to time I/Os (gtod_reduce, disable_clat).
    means: The text does not contain fio's command: options missing in its report (direct, sync, size) are assumed to be fio's defaults. fio was configured not to print latency percentiles (clat_percentiles), so no latencies are imported. Latency of each write as far as it was reported: min 0.76 µs, mean 3.58 µs, max 72009 µs.
    split: The text does not contain fio's command: options missing in its report (direct, sync, size) are assumed to be fio's defaults. Blocks had several sizes; block_bytes is their mean. Latencies are fio's clat, which for this engine covers the whole call; lat: write min 0.76 µs, mean 2.87 µs, max 6798.2 µs.
    pair: The text does not contain fio's command: options missing in its report (direct, sync, size) are assumed to be fio's defaults. Latencies are fio's clat, which excludes the submission (mean 11.8 µs); lat: write min 38 µs, mean 118.14 µs, max 5678 µs; with --lat_percentiles=1 fio reports them whole.
    ");
}

#[test]
fn jobs_on_several_drives_are_a_run_for_each() {
    let json = fixture("fio/3.33-mix.json");
    let (before, reader) = json.split_once("\"jobname\" : \"reader\"").unwrap();
    let of = |text: &str, drive: &str| {
        text.replacen(
            "\"job options\" : {",
            &format!("\"job options\" : {{\"filename\": \"/dev/{drive}\","),
            1,
        )
    };
    let (reader, mixed) = reader.split_once("\"jobname\" : \"mixed\"").unwrap();
    let json = format!(
        "{}\"jobname\" : \"reader\"{}\"jobname\" : \"mixed\"{}",
        of(before, "sda"),
        of(reader, "sdb"),
        of(mixed, "sda")
    );
    let documents = import("a", &json, None).unwrap().documents;
    let drives = documents.iter().map(|document| {
        let tests: Vec<&str> = document.results.iter().map(|result| result.test.as_str()).collect();
        (
            document.source.as_ref().unwrap().drive.as_deref().unwrap(),
            document.target.given.as_str(),
            tests,
        )
    });
    assert_eq!(
        drives.collect::<Vec<_>>(),
        [("sda", "/dev/sda", vec!["writer", "mixed"]), ("sdb", "/dev/sdb", vec!["reader"])]
    );
    assert!(
        documents[1].results[0].notes[0].starts_with("It ran at the same time as writer, mixed.")
    );
    // Files are assumed to be on one drive.
    let files = json.replace("/dev/sda", "/srv/a").replace("/dev/sdb", "/dev/shm/b");
    let document = &import("a", &files, None).unwrap().documents[..];
    assert_eq!(
        (document.len(), document[0].target.given.as_str(), document[0].target.kind.name()),
        (1, "/srv/a", "file")
    );
    let notes = document[0].results.iter().map(|result| result.notes.last().unwrap().as_str());
    assert_eq!(
        notes.filter(|note| note.starts_with("It ran on")).collect::<Vec<_>>(),
        ["It ran on /dev/shm/b."]
    );
}

#[test]
fn reads_and_writes_reported_with_their_sum_are_read() {
    let text = fixture("fio/3.33-mix.txt");
    let (before, mixed) = text.rsplit_once("  cpu ").unwrap();
    let both = format!(
        "{before}  mixed: IOPS=0, BW=0 (0)(0B/301msec)\n    clat (usec): min=1, max=2, avg=1.5, \
         stdev=0\n  cpu {mixed}"
    );
    assert_eq!(
        import("a", &both, None).unwrap().documents,
        import("a", &text, None).unwrap().documents
    );
}

#[test]
fn runs_without_a_command_between_them_are_several() {
    // As pasted in forums: without the lines before the first report.
    let text = fixture("fio/3.33-group.txt");
    let report = &text[text.find("g: (groupid=").unwrap()..];
    let other = report.replace("pid=", "pid=9");
    assert_ne!(report, other);
    assert_eq!(import("a", &format!("{report}\n{other}"), None).unwrap().documents.len(), 2);
    assert_eq!(import("a", &format!("{report}\n{report}"), None).unwrap().documents.len(), 1);
}

#[test]
fn each_job_has_the_options_of_its_own_part_of_the_command() {
    let text = fixture("fio/3.33-mix.txt");
    let command = "fio --direct=1 --name=writer --fdatasync=1 --size=1m --name=reader --size=2m \
                   --name=mixed --fsync=8";
    let results =
        import("a", &format!("{command}\n{text}"), None).unwrap().documents.remove(0).results;
    let work = results.iter().map(|result| {
        let work = &result.workload;
        (result.test.as_str(), work.direct, work.size_bytes >> 20, work.sync.unwrap().name())
    });
    assert_eq!(
        work.collect::<Vec<_>>(),
        [
            ("writer", true, 1, "fdatasync"),
            ("reader", true, 2, "none"),
            ("mixed", true, 0, "fsync")
        ]
    );
}

#[test]
fn quoted_or_listed_json_is_read() {
    let json = fixture("fio/3.33-mix.json");
    let plain = import("a", &json, None).unwrap().documents;
    let quoted: String = json.lines().map(|line| format!("> {line}\r\n")).collect();
    assert_eq!(import("a", &quoted, None).unwrap().documents, plain);
    assert_eq!(import("a", &format!("```json\n{json}```\n"), None).unwrap().documents, plain);
    let line = serde_json::from_str::<serde_json::Value>(&json).unwrap().to_string();
    for listed in [
        format!("[{json},{json}]"),
        format!("[{line},{line}]"),
        format!("[\n  {line}\n  , {line}\n]"),
    ] {
        assert_eq!(
            import("a", &listed, None).unwrap().documents,
            [&plain[..], &plain[..]].concat(),
            "{listed}"
        );
    }
    let own = samples::document::CHECKED;
    let quoted: String = own.lines().map(|line| format!("> {line}\n")).collect();
    assert_eq!(
        import("a", &quoted, None).unwrap().documents,
        [RunDocument::from_json(own).unwrap()]
    );
}

#[test]
fn pg_test_fsync_in_parts_and_several_times() {
    let text = fixture("pg_test_fsync/15.txt");
    let twice = import("a", &format!("{text}{}", text.replace("3282.685", "1000.000")), None)
        .unwrap()
        .documents;
    assert_eq!(twice.iter().map(|document| document.results.len()).collect::<Vec<_>>(), [16, 16]);
    assert_eq!(twice[1].results[0].iops, 1000.0);
    let first = text.split("Compare file sync methods using two").next().unwrap();
    let documents = import("a", first, None).unwrap().documents;
    let skipped = documents[0]
        .skipped
        .iter()
        .map(|skipped| format!("{}: {}\n", skipped.test, skipped.because));
    insta::assert_snapshot!(skipped.collect::<String>(), @"
    one 8 KiB write: fsync_writethrough: pg_test_fsync reports n/a: the system or the filesystem does not support this method
    Compare file sync methods using two writes: the text does not contain this section of pg_test_fsync's output
    Compare open_sync with different write sizes: the text does not contain this section of pg_test_fsync's output
    Test if fsync on non-write file descriptor is honored: the text does not contain this section of pg_test_fsync's output
    Non-sync'ed writes: the text does not contain this section of pg_test_fsync's output
    ");
}

#[test]
fn an_incomplete_text_lists_what_is_missing() {
    let text = fixture("diskinfo/intel-710.txt");
    let text: String = text
        .lines()
        .filter(|line| !line.contains("    64 kbytes:"))
        .map(|line| format!("{line}\n"))
        .collect();
    let documents = import("a", text.split("4096 kbytes").next().unwrap(), None).unwrap().documents;
    let skipped: Vec<_> = documents[0]
        .skipped
        .iter()
        .map(|skipped| (skipped.test.as_str(), skipped.because.as_str()))
        .collect();
    insta::assert_debug_snapshot!(skipped, @r#"
    [
        (
            "randwrite 4 MiB, fsync=1, depth 1, jobs 1",
            "diskinfo measures this size, but the text does not contain it",
        ),
        (
            "randwrite 8 MiB, fsync=1, depth 1, jobs 1",
            "diskinfo measures this size, but the text does not contain it",
        ),
    ]
    "#);
}

/// Histograms yield the same figures as fio's list of percentiles next to them.
#[test]
fn bins_are_the_percentiles() {
    for name in
        ["fio/3.33-mix-plus.json", "fio/3.33-group-plus.json", "fio/3.33-lat-percentiles-plus.json"]
    {
        for result in &read(name)[0].results {
            let pairs = [
                (result.read_us, &result.histograms.read),
                (result.write_us, &result.histograms.write),
                (result.sync_us, &result.histograms.sync),
            ];
            let mut seen = 0;
            for (told, histogram) in pairs {
                let (Some(told), Some(histogram)) = (told, histogram) else { continue };
                let counted = histogram.summary().unwrap();
                assert_eq!(told.count, counted.count, "{name} {}", result.test);
                for (told, counted) in [
                    (told.p50, counted.p50),
                    (told.p99, counted.p99),
                    (told.p99_99, counted.p99_99),
                ] {
                    // Half a bin: the last ones may be above the longest latency by that much.
                    assert!(
                        (told - counted).abs() <= told / 64.0,
                        "{name} {}: {told} {counted}",
                        result.test
                    );
                }
                seen += 1;
            }
            assert!(seen > 0, "{name} {}", result.test);
        }
    }
}

mod any_text {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn nothing_makes_it_panic(text in "(\\PC|\n){0,400}") {
            let _ = import("any", &text, None);
            let _ = import("any", &format!("a: (groupid=0, jobs=1): err= 0:\n{text}"), None);
            let _ = import("any", &format!("Synchronous random writes:\n{text}"), None);
            let _ = import("any", &format!("Compare file sync methods\n{text}"), None);
            let _ = import("any", &format!("workerID:\n{text}"), None);
            let _ = import("any", &format!("fsyncs/s: 5\n{text}"), None);
        }

        /// An output cut at any place is rejected or unchanged: nothing is dropped silently.
        #[test]
        fn a_cut_output_is_rejected_or_unchanged(which in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>()) {
            let files: Vec<_> = whole().into_iter().filter(|(name, _)| name.ends_with(".json")).collect();
            let (name, text) = which.get(&files);
            let text = text.trim_end();
            let mut at = cut.index(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            prop_assert!(import(name, &text[..at], None).is_err(), "{} cut at {}", name, at);
        }

        #[test]
        fn a_damaged_output_does_not_panic(
            which in any::<prop::sample::Index>(),
            at in any::<prop::sample::Index>(),
            length in 0_usize..40,
            put in "(\\PC|\n){0,12}",
        ) {
            let files = whole();
            let (name, text) = which.get(&files);
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            if text.is_char_boundary(at) && text.is_char_boundary(end) {
                let _ = import(name, &format!("{}{put}{}", &text[..at], &text[end..]), None);
            }
        }
    }
}

#[test]
fn a_heading_without_figures_is_not_a_result() {
    insta::assert_snapshot!(refusal("see *Synchronous random writes: below"), @"the output of diskinfo -S contains no test that read or wrote anything: nothing follows its heading");
}

#[test]
fn two_servers_on_one_machine_are_two_tests() {
    let client = fixture("fio/3.33-client-plus.json");
    let mut document: serde_json::Value =
        serde_json::from_str(&client[client.find('{').unwrap()..]).unwrap();
    let list = document["client_stats"].as_array_mut().unwrap();
    let mut second: Vec<serde_json::Value> =
        list.iter().filter(|job| job["jobname"] != "All clients").cloned().collect();
    second.iter_mut().for_each(|job| job["port"] = 8766.into());
    list.extend(second);
    let imported = import("client.json", &document.to_string(), None).unwrap();
    let names: Vec<&str> =
        imported.documents[0].results.iter().map(|result| result.test.as_str()).collect();
    assert_eq!(
        names,
        [
            "writer on 127.0.0.1:8769",
            "reader on 127.0.0.1:8769",
            "mixed on 127.0.0.1:8769",
            "writer on 127.0.0.1:8766",
            "reader on 127.0.0.1:8766",
            "mixed on 127.0.0.1:8766",
        ]
    );
    assert!(imported.remarks.is_empty(), "{:?}", imported.remarks);
}

/// Without fio's command and the line that it prints before a job, pattern, engine and method are
/// unknown, and the depth is what the counters show.
#[test]
fn a_report_without_its_head_invents_nothing() {
    let text = fixture("fio/kioxia-cd6.txt");
    let bare = &text[text.find("test: (groupid=0").unwrap()..];
    let of = |text: &str| {
        let mut imported = import("post", text, None).unwrap();
        let result = imported.documents[0].results.remove(0);
        assert!(result.proof.commits <= result.proof.writes, "{:?}", result.proof);
        result
    };
    let result = of(bare);
    let work = &result.workload;
    assert_eq!((work.pattern, work.submission, work.depth), (None, None, 1));
    assert_eq!(result.engine, "unknown");
    assert_eq!(result.proof.commits, 548_736);

    // Several depths were seen: the line `latency` has the one that was requested.
    let deep = bare.replace("1=200.0%, 2=0.0%", "1=0.1%, 2=0.1%");
    let deep = deep.replace("percentile=100.00%, depth=1", "percentile=100.00%, depth=32");
    let result = of(&deep);
    assert_eq!((result.workload.depth, result.commits_per_s), (32, None));
    // Versions without that line do not report it at all.
    let line = deep.lines().find(|line| line.starts_with("latency")).unwrap();
    let result = of(&deep.replace(line, ""));
    assert_eq!((result.workload.depth, result.commits_per_s), (0, None));
    insta::assert_snapshot!(result.notes.join("\n"), @"
    The text does not contain fio's command: options missing in its report (direct, sync, size) are assumed to be fio's defaults.
    fio does not report the order in which blocks were accessed.
    The output does not contain the queue depth.
    Commits are not counted, because a sync covers no writes in flight, and how many there were is unknown.
    Latencies are fio's clat, which excludes the submission (mean 5.8 µs); lat: write min 14 µs, mean 23.52 µs, max 1867 µs; with --lat_percentiles=1 fio reports them whole.
    ");
}

#[test]
fn syncs_are_counted_where_each_version_counts_them() {
    let text = fixture("fio/kioxia-cd6.txt");
    let counted = |issued: &str, fsync: &str, heading: &str| {
        let text = text
            .replace("issued rwts: total=0,548737,0,548736 short=0,0,0,0", issued)
            .replace("-fsync=1", fsync)
            .replace("fsync/fdatasync/sync_file_range:", heading);
        let mut imported = import("post", &text, None).unwrap();
        let result = imported.documents[0].results.remove(0);
        let sync = result.workload.sync.unwrap().name();
        (sync, result.proof.commits, result.sync_us.map_or(0, |us| us.count))
    };
    let old = "fsync/fdatasync/sync_file_range:";
    let new = "fsync/fdatasync/sync_file_range/syncfs:";
    let of = |issued: &str| counted(issued, "", old);
    assert_eq!(
        of("issued rwts: total=0,548737,0,548736 short=0,0,0,0"),
        ("fsync", 548_736, 548_736)
    );
    assert_eq!(
        of("issued rwts: total=0,548737,0,0 short=548736,0,0,0"),
        ("fdatasync", 548_736, 548_736)
    );
    assert_eq!(of("issued rwts: total=0,548737,0,0 short=0,548736,0,0"), ("none", 0, 0));
    // With the command, the method is known from it.
    let issued = "issued rwts: total=0,548737,0,548736 short=0,0,0,0";
    assert_eq!(counted(issued, "-fdatasync=1", new), ("fdatasync", 548_736, 548_736));
    // One more sync than writes, at the end, is not one more commit.
    let more = "issued rwts: total=0,548737,0,548738 short=0,0,0,0";
    assert_eq!(counted(more, "-fsync=1", old), ("fsync", 548_737, 548_738));
}

#[test]
fn what_the_kernel_counted_is_kept() {
    let source = read("fio/kioxia-cd6.txt").remove(0).source.unwrap();
    insta::assert_debug_snapshot!(source.disks, @r#"
    [
        DiskCounters {
            device: "nvme2n1",
            reads: 0,
            writes: 542994,
            reads_merged: Some(
                0,
            ),
            writes_merged: Some(
                0,
            ),
            bytes_read: None,
            bytes_written: None,
            read_ms: Some(
                0,
            ),
            write_ms: Some(
                7889,
            ),
            busy_percent: Some(
                99.36,
            ),
        },
    ]
    "#);
    let source = read("fio/3.33-mix.json").remove(0).source.unwrap();
    insta::assert_debug_snapshot!(source.disks, @r#"
    [
        DiskCounters {
            device: "vda",
            reads: 2381,
            writes: 1365,
            reads_merged: Some(
                2,
            ),
            writes_merged: Some(
                0,
            ),
            bytes_read: None,
            bytes_written: None,
            read_ms: Some(
                456,
            ),
            write_ms: Some(
                245,
            ),
            busy_percent: Some(
                10.174881,
            ),
        },
    ]
    "#);
}

#[test]
fn listings_of_old_versions() {
    insta::assert_snapshot!(told(&read("fio/1.59.txt")), @"
    fio 1.59 | 1.59 | drive sdb | block-device /dev/sdb | 1970-01-01T00:00:00Z
      journal: write 4096 B o_sync every 1, depth 1 jobs 1 direct | 256.0 iops, 1.00 MiB/s, commits 256.0 | r - w - s - c -
    ");
    insta::assert_snapshot!(told(&read("fio/2.2-fsync.txt")), @"
    fio 2.2.10 | 2.2-fsync | drive sdc | block-device /dev/sdc | 2016-03-14T09:59:50Z
      j: randwrite 4096 B fsync every 1, depth 1 jobs 1 direct | 358.3 iops, 1.40 MiB/s, commits 358.3 | r - w 44.0/84.0/410.0 n=3583 s - c -
    ");
    insta::assert_snapshot!(told(&read("pg_test_fsync/9.1.txt")), @"
    pg_test_fsync - | wal | drive - | unknown unknown | 1970-01-01T00:00:00Z
      one 8 KiB write: fdatasync: - 8192 B - every 1, depth 1 jobs 1 | 86.2 iops, 0.67 MiB/s, commits 86.2 | r - w - s - c -
      one 8 KiB write: fsync: - 8192 B - every 1, depth 1 jobs 1 | 85.1 iops, 0.66 MiB/s, commits 85.1 | r - w - s - c -
      one 8 KiB write: open_sync: - 8192 B - every 1, depth 1 jobs 1 direct | 84.0 iops, 0.66 MiB/s, commits 84.0 | r - w - s - c -
      two 8 KiB writes: fdatasync: - 16384 B - every 1, depth 1 jobs 1 | 84.2 iops, 1.32 MiB/s, commits 84.2 | r - w - s - c -
      two 8 KiB writes: fsync: - 16384 B - every 1, depth 1 jobs 1 | 83.1 iops, 1.30 MiB/s, commits 83.1 | r - w - s - c -
      two 8 KiB writes: open_sync: - 16384 B - every 1, depth 1 jobs 1 direct | 42.0 iops, 0.66 MiB/s, commits 42.0 | r - w - s - c -
      open_sync, 16 KiB: 1 x 16 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 85.0 iops, 1.33 MiB/s, commits 85.0 | r - w - s - c -
      open_sync, 16 KiB: 2 x 8 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 42.0 iops, 0.66 MiB/s, commits 42.0 | r - w - s - c -
      open_sync, 16 KiB: 4 x 4 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 21.0 iops, 0.33 MiB/s, commits 21.0 | r - w - s - c -
      open_sync, 16 KiB: 8 x 2 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 10.5 iops, 0.16 MiB/s, commits 10.5 | r - w - s - c -
      open_sync, 16 KiB: 16 x 1 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 5.3 iops, 0.08 MiB/s, commits 5.3 | r - w - s - c -
      another handle: write, fsync, close: - 8192 B - every 1, depth 1 jobs 1 | 85.0 iops, 0.66 MiB/s, commits 85.0 | r - w - s - c -
      another handle: write, close, fsync: - 8192 B - every 1, depth 1 jobs 1 | 84.0 iops, 0.66 MiB/s, commits 84.0 | r - w - s - c -
      not synced: write: - 8192 B - every 1, depth 1 jobs 1 | 180000.0 iops, 1406.25 MiB/s, commits - | r - w - s - c -
      skipped one 8 KiB write: open_datasync: pg_test_fsync reports n/a: the system or the filesystem does not support this method
      skipped one 8 KiB write: fsync_writethrough: pg_test_fsync reports n/a: the system or the filesystem does not support this method
      skipped two 8 KiB writes: open_datasync: pg_test_fsync reports n/a: the system or the filesystem does not support this method
      skipped two 8 KiB writes: fsync_writethrough: pg_test_fsync reports n/a: the system or the filesystem does not support this method
    ");
}

#[test]
fn pg_test_fsync_in_another_language() {
    insta::assert_snapshot!(told(&read("pg_test_fsync/german.txt")), @"
    pg_test_fsync - | wal | drive - | unknown unknown | 1970-01-01T00:00:00Z
      one 8 KiB write: open_datasync: - 8192 B - every 1, depth 1 jobs 1 direct | 249.6 iops, 1.95 MiB/s, commits 249.6 | r - w - s - c -
      one 8 KiB write: fdatasync: - 8192 B - every 1, depth 1 jobs 1 | 608.6 iops, 4.75 MiB/s, commits 608.6 | r - w - s - c -
      one 8 KiB write: fsync: - 8192 B - every 1, depth 1 jobs 1 | 177.4 iops, 1.39 MiB/s, commits 177.4 | r - w - s - c -
      one 8 KiB write: open_sync: - 8192 B - every 1, depth 1 jobs 1 direct | 185.1 iops, 1.45 MiB/s, commits 185.1 | r - w - s - c -
      two 8 KiB writes: open_datasync: - 16384 B - every 1, depth 1 jobs 1 direct | 127.1 iops, 1.99 MiB/s, commits 127.1 | r - w - s - c -
      two 8 KiB writes: fdatasync: - 16384 B - every 1, depth 1 jobs 1 | 550.0 iops, 8.59 MiB/s, commits 550.0 | r - w - s - c -
      two 8 KiB writes: fsync: - 16384 B - every 1, depth 1 jobs 1 | 170.4 iops, 2.66 MiB/s, commits 170.4 | r - w - s - c -
      two 8 KiB writes: open_sync: - 16384 B - every 1, depth 1 jobs 1 direct | 92.1 iops, 1.44 MiB/s, commits 92.1 | r - w - s - c -
      open_sync, 16 KiB: 1 x 16 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 180.1 iops, 2.81 MiB/s, commits 180.1 | r - w - s - c -
      open_sync, 16 KiB: 2 x 8 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 92.1 iops, 1.44 MiB/s, commits 92.1 | r - w - s - c -
      open_sync, 16 KiB: 4 x 4 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 46.1 iops, 0.72 MiB/s, commits 46.1 | r - w - s - c -
      open_sync, 16 KiB: 8 x 2 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 23.1 iops, 0.36 MiB/s, commits 23.1 | r - w - s - c -
      open_sync, 16 KiB: 16 x 1 KiB: - 16384 B - every 1, depth 1 jobs 1 direct | 11.6 iops, 0.18 MiB/s, commits 11.6 | r - w - s - c -
      another handle: write, fsync, close: - 8192 B - every 1, depth 1 jobs 1 | 177.4 iops, 1.39 MiB/s, commits 177.4 | r - w - s - c -
      another handle: write, close, fsync: - 8192 B - every 1, depth 1 jobs 1 | 176.4 iops, 1.38 MiB/s, commits 176.4 | r - w - s - c -
      not synced: write: - 8192 B - every 1, depth 1 jobs 1 | 404000.6 iops, 3156.25 MiB/s, commits - | r - w - s - c -
      skipped one 8 KiB write: fsync_writethrough: pg_test_fsync reports n/a: the system or the filesystem does not support this method
      skipped two 8 KiB writes: fsync_writethrough: pg_test_fsync reports n/a: the system or the filesystem does not support this method
    ");
}

#[test]
fn sysbench_of_each_version() {
    for version in ["0.4", "1.0", "1.1"] {
        let result = read(&format!("sysbench/{version}.txt")).remove(0).results.remove(0);
        assert!(result.proof.commits > 0 && result.proof.commits <= result.proof.writes);
    }
    insta::assert_snapshot!(told(&read("sysbench/0.4.txt")), @"
    sysbench 0.4.12 | 0.4 | drive - | unknown unknown | 1970-01-01T00:00:00Z
      random write: randwrite 16384 B fsync every 1, depth 1 jobs 1 | 500.0 iops, 7.81 MiB/s, commits 500.0 | r - w - s - c -
    ");
    insta::assert_snapshot!(told(&read("sysbench/1.0.txt")), @"
    sysbench 1.0.20 | 1.0 | drive - | unknown unknown | 1970-01-01T00:00:00Z
      random r/w: randrw 16384 B fsync every 1, depth 1 jobs 4 direct | 746.4 iops, 11.66 MiB/s, commits 298.6 | r - w - s - c -
    ");
    insta::assert_snapshot!(told(&read("sysbench/1.1.txt")), @"
    sysbench 1.1.0 | 1.1 | drive - | unknown unknown | 1970-01-01T00:00:00Z
      random r/w: randrw 16384 B fsync every 1, depth 1 jobs 4 direct | 746.4 iops, 11.66 MiB/s, commits 298.6 | r - w - s - c -
    ");
    let text = fixture("sysbench/1.0.txt");
    let periodic = "Periodic FSYNC enabled, calling fsync() each 100 requests.";
    let text = text.replace("Calling fsync() after each write operation.", periodic);
    let documents = import("periodic", &text, None).unwrap().documents;
    assert_eq!(documents[0].results[0].commits_per_s, None);
    insta::assert_snapshot!(documents[0].results[0].notes.join("\n"), @"
    sysbench synced all of its files after every 100 requests: its syncs (9128) are not commits of a write.
    As printed: 447.81 reads/s, 298.54 writes/s, 302.8 fsyncs/s.
    sysbench times all operations together, so latencies are not imported: min 0 ms, avg 0.58 ms, max 70.02 ms, 95th percentile 1.64 ms.
    ");
    let bare = &text[text.find("File operations:").unwrap()..];
    insta::assert_snapshot!(told(&import("bare", bare, None).unwrap().documents), @"
    sysbench - | bare | drive - | unknown unknown | 1970-01-01T00:00:00Z
      sysbench fileio: - 0 B none every 1, depth 0 jobs 1 | 746.4 iops, 11.66 MiB/s, commits - | r - w - s - c -
    ");
    insta::assert_snapshot!(refusal(text.split("General").next().unwrap()), @"the output of sysbench fileio is cut short (the line `total time` is missing): import the complete output");
    insta::assert_snapshot!(refusal(&text.replace("298.54", "many")), @"invalid output of sysbench fileio: line 26 has an invalid figure: `writes/s:                     many`");
    insta::assert_snapshot!(refusal(&text.replace('\n', " ")), @"the output of sysbench fileio has lost its line breaks: line 1 contains several of its lines. Copy it again with its line breaks, for example from the page's source");
}

#[test]
fn fsyncperf_of_several_drives() {
    let text = fixture("fsyncperf/two-drives.txt");
    insta::assert_snapshot!(told(&read("fsyncperf/two-drives.txt")), @"
    fsyncperf - | fsyncperf | drive Drive one | unknown unknown | 1970-01-01T00:00:00Z
      64 KiB write + fsync, 1 worker: write 65536 B fsync every 1, depth 1 jobs 1 | 5000.0 iops, 312.00 MiB/s, commits 5000.0 | r - w - s - c -
      64 KiB write + fsync, 2 workers: write 65536 B fsync every 1, depth 1 jobs 2 | 7984.1 iops, 497.00 MiB/s, commits 7984.1 | r - w - s - c -
    fsyncperf - | fsyncperf | drive Drive two | unknown unknown | 1970-01-01T00:00:00Z
      64 KiB write + fsync, 1 worker: write 65536 B fsync every 1, depth 1 jobs 1 | 1000.0 iops, 62.00 MiB/s, commits 1000.0 | r - w - s - c -
    ");
    insta::assert_snapshot!(refusal(text.split("workerID: 0, latency: 251").next().unwrap()), @"the output of fsyncperf is cut short (`concurrency: 2` has 1 lines of workers and no aggregated bandwidth): import the complete output");
    insta::assert_snapshot!(refusal(&text.replace("latency: 200", "latency: soon")), @"invalid output of fsyncperf: line 5 has an invalid figure: `workerID: 0, latency: soon microsecond per op, bandwidth: 312MBytes/sec`");
    insta::assert_snapshot!(refusal(&text.replace('\n', " ")), @"the output of fsyncperf has lost its line breaks: line 1 contains several of its lines. Copy it again with its line breaks, for example from the page's source");
}

#[test]
fn diskinfo_after_a_prompt_and_without_its_writes() {
    let document = read("diskinfo/with-prompt.txt").remove(0);
    assert_eq!(document.target.given, "/dev/nvd0");
    assert_eq!(document.source.unwrap().drive.as_deref(), Some("INTEL SSDPE21D280GA"));
    assert_eq!(document.results.len(), 4);
    let reads = "Seek times:\n\tFull stroke:\t  250 iter in   5.3 sec =   21.3 msec\nTransfer \
                 rates:\n\toutside:       102400 kbytes in   0.5 sec =   177938 kbytes/sec\n";
    insta::assert_snapshot!(refusal(reads), @"the output of diskinfo -S contains no test that read or wrote anything: it has what `diskinfo -t` reads, but not the synchronous writes of `-wS`");
}

#[test]
fn lost_line_breaks_are_refused() {
    let flat = |name: &str| refusal(&fixture(name).replace(['\n', '\r'], " "));
    insta::assert_snapshot!(flat("fio/kioxia-cd6.txt"), @"the output of fio (text) has lost its line breaks: line 1 contains several of its lines. Copy it again with its line breaks, for example from the page's source");
    insta::assert_snapshot!(flat("pg_test_fsync/15.txt"), @"the output of pg_test_fsync has lost its line breaks: line 1 contains several of its lines. Copy it again with its line breaks, for example from the page's source");
    insta::assert_snapshot!(flat("diskinfo/intel-710.txt"), @"the output of diskinfo -S has lost its line breaks: line 1 contains several of its lines. Copy it again with its line breaks, for example from the page's source");
    // Two lines in one are as bad: the second would be lost.
    let text = fixture("fio/kioxia-cd6.txt").replace("stdev= 3.94\n", "stdev= 3.94 ");
    insta::assert_snapshot!(refusal(&text), @"the output of fio (text) has lost its line breaks: line 8 contains several of its lines. Copy it again with its line breaks, for example from the page's source");
}

#[test]
fn web_pages_and_mails_are_read_like_the_text_they_show() {
    for name in ["fio/kioxia-cd6.txt", "pg_test_fsync/15.txt", "fio/3.33-mix.txt"] {
        let text = fixture(name);
        let plain = import("post", &text, None).unwrap().documents;
        let escaped = text.replace('&', "&amp;").replace('>', "&gt;").replace('<', "&lt;");
        let page = format!("<html><body><p>Look:</p><pre>{escaped}</pre></body></html>");
        let broken = escaped.replace('\n', "<br/>").replace(' ', "&nbsp;");
        let mail = text.replace('=', "=3D");
        let prose = format!("{text}\n\nwrite: what do you think?\n");
        for changed in [page, broken, mail, prose] {
            let read = import("post", &changed, None);
            let read = read.unwrap_or_else(|error| panic!("{name}: {error}\n{changed}"));
            assert_eq!(read.documents, plain, "{name}");
        }
    }
}

/// A mail program breaks lines after 72 characters.
#[test]
fn broken_lines_are_put_together() {
    let text = fixture("fio/3.33-mix.txt");
    let broken: String = text
        .lines()
        .flat_map(|line| {
            let mut pieces = vec![String::new()];
            for word in line.split_inclusive(' ') {
                let full = pieces.last().unwrap().chars().count() + word.chars().count() > 72;
                if full {
                    pieces.push(String::new());
                }
                *pieces.last_mut().unwrap() += word;
            }
            pieces
        })
        .map(|line| line + "\n")
        .collect();
    assert_ne!(broken, text);
    assert_eq!(
        import("post", &broken, None).unwrap().documents,
        import("post", &text, None).unwrap().documents
    );
}

#[test]
fn a_command_of_several_lines_is_read_whole() {
    let text = fixture("fio/kioxia-cd6.txt");
    let broken = text.replacen(" -fsync=1", " \\\n    -fsync=1", 1);
    assert_ne!(broken, text);
    assert_eq!(
        import("post", &broken, None).unwrap().documents,
        import("post", &text, None).unwrap().documents
    );
}

#[test]
fn a_pasted_job_file_supplies_options() {
    let text = fixture("fio/kioxia-cd6.txt");
    let (_command, report) = text.split_once('\n').unwrap();
    let file = "$ cat job.fio\n[global]\nioengine=libaio\ndirect=1\nfilename=/dev/nvme2n1\n\n\
                [test]\nfsync=1\nbs=4k\nrw=randwrite\n$ fio job.fio\n";
    let read = import("post", &format!("{file}{report}"), None).unwrap().documents;
    assert_eq!(read, import("post", &text, None).unwrap().documents);
    // The next listing has its own.
    let twice = format!("{file}{report}\n{}{report}", file.replace("direct=1", "direct=0"));
    let documents = import("post", &twice, None).unwrap().documents;
    let direct: Vec<bool> =
        documents.iter().map(|document| document.results[0].workload.direct).collect();
    assert_eq!(direct, [true, false]);
}

#[test]
fn a_report_from_its_figures_on_is_read() {
    let text = fixture("fio/kioxia-cd6.txt");
    let figures = &text[text.find("write: IOPS").unwrap()..];
    insta::assert_snapshot!(told(&import("post", figures, None).unwrap().documents), @"
    fio - | post | drive nvme2n1 | unknown unknown | 1970-01-01T00:00:00Z
      fio: - 4096 B fsync every 1, depth 1 jobs 1 | 36580.0 iops, 142.92 MiB/s, commits 36580.0 | r - w 18.0/24.0/1772.2 n=548737 s 21.0/28.0/1790.0 n=548736 c -
    ");
    // With its syncs alone, there is nothing to count.
    let syncs = &text[text.find("fsync/fdatasync").unwrap()..text.find("cpu").unwrap()];
    insta::assert_snapshot!(refusal(syncs), @"the output of fio (text) is cut short (it has no line `write: IOPS=…` or `read: IOPS=…`): import the complete output");
}

#[test]
fn pg_test_fsync_in_japanese() {
    let rows = "        open_datasync                      5853.025 操作/秒     171 マイクロ秒/操作\n\
                \u{20}       fdatasync                           237.351 操作/秒    4213 \
                マイクロ秒/操作\n\
                \u{20}       fsync                               290.239 操作/秒    3445 \
                マイクロ秒/操作\n\
                \u{20}       fsync_writethrough                  285.255 操作/秒    3506 \
                マイクロ秒/操作\n\
                \u{20}       open_sync                                  利用不可\n";
    let text = format!(
        "テスト１件あたり 5秒\n\n１個の 8kB write を使ってファイル同期メソッドを比較します:\n{rows}\n\
         ２個の 8kB write を使ってファイル同期メソッドを比較します:\n{rows}"
    );
    let documents = import("pg", &text, None).unwrap().documents;
    insta::assert_snapshot!(told(&documents), @"
    pg_test_fsync - | wal | drive - | unknown unknown | 1970-01-01T00:00:00Z
      one 8 KiB write: open_datasync: - 8192 B - every 1, depth 1 jobs 1 direct | 5853.0 iops, 45.73 MiB/s, commits 5853.0 | r - w - s - c -
      one 8 KiB write: fdatasync: - 8192 B - every 1, depth 1 jobs 1 | 237.4 iops, 1.85 MiB/s, commits 237.4 | r - w - s - c -
      one 8 KiB write: fsync: - 8192 B - every 1, depth 1 jobs 1 | 290.2 iops, 2.27 MiB/s, commits 290.2 | r - w - s - c -
      two 8 KiB writes: open_datasync: - 16384 B - every 1, depth 1 jobs 1 direct | 5853.0 iops, 91.45 MiB/s, commits 5853.0 | r - w - s - c -
      two 8 KiB writes: fdatasync: - 16384 B - every 1, depth 1 jobs 1 | 237.4 iops, 3.71 MiB/s, commits 237.4 | r - w - s - c -
      two 8 KiB writes: fsync: - 16384 B - every 1, depth 1 jobs 1 | 290.2 iops, 4.53 MiB/s, commits 290.2 | r - w - s - c -
      skipped one 8 KiB write: fsync_writethrough: 285.255 ops/sec of a method or size that flushmark does not test
      skipped one 8 KiB write: open_sync: pg_test_fsync reports n/a: the system or the filesystem does not support this method
      skipped two 8 KiB writes: fsync_writethrough: 285.255 ops/sec of a method or size that flushmark does not test
      skipped two 8 KiB writes: open_sync: pg_test_fsync reports n/a: the system or the filesystem does not support this method
      skipped Compare open_sync with different write sizes: the text does not contain this section of pg_test_fsync's output
      skipped Test if fsync on non-write file descriptor is honored: the text does not contain this section of pg_test_fsync's output
      skipped Non-sync'ed writes: the text does not contain this section of pg_test_fsync's output
    ");
    assert!((documents[0].results[0].elapsed_s - 5.0).abs() < 1e-9);
    let notes = documents[0].results[0].notes.join(" ");
    assert!(!notes.contains("default"), "the duration was printed: {notes}");
}

#[test]
fn progress_without_its_line_end_is_not_a_name() {
    let text = fixture("fio/kioxia-cd6.txt");
    let joined = text.replace("[eta 00m:00s]\n", "[eta 00m:00s]");
    assert_ne!(joined, text);
    assert_eq!(
        import("post", &joined, None).unwrap().documents,
        import("post", &text, None).unwrap().documents
    );
}
