//! The formats in which results are printed and exported.

use clap::ValueEnum;

/// How `check` and `run` print a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PrintFormat {
    /// For people
    Text,
    /// The result document
    Json,
    /// fio's JSON
    Fio,
    /// fio's JSON+, with the bins of the distributions
    #[value(name = "fio+")]
    FioPlus,
    /// A table with one row a test
    Csv,
    /// For tickets and forum posts
    Markdown,
    /// Metrics for Prometheus
    Openmetrics,
}

impl PrintFormat {
    /// What programs read; `None` for what a person reads on a terminal.
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

/// What `results export` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// The result document; of several runs one a line
    Json,
    /// fio's JSON, of one run
    Fio,
    /// fio's JSON+, of one run, with the bins of the distributions
    #[value(name = "fio+")]
    FioPlus,
    /// A table with one row a test
    Csv,
    /// For tickets and forum posts
    Markdown,
    /// Metrics for Prometheus
    Openmetrics,
    /// Two tables for query engines, in a directory: tests.parquet and bins.parquet
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

/// What is one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// The result document.
    Json,
    /// fio's JSON.
    Fio,
    /// fio's JSON+.
    FioPlus,
    /// Comma-separated values.
    Csv,
    /// A table that reads as plain text.
    Markdown,
    /// Metrics.
    Openmetrics,
}
