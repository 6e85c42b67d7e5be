//! Results as Parquet: one file with a row per test, one with a row per histogram bin.
//!
//! They are separate files because nearly all columns of one would be empty in the other; join them
//! by `run` and `test_number`. The latency of a bin is its lower end in nanoseconds. Every file has
//! all columns, with the same types, however many rows it has.

use std::sync::Arc;

use jiff::Timestamp;
use measurement::Histogram;
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::columns::{Cells, Column, Row, Run, columns, operations, rows};

/// Name of the file with one row per test.
pub const TESTS: &str = "tests.parquet";
/// Name of the file with one row per histogram bin.
pub const BINS: &str = "bins.parquet";

/// A file could not be created.
#[derive(Debug, thiserror::Error)]
#[error("the Parquet file could not be made: {0}")]
pub struct NotWritten(#[from] ParquetError);

/// One row per test, with the columns of [`columns`](crate::columns).
pub fn tests(runs: &[Run<'_>]) -> Result<Vec<u8>, NotWritten> {
    tests_with(runs, |_| true)
}

/// One row per test, with some of the columns.
pub(crate) fn tests_with(
    runs: &[Run<'_>],
    is_wanted: impl Fn(&Column) -> bool,
) -> Result<Vec<u8>, NotWritten> {
    let rows: Vec<_> = rows(runs).collect();
    let columns = columns();
    let wanted = columns.iter().filter(|column| is_wanted(column));
    let table: Vec<_> =
        wanted.map(|column| (column.name, Values::of(&column.cells, &rows))).collect();
    file(&table)
}

/// One row per non-empty histogram bin.
pub fn bins(runs: &[Run<'_>]) -> Result<Vec<u8>, NotWritten> {
    let mut run = Vec::new();
    let mut number = Vec::new();
    let mut name = Vec::new();
    let mut latency_ns = Vec::new();
    let mut count = Vec::new();
    for row in rows(runs) {
        let key = ByteArray::from(row.key.to_string().into_bytes());
        for operation in operations(row.result) {
            for (latency, cell_count) in
                operation.histogram.into_iter().flat_map(Histogram::buckets)
            {
                run.push(Some(key.clone()));
                number.push(Some(signed(row.number)));
                name.push(Some(ByteArray::from(operation.name)));
                latency_ns.push(Some(signed(latency)));
                count.push(Some(signed(cell_count)));
            }
        }
    }
    file(&[
        ("run", Values::Text(run)),
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
    /// Microseconds since 1970, UTC.
    Time(Vec<Option<i64>>),
}

impl Values {
    fn of(cells: &Cells, rows: &[Row<'_>]) -> Values {
        let text = |text: String| ByteArray::from(text.into_bytes());
        let rows = rows.iter();
        match cells {
            Cells::Text(cell) => Values::Text(rows.map(|row| cell(row).map(text)).collect()),
            Cells::Whole(cell) => Values::Whole(rows.map(|row| cell(row).map(signed)).collect()),
            Cells::Real(cell) => Values::Real(rows.map(cell).collect()),
            Cells::Flag(cell) => Values::Flag(rows.map(cell).collect()),
            Cells::Time(cell) => {
                Values::Time(rows.map(|row| cell(row).map(Timestamp::as_microsecond)).collect())
            }
        }
    }

    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, logical) = match self {
            Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Values::Whole(_) => (Physical::INT64, None),
            Values::Real(_) => (Physical::DOUBLE, None),
            Values::Flag(_) => (Physical::BOOLEAN, None),
            Values::Time(_) => {
                (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS)))
            }
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
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
            Values::Whole(cells) | Values::Time(cells) => {
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
