//! What a modelled disk is made of.

use cygnus_types::{BLOCK, Nanos};
use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, Host};
use crate::units;

/// The construction of a disk. All sizes in bytes, all rates in bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskConfig {
    /// Name in messages and tables.
    pub name: String,
    /// Capacity seen by the host.
    #[serde(with = "units::size")]
    pub capacity: u64,
    /// How the disk is connected to the host.
    pub host: Host,
    /// Room in the volatile write buffer.
    #[serde(with = "units::size")]
    pub buffer: u64,
    /// Revolutions per minute.
    pub rpm: u32,
    /// Media rate of the outermost track, where the first block is.
    #[serde(with = "units::size")]
    pub outer_rate: u64,
    /// Media rate of the innermost track.
    #[serde(with = "units::size")]
    pub inner_rate: u64,
    /// Arm movement.
    pub seek: Seek,
    /// How tracks lie.
    pub recording: Recording,
}

/// A seek over the share `d` of all tracks takes `track + (full - track) * sqrt(d)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seek {
    /// Time of a seek to the next track.
    #[serde(with = "units::time")]
    pub track: Nanos,
    /// Time of a seek from the first track to the last.
    #[serde(with = "units::time")]
    pub full: Nanos,
    /// Time that a write needs besides, as it must be closer to the middle of its track.
    #[serde(with = "units::time")]
    pub settle: Nanos,
}

/// How tracks lie, and who cares for the consequences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Recording {
    /// Side by side.
    Conventional,
    /// Shingled; the host writes zones in sequence.
    HostManaged {
        /// Bytes of a zone.
        #[serde(with = "units::size")]
        zone: u64,
        /// Zones at the beginning that are conventional.
        conventional: u32,
        /// Sequential zones that may be open at a time; 0 for any number.
        open: u32,
    },
    /// Shingled; the disk hides it behind a persistent cache.
    DriveManaged(Shingles),
}

/// What a drive-managed shingled disk is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shingles {
    /// Size of a band, which can only be rewritten as a whole.
    #[serde(with = "units::size")]
    pub band: u64,
    /// Size of the persistent cache, a log on the outermost tracks.
    #[serde(with = "units::size")]
    pub persistent_cache: u64,
    /// Time that each entry of the log costs besides its transfer: its header and padding.
    #[serde(with = "units::time")]
    pub entry: Nanos,
    /// Bands are cleaned when the host has asked for nothing during this time.
    #[serde(with = "units::time")]
    pub idle: Nanos,
}

impl DiskConfig {
    /// The same disk made smaller, with a smaller persistent cache; zones and bands keep their size.
    pub fn scaled_down(&self, divisor: f64) -> DiskConfig {
        let scaled = |bytes: u64| (bytes as f64 / divisor) as u64 / BLOCK as u64 * BLOCK as u64;
        let mut small = DiskConfig { capacity: scaled(self.capacity), ..self.clone() };
        if let Recording::DriveManaged(shingles) = &mut small.recording {
            shingles.persistent_cache = scaled(shingles.persistent_cache);
        }
        small
    }

    /// Blocks per zone or band; 0 for a conventional disk.
    pub(crate) fn group(&self) -> u64 {
        match &self.recording {
            Recording::Conventional => 0,
            Recording::HostManaged { zone, .. } => zone / BLOCK as u64,
            Recording::DriveManaged(shingles) => shingles.band / BLOCK as u64,
        }
    }

    /// Capacity in blocks, whole zones or bands.
    pub(crate) fn blocks(&self) -> u64 {
        let blocks = self.capacity / BLOCK as u64;
        blocks - blocks % self.group().max(1)
    }

    /// Room of the write buffer in blocks.
    pub(crate) fn buffer_blocks(&self) -> u64 {
        self.buffer / BLOCK as u64
    }

    fn shingles(&self) -> Option<&Shingles> {
        match &self.recording {
            Recording::DriveManaged(shingles) => Some(shingles),
            _ => None,
        }
    }

    /// Blocks of the persistent cache.
    pub(crate) fn log_blocks(&self) -> u64 {
        self.shingles().map_or(0, |shingles| shingles.persistent_cache / BLOCK as u64)
    }

    /// Time that an entry of the log costs besides its transfer.
    pub(crate) fn log_entry_time(&self) -> Nanos {
        self.shingles().map_or(Nanos::ZERO, |shingles| shingles.entry)
    }

    /// Time without commands after which bands are rewritten, if there are any.
    pub(crate) fn idle_time(&self) -> Option<Nanos> {
        self.shingles().map(|shingles| shingles.idle)
    }

    /// Checks the configuration without building anything.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let block = BLOCK as u64;
        let mut required = vec![
            (self.blocks(), "capacity in whole zones or bands"),
            (u64::from(self.host.queue_depth), "queue depth"),
            (self.host.read_rate, "link read rate"),
            (self.host.write_rate, "link write rate"),
            (self.buffer_blocks(), "write buffer in blocks of 4096 bytes"),
            (u64::from(self.rpm), "rpm"),
            // A track holds at least a block.
            (self.inner_rate / u64::from(self.rpm.max(1)) * 60 / block, "inner media rate in blocks per revolution"),
            (self.outer_rate / self.inner_rate.max(1), "outer media rate as a multiple of the inner one"),
        ];
        match &self.recording {
            Recording::Conventional => {}
            Recording::HostManaged { zone, .. } => required.push((zone / block, "zone in blocks of 4096 bytes")),
            Recording::DriveManaged(shingles) => {
                required.push((shingles.band / block, "band in blocks of 4096 bytes"));
                // Any piece of the write buffer must fit.
                required.push((shingles.persistent_cache / shingles.band.max(1), "persistent cache in bands"));
            }
        }
        if let Some((_, what)) = required.into_iter().find(|(value, _)| *value == 0) {
            return Err(ConfigError::Zero { drive: self.name.clone(), what });
        }
        let group = u64::from(u32::MAX);
        if self.group() > group || self.blocks() > 1 << 36 {
            let what = "capacity, zone or band in blocks of 4096 bytes";
            return Err(ConfigError::TooLarge { drive: self.name.clone(), what, limit: group });
        }
        Ok(())
    }
}
