//! A database server, as the document records it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseProduct {
    Postgresql,
    Mariadb,
    Mysql,
}

impl DatabaseProduct {
    /// The name that its makers use.
    pub const fn label(self) -> &'static str {
        match self {
            DatabaseProduct::Postgresql => "PostgreSQL",
            DatabaseProduct::Mariadb => "MariaDB",
            DatabaseProduct::Mysql => "MySQL",
        }
    }

    /// The name of the engine in results.
    pub const fn engine(self) -> &'static str {
        match self {
            DatabaseProduct::Postgresql => "postgresql",
            DatabaseProduct::Mariadb => "mariadb",
            DatabaseProduct::Mysql => "mysql",
        }
    }
}

/// The server that clients committed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseRecord {
    pub product: DatabaseProduct,
    /// As the server reports it, such as `15.18 (Debian 15.18-0+deb12u1)`.
    pub version: String,
    /// The settings that decide when a commit is durable, and what it costs, as the clients'
    /// sessions had them.
    pub settings: Vec<ServerSetting>,
}

/// One setting of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSetting {
    pub name: String,
    /// As the server reports it, with its unit if it has one.
    pub value: String,
    /// Where the value comes from, in the server's words, such as `default` or `configuration
    /// file`; absent if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl DatabaseRecord {
    /// The value of a setting, if the server has it.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let found = self.settings.iter().find(|setting| setting.name == name);
        found.map(|setting| setting.value.as_str())
    }

    fn has(&self, name: &str, value: &str) -> bool {
        self.setting(name).is_some_and(|set| set.eq_ignore_ascii_case(value))
    }

    /// Returns whether InnoDB syncs its redo log for each group of commits.
    pub fn syncs_redo_log(&self) -> bool {
        match self.setting("innodb_flush_log_at_trx_commit") {
            None | Some("1") => true,
            Some("3") => self.product == DatabaseProduct::Mariadb,
            Some(_) => false,
        }
    }

    /// Returns whether MySQL or MariaDB writes a binary log.
    pub fn has_binary_log(&self) -> bool {
        self.has("log_bin", "ON") || self.has("log_bin", "1")
    }

    /// The setting because of which a crash can lose acknowledged commits, the most harmful one of
    /// several; `None` if commits are durable.
    ///
    /// With a binary log, InnoDB syncs its log when transactions are prepared, and not again when
    /// they commit, because recovery commits what the binary log has and rolls back the rest. So the
    /// binary log must be synced, too, except with MariaDB's value 3, which syncs at both moments.
    pub fn lossy_setting(&self) -> Option<&'static str> {
        match self.product {
            DatabaseProduct::Postgresql => {
                ["fsync", "synchronous_commit"].into_iter().find(|setting| self.has(setting, "off"))
            }
            DatabaseProduct::Mariadb | DatabaseProduct::Mysql => {
                let syncs_binary_log = self.setting("sync_binlog").is_none_or(|set| set == "1");
                if !self.syncs_redo_log() {
                    Some("innodb_flush_log_at_trx_commit")
                } else if self.has_binary_log()
                    && !syncs_binary_log
                    && !self.has("innodb_flush_log_at_trx_commit", "3")
                {
                    Some("sync_binlog")
                } else {
                    None
                }
            }
        }
    }
}
