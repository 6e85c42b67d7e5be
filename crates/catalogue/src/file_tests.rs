use workload::SyncMethod;

use super::*;
use crate::names::find;
use crate::row::Statistic;

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
        drives().iter().map(|drive| format!("{} {}", drive.name, drive.rows().count())).collect();
    let lines: Vec<String> = counts.chunks(3).map(|three| three.join(", ")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    adata-legend-960-2tb 1, adata-sp900 1, adata-sp900-120gb 1
    adata-sp920 1, aliyun-ecs-i3-2xlarge-local-ssd 4, aliyun-ecs-i4p-16xlarge-local-ssd 4
    aliyun-ecs-i4p-2xlarge-local-ssd 4, apacer-as340-480gb 1, corsair-mp600-2tb 4
    corsair-mp600-500gb 4, crucial-m550 1, crucial-mx200 1
    crucial-t500-2tb 76, dell-xs1715-400gb 3, fusion-io-iodrive2-410gb 1
    gcp-hyperdisk-balanced-1tb 88, gcp-local-nvme-x2-raid0 88, hgst-ssd1600mm-800gb 3
    hpe-mk000480gwcev-480gb-x2-raid1 1, intel-510 1, intel-520 1
    intel-520-180gb 3, intel-520-60gb 3, intel-535-240gb 1
    intel-545-512gb 2, intel-710-sata 15, intel-750-400gb 4
    intel-d7-p5510-7600gb 4, intel-dc-p3520-450gb-x2-raid1 4, intel-dc-p3600-800gb 3
    intel-dc-p3700 1, intel-dc-p3700-1600gb 3, intel-dc-p3700-400gb 3
    intel-dc-p4510-2tb 4, intel-dc-p4600-2tb 6, intel-dc-s3500 1
    intel-dc-s3500-1600gb 1, intel-dc-s3610-1600gb 3, intel-dc-s3700-100gb 1
    intel-dc-s3700-200gb 1, intel-dc-s3700-400gb 3, intel-dc-s3710-200gb 1
    intel-dc-s4510-480gb 2, intel-optane-900p-480gb 4, intel-optane-dc-p4800x-375gb 3
    intel-optane-m10-16gb 3, kingston-dc600m-960gb-x2-raid1 4, kingston-dc600m-960gb-x4-raid10 4
    kingston-kc3000-1tb-x4-raid10 4, kingston-kc3000-2tb-x2-raid1 4, kingston-kc3000-512gb 4
    kingston-sedc1500m-7680gb-x2-raid1 2, kingston-sedc600-960gb-x2-raid1 1, kingston-v300-120gb 3
    kingston-v300-60gb 3, kioxia-cd6-3840gb 1, lense20512gmsp34meat2ta-512gb 5
    liteon-ece-200-200gb 1, micron-1100-256gb-x2-raid1 4, micron-5100-eco-960gb 27
    micron-m500dc-480gb 1, micron-p400e-400gb 1, netlist-ev3-16gb 3
    plextor-m6e-120gb 1, plextor-px-0128m5s-128gb 1, plextor-px-128m5 1
    pliant-lb206s-200gb 7, samsung-840-evo-250gb 1, samsung-850-evo-250gb 1
    samsung-850-pro-128gb 1, samsung-850-pro-256gb 3, samsung-850-pro-512gb 4
    samsung-860-evo-1tb 16, samsung-860-evo-2tb-x4-raid10 4, samsung-860-pro-512gb 16
    samsung-950-pro-512gb 3, samsung-950-pro-nvme 15, samsung-970-evo-1tb 5
    samsung-970-evo-plus-2tb 4, samsung-970-pro-512gb 5, samsung-980-1tb 1
    samsung-983-dct-960gb 2, samsung-990-pro-2tb 96, samsung-990-pro-2tb-x2-raid1 2
    samsung-mzilt3t8hbls-3840gb 1, samsung-mzqlw960hmjp-960gb 2, samsung-mzvlb512hajq-512gb 6
    samsung-mzvlq512halu-512gb 2, samsung-pm1643a-960gb 9, samsung-pm863 3
    samsung-pm863-1920gb 3, samsung-pm863-240gb 4, samsung-pm863a-240gb 12
    samsung-pm961-128gb 6, samsung-pm983-kingston-dc1500m-960gb-raid1 4, samsung-pm983a-960gb 4
    samsung-pm9a1-512gb-x2-raid1 2, samsung-pm9a3-960gb 92, samsung-sm863-240gb 3
    samsung-xp941-256gb 2, sandisk-cloudspeed-ii-eco-960gb 3, sandisk-extreme-pro-960gb 2
    sandisk-lightning-ii-400gb 3, sandisk-sx300-1300gb 3, sandisk-ultra-ii-120gb 3
    sandisk-ultra-ii-240gb 4, sandisk-ultra-ii-960gb 2, sandisk-ultra-plus-256gb 3
    seagate-nytro-1351-3840gb 27, sk-hynix-gold-p31-500gb 1, sk-hynix-hfs960gd0mee-960gb 2
    t-force-tm8fpl500g-500gb 1, team-t253480gb-480gb 1, team-t253x2512g-512gb 2
    tesla-2tb 3, toshiba-ocz-vt180-960gb 3, transcend-220s-1tb 2
    wd-blue-wds100t2b0a-1tb 3, wd-wd2002fyps-2tb 4, wd-wd2002fyps-2tb-x4-raid5 4
    wd-wd2502abys 1, wd-wd40ezrx-4tb-x2-raid1 3, xpg-gammix-s70-blade-2tb 2
    ");
}

#[test]
fn every_figure_is_as_published() {
    let rows = || drives().iter().flat_map(Drive::rows).map(|(_, row)| row);
    assert_eq!(rows().count(), 866);
    // Sums over all rows, computed from the published figures independently of this program.
    let sum = |figure: fn(&Row) -> Option<f64>| rows().filter_map(figure).sum::<f64>();
    let percentile = |wanted: Statistic| {
        let figures = rows().flat_map(Row::figures);
        let wanted = figures.filter(|(quantity, _)| {
            matches!(quantity, Quantity::Latency(_, statistic) if *statistic == wanted)
        });
        wanted.map(|(_, figure)| figure).sum::<f64>()
    };
    let sums = [
        sum(|row| row.iops),
        sum(|row| row.mib_per_s),
        sum(|row| row.write_us),
        sum(|row| row.sync_us),
        sum(|row| row.io_us),
        percentile(Statistic::P50),
        percentile(Statistic::P99),
    ];
    let expected =
        [12069270.247, 441862.748664, 243532.00594, 2574877.52674, 728071.7, 273106.56, 587867.192];
    for (sum, expected) in sums.into_iter().zip(expected) {
        assert!((sum - expected).abs() < 0.01, "{sums:?}");
    }
    assert_eq!(rows().map(|row| row.block_bytes).sum::<u64>(), 548115196);
    assert_eq!(rows().map(|row| u64::from(row.depth)).sum::<u64>(), 2123);
    assert_eq!(rows().map(|row| u64::from(row.jobs)).sum::<u64>(), 3302);
}

#[test]
fn sampled_rows_are_as_published() {
    let row = |drive: &str, index: usize| {
        let (table, row) = find(drive).unwrap().rows().nth(index).unwrap();
        let figures: Vec<String> =
            row.figures().map(|(quantity, figure)| format!("{quantity:?} {figure}")).collect();
        format!(
            "{}, {}: {:?} {} {} every {:?}, cache {}, {} × {}: {}",
            table.workload,
            table.filesystem.name(),
            row.pattern,
            row.block_bytes,
            row.sync.name(),
            row.sync_every,
            row.write_cache.name(),
            row.depth,
            row.jobs,
            figures.join(", ")
        )
    };
    let all = [
        row("micron-5100-eco-960gb", 11),
        row("samsung-980-1tb", 0),
        row("intel-710-sata", 0),
        row("samsung-990-pro-ext4", 2),
        row("samsung-990-pro-2tb", 95),
        row("netlist-ev3-16gb", 1),
        row("sk-hynix-hfs960gd0mee-960gb", 0),
        row("hpe-mk000480gwcev-480gb-x2-raid1", 0),
        row("gcp-local-nvme-x2-raid0-xfs", 14),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    write-cache matrix, none: Some(RandWrite) 4096 fsync every Some(1), cache off, 1 × 1: Iops 25100
    journal write, none: Some(RandWrite) 4096 fsync every Some(1), cache default, 1 × 1: Iops 574, MibPerS 2.2431640625, Latency(Write, Mean) 21.18, Latency(Sync, Mean) 1735.07
    slog, none: Some(RandWrite) 512 flush every Some(1), cache default, 1 × 1: Iops 7230.7, MibPerS 3.53, Latency(Whole, Mean) 138.3
    fsync study, ext4: Some(Write) 16384 fsync every Some(1), cache default, 1 × 1: Iops 325, MibPerS 5, Latency(Sync, Mean) 2974.2
    pg_test_fsync, xfs: Some(Write) 8192 fsync every Some(1), cache on, 1 × 1: Iops 177.431, Latency(Whole, Mean) 5636
    journal test, none: Some(Write) 4096 o_sync every Some(1), cache unknown, 1 × 5: MibPerS 1439
    journal test, none: Some(RandWrite) 512 fsync every Some(1), cache default, 1 × 1: Iops 2087, MibPerS 1.02, Latency(Write, Mean) 467.16, Latency(Write, P50) 465, Latency(Write, P99) 494, Latency(Sync, Mean) 0.27919
    4K QD1, unknown: None 4096 fsync every Some(1), cache default, 1 × 1: Iops 3069, Latency(Whole, Mean) 320, Latency(Whole, P99) 920
    fsync study, xfs: Some(Write) 16384 fsync every Some(1), cache default, 1 × 1: Iops 7421, MibPerS 110.6, Latency(Sync, Mean) 39.5
    ");
    let repeated: Vec<_> = find("samsung-990-pro-ext4").unwrap().rows().skip(2).take(2).collect();
    assert_eq!(repeated[0].1.sync, PublishedSync::Method(SyncMethod::Fsync));
    assert!(repeated[0].1.is_same_test(repeated[1].1));
    assert_eq!((repeated[0].1.sync_us, repeated[1].1.sync_us), (Some(2974.2), Some(2867.3)));
}

#[test]
fn every_table_names_its_source() {
    for drive in drives() {
        assert!(!drive.label.is_empty() && !drive.tables.is_empty(), "{}", drive.name);
        for table in &drive.tables {
            let has_source = !table.source.is_empty() && table.source_url.starts_with("https://");
            assert!(has_source, "{}: {}", drive.name, table.workload);
        }
    }
}

#[test]
fn no_name_or_label_belongs_to_two_drives() {
    let names = |drive: &'static Drive| drive.aliases.iter().chain([&drive.name, &drive.label]);
    let mut all: Vec<&String> = drives().iter().flat_map(names).collect();
    all.sort();
    let count = all.len();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn doubts_and_arrays_are_kept() {
    let doubt = |name: &str| find(name).unwrap().tables[0].doubt.clone().unwrap_or_default();
    assert!(doubt("kingston-v300-120gb").contains("98 MB/s"));
    assert!(doubt("samsung-850-pro-512gb").contains("/dev/vda"));
    assert_eq!(doubt("kingston-v300-60gb"), "");
    let array = find("kingston-kc3000-1tb-x4-raid10").unwrap().array.unwrap();
    assert_eq!((array.level, array.members), (crate::ArrayLevel::Raid10, 4));
    let doubtful = drives().iter().flat_map(Drive::rows).filter(|(table, _)| table.doubt.is_some());
    assert_eq!(doubtful.count(), 114);
}

const GOOD_ROW: &str = r#"pattern = "write", block = "4 KiB", depth = 1, jobs = 1, sync = "flush", sync_every = 1, write_cache = "on", iops = 9"#;

fn with_row(row: &str) -> String {
    format!(
        "drive = \"x\"\nlabel = \"X\"\nclass = \"disk\"\npower_loss_protection = \"unknown\"\n\
         [[table]]\nworkload = \"t\"\nsource = \"s\"\nsource_url = \"https://s\"\n\
         tool = \"fio\"\nfilesystem = \"ext4\"\nrows = [{{ {row} }}]\n"
    )
}

#[test]
fn a_bad_row_is_refused_with_its_reason() {
    parse(&with_row(GOOD_ROW)).unwrap();
    let error = |from: &str, to: &str| {
        assert!(GOOD_ROW.contains(from));
        parse(&with_row(&GOOD_ROW.replace(from, to))).unwrap_err().to_string()
    };
    let all = [
        error("\"write\"", "\"erase\""),
        error("4 KiB", "4 furlongs"),
        error("\"flush\"", "\"msync\""),
        error("\"flush\"", "\"none\""),
        error("sync_every = 1", "sync_every = 0"),
        error(", iops = 9", ""),
        error("iops = 9", "iops = -9"),
        error("iops = 9", "io_p99_us = nan"),
        error("depth = 1", "depth = 0"),
        error("sync = \"flush\", sync_every = 1", "sync = \"none\", sync_p50_us = 3"),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    row 1 of table `t`: unknown pattern `erase`
    row 1 of table `t`: invalid size `4 furlongs`; expected a whole number of bytes, or a number with KiB, MiB, GiB or TiB (4KiB, 16MiB)
    row 1 of table `t`: unknown sync method `msync`
    row 1 of table `t`: sync `none` and sync_every contradict each other
    row 1 of table `t`: block, depth, jobs and sync_every must be at least 1
    row 1 of table `t`: it has no figures
    row 1 of table `t`: invalid figure -9
    row 1 of table `t`: invalid figure NaN
    row 1 of table `t`: block, depth, jobs and sync_every must be at least 1
    row 1 of table `t`: it has the latency of a sync but no sync
    ");
    assert!(matches!(parse(&with_row("colour = 1")), Err(BadDriveFile::Form(_))));
    assert!(matches!(parse("drive ="), Err(BadDriveFile::Form(_))));
}

#[test]
fn a_bad_table_or_drive_is_refused_with_its_reason() {
    let good = with_row(GOOD_ROW);
    let error = |from: &str, to: &str| {
        assert!(good.contains(from));
        parse(&good.replace(from, to)).unwrap_err().to_string()
    };
    let claim = "power_loss_protection = \"unknown\"";
    let array = |text: &str| format!("array = {{ {text}, controller = \"software\" }}\n{claim}");
    let all = [
        error(claim, "power_loss_protection = \"yes\""),
        error(claim, &format!("{claim}\npower_loss_protection_source = \"s\"")),
        error(claim, "power_loss_protection = \"claimed\"\npower_loss_protection_source = \"s\""),
        error(claim, &format!("{claim}\npower_loss_protection_against = \"s\"")),
        error(claim, &array("level = \"raid10\", members = 3")),
        error(claim, &array("level = \"raid1\", members = 1")),
        error(claim, &array("level = \"raid5\", members = 2")),
        error("tool = \"fio\"", "tool = \"fio\"\nfile_size = \"0 B\""),
        error("tool = \"fio\"", "tool = \"fio\"\nfile_size = \"big\""),
        error(&format!("{{ {GOOD_ROW} }}"), ""),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    power_loss_protection: `yes` and `no` need a power_loss_protection_source, `claimed` also a power_loss_protection_against, `unknown` must have neither
    power_loss_protection: `yes` and `no` need a power_loss_protection_source, `claimed` also a power_loss_protection_against, `unknown` must have neither
    power_loss_protection: `yes` and `no` need a power_loss_protection_source, `claimed` also a power_loss_protection_against, `unknown` must have neither
    power_loss_protection: `yes` and `no` need a power_loss_protection_source, `claimed` also a power_loss_protection_against, `unknown` must have neither
    RAID 10 cannot consist of 3 drives
    RAID 1 cannot consist of 1 drives
    RAID 5 cannot consist of 2 drives
    table `t`: file_size must be at least 1 B
    table `t`: file_size: invalid size `big`; expected a whole number of bytes, or a number with KiB, MiB, GiB or TiB (4KiB, 16MiB)
    table `t`: it has no rows
    ");
    for (from, to) in [("\"fio\"", "\"dd\""), ("\"ext4\"", "\"fat\""), ("\"disk\"", "\"tape\"")] {
        assert!(matches!(parse(&good.replace(from, to)), Err(BadDriveFile::Form(_))), "{to}");
    }
    let claimed = "power_loss_protection = \"claimed\"\npower_loss_protection_source = \"s\"\n\
                   power_loss_protection_against = \"a\"";
    let drive = parse(&good.replace(claim, claimed)).unwrap();
    assert_eq!(drive.power_loss_protection.label(), "claimed");
    let json = serde_json::to_value(&drive).unwrap();
    assert_eq!(json["power_loss_protection"], "claimed");
    assert_eq!(json["power_loss_protection_against"], "a");
}

proptest::proptest! {
    #[test]
    fn foreign_text_is_refused_not_fatal(text in "\\PC{0,80}") {
        let _ = parse(&text);
        let _ = parse(&with_row(&text));
    }
}
