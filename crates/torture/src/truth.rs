//! What the devices truly hold, to judge an error by: a block may be unreadable only if its own column does not have it
//! and so many other columns of its row do not have theirs that the parity cannot make up for it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use cygnus_engine::{Array, BlockLocation};
use cygnus_runtime::Rng;
use cygnus_sim::{DiskId, World};
use cygnus_types::{BLOCK, Lba};

use crate::journal;

/// See the module's text.
#[derive(Clone)]
pub(crate) struct Truth {
    pub(crate) world: World,
    /// By member.
    pub(crate) disks: Vec<DiskId>,
    /// k + m, and m.
    pub(crate) width: usize,
    pub(crate) parity: usize,
    /// Contents that were ruined wherever they were when it happened: volume, block, and the map's checksum of it.
    ruined: Rc<RefCell<BTreeSet<(String, u64, u32)>>>,
}

impl Truth {
    pub(crate) fn new(world: World, disks: Vec<DiskId>, width: usize, parity: usize) -> Self {
        Self { world, disks, width, parity, ruined: Rc::default() }
    }

    /// The members of a block's row, its own first.
    fn row(&self, at: &BlockLocation) -> Vec<usize> {
        let first = usize::from(at.group.0) * self.width;
        (0..self.width).map(|n| first + (usize::from(at.column) + n) % self.width).collect()
    }

    /// Whether a block may be unreadable; else why not.
    pub(crate) async fn excuse(&self, array: &Array, volume: &str, block: u64) -> Result<(), String> {
        let Some(at) = array.locate(volume, Lba(block)).await else {
            return Err(format!("and block {block} is not mapped"));
        };
        // The copy that cleaning had made was ruined before a crash, and the place from which it came, to which recovery
        // goes back, had been given away in the meantime.
        if self.ruined.borrow().contains(&(volume.to_owned(), block, at.map_crc)) && !at.intact {
            return Ok(());
        }
        let status = array.status();
        let broken = |&member: &usize| {
            !status.members[member].is_online() || !self.world.is_sound(self.disks[member], at.offset)
        };
        let row = self.row(&at);
        let gone = row.iter().filter(|member| broken(member)).count();
        match broken(&row[0]) && gone > self.parity {
            true => Ok(()),
            false => Err(format!(
                "and block {block} at byte {} of d{} has lost {gone} of {} columns, of which the parity covers {}",
                at.offset, row[0], self.width, self.parity
            )),
        }
    }

    /// Spoils a mapped block's own column and others of its row, `columns` in all.
    pub(crate) async fn ruin(&self, array: &Array, volume: &str, block: u64, columns: usize, rng: &mut Rng) {
        let Some(at) = array.locate(volume, Lba(block)).await else { return };
        journal::tell(format!("    {volume} block {block} at byte {} of d{} and its row", at.offset, self.row(&at)[0]));
        let mut members = self.row(&at);
        members.truncate(columns);
        if columns > self.parity {
            self.remember(array, &members, at.offset).await;
        }
        for member in members {
            let disk = self.disks[member];
            if rng.chance(1, 2) {
                self.world.fail_reads(disk, at.offset..at.offset + BLOCK as u64);
            } else {
                self.world.flip_bit(disk, at.offset + rng.below(BLOCK as u64), rng.below(8) as u8);
            }
        }
    }

    /// Notes every block that is in these members' columns of a row.
    async fn remember(&self, array: &Array, members: &[usize], offset: u64) {
        for volume in array.volume_names() {
            let blocks = array.volume(&volume).map_or(0, |volume| volume.size() / BLOCK as u64);
            for block in 0..blocks {
                let Some(at) = array.locate(&volume, Lba(block)).await else { continue };
                if at.offset == offset && members.contains(&self.row(&at)[0]) {
                    self.ruined.borrow_mut().insert((volume.clone(), block, at.map_crc));
                }
            }
        }
    }
}
