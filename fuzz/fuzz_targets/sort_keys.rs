//! Any keys are sorted as std sorts them, stably, and the iterator gives the same.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // The first byte parts the others into keys: few or many, short or long, and prefixes of one another.
    let Some((&parts, bytes)) = bytes.split_first() else { return };
    let mut rows: Vec<(&[u8], usize)> = bytes.split(|&byte| byte == parts).zip(0..).collect();
    // Partitions large enough to be sampled and distributed come of few bytes by repetition.
    let copies = (4096 / (bytes.len() + 1)).max(1);
    rows = rows
        .iter()
        .cycle()
        .take(rows.len() * copies)
        .enumerate()
        .map(|(index, row)| (row.0, index))
        .collect();
    let mut expected = rows.clone();
    expected.sort();
    let keys: Vec<&[u8]> = rows.iter().map(|row| row.0).collect();
    assert!(prefixsort::SortedIter::new(&keys).eq(expected.iter().map(|row| &row.0)));
    prefixsort::sort_stable_by_key_bytes(&mut rows, |row| row.0);
    assert!(rows == expected);
});
