//! One reactor's part of an array: its runtime, its writers, and what it needs to find devices and its peers.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use cygnus_format::{Geometry, Place, Rotation};
use cygnus_policy::{LatencyRule, ParityPlacement};
use cygnus_runtime::{DeviceIx, Event, Rounds, Runtime};
use cygnus_types::{GroupId, Medium, MemberIx, Nanos, SegmentId};

use crate::autonomics::sight::Sight;
use crate::care::member::Departure;
use crate::care::trouble::Trouble;
use crate::durable::answering::Answering;
use crate::home::Home;
use crate::peers::Peers;
use crate::read::pace::Paces;
use crate::shared::Shared;
use crate::space::looks::Looks;
use crate::write::grant::{Grant, Room};
use crate::write::landing::Landing;
use crate::write::lane::Lane;
use crate::write::merging::Merging;
use crate::write::offload::Lacking;
use crate::write::postponed::Postponed;
use crate::write::transient::Transient;
use crate::write::unflushed::UnflushedStripes;
use crate::write::writer::{Writer, writers};

/// How long acknowledged writes stay in memory at most before they are made durable without being asked to. It bounds
/// what a power cut can take from a client that never flushes, and the part of the log that recovery must read.
const DESTAGE_AFTER: Nanos = Nanos::secs(1);

/// See the module's text.
pub(crate) struct Reactor {
    pub rt: Runtime,
    pub shared: Arc<Shared>,
    /// Notified when a stripe has reached the devices or a segment has been granted.
    pub progress: Event,
    /// Notified when members are awaited, are back or have left.
    pub answers: Event,
    pub peers: Peers,
    pub paces: Paces,
    /// What it sees of contention, if that matters.
    pub sight: Option<Sight>,
    pub looks: Looks,
    /// Set while the home reactor makes a checkpoint's cut: appends wait. Never on the home reactor.
    pub hold: Cell<bool>,
    /// Whether a destage is on its way.
    destaging: Cell<bool>,
    /// The medium to which a volume was last written that may be on any.
    pub last_medium: Cell<Medium>,
    writers: [RefCell<Writer>; Lane::ALL.len()],
    /// Stripes closed and not yet on the devices.
    pub landing: Landing,
    /// Stripes that no flush has covered.
    pub unflushed: RefCell<UnflushedStripes>,
    /// What of open stripes lies in the transient areas of members.
    pub transient: RefCell<Transient>,
    /// Devices that do not compute parity from that.
    pub lacking: Lacking,
    /// Stripes whose parity they are to compute later.
    pub postponed: Postponed,
    /// Whether a flush is under way that is to make room there.
    pub makes_room: Cell<bool>,
    /// Rounds in which what clients have written comes to be on the devices.
    pub settling: Rounds<()>,
    /// Pages that are written in part.
    pub merging: Merging,
    /// What answers wait for.
    pub answering: Rc<Answering>,
    home: Option<Home>,
}

/// How long devices may take for anything, unless somebody has decided that already.
pub(crate) fn set_patience(rt: &Runtime, rule: &LatencyRule) {
    if rt.patience() == Nanos::MAX {
        rt.set_patience(rule.hung_after);
    }
}

impl Reactor {
    pub(crate) fn new(rt: Runtime, shared: Arc<Shared>, reactors: usize, home: Option<Home>) -> Rc<Self> {
        set_patience(&rt, &shared.policies.latency);
        let reactor = Rc::new(Self {
            peers: Peers::new(reactors),
            paces: Paces::new(shared.policies.latency),
            sight: shared.marks.as_ref().map(|marks| Sight::new(marks, rt.now())),
            looks: Looks::new(),
            rt,
            shared,
            progress: Event::new(),
            answers: Event::new(),
            hold: Cell::new(false),
            destaging: Cell::new(false),
            last_medium: Cell::default(),
            writers: writers(),
            landing: Landing::default(),
            unflushed: RefCell::default(),
            transient: RefCell::default(),
            lacking: Lacking::default(),
            postponed: Postponed::default(),
            makes_room: Cell::new(false),
            settling: Rounds::default(),
            merging: Merging::default(),
            answering: Rc::default(),
            home,
        });
        let watch: Weak<Self> = Rc::downgrade(&reactor);
        reactor.rt.watch_devices(watch);
        reactor
    }

    /// This reactor's number, as an index.
    pub(crate) fn index(&self) -> usize {
        self.rt.id().index()
    }

    /// What only the home reactor has.
    pub(crate) fn home(&self) -> &Home {
        self.home.as_ref().expect("only the home reactor is asked")
    }

    pub(crate) fn is_home(&self) -> bool {
        self.home.is_some()
    }

    #[inline]
    pub(crate) fn writer(&self, lane: Lane) -> &RefCell<Writer> {
        &self.writers[lane.index()]
    }

    /// The device of a member that is in service: for everything but reading what it holds.
    pub(crate) fn device_in_service(&self, member: MemberIx) -> Option<DeviceIx> {
        self.shared.members[member.index()].device()
    }

    /// The device of a member that has its column of a segment and answers: for reading it.
    #[inline]
    pub(crate) fn device_holding(&self, member: MemberIx, segment: SegmentId) -> Option<DeviceIx> {
        let state = &self.shared.members[member.index()];
        state.device().filter(|_| state.has(segment) && state.is_readable())
    }

    /// The shape of a segment's columns and stripes, which follows from what it is protected by.
    pub(crate) fn shape(&self, group: GroupId, segment: SegmentId) -> Geometry {
        self.shared.segments.shape(self.shared.segments.index(group, segment))
    }

    /// Which columns of a segment hold what.
    pub(crate) fn columns_of(&self, place: &Place) -> Rotation {
        self.columns_of_shape(&self.shape(place.group, place.segment), place.segment)
    }

    /// Which columns of a segment of this shape hold what.
    pub(crate) fn columns_of_shape(&self, geometry: &Geometry, segment: SegmentId) -> Rotation {
        geometry.rotation(match self.shared.policies.parity {
            // After the data columns, as RAID-4 has it.
            ParityPlacement::Fixed => geometry.data % geometry.width(),
            // Per segment and not per stripe, so that an address alone tells which columns restore it.
            ParityPlacement::Rotated => (segment.0 % u32::from(geometry.width())) as u8,
        })
    }

    /// The sequence of a stripe that is closed; it counts as incomplete until [`Reactor::end_stripe`].
    pub(crate) fn number_stripe(&self, lane: Lane) -> u64 {
        let seq = self.shared.stripes.take(self.index(), self.landing.lowest());
        self.landing.begins(seq, lane);
        if let Some(kept) = self.shared.kept.get() {
            kept.note_number(self.rt.id(), seq);
        }
        seq
    }

    /// A stripe is on the devices.
    pub(crate) fn end_stripe(&self, seq: u64) {
        self.landing.ends(seq);
        self.shared.stripes.set_incomplete(self.index(), self.landing.lowest());
    }

    /// Sends all of this reactor's open stripes on their way.
    pub(crate) fn close_stripes(self: &Rc<Self>) {
        for lane in Lane::ALL {
            self.writer(lane).borrow_mut().close_stripe(self);
        }
    }

    /// Closes this reactor's open stripes of these lanes and waits until they, and all before them, are on the
    /// devices.
    pub(crate) async fn drain(self: &Rc<Self>, lanes: &[Lane]) {
        for &lane in lanes {
            self.writer(lane).borrow_mut().close_stripe(self);
        }
        self.until_landed(lanes).await;
    }

    /// Waits until all stripes of these lanes that this reactor has closed are on the devices.
    pub(crate) async fn until_landed(&self, lanes: &[Lane]) {
        let below = self.shared.stripes.next();
        self.postponed.wanted_below(below);
        self.landing.until_landed(lanes, below, &self.progress).await;
    }

    /// Whether clients write faster than devices flush, so that they have to wait. Sees to a flush then.
    pub(crate) fn must_flush_first(self: &Rc<Self>) -> bool {
        let full = self.unflushed.borrow_mut().is_full(self.shared.durable());
        if full {
            self.destage_later();
        }
        full
    }

    /// Sees to it that what is being written becomes durable soon, even if nobody ever flushes.
    pub(crate) fn destage_later(self: &Rc<Self>) {
        if self.destaging.replace(true) {
            return;
        }
        let reactor = self.clone();
        self.rt.spawn(async move {
            reactor.rt.sleep(DESTAGE_AFTER).await;
            reactor.destaging.set(false);
            if !reactor.shared.is_stopped() {
                reactor.destage().await;
                // Writers may have waited for it.
                reactor.progress.notify();
            }
        });
    }

    /// A segment of this reactor is sealed now: perhaps a victim.
    pub(crate) fn segment_sealed(&self) {
        if let Some(home) = &self.home {
            home.space_changed.notify();
        }
    }

    /// Members are awaited, are back or have left: whoever waits for that looks again.
    pub(crate) fn members_settled(&self) {
        self.answers.notify();
        self.progress.notify();
        self.postponed.look_again();
    }

    /// Takes a member out of service; the superblocks of the others will say so before the next flush is answered. Only the
    /// home reactor does this, so that nobody there finds the one done and the other not.
    pub(crate) fn take_out(&self, member: MemberIx, departure: Departure, why: &str) {
        // Read while it is in service: what later flushes make durable, it may not have. What has become smaller may since have grown
        // again, and holds zeros for what it held.
        let durable = if departure == Departure::Trouble(Trouble::Short) { 0 } else { self.shared.durable() };
        let (home, state) = (self.home(), &self.shared.members[member.index()]);
        if state.leave(departure, durable) {
            self.shared.log(format!("{} is out of service: {why}", state.name()));
            home.members_changed.notify();
        }
    }

    /// Ends this reactor's segments in a group; returns those that it had not begun.
    pub(crate) fn leave_group(self: &Rc<Self>, group: GroupId) -> Vec<Grant> {
        Lane::ALL.into_iter().filter_map(|lane| self.writer(lane).borrow_mut().leave(self, group)).collect()
    }

    /// Ends the segments of all lanes of this reactor.
    pub(crate) fn end_segments(self: &Rc<Self>) {
        for lane in Lane::ALL {
            self.writer(lane).borrow_mut().close_segments(self);
        }
    }

    /// Whether nothing more is to be begun: the array closes, or takes no writes any more.
    pub(crate) fn is_ending(&self) -> bool {
        self.shared.is_ending() || self.shared.is_stopped()
    }

    /// Waits until so many more bytes may be dealt with. All background work shares one pace.
    pub(crate) async fn throttle(&self, bytes: u64) {
        self.home().throttle.wait(&self.rt, self.shared.policies.background, &self.shared.clients, bytes).await;
    }
}
