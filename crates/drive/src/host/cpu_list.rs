//! Lists of processors in the kernel's format: `0-3,8`.

use std::collections::BTreeSet;

/// More processors than Linux supports on any architecture (`NR_CPUS` ends at 8192 on x86). A
/// larger number comes from a broken file, and must not be counted up to.
const CPU_MAX: u32 = 65_535;

/// Parses a list separated by commas or blanks (cpufreq uses blanks); `None` if it is malformed.
pub(super) fn parse(list: &str) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for range in list.split([',', ' ', '\n']).filter(|range| !range.is_empty()) {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
        if from > to || to > CPU_MAX {
            return None;
        }
        cpus.extend(from..=to);
    }
    (!cpus.is_empty()).then_some(cpus)
}

/// Formats the processors as the shortest list.
pub(super) fn format(cpus: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == cpu => *to = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let words = ranges
        .iter()
        .map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_are_understood_and_shortened() {
        for (list, shortest) in
            [("0-3,8", "0-3,8"), ("3 2 1", "1-3"), ("7", "7"), ("0,2-2,1\n", "0-2")]
        {
            assert_eq!(parse(list).map(|cpus| format(&cpus)).as_deref(), Some(shortest), "{list}");
        }
        for malformed in ["", "3-1", "a-b", "0-4294967295", "1;2", "-1"] {
            assert_eq!(parse(malformed), None, "{malformed}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[-0-9, a]{0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_written_is_read_back(cpus in proptest::collection::btree_set(0..=CPU_MAX, 1..40)) {
            prop_assert_eq!(parse(&format(&cpus)), Some(cpus));
        }
    }
}
