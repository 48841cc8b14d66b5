//! What becomes of members in trouble: the one place that decides, on the home reactor.
//!
//! 1. Whoever is in trouble is *doubted* at first. Trouble often comes to several at once, and is noticed at different times:
//!    so each other member of the group is asked for a small write. Either it takes it, or it is in trouble too.
//! 2. Then the group is judged. If it can do without everybody who is in trouble, they leave service, which is recorded. If
//!    it cannot, nobody leaves and nothing is recorded: the group is suspended, and they are *awaited*.
//! 3. Who is awaited is asked time and again: once everything submitted earlier has ended, whether it is still this very
//!    member (its superblock says so) and takes a write and a flush. Then it gets what it is owed; and what it had taken
//!    before, and may have lost with its power, is looked for ([`crate::care::came_back`]). Only then does it count as back, and
//!    the others are judged anew.
//! 4. Who has left and is *missing* is asked in the same way, less and less often the more often it comes and goes, and is
//!    then filled with what it lacks ([`crate::care::rebuild`]).
//!
//! So a departure beyond redundancy is never recorded, whatever fails and in whatever order. Nothing is submitted to a device
//! anew while anything submitted earlier is on its way: a late write could land on what has been written since.

use std::fmt;
use std::rc::Rc;

use cygnus_format::{GroupState, MemberState, PROBE_OFFSET, Superblock};
use cygnus_runtime::{DeviceInfo, DeviceIx, IoError, either};
use cygnus_types::{BLOCK, GroupId, MemberIx, Nanos};

use crate::care::came_back::Inquiry;
use crate::care::member::Departure;
use crate::care::places::Returning;
use crate::care::seats::Seats;
use crate::care::suspension::{Awaited, Suspended};
use crate::care::trouble::Trouble;
use crate::care::watch::{ASK_AWAITED, Care};
use crate::durable::commit::Committer;
use crate::peers::{Answer, ToOwner};
use crate::reactor::Reactor;
use crate::recover::assemble::held_below;
use crate::recover::slots::superblock_of;

/// The same for one that is missing, at first: to fill it costs something, and a device that comes and goes is filled each
/// time.
const ASK_MISSING: Nanos = Nanos::secs(2);
/// It is doubled each time that the member leaves again, but so many times at most: to a minute.
const DOUBLINGS: u32 = 5;
/// Errors that may pass do not when a member leaves because of them for this time in a session.
const ERRORS_LAST: u32 = 3;
/// How often to look whether a member has got what it is owed.
const LOOK: Nanos = Nanos::millis(10);
/// How long a closing array waits for members.
const CLOSING_WAITS: Nanos = Nanos::secs(10);

/// What is to be done for a member.
enum Standing {
    /// It is in service and in trouble.
    InTrouble,
    /// It is missing, and its device is known.
    Missing(DeviceIx),
    /// Nothing.
    Settled,
}

/// Members in trouble without which a group cannot do, by name.
pub(crate) struct WaitsFor(Vec<(String, Trouble)>);

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.0.iter().map(|(name, trouble)| format!("{name} ({})", trouble.words()));
        f.write_str(&words.collect::<Vec<_>>().join(", "))
    }
}

/// Looks after members: see the module's text.
#[derive(Clone)]
pub(crate) struct Guardian {
    reactor: Rc<Reactor>,
}

impl Guardian {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// The guardian: looks after members from the beginning of the session until the array has ended.
    pub(crate) async fn run(self) {
        while !self.reactor.home().watch.ended.get() {
            let changed = self.reactor.home().members_changed.wait();
            self.begin_care();
            changed.await;
        }
    }

    /// Nobody is looked after any more.
    pub(crate) fn end_guardian(&self) {
        self.reactor.home().watch.ended.set(true);
        self.reactor.home().members_changed.notify();
        self.reactor.answers.notify();
    }

    fn begin_care(&self) {
        for member in (0..self.reactor.shared.members.len()).map(|ix| MemberIx(ix as u16)) {
            if matches!(self.standing_of(member), Standing::Settled)
                || self.reactor.home().watch.care.borrow().contains_key(&member)
            {
                continue;
            }
            self.reactor.home().watch.care.borrow_mut().insert(member, Care::Doubted);
            let guardian = self.clone();
            self.reactor.rt.spawn(async move {
                guardian.look_after(member).await;
                guardian.reactor.home().watch.care.borrow_mut().remove(&member);
                // Should it have changed at the last moment.
                guardian.begin_care();
            });
        }
    }

    fn standing_of(&self, member: MemberIx) -> Standing {
        let state = &self.reactor.shared.members[member.index()];
        match state.known_device() {
            _ if self.reactor.home().watch.ended.get() => Standing::Settled,
            Some(_) if state.device().is_some() && state.trouble().is_some() => Standing::InTrouble,
            Some(dev)
                if state.device().is_none() && Seats::of(&self.reactor).desc(member).state == MemberState::Missing =>
            {
                Standing::Missing(dev)
            }
            _ => Standing::Settled,
        }
    }

    async fn look_after(&self, member: MemberIx) {
        let (group, _) = self.reactor.shared.layout.column_of(member);
        if matches!(self.standing_of(member), Standing::InTrouble) {
            self.ask_others(member, group).await;
        }
        self.reactor.home().watch.care.borrow_mut().insert(member, Care::Judged);
        self.judge(group);
        loop {
            match self.standing_of(member) {
                Standing::InTrouble => {
                    self.wait_with(member, ASK_AWAITED).await;
                    if matches!(self.standing_of(member), Standing::InTrouble) {
                        let back = self.gets_its_due(member).await;
                        self.judge(group);
                        if back {
                            return;
                        }
                    }
                }
                Standing::Missing(dev) => {
                    let nap = self.nap_of_missing(member);
                    self.wait_with(member, nap).await;
                    if matches!(self.standing_of(member), Standing::Missing(_)) {
                        self.ask_missing(member, dev).await;
                    }
                }
                Standing::Settled => return,
            }
        }
    }

    /// After how long a member that is missing is asked next.
    fn nap_of_missing(&self, member: MemberIx) -> Nanos {
        let times = self.reactor.home().watch.departures.borrow().get(&member).copied().unwrap_or(0);
        ASK_MISSING * (1 << times.saturating_sub(1).min(DOUBLINGS))
    }

    /// Waits for so long, or until something has become of the member.
    async fn wait_with(&self, member: MemberIx, span: Nanos) {
        let until = self.reactor.rt.now() + span;
        let before = std::mem::discriminant(&self.standing_of(member));
        while self.reactor.rt.now() < until && std::mem::discriminant(&self.standing_of(member)) == before {
            let changed = self.reactor.home().members_changed.wait();
            either(changed, self.reactor.rt.sleep_until(until)).await;
        }
    }

    /// Has every other member of a group take a write. Whoever does not is in trouble afterwards.
    async fn ask_others(&self, member: MemberIx, group: GroupId) {
        let others = self.reactor.shared.layout.members_of(group).filter(|&other| other != member);
        let state = |other: MemberIx| &self.reactor.shared.members[other.index()];
        let asked = others.filter(|&other| state(other).trouble().is_none());
        let writes: Vec<_> = asked.filter_map(|other| state(other).device()).map(|dev| self.probe_write(dev)).collect();
        for write in writes {
            // What it says has been noted.
            let _ = write.await;
        }
    }

    /// A write to a device where it does no harm.
    fn probe_write(&self, dev: DeviceIx) -> cygnus_runtime::OpFuture {
        let buf = self.reactor.rt.alloc(BLOCK).full();
        buf.zero(0..BLOCK);
        self.reactor.rt.write(dev, PROBE_OFFSET, buf)
    }

    /// Decides about the members of a group that are in trouble.
    pub(crate) fn judge(&self, group: GroupId) {
        let shared = &self.reactor.shared;
        let (mut doubted, mut concerned) = (false, Vec::new());
        for member in shared.layout.members_of(group) {
            let state = &shared.members[member.index()];
            let care = self.reactor.home().watch.care.borrow().get(&member).copied();
            // One that is just getting what it is owed is not back yet.
            let in_trouble = state.trouble().is_some() || state.is_awaited();
            match in_trouble && state.device().is_some() {
                // Nobody relies on it.
                true if state.is_filling() => self.leave(member),
                true => {
                    doubted |= care != Some(Care::Judged);
                    concerned.push(member);
                }
                false => {}
            }
        }
        // As long as one of them is doubted, that one's judgement is still to come.
        if !doubted {
            let lacking = shared.lacking_in(group);
            if lacking + concerned.len() <= shared.layout.shape(group).losses() {
                concerned.drain(..).for_each(|member| self.leave(member));
            }
            let suspended = !concerned.is_empty() && shared.group_state(group) != GroupState::Retired;
            self.suspend(group, suspended, &concerned);
        }
        self.tell_everybody();
    }

    /// A member that the group can do without leaves, and comes back another time.
    fn leave(&self, member: MemberIx) {
        let state = &self.reactor.shared.members[member.index()];
        // One that answers again stays, and is given what it lost: the others have it.
        let Some(trouble) = state.trouble() else { return };
        let times = {
            let mut departures = self.reactor.home().watch.departures.borrow_mut();
            let times = departures.entry(member).or_default();
            *times += 1;
            *times
        };
        let lasts = trouble == Trouble::Erring && times >= ERRORS_LAST;
        let trouble = if lasts { Trouble::Failing } else { trouble };
        self.reactor.take_out(member, Departure::Trouble(trouble), &state.why());
        let guardian = self.clone();
        self.reactor.rt.spawn(async move {
            if guardian.reactor.shared.membership() != guardian.reactor.home().records.recorded_membership.get() {
                // Should it fail, a flush says so.
                let _ = Committer::of(&guardian.reactor).commit_state().await;
            }
        });
    }

    /// Notes whether a group waits for members.
    fn suspend(&self, group: GroupId, suspended: bool, concerned: &[MemberIx]) {
        let (shared, home) = (&self.reactor.shared, self.reactor.home());
        let now = self.reactor.rt.now();
        for &member in concerned {
            shared.members[member.index()].set_awaited(suspended);
        }
        let was = home.watch.suspended.borrow().get(&group).copied();
        match (was, suspended) {
            (None, true) => {
                home.watch.suspended.borrow_mut().insert(group, now);
                self.publish_suspension();
                let waits_for = self.reactor.shared.suspension.get().map_or_else(String::new, |all| all.words());
                shared.warn(format!("{group} is suspended: it waits for {waits_for}; nothing is given up meanwhile"));
            }
            (Some(since), false) => {
                home.watch.suspended.borrow_mut().remove(&group);
                self.publish_suspension();
                shared.log(format!("{group} goes on after {}", now.since(since)));
            }
            _ => self.publish_suspension(),
        }
    }

    /// Lets everybody know for whom the array waits.
    fn publish_suspension(&self) {
        let (shared, groups) = (&self.reactor.shared, self.reactor.home().watch.suspended.borrow().clone());
        let awaited = |group: GroupId| {
            let columns = 0..shared.layout.width(group);
            columns
                .map(move |column| shared.member(group, column))
                .filter(|(_, state)| state.is_awaited())
                .map(move |(member, state)| Awaited { member, group, name: state.name(), trouble: state.trouble() })
        };
        let since = groups.values().min().copied();
        let suspended =
            since.map(|since| Suspended { since, awaited: groups.keys().copied().flat_map(awaited).collect() });
        shared.suspension.set(suspended);
    }

    fn tell_everybody(&self) {
        self.reactor.peers.tell_others(&self.reactor.rt, || ToOwner::MembersSettled);
        self.reactor.members_settled();
        self.reactor.home().members_changed.notify();
    }

    /// Gives a member that answers again what it is owed; says whether it has taken it.
    async fn gets_its_due(&self, member: MemberIx) -> bool {
        let state = &self.reactor.shared.members[member.index()];
        let Some(dev) = state.device() else { return false };
        if !self.is_itself_again(member, dev).await || !matches!(self.standing_of(member), Standing::InTrouble) {
            return false;
        }
        // What is closed later is written to it later. Until it is known to have all the rest, it does not count as back.
        let below = self.reactor.shared.stripes.next();
        state.set_awaited(true);
        state.end_trouble();
        self.tell_everybody();
        while state.owed() > 0 && state.trouble().is_none() && self.reactor.shared.fault().is_none() {
            self.reactor.rt.sleep(LOOK).await;
        }
        if Inquiry::of(&self.reactor).has_all_it_took(member, below).await && state.trouble().is_none() {
            state.set_awaited(false);
            // What could not be read while the way to it was lost says nothing of its medium.
            state.forget_read_errors();
            return true;
        }
        self.publish_suspension();
        false
    }

    /// Whether a device is idle, is the member that it was, and takes a write and a flush.
    async fn is_itself_again(&self, member: MemberIx, dev: DeviceIx) -> bool {
        let known = self.reactor.home().records.behind.borrow().get(&member).copied();
        let known = known.unwrap_or_else(|| self.reactor.home().records.generation.get());
        let was_gone = self.reactor.shared.members[member.index()].trouble().is_some_and(Trouble::is_away);
        match self.superblock_if_idle(dev, was_gone).await {
            Some(own) => self.is_own(member, &own) && own.generation >= known && self.takes_writes(dev).await.is_ok(),
            None => false,
        }
    }

    fn is_own(&self, member: MemberIx, own: &Superblock) -> bool {
        own.array == self.reactor.home().uuid
            && own.member_uuid == Seats::of(&self.reactor).desc(member).uuid
            && own.state.session <= self.reactor.shared.session
    }

    /// What a device says that it is, unless something submitted earlier may still change it. With `anew` it is opened anew
    /// first.
    pub(crate) async fn superblock_if_idle(&self, dev: DeviceIx, anew: bool) -> Option<Superblock> {
        if !self.is_idle(dev).await || anew && !self.reopen_everywhere(dev).await {
            return None;
        }
        superblock_of(&self.reactor.rt, dev).await
    }

    /// Whether no reactor has anything on its way to a device that may change what it holds. Reads do not matter: they may be
    /// those of other members that are looked at and need what this one has.
    pub(crate) async fn is_idle(&self, dev: DeviceIx) -> bool {
        let of_others =
            self.reactor.peers.answers_of_others(&self.reactor.rt, |ticket| ToOwner::InFlight { ticket, dev }).await;
        self.reactor.rt.changes_in_flight(dev) == 0 && of_others.into_iter().map(Answer::count).all(|count| count == 0)
    }

    async fn reopen_everywhere(&self, dev: DeviceIx) -> bool {
        if self.reactor.rt.reopen(dev).await.is_err() {
            return false;
        }
        let of_others =
            self.reactor.peers.answers_of_others(&self.reactor.rt, |ticket| ToOwner::Reopen { ticket, dev }).await;
        of_others.into_iter().map(Answer::count).all(|reopened| reopened == 1)
    }

    pub(crate) async fn takes_writes(&self, dev: DeviceIx) -> Result<(), IoError> {
        self.probe_write(dev).await?;
        self.reactor.rt.flush(dev).await.map(drop)
    }

    /// Lets a member that is missing come back, if its device is there.
    async fn ask_missing(&self, member: MemberIx, dev: DeviceIx) {
        // One that has been found is not asked again while the rebuilder is busy elsewhere: nothing may be on its way to it
        // when it is let in.
        if self.reactor.shared.is_stopped()
            || self.reactor.shared.is_ending()
            || Seats::of(&self.reactor).arrives(member)
        {
            return;
        }
        // Opened anew whatever it left for: since then it may have gone, or come back smaller.
        let own = self.superblock_if_idle(dev, true).await;
        let Some(own) = own.filter(|own| self.is_own(member, own)) else { return };
        let desc = Seats::of(&self.reactor).desc(member);
        let online: Vec<_> = self.reactor.home().state.borrow().online().collect();
        let Ok(only_below) = held_below(member, &own, &desc, &online) else { return };
        if self.takes_writes(dev).await.is_err() || !matches!(self.standing_of(member), Standing::Missing(_)) {
            return;
        }
        let name = self.reactor.shared.members[member.index()].name();
        let device = DeviceInfo { ix: dev, name, size: desc.size_bytes, logical_block: BLOCK as u32 };
        self.reactor.home().places.arrivals.borrow_mut().push(Returning { member, device, only_below });
        self.reactor.home().members_changed.notify();
    }

    /// Whether nobody of a group has done anything wrong that is still to be judged, as an opening that has read from it wants
    /// to know; those that it can do without leave.
    ///
    /// # Errors
    /// For whom it would have to wait.
    pub(crate) fn settle_before_session(&self, group: GroupId) -> Result<(), WaitsFor> {
        let shared = &self.reactor.shared;
        let columns = 0..shared.layout.width(group);
        let troubled: Vec<(MemberIx, Trouble)> = columns
            .map(|column| shared.member(group, column))
            .filter_map(|(member, state)| Some((member, state.trouble().filter(|_| state.device().is_some())?)))
            .collect();
        let of = |member: MemberIx| &shared.members[member.index()];
        if shared.lacking_in(group) + troubled.len() > shared.layout.shape(group).losses() && !troubled.is_empty() {
            return Err(WaitsFor(troubled.iter().map(|&(member, trouble)| (of(member).name(), trouble)).collect()));
        }
        for (member, trouble) in troubled {
            self.reactor.take_out(member, Departure::Trouble(trouble), &of(member).why());
        }
        Ok(())
    }

    /// While the array closes: gives up waiting for members after a while.
    pub(crate) async fn close_without_members(self) {
        let (home, begun) = (self.reactor.home(), self.reactor.rt.now());
        while !home.watch.ended.get() {
            let changed = self.reactor.answers.wait();
            let suspended = home.watch.suspended.borrow().values().min().copied();
            let Some(since) = suspended else {
                changed.await;
                continue;
            };
            let until = since.max(begun) + CLOSING_WAITS;
            if self.reactor.rt.now() >= until {
                return self.give_up_waiting();
            }
            either(changed, self.reactor.rt.sleep_until(until)).await;
        }
    }

    /// Ends all waiting for members. What was acknowledged and is not on the devices is lost with the memory that holds it.
    fn give_up_waiting(&self) {
        let waits_for = self.reactor.shared.suspension.get().map_or_else(String::new, |all| all.words());
        let stripes = self.reactor.shared.stripes.next() - self.reactor.shared.durable();
        let why = format!(
            "closed while it waited for {waits_for}: what was acknowledged since the last flush, up to {stripes} stripes, \
             may not be durable. Nothing was recorded against them: the next opening recovers as after a crash, once they \
             are there"
        );
        self.reactor.shared.log(&why);
        self.reactor.home().watch.given_up.replace(Some(why.clone()));
        self.reactor.shared.set_fault(why);
        self.tell_everybody();
        self.reactor.home().space_changed.notify();
    }
}
