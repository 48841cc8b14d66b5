//! Arrays of which more has rotted than is promised to be borne: refused with words, and opened by force.
//!
//! What is demanded: a refusal writes nothing, so that no checkpoint covers the hole. By force the array opens; what can be read is
//! the newest, and only of volumes in doubt may blocks be unreadable that the devices have.

use cygnus_engine::ArrayError;
use cygnus_sim::DiskId;

use super::state::{Run, Session};
use crate::array::{Array, Unopened};
use crate::failure::{ForceFault, RunFailure, Step, Trouble};
use crate::journal;
use crate::rot;
use crate::story::Beyond;

/// What a refusal says when something durable is lost.
const OFFER: &str = "'cygnus serve --force'";

impl Run<'_> {
    pub(super) fn rots_beyond(&mut self, beyond: &Beyond) {
        let all = self.members.disks();
        let of: Vec<DiskId> = beyond.members.iter().filter_map(|&n| all.get(n).copied()).collect();
        let places = rot::places_beyond(&self.world, &all, &of, beyond.part, beyond.nth);
        journal::tell(format!("{} {:?} {:?} at {places:?}", self.world.now(), beyond.part, beyond.decay));
        self.tally.blocks_damaged += places.len() as u64;
        self.beyond = Some(beyond.cuts.clone());
        self.ruined = true;
        self.shared.may_clog.set(true);
        places.into_iter().for_each(|place| rot::decay(&self.world, place, beyond.decay, beyond.nth));
    }

    /// Whether the array may be refused in the words of this error.
    pub(super) fn may_refuse_for_rot(&self, error: &ArrayError) -> bool {
        self.beyond.is_some() && offers_force(error)
    }

    /// Opens an array that was refused, as often as the power goes meanwhile and once more.
    pub(super) fn open_over_loss(&mut self, disks: &[DiskId], refusal: &ArrayError) -> Result<Session, RunFailure> {
        let mut cuts = self.beyond.replace(Vec::new()).unwrap_or_default().into_iter();
        let mut by_force = true;
        journal::tell(format!("{} not opened: {refusal}", self.world.now()));
        loop {
            self.world.cut_power_after(cuts.next());
            let cluster = self.cluster(disks);
            let devices = self.world.infos(disks);
            let opened = Array::open(&cluster, &devices, &self.story.shape, by_force, self.kept());
            self.world.cut_power_after(None);
            match opened {
                Ok(array) => {
                    let Some(session) = self.begin(Session { cluster, array, devices })? else {
                        by_force = false;
                        continue;
                    };
                    self.tally.forced += 1;
                    self.look_at_what_was_given_up(&session)?;
                    return Ok(session);
                }
                Err(Unopened::Refused(error)) if !by_force && offers_force(&error) => by_force = true,
                Err(Unopened::Refused(error)) => return Err(ForceFault::NotOpened(error).into()),
                Err(Unopened::Halted(Trouble::Failure(failure))) => return Err(failure.during(Step::OpeningByForce)),
                Err(Unopened::Halted(Trouble::PowerCut)) => {
                    drop(cluster);
                    self.power_went_while_opening();
                    by_force = false;
                }
            }
        }
    }

    fn look_at_what_was_given_up(&mut self, session: &Session) -> Result<(), RunFailure> {
        let status = session.array.home().status();
        for volume in self.volumes.clone() {
            let found = self.read_singly(session, &volume)?;
            let in_doubt = status.volumes.iter().any(|of| of.name == volume.name && of.unknown.is_some());
            for &block in found.gone.iter().filter(|_| !in_doubt) {
                let (truth, array, name) = (self.truth.clone(), session.array.home().clone(), volume.name.clone());
                let excuse = self.wait(session, async move { truth.excuse(&array, &name, block).await });
                excuse?.map_err(|why| ForceFault::NotInDoubt { volume: volume.name.clone(), why })?;
            }
            self.tally.forgone += found.gone.len() as u64;
            let mut oracle = self.shared.oracle.borrow_mut();
            oracle.is_forgone(volume.number, &found.readable, &found.gone, in_doubt);
        }
        Ok(())
    }
}

/// Whether the words of a refusal say how to go on by force: that is what an operator has.
fn offers_force(error: &ArrayError) -> bool {
    error.to_string().contains(OFFER)
}
