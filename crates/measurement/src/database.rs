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
}
