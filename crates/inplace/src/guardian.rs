//! What becomes of members in trouble, as in the log-structured engine (docs/decisions/073-suspended-in-place.md): the others of the group
//! are asked for a small write; if the group can do without everybody who is in trouble, they leave and that is recorded; if
//! not, nobody leaves, nothing is recorded, and they are *awaited*. Who has left and is missing is asked too, and gets what the
//! write-intent log says it lacks.

use std::mem::discriminant;
use std::ops::Range;
use std::rc::{Rc, Weak};

use cygnus_engine::{Awaited, Found, Suspended, Trouble, change_member, inspect};
use cygnus_format::intent::blocks_for;
use cygnus_format::{INTENT_OFFSET, MAX_SEGMENTS, MemberState, PROBE_OFFSET, Superblock};
use cygnus_runtime::{DeviceWatch, Event, IoError, OpFuture, either};
use cygnus_types::{BLOCK, GroupId, MemberIx, Nanos};

use crate::core::Core;
use crate::device::Cache;
use crate::inner::Inner;

/// How often a member that is awaited is asked. Requests wait for it.
const ASK_AWAITED: Nanos = Nanos::secs(1);
/// The same for one that is missing, at first: to fill it costs something.
const ASK_MISSING: Nanos = Nanos::secs(2);
/// It is doubled each time that the member leaves again, but so many times at most: to a minute.
const DOUBLINGS: u32 = 5;
/// Errors that may pass do not when a member leaves because of them for this time in a session.
const ERRORS_LAST: u32 = 3;
/// How often to look whether a member has got what waits for it.
const LOOK: Nanos = Nanos::millis(10);
/// How long a closing array waits for members.
const CLOSING_WAITS: Nanos = Nanos::secs(10);

const _: () = {
    let log_ends = INTENT_OFFSET + blocks_for(MAX_SEGMENTS) as u64 * BLOCK as u64;
    assert!(log_ends <= PROBE_OFFSET, "what is written to see whether a device takes it spoils nothing");
};

/// What is to be done for a member.
enum Standing {
    /// It is in service and in trouble.
    InTrouble,
    /// It is missing, and its device is known.
    Missing,
    /// Nothing.
    Settled,
}

/// Whether the others of a group have what a member may have lost with its cache.
enum Others {
    /// It leaves, and comes back as one that is missing does: it gets everywhere what it may lack.
    Have,
    /// Some that have it do not answer: the member is awaited with them.
    MayHave,
    /// More may have lost theirs than the level survives: each block has what is left of it.
    Lack,
}

impl Inner {
    /// From now on a member in trouble does not leave by itself.
    pub(crate) fn begin_guardian(self: &Rc<Self>) {
        self.core().care.guarded.set(true);
        // There are no checksums: what was cut off must not come back as zeros.
        let in_service = (0..self.core().layout.devices()).filter(|&member| !self.core().is_failed(member));
        in_service.for_each(|member| self.rt.guard_length(self.core().device_ix(member)));
        let watch: Weak<dyn DeviceWatch> = Rc::<Core>::downgrade(self.core());
        self.rt.watch_devices(watch);
        let inner = self.clone();
        self.rt.spawn(async move {
            while !inner.guardian.borrow().ended {
                let changed = inner.care_changed().wait();
                inner.begin_care();
                changed.await;
            }
        });
    }

    pub(crate) fn end_guardian(&self) {
        self.guardian.borrow_mut().ended = true;
        self.care_changed().notify();
    }

    fn care_changed(&self) -> &Event {
        &self.core().care.changed
    }

    fn begin_care(self: &Rc<Self>) {
        for member in 0..self.core().layout.devices() {
            if matches!(self.standing(member), Standing::Settled)
                || self.guardian.borrow().doubted.contains_key(&member)
            {
                continue;
            }
            self.guardian.borrow_mut().doubted.insert(member, true);
            let inner = self.clone();
            self.rt.spawn(async move {
                inner.look_after(member).await;
                inner.guardian.borrow_mut().doubted.remove(&member);
                // Should it have changed at the last moment.
                inner.begin_care();
            });
        }
    }

    fn standing(&self, member: usize) -> Standing {
        let (core, device) = (self.core(), self.core().device(member));
        match () {
            () if self.guardian.borrow().ended => Standing::Settled,
            () if !core.is_failed(member) && device.trouble.get().is_some() => Standing::InTrouble,
            () if core.is_failed(member) && device.left_as.get() == Some(MemberState::Missing) => Standing::Missing,
            () => Standing::Settled,
        }
    }

    async fn look_after(self: &Rc<Self>, member: usize) {
        if matches!(self.standing(member), Standing::InTrouble) {
            self.ask_others(member).await;
        }
        self.guardian.borrow_mut().doubted.insert(member, false);
        self.judge(member, false);
        loop {
            match self.standing(member) {
                Standing::InTrouble => {
                    self.wait_with(member, ASK_AWAITED).await;
                    if matches!(self.standing(member), Standing::InTrouble) {
                        let last_chance = self.core().device(member).last_chance.get();
                        let back = self.gets_its_due(member).await;
                        self.judge(member, last_chance);
                        if back {
                            return;
                        }
                    }
                }
                Standing::Missing => {
                    self.wait_with(member, self.nap_of_missing(member)).await;
                    if matches!(self.standing(member), Standing::Missing) && !self.closing.get() {
                        self.ask_missing(member).await;
                    }
                }
                Standing::Settled => return,
            }
        }
    }

    fn nap_of_missing(&self, member: usize) -> Nanos {
        let times = self.guardian.borrow().departures.get(&member).copied().unwrap_or(0);
        ASK_MISSING * (1 << times.saturating_sub(1).min(DOUBLINGS))
    }

    /// Waits for so long, or until something has become of the member.
    async fn wait_with(&self, member: usize, span: Nanos) {
        let until = self.rt.now() + span;
        let before = discriminant(&self.standing(member));
        while self.rt.now() < until && discriminant(&self.standing(member)) == before {
            let changed = self.care_changed().wait();
            either(changed, self.rt.sleep_until(until)).await;
        }
    }

    /// The group of a member, and its members.
    fn group_of(&self, member: usize) -> (GroupId, Range<usize>) {
        let width = usize::from(self.ledger().state.borrow().geometry.width());
        let group = member / width;
        (GroupId(group as u16), group * width..(group + 1) * width)
    }

    fn probe_write(&self, member: usize) -> OpFuture {
        let mut zeros = self.rt.alloc(BLOCK);
        zeros.zero(0..BLOCK);
        self.rt.write(self.core().device_ix(member), PROBE_OFFSET, zeros.full())
    }

    /// Has every other member of a group take a write. Whoever does not is in trouble afterwards.
    async fn ask_others(&self, member: usize) {
        let core = self.core();
        let asked =
            |&other: &usize| other != member && !core.is_failed(other) && core.device(other).trouble.get().is_none();
        let writes: Vec<_> = self.group_of(member).1.filter(asked).map(|other| self.probe_write(other)).collect();
        for write in writes {
            // What it says has been noted.
            let _ = write.await;
        }
    }

    /// Decides what becomes of those in trouble in a member's group. With `had_chance` the member was asked when the others
    /// were back already.
    fn judge(self: &Rc<Self>, member: usize, had_chance: bool) {
        let (group, members) = self.group_of(member);
        let core = self.core();
        let in_trouble = |member: &usize| {
            let device = core.device(*member);
            !core.is_failed(*member) && (device.trouble.get().is_some() || device.awaited.get())
        };
        let mut concerned: Vec<usize> = members.clone().filter(in_trouble).collect();
        // As long as one of them is doubted, that one's judgement is still to come.
        if concerned.iter().any(|member| self.guardian.borrow().doubted.get(member).is_none_or(|&doubted| doubted)) {
            return core.care.changed.notify();
        }
        // Nobody counts on those that are being filled.
        let (filling, whole): (Vec<_>, Vec<_>) = concerned.drain(..).partition(|&member| !core.is_whole(member));
        filling.into_iter().for_each(|member| self.leave(member));
        let lacking = members.filter(|&member| !core.is_whole(member)).count();
        let parity = usize::from(self.ledger().state.borrow().geometry.parity);
        // Parity that was made of what is left of the others' caches does not give back what such a one holds.
        let is_needed = |&member: &usize| core.device(member).cache.get() == Cache::NobodyHas;
        let is_needed = !core.layout.is_mirrored() && whole.iter().any(is_needed);
        let expendable = lacking + whole.len() <= parity && !is_needed;
        // Whoever was awaited with others that are back is asked once more before it has to leave: it may be back as well.
        let stays = |&other: &usize| {
            let device = core.device(other);
            let may_be_back =
                device.awaited.get() && device.trouble.get().is_some() && !(had_chance && other == member);
            device.last_chance.set(expendable && may_be_back);
            !expendable || may_be_back
        };
        let (awaited, leaving): (Vec<_>, Vec<_>) = whole.into_iter().partition(stays);
        awaited.iter().for_each(|&member| core.device(member).awaited.set(true));
        leaving.into_iter().for_each(|member| self.leave(member));
        self.suspend(group, !awaited.is_empty());
        core.care.changed.notify();
    }

    /// A member that the group can do without leaves, and comes back another time.
    fn leave(self: &Rc<Self>, member: usize) {
        let core = self.core();
        let device = core.device(member);
        device.awaited.set(false);
        let Some(trouble) = device.trouble.get() else { return };
        let times = {
            let mut guardian = self.guardian.borrow_mut();
            let times = guardian.departures.entry(member).or_default();
            *times += 1;
            *times
        };
        let lasts = trouble == Trouble::Erring && times >= ERRORS_LAST;
        core.fail_as(core.slot(member), if lasts { Trouble::Failing } else { trouble });
        let core = core.clone();
        self.rt.spawn(async move {
            // Should it fail, whoever writes hears of it.
            let _ = core.settle().await;
        });
    }

    /// Notes whether a group waits for members, and lets everybody know.
    fn suspend(&self, group: GroupId, suspended: bool) {
        let (core, now) = (self.core(), self.rt.now());
        let was = core.care.suspended.borrow().get(&group).copied();
        match (was, suspended) {
            (None, true) => {
                core.care.suspended.borrow_mut().insert(group, now);
                let waits_for = self.publish_suspension();
                core.warn(&format!("{group} is suspended: it waits for {waits_for}; nothing is given up meanwhile"));
            }
            (Some(since), false) => {
                core.care.suspended.borrow_mut().remove(&group);
                self.publish_suspension();
                core.say(&format!("{group} goes on after {}", now.since(since)));
            }
            _ => drop(self.publish_suspension()),
        }
    }

    fn publish_suspension(&self) -> String {
        let core = self.core();
        let groups = core.care.suspended.borrow().clone();
        let awaited = |member: usize| {
            let device = core.device(member);
            let (name, trouble) = (device.name.borrow().clone(), device.trouble.get());
            let (group, member) = (self.group_of(member).0, MemberIx(member as u16));
            device.awaited.get().then_some(Awaited { member, group, name, trouble })
        };
        let awaited = (0..core.layout.devices()).filter_map(awaited).collect();
        let suspended = groups.values().min().map(|&since| Suspended { since, awaited });
        let words = suspended.as_ref().map_or_else(String::new, Suspended::words);
        core.care.waits_for.replace(suspended);
        words
    }

    /// Gives a member that answers again what waits for it; says whether it has taken it.
    async fn gets_its_due(self: &Rc<Self>, member: usize) -> bool {
        let core = self.core();
        let (device, slot) = (core.device(member), core.slot(member));
        if !self.is_itself_again(member).await || !matches!(self.standing(member), Standing::InTrouble) {
            return false;
        }
        if device.cache.get() != Cache::Sound {
            match self.who_has_what_it_lost(member) {
                Others::Have => {
                    self.leave(member);
                    return true;
                }
                Others::MayHave => return false,
                Others::Lack => {
                    device.cache.set(Cache::Sound);
                    self.resync_recent();
                }
            }
        }
        core.end_trouble(member);
        self.publish_suspension();
        while device.owed.get() > 0 && device.trouble.get().is_none() && !core.care.given_up.get() {
            self.rt.sleep(LOOK).await;
        }
        if device.trouble.get().is_none() && core.serves(slot) {
            let flushed = self.rt.flush(core.device_ix(member)).await;
            if flushed.is_ok() && device.trouble.get().is_none() {
                device.awaited.set(false);
                return true;
            }
        }
        self.publish_suspension();
        false
    }

    /// Who has what a member may have lost with its cache. A resync cannot know which of several copies is the newer one, and
    /// makes parity of whatever data there is: so the member is not to be read from before it got that from the others.
    fn who_has_what_it_lost(&self, member: usize) -> Others {
        let core = self.core();
        let members = || self.group_of(member).1;
        let in_doubt = |&of: &usize| core.device(of).cache.get() != Cache::Sound;
        let lost = members().filter(|of| !core.is_whole(*of) || in_doubt(of)).count();
        let silent = members().filter(|of| core.device(*of).trouble.get().is_some() && !in_doubt(of)).count();
        let parity = usize::from(self.ledger().state.borrow().geometry.parity);
        let nobody_has = lost > parity || core.device(member).cache.get() == Cache::NobodyHas;
        match () {
            // That stays so for those that come back later.
            () if nobody_has => {
                members().filter(in_doubt).for_each(|of| core.device(of).cache.set(Cache::NobodyHas));
                Others::Lack
            }
            () if lost + silent > parity => Others::MayHave,
            () => Others::Have,
        }
    }

    /// A member may have lost what was in its cache: copies and parity of what was written lately may not fit any more.
    fn resync_recent(&self) {
        if let Some(intent) = self.ledger().intent() {
            intent.doubt_all_set();
            self.changed.notify();
        }
    }

    /// Whether a member's device is idle, is the member that it was, and takes a write and a flush.
    async fn is_itself_again(&self, member: usize) -> bool {
        let device = self.core().device(member);
        if device.trouble.get() == Some(Trouble::Short) {
            return false;
        }
        let was_gone = device.trouble.get().is_some_and(Trouble::is_away);
        let known = device.generation.get();
        match self.superblock_if_idle(member, was_gone).await {
            Some(own) => own.generation >= known && self.takes_writes(member).await.is_ok(),
            None => false,
        }
    }

    /// What a member's device says that it is, if it is the member's; unless something submitted earlier is still on its way.
    /// With `anew` it is opened anew first.
    async fn superblock_if_idle(&self, member: usize, anew: bool) -> Option<Superblock> {
        let ix = self.core().device_ix(member);
        // What has hung may end at any time; what has failed has ended.
        if self.is_silent_or_away(member) && self.rt.in_flight(ix) > 0 || anew && self.rt.reopen(ix).await.is_err() {
            return None;
        }
        let device = self.devices.borrow()[member].clone()?;
        let Ok(Found::Member(own)) = inspect(&self.rt, &device).await else { return None };
        let state = self.ledger().state.borrow();
        let is_own = own.array == self.ledger().uuid
            && state.lists(MemberIx(member as u16), own.member_uuid)
            && own.state.session <= state.session;
        // A read that came too late is on its way itself.
        let idle = !self.is_silent_or_away(member) || self.rt.in_flight(ix) == 0;
        (is_own && idle).then_some(*own)
    }

    fn is_silent_or_away(&self, member: usize) -> bool {
        let core = self.core();
        core.is_failed(member) || core.device(member).trouble.get().is_some_and(|trouble| !trouble.is_readable())
    }

    async fn takes_writes(&self, member: usize) -> Result<(), IoError> {
        self.probe_write(member).await?;
        self.rt.flush(self.core().device_ix(member)).await.map(drop)
    }

    /// Lets a member that is missing come back, if its device is there: it gets what was written meanwhile.
    async fn ask_missing(self: &Rc<Self>, member: usize) {
        let core = self.core();
        if core.settle().await.is_err() {
            return;
        }
        let Some(own) = self.superblock_if_idle(member, true).await else { return };
        if self.takes_writes(member).await.is_err() {
            return;
        }
        let _alone = self.admin.take().await;
        let desc = self.ledger().state.borrow().members().nth(member).cloned();
        let Some(desc) = desc.filter(|desc| desc.state == MemberState::Missing) else { return };
        if !matches!(self.standing(member), Standing::Missing) || self.closing.get() {
            return;
        }
        // What it holds is what it held when it left, and the log has all that was written since, or nobody knows.
        let caught_up = core.device(member).in_log.get() && own.generation >= desc.holds.generation;
        let intent = self.ledger().intent().expect("without redundancy nobody leaves");
        let mut lacks = Vec::new();
        let ix = core.device_ix(member);
        let attach = || {
            lacks = if caught_up { intent.marked() } else { intent.all_regions() };
            core.attach(member, ix, 0, caught_up);
            let mut state = self.ledger().state.borrow_mut();
            let desc = state.groups.iter_mut().flat_map(|group| &mut group.members).nth(member);
            change_member(desc.expect("it is a member"), MemberState::Rebuilding);
        };
        if intent.store_on(core, ix, attach).await.is_ok() {
            core.say(&format!("{} is back, and gets what it lacks", core.device(member).name.borrow()));
            // Should it fail, whoever writes hears of it.
            let _ = self.commit().await;
            self.begin_fill(member, lacks);
        }
    }

    /// While the array closes: gives up waiting for members after a while.
    pub(crate) async fn close_without_members(self: Rc<Self>) {
        let begun = self.rt.now();
        while !self.guardian.borrow().ended {
            let changed = self.care_changed().wait();
            let since = self.core().care.suspended.borrow().values().min().copied();
            let Some(since) = since else {
                changed.await;
                continue;
            };
            let until = since.max(begun) + CLOSING_WAITS;
            if self.rt.now() >= until {
                self.core().care.given_up.set(true);
                return self.care_changed().notify();
            }
            either(changed, self.rt.sleep_until(until)).await;
        }
    }

    /// Why the array closes without members, if it does.
    pub(crate) fn given_up(&self) -> Option<String> {
        let care = &self.core().care;
        let waits_for = care.waits_for.borrow().as_ref().map_or_else(String::new, Suspended::words);
        care.given_up.get().then(|| {
            format!(
                "closed while it waited for {waits_for}: what was written since the last flush may not be durable. Nothing \
                 was recorded against them: the next opening recovers as after a crash, once they are there"
            )
        })
    }
}
