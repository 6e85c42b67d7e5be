//! The OSD that a write to an object reaches first.
//!
//! An object's name is hashed, the hash selects a placement group (PG), and the PG's acting primary
//! receives every read and write of the object. The PGs of a pool and their primaries come from the
//! cluster in one answer, and names are computed here. Asking the monitor for each name (`ceph osd
//! map`) would cost a round trip per name, and finding a name on each OSD takes many.
//!
//! The hash is that of Bob Jenkins of 1997 (public domain,
//! <https://burtleburtle.net/bob/hash/evahash.html>), Ceph's default (`object_hash rjenkins`).

use std::collections::BTreeMap;

use serde::Deserialize;

/// Separates namespace and name in what is hashed.
const SEPARATOR: u8 = 0x1f;

/// The golden ratio: an arbitrary value to begin with, from the algorithm's publication.
const GOLDEN_RATIO: u32 = 0x9e37_79b9;

const BLOCK_BYTES: usize = 12;

/// The placement groups of a pool and the primary of each.
///
/// A snapshot: the cluster moves PGs when OSDs come and go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The acting primary of each PG; `None` while it has none.
    primaries: Vec<Option<u32>>,
}

/// Why a list of placement groups is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPgList {
    #[error("the list of placement groups is invalid: {0}")]
    Json(String),
    #[error("the placement group `{}` is invalid: expected POOL.HEX", unseen::escaped(.0))]
    PgId(String),
    #[error("the pool has no placement groups")]
    Empty,
    /// Also while a pool's number of PGs changes and the manager has not heard of all of them.
    #[error(
        "the list of placement groups is incomplete: it has {listed}, but not number {missing:x}; \
         wait until the pool has finished splitting or merging"
    )]
    Incomplete { listed: usize, missing: u32 },
}

impl Placement {
    /// Makes the table from the acting primaries of PG 0, 1, 2 and so on. `None` is a PG without a
    /// primary. The number of PGs (`pg_num`) is the number of entries.
    ///
    /// # Errors
    ///
    /// A pool has at least one PG.
    pub fn new(primaries: Vec<Option<u32>>) -> Result<Placement, InvalidPgList> {
        if primaries.is_empty() || u32::try_from(primaries.len()).is_err() {
            return Err(InvalidPgList::Empty);
        }
        Ok(Placement { primaries })
    }

    /// Reads the manager's answer to `{"prefix": "pg ls-by-pool", "poolstr": POOL, "format":
    /// "json"}`: an object with `pg_stats`, or before Ceph 14 its bare array.
    pub fn from_pg_list(json: &[u8]) -> Result<Placement, InvalidPgList> {
        let list: PgList =
            serde_json::from_slice(json).map_err(|error| InvalidPgList::Json(error.to_string()))?;
        let (PgList::Object { pg_stats: pgs } | PgList::Array(pgs)) = list;
        let mut primaries = vec![None; pgs.len()];
        for pg in &pgs {
            let number = pg.pgid.split_once('.').map(|(_, hex)| u32::from_str_radix(hex, 16));
            let Some(Ok(number)) = number else {
                return Err(InvalidPgList::PgId(pg.pgid.clone()));
            };
            // Beyond the list means that a smaller number is missing.
            if let Some(entry) = primaries.get_mut(number as usize) {
                let serves = pg.state.as_ref().is_none_or(|state| state.contains("active"));
                *entry = Some(u32::try_from(pg.acting_primary).ok().filter(|_| serves));
            }
        }
        if let Some(missing) = primaries.iter().position(Option::is_none) {
            return Err(InvalidPgList::Incomplete { listed: pgs.len(), missing: missing as u32 });
        }
        Placement::new(primaries.into_iter().flatten().collect())
    }

    /// Returns the number of PGs of the pool (`pg_num`).
    pub fn pg_count(&self) -> u32 {
        self.primaries.len() as u32
    }

    /// Returns the PG of an object. An empty namespace is the default one.
    pub fn pg_of(&self, namespace: &[u8], name: &[u8]) -> u32 {
        let count = self.pg_count();
        stable_mod(object_hash(namespace, name), count, mask_of(count))
    }

    /// Returns the OSD that serves an object, or `None` if its PG is without a primary. An object
    /// with a locator key is placed by the key instead of its name.
    pub fn primary_of(&self, namespace: &[u8], name: &[u8]) -> Option<u32> {
        self.primaries[self.pg_of(namespace, name) as usize]
    }

    /// Finds names of `count` objects on each of these OSDs, spread evenly over the PGs of which it
    /// is the primary: operations on one PG wait for each other. An OSD that is the primary of no
    /// PG is left out.
    pub fn names_on(
        &self,
        namespace: &[u8],
        osds: &[u32],
        count: usize,
    ) -> BTreeMap<u32, Vec<String>> {
        let mut pgs_of: BTreeMap<u32, usize> = BTreeMap::new();
        for osd in self.primaries.iter().flatten().filter(|osd| osds.contains(osd)) {
            *pgs_of.entry(*osd).or_default() += 1;
        }
        let mut names: BTreeMap<u32, Vec<String>> =
            pgs_of.keys().map(|osd| (*osd, Vec::with_capacity(count))).collect();
        let mut used = vec![0; self.primaries.len()];
        let mut missing = if count > 0 { names.len() } else { 0 };
        for number in 0_u64.. {
            if missing == 0 {
                break;
            }
            let name = format!("object-{number}");
            let pg = self.pg_of(namespace, name.as_bytes()) as usize;
            let Some(osd) = self.primaries[pg] else { continue };
            let (Some(pgs), Some(of_osd)) = (pgs_of.get(&osd), names.get_mut(&osd)) else {
                continue;
            };
            if of_osd.len() < count && used[pg] < count.div_ceil(*pgs) {
                used[pg] += 1;
                of_osd.push(name);
                missing -= usize::from(of_osd.len() == count);
            }
        }
        names
    }

    /// Returns the acting primaries in the order of the PGs.
    pub fn primaries(&self) -> &[Option<u32>] {
        &self.primaries
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PgList {
    Object { pg_stats: Vec<PgEntry> },
    Array(Vec<PgEntry>),
}

#[derive(Deserialize)]
struct PgEntry {
    pgid: String,
    /// -1 for none.
    acting_primary: i64,
    /// Such as `active+clean`.
    #[serde(default)]
    state: Option<String>,
}

/// Returns the hash of an object, which `ceph osd map` prints in hexadecimal as the second part of
/// `raw_pgid`. Objects with a locator key have the hash of the key.
pub fn object_hash(namespace: &[u8], name: &[u8]) -> u32 {
    let mut hash = Jenkins::new();
    if !namespace.is_empty() {
        hash.update(namespace);
        hash.update(&[SEPARATOR]);
    }
    hash.update(name);
    hash.finish()
}

/// Reduces a hash to a PG below `count` so that most objects stay where they are when `count`
/// grows. `mask` is the smallest 2^n - 1 that is at least `count` - 1.
pub fn stable_mod(hash: u32, count: u32, mask: u32) -> u32 {
    if hash & mask < count { hash & mask } else { hash & (mask >> 1) }
}

/// Returns the mask for [`stable_mod`].
pub fn mask_of(count: u32) -> u32 {
    match count.saturating_sub(1).checked_ilog2() {
        None => 0,
        Some(highest_bit) => u32::MAX >> (31 - highest_bit),
    }
}

/// The hash over text in parts.
struct Jenkins {
    state: [u32; 3],
    block: [u8; BLOCK_BYTES],
    /// Bytes of `block` in use.
    filled: usize,
    bytes_total: u32,
}

impl Jenkins {
    fn new() -> Jenkins {
        Jenkins {
            state: [GOLDEN_RATIO, GOLDEN_RATIO, 0],
            block: [0; BLOCK_BYTES],
            filled: 0,
            bytes_total: 0,
        }
    }

    fn update(&mut self, mut bytes: &[u8]) {
        self.bytes_total = self.bytes_total.wrapping_add(bytes.len() as u32);
        while !bytes.is_empty() {
            let (part, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.filled));
            self.block[self.filled..self.filled + part.len()].copy_from_slice(part);
            self.filled += part.len();
            bytes = rest;
            if self.filled == BLOCK_BYTES {
                self.add_block();
                self.state = mixed(self.state);
                self.block = [0; BLOCK_BYTES];
                self.filled = 0;
            }
        }
    }

    fn add_block(&mut self) {
        for (word, bytes) in self.state.iter_mut().zip(self.block.as_chunks::<4>().0) {
            *word = word.wrapping_add(u32::from_le_bytes(*bytes));
        }
    }

    fn finish(mut self) -> u32 {
        // At most 11 bytes remain. The lowest byte of the third word is reserved for the length.
        self.block.copy_within(8..11, 9);
        self.block[8] = 0;
        self.state[2] = self.state[2].wrapping_add(self.bytes_total);
        self.add_block();
        mixed(self.state)[2]
    }
}

fn mixed([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    for [first, second, third] in [[13, 8, 13], [12, 16, 5], [3, 10, 15]] {
        a = a.wrapping_sub(b).wrapping_sub(c) ^ (c >> first);
        b = b.wrapping_sub(c).wrapping_sub(a) ^ (a << second);
        c = c.wrapping_sub(a).wrapping_sub(b) ^ (b >> third);
    }
    [a, b, c]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of `ceph osd map` in Ceph 16.2.15, for pools of 8, 12, 37 and 96 PGs. The names
    /// have every length from 1 to 33 bytes, so each remainder of a block occurs.
    const FROM_A_CLUSTER: &str = include_str!("placement/placement.tsv");

    fn hex(text: &str) -> u32 {
        u32::from_str_radix(text, 16).expect("a hexadecimal number")
    }

    #[test]
    fn objects_of_an_osd_are_spread_over_its_pgs() {
        // 12 PGs: three of osd.0, one of osd.1, seven of osd.2, one without a primary.
        let primaries = [0, 2, 2, 0, 2, 2, 1, 2, 0, 2, 2].map(Some);
        let primaries = primaries.into_iter().chain([None]).collect();
        let placement = Placement::new(primaries).unwrap();
        let names = placement.names_on(b"ns", &[0, 1, 7], 16);
        assert_eq!(names.keys().copied().collect::<Vec<_>>(), [0, 1]);
        for (osd, names) in &names {
            assert_eq!(names.len(), 16);
            let mut used = BTreeMap::new();
            for name in names {
                assert_eq!(placement.primary_of(b"ns", name.as_bytes()), Some(*osd));
                *used.entry(placement.pg_of(b"ns", name.as_bytes())).or_insert(0) += 1;
            }
            assert!(used.values().all(|count| *count <= 16_usize.div_ceil(used.len())), "{used:?}");
        }
        assert!(placement.names_on(b"", &[0], 0)[&0].is_empty());
    }

    #[test]
    fn names_have_the_hash_and_the_group_that_a_cluster_computes() {
        let mut lines = FROM_A_CLUSTER.lines();
        let head: Vec<&str> = lines.next().expect("a head").split('\t').collect();
        let counts: Vec<u32> = head[3..]
            .iter()
            .map(|cell| cell.trim_start_matches("pg_num ").parse().expect("a number"))
            .collect();
        assert_eq!(counts, [8, 12, 37, 96]);
        let mut compared = 0;
        for line in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            let (namespace, name) = (cells[0].as_bytes(), cells[1].as_bytes());
            assert_eq!(object_hash(namespace, name), hex(cells[2]), "{line}");
            for (count, pg) in counts.iter().zip(&cells[3..]) {
                let pool = Placement::new(vec![None; *count as usize]).expect("a pool");
                assert_eq!(pool.pg_of(namespace, name), hex(pg), "{count} PGs: {line}");
                compared += 1;
            }
        }
        assert!(compared > 200, "{compared}");
    }

    #[test]
    fn masks_are_the_next_power_of_two_less_one() {
        let masks = [1, 2, 3, 4, 5, 8, 9, 12, 37, 96, 128, 129].map(mask_of);
        assert_eq!(masks, [0, 1, 3, 3, 7, 7, 15, 15, 63, 127, 127, 255]);
        assert_eq!(mask_of(u32::MAX), u32::MAX);
    }

    #[test]
    fn primaries_are_read_in_the_order_of_the_groups() {
        let new = br#"{"pg_ready": true, "pg_stats": [
            {"pgid": "7.1", "acting_primary": 4}, {"pgid": "7.0", "acting_primary": 2},
            {"pgid": "7.2", "acting_primary": -1}]}"#;
        let placement = Placement::from_pg_list(new).expect("a list");
        assert_eq!(placement.primaries(), [Some(2), Some(4), None]);
        // A group that is being made serves nothing yet.
        let made = br#"{"pg_stats": [
            {"pgid": "7.0", "acting_primary": 2, "state": "creating+peering"},
            {"pgid": "7.1", "acting_primary": 1, "state": "active+clean"}]}"#;
        let placement = Placement::from_pg_list(made).expect("a list");
        assert_eq!(placement.primaries(), [None, Some(1)]);
        let old = br#"[{"pgid": "7.0", "acting_primary": 2}]"#;
        let placement = Placement::from_pg_list(old).expect("a list");
        assert_eq!(placement.primary_of(b"", b"any"), Some(2));
    }

    #[test]
    fn lists_that_are_not_of_a_whole_pool_are_refused() {
        let error = |json: &str| Placement::from_pg_list(json.as_bytes()).expect_err(json);
        insta::assert_snapshot!(error(r#"{"pg_stats": []}"#), @"the pool has no placement groups");
        insta::assert_snapshot!(
            error(r#"[{"pgid": "7.1", "acting_primary": 4}]"#),
            @"the list of placement groups is incomplete: it has 1, but not number 0; wait until the pool has finished splitting or merging"
        );
        insta::assert_snapshot!(
            error("[{\"pgid\": \"7.x\u{202e}\", \"acting_primary\": 4}]"),
            @r"the placement group `7.x\u{202e}` is invalid: expected POOL.HEX"
        );
        assert!(matches!(error("{"), InvalidPgList::Json(_)));
    }

    proptest::proptest! {
        #[test]
        fn parts_hash_as_the_whole(text: Vec<u8>, at: proptest::sample::Index) {
            let (first, second) = text.split_at(at.index(text.len() + 1));
            let mut parts = Jenkins::new();
            parts.update(first);
            parts.update(second);
            proptest::prop_assert_eq!(parts.finish(), object_hash(b"", &text));
        }

        #[test]
        fn a_group_is_below_the_number_of_groups(hash: u32, count in 1_u32..) {
            proptest::prop_assert!(stable_mod(hash, count, mask_of(count)) < count);
        }
    }
}
