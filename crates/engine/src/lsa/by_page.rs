//! Changes of whole pages, where a volume is mapped by these.

use cygnus_format::{Kind, Layout, MapEntry};
use cygnus_types::Lba;

use crate::lsa::common::Controllers;
use crate::lsa::controller::{Controller, OfPage};

/// How a page that has come to a new place may find its blocks' entries: see [`crate::lsa::Publish`].
#[derive(Clone, Copy)]
pub(crate) enum PublishPage<'a> {
    /// A client has written all of it.
    Always,
    /// What a client has written, merged with what was read: only if all blocks still are what they `were`. Of those with a bit in
    /// `same` the data is what it was.
    IfStill { were: &'a [MapEntry], same: u32 },
    /// The page moves out of the way of contention, or from one medium to the other: as `IfStill`, and all its data is what it was.
    Rehome { were: &'a [MapEntry] },
    /// The pool moves the page: as `IfStill`; each block keeps the sequence of the write that made it, which `seqs` has.
    Move { were: &'a [MapEntry], seqs: &'a [u64] },
}

impl PublishPage<'_> {
    /// The sequence of the `nth` block, if what is published has this one.
    pub(crate) fn seq_of(&self, nth: usize, published: u64) -> u64 {
        match self {
            Self::Move { seqs, .. } => seqs[nth],
            Self::Always | Self::IfStill { .. } | Self::Rehome { .. } => published,
        }
    }

    /// Whether the data of the `nth` block is what it was.
    pub(crate) fn is_same(&self, nth: usize) -> bool {
        match self {
            Self::Always => false,
            Self::IfStill { same, .. } => same & 1 << nth != 0,
            Self::Rehome { .. } | Self::Move { .. } => true,
        }
    }
}

/// A change of a page's entry, for the header of the stripe that it lies in now.
pub(crate) struct PublishedPage {
    pub kind: Kind,
    /// The sequence of all its blocks, unless they were moved.
    pub seq: u64,
    /// What was there before, of each block.
    pub old: OfPage,
}

impl Controllers {
    /// A page has come to a new place. `None`: it is not what `how` wants any more, and nothing has changed.
    pub(crate) fn publish_page(
        &self,
        of: &Controller,
        first: Lba,
        entry: MapEntry,
        how: PublishPage<'_>,
    ) -> Option<PublishedPage> {
        let turn = self.order.enter(of.volume, first);
        let (kind, expected) = match how {
            PublishPage::Always => (Kind::Data, None),
            PublishPage::IfStill { were, .. } | PublishPage::Rehome { were } => (Kind::Data, Some(were)),
            PublishPage::Move { were, .. } => (Kind::Relocated, Some(were)),
        };
        let old = of.replace_page(first, expected, entry)?;
        let seq = turn.seq();
        drop(turn);
        (0..of.page_blocks()).zip(old).for_each(|(n, old)| self.replaced(of, old, entry.nth(n)));
        Some(PublishedPage { kind, seq, old })
    }

    /// Gives the page of a block one entry again, if its blocks lie one behind the other on one column. While an array is opened.
    pub(crate) fn fold(&self, of: &Controller, layout: &Layout, lba: Lba) {
        let place = |entry: MapEntry| layout.locate(entry.pba());
        let is_run = |a: MapEntry, b: MapEntry| match (place(a), place(b)) {
            (Some(a), Some(b)) => (a.group, a.segment, a.column) == (b.group, b.segment, b.column),
            _ => false,
        };
        of.fold(of.page_of(lba), is_run);
    }
}
