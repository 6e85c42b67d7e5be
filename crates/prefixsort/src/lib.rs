//! The common-prefix-skipping adaptive sort: for keys longer than a machine word that share prefixes.
