//! Why a workload cannot be built.

use crate::trace::TraceError;
use cygnus_types::ByteSize;

/// Why a workload cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A setting makes no sense, by itself or beside another one.
    #[error("workload \"{name}\": {what}")]
    Setting {
        /// The job or source.
        name: String,
        /// What is wrong, and the remedy.
        what: String,
    },
    /// It does not fit into the volume.
    #[error(
        "workload \"{name}\": needs {needs} of a volume of {volume}: make the volume larger or the workload smaller"
    )]
    Volume {
        /// The job or source.
        name: String,
        /// Bytes from the volume's start to the end of the footprint.
        needs: ByteSize,
        /// The volume's size.
        volume: ByteSize,
    },
    /// A trace cannot be used.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl WorkloadError {
    /// A setting that makes no sense.
    pub(crate) fn setting(name: &str, what: impl Into<String>) -> Self {
        Self::Setting { name: name.into(), what: what.into() }
    }
}
