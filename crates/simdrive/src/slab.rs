//! Things that last for a while and are named by a number meanwhile. Of plain values only, and without a check of the number, because each simulated command takes two.

/// Things with a number of their own as long as they last.
#[derive(Debug, Clone, Default)]
pub struct Slab<T> {
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    /// An empty one.
    pub const fn new() -> Slab<T> {
        Slab { entries: Vec::new(), free: Vec::new() }
    }

    /// Takes one in and numbers it.
    #[expect(clippy::inline_always, reason = "what is built on the stack and copied costs more than all else here")]
    #[inline(always)]
    pub fn insert(&mut self, entry: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = entry;
            index
        } else {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        }
    }

    /// The one of that number, which has to be in.
    #[inline]
    pub fn get(&self, index: u32) -> &T {
        &self.entries[index as usize]
    }

    /// The one of that number, which has to be in.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.entries[index as usize]
    }

    /// Takes it out.
    #[inline]
    pub fn remove(&mut self, index: u32) -> T {
        self.free.push(index);
        self.entries[index as usize]
    }

    /// How many are in.
    #[inline]
    pub fn count(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again() {
        let mut slab = Slab::new();
        let (one, two) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.remove(one), 'a');
        assert_eq!((slab.insert('c'), slab.count()), (one, 2));
        assert_eq!((*slab.get(one), *slab.get(two)), ('c', 'b'));
    }
}
