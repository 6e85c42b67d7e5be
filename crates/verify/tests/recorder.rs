//! A recorder with misbehaving peers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use engine::Stop;
use verify::message::{Framed, GREETING, Message, frame, unframe};
use verify::{Geometry, Recorder, RecorderOptions, RunHeader};

const GEOMETRY: Geometry = Geometry {
    sector_bytes: 512,
    record_sectors: 8,
    slots_per_lane: 10,
    flush_lanes: 1,
    fua_lanes: 0,
    control_lanes: 0,
    writes_per_sync: 1,
};

/// Announces a run.
fn caller(address: std::net::SocketAddr, run_id: u64) -> TcpStream {
    let begin = Message::Begin(Box::new(RunHeader::plain(run_id, GEOMETRY)));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&[&GREETING[..], &frame(0, &begin)].concat()).unwrap();
    stream
}

fn answer(stream: &mut TcpStream) -> Message {
    let mut heard = vec![0; 4096];
    let count = stream.read(&mut heard).unwrap();
    match unframe(&heard[..count]) {
        Framed::Whole(_, message, _) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_writer_that_goes_away_while_it_is_answered_blocks_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let options = RecorderOptions {
        listen: "127.0.0.1:0".to_owned(),
        journal: directory.path().join("journal"),
        cut: None,
        cycles: None,
    };
    let recorder = Recorder::open(options).unwrap();
    let (address, stop) = (recorder.address().unwrap(), &Stop::new());
    std::thread::scope(|scope| {
        let serving = scope.spawn(move || recorder.serve(stop, &mut |_| ()));
        // The reset arrives at any moment: before, during or after the answer.
        for attempt in 0..40 {
            let stream = caller(address, attempt + 1);
            std::thread::sleep(Duration::from_millis(attempt));
            rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        }
        let last = (0..100).map(|attempt| {
            std::thread::sleep(Duration::from_millis(50));
            answer(&mut caller(address, 100 + attempt))
        });
        let taken = last.into_iter().any(|message| matches!(message, Message::Lease(_)));
        stop.request();
        serving.join().unwrap().unwrap();
        assert!(taken, "the recorder believes that a run is still being written");
    });
}
