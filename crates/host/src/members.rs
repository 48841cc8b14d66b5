//! Finding the members of arrays on files and devices, by what their superblocks say. Reads only, also beside a running
//! `serve`.

use crate::answer::Awaited;
use crate::devices::PATIENCE;
use crate::moved::BlockDevices;
use crate::state::{ArrayRecord, StateDir};
use crate::{ArrayName, HostError, kept, place};
use cygnus_control::status::SpareStatus;
use cygnus_format::probe::PROBE_TAIL;
use cygnus_format::{
    MemberDesc, Probe, SUPERBLOCK_AREA, SUPERBLOCK_OFFSETS, SUPERBLOCK_SLOT, SlotCopy, Slots, SpareDesc, Standing,
    Superblock, SuperblockError, newest, probe_with_tail,
};
use cygnus_runtime::Keeper;
use cygnus_types::{ByteSize, MemberIx, Uuid};
use cygnus_uring::{Access, Device, Holder, OpenError, beneath, zoned_file};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What was found at a path.
#[derive(Debug)]
pub enum Found {
    /// A member of an array.
    Member(Box<Member>),
    /// Nothing, as far as can be told.
    Nothing,
    /// Something else; the text names it.
    Other(String),
    /// It could not be looked at, and why.
    Unreadable(HostError),
}

/// A member of an array as it was found.
#[derive(Clone, Debug)]
pub struct Member {
    /// Absolute path of its file or device, or its address if it is a software SSD.
    pub path: PathBuf,
    /// Size of the file or device in bytes.
    pub size: u64,
    /// The newest superblock on it that can be used.
    pub superblock: Superblock,
    /// Why a copy of a superblock slot cannot be used, if there is such a one.
    pub spoiled: Option<SuperblockError>,
    /// Who has it for itself, as a server has its members.
    pub holder: Option<Holder>,
    /// Whether it is a block device that takes no writes: a server leaves it out.
    pub read_only: bool,
}

impl Member {
    /// Whether it is shorter than it was when it became this member: then it is not used.
    pub fn is_short(&self, desc: &MemberDesc) -> bool {
        self.size < desc.size_bytes
    }
}

/// Looks at one file or device.
pub fn look(path: &Path) -> Found {
    match read(path) {
        Ok(found) => found,
        Err(why) => Found::Unreadable(why),
    }
}

/// Looks at one file or device as [`look`] does. Of one that gives no answer in time, that is what is found.
pub fn look_in_time(path: &Path) -> Found {
    let place = path.to_owned();
    Awaited::new(path, move || look(&place)).and_then(Awaited::wait).unwrap_or_else(Found::Unreadable)
}

/// Looks at several at once. Of one that gives no answer in time, that is what is found.
fn look_at_all<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<(&'a PathBuf, Found)>, HostError> {
    let ask = |path: &'a PathBuf| {
        let place = path.clone();
        Awaited::new(path, move || look(&place)).map(|awaited| (path, awaited))
    };
    let awaited: Vec<_> = paths.map(ask).collect::<Result<_, _>>()?;
    Ok(awaited.into_iter().map(|(path, found)| (path, found.wait().unwrap_or_else(Found::Unreadable))).collect())
}

fn read(path: &Path) -> Result<Found, HostError> {
    let device = Device::open(path, Access::ReadOnly)?;
    let unreadable = |source| HostError::Read { path: path.to_owned(), source };
    let at = place::absolute(path).map_err(unreadable)?;
    let size = device.size();
    if size < SUPERBLOCK_AREA {
        return Ok(Found::Other(format!("{}, too small for a member", ByteSize(size))));
    }
    let read = |offset, length| device.read_now(offset, length).map_err(unreadable);
    let (head, unread) = read_head(read)?;
    match Slots::read(&head) {
        Ok(slots) => {
            let holder = device.holder();
            let spoiled = slots.copies.iter().flatten().find_map(SlotCopy::spoiled).cloned();
            let read_only = device.is_read_only();
            let member = Member { path: at, size, superblock: slots.newest, spoiled, holder, read_only };
            match zoned_place(path, &member) {
                Some(place) => self::read(&place),
                None => Ok(Found::Member(Box::new(member))),
            }
        }
        Err(SuperblockError::NotASuperblock) => {
            unread.map_or(Ok(()), Err)?;
            let tail_bytes = size.min(PROBE_TAIL as u64);
            let tail = read(size - tail_bytes, tail_bytes as usize)?;
            Ok(judge(probe_with_tail(&head, &tail)))
        }
        Err(error) => Ok(Found::Other(format!("a damaged member of an array ({error})"))),
    }
}

/// Where a member that was found in a file is in truth, if that file stands for a device with zones: named as a plain file it would be
/// written past its zones. That it is no such file whose last block only looks like one tells the size with which it became a member.
fn zoned_place(path: &Path, member: &Member) -> Option<PathBuf> {
    let Superblock { state, member: number, member_uuid, .. } = &member.superblock;
    let of_spare = || state.spares.iter().find(|spare| spare.uuid == *member_uuid).map(|spare| spare.size_bytes);
    let recorded = state.members().nth(number.index()).map(|own| own.size_bytes).or_else(of_spare)?;
    let may_be = zoned_file(path).is_none() && member.size > recorded;
    let place = may_be.then(|| PathBuf::from(format!("zoned:{}", path.display())))?;
    Device::open(&place, Access::ReadOnly).is_ok_and(|device| device.size() == recorded).then_some(place)
}

/// All superblock slots, and what kept a copy from being read: that one is zeros, and the others count.
fn read_head<E>(read: impl Fn(u64, usize) -> Result<Vec<u8>, E>) -> Result<(Vec<u8>, Option<E>), E> {
    let mut offsets = SUPERBLOCK_OFFSETS.as_flattened().to_vec();
    offsets.sort_unstable();
    let (mut head, mut unread) = (Vec::new(), None);
    let mut all_failed = true;
    for at in offsets {
        match read(at, SUPERBLOCK_SLOT as usize) {
            Ok(copy) => {
                head.extend(copy);
                all_failed = false;
            }
            Err(why) => {
                head.resize(head.len() + SUPERBLOCK_SLOT as usize, 0);
                unread.get_or_insert(why);
            }
        }
    }
    match unread {
        Some(why) if all_failed => Err(why),
        unread => Ok((head, unread)),
    }
}

fn holds_nothing(path: &Path) -> String {
    format!("{} holds nothing", path.display())
}

fn judge(probe: Probe) -> Found {
    Found::Other(match probe {
        Probe::Blank => return Found::Nothing,
        Probe::Cygnus { array, .. } => format!("a damaged member of array {array}"),
        Probe::Foreign { what } => what.into(),
        Probe::Unknown => "unknown data".into(),
    })
}

/// An array put together from the members that were found.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// The superblock of the highest generation: what the array is.
    pub newest: Superblock,
    /// By index; `None` for those not found.
    pub members: Vec<Option<Member>>,
    /// The spares that were found.
    pub spares: Vec<Member>,
    /// What is odd: copies, members that were replaced, sizes that shrank.
    pub oddities: Vec<String>,
    /// Where a member was last seen and something is that holds nothing: it was wiped, or replaced.
    pub blank: Vec<PathBuf>,
    /// Where a member was last seen, and something is that cannot be opened, a member of another array, which may be served, or a
    /// member that another path has led to already; and why it is left out.
    pub left_out: BTreeMap<PathBuf, String>,
    /// Where members are that were last seen elsewhere: see [`crate::moved`].
    pub moved: Vec<PathBuf>,
    /// See [`ArrayRecord::kept_in`].
    pub kept_in: Option<PathBuf>,
}

impl Assembly {
    /// The array of a record, put together from what stands where its members were last seen, and from block devices that have come to
    /// another name since.
    ///
    /// # Errors
    /// When none of them is there, or nobody can look.
    pub fn of_record(record: &ArrayRecord) -> Result<Self, HostError> {
        Self::of_record_among(record, &BlockDevices::of_this_machine())
    }

    fn of_record_among(record: &ArrayRecord, devices: &BlockDevices) -> Result<Self, HostError> {
        let (mut found, mut remarks, mut blank) = (Vec::new(), Vec::new(), Vec::new());
        let (mut left_out, mut places) = (BTreeMap::new(), BTreeMap::<_, Vec<Place>>::new());
        for (path, there) in look_at_all(record.paths())? {
            match there {
                Found::Member(member) if member.superblock.array.to_string() == record.uuid => {
                    let place = Place { recorded: path.clone(), real: member.path.clone() };
                    places.entry(member.superblock.member_uuid).or_default().push(place);
                    found.push(*member);
                }
                Found::Member(other) => {
                    let (name, array) = (&other.superblock.state.name, other.superblock.array);
                    let why = format!("{} belongs to array {name} ({array})", path.display());
                    remarks.push(why.clone());
                    left_out.insert(path.clone(), why);
                }
                Found::Nothing => blank.push(path.clone()),
                Found::Other(what) => remarks.push(format!("{} holds {what}", path.display())),
                Found::Unreadable(why) => {
                    remarks.push(why.to_string());
                    if cannot_be_opened(&why) {
                        left_out.insert(path.clone(), why.to_string());
                    }
                }
            }
        }
        let mut moved = Vec::new();
        for member in members_elsewhere(record, &found, devices)? {
            remarks.extend(last_seen(record, &member));
            moved.push(member.path.clone());
            found.push(member);
        }
        match assemble(found).into_values().next() {
            Some(mut assembly) => {
                // What is noted as a spare before it is one, and whose command was cut short, is nothing that the array lacks; nor is
                // a member that has left, of which the record did not hear as the server was killed.
                let lacking = assembly.missing();
                let is_missed = |path: &&PathBuf| {
                    let mut members = record.members.iter().filter(|member| member.path == **path);
                    assembly.spares.len() < assembly.newest.state.spares.len()
                        || members.any(|member| lacking.contains(&(member.index as usize)))
                };
                remarks.extend(blank.iter().filter(is_missed).map(|path| holds_nothing(path)));
                assembly.oddities.extend(remarks);
                assembly.blank = blank;
                for (uuid, places) in places {
                    left_out.extend(assembly.second_places(uuid, &places));
                }
                assembly.left_out = left_out;
                assembly.moved = moved;
                assembly.kept_in.clone_from(&record.kept_in);
                Ok(assembly)
            }
            None => {
                remarks.extend(blank.iter().map(|path| holds_nothing(path)));
                Err(HostError::NoMember { array: record.name.clone(), remarks })
            }
        }
    }

    /// As [`Self::of_record`], of an array that a command may be at work on, and the record with which all of that fits together. What
    /// somebody has for itself is looked at again for a while: such a command ends soon, and the kernel lets go of a process's files
    /// only some time after the process is gone. The record is read anew each time, as that command may have added members to it.
    ///
    /// # Errors
    /// When the record cannot be read, and as of [`Self::of_record`].
    pub fn at_rest(state: &StateDir, name: &ArrayName) -> Result<(ArrayRecord, Self), HostError> {
        let begun = Instant::now();
        let mut record = state.load(name)?;
        loop {
            let assembly = Self::of_record(&record);
            let now = state.load(name)?;
            let is_held = assembly.as_ref().is_ok_and(|assembly| assembly.holder().is_some());
            if now == record && (!is_held || begun.elapsed() >= PATIENCE) {
                return Ok((record, assembly?));
            }
            record = now;
            std::thread::sleep(PATIENCE / 20);
        }
    }

    /// Of the places that have led to one member all but that of the copy which is taken; and why they are left out.
    fn second_places(&self, uuid: Uuid, places: &[Place]) -> Vec<(PathBuf, String)> {
        let taken = self.found().find(|member| member.superblock.member_uuid == uuid).map(|member| &member.path);
        let first = places.iter().position(|place| Some(&place.real) == taken).unwrap_or(0);
        let why = |place: &Place| {
            format!(
                "{} is the same member as {}, or a copy of it",
                place.recorded.display(),
                places[first].recorded.display()
            )
        };
        let others = places.iter().enumerate().filter(|&(at, _)| at != first);
        others.map(|(_, place)| (place.recorded.clone(), why(place))).collect()
    }

    /// Who may have what its last server had in memory when it was killed.
    pub fn keepers(&self) -> Vec<Arc<dyn Keeper>> {
        kept::keepers(self.kept_in.as_deref(), self.newest.array)
    }

    /// That a server which was killed has left writes that are not on the members yet, as [`kept::left_at`] says it. Of one that lives, nothing is left.
    pub fn left_in_memory(&self) -> Option<String> {
        let may_be = !self.newest.state.clean && self.holder().is_none();
        may_be.then(|| kept::left_at(&self.keepers())).flatten()
    }

    /// A member that somebody has for itself, and who: then the array is served, or a command is at work on it. Which of them, and
    /// with which state directory, the members do not tell.
    pub fn holder(&self) -> Option<(&Path, &Holder)> {
        self.found().find_map(|member| Some((member.path.as_path(), member.holder.as_ref()?)))
    }

    /// Indices of the members not found.
    pub fn missing(&self) -> Vec<usize> {
        let there = |index: &usize| !self.newest.state.has_left(MemberIx(*index as u16));
        (0..self.members.len()).filter(there).filter(|&index| self.members[index].is_none()).collect()
    }

    /// Every device of the array that was found.
    pub fn found(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().flatten().chain(&self.spares)
    }

    /// The spares as the superblocks list them.
    pub fn spare_statuses(&self) -> Vec<SpareStatus> {
        let one = |spare: &SpareDesc| {
            let found = self.spares.iter().find(|found| found.superblock.member_uuid == spare.uuid);
            let path = found.map(|found| found.path.display().to_string());
            SpareStatus { uuid: spare.uuid.to_string(), path, size_bytes: spare.size_bytes }
        };
        self.newest.state.spares.iter().map(one).collect()
    }
}

/// Members of the array that are not among those found where they were last seen, and are block devices of another name now.
fn members_elsewhere(record: &ArrayRecord, found: &[Member], devices: &BlockDevices) -> Result<Vec<Member>, HostError> {
    let of_found = newest(found.iter().map(|member| &member.superblock), |_| false);
    let is_found = |uuid: Uuid| found.iter().any(|member| member.superblock.member_uuid == uuid);
    let all = of_found.iter().flat_map(|newest| {
        let members = newest.state.members().map(|desc| (desc.uuid, desc.size_bytes));
        members.chain(newest.state.spares.iter().map(|spare| (spare.uuid, spare.size_bytes)))
    });
    let smallest = all.filter(|&(uuid, _)| !is_found(uuid)).map(|(_, size)| size).min();
    let may_have_moved = record.paths().any(|path| devices.may_name(path));
    let places: Vec<PathBuf> = match (&of_found, smallest) {
        _ if !may_have_moved => Vec::new(),
        (None, _) => devices.all(),
        (Some(_), Some(size)) => devices.of_at_least(size),
        (Some(_), None) => Vec::new(),
    };
    let of_array = |there| match there {
        Found::Member(member) if member.superblock.array.to_string() == record.uuid => Some(*member),
        _ => None,
    };
    let there = look_at_all(places.iter())?.into_iter().filter_map(|(_, there)| of_array(there));
    let mut there: Vec<Member> = there.filter(|member| !is_found(member.superblock.member_uuid)).collect();
    let newest = newest(found.iter().chain(&there).map(|member| &member.superblock), |_| false).cloned();
    // Devices that were members once are of no account: nobody has them on record.
    there.retain(|member| {
        let standing = newest.as_ref().map(|newest| newest.state.standing(&member.superblock));
        !matches!(standing, Some(Standing::Replaced | Standing::Left | Standing::FormerSpare))
    });
    Ok(there)
}

/// That a member has come to another name, in words.
fn last_seen(record: &ArrayRecord, member: &Member) -> Option<String> {
    let index = u32::from(member.superblock.member.0);
    let before = record.members.iter().find(|known| known.index == index)?;
    Some(format!("{} is member {index}, which was last seen at {}", member.path.display(), before.path.display()))
}

/// Where a member was found.
struct Place {
    /// As the record has it,
    recorded: PathBuf,
    /// and where that leads to.
    real: PathBuf,
}

/// Whether something is there that cannot even be opened; reading what can is left to whoever needs it.
fn cannot_be_opened(why: &HostError) -> bool {
    match why {
        HostError::Open(why) => !matches!(why, OpenError::NotFound { .. }),
        HostError::NoAnswer { .. } | HostError::NoThread { .. } => true,
        _ => false,
    }
}

/// Sorts members into arrays, by uuid.
pub fn assemble(found: impl IntoIterator<Item = Member>) -> BTreeMap<Uuid, Assembly> {
    let mut by_array: BTreeMap<Uuid, Vec<Member>> = BTreeMap::new();
    for member in found {
        by_array.entry(member.superblock.array).or_default().push(member);
    }
    by_array.into_iter().filter_map(|(uuid, members)| Some((uuid, assemble_one(members)?))).collect()
}

/// `None` when there are only devices that were about to be added: they do not know the array.
fn assemble_one(found: Vec<Member>) -> Option<Assembly> {
    let lost = |uuid: &Uuid| found.iter().any(|of| of.spoiled.is_some() && of.superblock.member_uuid == *uuid);
    let newest = newest(found.iter().map(|member| &member.superblock), lost)?.clone();
    let expected: Vec<_> = newest.state.members().copied().collect();
    let (members, spares, oddities, blank) = (vec![None; expected.len()], Vec::new(), Vec::new(), Vec::new());
    let (left_out, moved) = (BTreeMap::new(), Vec::new());
    let mut assembly = Assembly { newest, members, spares, oddities, blank, left_out, moved, kept_in: None };
    for member in found {
        let path = member.path.display();
        let standing = assembly.newest.state.standing(&member.superblock);
        if let Some(why) = standing.why_not() {
            assembly.oddities.push(format!("{path} {why}: {}", standing.remedy()));
        }
        match standing {
            Standing::Spare => assembly.spares.push(member),
            Standing::Joining | Standing::Left | Standing::Replaced | Standing::FormerSpare => {}
            Standing::Member(index) => {
                let (index, desc) = (index.index(), &expected[index.index()]);
                if member.is_short(desc) {
                    let (now, then) = (ByteSize(member.size), ByteSize(desc.size_bytes));
                    assembly.oddities.push(format!("{path} is {now}, was {then}: truncated; it takes no part"));
                }
                if member.read_only {
                    assembly.oddities.push(format!(
                        "{path} is read-only, and a server leaves it out: 'blockdev --setrw {path}' makes it writable"
                    ));
                }
                match &mut assembly.members[index] {
                    Some(first) if first.path == member.path => {}
                    // An old copy may well stand where the record has a member before this one.
                    Some(first) => {
                        let is_newer = member.superblock.rank() > first.superblock.rank();
                        let other = first.path.display();
                        let taken = if is_newer { &path } else { &other };
                        assembly.oddities.push(format!(
                            "{path} and {other} are the same member {index} (a copy?): {taken} is taken"
                        ));
                        if is_newer {
                            *first = member;
                        }
                    }
                    none => *none = Some(member),
                }
            }
        }
    }
    Some(assembly)
}

/// The files and devices that a path names: a directory stands for what is in it.
///
/// # Errors
/// When the path cannot be read, or gives no answer in time.
pub fn expand(path: &Path) -> Result<Vec<PathBuf>, HostError> {
    let place = path.to_owned();
    let listed = Awaited::new(path, move || list(&place))?.wait()?;
    listed.map_err(|source| HostError::Read { path: path.to_owned(), source })
}

fn list(path: &Path) -> io::Result<Vec<PathBuf>> {
    if place::is_drive(path) || !std::fs::metadata(beneath(path))?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?.path();
        if may_be_a_member(&entry) {
            inside.push(entry);
        }
    }
    inside.sort();
    Ok(inside)
}

/// Whether something in a directory is worth a look: a block device, or a file that holds at least the superblocks.
fn may_be_a_member(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|metadata| {
        metadata.file_type().is_block_device() || (metadata.is_file() && metadata.len() >= cygnus_format::DATA_START)
    })
}

#[cfg(test)]
mod tests;
