//! Salvage: whatever can still be read of an array that does not open any more, so that it can be copied elsewhere.
//!
//! Nothing is written to any device, and as little as possible is refused. Members may be missing beyond the parity;
//! where a group lacks too many, stale members take part again, and devices without a superblock if a stripe header
//! tells where they belong. If no checkpoint can be read whole, the maps are made from the stripes' headers alone: every
//! block is in one, with the sequence of the write that made it. None of this can deliver wrong data, since a block is
//! delivered only if it matches its checksum; but it may be an older version, and what was discarded may be back, where
//! whatever said so is lost. The remarks tell when that is possible.

use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_format::{GroupState, MemberState, SPARE, Standing, StripeHeader, Superblock, newest};
use cygnus_policy::LatencyRule;
use cygnus_runtime::{BufSlice, DeviceInfo, Runtime};
use cygnus_types::{BLOCK, GroupId, Lba, MemberIx, Uuid, VolumeId};

use crate::array::Array;
use crate::error::ArrayError;
use crate::planted::{self, Bug};
use crate::reactor::{Reactor, set_patience};
use crate::recover::apply::Rescue;
use crate::recover::assemble::{Assembly, Found, is_outdated, look as look_at};
use crate::recover::open::{OpenOptions, RecoveryReport, Steps, build, load_any, replay, sort_segments};
use crate::recover::replay::Replayed;
use crate::recover::slots::PROBED;
use crate::space::protections::Protections;
use crate::volume::Volume;
use crate::work::Work;

/// An array opened for salvage.
pub struct Salvage {
    array: Array,
    /// Blocks of torn stripes, which the maps do not show.
    rescued: BTreeMap<(VolumeId, Lba), Box<[u8]>>,
    remarks: Vec<String>,
    /// Whether every block that holds anything is in the maps, or rescued.
    complete: bool,
}

/// Blocks read for salvage.
pub struct Piece {
    /// The blocks; zeros where one is lost.
    pub data: BufSlice,
    /// Those that no combination of devices yields, in order.
    pub lost: Vec<Lba>,
}

/// A device, and what is known of it.
struct Candidate {
    device: DeviceInfo,
    superblock: Superblock,
    /// It may have held a newer one.
    lost_slot: bool,
}

impl Salvage {
    /// Opens what is there of an array. Of `options`, `array` and `log` count.
    ///
    /// # Errors
    /// When no device has a superblock of the array, or when what that says cannot be followed by this version.
    pub fn open<'a>(
        rt: &'a Runtime,
        devices: &'a [DeviceInfo],
        options: &'a OpenOptions,
    ) -> Work<'a, Result<Self, ArrayError>> {
        Box::pin(async move {
            let mut remarks = Vec::new();
            let (candidates, nameless) = look(rt, devices, options, &mut remarks).await;
            let lost_slot = candidates.iter().any(|candidate| candidate.lost_slot);
            let lost = |uuid: &Uuid| candidates.iter().any(|c| c.lost_slot && c.superblock.member_uuid == *uuid);
            let Some(newest) = newest(candidates.iter().map(|c| &c.superblock), lost).cloned() else {
                return Err(ArrayError::NoArray(if remarks.is_empty() {
                    "none given".into()
                } else {
                    remarks.join("; ")
                }));
            };
            let (places, some_stale) = places(&newest, candidates, &mut remarks);
            let mut assembly = Assembly::of(newest, places);
            identify(rt, nameless, &mut assembly, &mut remarks).await;
            let lacking = lacks_members(&assembly, &mut remarks);
            set_patience(rt, &LatencyRule::default());
            let reactor = build(rt, &assembly, &OpenOptions { read_only: true, reactors: 1, ..options.clone() })?;
            // Reads that find damage would repair it.
            reactor.shared.set_fault("it is open for salvage".into());
            let (rescued, from_headers) = maps(&reactor, &assembly.superblock, options, &mut remarks).await;
            // One header that cannot be read is enough then; and what a stale member has the headers of was all there is
            // when it left.
            let complete = !((lacking || some_stale) && from_headers) && !lost_slot;
            if !complete {
                remarks.push(
                    "blocks that no readable header names are not known, and others may be older versions".into(),
                );
            }
            let array = Array::of(reactor, RecoveryReport::default());
            Ok(Self { array, rescued, remarks, complete })
        })
    }

    /// What is missing or in doubt, for people.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Whether every block that is not named by [`Salvage::next_data`] holds zeros for certain. Else headers that could
    /// name others are lost.
    pub fn knows_all_blocks(&self) -> bool {
        self.complete
    }

    /// Names of the volumes.
    pub fn volume_names(&self) -> Vec<String> {
        self.array.volume_names()
    }

    /// A volume, for [`Salvage::read`].
    pub fn volume(&self, name: &str) -> Option<Volume> {
        self.array.volume(name)
    }

    /// The first block from `from` on that holds anything; all before it are zeros.
    pub fn next_data(&self, volume: &Volume, from: Lba) -> Option<Lba> {
        let at = from.byte_offset();
        let mapped = match volume.extents(at, volume.size().saturating_sub(at), 1).first() {
            Some(extent) if extent.mapped => Some(from),
            Some(hole) if at + hole.len < volume.size() => Some(Lba::containing(at + hole.len)),
            _ => None,
        };
        let rescued = self.rescued.range((volume.id(), from)..=(volume.id(), Lba(u64::MAX))).next();
        mapped.into_iter().chain(rescued.map(|((_, lba), _)| *lba)).min()
    }

    /// Reads `blocks` blocks from `first` on; they must lie within the volume.
    pub fn read<'a>(&'a self, volume: &'a Volume, first: Lba, blocks: usize) -> Work<'a, Piece> {
        Box::pin(async move {
            let rt = &self.array.reactor.rt;
            let mut piece = match volume.read(first.byte_offset(), rt.alloc(blocks * BLOCK).full()).await {
                Ok(data) => Piece { data, lost: Vec::new() },
                Err(_) => self.read_singly(volume, first, blocks).await,
            };
            for (&(_, lba), data) in self.rescued.range((volume.id(), first)..(volume.id(), first.plus(blocks as u64)))
            {
                piece.data.copy_from((lba.0 - first.0) as usize * BLOCK, data);
                piece.lost.retain(|&lost| lost != lba);
            }
            piece
        })
    }

    async fn read_singly(&self, volume: &Volume, first: Lba, blocks: usize) -> Piece {
        let rt = &self.array.reactor.rt;
        // Memory of its own: a device may still have hold of what the whole was to be read into.
        let (data, mut lost) = (rt.alloc(blocks * BLOCK).full(), Vec::new());
        data.zero(0..blocks * BLOCK);
        for n in 0..blocks {
            let lba = first.plus(n as u64);
            match volume.read(lba.byte_offset(), rt.alloc(BLOCK).full()).await {
                Ok(block) => data.copy_from(n * BLOCK, block.bytes()),
                Err(_) if planted::is(Bug::SalvageInventsZeros) => {}
                Err(_) => lost.push(lba),
            }
        }
        Piece { data, lost }
    }
}

/// Devices with a superblock of the array, and those that have none at all.
async fn look(
    rt: &Runtime,
    devices: &[DeviceInfo],
    options: &OpenOptions,
    remarks: &mut Vec<String>,
) -> (Vec<Candidate>, Vec<DeviceInfo>) {
    let (mut candidates, mut nameless) = (Vec::new(), Vec::new());
    for device in devices {
        match look_at(rt, device).await {
            Ok(Found::Member(slots)) if options.array.is_none_or(|uuid| uuid == slots.newest.array) => {
                if let Some((at, why)) = slots.lost() {
                    remarks.push(format!(
                        "{} at byte {at}: a superblock is lost: {why}; it may have been newer",
                        device.name
                    ));
                }
                let lost_slot = slots.lost().is_some();
                candidates.push(Candidate { device: device.clone(), superblock: slots.newest, lost_slot });
            }
            Ok(Found::Member(other)) => {
                remarks.push(format!("{} is a member of array {:?}", device.name, other.newest.state.name));
            }
            Ok(Found::Other(what)) => {
                remarks.push(format!("{} has no superblock, and holds {what}", device.name));
                nameless.push(device.clone());
            }
            Ok(Found::Broken(why)) => {
                remarks.push(format!("{}: {why}", device.name));
                nameless.push(device.clone());
            }
            Err(error) => {
                remarks.push(error.to_string());
                nameless.push(device.clone());
            }
        }
    }
    (candidates, nameless)
}

/// Which device is which member. One that is stale only takes part where its group could not do without; says whether any
/// does.
fn places(
    newest: &Superblock,
    mut candidates: Vec<Candidate>,
    remarks: &mut Vec<String>,
) -> (Vec<Option<DeviceInfo>>, bool) {
    let mut some_stale = false;
    let state = &newest.state;
    let mut places: Vec<Option<DeviceInfo>> = vec![None; state.members().count()];
    candidates.sort_by_key(|c| std::cmp::Reverse(c.superblock.generation));
    candidates.retain(|candidate| {
        let own = &candidate.superblock;
        let Standing::Member(MemberIx(ix)) = state.standing(own) else { return true };
        let ix = usize::from(ix);
        let desc = state.members().nth(ix).expect("just found");
        let is_current = desc.state == MemberState::Online && !is_outdated(own, newest) && places[ix].is_none();
        if is_current {
            places[ix] = Some(candidate.device.clone());
        }
        !is_current
    });
    for Candidate { device, superblock, .. } in candidates {
        // What was a member of a group that has left knows nothing of one that has its number now.
        if state.standing(&superblock) == Standing::Left {
            remarks.push(format!("{} has left the array with its R-group, and is not needed", device.name));
            continue;
        }
        let ix = superblock.member.index();
        let group = state.group_of(superblock.member);
        let lacking = |group| places[state.numbers_of(group)].iter().filter(|m| m.is_none()).count();
        let losses = |group: GroupId| state.geometry.with_raid(state.groups[group.index()].raid).losses();
        let can_do_without = group.is_none_or(|group| lacking(group) <= losses(group));
        if superblock.member == SPARE || can_do_without || places[ix].is_some() {
            remarks.push(format!("{} is stale or a spare, and is not needed", device.name));
            continue;
        }
        remarks.push(format!("{} is stale, and is used as member {ix} for want of better", device.name));
        places[ix] = Some(device);
        some_stale = true;
    }
    (places, some_stale)
}

/// Gives devices without a superblock the vacant places that their stripe headers name.
async fn identify(rt: &Runtime, nameless: Vec<DeviceInfo>, assembly: &mut Assembly, remarks: &mut Vec<String>) {
    let state = &assembly.superblock.state;
    let (Ok(layout), Ok(protections)) = (state.layout(), Protections::of(state)) else { return };
    let tag = assembly.superblock.array.tag();
    let longest_header = protections.each().map(|shape| shape.header_blocks(shape.full_rows_at(0))).max().unwrap_or(0);
    for device in nameless {
        for segment in 0..PROBED {
            let offset = layout.geometry().device_offset(segment, 0);
            let bytes = longest_header as usize * BLOCK;
            let buf = rt.alloc(bytes);
            if offset + bytes as u64 > device.size || rt.read(device.ix, offset, buf.full()).await.is_err() {
                continue;
            }
            let header = StripeHeader::decode(buf.bytes()).and_then(|header| header.verify(tag));
            let Ok(header) = header else { continue };
            let (group, column) = (header.common().group, header.column());
            let member = (usize::from(group.0) < layout.groups()).then(|| layout.member(group, column));
            let member = member.filter(|&member| !assembly.superblock.state.has_left(member));
            let vacant = member.filter(|member| matches!(assembly.devices.get(member.index()), Some(None)));
            if let Some(MemberIx(ix)) = vacant {
                remarks.push(format!("{} is member {ix}, by its stripe headers", device.name));
                assembly.devices[usize::from(ix)] = Some(device);
                break;
            }
        }
    }
}

/// Whether any group lacks members; the remarks tell which lack more than their parity covers.
fn lacks_members(assembly: &Assembly, remarks: &mut Vec<String>) -> bool {
    let state = &assembly.superblock.state;
    let mut any = false;
    for (number, group) in state.groups.iter().enumerate().filter(|(_, group)| group.state != GroupState::Retired) {
        let members = state.numbers_of(GroupId(number as u16));
        let missing = assembly.devices[members].iter().filter(|device| device.is_none()).count();
        any |= missing > 0;
        let shape = state.geometry.with_raid(group.raid);
        if missing > shape.losses() {
            let parity = shape.parity;
            remarks.push(format!("R-group {number} lacks {missing} members, of which its parity covers {parity}"));
        }
    }
    any
}

/// Brings the maps back, by the checkpoints or without. Returns what torn stripes hold, and whether anything had to be
/// found by headers.
async fn maps(
    reactor: &Rc<Reactor>,
    superblock: &Superblock,
    options: &OpenOptions,
    remarks: &mut Vec<String>,
) -> (BTreeMap<(VolumeId, Lba), Box<[u8]>>, bool) {
    let mut steps = Steps::new(&reactor.rt, &*options.log);
    let state = &superblock.state;
    let mut from_headers = true;
    let found = match load_any(reactor, state, &mut steps).await {
        Ok(newest) if newest && state.clean => {
            from_headers = false;
            Ok(Replayed::default())
        }
        Ok(newest) => {
            if !newest {
                remarks.push("the newest checkpoint is lost: blocks discarded since the one before may be back".into());
            }
            replay(reactor, &mut steps, &Rc::default()).await
        }
        Err(error) => {
            remarks.push(format!(
                "{error}: the maps were made from the stripes' headers; blocks may be older versions, and discarded ones \
                 may be back"
            ));
            reactor.home().state.borrow_mut().roots = [None, None];
            replay(reactor, &mut steps, &Rc::default()).await
        }
    };
    let replayed = found.unwrap_or_else(|error| {
        remarks.push(error.to_string());
        Replayed::default()
    });
    let lost = replayed.lost.describe(reactor);
    if !lost.is_empty() {
        remarks.push(format!(
            "data that was durable is lost, so what follows may be older versions of blocks: {}",
            lost.join("; ")
        ));
    }
    sort_segments(reactor, state, &mut steps);
    let rescued = replayed.rescues.into_iter().map(|Rescue { volume, lba, data, .. }| ((volume, lba), data)).collect();
    (rescued, from_headers)
}
