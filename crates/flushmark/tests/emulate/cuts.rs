//! `verify` on an emulated drive that loses power at any moment, under load.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::served::Served;
use crate::common::{flushmark, needs_mkfs, needs_mounts, run};

/// Number of cuts, at uncontrolled moments.
const CUTS: u64 = 8;

/// Under load, nearly every cut comes during a flush, so control lanes have nothing to lose. The
/// drive's own count shows that the power was cut, so no run is void.
#[test]
fn a_cut_under_load_counts_at_any_moment() {
    const TEST: &str = "a_cut_under_load_counts_at_any_moment";
    if !needs_mounts(TEST) || !needs_mkfs(TEST, "ext4") {
        return;
    }
    for cut in 0..CUTS {
        let mount = tempfile::tempdir().unwrap();
        let place = mount.path().to_str().unwrap();
        let seed = cut.to_string();
        let served =
            Served::start("consumer-nvme,capacity=1GiB", &["--mount", place, "--seed", &seed]);
        let journal = served.path("journal");
        let journal = journal.to_str().unwrap();
        let mut writing = flushmark();
        writing.args(["verify", "write", place, "--journal", journal, "--size", "8MiB", "--quiet"]);
        let mut writer = writing.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        // It has begun and acknowledged something.
        while fs::metadata(journal).map_or(0, |metadata| metadata.len()) < 4000 {
            assert!(begun.elapsed() < Duration::from_mins(1), "nothing was acknowledged");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(50 + cut * 37));
        served.ctl(&["cut"]);
        writer.wait().unwrap();
        let on = served.ctl(&["power-on"]);
        assert_eq!(on.document()["ready"], true, "{}", on.stderr);
        let checked =
            run(&["verify", "check", place, "--journal", journal, "--quiet", "--format", "json"]);
        let document = checked.document();
        assert_eq!(document["result"], "kept", "cut {cut}: {}", checked.stdout);
        assert_eq!(document["cut"][0]["by"], "counted", "{}", document["cut"]);
        assert_eq!(served.stop().code, Some(0));
    }
}
