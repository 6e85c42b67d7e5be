//! Any bytes from an NBD server are an export or an error: the client never panics.

#![no_main]

use std::io::{self, Read, Write};

/// A server that sends this, whatever it receives.
struct Server<'a>(&'a [u8]);

impl Read for Server<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Server<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match nbd::negotiate(&mut Server(bytes), "drive") {
        Ok(export) => {
            let sizes = export.sizes;
            assert!(export.bytes > 0 && export.bytes <= i64::MAX as u64);
            assert!(sizes.min_bytes.is_power_of_two());
            assert!(sizes.min_bytes <= sizes.max_bytes);
        }
        Err(error) => {
            let sentence = error.to_string();
            assert!(!sentence.is_empty() && sentence.len() < 2000, "{sentence}");
            assert!(!sentence.chars().any(char::is_control), "{sentence}");
        }
    }
});
