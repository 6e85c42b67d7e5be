//! The output of `blkparse` for a SATA disk that is written 4 KiB at a time, with its write cache
//! on and off: the facts of the write-cache study, written anew.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use measurement::{Anatomy, Stage};
use trace::{Joiner, Origin, Scope, Summary, read_text, with_calls};

fn anatomies(text: &str) -> Vec<Anatomy> {
    let text = read_text(text).unwrap();
    assert_eq!(text.origin, Origin::Blkparse);
    let mut joiner = Joiner::new(&Scope::default());
    let mut summary = Summary::default();
    for event in with_calls(text.events) {
        if let Some(commit) = joiner.event(&event) {
            summary.add(&commit, commit.sync_flag());
        }
    }
    summary.finish(|_| None, |device| device.to_string())
}

fn one(text: &str) -> Anatomy {
    let mut anatomies = anatomies(text);
    assert_eq!(anatomies.len(), 1);
    anatomies.remove(0)
}

fn us(anatomy: &Anatomy, stage: Stage) -> f64 {
    anatomy.stages.get(&stage).map_or(0.0, |stage| stage.total_ns as f64 / 1e3)
}

/// Q to C 8.89 ms, 8.625 ms of them in a flush: FUA did not reach the drive.
#[test]
fn cache_on_and_o_sync() {
    let anatomy = one("\
  8,16   1       10     2.000000000  5122  Q WFS 7864320 + 8 [fio]
  8,16   1       11     2.000001200  5122  G WFS 7864320 + 8 [fio]
  8,16   1       12     2.000002000  5122  P   N [fio]
  8,16   1       13     2.000003000  5122  I  WS 7864320 + 8 [fio]
  8,16   1       14     2.000005000  5122  D  WS 7864320 + 8 [fio]
  8,16   1       15     2.000246000     0  C  WS 7864320 + 8 [0]
  8,16   1       16     2.000265000   311  D  FN [kworker/1:1H]
  8,16   1       17     2.008890000     0  C  FN 0 [0]
  8,16   1       18     2.008890000     0  C WFS 7864320 + 8 [0]
");
    assert_eq!(anatomy.commits.count(), 1);
    assert!((us(&anatomy, Stage::Flush) - 8_625.0).abs() < 1.0);
    assert!((us(&anatomy, Stage::DataWrite) - 241.0).abs() < 1.0);
    let total: u64 = anatomy.stages.values().map(|stage| stage.total_ns).sum();
    assert_eq!(total, 8_890_000);
    let reached = &anatomy.reached;
    assert_eq!((reached.fua_asked, reached.fua_sent, reached.flushes_after), (1, 0, 1));
}

/// A fast write, and 15 µs later a slow flush.
#[test]
fn cache_on_and_fsync() {
    let anatomy = one("\
  8,16   0      101     5.100000000  5130  Q  WS 1048576 + 8 [fio]
  8,16   0      102     5.100000900  5130  G  WS 1048576 + 8 [fio]
  8,16   0      103     5.100002000  5130  D  WS 1048576 + 8 [fio]
  8,16   0      104     5.100344000     0  C  WS 1048576 + 8 [0]
  8,16   0      105     5.100359000  5130  Q FWS [fio]
  8,16   0      106     5.100361000   311  D  FN [kworker/0:1H]
  8,16   0      107     5.108679000     0  C  FN 0 [0]
  8,16   0      108     5.108679000     0  C FWS 0 [0]
");
    assert_eq!(anatomy.commits.count(), 1);
    assert!((us(&anatomy, Stage::DataWrite) - 342.0).abs() < 1.0);
    assert!((us(&anatomy, Stage::Flush) - 8_318.0).abs() < 1.0);
    assert_eq!((anatomy.reached.bare_flushes, anatomy.reached.fua_asked), (1, 0));
}

/// Each commit is one slow write: 583 and 586 µs with O_SYNC, 568 and 881 µs with fsync.
#[test]
fn cache_off() {
    for (first, second) in [(583, 586), (568, 881)] {
        let text = format!(
            "\
  8,16   1        1     1.000000000  5140  Q  WS 2048 + 8 [fio]
  8,16   1        2     1.000000000  5140  D  WS 2048 + 8 [fio]
  8,16   1        3     1.000{first}000     0  C  WS 2048 + 8 [0]
  8,16   1        4     1.002000000  5140  Q  WS 2056 + 8 [fio]
  8,16   1        5     1.002000000  5140  D  WS 2056 + 8 [fio]
  8,16   1        6     1.002{second}000     0  C  WS 2056 + 8 [0]
"
        );
        let anatomy = one(&text);
        assert_eq!((anatomy.commits.count(), anatomy.reached.flushes()), (2, 0));
        assert!((us(&anatomy, Stage::DataWrite) - f64::from(first + second)).abs() < 1.0);
        assert_eq!(anatomy.longest.ns, second as u64 * 1_000);
    }
}
