//! Blocks that are packed quickly, each by itself: what small devices hold.

use std::ops::Range;

use cygnus_runtime::BufSlice;
use cygnus_types::BLOCK;

use super::bytes::{Packed, Scratch};
use super::{AREA, each, is_real, part, place, touched};

/// Neighbouring blocks.
#[derive(Default)]
struct Area {
    /// Which of them are not zeros.
    held: u64,
    /// What these are, in order.
    packed: Vec<Packed>,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Quick {
    /// Up to the last one that ever held something.
    areas: Vec<Area>,
    /// Room for packing.
    scratch: Scratch,
}

impl Area {
    /// Makes blocks zeros.
    fn clear(&mut self, blocks: u64) {
        for block in each(self.held & blocks) {
            let place = place(self.held, block);
            self.packed.remove(place);
            self.held &= !(1 << block);
        }
    }

    /// Gives contents to a block of zeros.
    fn hold(&mut self, block: u64, packed: Packed) {
        let place = place(self.held, block);
        self.packed.insert(place, packed);
        self.held |= 1 << block;
    }
}

impl Quick {
    pub(super) fn read(&self, blocks: Range<u64>, buf: &BufSlice) {
        let mut at = 0;
        let mut bytes = [0; BLOCK];
        for (number, bits) in touched(blocks.clone()) {
            let Some(area) = self.areas.get(number) else { break };
            for block in each(area.held & bits) {
                let here = (number as u64 * AREA + block - blocks.start) as usize * BLOCK;
                buf.zero(at..here);
                area.packed[place(area.held, block)].unpack(&mut bytes);
                buf.copy_from(here, &bytes);
                at = here + BLOCK;
            }
        }
        buf.zero(at..buf.len());
    }

    /// Returns where in the buffer the last block that was kept ends.
    pub(super) fn write(&mut self, first: u64, buf: &BufSlice) -> usize {
        self.clear(first..first + (buf.len() / BLOCK) as u64);
        // Behind what follows there are only zeros.
        let mut end = 0;
        for n in 0..buf.blank_from().div_ceil(BLOCK) {
            let bytes = part(buf, n as u64);
            if is_real(bytes) {
                let block = first + n as u64;
                let packed = Packed::new(bytes, &mut self.scratch);
                self.area(block / AREA).hold(block % AREA, packed);
                end = (n + 1) * BLOCK;
            }
        }
        end
    }

    /// Makes a range zeros.
    pub(super) fn clear(&mut self, blocks: Range<u64>) {
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

    /// Bytes of memory.
    pub(super) fn memory(&self) -> u64 {
        let packed = |area: &Area| area.packed.iter().map(Packed::len).sum::<usize>();
        self.areas.iter().map(|area| (size_of::<Area>() + packed(area)) as u64).sum()
    }
}

#[cfg(test)]
impl Quick {
    /// Which blocks of an area are not zeros.
    pub(super) fn held(&self, area: usize) -> u64 {
        self.areas.get(area).map_or(0, |area| area.held)
    }
}
