//! Blocks that volumes hold, and how many they may: what the pool has promised to all controllers together, in all and on each
//! medium.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use cygnus_types::Medium;

use crate::space::meanwhile::Meanwhile;

/// Blocks that may be held on each medium; `None`: no group that takes part is on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usable(pub [Option<u64>; Medium::ALL.len()]);

impl Usable {
    /// In all.
    pub(crate) fn total(self) -> u64 {
        self.0.into_iter().flatten().sum()
    }

    /// On one medium.
    pub(crate) fn on(self, medium: Medium) -> u64 {
        self.0[medium.index()].unwrap_or(0)
    }
}

/// Blocks on media other than flash. All others are on flash, those of which the data is lost too.
#[derive(Default)]
pub(crate) struct Elsewhere([AtomicU64; Medium::ALL.len()]);

impl Elsewhere {
    /// So many blocks more lie on a medium.
    #[inline]
    pub(crate) fn come_to(&self, medium: Medium, blocks: u64) {
        if medium != Medium::Flash {
            self.0[medium.index()].fetch_add(blocks, Ordering::Relaxed);
        }
    }

    /// A block lies there no longer.
    #[inline]
    pub(crate) fn one_leaves(&self, medium: Medium) {
        if medium != Medium::Flash {
            self.0[medium.index()].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Blocks on a medium, of so many in all.
    #[inline]
    pub(crate) fn on(&self, medium: Medium, all: u64) -> u64 {
        let on = |medium: Medium| self.0[medium.index()].load(Ordering::Relaxed);
        match medium {
            Medium::Flash => all.saturating_sub(Medium::ALL.map(on).iter().sum()),
            Medium::Disk | Medium::Nvm | Medium::Smr => on(medium),
        }
    }
}

/// See the module's text.
pub(crate) struct Held {
    /// Blocks that volumes may hold in all.
    usable: AtomicU64,
    /// The same on each medium.
    usable_on: [AtomicU64; Medium::ALL.len()],
    /// The media that some group is on which takes part, a bit each.
    media: AtomicU8,
    /// Whether blocks are counted by medium: media are kept apart, and a group was on another one than flash at some time since the array
    /// was opened. Else all blocks are on the only medium.
    counts_media: AtomicBool,
    /// Blocks by medium, where these are counted.
    elsewhere: Elsewhere,
    /// Those that they hold, those counted of which the data is lost.
    blocks: AtomicU64,
    /// Those that were unmapped while a checkpoint writes the maps.
    meanwhile: Meanwhile,
}

impl Held {
    pub(crate) fn new(usable: Usable) -> Self {
        let held = Self {
            usable: AtomicU64::new(0),
            usable_on: Default::default(),
            media: AtomicU8::new(0),
            counts_media: AtomicBool::new(false),
            elsewhere: Elsewhere::default(),
            blocks: AtomicU64::new(0),
            meanwhile: Meanwhile::default(),
        };
        held.set_usable(usable);
        held
    }

    /// Blocks that hold data over all volumes, those counted of which it is lost.
    #[inline]
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Blocks that volumes may hold in all.
    #[inline]
    pub(crate) fn usable(&self) -> u64 {
        self.usable.load(Ordering::Relaxed)
    }

    pub(crate) fn set_usable(&self, usable: Usable) {
        let mut media = 0;
        for (medium, on) in Medium::ALL.into_iter().zip(usable.0) {
            media |= u8::from(on.is_some()) << medium.index();
            self.usable_on[medium.index()].store(on.unwrap_or(0), Ordering::Relaxed);
        }
        self.media.store(media, Ordering::Relaxed);
        self.usable.store(usable.total(), Ordering::Relaxed);
    }

    /// Whether some group that takes part is on a medium.
    #[inline]
    pub(crate) fn has_medium(&self, medium: Medium) -> bool {
        self.media.load(Ordering::Relaxed) >> medium.index() & 1 == 1
    }

    /// The medium that all groups are on which take part; `None`: they are on several.
    #[inline]
    pub(crate) fn only_medium(&self) -> Option<Medium> {
        let media = self.media.load(Ordering::Relaxed);
        media.is_power_of_two().then(|| Medium::ALL[media.trailing_zeros() as usize])
    }

    /// The media that groups are on which take part.
    pub(crate) fn media(&self) -> impl Iterator<Item = Medium> {
        Medium::ALL.into_iter().filter(|&medium| self.has_medium(medium))
    }

    /// Blocks that may be held on a medium.
    #[inline]
    pub(crate) fn usable_on(&self, medium: Medium) -> u64 {
        self.usable_on[medium.index()].load(Ordering::Relaxed)
    }

    /// Blocks that are held on a medium.
    #[inline]
    pub(crate) fn on(&self, medium: Medium) -> u64 {
        match self.counts_media() {
            true => self.elsewhere.on(medium, self.blocks()),
            false if self.only_medium().unwrap_or_default() == medium => self.blocks(),
            false => 0,
        }
    }

    /// Whether so many blocks more can be held on a medium.
    #[inline]
    pub(crate) fn has_room_on(&self, medium: Medium, blocks: u64) -> bool {
        self.on(medium) + blocks <= self.usable_on(medium)
    }

    /// What is held on a medium, in 256ths of what may be.
    pub(crate) fn fill(&self, medium: Medium) -> u64 {
        self.on(medium) * 256 / self.usable_on(medium).max(1)
    }

    /// Whether it has to be told where blocks come to lie.
    #[inline]
    pub(crate) fn counts_media(&self) -> bool {
        self.counts_media.load(Ordering::Relaxed)
    }

    /// Media are kept apart, and a group is on another one than flash of which nothing has been given out yet.
    pub(crate) fn count_media(&self) {
        self.counts_media.store(true, Ordering::Relaxed);
    }

    /// So many blocks more lie on a medium.
    #[inline]
    pub(crate) fn come_to(&self, medium: Medium, blocks: u64) {
        self.elsewhere.come_to(medium, blocks);
    }

    /// A block lies there no longer.
    #[inline]
    pub(crate) fn one_leaves(&self, medium: Medium) {
        self.elsewhere.one_leaves(medium);
    }

    /// Whether so many blocks more can be held at once.
    #[inline]
    pub(crate) fn has_room(&self, blocks: u64) -> bool {
        self.blocks() + self.meanwhile.unmapped() + blocks <= self.usable()
    }

    /// Whether one more can be held once the checkpoint under way has ended.
    pub(crate) fn has_room_after_checkpoint(&self) -> bool {
        self.blocks() < self.usable() && self.is_map_written()
    }

    /// So many blocks more are held.
    #[inline]
    pub(crate) fn add(&self, blocks: u64) {
        self.blocks.fetch_add(blocks, Ordering::Relaxed);
    }

    /// One block less is held.
    #[inline]
    pub(crate) fn drop_one(&self) {
        self.meanwhile.one_is_unmapped();
        self.blocks.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether a checkpoint is writing the maps.
    pub(crate) fn is_map_written(&self) -> bool {
        self.meanwhile.is_map_written()
    }

    /// A checkpoint begins to write the maps. What it writes is bounded by what may be held: blocks that are unmapped
    /// from now on count until it has ended, for it comes by each address once and may meet what took their place too.
    pub(crate) fn begin_writing_maps(&self) {
        self.meanwhile.begin();
    }

    /// It has ended.
    pub(crate) fn end_writing_maps(&self) {
        self.meanwhile.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unmapped_while_the_maps_are_written_makes_room_afterwards() {
        let held = Held::new(Usable([Some(3), None, None, None]));
        held.add(3);
        assert!(!held.has_room(1) && !held.has_room_after_checkpoint());
        held.begin_writing_maps();
        held.drop_one();
        assert!(!held.has_room(1) && held.has_room_after_checkpoint());
        held.end_writing_maps();
        assert!(held.has_room(1) && !held.has_room(2));
    }

    #[test]
    fn each_medium_has_its_own_room() {
        let held = Held::new(Usable([Some(4), Some(10), None, Some(6)]));
        held.count_media();
        held.add(6);
        held.come_to(Medium::Disk, 3);
        held.come_to(Medium::Flash, 2);
        held.come_to(Medium::Smr, 1);
        assert_eq!(Medium::ALL.map(|medium| held.on(medium)), [2, 3, 0, 1]);
        assert!(held.has_room_on(Medium::Flash, 2) && !held.has_room_on(Medium::Flash, 3));
        held.one_leaves(Medium::Disk);
        let filled = Medium::ALL.map(|medium| (held.on(medium), held.fill(medium)));
        assert_eq!(
            filled,
            [(3, 192), (2, 51), (0, 0), (1, 42)],
            "what has left a medium without coming to another lies on flash"
        );
        assert_eq!((held.usable(), held.only_medium()), (20, None));
        assert_eq!(held.media().collect::<Vec<_>>(), [Medium::Flash, Medium::Disk, Medium::Smr]);
        held.set_usable(Usable([None, Some(10), None, None]));
        assert_eq!((held.usable(), held.only_medium()), (10, Some(Medium::Disk)));
        assert!(!held.has_room_on(Medium::Flash, 1) && !held.has_medium(Medium::Flash));
    }

    #[test]
    fn where_media_are_not_kept_apart_all_is_on_the_only_one() {
        for only in Medium::ALL {
            let held = Held::new(Usable(Medium::ALL.map(|medium| (medium == only).then_some(9))));
            held.add(5);
            assert_eq!(held.only_medium(), Some(only));
            assert_eq!(
                Medium::ALL.map(|medium| held.on(medium)),
                Medium::ALL.map(|medium| if medium == only { 5 } else { 0 })
            );
        }
    }
}
