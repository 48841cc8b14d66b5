//! What can be wrong with a salvage.

use std::sync::Arc;

use cygnus_engine::ArrayError;

use crate::oracle::Violation;

/// A salvage says or brings what is not so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SalvageFault {
    /// With all devices there the array could not be opened to be read.
    #[error("opening before a salvage: {0}")]
    NotOpened(Arc<ArrayError>),
    /// It found no array where there is one.
    #[error("the salvage: {0}")]
    Refused(Arc<ArrayError>),
    /// A volume is not in it.
    #[error("the salvage has no volume {0}")]
    NoVolume(String),
    /// It brings what a block may not hold.
    #[error("in the salvage of {volume}: {violation}")]
    Read {
        /// Name.
        volume: String,
        /// What it brings.
        violation: Violation,
    },
    /// It gives up what is there.
    #[error("the salvage gives up block {block} of {volume}, which is not beyond redundancy")]
    GaveUp {
        /// Name.
        volume: String,
        /// Of the volume.
        block: u64,
    },
}
