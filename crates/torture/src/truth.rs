//! What the devices truly hold, to judge an error by: a block may be unreadable only if its own column does not have it
//! and so many other columns of its row do not have theirs that the parity cannot make up for it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use cygnus_engine::{Array, ArrayStatus, BlockLocation};
use cygnus_runtime::Rng;
use cygnus_sim::{DiskId, World};
use cygnus_types::{BLOCK, GroupId, Lba, SegmentId};

use crate::array::mapped_blocks;
use crate::failure::Inexcusable;
use crate::journal;
use crate::members::device_of;

/// See the module's text.
#[derive(Clone)]
pub(crate) struct Truth {
    pub(crate) world: World,
    /// By number.
    disks: Vec<DiskId>,
    /// Contents that were beyond redundancy where they were, once: volume, block, and the map's checksum of it.
    ruined: Rc<RefCell<BTreeSet<(String, u64, u32)>>>,
    /// Members that got what they hold, or part of it, from the others.
    filled: Rc<RefCell<BTreeSet<usize>>>,
    /// Rows of which columns were spoiled.
    spoiled: Rc<RefCell<Vec<SpoiledRow>>>,
}

/// A row of which columns were spoiled, and the devices that held it then.
struct SpoiledRow {
    group: GroupId,
    offset: u64,
    devices: Vec<usize>,
}

impl Truth {
    pub(crate) fn new(world: World, disks: Vec<DiskId>) -> Self {
        Self { world, disks, ruined: Rc::default(), filled: Rc::default(), spoiled: Rc::default() }
    }

    /// Where a row is beyond redundancy when a device is filled, that gets something, and something wrong.
    pub(crate) fn is_filled_from_now_on(&self, device: usize) {
        self.filled.borrow_mut().insert(device);
    }

    /// Whether the device that is in a member's place now holds what was written there.
    pub(crate) fn is_sound(&self, status: &ArrayStatus, member: usize, offset: u64) -> bool {
        let disk = device_of(&status.members[member].name).map(|n| self.disks[n]);
        disk.is_some_and(|disk| self.world.is_sound(disk, offset))
    }

    /// The members of a block's row, its own first.
    fn row(&self, status: &ArrayStatus, at: &BlockLocation) -> Vec<usize> {
        let (first, width) = (at.member.index() - usize::from(at.column), status.groups[at.group.index()].raid.width());
        (at.column..width).chain(0..at.column).map(|column| first + usize::from(column)).collect()
    }

    /// Whether a block may be unreadable; else why not.
    pub(crate) async fn excuse(&self, array: &Array, volume: &str, block: u64) -> Result<(), Inexcusable> {
        let Some(at) = array.locate(volume, Lba(block)).await else {
            return Err(Inexcusable::NotMapped { block });
        };
        // The copy that cleaning had made was ruined before a crash, and the place from which it came, to which recovery
        // goes back, had been given away in the meantime. Or the member that had it was away then, and has been filled
        // since, with what the others made of it.
        if self.ruined.borrow().contains(&(volume.to_owned(), block, at.map_crc)) && !at.intact {
            return Ok(());
        }
        let status = array.status();
        let broken =
            |&member: &usize| !status.members[member].is_online() || !self.is_sound(&status, member, at.offset);
        let row = self.row(&status, &at);
        let is_filled = device_of(&status.members[row[0]].name).is_some_and(|n| self.filled.borrow().contains(&n));
        let own = broken(&row[0]) || (is_filled && !at.intact);
        let broken = usize::from(own) + row[1..].iter().filter(|member| broken(member)).count();
        let later = row[1..].iter().filter(|&&member| self.is_filled_after_spoiling(&status, &at, member)).count();
        // Had they not enough to be filled from, those that came later hold something else.
        let gone = if broken + later > at.protection.losses() { broken + later } else { broken };
        match own && gone > at.protection.losses() {
            true => Ok(()),
            false => Err(Inexcusable::Covered {
                block,
                offset: at.offset,
                device: row[0],
                gone,
                width: row.len(),
                parity: at.protection.losses(),
            }),
        }
    }

    /// Whether a sound device of a block's row was filled after other columns of the row had been spoiled.
    fn is_filled_after_spoiling(&self, status: &ArrayStatus, at: &BlockLocation, member: usize) -> bool {
        let Some(device) = device_of(&status.members[member].name) else { return false };
        let is_later =
            |row: &SpoiledRow| (row.group, row.offset) == (at.group, at.offset) && !row.devices.contains(&device);
        status.members[member].is_online()
            && self.is_sound(status, member, at.offset)
            && self.filled.borrow().contains(&device)
            && self.spoiled.borrow().iter().any(is_later)
    }

    /// Whether a block could not be had any more without these devices.
    pub(crate) async fn is_beyond(
        &self,
        array: &Array,
        volume: &str,
        block: u64,
        lost: &[usize],
        torn: &BTreeSet<(GroupId, SegmentId)>,
    ) -> bool {
        let Some(at) = array.locate(volume, Lba(block)).await else { return false };
        let status = array.status();
        let gone = |&member: &usize| {
            let is_lost = device_of(&status.members[member].name).is_none_or(|n| lost.contains(&n));
            is_lost || !status.members[member].is_online() || !self.is_sound(&status, member, at.offset)
        };
        let row = self.row(&status, &at);
        let own = gone(&row[0]) || !at.intact;
        let row_is_gone = || 1 + row[1..].iter().filter(|member| gone(member)).count() > at.protection.losses();
        own && (torn.contains(&(at.group, at.segment)) || row_is_gone())
    }

    /// Takes down whose contents a row cannot give back any more without these members.
    async fn note_ruined(&self, array: &Array, at: &BlockLocation, ruined: &[usize]) {
        let status = array.status();
        let gone = |&member: &usize| {
            let online = status.members[member].is_online();
            ruined.contains(&member) || !online || !self.is_sound(&status, member, at.offset)
        };
        if self.row(&status, at).iter().filter(|member| gone(member)).count() <= at.protection.losses() {
            return;
        }
        for volume in array.volume_names() {
            for block in array.volume(&volume).iter().flat_map(mapped_blocks) {
                let Some(of) = array.locate(&volume, Lba(block)).await else { continue };
                let is_of_row = (of.group, of.offset) == (at.group, at.offset);
                if is_of_row && gone(&of.member.index()) {
                    self.ruined.borrow_mut().insert((volume.clone(), block, of.map_crc));
                }
            }
        }
    }

    /// Spoils a mapped block's own column and others of its row, `columns` in all.
    pub(crate) async fn ruin(&self, array: &Array, volume: &str, block: u64, columns: usize, rng: &mut Rng) {
        let Some(at) = array.locate(volume, Lba(block)).await else { return };
        journal::tell(format!(
            "    {volume} block {block} at byte {} of d{} and its row",
            at.offset,
            at.member.index()
        ));
        let ruined: Vec<usize> = self.row(&array.status(), &at).into_iter().take(columns).collect();
        self.note_ruined(array, &at, &ruined).await;
        // That took its time: by now the block may have moved, and its row may be another one.
        let still = array.locate(volume, Lba(block)).await;
        if still.is_none_or(|now| (now.group, now.offset, now.map_crc) != (at.group, at.offset, at.map_crc)) {
            return;
        }
        let status = array.status();
        let devices =
            self.row(&status, &at).iter().filter_map(|&member| device_of(&status.members[member].name)).collect();
        self.spoiled.borrow_mut().push(SpoiledRow { group: at.group, offset: at.offset, devices });
        for member in ruined {
            let Some(disk) = device_of(&status.members[member].name).map(|n| self.disks[n]) else { continue };
            if rng.chance(1, 2) {
                self.world.fail_reads(disk, at.offset..at.offset + BLOCK as u64);
            } else {
                self.world.flip_bit(disk, at.offset + rng.below(BLOCK as u64), rng.below(8) as u8);
            }
        }
    }
}
