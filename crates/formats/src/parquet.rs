//! Results as Parquet: one file with a row per test, one with a row per histogram bin.
//!
//! They are separate files because nearly all columns of one would be empty in the other; join them
//! by `run` and `test_number`. The latency of a bin is its lower end in nanoseconds.

use std::sync::Arc;

use measurement::{Histogram, RunDocument};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::columns::{Cell, columns, operations, rows};

/// Name of the file with one row per test.
pub const TESTS: &str = "tests.parquet";
/// Name of the file with one row per histogram bin.
pub const BINS: &str = "bins.parquet";

/// A file could not be created.
#[derive(Debug, thiserror::Error)]
#[error("the Parquet file could not be made: {0}")]
pub struct NotWritten(#[from] ParquetError);

/// One row per test, with the columns of [`columns`](crate::columns).
pub fn tests(documents: &[RunDocument]) -> Result<Vec<u8>, NotWritten> {
    let columns = columns();
    let mut table: Vec<(&'static str, Values)> = Vec::with_capacity(columns.len());
    let rows: Vec<_> = rows(documents).collect();
    for column in &columns {
        let mut values = rows.iter().map(|row| (column.cell)(row)).peekable();
        // Without a row the kind of a column is unknown, and a file without rows has no values to
        // read.
        let Some(first) = values.peek() else { continue };
        let mut cells = Values::like(first);
        values.for_each(|cell| cells.push(cell));
        table.push((column.name, cells));
    }
    file(&table)
}

/// One row per non-empty histogram bin.
pub fn bins(documents: &[RunDocument]) -> Result<Vec<u8>, NotWritten> {
    let mut run = Vec::new();
    let mut number = Vec::new();
    let mut name = Vec::new();
    let mut latency_ns = Vec::new();
    let mut count = Vec::new();
    for row in rows(documents) {
        for operation in operations(row.result) {
            for (latency, cell_count) in
                operation.histogram.into_iter().flat_map(Histogram::buckets)
            {
                run.push(Some(signed(row.run)));
                number.push(Some(signed(row.number)));
                name.push(Some(ByteArray::from(operation.name)));
                latency_ns.push(Some(signed(latency)));
                count.push(Some(signed(cell_count)));
            }
        }
    }
    file(&[
        ("run", Values::Whole(run)),
        ("test_number", Values::Whole(number)),
        ("operation", Values::Text(name)),
        ("latency_ns", Values::Whole(latency_ns)),
        ("count", Values::Whole(count)),
    ])
}

/// Query engines support signed 64-bit integers best. Counts and bytes fit, except in foreign files
/// with invented figures.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

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

    /// Adds a cell, which must be of the column's kind.
    fn push(&mut self, cell: Cell) {
        match (self, cell) {
            (Values::Text(values), Cell::Text(value)) => {
                values.push(value.map(|text| ByteArray::from(text.into_bytes())));
            }
            (Values::Whole(values), Cell::Whole(value)) => values.push(value.map(signed)),
            (Values::Real(values), Cell::Real(value)) => values.push(value),
            (Values::Flag(values), Cell::Flag(value)) => values.push(value),
            (values, cell) => {
                debug_assert!(false, "a column of two kinds: {cell:?} in {}", values.physical());
            }
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
        /// Definition levels and the values without gaps, as Parquet stores an optional column.
        fn packed<T: Clone>(cells: &[Option<T>]) -> (Vec<i16>, Vec<T>) {
            (
                cells.iter().map(|cell| i16::from(cell.is_some())).collect(),
                cells.iter().flatten().cloned().collect(),
            )
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
    let fields = table
        .iter()
        .map(|(name, values)| values.field(name).map(Arc::new))
        .collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
    let version = env!("CARGO_PKG_VERSION");
    let properties = WriterProperties::builder()
        .set_created_by(format!("flushmark version {version}"))
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "flushmark.version".to_owned(),
            version.to_owned(),
        )]))
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (_, values) in table {
        values.write(&mut group)?;
    }
    group.close()?;
    Ok(writer.into_inner()?)
}
