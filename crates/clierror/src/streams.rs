//! Standard streams that were closed when the program was started.
//!
//! Before `main`, std opens `/dev/null` in place of a closed stream, to keep other files from getting
//! its descriptor. What is written to a closed stdout then vanishes, and a closed stdin is empty, both
//! without an error. So the streams are looked at before that, when the C library runs the
//! initialisers of the program.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// `true` for each of stdin, stdout and stderr that was closed.
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

#[used]
#[expect(unsafe_code, reason = "the only moment before std replaces closed streams")]
// SAFETY: the section takes pointers to functions of this kind, which the C library calls once,
// before `main`. This one needs nothing of std that is set up later.
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = note_closed;

extern "C" fn note_closed() {
    let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    for (closed, stream) in CLOSED.iter().zip(streams) {
        closed.store(rustix::io::fcntl_getfd(stream).is_err(), Ordering::Relaxed);
    }
}

/// Checks that a standard stream was open when the program was started.
///
/// # Errors
///
/// `EBADF` if it was closed, as by `program >&-` in a shell.
pub fn expect_open(stream: &impl AsFd) -> io::Result<()> {
    let number = usize::try_from(stream.as_fd().as_raw_fd()).unwrap_or(usize::MAX);
    match CLOSED.get(number) {
        Some(closed) if closed.load(Ordering::Relaxed) => Err(rustix::io::Errno::BADF.into()),
        _ => Ok(()),
    }
}
