//! A world with an array in it.

use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_sim::{CpuModel, DiskConfig, DiskId, World};
use cygnus_ssd::{Device, Model, ModelConfig};
use cygnus_types::{BLOCK, Nanos, ReactorId};

use crate::error::Stop;
use crate::scenario::{ArraySection, Precondition, Scenario};
use crate::store::Store;

/// The array's only reactor.
pub(crate) const HERE: ReactorId = ReactorId(0);

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
    pub store: Store,
    /// Charged to the core for each request of a client.
    pub per_request: Nanos,
}

impl Testbed {
    /// Makes the array and its volume as the scenario says.
    pub async fn set_up(bench: &Bench, scenario: &Scenario, section: &ArraySection) -> Result<Self, Stop> {
        let Bench { world, rt, disks, infos } = bench;
        let store = Store::make(rt, infos, section, scenario.spec.volume.size).await?;
        let (world, rt, disks) = (world.clone(), rt.clone(), disks.clone());
        let per_request = scenario.spec.cpu.map_or(Nanos::ZERO, |cpu| cpu.request.0);
        Ok(Self { world, rt, disks, store, per_request })
    }
}
