//! A world with an array in it.

use std::rc::Rc;

use cygnus_fabric::Topology;
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_sim::{Cluster, DiskConfig, DiskId, World};
use cygnus_types::{Nanos, ReactorId};

use crate::drive::{DevicesSection, Drive};
use crate::error::Stop;
use crate::fabric::Modules;
use crate::scenario::{ArraySection, CpuSection, Scenario, drive_name};
use crate::store::Store;

/// What a drive is: the section that describes it, and what that comes to.
#[derive(Clone, Copy)]
pub(crate) struct Kind<'a> {
    pub drive: &'a Drive,
    pub section: &'a DevicesSection,
}

/// Drives, and the cores that see them.
pub(crate) struct Bench {
    pub world: World,
    pub cores: Cluster,
    pub disks: Vec<DiskId>,
    pub infos: Vec<DeviceInfo>,
    /// What a page takes in a module of the fabric, if there is one and the first drive's model says.
    pub sense: Option<Nanos>,
}

impl Bench {
    /// Drives for an array behind a fabric, if there is one, and the array's cores.
    pub fn new(drives: &[Kind<'_>], seed: u64, cpu: Option<&CpuSection>, fabric: Option<&Topology>) -> Self {
        let world = World::new(seed);
        let plug_in = |(n, kind): (usize, &Kind<'_>)| {
            let drive = if fabric.is_some() { &kind.drive.clone().bare() } else { kind.drive };
            let (size, model) = kind.section.build(drive, n, seed);
            world.add_blank(DiskConfig::new(drive_name(n), size), model)
        };
        let disks: Vec<DiskId> = drives.iter().enumerate().map(plug_in).collect();
        if let Some(topology) = fabric {
            world.attach(topology.clone(), &disks);
        }
        let cores = Cluster::on_cores(&world, cpu.map_or(1, |cpu| cpu.cores), &disks, cpu.map(CpuSection::model));
        let infos = world.infos(&disks);
        let sense = fabric.and_then(|_| drives.first()?.drive.sense());
        Self { world, cores, disks, infos, sense }
    }
}

/// One of the array's cores, as its clients see it.
pub(crate) struct Seat {
    pub reactor: ReactorId,
    pub rt: Runtime,
    pub store: Store,
}

/// An open array with its volumes.
pub(crate) struct Testbed {
    pub world: World,
    pub disks: Vec<DiskId>,
    /// One for each core; the first is the array's home.
    pub seats: Vec<Rc<Seat>>,
    /// Charged to the core for each request of a client.
    pub per_request: Nanos,
}

impl Testbed {
    /// Makes the array and its volumes as the scenario says.
    pub async fn set_up(bench: &Bench, scenario: &Scenario, section: &ArraySection) -> Result<Self, Stop> {
        let Bench { world, cores, disks, infos, sense } = bench;
        let network = scenario.network.as_ref();
        let modules = network.map(|network| Modules { topology: &network.topology, sense: *sense });
        let stores = Store::make(cores, infos, section, modules.as_ref(), &scenario.spec.volume).await?;
        let seat = |(n, store)| Rc::new(Seat { reactor: ReactorId(n as u16), rt: cores.reactor(n).clone(), store });
        let seats = stores.into_iter().enumerate().map(seat).collect();
        let (world, disks) = (world.clone(), disks.clone());
        let per_request = scenario.spec.cpu.as_ref().map_or(Nanos::ZERO, |cpu| cpu.as_ref().request.0);
        Ok(Self { world, disks, seats, per_request })
    }

    /// The array's home.
    pub fn home(&self) -> &Seat {
        &self.seats[0]
    }
}
