//! Any bytes are a kept trace, the text of one, or nonsense; whatever events they hold, every nanosecond of a commit is in one stage.

#![no_main]

use trace::{Event, Joiner, Kept, Scope, Summary, Traffic, read_text, with_calls};

fn analyse(scope: &Scope, events: impl Iterator<Item = Event>) {
    let mut joiner = Joiner::new(scope);
    let mut summary = Summary::default();
    let mut traffic = Traffic::new(scope);
    for event in events {
        traffic.event(&event);
        if let Some(commit) = joiner.event(&event) {
            summary.add(&commit, commit.sync_flag());
        }
    }
    for drive in traffic.finish(&[], |device| device.to_string()) {
        assert!(drive.given.fua_writes <= drive.given.writes);
    }
    for anatomy in summary.finish(|_| None, |device| device.to_string()) {
        let drawn = &anatomy.longest;
        let ends = drawn.stages.last().map_or(0, |stage| stage.to_ns);
        assert!(
            ends == drawn.ns && drawn.stages.windows(2).all(|two| two[0].to_ns == two[1].from_ns)
        );
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut kept) = Kept::open(bytes) {
        let scope = kept.header.scope.clone();
        analyse(&scope, std::iter::from_fn(|| kept.event().ok().flatten()));
    } else if let Ok(text) = std::str::from_utf8(bytes)
        && let Some(text) = read_text(text)
    {
        analyse(&Scope::default(), with_calls(text.events).into_iter());
    }
});
