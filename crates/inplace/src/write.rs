//! Writes, to their end.

use std::rc::Rc;

use cygnus_runtime::BufSlice;

use crate::core::Core;
use crate::error::RaidError;
use crate::lock::Range;

impl Core {
    /// Writes blocks; nobody else may be at work on the range meanwhile, if the level needs that. It goes on to its end
    /// whatever becomes of the caller: what was begun on some devices and not on others, or while nothing says that it was
    /// begun, would be copies that differ for ever.
    pub(crate) async fn write(
        self: &Rc<Self>,
        first: u64,
        blocks: u64,
        data: BufSlice,
        alone: Option<Range>,
    ) -> Result<(), RaidError> {
        let core = self.clone();
        let write = async move {
            let _alone = alone;
            core.write_all(first, blocks, data).await
        };
        self.rt.carry_out(write).await
    }

    async fn write_all(self: &Rc<Self>, first: u64, blocks: u64, data: BufSlice) -> Result<(), RaidError> {
        self.counters.borrow_mut().written += blocks;
        let _intent = match self.ledger.get() {
            Some(ledger) => ledger.intend(self, first, blocks).await?,
            None => None,
        };
        if self.layout.level().parity() == 0 {
            self.write_copies(first, blocks, data).await?;
        } else {
            self.write_striped(first, blocks, data).await?;
        }
        self.settle().await
    }
}
