//! Looks at what an array, open or stopped, holds after all that has happened to it.

use std::sync::Arc;

use cygnus_engine::{Finding, FindingKind, ScrubReport};
use cygnus_types::{GroupId, SegmentId};

use super::state::{Run, Session, Volume};
use crate::coverage;
use crate::failure::{RunFailure, SalvageFault, Step, Trouble};
use crate::journal;
use crate::salvage;
use crate::scrub::Judge;

impl Run<'_> {
    pub(super) fn sweep_volumes(&mut self, session: &Session) -> Result<(), RunFailure> {
        for volume in &self.volumes {
            let client = self.client(session, volume, 0)?;
            self.shared.spawn(session.cluster.reactor(0), client.verify());
        }
        let shared = self.shared.clone();
        Ok(self.wait(session, async move { shared.wait().await })?)
    }

    /// Scrubs to the end and looks at the devices.
    pub(super) fn scrub_and_look(&mut self, session: &Session) -> Result<(), RunFailure> {
        journal::tell(format!("{} scrub", self.world.now()));
        let (array, geometry) = (session.array.home(), self.story.shape.geometry);
        let forgone = |volume: &Volume| {
            let blocks = self.shared.oracle.borrow_mut().forgone(volume.number);
            blocks.into_iter().map(|(block, is_certain)| ((volume.name.clone(), block), is_certain)).collect::<Vec<_>>()
        };
        let forgone = self.volumes.iter().flat_map(forgone).collect();
        let judge = Judge::new(array, &self.truth, geometry, self.members.reliable(), forgone);
        let first = self.scrub_once(session)?;
        let verdict = {
            let (judge, first) = (judge.clone(), first.clone());
            // To look at every block takes its time where devices are slow: no patience ends.
            session.cluster.run(async move { judge.judge(&first).await })
        };
        if verdict.map_err(Trouble::from)?? {
            let again = self.scrub_once(session)?;
            judge.judge_again(&first, &again)?;
        }
        self.tally.scrubs += 1;
        self.shared.inspect()
    }

    pub(super) fn scrub_once(&self, session: &Session) -> Result<ScrubReport, RunFailure> {
        let array = session.array.home().clone();
        self.wait(session, async move { array.scrub(0).await })
            .map_err(|trouble| RunFailure::from(trouble).during(Step::Scrub))
    }

    /// Checks the stopped array from end to end: without harm nothing may be found; with harm within redundancy
    /// nothing that redundancy does not mend.
    pub(super) fn check_at_rest(&mut self) -> Result<(), RunFailure> {
        const NEVER: [&str; 7] = ["checkpoint", "lost", "header-lost", "map", "count", "unaccounted", "misplaced"];
        let disks = self.members.left_without(&[]);
        let cluster = self.cluster(&disks);
        let (rt, infos) = (cluster.reactor(0).clone(), self.world.infos(&disks));
        let checked = cluster.run(async move { crate::array::check(&rt, &infos).await });
        let damage = checked.map_err(|halt| RunFailure::from(Trouble::from(halt)).during(Step::Checking))?;
        let damage = damage.map_err(|error| RunFailure::NotChecked(Arc::new(error)))?;
        self.tally.checks += 1;
        if let Some((device, refused)) = self.members.out_of_order() {
            return Err(RunFailure::OutOfOrder { device, refused });
        }
        let may_be = |finding: &Finding| match (self.ruined, self.members.any_spoiled()) {
            (true, _) => !matches!(finding.kind.name(), "count" | "unaccounted" | "misplaced"),
            (false, true) => !NEVER.contains(&finding.kind.name()) || self.is_of_a_torn_stripe(finding),
            (false, false) => self.is_of_a_torn_stripe(finding),
        };
        match damage.into_iter().find(|finding| !may_be(finding)) {
            None => Ok(()),
            Some(Finding { kind, text, .. }) => Err(RunFailure::Finding { kind, text }),
        }
    }

    /// Whether this is about what a torn stripe never got, one that an opening without room has left blocks in: headers, be they of a
    /// block that is there, blocks that nobody uses, and parity. A block that is lost is a finding of another kind.
    fn is_of_a_torn_stripe(&self, finding: &Finding) -> bool {
        use FindingKind::{Data, Header, HeaderLost, Parity};
        const KINDS: [FindingKind; 4] = [Header, HeaderLost, Data, Parity];
        let geometry = &self.story.shape.geometry;
        let holds = |&(_, segment): &(GroupId, SegmentId), offset: u64| {
            (geometry.device_offset(segment.0, 0)..geometry.device_offset(segment.0 + 1, 0)).contains(&offset)
        };
        KINDS.contains(&finding.kind)
            && finding.offset.is_some_and(|offset| self.torn_segments.iter().any(|torn| holds(torn, offset)))
    }

    /// Salvages the stopped array without some of its devices.
    pub(super) fn salvage_at_rest(&mut self, lost: &[usize]) -> Result<(), RunFailure> {
        journal::tell(format!("{} salvage without {lost:?}", self.world.now()));
        let _step = coverage::During::new("salvage");
        let all = self.members.left_without(&[]);
        let rest = self.members.left_without(lost);
        let volumes: Vec<(String, u64)> = self.known_volumes();
        let cluster = self.cluster(&all);
        let (rt, infos, truth) = (cluster.reactor(0).clone(), self.world.infos(&all), self.truth.clone());
        let (names, lost, torn) = (volumes.clone(), lost.to_vec(), self.torn_segments.clone());
        let beyond = cluster.run(async move { salvage::beyond(&rt, &infos, &truth, &names, &lost, &torn).await });
        let beyond = beyond.map_err(|halt| RunFailure::from(Trouble::from(halt)).during(Step::BeforeSalvage))?;
        let beyond = beyond.inspect_err(|error| self.note_refusal(&all, error));
        let beyond = beyond.map_err(|error| SalvageFault::NotOpened(Arc::new(error)))?;
        drop(cluster);
        let numbers = self.volumes.iter().map(|v| (v.name.clone(), v.number)).collect();
        let cluster = self.cluster(&rest);
        let (rt, infos) = (cluster.reactor(0).clone(), self.world.infos(&rest));
        // Devices that go on rotting by themselves may do so between the two looks.
        let exact = !self.ruined && self.members.reliable().into_iter().all(|reliable| reliable);
        let judge = salvage::Judge { shared: self.shared.clone(), beyond, numbers, exact };
        let judged = cluster.run(async move { judge.salvage(&rt, &infos).await });
        self.tally.salvages += judged.map_err(|halt| RunFailure::from(Trouble::from(halt)).during(Step::Salvage))??;
        Ok(())
    }
}
