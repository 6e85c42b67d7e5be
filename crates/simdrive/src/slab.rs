//! Short-lived values addressed by index. Entries must be `Copy`, and indices are not checked,
//! because each simulated command uses two entries.

/// Values with an index that is valid until they are removed.
#[derive(Debug, Clone, Default)]
pub struct Slab<T> {
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    pub const fn new() -> Slab<T> {
        Slab { entries: Vec::new(), free: Vec::new() }
    }

    /// Stores a value and returns its index.
    #[expect(
        clippy::inline_always,
        reason = "building the value on the stack and copying it would dominate the cost"
    )]
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

    /// The value at an index, which must be in use.
    #[inline]
    pub fn get(&self, index: u32) -> &T {
        &self.entries[index as usize]
    }

    /// The value at an index, which must be in use.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.entries[index as usize]
    }

    /// Removes and returns the value at an index.
    #[inline]
    pub fn remove(&mut self, index: u32) -> T {
        self.free.push(index);
        self.entries[index as usize]
    }

    /// Number of values stored.
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
