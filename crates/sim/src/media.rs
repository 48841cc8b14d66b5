//! What a device holds: current contents, and for each block not yet durable the versions it could fall back to.

use std::collections::BTreeMap;

use cygnus_runtime::{BufSlice, Rng};
use cygnus_types::BLOCK;

use crate::faults::FaultKind;

/// Blocks per chunk of the sparse table. A chunk exists once one of its blocks was touched.
const CHUNK: usize = 256;

/// Contents of one block.
#[derive(Clone, Default, PartialEq)]
pub(crate) enum Content {
    /// Never written, or trimmed to zeros.
    #[default]
    Zeros,
    /// Trimmed to noise, which is a function of this seed.
    Garbage(u64),
    Data(Box<[u8; BLOCK]>),
    /// With the bytes that are stored beside the block.
    WithOob(Box<[u8; BLOCK]>, Box<[u8]>),
}

impl Content {
    pub(crate) fn of(bytes: &[u8]) -> Content {
        Content::Data(Box::new(bytes.try_into().expect("contents come in whole blocks")))
    }

    /// The same with bytes beside it; none: nothing is beside it.
    pub(crate) fn with_oob(bytes: &[u8], oob: &[u8]) -> Content {
        match (Content::of(bytes), oob) {
            (Content::Data(data), [_, ..]) => Content::WithOob(data, oob.into()),
            (plain, _) => plain,
        }
    }

    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK];
        self.copy_to(&mut bytes);
        bytes
    }

    /// The bytes beside the block.
    pub(crate) fn oob(&self) -> &[u8] {
        match self {
            Content::WithOob(_, oob) => oob,
            Content::Zeros | Content::Garbage(_) | Content::Data(_) => &[],
        }
    }

    /// Copies the block to `at` within a buffer.
    pub(crate) fn deliver(&self, buf: &BufSlice, at: usize) {
        match self {
            Content::Zeros => buf.zero(at..at + BLOCK),
            Content::Data(data) | Content::WithOob(data, _) => buf.copy_from(at, &data[..]),
            Content::Garbage(_) => {
                let mut bytes = [0; BLOCK];
                self.copy_to(&mut bytes);
                buf.copy_from(at, &bytes);
            }
        }
    }

    pub(crate) fn copy_to(&self, bytes: &mut [u8]) {
        match self {
            Content::Zeros => bytes.fill(0),
            Content::Garbage(seed) => Rng::new(*seed).fill(bytes),
            Content::Data(data) | Content::WithOob(data, _) => bytes.copy_from_slice(&data[..]),
        }
    }
}

/// What a block held, and what was wrong with it, if anything was.
#[derive(Clone)]
struct Version {
    content: Content,
    wrong: Option<FaultKind>,
}

/// A block whose current content is not durable yet.
#[derive(Clone)]
struct Unflushed {
    durable: Version,
    /// Completed versions between the durable and the current one, oldest first, with the ticks of their completion.
    between: Vec<(u64, Version)>,
    /// When the current content was completed.
    current_tick: u64,
}

/// Block contents of one device with its volatile write cache. Ticks are a count of completions, given by the world.
#[derive(Clone, Default)]
pub(crate) struct Media {
    chunks: Vec<Option<Box<[Content]>>>,
    unflushed: BTreeMap<u64, Unflushed>,
    /// Blocks whose current content is not what the last write to them said.
    pub(crate) wrong: BTreeMap<u64, FaultKind>,
}

impl Media {
    pub(crate) fn get(&self, block: u64) -> &Content {
        const ZEROS: &Content = &Content::Zeros;
        let (chunk, within) = (block as usize / CHUNK, block as usize % CHUNK);
        self.chunks.get(chunk).and_then(Option::as_ref).map_or(ZEROS, |chunk| &chunk[within])
    }

    fn replace(&mut self, block: u64, content: Content) -> Content {
        let (chunk, within) = (block as usize / CHUNK, block as usize % CHUNK);
        if self.chunks.len() <= chunk {
            self.chunks.resize_with(chunk + 1, || None);
        }
        let chunk = self.chunks[chunk].get_or_insert_with(|| vec![Content::Zeros; CHUNK].into_boxed_slice());
        std::mem::replace(&mut chunk[within], content)
    }

    /// A write of one block that completed at `tick`.
    pub(crate) fn write(&mut self, block: u64, content: Content, tick: u64) {
        let wrong = self.wrong.remove(&block);
        let old = Version { content: self.replace(block, content), wrong };
        match self.unflushed.get_mut(&block) {
            Some(unflushed) => {
                unflushed.between.push((unflushed.current_tick, old));
                unflushed.current_tick = tick;
            }
            None => {
                let unflushed = Unflushed { durable: old, between: Vec::new(), current_tick: tick };
                self.unflushed.insert(block, unflushed);
            }
        }
    }

    /// A block that the device itself has stored for good.
    pub(crate) fn write_durably(&mut self, block: u64, content: Content) {
        self.unflushed.remove(&block);
        self.wrong.remove(&block);
        self.replace(block, content);
    }

    /// What a block holds is durable.
    pub(crate) fn harden_block(&mut self, block: u64) {
        self.unflushed.remove(&block);
    }

    /// Whether a block is plain zeros with nothing to fall back to, so that zeroing it changes nothing.
    pub(crate) fn is_untouched(&self, block: u64) -> bool {
        matches!(self.get(block), Content::Zeros) && !self.unflushed.contains_key(&block)
    }

    /// Changes what is stored, durably and behind everyone's back: damage, not a write. What is beside the block stays.
    pub(crate) fn damage(&mut self, block: u64, how: FaultKind, change: impl FnOnce(&mut [u8; BLOCK])) {
        let mut bytes = [0; BLOCK];
        self.get(block).copy_to(&mut bytes);
        change(&mut bytes);
        let beside = self.get(block).oob().to_vec();
        self.replace(block, Content::with_oob(&bytes, &beside));
        self.wrong.insert(block, how);
    }

    /// The same of what is beside a block; `false`: nothing is.
    pub(crate) fn damage_beside(&mut self, block: u64, how: FaultKind, change: impl FnOnce(&mut [u8])) -> bool {
        let mut content = self.get(block).clone();
        let Content::WithOob(_, beside) = &mut content else { return false };
        change(beside);
        self.replace(block, content);
        self.wrong.insert(block, how);
        true
    }

    /// A flush that was submitted at `barrier` takes effect: versions completed up to then become durable.
    pub(crate) fn harden(&mut self, barrier: u64) {
        self.unflushed.retain(|_, unflushed| {
            if unflushed.current_tick <= barrier {
                return false;
            }
            let covered = unflushed.between.iter().take_while(|(tick, _)| *tick <= barrier).count();
            if let Some((_, version)) = unflushed.between.drain(..covered).next_back() {
                unflushed.durable = version;
            }
            true
        });
    }

    /// Power goes: every unflushed block keeps its current content with probability `keep`/256, else falls back to one
    /// of its earlier versions.
    pub(crate) fn lose_power(&mut self, rng: &mut Rng, keep: u64) {
        for (block, mut unflushed) in std::mem::take(&mut self.unflushed) {
            if rng.chance(keep, 256) {
                continue;
            }
            let survivor = match rng.below(unflushed.between.len() as u64 + 1) {
                0 => unflushed.durable,
                n => unflushed.between.swap_remove(n as usize - 1).1,
            };
            self.replace(block, survivor.content);
            // What was wrong with the version that is back is wrong again.
            match survivor.wrong {
                Some(how) => self.wrong.insert(block, how),
                None => self.wrong.remove(&block),
            };
        }
    }

    /// Number of blocks that a power cut could take.
    pub(crate) fn unflushed(&self) -> usize {
        self.unflushed.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(tag: u8) -> Content {
        Content::of(&[tag; BLOCK])
    }

    fn tag(media: &Media, block: u64) -> u8 {
        let mut bytes = [0; BLOCK];
        media.get(block).copy_to(&mut bytes);
        bytes[0]
    }

    #[test]
    fn a_flush_covers_what_completed_before_it() {
        let mut seen = [false; 4];
        for seed in 0..200 {
            let mut media = Media::default();
            media.write(5, tagged(1), 1);
            media.write(5, tagged(2), 2);
            media.write(6, tagged(9), 3);
            media.write(5, tagged(3), 4);
            media.harden(3);
            assert_eq!(tag(&media, 5), 3);
            media.lose_power(&mut Rng::new(seed), 128);
            assert_eq!(tag(&media, 6), 9);
            seen[tag(&media, 5) as usize] = true;
        }
        assert_eq!(seen, [false, false, true, true], "version 2 is durable, 3 may have survived, 1 and zeros are gone");
    }

    #[test]
    fn a_version_that_comes_back_is_as_wrong_as_it_was() {
        let mut seen = [0; 3];
        for seed in 0..100 {
            let mut media = Media::default();
            media.write(0, tagged(1), 1);
            media.damage(0, FaultKind::BitFlip, |bytes| bytes[9] ^= 1);
            media.harden(1);
            media.write(0, tagged(2), 2);
            assert!(media.wrong.is_empty());
            media.lose_power(&mut Rng::new(seed), 128);
            assert_eq!(media.wrong.contains_key(&0), tag(&media, 0) == 1);
            seen[tag(&media, 0) as usize] += 1;
        }
        assert!(seen[1] > 10 && seen[2] > 10, "{seen:?}");
    }

    #[test]
    fn without_a_flush_any_version_may_survive() {
        let mut seen = [0; 4];
        for seed in 0..200 {
            let mut media = Media::default();
            for tag in 1..4 {
                media.write(0, tagged(tag), u64::from(tag));
            }
            media.lose_power(&mut Rng::new(seed), 64);
            seen[tag(&media, 0) as usize] += 1;
            assert_eq!(media.unflushed(), 0);
        }
        assert!(seen.iter().all(|&n| n > 10), "{seen:?}");
    }
}
