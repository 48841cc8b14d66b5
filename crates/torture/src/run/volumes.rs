//! Volumes that come, go and change their size, also while the power goes.

use std::sync::Arc;

use cygnus_types::{BLOCK, Constraint, Medium};

use super::state::{Change, Run, Session, Volume};
use crate::failure::{RunFailure, Trouble};
use crate::journal;
use crate::story::Admin;

impl Run<'_> {
    /// Changes a volume, unless the change makes no sense any more.
    pub(super) fn administer(&mut self, session: &Session, admin: &Admin) -> Result<(), Trouble> {
        let known = |name: &str| self.volumes.iter().find(|v| v.name == name).cloned();
        let whole = |name: &str, blocks: u64| self.story.whole_pages(name, blocks) * BLOCK as u64;
        let change = match admin {
            Admin::Create(name, blocks) if known(name).is_none() => {
                Change::Create(Volume { name: name.clone(), number: u32::MAX, size: whole(name, *blocks) })
            }
            Admin::Delete(name) => match known(name) {
                Some(volume) => Change::Delete(volume),
                None => return Ok(()),
            },
            Admin::Resize(name, blocks) => match known(name) {
                Some(volume) => Change::Resize(volume, whole(name, *blocks)),
                None => return Ok(()),
            },
            Admin::Create(..) => return Ok(()),
        };
        journal::tell(format!("{} {change}", self.world.now()));
        self.tally.administered += 1;
        let work = match &change {
            Change::Create(volume) => {
                session.array.create_volume(&volume.name, volume.size, self.story.volume_options(&volume.name))
            }
            Change::Delete(volume) => session.array.delete_volume(&volume.name),
            Change::Resize(volume, size) => {
                self.shared.oracle.borrow_mut().will_resize(volume.number, *size);
                session.array.resize_volume(&volume.name, *size)
            }
        };
        self.unsettled = Some(change.clone());
        let result = self.wait(session, work)?;
        if let (Change::Create(volume), Err(why)) = (&change, &result)
            && self.has_no_medium(session, volume)
        {
            journal::tell(format!("{change}: {why}"));
            self.unsettled = None;
            return Ok(());
        }
        result.map_err(|error| RunFailure::VolumeChange { change: change.to_string(), error: Arc::new(error) })?;
        self.unsettled = None;
        self.take_note_of(&change);
        Ok(self.shared.inspect()?)
    }

    /// Whether no group is on a medium that a volume needs.
    fn has_no_medium(&self, session: &Session, volume: &Volume) -> bool {
        let media = session.array.home().status().media;
        let is_there = |medium: Medium| media.iter().any(|of| of.medium == medium);
        match self.story.constraint(&volume.name) {
            Constraint::Only(medium) => !is_there(medium),
            Constraint::Hybrid(tiers) => !tiers.both().into_iter().all(is_there),
            _ => false,
        }
    }

    /// The change has happened.
    pub(super) fn take_note_of(&mut self, change: &Change) {
        let mut oracle = self.shared.oracle.borrow_mut();
        match change {
            Change::Create(volume) => {
                let number =
                    oracle.create(volume.size, self.story.acknowledged(&volume.name), self.story.paging(&volume.name));
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

    /// Finds out which volumes there are, and checks that no other change happened than the one that was under way.
    pub(super) fn settle_volumes(&mut self, session: &Session) -> Result<(), RunFailure> {
        let mut found = session.array.volumes();
        found.sort();
        let mut known = self.known_volumes();
        if let Some(change) = self.unsettled.take() {
            let happened = found != known;
            let words = if happened { "happened" } else { "did not happen" };
            journal::tell(format!("{change} was under way: it {words}"));
            if happened {
                self.take_note_of(&change);
                known = self.known_volumes();
            }
        }
        if found == known { Ok(()) } else { Err(RunFailure::Volumes { found, known }) }
    }

    pub(super) fn known_volumes(&self) -> Vec<(String, u64)> {
        let mut known: Vec<(String, u64)> = self.volumes.iter().map(|v| (v.name.clone(), v.size)).collect();
        known.sort();
        known
    }
}
