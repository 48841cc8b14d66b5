//! Finding an array among devices: by what their superblocks say, never by path or order.

use cygnus_format::{
    GroupState, MemberDesc, MemberState, Probe, SPARE, SUPERBLOCK_OFFSETS, SUPERBLOCK_SLOT, Standing, Superblock,
    SuperblockError,
};
use cygnus_runtime::{Buf, DeviceInfo, DeviceIx, IoError, Runtime};
use cygnus_types::{ByteSize, GroupId, MemberIx, Uuid};

use crate::error::ArrayError;
use crate::membership::Spare;
use crate::work::Work;

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

/// The superblock slots of a device as far as they can be read, and what kept it from being all of them. A slot that
/// cannot be read is zeros here: as good as none, and its fellow counts.
async fn read_head(rt: &Runtime, dev: DeviceIx) -> Result<(Buf, Option<IoError>), IoError> {
    let error = match read(rt, dev, 0, HEAD).await {
        Ok(head) => return Ok((head, None)),
        Err(error) if error.kind.is_of_range() => error,
        Err(error) => return Err(error),
    };
    let mut head = rt.alloc(HEAD);
    head.zero(0..HEAD);
    for at in SUPERBLOCK_OFFSETS {
        if let Ok(slot) = read(rt, dev, at, SUPERBLOCK_SLOT as usize).await {
            head.bytes_mut()[at as usize..(at + SUPERBLOCK_SLOT) as usize].copy_from_slice(slot.bytes());
        }
    }
    Ok((head, Some(error)))
}

/// The superblock of a device, if it can be read and has one.
pub(crate) async fn superblock_of(rt: &Runtime, dev: DeviceIx) -> Option<Superblock> {
    let (head, _) = read_head(rt, dev).await.ok()?;
    Superblock::newest(SUPERBLOCK_OFFSETS.map(|at| &head.bytes()[at as usize..(at + SUPERBLOCK_SLOT) as usize])).ok()
}

/// Looks at one device.
///
/// # Errors
/// When it cannot be read, and what can be read of it is no superblock.
pub fn inspect<'a>(rt: &'a Runtime, device: &'a DeviceInfo) -> Work<'a, Result<Found, ArrayError>> {
    Box::pin(async move {
        let io = |offset| move |error| ArrayError::Io { device: device.name.clone(), offset, error };
        if device.size < HEAD as u64 {
            return Ok(Found::Other(format!("{}, too small for a member", ByteSize(device.size))));
        }
        let (head, unread) = read_head(rt, device.ix).await.map_err(io(0))?;
        let slots = SUPERBLOCK_OFFSETS.map(|at| &head.bytes()[at as usize..(at + SUPERBLOCK_SLOT) as usize]);
        match Superblock::newest(slots) {
            Ok(superblock) => return Ok(Found::Member(Box::new(superblock))),
            Err(SuperblockError::NotASuperblock) => unread.map_or(Ok(()), |error| Err(io(0)(error)))?,
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
    })
}

/// An array as found: its newest state, and which device is which member.
pub struct Assembly {
    /// The superblock that counts.
    pub superblock: Superblock,
    /// By member number; `None` for a member that is not online.
    pub devices: Vec<Option<DeviceInfo>>,
    /// Members that were away or were being rebuilt, and whose devices are good to be filled with what they lack.
    pub returning: Vec<Returning>,
    /// Spares that are here.
    pub(crate) spares: Vec<Spare>,
    /// Devices of groups that have left, which do not know it yet.
    pub(crate) released: Vec<DeviceInfo>,
    /// Why members are not used, for people.
    pub remarks: Vec<String>,
}

/// A stale member.
#[derive(Clone, Debug)]
pub struct Returning {
    /// Which.
    pub member: MemberIx,
    /// Its device.
    pub device: DeviceInfo,
    /// It was the member's device, but is a copy from before the member left: it has what was durable by then, which is
    /// every stripe below this sequence.
    pub only_below: Option<u64>,
}

/// Puts an array together from devices in any order.
///
/// # Errors
/// When the devices belong to no array or to several, when a member is there twice, or when more members of a group
/// are missing than its parity covers.
pub(crate) async fn assemble(rt: &Runtime, given: &[DeviceInfo], wanted: Option<Uuid>) -> Result<Assembly, ArrayError> {
    let (members, remarks) = find(rt, given).await;
    assemble_members(members, wanted, remarks)
}

/// The same for an array that updates in place; such a one is none of this crate's, but its members are found alike.
///
/// # Errors
/// As when an array of this crate is opened.
pub fn assemble_in_place<'a>(
    rt: &'a Runtime,
    given: &'a [DeviceInfo],
    wanted: Option<Uuid>,
) -> Work<'a, Result<Assembly, ArrayError>> {
    Box::pin(async move {
        let (members, remarks) = find(rt, given).await;
        let assembly = put_together(members, wanted, remarks)?;
        match assembly.superblock.state.in_place {
            Some(_) => Ok(assembly),
            None => Err(ArrayError::Invalid(format!("{} is log-structured", assembly.superblock.state.name))),
        }
    })
}

/// The members among devices, and what is to be said of the other devices.
async fn find(rt: &Runtime, given: &[DeviceInfo]) -> (Vec<(DeviceInfo, Superblock)>, Vec<String>) {
    let mut members = Vec::new();
    let mut remarks = Vec::new();
    for device in given {
        match inspect(rt, device).await {
            Ok(Found::Member(superblock)) => members.push((device.clone(), *superblock)),
            Ok(Found::Other(what)) => remarks.push(format!("{} holds {what}", device.name)),
            Ok(Found::Broken(why)) => remarks.push(format!("{}: {why}", device.name)),
            Err(error) => {
                remarks.push(format!("{error}: neither copy of its superblock can be read, it counts as missing"))
            }
        }
    }
    (members, remarks)
}

/// Which of two superblocks of an array counts. When members parted ways, those that went on without the others say so:
/// by a later opening, or by whom they missed.
pub(crate) fn rank(superblock: &Superblock) -> impl Ord + use<> {
    let without = superblock.state.members().filter(|m| m.state != MemberState::Online).count();
    (superblock.generation, superblock.state.session, without)
}

/// Whether a member holds less than the array, though nobody noted that it was away: a copy from some time before, put
/// back. A clean stop ends with two superblock writes, and every member in service has at least the first. A spare that has
/// become a member may have missed no more than the write that says so.
pub(crate) fn is_outdated(own: &Superblock, newest: &Superblock) -> bool {
    (newest.state.clean || own.member == SPARE) && own.generation + 1 < newest.generation
}

/// As [`assemble`], when the superblocks are known.
pub(crate) fn assemble_members(
    members: Vec<(DeviceInfo, Superblock)>,
    wanted: Option<Uuid>,
    remarks: Vec<String>,
) -> Result<Assembly, ArrayError> {
    let assembly = put_together(members, wanted, remarks)?;
    let state = &assembly.superblock.state;
    match state.in_place {
        None => Ok(assembly),
        Some(_) => Err(ArrayError::InPlace { array: state.name.clone(), level: state.preset.clone() }),
    }
}

fn put_together(
    members: Vec<(DeviceInfo, Superblock)>,
    wanted: Option<Uuid>,
    remarks: Vec<String>,
) -> Result<Assembly, ArrayError> {
    let tell = members.iter().filter(|(_, superblock)| !superblock.is_joining());
    let Some((_, newest)) = tell.max_by_key(|(_, s)| (wanted == Some(s.array), rank(s))) else {
        return Err(ArrayError::NoArray(if remarks.is_empty() { "none given".into() } else { remarks.join("; ") }));
    };
    let superblock = newest.clone();
    if superblock.read_only {
        let device = members[0].0.name.clone();
        let why = "the array uses features that this version can read but not write: use a newer version".into();
        return Err(ArrayError::Format { device, why });
    }
    let mut assembly = Assembly {
        devices: Vec::new(),
        returning: Vec::new(),
        spares: Vec::new(),
        released: Vec::new(),
        superblock,
        remarks,
    };
    assembly.devices.resize(assembly.superblock.state.members().count(), None);
    for (device, own) in members {
        assembly.place(device, &own)?;
    }
    check_redundancy(&assembly)?;
    Ok(assembly)
}

impl Assembly {
    /// Finds out what a device is to the array.
    fn place(&mut self, device: DeviceInfo, own: &Superblock) -> Result<(), ArrayError> {
        let newest = &self.superblock;
        if own.array != newest.array {
            return Err(ArrayError::Foreign {
                device: device.name,
                other: format!("{:?} ({})", own.state.name, own.array),
                expected: format!("{:?} ({})", newest.state.name, newest.array),
            });
        }
        let standing = newest.state.standing(own);
        if let Some(why) = standing.why_not() {
            self.remarks.push(format!("{} {why}: {}", device.name, standing.remedy()));
        }
        let ix = match standing {
            Standing::Member(ix) => ix.index(),
            Standing::Spare => {
                self.spares.push(Spare { uuid: own.member_uuid, device });
                return Ok(());
            }
            // It does not know it yet. Once another group has its number, whose device it was is not known any more.
            Standing::Left if newest.state.members().any(|desc| desc.uuid == own.member_uuid) => {
                self.released.push(device);
                return Ok(());
            }
            Standing::Left | Standing::Joining | Standing::Replaced | Standing::FormerSpare => return Ok(()),
        };
        let desc = newest.state.members().nth(ix).expect("just found");
        if device.size < desc.size_bytes {
            let (has, had) = (ByteSize(device.size), ByteSize(desc.size_bytes));
            self.remarks.push(format!("{} is {has}, was {had}: truncated; it is left out", device.name));
            return Ok(());
        }
        if desc.state != MemberState::Online || is_outdated(own, newest) {
            match coming_back(MemberIx(ix as u16), device, own, desc) {
                Ok(returning) => self.returning.push(returning),
                Err(why) => self.remarks.push(why),
            }
            return Ok(());
        }
        match self.devices[ix].replace(device.clone()) {
            Some(first) => Err(ArrayError::Duplicate { first: first.name, second: device.name }),
            None => Ok(()),
        }
    }
}

/// Whether a stale device can be brought up to date, and from where on; else why not.
fn coming_back(member: MemberIx, device: DeviceInfo, own: &Superblock, desc: &MemberDesc) -> Result<Returning, String> {
    let refused = match desc.state {
        MemberState::Failed => Err("it failed while the array was written to"),
        _ => held_below(member, own, desc),
    };
    match refused {
        Ok(only_below) => Ok(Returning { member, device, only_below }),
        Err(why) => Err(format!(
            "{} is stale: {why}; it stays out of service: replace member {} by it, or by another device",
            device.name, member.0
        )),
    }
}

/// Whether what a stale device holds belongs to this array's history; if it is a copy from before the member left, the
/// sequence below which it has every stripe.
pub(crate) fn held_below(member: MemberIx, own: &Superblock, desc: &MemberDesc) -> Result<Option<u64>, &'static str> {
    let left = matches!(desc.state, MemberState::Missing | MemberState::Failed);
    if left && own.state.session > desc.holds.session {
        return Err("it went on without the other members");
    }
    if desc.state != MemberState::Online && own.generation >= desc.holds.generation {
        return Ok(None);
    }
    let then = own.state.members().nth(member.index());
    if !then.is_some_and(|desc| desc.uuid == own.member_uuid && desc.state == MemberState::Online) {
        return Err("it is an old copy of a device that was being rebuilt, or was a spare");
    }
    // What a checkpoint covers was durable when its root was written.
    Ok(Some(own.state.roots[0].as_ref().map_or(0, |root| root.barrier)))
}

fn check_redundancy(assembly: &Assembly) -> Result<(), ArrayError> {
    let (state, devices) = (&assembly.superblock.state, &assembly.devices);
    let width = usize::from(state.geometry.width());
    for (group, members) in devices.chunks(width).enumerate() {
        if state.groups[group].state == GroupState::Retired {
            continue;
        }
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
            let remarks: String = assembly.remarks.iter().map(|remark| format!("; {remark}")).collect();
            return Err(ArrayError::TooManyMissing { group, missing: missing.join(", "), parity, need, remarks });
        }
    }
    Ok(())
}
