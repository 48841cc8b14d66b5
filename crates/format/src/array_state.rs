//! What all members of an array agree on: the contents of a superblock that do not depend on the member.

use std::collections::BTreeSet;
use std::ops::Range;

use cygnus_types::{Acknowledged, ByteSize, Constraint, GroupId, Medium, MemberIx, Paging, SegmentId, Uuid, VolumeId};

use crate::constants::{
    MAX_ARRAY_NAME, MAX_CHECKPOINT_SEGMENTS, MAX_POLICIES, MAX_POLICY_NAME, MAX_PRESET_NAME, MAX_SPARES,
    MAX_VOLUME_NAME, MAX_VOLUMES, SPARE,
};
use crate::geometry::Geometry;
use crate::layout::{Extent, Layout, LayoutError, allocate};
use crate::raid::Raid;

/// The array as its superblocks describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayState {
    /// The array's name, for people; its identity is the UUID. See [`valid_name`].
    pub name: String,
    /// Name of the preset that the array was created with, a [`valid_name`].
    pub preset: String,
    /// Shape of segments and stripes, with the columns of the widest group that there can be.
    pub geometry: Geometry,
    /// Share of the data capacity withheld from volumes for cleaning, in thousandths.
    pub over_provisioning_permille: u16,
    /// Policy parameters that differ from the preset's defaults, by ascending name.
    pub policies: Vec<PolicyValue>,
    /// R-groups by number.
    pub groups: Vec<GroupDesc>,
    /// Devices kept ready for members that will be lost.
    pub spares: Vec<SpareDesc>,
    /// Session: incremented each time the array is opened for writing, before anything is written.
    pub session: u64,
    /// Whether that session ended with everything durable and a checkpoint that covers all of it.
    pub clean: bool,
    /// Volumes in the order of their creation.
    pub volumes: Vec<VolumeDesc>,
    /// Identifier the next volume gets; above all in use, for identifiers are never reused.
    pub next_volume_id: u32,
    /// When the last scrub that got to the end did so: seconds since 1970 UTC, 0 if none ever did.
    pub last_scrub_unix: u64,
    /// Blocks that no combination of members yields, as far as is known.
    pub losses: Losses,
    /// Stripes from this sequence on are in segments that were not given back since, as far as no checkpoint covers them: a
    /// recovery must find each that was durable.
    pub counted_from: u64,
    /// Checkpoints, newest first. The older serves salvage when the newer turns out to be unreadable.
    pub roots: [Option<CheckpointRoot>; 2],
    /// Set if the array updates in place instead of writing a log; then the preset names the RAID level, a segment is a
    /// region of the write-intent log, and there are no checkpoints.
    pub in_place: Option<InPlace>,
}

/// Blocks of volumes that are beyond redundancy, as far as is known. A scrub that gets to the end counts anew: what was written
/// anew or discarded is lost no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Blocks that the last whole scrub found.
    pub found: u64,
    /// Times since that scrub began that a block was asked for, by a client or a rebuild, and could not be had.
    pub asked: u64,
}

/// What only arrays that update in place have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InPlace {
    /// The array's space from here on, in MiB, has never belonged to a volume and reads as zeros.
    pub blank_from_mib: u64,
}

/// A number that a policy is told, kept in the superblocks under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyValue {
    /// Name of the parameter, a [`valid_name`].
    pub name: String,
    /// Its value, in the unit its policy documents.
    pub value: u64,
}

/// Policy parameter: other than 0 where members that can are to compute the parity of stripes inside, from the copies that
/// they have of them (ScalaAFA, section 3.4).
pub const CONVERTS_INSIDE: &str = "parity-inside";

/// Policy parameter: other than 0 where backups may hold the parity of rows in place of copies (SALSA, section 3.1).
pub const PARITY_BUFFER: &str = "parity-buffer";

/// Policy parameter: other than 0 where the descriptions of backups may be beside their blocks (ScalaAFA, section 5.4).
pub const DESCRIBED_BESIDE: &str = "described-beside";

/// Policy parameters, by medium: the shape of groups there, where it is not the array's: k times 256, and m. It does not depend on which
/// groups are there, as what a killed server has left is as large as it says.
pub const RAID_ON: [&str; Medium::ALL.len()] = ["flash-raid", "disk-raid", "nvm-raid", "smr-raid"];

/// An R-group as superblocks describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDesc {
    /// Where its segments lie in the array's addresses; nowhere when it has retired.
    pub extents: Vec<Extent>,
    /// Whether it takes part.
    pub state: GroupState,
    /// What its members store on, as they said when it was made, or as the operator said for them.
    pub medium: Medium,
    /// How many columns it has.
    pub raid: Raid,
    /// Members in column order, exactly k + m. Those of a retired group are listed until another one gets its number: so
    /// their devices are known when they come back.
    pub members: Vec<MemberDesc>,
}

impl GroupDesc {
    /// Segments; the same number fits on each member.
    pub fn segments(&self) -> u32 {
        self.extents.iter().map(|extent| extent.frames).sum()
    }

    /// Bytes of its members' devices that stay unused because each counts as large as the smallest one.
    pub fn unused_bytes(&self) -> u64 {
        let smallest = self.members.iter().map(|member| member.size_bytes).min().unwrap_or(0);
        self.members.iter().map(|member| member.size_bytes - smallest).sum()
    }
}

/// Whether an R-group takes part in the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum GroupState {
    /// It takes part: it is written to and read.
    #[default]
    InService = 0,
    /// Only in the superblocks of its own members: it will, as soon as some other member's superblock says so. See
    /// [`crate::Superblock::is_joining`].
    Joining = 1,
    /// It gets nothing new, and its data is being moved to the other groups.
    Retiring = 2,
    /// It has left, and nothing that an opening may come upon refers to its addresses any more. They are free, and so is
    /// its number, and with it the numbers of its members.
    Retired = 3,
}

impl GroupState {
    /// The state of this number.
    pub const fn from_byte(byte: u8) -> Option<GroupState> {
        match byte {
            0 => Some(GroupState::InService),
            1 => Some(GroupState::Joining),
            2 => Some(GroupState::Retiring),
            3 => Some(GroupState::Retired),
            _ => None,
        }
    }

    /// The state in a word or two.
    pub const fn word(self) -> &'static str {
        match self {
            GroupState::InService => "in service",
            GroupState::Joining => "joining",
            GroupState::Retiring => "retiring",
            GroupState::Retired => "retired",
        }
    }
}

/// A member device as the array remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberDesc {
    /// Identity of the member; a replacement device gets a new one.
    pub uuid: Uuid,
    /// Usable bytes of the device when it joined.
    pub size_bytes: u64,
    /// Whether its contents can be trusted.
    pub state: MemberState,
    /// What it holds for certain while it is not online; of a member that is, nothing is noted.
    pub holds: Holdings,
    /// What went wrong with it since it joined.
    pub errors: MemberErrors,
}

/// What went wrong with a member since it joined. Counts stop at the highest value: from there on it is "at least".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberErrors {
    /// Reads that it answered with an error.
    pub read: u8,
    /// Blocks that were not what had been written.
    pub wrong: u8,
    /// Times that it became far slower than its peers.
    pub slow: u8,
}

impl MemberErrors {
    /// Blocks that it would not deliver, or that were not what had been written.
    pub fn blocks(self) -> u64 {
        u64::from(self.read) + u64::from(self.wrong)
    }
}

/// What a member that is not online holds for certain, in stripe sequences: what it lacks is what was written since.
///
/// A stripe is there if its sequence is less than `below`, or if it lies in a segment less than `restored` and its
/// sequence is less than `restored_below`. Both parts of the rule stay true however long the member is away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Sequence below which it has every stripe; 0 for a device that is new.
    pub below: u64,
    /// Segment of its group up to which everything was restored.
    pub restored: u32,
    /// Sequence below which it has every stripe of these segments.
    pub restored_below: u64,
    /// Generation of the superblock that it had for certain when it left; an older one means an old copy.
    pub generation: u64,
    /// Session in which it left; a later one means that it went on without the others.
    pub session: u64,
}

impl Holdings {
    /// The same for a device that is known to have only what lies below a sequence.
    pub fn limited_to(self, only_below: Option<u64>) -> Self {
        match only_below {
            Some(limit) => Self { below: self.below.min(limit), restored: 0, restored_below: 0, ..self },
            None => self,
        }
    }

    /// Whether a stripe of this segment is there.
    pub fn has(&self, segment: SegmentId, stripe_seq: u64) -> bool {
        stripe_seq < self.below || (segment.0 < self.restored && stripe_seq < self.restored_below)
    }
}

/// A device kept ready to take a lost member's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpareDesc {
    /// Identity of the device, under which it will be a member.
    pub uuid: Uuid,
    /// Usable bytes of the device when it joined.
    pub size_bytes: u64,
}

/// Whether a member takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MemberState {
    /// Holds everything it should.
    Online = 1,
    /// Failed while in use; not to be read even if it answers again.
    Failed = 2,
    /// Was absent while the array was written to: what it holds is out of date.
    Missing = 3,
    /// Gets everything that is written, while what it lacks is being restored.
    Rebuilding = 4,
}

impl MemberState {
    pub(crate) const fn from_byte(byte: u8) -> Option<MemberState> {
        match byte {
            1 => Some(MemberState::Online),
            2 => Some(MemberState::Failed),
            3 => Some(MemberState::Missing),
            4 => Some(MemberState::Rebuilding),
            _ => None,
        }
    }

    /// The word for the state, as people and JSON have it.
    pub const fn word(self) -> &'static str {
        match self {
            MemberState::Online => "online",
            MemberState::Failed => "failed",
            MemberState::Missing => "missing",
            MemberState::Rebuilding => "rebuilding",
        }
    }
}

/// A volume as superblocks describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeDesc {
    /// Identifier, in every summary entry of the volume's blocks.
    pub id: VolumeId,
    /// Name, unique in the array, a [`valid_name`]; also the export name.
    pub name: String,
    /// Size in bytes, as clients see it.
    pub size_bytes: u64,
    /// When it was created: seconds since 1970 UTC.
    pub created_unix: u64,
    /// Where it begins in the space of an array that updates in place, in MiB; 0 in all others.
    pub start_mib: u32,
    /// Something that was durable has been given up: blocks that are not in the map may have held data. They are unreadable
    /// until they are written or discarded.
    pub in_doubt: bool,
    /// When it answers what changes it. Arrays that update in place know only [`Acknowledged::Written`].
    pub acknowledged: Acknowledged,
    /// On which media its blocks may be.
    pub constraint: Constraint,
    /// For how many of its blocks the map has one entry. Arrays that update in place know only [`Paging::BLOCKS`].
    pub paging: Paging,
}

/// Where a checkpoint lies and what it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointRoot {
    /// Number of the checkpoint; the sequence field of its pages' entries.
    pub generation: u64,
    /// First stripe sequence that the checkpoint does not cover: recovery replays from here on.
    pub barrier: u64,
    /// Write sequence to go on with when nothing newer is found.
    pub next_write_seq: u64,
    /// Stripe sequence to go on with.
    pub next_stripe_seq: u64,
    /// Segment sequence to go on with.
    pub next_segment_seq: u64,
    /// Blocks mapped over all volumes, to check the loaded map against.
    pub mapped_blocks: u64,
    /// Pages dumped, to check that none is missing.
    pub pages: u64,
    /// Segments the pages lie in, and those that were being filled when the barrier was taken: these may hold stripes
    /// on both sides of it, while every other segment's first stripe tells on which side it lies.
    pub segments: Vec<RootSegment>,
}

/// Why a checkpoint names a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RootUse {
    /// Pages of the map lie in it.
    Pages = 0,
    /// It was being filled.
    Open = 1,
}

impl RootUse {
    pub(crate) const fn from_byte(byte: u8) -> Option<RootUse> {
        match byte {
            0 => Some(RootUse::Pages),
            1 => Some(RootUse::Open),
            _ => None,
        }
    }
}

/// A segment that a checkpoint names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootSegment {
    /// R-group that the segment belongs to.
    pub group: GroupId,
    /// Number of the segment within the group.
    pub segment: SegmentId,
    /// The life of the segment that is meant.
    pub segment_seq: u64,
    /// Why it is named.
    pub use_of: RootUse,
}

/// Whether `name` may name an array, a volume, a preset or a policy parameter: letters, digits, `.`, `_` and `-`, the
/// first a letter or digit, so that a name is also a file name, part of a URI and a command-line argument as it stands.
pub fn valid_name(name: &str, max_bytes: usize) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    name.len() <= max_bytes
        && name.bytes().all(allowed)
        && name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
}

/// Why a state cannot be an array's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidState {
    /// Pages that would not lie on one column.
    #[error("volume \"{name}\" has pages of {page}, and chunks of {chunk} blocks are no multiple of that")]
    Page {
        /// Name of the volume.
        name: String,
        /// Bytes of its pages.
        page: ByteSize,
        /// Blocks of the array's chunks.
        chunk: u32,
    },
    /// A name with other characters, or too long.
    #[error(
        "{what} name \"{name}\": use 1 to {max} letters, digits, '.', '_' or '-', beginning with a letter or digit"
    )]
    Name {
        /// What it should name.
        what: &'static str,
        /// The name that cannot be.
        name: String,
        /// Longest name in bytes.
        max: usize,
    },
    /// The groups cannot be addressed.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A group without its k + m members.
    #[error("group {group} has {members} members: it needs exactly {width} (k + m)")]
    GroupWidth {
        /// Index of the group.
        group: usize,
        /// How many members it has.
        members: usize,
        /// How many it needs: k + m.
        width: u8,
    },
    /// A member cannot hold the group's segments.
    #[error("member {uuid} has {size} bytes: too small for the {segments} segments of group {group}")]
    MemberTooSmall {
        /// Identity of the member.
        uuid: Uuid,
        /// Capacity of the member in bytes.
        size: u64,
        /// Index of the group.
        group: usize,
        /// Segments that the group has on each of its members.
        segments: u32,
    },
    /// More spares than a superblock has room for.
    #[error("{0} spares: an array has at most {MAX_SPARES}")]
    TooManySpares(usize),
    /// Two members with one identity.
    #[error("member {0} appears twice")]
    DuplicateMember(Uuid),
    /// Nothing left for volumes.
    #[error("over-provisioning of {0} permille: use less than 1000")]
    OverProvisioning(u16),
    /// Policy names out of order or too many.
    #[error("policy parameters must be at most {MAX_POLICIES} in strictly ascending order of their names")]
    Policies,
    /// More volumes than a superblock has room for.
    #[error("{0} volumes: an array has at most {MAX_VOLUMES}; delete some or make another array")]
    TooManyVolumes(usize),
    /// Two volumes of one name.
    #[error("two volumes are named \"{0}\": choose another name")]
    DuplicateVolume(String),
    /// An identifier used twice, or not below the next one.
    #[error("volume \"{name}\" has {id}, which is used twice or not below the next identifier {next}")]
    VolumeId {
        /// Name of the volume.
        name: String,
        /// Identifier of the volume.
        id: VolumeId,
        /// Next identifier to be given out.
        next: u32,
    },
    /// A checkpoint in too many segments.
    #[error("checkpoint {generation} lies in {segments} segments: at most {MAX_CHECKPOINT_SEGMENTS} can be listed")]
    CheckpointTooLarge {
        /// Generation of the checkpoint.
        generation: u64,
        /// Segments that its pages lie in.
        segments: usize,
    },
    /// A checkpoint outside the array.
    #[error("checkpoint {generation} names {segment} of {group}, which does not exist")]
    CheckpointSegment {
        /// Generation of the checkpoint.
        generation: u64,
        /// R-group that it names.
        group: GroupId,
        /// Segment that it names.
        segment: SegmentId,
    },
    /// Checkpoints not newest first.
    #[error("checkpoints must be stored newest first")]
    CheckpointOrder,
}

impl ArrayState {
    /// Whether members that can are to compute parity inside.
    pub fn converts_inside(&self) -> bool {
        self.is_set(CONVERTS_INSIDE)
    }

    /// Whether backups' descriptions may be beside their blocks.
    pub fn describes_beside(&self) -> bool {
        self.is_set(DESCRIBED_BESIDE)
    }

    /// Whether backups may hold the parity of rows in place of copies.
    pub fn has_parity_buffer(&self) -> bool {
        self.is_set(PARITY_BUFFER)
    }

    fn is_set(&self, parameter: &str) -> bool {
        self.policies.iter().any(|policy| policy.name == parameter && policy.value != 0)
    }

    /// The address arithmetic of this array.
    pub fn layout(&self) -> Result<Layout, LayoutError> {
        let is_empty = |group: &GroupDesc| group.extents.is_empty() != (group.state == GroupState::Retired);
        match self.groups.iter().position(is_empty) {
            Some(group) => Err(LayoutError::EmptyGroup(group)),
            None => {
                Layout::new(self.geometry, self.groups.iter().map(|group| (group.raid, group.extents.iter().copied())))
            }
        }
    }

    /// Takes in a group of `segments` segments: gives it addresses and the lowest number that no group has and none of other width had,
    /// which would move the numbers of the members behind it. Returns that.
    ///
    /// # Errors
    /// When there are no such addresses; nothing has changed then. That the numbers have not run out, and all else, is
    /// for [`ArrayState::validate`] to say.
    pub fn admit(
        &mut self,
        segments: u32,
        (medium, raid): (Medium, Raid),
        members: Vec<MemberDesc>,
        state: GroupState,
    ) -> Result<GroupId, LayoutError> {
        let taken = self.groups.iter().flat_map(|group| group.extents.iter().copied());
        let extents = allocate(&self.geometry, taken, segments)?;
        let group = GroupDesc { extents, state, medium, raid, members };
        let number = self.vacant(raid.width()).unwrap_or(self.groups.len());
        match self.groups.get_mut(number) {
            Some(retired) => *retired = group,
            None => self.groups.push(group),
        }
        Ok(GroupId(number as u16))
    }

    /// The lowest number that a group of this width had and none has now.
    fn vacant(&self, width: u8) -> Option<usize> {
        let is_vacant = |group: &GroupDesc| group.state == GroupState::Retired && group.raid.width() == width;
        self.groups.iter().position(is_vacant)
    }

    /// All members in the order of their numbers.
    pub fn members(&self) -> impl Iterator<Item = &MemberDesc> {
        self.groups.iter().flat_map(|g| &g.members)
    }

    /// The group that a member of this number belongs to, if there is such a group.
    pub fn group_of(&self, member: MemberIx) -> Option<GroupId> {
        let mut left = member.index();
        let is_its = |group: &GroupDesc| match left.checked_sub(group.members.len()) {
            Some(behind) => {
                left = behind;
                false
            }
            None => true,
        };
        self.groups.iter().position(is_its).map(|group| GroupId(group as u16))
    }

    /// The numbers of the members of a group, of which there is one.
    pub fn numbers_of(&self, group: GroupId) -> Range<usize> {
        let before: usize = self.groups[..group.index()].iter().map(|group| group.members.len()).sum();
        before..before + self.groups[group.index()].members.len()
    }

    /// State of the group that a member of this number belongs to, if there is such a group.
    pub fn group_state_of(&self, member: MemberIx) -> Option<GroupState> {
        self.group_of(member).map(|group| self.groups[group.index()].state)
    }

    /// Whether a member belongs to a group that has left.
    pub fn has_left(&self, member: MemberIx) -> bool {
        self.group_state_of(member) == Some(GroupState::Retired)
    }

    /// Whether a device with this identity is the member of that number, or for [`SPARE`] one of the spares.
    pub fn lists(&self, member: MemberIx, uuid: Uuid) -> bool {
        match member {
            SPARE => self.spares.iter().any(|spare| spare.uuid == uuid),
            _ => self.members().nth(member.index()).is_some_and(|desc| desc.uuid == uuid),
        }
    }

    /// Checks everything a superblock promises about its contents.
    pub fn validate(&self) -> Result<(), InvalidState> {
        check_name("array", &self.name, MAX_ARRAY_NAME)?;
        check_name("preset", &self.preset, MAX_PRESET_NAME)?;
        let layout = self.layout()?;
        if self.over_provisioning_permille >= 1000 {
            return Err(InvalidState::OverProvisioning(self.over_provisioning_permille));
        }
        self.validate_policies()?;
        self.validate_members()?;
        self.validate_volumes()?;
        self.validate_roots(&layout)
    }

    fn validate_policies(&self) -> Result<(), InvalidState> {
        for policy in &self.policies {
            check_name("policy parameter", &policy.name, MAX_POLICY_NAME)?;
        }
        let ascending = self.policies.is_sorted_by(|a, b| a.name < b.name);
        if ascending && self.policies.len() <= MAX_POLICIES { Ok(()) } else { Err(InvalidState::Policies) }
    }

    fn validate_members(&self) -> Result<(), InvalidState> {
        let mut seen = BTreeSet::new();
        for (group, desc) in self.groups.iter().enumerate() {
            let width = desc.raid.width();
            if desc.members.len() != usize::from(width) {
                return Err(InvalidState::GroupWidth { group, members: desc.members.len(), width });
            }
            for member in &desc.members {
                let (uuid, size, segments) = (member.uuid, member.size_bytes, desc.segments());
                if self.geometry.segments_on(size) < u64::from(segments) {
                    return Err(InvalidState::MemberTooSmall { uuid, size, group, segments });
                }
                if !seen.insert(uuid) {
                    return Err(InvalidState::DuplicateMember(uuid));
                }
            }
        }
        if self.spares.len() > MAX_SPARES {
            return Err(InvalidState::TooManySpares(self.spares.len()));
        }
        match self.spares.iter().find(|spare| !seen.insert(spare.uuid)) {
            Some(twice) => Err(InvalidState::DuplicateMember(twice.uuid)),
            None => Ok(()),
        }
    }

    fn validate_volumes(&self) -> Result<(), InvalidState> {
        if self.volumes.len() > MAX_VOLUMES {
            return Err(InvalidState::TooManyVolumes(self.volumes.len()));
        }
        let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for volume in &self.volumes {
            check_name("volume", &volume.name, MAX_VOLUME_NAME)?;
            if !names.insert(&volume.name) {
                return Err(InvalidState::DuplicateVolume(volume.name.clone()));
            }
            if volume.id.0 >= self.next_volume_id || !ids.insert(volume.id) {
                let (name, id, next) = (volume.name.clone(), volume.id, self.next_volume_id);
                return Err(InvalidState::VolumeId { name, id, next });
            }
            if !self.geometry.holds_pages_of(volume.paging) {
                let (name, page) = (volume.name.clone(), volume.paging.page());
                return Err(InvalidState::Page { name, page, chunk: self.geometry.chunk_blocks });
            }
        }
        Ok(())
    }

    fn validate_roots(&self, layout: &Layout) -> Result<(), InvalidState> {
        for root in self.roots.iter().flatten() {
            let generation = root.generation;
            if root.segments.len() > MAX_CHECKPOINT_SEGMENTS {
                return Err(InvalidState::CheckpointTooLarge { generation, segments: root.segments.len() });
            }
            let exists =
                |at: &RootSegment| at.group.index() < layout.groups() && at.segment.0 < layout.segments(at.group);
            if let Some(&RootSegment { group, segment, .. }) = root.segments.iter().find(|at| !exists(at)) {
                return Err(InvalidState::CheckpointSegment { generation, group, segment });
            }
        }
        let in_order = match &self.roots {
            [Some(newer), Some(older)] => newer.generation > older.generation,
            [None, Some(_)] => false,
            _ => true,
        };
        if in_order { Ok(()) } else { Err(InvalidState::CheckpointOrder) }
    }
}

fn check_name(what: &'static str, name: &str, max: usize) -> Result<(), InvalidState> {
    if valid_name(name, max) { Ok(()) } else { Err(InvalidState::Name { what, name: name.to_owned(), max }) }
}

#[cfg(test)]
#[path = "array_state_tests.rs"]
pub(crate) mod tests;
