//! Every entry point against std's sort, on keys that are very different and on keys that are very
//! similar.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use prefixsort::{
    Cancelled, Options, Scratch, SortedIter, par_sort, par_sort_by_key_bytes, par_sort_indices,
    par_sort_stable, par_sort_stable_by_key_bytes, sort, sort_by_key_bytes, sort_in_arena,
    sort_indices, sort_indices_with, sort_stable, sort_stable_by_key_bytes, sort_with, top_k,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Bytes that collide: ends, zeros and 0xFF are where sorts of byte strings go wrong.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![4 => Just(0_u8), 4 => Just(255), 3 => b'a'..=b'c', 1 => any::<u8>()]
}

/// A key of a few parts, so many keys share long prefixes and many are equal.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        3 => vec(byte(), 0..4),
        2 => Just(b"https://example.org/a/long/path/that/many/keys/share/".to_vec()),
        1 => Just(vec![0; 40]),
        1 => Just(b"a".repeat(70)),
        2 => vec(any::<u8>(), 0..12),
    ];
    vec(part, 0..6).prop_map(|parts| parts.concat())
}

fn keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop_oneof![vec(key(), 0..30), vec(key(), 0..1500), few_different()]
}

/// Many keys with few different values.
fn few_different() -> impl Strategy<Value = Vec<Vec<u8>>> {
    (vec(key(), 1..20), vec(any::<prop::sample::Index>(), 0..2000))
        .prop_map(|(keys, picks)| picks.iter().map(|pick| pick.get(&keys).clone()).collect())
}

fn cases(debug: u32) -> ProptestConfig {
    ProptestConfig::with_cases(if cfg!(miri) { 2 } else { debug })
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn sort_sorts(keys in keys()) {
        let mut expected = keys.clone();
        expected.sort_unstable();
        let mut sorted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        sort(&mut sorted);
        prop_assert_eq!(&sorted, &expected);
        let mut owned = keys;
        sort(&mut owned);
        prop_assert_eq!(owned, expected);
    }

    #[test]
    fn stable_sorts_keep_the_order_of_equals(keys in keys()) {
        let rows: Vec<(Vec<u8>, usize)> = keys.into_iter().zip(0..).collect();
        let mut expected = rows.clone();
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        let mut sorted = rows.clone();
        sort_stable_by_key_bytes(&mut sorted, |row| &row.0);
        prop_assert_eq!(&sorted, &expected);
        let indices: Vec<usize> = expected.iter().map(|row| row.1).collect();
        let keys: Vec<&[u8]> = rows.iter().map(|row| row.0.as_slice()).collect();
        prop_assert_eq!(sort_indices(&keys).into_iter().map(|row| row as usize).collect::<Vec<_>>(), indices);
        let mut by_key = rows.clone();
        sort_by_key_bytes(&mut by_key, |row| &row.0);
        prop_assert!(by_key.iter().map(|row| &row.0).eq(expected.iter().map(|row| &row.0)));
        let mut strings: Vec<&[u8]> = keys.clone();
        sort_stable(&mut strings);
        prop_assert!(strings.iter().eq(expected.iter().map(|row| &row.0)));
    }

    #[test]
    fn the_iterator_gives_rows_in_order(keys in keys(), k in 0usize..50) {
        let mut expected: Vec<&Vec<u8>> = keys.iter().collect();
        expected.sort();
        let iterator = SortedIter::new(&keys);
        prop_assert_eq!(iterator.len(), keys.len());
        prop_assert_eq!(&iterator.collect::<Vec<_>>(), &expected);
        expected.truncate(k);
        prop_assert_eq!(top_k(&keys, k), expected);
    }

    #[test]
    fn rows_may_refer_to_keys_in_an_arena(keys in keys(), stable: bool) {
        let arena = keys.concat();
        let ends = keys.iter().scan(0, |end, key| { *end += key.len(); Some(*end) });
        let rows: Vec<(usize, usize)> = keys.iter().zip(ends).map(|(key, end)| (end - key.len(), end)).collect();
        let mut numbered: Vec<(usize, (usize, usize))> = rows.into_iter().enumerate().collect();
        let mut expected = numbered.clone();
        expected.sort_by_key(|(number, _)| (&keys[*number], *number));
        let options = Options { stable, ..Options::default() };
        let key = |row: &(usize, (usize, usize))| &arena[row.1.0..row.1.1];
        prop_assert_eq!(sort_in_arena(&mut numbered, key, options, &mut Scratch::default()), Ok(()));
        if stable {
            prop_assert_eq!(numbered, expected);
        } else {
            prop_assert!(numbered.iter().map(key).eq(expected.iter().map(key)));
            numbered.sort_unstable();
            prop_assert!(numbered.iter().map(|row| row.0).eq(0..keys.len()));
        }
    }

    #[test]
    fn the_iterator_gives_rows_in_the_order_of_their_keys(keys in keys()) {
        let rows: Vec<(Vec<u8>, usize)> = keys.into_iter().zip(0..).collect();
        let mut expected: Vec<&(Vec<u8>, usize)> = rows.iter().collect();
        expected.sort_by_key(|row| &row.0);
        prop_assert_eq!(&SortedIter::by_key_bytes(&rows, |row| &row.0).collect::<Vec<_>>(), &expected);
        let mut iterator = SortedIter::by_key_bytes(&rows, |row| &row.0);
        let indices: Vec<usize> = std::iter::from_fn(|| iterator.next_index()).map(|index| index as usize).collect();
        prop_assert!(indices.into_iter().eq(expected.iter().map(|row| row.1)));
    }

    #[test]
    fn one_scratch_serves_many_sorts(batches in vec(keys(), 1..4)) {
        let mut scratch = Scratch::default();
        for mut batch in batches {
            let mut expected = batch.clone();
            expected.sort();
            let options = Options { stable: true, ..Options::default() };
            let order = sort_indices_with(&batch, |row| row, options, &mut scratch).unwrap();
            prop_assert_eq!(order, sort_indices(&batch));
            let never = Options { cancelled: Some(&|| true), ..Options::default() };
            let cancelled = sort_indices_with(&batch, |row| row, never, &mut scratch);
            prop_assert_eq!(cancelled.is_err(), batch.len() > 1);
            prop_assert_eq!(sort_with(&mut batch, |row| row, Options::default(), &mut scratch), Ok(()));
            prop_assert_eq!(batch, expected);
        }
    }

    #[test]
    fn a_sort_that_is_cancelled_or_panics_changes_nothing(keys in keys(), after in 0u32..3000) {
        let mut rows = keys.clone();
        let asked = Cell::new(0);
        let cancelled = || { asked.set(asked.get() + 1); asked.get() > after % 7 };
        let options = Options { cancelled: Some(&cancelled), ..Options::default() };
        let outcome = sort_with(&mut rows, |row| row, options, &mut Scratch::default());
        if outcome == Err(Cancelled) {
            prop_assert_eq!(&rows, &keys);
        } else {
            prop_assert!(rows.is_sorted());
        }
        let mut rows = keys.clone();
        let calls = Cell::new(0);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            sort_by_key_bytes(&mut rows, |row| {
                calls.set(calls.get() + 1);
                if calls.get() > after {
                    // Unwinds like a panic, but without a message and a backtrace for each of
                    // hundreds of cases.
                    std::panic::resume_unwind(Box::new("the key function panics"));
                }
                row
            });
        }));
        if outcome.is_ok() {
            prop_assert!(rows.is_sorted());
        } else {
            prop_assert_eq!(&rows, &keys);
        }
    }

    #[test]
    fn an_inconsistent_key_function_loses_no_row(keys in keys(), seed: u64) {
        let mut rows: Vec<(usize, Vec<u8>)> = keys.into_iter().enumerate().collect();
        let state = Cell::new(seed | 1);
        sort_by_key_bytes(&mut rows, |row| {
            state.set(state.get().wrapping_mul(6364136223846793005).wrapping_add(1));
            let cut = (state.get() >> 33) as usize % (row.1.len() + 1);
            if state.get() >> 63 == 0 { &row.1[cut..] } else { &row.1[..cut] }
        });
        rows.sort_by_key(|row| row.0);
        prop_assert!(rows.iter().map(|row| row.0).eq(0..rows.len()));
    }
}

/// Enough keys to be divided among threads, with prefixes that few share, in any order.
fn many_keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
    (vec(key(), 1..100), 10_000_usize..13_000, any::<u64>(), 0_u64..300).prop_map(
        |(beginnings, count, seed, ends)| {
            let mut state = seed | 1;
            let key = |_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let mut key = beginnings[(state >> 33) as usize % beginnings.len()].clone();
                key.resize(key.len() + (state >> 48 & 1) as usize, 0);
                key.extend_from_slice(&((state >> 20) % (ends + 1)).to_be_bytes()[6..]);
                key
            };
            (0..count).map(key).collect()
        },
    )
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    #[cfg_attr(miri, ignore = "ten thousand keys take Miri hours")]
    fn parallel_sorts_sort(keys in many_keys()) {
        let rows: Vec<(&[u8], u32)> = keys.iter().map(Vec::as_slice).zip(0..).collect();
        let mut expected = rows.clone();
        expected.sort_by(|a, b| a.0.cmp(b.0));
        let mut sorted = rows.clone();
        par_sort_stable_by_key_bytes(&mut sorted, |row| row.0);
        prop_assert!(sorted == expected);
        prop_assert!(par_sort_indices(&keys).into_iter().eq(expected.iter().map(|row| row.1)));
        let mut sorted = rows;
        par_sort_by_key_bytes(&mut sorted, |row| row.0);
        prop_assert!(sorted.iter().map(|row| row.0).eq(expected.iter().map(|row| row.0)));
        sorted.sort_unstable();
        prop_assert!(sorted == expected, "a row was lost");
        let mut sorted = keys.clone();
        par_sort(&mut sorted);
        prop_assert!(sorted.iter().eq(expected.iter().map(|row| row.0)));
        let mut sorted = keys.clone();
        par_sort_stable(&mut sorted);
        prop_assert!(sorted.iter().eq(expected.iter().map(|row| row.0)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "ten thousand keys take Miri hours")]
    fn a_parallel_sort_whose_key_panics_changes_nothing(keys in many_keys(), after in 0_u32..100_000) {
        let mut rows = keys.clone();
        let calls = AtomicU32::new(0);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            par_sort_by_key_bytes(&mut rows, |row| {
                if calls.fetch_add(1, Ordering::Relaxed) > after {
                    std::panic::resume_unwind(Box::new("the key function panics"));
                }
                row
            });
        }));
        if outcome.is_ok() {
            prop_assert!(rows.is_sorted());
        } else {
            prop_assert!(rows == keys);
        }
    }
}

/// Large enough for distribution in place, and for samples.
#[test]
#[cfg_attr(miri, ignore = "a hundred thousand keys take Miri hours; smaller ones run above")]
fn many_keys_of_many_kinds() {
    let mut state = 1_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let many = 100_000;
    let mut kinds: Vec<Vec<Vec<u8>>> = vec![
        (0..many).map(|_| random().to_be_bytes().to_vec()).collect(),
        (0..many)
            .map(|_| {
                format!("https://host{}.example/{}/{}", random() % 9, random() % 99, random())
                    .into_bytes()
            })
            .collect(),
        (0..many).map(|_| format!("{:020}", random() % 100_000).into_bytes()).collect(),
        (0..many).map(|_| vec![b'a'; (random() % 300) as usize]).collect(),
        (0..many).map(|_| vec![0; (random() % 50) as usize]).collect(),
        (0..many).map(|_| (0..100).map(|_| b"acgt"[(random() % 4) as usize]).collect()).collect(),
        (0..many).map(|_| b"the same".to_vec()).collect(),
        (0..many)
            .map(|n: u32| {
                let mut key = vec![if random() % 100 == 0 { random() as u8 } else { b'k' }];
                key.extend_from_slice(&[7; 47]);
                key.extend_from_slice(&(n ^ 0x5555).to_be_bytes());
                key
            })
            .collect(),
        (0..many).map(|n| format!("{n:08}").into_bytes()).collect(),
        (0..many).rev().map(|n| format!("{n:08}").into_bytes()).collect(),
    ];
    for keys in &mut kinds {
        let mut expected = keys.clone();
        expected.sort();
        let mut stable: Vec<(&[u8], u32)> = keys.iter().map(Vec::as_slice).zip(0..).collect();
        sort_stable_by_key_bytes(&mut stable, |row| row.0);
        assert!(stable.is_sorted());
        assert!(SortedIter::new(keys).eq(expected.iter()));
        let mut parallel: Vec<(&[u8], u32)> = keys.iter().map(Vec::as_slice).zip(0..).collect();
        par_sort_stable_by_key_bytes(&mut parallel, |row| row.0);
        assert!(parallel == stable);
        assert!(par_sort_indices(keys).into_iter().eq(stable.iter().map(|row| row.1)));
        let mut parallel = keys.clone();
        par_sort(&mut parallel);
        assert!(parallel == expected);
        sort(keys);
        assert!(*keys == expected);
    }
}

#[test]
#[cfg_attr(miri, ignore = "two million keys take Miri days")]
fn millions_of_duplicates() {
    let words =
        [&b"the"[..], b"", b"the ", b"\0", b"of", b"another word that is longer than a window"];
    let mut state = 1_u64;
    let mut rows: Vec<&[u8]> = (0..2_000_000)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Most are the same.
            words[if state >> 62 == 0 { (state >> 33) as usize % words.len() } else { 0 }]
        })
        .collect();
    let mut counts = words.map(|word| (word, rows.iter().filter(|row| **row == word).count()));
    counts.sort_unstable();
    sort(&mut rows);
    let groups = rows.chunk_by(|a, b| a == b).map(|group| (group[0], group.len()));
    assert!(groups.eq(counts));
}
