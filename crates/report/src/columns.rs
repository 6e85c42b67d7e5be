//! A table of aligned columns that fits the page.
//!
//! One column may hold prose, which takes the room that the others leave and is wrapped there. If even that does not suffice, columns that
//! were given a rank disappear, the highest rank first; the JSON document has everything.

use anstyle::Style;

use crate::look::{Look, paint};
use crate::prose::wrap;

/// What stands for "there is none".
pub(crate) const NONE: &str = "-";

/// Spaces before the first column.
const INDENT: usize = 2;
/// Spaces between two columns.
const GAP: usize = 2;
/// Prose is not squeezed below this many characters as long as another column may go instead.
const PROSE_MIN: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Left,
    Right,
    Prose,
}

/// One column: its header and how its cells stand.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    header: String,
    kind: Kind,
    /// Leaves when the page is narrow; the highest first.
    leaves: Option<u8>,
    /// Leaves when none of its cells says anything.
    optional: bool,
}

impl Column {
    fn new(header: &str, kind: Kind) -> Column {
        Column { header: header.to_owned(), kind, leaves: None, optional: false }
    }

    /// Words.
    pub(crate) fn left(header: &str) -> Column {
        Column::new(header, Kind::Left)
    }

    /// Numbers.
    pub(crate) fn right(header: &str) -> Column {
        Column::new(header, Kind::Right)
    }

    /// Words that may be wrapped; one column a table.
    pub(crate) fn prose(header: &str) -> Column {
        Column::new(header, Kind::Prose)
    }

    /// Left out on a narrow page; the highest rank leaves first.
    pub(crate) fn may_leave(self, rank: u8) -> Column {
        Column { leaves: Some(rank), ..self }
    }

    /// Left out when none of its cells says anything.
    pub(crate) fn optional(self) -> Column {
        Column { optional: true, ..self }
    }
}

/// One cell.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// In the style given.
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Cell {
        Cell { text: text.into(), style }
    }

    /// The value as `show` writes it, or the sign for none.
    pub(crate) fn maybe<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> Cell {
        value.map_or_else(|| NONE.into(), |value| show(value).into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text, style: Style::new() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        text.to_owned().into()
    }
}

#[derive(Debug, Clone)]
enum Line {
    Cells(Vec<Cell>),
    Group(String),
}

/// The table.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    lines: Vec<Line>,
}

impl Columns {
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Columns {
        Columns { columns: columns.into(), lines: Vec::new() }
    }

    /// Adds a row: one cell a column.
    pub(crate) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        let cells = cells.into();
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.lines.push(Line::Cells(cells));
    }

    /// Adds a line of its own above the rows that follow.
    pub(crate) fn group(&mut self, title: impl Into<String>) {
        self.lines.push(Line::Group(title.into()));
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &Cell> {
        self.lines.iter().filter_map(move |line| match line {
            Line::Cells(cells) => cells.get(column),
            Line::Group(_) => None,
        })
    }

    fn wanted_width(&self, column: usize) -> usize {
        let header = self.columns[column].header.chars().count();
        self.cells(column).map(|cell| cell.text.chars().count()).fold(header, usize::max)
    }

    /// The columns that are shown, each with its width.
    fn layout(&self, page: usize) -> Vec<(usize, usize)> {
        let says_something =
            |&column: &usize| !self.columns[column].optional || self.cells(column).any(|cell| cell.text != NONE);
        let mut shown: Vec<usize> = (0..self.columns.len()).filter(says_something).collect();
        loop {
            let prose = shown.iter().copied().find(|&column| self.columns[column].kind == Kind::Prose);
            let others: usize = shown
                .iter()
                .filter(|&&column| Some(column) != prose)
                .map(|&column| self.wanted_width(column) + GAP)
                .sum();
            let room = page.saturating_sub(INDENT + others);
            let least = prose.map_or(0, |column| self.wanted_width(column).min(PROSE_MIN));
            // The gap behind the last column does not count.
            let overflows = room + if prose.is_none() { GAP } else { 0 } < least || INDENT + others > page + GAP;
            let leaving = shown.iter().copied().filter(|&column| self.columns[column].leaves.is_some());
            match leaving.max_by_key(|&column| self.columns[column].leaves) {
                Some(column) if overflows => shown.retain(|&other| other != column),
                _ => {
                    let width = |column: usize| match self.columns[column].kind {
                        Kind::Prose => self.wanted_width(column).min(room.max(least)),
                        _ => self.wanted_width(column),
                    };
                    return shown.into_iter().map(|column| (column, width(column))).collect();
                }
            }
        }
    }

    /// The table as text, each line ended.
    pub(crate) fn render(&self, look: &Look) -> String {
        let layout = self.layout(look.columns());
        let mut text = String::new();
        if self.columns.iter().any(|column| !column.header.is_empty()) {
            let headers: Vec<Cell> =
                self.columns.iter().map(|column| Cell::styled(column.header.clone(), look.palette.faint)).collect();
            text += &self.render_row(&headers, &layout);
        }
        for line in &self.lines {
            match line {
                Line::Cells(cells) => text += &self.render_row(cells, &layout),
                Line::Group(title) if title.is_empty() => text.push('\n'),
                Line::Group(title) => {
                    text += &format!("{:INDENT$}{}\n", "", paint(look.palette.strong, title));
                }
            }
        }
        text
    }

    fn render_row(&self, cells: &[Cell], layout: &[(usize, usize)]) -> String {
        let wrapped: Vec<Vec<String>> = layout
            .iter()
            .map(|&(column, width)| match self.columns[column].kind {
                Kind::Prose => wrap(&cells[column].text, width),
                _ => vec![cells[column].text.clone()],
            })
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let mut text = String::new();
        for line in 0..height {
            let mut row = " ".repeat(INDENT);
            // Spaces are owed, and paid only when something follows: no line ends in them.
            let mut owed = 0;
            for (position, &(column, width)) in layout.iter().enumerate() {
                let piece = wrapped[position].get(line).map_or("", String::as_str);
                let padding = width.saturating_sub(piece.chars().count());
                let (before, after) =
                    if self.columns[column].kind == Kind::Right { (padding, 0) } else { (0, padding) };
                if !piece.is_empty() {
                    row += &" ".repeat(owed + before);
                    row += &paint(cells[column].style, piece);
                    owed = after;
                } else {
                    owed += width;
                }
                owed += GAP;
            }
            text += row.trim_end();
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Palette;

    fn table() -> Columns {
        let mut table = Columns::new([
            Column::prose("test"),
            Column::right("IOPS"),
            Column::left("engine").may_leave(1),
            Column::right("p99.9").may_leave(2),
            Column::right("flushes").optional(),
        ]);
        table.row([
            "randwrite 4 KiB, fsync=1, depth 1, jobs 1".into(),
            "574".into(),
            "psync".into(),
            "2.9 ms".into(),
            NONE.into(),
        ]);
        table.row(["read".into(), "36,600".into(), "io_uring".into(), NONE.into(), NONE.into()]);
        table
    }

    fn at(columns: usize) -> String {
        table().render(&Look { columns, ..Look::plain() })
    }

    #[test]
    fn all_in_one_line_where_there_is_room() {
        insta::assert_snapshot!(at(100), @"
        test                                         IOPS  engine     p99.9
        randwrite 4 KiB, fsync=1, depth 1, jobs 1     574  psync     2.9 ms
        read                                       36,600  io_uring       -
        ");
    }

    #[test]
    fn prose_is_wrapped_first() {
        insta::assert_snapshot!(at(60), @"
        test                                IOPS  engine     p99.9
        randwrite 4 KiB, fsync=1, depth      574  psync     2.9 ms
        1, jobs 1
        read                              36,600  io_uring       -
        ");
    }

    #[test]
    fn then_columns_leave_by_rank() {
        let mut crowded = table();
        crowded.columns.push(Column::right("another rather wide one"));
        for line in &mut crowded.lines {
            if let Line::Cells(cells) = line {
                cells.push("1".into());
            }
        }
        insta::assert_snapshot!(crowded.render(&Look { columns: 60, ..Look::plain() }), @"
        test                         IOPS  another rather wide one
        randwrite 4 KiB, fsync=1,     574                        1
        depth 1, jobs 1
        read                       36,600                        1
        ");
    }

    #[test]
    fn no_line_is_wider_than_the_page_or_ends_in_spaces() {
        for columns in Look::COLUMNS_MIN..120 {
            for line in at(columns).lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
                assert_eq!(line, line.trim_end());
            }
        }
    }

    #[test]
    fn colour_does_not_move_columns() {
        let coloured = table().render(&Look { palette: Palette::coloured(), ..Look::plain() });
        assert_ne!(coloured, at(100));
        let mut stripped = String::new();
        let mut inside = false;
        for character in coloured.chars() {
            match character {
                '\u{1b}' => inside = true,
                'm' if inside => inside = false,
                _ if inside => {}
                other => stripped.push(other),
            }
        }
        assert_eq!(stripped, at(100));
    }
}
