//! Trims: zones that are forgotten, and their patches with them.

use cygnus_runtime::{Extra, IoError, Op, Outcome, Runtime};
use cygnus_types::BLOCK;

use crate::device::ZonedDevice;
use crate::read::all;
use crate::table::Pointer;
use crate::turn::Turn;

impl ZonedDevice {
    /// Resets zones, each in its turn. What could not be reset is told, after the others were.
    pub(crate) async fn reset(&self, rt: &Runtime, turns: Vec<Turn>) -> Result<Outcome, IoError> {
        self.load(rt).await?;
        let mut result = Ok(Outcome::Done);
        for turn in turns {
            turn.come(rt).await;
            // Somebody may have left the zone to be restored.
            self.load(rt).await?;
            match self.reset_zone(rt, turn.zone).await {
                Ok(()) => turn.close(),
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    async fn reset_zone(&self, rt: &Runtime, zone: u32) -> Result<(), IoError> {
        let pointer = self.pointer(rt, zone).await?;
        let blocks = self.zoned().shape.blocks_of(zone);
        self.forget_patches(rt, &blocks).await?;
        match pointer {
            Pointer::At(at) if at > blocks.start => {
                self.ask(rt, Extra::Reset { zone }).await?;
                self.zoned().table().zone(zone).pointer = Pointer::At(blocks.start);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Durably before the zone is: a patch that were found after its zone was written anew would hide what is there.
    pub(crate) async fn forget_patches(&self, rt: &Runtime, blocks: &std::ops::Range<u64>) -> Result<(), IoError> {
        let descriptions = self.zoned().table().patches.descriptions_of(blocks);
        if descriptions.is_empty() {
            return Ok(());
        }
        let zeros = rt.alloc(BLOCK).full();
        zeros.zero(0..BLOCK);
        all(descriptions.iter().map(|&at| self.write_beneath(rt, at, zeros.clone())).collect()).await?;
        rt.submit_beneath(Op::Flush { dev: self.dev() }).await?;
        self.zoned().table().patches.remove(&descriptions, blocks.clone());
        Ok(())
    }
}
