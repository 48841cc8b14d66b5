//! One type for all modelled devices, and the configuration that builds it.

use cygnus_types::Nanos;
use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, SsdConfig};
use crate::counters::Counters;
use crate::device::{Command, Device, Done, Features, Precondition, Zone};
use crate::disk::Disk;
use crate::disk::config::{DiskConfig, Recording};
use crate::state::Ssd;

/// The construction of a device of any kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "there are as many as kinds of drives in a scenario")]
pub enum ModelConfig {
    /// A drive of flash.
    Ssd(SsdConfig),
    /// A disk.
    Disk(DiskConfig),
}

impl ModelConfig {
    /// Capacity in bytes.
    pub fn capacity(&self) -> u64 {
        match self {
            ModelConfig::Ssd(config) => config.capacity,
            ModelConfig::Disk(config) => config.capacity,
        }
    }

    /// The construction of the drive of flash, if it is one.
    pub fn ssd(self) -> Option<SsdConfig> {
        match self {
            ModelConfig::Ssd(config) => Some(config),
            ModelConfig::Disk(_) => None,
        }
    }

    /// Commands the device takes at a time.
    pub fn queue_depth(&self) -> u32 {
        match self {
            ModelConfig::Ssd(config) => config.host.queue_depth,
            ModelConfig::Disk(config) => config.host.queue_depth,
        }
    }

    /// Whether the device is to be written in order, in zones.
    pub fn is_zoned(&self) -> bool {
        match self {
            ModelConfig::Ssd(config) => config.zone_layout().is_some(),
            ModelConfig::Disk(config) => matches!(config.recording, Recording::HostManaged { .. }),
        }
    }

    /// Size of the SLC buffer in bytes; 0 if there is none.
    pub fn slc_bytes(&self) -> u64 {
        match self {
            ModelConfig::Ssd(config) => config.slc.as_ref().map_or(0, |slc| slc.bytes),
            ModelConfig::Disk(_) => 0,
        }
    }

    /// Checks it without building anything.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            ModelConfig::Ssd(config) => config.validate(),
            ModelConfig::Disk(config) => config.validate(),
        }
    }

    /// The same device made smaller (see [`SsdConfig::scaled_down`]).
    pub fn scaled_down(&self, divisor: f64) -> ModelConfig {
        match self {
            ModelConfig::Ssd(config) => ModelConfig::Ssd(config.scaled_down(divisor)),
            ModelConfig::Disk(config) => ModelConfig::Disk(config.scaled_down(divisor)),
        }
    }
}

impl From<DiskConfig> for ModelConfig {
    fn from(config: DiskConfig) -> ModelConfig {
        ModelConfig::Disk(config)
    }
}

impl From<SsdConfig> for ModelConfig {
    fn from(config: SsdConfig) -> ModelConfig {
        ModelConfig::Ssd(config)
    }
}

/// Of bare flash: over the channel and over the link, each rounded up to the least time there is.
const TRANSFERS: Nanos = Nanos(2);

/// A device of any kind. Clone it to keep a snapshot.
#[derive(Clone, Debug)]
pub enum Model {
    /// A drive of flash.
    Ssd(Box<Ssd>),
    /// A disk.
    Disk(Box<Disk>),
}

impl Model {
    /// A new, empty device.
    pub fn new(config: ModelConfig) -> Result<Model, ConfigError> {
        match config {
            ModelConfig::Ssd(config) => Ssd::new(config).map(|ssd| Model::Ssd(Box::new(ssd))),
            ModelConfig::Disk(config) => Disk::new(config).map(|disk| Model::Disk(Box::new(disk))),
        }
    }

    /// Time that a lonely read spends in the flash, or a lonely write until it is taken, of flash without a bus of its own
    /// ([`SsdConfig::bare`]); anything longer waits for other commands. `None` of a disk, which has no such time.
    pub fn working_times(&self) -> Option<(Nanos, Nanos)> {
        let Model::Ssd(ssd) = self else { return None };
        let config = ssd.config();
        Some((config.controller + config.flash.t_read + TRANSFERS, config.controller + TRANSFERS))
    }

    /// Bytes of host memory that its state takes.
    pub fn memory(&self) -> u64 {
        match self {
            Model::Ssd(ssd) => ssd.memory().0,
            Model::Disk(disk) => disk.memory(),
        }
    }

    /// Smallest and greatest erase count of any flash block; zeros if there are none.
    pub fn wear(&self) -> (u32, u32) {
        match self {
            Model::Ssd(ssd) => ssd.wear(),
            Model::Disk(_) => (0, 0),
        }
    }

    fn device(&self) -> &dyn Device {
        match self {
            Model::Ssd(ssd) => &**ssd,
            Model::Disk(disk) => &**disk,
        }
    }

    fn device_mut(&mut self) -> &mut dyn Device {
        match self {
            Model::Ssd(ssd) => &mut **ssd,
            Model::Disk(disk) => &mut **disk,
        }
    }
}

impl Device for Model {
    fn submit(&mut self, now: Nanos, id: u64, command: Command) {
        self.device_mut().submit(now, id, command);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.device().next_event()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Done>) {
        self.device_mut().advance(now, done);
    }

    fn now(&self) -> Nanos {
        self.device().now()
    }

    fn blocks(&self) -> u64 {
        self.device().blocks()
    }

    fn features(&self) -> Features {
        self.device().features()
    }

    fn counters(&self) -> &Counters {
        self.device().counters()
    }

    fn reset_counters(&mut self) {
        self.device_mut().reset_counters();
    }

    fn outstanding(&self) -> u32 {
        self.device().outstanding()
    }

    fn precondition(&mut self, how: Precondition) {
        self.device_mut().precondition(how);
    }

    fn power_cut(&mut self) -> Vec<u64> {
        self.device_mut().power_cut()
    }

    fn zone(&self, zone: u32) -> Option<Zone> {
        self.device().zone(zone)
    }

    fn events(&self) -> u64 {
        self.device().events()
    }

    fn check(&self) {
        self.device().check();
    }
}
