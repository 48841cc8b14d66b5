//! What can go wrong, one enum per kind of request. Bad devices and bad callers end up here; bugs panic.

use cygnus_format::LayoutError;
use cygnus_runtime::IoError;
use cygnus_types::{Acknowledged, ByteSize, GroupId, Lba, Medium, MemberIx, SegmentId, Tiers, VolumeId, counted};

use crate::autonomics::links::LinkError;

/// A read, write, flush or trim of a volume failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// The block cannot be delivered: too many of the devices that could restore it failed or hold wrong data.
    #[error("volume {volume} {lba}: beyond redundancy: no combination of its group's devices yields the block")]
    Unreadable {
        /// Which volume.
        volume: VolumeId,
        /// Which block.
        lba: Lba,
    },
    /// Something that was durable has been given up by force, and with it what the block held.
    #[error("volume {volume} {lba}: what it held was given up when the array was opened by force: write or discard it")]
    Unknown {
        /// Which volume.
        volume: VolumeId,
        /// Which block.
        lba: Lba,
    },
    /// No space for new data; reads, overwrites after trims, and trims go on.
    #[error("the array is full ({usable} usable): trim or delete data, or add devices")]
    NoSpace {
        /// What the array can hold.
        usable: ByteSize,
    },
    /// The same where there may be room, but not on the only medium on which the volume may be.
    #[error(
        "no room is left on {medium} ({usable} usable there), and volume {volume} may be nowhere else: trim or delete data, or add \
         an R-group on {medium}"
    )]
    NoSpaceOn {
        /// The medium.
        medium: Medium,
        /// Name of the volume.
        volume: String,
        /// What the array can hold there.
        usable: ByteSize,
    },
    /// The maps of the volumes have all the memory that they may take, so no block can be mapped that is not; reads,
    /// overwrites and trims go on.
    #[error(
        "the maps of the volumes take all of the {limit} of memory that they may: trim or delete data, or allow more \
         (serve --memory)"
    )]
    MapMemory {
        /// What they may take.
        limit: ByteSize,
    },
    /// Blocks that cannot be read keep the segments in which they lie, and nothing else gives room; reads, discards and deletions
    /// go on, and writes do when these have given room.
    #[error(
        "blocks that cannot be read keep {segments} segments of the array, and there is no room left: discard those blocks, or \
         others; bring members back that may have them, or add an R-group"
    )]
    Clogged {
        /// How many.
        segments: u32,
    },
    /// Blocks were acknowledged, and are lost with the caches of devices that lost power before a flush had covered them.
    /// Told once to each who has the volume.
    #[error(
        "volume {volume}: {blocks} blocks that were written since the flush before are lost: more devices of a group than \
         its parity covers lost power. They are unreadable until they are written anew or discarded"
    )]
    Lost {
        /// Name.
        volume: String,
        /// How many.
        blocks: u64,
    },
    /// The array takes no writes any more.
    #[error("the array is read-only: {0}")]
    ReadOnly(String),
    /// The array waits for members, and the operator does not let requests wait any longer.
    #[error("the array is suspended: it waits for {waits_for}")]
    Suspended {
        /// For whom and why.
        waits_for: String,
    },
    /// The request reaches past the end of the volume.
    #[error("bytes {offset}..{end} reach past the end of the volume ({size})")]
    OutOfRange {
        /// First byte asked for.
        offset: u64,
        /// End of the request.
        end: u64,
        /// Size of the volume.
        size: ByteSize,
    },
    /// The volume was deleted, or the array closed.
    #[error("the volume is gone")]
    Gone,
}

/// A volume could not be created, resized or deleted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeAdminError {
    /// No volume of that name.
    #[error("no volume named {0:?}")]
    Unknown(String),
    /// The name is taken.
    #[error("a volume named {0:?} exists already")]
    Exists(String),
    /// The name breaks the rules.
    #[error("{0:?} is no volume name: 1 to 255 of the characters A-Z a-z 0-9 . _ -, not starting with a dot or a dash")]
    BadName(String),
    /// The size breaks the rules.
    #[error("a volume of {size} is not possible: sizes are multiples of 4096 bytes, from 4 KiB to {max}")]
    BadSize {
        /// What was asked.
        size: ByteSize,
        /// Largest size.
        max: ByteSize,
    },
    /// The size is no multiple of the volume's pages.
    #[error("a volume of {size} is not possible: it has pages of {page}, and its size must be a multiple of that")]
    PartOfPage {
        /// What was asked.
        size: ByteSize,
        /// Its pages.
        page: ByteSize,
    },
    /// Pages do not fit in the chunks of the array.
    #[error(
        "pages of {page} are not possible in this array: its chunks are {chunk}, and a page lies on one device; leave --page out, use \
         pages that divide a chunk, or make an array with larger chunks ('cygnus array create --chunk {page}')"
    )]
    PageBeyondChunk {
        /// What was asked.
        page: ByteSize,
        /// A chunk of the array.
        chunk: ByteSize,
    },
    /// Segments are too small for pages.
    #[error(
        "pages of {page} leave no room in this array: a segment has too few stripes for them; use smaller pages, or make an array with \
         larger segments ('cygnus array create --segment')"
    )]
    PageBeyondSegment {
        /// What was asked.
        page: ByteSize,
    },
    /// An array that updates in place has no map.
    #[error("an array that updates in place has no map, so its volumes have no pages: leave --page out")]
    NoPages,
    /// The superblock has no room for another volume.
    #[error("the array has {0} volumes, the most that its superblock holds: delete one first")]
    TooMany(usize),
    /// No group is on the medium on which the volume is to be.
    #[error(
        "volume {volume} is to be only on {medium}, and no R-group is: 'cygnus array status' shows what they store on; add one ('cygnus \
         array add --media {medium}', of preset salsa), or name another medium"
    )]
    NoSuchMedium {
        /// Name of the volume.
        volume: String,
        /// The medium.
        medium: Medium,
    },
    /// A hybrid volume needs both of its media.
    #[error(
        "volume {volume} is to be hybrid, and no R-group is on {lacks}: make the array with preset salsa and a group on each medium \
         (--media {tiers}), add one ('cygnus array add --media {lacks}'), or name two media that it has (--hybrid --media)"
    )]
    NotHybrid {
        /// Name of the volume.
        volume: String,
        /// Its media.
        tiers: Tiers,
        /// The medium that the array lacks, or does not keep apart from the other.
        lacks: Medium,
    },
    /// An array that updates in place knows no media.
    #[error("an array that updates in place has all volumes on all members: leave the medium out, or use preset salsa")]
    NoMedia,
    /// An array that updates in place answers a write when the members have taken it.
    #[error(
        "'{0}' is not possible here: an array that updates in place answers a write when the members have taken it, so all its \
         volumes are 'written'; leave it, or use an array of another preset"
    )]
    OnlyWritten(Acknowledged),
    /// The change could not be recorded.
    #[error(transparent)]
    Array(#[from] ArrayError),
}

/// A member could not be replaced, or a spare not added or removed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemberError {
    /// The device is in use in this very array.
    #[error("{0} is a member or spare of this array already")]
    InService(String),
    /// The member works.
    #[error("{0} is in service, and its group would have less redundancy until the new device is filled: add --force")]
    StillOnline(String),
    /// Without the member its group would lose data.
    #[error(
        "{device} cannot be taken out: {group} has no redundancy left without it; bring back or replace the others first"
    )]
    LastCopy {
        /// Path.
        device: String,
        /// Its group.
        group: GroupId,
    },
    /// Its group has left the array.
    #[error("member {} has left the array with its R-group", .0.0)]
    Left(MemberIx),
    /// Something is being done about it already.
    #[error("{0} is being filled already: wait for that job, or cancel it")]
    Rebuilding(String),
    /// It does not work any more: there is nothing to be drained.
    #[error(
        "{device} is {state}: what it held is restored from the other members when a spare or another device takes its \
         place: 'cygnus array spare add' or 'cygnus array replace'"
    )]
    NotOnline {
        /// Path.
        device: String,
        /// Its state in a word.
        state: &'static str,
    },
    /// Another member of its group is lost, or being filled: that comes first.
    #[error(
        "{device} is not drained while {group} lacks another member: spares are wanted there; drain it when the group is \
         whole again ('cygnus array status'), or replace the other one with 'cygnus array replace'"
    )]
    GroupLacks {
        /// Path.
        device: String,
        /// Its group.
        group: GroupId,
    },
    /// No spare can take over from the member.
    #[error(
        "no spare of at least {need} is free to take over from {device}: add one with 'cygnus array spare add', and drain \
         it again"
    )]
    NoFittingSpare {
        /// Path.
        device: String,
        /// What is needed.
        need: ByteSize,
    },
    /// The spare is about to take over from a member.
    #[error("{spare} is being filled to take over from {member}: cancel that job first")]
    Successor {
        /// The spare, as it was named.
        spare: String,
        /// Path of the member.
        member: String,
    },
    /// The superblock has no room for another one.
    #[error("the array has as many spares as its superblock holds: remove one first")]
    TooManySpares,
    /// No such spare.
    #[error("no spare {0}: 'cygnus array spare list' shows them")]
    NoSpare(String),
    /// The device or the array cannot do it.
    #[error(transparent)]
    Array(#[from] ArrayError),
}

/// R-groups could not be added, or one not retired.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// The devices do not make up whole groups.
    #[error(
        "R-groups of {data}+{parity} take {width} devices each, and {given} were given: give {more} more, or leave out \
         {over}, which can be added as {spares}",
        more = width - over,
        spares = if *over == 1 { "a spare" } else { "spares" }
    )]
    NotWhole {
        /// k.
        data: u8,
        /// m.
        parity: u8,
        /// k + m.
        width: usize,
        /// Devices given.
        given: usize,
        /// Devices more than whole groups take.
        over: usize,
    },
    /// More groups or members than the superblock has room for.
    #[error(
        "{groups} groups of {members} members in all: an array has at most {} groups and {} members",
        cygnus_format::MAX_GROUPS,
        cygnus_format::MAX_MEMBERS
    )]
    TooMany {
        /// Groups, with the new ones.
        groups: usize,
        /// Members, with the new ones.
        members: usize,
    },
    /// There are no addresses for the groups.
    #[error(
        "{0}; retire another group first, or put new devices into the places of its members one by one ('array replace'), \
         which takes no addresses"
    )]
    NoAddresses(LayoutError),
    /// A device is in use in this very array, or was given twice.
    #[error("{0} is a member or spare of this array already, or was given twice")]
    InService(String),
    /// No such group.
    #[error("there is no R-group {}: the array has {groups}, counted from 0", group.0)]
    NoGroup {
        /// The group asked for.
        group: GroupId,
        /// Groups in all.
        groups: usize,
    },
    /// The group is on its way out, or has left.
    #[error("R-group {} is {state} already", group.0)]
    NotInService {
        /// The group.
        group: GroupId,
        /// Its state in a word.
        state: &'static str,
    },
    /// Fewer groups would be left than the preset works with.
    #[error(
        "without R-group {} there would be {left} in service, and preset {preset} works with at least {needed}: add \
         another one first",
        group.0
    )]
    TooFewLeft {
        /// The group.
        group: GroupId,
        /// Name of the preset.
        preset: String,
        /// Groups that it needs.
        needed: usize,
        /// Groups that would be left.
        left: usize,
    },
    /// The other groups have no room for the data.
    #[error(
        "without R-group {} the array has room for {room} of data, and it holds {held}, {over} too much: trim or delete \
         data, or add a group first",
        group.0
    )]
    DoesNotFit {
        /// The group.
        group: GroupId,
        /// What volumes hold.
        held: ByteSize,
        /// What they could hold in the other groups.
        room: ByteSize,
        /// The difference.
        over: ByteSize,
    },
    /// Volumes may be on a medium only that no other group is on.
    #[error(
        "R-group {} is the last one on {medium}, and {} may be nowhere else: add another group on {medium} first, or delete {}",
        group.0,
        volumes.join(", "),
        if volumes.len() == 1 { "it" } else { "them" }
    )]
    LastOfMedium {
        /// The group.
        group: GroupId,
        /// What it stores on.
        medium: Medium,
        /// The volumes that are to be on that only.
        volumes: Vec<String>,
    },
    /// The other groups on the medium have no room for what may be nowhere else.
    #[error(
        "without R-group {} there is room for {room} on {medium}, and up to {needed} would stay there, what {} hold among it: trim or delete \
         data of these, or add a group on {medium} first",
        group.0,
        volumes.join(", ")
    )]
    DoesNotFitMedium {
        /// The group.
        group: GroupId,
        /// What it stores on.
        medium: Medium,
        /// What would be on the medium, at least.
        needed: ByteSize,
        /// What could be there.
        room: ByteSize,
        /// The volumes that are to be on it only.
        volumes: Vec<String>,
    },
    /// Groups are being changed.
    #[error("groups are being changed, or the array is being closed: wait until that is done")]
    Busy,
    /// A device or the array cannot do it.
    #[error(transparent)]
    Array(#[from] ArrayError),
}

/// An array could not be created, opened, or kept in service.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrayError {
    /// The request itself makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// A link was declared that makes no sense.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A server that was killed has left what it had in memory, and that cannot be put on the members.
    #[error(
        "what the server that was killed had in memory ({place}) cannot be put on the members: {why}; open again when that \
         is mended, or by force without it: what was acknowledged since the last flush may be lost then"
    )]
    Remains {
        /// Where it is.
        place: String,
        /// What is in the way.
        why: String,
    },
    /// A member device is too small.
    #[error("{device} is too small: {}, and each member needs at least {}", apart(*size, *need)[0], apart(*size, *need)[1])]
    TooSmall {
        /// Path.
        device: String,
        /// Its size.
        size: ByteSize,
        /// What is needed.
        need: ByteSize,
    },
    /// A member holds something already.
    #[error("{device} holds {what}: give another device, or --force to overwrite it")]
    InUse {
        /// Path.
        device: String,
        /// What was found on it.
        what: String,
    },
    /// It was closed.
    #[error("the array was closed: open it again")]
    Closed,
    /// An array that this very program has open works with the device.
    #[error(
        "{0} is in use by an array that this program has open: close that first, which dropping its handles does not"
    )]
    Open(String),
    /// A device was given more than once.
    #[error("{0} is given twice: each member needs a device of its own")]
    Twice(String),
    /// No device given carries an array's superblock.
    #[error("no member of an array among the devices given: {0}")]
    NoArray(String),
    /// Members of different arrays were given.
    #[error("{device} belongs to array {other}, not to {expected}: leave it out")]
    Foreign {
        /// Path.
        device: String,
        /// The array it belongs to.
        other: String,
        /// The array that is being opened.
        expected: String,
    },
    /// The same member was given twice.
    #[error("{first} and {second} are the same member (a copy?): leave one out")]
    Duplicate {
        /// Path of one.
        first: String,
        /// Path of the other.
        second: String,
    },
    /// The array is none that writes a log.
    #[error("{array} is {level}, updated in place, and cannot be used as a log-structured array")]
    InPlace {
        /// Its name.
        array: String,
        /// Its level.
        level: String,
    },
    /// The format is from another version of the software.
    #[error("{device}: {why}")]
    Format {
        /// Path.
        device: String,
        /// What is wrong.
        why: String,
    },
    /// A newer program has written what this one does not understand.
    #[error("{0}. Nothing was changed")]
    Newer(String),
    /// More members of a group are missing than its parity covers.
    #[error(
        "{group} lacks {missing} and its parity covers {parity}: bring back at least {need}{remarks}{readmittable}"
    )]
    TooManyMissing {
        /// Which group.
        group: GroupId,
        /// Members missing, for people.
        missing: String,
        /// m.
        parity: u8,
        /// How many must come back.
        need: usize,
        /// Why devices that are here are not used, for people; empty or each behind "; ".
        remarks: String,
        /// Whom force would re-admit, for people; empty if nobody.
        readmittable: String,
    },
    /// Members were in service without each other, so that each side has what the other lacks.
    #[error(
        "{apart} went on without {others}, which went on without {apart}: each side may have acknowledged writes that the \
         other lacks. Nothing was changed. To go on with {others}, use 'cygnus serve --force'; to go on with {apart}, serve the \
         array while {others} cannot be found (unplugged, or renamed). Then have the members of the other side filled anew, by \
         'cygnus array replace' with their own devices"
    )]
    PartedWays {
        /// Paths of those that are not counted among the array.
        apart: String,
        /// Paths of those that are.
        others: String,
    },
    /// A member cannot be re-admitted, since nobody can tell what it lacks.
    #[error(
        "{device} cannot be re-admitted by force: {why}, so nobody can tell what it lacks. Nothing was recorded. Bring the \
         missing members back, or copy out what is left with 'cygnus array salvage'"
    )]
    CannotReadmit {
        /// Path.
        device: String,
        /// What stands against it.
        why: String,
    },
    /// Something that was durable cannot be found any more, so what it replaced would be shown in its place.
    #[error(
        "data that was durable is lost, and the array is not opened, since it would show older data: {what}. Concerned may \
         be whatever was written or discarded since the last checkpoint, in the volumes {volumes}. To go on, {remedy}copy \
         out what is left with 'cygnus array salvage', which shows what may be old; or 'cygnus serve --force', with \
         which all that may be concerned is unreadable until it is written anew or discarded"
    )]
    Lost {
        /// What was lost, and where it was.
        what: String,
        /// Volumes that may be concerned.
        volumes: String,
        /// What may bring it back, for people; empty or ends in "or ".
        remedy: String,
    },
    /// The newest checkpoint cannot be read whole; the one before does not know what was discarded since.
    #[error(
        "the newest checkpoint of the array is lost: {why}. Without it nobody knows which blocks of the volumes {volumes} \
         are current. To go on, {remedy}copy out what is left with 'cygnus array salvage', which shows what may be old; or \
         'cygnus serve --force', with which all that may be concerned is unreadable until it is written anew or discarded"
    )]
    LostCheckpoint {
        /// What was lost, and where it was.
        why: String,
        /// Volumes that may be concerned.
        volumes: String,
        /// As above.
        remedy: String,
    },
    /// What may have been the newest superblock has rotted, in both its copies, and nobody else tells what was in it.
    #[error(
        "a superblock of the array is lost, which may have been the newest: {what}. The others may be older, and to go by \
         them may show older data; concerned are the volumes {volumes}. To go on, {remedy}copy out what is left with \
         'cygnus array salvage', which shows what may be old; or 'cygnus serve --force', which goes by the newest superblock \
         that is left, and gives up what it finds to be concerned"
    )]
    LostSuperblock {
        /// Where it was, and why it cannot be used.
        what: String,
        /// Volumes that may be concerned.
        volumes: String,
        /// As above.
        remedy: String,
    },
    /// Neither checkpoint can be read.
    #[error("no checkpoint of the array can be read: {0}")]
    NoCheckpoint(String),
    /// A device failed in a way that the array cannot bear.
    #[error("{device} at byte {offset}: {error}")]
    Io {
        /// Path.
        device: String,
        /// Where.
        offset: u64,
        /// What.
        error: IoError,
    },
    /// Members fell silent while the array was being opened.
    #[error(
        "{group} cannot be opened now: {waits_for}; its parity covers {parity}. Nothing was changed: open it again when \
         they answer"
    )]
    Silent {
        /// Which group.
        group: GroupId,
        /// Members and what is the matter with them, for people.
        waits_for: String,
        /// m.
        parity: u8,
    },
    /// The headers of a stripe were read twice, since not all that they tell had room in memory, and were not the same.
    #[error(
        "the headers of stripe {stripe}, in {group} {segment}, were there when the stripes were looked for, and cannot be read any \
         more: open the array again. Should that happen once more, open it with more memory, so that they are read once"
    )]
    HeaderGone {
        /// Its sequence.
        stripe: u64,
        /// Where.
        group: GroupId,
        /// Where.
        segment: SegmentId,
    },
    /// An opening has to write something, and there is no room, since cleaning can give none.
    #[error(
        "the array cannot be opened: there is no room {what}, and cleaning gives none{}. What clients wrote is as it was: bring \
         missing members back and open it again, or copy out what there is with 'cygnus array salvage'",
        kept_segments(*.segments)
    )]
    NoRoomToOpen {
        /// What for, for people.
        what: String,
        /// Segments that cleaning has left as they are.
        segments: u32,
    },
    /// The maps of the volumes, or what a crash has left to be looked through, take more memory than they may.
    #[error(
        "the array is not opened, and nothing was changed: {what} {needed} of memory, and there are {limit}. Open it with more"
    )]
    Memory {
        /// What takes it, for people; ends in a verb.
        what: &'static str,
        /// What it takes.
        needed: ByteSize,
        /// What it may take.
        limit: ByteSize,
    },
    /// It was closed while it waited for members.
    #[error("{0}")]
    Suspended(String),
    /// The array can no longer record changes.
    #[error("the array is faulted: {0}")]
    Faulted(String),
}

/// What keeps cleaning from giving room, if that is damage.
fn kept_segments(damaged: u32) -> String {
    match damaged {
        0 => String::new(),
        damaged => format!(", since blocks that cannot be read keep {}", counted(damaged, "segment")),
    }
}

/// Why nothing that a stale device holds can be used: it is not of this array's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// It was written to in sessions that the array has not seen.
    #[error("it went on without the other members")]
    WentOn,
    /// When it was copied, it did not have all that a member has.
    #[error("it is an old copy of a device that was being rebuilt, or was a spare")]
    OldCopy,
}

/// Two sizes so that they can be told apart: in bytes if they look alike.
fn apart(one: ByteSize, other: ByteSize) -> [String; 2] {
    let rounded = [one, other].map(|size| size.to_string());
    if rounded[0] == rounded[1] { [one, other].map(|size| format!("{} bytes", size.0)) } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_look_alike_are_told_in_bytes() {
        let small = |size, need| {
            let (size, need) = (ByteSize(size), ByteSize(need));
            ArrayError::TooSmall { device: "d0".into(), size, need }.to_string()
        };
        assert_eq!(small(4 << 20, 5 << 20), "d0 is too small: 4 MiB, and each member needs at least 5 MiB");
        let alike = small(4 << 30, (4 << 30) + 4096);
        assert_eq!(alike, "d0 is too small: 4294967296 bytes, and each member needs at least 4294971392 bytes");
    }

    #[test]
    fn an_opening_without_room_blames_damage_only_if_there_is_some() {
        let said = |segments| ArrayError::NoRoomToOpen { what: "for a checkpoint".into(), segments }.to_string();
        assert!(
            said(0).contains("no room for a checkpoint, and cleaning gives none. What clients wrote"),
            "{}",
            said(0)
        );
        assert!(said(1).contains("blocks that cannot be read keep 1 segment."), "{}", said(1));
    }
}
