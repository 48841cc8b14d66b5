//! Finding an array among devices: by what their superblocks say, never by path or order.

use std::collections::BTreeMap;

use cygnus_format::{ArrayState, MemberState, Probe, SUPERBLOCK_OFFSETS, SUPERBLOCK_SLOT, Superblock, SuperblockError};
use cygnus_runtime::{Buf, DeviceInfo, DeviceIx, IoError, Runtime};
use cygnus_types::{ByteSize, GroupId, MemberIx, Uuid};

use crate::error::ArrayError;

/// What a device turned out to be.
#[derive(Debug)]
pub enum Found {
    /// A member of an array.
    Member(Box<Superblock>),
    /// Something else, in words.
    Other(String),
    /// A superblock that cannot be used, and why.
    Broken(String),
}

/// Bytes at the start of a device that tell what it holds: both superblock slots.
const HEAD: usize = (SUPERBLOCK_OFFSETS[1] + SUPERBLOCK_SLOT) as usize;
/// Bytes at the end of a device where some formats keep their superblocks.
const TAIL: usize = 256 << 10;

async fn read(rt: &Runtime, dev: DeviceIx, offset: u64, len: usize) -> Result<Buf, IoError> {
    let buf = rt.alloc(len);
    rt.read(dev, offset, buf.full()).await?;
    Ok(buf)
}

/// Looks at one device.
///
/// # Errors
/// When it cannot be read at all.
pub async fn inspect(rt: &Runtime, device: &DeviceInfo) -> Result<Found, ArrayError> {
    let io = |offset| move |error| ArrayError::Io { device: device.name.clone(), offset, error };
    if device.size < HEAD as u64 {
        return Ok(Found::Other(format!("{}, too small for a member", ByteSize(device.size))));
    }
    let head = read(rt, device.ix, 0, HEAD).await.map_err(io(0))?;
    let slots = SUPERBLOCK_OFFSETS.map(|at| &head.bytes()[at as usize..(at + SUPERBLOCK_SLOT) as usize]);
    match Superblock::newest(slots) {
        Ok(superblock) => return Ok(Found::Member(Box::new(superblock))),
        Err(SuperblockError::NotASuperblock) => {}
        Err(error) => return Ok(Found::Broken(error.to_string())),
    }
    let tail_at = (device.size - TAIL as u64) / 4096 * 4096;
    let tail_len = ((device.size - tail_at) / 4096 * 4096) as usize;
    let tail = read(rt, device.ix, tail_at, tail_len).await.map_err(io(tail_at))?;
    Ok(Found::Other(match cygnus_format::probe_with_tail(head.bytes(), tail.bytes()) {
        Probe::Blank => "nothing".into(),
        Probe::Foreign { what } => what.to_string(),
        Probe::Cygnus { .. } => "the remains of a Cygnus superblock".into(),
        Probe::Unknown => "data of an unknown kind".into(),
    }))
}

/// An array as found: its newest state, and which device is which member.
pub(crate) struct Assembly {
    pub superblock: Superblock,
    /// By member number; `None` for a member that is missing, stale or out of service.
    pub devices: Vec<Option<DeviceInfo>>,
    /// Why members are not used, for people.
    pub remarks: Vec<String>,
}

/// Puts an array together from devices in any order.
///
/// # Errors
/// When the devices belong to no array or to several, when a member is there twice, or when more members of a group
/// are missing than its parity covers.
pub(crate) async fn assemble(rt: &Runtime, given: &[DeviceInfo], wanted: Option<Uuid>) -> Result<Assembly, ArrayError> {
    let mut members: Vec<(DeviceInfo, Superblock)> = Vec::new();
    let mut remarks = Vec::new();
    for device in given {
        match inspect(rt, device).await {
            Ok(Found::Member(superblock)) => members.push((device.clone(), *superblock)),
            Ok(Found::Other(what)) => remarks.push(format!("{} holds {what}", device.name)),
            Ok(Found::Broken(why)) => remarks.push(format!("{}: {why}", device.name)),
            Err(error) => remarks.push(error.to_string()),
        }
    }
    assemble_members(members, wanted, remarks)
}

/// Which of two superblocks of an array counts. When members parted ways, those that went on without the others say so.
pub(crate) fn rank(superblock: &Superblock) -> impl Ord + use<> {
    let without = superblock.state.members().filter(|m| m.state != MemberState::Online).count();
    (superblock.generation, without)
}

/// Whether a member holds less than the array, though nobody noted that it was away: a copy from some time before, put
/// back. A clean stop ends with two superblock writes, and every member in service has at least the first.
pub(crate) fn is_outdated(own: &Superblock, newest: &Superblock) -> bool {
    newest.state.clean && own.generation + 1 < newest.generation
}

/// As [`assemble`], when the superblocks are known.
pub(crate) fn assemble_members(
    members: Vec<(DeviceInfo, Superblock)>,
    wanted: Option<Uuid>,
    mut remarks: Vec<String>,
) -> Result<Assembly, ArrayError> {
    let Some((_, newest)) = members.iter().max_by_key(|(_, s)| (wanted == Some(s.array), rank(s))) else {
        return Err(ArrayError::NoArray(if remarks.is_empty() { "none given".into() } else { remarks.join("; ") }));
    };
    let superblock = newest.clone();
    if superblock.read_only {
        let device = members[0].0.name.clone();
        let why = "the array uses features that this version can read but not write: use a newer version".into();
        return Err(ArrayError::Format { device, why });
    }
    let devices = place_members(&superblock, members, &mut remarks)?;
    check_redundancy(&superblock.state, &devices)?;
    Ok(Assembly { superblock, devices, remarks })
}

fn place_members(
    newest: &Superblock,
    found: Vec<(DeviceInfo, Superblock)>,
    remarks: &mut Vec<String>,
) -> Result<Vec<Option<DeviceInfo>>, ArrayError> {
    let listed: BTreeMap<Uuid, (MemberIx, MemberState)> = newest
        .state
        .members()
        .enumerate()
        .map(|(ix, member)| (member.uuid, (MemberIx(ix as u16), member.state)))
        .collect();
    let mut devices: Vec<Option<DeviceInfo>> = vec![None; listed.len()];
    for (device, superblock) in found {
        if superblock.array != newest.array {
            return Err(ArrayError::Foreign {
                device: device.name,
                other: format!("{:?} ({})", superblock.state.name, superblock.array),
                expected: format!("{:?} ({})", newest.state.name, newest.array),
            });
        }
        match listed.get(&superblock.member_uuid) {
            None => remarks.push(format!("{} was replaced by another device and is left out", device.name)),
            Some((_, MemberState::Online)) if is_outdated(&superblock, newest) => remarks.push(format!(
                "{} is stale: its superblock is number {} and the array's is {}; it stays out of service",
                device.name, superblock.generation, newest.generation
            )),
            Some((ix, MemberState::Online)) => {
                if let Some(first) = devices[ix.index()].replace(device.clone()) {
                    return Err(ArrayError::Duplicate { first: first.name, second: device.name });
                }
            }
            Some((_, state)) => remarks.push(format!(
                "{} is stale: it was {} while the array was written to; it stays out of service",
                device.name,
                if *state == MemberState::Missing { "missing" } else { "failed" },
            )),
        }
    }
    for (ix, slot) in devices.iter_mut().enumerate() {
        let size = newest.state.members().nth(ix).expect("as many as listed").size_bytes;
        if slot.as_ref().is_some_and(|d| d.size < size) {
            let device = slot.take().expect("just seen");
            let (has, had) = (ByteSize(device.size), ByteSize(size));
            remarks.push(format!("{} has shrunk from {had} to {has} and is left out", device.name));
        }
    }
    Ok(devices)
}

fn check_redundancy(state: &ArrayState, devices: &[Option<DeviceInfo>]) -> Result<(), ArrayError> {
    let width = usize::from(state.geometry.width());
    for (group, members) in devices.chunks(width).enumerate() {
        let missing: Vec<String> = members
            .iter()
            .enumerate()
            .filter(|(_, device)| device.is_none())
            .map(|(column, _)| {
                let uuid = state.groups[group].members[column].uuid;
                format!("member {} ({uuid})", group * width + column)
            })
            .collect();
        let parity = state.geometry.parity;
        if missing.len() > usize::from(parity) {
            let need = missing.len() - usize::from(parity);
            let group = GroupId(group as u16);
            return Err(ArrayError::TooManyMissing { group, missing: missing.join(", "), parity, need });
        }
    }
    Ok(())
}
