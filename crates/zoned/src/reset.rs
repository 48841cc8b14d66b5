//! Trims: zones that are forgotten, and their patches with them.

use cygnus_runtime::{Extra, IoError, Outcome, Runtime};

use crate::device::ZonedDevice;
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
}
