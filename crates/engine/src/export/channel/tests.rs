use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::{JoinHandle, spawn};

use nbd::wire::{
    MAGIC, OPTION_BYTES, OPTION_MAGIC, OptionReply, answer, info, info_request, option,
};
use nbd::{Transport, Uri};

use super::*;

const BLOCK: usize = 4096;

/// Reads a client's option GO and accepts it.
fn accept(stream: &mut UnixStream) {
    let words = [&MAGIC.to_be_bytes()[..], &OPTION_MAGIC.to_be_bytes(), &[0, 3]];
    stream.write_all(&words.concat()).unwrap();
    let asked = 4 + OPTION_BYTES + info_request("", &[info::BLOCK_SIZE]).len();
    stream.read_exact(&mut vec![0; asked]).unwrap();
    let export = [&[0, 0][..], &(1u64 << 20).to_be_bytes(), &[0, 0xff]].concat();
    let header =
        |answer, bytes| OptionReply { option: option::GO, answer, bytes }.to_bytes().to_vec();
    let words = [header(answer::INFO, export.len() as u32), export, header(answer::ACK, 0)];
    stream.write_all(&words.concat()).unwrap();
}

/// A connection with `slots` to a server that negotiates and then does this.
fn channel(
    slots: u32,
    block_bytes: u32,
    serve: impl FnOnce(&mut UnixStream) + Send + 'static,
) -> (Channel, JoinHandle<()>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nbd");
    let listener = UnixListener::bind(&path).unwrap();
    let server = spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        accept(&mut stream);
        serve(&mut stream);
    });
    let uri = Uri { transport: Transport::Unix(path), export: String::new() };
    let connection = Connection::open(&uri).unwrap();
    let silence_max = Duration::from_secs(1);
    (Channel::with_silence(connection, slots, block_bytes, silence_max).unwrap(), server)
}

fn hear(stream: &mut UnixStream) -> RequestHeader {
    let mut header = [0; REQUEST_BYTES];
    stream.read_exact(&mut header).unwrap();
    RequestHeader::from_bytes(&header).unwrap()
}

fn reply(cookie: u64, error: u32, data: &[u8]) -> Vec<u8> {
    [&SimpleReply { error, cookie }.to_bytes()[..], data].concat()
}

fn request(command: u16, offset: u64, block: &mut [u8]) -> SlotRequest {
    let (address, bytes) = (block.as_mut_ptr() as u64, block.len() as u32);
    SlotRequest { command, flags: 0, offset, bytes, address }
}

#[expect(unsafe_code, reason = "the tests keep the block")]
fn push(channel: &mut Channel, slot: u32, command: u16, offset: u64, block: &mut [u8]) {
    // SAFETY: each test keeps its blocks until its end.
    unsafe { channel.push(slot, request(command, offset, block)) };
}

#[expect(unsafe_code, reason = "the tests keep the block")]
fn perform(channel: &mut Channel, command: u16, block: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the block is borrowed until the call returns.
    unsafe { channel.perform(request(command, 0, block)) }
}

/// The error about a server that answers a read like this.
fn said_of(answer: impl FnOnce(RequestHeader) -> Vec<u8> + Send + 'static) -> String {
    let (mut channel, server) = channel(1, BLOCK as u32, |stream| {
        let heard = hear(stream);
        stream.write_all(&answer(heard)).unwrap();
        // The client leaves without a word.
        assert_eq!(stream.read(&mut [0; 1]).unwrap_or(0), 0);
    });
    let mut block = [7; BLOCK];
    assert_eq!(perform(&mut channel, command::READ, &mut block), Err(Errno::PROTO));
    assert_eq!(channel.submit_and_wait(1, None), Err(Errno::PROTO), "it is not used again");
    let said = channel.take_problem().unwrap().to_string();
    drop(channel);
    server.join().unwrap();
    said
}

#[test]
fn an_invalid_reply_is_a_sentence_and_ends_the_use_of_the_connection() {
    insta::assert_snapshot!(said_of(|_| vec![0; 16]), @"the server sent an invalid reply: it does not begin with the magic number of a simple reply");
    insta::assert_snapshot!(said_of(|asked| reply(asked.cookie + 1, 0, &[1; BLOCK])), @"the server sent an invalid reply: no request with its cookie is in flight");
    insta::assert_snapshot!(said_of(|_| reply(u64::MAX, 0, &[])), @"the server sent an invalid reply: no request with its cookie is in flight");
    insta::assert_snapshot!(said_of(|_| Vec::new()), @"the server has not replied to a request for 1 seconds");
    insta::assert_snapshot!(said_of(|asked| reply(asked.cookie, 0, &[1; 100])), @"the server has not replied to a request for 1 seconds");
}

#[test]
fn a_server_that_leaves_is_noticed() {
    for data in [0, 100] {
        let (mut channel, server) = channel(1, BLOCK as u32, move |stream| {
            let asked = hear(stream);
            stream.write_all(&reply(asked.cookie, 0, &vec![1; data])).unwrap();
        });
        assert!(perform(&mut channel, command::READ, &mut [0; BLOCK]).is_err());
        let said = channel.take_problem().unwrap().to_string();
        insta::allow_duplicates! {
            insta::assert_snapshot!(said, @"the server closed the connection while requests were in flight");
        }
        server.join().unwrap();
    }
}

#[test]
fn an_error_of_the_server_is_the_system_s_and_the_connection_stays_usable() {
    let (mut channel, server) = channel(1, BLOCK as u32, |stream| {
        for number in [5, 28, 4711, 0] {
            let asked = hear(stream);
            stream.write_all(&reply(asked.cookie, number, &[])).unwrap();
        }
        assert_eq!(hear(stream).command, command::DISCONNECT);
    });
    let mut flush = || perform(&mut channel, command::FLUSH, &mut []);
    assert_eq!(flush(), Err(Errno::IO));
    assert_eq!(flush(), Err(Errno::NOSPC));
    assert_eq!(flush(), Err(Errno::INVAL), "the protocol's rule for unknown numbers");
    assert_eq!(flush(), Ok(0));
    assert!(channel.take_problem().is_none());
    drop(channel.into_idle().unwrap());
    server.join().unwrap();
}

#[test]
fn replies_in_any_order_and_in_pieces_reach_their_blocks() {
    // Small blocks pass through the input buffer, large ones do not.
    for bytes in [512, BLOCK, 96 << 10] {
        let (mut channel, server) = channel(8, bytes as u32, move |stream| {
            let asked: Vec<RequestHeader> = (0..8).map(|_| hear(stream)).collect();
            let replies: Vec<u8> = asked
                .iter()
                .rev()
                .flat_map(|asked| reply(asked.cookie, 0, &vec![asked.offset as u8; bytes]))
                .collect();
            for piece in replies.chunks(bytes / 3 + 7) {
                stream.write_all(piece).unwrap();
            }
            let _ = stream.read(&mut [0; 1]);
        });
        let mut blocks = vec![vec![0; bytes]; 8];
        for (slot, block) in blocks.iter_mut().enumerate() {
            push(&mut channel, slot as u32, command::READ, slot as u64, block);
        }
        channel.submit_and_wait(8, None).unwrap();
        let done: Vec<u32> = std::iter::from_fn(|| channel.next_completion())
            .map(|done| {
                assert_eq!(done.moved, Ok(bytes));
                done.slot
            })
            .collect();
        assert_eq!(done, [7, 6, 5, 4, 3, 2, 1, 0]);
        for (slot, block) in blocks.iter().enumerate() {
            assert!(block.iter().all(|&byte| byte == slot as u8), "slot {slot}, {bytes} bytes");
        }
        assert!(channel.into_idle().is_some());
        server.join().unwrap();
    }
}

#[test]
fn a_server_that_waits_for_its_replies_to_be_read_is_not_waited_for() {
    const BYTES: usize = 1 << 20;
    let (mut channel, server) = channel(4, BYTES as u32, |stream| {
        let read = hear(stream);
        // More than fits into the socket, before it reads the writes.
        stream.write_all(&reply(read.cookie, 0, &vec![9; BYTES])).unwrap();
        for _ in 0..3 {
            let write = hear(stream);
            let mut data = vec![0; BYTES];
            stream.read_exact(&mut data).unwrap();
            assert!(data.iter().all(|&byte| byte == write.offset as u8));
            stream.write_all(&reply(write.cookie, 0, &[])).unwrap();
        }
        let _ = stream.read(&mut [0; 1]);
    });
    let mut blocks: Vec<Vec<u8>> = (0..4).map(|slot| vec![slot; BYTES]).collect();
    for (slot, block) in blocks.iter_mut().enumerate() {
        let command = if slot == 0 { command::READ } else { command::WRITE };
        push(&mut channel, slot as u32, command, slot as u64, block);
    }
    channel.submit_and_wait(4, None).unwrap();
    assert_eq!(std::iter::from_fn(|| channel.next_completion()).count(), 4);
    assert!(blocks[0].iter().all(|&byte| byte == 9));
    drop(channel.into_idle());
    server.join().unwrap();
}

#[test]
fn a_wait_ends_at_its_timeout() {
    let (mut channel, server) = channel(1, BLOCK as u32, |stream| {
        let asked = hear(stream);
        std::thread::sleep(Duration::from_millis(60));
        stream.write_all(&reply(asked.cookie, 0, &[])).unwrap();
        let _ = stream.read(&mut [0; 1]);
    });
    push(&mut channel, 0, command::FLUSH, 0, &mut []);
    channel.submit_and_wait(1, Some(Duration::from_millis(5))).unwrap();
    assert_eq!(channel.next_completion(), None);
    channel.submit_and_wait(1, Some(Duration::from_millis(900))).unwrap();
    assert!(channel.next_completion().is_some_and(|done| done.moved == Ok(0)));
    drop(channel.into_idle());
    server.join().unwrap();
}
