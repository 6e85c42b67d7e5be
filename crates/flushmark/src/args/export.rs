//! The formats in which results are printed and exported.

use clap::ValueEnum;

/// Output formats of `check` and `run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PrintFormat {
    /// Text for the terminal
    Text,
    /// The result document
    Json,
    /// fio's JSON
    Fio,
    /// fio's JSON+, with the bins of the distributions
    #[value(name = "fio+")]
    FioPlus,
    /// A table with one row per test
    Csv,
    /// For tickets and forum posts
    Markdown,
    /// Metrics for Prometheus
    Openmetrics,
}

impl PrintFormat {
    /// The machine-readable format; `None` for text on a terminal.
    pub const fn exported(self) -> Option<TextFormat> {
        match self {
            PrintFormat::Text => None,
            PrintFormat::Json => Some(TextFormat::Json),
            PrintFormat::Fio => Some(TextFormat::Fio),
            PrintFormat::FioPlus => Some(TextFormat::FioPlus),
            PrintFormat::Csv => Some(TextFormat::Csv),
            PrintFormat::Markdown => Some(TextFormat::Markdown),
            PrintFormat::Openmetrics => Some(TextFormat::Openmetrics),
        }
    }
}

/// Output formats of `results export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// The result document; several runs are written one per line
    Json,
    /// fio's JSON, for one run
    Fio,
    /// fio's JSON+, for one run, with the bins of the distributions
    #[value(name = "fio+")]
    FioPlus,
    /// A table with one row per test
    Csv,
    /// For tickets and forum posts
    Markdown,
    /// Metrics for Prometheus
    Openmetrics,
    /// A directory with two tables for query engines: tests.parquet and bins.parquet
    Parquet,
}

impl ExportFormat {
    /// The format as one text; `None` for Parquet, which is two files.
    pub const fn text(self) -> Option<TextFormat> {
        match self {
            ExportFormat::Json => Some(TextFormat::Json),
            ExportFormat::Fio => Some(TextFormat::Fio),
            ExportFormat::FioPlus => Some(TextFormat::FioPlus),
            ExportFormat::Csv => Some(TextFormat::Csv),
            ExportFormat::Markdown => Some(TextFormat::Markdown),
            ExportFormat::Openmetrics => Some(TextFormat::Openmetrics),
            ExportFormat::Parquet => None,
        }
    }
}

/// A format whose output is a single text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    Json,
    Fio,
    FioPlus,
    Csv,
    /// A table that is also readable as plain text.
    Markdown,
    /// Metrics for Prometheus.
    Openmetrics,
}
