//! What a device of the lab holds: zeros, but for the few blocks that are something else.
//!
//! Users of the lab's arrays only write zeros, from buffers that know it ([`cygnus_runtime::BufPool::blank`]). What is
//! left are the engine's own headers, superblocks and maps, one block in sixty or so. There is no volatile cache here
//! and nothing to lose: the lab asks what an array does, not whether it forgets.
//!
//! They are kept in one of two ways, by the size of the device, which decides what counts:
//!
//! - [`Quick`]: whole bytes of each block that differ. Packing goes as fast as memory, and a simulation of small drives
//!   spends a tenth of its time on it.
//! - [`Small`]: bits, and equal parts of blocks once, for all devices of a world together. Two thirds of the room or, where
//!   users write in order, a quarter of it, for twice the work: with the four million such blocks of a terabyte of drives,
//!   memory decides whether it can be simulated at all.

mod bits;
mod bytes;
mod cells;
mod contents;
mod quick;
mod small;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use cygnus_runtime::{BufPool, BufSlice};
use cygnus_types::{BLOCK, zeros};

use crate::parity::row_of_parity;

pub(crate) use contents::Contents;
use quick::Quick;
use small::Small;

/// Devices of at least this number of bytes are large. (The drives' own tables become runs from there on, too.)
const LARGE: u64 = 16 << 30;
/// Neighbouring blocks, as many as a word has bits, are an area.
const AREA: u64 = u64::BITS as u64;

/// See the module's text.
pub(crate) enum Sheet {
    Quick(Quick),
    Small(Small),
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

/// How many blocks of an area that are held come before one.
fn place(held: u64, block: u64) -> usize {
    (held & ((1 << block) - 1)).count_ones() as usize
}

/// A block of a buffer.
fn part(buf: &BufSlice, block: u64) -> &[u8] {
    buf.part(block as usize * BLOCK..(block as usize + 1) * BLOCK)
}

/// Whether a block is to be kept. Zeros may lie before something real in a buffer, which only knows from where on it is
/// blank.
fn is_real(bytes: &[u8]) -> bool {
    Some(bytes) != zeros::of_len(BLOCK)
}

impl Sheet {
    /// An empty sheet for a device of `size` bytes; the blocks of a large device are in `contents`.
    pub(crate) fn new(size: u64, contents: Rc<RefCell<Contents>>) -> Self {
        if size < LARGE { Self::Quick(Quick::default()) } else { Self::Small(Small::new(contents)) }
    }

    pub(crate) fn read(&mut self, blocks: Range<u64>, buf: &BufSlice) {
        match self {
            Self::Quick(sheet) => sheet.read(blocks, buf),
            Self::Small(sheet) => sheet.read(blocks, buf),
        }
    }

    pub(crate) fn write(&mut self, first: u64, buf: &BufSlice) {
        let end = match self {
            Self::Quick(sheet) => sheet.write(first, buf),
            Self::Small(sheet) => sheet.write(first, buf),
        };
        // A buffer that held something real at its end once would never be known to be blank again: whoever used it next
        // would copy, checksum and add up zeros. This changes none of its bytes.
        buf.zero(end..buf.len());
    }

    /// Makes a range zeros.
    pub(crate) fn clear(&mut self, blocks: Range<u64>) {
        match self {
            Self::Quick(sheet) => sheet.clear(blocks),
            Self::Small(sheet) => sheet.clear(blocks),
        }
    }

    /// Makes blocks the last of so many parities of the chunks of others.
    pub(crate) fn convert(&mut self, source: Range<u64>, destination: Range<u64>, rows: usize) {
        let pool = BufPool::blank();
        let chunk = (destination.end - destination.start) as usize * BLOCK;
        let chunks = source.clone().step_by(chunk / BLOCK);
        let operands: Vec<Vec<u8>> = chunks
            .map(|first| {
                let operand = pool.alloc(chunk).full().slice(0..chunk);
                self.read(first..first + (chunk / BLOCK) as u64, &operand);
                operand.bytes().to_vec()
            })
            .collect();
        let is_zero = operands.iter().flatten().all(|&byte| byte == 0);
        if is_zero {
            return self.clear(destination);
        }
        let parity = pool.alloc(chunk).full().slice(0..chunk);
        parity.copy_from(0, &row_of_parity(&operands, rows));
        self.write(destination.start, &parity);
    }

    /// Bytes of memory, without those of the world's contents.
    pub(crate) fn memory(&self) -> u64 {
        match self {
            Self::Quick(sheet) => sheet.memory(),
            Self::Small(sheet) => sheet.memory(),
        }
    }
}

#[cfg(test)]
mod tests {
    use cygnus_runtime::Buf;
    use proptest::prelude::*;

    use super::*;

    fn both() -> [Sheet; 2] {
        [LARGE - 1, LARGE].map(|size| Sheet::new(size, Rc::default()))
    }

    fn read(sheet: &mut Sheet, blocks: Range<u64>) -> Buf {
        let mut into = BufPool::blank().alloc((blocks.end - blocks.start) as usize * BLOCK);
        into.bytes_mut().fill(9);
        sheet.read(blocks, &into.full());
        into
    }

    /// How many blocks of a range are something else than zeros to a sheet.
    fn held(sheet: &Sheet, blocks: Range<u64>) -> u32 {
        let held = |area| match sheet {
            Sheet::Quick(sheet) => sheet.held(area),
            Sheet::Small(sheet) => sheet.held(area),
        };
        touched(blocks).map(|(area, bits)| (held(area) & bits).count_ones()).sum()
    }

    #[test]
    fn the_size_decides() {
        assert!(matches!(both(), [Sheet::Quick(_), Sheet::Small(_)]));
    }

    #[test]
    fn ranges_across_areas_touch_what_they_should() {
        let seen: Vec<_> = touched(62..193).collect();
        assert_eq!(seen, [(0, 3 << 62), (1, u64::MAX), (2, u64::MAX), (3, 1)]);
        assert_eq!(touched(64..64).count(), 0);
        let buf = BufPool::blank().alloc(200 * BLOCK);
        (0..200).for_each(|n| buf.full().copy_from(n * BLOCK, &[n as u8 + 1; BLOCK]));
        for mut sheet in both() {
            sheet.write(60, &buf.full());
            sheet.clear(65..190);
            for (n, block) in (61..).zip(read(&mut sheet, 61..261).bytes().chunks(BLOCK)) {
                let expected = if (60..65).contains(&n) || (190..260).contains(&n) { n - 60 + 1 } else { 0 };
                assert_eq!(block, [expected as u8; BLOCK], "block {n}");
            }
        }
    }

    #[test]
    fn keeps_what_is_not_zeros() {
        for mut sheet in both() {
            let mut stripe = BufPool::blank().alloc(4 * BLOCK);
            stripe.part_mut(0..BLOCK).fill(5);
            sheet.write(10, &stripe.full());
            sheet.write(14, &stripe.full());
            assert_eq!(held(&sheet, 0..64), 2);
            let firsts: Vec<u8> = read(&mut sheet, 9..15).bytes().chunks(BLOCK).map(|block| block[0]).collect();
            assert_eq!(firsts, [0, 5, 0, 0, 0, 5]);
            stripe.part_mut(3 * BLOCK..4 * BLOCK).fill(0);
            sheet.write(20, &stripe.full());
            assert_eq!(held(&sheet, 20..64), 1, "zeros are not kept, known or not");
            assert_eq!(stripe.full().blank_from(), BLOCK, "and known from then on");
            sheet.clear(20..24);
            sheet.clear(0..12);
            sheet.write(14, &stripe.slice(BLOCK..2 * BLOCK));
            assert_eq!(held(&sheet, 0..64), 0);
        }
    }

    /// What is done to a sheet of 300 blocks, and with what: first block, bytes of each block, zeros behind them.
    fn act() -> impl Strategy<Value = (bool, u64, Vec<u8>, usize)> {
        (prop::bool::weighted(0.7), 0_u64..200, prop::collection::vec(0_u8..4, 1..80), 0_usize..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn both_hold_what_was_written_last(acts in prop::collection::vec(act(), 1..30)) {
            let (mut sheets, mut model) = (both(), vec![0; 300]);
            for (writes, first, bytes, zeros) in acts {
                let len = bytes.len() + zeros;
                let mut buf = BufPool::blank().alloc(len * BLOCK);
                if writes {
                    for (n, &byte) in bytes.iter().enumerate() {
                        buf.part_mut(n * BLOCK..(n + 1) * BLOCK).fill(byte);
                    }
                }
                let blocks = first..first + len as u64;
                for (n, held) in model[first as usize..][..len].iter_mut().enumerate() {
                    *held = if writes { bytes.get(n).copied().unwrap_or(0) } else { 0 };
                }
                for sheet in &mut sheets {
                    if writes { sheet.write(first, &buf.full()) } else { sheet.clear(blocks.clone()) }
                    let back = read(sheet, 0..300);
                    prop_assert!(back.bytes().chunks(BLOCK).zip(&model).all(|(block, held)| block == [*held; BLOCK]));
                }
            }
        }
    }
}
