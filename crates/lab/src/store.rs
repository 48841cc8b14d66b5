//! What clients write to: the volumes of a log-structured array, one behind the other, or an array that updates in place.

use std::rc::Rc;
use std::sync::Arc;

use cygnus_engine::{Array, ArrayPeer, GroupRole, Log, OpenOptions, Volume, VolumeError, create, refuse_in_order};
use cygnus_inplace::{Raid, RaidError};
use cygnus_runtime::{BufSlice, DeviceInfo, Runtime};
use cygnus_sim::Cluster;
use cygnus_types::{BLOCK, ByteSize};
use cygnus_volume::Terms;

use crate::error::Stop;
use crate::fabric::Modules;
use crate::outcome::Moves;
use crate::scenario::{ArrayKind, ArraySection, VolumeSection, VolumeSize};

/// Longest request that crosses no end of a volume where others follow.
const LONGEST: u64 = 1 << 20;

/// Largest piece of zeros written at a time.
const ZEROS: u64 = 256 << 10;

/// The engine's log has no reader here: what an outcome needs to know of it is counted.
struct Silent;

impl Log for Silent {
    fn line(&self, _: &str) {}
}

/// See the module's text, as one core sees it. Cheap to clone.
#[derive(Clone)]
pub(crate) enum Store {
    Log { array: Array, volumes: Rc<[Part]> },
    InPlace { raid: Raid, rt: Runtime, size: u64, preset: &'static str, drives: usize },
}

/// A volume, and where its addresses begin in the space that clients see.
pub(crate) struct Part {
    begins: u64,
    volume: Volume,
}

/// Volumes, one behind the other.
fn parts(volumes: Vec<Volume>) -> Rc<[Part]> {
    let mut end = 0;
    let part = |volume: Volume| {
        let begins = end;
        end += volume.size();
        Part { begins, volume }
    };
    volumes.into_iter().map(part).collect()
}

/// The volume in which an address lies, and the address there. One behind the last volume's end is that volume's.
fn at(volumes: &[Part], offset: u64) -> (&Volume, u64) {
    let part = volumes.iter().rfind(|part| part.begins <= offset).expect("the first begins at 0");
    (&part.volume, offset - part.begins)
}

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Of a volume.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// Of an array that updates in place.
    #[error(transparent)]
    Raid(#[from] RaidError),
}

/// What the group that serves a read is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    FrontEnd,
    BackEnd,
    Cleaning,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::FrontEnd => "front-end",
            Role::BackEnd => "back-end",
            Role::Cleaning => "cleaning",
        }
    }
}

impl From<GroupRole> for Role {
    fn from(role: GroupRole) -> Self {
        match role {
            GroupRole::FrontEnd => Role::FrontEnd,
            GroupRole::BackEnd => Role::BackEnd,
            GroupRole::Cleaning => Role::Cleaning,
        }
    }
}

/// What the array did for its users and for itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    /// Blocks that users wrote.
    pub user_blocks: u64,
    /// Blocks that cleaning moved, and what it read for that from the devices in bytes.
    pub moved_blocks: u64,
    /// Blocks that moved out of the way of contention, if any may.
    pub rehomed_blocks: Option<u64>,
    pub cleaning_read_bytes: u64,
    /// Blocks of headers and checkpoints.
    pub metadata_blocks: u64,
    pub rotations: u64,
    pub victims: u64,
    /// Of these, in a second group that was cleaned beside the first one.
    pub victims_beside: u64,
    pub victim_live: u64,
    pub victim_capacity: u64,
}

/// How things stand at a moment.
pub(crate) struct Standing {
    pub free_segments: u64,
    /// Those that are full of data or being filled.
    pub data_segments: u64,
    pub front_end: Option<u64>,
    pub cleaning: Option<u64>,
    pub pressure_ns: u64,
    /// Group of each device, and what the group is doing.
    pub roles: Vec<(u64, &'static str)>,
}

impl Store {
    /// Makes an array of the devices as the section says, with a volume: what each core sees of it, the array's home
    /// first.
    pub async fn make(
        cores: &Cluster,
        devices: &[DeviceInfo],
        section: &ArraySection,
        modules: Option<&Modules<'_>>,
        wanted: &VolumeSection,
    ) -> Result<Vec<Self>, Stop> {
        let raw: u64 = devices.iter().map(|device| device.size).sum();
        let (k, width) = section.data_share();
        let data = ByteSize(raw / width * k);
        let rt = cores.reactor(0);
        match section.kind() {
            ArrayKind::Log(_) => {
                create(rt, devices, &section.options()).await?;
                let open = OpenOptions {
                    reactors: cores.len(),
                    autonomics: section.autonomics(raw),
                    one_group_at_a_time: section.cleans_one_group_at_a_time(),
                    copies_always: section.copies_always(),
                    postponed: section.postponed_stripes(),
                    links: section.shared_links(modules),
                    ..OpenOptions::new(Arc::new(Silent))
                };
                let array = Array::open(rt, devices, &open).await?;
                let peers = attach(&array, cores);
                let (usable, mut volumes) = (array.status().usable, Vec::new());
                let sizes = volume_sizes(wanted, usable, data)?;
                let name = |n: usize| format!("volume{n}");
                for (n, (volume, size)) in wanted.all().zip(&sizes).enumerate() {
                    volumes.push(array.create_volume_with(&name(n), *size, volume.options(), 0).await?);
                }
                let shared = |peer: &ArrayPeer| {
                    let volume = |n| peer.volume(&name(n)).expect("it was just made, and the map is shared");
                    (0..sizes.len()).map(volume).collect()
                };
                let others: Vec<Vec<Volume>> = peers.iter().map(shared).collect();
                let each = std::iter::once(volumes).chain(others);
                Ok(each.map(|volumes| Store::Log { array: array.clone(), volumes: parts(volumes) }).collect())
            }
            ArrayKind::InPlace(level) => {
                assert_eq!(cores.len(), 1, "checked when the scenario was read");
                refuse_in_order(rt, devices)?;
                let smallest = devices.iter().map(|device| device.size).min().unwrap_or(0);
                let layout = section.layout(level, smallest / BLOCK as u64).map_err(Stop::Layout)?;
                let indices: Vec<_> = devices.iter().map(|device| device.ix).collect();
                let raid = Raid::new(rt.clone(), &indices, 0, layout);
                let size = volume_sizes(wanted, ByteSize(raid.size()), data)?.iter().map(|size| size.0).sum();
                let (rt, preset, drives) = (rt.clone(), level.name(), devices.len());
                Ok(vec![Store::InPlace { raid, rt, size, preset, drives }])
            }
        }
    }

    /// Name of the policies.
    pub fn preset(&self) -> String {
        match self {
            Store::Log { array, .. } => array.status().preset,
            Store::InPlace { preset, .. } => (*preset).to_owned(),
        }
    }

    /// Size of all volumes in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Store::Log { volumes, .. } => volumes.iter().map(|part| part.volume.size()).sum(),
            Store::InPlace { size, .. } => *size,
        }
    }

    /// Memory of the map in bytes.
    pub fn map_bytes(&self) -> u64 {
        match self {
            Store::Log { array, .. } => array.map_bytes().0,
            Store::InPlace { .. } => 0,
        }
    }

    /// What the group that holds the block at `offset` is doing, where groups take turns; nothing if nobody wrote there.
    pub fn role_at(&self, offset: u64) -> Option<Role> {
        match self {
            Store::Log { array, volumes } => {
                let (volume, offset) = at(volumes, offset);
                array.role_at(volume, offset).map(Role::from)
            }
            Store::InPlace { .. } => None,
        }
    }

    /// What of it is read or written when a client asks for that range: arrays that update in place know whole blocks only, as md's
    /// parity levels do.
    pub fn covering(&self, offset: u64, len: u32) -> (u64, u32) {
        match self {
            Store::Log { .. } => (offset, len),
            Store::InPlace { .. } => {
                let begins = offset / BLOCK as u64 * BLOCK as u64;
                let ends = (offset + u64::from(len)).next_multiple_of(BLOCK as u64);
                (begins, (ends - begins) as u32)
            }
        }
    }

    /// Reads and forgets.
    pub async fn read(&self, offset: u64, into: BufSlice) -> Result<(), RequestError> {
        match self {
            Store::Log { volumes, .. } => {
                let (volume, offset) = at(volumes, offset);
                drop(volume.read(offset, into).await?);
            }
            Store::InPlace { raid, .. } => raid.read(offset, into).await?,
        }
        Ok(())
    }

    /// Says that a request for `offset` follows soon. Changes nothing but how long it takes to simulate that.
    pub fn announce(&self, offset: u64) {
        if let Store::Log { volumes, .. } = self {
            let (volume, offset) = at(volumes, offset);
            volume.announce(offset);
        }
    }

    /// Writes if that needs no waiting.
    pub fn try_write(&self, offset: u64, data: &[u8]) -> bool {
        match self {
            Store::Log { volumes, .. } => {
                let (volume, offset) = at(volumes, offset);
                volume.try_write(offset, data)
            }
            Store::InPlace { .. } => false,
        }
    }

    pub async fn write(&self, offset: u64, data: BufSlice) -> Result<(), RequestError> {
        match self {
            Store::Log { volumes, .. } => {
                let (volume, offset) = at(volumes, offset);
                volume.write(offset, data).await?;
            }
            Store::InPlace { raid, .. } => raid.write(offset, data).await?,
        }
        Ok(())
    }

    /// What a write at `offset` that comes now must wait for before it is answered.
    pub fn terms(&self, offset: u64) -> Option<Terms> {
        match self {
            Store::Log { volumes, .. } => at(volumes, offset).0.terms(),
            Store::InPlace { .. } => None,
        }
    }

    /// Waits for that, once the write was taken.
    pub async fn answerable(&self, offset: u64, terms: Terms) -> Result<(), RequestError> {
        match self {
            Store::Log { volumes, .. } => Ok(at(volumes, offset).0.answerable(terms).await?),
            Store::InPlace { .. } => Ok(()),
        }
    }

    /// Makes all durable: a flush of one volume does so with what others hold too.
    pub async fn flush(&self) -> Result<(), RequestError> {
        match self {
            Store::Log { volumes, .. } => volumes[0].volume.flush().await?,
            Store::InPlace { raid, .. } => raid.flush().await?,
        }
        Ok(())
    }

    /// Forgets a range. Arrays that update in place keep it, as md does on parity levels: a device's trimmed blocks need
    /// not read as anything in particular, and the parity would not fit.
    pub async fn trim(&self, offset: u64, len: u64) -> Result<(), RequestError> {
        match self {
            Store::Log { volumes, .. } => {
                let (volume, offset) = at(volumes, offset);
                Ok(volume.trim(offset, len).await?)
            }
            Store::InPlace { .. } => Ok(()),
        }
    }

    pub async fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), RequestError> {
        match self {
            Store::Log { volumes, .. } => {
                let (volume, offset) = at(volumes, offset);
                volume.write_zeroes(offset, len, false).await?;
            }
            Store::InPlace { raid, rt, .. } => {
                for at in (offset..offset + len).step_by(ZEROS as usize) {
                    let piece = (offset + len - at).min(ZEROS) as usize;
                    raid.write(at, blank(rt, piece)).await?;
                }
            }
        }
        Ok(())
    }

    /// Counters since the array was made.
    pub fn activity(&self) -> Activity {
        match self {
            Store::Log { array, .. } => {
                let traffic = array.traffic();
                Activity {
                    user_blocks: traffic.client_written,
                    moved_blocks: traffic.relocated,
                    rehomed_blocks: array.moves_data().then_some(traffic.rehomed),
                    cleaning_read_bytes: array.status().members.iter().map(|member| member.cleaning_read).sum(),
                    metadata_blocks: traffic.header_written + traffic.checkpoint_written,
                    rotations: traffic.rotations,
                    victims: traffic.victims,
                    victims_beside: traffic.victims_beside,
                    victim_live: traffic.victim_live,
                    victim_capacity: traffic.victim_capacity,
                }
            }
            Store::InPlace { raid, .. } => Activity { user_blocks: raid.counters().written, ..Activity::default() },
        }
    }

    /// What was decided about blocks that are in others' way, where data moves.
    pub fn moves(&self) -> Option<Moves> {
        let Store::Log { array, .. } = self else { return None };
        let status = array.status().autonomics?;
        let decisions = &status.decisions;
        Some(Moves {
            migrated: decisions.hot_cluster.moved(),
            reshaped: decisions.late.to_module + decisions.full_queue.to_module,
            expelled: decisions.late.to_cluster + decisions.full_queue.to_cluster,
            nowhere_cold: decisions.all(|of| of.nowhere_cold),
            no_sibling: decisions.all(|of| of.no_sibling),
            over_budget: decisions.all(|of| of.over_budget),
            resting: status.resting,
            no_room: status.no_room,
            too_many: status.too_many,
            read_to_move: status.read_to_move,
            read_around: status.read_around,
            steered: status.steered,
            left_early: status.left_early,
        })
    }

    /// How things stand now.
    pub fn standing(&self) -> Standing {
        match self {
            Store::Log { array, .. } => {
                let status = array.status();
                let with_role =
                    |role| status.groups.iter().find(|group| group.role == role).map(|group| u64::from(group.id.0));
                let role = |group: usize| Role::from(status.groups[group].role).name();
                Standing {
                    free_segments: status.groups.iter().map(|group| u64::from(group.free)).sum(),
                    data_segments: status.groups.iter().map(|group| u64::from(group.open + group.sealed)).sum(),
                    front_end: with_role(GroupRole::FrontEnd),
                    cleaning: with_role(GroupRole::Cleaning),
                    pressure_ns: status.pressure_ns,
                    roles: status.members.iter().map(|m| (u64::from(m.group.0), role(m.group.index()))).collect(),
                }
            }
            Store::InPlace { drives, .. } => Standing {
                free_segments: 0,
                data_segments: 0,
                front_end: None,
                cleaning: None,
                pressure_ns: 0,
                roles: vec![(0, "in-place"); *drives],
            },
        }
    }
}

/// Joins the other cores to the array, and lets the reactors talk to one another.
fn attach(array: &Array, cores: &Cluster) -> Vec<ArrayPeer> {
    if cores.len() == 1 {
        return Vec::new();
    }
    let (rt, home) = (cores.reactor(0).clone(), array.clone());
    cores.reactor(0).spawn(async move {
        loop {
            home.handle_message(rt.recv_msg().await);
        }
    });
    let join = |n| {
        let rt = cores.reactor(n).clone();
        let peer = array.handle(cores.len()).attach(&rt);
        let listener = peer.clone();
        cores.reactor(n).spawn(async move {
            loop {
                listener.handle_message(rt.recv_msg().await);
            }
        });
        peer
    };
    (1..cores.len()).map(join).collect()
}

/// A buffer of zeros that are known to be zeros. One from the pool may still hold what it was used for before, which would
/// be kept as if it were the clients' data.
pub(crate) fn blank(rt: &Runtime, len: usize) -> BufSlice {
    let buf = rt.alloc(len).full();
    buf.zero(0..len);
    buf
}

/// Sizes of the volumes. Those that others follow are multiples of [`LONGEST`], so that what is written in order, or wherever its size
/// divides that, crosses no end.
fn volume_sizes(wanted: &VolumeSection, usable: ByteSize, raw: ByteSize) -> Result<Vec<ByteSize>, Stop> {
    let share = |percent: f64, of: u64| (of as f64 * percent / 100.0) as u64;
    let unit = if wanted.next.is_empty() { BLOCK as u64 } else { LONGEST };
    let size = |volume: &VolumeSection| {
        let bytes = match volume.size {
            VolumeSize::OfUsable(percent) => share(percent.0, usable.0),
            VolumeSize::OfRaw(percent) => share(percent.0, raw.0),
            VolumeSize::Bytes(bytes) => bytes,
        };
        ByteSize(bytes / unit * unit)
    };
    let sizes: Vec<_> = wanted.all().map(size).collect();
    let all = ByteSize(sizes.iter().map(|size| size.0).sum());
    if all.0 > usable.0 {
        let what = match sizes.len() {
            1 => format!("a volume of {all} does not fit"),
            several => format!("{several} volumes of {all} do not fit"),
        };
        let why = format!("{what}: the array offers {usable}; make it smaller, or use less over-provisioning");
        return Err(Stop::VolumeSize(why));
    }
    Ok(sizes)
}
