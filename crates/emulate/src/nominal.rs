//! A model's latencies of single commands in virtual time, to compare with the cost of the
//! transport.

use serde::Serialize;
use simdrive::{Device, Ns, Op, Request};

/// Rounds of write and flush.
const ROUNDS: u64 = 64;
/// Pause between two commands.
const PAUSE_NS: Ns = 20_000;
/// The size of reads and writes.
const BLOCK_BYTES: u64 = 4096;

/// Median latencies of single 4 KiB commands at depth 1, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Nominal {
    pub write_ns: Ns,
    /// Latency of the flush after it; 0 if none is sent.
    pub flush_ns: Ns,
    /// Latency of reading that data.
    pub read_ns: Ns,
}

impl Nominal {
    /// Measures a drive, which is used up.
    pub fn of(mut device: Box<dyn Device>) -> Nominal {
        let identity = device.identity();
        let blocks = (identity.capacity_bytes / BLOCK_BYTES).max(1);
        let mut now = 0;
        let mut done = Vec::new();
        let mut time = |op, block: u64| {
            // Sequential positions would gain from where the last command ended.
            let offset =
                if op == Op::Flush { 0 } else { block.wrapping_mul(7919) % blocks * BLOCK_BYTES };
            let bytes = if op == Op::Flush { 0 } else { BLOCK_BYTES };
            device.submit(now, Request { id: 0, op, offset, bytes, fua: false, stamp: 0 });
            let begun = now;
            done.clear();
            while done.is_empty() {
                let Some(at) = device.next_event() else { return 0 };
                now = at;
                device.advance(now, &mut done);
            }
            let took = now - begun;
            now += PAUSE_NS;
            took
        };
        let (mut writes, mut flushes, mut reads) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            writes.push(time(Op::Write, round));
            if identity.volatile_cache {
                flushes.push(time(Op::Flush, 0));
            }
        }
        for round in 0..ROUNDS {
            reads.push(time(Op::Read, round));
        }
        let middle = |mut times: Vec<Ns>| {
            times.sort_unstable();
            times.get(times.len() / 2).copied().unwrap_or(0)
        };
        Nominal { write_ns: middle(writes), flush_ns: middle(flushes), read_ns: middle(reads) }
    }

    /// Latency of a write with its flush.
    pub const fn commit_ns(&self) -> Ns {
        self.write_ns + self.flush_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consumer_drive_waits_for_its_flush() {
        let machine =
            simdrive::Machine::new(catalogue::find_model("consumer-nvme").unwrap().clone());
        let nominal = Nominal::of(machine.drive(false).unwrap());
        assert!(nominal.write_ns < 30_000 && nominal.flush_ns > 1_000_000, "{nominal:?}");
        let machine =
            simdrive::Machine::new(catalogue::find_model("enterprise-nvme").unwrap().clone());
        assert_eq!(Nominal::of(machine.drive(false).unwrap()).flush_ns, 0);
    }
}
