//! `flushmark verify demo`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod verification;

use std::time::Duration;

use common::run;

/// The whole cycle as an ordinary user, on honest and lying drives: every liar is found with its
/// class, and the honest drive is not accused.
#[test]
fn a_demonstration_for_anybody() {
    const TEST: &str = "a_demonstration_for_anybody";
    let begun = std::time::Instant::now();
    let args = ["verify", "demo"];
    let shown = match common::nobody(TEST) {
        Some(nobody) => nobody.run(&args),
        None => run(&args),
    };
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""), "{}", shown.stdout);
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "as its help promises: {:?}",
        begun.elapsed()
    );
    let of = |name: &str| {
        let behind = shown
            .stdout
            .split(&format!("\n{name} "))
            .nth(1)
            .unwrap_or_else(|| panic!("{name}: {}", shown.stdout));
        behind
            .lines()
            .skip(1)
            .take_while(|line| line.starts_with(' '))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(of("honest").contains("kept;"), "{}", shown.stdout);
    for liar in ["ignore-flush", "ignore-fua", "ack-early=50ms"] {
        assert!(of(liar).contains("fails:"), "{liar}: {}", shown.stdout);
    }
    for (lie, class) in [
        ("shorn", "torn (shorn)"),
        ("flying", "misdirected (flying)"),
        ("bit-corruption", "corrupt"),
        ("unserializable", "unserializable"),
    ] {
        let words = of(&format!("{lie}=0.003"));
        assert!(words.contains(&format!(" {class}")), "{lie}: {words}");
    }
}

#[test]
fn a_drive_that_has_nothing_to_lose_shows_nothing() {
    let refused = run(&["verify", "demo", "--model", "enterprise-nvme"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(refused.stderr.trim_end(), @"flushmark: enterprise-nvme has no volatile cache, so a power cut loses nothing and lies about flushes change nothing; use a model that has one, such as consumer-nvme");
}

#[test]
fn any_seed_will_do() {
    let shown = run(&["verify", "demo", "--time", "50ms", "--seed", &u64::MAX.to_string()]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
}
