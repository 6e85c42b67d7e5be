//! The catalogue of published measurements.

use catalogue::{Drive, Row};
use workload::number::{latency, number, throughput};

use crate::columns::{Column, Columns};
use crate::look::Look;

/// All drives, one line each, with the best published small commit.
pub fn catalogue(drives: &[Drive], look: &Look) -> String {
    let is_small =
        |row: &&Row| row.depth == 1 && row.jobs == 1 && (4096..=16384).contains(&row.block_bytes);
    let table = Columns::<Drive>::new()
        .with(Column::left("name"), |drive| drive.name.clone())
        .with(Column::left("class"), |drive| drive.class.label())
        .with(Column::left("protected"), |drive| drive.power_loss_protection.label())
        .with(Column::right("rows"), |drive| drive.rows.len().to_string())
        .with(Column::right("best 4-16 KiB commit"), |drive| {
            let commits = drive.rows.iter().filter(is_small).filter_map(Row::commit_us);
            commits.reduce(f64::min).map(latency)
        })
        .with(Column::prose("source").may_drop(1), |drive| drive.source.clone())
        .of(drives, look);
    look.finish(table + "\nShow one: flushmark catalogue NAME.\n")
}

/// One drive: every published row, grouped by source.
pub fn drive(drive: &Drive, look: &Look) -> String {
    let mut text = look.heading(&format!("{} ({})", drive.label, drive.name));
    let mut line = |label: &str, words: &str| {
        text += &look.hanging(&format!("  {label:<12}"), words);
    };
    line("class", drive.class.label());
    let says = drive
        .power_loss_protection_source
        .as_ref()
        .map(|source| format!(" ({source})"))
        .unwrap_or_default();
    line("protected", &format!("{}{says}", drive.power_loss_protection.label()));
    line("source", &format!("{}, {}", drive.source, drive.source_url));
    let mut table = Columns::<Row>::new()
        .with(Column::left("pattern"), |row| row.pattern.name())
        .with(Column::right("block"), |row| workload::format_bytes(row.block_bytes))
        .with(Column::right("depth"), |row| row.depth.to_string())
        .with(Column::right("jobs"), |row| row.jobs.to_string())
        .with(Column::left("sync"), |row| row.sync.name())
        .with(Column::left("cache"), |row| row.write_cache.name())
        .with(Column::right("IOPS").optional(), |row| row.iops.map(number))
        .with(Column::right("MiB/s").optional(), |row| row.mib_per_s.map(throughput))
        .with(Column::right("write").optional(), |row| row.write_us.map(latency))
        .with(Column::right("sync").optional(), |row| row.sync_us.map(latency));
    let mut group = None;
    for row in &drive.rows {
        if group != Some(&row.workload) {
            group = Some(&row.workload);
            table.group(row.workload.clone());
        }
        table.row(row);
    }
    text += "\n";
    text += &table.render(look);
    look.finish(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_and_one_drive() {
        insta::assert_snapshot!(catalogue(::catalogue::drives(), &Look::plain()), @"
          name                             class              protected  rows  best 4-16 KiB commit
          crucial-t500-2tb-ext4            consumer NVMe      no           12                476 µs
          gcp-hyperdisk-balanced-1tb-ext4  cloud volume       unknown      12                509 µs
          gcp-local-nvme-x2-raid0-ext4     cloud local drive  unknown      12                122 µs
          intel-710-sata                   enterprise SATA    yes          15                158 µs
          kioxia-cd6-3840gb                enterprise NVMe    yes           1               27.3 µs
          micron-5100-eco-960gb            enterprise SATA    yes          27               39.8 µs
          samsung-950-pro-nvme             consumer NVMe      unknown       3               2.09 ms
          samsung-980-1tb                  consumer NVMe      unknown       1               1.74 ms
          samsung-990-pro-ext4             consumer NVMe      no           12                  3 ms
          samsung-pm9a3-ext4               enterprise NVMe    yes          12               21.4 µs
          seagate-nytro-1351-3840gb        enterprise SATA    yes           8               55.2 µs

        Show one: flushmark catalogue NAME.
        ");
        insta::assert_snapshot!(drive(::catalogue::find("kioxia-cd6-3840gb").unwrap(), &Look::plain()), @"
        Kioxia CD6 3840 GB (kioxia-cd6-3840gb)
          class       enterprise NVMe
          protected   yes (Kioxia CD6 series product brief)
          source      Choosing SSDs for Ceph, https://cdn.igene.tw/en/choosing-ceph-ssd

          pattern    block  depth  jobs  sync   cache      IOPS  MiB/s    write     sync
          journal write
          randwrite  4 KiB      1     1  fsync  default  36,600    143  23.5 µs  20.4 µs
        ");
    }
}
