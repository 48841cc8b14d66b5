//! What a run knows: the story, the devices and what is true of them, the volumes, the session that is open.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use cygnus_runtime::{DeviceInfo, Rng};
use cygnus_sim::{Cluster, DiskId, World};
use cygnus_types::{GroupId, Nanos, SegmentId};

use crate::array::{Array, VolumeHandle};
use crate::client::{Client, Shared};
use crate::failure::{RunFailure, Trouble};
use crate::journal;
use crate::kept::{Kept, Places};
use crate::members::Members;
use crate::patience::run_with_patience;
use crate::plant::Plant;
use crate::story::Story;
use crate::tally::Tally;
use crate::truth::Truth;

/// A volume as the run knows it.
#[derive(Clone, Debug)]
pub(super) struct Volume {
    pub(super) name: String,
    /// The oracle's number.
    pub(super) number: u32,
    pub(super) size: u64,
}

/// A change of a volume under way: after a power cut it has happened or not.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Create(Volume),
    Delete(Volume),
    Resize(Volume, u64),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(volume) => write!(f, "making {} of {} bytes", volume.name, volume.size),
            Self::Delete(volume) => write!(f, "deleting {}", volume.name),
            Self::Resize(volume, size) => write!(f, "resizing {} from {} to {size} bytes", volume.name, volume.size),
        }
    }
}

/// How long the engine waits for a device: devices hang for less and for more than that.
const HUNG_AFTER: Nanos = Nanos::secs(1);

pub(super) struct Run<'a> {
    pub(super) story: &'a Story,
    /// For what a story does not say: the order in which devices are given, which bits of ruined blocks flip.
    pub(super) rng: Rng,
    pub(super) world: World,
    pub(super) members: Members,
    pub(super) truth: Truth,
    pub(super) shared: Rc<Shared>,
    pub(super) volumes: Vec<Volume>,
    /// The change of a volume that was under way when the power went.
    pub(super) unsettled: Option<Change>,
    /// Whether blocks lost more columns than the parity covers.
    pub(super) ruined: bool,
    /// An opening was refused, and rightly so.
    pub(super) is_refused: bool,
    /// Segments with torn stripes in which an opening that had no room left blocks.
    pub(super) torn_segments: BTreeSet<(GroupId, SegmentId)>,
    /// More has rotted than is promised to be borne; and the power cuts of the opening by force that comes of it.
    pub(super) beyond: Option<Vec<u64>>,
    /// What outlasts a process that is killed, if the story has that.
    pub(super) machine: Option<Places>,
    /// Before the next opening more is lost than is promised to be borne.
    pub(super) is_doomed: bool,
    /// Members that were in service when the last session ended.
    pub(super) were_online: BTreeSet<usize>,
    pub(super) tally: Tally,
}

/// A cluster with the array open on it.
pub(super) struct Session {
    pub(super) cluster: Cluster,
    pub(super) array: Array,
    /// All that the opening was given.
    pub(super) devices: Vec<DeviceInfo>,
}

impl<'a> Run<'a> {
    pub(super) fn new(story: &'a Story, plant: Plant) -> Self {
        let mut rng = Rng::new(story.world);
        let world = World::new(rng.next_u64());
        let members = Members::new(&world, &story.shape);
        let truth = Truth::new(world.clone(), members.disks());
        members.disks().iter().for_each(|&disk| plant.into_disk(&world, disk));
        if story.shape.spares > 0 {
            (0..story.shape.devices()).for_each(|device| truth.is_filled_from_now_on(device));
        }
        Self {
            story,
            rng,
            world,
            members,
            truth,
            shared: Rc::new(Shared::default()),
            volumes: Vec::new(),
            unsettled: None,
            ruined: false,
            is_refused: false,
            torn_segments: BTreeSet::new(),
            beyond: None,
            machine: story.shape.keeps.then(Places::default),
            is_doomed: false,
            were_online: (0..story.shape.members()).collect(),
            tally: Tally::default(),
        }
    }

    pub(super) fn cluster(&self, disks: &[DiskId]) -> Cluster {
        let reactors = self.story.shape.reactors;
        let cluster = Cluster::new(&self.world, reactors, disks);
        (0..reactors).for_each(|n| cluster.reactor(n.into()).set_patience(HUNG_AFTER));
        cluster
    }

    /// Who keeps what a killed process had acknowledged, from one process to the next.
    pub(super) fn kept(&self) -> Kept {
        self.machine.as_ref().map_or(Kept::default(), Places::of_next)
    }

    /// The machine was without power.
    pub(super) fn machine_went_down(&self) {
        self.machine.iter().for_each(Places::go_down);
    }

    pub(super) fn client(
        &self,
        session: &Session,
        volume: &Volume,
        reactor: usize,
    ) -> Result<Client<VolumeHandle>, RunFailure> {
        Ok(Client {
            rt: session.cluster.reactor(reactor).clone(),
            target: session.array.volume(reactor, &volume.name, &self.truth)?,
            shared: self.shared.clone(),
            volume: volume.number,
            size: volume.size,
            heard: Cell::new(self.shared.oracle.borrow().now()),
        })
    }

    /// Runs the cluster until `main` is done; a client's complaint, a stall or a long silence is a failure.
    pub(super) fn wait<T: 'static>(
        &self,
        session: &Session,
        main: impl Future<Output = T> + 'static,
    ) -> Result<T, Trouble> {
        let shared = self.shared.clone();
        let result = run_with_patience(&session.cluster, move || shared.answered(), main);
        let failure = self.shared.failure.borrow().clone();
        if failure.is_some() || matches!(result, Err(Trouble::Failure(_))) {
            journal::tell(format!("{} {}", self.world.now(), session.array.describe()));
        }
        failure.map_or(result, |failure| Err(Trouble::Failure(failure)))
    }
}
