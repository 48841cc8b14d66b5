//! A store of many short strings of bytes, in cells of one size: what one gives up fits any other, so nothing is ever
//! lost between them, however lengths change in the course of a simulation. (A general allocator loses a third here.)

/// Bytes of a cell.
const ROOM: usize = 28;
/// Cells that come into being together: 256 KiB of them, with their links.
const CHUNK: usize = 1 << 13;
/// No cell: that of number 0 is never given out.
pub(super) const NONE: u32 = 0;

struct Chunk {
    /// Of each cell, the next one of its string's ring, or of the free ones. They are apart from the bytes, since whoever
    /// follows them waits for memory at each step, and there are many of them in a line of the processor's cache.
    next: [u32; CHUNK],
    bytes: [[u8; ROOM]; CHUNK],
}

/// See the module's text.
///
/// A string's cells are a ring, named by the number of that which holds the string's beginning. It comes last among the
/// free ones, in whose order they are linked already. So a string is made without linking anything but its ends, and
/// given up by a look at one cell.
#[derive(Default)]
pub(super) struct Cells {
    chunks: Vec<Box<Chunk>>,
    /// The first of the free cells; there always is one, once there are any.
    free: u32,
}

fn place(cell: u32) -> (usize, usize) {
    (cell as usize / CHUNK, cell as usize % CHUNK)
}

impl Cells {
    fn next(&self, cell: u32) -> u32 {
        let (chunk, at) = place(cell);
        self.chunks[chunk].next[at]
    }

    fn next_mut(&mut self, cell: u32) -> &mut u32 {
        let (chunk, at) = place(cell);
        &mut self.chunks[chunk].next[at]
    }

    /// The bytes of a cell; of a string's first, its beginning.
    pub(super) fn bytes_mut(&mut self, cell: u32) -> &mut [u8; ROOM] {
        let (chunk, at) = place(cell);
        &mut self.chunks[chunk].bytes[at]
    }

    /// Makes a chunk of free cells, linked in order; gives the first.
    fn grow(&mut self) -> u32 {
        let number = |n: usize| u32::try_from(n).expect("128 GiB of cells are enough");
        let first = self.chunks.len() * CHUNK;
        let next = std::array::from_fn(|n| if n + 1 < CHUNK { number(first + n + 1) } else { NONE });
        self.chunks.push(Box::new(Chunk { next, bytes: [[0; ROOM]; CHUNK] }));
        number(first.max(1))
    }

    /// Takes the first free cell, for `part`. There is one then again, to which the cell is still linked.
    fn take(&mut self, part: &[u8; ROOM]) -> u32 {
        let cell = self.free;
        *self.bytes_mut(cell) = *part;
        self.free = self.next(cell);
        if self.free == NONE {
            self.free = self.grow();
            *self.next_mut(cell) = self.free;
        }
        cell
    }

    /// Keeps a string, which is not empty, and the zeros that fill its last cell; they are added to it.
    pub(super) fn put(&mut self, bytes: &mut Vec<u8>) -> u32 {
        if self.free == NONE {
            self.free = self.grow();
        }
        bytes.resize(bytes.len().next_multiple_of(ROOM), 0);
        let (start, rest) = bytes.as_chunks().0.split_first().expect("a string has a first cell");
        let second = self.free;
        for part in rest {
            self.take(part);
        }
        let first = self.take(start);
        *self.next_mut(first) = second;
        first
    }

    /// Replaces `bytes` by a string and the zeros that fill its last cell.
    pub(super) fn get(&self, string: u32, bytes: &mut Vec<u8>) {
        bytes.clear();
        let mut cell = string;
        loop {
            let (chunk, at) = place(cell);
            let chunk = &self.chunks[chunk];
            bytes.extend_from_slice(&chunk.bytes[at]);
            cell = chunk.next[at];
            if cell == string {
                return;
            }
        }
    }

    /// Gives a string up.
    pub(super) fn free(&mut self, string: u32) {
        let free = self.free;
        self.free = std::mem::replace(self.next_mut(string), free);
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> u64 {
        (self.chunks.len() * size_of::<Chunk>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Cells {
        pub(crate) fn in_use(&self) -> usize {
            let some = |at: u32| (at != NONE).then_some(at);
            let free = std::iter::successors(some(self.free), |&at| some(self.next(at)));
            (self.chunks.len() * CHUNK).saturating_sub(1 + free.count())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn keeps_what_a_list_of_strings_keeps(
            acts in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..2000), any::<bool>(), any::<usize>()), 0..100),
        ) {
            let (mut cells, mut kept) = (Cells::default(), Vec::<(u32, Vec<u8>)>::new());
            for (bytes, goes, which) in acts {
                if goes && !kept.is_empty() {
                    cells.free(kept.swap_remove(which % kept.len()).0);
                }
                kept.push((cells.put(&mut bytes.clone()), bytes));
                let mut back = Vec::new();
                for (at, bytes) in &kept {
                    cells.get(*at, &mut back);
                    prop_assert_eq!(&back[..bytes.len()], &bytes[..]);
                    prop_assert!(back.len() < bytes.len() + ROOM && back[bytes.len()..].iter().all(|&byte| byte == 0));
                }
            }
            let needed: usize = kept.iter().map(|(_, bytes)| bytes.len().div_ceil(ROOM)).sum();
            prop_assert_eq!(cells.in_use(), needed, "cells that are given up are free");
        }
    }
}
