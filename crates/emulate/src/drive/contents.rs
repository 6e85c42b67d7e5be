//! The contents of a drive: what a read returns now, and what is left after a power cut.
//!
//! Every change is logged before it is made, so a write that fails leaves nothing behind, and a cut
//! takes back what did not survive.

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;

use simdrive::Stamp;

use super::history::{Before, History};
use crate::image::Image;

/// Safe writes are forgotten each time the log has grown by this much.
const FORGET_EVERY_BYTES: u64 = 256 << 10;
/// With a longer log, no more writes are accepted until the drive has stored something: no drive's
/// cache is larger.
const HISTORY_BYTES_MAX: u64 = 512 << 20;

/// The stamps of a command's writes, which are consecutive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamps {
    pub(super) first: Stamp,
    pub(super) last: Stamp,
}

impl Stamps {
    pub(super) const fn range(self) -> RangeInclusive<Stamp> {
        self.first..=self.last
    }
}

/// `true` if writes can be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// A cut may take back whatever is in the log.
    Logged,
    /// Nothing is ever lost, and no log is kept.
    Perfect,
}

/// An image with the log of the writes that could still be lost. Each write gets a stamp, the first
/// one 1.
#[derive(Debug)]
pub(super) struct Contents {
    image: Image,
    durability: Durability,
    history: History,
    next_stamp: Stamp,
    /// Length of the log when it was last shortened.
    shortened_to_bytes: u64,
}

impl Contents {
    pub(super) fn new(image: Image, durability: Durability) -> Contents {
        Contents {
            image,
            durability,
            history: History::default(),
            next_stamp: 1,
            shortened_to_bytes: 0,
        }
    }

    pub(super) const fn set_durability(&mut self, durability: Durability) {
        self.durability = durability;
    }

    pub(super) const fn durability(&self) -> Durability {
        self.durability
    }

    pub(super) const fn image(&self) -> &Image {
        &self.image
    }

    /// For faults, which are not logged.
    pub(super) const fn image_mut(&mut self) -> &mut Image {
        &mut self.image
    }

    /// The log; empty if nothing can be lost.
    pub(super) const fn history(&self) -> &History {
        &self.history
    }

    pub(super) const fn next_stamp(&self) -> Stamp {
        self.next_stamp
    }

    /// Writes data of whole sectors. If that fails, the contents are as before.
    #[inline]
    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<Stamp> {
        let stamp = self.log(offset, data.len() as u64)?;
        self.image.write(offset, data).inspect_err(|_| self.take_back_from(stamp))?;
        Ok(stamp)
    }

    /// Writes zeros, which stay allocated in the image file if it `keeps_space`. If that fails, the
    /// contents are as before.
    pub(super) fn zero(&mut self, offset: u64, bytes: u64, keeps_space: bool) -> io::Result<Stamp> {
        let stamp = self.log(offset, bytes)?;
        let image = &mut self.image;
        let zeroed =
            if keeps_space { image.zero(offset, bytes) } else { image.clear(offset, bytes) };
        zeroed.inspect_err(|_| self.take_back_from(stamp))?;
        Ok(stamp)
    }

    /// Discards a range, which reads as zeros from now on. This is not logged, because a cut may
    /// bring back anything.
    pub(super) fn discard(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        self.image.clear(offset, bytes)
    }

    #[inline]
    fn log(&mut self, offset: u64, bytes: u64) -> io::Result<Stamp> {
        if self.durability == Durability::Logged {
            let before = if self.image.is_untouched(offset, bytes) {
                Before::Zeros(bytes)
            } else {
                let mut before = Vec::with_capacity(bytes as usize);
                self.image.append(offset, bytes as usize, &mut before)?;
                Before::of(before)
            };
            self.history.record(self.next_stamp, offset, before);
        }
        self.next_stamp += 1;
        Ok(self.next_stamp - 1)
    }

    /// Undoes the writes from stamp `first` on, which then have never happened and cannot be lost
    /// in a cut.
    pub(super) fn take_back_from(&mut self, first: Stamp) {
        while let Some(before) = self.history.take_back_newest(first) {
            // A part of it may have been written. If even that cannot be undone, the content is
            // undefined, as on a drive that failed to write.
            let _ = self.image.restore(before.offset, &before.data);
        }
    }

    /// Takes back what a cut did not leave; see [`History::take_back`].
    pub(super) fn cut(&mut self, left: &BTreeMap<u64, Stamp>) -> io::Result<()> {
        self.shortened_to_bytes = 0;
        for restored in self.history.take_back(left) {
            self.image.restore(restored.offset, &restored.data)?;
        }
        Ok(())
    }

    /// Returns whether the log has grown so much that safe writes should be forgotten.
    #[inline]
    pub(super) const fn has_grown(&self) -> bool {
        self.history.bytes() >= self.shortened_to_bytes + FORGET_EVERY_BYTES
    }

    /// Returns whether the log is as long as it may become.
    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.history.bytes() >= HISTORY_BYTES_MAX
    }

    /// Forgets the oldest writes as long as they are safe. Returns the stamp of the oldest one left
    /// in the log, or the next one.
    pub(super) fn forget_while(&mut self, is_safe: impl Fn(Stamp) -> bool) -> Stamp {
        self.history.forget_while(is_safe);
        self.shortened_to_bytes = self.history.bytes();
        self.history.oldest().unwrap_or(self.next_stamp)
    }

    /// Forgets all writes, because they are safe.
    pub(super) fn forget_all(&mut self) {
        self.history = History::default();
        self.shortened_to_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: u64 = 1 << 20;

    fn read(contents: &Contents, offset: u64) -> u8 {
        let mut sector = [0; 512];
        contents.image().read(offset, &mut sector).unwrap();
        assert!(sector.iter().all(|&byte| byte == sector[0]));
        sector[0]
    }

    #[test]
    fn a_cut_takes_back_what_it_does_not_leave() {
        let mut contents = Contents::new(Image::in_memory(CAPACITY), Durability::Logged);
        assert_eq!(contents.write(0, &[1; 1024]).unwrap(), 1);
        assert_eq!(contents.zero(0, 512, false).unwrap(), 2);
        assert_eq!((read(&contents, 0), read(&contents, 512)), (0, 1));
        contents.cut(&BTreeMap::from([(0, 1), (1, 0)])).unwrap();
        assert_eq!((read(&contents, 0), read(&contents, 512)), (1, 0));
        assert_eq!(contents.next_stamp(), 3);
    }

    #[test]
    fn without_a_log_nothing_is_taken_back() {
        let mut contents = Contents::new(Image::in_memory(CAPACITY), Durability::Perfect);
        contents.write(0, &[1; 512]).unwrap();
        assert!(contents.history().newest().is_empty());
        contents.cut(&BTreeMap::new()).unwrap();
        assert_eq!(read(&contents, 0), 1);
    }

    #[test]
    fn a_failed_write_has_never_happened() {
        // Open for reading only: every write fails, as on a full disk.
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(CAPACITY).unwrap();
        let read_only = std::fs::File::open(file.path()).unwrap();
        let mut contents = Contents::new(Image::in_file(read_only, CAPACITY), Durability::Logged);
        assert!(contents.write(0, &[1; 512]).is_err());
        assert!(contents.zero(0, 512, false).is_err());
        assert_eq!((contents.history().bytes(), contents.history().oldest()), (0, None));
    }

    #[test]
    fn several_writes_are_taken_back_together() {
        let mut contents = Contents::new(Image::in_memory(CAPACITY), Durability::Logged);
        contents.write(0, &[1; 512]).unwrap();
        let first = contents.write(0, &[2; 512]).unwrap();
        contents.write(512, &[3; 512]).unwrap();
        contents.take_back_from(first);
        assert_eq!((read(&contents, 0), read(&contents, 512)), (1, 0));
        assert_eq!(contents.history().newest(), BTreeMap::from([(0, 1)]));
    }

    #[test]
    fn the_log_is_due_for_forgetting_when_it_has_grown() {
        let mut contents = Contents::new(Image::in_memory(CAPACITY), Durability::Logged);
        let data = vec![1; FORGET_EVERY_BYTES as usize];
        contents.write(0, &data[512..]).unwrap();
        assert!(!contents.has_grown());
        contents.write(0, &[1; 512]).unwrap();
        assert!(contents.has_grown());
        assert_eq!(contents.forget_while(|stamp| stamp < 2), 2);
        assert!(!contents.has_grown());
        contents.write(0, &data).unwrap();
        assert!(contents.has_grown() && !contents.is_full());
        contents.forget_all();
        assert_eq!(contents.forget_while(|_| true), 4);
    }
}
