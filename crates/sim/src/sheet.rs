//! What a device of the lab holds: zeros, but for the few blocks that are something else.
//!
//! Users of the lab's arrays only write zeros, from buffers that know it ([`cygnus_runtime::BufPool::blank`]). What is
//! left are the engine's own headers, superblocks and maps, one block in sixty or so. There is no volatile cache here
//! and nothing to lose: the lab asks what an array does, not whether it forgets.

use std::collections::BTreeMap;
use std::ops::Range;

use cygnus_runtime::BufSlice;
use cygnus_types::{BLOCK, zeros};

use crate::packed::{Packed, Scratch};

/// See the module's text.
#[derive(Default)]
pub(crate) struct Sheet {
    blocks: BTreeMap<u64, Packed>,
    /// Room for packing.
    scratch: Scratch,
}

impl Sheet {
    pub(crate) fn read(&self, blocks: Range<u64>, buf: &BufSlice) {
        let mut at = 0;
        let mut bytes = [0; BLOCK];
        for (block, packed) in self.blocks.range(blocks.clone()) {
            let here = (block - blocks.start) as usize * BLOCK;
            buf.zero(at..here);
            packed.unpack(&mut bytes);
            buf.copy_from(here, &bytes);
            at = here + BLOCK;
        }
        buf.zero(at..buf.len());
    }

    pub(crate) fn write(&mut self, first: u64, buf: &BufSlice) {
        self.clear(first..first + (buf.len() / BLOCK) as u64);
        // Behind what follows there are only zeros.
        let mut end = 0;
        for n in 0..buf.blank_from().div_ceil(BLOCK) {
            let bytes = buf.part(n * BLOCK..(n + 1) * BLOCK);
            // Zeros may lie before something real in a buffer, which only knows from where on it is blank.
            if Some(bytes) != zeros::of_len(BLOCK) {
                self.blocks.insert(first + n as u64, Packed::new(bytes, &mut self.scratch));
                end = (n + 1) * BLOCK;
            }
        }
        // A buffer that held something real at its end once would never be known to be blank again: whoever used it next
        // would copy, checksum and add up zeros. This changes none of its bytes.
        buf.zero(end..buf.len());
    }

    /// Makes a range zeros.
    pub(crate) fn clear(&mut self, blocks: Range<u64>) {
        while let Some((&block, _)) = self.blocks.range(blocks.clone()).next() {
            self.blocks.remove(&block);
        }
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> u64 {
        self.blocks.values().map(|packed| packed.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use cygnus_runtime::BufPool;

    use super::*;

    #[test]
    fn keeps_what_is_not_zeros() {
        let (pool, mut sheet) = (BufPool::blank(), Sheet::default());
        let mut stripe = pool.alloc(4 * BLOCK);
        stripe.part_mut(0..BLOCK).fill(5);
        sheet.write(10, &stripe.full());
        sheet.write(14, &stripe.full());
        assert!(sheet.memory() > 0);
        let mut into = pool.alloc(6 * BLOCK);
        into.bytes_mut().fill(9);
        sheet.read(9..15, &into.full());
        let firsts: Vec<u8> = into.bytes().chunks(BLOCK).map(|block| block[0]).collect();
        assert_eq!(firsts, [0, 5, 0, 0, 0, 5]);
        stripe.part_mut(3 * BLOCK..4 * BLOCK).fill(0);
        sheet.write(20, &stripe.full());
        assert_eq!(sheet.blocks.range(20..).count(), 1, "zeros are not kept, known or not");
        assert_eq!(stripe.full().blank_from(), BLOCK, "and known from then on");
        sheet.clear(20..24);
        sheet.clear(0..12);
        sheet.write(14, &stripe.slice(BLOCK..2 * BLOCK));
        assert_eq!(sheet.memory(), 0);
    }
}
