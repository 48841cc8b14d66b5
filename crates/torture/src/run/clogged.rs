//! Arrays in which blocks that cannot be read keep so many segments that there is no room for writes.
//!
//! What is demanded: discards find room for as long as anybody discards, and when they have given some, writes go on by themselves.

use super::state::{Run, Session};
use crate::failure::Trouble;
use crate::journal;

impl Run<'_> {
    /// Where writes were refused for want of such room, everything is discarded, and something is written.
    pub(super) fn gives_room(&mut self, session: &Session) -> Result<(), Trouble> {
        let refused = self.shared.clogged.get();
        if refused == 0 || self.shared.failed() {
            return Ok(());
        }
        journal::tell(format!("{} {refused} requests found no room: everything is discarded", self.world.now()));
        self.tally.clogged += 1;
        for volume in &self.volumes {
            let client = self.client(session, volume, 0)?;
            self.shared.spawn(session.cluster.reactor(0), client.gives_room());
        }
        let shared = self.shared.clone();
        self.wait(session, async move { shared.wait().await })?;
        self.shared.clogged.set(0);
        Ok(())
    }
}
