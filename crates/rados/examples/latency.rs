//! The cost of the completion queue: operations of 4 KiB, by calls that wait and by the queue.
//!
//! At depth 1 both take turns, operation by operation, so a cluster that is slow for a moment is
//! slow for both.
//!
//! ```sh
//! CEPH_CONF=ceph.conf cargo run --release --package rados --example latency POOL
//! ```

use std::time::{Duration, Instant};

use rados::placement::{Placement, object_hash};
use rados::{Access, Cluster, Completions, ObjectName, Pool};

const BYTES: usize = 4096;
const OBJECT_BYTES: u64 = 4 << 20;
const OPERATIONS: usize = 2000;
const ROUNDS: usize = 3;
const OBJECTS: usize = 16;
const NAMES: usize = 10_000;

/// The offset of an operation: a fixed permutation of the object's blocks.
fn offset(number: usize) -> u64 {
    (number as u64).wrapping_mul(0x9e37_79b9) * BYTES as u64 % OBJECT_BYTES
}

fn print(name: &str, mut latencies: Vec<Duration>) {
    latencies.sort_unstable();
    let at = |share: f64| latencies[(latencies.len() as f64 * share) as usize].as_micros();
    let mean = (latencies.iter().sum::<Duration>() / latencies.len() as u32).as_micros();
    let [low, median, high] = [0.1, 0.5, 0.9].map(at);
    println!("{name:20} p10 {low:5} us  median {median:5} us  p90 {high:5} us  mean {mean:5} us");
}

/// One operation at a time, by turns.
#[expect(unsafe_code, reason = "the buffer outlives the queue")]
fn by_turns(pool: &Pool, objects: &[ObjectName], buffer: &mut [u8], writes: bool) {
    let mut completions = Completions::new(1);
    let mut done = Vec::with_capacity(1);
    let mut latencies = [const { Vec::new() }; 2];
    for number in 0..2 * OPERATIONS {
        let (object, at) = (&objects[number % OBJECTS], offset(number));
        let place = buffer.as_mut_ptr();
        let begun = Instant::now();
        match (number % 2, writes) {
            (0, true) => pool.write(object, buffer, at).expect("a write"),
            (0, false) => {
                pool.read(object, buffer, at).expect("a read");
            }
            (_, true) => {
                // SAFETY: The operation has ended before the buffer is used again.
                unsafe { completions.write(pool, object, place, BYTES, at, 0) }
                    .expect("a submission");
            }
            (_, false) => {
                // SAFETY: As above.
                unsafe { completions.read(pool, object, place, BYTES, at, 0) }
                    .expect("a submission");
            }
        }
        completions.wait(1, None, &mut done).expect("a completion");
        latencies[number % 2].push(begun.elapsed());
        assert!(done.drain(..).all(|done| done.result.is_ok()));
    }
    let [waiting, queued] = latencies;
    let kind = if writes { "write" } else { "read" };
    print(&format!("rados_{kind}"), waiting);
    print(&format!("{kind} by the queue"), queued);
}

#[expect(unsafe_code, reason = "the buffer outlives the queue")]
fn queued(pool: &Pool, objects: &[ObjectName], bytes: &[u8], depth: u32) {
    let mut completions = Completions::new(depth);
    let mut done = Vec::with_capacity(depth as usize);
    let mut begins = vec![Instant::now(); OPERATIONS];
    let mut latencies = Vec::with_capacity(OPERATIONS);
    let begun = Instant::now();
    let mut next = 0;
    while latencies.len() < OPERATIONS {
        while next < OPERATIONS && completions.in_flight() < depth as usize {
            begins[next] = Instant::now();
            let object = &objects[next % OBJECTS];
            // SAFETY: The bytes outlive the queue, and are not written to.
            let submitted = unsafe {
                completions.write(pool, object, bytes.as_ptr(), BYTES, offset(next), next as u64)
            };
            submitted.expect("a submission");
            next += 1;
        }
        completions.wait(1, None, &mut done).expect("completions");
        for done in done.drain(..) {
            done.result.expect("a write");
            latencies.push(begins[done.token as usize].elapsed());
        }
    }
    let rate = OPERATIONS as f64 / begun.elapsed().as_secs_f64();
    print(&format!("writes, depth {depth}"), latencies);
    println!("{rate:.0} writes/s");
}

fn main() {
    let name = std::env::args().nth(1).expect("the name of a pool");
    let cluster = Cluster::connect(&Access::default()).expect("a connection");
    let mut pool = cluster.pool(&name).expect("a pool");
    pool.set_namespace("latency").expect("a namespace");
    let objects: Vec<_> =
        (0..OBJECTS).map(|number| ObjectName::new(format!("o{number}")).expect("a name")).collect();
    for object in &objects {
        pool.write_full(object, &vec![1; OBJECT_BYTES as usize]).expect("a write");
    }
    let mut bytes = vec![2_u8; BYTES];
    for _ in 0..ROUNDS {
        by_turns(&pool, &objects, &mut bytes, false);
        by_turns(&pool, &objects, &mut bytes, true);
    }
    queued(&pool, &objects, &bytes, 16);
    for object in &objects {
        pool.remove(object).expect("a removal");
    }

    let placement = Placement::new(vec![Some(1); 96]).expect("groups");
    let names: Vec<_> = (0..NAMES).map(|number| format!("probe-6fd1.object.{number}")).collect();
    let begun = Instant::now();
    let sum: u32 = names.iter().map(|name| placement.pg_of(b"flushmark", name.as_bytes())).sum();
    println!("{NAMES} names placed in {:?} (sum {sum})", begun.elapsed());
    let begun = Instant::now();
    let sum = names.iter().fold(0, |sum, name| sum ^ object_hash(b"", name.as_bytes()));
    println!("{NAMES} names hashed in {:?} (sum {sum:x})", begun.elapsed());
}
