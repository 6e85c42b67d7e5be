//! Sorts rows by several columns, with the crate `memcomparable`.
//!
//! `cargo run -p prefixsort --example memcomparable`

use serde::Serialize;

/// Compared column by column, like SQL's `ORDER BY tenant, active, created`.
#[derive(Debug, Serialize)]
struct Order {
    tenant: u32,
    active: bool,
    created: i64,
    note: &'static str,
}

fn main() -> Result<(), memcomparable::Error> {
    let orders = [
        Order { tenant: 7, active: true, created: -5, note: "before 1970" },
        Order { tenant: 7, active: false, created: 1_700_000_000, note: "closed" },
        Order { tenant: 3, active: true, created: 0, note: "" },
        Order { tenant: 7, active: true, created: 12, note: "later" },
    ];
    // The encoding preserves the order of every column: signs, lengths, and where one column ends
    // and the next begins.
    let mut rows: Vec<(Vec<u8>, &Order)> = Vec::new();
    for order in &orders {
        rows.push((memcomparable::to_vec(order)?, order));
    }
    prefixsort::sort_by_key_bytes(&mut rows, |row| &row.0);
    for (key, order) in &rows {
        println!("{order:?} from {} bytes", key.len());
    }
    let notes: Vec<&str> = rows.iter().map(|row| row.1.note).collect();
    assert_eq!(notes, ["", "closed", "before 1970", "later"]);
    Ok(())
}
