//! What an array looks like from outside.

use cygnus_engine::{ArrayHealth, Suspended, Trouble};
use cygnus_format::MemberState;
use cygnus_runtime::Capabilities;
use cygnus_types::{ByteSize, MemberIx, Nanos, Uuid, VolumeId};

use crate::array::Array;
use crate::counters::{Counters, DeviceTraffic};
use crate::layout::Level;

/// How an array stands: members, volumes, and what was done.
#[derive(Clone, Debug)]
pub struct Status {
    /// The array's name.
    pub name: String,
    /// The array's identity, as its superblocks have it.
    pub uuid: Uuid,
    /// RAID level, which the preset names.
    pub level: Level,
    /// Groups of members that mirror each other or share parity.
    pub groups: usize,
    /// Data members of each group.
    pub data: u8,
    /// Members of a group that may be lost.
    pub parity: u8,
    /// Whether all members are there, and whether it can be read and written.
    pub health: ArrayHealth,
    /// Bytes of a region of the write-intent log on each member.
    pub region: ByteSize,
    /// Regions of the write-intent log.
    pub regions: u32,
    /// Regions whose bits are set.
    pub dirty_regions: usize,
    /// Regions whose copies or parity may not fit until their resync.
    pub stale_regions: usize,
    /// What volumes can have in all.
    pub capacity: ByteSize,
    /// For whom it waits, if it is suspended.
    pub suspended: Option<Suspended>,
    /// For how long it has been waiting.
    pub suspended_for: Nanos,
    /// How long requests wait then; [`Nanos::MAX`]: as long as it takes.
    pub requests_wait: Nanos,
    /// How each member stands, in the order of their numbers.
    pub members: Vec<MemberStatus>,
    /// The volumes, in the order of their creation.
    pub volumes: Vec<VolumeStatus>,
    /// What it has done since it was opened.
    pub counters: Counters,
}

/// How a member stands, and what was done with it.
#[derive(Clone, Debug)]
pub struct MemberStatus {
    /// Number of the member.
    pub member: MemberIx,
    /// Path of its device, if that is there.
    pub name: Option<String>,
    /// Whether it takes part.
    pub state: MemberState,
    /// What is the matter with it, while it is in service.
    pub trouble: Option<Trouble>,
    /// For how long it has owed an answer, if that is a sizeable part of what it is given.
    pub slow_to_answer: Option<Nanos>,
    /// What its device is and what it can do, while it is in service.
    pub capabilities: Option<Capabilities>,
    /// Size of its device; 0 if that is not there.
    pub size: ByteSize,
    /// What was done with it since the array was opened.
    pub traffic: DeviceTraffic,
}

/// A volume: what it is called and how large it is.
#[derive(Clone, Debug)]
pub struct VolumeStatus {
    /// Name, by which clients ask for it.
    pub name: String,
    /// Identifier, in every record about it.
    pub id: VolumeId,
    /// Size, as clients see it.
    pub size: ByteSize,
}

impl Array {
    /// How the array stands now.
    pub fn status(&self) -> Status {
        let inner = &self.0;
        let (core, ledger) = (inner.core(), inner.ledger());
        let state = ledger.state.borrow();
        let members: Vec<MemberStatus> = (0..core.layout.devices()).map(|ix| self.member_status(ix)).collect();
        let is = |wanted: MemberState| members.iter().any(|member| member.state == wanted);
        let suspended = core.care.waits_for.borrow().clone();
        let health = match () {
            () if suspended.is_some() => ArrayHealth::Suspended,
            () if core.check_alive().is_err() => ArrayHealth::ReadOnly,
            () if is(MemberState::Rebuilding) => ArrayHealth::Rebuilding,
            () if members.iter().any(|member| member.state != MemberState::Online) => ArrayHealth::Degraded,
            () => ArrayHealth::Online,
        };
        let intent = ledger.intent();
        Status {
            name: state.name.clone(),
            uuid: ledger.uuid,
            level: core.layout.level(),
            groups: state.groups.len(),
            data: state.geometry.data,
            parity: state.geometry.parity,
            health,
            region: ByteSize(state.geometry.segment_bytes()),
            regions: state.groups[0].segments(),
            dirty_regions: intent.map_or(0, |intent| intent.dirty()),
            stale_regions: intent.map_or(0, |intent| intent.stale().len()),
            capacity: ByteSize(inner.space_mib() << 20),
            suspended_for: suspended.as_ref().map_or(Nanos::ZERO, |of| inner.rt.now().since(of.since)),
            requests_wait: core.care.requests_wait.get(),
            suspended,
            members,
            volumes: state
                .volumes
                .iter()
                .map(|desc| VolumeStatus { name: desc.name.clone(), id: desc.id, size: ByteSize(desc.size_bytes) })
                .collect(),
            counters: inner.raid.counters(),
        }
    }

    fn member_status(&self, ix: usize) -> MemberStatus {
        let core = self.0.core();
        let recorded = self.0.ledger().state.borrow().members().nth(ix).map(|desc| desc.state);
        let state = match recorded.unwrap_or(MemberState::Missing) {
            // It has left a moment ago.
            MemberState::Online | MemberState::Rebuilding if core.is_failed(ix) => {
                core.device(ix).left_as.get().unwrap_or(MemberState::Failed)
            }
            state => state,
        };
        let devices = self.0.devices.borrow();
        let device = devices[ix].as_ref();
        MemberStatus {
            member: MemberIx(ix as u16),
            name: device.map(|device| device.name.clone()),
            state,
            trouble: core.device(ix).trouble.get().filter(|_| !core.is_failed(ix)),
            slow_to_answer: device
                .filter(|_| !core.is_failed(ix))
                .and_then(|_| self.0.rt.slow_to_answer(core.device_ix(ix))),
            capabilities: device.filter(|_| !core.is_failed(ix)).map(|_| self.0.rt.capabilities(core.device_ix(ix))),
            size: ByteSize(device.map_or(0, |device| device.size)),
            traffic: core.device(ix).traffic.get(),
        }
    }
}
