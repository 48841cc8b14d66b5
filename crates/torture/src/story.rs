//! A story: everything that a run does, as plain data.
//!
//! A story is drawn from a seed ([`Story::random`]), or read from a file; it is written line by line as
//! [`text`] says, and made shorter by [`shrink`]. Running the same story twice does the same thing twice: what the world
//! decides for itself (how long an operation takes, which cached blocks survive a power cut) follows from the seed that
//! the story carries.

mod absent;
mod ack;
mod away;
mod backups;
mod beyond;
mod contention;
mod decay;
mod draw;
mod drives;
mod error;
mod force;
mod growth;
mod media;
mod pages;
mod passing;
mod regroup;
mod renewal;
mod rot;
mod ruined;
mod salvage;
mod scrubs;
mod shapes;
mod shrink;
mod spans;
mod sparse;
mod standby;
mod text;
mod tier;
mod tight;
mod zoned;

use std::ops::Range;

use cygnus_format::{BESIDE_BLOCK, Geometry, Raid};
use cygnus_policy::{Migration, ParityPlacement, Preset, Rules, Streams, UntilFull};
use cygnus_types::{Acknowledged, Constraint, Medium, Nanos, Paging};

use crate::zones::Zoned;

pub(crate) use away::{Absent, Force, Passing, Sort};
pub(crate) use decay::{Beyond, Decay, Part};
#[cfg(test)]
pub(crate) use draw::Habits;
pub(crate) use drives::Drives;
pub use error::{StoryError, WrongLine};
pub(crate) use regroup::Regroup;
pub(crate) use scrubs::Scrubs;
pub use shrink::Effort;
pub(crate) use shrink::shrink;
pub use tier::Tier;

/// See the module's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    /// Seed of the world.
    pub(crate) world: u64,
    pub(crate) shape: Shape,
    /// Volumes made at the start: name and size in blocks.
    pub(crate) volumes: Vec<(String, u64)>,
    /// Levels of acknowledgement of volumes of these names, whenever they are made. All others answer from memory.
    pub(crate) levels: Vec<(String, Acknowledged)>,
    /// Media on which volumes of these names may be, whenever they are made. All others may be on any.
    pub(crate) constraints: Vec<(String, Constraint)>,
    /// How volumes of these names are mapped, whenever they are made. All others have an entry for each block.
    pub(crate) pages: Vec<(String, Paging)>,
    pub(crate) cycles: Vec<Cycle>,
    /// Devices that are gone for good when all is over; what can still be had of the volumes is salvaged. None: it is not.
    pub(crate) salvage: Vec<usize>,
}

/// What the array is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    pub(crate) preset: Preset,
    pub(crate) groups: u16,
    pub(crate) geometry: Geometry,
    pub(crate) placement: ParityPlacement,
    /// Parity columns of segments that clients' writes fill, if they are more than the group's.
    pub(crate) clients_parity: Option<u8>,
    /// Which segments are cleaned first, if it is not the preset's rule.
    pub(crate) cleaning: Option<Rules>,
    /// Which writes share segments, if it is not as the preset has it.
    pub(crate) streams: Option<Streams>,
    /// What groups store on, by the set of their devices, over and over; none: as the devices say.
    pub(crate) media: Vec<Medium>,
    /// Data and parity members of groups on disks, plain and shingled, where those on flash have others.
    pub(crate) disks: Option<Raid>,
    pub(crate) over_provision_permille: u16,
    /// Segments of each group.
    pub(crate) segments: u32,
    pub(crate) reactors: u16,
    /// R-groups that can be added: their devices are there. The devices of a group are a set; so many sets more than
    /// groups at first there are, and one whose group has left can be added again.
    pub(crate) more: u16,
    /// Devices beside those of groups, which can be made spares. Their numbers follow.
    pub(crate) spares: u16,
    /// How long the members take.
    pub(crate) drives: Drives,
    /// Which members compute parity inside, as the array wants it then: 0: none, 1: all, n: all but every n-th.
    pub(crate) converts: usize,
    /// How many full stripes of a reactor may wait for that.
    pub(crate) postponed: u32,
    /// Which members store bytes beside each block, where what copies are is said then: 0: none, 1: all, n: all but every n-th.
    pub(crate) beside: usize,
    /// Whether backups of open stripes may hold the parity of rows in place of copies.
    pub(crate) parity_buffer: bool,
    /// Which members are to be written in order, if any are.
    pub(crate) zoned: Option<Zoned>,
    /// Whether what is on its way to the members outlasts a process that is killed.
    pub(crate) keeps: bool,
    /// How data moves out of the way of contention, if it does.
    pub(crate) autonomics: Option<Migration>,
    /// Members that share links, where it does.
    pub(crate) links: Vec<Vec<usize>>,
}

/// Whether a member is one of these: 0: none, 1: all, n: all but every n-th.
fn is_one_of(these: usize, n: usize) -> bool {
    these == 1 || these > 1 && !n.is_multiple_of(these)
}

impl Shape {
    /// Whether a member computes parity inside.
    pub(crate) fn member_converts(&self, n: usize) -> bool {
        is_one_of(self.converts, n)
    }

    /// Bytes that a member stores beside each block.
    pub(crate) fn beside_blocks(&self, n: usize) -> u16 {
        if is_one_of(self.beside, n) { BESIDE_BLOCK as u16 } else { 0 }
    }

    /// Segments begin where zones do, behind transient areas of the size that they have now.
    fn leave_room_for_zones(&mut self) {
        let transient = self.geometry.transient_blocks;
        self.geometry.lead_blocks = self.zoned.map_or(0, |members| members.lead_blocks(transient));
    }

    /// What makes safe what stripes hold until they are full.
    pub(crate) fn until_full(&self) -> UntilFull {
        match () {
            () if self.geometry.transient_blocks == 0 => UntilFull::FullStripe,
            () if self.converts > 0 => UntilFull::Offload,
            () if self.parity_buffer => UntilFull::ParityBuffer,
            () => UntilFull::TwoPhase,
        }
    }

    /// Bytes of each member device.
    pub(crate) fn device_bytes(&self) -> u64 {
        self.geometry.segments_start() + u64::from(self.segments) * self.geometry.segment_bytes()
    }

    /// Member devices in all.
    pub(crate) fn members(&self) -> usize {
        self.members_of_sets(self.groups)
    }

    /// Places for members in all, those of groups that can be added too. At first each has the device of its number.
    pub(crate) fn places(&self) -> usize {
        self.members_of_sets(self.groups + self.more)
    }

    fn members_of_sets(&self, sets: u16) -> usize {
        (0..usize::from(sets)).map(|set| self.width_of(set)).sum()
    }

    /// Sets of devices, each of which can be a group.
    pub(crate) fn sets(&self) -> usize {
        usize::from(self.groups + self.more)
    }

    /// Devices in all.
    pub(crate) fn devices(&self) -> usize {
        self.places() + usize::from(self.spares)
    }

    /// What the groups at first store on; none: as their members say.
    pub(crate) fn media(&self) -> Vec<Medium> {
        (0..usize::from(self.groups)).filter_map(|set| self.medium(set)).collect()
    }

    /// What a set of devices stores on when it is a group.
    pub(crate) fn medium(&self, set: usize) -> Option<Medium> {
        (!self.media.is_empty()).then(|| self.media[set % self.media.len()])
    }

    /// What a device stores on when it is of a group; of those that are none of a set, what the first group does.
    pub(crate) fn medium_of_device(&self, device: usize) -> Option<Medium> {
        self.medium(if device < self.places() { self.set_of(device) } else { 0 })
    }

    /// Data and parity members of the group that a set of devices makes.
    pub(crate) fn raid_of(&self, set: usize) -> Raid {
        let others = self.disks.filter(|_| self.medium(set).is_some_and(Medium::has_arms));
        others.unwrap_or(self.geometry.raid())
    }

    /// Members that a group of a set of devices may lose.
    pub(crate) fn parity_of(&self, set: usize) -> usize {
        self.raid_of(set).parity.into()
    }

    /// Devices of a set.
    pub(crate) fn width_of(&self, set: usize) -> usize {
        self.raid_of(set).width().into()
    }

    /// The devices of a set.
    pub(crate) fn devices_of(&self, set: usize) -> Range<usize> {
        let first = self.members_of_sets(set as u16);
        first..first + self.width_of(set)
    }

    /// The set of a device that is none to be a spare.
    pub(crate) fn set_of(&self, device: usize) -> usize {
        (0..self.sets()).find(|&set| self.devices_of(set).contains(&device)).expect("it is of some set")
    }

    /// The parity of the groups that have least, and of those that have most.
    pub(crate) fn parities(&self) -> (u8, u8) {
        let (usual, others) = (self.geometry.parity, self.disks.map_or(self.geometry.parity, |raid| raid.parity));
        (usual.min(others), usual.max(others))
    }
}

/// The array is opened, verified, tormented, and stopped in one way or another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cycle {
    /// What happens to the devices while the array is stopped.
    pub(crate) at_rest: Vec<Harm>,
    /// Members that were lost are given too, and must not be believed.
    pub(crate) stale: bool,
    /// A member that is not there when it is opened, and comes later.
    pub(crate) absent: Option<Absent>,
    /// Power cuts while it is being opened: after so many steps each.
    pub(crate) cuts: Vec<u64>,
    /// Too many members of a group are gone by then, and it is opened by force.
    pub(crate) force: Option<Force>,
    /// Before it is opened more rots than is promised to be borne.
    pub(crate) beyond: Option<Beyond>,
    /// Blocks that lose more columns than the parity covers, once the array is open.
    pub(crate) ruins: Vec<Ruin>,
    pub(crate) scrubs: Scrubs,
    pub(crate) admin: Option<Admin>,
    pub(crate) clients: Vec<Script>,
    /// What happens to the devices while clients are at work.
    pub(crate) during: Vec<(Nanos, Harm)>,
    /// Trouble that passes meanwhile.
    pub(crate) passing: Vec<(Nanos, Passing)>,
    /// How long requests wait for members, if not for as long as it takes.
    pub(crate) suspended_for: Option<Nanos>,
    /// R-groups that come and go meanwhile, and members whose devices change.
    pub(crate) regroups: Vec<(Nanos, Regroup)>,
    pub(crate) ending: Ending,
}

/// Something happens to a device: a member's, as long as its place is not another one's, or a spare's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Harm {
    pub(crate) member: usize,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    /// Removed while the array is stopped; dies while it runs.
    Lost,
    /// A block becomes unreadable; byte offset.
    Unreadable(u64),
    /// A bit flips; byte offset and bit.
    Flip(u64, u8),
    /// Something that describes the data rots, in one place of those where it is; the number decides which place and bit.
    Rots(Part, Decay, u64),
    /// Something goes wrong by itself from now on; so often in a million.
    Misbehaves(Manner, u32),
    /// Every write fails from now on.
    FailsWrites,
    /// The file system below is full from now on.
    Full,
    /// Nothing completes for this long.
    Hangs(Nanos),
    /// Everything takes this many times as long.
    Slow(u64),
    /// A copy of the device is made.
    Saved,
    /// The copy is put back.
    PutBack,
    /// A new device is in its place, blank and without faults; nobody has told the array. Only while that is stopped.
    New,
}

impl What {
    /// Whether the member is as good as before, and uses up none of its group's parity.
    pub(crate) fn is_harmless(self) -> bool {
        matches!(self, Self::Slow(_) | Self::Saved | Self::Rots(..))
    }
}

/// What a device does wrong by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    LosesWrites,
    TearsWrites,
    MisdirectsWrites,
    FailsSomeWrites,
    FlipsBits,
    CannotRead,
}

/// The row of a block that is mapped when the array was opened loses this many columns, the block's own first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ruin {
    pub(crate) volume: String,
    pub(crate) block: u64,
    pub(crate) columns: usize,
}

/// A change of the volumes; sizes in blocks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Admin {
    Create(String, u64),
    Delete(String),
    Resize(String, u64),
}

/// What one client does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Script {
    pub(crate) volume: String,
    pub(crate) reactor: u16,
    pub(crate) requests: Vec<Request>,
}

/// One request. A range that reaches past the end of the volume is moved back into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) kind: RequestKind,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) fua: bool,
    /// Pause afterwards.
    pub(crate) pause: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Read,
    Write,
    Zero,
    Trim,
    Flush,
}

/// How a cycle ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ending {
    /// The power is cut: after so many submissions and completions of device operations, or when the clients are done.
    PowerCut(Option<u64>),
    /// The process is killed, after this long; perhaps the power goes too, a moment later.
    Kill(Nanos, bool),
    /// The array is closed; perhaps the power is cut while that goes on.
    Clean(Option<u64>),
}

impl Default for Ending {
    fn default() -> Self {
        Self::Clean(None)
    }
}
