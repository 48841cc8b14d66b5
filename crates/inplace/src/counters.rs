//! What an array and its devices have done.

/// What an array has done, in blocks of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Blocks that clients wrote.
    pub written: u64,
    /// Blocks written to devices, data and parity.
    pub device_written: u64,
    /// Blocks read from devices in order to renew parity.
    pub read_for_parity: u64,
    /// Stripes, or parts of them, whose parity needed no reads.
    pub full: u64,
    /// Stripes, or parts of them, whose parity was renewed by read-modify-write.
    pub read_modify: u64,
    /// Stripes, or parts of them, whose parity was renewed by reconstruct-write.
    pub reconstruct: u64,
    /// Blocks of clients' reads that came from parity.
    pub reconstructed: u64,
}

/// What was done with a device, in bytes and requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTraffic {
    /// Bytes read from the device.
    pub read: u64,
    /// Bytes written to the device.
    pub written: u64,
    /// Reads that it answered with an error.
    pub read_errors: u64,
    /// Writes and flushes that it answered with an error.
    pub write_errors: u64,
    /// Blocks that it could not read and that were written anew.
    pub mended: u64,
    /// Times that one of its blocks could not be read, and not be made from the others.
    pub lost: u64,
}
