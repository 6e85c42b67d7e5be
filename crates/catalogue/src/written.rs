//! Writes a drive in the TOML format that [`parse`](crate::parse) reads, in the style of `drives/`.

use std::fmt::{Display, Write as _};

use workload::{Submission, format_bytes};

use crate::drive::{ArrayLevel, Controller, Drive, PowerLossProtection};
use crate::row::Row;
use crate::table::Table;

/// The text of a drive's file.
///
/// ```
/// let drive = catalogue::find("samsung-980-1tb")?;
/// assert_eq!(&catalogue::parse(&catalogue::to_toml(drive))?, drive);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_toml(drive: &Drive) -> String {
    let mut file = Lines(String::new());
    file.text("drive", Some(&drive.name));
    if !drive.aliases.is_empty() {
        let aliases: Vec<String> = drive.aliases.iter().map(|alias| quoted(alias)).collect();
        file.bare("aliases", Some(format!("[{}]", aliases.join(", "))));
    }
    file.text("label", Some(&drive.label));
    file.text("vendor", drive.vendor.as_deref());
    file.text("model", drive.model.as_deref());
    file.bare("capacity_gb", drive.capacity_gb);
    file.text("class", Some(drive.class.name()));
    if let Some(array) = drive.array {
        let level = match array.level {
            ArrayLevel::Raid0 => "raid0",
            ArrayLevel::Raid1 => "raid1",
            ArrayLevel::Raid5 => "raid5",
            ArrayLevel::Raid10 => "raid10",
        };
        let controller = match array.controller {
            Controller::Software => "software",
            Controller::Hardware => "hardware",
        };
        file.bare(
            "array",
            Some(format!(
                "{{ level = \"{level}\", members = {}, controller = \"{controller}\" }}",
                array.members
            )),
        );
    }
    let protection = &drive.power_loss_protection;
    file.text("power_loss_protection", Some(protection.label()));
    file.text("power_loss_protection_source", protection.source());
    if let PowerLossProtection::Claimed { against, .. } = protection {
        file.text("power_loss_protection_against", Some(against));
    }
    for table in &drive.tables {
        file.table(table);
    }
    file.0
}

struct Lines(String);

impl Lines {
    fn text(&mut self, key: &str, value: Option<&str>) {
        self.bare(key, value.map(quoted));
    }

    fn bare(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            // Writing to a string does not fail.
            let _ = writeln!(self.0, "{key} = {value}");
        }
    }

    fn table(&mut self, table: &Table) {
        self.0 += "\n[[table]]\n";
        self.text("workload", Some(&table.workload));
        self.text("source", Some(&table.source));
        self.text("source_url", Some(&table.source_url));
        self.bare("year", table.year);
        self.text("os", table.os.as_deref());
        self.text("tool", Some(table.tool.name()));
        self.text("filesystem", Some(table.filesystem.name()));
        let calls = table.calls.map(|calls| match calls {
            Submission::Blocking => "blocking",
            Submission::Asynchronous => "asynchronous",
        });
        self.text("calls", calls);
        self.bare("direct", table.direct);
        self.text("file_size", table.file_bytes.map(format_bytes).as_deref());
        self.bare("seconds", table.seconds);
        self.text("note", table.note.as_deref());
        self.text("doubt", table.doubt.as_deref());
        self.bare("held_out", table.held_out.then_some(true));
        self.0 += "rows = [\n";
        for row in &table.rows {
            self.0 += &format!("  {{ {} }},\n", cells(row).join(", "));
        }
        self.0 += "]\n";
    }
}

fn cells(row: &Row) -> Vec<String> {
    let text = |key: &str, value: &str| Some(format!("{key} = {}", quoted(value)));
    let whole = |key: &str, value: u32| Some(format!("{key} = {value}"));
    let figure = |key: &str, value: Option<f64>| Some(format!("{key} = {}", value?));
    let cells = [
        row.pattern.and_then(|pattern| text("pattern", pattern.name())),
        text("block", &format_bytes(row.block_bytes)),
        whole("depth", row.depth),
        whole("jobs", row.jobs),
        text("sync", row.sync.name()),
        row.sync_every.and_then(|every| whole("sync_every", every)),
        text("write_cache", row.write_cache.name()),
        figure("iops", row.iops),
        figure("mib_per_s", row.mib_per_s),
        figure("write_us", row.write_us),
        figure("write_p50_us", row.write_p50_us),
        figure("write_p99_us", row.write_p99_us),
        figure("sync_us", row.sync_us),
        figure("sync_p50_us", row.sync_p50_us),
        figure("sync_p99_us", row.sync_p99_us),
        figure("io_us", row.io_us),
        figure("io_p99_us", row.io_p99_us),
    ];
    cells.into_iter().flatten().collect()
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            control if control.is_control() => {
                quoted += &format!("\\u{:04X}", control as u32);
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{drives, parse};

    #[test]
    fn every_published_drive_is_read_back_equal() {
        for drive in drives() {
            let text = to_toml(drive);
            assert_eq!(&parse(&text).unwrap(), drive, "{text}");
        }
    }

    #[test]
    fn the_text_looks_like_the_files_of_the_folder() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("drives");
        for name in ["samsung-980-1tb", "intel-520"] {
            let file = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
            assert_eq!(to_toml(crate::find(name).unwrap()), file);
        }
    }

    #[test]
    fn any_text_can_be_quoted() {
        let mut drive = crate::find("samsung-980-1tb").unwrap().clone();
        drive.label = "a \"b\" \\ c\n\u{1}\u{7f}ü".to_owned();
        drive.aliases = vec!["x".to_owned(), "y".to_owned()];
        assert_eq!(parse(&to_toml(&drive)).unwrap(), drive);
    }
}
