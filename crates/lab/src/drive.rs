//! The drives of a scenario: how the file describes them, and building them.

use cygnus_sim::ShapeError;
use cygnus_ssd::{ConfigError, Device, DeviceSpec, Model, ModelConfig, SpecError};
use cygnus_types::{BLOCK, Nanos};
use cygnus_workload::{Percent, Size};
use serde::Deserialize;

use crate::unequal::{Unequal, WrongUnequal};

/// The name of a drive that has no flash: it takes a few microseconds for everything.
const NULL: &str = "null";

/// The drives, all alike unless `unequal` says how they differ; each array gets as many new ones as it takes. They are described as by [`DeviceSpec`], whose
/// fields stand here themselves, because a flattened struct could not say which line of a file is wrong.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DevicesSection {
    preset: Option<String>,
    construction: Option<ModelConfig>,
    scale: Option<f64>,
    capacity: Option<Size>,
    #[serde(rename = "override")]
    overrides: Option<serde_json::Value>,
    /// What the drives went through before the array was made.
    #[serde(default)]
    precondition: Precondition,
    /// How much of each drive it left full; all of it if not given.
    precondition_share: Option<Percent>,
    /// How drives of one make differ; not at all if not given.
    unequal: Option<Unequal>,
}

/// What drives went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Precondition {
    /// Nothing: trimmed.
    #[default]
    None,
    /// One sequential pass.
    Sequential,
    /// Random writes for ever, computed rather than waited for.
    Random,
}

/// What is wrong with described drives, and the remedy; the error that it becomes part of has file and line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WrongDrive {
    /// A drive without flash has no size of its own.
    #[error("a null drive needs a capacity of its own, such as capacity = \"8GiB\"")]
    NullCapacity,
    /// The description is none.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Drives cannot differ as they should.
    #[error(transparent)]
    Unequal(#[from] WrongUnequal),
    /// What is written in order cannot have been filled at random.
    #[error("precondition: a drive that is written in order begins with empty zones; leave it out")]
    ZonesPreconditioned,
    /// The drive cannot be built.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An array cannot have such zones.
    #[error(transparent)]
    Zones(#[from] ShapeError),
}

/// A drive that can be built.
#[derive(Clone, Debug)]
pub(crate) enum Drive {
    /// A modelled one.
    Modelled(Box<ModelConfig>),
    /// A drive without flash, of this number of bytes.
    Null(u64),
}

impl DevicesSection {
    /// How much of a drive went through its preconditioning.
    fn share(&self) -> f64 {
        self.precondition_share.map_or(1.0, Percent::share)
    }

    /// What to call them in results.
    pub fn name(&self) -> &str {
        self.preset.as_deref().unwrap_or("described")
    }

    /// The drive that is meant, checked.
    ///
    /// # Errors
    /// What is wrong, and the remedy.
    pub fn drive(&self) -> Result<Drive, WrongDrive> {
        if self.preset.as_deref() == Some(NULL) {
            return match self.capacity {
                Some(size) if size.0 >= BLOCK as u64 => Ok(Drive::Null(size.0 / BLOCK as u64 * BLOCK as u64)),
                _ => Err(WrongDrive::NullCapacity),
            };
        }
        let spec = DeviceSpec {
            preset: self.preset.clone(),
            construction: self.construction.clone(),
            scale: self.scale,
            capacity: self.capacity.map(|size| size.0),
            overrides: self.overrides.clone(),
        };
        let config = spec.resolve()?;
        if let Some(unequal) = &self.unequal {
            unequal.check(&config)?;
        }
        self.check_zones(&config)?;
        Ok(Drive::Modelled(Box::new(config)))
    }

    /// That an array can have the drive as a member, if it is to be written in order.
    fn check_zones(&self, config: &ModelConfig) -> Result<(), WrongDrive> {
        if !config.is_zoned() {
            return Ok(());
        }
        if self.precondition != Precondition::None {
            return Err(WrongDrive::ZonesPreconditioned);
        }
        Ok(cygnus_sim::check_zones(&Model::new(config.clone())?)?)
    }

    /// The drive number `n` of an array, of which the drive described is the best one, in its state at the beginning.
    pub fn build(&self, best: &Drive, n: usize, seed: u64) -> (u64, Option<Model>) {
        let (mut drive, mut share) = (best.clone(), self.share());
        if let (Some(unequal), Drive::Modelled(config)) = (&self.unequal, &mut drive) {
            share *= unequal.apply(config, n, seed);
        }
        drive.build(self.precondition, share, seed.wrapping_add(n as u64))
    }
}

impl Drive {
    /// Whether it is a modelled drive of flash.
    pub fn is_flash(&self) -> bool {
        matches!(self, Drive::Modelled(config) if matches!(**config, ModelConfig::Ssd(_)))
    }

    /// What reading a page takes in the flash alone, of a modelled drive of flash.
    pub fn sense(&self) -> Option<Nanos> {
        match self {
            Drive::Modelled(config) => match &**config {
                ModelConfig::Ssd(config) => Some(config.flash.t_read),
                ModelConfig::Disk(_) => None,
            },
            Drive::Null(_) => None,
        }
    }

    /// The same behind a fabric, which has its bus and its link.
    pub fn bare(self) -> Self {
        match self {
            Drive::Modelled(config) => Drive::Modelled(Box::new(match *config {
                ModelConfig::Ssd(config) => ModelConfig::Ssd(config.bare()),
                config @ ModelConfig::Disk(_) => config,
            })),
            drive @ Drive::Null(_) => drive,
        }
    }

    /// A new drive of which this share went through this: its capacity in bytes, and its model if it has one.
    fn build(&self, precondition: Precondition, share: f64, seed: u64) -> (u64, Option<Model>) {
        let config = match self {
            Drive::Null(size) => return (*size, None),
            Drive::Modelled(config) => (**config).clone(),
        };
        let mut model = Model::new(config).expect("the scenario was checked");
        match precondition {
            Precondition::None => {}
            Precondition::Sequential => model.precondition(cygnus_ssd::Precondition::Sequential { share }),
            Precondition::Random => model.precondition(cygnus_ssd::Precondition::Random { share, seed }),
        }
        // What zones, bands and blocks leave of the capacity that the file asked for.
        (model.blocks() * BLOCK as u64, Some(model))
    }
}
