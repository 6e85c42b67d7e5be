//! Sorts the rows of an Arrow table by several columns, with the row format of `arrow-row`.
//!
//! `cargo run -p prefixsort --example arrow_row`

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, StringArray};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType, SortOptions};

fn main() -> Result<(), ArrowError> {
    let city: ArrayRef =
        Arc::new(StringArray::from(vec![Some("Porto"), None, Some("Bergen"), Some("Porto")]));
    let year: ArrayRef = Arc::new(Int32Array::from(vec![2019, 2024, 2021, 2023]));
    // ORDER BY city NULLS FIRST, year DESC
    let descending = SortOptions { descending: true, nulls_first: true };
    let converter = RowConverter::new(vec![
        SortField::new(DataType::Utf8),
        SortField::new_with_options(DataType::Int32, descending),
    ])?;
    let rows = converter.convert_columns(&[city, year])?;
    let keys: Vec<_> = rows.iter().collect();
    let order = prefixsort::sort_indices(&keys);
    println!("rows in order: {order:?}");
    assert_eq!(order, [1, 2, 3, 0]);
    Ok(())
}
