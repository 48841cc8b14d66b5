//! What answers wait for on a reactor: rounds that many of them share, and how far members' departures are on record.

use std::cell::Cell;

use cygnus_runtime::Rounds;

use crate::error::VolumeError;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Answering {
    pub rounds: Rounds<Result<(), VolumeError>>,
    /// What [`Shared::membership`](crate::shared::Shared::membership) was when superblocks had all of it, as far as is known here.
    /// An opening writes them, so they have what it was then, which is 0.
    pub recorded_membership: Cell<u64>,
}
