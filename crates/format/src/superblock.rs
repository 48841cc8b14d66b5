//! Superblocks: how a device says which array it belongs to, and what the array knows of itself.
//!
//! Each member has two slots (`slots`). An update writes the slot its generation falls to, flushes, and only then counts;
//! the other slot still holds the state before. All members carry the whole state, so any one of them is enough to learn
//! which others to look for.
//!
//! The first block has the fixed header; tables of fixed-size records follow it without gaps, in the order of the
//! counts in the header. The checksum covers the header and all tables, to the end of the last block.

use cygnus_types::{Acknowledged, BLOCK, Constraint, GroupId, Medium, MemberIx, Paging, SegmentId, Uuid, VolumeId};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::array_state::{
    ArrayState, CheckpointRoot, GroupDesc, GroupState, Holdings, InPlace, InvalidState, Losses, MemberDesc,
    MemberErrors, MemberState, PolicyValue, RAID_ON, RootSegment, RootUse, SpareDesc, VolumeDesc,
};
use crate::checksum;
use crate::constants::{FORMAT_VERSION, MAX_PARITY, MAX_WIDTH, SUPERBLOCK_SLOT};
use crate::geometry::Geometry;
use crate::layout::Extent;
use crate::raid::Raid;
use crate::raw_superblock::{
    NameField, RawExtent, RawGroup, RawMember, RawPolicy, RawRoot, RawRootSegment, RawSpare, RawSuperblock, RawVolume,
};

/// First bytes of every superblock.
pub const SUPERBLOCK_MAGIC: [u8; 8] = *b"CYGNUSSB";

/// Incompat features this program knows. An array with others is not opened at all.
pub const KNOWN_INCOMPAT: u64 = GROUP_STATES
    | IN_PLACE
    | TRANSIENT
    | CONVERTED_INSIDE
    | MEDIA
    | HYBRID
    | LEAD
    | BUFFERED_PARITY
    | BESIDE
    | GROUP_RAID
    | MORE_MEDIA
    | LEAD_BEHIND_AREA;
/// Incompat feature: some R-group is joining, retiring or retired. A program that does not know of these would look for
/// members that have left, or write to a group that is to leave.
pub const GROUP_STATES: u64 = 1;
/// Incompat feature: the array updates in place. A program that does not know of this would take its data for a log.
pub const IN_PLACE: u64 = 2;
/// Incompat feature: members have a transient area. A program that does not know of this would look for segments elsewhere.
pub const TRANSIENT: u64 = 4;
/// Incompat feature: members compute parity from what lies in their transient areas ([`crate::CONVERTS_INSIDE`]). A program that
/// does not know of this would look for copies elsewhere.
pub const CONVERTED_INSIDE: u64 = 8;
/// Incompat feature: some R-group is not on flash, or a volume is constrained to a medium. A program that does not know of this
/// would put blocks where they must not be.
pub const MEDIA: u64 = 16;
/// Incompat feature: a volume is hybrid. A program that does not know of this would not know where its blocks go.
pub const HYBRID: u64 = 32;
/// Incompat feature: blocks are left free before the first segment. A program that does not know of this would look for segments
/// elsewhere.
pub const LEAD: u64 = 64;
/// Incompat feature: transient areas may have the parity of rows in place of copies ([`crate::PARITY_BUFFER`]). A program that does not
/// know of this would take the one for the other.
pub const BUFFERED_PARITY: u64 = 128;
/// Incompat feature: the descriptions of backups may be beside their blocks ([`crate::DESCRIBED_BESIDE`]). A program that does not know
/// of this would not find them.
pub const BESIDE: u64 = 256;

/// Incompat feature: groups may have other columns than the array as a whole, those that are added later too. A program that does not
/// know would take members of one group for another one's, or add a group of the wrong shape.
pub const GROUP_RAID: u64 = 512;
/// Incompat feature: some R-group is on another medium than flash or disks, or a volume names one, or a hybrid volume is on two others. A
/// program that does not know of these would take what is written there for damage.
pub const MORE_MEDIA: u64 = 1024;
/// Incompat feature: blocks are left free behind transient areas, so members of some group may be written in order. A program that does
/// not know of this would write copies of open stripes to such members too, where their patches lie.
pub const LEAD_BEHIND_AREA: u64 = 2048;
/// Read-only-compat features this program knows. An array with others is opened for reading only.
pub const KNOWN_RO_COMPAT: u64 = 0;

/// A superblock: the array's state as one member carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Number of this write; 1 for the first.
    pub generation: u64,
    /// UUID of the array.
    pub array: Uuid,
    /// Number of this member, over all groups, or [`SPARE`](crate::SPARE).
    pub member: MemberIx,
    /// UUID of this member; the array's state lists it at the same number, or among the spares.
    pub member_uuid: Uuid,
    /// The array uses features that this program can read past but must not write to. Never set by this program's own
    /// superblocks.
    pub read_only: bool,
    /// What all members agree on.
    pub state: ArrayState,
}

/// Why bytes are not a usable superblock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuperblockError {
    /// Fewer bytes than the superblock has.
    #[error("superblock cut short: {have} bytes of {need}; read the whole slot")]
    Truncated {
        /// Bytes given.
        have: usize,
        /// Bytes needed.
        need: usize,
    },
    /// Something else, or nothing, is here.
    #[error("no Cygnus superblock here")]
    NotASuperblock,
    /// Written by another version.
    #[error("superblock of format version {0}, this program reads version {FORMAT_VERSION}: use a matching version")]
    UnsupportedVersion(u16),
    /// Torn or rotten.
    #[error("superblock checksum is {stored:08x} but should be {computed:08x}: use another copy or another member")]
    Checksum {
        /// Checksum on disk.
        stored: u32,
        /// Checksum of the bytes.
        computed: u32,
    },
    /// Needs a newer program.
    #[error("the array uses features this program does not know (incompat bits {0:#x}): use a newer version")]
    UnknownFeatures(u64),
    /// The checksum is right but the contents make no sense.
    #[error("superblock has an impossible {0}: it was written by a faulty or newer program")]
    Malformed(&'static str),
    /// The contents contradict each other.
    #[error("superblock describes an impossible array: {0}")]
    Invalid(#[from] InvalidState),
    /// Other software's signature lies over or behind the first slot.
    #[error("the device was a member but {0} was put on it since: leave it out, or make it anew with --force")]
    TakenOver(&'static str),
    /// There are valid superblocks of different arrays.
    #[error(
        "the slots belong to two arrays, {0} and {1}: the device was being made a member of one while it was one of the other; create again with --force"
    )]
    TwoArrays(Uuid, Uuid),
}

/// A superblock whose checksum was not compared yet.
#[derive(Clone, Copy, Debug)]
pub struct UnverifiedSuperblock<'a> {
    bytes: &'a [u8],
}

impl Superblock {
    /// The bytes to write at [`crate::copies_for`] the generation: whole blocks, at most [`SUPERBLOCK_SLOT`].
    ///
    /// # Errors
    /// When the state breaks a promise that [`ArrayState::validate`] lists: what can be written can be read again.
    ///
    /// # Panics
    /// When the superblock is read-only, or the state does not list this member: the writer's bug.
    pub fn encode(&self) -> Result<Vec<u8>, InvalidState> {
        assert!(!self.read_only, "an array with unknown features is not written");
        self.state.validate()?;
        assert!(self.state.lists(self.member, self.member_uuid), "the member is listed in the state");
        let mut bytes = self.header().as_bytes().to_vec();
        self.append_tables(&mut bytes);
        let length = bytes.len().next_multiple_of(BLOCK);
        bytes.resize(length, 0);
        let at = std::mem::offset_of!(RawSuperblock, length);
        bytes[at..at + 4].copy_from_slice(&(length as u32).to_le_bytes());
        checksum::seal(&mut bytes);
        Ok(bytes)
    }

    /// Whether this member belongs to a group that was only about to be added when this was written. Such a superblock
    /// says nothing about the array: if no other member's has the group, the group was never added.
    pub fn is_joining(&self) -> bool {
        self.state.group_state_of(self.member) == Some(GroupState::Joining)
    }

    /// Recognises a superblock at the start of `bytes`, normally a whole slot.
    pub fn decode(bytes: &[u8]) -> Result<UnverifiedSuperblock<'_>, SuperblockError> {
        let Ok((raw, _)) = RawSuperblock::ref_from_prefix(bytes) else {
            return Err(SuperblockError::Truncated { have: bytes.len(), need: BLOCK });
        };
        if raw.magic != SUPERBLOCK_MAGIC {
            return Err(SuperblockError::NotASuperblock);
        }
        if raw.version.get() != FORMAT_VERSION {
            return Err(SuperblockError::UnsupportedVersion(raw.version.get()));
        }
        let need = raw.length.get() as usize;
        if need == 0 || !need.is_multiple_of(BLOCK) || need as u64 > SUPERBLOCK_SLOT {
            return Err(SuperblockError::Malformed("length"));
        }
        match bytes.get(..need) {
            Some(bytes) => Ok(UnverifiedSuperblock { bytes }),
            None => Err(SuperblockError::Truncated { have: bytes.len(), need }),
        }
    }

    fn header(&self) -> RawSuperblock {
        let state = &self.state;
        RawSuperblock {
            magic: SUPERBLOCK_MAGIC,
            version: U16::new(FORMAT_VERSION),
            member: U16::new(self.member.0),
            incompat: U64::new(state.incompat()),
            generation: U64::new(self.generation),
            array: self.array.0,
            member_uuid: self.member_uuid.0,
            session: U64::new(state.session),
            clean: u8::from(state.clean),
            data: state.geometry.data,
            parity: state.geometry.parity,
            roots: state.roots.iter().flatten().count() as u8,
            over_provisioning: U16::new(state.over_provisioning_permille),
            policies: U16::new(state.policies.len() as u16),
            chunk_blocks: U32::new(state.geometry.chunk_blocks),
            stripe_rows: U32::new(state.geometry.stripe_rows),
            segment_blocks: U32::new(state.geometry.segment_blocks),
            transient_blocks: U32::new(state.geometry.transient_blocks),
            lead_blocks: U32::new(state.geometry.lead_blocks),
            next_volume_id: U32::new(state.next_volume_id),
            last_scrub_unix: U64::new(state.last_scrub_unix),
            lost_found: U64::new(state.losses.found),
            lost_asked: U64::new(state.losses.asked),
            counted_from: U64::new(state.counted_from),
            blank_from_mib: U64::new(state.in_place.unwrap_or_default().blank_from_mib),
            groups: U16::new(state.groups.len() as u16),
            members: U16::new(state.members().count() as u16),
            volumes: U16::new(state.volumes.len() as u16),
            spares: U16::new(state.spares.len() as u16),
            name: pack(&state.name),
            preset: pack(&state.preset),
            ..RawSuperblock::new_zeroed()
        }
    }

    /// The tables in the order in which `verify` reads them.
    fn append_tables(&self, bytes: &mut Vec<u8>) {
        let state = &self.state;
        append(bytes, &state.policies, |p| RawPolicy { name: pack(&p.name), value: U64::new(p.value) });
        append(bytes, &state.groups, |g| {
            let of_its_own = (g.raid != state.geometry.raid()).then_some(g.raid);
            RawGroup {
                extents: U32::new(g.extents.len() as u32),
                state: g.state as u8,
                medium: g.medium as u8,
                data: of_its_own.map_or(0, |raid| raid.data),
                parity: of_its_own.map_or(0, |raid| raid.parity),
            }
        });
        append(bytes, state.groups.iter().flat_map(|g| &g.extents), |e| RawExtent {
            first: U32::new(e.first),
            frames: U32::new(e.frames),
        });
        append(bytes, state.members(), |m| RawMember {
            uuid: m.uuid.0,
            size_bytes: U64::new(m.size_bytes),
            state: m.state as u8,
            read_errors: m.errors.read,
            wrong_blocks: m.errors.wrong,
            slow: m.errors.slow,
            restored: U32::new(m.holds.restored),
            below: U64::new(m.holds.below),
            restored_below: U64::new(m.holds.restored_below),
            generation: U64::new(m.holds.generation),
            session: U64::new(m.holds.session),
        });
        append(bytes, &state.spares, |s| RawSpare {
            uuid: s.uuid.0,
            size_bytes: U64::new(s.size_bytes),
            reserved: [0; 8],
        });
        append(bytes, &state.volumes, |v| RawVolume {
            id: U32::new(v.id.0),
            start_mib: U32::new(v.start_mib),
            size_bytes: U64::new(v.size_bytes),
            created_unix: U64::new(v.created_unix),
            in_doubt: u8::from(v.in_doubt),
            acknowledged: v.acknowledged as u8,
            constraint: v.constraint.to_byte(),
            page: v.paging.blocks(),
            fine: U32::new(v.paging.fine()),
            name: pack(&v.name),
        });
        append(bytes, state.roots.iter().flatten(), |r| RawRoot {
            generation: U64::new(r.generation),
            barrier: U64::new(r.barrier),
            next_write_seq: U64::new(r.next_write_seq),
            next_stripe_seq: U64::new(r.next_stripe_seq),
            next_segment_seq: U64::new(r.next_segment_seq),
            mapped_blocks: U64::new(r.mapped_blocks),
            pages: U64::new(r.pages),
            segments: U32::new(r.segments.len() as u32),
            reserved: [0; 4],
        });
        append(bytes, state.roots.iter().flatten().flat_map(|r| &r.segments), |s| RawRootSegment {
            segment: U32::new(s.segment.0),
            group: U16::new(s.group.0),
            use_of: s.use_of as u8,
            reserved: 0,
            segment_seq: U64::new(s.segment_seq),
        });
    }
}

impl ArrayState {
    /// The incompat features that it takes.
    fn incompat(&self) -> u64 {
        let plain = self.groups.iter().all(|group| group.state == GroupState::InService);
        let group_states = if plain { 0 } else { GROUP_STATES };
        let in_place = if self.in_place.is_some() { IN_PLACE } else { 0 };
        let transient = if self.geometry.transient_blocks > 0 { TRANSIENT } else { 0 };
        let lead = if self.geometry.lead_blocks > 0 { LEAD } else { 0 };
        let lead_behind_area = if transient > 0 && lead > 0 { LEAD_BEHIND_AREA } else { 0 };
        let inside = if self.converts_inside() { CONVERTED_INSIDE } else { 0 };
        let buffered = if self.has_parity_buffer() { BUFFERED_PARITY } else { 0 };
        let beside = if self.describes_beside() { BESIDE } else { 0 };
        let on_flash = self.groups.iter().all(|group| group.medium == Medium::Flash);
        let anywhere = self.volumes.iter().all(|volume| volume.constraint == Constraint::None);
        let media = if on_flash && anywhere { 0 } else { MEDIA };
        let has_hybrid = self.volumes.iter().any(|volume| matches!(volume.constraint, Constraint::Hybrid(_)));
        let hybrid = if has_hybrid { HYBRID } else { 0 };
        let is_newer = |medium: Medium| !matches!(medium, Medium::Flash | Medium::Disk);
        let names_newer = self.volumes.iter().any(|volume| volume.constraint.names_others_than_flash_and_disk());
        let shapes_newer = self.policies.iter().any(|policy| [RAID_ON[2], RAID_ON[3]].contains(&policy.name.as_str()));
        let is_on_newer = self.groups.iter().any(|group| is_newer(group.medium));
        let more_media = if names_newer || shapes_newer || is_on_newer { MORE_MEDIA } else { 0 };
        let is_recorded = self.policies.iter().any(|policy| RAID_ON.contains(&policy.name.as_str()));
        let alike = !is_recorded && self.groups.iter().all(|group| group.raid == self.geometry.raid());
        let raid = if alike { 0 } else { GROUP_RAID };
        let of_areas = transient | lead | lead_behind_area | inside | buffered | beside;
        group_states | in_place | of_areas | media | more_media | hybrid | raid
    }
}

impl UnverifiedSuperblock<'_> {
    /// Bytes of the superblock, padding included.
    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Identity of the array and of the member as the bytes have it, whether or not the checksum is right: enough to
    /// tell that a device was a member, not enough to act on.
    pub fn claimed(&self) -> (Uuid, Uuid) {
        match RawSuperblock::ref_from_prefix(self.bytes) {
            Ok((raw, _)) => (Uuid(raw.array), Uuid(raw.member_uuid)),
            Err(_) => (Uuid::default(), Uuid::default()),
        }
    }

    /// Checks the checksum and the features, and that the contents make sense together.
    pub fn verify(self) -> Result<Superblock, SuperblockError> {
        let Ok((raw, tables)) = RawSuperblock::ref_from_prefix(self.bytes) else {
            return Err(SuperblockError::Truncated { have: self.bytes.len(), need: BLOCK });
        };
        let (stored, computed) = (raw.crc.get(), checksum::expected(self.bytes));
        if stored != computed {
            return Err(SuperblockError::Checksum { stored, computed });
        }
        let unknown = raw.incompat.get() & !KNOWN_INCOMPAT;
        if unknown != 0 {
            return Err(SuperblockError::UnknownFeatures(unknown));
        }
        let superblock = Superblock {
            generation: raw.generation.get(),
            array: Uuid(raw.array),
            member: MemberIx(raw.member.get()),
            member_uuid: Uuid(raw.member_uuid),
            read_only: raw.ro_compat.get() & !KNOWN_RO_COMPAT != 0,
            state: raw.state(tables)?,
        };
        superblock.state.validate()?;
        if superblock.state.incompat() & !raw.incompat.get() != 0 {
            return Err(SuperblockError::Malformed("group state"));
        }
        if superblock.state.lists(superblock.member, superblock.member_uuid) {
            Ok(superblock)
        } else {
            Err(SuperblockError::Malformed("member number"))
        }
    }
}

impl RawSuperblock {
    fn state(&self, mut tables: &[u8]) -> Result<ArrayState, SuperblockError> {
        let tables = &mut tables;
        let geometry = Geometry {
            data: self.data,
            parity: self.parity,
            chunk_blocks: self.chunk_blocks.get(),
            stripe_rows: self.stripe_rows.get(),
            segment_blocks: self.segment_blocks.get(),
            transient_blocks: self.transient_blocks.get(),
            lead_blocks: self.lead_blocks.get(),
        };
        geometry.validate().map_err(|e| InvalidState::Layout(e.into()))?;
        let policies = table::<RawPolicy>(tables, self.policies.get().into(), "number of policy parameters")?
            .iter()
            .map(|raw| Ok(PolicyValue { name: unpack(&raw.name)?, value: raw.value.get() }))
            .collect::<Result<_, SuperblockError>>()?;
        let groups = self.groups(tables, geometry.raid())?;
        let spares = table::<RawSpare>(tables, self.spares.get().into(), "number of spares")?
            .iter()
            .map(|raw| SpareDesc { uuid: Uuid(raw.uuid), size_bytes: raw.size_bytes.get() })
            .collect();
        let volumes = table::<RawVolume>(tables, self.volumes.get().into(), "number of volumes")?
            .iter()
            .map(RawVolume::volume)
            .collect::<Result<_, SuperblockError>>()?;
        Ok(ArrayState {
            name: unpack(&self.name)?,
            preset: unpack(&self.preset)?,
            geometry,
            over_provisioning_permille: self.over_provisioning.get(),
            policies,
            groups,
            spares,
            session: self.session.get(),
            clean: self.clean == 1,
            volumes,
            next_volume_id: self.next_volume_id.get(),
            last_scrub_unix: self.last_scrub_unix.get(),
            losses: Losses { found: self.lost_found.get(), asked: self.lost_asked.get() },
            counted_from: self.counted_from.get(),
            roots: self.roots(tables)?,
            in_place: (self.incompat.get() & IN_PLACE != 0)
                .then(|| InPlace { blank_from_mib: self.blank_from_mib.get() }),
        })
    }

    fn groups(&self, tables: &mut &[u8], usual: Raid) -> Result<Vec<GroupDesc>, SuperblockError> {
        let groups = table::<RawGroup>(tables, self.groups.get().into(), "number of groups")?;
        let extents = groups.iter().map(|group| group.extents.get() as usize).sum();
        let mut extents = table::<RawExtent>(tables, extents, "number of extents")?.iter();
        let mut members = table::<RawMember>(tables, self.members.get().into(), "number of members")?;
        let mut described = Vec::with_capacity(groups.len());
        for group in groups {
            let raid = group.raid(usual)?;
            let Some((its, others)) = members.split_at_checked(raid.width().into()) else {
                return Err(SuperblockError::Malformed("number of members"));
            };
            members = others;
            let members = its.iter().map(RawMember::member).collect::<Result<_, _>>()?;
            let state = GroupState::from_byte(group.state).ok_or(SuperblockError::Malformed("group state"))?;
            let medium = Medium::from_byte(group.medium).ok_or(SuperblockError::Malformed("medium of a group"))?;
            let extents = extents.by_ref().take(group.extents.get() as usize);
            let extents = extents.map(|raw| Extent { first: raw.first.get(), frames: raw.frames.get() }).collect();
            described.push(GroupDesc { extents, state, medium, raid, members });
        }
        if members.is_empty() { Ok(described) } else { Err(SuperblockError::Malformed("number of members")) }
    }

    fn roots(&self, tables: &mut &[u8]) -> Result<[Option<CheckpointRoot>; 2], SuperblockError> {
        let mut roots = [None, None];
        if usize::from(self.roots) > roots.len() {
            return Err(SuperblockError::Malformed("number of checkpoints"));
        }
        let raw_roots = table::<RawRoot>(tables, self.roots.into(), "number of checkpoints")?;
        for (root, raw) in roots.iter_mut().zip(raw_roots) {
            let segments = table::<RawRootSegment>(tables, raw.segments.get() as usize, "checkpoint length")?;
            *root = Some(raw.root(segments).ok_or(SuperblockError::Malformed("checkpoint segment"))?);
        }
        Ok(roots)
    }
}

impl RawGroup {
    /// Its columns, where the array as a whole has the `usual` ones.
    fn raid(&self, usual: Raid) -> Result<Raid, SuperblockError> {
        match (self.data, self.parity) {
            (0, 0) => Ok(usual),
            (1..=MAX_WIDTH, 0..=MAX_PARITY) => Ok(Raid { data: self.data, parity: self.parity }),
            _ => Err(SuperblockError::Malformed("columns of a group")),
        }
    }
}

impl RawMember {
    fn member(&self) -> Result<MemberDesc, SuperblockError> {
        let state = MemberState::from_byte(self.state).ok_or(SuperblockError::Malformed("member state"))?;
        let holds = Holdings {
            below: self.below.get(),
            restored: self.restored.get(),
            restored_below: self.restored_below.get(),
            generation: self.generation.get(),
            session: self.session.get(),
        };
        let errors = MemberErrors { read: self.read_errors, wrong: self.wrong_blocks, slow: self.slow };
        Ok(MemberDesc { uuid: Uuid(self.uuid), size_bytes: self.size_bytes.get(), state, holds, errors })
    }
}

impl RawVolume {
    fn volume(&self) -> Result<VolumeDesc, SuperblockError> {
        Ok(VolumeDesc {
            id: VolumeId(self.id.get()),
            name: unpack(&self.name)?,
            size_bytes: self.size_bytes.get(),
            created_unix: self.created_unix.get(),
            start_mib: self.start_mib.get(),
            in_doubt: self.in_doubt == 1,
            acknowledged: Acknowledged::from_byte(self.acknowledged)
                .ok_or(SuperblockError::Malformed("level of acknowledgement"))?,
            constraint: Constraint::from_byte(self.constraint).ok_or(SuperblockError::Malformed("constraint"))?,
            paging: Paging::new(self.page, self.fine.get()).ok_or(SuperblockError::Malformed("page"))?,
        })
    }
}

impl RawRoot {
    fn root(&self, segments: &[RawRootSegment]) -> Option<CheckpointRoot> {
        let segment = |raw: &RawRootSegment| {
            Some(RootSegment {
                group: GroupId(raw.group.get()),
                segment: SegmentId(raw.segment.get()),
                segment_seq: raw.segment_seq.get(),
                use_of: RootUse::from_byte(raw.use_of)?,
            })
        };
        Some(CheckpointRoot {
            generation: self.generation.get(),
            barrier: self.barrier.get(),
            next_write_seq: self.next_write_seq.get(),
            next_stripe_seq: self.next_stripe_seq.get(),
            next_segment_seq: self.next_segment_seq.get(),
            mapped_blocks: self.mapped_blocks.get(),
            pages: self.pages.get(),
            segments: segments.iter().map(segment).collect::<Option<_>>()?,
        })
    }
}

fn append<T, R: IntoBytes + Immutable>(
    bytes: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    record: impl Fn(T) -> R,
) {
    for item in items {
        bytes.extend_from_slice(record(item).as_bytes());
    }
}

/// Takes a table of `count` records off the front of `bytes`.
fn table<'a, R: FromBytes + KnownLayout + Immutable + Unaligned>(
    bytes: &mut &'a [u8],
    count: usize,
    what: &'static str,
) -> Result<&'a [R], SuperblockError> {
    let (records, rest) =
        <[R]>::ref_from_prefix_with_elems(bytes, count).map_err(|_| SuperblockError::Malformed(what))?;
    *bytes = rest;
    Ok(records)
}

fn pack<const N: usize>(name: &str) -> NameField<N> {
    let mut field = [0; N];
    field[0] = name.len() as u8;
    field[1..=name.len()].copy_from_slice(name.as_bytes());
    field
}

fn unpack(field: &[u8]) -> Result<String, SuperblockError> {
    let text = field.split_first().and_then(|(&length, text)| text.get(..usize::from(length)));
    let text = text.and_then(|text| std::str::from_utf8(text).ok());
    text.map(str::to_owned).ok_or(SuperblockError::Malformed("name"))
}

#[cfg(test)]
#[path = "superblock_tests.rs"]
pub(crate) mod tests;
