//! Opening an array: recovery as named steps, each with a log line and the time it took.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cygnus_format::{ArrayState, CheckpointRoot, KeptHeader, MemberDesc, MemberState, Superblock};
use cygnus_policy::{AutonomicsRule, Converting, Copying, HybridRule, LatencyRule, Policies};
use cygnus_runtime::{DeviceInfo, Keeper, Runtime};
use cygnus_types::{BLOCK, GroupId, Medium, MemberIx, Nanos, SegmentId, Uuid, counted};

use crate::autonomics::links::{Link, LinkError, Links, Strangers};
use crate::autonomics::marks::Marks;
use crate::autonomics::mode::Autonomics;
use crate::care::guardian::Guardian;
use crate::care::member::MemberShared;
use crate::care::prepare::{Preparer, Released};
use crate::care::rebuild::Rebuilder;
use crate::care::seats::Seats;
use crate::clean::candidates::Candidates;
use crate::clean::cleaner::Cleaner;
use crate::clean::cleaning::Cleaning;
use crate::clean::evacuate::keep_garbage;
use crate::clean::quiet::Quiet;
use crate::durable::checkpoint::Checkpointer;
use crate::durable::commit::Committer;
use crate::error::ArrayError;
use crate::home::Home;
use crate::hybrid::demote::Demoter;
use crate::log::{During, Log};
use crate::lsa::{Controllers, MapRule, Miscount};
use crate::reactor::{Reactor, set_patience};
use crate::recover::apply::Rescue;
use crate::recover::assemble::{Assembly, Outsiders, assemble};
use crate::recover::backups::Backups;
use crate::recover::give_up::GivingUp;
use crate::recover::gone::{LostBlocks, Readmitted};
use crate::recover::load::{CheckpointError, Loader};
use crate::recover::lost;
use crate::recover::readmit::Readmitter;
use crate::recover::remains::{RestoreError, Restored, Restorer};
use crate::recover::replay::{Replayed, Replayer};
use crate::recover::rescue::rescue;
use crate::recover::room::maps_fit;
use crate::recover::stays::{Stay, move_when_there_is_room};
use crate::recover::zones::{few_active_zones, groups_without_backups};
use crate::resize::retire::Retirement;
use crate::shared::{Shared, SharedParts};
use crate::space::crew::Crew;
use crate::space::manager::Space;
use crate::space::protections::Protections;
use crate::space::segments::SegState;
use crate::space::usable::{policies_of, until_full_of, usable_blocks};
use crate::volume_state::VolumeState;
use crate::write::kept::{Kept, shape_of};
use crate::write::lane::Lane;

/// Sequences skipped at each opening after a crash. Those that the crashed session gave out and that left no trace
/// must not be given out again, or a leftover of theirs could pass for something new.
const SEQUENCE_GAP: u64 = 1 << 24;

/// Usual value of [`OpenOptions::segments_per_helper`]: all helpers together take some three per cent of a group for themselves at most.
const SEGMENTS_PER_HELPER: u32 = 64;

/// Usual value of [`OpenOptions::quiet_after`].
const QUIET_AFTER: Nanos = Nanos::secs(30);

/// How an array is to be opened.
#[derive(Clone)]
pub struct OpenOptions {
    /// Which array, if devices of several may be given; `None`: there is only one.
    pub array: Option<Uuid>,
    /// Reactors that will serve it, this one included.
    pub reactors: usize,
    /// Segments that an R-group has for each of the other reactors that helps to clean it: one that helps fills a segment of its own.
    pub segments_per_helper: u32,
    /// Open without writing anything: for checks of a stopped array.
    pub read_only: bool,
    /// Memory of the volumes' maps.
    pub map: MapRule,
    /// Where to say what happens.
    pub log: Arc<dyn Log>,
    /// Who may have what the process before had on its way to the devices when it was killed, beside the keeper. Whoever opens an
    /// array that kept something has to name them: what was acknowledged is lost otherwise.
    pub left_with: Vec<Arc<dyn Keeper>>,
    /// Who keeps what is on its way to the devices beyond the end of the process; `None`: nobody.
    pub keeper: Option<Arc<dyn Keeper>>,
    /// Whether data moves out of the way of contention.
    pub autonomics: Autonomics,
    /// Which devices share links, where it does.
    pub links: Vec<Link>,
    /// When blocks of hybrid volumes move between the media.
    pub hybrid: HybridRule,
    /// Whether a preset whose R-groups take turns never cleans a second group beside the first one, however late that makes it.
    pub one_group_at_a_time: bool,
    /// Whether an array that makes copies of what is new in open stripes does so where ending a stripe would be fewer bytes too.
    pub copies_always: bool,
    /// How many full stripes of a reactor may wait for the parity that members compute from copies; 0: none, all get it at once.
    pub postponed: u32,
    /// Clients that have asked for nothing for so long are quiet: what is empty is discarded below then, though nobody is short of room.
    pub quiet_after: Nanos,
}

impl OpenOptions {
    /// How an array is opened for itself: the only one on its devices, by one reactor, with default limits, nothing kept.
    pub fn new(log: Arc<dyn Log>) -> Self {
        Self {
            array: None,
            reactors: 1,
            segments_per_helper: SEGMENTS_PER_HELPER,
            read_only: false,
            map: MapRule::default(),
            log,
            left_with: Vec::new(),
            keeper: None,
            autonomics: Autonomics::AsPreset,
            links: Vec::new(),
            hybrid: HybridRule::default(),
            one_group_at_a_time: false,
            copies_always: false,
            postponed: 0,
            quiet_after: QUIET_AFTER,
        }
    }
}

/// What opening did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// Whether the last session ended cleanly, so that nothing had to be replayed.
    pub was_clean: bool,
    /// Name and duration of each step.
    pub steps: Vec<(&'static str, Nanos)>,
    /// Blocks that a server that was killed had in memory, and that are on the devices now.
    pub restored_blocks: u64,
    /// Stripes found behind the checkpoint.
    pub stripes: usize,
    /// Of these, stripes that no flush was known to cover.
    pub tail_stripes: usize,
    /// Of these, stripes that were not wholly written.
    pub torn_stripes: usize,
    /// Blocks of torn stripes that were not there; no flush covered them.
    pub lost_blocks: usize,
    /// Segments with blocks that are still in torn stripes, for want of room elsewhere: with less redundancy than others, or none,
    /// until they are moved.
    pub torn_segments: BTreeSet<(GroupId, SegmentId)>,
    /// Blocks whose newest place was found behind the checkpoint.
    pub replayed_blocks: usize,
    /// How often what was found was gone through, as there was not memory for all of it at once.
    pub replay_passes: usize,
    /// Members out of service, with the reason.
    pub remarks: Vec<String>,
    /// What came of re-admitting members by force, or would.
    pub readmission: Option<Readmitted>,
}

/// For steps that nobody needs to hear of.
pub(crate) struct Silent;

impl Log for Silent {
    fn line(&self, _text: &str) {}
}

/// Times the steps and reports them.
pub(crate) struct Steps<'a> {
    rt: &'a Runtime,
    log: &'a dyn Log,
    begun: Nanos,
    report: RecoveryReport,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(rt: &'a Runtime, log: &'a dyn Log) -> Self {
        Self { rt, log, begun: rt.precise_now(), report: RecoveryReport::default() }
    }

    fn done(&mut self, step: &'static str, what: String) {
        let now = self.rt.precise_now();
        let took = now.since(self.begun);
        self.begun = now;
        self.log.line(&format!("open: {step}: {what} ({took})"));
        self.report.steps.push((step, took));
    }
}

/// Opens an array on the home reactor. By force, what may be concerned by a loss is given up.
pub(crate) async fn open(
    rt: &Runtime,
    given: &[DeviceInfo],
    options: &OpenOptions,
    by_force: bool,
) -> Result<(Rc<Reactor>, RecoveryReport), ArrayError> {
    let mut steps = Steps::new(rt, &*options.log);
    set_patience(rt, &LatencyRule::default());
    let step = During::new(&*options.log, "open: assemble");
    let outsiders = if by_force { Outsiders::Readmitted } else { Outsiders::StayOut };
    let assembly = assemble(rt, given, options.array, outsiders).await?;
    drop(step);
    let may_be_old = match assembly.refuse_lost() {
        Err(why) if by_force => {
            options.log.line(&format!("open: by force: {why}"));
            true
        }
        sound => sound.map(|()| false)?,
    };
    match assembly.refuse_parted() {
        Err(why) if by_force => options.log.line(&format!("open: by force: {why}")),
        Err(why) if !options.read_only => return Err(why),
        _ => {}
    }
    let claim = if options.read_only { None } else { Some(assembly.claim(rt)?) };
    let reactor = build(rt, &assembly, options)?;
    describe_assembly(&mut steps, &assembly);
    let state = assembly.superblock.state.clone();
    let (mut gave_up, mut lost_pages) = (false, 0);
    let given_up = Rc::new(readmit(&reactor, &assembly, options, &mut steps).await?);
    let loaded = load(&reactor, &state, &mut steps).await;
    maps_fit(&reactor.shared)?;
    if let Err(why) = loaded {
        if !by_force {
            return Err(why);
        }
        lost_pages = load_some(&reactor, &state, &why).await?;
        gave_up = true;
    }
    // Whoever went on after this state left stripes: what they covered is found to be lost.
    let covered = state.clean && !gave_up && !may_be_old && assembly.readmitted.is_empty();
    steps.report.was_clean = covered;
    let left_with = match options.read_only {
        true => Vec::new(),
        false => restore(&reactor, &state, options, by_force, &mut steps).await?,
    };
    // Stripes of two sessions never share a number, also where the pages of the last checkpoint had them.
    reactor.shared.stripes.raise(reactor.shared.stripes.next() + SEQUENCE_GAP);
    let mut replayed = if covered { Replayed::default() } else { replay(&reactor, &mut steps, &given_up).await? };
    maps_fit(&reactor.shared)?;
    let mapped = match assembly.readmitted.is_empty() {
        true => Vec::new(),
        false => Readmitter::of(&reactor).mapped_by_volume(&replayed.rescues),
    };
    gave_up |= GivingUp::of(&reactor).give_up_untold(&given_up);
    if !replayed.lost.is_nothing() {
        if !by_force {
            return Err(replayed.lost.error(&reactor));
        }
        GivingUp::of(&reactor).give_up_lost(&mut replayed);
        gave_up = true;
    }
    reactor.shared.controllers.memory().end_opening();
    sort_segments(&reactor, &state, &mut steps);
    if !assembly.readmitted.is_empty() {
        let readmission = Readmitter::of(&reactor).readmission(
            &assembly.readmitted,
            &given_up,
            &replayed.rescues,
            &mapped,
            lost_pages,
        );
        readmission.lines().iter().for_each(|line| options.log.line(&format!("open: by force: {line}")));
        steps.report.readmission = Some(readmission);
        GivingUp::of(&reactor).mark_lost(&given_up);
    }
    // What they did not deliver may only be away: nothing may be concluded from it.
    settle_before_session(&reactor)?;
    if options.read_only {
        // Reads that find damage would repair it.
        reactor.shared.set_fault("it was opened for reading only".into());
    } else {
        assembly.settle_superblocks(rt, |line| options.log.line(&format!("open: {line}"))).await;
        keep_garbage(&reactor);
        begin_keeping(&reactor, options);
        forget_remains(&left_with, options);
        let few_zones = few_active_zones(&reactor, options.reactors * lanes_used(&reactor.shared));
        for warning in few_zones.into_iter().chain(groups_without_backups(&reactor)) {
            options.log.line(&format!("open: {warning}"));
        }
        reactor.rt.spawn(Guardian::of(&reactor).run());
        begin_session(&reactor, gave_up, &mut steps).await.inspect_err(|_| Guardian::of(&reactor).end_guardian())?;
        // The cleaner first: rescued blocks may need space that only it can make.
        reactor.home().space.borrow_mut().recovering = !covered;
        reactor.rt.spawn(Cleaner::of(&reactor).run());
        let rescues = std::mem::take(&mut replayed.rescues);
        let finished = finish_recovery(&reactor, covered, rescues, given_up.len() > 0, &mut steps).await;
        reactor.shared.set_ending(finished.is_err());
        let stays = finished.inspect_err(|_| Guardian::of(&reactor).end_guardian())?;
        if gave_up {
            GivingUp::of(&reactor).clear_spoiled(&replayed.lost).await;
        }
        *reactor.home().places.spares.borrow_mut() = assembly.spares;
        reactor.home().places.arrivals.borrow_mut().extend(assembly.returning);
        reactor.rt.spawn(Rebuilder::of(&reactor).run());
        reactor.rt.spawn(Demoter::of(&reactor).run());
        reactor.rt.spawn(Quiet::of(&reactor, options.quiet_after).run());
        if !stays.is_empty() {
            reactor.rt.spawn(move_when_there_is_room(reactor.clone(), stays));
        }
        let geometry = *reactor.shared.layout.geometry();
        let released = |device: DeviceInfo| {
            let segments = crate::recover::create::segments_on(std::slice::from_ref(&device), &geometry);
            Released { dev: device.ix, name: device.name, segments }
        };
        let released: Vec<Released> = assembly.released.into_iter().map(released).collect();
        Preparer::of(&reactor).forget_released(&released).await;
    }
    reactor.peers.set_reactors(options.reactors);
    if !options.read_only {
        reactor.shared.begin_two_phase();
        Retirement::of(&reactor).resume_retiring();
    }
    *reactor.home().places.claim.borrow_mut() = claim;
    let report = steps.report;
    Ok((reactor, report))
}

/// Puts on the devices what a server that was killed had on its way there. Returns who had it. (Somebody else may have a file of
/// the same session with nothing in it, of an opening that was killed.)
async fn restore(
    reactor: &Rc<Reactor>,
    state: &ArrayState,
    options: &OpenOptions,
    by_force: bool,
    steps: &mut Steps<'_>,
) -> Result<Vec<Arc<dyn Keeper>>, ArrayError> {
    let _step = reactor.shared.during("open: remains");
    let (mut left_with, mut all) = (Vec::new(), Restored::default());
    let is_named = |keeper: &&Arc<dyn Keeper>| options.left_with.iter().any(|other| other.place() == keeper.place());
    for keeper in options.left_with.iter().chain(options.keeper.iter().filter(|keeper| !is_named(keeper))) {
        match restore_from(&**keeper, reactor, state).await {
            Ok(None) => {}
            Ok(Some(restored)) => {
                all.add(&restored);
                left_with.push(keeper.clone());
            }
            Err(error) if by_force => options.log.line(&format!("open: by force: {error}")),
            Err(error) => return Err(error),
        }
    }
    if !left_with.is_empty() {
        let Restored { stripes, blocks, is_short } = all;
        let short = if is_short { "; there was no room for all that it had" } else { "" };
        let what = format!("{blocks} blocks in {stripes} stripes that a killed server had in memory{short}");
        steps.report.restored_blocks = blocks;
        steps.done("remains", what);
    } else if !state.clean {
        warn_of_nothing_left(options);
    }
    Ok(left_with)
}

/// Says that nothing was left where it was looked for: that is as it should be after a power cut, and no more; whoever knows that
/// only the server was killed also knows now that something is wrong.
fn warn_of_nothing_left(options: &OpenOptions) {
    let places: BTreeSet<String> =
        options.left_with.iter().chain(&options.keeper).map(|keeper| keeper.place()).collect();
    if !places.is_empty() {
        let places = Vec::from_iter(places).join(", ");
        options.log.warning(&format!(
            "open: remains: the session before was not stopped cleanly, and nothing that its server had in memory is in {places}: what it \
             had acknowledged and no flush had covered may be lost. After a power cut that is all there is to it; if the server alone was \
             killed, it kept nothing, or elsewhere (serve --kept-in)"
        ));
    }
}

async fn restore_from(
    keeper: &dyn Keeper,
    reactor: &Rc<Reactor>,
    state: &ArrayState,
) -> Result<Option<Restored>, ArrayError> {
    let Some(restorer) = Restorer::find(reactor, keeper, state)? else { return Ok(None) };
    let failed = |why: RestoreError| ArrayError::Remains { place: keeper.place(), why: why.to_string() };
    restorer.restore().await.map(Some).map_err(failed)
}

/// What was left is on the devices. Where it was, it is not needed any more.
fn forget_remains(left_with: &[Arc<dyn Keeper>], options: &OpenOptions) {
    let begun = options.keeper.as_ref().map(|keeper| keeper.place());
    left_with.iter().filter(|left| begun.as_ref() != Some(&left.place())).for_each(|left| left.end());
}

/// From here on what is on its way to the devices outlasts this process, if somebody keeps it.
fn begin_keeping(reactor: &Rc<Reactor>, options: &OpenOptions) {
    let Some(keeper) = &options.keeper else { return };
    let shared = &reactor.shared;
    let shape = shape_of(&shared.protections);
    let in_service = (0..).map(MemberIx).zip(shared.members.iter()).filter(|(_, member)| member.device().is_some());
    let in_service = in_service.map(|(ix, _)| ix).collect();
    let header = KeptHeader { array: reactor.home().uuid, session: shared.session, in_service, shape };
    match Kept::begin(keeper.clone(), &header, options.reactors, lanes_used(shared), shared.stripes.next()) {
        Ok(kept) => drop(shared.kept.set(Arc::new(kept))),
        Err(error) => options.log.line(&format!(
            "open: if this server is killed, what it has acknowledged and not flushed is lost: nothing can be kept in {}: \
             {error}",
            keeper.place()
        )),
    }
}

/// How many lanes of a reactor are written to. Should a group on another medium be added, what its lanes keep is reserved as they go, as is
/// what moves out of the way of contention.
fn lanes_used(shared: &Shared) -> usize {
    let is_there = |medium| shared.held.has_medium(medium);
    let may_be_used = |lane: &&Lane| lane.is_of(shared.policies.streams) && lane.medium().is_none_or(is_there);
    Lane::ALL.iter().filter(|lane| !Lane::OF_MOVES.contains(lane)).filter(may_be_used).count()
}

/// Members that fell silent while they were being read leave before anything is written, if their groups can do without
/// them; else the array is not opened, and nothing has changed.
fn settle_before_session(reactor: &Rc<Reactor>) -> Result<(), ArrayError> {
    let layout = &reactor.shared.layout;
    for group in (0..layout.groups()).map(|group| GroupId(group as u16)) {
        if let Err(waits_for) = Guardian::of(reactor).settle_before_session(group) {
            let waits_for = waits_for.to_string();
            return Err(ArrayError::Silent { group, waits_for, parity: layout.shape(group).parity });
        }
    }
    Ok(())
}

/// Has members take part again that are out of service, where force has to.
async fn readmit(
    reactor: &Rc<Reactor>,
    assembly: &Assembly,
    options: &OpenOptions,
    steps: &mut Steps<'_>,
) -> Result<LostBlocks, ArrayError> {
    if assembly.readmitted.is_empty() {
        return Ok(LostBlocks::default());
    }
    let _step = reactor.shared.during("open: readmit");
    let lost = Readmitter::of(reactor).readmit(&assembly.readmitted, !options.read_only).await?;
    let names: Vec<&str> = assembly.readmitted.iter().map(|of| &*of.device.name).collect();
    steps.done(
        "readmit",
        format!("{} by force; {} blocks of stripes that they lack are lost", names.join(", "), lost.len()),
    );
    Ok(lost)
}

fn describe_assembly(steps: &mut Steps<'_>, assembly: &Assembly) {
    let state = &assembly.superblock.state;
    let is_member = |ix: &usize| !state.has_left(MemberIx(*ix as u16));
    let all = (0..assembly.devices.len()).filter(is_member).count();
    let is_absent = |&ix: &usize| assembly.devices[ix].is_none() && !assembly.is_readmitted(ix);
    let missing = (0..assembly.devices.len()).filter(is_member).filter(is_absent).count();
    let name = &assembly.superblock.state.name;
    let health = if missing == 0 { "all".to_string() } else { format!("degraded: {}", all - missing) };
    steps.done("assemble", format!("array {name:?}, {health} of {all} members present"));
    for remark in &assembly.remarks {
        steps.log.line(&format!("open: {remark}"));
    }
    steps.report.remarks = assembly.remarks.clone();
}

pub(crate) fn build(rt: &Runtime, assembly: &Assembly, options: &OpenOptions) -> Result<Rc<Reactor>, ArrayError> {
    let Superblock { array, state, .. } = &assembly.superblock;
    let mut policies = policies_of(state)?;
    if options.one_group_at_a_time {
        policies.cleaning = policies.cleaning.one_at_a_time();
    }
    if options.copies_always {
        policies.copying = Copying::Always;
    }
    policies.converting = Converting::with_waiting(options.postponed);
    let crew = Crew::new(options.reactors, options.segments_per_helper, &policies);
    let layout = state.layout().map_err(|error| ArrayError::Invalid(error.to_string()))?;
    let segments_of = |ix: usize| {
        let group = state.group_of(MemberIx(ix as u16)).expect("each member is of a group");
        state.groups[group.index()].segments()
    };
    // Whoever is not here had at least what the newest checkpoint covers.
    let first_stripe_seq = state.roots[0].as_ref().map_or(1, |r| r.next_stripe_seq);
    let describe = |(ix, (device, desc)): (usize, (&Option<DeviceInfo>, &MemberDesc))| {
        let is_cut_short = assembly.cut_short.contains(&MemberIx(ix as u16));
        let had_below = if is_cut_short { 0 } else { first_stripe_seq };
        MemberShared::new(ix, device.as_ref(), segments_of(ix), had_below, desc.errors)
    };
    let members = assembly.devices.iter().zip(state.members()).enumerate().map(describe).collect();
    let root = state.roots[0].as_ref();
    let shared = Arc::new(Shared::new(SharedParts {
        usable: usable_blocks(state, &policies, crew)?,
        layout,
        protections: Protections::of(state)?,
        groups: state.groups.iter().map(|group| (group.state, group.medium)).collect(),
        policies,
        members,
        array_tag: array.tag(),
        until_full: until_full_of(state),
        describes_beside: state.describes_beside(),
        session: state.session + 1 + assembly.untold_sessions(),
        map: options.map,
        first_write_seq: root.map_or(1, |r| r.next_write_seq),
        first_stripe_seq,
        crew,
        marks: marks(assembly, options, &policies)?,
        hybrid: options.hybrid,
        log: options.log.clone(),
    }));
    fresh_volumes(state, &shared.controllers).into_iter().for_each(|volume| shared.add_volume(volume));
    let space = Space::new(&shared, root.map_or(1, |r| r.next_segment_seq));
    let capacity = Medium::ALL.map(|medium| shared.protections.on(medium).capacity_as_promised());
    let rules = Medium::ALL.map(|medium| shared.policies.victim_on(medium));
    let candidates = Candidates::new(shared.policies.cleaning, rules, capacity);
    let home = Home::new(space, Cleaning::new(candidates), state.clone(), *array, assembly.last_generation);
    Ok(Reactor::new(rt.clone(), shared, 1, Some(home)))
}

/// Where reactors mark what they find of contention, if data is to move out of its way.
///
/// # Errors
/// When a link makes no sense.
fn marks(assembly: &Assembly, options: &OpenOptions, policies: &Policies) -> Result<Option<Marks>, ArrayError> {
    let members = assembly.devices.iter().flatten();
    let devices: Vec<DeviceInfo> = members.chain(assembly.spares.iter().map(|spare| &spare.device)).cloned().collect();
    let blocks = devices.iter().map(|device| device.size / BLOCK as u64).sum();
    let Some(rule) = options.autonomics.rule(policies.autonomics, blocks).filter(|_| !options.read_only) else {
        return match options.links.first().filter(|_| !options.read_only) {
            Some(link) => Err(LinkError::Unused(link.told()).into()),
            None => Ok(None),
        };
    };
    // Where groups are to stay clean what moves goes where everything is written.
    let targets = if policies.cleaning.is_by_group() { 0 } else { rule.targets };
    let rule = AutonomicsRule { targets, ..rule };
    let (links, unknown) = Links::resolve(&options.links, &devices, Strangers::AreLeftOut)?;
    for error in unknown {
        options.log.warning(&format!(
            "{error}; the link goes without it. If that was a member that is missing, the next start with it knows it; if another \
             device has taken its place, name that one"
        ));
    }
    Ok(Some(Marks::new(links, rule.for_one_of(options.reactors as u32))))
}

fn fresh_volumes(state: &ArrayState, controllers: &Controllers) -> Vec<Arc<VolumeState>> {
    let make = |v: &cygnus_format::VolumeDesc| {
        let controller = controllers.controller(v.id, v.paging, v.in_doubt);
        Arc::new(VolumeState::new(v, controller))
    };
    state.volumes.iter().map(make).collect()
}

/// The maps as the newest checkpoint has them.
///
/// # Errors
/// When it cannot be read whole. The one before it does not know what was discarded since.
pub(crate) async fn load(reactor: &Rc<Reactor>, state: &ArrayState, steps: &mut Steps<'_>) -> Result<(), ArrayError> {
    let _step = reactor.shared.during("open: load");
    let Some(root) = &state.roots[0] else {
        steps.done("checkpoint", "none yet".into());
        return Ok(());
    };
    match load_root(reactor, state, root, false).await {
        Ok(pages) => {
            steps.done("checkpoint", format!("number {}, {pages} pages of the maps", root.generation));
            Ok(())
        }
        Err(why) => {
            let (volumes, remedy) = (lost::volume_names(reactor), lost::remedy(reactor));
            Err(ArrayError::LostCheckpoint { why: why.to_string(), volumes, remedy })
        }
    }
}

/// The maps as the newest checkpoint has them that can be read whole, for those who do with what may be old; says whether it
/// was the newest.
pub(crate) async fn load_any(
    reactor: &Rc<Reactor>,
    state: &ArrayState,
    steps: &mut Steps<'_>,
) -> Result<bool, ArrayError> {
    let _step = reactor.shared.during("open: load");
    let mut why = Vec::new();
    for (age, root) in state.roots.iter().flatten().enumerate() {
        match load_root(reactor, state, root, false).await {
            Ok(pages) => {
                steps.done("checkpoint", format!("number {}, {pages} pages of the maps", root.generation));
                if age > 0 {
                    reactor.home().state.borrow_mut().roots = [Some(root.clone()), None];
                }
                return Ok(age == 0);
            }
            Err(error) => why.push(error.to_string()),
        }
    }
    if why.is_empty() { Ok(true) } else { Err(ArrayError::NoCheckpoint(why.join("; "))) }
}

/// What can be read of the newest checkpoint; says how many pages cannot. All volumes are in doubt then: what these had in
/// their maps is not known.
async fn load_some(reactor: &Rc<Reactor>, state: &ArrayState, why: &ArrayError) -> Result<u64, ArrayError> {
    let Some(root) = &state.roots[0] else { return Ok(0) };
    let pages = load_root(reactor, state, root, true).await.map_err(|why| ArrayError::NoCheckpoint(why.to_string()))?;
    Loader::of(reactor).learn_protections().await;
    reactor.shared.log(format!("open: by force: {why}"));
    GivingUp::of(reactor).doubt_all();
    reactor.shared.log(format!("open: by force: {pages} of the {} pages of the maps can be read", root.pages));
    Ok(root.pages.saturating_sub(pages))
}

async fn load_root(
    reactor: &Rc<Reactor>,
    state: &ArrayState,
    root: &CheckpointRoot,
    some: bool,
) -> Result<u64, CheckpointError> {
    let volumes = fresh_volumes(state, &reactor.shared.controllers);
    Loader::of(reactor).load_checkpoint(root, volumes, some).await
}

/// Finds what is behind the checkpoint, and puts it into the maps.
///
/// # Errors
/// When there is no memory for that.
pub(crate) async fn replay(
    reactor: &Rc<Reactor>,
    steps: &mut Steps<'_>,
    given_up: &Rc<LostBlocks>,
) -> Result<Replayed, ArrayError> {
    let (root, counted_from) = {
        let state = reactor.home().state.borrow();
        let root = state.roots[0].clone();
        (root.clone(), root.map_or(0, |root| root.barrier).max(state.counted_from))
    };
    let step = reactor.shared.during("open: scan");
    let replayer = Replayer::of(reactor);
    let scanned = replayer.scan_stripes(root.as_ref()).await?;
    drop(step);
    let total = reactor.shared.layout.all_segments();
    let again =
        if replayer.has_room() { "" } else { "; what they hold is read again, as there is not memory for all of it" };
    steps.done("scan", format!("{} stripes behind the checkpoint, in {total} segments{again}", scanned.stripes.len()));
    let step = reactor.shared.during("open: backups");
    let backups = Backups::read(reactor, root.as_ref().map_or(0, |root| root.barrier)).await;
    drop(step);
    if !backups.is_empty() {
        steps.done("backups", format!("copies of blocks of {} open stripes", backups.stripes().len()));
    }
    let step = reactor.shared.during("open: replay");
    let found = replayer.replay(scanned, &backups, counted_from, given_up).await?;
    drop(step);
    steps.done(
        "replay",
        format!(
            "{} blocks and {} discards in {}; {} stripes after the last known flush, {} of them torn, {} blocks not there",
            found.blocks,
            found.discards,
            counted(found.passes, "pass").or("passes"),
            found.tail_stripes,
            found.torn_stripes,
            found.lost_blocks
        ),
    );
    steps.report.stripes = found.stripes;
    steps.report.tail_stripes = found.tail_stripes;
    steps.report.torn_stripes = found.torn_stripes;
    steps.report.lost_blocks = found.lost_blocks;
    steps.report.replayed_blocks = found.blocks;
    steps.report.replay_passes = found.passes;
    let shared = &reactor.shared;
    // The crashed session wrote down where its stripes began. Were all of them lost here, a member that is away may have some.
    let unseen = counted_from.saturating_sub(found.top_stripe_seq).div_ceil(SEQUENCE_GAP);
    let sessions = shared.session - reactor.home().state.borrow().session;
    let skipped = SEQUENCE_GAP * (sessions + unseen);
    let behind = |known: u64, found: u64| known.max(found) + skipped;
    shared.controllers.raise_write_seq(behind(shared.controllers.next_write_seq(), found.top_write_seq));
    shared.stripes.raise(behind(shared.stripes.next(), found.top_stripe_seq));
    let mut space = reactor.home().space.borrow_mut();
    space.next_segment_seq = behind(space.next_segment_seq, found.top_segment_seq);
    drop(space);
    Ok(found)
}

/// Which segments are free the counts of their live blocks tell, which have followed the maps since these were loaded.
pub(crate) fn sort_segments(reactor: &Rc<Reactor>, state: &ArrayState, steps: &mut Steps<'_>) {
    let shared = &reactor.shared;
    debug_assert_eq!(miscount(shared), None);
    for seg in shared.segments.all() {
        // What a next recovery would still have to read stays until a checkpoint makes it superfluous.
        let needed = shared.segments.newest_discard(seg) > 0 || shared.segments.rescues(seg) > 0;
        if shared.segments.live(seg) > 0 || needed {
            shared.segments.found(seg, SegState::Sealed);
        }
    }
    // Both checkpoints' segments stay, the older one's too though it was not read.
    let older = state.roots.iter().flatten().flat_map(|r| &r.segments);
    for at in older.filter(|s| s.use_of == cygnus_format::RootUse::Pages) {
        shared.segments.found(shared.segments.index(at.group, at.segment), SegState::Meta);
    }
    let next_segment_seq = reactor.home().space.borrow().next_segment_seq;
    *reactor.home().space.borrow_mut() = Space::new(shared, next_segment_seq);
    // Of the checkpoint that was loaded, which need not be the newest.
    let barrier = reactor.home().state.borrow().roots[0].as_ref().map_or(0, |r| r.barrier);
    reactor.home().checkpoints.discard_horizon.set(barrier);
    let (mapped, usable) = (shared.held.blocks(), shared.held.usable());
    steps.done("segments", format!("{mapped} blocks mapped of {usable} usable"));
}

/// Where counts have not followed the maps, all of which are walked for that; unless there was no memory for all of these.
pub(crate) fn miscount(shared: &Shared) -> Option<Miscount> {
    let controllers = &shared.controllers;
    if !controllers.memory().has_all() {
        return None;
    }
    controllers.recount(&shared.layout, &shared.volumes()).err()
}

/// The newest superblocks may be the first that say of a member that it is being filled. If it is not here, it perhaps never got
/// them, nor those before: known is what it had when its progress was recorded.
fn note_absent_fills(reactor: &Reactor) {
    let (home, shared) = (reactor.home(), &reactor.shared);
    let state = home.state.borrow();
    let members = (0..).map(MemberIx).zip(state.members());
    let absent = |member: &MemberIx| shared.members[member.index()].device().is_none();
    for (member, desc) in members.filter(|(member, desc)| desc.state == MemberState::Rebuilding && absent(member)) {
        home.records.behind.borrow_mut().insert(member, desc.holds.generation);
    }
}

/// Records that the array is open, and which members are not there, before anything else is written.
///
/// Where something was given up, that is no secret to the next opening until a checkpoint has been taken.
async fn begin_session(reactor: &Rc<Reactor>, gave_up: bool, steps: &mut Steps<'_>) -> Result<(), ArrayError> {
    let _step = reactor.shared.during("open: session");
    note_absent_fills(reactor);
    // These left in the session before: should one of them be opened without us, it will have a later one.
    Committer::of(reactor).note_departures();
    for &member in reactor.home().records.readmitted.borrow().iter() {
        // Its own superblock is of this session too from now on.
        Seats::of(reactor).change_desc(member, |desc| desc.holds.session = reactor.shared.session);
    }
    {
        let mut state = reactor.home().state.borrow_mut();
        state.session = reactor.shared.session;
        state.clean = false;
        if !gave_up {
            // What was written before has been found. From here on it may make room for something else.
            state.counted_from = reactor.shared.stripes.next();
        }
    }
    Committer::of(reactor).commit_state().await?;
    reactor.home().checkpoints.counted_from.set(reactor.home().state.borrow().counted_from);
    // What recovery read was flushed along with the superblocks.
    reactor.shared.set_durable(reactor.shared.stripes.next());
    steps.done("session", format!("number {} begun", reactor.shared.session));
    Ok(())
}

/// What torn stripes held is written anew, and a checkpoint taken, so that no later recovery meets those stripes again. Returns what has
/// found no room.
async fn finish_recovery(
    reactor: &Rc<Reactor>,
    covered: bool,
    rescues: Vec<Rescue>,
    keeps_lost: bool,
    steps: &mut Steps<'_>,
) -> Result<Vec<Stay>, ArrayError> {
    if covered {
        return Ok(Vec::new());
    }
    let _step = reactor.shared.during("open: rescue");
    let rescued = rescue(reactor, rescues, keeps_lost).await?;
    steps.done("rescue", format!("{} blocks of torn stripes written anew", rescued.written));
    steps.report.torn_segments = rescued.torn;
    reactor.home().space.borrow_mut().has_recovered(&reactor.shared);
    reactor.home().cleaning.damage.gives_room();
    // The cleaner may wait for a segment; those that held rescued blocks can go now.
    reactor.progress.notify();
    let ends_opening = &reactor.home().checkpoints.ends_opening;
    ends_opening.set(true);
    let taken = Checkpointer::of(reactor).checkpoint().await;
    ends_opening.set(false);
    let has_no_room = || reactor.shared.fault().is_none() && reactor.home().space.borrow().gives_nothing();
    taken.map_err(|fault| match has_no_room() {
        true => {
            ArrayError::NoRoomToOpen { what: "for a checkpoint".into(), segments: reactor.shared.segments.damaged() }
        }
        false => fault.into(),
    })?;
    reactor.home().space.borrow_mut().has_recovered(&reactor.shared);
    reactor.shared.since_checkpoint.store(0, Ordering::Relaxed);
    steps.done("bound", "checkpoint taken".into());
    Ok(rescued.stay)
}
