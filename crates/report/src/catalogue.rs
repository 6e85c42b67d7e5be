//! The catalogue of published measurements.

use catalogue::{
    Class, Drive, Listed, Origin, Part, PowerLossProtection, Quantity, Row, Statistic, Table,
};
use workload::number::{latency, number, throughput};

use crate::columns::{Column, Columns};
use crate::look::Look;
use crate::prose::counted;

/// Larger commits mostly transfer data.
const SMALL_BYTES_MAX: u64 = 64 << 10;

/// A drive with its best published small commit.
struct Line<'a> {
    origin: Origin,
    drive: &'a Drive,
    best_us: Option<f64>,
    /// All of its small commits are doubtful.
    is_doubtful: bool,
}

impl Line<'_> {
    fn of(Listed { origin, drive }: Listed<'_>) -> Line<'_> {
        let best = |doubtful: bool| {
            let rows = drive.rows().filter(|(table, row)| {
                table.doubt.is_some() == doubtful && row.block_bytes <= SMALL_BYTES_MAX
            });
            rows.filter_map(|(_, row)| row.commit_us()).reduce(f64::min)
        };
        let sound = best(false);
        let is_doubtful = sound.is_none();
        Line { origin, drive, best_us: sound.or_else(|| best(true)), is_doubtful }
    }
}

/// Drives by class, one line each, those with the fastest commits first.
///
/// `unknown` is the number of drives of these classes that were left out because nothing says
/// whether they are protected.
pub fn catalogue(drives: &[Listed<'_>], unknown: usize, look: &Look) -> String {
    let mut table = Columns::<Line<'_>>::new()
        .with(Column::left("name"), |line| match line.origin {
            Origin::Published => line.drive.name.clone(),
            Origin::Own => format!("{} (own)", line.drive.name),
        })
        .with(Column::left("protected").may_drop(1), |line| {
            line.drive.power_loss_protection.label()
        })
        .with(Column::right("rows").may_drop(3), |line| line.drive.rows().count().to_string())
        .with(Column::right("sources").may_drop(2), |line| line.drive.sources().len().to_string())
        .with(Column::right("best commit"), |line| {
            let mark = if line.is_doubtful { "?" } else { "" };
            line.best_us.map(|us| format!("{mark}{}", latency(us)))
        });
    for class in Class::ALL {
        let of_class = drives.iter().filter(|listed| listed.drive.class == class);
        let mut lines: Vec<Line<'_>> = of_class.map(|listed| Line::of(*listed)).collect();
        let order = |line: &Line<'_>| line.best_us.unwrap_or(f64::INFINITY);
        lines.sort_by(|one, other| order(one).total_cmp(&order(other)));
        if !lines.is_empty() {
            table.group(class.label());
            lines.iter().for_each(|line| table.row(line));
        }
    }
    let drives = match drives.len() {
        1 => "1 drive".to_owned(),
        count => format!("{count} drives"),
    };
    let left_out = match unknown {
        0 => String::new(),
        count => format!(
            "Of {} of these classes, no source of the figures says whether the cache is protected; \
             a datasheet may (--protected unknown). ",
            counted(count as u64, "more drive")
        ),
    };
    let legend = format!(
        "{drives}. Best commit: the shortest published time of a write of at most 64 KiB with its \
         sync, one at a time; with ? if the source's figures are doubtful. {left_out}\
         Show one: flushmark catalogue NAME."
    );
    look.finish(table.render(look) + "\n" + &look.hanging("", &legend))
}

/// One drive: every published row, by source and table.
pub fn drive(Listed { origin, drive }: Listed<'_>, look: &Look) -> String {
    let mut text = look.heading(&drive.label);
    let mut line = |label: &str, words: &str| {
        text += &look.hanging(&format!("  {label:<12}"), words);
    };
    let names: Vec<&str> =
        drive.aliases.iter().chain([&drive.name]).rev().map(String::as_str).collect();
    line("name", &names.join(", "));
    line("class", drive.class.label());
    let maker = [&drive.vendor, &drive.model].into_iter().flatten().cloned().collect::<Vec<_>>();
    if !maker.is_empty() {
        line("model", &maker.join(" "));
    }
    if let Some(gb) = drive.capacity_gb {
        line("capacity", &format!("{} GB", number(f64::from(gb))));
    }
    if let Some(array) = drive.array {
        let controller = match array.controller {
            catalogue::Controller::Software => "in software",
            catalogue::Controller::Hardware => "by a RAID controller",
        };
        line("array", &format!("{} of {}, {controller}", array.level.label(), array.members));
    }
    if origin == Origin::Own {
        line("origin", "your own entry");
    }
    line("protected", &protection(&drive.power_loss_protection));
    for table in &drive.tables {
        text += "\n";
        text += &published(table, look);
    }
    look.finish(text)
}

fn protection(protection: &PowerLossProtection) -> String {
    let source = protection.source().map(|source| format!(" ({source})")).unwrap_or_default();
    let against = match protection {
        PowerLossProtection::Claimed { against, .. } => format!("; against it: {against}"),
        _ => String::new(),
    };
    format!("{}{source}{against}", protection.label())
}

/// A table with its source, its method and its rows.
fn published(table: &Table, look: &Look) -> String {
    let year = table.year.map(|year| year.to_string());
    let buffered = (table.direct == Some(false)).then_some("without O_DIRECT");
    let known = [Some(table.tool.name()), buffered, table.os.as_deref(), year.as_deref()];
    let method = known.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let title = format!("{}: {}, {method}", table.workload, table.filesystem.label());
    let mut text = look.hanging("  ", &title);
    text += &look.hanging("  source  ", &format!("{}, {}", table.source, table.source_url));
    for (label, phrase) in [("note", &table.note), ("doubt", &table.doubt)] {
        if let Some(phrase) = phrase {
            text += &look.hanging(&format!("  {label:<8}"), phrase);
        }
    }
    let any = |is: fn(&Row) -> bool| table.rows.iter().any(is);
    let (is_deep, is_shared) = (any(|row| row.depth > 1), any(|row| row.jobs > 1));
    let is_switched = any(|row| row.write_cache.is_known());
    let figure = |quantity: Quantity, written: fn(f64) -> String| {
        move |test: &Test<'_>| range(test.figures(quantity), written)
    };
    let tests = Test::all(&table.rows);
    let is_repeated = tests.iter().any(|test| !test.others.is_empty());
    let mut columns = Columns::<Test<'_>>::new()
        .with(Column::left("pattern").optional(), |test| {
            test.first.pattern.map(workload::Pattern::name)
        })
        .with(Column::right("block"), |test| workload::format_bytes(test.first.block_bytes))
        .with(Column::right("depth").optional(), move |test| {
            is_deep.then(|| test.first.depth.to_string())
        })
        .with(Column::right("jobs").optional(), move |test| {
            is_shared.then(|| test.first.jobs.to_string())
        })
        .with(Column::left("sync"), |test| match test.first.sync_every {
            Some(every) if every > 1 => format!("{}={every}", test.first.sync.name()),
            _ => test.first.sync.name().to_owned(),
        })
        .with(Column::left("cache").optional(), move |test| {
            is_switched.then(|| test.first.write_cache.name())
        })
        .with(Column::right("runs").optional().may_drop(4), move |test| {
            is_repeated.then(|| (1 + test.others.len()).to_string())
        })
        .with(Column::right("IOPS").optional(), figure(Quantity::Iops, number))
        .with(Column::right("MiB/s").optional().may_drop(3), figure(Quantity::MibPerS, throughput));
    for (part, name) in [(Part::Write, "write"), (Part::Sync, "sync"), (Part::Whole, "commit")] {
        for statistic in [Statistic::Mean, Statistic::P50, Statistic::P99] {
            let column = match statistic {
                Statistic::Mean => Column::right(&format!("{name} mean")),
                Statistic::P50 => Column::right("p50").may_drop(2),
                Statistic::P99 => Column::right("p99").may_drop(1),
            };
            let quantity = Quantity::Latency(part, statistic);
            columns = columns.with(column.optional(), figure(quantity, latency));
        }
    }
    text + &columns.of(&tests, look)
}

/// A published test, with its repetitions.
struct Test<'a> {
    first: &'a Row,
    others: Vec<&'a Row>,
}

impl<'a> Test<'a> {
    /// The tests in the order of their first runs.
    fn all(rows: &'a [Row]) -> Vec<Test<'a>> {
        let mut tests: Vec<Test<'a>> = Vec::new();
        for row in rows {
            match tests.iter_mut().find(|test| test.first.is_same_test(row)) {
                Some(test) => test.others.push(row),
                None => tests.push(Test { first: row, others: Vec::new() }),
            }
        }
        tests
    }

    fn figures(&self, quantity: Quantity) -> Vec<f64> {
        let rows = [self.first].into_iter().chain(self.others.iter().copied());
        rows.flat_map(Row::figures)
            .filter(|(other, _)| *other == quantity)
            .map(|(_, figure)| figure)
            .collect()
    }
}

/// The least and the greatest figure, or one if both are written alike; `None` without figures.
fn range(mut figures: Vec<f64>, written: fn(f64) -> String) -> Option<String> {
    figures.sort_by(f64::total_cmp);
    let [least, greatest] = [figures.first()?, figures.last()?].map(|figure| written(*figure));
    if least == greatest {
        return Some(least);
    }
    // One unit suffices for both.
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    let least = if unit(&least) == unit(&greatest) {
        least.split(' ').next().unwrap_or_default()
    } else {
        &least
    };
    Some(format!("{least}-{greatest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(name: &str) -> Listed<'static> {
        Listed { origin: Origin::Published, drive: ::catalogue::find(name).unwrap() }
    }

    #[test]
    fn own_entries_are_marked() {
        let own = Listed { origin: Origin::Own, ..published("samsung-980-1tb") };
        assert!(catalogue(&[own], 0, &Look::plain()).contains("samsung-980-1tb (own)"));
        let page = drive(own, &Look::plain());
        assert!(page.contains("origin      your own entry"), "{page}");
    }

    #[test]
    fn the_list_has_classes_and_the_fastest_first() {
        let named = published;
        let drives = [
            named("samsung-980-1tb"),
            named("micron-5100-eco-960gb"),
            named("samsung-pm983-kingston-dc1500m-960gb-raid1"),
            named("kioxia-cd6-3840gb"),
            named("intel-520"),
            named("crucial-t500-2tb"),
        ];
        insta::assert_snapshot!(catalogue(&drives, 2, &Look::plain()), @"
          name                                        protected  rows  sources  best commit
          enterprise NVMe
          samsung-pm983-kingston-dc1500m-960gb-raid1  unknown       4        2      24.7 µs
          kioxia-cd6-3840gb                           yes           1        1      27.3 µs
          enterprise SATA
          micron-5100-eco-960gb                       yes          27        1      39.8 µs
          consumer NVMe
          crucial-t500-2tb                            claimed      76        5       476 µs
          samsung-980-1tb                             unknown       1        1      1.74 ms
          consumer SATA
          intel-520                                   unknown       1        1      ?492 µs

        6 drives. Best commit: the shortest published time of a write of at most 64 KiB with its sync, one
        at a time; with ? if the source's figures are doubtful. Of 2 more drives of these classes, no source
        of the figures says whether the cache is protected; a datasheet may (--protected unknown). Show one:
        flushmark catalogue NAME.
        ");
    }

    #[test]
    fn the_whole_list_fits_80_columns() {
        let drives = ::catalogue::OwnDrives::default();
        let drives = drives.with_published();
        let look = Look { columns: 80, ..Look::plain() };
        let list = catalogue(&drives, 0, &look);
        assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
        assert!(drives.iter().all(|listed| list.contains(&format!("  {} ", listed.drive.name))));
        for listed in drives {
            let page = super::drive(listed, &look);
            let words = |line: &str| line.split_whitespace().count();
            let too_wide = page.lines().find(|line| line.chars().count() > 80 && words(line) > 1);
            assert_eq!(too_wide, None, "{}", listed.drive.name);
        }
    }

    #[test]
    fn one_drive_has_its_tables_by_source_with_doubts() {
        let page = |name: &str| drive(published(name), &Look::plain());
        insta::assert_snapshot!(page("kioxia-cd6-3840gb"), @"
        Kioxia CD6 3840 GB
          name        kioxia-cd6-3840gb
          class       enterprise NVMe
          model       Kioxia CD6
          capacity    3,840 GB
          protected   yes (Kioxia CD6 series product brief)

          journal write: raw, fio, Linux
          source  Choosing SSDs for Ceph, https://cdn.igene.tw/en/choosing-ceph-ssd
          pattern    block  sync     IOPS  MiB/s  write mean  sync mean
          randwrite  4 KiB  fsync  36,600    143     23.5 µs    20.4 µs
        ");
        insta::assert_snapshot!(page("samsung-850-pro-512gb"), @"
        Samsung 850 PRO 512 GB
          name        samsung-850-pro-512gb
          class       consumer SATA
          model       Samsung 850 PRO
          capacity    512 GB
          protected   unknown

          fsync_fio.py: files, fio, AlmaLinux 9.5, 2025
          source  centminmod-sysbench fsync_fio.py.md,
                  https://github.com/centminmod/centminmod-sysbench/blob/b68f1bc4ae405500a3a61d309ea5c58e7772af43/scripts/fsync_fio.py.md
          doubt   with sync=1 and fsync=1 every write is synced twice, so the sync latency is that of a sync
                  with nothing left to do; the same block is written 1000 times; measured on /dev/vda in a
                  virtual machine
          pattern  block  sync   IOPS  sync mean
          write    4 KiB  fsync   391    50.5 µs

          fsync_fio.py: files, fio, AlmaLinux 9.5, 2025
          source  centminmod-sysbench fsync_fio.py.md,
                  https://github.com/centminmod/centminmod-sysbench/blob/b68f1bc4ae405500a3a61d309ea5c58e7772af43/scripts/fsync_fio.py.md
          doubt   with sync=1 and fsync=1 every write is synced twice, so the sync latency is that of a sync
                  with nothing left to do; the same block is written 1000 times; measured on /dev/vda in a
                  virtual machine
          pattern   block  sync   IOPS  sync mean
          write    16 KiB  fsync   331    52.4 µs

          fsync.py: files, fsync.py, AlmaLinux 9.5, 2025
          source  centminmod-sysbench fsync.py.md,
                  https://github.com/centminmod/centminmod-sysbench/blob/b68f1bc4ae405500a3a61d309ea5c58e7772af43/scripts/fsync.py.md
          pattern   block  sync   IOPS  commit mean
          write     4 KiB  fsync   443      2.26 ms
          write    16 KiB  fsync   396      2.52 ms
        ");
        insta::assert_snapshot!(page("kingston-kc3000-1tb-x4-raid10"), @"
        Kingston KC3000 1 TB, four in RAID 10
          name        kingston-kc3000-1tb-x4-raid10
          class       consumer NVMe
          model       Kingston SKC3000S1024G (KC3000)
          capacity    1,024 GB
          array       RAID 10 of 4, in software
          protected   unknown

          fsync_fio.py: files, fio, AlmaLinux 9.5, 2025
          source  centminmod-sysbench fsync_fio.py.md,
                  https://github.com/centminmod/centminmod-sysbench/blob/b68f1bc4ae405500a3a61d309ea5c58e7772af43/scripts/fsync_fio.py.md
          doubt   with sync=1 and fsync=1 every write is synced twice, so the sync latency is that of a sync
                  with nothing left to do; the same block is written 1000 times
          pattern  block  sync   IOPS  sync mean
          write    4 KiB  fsync   820     127 µs

          fsync_fio.py: files, fio, AlmaLinux 9.5, 2025
          source  centminmod-sysbench fsync_fio.py.md,
                  https://github.com/centminmod/centminmod-sysbench/blob/b68f1bc4ae405500a3a61d309ea5c58e7772af43/scripts/fsync_fio.py.md
          doubt   with sync=1 and fsync=1 every write is synced twice, so the sync latency is that of a sync
                  with nothing left to do; the same block is written 1000 times
          pattern   block  sync   IOPS  sync mean
          write    16 KiB  fsync   815     126 µs

          fsync.py: files, fsync.py, AlmaLinux 9.5, 2025
          source  centminmod-sysbench fsync.py.md,
                  https://github.com/centminmod/centminmod-sysbench/blob/b68f1bc4ae405500a3a61d309ea5c58e7772af43/scripts/fsync.py.md
          pattern   block  sync    IOPS  commit mean
          write     4 KiB  fsync  1,281       781 µs
          write    16 KiB  fsync  1,222       818 µs
        ");
        insta::assert_snapshot!(page("xpg-gammix-s70-blade-2tb"), @"
        XPG Gammix S70 Blade 2 TB
          name        xpg-gammix-s70-blade-2tb
          class       consumer NVMe
          model       XPG (ADATA) GAMMIX S70 BLADE
          capacity    2,000 GB
          protected   unknown

          fsync test: ntfs, fio, without O_DIRECT, Windows, 2023
          source  d-uzlov/k8s-homelab: disk fsync tests,
                  https://github.com/d-uzlov/k8s-homelab/blob/aad31630b67544d04661b4aa88f71e01b7d5b586/docs/disk-test/test-fsync.md
          note    a short run
          pattern  block  sync        IOPS  MiB/s  write mean  sync mean     p50     p99
          write    4 KiB  fdatasync  3,666   14.3     6.24 µs     265 µs  262 µs  318 µs

          fsync test: files, fio, without O_DIRECT, Linux, 2023
          source  d-uzlov/k8s-homelab: disk fsync tests,
                  https://github.com/d-uzlov/k8s-homelab/blob/aad31630b67544d04661b4aa88f71e01b7d5b586/docs/disk-test/test-fsync.md
          note    a short run
          pattern  block  sync        IOPS  MiB/s  write mean  sync mean     p50     p99
          write    4 KiB  fdatasync  2,137   8.35     18.5 µs     447 µs  429 µs  506 µs
        ");
        assert!(page("crucial-t500-2tb").contains("claimed ("), "{}", page("crucial-t500-2tb"));
    }
}
