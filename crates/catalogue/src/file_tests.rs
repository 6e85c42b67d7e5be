use workload::SyncMethod;

use super::*;
use crate::names::find;

#[test]
fn the_list_is_the_folder() {
    embedded::assert_complete("drives", FILES);
    for (drive, (name, _)) in drives().iter().zip(FILES) {
        assert_eq!(drive.name, *name);
    }
    assert!(FILES.is_sorted());
}

#[test]
fn nothing_of_what_was_published_is_missing() {
    let counts: Vec<String> =
        drives().iter().map(|drive| format!("{} {}", drive.name, drive.rows.len())).collect();
    insta::assert_snapshot!(counts.join("\n"), @r"
    crucial-t500-2tb-ext4 12
    gcp-hyperdisk-balanced-1tb-ext4 12
    gcp-local-nvme-x2-raid0-ext4 12
    intel-710-sata 15
    kioxia-cd6-3840gb 1
    micron-5100-eco-960gb 27
    samsung-950-pro-nvme 3
    samsung-980-1tb 1
    samsung-990-pro-ext4 12
    samsung-pm9a3-ext4 12
    seagate-nytro-1351-3840gb 8
    ");
    let rows = || drives().iter().flat_map(|drive| &drive.rows);
    assert_eq!(rows().count(), 115);
    // Sums over all rows, computed from the published figures independently of this program.
    let sum = |figure: fn(&Row) -> Option<f64>| rows().filter_map(figure).sum::<f64>();
    let sums = [
        sum(|row| row.iops),
        sum(|row| row.mib_per_s),
        sum(|row| row.write_us),
        sum(|row| row.sync_us),
    ];
    let expected = [1257305.9, 49541.383164, 109656.3, 49780.1];
    for (sum, expected) in sums.into_iter().zip(expected) {
        assert!((sum - expected).abs() < 0.01, "{sums:?}");
    }
    assert_eq!(rows().map(|row| row.block_bytes).sum::<u64>(), 122314240);
    assert_eq!(rows().map(|row| u64::from(row.depth)).sum::<u64>(), 1097);
}

#[test]
fn sampled_rows_are_as_published() {
    let row = |drive: &str, index: usize| find(drive).unwrap().rows[index].clone();
    insta::assert_snapshot!(format!("{:?}", row("micron-5100-eco-960gb", 11)), @r#"Row { workload: "write-cache matrix", pattern: RandWrite, block_bytes: 4096, depth: 1, jobs: 1, sync: Method(Fsync), sync_every: Some(1), write_cache: Off, iops: Some(25100.0), mib_per_s: None, write_us: None, sync_us: None }"#);
    insta::assert_snapshot!(format!("{:?}", row("samsung-980-1tb", 0)), @r#"Row { workload: "journal write", pattern: RandWrite, block_bytes: 4096, depth: 1, jobs: 1, sync: Method(Fsync), sync_every: Some(1), write_cache: Default, iops: Some(574.0), mib_per_s: Some(2.2431640625), write_us: Some(21.18), sync_us: Some(1735.07) }"#);
    insta::assert_snapshot!(format!("{:?}", row("intel-710-sata", 0)), @r#"Row { workload: "slog", pattern: RandWrite, block_bytes: 512, depth: 1, jobs: 1, sync: Flush, sync_every: Some(1), write_cache: Default, iops: Some(7230.7), mib_per_s: Some(3.53), write_us: Some(138.3), sync_us: None }"#);
    insta::assert_snapshot!(format!("{:?}", row("samsung-990-pro-ext4", 2)), @r#"Row { workload: "fsync study", pattern: Write, block_bytes: 16384, depth: 1, jobs: 1, sync: Method(Fsync), sync_every: Some(1), write_cache: Default, iops: Some(325.0), mib_per_s: Some(5.0), write_us: None, sync_us: Some(2974.2) }"#);
    let repeated = &find("samsung-990-pro-ext4").unwrap().rows[2..4];
    assert_eq!(repeated[0].sync, PublishedSync::Method(SyncMethod::Fsync));
    assert_eq!((repeated[0].sync_us, repeated[1].sync_us), (Some(2974.2), Some(2867.3)));
}

#[test]
fn every_drive_names_its_source() {
    for drive in drives() {
        assert!(
            !drive.source.is_empty() && drive.source_url.starts_with("https://"),
            "{}",
            drive.name
        );
        assert!(!drive.label.is_empty() && !drive.rows.is_empty(), "{}", drive.name);
    }
}

fn with_row(row: &str) -> String {
    format!(
        "drive = \"x\"\nlabel = \"X\"\nclass = \"disk\"\nsource = \"s\"\nsource_url \
         = \"https://s\"\npower_loss_protection = \"unknown\"\n\
         [[table]]\nworkload = \"t\"\nrows = [{{ {row} }}]\n"
    )
}

#[test]
fn a_bad_file_is_refused_with_its_reason() {
    let good = r#"pattern = "write", block = "4 KiB", depth = 1, jobs = 1, sync = "flush", sync_every = 1, write_cache = "on", iops = 9"#;
    parse(&with_row(good)).unwrap();
    let told = |from: &str, to: &str| {
        assert!(good.contains(from));
        parse(&with_row(&good.replace(from, to))).unwrap_err().to_string()
    };
    let all = [
        told("\"write\"", "\"erase\""),
        told("4 KiB", "4 furlongs"),
        told("\"flush\"", "\"msync\""),
        told("\"flush\"", "\"none\""),
        told("sync_every = 1", "sync_every = 0"),
        told(", iops = 9", ""),
        told("iops = 9", "iops = -9"),
        told("iops = 9", "iops = nan"),
        told("depth = 1", "depth = 0"),
        parse(&with_row(good).replace("\"unknown\"", "\"yes\"")).unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    row 1 of table `t`: unknown pattern `erase`
    row 1 of table `t`: invalid size `4 furlongs`; expected a whole number of bytes, or a number with KiB, MiB, GiB or TiB (4KiB, 16MiB)
    row 1 of table `t`: unknown sync method `msync`
    row 1 of table `t`: sync `none` and sync_every contradict each other
    row 1 of table `t`: block, depth, jobs and sync_every must be at least 1
    row 1 of table `t`: it has no figures
    row 1 of table `t`: invalid figure -9
    row 1 of table `t`: invalid figure NaN
    row 1 of table `t`: block, depth, jobs and sync_every must be at least 1
    power_loss_protection is `yes`: `yes` and `no` need a power_loss_protection_source, `unknown` must have none
    ");
    assert!(matches!(parse(&with_row("colour = 1")), Err(BadDriveFile::Form(_))));
    assert!(matches!(parse("drive ="), Err(BadDriveFile::Form(_))));
}

proptest::proptest! {
    #[test]
    fn foreign_text_is_refused_not_fatal(text in "\\PC{0,80}") {
        let _ = parse(&text);
        let _ = parse(&with_row(&text));
    }
}
