//! Recovery, step "readmit": members that are out of service take part again by force, since their groups lack too many others.
//!
//! Of such a member the superblocks say below which sequence it has every stripe ([`Holdings`]). What was written since is told
//! by the headers of those who were there all the time; of each such stripe the member's column is made good before anything
//! else is done:
//!
//! * If the others are enough, it is restored from them.
//! * If they are not, what the member has is believed as far as it can be proved: it must have the header of this very stripe,
//!   and each block must match the checksum in it. (It may have got more than is on record.) All other blocks are *lost*. What
//!   then lies in their places, or follows from the parity, is compared with the bits of the checksum that maps have, and
//!   replaced if it could pass.
//!
//! So from then on the member holds nothing that could be taken for something newer, and counts as online. Blocks of the last
//! stripes that are lost are never taken for blocks that a power cut kept from being written: who did not write them is one of
//! those who are not here. The superblocks call the member out of service until a checkpoint has taken note of all that. Should
//! the opening be cut short, the next one has to begin anew.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::{Place, StripeCommon};
use cygnus_runtime::Buf;
use cygnus_types::{BLOCK, GroupId, Lba, SegmentId};

use crate::care::guardian::Guardian;
use crate::care::restore::encode_header;
use crate::error::ArrayError;
use crate::lsa::MAX_VOLUME_BLOCKS;
use crate::reactor::Reactor;
use crate::read::columns::Columns;
use crate::read::parallel::for_each;
use crate::read::scan::{FoundStripe, Scanner};
use crate::recover::apply::Rescue;
use crate::recover::assemble::Readmission;
use crate::recover::gone::{LostBlocks, Readmitted, VolumeAfter};
use crate::recover::made_good::{GoodColumns, Task};
use crate::space::segments::SegIx;
use crate::volume_state::VolumeState;

/// Has members take part again: see the module's text.
#[derive(Clone)]
pub(crate) struct Readmitter {
    reactor: Rc<Reactor>,
}

impl Readmitter {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Has members take part again; returns the blocks that are lost without those who are not here. Without `writes` nothing is
    /// written, and what these members hold is not to be relied on.
    pub(crate) async fn readmit(&self, members: &[Readmission], writes: bool) -> Result<LostBlocks, ArrayError> {
        let group_of = |of: &Readmission| self.reactor.shared.layout.column_of(of.member).0;
        let groups: BTreeSet<GroupId> = members.iter().map(group_of).collect();
        let mut lost = LostBlocks::default();
        for group in groups {
            let members = members.iter().filter(|of| group_of(of) == group).cloned().collect();
            let task = Rc::new(Task { group, members, writes });
            lost.extend(self.make_good(&task).await?);
            for of in &task.members {
                if writes {
                    let io = |error| ArrayError::Io { device: of.device.name.clone(), offset: 0, error };
                    self.reactor.rt.flush(of.device.ix).await.map_err(io)?;
                }
                self.comes_in(of);
            }
            if !writes {
                self.reactor.home().records.unwritten.borrow_mut().extend(task.members.iter().cloned());
            }
        }
        Ok(lost)
    }

    /// A member has all that it should, or it is lost: it counts as online.
    fn comes_in(&self, of: &Readmission) {
        let state = &self.reactor.shared.members[of.member.index()];
        state.begin_filling(&of.device);
        assert!(state.end_filling(), "nothing was asked of it yet");
        self.reactor.home().records.behind.borrow_mut().insert(of.member, of.holds.generation);
        self.reactor.home().records.readmitted.borrow_mut().push(of.member);
    }

    /// Makes all columns of a group's re-admitted members good.
    async fn make_good(&self, task: &Rc<Task>) -> Result<LostBlocks, ArrayError> {
        let group = task.group;
        let silences = self.reactor.silences(group);
        let segments: Vec<SegIx> = self.reactor.shared.segments.of_group(group).collect();
        let found = for_each(&self.reactor.rt, segments, {
            let (readmitter, task) = (self.clone(), task.clone());
            move |seg| {
                let (readmitter, task) = (readmitter.clone(), task.clone());
                async move { readmitter.make_segment_good(seg, &task).await }
            }
        });
        let found: Result<Vec<_>, ArrayError> = found.await.into_iter().collect();
        if self.reactor.was_disturbed(group, silences) {
            let parity = self.reactor.shared.layout.shape(group).parity;
            Guardian::of(&self.reactor).settle_before_session(group).map_err(|waits_for| ArrayError::Silent {
                group,
                waits_for: waits_for.to_string(),
                parity,
            })?;
        }
        let mut lost = LostBlocks::default();
        found?.into_iter().for_each(|of_segment| lost.extend(of_segment));
        Ok(lost)
    }

    async fn make_segment_good(&self, seg: SegIx, task: &Task) -> Result<LostBlocks, ArrayError> {
        let (group, segment) = self.reactor.shared.segments.locate(seg);
        let (mut row, mut life, mut newest) = (0, None, 0);
        let mut lost = LostBlocks::default();
        while self.reactor.shared.shapes(group).rows_at(row) > 0 {
            let silences = self.reactor.silences(group);
            let look = Scanner::of(&self.reactor).look_at(group, segment, row, life).await;
            if let Some(copy) = look.newer.first() {
                return Err(ArrayError::Newer(copy.describe(&self.reactor.shared)));
            }
            let is_leftover = |stripe: &FoundStripe| stripe.common.stripe_seq < newest;
            let nothing_begins_here = match &look.stripe {
                Some(stripe) => is_leftover(stripe),
                None => look.has_something_else(),
            };
            if self.reactor.was_disturbed(group, silences) || look.stripe.is_none() && !nothing_begins_here {
                let place = Place { group, segment, column: 0, row };
                return Err(GoodColumns::of(&self.reactor).cannot_readmit(
                    task,
                    &place,
                    "no header of a stripe there can be read",
                ));
            }
            let Some(mut stripe) = look.stripe.filter(|_| !nothing_begins_here) else { break };
            if row == 0 && task.writes {
                self.end_newer_lives(&stripe.common, task).await?;
            }
            GoodColumns::of(&self.reactor).ask_readmitted(&mut stripe, task).await;
            (row, life, newest) = (stripe.common.end_row(), Some(stripe.common.segment_seq), stripe.common.stripe_seq);
            self.make_stripe_good(&stripe, task, &mut lost).await?;
        }
        if task.writes {
            self.end_columns((group, segment), row, task).await?;
        }
        Ok(lost)
    }

    /// Makes the columns of a stripe good that re-admitted members may lack, and adds the blocks that are lost.
    async fn make_stripe_good(
        &self,
        stripe: &FoundStripe,
        task: &Task,
        lost: &mut LostBlocks,
    ) -> Result<(), ArrayError> {
        let Some(good) = GoodColumns::of(&self.reactor).columns_made_good(stripe, task).await? else { return Ok(()) };
        if task.writes {
            for of in task.lacking(&stripe.common) {
                self.write_column_of(stripe, of, &good.columns).await?;
            }
        }
        lost.add(stripe, &good.wrong, good.enough);
        Ok(())
    }

    async fn write_column_of(
        &self,
        stripe: &FoundStripe,
        of: &Readmission,
        columns: &Columns<'_>,
    ) -> Result<(), ArrayError> {
        let common = &stripe.common;
        let column = GoodColumns::of(&self.reactor).column_readmitted(of);
        let mut header = vec![0; common.header_bytes()];
        // One that is not there is better than one that does not know what it should say.
        if !encode_header(stripe, column, &mut header) {
            header.fill(0);
        }
        let mut buf = self.reactor.rt.alloc(header.len() + common.rows as usize * BLOCK);
        buf.write(0, &header);
        if common.rows > 0 {
            buf.write(header.len(), &columns.whole(column));
        }
        self.write_to_readmitted(of, common.segment, common.start_row, buf).await
    }

    /// A member may have the beginning of a later life of a segment, of which those who were there all the time know nothing: it was
    /// never durable, and nothing of it is left.
    async fn end_newer_lives(&self, first: &StripeCommon, task: &Task) -> Result<(), ArrayError> {
        for of in &task.members {
            let header = self.reactor.rt.alloc(first.header_bytes());
            let place = Place {
                group: task.group,
                segment: first.segment,
                column: GoodColumns::of(&self.reactor).column_readmitted(of),
                row: 0,
            };
            let offset = self.reactor.shared.layout.geometry().device_offset(first.segment.0, 0);
            if self.reactor.rt.read(of.device.ix, offset, header.full()).await.is_err() {
                continue;
            }
            let life = Scanner::of(&self.reactor)
                .header_at(place, header.bytes(), None)
                .map(|header| header.common().segment_seq);
            if life.is_ok_and(|life| life > first.segment_seq) {
                let zeros = self.reactor.rt.alloc(first.header_bytes());
                zeros.full().zero(0..first.header_bytes());
                self.write_to_readmitted(of, first.segment, 0, zeros).await?;
            }
        }
        Ok(())
    }

    /// Behind the last stripe of a segment there must be nothing that could pass for another one.
    async fn end_columns(
        &self,
        (group, segment): (GroupId, SegmentId),
        end_row: u32,
        task: &Task,
    ) -> Result<(), ArrayError> {
        if self.reactor.shared.shapes(group).rows_at(end_row) == 0 {
            return Ok(());
        }
        for of in &task.members {
            let buf = self.reactor.rt.alloc(BLOCK);
            buf.full().zero(0..BLOCK);
            self.write_to_readmitted(of, segment, end_row, buf).await?;
        }
        Ok(())
    }

    async fn write_to_readmitted(
        &self,
        of: &Readmission,
        segment: SegmentId,
        row: u32,
        buf: Buf,
    ) -> Result<(), ArrayError> {
        let offset = self.reactor.shared.layout.geometry().device_offset(segment.0, row);
        let io = |error| ArrayError::Io { device: of.device.name.clone(), offset, error };
        self.reactor.rt.write(of.device.ix, offset, buf.full()).await.map(drop).map_err(io)
    }

    /// Blocks of each volume that hold data, those counted that are written anew before the array goes into service.
    pub(crate) fn mapped_by_volume(&self, rescues: &[Rescue]) -> Vec<u64> {
        let of_volume = |volume: &Arc<VolumeState>| {
            let anew = blocks_of(volume, rescues);
            let mut mapped = anew.len() as u64;
            volume.controller.for_each_held(MAX_VOLUME_BLOCKS, |lba, _| mapped += u64::from(!anew.contains(&lba)));
            mapped
        };
        self.reactor.shared.volumes().iter().map(of_volume).collect()
    }

    /// What comes of it, once the maps are as the array goes on with them but for the `rescues`. `mapped`: the blocks of each
    /// volume before anything was given up.
    pub(crate) fn readmission(
        &self,
        members: &[Readmission],
        lost: &LostBlocks,
        rescues: &[Rescue],
        mapped: &[u64],
        lost_pages: u64,
    ) -> Readmitted {
        let mut blocks = Vec::new();
        let of_volume = |(volume, &mapped): (&Arc<VolumeState>, &u64)| {
            // What the maps have of these is what was there before.
            let anew = blocks_of(volume, rescues);
            let (mut readable, before) = (anew.len() as u64, blocks.len() as u64);
            volume.controller.for_each_held(MAX_VOLUME_BLOCKS, |lba, entry| {
                let is_lost = || !entry.is_mapped() || lost.contains(&self.reactor.place(entry));
                match anew.contains(&lba) {
                    true => {}
                    false if is_lost() => blocks.push((volume.name.clone(), lba)),
                    false => readable += 1,
                }
            });
            let lost = blocks.len() as u64 - before;
            let given_up = mapped.saturating_sub(readable + lost);
            VolumeAfter {
                name: volume.name.clone(),
                readable,
                lost,
                given_up,
                in_doubt: volume.controller.is_in_doubt(),
            }
        };
        let volumes = self.reactor.shared.volumes().iter().zip(mapped).map(of_volume).collect();
        let member = |of: &Readmission| (of.member, of.device.name.clone(), of.was);
        Readmitted { members: members.iter().map(member).collect(), volumes, lost_pages, blocks }
    }
}

fn blocks_of(volume: &VolumeState, rescues: &[Rescue]) -> BTreeSet<Lba> {
    rescues.iter().filter(|rescue| rescue.volume == volume.id).map(|rescue| rescue.lba).collect()
}
