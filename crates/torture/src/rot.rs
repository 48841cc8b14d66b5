//! Where the devices of an array hold what describes the data, and what becomes of it when it rots.

use std::collections::{BTreeMap, BTreeSet};

use cygnus_format::{
    MAX_HEADER_BLOCKS, RootUse, SPARE, SUPERBLOCK_AREA, SUPERBLOCK_OFFSETS, SUPERBLOCK_SLOT, SlotCopy, Slots,
    StripeHeader, Superblock,
};
use cygnus_sim::{DiskId, World};
use cygnus_types::{BLOCK, GroupId, Lba, SegmentId, VolumeId};

use crate::story::{Decay, Part};

/// A block on a device: byte offset.
type Place = (DiskId, u64);

/// The block of a device, one of `all`, that rots; `None` where there is nothing of the kind that can do without.
pub(crate) fn place_of(world: &World, all: &[DiskId], disk: DiskId, part: Part, nth: u64) -> Option<Place> {
    let places = match part {
        Part::Superblock => superblocks(world, disk),
        Part::Header => headers(world, disk),
        Part::Page => pages(world, all),
    };
    (!places.is_empty()).then(|| places[nth as usize % places.len()])
}

/// The blocks of one thing on each of some devices, with all its copies there: of a superblock one block, the first or one behind
/// it, in both copies of a slot; of a stripe its headers; of a row with a page of the newest checkpoint the row.
pub(crate) fn places_beyond(world: &World, all: &[DiskId], of: &[DiskId], part: Part, nth: u64) -> Vec<Place> {
    let Some(&first) = of.first() else { return Vec::new() };
    let own = |disk| slots_of(world, disk).map(|slots| slots.newest);
    match part {
        Part::Superblock => of.iter().flat_map(|&disk| both_copies(world, disk, nth)).collect(),
        Part::Header => {
            let stripes = stripes_on(world, first);
            let chosen = (!stripes.is_empty()).then(|| stripes[nth as usize % stripes.len()]);
            let blocks = chosen.into_iter().flat_map(|(at, blocks)| (0..blocks).map(move |n| at + n * BLOCK as u64));
            blocks.flat_map(|at| of.iter().map(move |&disk| (disk, at))).collect()
        }
        Part::Page => {
            let Some((disk, at)) = place_of(world, all, first, part, nth) else { return Vec::new() };
            let group = |disk| own(disk).and_then(|own| own.state.group_of(own.member));
            let beside = of.iter().copied().filter(|&other| other != disk && group(other) == group(disk));
            std::iter::once(disk).chain(beside).map(|disk| (disk, at)).collect()
        }
    }
}

/// Of one slot of a device the same block in both copies.
fn both_copies(world: &World, disk: DiskId, nth: u64) -> Vec<Place> {
    let Some(slots) = slots_of(world, disk) else { return Vec::new() };
    let slot = nth as usize % SUPERBLOCK_OFFSETS.len();
    let bytes = slots.slot(slot).and_then(|superblock| superblock.encode().ok()).map_or(BLOCK, |bytes| bytes.len());
    let block = nth / 2 % (bytes / BLOCK) as u64;
    SUPERBLOCK_OFFSETS[slot].iter().map(|at| (disk, at + block * BLOCK as u64)).collect()
}

/// Lets a block rot; `nth` decides which bit.
pub(crate) fn decay(world: &World, (disk, at): Place, how: Decay, nth: u64) {
    match how {
        Decay::Flipped => world.flip_bit(disk, at + nth % BLOCK as u64, (nth % 8) as u8),
        Decay::Unreadable => world.fail_reads(disk, at..at + BLOCK as u64),
        Decay::Zeroed => {
            let mut block = [0; BLOCK];
            world.peek(disk, at, &mut block);
            for (byte, value) in (at..).zip(block) {
                (0..8).filter(|bit| value >> bit & 1 == 1).for_each(|bit| world.flip_bit(disk, byte, bit));
            }
        }
    }
}

pub(crate) fn slots_of(world: &World, disk: DiskId) -> Option<Slots> {
    let mut head = vec![0; SUPERBLOCK_AREA as usize];
    world.peek(disk, 0, &mut head);
    Slots::read(&head).ok()
}

/// Whether a device delivers neither copy of some slot as it was written, in any of its blocks: a superblock may have several.
pub(crate) fn has_lost_a_slot(world: &World, disk: DiskId) -> bool {
    let is_spoiled = |&at: &u64| (at..at + SUPERBLOCK_SLOT).step_by(BLOCK).any(|block| !world.is_sound(disk, block));
    SUPERBLOCK_OFFSETS.iter().any(|copies| copies.iter().all(is_spoiled))
}

/// Of each slot one copy, if the other one is good: a power cut may have torn that.
fn superblocks(world: &World, disk: DiskId) -> Vec<Place> {
    let Some(slots) = slots_of(world, disk) else { return Vec::new() };
    let copy = disk.0 as usize % 2;
    let sound = |slot: &usize| matches!(slots.copies[*slot][1 - copy], SlotCopy::Holds(_));
    (0..SUPERBLOCK_OFFSETS.len()).filter(sound).map(|slot| (disk, SUPERBLOCK_OFFSETS[slot][copy])).collect()
}

/// Group and column of a member.
fn column_of(own: &Superblock) -> Option<(GroupId, u8)> {
    let group = own.state.group_of(own.member)?;
    Some((group, (own.member.index() - own.state.numbers_of(group).start) as u8))
}

/// The chain of headers on a device that is a column of a group, in a segment: each with the offset of its first copy.
fn chain(
    world: &World,
    of: &Superblock,
    disk: DiskId,
    segment: SegmentId,
    mut found: impl FnMut(u64, &StripeHeader<'_>),
) {
    let geometry = of.state.geometry;
    let Some((group, column)) = column_of(of) else { return };
    let (mut row, mut life) = (0, None);
    while row < geometry.segment_blocks {
        let at = geometry.device_offset(segment.0, row);
        let mut bytes = vec![0; MAX_HEADER_BLOCKS.min(geometry.segment_blocks - row) as usize * BLOCK];
        world.peek(disk, at, &mut bytes);
        let header = StripeHeader::decode(&bytes).and_then(|header| header.verify(of.array.tag()));
        let Ok(header) = header.and_then(|header| header.at(group, segment, column, row)) else { return };
        let common = header.common();
        if *life.get_or_insert(common.segment_seq) != common.segment_seq {
            return;
        }
        found(at, &header);
        row = common.end_row();
    }
}

fn headers(world: &World, disk: DiskId) -> Vec<Place> {
    stripes_on(world, disk).into_iter().map(|(at, _)| (disk, at)).collect()
}

/// The stripes on a device: where the header of each begins, and its blocks.
fn stripes_on(world: &World, disk: DiskId) -> Vec<(u64, u64)> {
    let Some(own) = slots_of(world, disk).map(|slots| slots.newest).filter(|own| own.member != SPARE) else {
        return Vec::new();
    };
    let Some((group, _)) = column_of(&own) else { return Vec::new() };
    let mut found = Vec::new();
    for segment in (0..own.state.groups[group.index()].segments()).map(SegmentId) {
        chain(world, &own, disk, segment, |at, header| found.push((at, u64::from(header.common().header_blocks))));
    }
    found
}

/// The first copies of the pages of the newest checkpoint.
fn pages(world: &World, all: &[DiskId]) -> Vec<Place> {
    let own = all.iter().filter_map(|&disk| Some((disk, slots_of(world, disk)?.newest)));
    let mut members: Vec<(DiskId, Superblock)> = own.filter(|(_, own)| own.member != SPARE).collect();
    // Whatever device takes over from another one: the first copy stays the first.
    members.sort_by_key(|(_, own)| own.member);
    let newest = members.iter().map(|(_, own)| own).max_by_key(|own| own.generation);
    let Some(root) = newest.and_then(|newest| newest.state.roots[0].clone()) else { return Vec::new() };
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for at in root.segments.iter().filter(|at| at.use_of == RootUse::Pages) {
        let of_group = |(_, own): &&(DiskId, Superblock)| column_of(own).is_some_and(|(group, _)| group == at.group);
        let members: Vec<&(DiskId, Superblock)> = members.iter().filter(of_group).collect();
        for ((column, row), key) in pages_in(world, &members, at.segment, root.generation) {
            let has = |(_, own): &&&(DiskId, Superblock)| column_of(own).is_some_and(|(_, of)| u16::from(of) == column);
            // Also where it is on a device that is not here: then the other one is the last.
            if seen.insert(key)
                && let Some((disk, own)) = members.iter().find(has)
            {
                found.push((*disk, own.state.geometry.device_offset(at.segment.0, row)));
            }
        }
    }
    found
}

/// What tells a page from others of its checkpoint: its kind, volume and first block.
type PageKey = (u8, VolumeId, Lba);

/// The pages of a checkpoint in a segment, by column and row. A column's own header may have rotted: others tell of it too.
fn pages_in(
    world: &World,
    members: &[&(DiskId, Superblock)],
    segment: SegmentId,
    generation: u64,
) -> BTreeMap<(u16, u32), PageKey> {
    let mut pages = BTreeMap::new();
    for (disk, own) in members {
        chain(world, own, *disk, segment, |_, header| {
            let first = header.common().first_data_row();
            for column in 0..header.common().width() {
                for (row, entry) in (first..).zip(header.entries_of(column).unwrap_or_default()) {
                    if entry.kind().is_of_checkpoint() && entry.seq() == generation {
                        pages.insert((column.into(), row), (entry.kind() as u8, entry.volume(), entry.lba()));
                    }
                }
            }
        });
    }
    pages
}
