//! Checking a stopped array: everything on its devices against everything else, without writing a byte.
//!
//! The array is brought into memory as the next opening would have it (superblocks, checkpoint, replay), and then every
//! segment that holds anything needed is read whole, column beside column: the headers on all columns, every block
//! against the 32 bits of its summary entry, the parity of every row, and the map against the summaries. Nothing stops
//! at the first finding.
//!
//! What a crash leaves torn behind the last flush is no damage: the next opening takes care of it, and it is told as
//! information. A stripe without a single current block is not looked at beyond its header: nobody misses it.

pub(crate) mod checker;
pub(crate) mod findings;
pub(crate) mod maps;
pub(crate) mod members;
pub(crate) mod result;
pub(crate) mod rows;
pub(crate) mod segment;
pub(crate) mod window;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::{CheckpointRoot, Superblock};
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_types::BLOCK;

use crate::care::report::LostBlock;
use crate::check::checker::{Checker, pages_of, window_blocks};
use crate::check::findings::{CheckReport, Finding, FindingKind};
use crate::check::result::SegmentResult;
use crate::error::ArrayError;
use crate::reactor::Reactor;
use crate::read::parallel::for_each_of;
use crate::recover::assemble::{Outsiders, assemble, assemble_members};
use crate::recover::open::{OpenOptions, Silent, build, load, miscount, open, sort_segments};
use crate::recover::replay::Replayed;
use crate::space::segments::SegIx;
use crate::work::Work;

/// Memory for the windows of all segments that are read at once.
const MEMORY: usize = 192 << 20;
/// Most segments read at once.
const MOST_AT_ONCE: usize = 8;

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
        use FindingKind::{MemberParted, MemberStale, MemberTruncated, NotAMember};
        let unused =
            findings.iter().filter(|f| matches!(f.kind, NotAMember | MemberParted | MemberStale | MemberTruncated));
        let remarks = unused.map(|f| f.text.clone()).collect();
        let assembly = match assemble_members(looked.usable, options.array, remarks) {
            Err(ArrayError::TooManyMissing { .. }) => return foresee(rt, devices, options, findings).await,
            assembly => assembly?,
        };
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
            maps::report_lost(&reactor, &mut findings);
            maps::report_misplaced(&reactor, &mut findings);
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
            readmission: None,
            took: rt.precise_now().since(begun),
        })
    })
}

/// What would come of opening an array by force that lacks too many members; its blocks are not looked at beyond that.
async fn foresee(
    rt: &Runtime,
    devices: &[DeviceInfo],
    options: &OpenOptions,
    findings: Vec<Finding>,
) -> Result<CheckReport, ArrayError> {
    let begun = rt.precise_now();
    // As an opening refuses it, with all that it has to say of the members.
    let refused = assemble(rt, devices, options.array, Outsiders::StayOut).await.map(drop);
    let Err(ArrayError::TooManyMissing { readmittable, .. }) = &refused else {
        return Err(refused.err().unwrap_or_else(|| ArrayError::NoArray("its members changed meanwhile".into())));
    };
    if readmittable.is_empty() {
        return Err(refused.expect_err("as above"));
    }
    let options = OpenOptions { read_only: true, log: Arc::new(Silent), ..options.clone() };
    let (reactor, opened) = open(rt, devices, &options, true).await?;
    let state = reactor.home().state.borrow().clone();
    let readmission = opened.readmission.unwrap_or_default();
    let as_finding = |line: String| Finding::new(FindingKind::Readmittable, format!("by force: {line}"));
    let mut report = CheckReport {
        name: state.name,
        uuid: reactor.home().uuid,
        clean: opened.was_clean,
        lost: readmission.blocks.iter().map(|(volume, lba)| LostBlock { volume: volume.clone(), lba: *lba }).collect(),
        findings,
        segments: 0,
        stripes: 0,
        blocks: 0,
        mapped: 0,
        bytes: 0,
        readmission: None,
        took: rt.precise_now().since(begun),
    };
    report.findings.extend(readmission.lines().into_iter().map(as_finding));
    report.readmission = Some(readmission);
    Ok(report)
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
        let replayed = match crate::recover::open::replay(reactor, &mut steps, &Rc::default()).await {
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
    sort_segments(reactor, state, &mut steps);
    if let Some(what) = miscount(&reactor.shared) {
        findings.push(Finding::new(FindingKind::Count, format!("the counts do not follow the maps: {what}")));
    }
    if let Some(root) = state.roots[0].as_ref().filter(|_| state.clean)
        && root.mapped_blocks != reactor.shared.held.blocks()
    {
        let (says, are) = (root.mapped_blocks, reactor.shared.held.blocks());
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
        let written = root.pages * u64::from(reactor.shared.protections.checkpoint_copies());
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
