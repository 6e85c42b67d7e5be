//! Keys that databases use to identify rows.

use std::io::Write as _;

use super::keys::Pen;
use super::random::Zipf;

/// Tenants of an installation; a few of them have most of the rows.
const TENANTS: usize = 500;
/// Tables covered by one index.
pub const TABLES: [&str; 8] =
    ["accounts", "events", "invoices", "order_lines", "orders", "payments", "sessions", "users"];
/// 2026-01-01T00:00:00Z, in milliseconds since 1970.
const BEGIN_MS: usize = 1_767_225_600_000;
/// Thirty days.
const SPAN_MS: usize = 30 * 86_400_000;

/// The columns of a composite key.
struct Row {
    tenant: usize,
    table: usize,
    /// The entity, which has several versions with different timestamps.
    id: usize,
    time_ms: usize,
}

fn rows(pen: &mut Pen, mut write: impl FnMut(&Row, &mut Vec<u8>)) {
    let tenants = Zipf::new(TENANTS);
    let ids = (pen.count() / 100).max(1);
    pen.each(|random, key| {
        let tenant = tenants.rank(random);
        let table = random.below(TABLES.len());
        let row =
            Row { tenant, table, id: random.below(ids), time_ms: BEGIN_MS + random.below(SPAN_MS) };
        write(&row, key);
    });
}

pub fn composite_text(pen: &mut Pen) {
    rows(pen, |row, key| {
        let Row { tenant, table, id, time_ms } = row;
        let (day, in_day_ms) = ((time_ms - BEGIN_MS) / 86_400_000 + 1, time_ms % 86_400_000);
        let (hour, minute, second, milli) = (
            in_day_ms / 3_600_000,
            in_day_ms / 60_000 % 60,
            in_day_ms / 1000 % 60,
            in_day_ms % 1000,
        );
        let written = write!(
            key,
            "tenant-{tenant:05}/{}/{id:012}/2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z",
            TABLES[*table]
        );
        written.expect("writing to a vector cannot fail");
    });
}

pub fn composite_binary(pen: &mut Pen) {
    rows(pen, |row, key| {
        key.extend((row.tenant as u32).to_be_bytes());
        key.extend((row.table as u16).to_be_bytes());
        key.extend((row.id as u64).to_be_bytes());
        key.extend((row.time_ms as u64).to_be_bytes());
    });
}

pub fn uuid_4(pen: &mut Pen) {
    pen.each(|random, key| uuid(random.bytes(), 4, key));
}

pub fn uuid_7(pen: &mut Pen) {
    // A busy service generates about one every millisecond.
    let mut time_ms = BEGIN_MS as u64;
    pen.each(|random, key| {
        time_ms += random.below(3) as u64;
        let mut bytes: [u8; 16] = random.bytes();
        bytes[..6].copy_from_slice(&time_ms.to_be_bytes()[2..]);
        uuid(bytes, 7, key);
    });
}

/// RFC 9562, section 4: sets version and variant, then formats as text.
fn uuid(mut bytes: [u8; 16], version: u8, key: &mut Vec<u8>) {
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    for (place, byte) in bytes.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            key.push(b'-');
        }
        key.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";
