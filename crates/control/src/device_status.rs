//! What a member looks like from outside: its state, what was done with it, how it keeps pace, and what went wrong.

use cygnus_types::{GroupId, MemberIx};
use serde::{Deserialize, Serialize};

/// Whether a member takes part in reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceState {
    /// In service: it has all that it should have, and is read and written.
    Online,
    /// It was away when the array was written to, or is away now.
    Missing,
    /// Its medium is not to be believed, or it is too short; another device has to take its place.
    Failed,
    /// Gets all writes, while what it lacks is being restored.
    Rebuilding,
}

impl DeviceState {
    /// The word shown to people, the same as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Missing => "missing",
            Self::Failed => "failed",
            Self::Rebuilding => "rebuilding",
        }
    }
}

/// What a member has for a path when nobody remembers where it was: the state directory is new, and it was not found.
pub const PLACE_UNKNOWN: &str = "unknown";

/// One member of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceStatus {
    /// Its number over all R-groups, from 0; those of a group follow one another.
    pub index: u32,
    /// Number of the R-group that it belongs to, from 0.
    pub group: u32,
    /// Where it is, or was last seen.
    pub path: String,
    /// Whether it takes part in reads and writes.
    pub state: DeviceState,
    /// What it did not do, in words: why it is missing, or in trouble.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// For how long it has owed an answer, in milliseconds, if that is a tenth of what it is given or more; as the first
    /// reactor sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_to_answer_millis: Option<u64>,
    /// What its device is and what it can do; absent while the array is stopped or the member is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<DeviceCapabilities>,
    /// How far its zones are written; absent of a device that is written anywhere, while the array is stopped, and while the member is
    /// away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<DeviceZones>,
    /// The spare that is being filled to take over from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
    /// Its size in bytes; 0 when missing.
    pub size_bytes: u64,
    /// What was done with it since the array was opened.
    pub io: DeviceCounters,
    /// Bytes per second over the last second.
    pub rates: DeviceRates,
    /// How it keeps pace; absent while the array is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<DevicePace>,
    /// What went wrong with it since it joined the array.
    #[serde(default)]
    pub lifetime: LifetimeErrors,
    /// Why it should be replaced although it works, if it should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<String>,
}

impl DeviceStatus {
    /// One of which no more is known than this.
    pub fn bare(member: MemberIx, group: GroupId, path: String, state: DeviceState) -> Self {
        Self {
            index: member.0.into(),
            group: group.0.into(),
            path,
            state,
            trouble: None,
            slow_to_answer_millis: None,
            capabilities: None,
            zones: None,
            successor: None,
            size_bytes: 0,
            io: DeviceCounters::default(),
            rates: DeviceRates::default(),
            pace: None,
            lifetime: LifetimeErrors::default(),
            suspect: None,
        }
    }

    /// Whether somebody should look at it although it works: it should be replaced, or others wait for it. Lags at writing and flushing do
    /// not count: they are of what was written last, be that long ago, and nobody need be called for that.
    pub fn is_doubtful(&self) -> bool {
        self.suspect.is_some() || self.slow_to_answer_millis.is_some() || self.pace.is_some_and(|pace| pace.slow)
    }

    /// Where it is, or was last seen; `None` if nobody remembers.
    pub fn place(&self) -> Option<&str> {
        (self.path != PLACE_UNKNOWN).then_some(&self.path)
    }

    /// Whether it is missing by record, but its device is here again. Of an array that is not served.
    pub fn is_back(&self) -> bool {
        self.state == DeviceState::Missing && self.size_bytes > 0
    }
}

/// What a device is and what it can do, as the system says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCapabilities {
    /// `flash`, `disk`, `remote` (beyond a network), `memory` or `unknown`.
    pub class: String,
    /// Whether discarding gives space back: to the drive's own cleaning, or to the file system.
    pub trims: bool,
    /// Whether it computes parity inside.
    #[serde(default)]
    pub converts: bool,
    /// Most bytes that it stores beside each block; 0: none.
    #[serde(default)]
    pub oob_bytes: u16,
    /// Bytes of a zone, of a device that is written in order; else 0.
    #[serde(default)]
    pub zone_bytes: u64,
}

/// How far the zones of a device are written in which segments lie, as the server knows without asking the device: it has asked about
/// those that were read or written since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceZones {
    /// Zones of which nothing is written.
    pub empty: u32,
    /// Zones that are written up to somewhere before their end.
    pub partly_written: u32,
    /// Zones that are full, or were finished and count as full.
    pub full: u32,
    /// Zones that nobody has read or written since the server began, which may be any of these.
    pub not_asked: u32,
}

/// What went wrong with a device since it joined the array; 255 stands for that many or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifetimeErrors {
    /// Reads that it answered with an error.
    pub read: u8,
    /// Blocks that were not what had been written.
    pub wrong: u8,
    /// Times that it became far slower than its peers.
    pub slow: u8,
}

/// How a member keeps pace, as the first reactor sees it. Microseconds; 0 before enough is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicePace {
    /// Whether reads leave it alone because it is slow.
    pub slow: bool,
    /// Running mean of what reads of it took, in microseconds; recent reads count most.
    pub read_mean_us: u64,
    /// What 99 of 100 of its last few thousand reads did not exceed.
    pub read_p99_us: u64,
    /// What 99 of 100 of its last few thousand writes did not exceed, in microseconds.
    pub write_p99_us: u64,
    /// Microseconds after which a read of it is late, and is reconstructed from the other columns.
    pub late_after_us: u64,
    /// How long its writes take, and those of its peers; absent unless its own take several times as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_lag: Option<Lag>,
    /// How long its flushes take, and those of its peers; absent unless its own take several times as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_lag: Option<Lag>,
}

/// What 99 of 100 did not exceed: of a member, and of its typical peer in the R-group. Microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lag {
    /// 99th percentile of the member itself, in microseconds.
    pub p99_us: u64,
    /// 99th percentile of the typical other member of its R-group, in microseconds.
    pub peers_p99_us: u64,
}

/// A device that belongs to the array and takes the place of a member that is lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpareStatus {
    /// Its identity, as 32 hexadecimal digits with dashes.
    pub uuid: String,
    /// Where it is; absent when it was not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Capacity of the device in bytes.
    pub size_bytes: u64,
}

/// Counters of one device. They begin at 0 when the array is opened, or the device takes another one's place, and only
/// grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Bytes read from it for clients.
    pub read_bytes: u64,
    /// Bytes read from it by cleaning, to move what is live.
    pub cleaning_read_bytes: u64,
    /// Bytes that the array wrote to it, for whatever purpose.
    pub written_bytes: u64,
    /// Bytes that it was told to discard, as nothing in them is needed.
    pub trimmed_bytes: u64,
    /// Bytes read from it by scrubs, to verify them.
    #[serde(default)]
    pub scrub_read_bytes: u64,
    /// Requests that it answered with an error: `read_errors` and `write_errors` together.
    pub errors: u64,
    /// Reads that it answered with an error.
    #[serde(default)]
    pub read_errors: u64,
    /// Writes and flushes that it answered with an error.
    #[serde(default)]
    pub write_errors: u64,
    /// Blocks of data and copies of headers that were not what had been written.
    pub checksum_errors: u64,
    /// Parity blocks that were not what their row gives.
    #[serde(default)]
    pub parity_errors: u64,
    /// Blocks of it that were rebuilt and written anew elsewhere.
    #[serde(default)]
    pub repaired: u64,
    /// Times that one of its blocks was asked for and could not be rebuilt.
    #[serde(default)]
    pub unrepairable: u64,
}

/// What was read from one device and written to it over the last second, in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceRates {
    /// Bytes per second read for clients.
    pub read: f64,
    /// Bytes per second read by cleaning.
    pub cleaning_read: f64,
    /// Bytes per second written.
    pub written: f64,
}
