//! Running a story: an array made, tormented, cut off, opened again and verified, several times over.

mod absent;
mod beyond;
mod clogged;
mod force;
mod operators;
mod passing;
mod session;
mod state;
mod verdict;
mod volumes;

use std::sync::Arc;

use cygnus_types::Constraint;

use crate::contention;
use crate::coverage::{self, Coverage};
use crate::failure::{RunFailure, Step, Trouble};
use crate::journal;
use crate::members::Done;
use crate::plant::Plant;
use crate::recovery;
use crate::regroup;
use crate::story::{Admin, Cycle, Ending, Harm, Regroup, Script, Story, What};
use crate::tally::Tally;
use state::{Run, Session, Volume};

/// What a run that ended well went through.
pub(crate) type Outcome = (Tally, Coverage);

/// Runs a story; the error says what is wrong, and the journal what happened before.
pub(crate) fn run_story(story: &Story, plant: Plant) -> Result<Outcome, RunFailure> {
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

impl Run<'_> {
    fn all_cycles(&mut self) -> Result<(), RunFailure> {
        self.make_array()?;
        let story = self.story;
        for (number, cycle) in story.cycles.iter().enumerate() {
            journal::tell(format!("{} cycle {number}", self.world.now()));
            let next = story.cycles.get(number + 1);
            self.is_doomed = next.is_some_and(|next| next.force.is_some() || next.beyond.is_some());
            self.cycle(cycle)?;
        }
        // A last look, with nothing going on.
        let session = self.open(&Cycle::default())?;
        self.sweep_volumes(&session)?;
        let leaving = regroup::settled(session.cluster.reactor(0).clone(), session.array.home().clone());
        let (rt, array) = (session.cluster.reactor(0).clone(), session.array.home().clone());
        if self.story.cycles.iter().any(|cycle| !cycle.passing.is_empty() || cycle.absent.is_some()) {
            // Who was away is still being brought up to date.
            let over = self.world.now();
            self.wait(&session, recovery::serves_again(rt, array, over, self.members.lost()))??;
        }
        self.wait(&session, leaving).map_err(|trouble| RunFailure::from(trouble).during(Step::Leaving))?;
        self.sweep_volumes(&session)?;
        self.close(session, None)?;
        self.check_at_rest()?;
        if story.salvage.is_empty() { Ok(()) } else { self.salvage_at_rest(&story.salvage) }
    }

    fn make_array(&mut self) -> Result<(), RunFailure> {
        let disks = self.members.disks()[..self.story.shape.members()].to_vec();
        let cluster = self.cluster(&disks);
        let (rt, infos, shape) = (cluster.reactor(0).clone(), self.world.infos(&disks), self.story.shape.clone());
        let made = cluster.run(async move { crate::array::create(&rt, &infos, &shape).await });
        let made = made.map_err(|halt| RunFailure::from(Trouble::from(halt)).during(Step::Making))?;
        made.map_err(|error| RunFailure::NotMade(Arc::new(error)))?;
        drop(cluster);
        let session = self.open(&Cycle::default())?;
        for (name, blocks) in &self.story.volumes {
            let admin = Admin::Create(name.clone(), *blocks);
            self.administer(&session, &admin)?;
        }
        self.close(session, None)
    }

    fn cycle(&mut self, cycle: &Cycle) -> Result<(), RunFailure> {
        for harm in &cycle.at_rest {
            self.harm(*harm, false);
        }
        if let Some(force) = &cycle.force {
            self.go_beyond(force);
            // What would come of it is foretold by a check, which knows nothing of what is in memory.
            self.machine_went_down();
        }
        if let Some(beyond) = &cycle.beyond {
            self.rots_beyond(beyond);
        }
        let session = self.open(cycle)?;
        if cycle.scrubs.first {
            self.scrub_and_look(&session)?;
        }
        self.sweep_volumes(&session)?;
        self.ruin(&session, cycle);
        if let Ending::PowerCut(Some(steps)) = cycle.ending {
            self.world.cut_power_after(Some(steps));
        }
        let administered = match &cycle.admin {
            Some(admin) => self.administer(&session, admin),
            None => Ok(()),
        };
        let ended = match administered.and_then(|()| self.torment(&session, cycle)) {
            Ok(()) => self.finish(session, cycle),
            Err(Trouble::PowerCut) => {
                self.after_power_cut(session, "power cut");
                Ok(())
            }
            Err(Trouble::Failure(failure)) => Err(failure),
        };
        self.end_passing(cycle);
        ended
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

    fn ruin(&mut self, session: &Session, cycle: &Cycle) {
        for ruin in &cycle.ruins {
            self.ruined = true;
            self.shared.may_clog.set(true);
            let (array, truth, ruin) = (session.array.home().clone(), self.truth.clone(), ruin.clone());
            let mut rng = self.rng.fork();
            let work = async move { truth.ruin(&array, &ruin.volume, ruin.block, ruin.columns, &mut rng).await };
            let done = session.cluster.run(work);
            assert!(done.is_ok(), "no power cut is planned yet");
        }
    }

    /// Whether volumes may fill a medium on which some of them have to be.
    fn may_fill_a_medium(&self, session: &Session) -> bool {
        let media = session.array.home().status().media;
        let constraint = |volume: &Volume| self.story.constraint(&volume.name);
        media.iter().any(|of| {
            let is_bound = self.volumes.iter().any(|volume| constraint(volume) == Constraint::Only(of.medium));
            let come = self.volumes.iter().filter(|volume| constraint(volume).allows(of.medium));
            is_bound && come.map(|volume| volume.size).sum::<u64>() > of.usable.0
        })
    }

    /// Lets clients loose on the volumes until they are done or time is up.
    fn torment(&mut self, session: &Session, cycle: &Cycle) -> Result<(), Trouble> {
        let promised: u64 = self.volumes.iter().map(|v| v.size).sum();
        let shrinks = cycle.regroups.iter().any(|(_, what)| matches!(what, Regroup::Retire(_) | Regroup::Refresh(..)));
        self.shared.may_fill.set(promised > session.array.usable() || shrinks || self.may_fill_a_medium(session));
        self.regroup(session, cycle);
        self.let_pass(session, cycle);
        self.comes_back(session, cycle);
        let begun = self.world.now();
        for script in &cycle.clients {
            self.start(session, script)?;
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
        self.tally.victims_helped += traffic.victims_helped;
        self.tally.rotations += traffic.rotations;
        self.tally.evacuations += traffic.evacuations;
        self.tally.evacuations_given_up += traffic.evacuations_given_up;
        self.tally.checkpoints += traffic.checkpoints;
        self.tally.reconstructed += traffic.reconstructed;
        self.tally.promoted += traffic.promoted;
        self.tally.demoted += traffic.demoted;
        let rehomed = contention::judge(&session.array.home().status(), self.world.now());
        self.tally.rehomed += rehomed.map_err(RunFailure::from)?;
        waited?;
        if kill_after.is_none() {
            self.gives_room(session)?;
        }
        self.shared.clogged.set(0);
        // Some arrays are closed while they are in trouble.
        if cycle.ending == Ending::Clean(None) { self.serves_again(session, cycle, begun) } else { Ok(()) }
    }

    fn start(&mut self, session: &Session, script: &Script) -> Result<(), RunFailure> {
        let Some(volume) = self.volumes.iter().find(|v| v.name == script.volume).cloned() else { return Ok(()) };
        let reactor = usize::from(script.reactor % self.story.shape.reactors);
        let client = self.client(session, &volume, reactor)?;
        self.shared.spawn(session.cluster.reactor(reactor), client.work(script.requests.clone()));
        Ok(())
    }
}
