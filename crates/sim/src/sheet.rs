//! What a device of the lab holds: zeros, but for the few blocks that are something else.
//!
//! Users of the lab's arrays only write zeros, from buffers that know it ([`cygnus_runtime::BufPool::blank`]). What is
//! left are the engine's own headers, superblocks and maps, one block in sixty or so. There is no volatile cache here
//! and nothing to lose: the lab asks what an array does, not whether it forgets.

use std::ops::Range;

use cygnus_runtime::BufSlice;
use cygnus_types::{BLOCK, zeros};

use crate::packed::{Packed, Scratch};

/// Blocks of an area.
const AREA: u64 = u64::BITS as u64;

/// Neighbouring blocks, as many as a word has bits.
#[derive(Default)]
struct Area {
    /// Which of them are not zeros.
    held: u64,
    /// What these are, in order.
    packed: Vec<Packed>,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Sheet {
    /// Up to the last one that ever held something.
    areas: Vec<Area>,
    /// Room for packing.
    scratch: Scratch,
}

/// The areas that a range touches, and which bits of each.
fn touched(blocks: Range<u64>) -> impl Iterator<Item = (usize, u64)> {
    (blocks.start / AREA..blocks.end.div_ceil(AREA)).map(move |area| {
        let (first, end) = (blocks.start.max(area * AREA), blocks.end.min((area + 1) * AREA));
        let count = end.saturating_sub(first);
        let bits = if count == AREA { u64::MAX } else { ((1 << count) - 1) << (first % AREA) };
        (area as usize, bits)
    })
}

/// The bits of a word that are set, by number.
fn each(mut bits: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| u64::from(bits.trailing_zeros()))?;
        bits &= bits - 1;
        Some(lowest)
    })
}

impl Area {
    /// The place of a block's contents, whether it has any or not.
    fn place(&self, block: u64) -> usize {
        (self.held & ((1 << block) - 1)).count_ones() as usize
    }

    /// Makes blocks zeros.
    fn clear(&mut self, blocks: u64) {
        for block in each(self.held & blocks) {
            let place = self.place(block);
            self.packed.remove(place);
            self.held &= !(1 << block);
        }
    }

    /// Gives contents to a block of zeros.
    fn hold(&mut self, block: u64, packed: Packed) {
        let place = self.place(block);
        self.packed.insert(place, packed);
        self.held |= 1 << block;
    }
}

impl Sheet {
    pub(crate) fn read(&self, blocks: Range<u64>, buf: &BufSlice) {
        let mut at = 0;
        let mut bytes = [0; BLOCK];
        for (number, bits) in touched(blocks.clone()) {
            let Some(area) = self.areas.get(number) else { break };
            for block in each(area.held & bits) {
                let here = (number as u64 * AREA + block - blocks.start) as usize * BLOCK;
                buf.zero(at..here);
                area.packed[area.place(block)].unpack(&mut bytes);
                buf.copy_from(here, &bytes);
                at = here + BLOCK;
            }
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
                let block = first + n as u64;
                let packed = Packed::new(bytes, &mut self.scratch);
                self.area(block / AREA).hold(block % AREA, packed);
                end = (n + 1) * BLOCK;
            }
        }
        // A buffer that held something real at its end once would never be known to be blank again: whoever used it next
        // would copy, checksum and add up zeros. This changes none of its bytes.
        buf.zero(end..buf.len());
    }

    /// Makes a range zeros.
    pub(crate) fn clear(&mut self, blocks: Range<u64>) {
        for (number, bits) in touched(blocks) {
            let Some(area) = self.areas.get_mut(number) else { break };
            area.clear(bits);
        }
    }

    fn area(&mut self, number: u64) -> &mut Area {
        let number = number as usize;
        if self.areas.len() <= number {
            self.areas.resize_with(number + 1, Area::default);
        }
        &mut self.areas[number]
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> u64 {
        let packed = |area: &Area| area.packed.iter().map(Packed::len).sum::<usize>();
        self.areas.iter().map(|area| (size_of::<Area>() + packed(area)) as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use cygnus_runtime::BufPool;

    use super::*;

    impl Sheet {
        fn held(&self, blocks: Range<u64>) -> u32 {
            touched(blocks).map(|(area, bits)| (self.areas[area].held & bits).count_ones()).sum()
        }
    }

    #[test]
    fn ranges_across_areas_touch_what_they_should() {
        let seen: Vec<_> = touched(62..193).collect();
        assert_eq!(seen, [(0, 3 << 62), (1, u64::MAX), (2, u64::MAX), (3, 1)]);
        assert_eq!(touched(64..64).count(), 0);
        let pool = BufPool::blank();
        let mut sheet = Sheet::default();
        let buf = pool.alloc(200 * BLOCK);
        (0..200).for_each(|n| buf.full().copy_from(n * BLOCK, &[n as u8 + 1; BLOCK]));
        sheet.write(60, &buf.full());
        sheet.clear(65..190);
        let mut into = pool.alloc(200 * BLOCK);
        into.bytes_mut().fill(9);
        sheet.read(61..261, &into.full());
        for (n, block) in (61..).zip(into.bytes().chunks(BLOCK)) {
            let expected = if (60..65).contains(&n) || (190..260).contains(&n) { n - 60 + 1 } else { 0 };
            assert_eq!(block, [expected as u8; BLOCK], "block {n}");
        }
    }

    #[test]
    fn keeps_what_is_not_zeros() {
        let (pool, mut sheet) = (BufPool::blank(), Sheet::default());
        let mut stripe = pool.alloc(4 * BLOCK);
        stripe.part_mut(0..BLOCK).fill(5);
        sheet.write(10, &stripe.full());
        sheet.write(14, &stripe.full());
        assert_eq!(sheet.held(0..64), 2);
        let mut into = pool.alloc(6 * BLOCK);
        into.bytes_mut().fill(9);
        sheet.read(9..15, &into.full());
        let firsts: Vec<u8> = into.bytes().chunks(BLOCK).map(|block| block[0]).collect();
        assert_eq!(firsts, [0, 5, 0, 0, 0, 5]);
        stripe.part_mut(3 * BLOCK..4 * BLOCK).fill(0);
        sheet.write(20, &stripe.full());
        assert_eq!(sheet.held(20..64), 1, "zeros are not kept, known or not");
        assert_eq!(stripe.full().blank_from(), BLOCK, "and known from then on");
        sheet.clear(20..24);
        sheet.clear(0..12);
        sheet.write(14, &stripe.slice(BLOCK..2 * BLOCK));
        assert_eq!(sheet.held(0..64), 0);
    }
}
