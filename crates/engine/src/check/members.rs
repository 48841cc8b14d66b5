//! Superblocks: all slots of every device against each other and against those of the other members.

use cygnus_format::{MemberState, SPARE, SUPERBLOCK_OFFSETS, Slots, Superblock, copies_for};
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_types::{ByteSize, GroupId, MemberIx, Uuid};

use crate::check::findings::{Finding, FindingKind};
use crate::recover::assemble::{Found, hides_newer, look as look_at, lost_slot, newest_of};

/// What the superblocks say.
pub(crate) struct Looked {
    pub findings: Vec<Finding>,
    /// Members that take part, each with its newest superblock.
    pub usable: Vec<(DeviceInfo, Superblock)>,
}

/// A member and what is in its slots.
struct Member {
    device: DeviceInfo,
    newest: Superblock,
    slots: Slots,
}

/// Looks at all superblocks of all devices.
pub(crate) async fn look(rt: &Runtime, devices: &[DeviceInfo], wanted: Option<Uuid>) -> Looked {
    let mut findings = Vec::new();
    let mut members = Vec::new();
    for device in devices {
        match look_at(rt, device).await {
            Ok(Found::Member(slots)) if wanted.is_none_or(|uuid| uuid == slots.newest.array) => {
                members.push(Member { device: device.clone(), newest: slots.newest.clone(), slots: *slots });
            }
            Ok(Found::Member(other)) => {
                let other = other.newest;
                let what = format!("is a member of array {:?} ({}): leave it out", other.state.name, other.array);
                findings.push(no_member(device, &what));
            }
            Ok(Found::Other(what)) => findings.push(no_member(device, &format!("holds {what}: leave it out"))),
            // These may be members, which then are missing.
            Ok(Found::Broken(why)) => findings.push(no_member(device, &why).degrading()),
            Err(error) => findings.push(no_member(device, &format!("cannot be read: {error}")).degrading()),
        }
    }
    let lost: Vec<_> = members.iter().filter_map(|member| lost_slot(&member.device, &member.slots)).collect();
    let Some(newest) = newest_of(members.iter().map(|member| &member.newest), &lost).cloned() else {
        return Looked { findings, usable: Vec::new() };
    };
    let present = members.iter().map(|member| member.newest.member_uuid).collect();
    let told = !hides_newer(&newest, &lost, &present);
    let mut usable = Vec::new();
    for member in &members {
        let takes_no_part = passing(member, &newest).or_else(|| truncated(member, &newest));
        if let Some(finding) = takes_no_part.or_else(|| stale(member, &newest)) {
            findings.push(finding);
            continue;
        }
        findings.extend(slots(member, &newest, told));
        usable.push((member.device.clone(), member.newest.clone()));
    }
    findings.extend(missing(&members, &newest));
    Looked { findings, usable }
}

fn no_member(device: &DeviceInfo, what: &str) -> Finding {
    Finding::new(FindingKind::NotAMember, format!("{} {what}", device.name)).of_device(&device.name)
}

/// A device of a group that never came, or has gone, or whose place another device has: nothing of the array is missing.
fn passing(member: &Member, newest: &Superblock) -> Option<Finding> {
    let standing = newest.state.standing(&member.newest);
    let why = standing.why_not().filter(|_| member.newest.array == newest.array)?;
    Some(no_member(&member.device, &format!("{why}: {}", standing.remedy())))
}

/// A member whose device has become shorter.
fn truncated(member: &Member, newest: &Superblock) -> Option<Finding> {
    let (device, own) = (&member.device, &member.newest);
    let desc = newest.state.members().find(|desc| desc.uuid == own.member_uuid && own.array == newest.array)?;
    let (is, was) = (ByteSize(device.size), ByteSize(desc.size_bytes));
    let text = format!(
        "{} is {is}, was {was}: truncated; it takes no part, and what it holds was not checked: give it back its size if \
         nothing of it is lost, or replace it",
        device.name
    );
    (is < was).then(|| Finding::new(FindingKind::MemberTruncated, text).of_device(&device.name))
}

/// A member that did not go along: the state says so, or it is older than any member in service can be.
fn stale(member: &Member, newest: &Superblock) -> Option<Finding> {
    let (device, own) = (&member.device.name, &member.newest);
    let desc = newest.state.members().find(|m| m.uuid == own.member_uuid);
    let desc = desc.filter(|_| own.array == newest.array && !newest.state.lists(SPARE, own.member_uuid))?;
    if own.parted_from(&newest.state) {
        let text = format!(
            "{device} went on without the other members, and they without it: each side may have acknowledged writes that the other \
             lacks; what it holds was not checked: 'cygnus serve' tells how to go on with either"
        );
        return Some(Finding::new(FindingKind::MemberParted, text).of_device(device));
    }
    let why = match desc.state {
        MemberState::Missing => "was missing while the array was written to".to_string(),
        MemberState::Failed => "failed while the array was written to".to_string(),
        MemberState::Rebuilding => "is being rebuilt".to_string(),
        MemberState::Online if crate::recover::assemble::is_outdated(own, newest) => {
            format!("has a superblock of generation {}, and the array is at {}", own.generation, newest.generation)
        }
        MemberState::Online => return None,
    };
    let text = format!("{device} is stale: it {why}; what it holds is not used, and was not checked");
    Some(Finding::new(FindingKind::MemberStale, text).of_device(device))
}

/// Both copies of a slot hold the same, and the slot that does not count the superblock before; a crash may have torn one
/// copy. Where both copies of a slot are lost, `told` says whether the other members show that nothing newer was in it.
fn slots(member: &Member, newest: &Superblock, told: bool) -> Vec<Finding> {
    let (device, own) = (&member.device.name, &member.newest);
    let mut findings = Vec::new();
    let mut report = |kind: FindingKind, offset: u64, why: String| {
        let torn = kind == FindingKind::SuperblockSlot && !newest.state.clean;
        let remedy = match kind {
            FindingKind::SuperblockLost if told => {
                "both copies are lost; the other members have the newest, and the next opening writes it anew"
            }
            FindingKind::SuperblockLost => {
                "both copies are lost, and no other member tells that it was not the newest: 'cygnus serve' refuses to open, and \
                 says how to go on"
            }
            _ if torn => "a crash may have torn it; the next opening writes it anew",
            _ => "the other copy is intact; the next opening writes it anew",
        };
        let text = format!("{device} at byte {offset}: superblock slot: {why}; {remedy}");
        let finding = Finding::new(kind, text).on(device, offset);
        findings.push(match kind {
            FindingKind::SuperblockLost if !told => finding.beyond_redundancy(),
            _ if torn => finding.into_information(),
            _ => finding,
        });
    };
    if let Some((offset, why)) = member.slots.lost() {
        report(FindingKind::SuperblockLost, offset, why.to_string());
    }
    for (_, to) in member.slots.mendable() {
        let mut all = SUPERBLOCK_OFFSETS.iter().flatten().zip(member.slots.copies.iter().flatten());
        let why = all.find_map(|(&at, copy)| copy.spoiled().filter(|_| at == to));
        report(FindingKind::SuperblockSlot, to, why.map_or(String::new(), |why| why.to_string()));
    }
    let other_at = copies_for(own.generation + 1);
    let before = member.slots.slot(usize::from(other_at != SUPERBLOCK_OFFSETS[0]));
    if let Some(before) = before.filter(|before| before.generation + 1 != own.generation) {
        let why = format!("its generation is {} beside {}", before.generation, own.generation);
        report(FindingKind::SuperblockSlot, other_at[0], why);
    }
    let differs = own.generation == newest.generation && (own.state != newest.state || own.array != newest.array);
    if differs {
        let text = format!(
            "{device}: its superblock of generation {} is not the other members': they went different ways",
            own.generation
        );
        findings.push(Finding::new(FindingKind::SuperblocksDiffer, text).on(device, copies_for(own.generation)[0]));
    }
    findings
}

/// Members that no device is.
fn missing(members: &[Member], newest: &Superblock) -> Vec<Finding> {
    let is_here = |uuid: Uuid| members.iter().any(|m| m.newest.member_uuid == uuid);
    let members = newest.state.members().enumerate().filter(|(ix, _)| !newest.state.has_left(MemberIx(*ix as u16)));
    let all = members.filter(|(_, desc)| !is_here(desc.uuid));
    all.map(|(ix, desc)| {
        let text = format!(
            "member {ix} ({}) of group {} is missing: what it holds was not checked, and the group has that much less \
             redundancy; bring it back",
            desc.uuid,
            newest.state.group_of(MemberIx(ix as u16)).map_or(0, GroupId::index)
        );
        Finding::new(FindingKind::MemberMissing, text).of_device(&format!("member {ix}"))
    })
    .collect()
}
