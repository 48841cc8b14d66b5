//! Finding an array among devices: by what their superblocks say, never by path or order.

use std::collections::BTreeSet;

use cygnus_format::{
    ArrayState, GroupDesc, GroupState, Holdings, MemberDesc, MemberState, Probe, SPARE, SUPERBLOCK_AREA, Slots,
    Standing, Superblock, SuperblockError, newest,
};
use cygnus_runtime::{Claim, DeviceInfo, DeviceIx, Runtime};
use cygnus_types::{ByteSize, GroupId, MemberIx, Uuid};

use crate::care::places::{Returning, Spare};
use crate::error::{ArrayError, Stale};
use crate::planted::{self, Bug};
use crate::recover::claim::claim;
use crate::recover::slots::{LostSlot, Mendable, SlotError, mend, read_head, write_superblocks};
use crate::work::Work;

/// What a device turned out to be, and what is known of it if it is a member.
#[derive(Debug)]
pub enum Found<M = Superblock> {
    /// A member of an array.
    Member(Box<M>),
    /// Something else, in words.
    Other(String),
    /// A superblock that cannot be used, and why.
    Broken(String),
}

/// Bytes at the end of a device where some formats keep their superblocks.
const TAIL: usize = 256 << 10;

/// Looks at one device.
///
/// # Errors
/// When it cannot be read, and what can be read of it is no superblock.
pub fn inspect<'a>(rt: &'a Runtime, device: &'a DeviceInfo) -> Work<'a, Result<Found, ArrayError>> {
    Box::pin(async move {
        Ok(match look(rt, device).await? {
            Found::Member(slots) => Found::Member(Box::new(slots.newest)),
            Found::Other(what) => Found::Other(what),
            Found::Broken(why) => Found::Broken(why),
        })
    })
}

/// As [`inspect`], with all that is in the slots of a member.
pub(crate) async fn look(rt: &Runtime, device: &DeviceInfo) -> Result<Found<Slots>, ArrayError> {
    let io = |offset| move |error| ArrayError::Io { device: device.name.clone(), offset, error };
    if device.size < SUPERBLOCK_AREA {
        return Ok(Found::Other(format!("{}, too small for a member", ByteSize(device.size))));
    }
    let (head, unread) = read_head(rt, device.ix).await.map_err(io(0))?;
    match Slots::read(head.bytes()) {
        Ok(slots) => return Ok(Found::Member(Box::new(slots))),
        Err(SuperblockError::NotASuperblock) => unread.map_or(Ok(()), |error| Err(io(0)(error)))?,
        Err(error) => return Ok(Found::Broken(error.to_string())),
    }
    let tail_at = (device.size - TAIL as u64) / 4096 * 4096;
    let tail_len = ((device.size - tail_at) / 4096 * 4096) as usize;
    let tail = rt.alloc(tail_len);
    rt.read(device.ix, tail_at, tail.full()).await.map_err(io(tail_at))?;
    Ok(Found::Other(match cygnus_format::probe_with_tail(head.bytes(), tail.bytes()) {
        Probe::Blank => "nothing".into(),
        Probe::Foreign { what } => what.to_string(),
        Probe::Cygnus { .. } => "the remains of a Cygnus superblock".into(),
        Probe::Unknown => "data of an unknown kind".into(),
    }))
}

/// An array as found: its newest state, and which device is which member.
pub struct Assembly {
    /// The superblock that counts.
    pub superblock: Superblock,
    /// By member number; `None` for a member that is not online.
    pub devices: Vec<Option<DeviceInfo>>,
    /// Members that were away or were being rebuilt, and whose devices are good to be filled with what they lack.
    pub returning: Vec<Returning>,
    /// Members recorded as failed whose devices are here: not believed, unless nobody else can take their part.
    pub failed: Vec<Returning>,
    /// Members to be re-admitted by force, since their groups lack too many others.
    pub readmitted: Vec<Readmission>,
    /// Spares that are here.
    pub(crate) spares: Vec<Spare>,
    /// Devices of groups that have left, which do not know it yet.
    pub(crate) released: Vec<DeviceInfo>,
    /// Members whose devices are smaller than they were. Should these grow again, they have zeros for what they held.
    pub(crate) cut_short: Vec<MemberIx>,
    /// Members that were in service without the others, which were in service without them.
    apart: Vec<(MemberIx, DeviceInfo)>,
    /// Why members are not used, for people.
    pub remarks: Vec<String>,
    /// Members in service that lack the newest superblock: the power went as it was written.
    behind: Vec<MemberIx>,
    /// Devices that may have held something newer than all that was found.
    pub(crate) lost: Vec<LostSlot>,
    /// Spoiled copies of superblocks that have a good one beside them.
    pub(crate) mendable: Vec<Mendable>,
    /// The generation behind which those of this opening begin. It is that of the superblock that counts, unless a member has a higher one
    /// that does not count ([`cygnus_format::newest`]).
    pub last_generation: u64,
}

/// More sessions than anybody begins behind the newest superblock that is left. A device whose slot is lost had one generation more
/// there, but those that are away may have gone on without it.
const UNTOLD_SESSIONS: u64 = 1 << 10;

/// What was found among the devices that were given.
#[derive(Default)]
struct Findings {
    members: Vec<(DeviceInfo, Superblock)>,
    /// What is to be said of the other devices.
    remarks: Vec<String>,
    lost: Vec<LostSlot>,
    mendable: Vec<(Uuid, Mendable)>,
}

/// A member that is out of service, and without which its group has too few.
#[derive(Clone, Debug)]
pub struct Readmission {
    /// Which.
    pub member: MemberIx,
    /// Its device.
    pub device: DeviceInfo,
    /// What the superblocks say of it.
    pub was: MemberState,
    /// What it has for certain.
    pub holds: Holdings,
}

/// What members out of service are for, where a group lacks too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outsiders {
    /// They stay out.
    StayOut,
    /// As many as are needed are re-admitted.
    Readmitted,
}

/// Puts an array together from devices in any order.
///
/// # Errors
/// When the devices belong to no array or to several, when a member is there twice, or when more members of a group
/// are missing than its parity covers.
pub(crate) async fn assemble(
    rt: &Runtime,
    given: &[DeviceInfo],
    wanted: Option<Uuid>,
    outsiders: Outsiders,
) -> Result<Assembly, ArrayError> {
    let assembly = find(rt, given).await.put_together(wanted, outsiders)?;
    let state = &assembly.superblock.state;
    refuse_in_place(state)?;
    Ok(assembly)
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
        let assembly = find(rt, given).await.put_together(wanted, Outsiders::StayOut)?;
        match assembly.superblock.state.in_place {
            Some(_) => Ok(assembly),
            None => Err(ArrayError::Invalid(format!("{} is log-structured", assembly.superblock.state.name))),
        }
    })
}

async fn find(rt: &Runtime, given: &[DeviceInfo]) -> Findings {
    let mut findings = Findings::default();
    for device in given {
        match look(rt, device).await {
            Ok(Found::Member(slots)) => findings.add(device, *slots),
            Ok(Found::Other(what)) => findings.remarks.push(format!("{} holds {what}", device.name)),
            Ok(Found::Broken(why)) => findings.remarks.push(format!("{}: {why}", device.name)),
            Err(error) => {
                let why = format!("{error}: no copy of its superblock can be read, it counts as missing");
                findings.remarks.push(why);
            }
        }
    }
    findings
}

impl Findings {
    fn add(&mut self, device: &DeviceInfo, slots: Slots) {
        self.lost.extend(lost_slot(device, &slots));
        let mendable = slots.mendable().into_iter();
        let of = |(from, to)| (slots.newest.array, Mendable { dev: device.ix, name: (*device.name).into(), from, to });
        self.mendable.extend(mendable.map(of));
        self.members.push((device.clone(), slots.newest));
    }

    fn put_together(self, wanted: Option<Uuid>, outsiders: Outsiders) -> Result<Assembly, ArrayError> {
        let present: BTreeSet<Uuid> = self.members.iter().map(|(_, superblock)| superblock.member_uuid).collect();
        let mut assembly = put_together(self.members, &self.lost, wanted, self.remarks, outsiders)?;
        let array = &assembly.superblock.array;
        if hides_newer(&assembly.superblock, &self.lost, &present) {
            assembly.lost = self.lost;
        }
        assembly.mendable =
            self.mendable.into_iter().filter(|(of, _)| of == array).map(|(_, mendable)| mendable).collect();
        Ok(assembly)
    }
}

/// The slot of a device of which both copies are spoiled, if there is one.
pub(crate) fn lost_slot(device: &DeviceInfo, slots: &Slots) -> Option<LostSlot> {
    let (at, why) = slots.lost()?;
    let what = format!("{} at byte {at}: both copies of a superblock are spoiled: {why}", device.name);
    Some(LostSlot { uuid: slots.newest.member_uuid, other: slots.newest.generation, what })
}

/// Whether there may have been a state newer than this one, the newest that was found. Such a one was on record when of some
/// group all members in service had it, or more than may be lost: at least so many must then be among those whose slots are
/// lost or that are not here.
pub(crate) fn hides_newer(newest: &Superblock, lost: &[LostSlot], present: &BTreeSet<Uuid>) -> bool {
    if planted::is(Bug::LossIsOverlooked) {
        return false;
    }
    let state = &newest.state;
    // Generations go to the two slots by turns: where the other one is older than the newest found, the lost one was no newer.
    let may_be_newer = |slot: &&LostSlot| slot.other >= newest.generation;
    let is_silent = |uuid: &Uuid| lost.iter().filter(may_be_newer).any(|slot| slot.uuid == *uuid);
    // A spare may have become a member with that very state.
    let spares = state.spares.iter().filter(|spare| is_silent(&spare.uuid)).count();
    let mut in_use = state.groups.iter().filter(|group| group.state != GroupState::Retired);
    in_use.any(|group| {
        let of = |is: MemberState| group.members.iter().filter(move |member| member.state == is);
        let silent = spares + of(MemberState::Online).filter(|member| is_silent(&member.uuid)).count();
        let absent = of(MemberState::Online).filter(|member| !present.contains(&member.uuid)).count();
        // One that is being filled may be among those that had it, and need not be.
        let shape = state.geometry.with_raid(group.raid);
        let most = (shape.losses() + 1).saturating_sub(of(MemberState::Rebuilding).count());
        silent > 0 && silent + absent >= most.clamp(1, usize::from(shape.data))
    })
}

/// The superblock that counts of those found of an array, some of whose members have lost slots.
pub(crate) fn newest_of<'a>(
    found: impl IntoIterator<Item = &'a Superblock>,
    lost: &[LostSlot],
) -> Option<&'a Superblock> {
    newest(found, |uuid| lost.iter().any(|slot| slot.uuid == *uuid))
}

fn refuse_in_place(state: &ArrayState) -> Result<(), ArrayError> {
    match state.in_place {
        None => Ok(()),
        Some(_) => Err(ArrayError::InPlace { array: state.name.clone(), level: state.preset.clone() }),
    }
}

/// Whether a member holds less than the array, though nobody noted that it was away: a copy from some time before, put
/// back. A clean stop ends with two superblock writes, and every member in service has at least the first. A spare that has
/// become a member may have missed no more than the write that says so. Without a clean stop a member that was awaited may
/// have missed any number of them, and a crash as a session began the one that begins it: whoever is more than one session
/// behind is taken for a copy.
pub fn is_outdated(own: &Superblock, newest: &Superblock) -> bool {
    let is_behind = own.generation + 1 < newest.generation;
    let had_to_be_there = newest.state.clean || own.member == SPARE || own.state.session + 1 < newest.state.session;
    is_behind && had_to_be_there
}

/// As [`assemble`], when the superblocks are known and were found to be sound.
pub(crate) fn assemble_members(
    members: Vec<(DeviceInfo, Superblock)>,
    wanted: Option<Uuid>,
    remarks: Vec<String>,
) -> Result<Assembly, ArrayError> {
    let assembly = put_together(members, &[], wanted, remarks, Outsiders::StayOut)?;
    let state = &assembly.superblock.state;
    refuse_in_place(state)?;
    Ok(assembly)
}

fn put_together(
    members: Vec<(DeviceInfo, Superblock)>,
    lost: &[LostSlot],
    wanted: Option<Uuid>,
    remarks: Vec<String>,
    outsiders: Outsiders,
) -> Result<Assembly, ArrayError> {
    let of = |array: Option<Uuid>| {
        let found = members.iter().map(|(_, superblock)| superblock);
        newest_of(found.filter(|one| array.is_none_or(|array| one.array == array)), lost)
    };
    // Who is given devices of several arrays hears of it below.
    let Some(newest) = wanted.and_then(|array| of(Some(array))).or_else(|| of(of(None).map(|any| any.array))) else {
        return Err(ArrayError::NoArray(if remarks.is_empty() { "none given".into() } else { remarks.join("; ") }));
    };
    let superblock = newest.clone();
    if superblock.read_only {
        let device = members[0].0.name.clone();
        let why = "the array uses features that this version can read but not write: use a newer version".into();
        return Err(ArrayError::Format { device, why });
    }
    let places = vec![None; superblock.state.members().count()];
    let mut assembly = Assembly { remarks, ..Assembly::of(superblock, places) };
    assembly.begin_behind(members.iter().map(|(_, own)| own));
    for (device, own) in members {
        assembly.place(device, &own)?;
    }
    if outsiders == Outsiders::Readmitted {
        assembly.readmit();
    }
    check_redundancy(&assembly)?;
    Ok(assembly)
}

impl Assembly {
    /// Has the devices that an opening works with for itself.
    ///
    /// # Errors
    /// [`ArrayError::Open`].
    pub fn claim(&self, rt: &Runtime) -> Result<Claim, ArrayError> {
        let others = self.returning.iter().chain(&self.failed).map(|of| &of.device);
        let readmitted = self.readmitted.iter().map(|of| &of.device);
        let spares = self.spares.iter().map(|of| &of.device);
        claim(rt, self.devices.iter().flatten().chain(others).chain(readmitted).chain(spares))
    }

    /// Notes behind which generation this opening begins. The next superblock goes to the other slot than the one that counts, so what is left
    /// out are pairs.
    fn begin_behind<'a>(&mut self, found: impl Iterator<Item = &'a Superblock>) {
        let own = &self.superblock;
        let highest = found.filter(|one| one.array == own.array).map(|one| one.generation).max().unwrap_or(0);
        self.last_generation = own.generation + highest.saturating_sub(own.generation).next_multiple_of(2);
    }

    /// An array of these members, about which there is nothing to be said.
    pub(crate) fn of(superblock: Superblock, devices: Vec<Option<DeviceInfo>>) -> Self {
        Self {
            last_generation: superblock.generation,
            superblock,
            devices,
            returning: Vec::new(),
            failed: Vec::new(),
            readmitted: Vec::new(),
            spares: Vec::new(),
            released: Vec::new(),
            cut_short: Vec::new(),
            apart: Vec::new(),
            remarks: Vec::new(),
            behind: Vec::new(),
            lost: Vec::new(),
            mendable: Vec::new(),
        }
    }

    /// Fails if a superblock was lost that may have been newer than all that were found.
    ///
    /// # Errors
    /// [`ArrayError::LostSuperblock`].
    pub fn refuse_lost(&self) -> Result<(), ArrayError> {
        if self.lost.is_empty() {
            return Ok(());
        }
        let what: Vec<&str> = self.lost.iter().map(|slot| &*slot.what).collect();
        let state = &self.superblock.state;
        let absent = self
            .devices
            .iter()
            .enumerate()
            .filter(|(ix, device)| device.is_none() && !state.has_left(MemberIx(*ix as u16)));
        let absent: Vec<String> = absent.map(|(ix, _)| format!("member {ix}")).collect();
        let remedy = match absent.is_empty() {
            true => String::new(),
            false => format!("bring back {}, which may have it, and open again; or ", absent.join(", ")),
        };
        let volumes: Vec<&str> = state.volumes.iter().map(|volume| &*volume.name).collect();
        Err(ArrayError::LostSuperblock { what: what.join("; "), volumes: volumes.join(", "), remedy })
    }

    /// Sessions of which this array's superblocks may not tell: where a newer one was lost, nobody knows how many came after the one
    /// that is left. Neither their numbers nor their sequences may be given out again: what they left behind, on the members
    /// and in kept memory, would pass for something new.
    pub(crate) fn untold_sessions(&self) -> u64 {
        if self.lost.is_empty() { 0 } else { UNTOLD_SESSIONS }
    }

    /// Fails if members were in service without those that count, and these without them: which side's writes are wanted an operator
    /// has to say.
    ///
    /// # Errors
    /// [`ArrayError::PartedWays`].
    pub fn refuse_parted(&self) -> Result<(), ArrayError> {
        let Some((first, _)) = self.apart.first() else { return Ok(()) };
        let state = &self.superblock.state;
        let numbers = state.group_of(*first).map_or(0..0, |group| state.numbers_of(group));
        let of_group = self.apart.iter().filter(|(member, _)| numbers.contains(&member.index()));
        let apart: Vec<&str> = of_group.map(|(_, device)| &*device.name).collect();
        let others = self.devices[numbers.clone()].iter().flatten();
        let others: Vec<&str> = others.map(|device| &*device.name).collect();
        Err(ArrayError::PartedWays { apart: apart.join(", "), others: others.join(", ") })
    }

    /// Puts superblocks right. To be done before anything else is written. Spoiled copies that have a good one beside them are mended:
    /// then a power cut never meets a slot with one copy left. Members that lack the newest superblock get it: whoever lacks more than
    /// the last one may be taken for an old copy ([`is_outdated`]), and this opening is about to write the next.
    pub async fn settle_superblocks(&self, rt: &Runtime, log: impl Fn(String)) {
        for mendable in &self.mendable {
            mend(rt, mendable, &log).await;
        }
        let newest = &self.superblock;
        let (names, superblocks): (Vec<_>, Vec<_>) = self.behind.iter().map(|&member| self.newest_of(member)).unzip();
        for (name, written) in names.iter().zip(write_superblocks(rt, newest.generation, superblocks).await) {
            if let Err(SlotError { doing, offset, error }) = written {
                log(format!("{name} lacks the newest superblock, and still does: {doing} at byte {offset}: {error}"));
            }
        }
    }

    /// The newest superblock as that of a member in service: the name of its device, where, and the bytes.
    fn newest_of(&self, member: MemberIx) -> (&str, (DeviceIx, Vec<u8>)) {
        let newest = &self.superblock;
        let member_uuid = newest.state.members().nth(member.index()).expect("it was found there").uuid;
        let device = self.devices[member.index()].as_ref().expect("it was found");
        let superblock = Superblock { member, member_uuid, ..newest.clone() };
        (&device.name, (device.ix, superblock.encode().expect("it was read in this form")))
    }

    /// Has members that are out of service take part again, in each group that lacks too many others and has enough of them.
    fn readmit(&mut self) {
        let state = &self.superblock.state;
        for group in (0..state.groups.len()).map(|group| GroupId(group as u16)) {
            let GroupDesc { raid, state: of, .. } = &state.groups[group.index()];
            let here = self.devices[state.numbers_of(group)].iter().flatten().count();
            let need = usize::from(raid.data).saturating_sub(here);
            if *of != GroupState::Retired && need > 0 {
                self.readmitted.extend(self.readmittable(group, need).into_iter().flatten());
            }
        }
        let chosen: Vec<MemberIx> = self.readmitted.iter().map(|of| of.member).collect();
        self.returning.retain(|of| !chosen.contains(&of.member));
        self.failed.retain(|of| !chosen.contains(&of.member));
    }

    pub(crate) fn is_readmitted(&self, ix: usize) -> bool {
        self.readmitted.iter().any(|of| of.member.index() == ix)
    }

    /// As many members of a group as it needs that are out of service and here, those that hold most first; `None` if there
    /// are not enough. Somebody must have been there all the time: nobody else knows what the others lack.
    fn readmittable(&self, group: GroupId, need: usize) -> Option<Vec<Readmission>> {
        let state = &self.superblock.state;
        let members = state.numbers_of(group);
        let knows = self.devices[members.clone()].iter().any(Option::is_some);
        let here = self.returning.iter().chain(&self.failed).filter(|of| members.contains(&of.member.index()));
        let readmission = |of: &Returning| {
            let desc = state.members().nth(of.member.index()).expect("it was found there");
            let holds = match desc.state {
                // It is an old copy of one that never left.
                MemberState::Online => Holdings { below: of.only_below.unwrap_or(0), ..Holdings::default() },
                _ => desc.holds.limited_to(of.only_below),
            };
            Readmission { member: of.member, device: of.device.clone(), was: desc.state, holds }
        };
        let mut all: Vec<Readmission> = here.map(readmission).collect();
        all.sort_by_key(|of| std::cmp::Reverse((of.holds.below, of.holds.restored)));
        // In place nothing tells what is old.
        let enough = knows && all.len() >= need && state.in_place.is_none();
        all.truncate(need);
        enough.then_some(all)
    }

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
            self.cut_short.push(MemberIx(ix as u16));
            let mut members = self.superblock.state.groups.iter_mut().flat_map(|group| &mut group.members);
            let desc = members.nth(ix).expect("just found");
            desc.holds = desc.holds.limited_to(Some(0));
            return Ok(());
        }
        if desc.state != MemberState::Online || is_outdated(own, newest) {
            let member = MemberIx(ix as u16);
            match held_below(member, own, desc, &newest.state.online().collect::<Vec<_>>()) {
                Ok(only_below) if desc.state == MemberState::Failed => {
                    self.remarks.push(words_of_failed(member, &device, desc));
                    self.failed.push(Returning { member, device, only_below });
                }
                Ok(only_below) => self.returning.push(Returning { member, device, only_below }),
                Err(why) => {
                    self.remarks.push(format!(
                        "{} is stale: {why}; it stays out of service: replace member {} by it, or by another device",
                        device.name, member.0
                    ));
                    if own.parted_from(&self.superblock.state) {
                        self.apart.push((member, device));
                    }
                }
            }
            return Ok(());
        }
        if own.generation < newest.generation || own.state.session < newest.state.session {
            self.behind.push(MemberIx(ix as u16));
        }
        match self.devices[ix].replace(device.clone()) {
            Some(first) => Err(ArrayError::Duplicate { first: first.name, second: device.name }),
            None => Ok(()),
        }
    }
}

/// What there is to say of a device that is recorded as failed.
fn words_of_failed(member: MemberIx, device: &DeviceInfo, desc: &MemberDesc) -> String {
    let (errors, at_least) = (desc.errors, |count: u8| if count == u8::MAX { "at least " } else { "" });
    format!(
        "{} is recorded as failed, since session {} of the array, with {}{} failed reads and {}{} wrong blocks so far; it stays \
         out of service: replace member {} by it, or by another device",
        device.name,
        desc.holds.session,
        at_least(errors.read),
        errors.read,
        at_least(errors.wrong),
        errors.wrong,
        member.0
    )
}

/// Whether what a stale device holds belongs to this array's history; if it is a copy from before the member left, the
/// sequence below which it has every stripe. The array has the members `online` in service.
///
/// A later session than that in which it left may be one that it went on in without them, and then it says whom it missed. Or it was about
/// to begin that with all others when the power failed: had its superblock been on record, one of them would have it. Nothing was written
/// in it, and the device has what it had before: if it was being filled then, what its own superblock says.
pub(crate) fn held_below(
    member: MemberIx,
    own: &Superblock,
    desc: &MemberDesc,
    online: &[Uuid],
) -> Result<Option<u64>, Stale> {
    let has_later_session = desc.left_before(own.state.session);
    if has_later_session && own.is_without(online) {
        return Err(Stale::WentOn);
    }
    if desc.state != MemberState::Online && own.generation >= desc.holds.generation && !has_later_session {
        return Ok(None);
    }
    let then = own.state.members().nth(member.index()).filter(|desc| desc.uuid == own.member_uuid);
    match then {
        // What a checkpoint covers was durable when its root was written.
        Some(of) if of.state == MemberState::Online => {
            Ok(Some(own.state.roots[0].as_ref().map_or(0, |root| root.barrier)))
        }
        Some(of) if has_later_session => Ok(Some(of.holds.below)),
        _ => Err(Stale::OldCopy),
    }
}

fn check_redundancy(assembly: &Assembly) -> Result<(), ArrayError> {
    let (state, devices) = (&assembly.superblock.state, &assembly.devices);
    for group in (0..state.groups.len()).map(|group| GroupId(group as u16)) {
        let desc = &state.groups[group.index()];
        if desc.state == GroupState::Retired {
            continue;
        }
        let missing: Vec<String> = state
            .numbers_of(group)
            .zip(&desc.members)
            .filter(|&(number, _)| devices[number].is_none() && !assembly.is_readmitted(number))
            .map(|(number, MemberDesc { uuid, .. })| format!("member {number} ({uuid})"))
            .collect();
        let shape = state.geometry.with_raid(desc.raid);
        let parity = shape.parity;
        if missing.len() > shape.losses() {
            let need = missing.len() - shape.losses();
            let remarks: String = assembly.remarks.iter().map(|remark| format!("; {remark}")).collect();
            let readmittable =
                assembly.readmittable(group, need).map_or(String::new(), |who| words_of_readmittable(&who));
            let missing = missing.join(", ");
            return Err(ArrayError::TooManyMissing { group, missing, parity, need, remarks, readmittable });
        }
    }
    Ok(())
}

/// How members that are here may help a group that lacks too many.
fn words_of_readmittable(who: &[Readmission]) -> String {
    let names: Vec<&str> = who.iter().map(|of| &*of.device.name).collect();
    format!(
        ". Or re-admit {} by force, which lacks what was written since it left: 'cygnus array check' says what would be \
         unreadable then, and 'cygnus serve --force' does it",
        names.join(", ")
    )
}
