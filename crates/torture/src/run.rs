//! Running a story: an array made, tormented, cut off, opened again and verified, several times over.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;
use std::task::Poll;

use cygnus_engine::ScrubReport;
use cygnus_runtime::{DeviceInfo, Halt, Rng};
use cygnus_sim::{Cluster, DiskId, World};
use cygnus_types::{BLOCK, Nanos};

use crate::array::{Array, VolumeHandle};
use crate::campaign::Plant;
use crate::client::{Client, Shared};
use crate::coverage::{self, Coverage};
use crate::journal;
use crate::members::{Done, Members};
use crate::recovery;
use crate::regroup::{self, Regrouping};
use crate::salvage;
use crate::scrub::Judge;
use crate::story::{Admin, Cycle, Ending, Harm, Regroup, Script, Sort, Story, What};
use crate::tally::Tally;
use crate::truth::Truth;

/// After so much virtual time a request that has no answer is lost. Generous: the slowest honest one takes some seconds,
/// those that a hung device is given among them.
pub(crate) const PATIENCE: Nanos = Nanos::secs(120);

/// How long the engine waits for a device: devices hang for less and for more than that.
const HUNG_AFTER: Nanos = Nanos::secs(1);

/// A volume as the run knows it.
#[derive(Clone, Debug)]
struct Volume {
    name: String,
    /// The oracle's number.
    number: u32,
    size: u64,
}

/// A change of a volume under way: after a power cut it has happened or not.
#[derive(Clone, Debug)]
enum Change {
    Create(Volume),
    Delete(Volume),
    Resize(Volume, u64),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(volume) => write!(f, "making {} of {} bytes", volume.name, volume.size),
            Self::Delete(volume) => write!(f, "deleting {}", volume.name),
            Self::Resize(volume, size) => write!(f, "resizing {} from {} to {size} bytes", volume.name, volume.size),
        }
    }
}

struct Run<'a> {
    story: &'a Story,
    /// For what a story does not say: the order in which devices are given, which bits of ruined blocks flip.
    rng: Rng,
    world: World,
    members: Members,
    truth: Truth,
    shared: Rc<Shared>,
    volumes: Vec<Volume>,
    /// The change of a volume that was under way when the power went.
    unsettled: Option<Change>,
    /// Whether blocks lost more columns than the parity covers.
    ruined: bool,
    /// An opening was refused, and rightly so.
    is_refused: bool,
    tally: Tally,
}

/// A cluster with the array open on it.
struct Session {
    cluster: Cluster,
    array: Array,
    /// All that the opening was given.
    devices: Vec<DeviceInfo>,
}

/// What a refusal says that has its cause in a superblock of which nothing is left.
const LOST_SUPERBLOCK: &str = "a superblock of the array is lost";

/// Either the power went, or something is wrong.
enum Trouble {
    PowerCut,
    Failure(String),
}

/// What a run that ended well went through.
pub(crate) type Outcome = (Tally, Coverage);

/// Runs a story; the error says what is wrong, and the journal what happened before.
pub(crate) fn run_story(story: &Story, plant: Plant) -> Result<Outcome, String> {
    journal::begin();
    coverage::begin();
    let mut run = Run::new(story, plant);
    let result = match run.all_cycles() {
        Err(_) if run.is_refused => Ok(()),
        result => result,
    };
    // The look at the array keeps it alive, and it would keep its clients.
    run.shared.inspect_with(None);
    result?;
    run.tally.device_steps = run.world.steps();
    let coverage = coverage::end();
    let (shared, oracle) = (&run.shared, run.shared.oracle.borrow());
    run.tally.writes = oracle.writes;
    run.tally.reads = oracle.reads;
    run.tally.flushes = oracle.flushes;
    run.tally.blocks_checked = oracle.blocks_checked;
    run.tally.refused = shared.refused.get();
    run.tally.reused = shared.reused.get();
    run.tally.excused = shared.excused.get();
    run.tally.inspections = shared.inspections.get();
    run.tally.faults_met = coverage.faults();
    Ok((run.tally, coverage))
}

impl<'a> Run<'a> {
    fn new(story: &'a Story, plant: Plant) -> Self {
        let mut rng = Rng::new(story.world);
        let world = World::new(rng.next_u64());
        let members = Members::new(&world, &story.shape);
        let (width, parity) = (story.shape.width(), usize::from(story.shape.geometry.parity));
        let truth = Truth::new(world.clone(), members.disks(), width, parity);
        members.disks().iter().for_each(|&disk| plant.into_disk(&world, disk));
        if story.shape.spares > 0 {
            (0..story.shape.devices()).for_each(|device| truth.is_filled_from_now_on(device));
        }
        Self {
            story,
            rng,
            world,
            members,
            truth,
            shared: Rc::new(Shared::default()),
            volumes: Vec::new(),
            unsettled: None,
            ruined: false,
            is_refused: false,
            tally: Tally::default(),
        }
    }

    fn all_cycles(&mut self) -> Result<(), String> {
        self.make_array()?;
        let story = self.story;
        for (number, cycle) in story.cycles.iter().enumerate() {
            journal::tell(format!("{} cycle {number}", self.world.now()));
            self.cycle(cycle)?;
        }
        // A last look, with nothing going on.
        let session = self.open(&Cycle::default())?;
        self.verify(&session)?;
        let leaving = regroup::settled(session.cluster.reactor(0).clone(), session.array.home().clone());
        let (rt, array) = (session.cluster.reactor(0).clone(), session.array.home().clone());
        if self.story.cycles.iter().any(|cycle| !cycle.passing.is_empty()) {
            // Who was away is still being brought up to date.
            let over = self.world.now();
            let whole = self.wait(&session, recovery::serves_again(rt, array, over));
            whole.map_err(|trouble| match trouble {
                Trouble::PowerCut => "the power went unplanned".to_owned(),
                Trouble::Failure(text) => text,
            })??;
        }
        self.wait(&session, leaving).map_err(|trouble| match trouble {
            Trouble::PowerCut => "the power went unplanned".to_owned(),
            Trouble::Failure(text) => format!("waiting for R-groups to leave: {text}"),
        })?;
        self.verify(&session)?;
        self.close(session, None)?;
        self.check()?;
        if story.salvage.is_empty() { Ok(()) } else { self.salvage(&story.salvage) }
    }

    fn cluster(&self, disks: &[DiskId]) -> Cluster {
        let reactors = self.story.shape.reactors;
        let cluster = Cluster::new(&self.world, reactors, disks);
        (0..reactors).for_each(|n| cluster.reactor(n.into()).set_patience(HUNG_AFTER));
        cluster
    }

    fn make_array(&mut self) -> Result<(), String> {
        let disks = self.members.disks()[..self.story.shape.members()].to_vec();
        let cluster = self.cluster(&disks);
        let (rt, infos, shape) = (cluster.reactor(0).clone(), self.world.infos(&disks), self.story.shape.clone());
        let made = cluster.run(async move { crate::array::create(&rt, &infos, &shape).await });
        made.map_err(|halt| format!("making the array: {halt}"))??;
        drop(cluster);
        let session = self.open(&Cycle::default())?;
        for (name, blocks) in &self.story.volumes {
            let admin = Admin::Create(name.clone(), *blocks);
            self.administer(&session, &admin).map_err(|trouble| match trouble {
                Trouble::PowerCut => "the power went unplanned".to_owned(),
                Trouble::Failure(text) => text,
            })?;
        }
        self.close(session, None)
    }

    fn cycle(&mut self, cycle: &Cycle) -> Result<(), String> {
        for harm in &cycle.at_rest {
            self.harm(*harm, false);
        }
        let session = self.open(cycle)?;
        if cycle.scrubs.first {
            self.scrub(&session)?;
        }
        self.verify(&session)?;
        self.ruin(&session, cycle);
        if let Ending::PowerCut(Some(steps)) = cycle.ending {
            self.world.cut_power_after(Some(steps));
        }
        let administered = match &cycle.admin {
            Some(admin) => self.administer(&session, admin),
            None => Ok(()),
        };
        let ended = match administered.and_then(|()| self.torment(&session, cycle)) {
            Ok(()) => self.finish(session, cycle.ending),
            Err(Trouble::PowerCut) => {
                self.after_power_cut(session, "power cut");
                Ok(())
            }
            Err(Trouble::Failure(text)) => Err(text),
        };
        self.end_passing(cycle);
        ended
    }

    /// Whatever was in trouble no longer is.
    fn end_passing(&self, cycle: &Cycle) {
        let disks = self.members.disks();
        for (_, trouble) in &cycle.passing {
            trouble.members.iter().for_each(|&n| trouble.sort.end(&self.world, disks[n]));
        }
        self.shared.may_suspend.set(false);
        self.shared.patience.set(Nanos::ZERO);
    }

    /// Lets members be in trouble for a while, beside the clients.
    fn let_pass(&mut self, session: &Session, cycle: &Cycle) {
        let disks = self.members.disks();
        let longest: u64 = cycle.passing.iter().map(|(at, trouble)| at.0 + trouble.span.0).max().unwrap_or(0);
        self.shared.loses_nothing.set(!cycle.passing.is_empty());
        self.shared.patience.set(Nanos(recovery::SERVES_AGAIN.0 + longest));
        self.shared.may_suspend.set(cycle.suspended_for.is_some());
        session.array.home().set_suspended_for(cycle.suspended_for.unwrap_or(Nanos::MAX));
        let troubled: Rc<RefCell<BTreeSet<usize>>> = Rc::default();
        let (width, parity) = (self.story.shape.width(), usize::from(self.story.shape.geometry.parity));
        for (at, trouble) in cycle.passing.clone() {
            self.tally.passing += 1;
            self.ruined |= trouble.sort == Sort::Unpowered;
            let (rt, world) = (session.cluster.reactor(0).clone(), self.world.clone());
            let (troubled, shared) = (troubled.clone(), self.shared.clone());
            let concerned: Vec<DiskId> = trouble.members.iter().map(|&n| disks[n]).collect();
            session.cluster.reactor(0).spawn(async move {
                rt.sleep(at).await;
                journal::tell(format!("{} {trouble:?} begins", rt.now()));
                troubled.borrow_mut().extend(&trouble.members);
                let in_group = |of: usize| troubled.borrow().iter().filter(|&&n| n / width == of / width).count();
                if trouble.sort == Sort::Unpowered && trouble.members.iter().any(|&n| in_group(n) > parity) {
                    shared.oracle.borrow_mut().caches_are_lost();
                }
                concerned.iter().for_each(|&disk| trouble.sort.begin(&world, disk));
                rt.sleep(trouble.span).await;
                journal::tell(format!("{} {trouble:?} ends", rt.now()));
                concerned.iter().for_each(|&disk| trouble.sort.end(&world, disk));
            });
        }
    }

    /// When trouble is over, the array serves again without anybody's help, and whoever was away is brought up to date.
    fn serves_again(&mut self, session: &Session, cycle: &Cycle, since: Nanos) -> Result<(), Trouble> {
        let over = cycle.passing.iter().map(|(at, trouble)| since + *at + trouble.span).max();
        let Some(over) = over else { return Ok(()) };
        self.shared.may_suspend.set(false);
        session.array.home().set_suspended_for(Nanos::MAX);
        let (rt, array) = (session.cluster.reactor(0).clone(), session.array.home().clone());
        self.wait(session, recovery::serves_again(rt, array, over))?.map_err(Trouble::Failure)
    }

    fn harm(&mut self, harm: Harm, running: bool) {
        let done = self.members.harm(harm, running);
        if matches!(harm.what, What::New | What::PutBack) && !matches!(done, Done::Refused) {
            self.truth.is_filled_from_now_on(harm.member);
        }
        match done {
            Done::Lost => self.tally.members_lost += 1,
            Done::Damaged => self.tally.blocks_damaged += 1,
            Done::Refused | Done::Other => {}
        }
    }

    /// Scrubs to the end and looks at the devices.
    fn scrub(&mut self, session: &Session) -> Result<(), String> {
        journal::tell(format!("{} scrub", self.world.now()));
        let (array, geometry) = (session.array.home(), self.story.shape.geometry);
        let judge = Judge::new(array, &self.truth, geometry, self.members.reliable());
        let first = self.scrub_once(session)?;
        let verdict = {
            let (judge, first) = (judge.clone(), first.clone());
            // To look at every block takes its time where devices are slow: no patience ends.
            session.cluster.run(async move { judge.judge(&first).await })
        };
        if verdict.map_err(|_| "the power went unplanned")?? {
            let again = self.scrub_once(session)?;
            judge.judge_again(&first, &again)?;
        }
        self.tally.scrubs += 1;
        self.shared.inspect()
    }

    fn scrub_once(&self, session: &Session) -> Result<ScrubReport, String> {
        let array = session.array.home().clone();
        self.wait(session, async move { array.scrub(0).await }).map_err(|trouble| match trouble {
            Trouble::Failure(text) => format!("in the scrub: {text}"),
            Trouble::PowerCut => "the power went unplanned".into(),
        })
    }

    fn ruin(&mut self, session: &Session, cycle: &Cycle) {
        for ruin in &cycle.ruins {
            self.ruined = true;
            let (array, truth, ruin) = (session.array.home().clone(), self.truth.clone(), ruin.clone());
            let mut rng = self.rng.fork();
            let work = async move { truth.ruin(&array, &ruin.volume, ruin.block, ruin.columns, &mut rng).await };
            let done = session.cluster.run(work);
            assert!(done.is_ok(), "no power cut is planned yet");
        }
    }

    /// Lets clients loose on the volumes until they are done or time is up.
    fn torment(&mut self, session: &Session, cycle: &Cycle) -> Result<(), Trouble> {
        let promised: u64 = self.volumes.iter().map(|v| v.size).sum();
        let shrinks = cycle.regroups.iter().any(|(_, what)| matches!(what, Regroup::Retire(_) | Regroup::Refresh(..)));
        self.shared.may_fill.set(promised > session.array.usable() || shrinks);
        self.regroup(session, cycle);
        self.let_pass(session, cycle);
        let begun = self.world.now();
        for script in &cycle.clients {
            self.start(session, script).map_err(Trouble::Failure)?;
        }
        if let Some(at) = cycle.scrubs.beside {
            let (rt, array) = (session.cluster.reactor(0).clone(), session.array.home().clone());
            session.cluster.reactor(0).spawn(async move {
                rt.sleep(at).await;
                array.start_scrub(0);
            });
        }
        let kill_after = if let Ending::Kill(after, _) = cycle.ending { Some(after) } else { None };
        let mut harms = cycle.during.clone();
        harms.sort_by_key(|(at, _)| *at);
        for (at, harm) in harms {
            let (rt, shared) = (session.cluster.reactor(0).clone(), self.shared.clone());
            let due = begun + kill_after.map_or(at, |kill| kill.min(at));
            let nap = rt.sleep(due.since(rt.now()));
            self.wait(session, async move { cygnus_runtime::either(shared.wait(), nap).await })?;
            if self.world.now() < begun + at {
                // The clients were done before.
                break;
            }
            self.harm(harm, true);
        }
        let shared = self.shared.clone();
        let rt = session.cluster.reactor(0).clone();
        let waited = self.wait(session, async move {
            match kill_after {
                Some(span) => rt.sleep((begun + span).since(rt.now())).await,
                None => shared.wait().await,
            }
        });
        journal::tell(format!("{} clients stopped", self.world.now()));
        let traffic = session.array.traffic();
        self.tally.victims += traffic.victims;
        self.tally.victims_beside += traffic.victims_beside;
        self.tally.rotations += traffic.rotations;
        self.tally.evacuations += traffic.evacuations;
        self.tally.evacuations_given_up += traffic.evacuations_given_up;
        self.tally.checkpoints += traffic.checkpoints;
        self.tally.reconstructed += traffic.reconstructed;
        waited?;
        // Some arrays are closed while they are in trouble.
        if cycle.ending == Ending::Clean(None) { self.serves_again(session, cycle, begun) } else { Ok(()) }
    }

    /// Lets R-groups come and go beside the clients.
    fn regroup(&mut self, session: &Session, cycle: &Cycle) {
        let spoils = cycle.during.iter().any(|(_, harm)| !harm.what.is_harmless());
        for &(at, what) in &cycle.regroups {
            let force = match what {
                Regroup::Spare(n) => match self.members.becomes_spare(self.story.shape.places() + n) {
                    Some(force) => force,
                    None => continue,
                },
                Regroup::Add(set) => {
                    self.members.may_be_added(usize::from(set));
                    true
                }
                Regroup::Refresh(..) => {
                    (0..self.story.shape.sets()).for_each(|set| self.members.may_be_added(set));
                    true
                }
                _ => true,
            };
            self.tally.regrouped += 1;
            let regrouping = Regrouping {
                rt: session.cluster.reactor(0).clone(),
                array: session.array.home().clone(),
                shared: self.shared.clone(),
                devices: session.devices.clone(),
                width: self.story.shape.width(),
                places: self.story.shape.places(),
                force,
                harmed: self.ruined || self.members.any_spoiled() || spoils || !cycle.passing.is_empty(),
            };
            match what {
                // Waited for like a client: it takes longer than these.
                Regroup::Replace(_) | Regroup::Drain(_) | Regroup::Refresh(..) => {
                    self.shared.spawn(session.cluster.reactor(0), regrouping.make(at, what))
                }
                Regroup::Add(_) | Regroup::Retire(_) | Regroup::Spare(_) => {
                    session.cluster.reactor(0).spawn(regrouping.make(at, what))
                }
            }
        }
    }

    fn start(&mut self, session: &Session, script: &Script) -> Result<(), String> {
        let Some(volume) = self.volumes.iter().find(|v| v.name == script.volume).cloned() else { return Ok(()) };
        let reactor = usize::from(script.reactor % self.story.shape.reactors);
        let client = self.client(session, &volume, reactor)?;
        self.shared.spawn(session.cluster.reactor(reactor), client.work(script.requests.clone()));
        Ok(())
    }

    fn client(&self, session: &Session, volume: &Volume, reactor: usize) -> Result<Client<VolumeHandle>, String> {
        Ok(Client {
            rt: session.cluster.reactor(reactor).clone(),
            target: session.array.volume(reactor, &volume.name, &self.truth)?,
            shared: self.shared.clone(),
            volume: volume.number,
            size: volume.size,
        })
    }

    /// Runs the cluster until `main` is done; a client's complaint, a stall or a long silence is a failure.
    fn wait<T: 'static>(&self, session: &Session, main: impl Future<Output = T> + 'static) -> Result<T, Trouble> {
        let result = run_with_patience(&session.cluster, main);
        if let Some(text) = self.shared.failure.borrow().clone() {
            return Err(Trouble::Failure(text));
        }
        if matches!(result, Ok(None) | Err(Halt::Stalled)) {
            journal::tell(format!("{} {}", self.world.now(), session.array.describe()));
        }
        match result {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(Trouble::Failure(format!("no end after {PATIENCE}: a request was never answered"))),
            Err(Halt::PowerCut) => Err(Trouble::PowerCut),
            Err(Halt::Stalled) => Err(Trouble::Failure("a stall: requests wait and nothing will ever happen".into())),
        }
    }

    fn open(&mut self, cycle: &Cycle) -> Result<Session, String> {
        let disks = self.members.given(cycle.stale, &mut self.rng);
        let mut cuts = cycle.cuts.iter();
        loop {
            self.world.cut_power_after(cuts.next().copied());
            let cluster = self.cluster(&disks);
            let opened = Array::open(&cluster, &self.world.infos(&disks), usize::from(self.story.shape.reactors));
            self.world.cut_power_after(None);
            match opened {
                Ok(Ok(array)) => {
                    let session = Session { cluster, array, devices: self.world.infos(&disks) };
                    let array = session.array.home().clone();
                    self.shared.inspect_with(Some(Rc::new(move || array.invariants())));
                    if self.world.is_powered() {
                        self.members.are_placed(&session.array.home().status());
                        self.settle_volumes(&session)?;
                        self.shared.inspect()?;
                        return Ok(session);
                    }
                    self.after_power_cut(session, "power cut just after opening");
                }
                Ok(Err(text)) => {
                    // More has rotted of a device than is promised to be survived: it is right to refuse, and the story ends.
                    let lost = disks.iter().any(|&disk| crate::rot::has_lost_a_slot(&self.world, disk));
                    self.is_refused = lost && text.contains(LOST_SUPERBLOCK);
                    return Err(format!("the array cannot be opened: {text}"));
                }
                Err(Halt::Stalled) => return Err("a stall while opening the array".into()),
                Err(Halt::PowerCut) => {
                    journal::tell(format!("{} power cut while opening", self.world.now()));
                    drop(cluster);
                    self.tally.cuts_in_transit += 1;
                    self.world.restore_power();
                }
            }
        }
    }

    /// Finds out which volumes there are, and checks that no other change happened than the one that was under way.
    fn settle_volumes(&mut self, session: &Session) -> Result<(), String> {
        let mut found = session.array.volumes();
        found.sort();
        let mut known = self.known_volumes();
        if let Some(change) = self.unsettled.take() {
            let happened = found != known;
            let words = if happened { "happened" } else { "did not happen" };
            journal::tell(format!("{change} was under way: it {words}"));
            if happened {
                self.settle(&change);
                known = self.known_volumes();
            }
        }
        if found == known { Ok(()) } else { Err(format!("volumes are {found:?} and should be {known:?}")) }
    }

    fn known_volumes(&self) -> Vec<(String, u64)> {
        let mut known: Vec<(String, u64)> = self.volumes.iter().map(|v| (v.name.clone(), v.size)).collect();
        known.sort();
        known
    }

    fn verify(&mut self, session: &Session) -> Result<(), String> {
        for volume in &self.volumes {
            let client = self.client(session, volume, 0)?;
            self.shared.spawn(session.cluster.reactor(0), client.verify());
        }
        let shared = self.shared.clone();
        match self.wait(session, async move { shared.wait().await }) {
            Ok(()) => Ok(()),
            Err(Trouble::Failure(text)) => Err(text),
            Err(Trouble::PowerCut) => Err("the power went unplanned".into()),
        }
    }

    fn finish(&mut self, session: Session, ending: Ending) -> Result<(), String> {
        match ending {
            Ending::PowerCut(_) => {
                self.world.cut_power();
                self.after_power_cut(session, "power cut");
            }
            Ending::Kill(_, power_too) => {
                journal::tell(format!("{} process killed", self.world.now()));
                self.tally.kills += 1;
                self.drop_session(session);
                self.shared.power_was_cut(self.world.now(), "process killed");
                if power_too {
                    self.world.cut_power();
                    self.world.restore_power();
                }
            }
            Ending::Clean(cut) => return self.close(session, cut),
        }
        Ok(())
    }

    fn close(&mut self, session: Session, cut: Option<u64>) -> Result<(), String> {
        self.world.cut_power_after(cut);
        let since = self.shared.oracle.borrow_mut().begin_flush();
        let closing = session.array.close();
        let closed = self.wait(&session, closing);
        self.world.cut_power_after(None);
        match closed {
            // It waited for members, which are in trouble still.
            Ok(Err(text)) if self.shared.loses_nothing.get() && text.contains("closed while it waited") => {
                journal::tell(format!("{} {text}", self.world.now()));
                self.tally.given_up += 1;
                self.drop_session(session);
                self.shared.power_was_cut(self.world.now(), "closed while suspended");
                Ok(())
            }
            Ok(result) => {
                result.map_err(|text| format!("closing the array: {text}"))?;
                journal::tell(format!("{} closed", self.world.now()));
                self.tally.clean_stops += 1;
                let lost = session.array.volumes_with_losses();
                let now = self.world.now();
                for volume in &self.volumes {
                    if lost.contains(&volume.name) {
                        // Nobody has flushed it since; the log and the status say so.
                        self.shared.oracle.borrow_mut().told_of_loss(volume.number, now);
                    }
                    self.shared.oracle.borrow_mut().end_flush(volume.number, since, now);
                }
                self.drop_session(session);
                // Closed means durable: nothing may be left in the devices' caches that matters.
                self.world.cut_power();
                self.shared.power_was_cut(now, "closed, then power cut");
                self.world.restore_power();
                Ok(())
            }
            Err(Trouble::PowerCut) => {
                self.tally.cuts_in_transit += 1;
                self.after_power_cut(session, "power cut while closing");
                Ok(())
            }
            Err(Trouble::Failure(text)) => Err(format!("while closing: {text}")),
        }
    }

    /// Checks the stopped array from end to end: without harm nothing may be found; with harm within redundancy
    /// nothing that redundancy does not mend.
    fn check(&mut self) -> Result<(), String> {
        const NEVER: [&str; 6] = ["checkpoint", "lost", "header-lost", "map", "count", "unaccounted"];
        let disks = self.members.left_without(&[]);
        let cluster = self.cluster(&disks);
        let (rt, infos) = (cluster.reactor(0).clone(), self.world.infos(&disks));
        let checked = cluster.run(async move { crate::array::check(&rt, &infos).await });
        let damage = checked.map_err(|halt| format!("checking the array: {halt}"))??;
        self.tally.checks += 1;
        let may_be = |kind: &str| match (self.ruined, self.members.any_spoiled()) {
            (true, _) => kind != "count" && kind != "unaccounted",
            (false, true) => !NEVER.contains(&kind),
            (false, false) => false,
        };
        match damage.iter().find(|(kind, _)| !may_be(kind)) {
            None => Ok(()),
            Some((kind, text)) => Err(format!("the check of the stopped array finds damage ({kind}): {text}")),
        }
    }

    /// Salvages the stopped array without some of its devices.
    fn salvage(&mut self, lost: &[usize]) -> Result<(), String> {
        journal::tell(format!("{} salvage without {lost:?}", self.world.now()));
        let _step = coverage::During::new("salvage");
        let all = self.members.left_without(&[]);
        let rest = self.members.left_without(lost);
        let volumes: Vec<(String, u64)> = self.known_volumes();
        let cluster = self.cluster(&all);
        let (rt, infos, truth) = (cluster.reactor(0).clone(), self.world.infos(&all), self.truth.clone());
        let (names, lost) = (volumes.clone(), lost.to_vec());
        let beyond = cluster.run(async move { salvage::beyond(&rt, &infos, &truth, &names, &lost).await });
        let beyond = beyond.map_err(|halt| format!("before the salvage: {halt}"))??;
        drop(cluster);
        let numbers = self.volumes.iter().map(|v| (v.name.clone(), v.number)).collect();
        let cluster = self.cluster(&rest);
        let (rt, infos) = (cluster.reactor(0).clone(), self.world.infos(&rest));
        // Devices that go on rotting by themselves may do so between the two looks.
        let exact = !self.ruined && self.members.reliable().into_iter().all(|reliable| reliable);
        let judge = salvage::Judge { shared: self.shared.clone(), beyond, numbers, exact };
        let judged = cluster.run(async move { judge.salvage(&rt, &infos).await });
        self.tally.salvages += judged.map_err(|halt| format!("in the salvage: {halt}"))??;
        Ok(())
    }

    fn drop_session(&self, session: Session) {
        // It keeps a handle to the array, which must go with its reactor.
        self.shared.inspect_with(None);
        drop(session);
    }

    fn after_power_cut(&mut self, session: Session, what: &str) {
        journal::tell(format!("{} {what}", self.world.now()));
        self.tally.power_cuts += 1;
        self.shared.power_was_cut(self.world.now(), what);
        self.drop_session(session);
        self.world.restore_power();
    }

    /// Changes a volume, unless the change makes no sense any more.
    fn administer(&mut self, session: &Session, admin: &Admin) -> Result<(), Trouble> {
        let known = |name: &str| self.volumes.iter().find(|v| v.name == name).cloned();
        let change = match admin {
            Admin::Create(name, blocks) if known(name).is_none() => {
                Change::Create(Volume { name: name.clone(), number: u32::MAX, size: blocks * BLOCK as u64 })
            }
            Admin::Delete(name) => match known(name) {
                Some(volume) => Change::Delete(volume),
                None => return Ok(()),
            },
            Admin::Resize(name, blocks) => match known(name) {
                Some(volume) => Change::Resize(volume, blocks * BLOCK as u64),
                None => return Ok(()),
            },
            Admin::Create(..) => return Ok(()),
        };
        journal::tell(format!("{} {change}", self.world.now()));
        self.tally.administered += 1;
        let work = match &change {
            Change::Create(volume) => session.array.create_volume(&volume.name, volume.size),
            Change::Delete(volume) => session.array.delete_volume(&volume.name),
            Change::Resize(volume, size) => {
                self.shared.oracle.borrow_mut().will_resize(volume.number, *size);
                session.array.resize_volume(&volume.name, *size)
            }
        };
        self.unsettled = Some(change.clone());
        let result = self.wait(session, work)?;
        result.map_err(|why| Trouble::Failure(format!("{change}: {why}")))?;
        self.unsettled = None;
        self.settle(&change);
        self.shared.inspect().map_err(Trouble::Failure)
    }

    /// The change has happened.
    fn settle(&mut self, change: &Change) {
        let mut oracle = self.shared.oracle.borrow_mut();
        match change {
            Change::Create(volume) => {
                let number = oracle.create(volume.size);
                for request in self.story.sparse_writes(&volume.name) {
                    oracle.will_be_written(number, request.offset, request.len);
                }
                self.volumes.push(Volume { number, ..volume.clone() });
            }
            Change::Delete(volume) => {
                oracle.delete(volume.number);
                self.volumes.retain(|v| v.number != volume.number);
            }
            Change::Resize(volume, size) => {
                oracle.resize(volume.number, *size);
                let known = self.volumes.iter_mut().find(|v| v.number == volume.number);
                known.expect("only existing volumes are resized").size = *size;
            }
        }
    }
}

/// Runs the cluster until `main` is done; `None` if that takes longer than anything may.
pub(crate) fn run_with_patience<T: 'static>(
    cluster: &Cluster,
    main: impl Future<Output = T> + 'static,
) -> Result<Option<T>, Halt> {
    let mut main = Box::pin(main);
    let mut limit = Box::pin(cluster.reactor(0).sleep(PATIENCE));
    cluster.run(std::future::poll_fn(move |cx| {
        if let Poll::Ready(value) = main.as_mut().poll(cx) {
            return Poll::Ready(Some(value));
        }
        limit.as_mut().poll(cx).map(|()| None)
    }))
}
