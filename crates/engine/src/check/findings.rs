//! What findings come to.

use cygnus_types::{Lba, Nanos, Uuid, VolumeId};

use crate::care::report::LostBlock;
use crate::recover::gone::Readmitted;

/// What a finding weighs, and what a check comes to, which is the heaviest of its findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Everything that live data depends on is there and as it should be. A finding of this weight is a remark.
    Consistent,
    /// What was read is as it should be, but members take no part: there is less redundancy.
    Degraded,
    /// Something is not as it should be, and redundancy mends it.
    Repairable,
    /// Blocks are beyond redundancy, or what is there contradicts itself and nothing tells what is right.
    BeyondRedundancy,
}

impl Verdict {
    /// The verdict as programs name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Consistent => "consistent",
            Self::Degraded => "degraded",
            Self::Repairable => "repairable",
            Self::BeyondRedundancy => "beyond-redundancy",
        }
    }

    /// The verdict for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Consistent => "consistent",
            Self::Degraded => "consistent, and degraded",
            Self::Repairable => "damaged, and redundancy mends it",
            Self::BeyondRedundancy => "damaged beyond redundancy",
        }
    }

    /// What to run next for an array of this name, if anything.
    pub fn next_step(self, array: &str) -> Option<String> {
        Some(match self {
            Self::Consistent => return None,
            Self::Degraded => format!(
                "bring members back and run 'cygnus serve {array}', which has them catch up; then 'cygnus array replace \
                 {array} MEMBER DEVICE' for those that do not come back"
            ),
            Self::Repairable => format!("run 'cygnus array check {array} --repair'"),
            Self::BeyondRedundancy => format!(
                "bring missing members back and check again; else run 'cygnus array check {array} --repair' for what can \
                 be mended, and write what is listed anew from a backup. 'cygnus array salvage {array}' copies what is \
                 left when it cannot be served"
            ),
        })
    }
}

impl FindingKind {
    /// What a finding of this kind weighs, unless whoever made it knows better.
    pub(crate) fn weight(self) -> Verdict {
        match self {
            Self::NotAMember | Self::Unclean => Verdict::Consistent,
            Self::MemberMissing | Self::MemberStale | Self::MemberTruncated => Verdict::Degraded,
            Self::SuperblockSlot
            | Self::SuperblocksDiffer
            | Self::Checkpoint
            | Self::Header
            | Self::HeadersDiffer
            | Self::Data
            | Self::Parity
            | Self::HeaderLost
            | Self::SuperblockLost => Verdict::Repairable,
            Self::Lost
            | Self::LostStripe
            | Self::Map
            | Self::Count
            | Self::Unaccounted
            | Self::Misplaced
            | Self::MemberParted
            | Self::Readmittable => Verdict::BeyondRedundancy,
        }
    }
}

impl Finding {
    /// Whether something is wrong with what is there. Members that take no part are no damage, and remarks even less.
    pub fn is_damage(&self) -> bool {
        self.weight >= Verdict::Repairable
    }

    /// Worth knowing, and no more.
    pub fn is_remark(&self) -> bool {
        self.weight == Verdict::Consistent
    }
}

impl CheckReport {
    /// What all of it comes to.
    pub fn verdict(&self) -> Verdict {
        self.findings.iter().map(|finding| finding.weight).max().unwrap_or(Verdict::Consistent)
    }

    /// Whether nothing is wrong with what is there, be it all of the array or not.
    pub fn is_consistent(&self) -> bool {
        self.verdict() <= Verdict::Degraded
    }

    /// How many findings are damage.
    pub fn damage(&self) -> usize {
        self.findings.iter().filter(|finding| finding.is_damage()).count()
    }
}

/// What a finding is about; the names in `--json` are [`FindingKind::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// A device that was given is no usable member.
    NotAMember,
    /// A member is not there.
    MemberMissing,
    /// A member is there, but what it holds is older than the array.
    MemberStale,
    /// A member went on without the others, and they without it: opening is refused.
    MemberParted,
    /// A member is there, but not all of it.
    MemberTruncated,
    /// A copy of one of a member's two superblock slots is damaged.
    SuperblockSlot,
    /// Both copies of a slot are damaged: it may have been the newest.
    SuperblockLost,
    /// Superblocks of one generation differ between members.
    SuperblocksDiffer,
    /// A checkpoint cannot be read, or is not what its root says.
    Checkpoint,
    /// A column's copy of a stripe header is not there or wrong.
    Header,
    /// The copies of a stripe's header contradict each other.
    HeadersDiffer,
    /// A block is not what was written; the other columns restore it.
    Data,
    /// A parity block is not what the data gives.
    Parity,
    /// A block cannot be restored: beyond redundancy.
    Lost,
    /// The headers that describe a mapped block are gone.
    HeaderLost,
    /// A stripe that was durable cannot be found: opening is refused.
    LostStripe,
    /// The map points to a place that holds something else, or nothing.
    Map,
    /// The number of mapped blocks is not what the checkpoint says.
    Count,
    /// A segment holds stripes that nothing accounts for.
    Unaccounted,
    /// A block lies on a medium on which its volume must not be.
    Misplaced,
    /// After a crash: what the next opening will recover.
    Unclean,
    /// A group lacks too many members: what would come of re-admitting others by force.
    Readmittable,
}

impl FindingKind {
    /// The kind as programs name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotAMember => "not-a-member",
            Self::MemberMissing => "member-missing",
            Self::MemberStale => "member-stale",
            Self::MemberParted => "member-parted",
            Self::MemberTruncated => "member-truncated",
            Self::SuperblockSlot => "superblock-slot",
            Self::SuperblockLost => "superblock-lost",
            Self::SuperblocksDiffer => "superblocks-differ",
            Self::Checkpoint => "checkpoint",
            Self::Header => "header",
            Self::HeadersDiffer => "headers-differ",
            Self::Data => "data",
            Self::Parity => "parity",
            Self::Lost => "lost",
            Self::HeaderLost => "header-lost",
            Self::LostStripe => "stripe-lost",
            Self::Map => "map",
            Self::Count => "count",
            Self::Unaccounted => "unaccounted",
            Self::Misplaced => "misplaced",
            Self::Unclean => "unclean",
            Self::Readmittable => "readmittable",
        }
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// What it weighs.
    pub weight: Verdict,
    /// The device, if it is about one.
    pub device: Option<String>,
    /// Byte offset on the device.
    pub offset: Option<u64>,
    /// The volume whose block is concerned.
    pub volume: Option<VolumeId>,
    /// The block.
    pub lba: Option<Lba>,
    /// All of it for people, with the remedy.
    pub text: String,
}

impl Finding {
    /// A finding of that kind, of the weight that such have.
    pub fn new(kind: FindingKind, text: String) -> Self {
        Self { kind, weight: kind.weight(), device: None, offset: None, volume: None, lba: None, text }
    }

    /// At this byte of a device.
    pub fn on(self, device: &str, offset: u64) -> Self {
        Self { device: Some(device.into()), offset: Some(offset), ..self }
    }

    /// About a device.
    pub fn of_device(self, device: &str) -> Self {
        Self { device: Some(device.into()), ..self }
    }

    pub(crate) fn of_block(self, volume: VolumeId, lba: Lba) -> Self {
        Self { volume: Some(volume), lba: Some(lba), ..self }
    }

    /// Only worth knowing.
    pub fn into_information(self) -> Self {
        Self { weight: Verdict::Consistent, ..self }
    }

    /// It keeps a member from taking part.
    pub(crate) fn degrading(self) -> Self {
        Self { weight: Verdict::Degraded, ..self }
    }

    /// Nothing mends it, or nothing tells what is right.
    pub fn beyond_redundancy(self) -> Self {
        Self { weight: Verdict::BeyondRedundancy, ..self }
    }
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// Name of the array.
    pub name: String,
    /// Its identity.
    pub uuid: Uuid,
    /// Whether it was stopped cleanly.
    pub clean: bool,
    /// Everything found, members first, then in the order of the devices.
    pub findings: Vec<Finding>,
    /// Blocks that no combination of devices yields, in order.
    pub lost: Vec<LostBlock>,
    /// Segments verified.
    pub segments: u64,
    /// Stripes verified.
    pub stripes: u64,
    /// Blocks whose checksums were compared.
    pub blocks: u64,
    /// Entries of the map that were followed to their summary.
    pub mapped: u64,
    /// Bytes read.
    pub bytes: u64,
    /// The array cannot be opened but by force, and this is what would come of that; nothing else was checked.
    pub readmission: Option<Readmitted>,
    /// How long it took.
    pub took: Nanos,
}
