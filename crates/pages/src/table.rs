//! Tables of numbers.

use maud::{Markup, html};

/// A table with its columns, and rows of the same length. The first column names the row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// A note on the rows, one sentence; empty if there is none.
    pub note: String,
}

impl Table {
    /// An empty table with these columns.
    pub fn new<const N: usize>(columns: [&str; N]) -> Table {
        Table { columns: columns.map(str::to_owned).to_vec(), ..Table::default() }
    }

    /// Returns whether a column has words. Numbers are aligned at their ends.
    fn is_text(&self, column: usize) -> bool {
        let begins = |row: &Vec<String>| row.get(column).and_then(|cell| cell.chars().next());
        column > 0 && self.rows.iter().filter_map(begins).any(char::is_alphabetic)
    }

    /// The table as HTML, in a region that scrolls on narrow pages, also by keyboard.
    pub fn markup(&self, label: &str) -> Markup {
        html! {
            @if !self.note.is_empty() { p.meta { (self.note) } }
            div.scroll role="region" aria-label=(label) tabindex="0" {
                table {
                    thead {
                        tr {
                            @for (index, column) in self.columns.iter().enumerate() {
                                @if self.is_text(index) { th.text scope="col" { (column) } }
                                @else { th scope="col" { (column) } }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (index, cell) in row.iter().enumerate() {
                                    @if index == 0 { th scope="row" { (cell) } }
                                    @else if self.is_text(index) { td.text { (cell) } }
                                    @else { td { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The value as text, or a dash if there is none.
pub fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}
