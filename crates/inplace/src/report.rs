//! What opening an array found.

use cygnus_types::Nanos;

/// What opening found.
#[derive(Clone, Debug, Default)]
pub struct OpenReport {
    /// Whether the last session ended cleanly.
    pub was_clean: bool,
    /// Regions whose copies or parity are being made to fit again.
    pub stale_regions: usize,
    /// How long it took.
    pub took: Nanos,
    /// What should be known: members out of service, and the write hole if it was open.
    pub remarks: Vec<String>,
}
