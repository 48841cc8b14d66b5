//! What is left of an array that has lost more than its redundancy: every block that a salvage returns must be right, and
//! what it gives up must be beyond redundancy.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use cygnus_engine::{Array, ArrayError, Salvage, Volume};
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_types::{BLOCK, GroupId, Lba, SegmentId};

use crate::array::{mapped_blocks, options};
use crate::client::Shared;
use crate::failure::SalvageFault;
use crate::truth::Truth;

/// Blocks that are beyond redundancy: volume and block.
type Beyond = BTreeSet<(String, u64)>;

/// Finds out, on all devices of the stopped array, which blocks cannot be had without those that are about to be lost. Rows of `torn`
/// segments, where recovery had no room to write what torn stripes hold anew, count for nothing.
pub(crate) async fn beyond(
    rt: &Runtime,
    devices: &[DeviceInfo],
    truth: &Truth,
    volumes: &[(String, u64)],
    lost: &[usize],
    torn: &BTreeSet<(GroupId, SegmentId)>,
) -> Result<Beyond, ArrayError> {
    let mut options = options(1);
    options.read_only = true;
    let array = Array::open(rt, devices, &options).await?;
    let mut beyond = Beyond::new();
    for (volume, _) in volumes {
        for block in array.volume(volume).iter().flat_map(mapped_blocks) {
            if truth.is_beyond(&array, volume, block, lost, torn).await {
                beyond.insert((volume.clone(), block));
            }
        }
    }
    Ok(beyond)
}

/// See the module's text.
pub(crate) struct Judge {
    pub(crate) shared: Rc<Shared>,
    pub(crate) beyond: Beyond,
    /// The oracle's numbers of the volumes.
    pub(crate) numbers: BTreeMap<String, u32>,
    /// Whether nothing but the loss of the devices keeps the maps from being known.
    pub(crate) exact: bool,
}

impl Judge {
    /// Salvages all volumes; says how many arrays were broken beyond redundancy: one or none.
    pub(crate) async fn salvage(self, rt: &Runtime, devices: &[DeviceInfo]) -> Result<u64, SalvageFault> {
        if devices.is_empty() {
            return Ok(0);
        }
        let salvage = Salvage::open(rt, devices, &options(1)).await;
        let salvage = match salvage {
            Ok(salvage) => salvage,
            // None but spares and strangers is left.
            Err(ArrayError::NoArray(_)) => return Ok(0),
            Err(error) => return Err(SalvageFault::Refused(Arc::new(error))),
        };
        // Without checkpoints blocks may be missing, or older versions.
        if self.exact && salvage.knows_all_blocks() {
            for (name, &number) in &self.numbers {
                let volume = salvage.volume(name).ok_or_else(|| SalvageFault::NoVolume(name.clone()))?;
                self.judge(rt, &salvage, &volume, number).await?;
            }
        }
        Ok(u64::from(!self.beyond.is_empty()))
    }

    async fn judge(&self, rt: &Runtime, salvage: &Salvage, volume: &Volume, number: u32) -> Result<(), SalvageFault> {
        let name = volume.name();
        let mut data = BTreeSet::new();
        while let Some(next) = salvage.next_data(volume, Lba(data.last().map_or(0, |last| last + 1))) {
            data.insert(next.0);
        }
        let known = self.shared.oracle.borrow_mut().known(number);
        for block in known.into_iter().chain(data.iter().copied()).collect::<BTreeSet<u64>>() {
            let holds_data = data.contains(&block);
            let since = self.shared.oracle.borrow_mut().begin_read(number);
            let piece = salvage.read(volume, Lba(block), 1).await;
            let mut oracle = self.shared.oracle.borrow_mut();
            if piece.lost.is_empty() {
                let offset = block * BLOCK as u64;
                let legal = oracle.end_read(number, offset, piece.data.bytes(), since, rt.now());
                legal.map_err(|violation| SalvageFault::Read { volume: name.to_owned(), violation })?;
                continue;
            }
            oracle.end_failed_read(number, since);
            if !holds_data || !self.beyond.contains(&(name.to_owned(), block)) {
                return Err(SalvageFault::GaveUp { volume: name.to_owned(), block });
            }
        }
        Ok(())
    }
}
