//! Results for query engines: one file with a row for each test, one with a row for each cell of its histograms.
//!
//! Two files and not one with a column for the kind, because nearly all columns of either would be empty in the other. `run` and `test_number` join them.
//! Latencies of a cell are its lowest, in nanoseconds.

use std::sync::Arc;

use measurement::{Histogram, RunDocument};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::columns::{Cell, columns, rows};

/// The file with one row for each test.
pub const TESTS: &str = "tests.parquet";
/// The file with one row for each cell of a histogram.
pub const BINS: &str = "bins.parquet";

/// A file could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the Parquet file could not be made: {0}")]
pub struct NotWritten(#[from] ParquetError);

/// One row for each test: the columns of [`columns`](crate::columns).
///
/// # Errors
/// When the library refuses the rows.
pub fn tests(documents: &[RunDocument]) -> Result<Vec<u8>, NotWritten> {
    let columns = columns();
    let mut table: Vec<(&'static str, Values)> = Vec::with_capacity(columns.len());
    let rows: Vec<_> = rows(documents).collect();
    for column in &columns {
        let mut values = rows.iter().map(|row| (column.cell)(row)).peekable();
        // Without a row the kind of a column is not known, and a file without rows has none to read either.
        let Some(first) = values.peek() else { continue };
        let mut cells = Values::like(first);
        values.for_each(|cell| cells.push(cell));
        table.push((column.name, cells));
    }
    file(&table)
}

/// One row for each cell of a histogram that holds a latency.
///
/// # Errors
/// When the library refuses the rows.
pub fn bins(documents: &[RunDocument]) -> Result<Vec<u8>, NotWritten> {
    let mut run = Vec::new();
    let mut number = Vec::new();
    let mut operation = Vec::new();
    let mut latency_ns = Vec::new();
    let mut counts = Vec::new();
    for row in rows(documents) {
        let histograms = &row.result.histograms;
        let kinds: [(&str, Option<&Histogram>); 4] = [
            ("read", histograms.read.as_ref()),
            ("write", histograms.write.as_ref()),
            ("sync", histograms.sync.as_ref()),
            ("commit", histograms.commit.as_ref()),
        ];
        for (name, histogram) in kinds.into_iter().filter_map(|(name, histogram)| Some((name, histogram?))) {
            for (latency, count) in histogram.buckets() {
                run.push(Some(row.run as i64));
                number.push(Some(row.number as i64));
                operation.push(Some(ByteArray::from(name)));
                latency_ns.push(Some(latency as i64));
                counts.push(Some(count as i64));
            }
        }
    }
    file(&[
        ("run", Values::Whole(run)),
        ("test_number", Values::Whole(number)),
        ("operation", Values::Text(operation)),
        ("latency_ns", Values::Whole(latency_ns)),
        ("count", Values::Whole(counts)),
    ])
}

/// A column's values.
enum Values {
    Text(Vec<Option<ByteArray>>),
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
}

impl Values {
    fn like(cell: &Cell) -> Values {
        match cell {
            Cell::Text(_) => Values::Text(Vec::new()),
            Cell::Whole(_) => Values::Whole(Vec::new()),
            Cell::Real(_) => Values::Real(Vec::new()),
            Cell::Flag(_) => Values::Flag(Vec::new()),
        }
    }

    /// A column's cells are all of one kind.
    fn push(&mut self, cell: Cell) {
        match (self, cell) {
            (Values::Text(values), Cell::Text(value)) => {
                values.push(value.map(|text| ByteArray::from(text.into_bytes())));
            }
            // Counts of operations and bytes stay below 2^63.
            (Values::Whole(values), Cell::Whole(value)) => values.push(value.map(|value| value as i64)),
            (Values::Real(values), Cell::Real(value)) => values.push(value),
            (Values::Flag(values), Cell::Flag(value)) => values.push(value),
            (values, cell) => debug_assert!(false, "a column of two kinds: {cell:?} in {}", values.physical()),
        }
    }

    fn physical(&self) -> Physical {
        match self {
            Values::Text(_) => Physical::BYTE_ARRAY,
            Values::Whole(_) => Physical::INT64,
            Values::Real(_) => Physical::DOUBLE,
            Values::Flag(_) => Physical::BOOLEAN,
        }
    }

    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let text = matches!(self, Values::Text(_)).then_some(LogicalType::String);
        Type::primitive_type_builder(name, self.physical())
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(text)
            .build()
    }

    fn write(&self, group: &mut SerializedRowGroupWriter<'_, Vec<u8>>) -> Result<(), ParquetError> {
        /// Which rows have a value, and the values without gaps: how Parquet keeps a column that may lack some.
        fn packed<T: Clone>(cells: &[Option<T>]) -> (Vec<i16>, Vec<T>) {
            (cells.iter().map(|cell| i16::from(cell.is_some())).collect(), cells.iter().flatten().cloned().collect())
        }
        let Some(mut column) = group.next_column()? else { return Ok(()) };
        match self {
            Values::Text(cells) => {
                let (levels, values) = packed(cells);
                column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Values::Whole(cells) => {
                let (levels, values) = packed(cells);
                column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Values::Real(cells) => {
                let (levels, values) = packed(cells);
                column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
            Values::Flag(cells) => {
                let (levels, values) = packed(cells);
                column.typed::<BoolType>().write_batch(&values, Some(&levels), None)?;
            }
        }
        column.close()
    }
}

fn file(table: &[(&'static str, Values)]) -> Result<Vec<u8>, NotWritten> {
    let fields = table.iter().map(|(name, values)| values.field(name).map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::builder().build()))?;
    let mut group = writer.next_row_group()?;
    for (_, values) in table {
        values.write(&mut group)?;
    }
    group.close()?;
    Ok(writer.into_inner()?)
}
