//! Space comes back: segments that were emptied are discarded and are free again.

use std::ops::Range;
use std::rc::Rc;

use cygnus_runtime::DeviceIx;
use cygnus_types::{GroupId, MemberIx, Nanos, SegmentId};

use crate::counters::count;
use crate::durable::commit::Committer;
use crate::fault::Fault;
use crate::reactor::Reactor;
use crate::space::evacuation::is_whole_group;
use crate::space::segments::{SegIx, SegState};
use crate::write::lane::Lane;

/// How long a grant may be on its way to a reactor.
const GRANT_ARRIVES: Nanos = Nanos::millis(5);

/// Bytes that are discarded with one operation. A whole group's column at once may take a file system or a drive minutes, in
/// which nobody can tell it from one that hangs; a GiB takes even a slow one seconds. Much smaller pieces would be many.
pub(crate) const TRIM_PIECE: u64 = 1 << 30;

/// Gives segments back: see the module's text.
#[derive(Clone)]
pub(crate) struct Releaser {
    reactor: Rc<Reactor>,
}

impl Releaser {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Gives segments that were emptied back to the free ones. The caller has made durable whatever replaced their
    /// blocks; the devices are told that the old contents are worthless, in one large range per column (SWAN section
    /// 3.2), before anything new is written there.
    pub(crate) async fn free_segments(&self, segs: Vec<SegIx>) {
        let geometry = *self.reactor.shared.layout.geometry();
        // A block is current there again whose copy was lost with the caches of devices.
        let (segs, needed): (Vec<_>, Vec<_>) =
            segs.into_iter().partition(|&seg| self.reactor.shared.segments.live(seg) == 0);
        needed.into_iter().for_each(|seg| self.reactor.shared.segments.set_state(seg, SegState::Sealed));
        // Nobody begins to restore a column of them now; who has begun ends first.
        segs.iter().for_each(|&seg| self.reactor.shared.segments.set_state(seg, SegState::Pending));
        loop {
            let unpinned = self.reactor.home().pins.ended.wait();
            if !segs.iter().any(|seg| self.reactor.home().pins.has(*seg)) {
                break;
            }
            unpinned.await;
        }
        if let Err(why) = self.forgo(&segs).await {
            self.reactor.shared.log(format!("{} segments are not given back: {why}", segs.len()));
            self.reactor.home().space.borrow_mut().pending.extend(segs);
            return;
        }
        let mut ranges = Vec::new();
        for (group, segment, segments) in self.ranges_of(&segs) {
            let bytes = geometry.segment_bytes() * u64::from(segments);
            for column in 0..self.reactor.shared.layout.width(group) {
                let (member, state) = self.reactor.shared.member(group, column);
                let offset = geometry.device_offset(segment.0, 0);
                ranges.extend(state.devices_to_write().map(|dev| (member, dev, offset..offset + bytes)));
            }
        }
        self.trim_in_pieces(ranges).await;
        let home = self.reactor.home();
        for seg in segs {
            home.space.borrow_mut().put_free(&self.reactor.shared, seg);
        }
        self.reactor.update_pressure();
        home.space_changed.notify();
    }

    /// Discards ranges, a piece of each at a time, where that gives space back. A device in trouble is left alone, and one
    /// that will not discard still takes new data.
    async fn trim_in_pieces(&self, mut ranges: Vec<(MemberIx, DeviceIx, Range<u64>)>) {
        ranges.retain(|&(_, dev, _)| self.reactor.rt.capabilities(dev).trim);
        while !ranges.is_empty() {
            let mut trims = Vec::with_capacity(ranges.len());
            for (member, dev, range) in &mut ranges {
                let state = &self.reactor.shared.members[member.index()];
                let bytes = (range.end - range.start).min(TRIM_PIECE);
                if state.trouble().is_none() {
                    count(&state.counters.trimmed, bytes);
                    trims.push(self.reactor.rt.trim(*dev, range.start, bytes));
                }
                range.start += bytes;
            }
            for trim in trims {
                let _ = trim.await;
            }
            ranges.retain(|(.., range)| !range.is_empty());
        }
    }

    /// Puts on record that recovery cannot count on finding the stripes of these segments. Most are covered by a checkpoint,
    /// and then it does not.
    async fn forgo(&self, segs: &[SegIx]) -> Result<(), Fault> {
        let home = self.reactor.home();
        let counted_from = home.checkpoints.discard_horizon.get().max(home.checkpoints.counted_from.get());
        if segs.iter().all(|&seg| self.reactor.shared.segments.newest_stripe(seg) < counted_from) {
            return Ok(());
        }
        let next = self.reactor.shared.stripes.next();
        home.state.borrow_mut().counted_from = next;
        Committer::of(&self.reactor).commit_state().await?;
        home.checkpoints.counted_from.set(next.max(home.checkpoints.counted_from.get()));
        Ok(())
    }

    /// What is to be discarded: group, first segment, number of segments. A group that was emptied as a whole is one range.
    fn ranges_of(&self, segs: &[SegIx]) -> Vec<(GroupId, SegmentId, u32)> {
        let shared = &self.reactor.shared;
        let emptied = self.reactor.home().space.borrow().evacuation.map(|evacuation| GroupId(evacuation.group as u16));
        let whole = emptied.filter(|&group| is_whole_group(&shared.segments, group, segs));
        let single = segs.iter().map(|&seg| shared.segments.locate(seg)).filter(|&(group, _)| Some(group) != whole);
        let all = whole.map(|group| (group, SegmentId(0), shared.layout.segments(group)));
        all.into_iter().chain(single.map(|(group, segment)| (group, segment, 1))).collect()
    }

    /// Has all reactors end the segments that they have in a group, and give back those that they have not begun.
    pub(crate) async fn close_segments_of(&self, group: GroupId) {
        let mut given_back = self.reactor.peers.ask_others_to_leave(&self.reactor.rt, group).await;
        given_back.extend(self.reactor.leave_group(group));
        self.reactor.drain(&Lane::ALL).await;
        for grant in given_back {
            self.reactor.home().space.borrow_mut().put_free(&self.reactor.shared, grant.seg);
        }
        // A grant may be on its way to a reactor still.
        self.reactor.rt.sleep(GRANT_ARRIVES).await;
    }
}
