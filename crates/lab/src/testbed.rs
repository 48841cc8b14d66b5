//! A world with an array in it.

use std::sync::Arc;

use cygnus_engine::{Array, Log, OpenOptions, Volume, create};
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_sim::{CpuModel, DiskConfig, DiskId, World};
use cygnus_ssd::{Device, Model, ModelConfig};
use cygnus_types::{BLOCK, ByteSize, Nanos, ReactorId};

use crate::error::Stop;
use crate::scenario::{ArraySection, Precondition, Scenario, VolumeSize};

/// The array's only reactor.
pub(crate) const HERE: ReactorId = ReactorId(0);

/// The engine's log has no reader here: what an outcome needs to know of it is counted.
struct Silent;

impl Log for Silent {
    fn line(&self, _: &str) {}
}

/// Drives, a core and its runtime.
pub(crate) struct Bench {
    pub world: World,
    pub rt: Runtime,
    pub disks: Vec<DiskId>,
    pub infos: Vec<DeviceInfo>,
}

impl Bench {
    /// Drives for an array. `config` has been validated.
    pub fn new(
        config: &ModelConfig,
        precondition: Precondition,
        count: usize,
        seed: u64,
        cpu: Option<CpuModel>,
    ) -> Self {
        let world = World::new(seed);
        let plug_in = |n: usize| {
            let mut model = Model::new(config.clone()).expect("the scenario was checked");
            let seed = seed.wrapping_add(n as u64);
            match precondition {
                Precondition::None => {}
                Precondition::Sequential => model.precondition(cygnus_ssd::Precondition::Sequential { share: 1.0 }),
                Precondition::Random => model.precondition(cygnus_ssd::Precondition::Random { share: 1.0, seed }),
            }
            let size = model.blocks() * BLOCK as u64;
            world.add_blank(DiskConfig::new(format!("d{n}"), size), model)
        };
        let disks: Vec<DiskId> = (0..count).map(plug_in).collect();
        let rt = world.blank_reactor(HERE, &disks, cpu);
        let infos = world.infos(&disks);
        Self { world, rt, disks, infos }
    }
}

/// An open array with one volume on it.
pub(crate) struct Testbed {
    pub world: World,
    pub rt: Runtime,
    pub disks: Vec<DiskId>,
    pub array: Array,
    pub volume: Volume,
    /// Charged to the core for each request of a client.
    pub per_request: Nanos,
}

impl Testbed {
    /// Makes the array and its volume as the scenario says.
    pub async fn set_up(bench: &Bench, scenario: &Scenario, section: &ArraySection) -> Result<Self, Stop> {
        let Bench { world, rt, disks, infos } = bench;
        create(rt, infos, &section.options()).await?;
        let open = OpenOptions { array: None, reactors: 1, read_only: false, log: Arc::new(Silent) };
        let array = Array::open(rt, infos, &open).await?;
        let raw: u64 = infos.iter().map(|info| info.size).sum();
        let (k, width) = section.data_share();
        let size = volume_size(scenario.spec.volume.size, array.status().usable, ByteSize(raw / width * k))?;
        let volume = array.create_volume("volume", size, 0).await?;
        let (world, rt, disks) = (world.clone(), rt.clone(), disks.clone());
        let per_request = scenario.spec.cpu.map_or(Nanos::ZERO, |cpu| cpu.request.0);
        Ok(Self { world, rt, disks, array, volume, per_request })
    }
}

fn volume_size(wanted: VolumeSize, usable: ByteSize, raw: ByteSize) -> Result<ByteSize, Stop> {
    let share = |percent: f64, of: u64| (of as f64 * percent / 100.0) as u64;
    let bytes = match wanted {
        VolumeSize::OfUsable(percent) => share(percent.0, usable.0),
        VolumeSize::OfRaw(percent) => share(percent.0, raw.0),
        VolumeSize::Bytes(bytes) => bytes,
    };
    let size = ByteSize(bytes / BLOCK as u64 * BLOCK as u64);
    if size.0 > usable.0 {
        let why = format!("a volume of {size} does not fit: the array offers {usable}; make it smaller, or use less");
        return Err(Stop::VolumeSize(why + " over-provisioning"));
    }
    Ok(size)
}
