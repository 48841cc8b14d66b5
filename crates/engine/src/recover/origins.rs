//! Where blocks came from that cleaning had moved into torn stripes. A block that is still safe there need not be written anew:
//! cleaning goes on until hardly any segment is free, so there may be no room for that.
//!
//! The segment that it came from may have been given back before the crash, though, and trimmed in part: the stripe that the block
//! was moved to may have been durable, and look torn now because a device cannot read its header any more. A block that a trim has
//! happened to leave is not safe. So enough columns have to have the headers that lead to it, and its row has to be as it was.

use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_format::{MapEntry, Place, StripeCommon};
use cygnus_parity as parity;
use cygnus_types::{BLOCK, GroupId, SegmentId};

use crate::reactor::Reactor;
use crate::read::columns::Columns;
use crate::read::scan::{FoundStripe, Scanner};
use crate::recover::apply::Rescue;
use crate::recover::tail::StripeReader;
use crate::space::segments::SegIx;

/// How often a block is put where it was found before its device is not believed any more.
const TIMES_PUT: usize = 2;

/// See the module's text.
pub(crate) struct Origins<'a> {
    reactor: &'a Rc<Reactor>,
    /// The stripes that headers lead to, in segments that were looked at.
    segments: BTreeMap<SegIx, Vec<StripeCommon>>,
}

impl<'a> Origins<'a> {
    pub(crate) fn of(reactor: &'a Rc<Reactor>) -> Self {
        Self { reactor, segments: BTreeMap::new() }
    }

    /// Whether a block that was found in a torn stripe is safe in the place that the map still shows.
    pub(crate) async fn have(&mut self, rescue: &Rescue) -> bool {
        let Some(volume) = self.reactor.shared.volume(rescue.volume).filter(|_| rescue.moved) else { return false };
        let _look = self.reactor.looks.begin();
        let current = volume.controller.locate(rescue.lba);
        let Some(place) =
            Some(current).filter(|at| at.is_mapped()).and_then(|at| self.reactor.shared.layout.locate(at.pba()))
        else {
            return false;
        };
        let is_same = current.is_of_page() || current.matches(parity::checksum::crc32c(&rescue.data));
        is_same && self.is_in_whole_row(&place, rescue).await
    }

    /// Has the map show a block in the torn stripe itself, if it can be read there, or its row restores it.
    pub(crate) async fn keep_where_found(&mut self, rescue: &Rescue) -> bool {
        let Some(volume) = self.reactor.shared.volume(rescue.volume) else { return false };
        let _look = self.reactor.looks.begin();
        let place = self.reactor.place(rescue.at);
        let is_there = self.is_or_gets_there(&place, rescue).await || self.is_in_whole_row(&place, rescue).await;
        if is_there {
            self.reactor.shared.controllers.replay_write(&volume.controller, rescue.lba, rescue.at);
        }
        is_there
    }

    /// Whether a block can be read in the torn stripe, be it after it was put there once more. It is what belongs there, so a
    /// crash amid that changes nothing.
    async fn is_or_gets_there(&self, place: &Place, rescue: &Rescue) -> bool {
        for _ in 0..TIMES_PUT {
            if self.is_there(place, rescue.at, rescue).await {
                return true;
            }
            if !self.put_there(place, rescue).await {
                return false;
            }
        }
        self.is_there(place, rescue.at, rescue).await
    }

    /// Writes a block where it was found; whether the device took it.
    async fn put_there(&self, place: &Place, rescue: &Rescue) -> bool {
        let shared = &self.reactor.shared;
        let (member, state) = shared.member(place.group, place.column);
        let Some(dev) = self.reactor.device_holding(member, place.segment).filter(|_| state.trouble().is_none()) else {
            return false;
        };
        let block = self.reactor.rt.alloc(BLOCK).full();
        block.copy_from(0, &rescue.data);
        state.mark_dirty();
        let offset = shared.layout.geometry().device_offset(place.segment.0, place.row);
        self.reactor.rt.write(dev, offset, block).await.is_ok()
    }

    /// Whether a place can be read, and holds the block.
    async fn is_there(&self, place: &Place, entry: MapEntry, rescue: &Rescue) -> bool {
        let block = self.reactor.rt.alloc(BLOCK).full();
        self.reactor.read_column(place, entry, &block).await.is_ok() && block.bytes() == &rescue.data[..]
    }

    /// Whether the row of a place is as it was, and holds the block there: if its member is missing, by what the others give. The others
    /// alone do not tell, where a crash kept all of a stripe from the devices: what was in the row before is whole too.
    async fn is_in_whole_row(&mut self, place: &Place, rescue: &Rescue) -> bool {
        let seg = self.reactor.shared.segments.index(place.group, place.segment);
        if !self.segments.contains_key(&seg) {
            let stripes = self.led_to(place.group, place.segment).await;
            self.segments.insert(seg, stripes);
        }
        let holds = |stripe: &&StripeCommon| (stripe.first_data_row()..stripe.end_row()).contains(&place.row);
        let Some(stripe) = self.segments[&seg].iter().find(holds) else { return false };
        let mut columns = Columns::new(stripe, StripeReader::of(self.reactor).read_stripe(stripe).await);
        let row = place.row - stripe.first_data_row();
        columns.fill_missing()
            && columns.rows_match(row..row + 1)
            && columns.block(place.column, row) == Some(&rescue.data[..])
    }

    /// The stripes of a segment, from its start on, that headers lead to however many members are still lost.
    async fn led_to(&self, group: GroupId, segment: SegmentId) -> Vec<StripeCommon> {
        let (mut stripes, mut row, mut life) = (Vec::new(), 0, None);
        while let Some(stripe) = Scanner::of(self.reactor).stripe_at(group, segment, row, life).await
            && self.outlasts_losses(&stripe)
        {
            (row, life) = (stripe.common.end_row(), Some(stripe.common.segment_seq));
            stripes.push(stripe.common);
        }
        stripes
    }

    /// Whether one copy of the headers is left when the group has lost as many members as its parity covers.
    fn outlasts_losses(&self, stripe: &FoundStripe) -> bool {
        let (common, shared) = (&stripe.common, &self.reactor.shared);
        let is_here = |&column: &u8| {
            self.reactor.device_holding(shared.layout.member(common.group, column), common.segment).is_some()
        };
        let here = (0..common.width()).filter(is_here).count();
        let may_be_lost = here.saturating_sub(common.rotation.needed());
        stripe.copies > may_be_lost * common.rotation.copies() as usize
    }
}
