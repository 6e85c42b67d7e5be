//! A table of aligned columns that fits the page.
//!
//! Columns of prose are wrapped in the width that the others leave. If that does not suffice,
//! columns with a rank are dropped, highest rank first; the JSON document has everything.

use std::collections::HashMap;

use anstyle::Style;

use crate::look::{Look, paint};
use crate::prose::wrap;

/// Placeholder for a missing value.
pub(crate) const NONE: &str = "-";

const INDENT: usize = 2;
const GAP: usize = 2;
/// Prose is not made narrower than this as long as another column can be dropped.
const PROSE_MIN: usize = 20;
/// Narrower columns of prose are unreadable, so such a table is wider than the page.
const PROSE_LEAST: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Left,
    Right,
    Prose,
}

/// Header, alignment and dropping rules of a column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    header: String,
    kind: Kind,
    /// Rank for dropping the column on a narrow page; highest first.
    drop_rank: Option<u8>,
    /// The column is dropped if all of its cells are empty.
    optional: bool,
}

impl Column {
    fn new(header: &str, kind: Kind) -> Column {
        Column { header: header.to_owned(), kind, drop_rank: None, optional: false }
    }

    /// A left-aligned column, for text.
    pub(crate) fn left(header: &str) -> Column {
        Column::new(header, Kind::Left)
    }

    /// A right-aligned column, for numbers.
    pub(crate) fn right(header: &str) -> Column {
        Column::new(header, Kind::Right)
    }

    /// Text that may be wrapped. Several such columns share the width.
    pub(crate) fn prose(header: &str) -> Column {
        Column::new(header, Kind::Prose)
    }

    /// Allows dropping the column on a narrow page; the highest rank is dropped first.
    pub(crate) fn may_drop(self, rank: u8) -> Column {
        Column { drop_rank: Some(rank), ..self }
    }

    /// Drops the column if all of its cells are empty.
    pub(crate) fn optional(self) -> Column {
        Column { optional: true, ..self }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Cell {
        Cell { text: text.into(), style }
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

/// A missing value is [`NONE`].
impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or_else(|| NONE.into(), T::into)
    }
}

#[derive(Debug, Clone)]
enum Line {
    Cells(Vec<Cell>),
    Group(String),
}

/// Makes a column's cell from the subject of a row.
type CellOf<'a, T> = Box<dyn Fn(&T) -> Cell + 'a>;

/// A table with a row for each `T`.
pub(crate) struct Columns<'a, T> {
    heads: Vec<Column>,
    cells: Vec<CellOf<'a, T>>,
    lines: Vec<Line>,
}

impl<'a, T> Columns<'a, T> {
    pub(crate) fn new() -> Columns<'a, T> {
        Columns { heads: Vec::new(), cells: Vec::new(), lines: Vec::new() }
    }

    /// Adds a column and its cell in a row.
    pub(crate) fn with<C: Into<Cell>>(
        mut self,
        column: Column,
        cell: impl Fn(&T) -> C + 'a,
    ) -> Columns<'a, T> {
        self.heads.push(column);
        self.cells.push(Box::new(move |of| cell(of).into()));
        self
    }

    pub(crate) fn row(&mut self, of: &T) {
        self.lines.push(Line::Cells(self.cells.iter().map(|cell| cell(of)).collect()));
    }

    /// The table with a row for each of these, as text.
    pub(crate) fn of<'b>(mut self, rows: impl IntoIterator<Item = &'b T>, look: &Look) -> String
    where
        T: 'b,
    {
        rows.into_iter().for_each(|of| self.row(of));
        self.render(look)
    }

    /// Adds a title line above the rows that follow.
    pub(crate) fn group(&mut self, title: impl Into<String>) {
        self.lines.push(Line::Group(title.into()));
    }

    fn cells_of(&self, column: usize) -> impl Iterator<Item = &Cell> {
        self.lines.iter().filter_map(move |line| match line {
            Line::Cells(cells) => cells.get(column),
            Line::Group(_) => None,
        })
    }

    fn wanted_width(&self, column: usize) -> usize {
        let header = self.heads[column].header.chars().count();
        self.cells_of(column).map(|cell| cell.text.chars().count()).fold(header, usize::max)
    }

    /// The columns shown, each with its width.
    fn layout(&self, page: usize) -> Vec<(usize, usize)> {
        let says_something = |&column: &usize| {
            !self.heads[column].optional || self.cells_of(column).any(|cell| cell.text != NONE)
        };
        let mut shown: Vec<usize> = (0..self.heads.len()).filter(says_something).collect();
        loop {
            let is_prose = |&&column: &&usize| self.heads[column].kind == Kind::Prose;
            let prose: Vec<(usize, usize)> = shown
                .iter()
                .filter(is_prose)
                .map(|&column| (column, self.wanted_width(column)))
                .collect();
            let others: usize = shown
                .iter()
                .filter(|column| !is_prose(column))
                .map(|&column| self.wanted_width(column) + GAP)
                .sum();
            let gaps = GAP * prose.len().saturating_sub(1);
            let room = page.saturating_sub(INDENT + others + gaps);
            let least: usize = prose.iter().map(|(_, wanted)| (*wanted).min(PROSE_MIN)).sum();
            // The gap after the last column does not count.
            let overflows = room + if prose.is_empty() { GAP } else { 0 } < least
                || INDENT + others > page + GAP;
            let leaving =
                shown.iter().copied().filter(|&column| self.heads[column].drop_rank.is_some());
            match leaving.max_by_key(|&column| self.heads[column].drop_rank) {
                Some(column) if overflows => shown.retain(|&other| other != column),
                _ => {
                    let shares = shares(prose, room.max(least.min(PROSE_LEAST)));
                    let width = |column: usize| {
                        shares.get(&column).copied().unwrap_or_else(|| self.wanted_width(column))
                    };
                    return shown.into_iter().map(|column| (column, width(column))).collect();
                }
            }
        }
    }

    /// The table as text; every line ends with a newline.
    pub(crate) fn render(&self, look: &Look) -> String {
        let layout = self.layout(look.columns());
        let mut text = String::new();
        if self.heads.iter().any(|column| !column.header.is_empty()) {
            let headers: Vec<Cell> = self
                .heads
                .iter()
                .map(|column| Cell::styled(column.header.clone(), look.palette.faint))
                .collect();
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
            .map(|&(column, width)| match self.heads[column].kind {
                Kind::Prose => lines(&cells[column].text, width),
                _ => vec![cells[column].text.clone()],
            })
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let mut text = String::new();
        for line in 0..height {
            let mut row = " ".repeat(INDENT);
            // Padding is written only if something follows, so no line ends in spaces.
            let mut owed = 0;
            for (position, &(column, width)) in layout.iter().enumerate() {
                let piece = wrapped[position].get(line).map_or("", String::as_str);
                let padding = width.saturating_sub(piece.chars().count());
                let (before, after) = if self.heads[column].kind == Kind::Right {
                    (padding, 0)
                } else {
                    (0, padding)
                };
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

/// The lines of a cell. A word that is too long is divided after its commas, as between the settings
/// of a model, and then after its hyphens; a path stays whole, because it is to be copied.
fn lines(text: &str, width: usize) -> Vec<String> {
    let each_divided = |lines: Vec<String>, after: char| -> Vec<String> {
        lines.into_iter().flat_map(|line| divided(line, after, width)).collect()
    };
    each_divided(each_divided(wrap(text, width), ','), '-')
}

/// A line that is too long and not a path, divided after a character.
fn divided(line: String, after: char, width: usize) -> Vec<String> {
    if line.chars().count() <= width || line.contains('/') {
        return vec![line];
    }
    let mut pieces = vec![String::new()];
    for part in line.split_inclusive(after) {
        match pieces.last_mut() {
            Some(piece)
                if piece.is_empty() || piece.chars().count() + part.chars().count() <= width =>
            {
                piece.push_str(part);
            }
            _ => pieces.push(part.to_owned()),
        }
    }
    pieces
}

/// The width of each column, given what each wants: those that want less than an equal share of the
/// room get it, and the others share what is left.
fn shares(mut wanted: Vec<(usize, usize)>, mut room: usize) -> HashMap<usize, usize> {
    wanted.sort_by_key(|&(_, width)| width);
    let mut sharing = wanted.len();
    let mut shares = HashMap::new();
    for (column, width) in wanted {
        let share = width.min(room / sharing);
        room -= share;
        sharing -= 1;
        shares.insert(column, share);
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::Palette;

    type Row = [&'static str; 5];

    fn table() -> Columns<'static, Row> {
        let mut table = Columns::<Row>::new()
            .with(Column::prose("test"), |row| row[0])
            .with(Column::right("IOPS"), |row| row[1])
            .with(Column::left("engine").may_drop(1), |row| row[2])
            .with(Column::right("p99.9").may_drop(2), |row| row[3])
            .with(Column::right("flushes").optional(), |row| row[4]);
        table.row(&["randwrite 4 KiB, fsync=1, depth 1, jobs 1", "574", "psync", "2.9 ms", NONE]);
        table.row(&["read", "36,600", "io_uring", NONE, NONE]);
        table
    }

    fn at(columns: usize) -> String {
        table().render(&Look { columns, ..Look::plain() })
    }

    #[test]
    fn a_long_word_is_divided_after_its_commas() {
        assert_eq!(
            lines("on sim:samsung-980-1tb,filesystem=ext4,seed=7", 22),
            ["on", "sim:samsung-980-1tb,", "filesystem=ext4,seed=7"]
        );
        assert_eq!(lines("sim:micron-5100-eco-960gb", 16), ["sim:micron-5100-", "eco-960gb"]);
        assert_eq!(lines("/dev/disk/by-id/nvme-1", 10), ["/dev/disk/by-id/nvme-1"]);
        assert_eq!(lines("", 10), [""]);
    }

    #[test]
    fn a_wide_page_shows_each_row_in_one_line() {
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
    fn then_columns_are_dropped_by_rank() {
        let mut crowded = table();
        crowded.heads.push(Column::right("another rather wide one"));
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
    fn columns_of_prose_share_the_width() {
        assert_eq!(shares(vec![(3, 40), (5, 4), (7, 90)], 60), [(3, 28), (5, 4), (7, 28)].into());
        assert_eq!(shares(vec![(3, 40), (5, 4), (7, 90)], 100), [(3, 40), (5, 4), (7, 56)].into());
        assert_eq!(shares(Vec::new(), 10), [].into());
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
