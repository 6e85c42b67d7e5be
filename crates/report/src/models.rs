//! The list of drive models.

use catalogue::Model;

use crate::look::{Look, paint};

/// All models: name, drive, and the source of the parameters.
pub fn models(models: &[Model], look: &Look) -> String {
    let mut text = String::new();
    let (fitted, generic): (Vec<_>, Vec<_>) =
        models.iter().partition(|model| model.fitted_to.is_some());
    let width = models.iter().map(|model| model.model.len()).max().unwrap_or_default();
    for (heading, group) in [("Generic drives", generic), ("Published drives", fitted)] {
        text += &format!("{}\n", paint(look.palette.strong, heading));
        for model in group {
            let words = format!("{}: {}", model.label, model.basis);
            text += &look.hanging(&format!("  {:<width$}  ", model.model), &words);
        }
        text += "\n";
    }
    let more = "Every other drive of `flushmark catalogue` has a model, too: that of its class, with \
                the cost of a commit adjusted to the drive's published rows. \
                Run one: flushmark check sim:NAME. Show one: flushmark models NAME.";
    text += &look.hanging("", more);
    look.finish(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_models() {
        insta::assert_snapshot!(models(catalogue::models(), &Look::plain()), @"
        Generic drives
          cloud-volume                     Generic cloud volume: typical of offers of 500 GB with
                                           provisioned speed: 0.5 ms for a small write; contract:
                                           6,000 IOPS, 250 MB/s of writes, 1,000 MB/s of reads
          consumer-nvme                    Generic consumer NVMe drive: typical of its class: PCIe 4.0, TLC
                                           flash with a large SLC cache, no capacitors, 1 TB; a flush writes
                                           the journal of the mapping table, 1 to 4 ms
          consumer-sata                    Generic consumer SATA drive: typical of its class: TLC flash with
                                           an SLC cache, no capacitors, 1 TB; a flush takes 1 to 5 ms and
                                           cannot be queued
          disk-7200rpm-cache-off           Generic 7200 rpm disk, cache off: typical of datasheets: a
                                           rotation of 8.33 ms, a mean seek of 8.5 ms, 0.3 ms to settle
                                           before a write, 250 MB/s on outer and 120 MB/s on inner tracks,
                                           256 MiB of cache; as shipped with the cache off
          disk-7200rpm-cache-on            Generic 7200 rpm disk, cache on: typical of datasheets: a
                                           rotation of 8.33 ms, a mean seek of 8.5 ms, 0.3 ms to settle
                                           before a write, 250 MB/s on outer and 120 MB/s on inner tracks,
                                           256 MiB of cache; as shipped with the cache on
          enterprise-nvme                  Generic enterprise NVMe drive: typical of its class: PCIe 4.0,
                                           TLC flash, capacitors, 3.84 TB; a write is acknowledged after 10
                                           to 25 µs, a flush costs one command
          enterprise-sata                  Generic enterprise SATA drive: typical of its class: TLC flash,
                                           capacitors, 960 GB; like most it reports a volatile cache, and a
                                           flush costs one command that cannot be queued
          usb-stick                        Generic USB stick: typical of flashbench's surveys: whole blocks
                                           of 8 MiB are mapped, 4 are open at a time, one command runs at a
                                           time

        Published drives
          crucial-t500-2tb-ext4            Crucial T500 2 TB, ext4: 12 published rows
          gcp-hyperdisk-balanced-1tb-ext4  Google Cloud Hyperdisk Balanced 1 TB, ext4: 12 published rows
          gcp-local-nvme-x2-raid0-ext4     Google Cloud local NVMe, two in RAID 0, ext4: 12 published rows
          intel-710-sata                   Intel SSD 710: 15 published rows
          kioxia-cd6-3840gb                Kioxia CD6 3840 GB: 1 published row
          micron-5100-eco-960gb            Micron 5100 ECO 960 GB: 27 published rows
          samsung-950-pro-nvme             Samsung 950 PRO: 3 published rows
          samsung-980-1tb                  Samsung 980 1 TB: 1 published row
          samsung-990-pro-ext4             Samsung 990 PRO, ext4: 12 published rows
          samsung-pm9a3-ext4               Samsung PM9A3, ext4: 12 published rows
          seagate-nytro-1351-3840gb        Seagate Nytro 1351 3840 GB: 8 published rows

        Every other drive of `flushmark catalogue` has a model, too: that of its class, with the cost of a
        commit adjusted to the drive's published rows. Run one: flushmark check sim:NAME. Show one:
        flushmark models NAME.
        ");
    }
}
