//! Tables of numbers.

use maud::{Markup, html};

/// A table: its columns, and rows of as many cells. The first column names what a row is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// What each column holds.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// What is to be known of them, a sentence; empty where they are everything.
    pub note: String,
}

impl Table {
    /// A table with these columns.
    pub fn new<const N: usize>(columns: [&str; N]) -> Table {
        Table { columns: columns.map(str::to_owned).to_vec(), ..Table::default() }
    }

    /// As HTML, in a region of its own that scrolls where the page is narrow, also by keyboard.
    pub fn markup(&self, label: &str) -> Markup {
        html! {
            @if !self.note.is_empty() { p.meta { (self.note) } }
            div.scroll role="region" aria-label=(label) tabindex="0" {
                table {
                    thead { tr { @for column in &self.columns { th scope="col" { (column) } } } }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (index, cell) in row.iter().enumerate() {
                                    @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A figure, or a dash where there is none.
pub fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}
