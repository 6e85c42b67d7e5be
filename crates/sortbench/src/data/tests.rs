#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use super::uniform::{EQUAL, PREFIX, STEM};
use super::*;

const COUNT: usize = 20_000;

fn made(name: &str) -> Keys {
    DataSet::named(name).unwrap().keys(COUNT, SEED)
}

/// Length of the common prefix of two keys.
fn shared(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// Mean number of bytes that a key shares with its neighbours in sorted order.
fn shared_with_neighbour(name: &str) -> f64 {
    let keys = made(name);
    let mut slices = keys.slices();
    slices.sort_unstable();
    let sum: usize = slices.windows(2).map(|pair| shared(pair[0], pair[1])).sum();
    sum as f64 / (COUNT - 1) as f64
}

#[test]
fn every_set_has_a_name_of_its_own_so_many_keys_and_about_the_size_that_it_says() {
    let names: BTreeSet<_> = DATA_SETS.iter().map(|set| set.name).collect();
    assert_eq!(names.len(), DATA_SETS.len());
    for set in &DATA_SETS {
        let keys = set.keys(COUNT, SEED);
        assert_eq!(keys.slices().len(), COUNT, "{}", set.name);
        let mean = keys.bytes() as f64 / COUNT as f64;
        assert!((mean / set.key_bytes as f64 - 1.0).abs() < 0.25, "{}: {mean} bytes", set.name);
        for count in [0, 1, 2] {
            assert_eq!(set.keys(count, SEED).slices().len(), count, "{}", set.name);
        }
    }
    assert!(DataSet::named("no-such-set").is_none());
}

#[test]
fn a_seed_makes_the_same_keys_and_another_seed_others() {
    for set in &DATA_SETS {
        assert_eq!(set.keys(1000, 1), set.keys(1000, 1), "{}", set.name);
        assert_ne!(set.keys(1000, 1), set.keys(1000, 2), "{}", set.name);
    }
}

#[test]
fn neighbours_in_the_slice_lie_apart_in_the_arena() {
    for set in &DATA_SETS {
        let keys = set.keys(COUNT, SEED);
        // Neither in generation order nor reversed: half of the steps go up.
        let up = keys.slices().windows(2).filter(|pair| pair[0].as_ptr() < pair[1].as_ptr()).count()
            as f64
            / COUNT as f64;
        assert!((0.45..0.55).contains(&up), "{}: {up}", set.name);
    }
}

#[test]
fn sets_with_an_order_have_it() {
    let (sorted, reversed, noisy) = (made("sorted"), made("reversed"), made("sorted-noise"));
    assert!(sorted.slices().is_sorted());
    assert!(reversed.slices().iter().rev().is_sorted());
    let noisy = noisy.slices();
    let mut right = noisy.clone();
    right.sort_unstable();
    let displaced =
        noisy.iter().zip(&right).filter(|(is, should)| is != should).count() as f64 / COUNT as f64;
    assert!((0.008..=0.01).contains(&displaced), "{displaced}");
}

#[test]
fn uniform_bytes_are_uniform() {
    for (name, length) in [("uniform-8", 8), ("uniform-16", 16)] {
        let keys = made(name);
        let mut seen = [0usize; 256];
        for key in keys.slices() {
            assert_eq!(key.len(), length);
            seen[usize::from(key[0])] += 1;
        }
        assert!(seen.iter().all(|&count| (30..150).contains(&count)), "{name}: {seen:?}");
    }
    let keys = made("uniform-0-3");
    let lengths: BTreeSet<_> = keys.slices().iter().map(|key| key.len()).collect();
    assert_eq!(lengths, BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn ascii_is_printable_and_of_every_length() {
    let keys = made("ascii");
    let lengths: BTreeSet<_> = keys.slices().iter().map(|key| key.len()).collect();
    assert_eq!(lengths, (10..=40).collect());
    assert!(keys.slices().iter().all(|key| key.iter().all(u8::is_ascii_graphic)));
}

#[test]
fn prefixes_are_shared_and_strays_are_one_in_a_hundred() {
    assert!(
        made("prefix-48").slices().iter().all(|key| key.len() == 64 && key.starts_with(PREFIX))
    );
    let keys = made("prefix-48-strays");
    let strays: Vec<_> = keys.slices().into_iter().filter(|key| !key.starts_with(PREFIX)).collect();
    assert!((COUNT / 150..COUNT / 70).contains(&strays.len()), "{}", strays.len());
    assert!(strays.iter().all(|key| key[0] != PREFIX[0] && key[1..48] == PREFIX[1..]));
    let keys = made("clusters");
    let prefixes: BTreeSet<_> = keys.slices().iter().map(|key| key[..40].to_vec()).collect();
    assert_eq!(prefixes.len(), 1000);
}

#[test]
fn equal_keys_are_equal_and_others_differ_in_length_alone() {
    assert!(made("equal").slices().iter().all(|&key| key == EQUAL));
    let keys = made("a-runs");
    assert!(keys.slices().iter().all(|key| key.iter().all(|&byte| byte == b'a')));
    let lengths: BTreeSet<_> = keys.slices().iter().map(|key| key.len()).collect();
    assert_eq!(lengths, (0..=1000).collect());
    let keys = made("trailing-zeros");
    let zeros: BTreeSet<_> = keys
        .slices()
        .iter()
        .map(|key| {
            let zeros = key.strip_prefix(STEM).unwrap();
            assert!(zeros.iter().all(|&byte| byte == 0));
            zeros.len()
        })
        .collect();
    assert_eq!(zeros, (0..=100).collect());
}

#[test]
fn words_follow_zipfs_law() {
    let keys = made("words");
    let mut counts = BTreeMap::new();
    keys.slices().into_iter().for_each(|word| *counts.entry(word).or_insert(0usize) += 1);
    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort_unstable_by(|left, right| right.cmp(left));
    // The most frequent word has 1/H(50 000) = 8.8 % of all, the tenth a tenth of that; short words
    // that happen to be spelt alike add to this.
    let share = |rank: usize| counts[rank - 1] as f64 / COUNT as f64;
    assert!((0.08..0.10).contains(&share(1)), "{}", share(1));
    assert!((0.007..0.013).contains(&share(10)), "{}", share(10));
    assert!(counts.len() > 4000, "{}", counts.len());
}

#[test]
fn urls_have_few_hosts_and_deep_paths() {
    let keys = made("urls");
    let mut hosts = BTreeSet::new();
    for url in keys.slices() {
        let url = str::from_utf8(url).unwrap().strip_prefix("https://").unwrap();
        let (host, path) = url.split_once('/').unwrap();
        hosts.insert(host.to_owned());
        assert!((5..=8).contains(&path.split('/').count()), "{url}");
    }
    assert_eq!(hosts.len(), 12);
    let shared = shared_with_neighbour("urls");
    assert!(shared > 40.0, "{shared}");
}

#[test]
fn composite_keys_mean_the_same_as_text_and_as_bytes() {
    let (text, binary) = (made("composite-text"), made("composite-binary"));
    assert!(text.slices().iter().all(|key| {
        let key = str::from_utf8(key).unwrap();
        let parts: Vec<_> = key.split('/').collect();
        parts.len() == 4
            && parts[0].len() == 12
            && identifiers::TABLES.contains(&parts[1])
            && parts[2].len() == 12
            && parts[3].starts_with("2026-01-")
            && parts[3].len() == 24
    }));
    let tenants = |keys: &Keys, tenant: fn(&[u8]) -> u64| {
        keys.slices().into_iter().map(tenant).collect::<BTreeSet<_>>().into_iter().max().unwrap()
    };
    let in_text = tenants(&text, |key| str::from_utf8(&key[7..12]).unwrap().parse().unwrap());
    let in_binary =
        tenants(&binary, |key| u64::from(u32::from_be_bytes(key[..4].try_into().unwrap())));
    assert_eq!((in_text, in_binary), (499, 499));
    assert!(binary.slices().iter().all(|key| key.len() == 22));
    assert!(shared_with_neighbour("composite-text") > 25.0);
    assert!(shared_with_neighbour("composite-binary") > 12.0);
}

#[test]
fn uuids_are_of_their_version() {
    for (name, version) in [("uuid-4", b'4'), ("uuid-7", b'7')] {
        for key in made(name).slices() {
            assert_eq!(key.len(), 36);
            assert_eq!([key[8], key[13], key[18], key[23]], *b"----");
            assert_eq!(key[14], version);
            assert!(b"89ab".contains(&key[19]));
        }
    }
    assert!(shared_with_neighbour("uuid-7") > 11.0);
    assert!(shared_with_neighbour("uuid-4") < 5.0);
}

#[test]
fn paths_are_absolute_and_reads_have_four_letters() {
    assert!(made("paths").slices().iter().all(|path| path[0] == b'/' && path.contains(&b'.')));
    assert!(shared_with_neighbour("paths") > 25.0);
    let keys = made("genome");
    assert!(
        keys.slices()
            .iter()
            .all(|read| read.len() == 100 && read.iter().all(|letter| b"ACGT".contains(letter)))
    );
    let different: BTreeSet<_> = keys.slices().into_iter().collect();
    // 0.3 reads start at each letter, so (1 - e^-0.3) / 0.3 = 86 % of them are different.
    assert!((COUNT * 84 / 100..COUNT * 89 / 100).contains(&different.len()), "{}", different.len());
}
