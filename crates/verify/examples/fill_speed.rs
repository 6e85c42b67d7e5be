//! Measures how fast records are built and checked: `cargo run --release --package verify --example
//! fill_speed`. Building must keep up with the fastest drives and several lanes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use verify::Payload;
use verify::record::{HEADER_BYTES, Header, Kind};

const TIME: Duration = Duration::from_secs(1);

fn main() {
    for (record_bytes, sector_bytes) in [(4096, 4096), (4096, 512), (1 << 20, 4096)] {
        let mut block = vec![0; record_bytes];
        let mut header = Header {
            kind: Kind::Flush,
            lane: 0,
            sector: 0,
            sectors: 0,
            run_id: 1,
            target_id: 1,
            version: 0,
            address_bytes: 1 << 20,
            seq: 1,
            evidence: 0,
            other_lane: 1,
            other_seq: 0,
            body_crc: 0,
        };
        let built = gb_per_s(record_bytes, || {
            header.version = header.version.wrapping_add(1);
            header.fill_record(black_box(&mut block), sector_bytes);
        });
        let checked = gb_per_s(record_bytes, || {
            for sector in black_box(&block).chunks(sector_bytes) {
                let header = Header::parse(sector);
                let is = |header: Header| {
                    Payload::new(header.run_id, header.address_bytes, header.version)
                        .is(&sector[HEADER_BYTES..])
                };
                assert!(header.is_ok_and(is), "a record that was just built is whole");
            }
        });
        println!(
            "record {record_bytes} B, sector {sector_bytes} B: built {built:.1} GB/s, checked \
             {checked:.1} GB/s"
        );
    }
}

fn gb_per_s(bytes: usize, mut work: impl FnMut()) -> f64 {
    let (begun, mut done) = (Instant::now(), 0u64);
    while begun.elapsed() < TIME {
        for _ in 0..100 {
            work();
        }
        done += 100;
    }
    done as f64 * bytes as f64 / begun.elapsed().as_secs_f64() / 1e9
}
