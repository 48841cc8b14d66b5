//! An array as its users hold it: open, serve, administer, close.

use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::{ArrayState, Geometry, MAX_VOLUME_NAME, MAX_VOLUMES, VolumeDesc, valid_name};
use cygnus_runtime::{DeviceInfo, Message, Runtime};
use cygnus_types::{Acknowledged, BLOCK, ByteSize, Constraint, Lba, Medium, Nanos, Paging, Tiers, VolumeId};
use cygnus_volume::VolumeSet;

use crate::care::guardian::Guardian;
use crate::care::report::ScrubReport;
use crate::care::scrub::Scrub;
use crate::clean::emptied::Emptied;
use crate::durable::checkpoint::Checkpointer;
use crate::durable::commit::Committer;
use crate::durable::flush::Flusher;
use crate::error::{ArrayError, VolumeAdminError, VolumeError};
use crate::job::JobStatus;
use crate::lsa::MAX_VOLUME_BLOCKS;
use crate::peers::ToOwner;
use crate::reactor::Reactor;
use crate::recover::open::{OpenOptions, RecoveryReport, open};
use crate::resize::turn::recompute_usable;
use crate::shared::Shared;
use crate::space::held::Held;
use crate::space::role::GroupRole;
use crate::space::usable::usable_blocks;
use crate::status::{ArrayStatus, Overview, Traffic};
use crate::survey::{BlockLocation, SegmentInfo, Surveyor};
use crate::volume::Volume;
use crate::volume_state::{VolumeOptions, VolumeState};
use crate::work::Work;

/// An open array, on its home reactor. It is open until [`Array::close`] has ended: when its handles are dropped it goes on to clean, to
/// rebuild and to write checkpoints, as long as its reactor runs. One that is never closed is recovered at the next opening, as after a crash.
#[derive(Clone)]
pub struct Array {
    pub(crate) reactor: Rc<Reactor>,
    report: Rc<RecoveryReport>,
}

/// What another reactor needs to take part; goes there by message or with the thread's start.
#[derive(Clone)]
pub struct ArrayHandle {
    shared: Arc<Shared>,
    reactors: usize,
}

/// An array on a reactor that is not its home.
#[derive(Clone)]
pub struct ArrayPeer {
    pub(crate) reactor: Rc<Reactor>,
}

impl Array {
    /// Opens an array from its members among `devices`, in any order. The runtime becomes its home reactor.
    ///
    /// # Errors
    /// When the devices do not make up an array, or too many of its members are missing.
    pub fn open<'a>(
        rt: &'a Runtime,
        devices: &'a [DeviceInfo],
        options: &'a OpenOptions,
    ) -> Work<'a, Result<Self, ArrayError>> {
        Self::open_with(rt, devices, options, false)
    }

    /// As [`Array::open`], also where something is lost that was durable. What may be concerned by that is given up: it is
    /// unreadable until it is written anew or discarded, also after further openings, and what was there before is garbage.
    ///
    /// Where a group lacks too many members, those that are here and out of service, be they recorded as failed, are
    /// re-admitted; what that comes to is in [`RecoveryReport::readmission`]. With `read_only` nothing is written, and the
    /// report tells what would come of it.
    ///
    /// # Errors
    /// As [`Array::open`], except [`ArrayError::Lost`], [`ArrayError::LostCheckpoint`], [`ArrayError::LostSuperblock`] and
    /// [`ArrayError::PartedWays`]; and [`ArrayError::CannotReadmit`].
    pub fn open_by_force<'a>(
        rt: &'a Runtime,
        devices: &'a [DeviceInfo],
        options: &'a OpenOptions,
    ) -> Work<'a, Result<Self, ArrayError>> {
        Self::open_with(rt, devices, options, true)
    }

    fn open_with<'a>(
        rt: &'a Runtime,
        devices: &'a [DeviceInfo],
        options: &'a OpenOptions,
        by_force: bool,
    ) -> Work<'a, Result<Self, ArrayError>> {
        Box::pin(async move {
            let (reactor, report) = open(rt, devices, options, by_force).await?;
            Ok(Self::of(reactor, report))
        })
    }

    /// An array that is open already.
    pub(crate) fn of(reactor: Rc<Reactor>, report: RecoveryReport) -> Self {
        Self { reactor, report: Rc::new(report) }
    }

    /// What opening had to do.
    pub fn recovery(&self) -> &RecoveryReport {
        &self.report
    }

    /// For attaching the other reactors, as many as [`OpenOptions::reactors`] said.
    pub fn handle(&self, reactors: usize) -> ArrayHandle {
        ArrayHandle { shared: self.reactor.shared.clone(), reactors }
    }

    /// Handles a message that this reactor's mailbox received; gives it back if it is not the engine's. With more than
    /// one reactor some task must feed all messages through here.
    pub fn handle_message(&self, message: Message) -> Option<Message> {
        self.reactor.handle_message(message)
    }

    /// A volume by name.
    pub fn volume(&self, name: &str) -> Option<Volume> {
        self.reactor.shared.volume_named(name).map(|state| Volume::new(self.reactor.clone(), state))
    }

    /// Names of all volumes.
    pub fn volume_names(&self) -> Vec<String> {
        self.volumes().names()
    }

    /// The fastest and the slowest medium that R-groups are on, for hybrid volumes of which nothing else is said.
    ///
    /// # Errors
    /// When there is one medium only, for the volume of that name ([`VolumeAdminError::NotHybrid`]).
    pub fn widest_tiers(&self, volume: &str) -> Result<Tiers, VolumeAdminError> {
        let held = &self.reactor.shared.held;
        let there = || Medium::BY_SPEED.into_iter().filter(|&medium| held.has_medium(medium));
        let (fastest, slowest) = (there().next().unwrap_or_default(), there().next_back().unwrap_or_default());
        Tiers::new(fastest, slowest).map_err(|_| {
            let lacks = if fastest.has_arms() { Medium::Flash } else { Medium::Disk };
            let tiers = Tiers::new(fastest, lacks).expect("the array lacks that one");
            VolumeAdminError::NotHybrid { volume: volume.to_owned(), tiers, lacks }
        })
    }

    /// State of everything.
    pub fn status(&self) -> ArrayStatus {
        Overview::of(&self.reactor).status()
    }

    /// Every segment, in the order of groups.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        Surveyor::of(&self.reactor).segment_infos()
    }

    /// Where a block of a volume lies on the devices; `None` when it is not mapped, or there is no such volume.
    pub fn locate<'a>(&'a self, volume: &'a str, lba: Lba) -> Work<'a, Option<BlockLocation>> {
        Box::pin(async move {
            let state = self.reactor.shared.volume_named(volume)?;
            if lba.0 >= state.blocks() {
                return None;
            }
            Surveyor::of(&self.reactor).locate_block(&state, lba).await
        })
    }

    /// What the group that holds the block at this byte of a volume is doing now; `None` where nothing is mapped.
    pub fn role_at(&self, volume: &Volume, offset: u64) -> Option<GroupRole> {
        Overview::of(&self.reactor).role_at(volume.state(), Lba::containing(offset))
    }

    /// Memory that the maps of all volumes take.
    pub fn map_bytes(&self) -> ByteSize {
        ByteSize(self.reactor.shared.controllers.memory().bytes())
    }

    /// Memory of stripes that outlasts the process.
    pub fn kept_bytes(&self) -> ByteSize {
        self.reactor.shared.kept.get().map_or(ByteSize(0), |kept| kept.status().size)
    }

    /// What the volumes' maps may take from now on. Beyond it blocks that were never written are refused, with
    /// [`VolumeError::MapMemory`]; reads, overwrites and trims go on.
    pub fn set_map_limit(&self, limit: ByteSize) {
        self.reactor.shared.controllers.memory().set_limit(limit.0);
    }

    /// Whether data moves out of the way of contention.
    pub fn moves_data(&self) -> bool {
        self.reactor.shared.marks.is_some()
    }

    /// Counters alone, which are cheap.
    pub fn traffic(&self) -> Traffic {
        Overview::of(&self.reactor).traffic()
    }

    /// Long work: all that runs, and the last that has ended, oldest first.
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.reactor.home().jobs.statuses(self.reactor.rt.now())
    }

    /// Asks a job to end early; `false` if there is none of this number at work. It ends at the next place where that
    /// leaves nothing half done.
    pub fn cancel_job(&self, id: u64) -> bool {
        self.reactor.home().jobs.cancel(id)
    }

    /// Starts a scrub, unless one is under way, and returns the number of its job. `now_unix` is the time in seconds since
    /// 1970 UTC; the array remembers when its last whole scrub ended.
    pub fn start_scrub(&self, now_unix: u64) -> u64 {
        Scrub::start(&self.reactor, now_unix)
    }

    /// As [`Array::start_scrub`], and waits for its end.
    pub fn scrub(&self, now_unix: u64) -> Work<'_, ScrubReport> {
        Box::pin(async move {
            self.start_scrub(now_unix);
            self.scrub_end().await;
            self.scrub_report().expect("a scrub that has ended leaves a report")
        })
    }

    /// What the last scrub since the array was opened found.
    pub fn scrub_report(&self) -> Option<ScrubReport> {
        self.reactor.home().scrubs.report.borrow().clone()
    }

    /// Waits until no scrub is under way.
    async fn scrub_end(&self) {
        let home = self.reactor.home();
        while home.scrubs.running.get().is_some() {
            let ended = home.scrubs.ended.wait();
            if home.scrubs.running.get().is_some() {
                ended.await;
            }
        }
    }

    /// Makes a volume of `size` bytes; it takes no space until it is written. `now_unix` is recorded as its birthday.
    ///
    /// # Errors
    /// When the name or the size is not possible, or the change cannot be recorded.
    pub fn create_volume<'a>(
        &'a self,
        name: &'a str,
        size: ByteSize,
        now_unix: u64,
    ) -> Work<'a, Result<Volume, VolumeAdminError>> {
        self.create_volume_with(name, size, VolumeOptions::default(), now_unix)
    }

    /// The same with another level of acknowledgement, constrained to media, or with a map by pages ([`VolumeOptions::paging`]).
    ///
    /// # Errors
    /// As [`Array::create_volume`]. Beside that, of a volume that may be on one medium alone, when no group is on it
    /// ([`VolumeAdminError::NoSuchMedium`]); of a hybrid one, unless there are groups on both of its media ([`VolumeAdminError::NotHybrid`]). Of a volume by pages, when
    /// the size is not whole pages ([`VolumeAdminError::PartOfPage`]), when a page is more than a chunk, or does not divide it
    /// ([`VolumeAdminError::PageBeyondChunk`]), and when segments have too few stripes for such pages to leave room for data
    /// ([`VolumeAdminError::PageBeyondSegment`]).
    pub fn create_volume_with<'a>(
        &'a self,
        name: &'a str,
        size: ByteSize,
        options: VolumeOptions,
        now_unix: u64,
    ) -> Work<'a, Result<Volume, VolumeAdminError>> {
        let (array, name) = (self.clone(), name.to_owned());
        self.carry_out(async move {
            if !valid_name(&name, MAX_VOLUME_NAME) {
                return Err(VolumeAdminError::BadName(name));
            }
            check_size(size)?;
            check_constraint(&array.reactor.shared.held, &name, options.constraint)?;
            check_paging(array.reactor.shared.layout.geometry(), size, &options)?;
            let desc = {
                let mut state = array.reactor.home().state.borrow_mut();
                if state.volumes.iter().any(|v| v.name == name) {
                    return Err(VolumeAdminError::Exists(name));
                }
                if state.volumes.len() >= MAX_VOLUMES {
                    return Err(VolumeAdminError::TooMany(MAX_VOLUMES));
                }
                let desc = VolumeDesc {
                    id: VolumeId(state.next_volume_id),
                    name,
                    size_bytes: size.0,
                    created_unix: now_unix,
                    start_mib: 0,
                    in_doubt: false,
                    acknowledged: options.acknowledged,
                    constraint: options.constraint,
                    paging: options.paging,
                };
                state.volumes.push(desc.clone());
                if desc.paging.is_by_pages() && !leaves_room(&state, &array.reactor.shared) {
                    state.volumes.pop();
                    return Err(VolumeAdminError::PageBeyondSegment { page: desc.paging.page() });
                }
                state.next_volume_id += 1;
                desc
            };
            recompute_usable(&array.reactor);
            array.commit().await?;
            let controller = array.reactor.shared.controllers.controller(desc.id, desc.paging, false);
            let volume = Arc::new(VolumeState::new(&desc, controller));
            array.reactor.shared.add_volume(volume.clone());
            Ok(Volume::new(array.reactor.clone(), volume))
        })
    }

    /// Deletes a volume and everything in it.
    ///
    /// # Errors
    /// When there is none of that name, or the change cannot be recorded.
    pub fn delete_volume<'a>(&'a self, name: &'a str) -> Work<'a, Result<(), VolumeAdminError>> {
        let (array, name) = (self.clone(), name.to_owned());
        self.carry_out(async move {
            let volume = array.find(&name)?;
            let deleting = &array.reactor.home().regroup.deleting;
            deleting.set(deleting.get() + 1);
            let result = array.delete(&volume).await;
            deleting.set(deleting.get() - 1);
            result
        })
    }

    async fn delete(&self, volume: &VolumeState) -> Result<(), VolumeAdminError> {
        volume.set_gone();
        self.reactor.home().state.borrow_mut().volumes.retain(|v| v.id != volume.id);
        recompute_usable(&self.reactor);
        self.commit().await?;
        self.reactor.shared.remove_volume(volume.id);
        self.forget_blocks(volume).await;
        Ok(())
    }

    /// Takes a deleted volume's blocks off the segments' counts, a part at a time.
    async fn forget_blocks(&self, volume: &VolumeState) {
        let mut from = Lba(0);
        while let Some(next) = self.reactor.shared.controllers.forget(&volume.controller, from) {
            from = next;
            self.reactor.rt.yield_now().await;
        }
        self.reactor.home().space_changed.notify();
    }

    /// Changes a volume's size. What lies behind the new end of a volume made smaller is discarded for good.
    ///
    /// # Errors
    /// When there is none of that name, the size is not possible, or the change cannot be recorded.
    pub fn resize_volume<'a>(&'a self, name: &'a str, size: ByteSize) -> Work<'a, Result<(), VolumeAdminError>> {
        let (array, name) = (self.clone(), name.to_owned());
        self.carry_out(async move {
            check_size(size)?;
            let volume = array.find(&name)?;
            check_pages_of(size, volume.paging)?;
            let (old, new) = (volume.blocks(), size.0 / BLOCK as u64);
            volume.set_size(ByteSize(size.0.min(volume.size().0)));
            if new < old {
                let discarded = array.reactor.discard_blocks(&volume, Lba(new), old - new).await;
                let flushed = array.reactor.flush().await;
                discarded.and(flushed).map_err(faulted)?;
            }
            let id = volume.id;
            for desc in array.reactor.home().state.borrow_mut().volumes.iter_mut().filter(|v| v.id == id) {
                desc.size_bytes = size.0;
            }
            array.commit().await?;
            volume.set_size(size);
            Ok(())
        })
    }

    /// Changes where a write of a volume is when it is answered. From the end of this on nothing that was answered, before or
    /// since, is less safe than the level says. Handles to the volume that were made while it was [`Acknowledged::Durable`]
    /// stay so.
    ///
    /// # Errors
    /// When there is none of that name, or the change cannot be recorded.
    pub fn set_acknowledged<'a>(
        &'a self,
        name: &'a str,
        level: Acknowledged,
    ) -> Work<'a, Result<(), VolumeAdminError>> {
        let (array, name) = (self.clone(), name.to_owned());
        self.carry_out(async move {
            let volume = array.find(&name)?;
            let raises = level > volume.acknowledged();
            if raises {
                volume.set_acknowledged(level);
                // What was answered before by a weaker one.
                array.reactor.flush().await.map_err(faulted)?;
            }
            let id = volume.id;
            for desc in array.reactor.home().state.borrow_mut().volumes.iter_mut().filter(|v| v.id == id) {
                desc.acknowledged = level;
            }
            array.commit().await?;
            volume.set_acknowledged(level);
            Ok(())
        })
    }

    fn find(&self, name: &str) -> Result<Arc<VolumeState>, VolumeAdminError> {
        self.reactor.shared.volume_named(name).ok_or_else(|| VolumeAdminError::Unknown(name.into()))
    }

    /// Carries out a change of the array to its end, whatever becomes of the caller: half of it would be neither the one
    /// array nor the other.
    pub(crate) fn carry_out<'a, T: 'static>(&'a self, change: impl Future<Output = T> + 'static) -> Work<'a, T> {
        Box::pin(self.reactor.rt.carry_out(change))
    }

    fn check_open(&self) -> Result<(), ArrayError> {
        if self.reactor.shared.is_closed() { Err(ArrayError::Closed) } else { Ok(()) }
    }

    async fn commit(&self) -> Result<(), ArrayError> {
        self.check_open()?;
        self.reactor.shared.check_fault()?;
        Ok(Committer::of(&self.reactor).commit_state().await?)
    }

    /// Takes a checkpoint now.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn checkpoint(&self) -> Work<'_, Result<(), ArrayError>> {
        Box::pin(async move {
            self.check_open()?;
            Ok(Checkpointer::of(&self.reactor).checkpoint().await?)
        })
    }

    /// Closes the array cleanly: everything durable, a checkpoint of all of it, and no scan at the next opening. Volumes
    /// answer [`VolumeError::Gone`] from the start of this. Members that are awaited are awaited for some seconds more.
    ///
    /// Where cleaning that was under way has all room, there is no checkpoint: everything is durable, and the next opening scans.
    ///
    /// # Errors
    /// When not everything could be made durable; the next opening will then recover as after a crash.
    pub fn close(self) -> Work<'static, Result<(), ArrayError>> {
        let rt = self.reactor.rt.clone();
        let close = async move {
            let reactor = &self.reactor;
            reactor.rt.spawn(Guardian::of(reactor).close_without_members());
            let closed = self.close_all().await;
            Guardian::of(reactor).end_guardian();
            reactor.home().places.claim.take();
            match reactor.home().watch.given_up.take() {
                Some(why) => Err(ArrayError::Suspended(why)),
                None => closed,
            }
        };
        Box::pin(async move { rt.carry_out(close).await })
    }

    async fn close_all(&self) -> Result<(), ArrayError> {
        let reactor = &self.reactor;
        let _step = reactor.shared.during("close");
        self.stop_workers().await;
        reactor.shared.set_closed();
        reactor.progress.notify();
        reactor.home().space_changed.notify();
        self.scrub_end().await;
        reactor.peers.ask_others(&reactor.rt, |ticket| ToOwner::EndSegments { ticket }).await;
        reactor.end_segments();
        Flusher::of(reactor).flush_everything().await?;
        // The checkpoint may need the space.
        Emptied::of(reactor).release_pending().await;
        match Checkpointer::of(reactor).checkpoint().await {
            Ok(()) => Committer::of(reactor).commit_clean().await?,
            // All is durable. What cleaning had under way keeps the room, and nobody goes on with it.
            Err(_) if reactor.home().space.borrow().gives_nothing() && reactor.shared.fault().is_none() => {
                reactor.shared.log("closing: the next opening goes through what was written since the last checkpoint");
            }
            Err(why) => return Err(why.into()),
        }
        if let Some(kept) = reactor.shared.kept.get() {
            kept.end();
        }
        Ok(())
    }

    /// For how long requests wait for members while the array is suspended; for ever if nobody says anything. Then they
    /// fail, and so do later ones, until the members are back.
    pub fn set_suspended_for(&self, span: Nanos) {
        self.reactor.shared.suspension.set_requests_wait(span);
    }

    /// Ends the cleaner, the rebuilder and those who empty groups.
    async fn stop_workers(&self) {
        let home = self.reactor.home();
        self.reactor.shared.set_ending(true);
        home.space_changed.notify();
        home.members_changed.notify();
        home.fast_is_full.notify();
        self.reactor.members_settled();
        // Some of them clean too, and may be waiting for members.
        self.reactor.peers.tell_others(&self.reactor.rt, || ToOwner::MembersSettled);
        while home.cleaning.running.get() {
            let ended = home.cleaning.ended.wait();
            if home.cleaning.running.get() {
                ended.await;
            }
        }
        let running = || home.fills.running.get() || home.regroup.retirers.get() > 0 || home.regroup.running.get();
        while running() {
            let ended = home.members_changed.wait();
            if running() {
                ended.await;
            }
        }
    }
}

fn faulted(error: VolumeError) -> VolumeAdminError {
    VolumeAdminError::Array(ArrayError::Faulted(error.to_string()))
}

/// Fails if there is no group on a medium without which a volume cannot be what it is to be.
fn check_constraint(held: &Held, volume: &str, constraint: Constraint) -> Result<(), VolumeAdminError> {
    let lacks = |medium: &Medium| !held.has_medium(*medium);
    let volume = || volume.to_owned();
    match constraint {
        Constraint::Only(medium) if lacks(&medium) => Err(VolumeAdminError::NoSuchMedium { volume: volume(), medium }),
        Constraint::Hybrid(tiers) => match tiers.both().into_iter().find(lacks) {
            Some(lacks) => Err(VolumeAdminError::NotHybrid { volume: volume(), tiers, lacks }),
            None => Ok(()),
        },
        Constraint::Only(_) | Constraint::None | Constraint::Prefers(_) => Ok(()),
    }
}

/// Fails if a volume of this size cannot be mapped as it is to be.
fn check_paging(geometry: &Geometry, size: ByteSize, options: &VolumeOptions) -> Result<(), VolumeAdminError> {
    let paging = options.paging;
    if !geometry.holds_pages_of(paging) {
        let chunk = ByteSize::of_blocks(geometry.chunk_blocks.into());
        return Err(VolumeAdminError::PageBeyondChunk { page: paging.page(), chunk });
    }
    check_pages_of(size, paging)
}

/// Whether what volumes may hold on each medium is anything at all, mapped as they are.
fn leaves_room(state: &ArrayState, shared: &Shared) -> bool {
    let usable = usable_blocks(state, &shared.policies, shared.crew);
    usable.is_ok_and(|usable| usable.0.iter().all(|on| *on != Some(0)))
}

fn check_pages_of(size: ByteSize, paging: Paging) -> Result<(), VolumeAdminError> {
    match size.0.is_multiple_of(paging.page().0) {
        true => Ok(()),
        false => Err(VolumeAdminError::PartOfPage { size, page: paging.page() }),
    }
}

fn check_size(size: ByteSize) -> Result<(), VolumeAdminError> {
    let max = ByteSize(MAX_VOLUME_BLOCKS * BLOCK as u64);
    if size.0 == 0 || !size.0.is_multiple_of(BLOCK as u64) || size.0 > max.0 {
        return Err(VolumeAdminError::BadSize { size, max });
    }
    Ok(())
}

impl ArrayHandle {
    /// Attaches a reactor. Its driver must number the devices as the home reactor's does, and all of its messages must
    /// go through [`ArrayPeer::handle_message`].
    pub fn attach(self, rt: &Runtime) -> ArrayPeer {
        ArrayPeer { reactor: Reactor::new(rt.clone(), self.shared, self.reactors, None) }
    }
}

impl ArrayPeer {
    /// See [`Array::handle_message`].
    pub fn handle_message(&self, message: Message) -> Option<Message> {
        self.reactor.handle_message(message)
    }

    /// A volume by name.
    pub fn volume(&self, name: &str) -> Option<Volume> {
        self.reactor.shared.volume_named(name).map(|state| Volume::new(self.reactor.clone(), state))
    }
}
