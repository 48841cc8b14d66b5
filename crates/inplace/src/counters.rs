//! What an array and its devices have done.

/// What an array has done, in blocks of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Written by clients.
    pub written: u64,
    /// Written to devices, data and parity.
    pub device_written: u64,
    /// Read from devices in order to renew parity.
    pub read_for_parity: u64,
    /// Stripes, or parts of them, whose parity needed no reads.
    pub full: u64,
    /// Renewed by read-modify-write.
    pub read_modify: u64,
    /// Renewed by reconstruct-write.
    pub reconstruct: u64,
    /// Blocks of clients' reads that came from parity.
    pub reconstructed: u64,
}

/// What was done with a device, in bytes and requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTraffic {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Reads that failed.
    pub read_errors: u64,
    /// Writes and flushes that failed.
    pub write_errors: u64,
    /// Blocks that it could not read and that were written anew.
    pub mended: u64,
    /// Times that one of its blocks could not be read, and not be made from the others.
    pub lost: u64,
}
