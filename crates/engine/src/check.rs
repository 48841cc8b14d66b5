//! Checking a stopped array: everything on its devices against everything else, without writing a byte.
//!
//! The array is brought into memory as the next opening would have it (superblocks, checkpoint, replay), and then every
//! segment that holds anything needed is read whole, column beside column: the headers on all columns, every block
//! against the 32 bits of its summary entry, the parity of every row, and the map against the summaries. Nothing stops
//! at the first finding.
//!
//! What a crash leaves torn behind the last flush is no damage: the next opening takes care of it, and it is told as
//! information. A stripe without a single current block is not looked at beyond its header: nobody misses it.

mod maps;
mod members;
mod rows;
mod segment;
mod verdict;
mod window;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

use cygnus_format::{CheckpointRoot, MapEntry, Place, RootUse, Stream, Superblock};
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_types::{BLOCK, GroupId, Lba, Nanos, SegmentId, Uuid, VolumeId};

use crate::care::report::LostBlock;
use crate::counters::{MemberCounters, count};
use crate::error::ArrayError;
use crate::reactor::Reactor;
use crate::read::parallel::for_each_of;
use crate::recover::assemble::assemble_members;
use crate::recover::open::{OpenOptions, build, load, recount};
use crate::recover::replay::Replayed;
use crate::space::segments::SegIx;
use crate::work::Work;
pub(crate) use maps::{Matched, unmatched};
pub(crate) use segment::SegmentResult;
pub use verdict::Verdict;

/// Memory for the windows of all segments that are read at once.
const MEMORY: usize = 192 << 20;
/// Most segments read at once.
const MOST_AT_ONCE: usize = 8;
/// Blocks of each column that are read at a time, at least: 1 MiB, which any device delivers at full speed.
const WINDOW_BLOCKS: u32 = 256;

/// What a finding is about; the names in `--json` are [`FindingKind::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// A device that was given is no usable member.
    NotAMember,
    /// A member is not there.
    MemberMissing,
    /// A member is there, but what it holds is older than the array.
    MemberStale,
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
    /// After a crash: what the next opening will recover.
    Unclean,
}

impl FindingKind {
    /// The kind as programs name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotAMember => "not-a-member",
            Self::MemberMissing => "member-missing",
            Self::MemberStale => "member-stale",
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
            Self::Unclean => "unclean",
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

    fn of_block(self, volume: VolumeId, lba: Lba) -> Self {
        Self { volume: Some(volume), lba: Some(lba), ..self }
    }

    /// Only worth knowing.
    pub fn into_information(self) -> Self {
        Self { weight: Verdict::Consistent, ..self }
    }

    /// It keeps a member from taking part.
    fn degrading(self) -> Self {
        Self { weight: Verdict::Degraded, ..self }
    }

    /// Nothing mends it.
    fn beyond_redundancy(self) -> Self {
        Self { weight: Verdict::BeyondRedundancy, ..self }
    }
}

/// How far a check has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckProgress {
    /// Segments done.
    pub segments: usize,
    /// Segments to do.
    pub of: usize,
    /// Bytes read so far.
    pub bytes: u64,
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
    /// How long it took.
    pub took: Nanos,
}

/// Checks a stopped array on its devices, given in any order. Writes nothing, whatever `options` say. `progress` is
/// called after each segment.
///
/// # Errors
/// When the devices do not make up an array, or too many of its members are missing for any of it to be judged.
pub fn check<'a>(
    rt: &'a Runtime,
    devices: &'a [DeviceInfo],
    options: &'a OpenOptions,
    progress: impl Fn(CheckProgress) + 'static,
) -> Work<'a, Result<CheckReport, ArrayError>> {
    check_all(rt, devices, options, Rc::new(progress))
}

fn check_all<'a>(
    rt: &'a Runtime,
    devices: &'a [DeviceInfo],
    options: &'a OpenOptions,
    progress: Rc<dyn Fn(CheckProgress)>,
) -> Work<'a, Result<CheckReport, ArrayError>> {
    Box::pin(async move {
        let begun = rt.precise_now();
        let looked = members::look(rt, devices, options.array).await;
        let mut findings = looked.findings;
        use FindingKind::{MemberStale, MemberTruncated, NotAMember};
        let unused = findings.iter().filter(|f| matches!(f.kind, NotAMember | MemberStale | MemberTruncated));
        let remarks = unused.map(|f| f.text.clone()).collect();
        let assembly = assemble_members(looked.usable, options.array, remarks)?;
        let Superblock { array, state, .. } = assembly.superblock.clone();
        let reactor = build(rt, &assembly, options)?;
        // Nothing may be repaired or cleaned from here on.
        reactor.shared.set_fault("it is being checked".into());
        let opened = open_in_memory(&reactor, &state, &mut findings).await;
        let scanned = match opened {
            true => scan(&reactor, &state, &mut findings, progress).await,
            false => SegmentResult::default(),
        };
        if opened {
            maps::check_unmatched(&reactor, &scanned.suspects, &mut findings).await;
        }
        Ok(CheckReport {
            name: state.name.clone(),
            uuid: array,
            clean: state.clean,
            lost: lost_blocks(&reactor, &findings),
            findings,
            segments: scanned.segments,
            stripes: scanned.stripes,
            blocks: scanned.blocks,
            mapped: scanned.mapped,
            bytes: scanned.bytes,
            took: rt.precise_now().since(begun),
        })
    })
}

fn lost_blocks(reactor: &Reactor, findings: &[Finding]) -> Vec<LostBlock> {
    let lost = findings.iter().filter(|f| matches!(f.kind, FindingKind::Lost | FindingKind::Map));
    let mut lost: Vec<LostBlock> = lost
        .filter_map(|f| Some(LostBlock { volume: reactor.shared.volume(f.volume?)?.name.clone(), lba: f.lba? }))
        .collect();
    lost.sort_unstable();
    lost.dedup();
    lost
}

/// The maps as the next opening would have them; `false` when no checkpoint can be read.
async fn open_in_memory(reactor: &Rc<Reactor>, state: &cygnus_format::ArrayState, findings: &mut Vec<Finding>) -> bool {
    let mut steps = crate::recover::open::Steps::new(&reactor.rt, &crate::recover::open::Silent);
    if let Err(error) = load(reactor, state, &mut steps).await {
        findings.push(Finding::new(FindingKind::Checkpoint, error.to_string()).beyond_redundancy());
        return false;
    }
    if !state.clean {
        let replayed = match crate::recover::open::replay(reactor, &mut steps).await {
            Ok(replayed) => replayed,
            Err(error) => {
                findings.push(Finding::new(FindingKind::Checkpoint, error.to_string()));
                return false;
            }
        };
        findings.push(describe_tail(&replayed));
        if !replayed.lost.is_nothing() {
            findings.push(Finding::new(FindingKind::LostStripe, replayed.lost.error(reactor).to_string()));
        }
    }
    maps::drop_impossible(reactor, findings);
    recount(reactor, state, &mut steps);
    if let Some(root) = state.roots[0].as_ref().filter(|_| state.clean)
        && root.mapped_blocks != reactor.shared.mapped()
    {
        let (says, are) = (root.mapped_blocks, reactor.shared.mapped());
        let text = format!(
            "checkpoint {} counts {says} mapped blocks and its pages hold {are}: compare the volumes with a backup",
            root.generation
        );
        findings.push(Finding::new(FindingKind::Count, text));
    }
    true
}

fn describe_tail(replayed: &Replayed) -> Finding {
    let text = format!(
        "the array was not stopped cleanly: the next opening will replay {} stripes with {} blocks; {} of the {} stripes \
         that no flush is known to cover are torn, {} blocks in them are restored and {} were never written",
        replayed.stripes,
        replayed.blocks,
        replayed.torn_stripes,
        replayed.tail_stripes,
        replayed.rescues.len(),
        replayed.lost_blocks,
    );
    Finding::new(FindingKind::Unclean, text).into_information()
}

/// What all segments are checked with.
pub(crate) struct Checker {
    reactor: Rc<Reactor>,
    /// Segments that hold a checkpoint's pages: their life, and the checkpoint's generation.
    pages: BTreeMap<SegIx, (u64, u64)>,
    /// Stripes of this sequence and above are covered by no checkpoint; `None` while that is as it should be.
    horizon: Option<u64>,
    window: u32,
    /// Whether others need the devices too.
    beside_guests: bool,
}

async fn scan(
    reactor: &Rc<Reactor>,
    state: &cygnus_format::ArrayState,
    findings: &mut Vec<Finding>,
    progress: Rc<dyn Fn(CheckProgress)>,
) -> SegmentResult {
    let window = window_blocks(reactor);
    // Two windows for each column, while one takes over from the other.
    let bytes = window as usize * BLOCK * usize::from(reactor.shared.layout.geometry().width()) * 2;
    let roots: Vec<&CheckpointRoot> = state.roots.iter().flatten().collect();
    let checker = Rc::new(Checker {
        reactor: reactor.clone(),
        pages: pages_of(reactor, &roots),
        horizon: state.clean.then(|| state.roots[0].as_ref().map_or(0, |r| r.barrier)),
        window,
        beside_guests: false,
    });
    let all: Vec<SegIx> = reactor.shared.segments.all().collect();
    let of = all.len();
    let so_far = Rc::new(RefCell::new(CheckProgress { segments: 0, of, bytes: 0 }));
    let workers = (MEMORY / bytes).clamp(1, MOST_AT_ONCE);
    let parts = for_each_of(&reactor.rt, workers, all, {
        let checker = checker.clone();
        move |seg| {
            let (checker, so_far, progress) = (checker.clone(), so_far.clone(), progress.clone());
            async move {
                let mut result = checker.segment(seg).await;
                // Only for those who mend; of a broken array it would be much.
                result.damaged = Vec::new();
                let now = {
                    let mut so_far = so_far.borrow_mut();
                    so_far.segments += 1;
                    so_far.bytes += result.bytes;
                    *so_far
                };
                progress(now);
                result
            }
        }
    })
    .await;
    let mut total = SegmentResult::default();
    for part in parts {
        total.add(part);
    }
    findings.append(&mut total.findings);
    for root in roots {
        let found = total.pages.get(&root.generation).copied().unwrap_or(0);
        let written = root.pages * u64::from(reactor.shared.layout.geometry().checkpoint_copies());
        if found != written {
            let text = format!(
                "checkpoint {} has {} blocks and {found} were found: take another one by opening and stopping the array",
                root.generation, written
            );
            findings.push(Finding::new(FindingKind::Checkpoint, text));
        }
    }
    total
}

fn window_blocks(reactor: &Reactor) -> u32 {
    let geometry = reactor.shared.layout.geometry();
    let tallest = geometry.stripe_rows + geometry.header_blocks(geometry.stripe_rows);
    WINDOW_BLOCKS.max(tallest * 2).min(geometry.segment_blocks)
}

fn pages_of(reactor: &Reactor, roots: &[&CheckpointRoot]) -> BTreeMap<SegIx, (u64, u64)> {
    let mut pages = BTreeMap::new();
    for root in roots {
        for at in root.segments.iter().filter(|s| s.use_of == RootUse::Pages) {
            let seg = reactor.shared.segments.index(at.group, at.segment);
            pages.insert(seg, (at.segment_seq, root.generation));
        }
    }
    pages
}

impl Checker {
    /// For a look at a segment of an array in service, whose checkpoints come and go.
    pub(crate) fn in_service_of(reactor: &Rc<Reactor>) -> Self {
        let state = reactor.home().state.borrow();
        let roots: Vec<&CheckpointRoot> = state.roots.iter().flatten().collect();
        let window = window_blocks(reactor);
        Self { reactor: reactor.clone(), pages: pages_of(reactor, &roots), horizon: None, window, beside_guests: true }
    }

    /// Reads and judges one segment.
    pub(crate) async fn segment(&self, seg: SegIx) -> SegmentResult {
        let (group, segment) = self.reactor.shared.segments.locate(seg);
        let needed = self.reactor.shared.segments.live(seg) > 0 || self.pages.contains_key(&seg);
        match needed {
            true => segment::verify(self, seg, group, segment).await,
            false => self.unneeded(group, segment).await,
        }
    }

    /// A segment that nothing points to may hold anything, except stripes that nobody knows of.
    async fn unneeded(&self, group: GroupId, segment: SegmentId) -> SegmentResult {
        let mut result = SegmentResult::default();
        let Some(horizon) = self.horizon else { return result };
        let Some(first) = self.reactor.stripe_at(group, segment, 0, None).await else { return result };
        if first.common.stripe_seq >= horizon && first.common.stream != Stream::Meta {
            let seq = first.common.stripe_seq;
            let text = format!(
                "{group} {segment}: its first stripe has sequence {seq} and the newest checkpoint covers those below \
                 {horizon}, though the array was stopped cleanly: a superblock from before was put back?"
            );
            result.findings.push(Finding::new(FindingKind::Unaccounted, text));
        }
        result
    }

    /// Name of the device that holds a column, and where on it a row lies.
    fn locate(&self, place: Place) -> (String, u64) {
        let shared = &self.reactor.shared;
        let offset = shared.layout.geometry().device_offset(place.segment.0, place.row);
        (shared.member(place.group, place.column).1.name(), offset)
    }

    /// Counts a block that was not what it should be against the device that holds it.
    fn blame(&self, place: Place, what: impl Fn(&MemberCounters) -> &AtomicU64) {
        count(what(&self.reactor.shared.member(place.group, place.column).1.counters), 1);
    }

    /// "block 7 of volume v", for people.
    fn block_name(&self, volume: VolumeId, lba: Lba) -> String {
        block_name(&self.reactor, volume, lba)
    }
}

fn block_name(reactor: &Reactor, volume: VolumeId, lba: Lba) -> String {
    match reactor.shared.volume(volume) {
        Some(state) => format!("volume {} {lba} (bytes {} on)", state.name, lba.byte_offset()),
        None => format!("{volume} (deleted) {lba}"),
    }
}

/// Whether a map entry is one of this place.
fn points_to(entry: MapEntry, reactor: &Reactor, place: Place) -> bool {
    entry != MapEntry::EMPTY && entry.pba() == reactor.shared.layout.pba(place)
}
