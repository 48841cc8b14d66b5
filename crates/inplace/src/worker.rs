//! What goes on beside the clients: resyncs after a crash, filling of devices, clearing of quiet bits.

use std::rc::Rc;

use cygnus_engine::{ArrayError, Job, JobKind, JobState, change_member};
use cygnus_format::{MemberState, VolumeDesc};
use cygnus_runtime::race;
use cygnus_types::{BLOCK, Nanos};
use thiserror::Error;

use crate::bad_places::Mended;
use crate::error::RaidError;
use crate::inner::{Fill, Inner};
use crate::intent::QUIET;

/// Rest after each stripe while clients are at work: what is left for them is most of what the devices can do.
const GIVE_WAY: Nanos = Nanos::millis(1);

/// Why a member's device is not filled to its end.
#[derive(Debug, Error)]
enum FillError {
    #[error("the device is out of service: {0}")]
    OutOfService(String),
    /// What is beyond redundancy must not be made up, so filling ends there.
    #[error(
        "{device}: the stripe of {place} cannot be made, since another device cannot read its part of it; write that stripe anew, or \
         copy what is there to another array; filling begins again when the array is opened"
    )]
    BeyondRedundancy { device: String, place: String },
    #[error(transparent)]
    Raid(#[from] RaidError),
    #[error(transparent)]
    NotRecorded(#[from] ArrayError),
}

/// Counts a worker as long as it is at work.
struct AtWork(Rc<Inner>);

impl AtWork {
    fn new(inner: &Rc<Inner>) -> Self {
        inner.workers.set(inner.workers.get() + 1);
        Self(inner.clone())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.workers.set(self.0.workers.get() - 1);
        self.0.changed.notify();
    }
}

impl Inner {
    /// Starts the tasks that live as long as the array is open.
    pub(crate) fn start_workers(self: &Rc<Self>) {
        let inner = self;
        for member in inner.to_be_filled() {
            let intent = inner.ledger().intent().expect("without redundancy nobody is filled");
            inner.begin_fill(member, intent.all_regions());
        }
        if inner.ledger().intent().is_some() {
            inner.rt.spawn(clear_bits(AtWork::new(inner)));
            inner.rt.spawn(mend_places(AtWork::new(inner)));
        }
        inner.rt.spawn(make_good(AtWork::new(inner)));
    }
}

async fn clear_bits(at_work: AtWork) {
    let inner = &at_work.0;
    let intent = inner.ledger().intent().expect("started with one only");
    while !inner.closing.get() {
        race(inner.rt.sleep(QUIET), inner.changed.wait()).await;
        // An array that takes no writes any more says so to whoever writes; its bits stay.
        let _ = intent.clear_quiet(inner.core()).await;
    }
}

/// Writes anew what could not be read.
async fn mend_places(at_work: AtWork) {
    let inner = &at_work.0;
    let core = inner.core();
    while !inner.closing.get() {
        let found = core.bad_places.found.wait();
        let Some((stripe, device)) = core.bad_places.next() else {
            race(found, inner.changed.wait()).await;
            continue;
        };
        // An array that takes no writes any more says so to whoever writes.
        let Ok(Mended { mended, lost }) = core.mend_stripe(stripe, device).await else { continue };
        let _ = core.settle().await;
        let name = inner.device_name(device);
        if mended > 0 {
            inner.ledger().log.line(&format!("{name}: {mended} blocks could not be read and were written anew"));
        }
        if lost > 0 {
            inner.ledger().log.line(&format!("{name}: {lost} blocks can neither be read nor made from other devices"));
        }
    }
}

/// First what a crash has left, or trouble, then what is missing.
async fn make_good(at_work: AtWork) {
    let inner = at_work.0.clone();
    loop {
        let changed = inner.changed.wait();
        inner.resync().await;
        if inner.closing.get() {
            return;
        }
        let next = inner.waiting.borrow_mut().pop_first();
        match next {
            Some((member, fill)) => inner.fill(member, fill).await,
            None => changed.await,
        }
    }
}

impl Inner {
    /// Members whose devices are there and not whole.
    fn to_be_filled(&self) -> Vec<usize> {
        let core = self.core();
        (0..core.layout.devices()).filter(|&member| !core.is_failed(member) && !core.is_whole(member)).collect()
    }

    pub(crate) fn device_name(&self, member: usize) -> String {
        self.core().device(member).name.borrow().clone()
    }

    fn chunk_bytes(&self) -> u64 {
        u64::from(self.core().layout.chunk_blocks()) * BLOCK as u64
    }

    /// Has these regions of a member's device filled; returns the number of the job.
    pub(crate) fn begin_fill(&self, member: usize, regions: Vec<u32>) -> u64 {
        let intent = self.ledger().intent().expect("without redundancy nobody is filled");
        let stripes: u64 = regions.iter().map(|&region| intent.stripes_of(region).count() as u64).sum();
        let name = self.device_name(member);
        let job = self.jobs.begin(&self.rt, JobKind::Rebuild, name, stripes * self.chunk_bytes());
        let id = job.id();
        self.waiting.borrow_mut().insert(member, Fill { job, regions });
        self.changed.notify();
        id
    }

    /// Gives way to clients that have written since the last look.
    async fn give_way(&self, seen: &mut u64) {
        let written = self.raid.counters().written;
        if std::mem::replace(seen, written) != written {
            self.rt.sleep(GIVE_WAY).await;
        }
    }

    /// Makes the regions fit again that a crash has left.
    async fn resync(&self) {
        let core = self.core();
        let Some(intent) = self.ledger().intent() else { return };
        let stale = intent.stale();
        if stale.is_empty() {
            return;
        }
        let chunk = self.chunk_bytes();
        let all: u64 = stale.iter().map(|&region| intent.stripes_of(region).count() as u64).sum();
        let name = self.ledger().state.borrow().name.clone();
        let job = self.jobs.begin(&self.rt, JobKind::Resync, name, all * chunk);
        let mut seen = self.raid.counters().written;
        let mut unreadable = 0;
        for region in stale {
            let doubts = intent.doubts();
            for stripe in intent.stripes_of(region) {
                if self.closing.get() {
                    return job.end(JobState::Cancelled);
                }
                match core.resync_stripe(stripe).await {
                    Ok(()) => {}
                    Err(RaidError::Unreadable(_)) => unreadable += 1,
                    Err(error) => return job.end(JobState::Failed(error.to_string())),
                }
                job.advance(chunk);
                self.give_way(&mut seen).await;
            }
            // What is not flushed yet may be lost, and the bit with it only after a flush.
            if intent.doubts() == doubts {
                intent.resynced(region);
            }
        }
        if unreadable > 0 {
            self.ledger().log.line(&format!("{unreadable} stripes were left as they are: they cannot be read"));
        }
        let settled = core.settle().await;
        job.end(settled.map_or_else(|error| JobState::Failed(error.to_string()), |()| JobState::Done));
        self.changed.notify();
    }

    /// Gives a member's device all that it should hold.
    async fn fill(&self, member: usize, Fill { job, regions }: Fill) {
        let filled = self.try_fill(member, &job, &regions).await;
        let name = self.device_name(member);
        let state = match filled {
            Ok(true) => {
                self.ledger().log.line(&format!("{name} holds everything it should"));
                JobState::Done
            }
            Ok(false) => JobState::Cancelled,
            Err(why) => JobState::Failed(why.to_string()),
        };
        job.end(state);
        self.changed.notify();
    }

    /// Why a stripe of a member cannot be filled.
    fn cannot_fill(&self, member: usize, error: RaidError) -> FillError {
        let RaidError::Unreadable(block) = error else { return error.into() };
        let at = block.0 * BLOCK as u64;
        let volumes = self.ledger().state.borrow().volumes.clone();
        let holds = |desc: &&VolumeDesc| {
            let start = u64::from(desc.start_mib) << 20;
            (start..start + desc.size_bytes).contains(&at)
        };
        let place = match volumes.iter().find(holds) {
            Some(desc) => format!("byte {} of volume {}", at - (u64::from(desc.start_mib) << 20), desc.name),
            None => format!("byte {at} of the array, which no volume has"),
        };
        FillError::BeyondRedundancy { device: self.device_name(member), place }
    }

    /// `false` if the array was closed meanwhile.
    async fn try_fill(&self, member: usize, job: &Job, regions: &[u32]) -> Result<bool, FillError> {
        let core = self.core();
        let intent = self.ledger().intent().expect("without redundancy nobody is filled");
        // It may leave, and be back, while somebody else is waited for.
        let slot = core.slot(member);
        let left = || Err(FillError::OutOfService(core.device(member).why.borrow().clone()));
        let mut seen = self.raid.counters().written;
        for stripe in regions.iter().flat_map(|&region| intent.stripes_of(region)) {
            if self.closing.get() {
                return Ok(false);
            }
            if core.serves(slot) {
                core.fill_stripe(stripe, member).await.map_err(|error| self.cannot_fill(member, error))?;
            }
            if !core.serves(slot) {
                core.settle().await?;
                return left();
            }
            core.filled_below(member, stripe + 1);
            job.advance(self.chunk_bytes());
            self.give_way(&mut seen).await;
        }
        core.flush().await?;
        let _alone = self.admin.take().await;
        if !core.serves(slot) {
            return left();
        }
        {
            let mut state = self.ledger().state.borrow_mut();
            let desc = state.groups.iter_mut().flat_map(|group| &mut group.members).nth(member);
            change_member(desc.expect("it is a member"), MemberState::Online);
        }
        // From here on what it misses is another departure's matter.
        core.filled_below(member, u64::MAX);
        self.commit().await?;
        Ok(true)
    }
}
