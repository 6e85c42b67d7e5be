//! The position of each byte on a rotating disk, and the time for the head to reach it.
//!
//! Outer tracks hold more than inner ones: sixteen zones with the same number of tracks, with
//! linearly decreasing speed. The first sector of each track is rotated against that of the
//! previous one by the duration of a step to the next track, so a long transfer loses no rotation.
//! A seek over the fraction x of the stroke takes s0 + k sqrt(x): the arm accelerates for half of
//! the distance (Ruemmler and Wilkes, "An introduction to disk drive modeling", 1994). k follows
//! from the mean seek, because the mean of sqrt x over random pairs is 8/15.

use catalogue::model;

use crate::time::{Ns, from_us};

/// Number of zones of different density.
const ZONES: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spot {
    /// Track number, from the outer edge.
    pub track: u64,
    /// Fraction of a rotation, 0 to 1, in a frame that does not rotate.
    pub angle: f64,
    /// Bytes per rotation at this track.
    pub track_bytes: u64,
}

/// The layout and mechanics of a disk.
#[derive(Debug, Clone)]
pub struct Geometry {
    turn: Ns,
    /// Fraction of a rotation by which the platters are ahead of the clock.
    ahead: f64,
    zones: Vec<Zone>,
    tracks: u64,
    seek_track: f64,
    seek_root: f64,
    skew: f64,
}

#[derive(Debug, Clone, Copy)]
struct Zone {
    first_byte: u64,
    first_track: u64,
    track_bytes: u64,
}

impl Geometry {
    pub fn new(disk: &model::Disk, capacity_bytes: u64, ahead: f64) -> Geometry {
        let turn_s = 60.0 / disk.rpm;
        let mean_track = f64::midpoint(disk.outer_mb_per_s, disk.inner_mb_per_s) * 1e6 * turn_s;
        let tracks = (capacity_bytes as f64 / mean_track).ceil().max(ZONES as f64);
        let tracks_per_zone = (tracks / ZONES as f64).ceil() as u64;
        let (mut first_byte, mut first_track) = (0, 0);
        let mut zones = Vec::new();
        for zone in 0..ZONES {
            let inward = (zone as f64 + 0.5) / ZONES as f64;
            let speed = disk.outer_mb_per_s + (disk.inner_mb_per_s - disk.outer_mb_per_s) * inward;
            let track_bytes = (speed * 1e6 * turn_s) as u64 / 4096 * 4096;
            zones.push(Zone { first_byte, first_track, track_bytes });
            first_byte += track_bytes * tracks_per_zone;
            first_track += tracks_per_zone;
        }
        let turn = (turn_s * 1e9) as Ns;
        Geometry {
            turn,
            ahead,
            zones,
            tracks: first_track,
            seek_track: disk.seek_track_us * 1e3,
            seek_root: (disk.seek_mean_us - disk.seek_track_us) * 1e3 * 15.0 / 8.0,
            skew: (disk.seek_track_us + disk.write_settle_us) * 1e3 / turn as f64,
        }
    }

    /// Duration of one rotation.
    pub const fn turn(&self) -> Ns {
        self.turn
    }

    /// The position of a byte.
    pub fn spot(&self, offset: u64) -> Spot {
        let index = self.zones.partition_point(|zone| zone.first_byte <= offset) - 1;
        let Zone { first_byte, first_track, track_bytes } = self.zones[index];
        let within = offset - first_byte;
        let track = first_track + within / track_bytes;
        let along = (within % track_bytes) as f64 / track_bytes as f64;
        Spot { track, angle: (along + track as f64 * self.skew).fract(), track_bytes }
    }

    /// The seek time from one track to another.
    pub fn seek(&self, from: u64, to: u64) -> Ns {
        if from == to {
            return 0;
        }
        let share = from.abs_diff(to) as f64 / self.tracks as f64;
        (self.seek_track + self.seek_root * share.sqrt()) as Ns
    }

    /// The time from `now` until an angle passes under the head. An angle that passed less than a
    /// thousandth of a rotation ago counts as reached: rounding must not cost a rotation.
    pub fn rotation(&self, now: Ns, angle: f64) -> Ns {
        let present = (now % self.turn) as f64 / self.turn as f64 + self.ahead;
        let ahead = (angle - present).rem_euclid(1.0);
        if ahead > 0.999 { 0 } else { (ahead * self.turn as f64) as Ns }
    }

    /// The time for `bytes` bytes to pass under the head, including track-to-track steps.
    pub fn transfer(&self, spot: Spot, bytes: u64) -> Ns {
        let turns = bytes as f64 / spot.track_bytes as f64;
        ((turns + turns.floor() * self.skew) * self.turn as f64) as Ns
    }
}

/// The settling time of a model's head, in nanoseconds.
pub fn settle(disk: &model::Disk) -> Ns {
    from_us(disk.write_settle_us)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn seven_two() -> model::Disk {
        model::Disk {
            capacity_gb: 4000.0,
            rpm: 7200.0,
            seek_track_us: 800.0,
            seek_mean_us: 8500.0,
            write_settle_us: 500.0,
            outer_mb_per_s: 210.0,
            inner_mb_per_s: 100.0,
            command_us: 100.0,
            link_mb_per_s: 550.0,
            queue_depth: 32,
            cache: model::Bytes(64 << 20),
            cache_on: true,
        }
    }

    #[test]
    fn the_mean_seek_matches_the_datasheet() {
        let geometry = Geometry::new(&seven_two(), 4_000_000_000_000, 0.0);
        let n = 200;
        let track = |i: u64| i * geometry.tracks / n;
        let total: u64 = (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .map(|(i, j)| geometry.seek(track(i), track(j)))
            .sum();
        let mean_us = total as f64 / (n * n) as f64 / 1e3;
        assert!((mean_us / 8500.0 - 1.0).abs() < 0.02, "{mean_us}");
    }

    #[test]
    fn the_outer_edge_is_faster() {
        let geometry = Geometry::new(&seven_two(), 4_000_000_000_000, 0.0);
        let speed = |offset| {
            let spot = geometry.spot(offset);
            spot.track_bytes as f64 * 1e3 / geometry.turn() as f64
        };
        assert!(speed(0) > 200.0 && speed(3_900_000_000_000) < 110.0);
    }

    #[test]
    fn rotation_is_within_a_turn() {
        let geometry = Geometry::new(&seven_two(), 4_000_000_000_000, 0.0);
        for now in [0, 1_000_000, 123_456_789] {
            for angle in [0.0, 0.3, 0.99] {
                assert!(geometry.rotation(now, angle) < geometry.turn());
            }
        }
    }

    #[test]
    fn a_track_follows_the_other_turned_by_a_step() {
        let geometry = Geometry::new(&seven_two(), 4_000_000_000_000, 0.0);
        // 60 s / 7200; the outermost of sixteen zones is 1/32 of the way inward: 206.5625 MB/s.
        assert_eq!(geometry.turn(), 8_333_333);
        let track_bytes = (206_562_500 / 120) / 4096 * 4096;
        let spot = |offset| {
            let Spot { track, angle, track_bytes } = geometry.spot(offset);
            (track, (angle * 1e4).round() / 1e4, track_bytes)
        };
        assert_eq!(
            (spot(0), spot(track_bytes / 2)),
            ((0, 0.0, track_bytes), (0, 0.5, track_bytes))
        );
        assert_eq!(spot(track_bytes - 4096).0, 0);
        // A step and the settling after it, 1300 us, are 0.156 of a rotation; seven steps are more
        // than a full one.
        assert_eq!(
            (spot(track_bytes), spot(7 * track_bytes)),
            ((1, 0.156, track_bytes), (7, 0.092, track_bytes))
        );
        let transfer =
            |turns: u64| geometry.transfer(geometry.spot(0), turns * track_bytes / 2) / 1000;
        assert_eq!([1, 2, 5].map(transfer), [4166, 9633, (2.5 * 8333.333 + 2.0 * 1300.0) as u64]);
    }

    #[test]
    fn zones_lie_one_behind_the_other_down_to_the_slowest() {
        let capacity = 4_000_000_000_000;
        let geometry = Geometry::new(&seven_two(), capacity, 0.0);
        let mut before = geometry.spot(0);
        for part in 1..1000 {
            let spot = geometry.spot(capacity / 1000 * part);
            assert!(
                spot.track > before.track && spot.track_bytes <= before.track_bytes,
                "{before:?} {spot:?}"
            );
            before = spot;
        }
        // The middle of the innermost zone: 31/32 of the way from 210 to 100 MB/s.
        assert_eq!(before.track_bytes, (103_437_500 / 120) / 4096 * 4096);
        for zones in geometry.zones.windows(2) {
            let last = geometry.spot(zones[1].first_byte - 4096);
            assert_eq!(
                (last.track + 1, last.track_bytes),
                (zones[1].first_track, zones[0].track_bytes)
            );
        }
        // The last of a thousand parts ends with the last track, except for rounding each track to
        // pages.
        assert!(before.track.abs_diff(geometry.tracks) < geometry.tracks / 200, "{before:?}");
    }

    #[test]
    fn a_seek_takes_a_step_and_the_root_of_the_way() {
        let geometry = Geometry::new(&seven_two(), 4_000_000_000_000, 0.0);
        let us = |from, to| geometry.seek(from, to) / 1000;
        // A full seek takes 15/8 of the mean seek, apart from the step; a quarter of the distance
        // takes half of that.
        let whole = (8500.0 - 800.0) * 15.0 / 8.0;
        assert_eq!(
            (us(7, 7), us(0, geometry.tracks), us(geometry.tracks, 0)),
            (0, 800 + whole as u64, 800 + whole as u64)
        );
        assert_eq!(us(geometry.tracks / 4 * 2, geometry.tracks / 4), (800.0 + whole / 2.0) as u64);
        assert_eq!(settle(&seven_two()), 500_000);
    }

    #[test]
    fn an_angle_comes_round_once_a_turn() {
        // A quarter of a rotation ahead of the clock.
        let geometry = Geometry::new(&seven_two(), 4_000_000_000_000, 0.25);
        let turn = geometry.turn();
        let turns =
            |now, angle| (geometry.rotation(now, angle) as f64 / turn as f64 * 1e3).round() / 1e3;
        assert_eq!((turns(0, 0.25), turns(0, 0.5), turns(0, 0.125)), (0.0, 0.25, 0.875));
        assert_eq!((turns(turn / 2, 0.25), turns(3 * turn, 0.5)), (0.5, 0.25));
        // An angle that has just passed is reached; one that passed earlier is waited for.
        assert_eq!((turns(0, 0.2495), turns(0, 0.248)), (0.0, 0.998));
    }
}
