//! Writing the superblocks: the one place where the array's state changes durably as a whole.

use std::rc::Rc;

use cygnus_format::{MemberState, Superblock, slot_for};
use cygnus_types::MemberIx;

use crate::reactor::Reactor;

impl Reactor {
    /// Writes the present state to the superblocks of all members in service and makes it durable. Concurrent callers
    /// share a round. An error means that the state may or may not be what the next opening finds.
    pub(crate) async fn commit_state(self: &Rc<Self>) -> Result<(), String> {
        self.home().committing.run(|| self.commit_round()).await
    }

    async fn commit_round(self: &Rc<Self>) -> Result<(), String> {
        loop {
            let membership = self.shared.membership();
            self.note_failed_members();
            if self.write_superblocks().await? == 0 {
                return Err("no member took the new superblock".into());
            }
            self.home().recorded_membership.set(membership);
            self.check_redundancy();
            if self.shared.membership() == membership {
                return Ok(());
            }
            // Another member failed while we wrote: the others must know.
        }
    }

    fn note_failed_members(&self) {
        let mut state = self.home().state.borrow_mut();
        let members = state.groups.iter_mut().flat_map(|g| &mut g.members);
        for (member, shared) in members.zip(&self.shared.members) {
            if shared.is_failed() && member.state == MemberState::Online {
                member.state = MemberState::Failed;
            }
        }
    }

    /// Returns how many members took it.
    async fn write_superblocks(self: &Rc<Self>) -> Result<usize, String> {
        let home = self.home();
        let generation = home.generation.get() + 1;
        home.generation.set(generation);
        let mut writes = Vec::new();
        let uuids: Vec<_> = home.state.borrow().members().map(|m| m.uuid).collect();
        for (ix, member_uuid) in uuids.into_iter().enumerate() {
            let member = MemberIx(ix as u16);
            let Some(dev) = self.device_in_service(member) else { continue };
            let state = home.state.borrow().clone();
            let block = Superblock { generation, array: home.uuid, member, member_uuid, read_only: false, state };
            let bytes = block.encode().map_err(|error| error.to_string())?;
            let mut buf = self.rt.alloc(bytes.len());
            buf.bytes_mut().copy_from_slice(&bytes);
            writes.push((member, dev, self.rt.write(dev, slot_for(generation), buf.full())));
        }
        let mut flushes = Vec::new();
        for (member, dev, write) in writes {
            match write.await {
                Ok(_) => flushes.push((member, self.rt.flush(dev))),
                Err(error) => self.member_failed(member, &format!("its superblock cannot be written: {error}")),
            }
        }
        let mut took = 0;
        for (member, flush) in flushes {
            match flush.await {
                Ok(_) => took += 1,
                Err(error) => self.member_failed(member, &format!("a flush failed: {error}")),
            }
        }
        Ok(took)
    }
}
