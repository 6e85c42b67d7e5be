//! Results as a spreadsheet's file: one row a test, every figure, RFC 4180.

use measurement::RunDocument;

use crate::columns::{Cell, columns, rows};

/// The table, with its header. Lines end as RFC 4180 says; cells without a value are empty.
///
/// A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and a name of a test, a drive or a path comes from outside: such a text gets
/// an apostrophe before it, which spreadsheets take for "this is text". Numbers are never touched.
pub fn table(documents: &[RunDocument]) -> String {
    let columns = columns();
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    // Writing to memory does not fail, and every row has the header's number of cells.
    let _ = writer.write_record(columns.iter().map(|column| column.name));
    for row in rows(documents) {
        let _ = writer.write_record(columns.iter().map(|column| written((column.cell)(&row))));
    }
    writer.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn written(cell: Cell) -> String {
    match cell {
        Cell::Text(text) => harmless(text.unwrap_or_default()),
        Cell::Whole(value) => value.map(|value| value.to_string()).unwrap_or_default(),
        Cell::Real(value) => value.map(|value| value.to_string()).unwrap_or_default(),
        Cell::Flag(value) => value.map(|value| value.to_string()).unwrap_or_default(),
    }
}

fn harmless(text: String) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { format!("'{text}") } else { text }
}
