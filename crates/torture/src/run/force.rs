//! Arrays of which a group lacks more members than its parity covers, opened by force: members that were out of service take
//! part again.
//!
//! What is demanded: the check of the stopped array foretells every block that cannot be read then. All others are the newest.
//! An opening that is cut short needs force again, or none any more, and loses no more.

use std::collections::BTreeSet;
use std::sync::Arc;

use cygnus_engine::{ArrayError, Readmitted};
use cygnus_sim::DiskId;
use cygnus_types::BLOCK;

use super::session::lacks_too_many;
use super::state::{Run, Session, Volume};
use crate::array::{Array, Unopened, foretell};
use crate::failure::{ForceFault, RunFailure, Step, Trouble};
use crate::journal;
use crate::story::Force;
use crate::target::{RequestError, Target};

/// What a refusal says when members that are here can take part again.
const OFFER: &str = "by force";

/// Blocks of a volume, as they were found after an opening by force.
#[derive(Default)]
pub(super) struct Found {
    pub(super) readable: Vec<u64>,
    pub(super) gone: Vec<u64>,
}

impl Run<'_> {
    /// Devices are gone for good, and whoever of their groups was out of service is here.
    pub(super) fn go_beyond(&mut self, force: &Force) {
        journal::tell(format!("{} devices {:?} are gone for good", self.world.now(), force.without));
        self.tally.members_lost += force.without.len() as u64;
        self.members.go_beyond(&force.without);
    }

    /// Opens an array that was refused, as often as the power goes meanwhile and once more.
    pub(super) fn open_with_force(
        &mut self,
        disks: &[DiskId],
        force: &Force,
        refusal: Arc<ArrayError>,
    ) -> Result<Session, RunFailure> {
        let mut cuts = force.cuts.iter();
        let mut refusal = Some(refusal);
        let mut foretold: Option<Readmitted> = None;
        self.empty_caches(disks)?;
        loop {
            if let Some(error) = &refusal {
                journal::tell(format!("{} not opened: {error}", self.world.now()));
                if !error.to_string().contains(OFFER) {
                    self.is_refused = !self.is_enough(force);
                    return Err(ForceFault::NotOffered(error.clone()).into());
                }
                let now = self.foretell(disks)?;
                if let Some(before) = &foretold {
                    loses_no_more(before, &now)?;
                }
                foretold = Some(now);
            }
            let by_force = refusal.take().is_some();
            self.world.cut_power_after(cuts.next().copied());
            let cluster = self.cluster(disks);
            let devices = self.world.infos(disks);
            let opened = Array::open(&cluster, &devices, &self.story.shape, by_force, self.kept());
            self.world.cut_power_after(None);
            match opened {
                Ok(array) => {
                    let said = array.home().recovery().readmission.clone();
                    let Some(session) = self.begin(Session { cluster, array, devices })? else { continue };
                    let foretold = foretold.expect("it was refused at first");
                    if by_force {
                        says_as_foretold(&foretold, &said.unwrap_or_default())?;
                    }
                    self.tally.forced += 1;
                    self.look_at_what_is_left(&session, &foretold)?;
                    return Ok(session);
                }
                Err(Unopened::Refused(error)) if !by_force && lacks_too_many(&error) => refusal = Some(error),
                Err(Unopened::Refused(error)) => return Err(ForceFault::NotOpened(error).into()),
                Err(Unopened::Halted(Trouble::Failure(failure))) => return Err(failure.during(Step::OpeningByForce)),
                Err(Unopened::Halted(Trouble::PowerCut)) => {
                    drop(cluster);
                    self.power_went_while_opening();
                }
            }
        }
    }

    /// Whether enough devices are here of the groups that lack others: those that know the array.
    fn is_enough(&self, force: &Force) -> bool {
        let shape = &self.story.shape;
        let disks = self.members.disks();
        let knows =
            |n: &usize| crate::rot::slots_of(&self.world, disks[*n]).is_some_and(|own| !own.newest.is_joining());
        let here = |group: usize| shape.devices_of(group).filter(|n| !force.without.contains(n)).filter(knows);
        let is_enough = |group: usize| here(group).count() >= shape.raid_of(group).data.into();
        force.without.iter().all(|&n| is_enough(shape.set_of(n)))
    }

    /// Time has passed since the array was served: what devices took has left their caches. Otherwise a power cut could take
    /// what the check has seen, and nobody would have promised to keep it.
    fn empty_caches(&self, disks: &[DiskId]) -> Result<(), RunFailure> {
        let cluster = self.cluster(disks);
        let (rt, devices) = (cluster.reactor(0).clone(), self.world.infos(disks));
        let flushed = cluster.run(async move {
            for device in devices {
                // Those that are gone do not answer.
                let _ = rt.flush(device.ix).await;
            }
        });
        flushed.map_err(|halt| RunFailure::from(Trouble::from(halt)).during(Step::CachesBeforeForce))
    }

    /// What the check of the stopped array says of an opening by force. It writes nothing.
    fn foretell(&mut self, disks: &[DiskId]) -> Result<Readmitted, RunFailure> {
        let before = self.written(disks);
        let cluster = self.cluster(disks);
        let (rt, devices) = (cluster.reactor(0).clone(), self.world.infos(disks));
        let foretold = cluster.run(async move { foretell(&rt, &devices).await });
        let foretold = foretold.map_err(|halt| RunFailure::from(Trouble::from(halt)).during(Step::CheckBeforeForce))?;
        let foretold = foretold?;
        self.tally.checks += 1;
        foretold.lines().iter().for_each(|line| journal::tell(format!("    the check foretells: {line}")));
        match self.written(disks) == before {
            true => Ok(foretold),
            false => Err(ForceFault::CheckWrote.into()),
        }
    }

    /// Reads every block of every volume by itself, and compares what is unreadable with what the check foretold.
    fn look_at_what_is_left(&mut self, session: &Session, foretold: &Readmitted) -> Result<(), RunFailure> {
        for volume in self.volumes.clone() {
            let found = self.read_singly(session, &volume)?;
            let of = foretold.volumes.iter().find(|of| of.name == volume.name);
            let of = of.ok_or_else(|| ForceFault::NoVolume(volume.name.clone()))?;
            let gone: BTreeSet<u64> = found.gone.iter().copied().collect();
            let named = foretold.blocks.iter().filter(|(name, _)| *name == volume.name);
            let named: BTreeSet<u64> = named.map(|(_, lba)| lba.0).collect();
            let (readable, unreadable) = (found.readable.len() as u64, gone.len() as u64);
            journal::tell(format!("    {}: {readable} blocks can be read, {unreadable} cannot: {gone:?}", volume.name));
            // Of a volume in doubt the check need not name what no map knows.
            let as_foretold = if of.in_doubt { gone.is_superset(&named) } else { gone == named && of.given_up == 0 };
            if !as_foretold || named.len() as u64 != of.lost || readable < of.readable {
                let differ: Vec<u64> = gone.symmetric_difference(&named).copied().collect();
                let (volume, foretold) = (volume.name.clone(), Box::new(of.clone()));
                return Err(ForceFault::OtherBlocks { volume, readable, unreadable, foretold, differ }.into());
            }
            self.ruined |= of.in_doubt || unreadable > 0;
            self.tally.forgone += unreadable;
            let mut oracle = self.shared.oracle.borrow_mut();
            oracle.is_forgone(volume.number, &found.readable, &found.gone, of.in_doubt);
        }
        Ok(())
    }

    /// Reads each block of a volume by itself; what can be read must be right.
    pub(super) fn read_singly(&self, session: &Session, volume: &Volume) -> Result<Found, RunFailure> {
        let target = session.array.volume(0, &volume.name, &self.truth)?;
        let (rt, shared, volume) = (session.cluster.reactor(0).clone(), self.shared.clone(), volume.clone());
        let known = shared.oracle.borrow_mut().known(volume.number);
        let reading = async move {
            let mut found = Found::default();
            for block in known {
                let since = shared.oracle.borrow_mut().begin_read(volume.number);
                let offset = block * BLOCK as u64;
                let read = target.read(offset, rt.alloc(BLOCK).full()).await;
                let mut oracle = shared.oracle.borrow_mut();
                match read {
                    Ok(data) => {
                        let judged = oracle.end_read(volume.number, offset, data.bytes(), since, rt.now());
                        judged.map_err(ForceFault::Read)?;
                        found.readable.push(block);
                    }
                    Err(RequestError::Unreadable(_)) => {
                        oracle.end_failed_read(volume.number, since);
                        found.gone.push(block);
                    }
                    Err(error) => return Err(ForceFault::Request { volume: volume.name, block, error }),
                }
            }
            Ok(found)
        };
        let read = crate::patience::run_with_patience(&session.cluster, || 0, reading);
        Ok(read.map_err(|trouble| RunFailure::from(trouble).during(Step::ReadingAfterForce))??)
    }
}

fn says_as_foretold(foretold: &Readmitted, said: &Readmitted) -> Result<(), ForceFault> {
    match foretold == said {
        true => Ok(()),
        false => Err(ForceFault::SaysOther { foretold: Box::new(foretold.clone()), said: Box::new(said.clone()) }),
    }
}

/// Whether a second opening by force, after one that was cut short, would lose no more than the first.
fn loses_no_more(first: &Readmitted, now: &Readmitted) -> Result<(), ForceFault> {
    let known: BTreeSet<_> = first.blocks.iter().collect();
    let of_first = |name: &str| first.volumes.iter().find(|of| of.name == name);
    let more = |of: &&cygnus_engine::VolumeAfter| {
        of_first(&of.name).is_none_or(|first| of.readable < first.readable || of.in_doubt && !first.in_doubt)
    };
    let block = now.blocks.iter().find(|block| !known.contains(block));
    match (block, now.volumes.iter().find(more)) {
        (None, None) => Ok(()),
        (block, volume) => Err(ForceFault::LosesMore {
            block: block.cloned(),
            volume: volume.cloned().map(Box::new),
            foretold: Box::new(first.clone()),
        }),
    }
}
