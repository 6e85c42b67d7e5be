//! Results as CSV (RFC 4180): one row per test with every figure.

use crate::columns::{Cells, Row, Run, columns, rows};

/// The table with its header. Lines end with CRLF as in RFC 4180; cells without a value are empty.
///
/// Spreadsheets interpret a cell that begins with `=`, `+`, `-` or `@` as a formula, and names of
/// tests, drives and paths come from outside. Such texts get a leading apostrophe, which
/// spreadsheets interpret as "this is text". Numbers are not changed.
pub fn table(runs: &[Run<'_>]) -> String {
    let columns = columns();
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    // Writing to memory does not fail, and every row has as many cells as the header.
    let _ = writer.write_record(columns.iter().map(|column| column.name));
    for row in rows(runs) {
        let cells = columns.iter().map(|column| written(&column.cells, &row).unwrap_or_default());
        let _ = writer.write_record(cells);
    }
    writer
        .into_inner()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

fn written(cells: &Cells, row: &Row<'_>) -> Option<String> {
    match cells {
        Cells::Text(cell) => cell(row).map(harmless),
        Cells::Whole(cell) => cell(row).map(|value| value.to_string()),
        Cells::Real(cell) => cell(row).map(|value| value.to_string()),
        Cells::Flag(cell) => cell(row).map(|value| value.to_string()),
        Cells::Time(cell) => cell(row).map(|value| value.to_string()),
    }
}

fn harmless(text: String) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { format!("'{text}") } else { text }
}
