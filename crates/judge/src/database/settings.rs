//! Settings that make commits less durable than they seem.

use drive::Place;
use measurement::{Confidence, DatabaseProduct, DatabaseRecord, Evidence, Finding};

pub(super) fn judge(record: &DatabaseRecord, place: Option<&Place>) -> Vec<Finding> {
    let mut found: Vec<Finding> = not_durable(record).into_iter().collect();
    found.extend(binary_log_not_synced(record));
    found.extend(pages_not_protected(record, place));
    found
}

/// The loss because of a setting, as the rest of a sentence that begins with "acknowledged commits",
/// and what to do.
fn loss(record: &DatabaseRecord, setting: &str) -> (&'static str, &'static str) {
    match setting {
        "fsync" => (
            "are lost in a power loss, and the whole database may be damaged",
            "Set fsync = on and reload. Only a server whose data can be thrown away may run without \
             it.",
        ),
        "synchronous_commit" => (
            "of the last moments are lost in a crash",
            "Set synchronous_commit = on for this role or database, or accept the loss of up to \
             three times wal_writer_delay.",
        ),
        "sync_binlog" => (
            "of the last moments are lost in a power loss, because recovery rolls back those that \
             the binary log lacks",
            "Set sync_binlog = 1, or accept the loss; replicas and backups can differ from this \
             server, too.",
        ),
        _ if record.setting(setting) == Some("0") => (
            "of about the last second are lost in a power loss or a crash of the server",
            "Set innodb_flush_log_at_trx_commit = 1, or accept the loss.",
        ),
        _ => (
            "of about the last second are lost in a power loss",
            "Set innodb_flush_log_at_trx_commit = 1, or accept the loss.",
        ),
    }
}

fn not_durable(record: &DatabaseRecord) -> Option<Finding> {
    let setting = record.lossy_setting()?;
    let value = record.setting(setting)?;
    let (what, advice) = loss(record, setting);
    Some(Finding {
        id: "database-commits-not-durable".to_owned(),
        title: format!(
            "These commits are not durable: with {setting} = {value}, acknowledged commits {what}."
        ),
        evidence: evidence(record, &[setting]),
        confidence: Confidence::High,
        doubt: None,
        advice: format!("{advice} The rates above are not those of durable commits."),
    })
}

fn binary_log_not_synced(record: &DatabaseRecord) -> Option<Finding> {
    let sync = record.setting("sync_binlog").filter(|value| *value != "1")?;
    if !record.has_binary_log() || record.lossy_setting() == Some("sync_binlog") {
        return None;
    }
    Some(Finding {
        id: "database-binary-log-not-synced".to_owned(),
        title: format!(
            "The binary log is not synced at each commit (sync_binlog = {sync}): after a power \
             loss, replicas may lack commits or have too many."
        ),
        evidence: evidence(record, &["log_bin", "sync_binlog"]),
        confidence: Confidence::High,
        doubt: None,
        advice: "Set sync_binlog = 1 if the binary log feeds replicas or backups.".to_owned(),
    })
}

/// A page is larger than what drives write atomically, so a power cut can leave half of it. ZFS
/// writes no block in place.
fn pages_not_protected(record: &DatabaseRecord, place: Option<&Place>) -> Option<Finding> {
    if place.and_then(Place::fs_type) == Some("zfs") {
        return None;
    }
    let is = |name, values: &[&str]| record.setting(name).filter(|set| values.contains(set));
    let (setting, value, advice) = match record.product {
        DatabaseProduct::Postgresql => {
            let value = is("full_page_writes", &["off"])?;
            ("full_page_writes", value, "Set full_page_writes = on and reload.")
        }
        DatabaseProduct::Mariadb | DatabaseProduct::Mysql => {
            let value = is("innodb_doublewrite", &["OFF", "0", "DETECT_ONLY"])?;
            ("innodb_doublewrite", value, "Set innodb_doublewrite = ON and restart the server.")
        }
    };
    Some(Finding {
        id: "database-pages-not-protected".to_owned(),
        title: format!(
            "A power cut can damage pages: with {setting} = {value}, a page that was written in \
             part cannot be repaired."
        ),
        evidence: evidence(record, &[setting]),
        confidence: Confidence::High,
        doubt: Some(
            "Pages are safe on a filesystem that writes no block in place, such as ZFS, and on a \
             drive with atomic writes of a page."
                .to_owned(),
        ),
        advice: advice.to_owned(),
    })
}

fn evidence(record: &DatabaseRecord, names: &[&str]) -> Vec<Evidence> {
    let settings = record.settings.iter().filter(|setting| names.contains(&&*setting.name));
    settings
        .map(|setting| {
            let source = setting.source.as_deref();
            let source = source.map(|source| format!(" (from: {source})")).unwrap_or_default();
            Evidence::fact(setting.name.clone(), setting.value.clone() + &source)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use measurement::ServerSetting;

    use super::*;

    fn titles(product: DatabaseProduct, settings: &[(&str, &str)]) -> Vec<String> {
        let setting = |(name, value): &(&str, &str)| ServerSetting {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            source: Some("default".to_owned()),
        };
        let settings = settings.iter().map(setting).collect();
        let found = judge(&DatabaseRecord { product, version: String::new(), settings }, None);
        found.into_iter().map(|finding| finding.title).collect()
    }

    #[test]
    fn durable_servers_have_no_finding() {
        let durable = [("fsync", "on"), ("synchronous_commit", "remote_write")];
        assert!(titles(DatabaseProduct::Postgresql, &durable).is_empty());
        let durable =
            [("innodb_flush_log_at_trx_commit", "1"), ("log_bin", "OFF"), ("sync_binlog", "0")];
        assert!(titles(DatabaseProduct::Mariadb, &durable).is_empty());
        // Synced when a transaction is prepared, and when it commits.
        assert!(
            titles(DatabaseProduct::Mariadb, &[("innodb_flush_log_at_trx_commit", "3")]).is_empty()
        );
    }

    #[test]
    fn torn_pages() {
        let titles = titles(DatabaseProduct::Mysql, &[("innodb_doublewrite", "OFF")]).join("\n");
        insta::assert_snapshot!(titles, @"A power cut can damage pages: with innodb_doublewrite = OFF, a page that was written in part cannot be repaired.");
    }

    #[test]
    fn lost_commits() {
        let of_postgres =
            |settings: &[(&str, &str)]| titles(DatabaseProduct::Postgresql, settings).join("\n");
        insta::assert_snapshot!(of_postgres(&[("fsync", "off"), ("synchronous_commit", "off")]), @"These commits are not durable: with fsync = off, acknowledged commits are lost in a power loss, and the whole database may be damaged.");
        insta::assert_snapshot!(of_postgres(&[("fsync", "on"), ("synchronous_commit", "off")]), @"These commits are not durable: with synchronous_commit = off, acknowledged commits of the last moments are lost in a crash.");
        let settings =
            [("innodb_flush_log_at_trx_commit", "2"), ("log_bin", "ON"), ("sync_binlog", "0")];
        let of_innodb = |product, settings: &[(&str, &str)]| titles(product, settings).join("\n");
        let of_mysql = of_innodb(DatabaseProduct::Mysql, &settings);
        insta::assert_snapshot!(of_mysql, @"
        These commits are not durable: with innodb_flush_log_at_trx_commit = 2, acknowledged commits of about the last second are lost in a power loss.
        The binary log is not synced at each commit (sync_binlog = 0): after a power loss, replicas may lack commits or have too many.
        ");
        insta::assert_snapshot!(of_innodb(DatabaseProduct::Mariadb, &[("innodb_flush_log_at_trx_commit", "0")]), @"These commits are not durable: with innodb_flush_log_at_trx_commit = 0, acknowledged commits of about the last second are lost in a power loss or a crash of the server.");
        let settings =
            [("innodb_flush_log_at_trx_commit", "1"), ("log_bin", "ON"), ("sync_binlog", "0")];
        insta::assert_snapshot!(of_innodb(DatabaseProduct::Mysql, &settings), @"These commits are not durable: with sync_binlog = 0, acknowledged commits of the last moments are lost in a power loss, because recovery rolls back those that the binary log lacks.");
        let settings =
            [("innodb_flush_log_at_trx_commit", "3"), ("log_bin", "ON"), ("sync_binlog", "0")];
        insta::assert_snapshot!(of_innodb(DatabaseProduct::Mariadb, &settings), @"The binary log is not synced at each commit (sync_binlog = 0): after a power loss, replicas may lack commits or have too many.");
        insta::assert_snapshot!(of_innodb(DatabaseProduct::Mysql, &settings[..1]), @"These commits are not durable: with innodb_flush_log_at_trx_commit = 3, acknowledged commits of about the last second are lost in a power loss.");
    }
}
