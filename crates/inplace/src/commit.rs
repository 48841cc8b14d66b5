//! Superblocks, written: nothing that a device missed is answered before it is on record that the device is out of service.

use std::rc::Rc;

use cygnus_engine::depart;
use cygnus_format::{MemberState, Superblock, copies_for};
use cygnus_runtime::BufSlice;
use cygnus_types::{BLOCK, MemberIx, Uuid};

use crate::core::Core;
use crate::error::RaidError;
use crate::give::Due;
use crate::ledger::Ledger;

impl Ledger {
    /// Returns when every departure of a device is on record.
    pub(crate) async fn settle(self: &Rc<Self>, core: &Rc<Core>) -> Result<(), RaidError> {
        while self.recorded.get() != core.departures.get() {
            // The round that is under way may have seen them all.
            match self.committing.is_running() {
                true => self.committing.ended().await,
                false => return self.commit(core).await,
            }
        }
        Ok(())
    }

    /// Writes the present state to the superblocks of all members in service, and makes it durable. Concurrent callers
    /// share a round, which goes on to its end whatever becomes of them: were another begun beside it, a crash could spoil
    /// both slots of every member.
    pub(crate) async fn commit(self: &Rc<Self>, core: &Rc<Core>) -> Result<(), RaidError> {
        self.committing.next(&core.rt, || self.clone().round(core.clone())).await
    }

    async fn round(self: Rc<Self>, core: Rc<Core>) -> Result<(), RaidError> {
        loop {
            let departures = core.departures.get();
            // Beyond its redundancy the array takes no writes, so nobody will have missed any: when the devices are back,
            // it can be opened as it was.
            core.check_alive()?;
            self.note_departures(&core);
            self.write(&core).await?;
            if core.departures.get() == departures {
                self.recorded.set(departures);
                return Ok(());
            }
            // Another one failed meanwhile: the others must know.
        }
    }

    fn note_departures(&self, core: &Core) {
        let mut state = self.state.borrow_mut();
        // The round before this one reached whoever was in service then; the present one may fail because of it.
        let (generation, session) = (self.generation.get().saturating_sub(1), state.session);
        let members = state.groups.iter_mut().flat_map(|group| &mut group.members);
        for (device, desc) in members.enumerate() {
            let was_in_service = matches!(desc.state, MemberState::Online | MemberState::Rebuilding);
            if was_in_service && core.is_failed(device) {
                let left_as = core.device(device).left_as.get().unwrap_or(MemberState::Failed);
                depart(desc, left_as, 0, generation, session);
                let (name, why) = (core.device(device).name.borrow(), core.device(device).why.borrow());
                let why = if why.is_empty() { String::new() } else { format!(": {why}") };
                self.log.line(&format!("member {device} ({name}) is out of service, {}{why}", left_as.word()));
            }
        }
    }

    async fn write(&self, core: &Rc<Core>) -> Result<(), RaidError> {
        let generation = self.generation.get() + 1;
        self.generation.set(generation);
        let state = self.state.borrow().clone();
        let uuids: Vec<Uuid> = state.members().map(|desc| desc.uuid).collect();
        let (mut superblocks, mut longest) = (Vec::new(), 0);
        for (device, &member_uuid) in uuids.iter().enumerate().filter(|&(device, _)| !core.is_failed(device)) {
            let member = MemberIx(device as u16);
            let superblock = Superblock {
                generation,
                array: self.uuid,
                member,
                member_uuid,
                read_only: false,
                state: state.clone(),
            };
            let bytes = superblock.encode().expect("every change of the state was checked");
            let mut buf = core.rt.alloc(bytes.len());
            buf.write(0, &bytes);
            longest = longest.max(bytes.len());
            superblocks.push((device, buf.full()));
        }
        let [first, second] = copies_for(generation);
        let copy_at = |offset: u64| move |data: &BufSlice| Due::Write { offset, data: data.clone() };
        let mut took = on_each(core, superblocks, copy_at(first)).await?;
        // A single block is written whole or not at all; of several, a power cut could tear both copies.
        if longest > BLOCK {
            took = on_each(core, took, |_| Due::Flush).await?;
        }
        took = on_each(core, took, copy_at(second)).await?;
        for (device, _) in on_each(core, took, |_| Due::Flush).await? {
            core.device(device).generation.set(generation);
        }
        Ok(())
    }
}

impl Core {
    /// Nothing that a device missed may be answered before it is on record that the device is out of service: after a
    /// crash, what it holds would be taken for current.
    pub(crate) async fn settle(self: &Rc<Self>) -> Result<(), RaidError> {
        match self.ledger.get() {
            Some(ledger) => ledger.settle(self).await,
            None => Ok(()),
        }
    }
}

/// Gives something to each of these devices, beside its superblock; returns those that took it, when they have or have left.
async fn on_each(
    core: &Rc<Core>,
    superblocks: Vec<(usize, BufSlice)>,
    due: impl Fn(&BufSlice) -> Due,
) -> Result<Vec<(usize, BufSlice)>, RaidError> {
    let there = superblocks.into_iter().filter(|&(device, _)| !core.is_failed(device));
    let given: Vec<_> = there.map(|(device, bytes)| (device, core.give(device, due(&bytes)), bytes)).collect();
    let mut took = Vec::new();
    for (device, given, bytes) in given {
        if core.taken(given).await? {
            took.push((device, bytes));
        }
    }
    Ok(took)
}
