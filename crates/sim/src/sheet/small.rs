//! Blocks that take little room, in the contents of their world: what large devices hold.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use cygnus_runtime::BufSlice;
use cygnus_types::BLOCK;

use super::cells::NONE;
use super::{AREA, Contents, each, is_real, part, place, touched};

/// See the module's text.
pub(crate) struct Small {
    contents: Rc<RefCell<Contents>>,
    /// By area, up to the last one that ever held something: which blocks are not zeros.
    held: Vec<u64>,
    /// By area: the block in the contents if there is one, or the list of them.
    blocks: Vec<u32>,
    /// Room for the blocks of an area.
    old: Vec<u32>,
    new: Vec<u32>,
}

impl Small {
    /// An empty one, which keeps what it holds in `contents`.
    pub(super) fn new(contents: Rc<RefCell<Contents>>) -> Self {
        Self { contents, held: Vec::new(), blocks: Vec::new(), old: Vec::new(), new: Vec::new() }
    }

    pub(super) fn read(&mut self, blocks: Range<u64>, buf: &BufSlice) {
        let mut at = 0;
        let mut bytes = [0; BLOCK];
        for (area, bits) in touched(blocks.clone()) {
            let Some(&held) = self.held.get(area) else { break };
            if held & bits == 0 {
                continue;
            }
            self.list(area);
            for block in each(held & bits) {
                let here = (area as u64 * AREA + block - blocks.start) as usize * BLOCK;
                buf.zero(at..here);
                self.contents.borrow_mut().copy_to(self.old[place(held, block)], &mut bytes);
                buf.copy_from(here, &bytes);
                at = here + BLOCK;
            }
        }
        buf.zero(at..buf.len());
    }

    /// Returns where in the buffer the last block that was kept ends.
    pub(super) fn write(&mut self, first: u64, buf: &BufSlice) -> usize {
        let blocks = first..first + (buf.len() / BLOCK) as u64;
        // Behind what follows there are only zeros.
        let real = buf.blank_from().div_ceil(BLOCK) as u64;
        let mut end = 0;
        for (area, bits) in touched(blocks.clone()) {
            let comes_in = |block: u64| {
                let n = area as u64 * AREA + block - first;
                n < real && is_real(part(buf, n))
            };
            let comes: u64 = each(if area as u64 * AREA < first + real { bits } else { 0 })
                .filter(|&block| comes_in(block))
                .fold(0, |comes, block| comes | 1 << block);
            if comes != 0 {
                end = (area as u64 * AREA + AREA - u64::from(comes.leading_zeros()) - first) as usize * BLOCK;
            }
            self.change(area, bits, comes, |block| part(buf, area as u64 * AREA + block - first));
        }
        end
    }

    /// Makes a range zeros.
    pub(super) fn clear(&mut self, blocks: Range<u64>) {
        touched(blocks).for_each(|(area, bits)| self.change(area, bits, 0, |_| &[]));
    }

    /// Of an area, gives up the blocks `goes`, and holds the blocks `comes`, whose bytes `part` gives.
    fn change<'a>(&mut self, area: usize, goes: u64, comes: u64, part: impl Fn(u64) -> &'a [u8]) {
        let before = self.held.get(area).copied().unwrap_or(0);
        if before & goes == 0 && comes == 0 {
            return;
        }
        if self.held.len() <= area {
            self.held.resize(area + 1, 0);
            self.blocks.resize(area + 1, NONE);
        }
        self.list(area);
        let contents = &mut *self.contents.borrow_mut();
        if before.count_ones() > 1 {
            contents.release_list(self.blocks[area]);
        }
        each(before & goes).for_each(|block| contents.release(self.old[place(before, block)]));
        let held = before & !goes | comes;
        self.new.clear();
        for block in each(held) {
            let is_new = comes & 1 << block != 0;
            self.new.push(if is_new { contents.hold(part(block)) } else { self.old[place(before, block)] });
        }
        self.held[area] = held;
        self.blocks[area] = match *self.new {
            [] => NONE,
            [block] => block,
            ref blocks => contents.hold_list(blocks),
        };
    }

    /// Finds the blocks of an area, which are in `old` then.
    fn list(&mut self, area: usize) {
        self.old.clear();
        match self.held[area].count_ones() {
            0 => {}
            1 => self.old.push(self.blocks[area]),
            count => self.contents.borrow_mut().list(self.blocks[area], count as usize, &mut self.old),
        }
    }

    /// Bytes of memory, without those of the contents.
    pub(super) fn memory(&self) -> u64 {
        (size_of_val(&*self.held) + size_of_val(&*self.blocks)) as u64
    }
}

#[cfg(test)]
impl Small {
    /// Which blocks of an area are not zeros.
    pub(super) fn held(&self, area: usize) -> u64 {
        self.held.get(area).copied().unwrap_or(0)
    }
}
