//! Finds the smallest set of lost writes that still fails, by delta debugging (Zeller and
//! Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE TSE 2002).

use std::collections::BTreeSet;

/// Reduces a set as long as `fails` confirms that the rest still fails. Every member of the result
/// is needed for the failure. `lost` itself must fail.
pub(crate) fn minimise<E>(
    lost: &BTreeSet<usize>,
    mut fails: impl FnMut(&BTreeSet<usize>) -> Result<bool, E>,
) -> Result<BTreeSet<usize>, E> {
    let mut rest: Vec<usize> = lost.iter().copied().collect();
    if rest.is_empty() || fails(&BTreeSet::new())? {
        return Ok(BTreeSet::new());
    }
    let mut parts = 2;
    while rest.len() > 1 {
        let size = rest.len().div_ceil(parts);
        let chunks: Vec<Vec<usize>> = rest.chunks(size).map(<[usize]>::to_vec).collect();
        let mut smaller = None;
        for (index, chunk) in chunks.iter().enumerate() {
            if fails(&chunk.iter().copied().collect())? {
                smaller = Some((chunk.clone(), 2));
                break;
            }
            let others: Vec<usize> = chunks
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index)
                .flat_map(|(_, chunk)| chunk.clone())
                .collect();
            if chunks.len() > 2 && fails(&others.iter().copied().collect())? {
                smaller = Some((others, (parts - 1).max(2)));
                break;
            }
        }
        match smaller {
            Some((set, next)) => (rest, parts) = (set, next),
            None if parts >= rest.len() => break,
            None => parts = (parts * 2).min(rest.len()),
        }
    }
    Ok(rest.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The result is exactly the set that the failure needs.
        #[test]
        fn what_is_needed_remains(culprits in prop::collection::btree_set(0usize..100, 0..5)) {
            let lost: BTreeSet<usize> = (0..100).collect();
            let mut tries = 0;
            let found = minimise(&lost, |set| {
                tries += 1;
                Ok::<bool, Infallible>(culprits.is_subset(set))
            });
            prop_assert_eq!(found, Ok(culprits));
            prop_assert!(tries < 400, "{}", tries);
        }

        /// For any kind of failure: without any one member of the result, it does not fail.
        #[test]
        fn what_remains_needs_each_of_its_members(
            count in 1usize..9,
            failing in prop::collection::vec(prop::collection::btree_set(0usize..8, 1..8), 0..40),
        ) {
            let lost: BTreeSet<usize> = (0..count).collect();
            let fails = |set: &BTreeSet<usize>| *set == lost || failing.contains(set);
            let found = minimise(&lost, |set| Ok::<bool, Infallible>(fails(set))).unwrap();
            prop_assert!(fails(&found));
            for member in &found {
                let less: BTreeSet<usize> = found.iter().copied().filter(|other| other != member).collect();
                prop_assert!(!fails(&less), "{:?}", less);
            }
        }
    }
}
