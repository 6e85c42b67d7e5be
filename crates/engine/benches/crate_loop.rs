//! The throughput of the `io-uring` crate with a full queue: the same setup as the engine's ring
//! (registered file and buffers, `SINGLE_ISSUER` and `DEFER_TASKRUN`), one system call to submit
//! and wait, and no latencies. The engine's own ring records them and is held beside this by `cargo
//! xtask versus fio`.
//!
//! `cargo bench -p engine --bench crate_loop -- read|write TARGET SECONDS DEPTH` works on the first
//! GiB of TARGET with 4 KiB blocks at random and prints one line of JSON: the best rate of several
//! sizes of batch.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, types};

const BLOCK: usize = 4096;
const BLOCKS: u64 = (1 << 30) / BLOCK as u64;

#[repr(align(4096))]
#[derive(Clone)]
struct Block([u8; BLOCK]);

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [what, target, seconds, depth] = words.as_slice() else {
        println!("usage: crate_loop read|write TARGET SECONDS DEPTH; nothing to do");
        return Ok(());
    };
    let (writes, depth, seconds) =
        (what == "write", depth.parse::<u32>()?, seconds.parse::<f64>()?);
    let file =
        OpenOptions::new().read(true).write(writes).custom_flags(libc::O_DIRECT).open(target)?;
    let mut ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(depth)?;
    let mut blocks = vec![Block([0; BLOCK]); depth as usize];
    let vector =
        libc::iovec { iov_base: blocks.as_mut_ptr().cast(), iov_len: BLOCK * depth as usize };
    ring.submitter().register_files(&[file.as_raw_fd()])?;
    // SAFETY: `blocks` lives until the ring is dropped.
    #[expect(unsafe_code, reason = "the kernel writes into the blocks")]
    unsafe {
        ring.submitter().register_buffers(&[vector])?;
    }
    let mut work =
        Work { ring: &mut ring, blocks: &mut blocks, writes, state: 0x9e37_79b9_7f4a_7c15 };
    (0..depth).try_for_each(|slot| work.push(slot))?;
    let mut best = (0.0, depth);
    for batch in [1, depth / 4, depth] {
        let iops = work.run(batch, Duration::from_millis(300))?;
        best = if iops > best.0 { (iops, batch) } else { best };
    }
    let iops = work.run(best.1, Duration::from_secs_f64(seconds))?;
    work.drain(depth)?;
    println!("{{\"iops\": {iops:.1}, \"batch\": {}}}", best.1);
    Ok(())
}

struct Work<'a> {
    ring: &'a mut IoUring,
    blocks: &'a mut [Block],
    writes: bool,
    state: u64,
}

impl Work<'_> {
    fn push(&mut self, slot: u32) -> Result<(), Failure> {
        // xorshift64*: random enough that readahead cannot predict the offsets.
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let offset = (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % BLOCKS * BLOCK as u64;
        let memory = self.blocks[slot as usize].0.as_mut_ptr();
        let length = BLOCK as u32;
        let entry = if self.writes {
            opcode::WriteFixed::new(types::Fixed(0), memory, length, 0).offset(offset).build()
        } else {
            opcode::ReadFixed::new(types::Fixed(0), memory, length, 0).offset(offset).build()
        };
        // SAFETY: the slot's previous operation has completed, and its block outlives the ring.
        #[expect(unsafe_code, reason = "the kernel uses the block")]
        unsafe {
            self.ring.submission().push(&entry.user_data(u64::from(slot)))?;
        }
        Ok(())
    }

    /// Operations per second when each wait is for `batch` completions.
    fn run(&mut self, batch: u32, time: Duration) -> Result<f64, Failure> {
        let (begun, mut done) = (Instant::now(), 0_u64);
        let mut slots = Vec::with_capacity(self.blocks.len());
        loop {
            self.ring.submit_and_wait(batch.max(1) as usize)?;
            slots.clear();
            for completion in self.ring.completion() {
                if completion.result() != BLOCK as i32 {
                    return Err(format!("an operation moved {} bytes", completion.result()).into());
                }
                slots.push(completion.user_data() as u32);
            }
            done += slots.len() as u64;
            for &slot in &slots {
                self.push(slot)?;
            }
            if begun.elapsed() >= time {
                return Ok(done as f64 / begun.elapsed().as_secs_f64());
            }
        }
    }

    fn drain(&mut self, depth: u32) -> Result<(), Failure> {
        let mut left = depth as usize;
        while left > 0 {
            self.ring.submit_and_wait(1)?;
            left -= self.ring.completion().count();
        }
        Ok(())
    }
}
