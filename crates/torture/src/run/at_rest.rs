//! Whether an array that is asked for nothing comes to rest.

use cygnus_types::Nanos;

use super::state::{Run, Session};
use crate::failure::{RunFailure, Trouble};
use crate::journal;

/// Between two looks.
const LOOK: Nanos = Nanos::millis(10);

/// A reactor that rests has at most this many turns between two looks: services look at the clock now and then.
const AT_REST: u64 = 200;

/// Looks in a row at which reactors are awake and no device has anything to do: the reactors keep each other awake.
const AWAKE: u32 = 5;

/// After this many looks whatever keeps the array at work is left alone: segments are cleaned, members brought up to date.
const LOOKS: u32 = 50;

impl Run<'_> {
    /// Waits until all reactors rest, or are at work; a failure if they are awake for nothing.
    pub(super) fn comes_to_rest(&self, session: &Session) -> Result<(), Trouble> {
        let mut awake = 0;
        for _ in 0..LOOKS {
            let (turns, steps) = (turns(session), self.world.steps());
            let rt = session.cluster.reactor(0).clone();
            self.wait(session, async move { rt.sleep(LOOK).await })?;
            let busiest = self::turns(session).iter().zip(turns).map(|(now, before)| now - before).max();
            let turns = busiest.expect("there is a reactor");
            if turns <= AT_REST {
                return Ok(());
            }
            awake = if self.world.steps() == steps { awake + 1 } else { 0 };
            if awake == AWAKE {
                journal::tell(format!("{} {}", self.world.now(), session.array.describe()));
                return Err(RunFailure::Restless { turns, span: LOOK }.into());
            }
        }
        Ok(())
    }
}

/// Turns of each reactor so far.
fn turns(session: &Session) -> Vec<u64> {
    (0..session.cluster.len()).map(|n| session.cluster.reactor(n).turn()).collect()
}
