//! Damage that happens by itself.

/// Seeded faults of one device. All zero or `None` by default: a perfect device.
#[derive(Clone, Debug, Default)]
pub struct FaultRates {
    /// Of a million blocks read, how many turn out unreadable (and stay so until written again).
    pub unreadable_per_million: u32,
    /// Of a million blocks written, how many are stored with one bit flipped, silently.
    pub flipped_per_million: u32,
    /// The device dies when it has taken this many operations.
    pub dies_after: Option<u64>,
}
