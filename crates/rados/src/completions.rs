//! Many operations in flight, on pools and images.
//!
//! A thread submits operations with a token each, and waits until a number of them have ended. The
//! library calls back on a separate thread, which puts the result into a list under a lock that
//! is held for a few instructions. The waiting thread is woken once, when as many have ended as it
//! waits for, and takes the whole list.
//!
//! At depth 1 the calls of [`Pool`] and [`Image`] cost less: their wake-up comes from the thread
//! that receives the reply, whereas a callback runs on a second one (`librados`'s finisher), which
//! is one more context switch.

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::error::{OpError, Stalled, errno_of};
use crate::image::{Image, ImageHandle};
use crate::library::{Handle, Rados, Rbd};
use crate::pool::{IoContext, ObjectName, Pool};

/// An operation on an image can consist of several on objects, each with its own time limit, and
/// takes its lock first.
const LIMITS_PER_OPERATION: u32 = 4;

/// An operation that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// The caller's number of the operation.
    pub token: u64,
    /// The number of bytes that a read placed into its buffer; 0 for other operations.
    pub result: Result<usize, Errno>,
}

/// Operations in flight, submitted and awaited by one thread at a time.
///
/// Memory for `depth` operations is allocated at the beginning; the library allocates per operation
/// itself. Dropping this waits for what is in flight.
#[derive(Debug)]
pub struct Completions {
    slots: Vec<Slot>,
    /// Slots that are not in use.
    free: Vec<u32>,
    shared: Arc<Shared>,
    /// Exchanged with the list of ended operations.
    taken: Vec<Ended>,
    /// The longest time limit of an operation so far.
    limit: Duration,
    /// The time for which nothing has ended in spite of waiting.
    waited: Duration,
}

/// An operation from its submission until its result is taken.
#[derive(Debug)]
struct Slot {
    token: u64,
    /// The argument of the callback. Owns no handle, so no callback closes one.
    ticket: Arc<Ticket>,
    /// Keeps handles open while the library uses them.
    handles: Option<Handles>,
}

#[derive(Debug)]
#[expect(dead_code, reason = "owned to stay open")]
enum Handles {
    Pool(Arc<IoContext>),
    Image(Arc<ImageHandle>),
}

#[derive(Debug)]
struct Ticket {
    slot: u32,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    enough: Condvar,
}

#[derive(Debug)]
struct State {
    ended: Vec<Ended>,
    /// The number that must end before the waiting thread is woken; 0 while none waits.
    awaited: usize,
}

#[derive(Debug, Clone, Copy)]
struct Ended {
    slot: u32,
    /// The library's return value.
    result: isize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is valid between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    fn end(&self, result: isize) {
        let mut state = self.shared.lock();
        state.ended.push(Ended { slot: self.slot, result });
        let wake = state.awaited != 0 && state.ended.len() >= state.awaited;
        if wake {
            state.awaited = 0;
        }
        // Woken under the lock, the other thread would fall asleep again.
        drop(state);
        if wake {
            self.shared.enough.notify_one();
        }
    }
}

/// Takes back the reference that [`Completions::begin`] gave away.
///
/// # Safety
///
/// `argument` must come from there, and this must be the only call with it.
#[expect(unsafe_code, reason = "a pointer that passed through the library")]
unsafe fn ticket_of(argument: *mut c_void) -> Arc<Ticket> {
    // SAFETY: The caller's promise.
    unsafe { Arc::from_raw(argument.cast_const().cast::<Ticket>()) }
}

#[expect(unsafe_code, reason = "called by the library")]
extern "C" fn rados_ended(completion: Handle, argument: *mut c_void) {
    // SAFETY: The library calls back once per operation, with what it was given.
    let ticket = unsafe { ticket_of(argument) };
    let Ok(rados) = Rados::get() else { return };
    // SAFETY: The completion is complete, and this is its last use. The library has a reference of
    // its own, so it may be released here.
    let result = unsafe {
        let result = (rados.functions.rados_aio_get_return_value)(completion);
        (rados.functions.rados_aio_release)(completion);
        result
    };
    ticket.end(result as isize);
}

#[expect(unsafe_code, reason = "called by the library")]
extern "C" fn rbd_ended(completion: Handle, argument: *mut c_void) {
    // SAFETY: The library calls back once per operation, with what it was given.
    let ticket = unsafe { ticket_of(argument) };
    let Ok(rbd) = Rbd::get() else { return };
    // SAFETY: As above.
    let result = unsafe {
        let result = (rbd.functions.rbd_aio_get_return_value)(completion);
        (rbd.functions.rbd_aio_release)(completion);
        result
    };
    ticket.end(result);
}

/// An operation that may be submitted to the library.
struct Begun {
    slot: u32,
    /// A reference that belongs to the callback.
    argument: *mut c_void,
}

impl Completions {
    /// Makes room for `depth` operations in flight.
    pub fn new(depth: u32) -> Completions {
        let room = depth as usize;
        let state = State { ended: Vec::with_capacity(room), awaited: 0 };
        let shared = Arc::new(Shared { state: Mutex::new(state), enough: Condvar::new() });
        let slots = (0..depth).map(|slot| Slot {
            token: 0,
            ticket: Arc::new(Ticket { slot, shared: Arc::clone(&shared) }),
            handles: None,
        });
        Completions {
            slots: slots.collect(),
            free: (0..depth).rev().collect(),
            taken: Vec::with_capacity(room),
            limit: Duration::ZERO,
            waited: Duration::ZERO,
            shared,
        }
    }

    /// Returns the number of operations whose result has not been taken.
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Writes `length` bytes to an object. It ends when they are durable on all replicas.
    ///
    /// # Errors
    ///
    /// No operation is in flight after an error. [`Errno::AGAIN`] means that `depth` are.
    ///
    /// # Safety
    ///
    /// `bytes` must be valid for reads of `length` bytes, and not be written to, until
    /// [`Self::wait`] has returned the token.
    #[expect(unsafe_code, reason = "the buffer outlives the call")]
    pub unsafe fn write(
        &mut self,
        pool: &Pool,
        object: &ObjectName,
        bytes: *const u8,
        length: usize,
        offset: u64,
        token: u64,
    ) -> Result<(), OpError> {
        let name = object.as_c_str().as_ptr();
        self.on_pool(pool, token, "write to the object", |rados, pool, completion| {
            // SAFETY: Live handles, and a C string, which is copied. The caller answers for the
            // bytes.
            unsafe {
                let write = rados.functions.rados_aio_write;
                write(pool, name, completion, bytes.cast(), length, offset)
            }
        })
    }

    /// Reads up to `length` bytes of an object.
    ///
    /// # Errors
    ///
    /// As for [`Self::write`].
    ///
    /// # Safety
    ///
    /// `buffer` must be valid for writes of `length` bytes, and not be used otherwise, until
    /// [`Self::wait`] has returned the token.
    #[expect(unsafe_code, reason = "the buffer outlives the call")]
    pub unsafe fn read(
        &mut self,
        pool: &Pool,
        object: &ObjectName,
        buffer: *mut u8,
        length: usize,
        offset: u64,
        token: u64,
    ) -> Result<(), OpError> {
        let name = object.as_c_str().as_ptr();
        self.on_pool(pool, token, "read the object", |rados, pool, completion| {
            // SAFETY: Live handles, and a C string, which is copied. The caller answers for the
            // buffer.
            unsafe {
                let read = rados.functions.rados_aio_read;
                read(pool, name, completion, buffer.cast(), length, offset)
            }
        })
    }

    /// Writes `length` bytes to an image. With librbd's cache it may end before they are durable.
    ///
    /// # Errors
    ///
    /// As for [`Self::write`].
    ///
    /// # Safety
    ///
    /// As for [`Self::write`].
    #[expect(unsafe_code, reason = "the buffer outlives the call")]
    pub unsafe fn write_image(
        &mut self,
        image: &Image,
        bytes: *const u8,
        length: usize,
        offset: u64,
        token: u64,
    ) -> Result<(), OpError> {
        self.on_image(image, token, "write to the image", |rbd, image, completion| {
            // SAFETY: Live handles. The caller answers for the bytes.
            unsafe {
                let write = rbd.functions.rbd_aio_write;
                write(image, offset, length, bytes.cast(), completion)
            }
        })
    }

    /// Reads `length` bytes of an image.
    ///
    /// # Errors
    ///
    /// As for [`Self::write`].
    ///
    /// # Safety
    ///
    /// As for [`Self::read`].
    #[expect(unsafe_code, reason = "the buffer outlives the call")]
    pub unsafe fn read_image(
        &mut self,
        image: &Image,
        buffer: *mut u8,
        length: usize,
        offset: u64,
        token: u64,
    ) -> Result<(), OpError> {
        self.on_image(image, token, "read the image", |rbd, image, completion| {
            // SAFETY: Live handles. The caller answers for the buffer.
            unsafe {
                let read = rbd.functions.rbd_aio_read;
                read(image, offset, length, buffer.cast(), completion)
            }
        })
    }

    /// Makes completed writes to an image durable.
    ///
    /// # Errors
    ///
    /// As for [`Self::write`].
    #[expect(unsafe_code, reason = "calls the library")]
    pub fn flush_image(&mut self, image: &Image, token: u64) -> Result<(), OpError> {
        self.on_image(image, token, "flush the image", |rbd, image, completion| {
            // SAFETY: Live handles.
            unsafe { (rbd.functions.rbd_aio_flush)(image, completion) }
        })
    }

    /// Discards a range of an image, which then reads as zeros as far as whole objects are covered.
    ///
    /// # Errors
    ///
    /// As for [`Self::write`].
    #[expect(unsafe_code, reason = "calls the library")]
    pub fn discard_image(
        &mut self,
        image: &Image,
        offset: u64,
        length: u64,
        token: u64,
    ) -> Result<(), OpError> {
        self.on_image(image, token, "discard a range of the image", |rbd, image, completion| {
            // SAFETY: Live handles.
            unsafe { (rbd.functions.rbd_aio_discard)(image, offset, length, completion) }
        })
    }

    /// Waits until `at_least` operations have ended, or all if fewer are in flight, but no longer
    /// than `time`, and appends all that have ended to `done`. With 0 it does not wait.
    ///
    /// # Errors
    ///
    /// Each operation has a time limit of the library, after which it ends with
    /// [`Errno::TIMEDOUT`]. If the library does not hold it, this returns an error after a multiple
    /// of the limit; what has ended is appended nevertheless. The buffers of the others must never
    /// be freed.
    pub fn wait(
        &mut self,
        at_least: usize,
        time: Option<Duration>,
        done: &mut Vec<Done>,
    ) -> Result<(), Stalled> {
        let at_least = at_least.min(self.in_flight());
        let limit = time.map_or(self.limit, |time| time.min(self.limit));
        let mut state = self.shared.lock();
        let mut deadline = None;
        while state.ended.len() < at_least {
            let now = Instant::now();
            let deadline = *deadline.get_or_insert(now + limit);
            if now >= deadline {
                break;
            }
            state.awaited = at_least;
            let waiting = self.shared.enough.wait_timeout(state, deadline - now);
            state = waiting.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.awaited = 0;
        std::mem::swap(&mut state.ended, &mut self.taken);
        drop(state);
        let too_few = self.taken.len() < at_least;
        let in_vain = too_few && self.taken.is_empty();
        self.waited = if in_vain { self.waited + limit } else { Duration::ZERO };
        let mut taken = std::mem::take(&mut self.taken);
        done.extend(taken.drain(..).map(|ended| self.take(ended)));
        self.taken = taken;
        if too_few && (limit == self.limit || self.waited >= self.limit) {
            return Err(Stalled { in_flight: self.in_flight(), waited: self.limit });
        }
        Ok(())
    }

    /// Frees the slot of an operation that has ended.
    fn take(&mut self, Ended { slot, result }: Ended) -> Done {
        self.free.push(slot);
        let slot = &mut self.slots[slot as usize];
        slot.handles = None;
        let result = usize::try_from(result).map_err(|_| errno_of(result));
        Done { token: slot.token, result }
    }

    /// Reserves a slot.
    fn begin(
        &mut self,
        action: &'static str,
        token: u64,
        handles: Handles,
        osd_timeout: Duration,
    ) -> Result<Begun, OpError> {
        let slot = self.free.pop().ok_or(OpError { action, errno: Errno::AGAIN })?;
        self.limit = self.limit.max(osd_timeout * LIMITS_PER_OPERATION);
        let entry = &mut self.slots[slot as usize];
        entry.token = token;
        entry.handles = Some(handles);
        let argument = Arc::into_raw(Arc::clone(&entry.ticket)).cast_mut().cast();
        Ok(Begun { slot, argument })
    }

    /// Frees the slot of an operation that the library has not accepted, so it does not call back.
    #[expect(unsafe_code, reason = "a pointer that passed through the library")]
    fn refused(&mut self, begun: &Begun) {
        // SAFETY: The callback will not be called, so this is the only use.
        drop(unsafe { ticket_of(begun.argument) });
        self.slots[begun.slot as usize].handles = None;
        self.free.push(begun.slot);
    }

    #[expect(unsafe_code, reason = "calls the library")]
    fn on_pool(
        &mut self,
        pool: &Pool,
        token: u64,
        action: &'static str,
        submit: impl FnOnce(&Rados, Handle, Handle) -> i32,
    ) -> Result<(), OpError> {
        let context = pool.context();
        let handles = Handles::Pool(Arc::clone(context));
        let begun = self.begin(action, token, handles, context.cluster().osd_timeout())?;
        let rados = context.rados();
        // SAFETY: The argument is what the callback expects.
        let completion = unsafe { rados.completion(begun.argument, rados_ended) };
        let result = submit(rados, context.raw(), completion);
        if result < 0 {
            // SAFETY: A completion that was not used.
            unsafe { (rados.functions.rados_aio_release)(completion) };
            self.refused(&begun);
            return Err(OpError { action, errno: errno_of(result as isize) });
        }
        Ok(())
    }

    #[expect(unsafe_code, reason = "calls the library")]
    fn on_image(
        &mut self,
        image: &Image,
        token: u64,
        action: &'static str,
        submit: impl FnOnce(&Rbd, Handle, Handle) -> i32,
    ) -> Result<(), OpError> {
        let handle = image.handle();
        let handles = Handles::Image(Arc::clone(handle));
        let begun = self.begin(action, token, handles, handle.osd_timeout())?;
        let rbd = handle.rbd();
        let mut completion = std::ptr::null_mut();
        // SAFETY: The argument is what the callback expects, and there is a place for the result.
        // The function returns 0 always.
        unsafe {
            let create = rbd.functions.rbd_aio_create_completion;
            create(begun.argument, rbd_ended, &raw mut completion);
        }
        let result = submit(rbd, handle.raw(), completion);
        if result < 0 {
            // SAFETY: A completion that was not used.
            unsafe { (rbd.functions.rbd_aio_release)(completion) };
            self.refused(&begun);
            return Err(OpError { action, errno: errno_of(result as isize) });
        }
        Ok(())
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        let mut done = Vec::new();
        if self.wait(usize::MAX, None, &mut done).is_err() {
            // The library may still use them.
            for slot in &mut self.slots {
                std::mem::forget(slot.handles.take());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Occupies a slot as a submission does, and returns what the callback would get.
    fn begun(completions: &mut Completions, token: u64) -> Arc<Ticket> {
        let slot = completions.free.pop().expect("a free slot");
        completions.limit = Duration::from_secs(20);
        completions.slots[slot as usize].token = token;
        Arc::clone(&completions.slots[slot as usize].ticket)
    }

    #[test]
    fn waiting_ends_when_enough_have_ended_and_takes_all_that_have() {
        let mut completions = Completions::new(4);
        let tickets: Vec<_> = (10..14).map(|token| begun(&mut completions, token)).collect();
        let ending = std::thread::spawn(move || {
            for (number, ticket) in tickets.iter().enumerate() {
                std::thread::sleep(Duration::from_millis(5));
                ticket.end(if number == 1 { -110 } else { number as isize });
            }
        });
        let mut done = Vec::new();
        completions.wait(2, None, &mut done).expect("two that have ended");
        assert!((2..=4).contains(&done.len()));
        completions.wait(usize::MAX, None, &mut done).expect("the rest");
        let expected = [Ok(0), Err(Errno::TIMEDOUT), Ok(2), Ok(3)];
        let results = (10..).zip(expected).map(|(token, result)| Done { token, result });
        assert_eq!(done, results.collect::<Vec<_>>());
        assert_eq!(completions.in_flight(), 0);
        ending.join().expect("a thread that ends");
        completions.wait(1, None, &mut done).expect("nothing to wait for");
    }

    #[test]
    fn what_never_ends_is_reported_after_the_limit() {
        let mut completions = Completions::new(2);
        let tickets = [1, 2].map(|token| begun(&mut completions, token));
        completions.limit = Duration::from_millis(20);
        tickets[0].end(0);
        let mut done = Vec::new();
        let stalled = completions.wait(2, None, &mut done).expect_err("one is missing");
        assert_eq!(stalled, Stalled { in_flight: 1, waited: Duration::from_millis(20) });
        assert_eq!(done, [Done { token: 1, result: Ok(0) }]);
        // Short waits add up to the limit.
        let short = Some(Duration::from_millis(8));
        let mut waits = (0..4).map(|_| completions.wait(1, short, &mut done).is_err());
        assert!(waits.any(|stalled| stalled));
        tickets[1].end(0);
        completions.wait(1, short, &mut done).expect("the other");
        assert_eq!(done.len(), 2);
    }
}
