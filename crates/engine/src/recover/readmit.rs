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

use cygnus_format::{Entry, Kind, MapEntry, Place, StripeCommon};
use cygnus_parity as parity;
use cygnus_runtime::{Buf, DeviceIx};
use cygnus_types::{BLOCK, GroupId, Pba, SegmentId};

use crate::care::guardian::Guardian;
use crate::care::restore::encode_header;
use crate::error::ArrayError;
use crate::map::l2p::MAX_VOLUME_BLOCKS;
use crate::map::volume_state::VolumeState;
use crate::reactor::Reactor;
use crate::read::columns::Columns;
use crate::read::parallel::for_each;
use crate::read::scan::FoundStripe;
use crate::recover::assemble::Readmission;
use crate::recover::gone::{LostBlocks, Readmitted, VolumeAfter};
use crate::space::segments::SegIx;

/// The members of a group that are re-admitted, and what is done with them.
struct Task {
    group: GroupId,
    members: Vec<Readmission>,
    /// Their columns are made good; else only looked at.
    writes: bool,
}

impl Reactor {
    /// Has members take part again; returns the blocks that are lost without those who are not here. Without `writes` nothing is
    /// written, and what these members hold is not to be relied on.
    pub(crate) async fn readmit(
        self: &Rc<Self>,
        members: &[Readmission],
        writes: bool,
    ) -> Result<LostBlocks, ArrayError> {
        let group_of = |of: &Readmission| self.shared.layout.column_of(of.member).0;
        let groups: BTreeSet<GroupId> = members.iter().map(group_of).collect();
        let mut lost = LostBlocks::default();
        for group in groups {
            let members = members.iter().filter(|of| group_of(of) == group).cloned().collect();
            let task = Rc::new(Task { group, members, writes });
            lost.extend(self.make_good(&task).await?);
            for of in &task.members {
                if writes {
                    let io = |error| ArrayError::Io { device: of.device.name.clone(), offset: 0, error };
                    self.rt.flush(of.device.ix).await.map_err(io)?;
                }
                self.comes_in(of);
            }
        }
        Ok(lost)
    }

    /// A member has all that it should, or it is lost: it counts as online.
    fn comes_in(&self, of: &Readmission) {
        let state = &self.shared.members[of.member.index()];
        state.begin_filling(&of.device);
        assert!(state.end_filling(), "nothing was asked of it yet");
        self.home().records.behind.borrow_mut().insert(of.member, of.holds.generation);
        self.home().records.readmitted.borrow_mut().push(of.member);
    }

    /// Makes all columns of a group's re-admitted members good.
    async fn make_good(self: &Rc<Self>, task: &Rc<Task>) -> Result<Vec<Place>, ArrayError> {
        let group = task.group;
        let silences = self.silences(group);
        let segments: Vec<SegIx> = self.shared.segments.of_group(group).collect();
        let found = for_each(&self.rt, segments, {
            let (reactor, task) = (self.clone(), task.clone());
            move |seg| {
                let (reactor, task) = (reactor.clone(), task.clone());
                async move { reactor.make_segment_good(seg, &task).await }
            }
        });
        let found: Result<Vec<_>, ArrayError> = found.await.into_iter().collect();
        if self.was_disturbed(group, silences) {
            let parity = self.shared.layout.geometry().parity;
            Guardian::of(self).settle_before_session(group).map_err(|waits_for| ArrayError::Silent {
                group,
                waits_for,
                parity,
            })?;
        }
        Ok(found?.into_iter().flatten().collect())
    }

    async fn make_segment_good(self: &Rc<Self>, seg: SegIx, task: &Task) -> Result<Vec<Place>, ArrayError> {
        let (group, segment) = self.shared.segments.locate(seg);
        let (mut row, mut life, mut newest) = (0, None, 0);
        let mut lost = Vec::new();
        while self.shared.protections.rows_at(row) > 0 {
            let silences = self.silences(group);
            let look = self.look_at(group, segment, row, life).await;
            if let Some(copy) = look.newer.first() {
                return Err(ArrayError::Newer(copy.describe(&self.shared)));
            }
            let is_leftover = |stripe: &FoundStripe| stripe.common.stripe_seq < newest;
            let nothing_begins_here = match &look.stripe {
                Some(stripe) => is_leftover(stripe),
                None => look.has_something_else(),
            };
            if self.was_disturbed(group, silences) || look.stripe.is_none() && !nothing_begins_here {
                let place = Place { group, segment, column: 0, row };
                return Err(self.cannot_readmit(task, &place, "no header of a stripe there can be read"));
            }
            let Some(stripe) = look.stripe.filter(|_| !nothing_begins_here) else { break };
            (row, life, newest) = (stripe.common.end_row(), Some(stripe.common.segment_seq), stripe.common.stripe_seq);
            let blocks = self.make_stripe_good(&stripe, task).await?;
            let at = |(column, below)| Place { group, segment, column, row: stripe.common.first_data_row() + below };
            lost.extend(blocks.into_iter().map(at));
        }
        if task.writes {
            self.end_columns(segment, row, task).await?;
        }
        Ok(lost)
    }

    fn cannot_readmit(&self, task: &Task, at: &Place, why: &str) -> ArrayError {
        let offset = self.shared.layout.geometry().device_offset(at.segment.0, at.row);
        let names: Vec<&str> = task.members.iter().map(|of| &*of.device.name).collect();
        let why = format!("at byte {offset} of the devices of {} {why}", at.group);
        ArrayError::CannotReadmit { device: names.join(", "), why }
    }

    /// Makes the columns of a stripe good that re-admitted members may lack. Returns the blocks that are lost: column and row
    /// below the headers.
    async fn make_stripe_good(
        self: &Rc<Self>,
        stripe: &FoundStripe,
        task: &Task,
    ) -> Result<Vec<(u8, u32)>, ArrayError> {
        let common = &stripe.common;
        let lacks = |of: &&Readmission| !of.holds.has(common.segment, common.stripe_seq);
        let targets: Vec<&Readmission> = task.members.iter().filter(lacks).collect();
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        let devices = self.devices_with(stripe, task);
        let enough = common.rotation.restores(devices.iter().flatten().count());
        for attempt in 0..=u8::MAX {
            let mut physical = self.read_columns(common, &devices).await;
            for of in targets.iter().filter(|_| !enough && common.rows > 0) {
                let own = if attempt == 0 { self.proved_column(stripe, of).await } else { None };
                physical[usize::from(self.column_readmitted(of))] =
                    Some(own.unwrap_or_else(|| self.filled(common, attempt)));
            }
            let mut columns = Columns::new(common, physical);
            if !columns.fill_missing() {
                let place = Place { group: common.group, segment: common.segment, column: 0, row: common.start_row };
                return Err(self.cannot_readmit(task, &place, "a stripe cannot be read"));
            }
            let wrong = columns.heal(&stripe.entries);
            if !enough && wrong.iter().any(|&(column, row)| could_pass(&columns, stripe, column, row)) {
                continue;
            }
            if task.writes {
                for of in targets {
                    self.write_column_of(stripe, of, &columns).await?;
                }
            }
            return Ok(wrong);
        }
        let place = Place { group: common.group, segment: common.segment, column: 0, row: common.start_row };
        Err(self.cannot_readmit(task, &place, "whatever is put in place of lost blocks passes for one of them"))
    }

    fn column_readmitted(&self, of: &Readmission) -> u8 {
        self.shared.layout.column_of(of.member).1
    }

    /// The devices that have their columns of a stripe, by column.
    fn devices_with(&self, stripe: &FoundStripe, task: &Task) -> Vec<Option<DeviceIx>> {
        let common = &stripe.common;
        let has = |of: &&Readmission| of.holds.has(common.segment, common.stripe_seq);
        let device = |column: u8| {
            let member = self.shared.layout.member(common.group, column);
            let readmitted = task.members.iter().filter(has).find(|of| of.member == member);
            readmitted.map(|of| of.device.ix).or_else(|| self.device_holding(member, common.segment))
        };
        (0..common.width()).map(device).collect()
    }

    /// What a member has of a stripe below the header, if it has the header of this very stripe.
    async fn proved_column(&self, stripe: &FoundStripe, of: &Readmission) -> Option<Buf> {
        let common = &stripe.common;
        let bytes = common.header_bytes();
        let whole = self.rt.alloc(bytes + common.rows as usize * BLOCK);
        let offset = self.shared.layout.geometry().device_offset(common.segment.0, common.start_row);
        self.rt.read(of.device.ix, offset, whole.full()).await.ok()?;
        let column = self.column_readmitted(of);
        let place = Place { group: common.group, segment: common.segment, column, row: common.start_row };
        let header = self.header_at(place, whole.bytes(), Some(common.segment_seq)).ok()?;
        if header.common() != common {
            return None;
        }
        let mut own = self.rt.alloc(common.rows as usize * BLOCK);
        own.bytes_mut().copy_from_slice(&whole.bytes()[bytes..]);
        Some(own)
    }

    /// Something in place of a column that nobody has.
    fn filled(&self, common: &StripeCommon, with: u8) -> Buf {
        let mut buf = self.rt.alloc(common.rows as usize * BLOCK);
        buf.bytes_mut().fill(with);
        buf
    }

    async fn write_column_of(
        &self,
        stripe: &FoundStripe,
        of: &Readmission,
        columns: &Columns<'_>,
    ) -> Result<(), ArrayError> {
        let common = &stripe.common;
        let column = self.column_readmitted(of);
        let mut header = vec![0; common.header_bytes()];
        // One that is not there is better than one that does not know what it should say.
        if !encode_header(stripe, column, &mut header) {
            header.fill(0);
        }
        let mut buf = self.rt.alloc(header.len() + common.rows as usize * BLOCK);
        buf.write(0, &header);
        if common.rows > 0 {
            buf.write(header.len(), &columns.whole(column));
        }
        self.write_to_readmitted(of, common.segment, common.start_row, buf).await
    }

    /// Behind the last stripe of a segment there must be nothing that could pass for another one.
    async fn end_columns(&self, segment: SegmentId, end_row: u32, task: &Task) -> Result<(), ArrayError> {
        if self.shared.protections.rows_at(end_row) == 0 {
            return Ok(());
        }
        for of in &task.members {
            let buf = self.rt.alloc(BLOCK);
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
        let offset = self.shared.layout.geometry().device_offset(segment.0, row);
        let io = |error| ArrayError::Io { device: of.device.name.clone(), offset, error };
        self.rt.write(of.device.ix, offset, buf.full()).await.map(drop).map_err(io)
    }

    /// Blocks of each volume that hold data.
    pub(crate) fn mapped_by_volume(&self) -> Vec<u64> {
        let of_volume = |volume: &Arc<VolumeState>| {
            let mut mapped = 0;
            volume.map.for_each_mapped(MAX_VOLUME_BLOCKS, |_, _| mapped += 1);
            mapped
        };
        self.shared.volumes().iter().map(of_volume).collect()
    }

    /// What comes of it, once the maps are as the array goes on with them. `mapped`: the blocks of each volume before anything
    /// was given up.
    pub(crate) fn readmission(
        &self,
        members: &[Readmission],
        lost: &LostBlocks,
        mapped: &[u64],
        lost_pages: u64,
    ) -> Readmitted {
        let mut blocks = Vec::new();
        let of_volume = |(volume, &mapped): (&Arc<VolumeState>, &u64)| {
            let (mut readable, before) = (0, blocks.len() as u64);
            volume.map.for_each_mapped(MAX_VOLUME_BLOCKS, |lba, entry| {
                let Some(place) = self.shared.layout.locate(entry.pba()) else { return };
                match lost.contains(&place) {
                    true => blocks.push((volume.name.clone(), lba)),
                    false => readable += 1,
                }
            });
            let lost = blocks.len() as u64 - before;
            let given_up = mapped.saturating_sub(readable + lost);
            VolumeAfter { name: volume.name.clone(), readable, lost, given_up, in_doubt: volume.is_in_doubt() }
        };
        let volumes = self.shared.volumes().iter().zip(mapped).map(of_volume).collect();
        let member = |of: &Readmission| (of.member, of.device.name.clone(), of.was);
        Readmitted { members: members.iter().map(member).collect(), volumes, lost_pages, blocks }
    }
}

/// Whether what lies in the place of a block that is lost has the bits of its checksum that maps have.
fn could_pass(columns: &Columns<'_>, stripe: &FoundStripe, column: u8, row: u32) -> bool {
    let entry = stripe.entries[usize::from(column)].as_ref().map_or(Entry::VOID, |of| of[row as usize]);
    let Some(block) = columns.block(column, row).filter(|_| entry.kind() != Kind::Void) else { return false };
    MapEntry::new(Pba(1), entry.crc()).matches(parity::checksum::crc32c(block))
}
