//! The minimum of a depth-1 measurement: a loop of system calls between two clock readings, and
//! nothing else.
//!
//! `cargo bench -p engine --bench bare_loop -- write|commit TARGET SECONDS zero|random` overwrites
//! the first GiB of TARGET with 4 KiB blocks at random and prints one line of JSON. `cargo xtask
//! versus fio` compares the engine with it.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::time::{Duration, Instant};

const BLOCK: usize = 4096;
const BLOCKS: u64 = (1 << 30) / BLOCK as u64;

/// A page-aligned block, as required by direct I/O.
#[repr(align(4096))]
struct Block([u8; BLOCK]);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [what, target, seconds, content] = words.as_slice() else {
        println!("usage: bare_loop write|commit TARGET SECONDS zero|random; nothing to do");
        return Ok(());
    };
    let file = OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(target)?;
    let commit = what == "commit";
    let mut block = Box::new(Block([0; BLOCK]));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = move || {
        // xorshift64*: random enough that readahead cannot predict the offsets.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    if content == "random" {
        block.0.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&draw().to_le_bytes()));
    }
    let mut latencies = Vec::with_capacity(1 << 24);
    let limit = Duration::from_secs_f64(seconds.parse()?);
    let begun = Instant::now();
    let elapsed = loop {
        let offset = (draw() >> 11) % BLOCKS * BLOCK as u64;
        let before = Instant::now();
        file.write_all_at(&block.0, offset)?;
        if commit {
            // fsync, as in the engine's row.
            file.sync_all()?;
        }
        let after = Instant::now();
        latencies.push(after - before);
        if after - begun >= limit {
            break after - begun;
        }
    };
    let ops = latencies.len();
    let (_, median, _) = latencies.select_nth_unstable(ops / 2);
    println!(
        "{{\"iops\": {:.1}, \"p50_us\": {:.3}}}",
        ops as f64 / elapsed.as_secs_f64(),
        median.as_secs_f64() * 1e6
    );
    Ok(())
}
