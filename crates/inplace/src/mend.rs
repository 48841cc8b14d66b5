//! Blocks that a device could not read, made from the others and written anew: a drive then gives them another place.

use std::rc::Rc;

use cygnus_runtime::{Buf, IoClass};
use cygnus_types::BLOCK;

use crate::bad_places::Mended;
use crate::core::Core;
use crate::error::RaidError;
use crate::give::is_of_place;

impl Core {
    /// Writes anew what a device cannot read of its part of a stripe. Nothing else of it is touched: what it can read is
    /// nearer to the truth than what parity says of it, which a crash may have left wrong.
    pub(crate) async fn mend_stripe(self: &Rc<Self>, stripe: u64, device: usize) -> Result<Mended, RaidError> {
        let _alone = self.alone_at(stripe).await;
        // Where copies or parity may not fit, the resync comes first: it would mend in the name of what is wrong.
        if self.cannot_read(device, stripe) || self.is_stale(stripe) {
            return Ok(Mended::default());
        }
        self.bad_places.under_work.set(Some(stripe));
        let result = self.mend_rows(stripe, device).await;
        self.bad_places.under_work.set(None);
        let result = result?;
        self.mended(device, &result);
        Ok(result)
    }

    async fn mend_rows(self: &Rc<Self>, stripe: u64, device: usize) -> Result<Mended, RaidError> {
        let mut result = Mended::default();
        let silences = self.care.silences();
        for row in 0..self.layout.chunk_blocks() {
            let slot = self.slot(device);
            let read = self.rt.alloc(BLOCK);
            match self.start_read(device, stripe, row, read.full()).await {
                Ok(_) => continue,
                Err(error) if is_of_place(error) => {}
                Err(error) => {
                    self.undone(slot, IoClass::Read, error);
                    break;
                }
            }
            match self.block_of_others(stripe, row, device).await {
                Some(block) => {
                    if !self.serves(slot) {
                        break;
                    }
                    self.ended(vec![self.start_write(device, stripe, row, block.full())]).await?;
                    result.mended += 1;
                }
                // It may only be away. Whoever reads it comes here again.
                None if self.was_disturbed(silences) => break,
                None => result.lost += 1,
            }
            if self.cannot_read(device, stripe) {
                break;
            }
        }
        Ok(result)
    }

    /// A block as the other devices have it.
    async fn block_of_others(&self, stripe: u64, row: u32, device: usize) -> Option<Buf> {
        if self.layout.level().parity() > 0 {
            return self.column_of_others(stripe, device, row, 1).await.ok();
        }
        let mut columns = 0..self.layout.data_columns();
        let column = columns.find(|&column| self.layout.copies(stripe, column).any(|copy| copy == device))?;
        let block = self.rt.alloc(BLOCK);
        self.read_copy(stripe, column, row, &block.full(), Some(device)).await.ok()?;
        Some(block)
    }
}
