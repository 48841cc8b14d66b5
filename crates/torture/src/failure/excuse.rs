//! Why damage does not excuse an error.

/// Why a block should be readable, though it is not: a clause behind the error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inexcusable {
    /// All that the client had been answered is durable, or other members have it.
    #[error("and all is durable, or could have been had from the other members")]
    AllIsDurable,
    /// Members were only away for a while.
    #[error("and nothing was lost")]
    NothingLost,
    /// What is written to has no devices.
    #[error("and nothing excuses that for block {block}")]
    Never {
        /// Of the volume.
        block: u64,
    },
    /// The map has nothing for it, so it holds zeros.
    #[error("and block {block} is not mapped")]
    NotMapped {
        /// Of the volume.
        block: u64,
    },
    /// Its row has columns enough.
    #[error(
        "and block {block} at byte {offset} of d{device} has lost {gone} of {width} columns, of which the parity covers {parity}"
    )]
    Covered {
        /// Of the volume.
        block: u64,
        /// Where it is on its device.
        offset: u64,
        /// Which member has it.
        device: usize,
        /// Columns of its row that are not what was written.
        gone: usize,
        /// All columns of its row.
        width: usize,
        /// Columns that may be lost.
        parity: usize,
    },
}
