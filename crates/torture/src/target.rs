//! What the clients of a run write to.

use cygnus_runtime::BufSlice;

use crate::failure::Inexcusable;

/// Why a request of a client failed, as far as the oracle cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// No space: fine for a write or write-zeroes where the run allows it.
    NoSpace,
    /// Blocks that cannot be read keep all room.
    Clogged,
    /// This block of the volume cannot be delivered.
    Unreadable(u64),
    /// The array waits for members, and the request does not.
    Suspended,
    /// Blocks were lost before they were durable.
    Lost,
    /// Anything else, in words.
    Other(String),
}

/// A volume with byte-granular requests. Clones lead to the same volume.
pub(crate) trait Target: Clone + 'static {
    async fn read(&self, offset: u64, buf: BufSlice) -> Result<BufSlice, RequestError>;
    async fn write(&self, offset: u64, buf: BufSlice, fua: bool) -> Result<(), RequestError>;
    async fn write_zeroes(&self, offset: u64, len: u64, fua: bool) -> Result<(), RequestError>;
    async fn trim(&self, offset: u64, len: u64) -> Result<(), RequestError>;
    async fn flush(&self) -> Result<(), RequestError>;

    /// Whether a block may be unreadable, because it has lost more than the redundancy covers; else the reason why not.
    async fn excuse(&self, block: u64) -> Result<(), Inexcusable> {
        Err(Inexcusable::Never { block })
    }
}
