//! The layout of events: the `format` files of tracefs. Fields move between kernels.

/// The layout of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Format {
    /// The number that begins each of its records.
    pub id: u16,
    fields: Vec<(String, Place)>,
}

/// The place of a field in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub offset: usize,
    pub size: usize,
    pub signed: bool,
}

/// A `format` file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("its format has no line `ID: NUMBER`")]
    NoId,
    #[error("its format has the line `{0}`, which is not a field with offset and size")]
    Field(String),
    #[error("it has no field `{0}`")]
    Missing(&'static str),
}

impl Format {
    pub fn parse(text: &str) -> Result<Format, FormatError> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"));
        let id = id.and_then(|id| id.trim().parse().ok()).ok_or(FormatError::NoId)?;
        let fields = text.lines().filter_map(|line| line.trim().strip_prefix("field:"));
        let fields = fields
            .map(|line| field(line).ok_or_else(|| FormatError::Field(line.to_owned())))
            .collect::<Result<_, _>>()?;
        Ok(Format { id, fields })
    }

    pub fn place(&self, name: &'static str) -> Result<Place, FormatError> {
        let found = self.fields.iter().find(|(field, _)| field == name);
        found.map(|(_, place)| *place).ok_or(FormatError::Missing(name))
    }
}

/// A declaration and three numbers, each with a semicolon after it.
fn field(line: &str) -> Option<(String, Place)> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?;
    let name = declaration.rsplit([' ', '*']).next()?;
    let name = name.split('[').next()?.to_owned();
    let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse::<usize>().ok();
    let (offset, size, signed) = (number("offset:")?, number("size:")?, number("signed:")?);
    Some((name, Place { offset, size, signed: signed != 0 }))
}

impl Place {
    /// The bytes of the field; `None` if the record is too short.
    pub fn bytes(self, record: &[u8]) -> Option<&[u8]> {
        record.get(self.offset..)?.get(..self.size)
    }

    /// The bytes that a field of the type `__data_loc` refers to: the lower half of it is their
    /// offset in the record, the upper half their number.
    pub fn indirect_bytes(self, record: &[u8]) -> Option<&[u8]> {
        let place = u32::from_ne_bytes(self.bytes(record)?.try_into().ok()?);
        let (offset, size) = ((place & 0xffff) as usize, (place >> 16) as usize);
        record.get(offset..)?.get(..size)
    }

    /// The field as a number of up to 64 bits in the byte order of this machine.
    pub fn number(self, record: &[u8]) -> Option<i64> {
        let bytes = self.bytes(record)?;
        Some(match (bytes.len(), self.signed) {
            (1, true) => i64::from(bytes[0] as i8),
            (1, false) => i64::from(bytes[0]),
            (2, true) => i64::from(i16::from_ne_bytes(bytes.try_into().ok()?)),
            (2, false) => i64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            (4, true) => i64::from(i32::from_ne_bytes(bytes.try_into().ok()?)),
            (4, false) => i64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            (8, _) => i64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIO_QUEUE: &str = include_str!("../tests/formats/block/block_bio_queue");

    #[test]
    fn a_format_of_a_kernel() {
        let format = Format::parse(BIO_QUEUE).unwrap();
        let place = |offset, size| Ok(Place { offset, size, signed: false });
        assert_eq!(format.place("dev"), place(8, 4));
        assert_eq!(format.place("sector"), place(16, 8));
        assert_eq!(format.place("rwbs"), place(28, 10));
        assert_eq!(format.place("comm"), place(38, 16));
        assert_eq!(format.place("colour"), Err(FormatError::Missing("colour")));
    }

    #[test]
    fn what_is_not_a_format() {
        assert_eq!(Format::parse(""), Err(FormatError::NoId));
        assert_eq!(Format::parse("ID: seven"), Err(FormatError::NoId));
        let odd = "ID: 7\n\tfield:int x;\toffset:eight;\tsize:4;\tsigned:1;\n";
        insta::assert_snapshot!(Format::parse(odd).unwrap_err(), @"its format has the line `int x;	offset:eight;	size:4;	signed:1;`, which is not a field with offset and size");
    }

    #[test]
    fn numbers_of_all_sizes_and_records_cut_short() {
        let record = [0xff_u8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        for (size, unsigned) in [(1, 0xff), (2, 0xffff), (4, 0xffff_ffff), (8, -1)] {
            let place = |signed| Place { offset: 0, size, signed };
            assert_eq!(place(false).number(&record), Some(unsigned));
            assert_eq!(place(true).number(&record), Some(-1));
        }
        assert_eq!(Place { offset: 4, size: 8, signed: false }.number(&record), None);
        assert_eq!(Place { offset: 0, size: 3, signed: false }.number(&record), None);
    }
}
