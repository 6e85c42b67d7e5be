//! Writes that wait for the firmware's next tick.

use catalogue::model;

use crate::time::{Ns, from_us};

/// The bytes that may still be written before the next tick.
#[derive(Debug, Clone, Copy)]
pub struct Throttle {
    tick_ns: Ns,
    per_tick: i64,
    /// Data starts in chunks of this size.
    pub chunk_bytes: u64,
    /// Ticks since the start of the simulation.
    ticks: u64,
    /// Negative after a chunk that exceeded what was left.
    left: i64,
}

impl Throttle {
    /// A limit that nothing has used yet. The parameters must be valid.
    pub fn new(parameters: &model::Throttle) -> Throttle {
        let per_tick = (parameters.mb_per_s * parameters.tick_us).round() as i64;
        Throttle {
            tick_ns: from_us(parameters.tick_us),
            per_tick,
            chunk_bytes: parameters.chunk.0,
            ticks: 0,
            left: per_tick,
        }
    }

    /// The time at which a chunk that is ready at `now` may start.
    pub fn admit(&mut self, now: Ns, bytes: u64) -> Ns {
        let ticks = now / self.tick_ns;
        self.allow(ticks.saturating_sub(self.ticks));
        // Of whole ticks that gave too little, and of this one if it was reached by waiting.
        if self.left <= 0 {
            self.allow((-self.left / self.per_tick) as u64 + 1);
        }
        self.left -= bytes as i64;
        now.max(self.ticks * self.tick_ns)
    }

    fn allow(&mut self, ticks: u64) {
        self.ticks += ticks;
        let allowed = self.per_tick.saturating_mul(ticks.min(i64::MAX as u64) as i64);
        self.left = self.left.saturating_add(allowed).min(self.per_tick);
    }
}

#[cfg(test)]
mod tests {
    use catalogue::model::Bytes;

    use super::*;

    const MS: Ns = 1_000_000;

    /// 1,000 bytes per millisecond, in chunks of 400.
    fn throttle() -> Throttle {
        Throttle::new(&model::Throttle { mb_per_s: 1.0, tick_us: 1000.0, chunk: Bytes(400) })
    }

    #[test]
    fn the_last_chunk_may_exceed_what_is_left_and_the_next_waits() {
        let mut throttle = throttle();
        let starts = |throttle: &mut Throttle| throttle.admit(0, 400);
        // 1000, 600, 200, then 200 too many.
        assert_eq!([starts(&mut throttle), starts(&mut throttle), starts(&mut throttle)], [0; 3]);
        assert_eq!(starts(&mut throttle), MS, "800 are left of the second tick");
        assert_eq!(starts(&mut throttle), MS);
        assert_eq!(starts(&mut throttle), 2 * MS);
    }

    #[test]
    fn what_an_idle_tick_allowed_is_not_saved_up() {
        let mut throttle = throttle();
        let begin = 10 * MS + 500_000;
        let starts: Vec<Ns> = (0..4).map(|_| throttle.admit(begin, 400)).collect();
        assert_eq!(starts, [begin, begin, begin, 11 * MS]);
    }

    #[test]
    fn a_chunk_above_the_limit_of_a_tick_takes_several() {
        let mut throttle = throttle();
        assert_eq!(throttle.admit(0, 3000), 0);
        // 2000 too many: two ticks pay for them, the third allows more.
        assert_eq!(throttle.admit(0, 1), 3 * MS);
    }
}
