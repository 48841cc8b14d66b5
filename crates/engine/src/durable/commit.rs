//! Writing the superblocks: the one place where the array's state changes durably as a whole.

use std::rc::Rc;

use cygnus_format::{ArrayState, GroupState, MemberState, SPARE, Superblock};
use cygnus_runtime::{DeviceIx, IoError};
use cygnus_types::{GroupId, MemberIx, Uuid};

use crate::care::member_state;
use crate::care::places::Spare;
use crate::care::seats::Seats;
use crate::fault::Fault;
use crate::reactor::Reactor;
use crate::recover::slots::{SlotError, write_superblocks};

/// Who holds a superblock of the array.
struct Holder {
    /// [`SPARE`] for one that is no member.
    member: MemberIx,
    uuid: Uuid,
    dev: DeviceIx,
}

/// Writes superblocks: see the module's text.
#[derive(Clone)]
pub(crate) struct Committer {
    reactor: Rc<Reactor>,
}

impl Committer {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Writes the present state to the superblocks of all members in service and makes it durable. Concurrent callers
    /// share a round, which goes on to its end whatever becomes of them. An error means that the state may or may not be
    /// what the next opening finds.
    pub(crate) async fn commit_state(&self) -> Result<(), Fault> {
        self.reactor.home().records.committing.next(&self.reactor.rt, || self.clone().commit_round()).await
    }

    /// The same for the last superblocks of a session, which say that the array was stopped cleanly. None follow them.
    pub(crate) async fn commit_clean(&self) -> Result<(), Fault> {
        self.reactor.home().records.ends.set(true);
        self.commit_state().await
    }

    async fn commit_round(self) -> Result<(), Fault> {
        let _step = self.reactor.shared.during("superblock");
        let home = self.reactor.home();
        while !home.records.ends.get() {
            if self.write_round().await? {
                return Ok(());
            }
        }
        if home.state.borrow().clean { Ok(()) } else { self.write_last_round().await }
    }

    /// Of an array that was stopped cleanly an opening takes a member that lacks more than the last superblock for an old
    /// copy. So all members in service have the one before it, and where the last one has to be repeated the mark goes first.
    async fn write_last_round(&self) -> Result<(), Fault> {
        let mark = |clean| self.reactor.home().state.borrow_mut().clean = clean;
        loop {
            self.until_all_are_on_record().await?;
            mark(true);
            let written = self.write_round().await;
            if !matches!(written, Ok(true)) {
                mark(false);
            }
            if written? {
                return Ok(());
            }
        }
    }

    /// Writes superblocks once; whether the present state is on record.
    async fn write_round(&self) -> Result<bool, Fault> {
        let answers = self.reactor.answers.wait();
        self.reactor.shared.check_fault()?;
        let membership = self.reactor.shared.membership();
        self.note_departures();
        self.note_errors();
        self.note_losses();
        self.write_superblocks().await?;
        if !self.is_on_record() {
            // A member in trouble leaves, or is back one day. One that was let in during this round gets the next.
            if self.in_service_behind().any(|member| self.is_in_trouble(member)) {
                answers.await;
            }
            return Ok(false);
        }
        self.reactor.home().records.recorded_membership.set(membership);
        // If another member left while we wrote, the others must know.
        Ok(self.reactor.shared.membership() == membership)
    }

    /// Whether no opening can miss the newest superblocks: of some group all who are in service have them, or more than may
    /// be lost.
    fn is_on_record(&self) -> bool {
        let layout = &self.reactor.shared.layout;
        let behind = self.reactor.home().records.behind.borrow();
        (0..layout.groups()).map(|group| GroupId(group as u16)).any(|group| {
            let members = (0..layout.width(group)).map(|column| self.reactor.shared.member(group, column));
            let in_service = members.filter(|(_, state)| state.device().is_some()).map(|(member, _)| member);
            let (lack, have): (Vec<_>, Vec<_>) = in_service.partition(|member| behind.contains_key(member));
            !have.is_empty() && (lack.is_empty() || have.len() > layout.shape(group).losses())
        })
    }

    /// Waits until every member in service has the newest superblocks.
    async fn until_all_are_on_record(&self) -> Result<(), Fault> {
        loop {
            let answers = self.reactor.answers.wait();
            self.reactor.shared.check_fault()?;
            match self.in_service_behind().next() {
                None => return Ok(()),
                // Who is in trouble leaves, or is back one day.
                Some(_) if self.in_service_behind().any(|member| self.is_in_trouble(member)) => answers.await,
                Some(_) => drop(self.write_round().await?),
            }
        }
    }

    /// Members in service that do not have the newest superblocks.
    fn in_service_behind(&self) -> impl Iterator<Item = MemberIx> {
        let behind: Vec<MemberIx> = self.reactor.home().records.behind.borrow().keys().copied().collect();
        behind.into_iter().filter(|member| self.reactor.shared.members[member.index()].device().is_some())
    }

    fn is_in_trouble(&self, member: MemberIx) -> bool {
        self.reactor.shared.members[member.index()].trouble().is_some()
    }

    /// Members that have left service since the last superblocks, or were not there when the array was opened.
    pub(crate) fn note_departures(&self) {
        let home = self.reactor.home();
        let mut state = home.state.borrow_mut();
        // The round before this one reached whoever was in service then; the present one may have failed because of it.
        let (generation, session) = (home.records.generation.get().saturating_sub(1), state.session);
        let members = state.groups.iter_mut().flat_map(|group| {
            let of = group.state;
            group.members.iter_mut().map(move |member| (of, member))
        });
        for (((group, desc), shared), ix) in members.zip(self.reactor.shared.members.iter()).zip(0..) {
            let was_in_service =
                group != GroupState::Retired && matches!(desc.state, MemberState::Online | MemberState::Rebuilding);
            let Some((to, below)) = shared.departed().filter(|_| was_in_service) else { continue };
            let got = self.reactor.home().records.is_not_behind(MemberIx(ix));
            member_state::depart(desc, to, below, got.map_or(generation, |got| got.min(generation)), session);
            self.reactor.shared.log(format!("{} is {}", shared.name(), to.word()));
            // Whoever is missing may come back.
            home.members_changed.notify();
        }
    }

    /// A checkpoint knows what is lost: from the next superblocks on the members that were re-admitted are online.
    pub(crate) fn record_readmitted(&self) {
        let readmitted = self.reactor.home().records.readmitted.take();
        let mut state = self.reactor.home().state.borrow_mut();
        let members = (0..).map(MemberIx).zip(state.groups.iter_mut().flat_map(|group| &mut group.members));
        for (_, desc) in members.filter(|(ix, _)| readmitted.contains(ix)) {
            if matches!(desc.state, MemberState::Missing | MemberState::Failed) {
                member_state::change(desc, MemberState::Rebuilding);
            }
            if desc.state == MemberState::Rebuilding {
                member_state::change(desc, MemberState::Online);
            }
        }
    }

    /// What went wrong with the members.
    fn note_errors(&self) {
        let mut state = self.reactor.home().state.borrow_mut();
        let members = state.groups.iter_mut().flat_map(|g| &mut g.members);
        for ((ix, desc), shared) in (0..).zip(members).zip(self.reactor.shared.members.iter()) {
            desc.errors = shared.errors(self.reactor.turned_slow(MemberIx(ix)));
        }
    }

    fn note_losses(&self) {
        let home = self.reactor.home();
        home.scrubs.note_losses(&mut home.state.borrow_mut().losses, &self.reactor.shared.totals);
    }

    async fn write_superblocks(&self) -> Result<(), Fault> {
        let home = self.reactor.home();
        let generation = home.records.generation.get() + 1;
        home.records.generation.set(generation);
        let state = home.state.borrow().clone();
        let newcomers = home.records.newcomers.take();
        let is_new = |holder: &Holder| newcomers.contains(&holder.uuid);
        let (new, others): (Vec<_>, Vec<_>) = self.superblock_holders(generation).into_iter().partition(is_new);
        // First those that have just become members or spares. Did others know of it before them, a crash in this write would
        // leave a place to a device that does not say that it has it; and one that was a spare, after another crash in the
        // next write, with a superblock so old that it passes for a copy from when it was no member.
        if let Err(why) = self.write_to(new, generation, &state).await {
            home.records.newcomers.borrow_mut().extend(newcomers);
            return Err(why);
        }
        let is_behind = |holder: &Holder| home.records.behind.borrow().contains_key(&holder.member);
        let (returning, others): (Vec<_>, Vec<_>) = others.into_iter().partition(is_behind);
        self.write_to(others, generation, &state).await?;
        // Last those that were away. Had they a superblock of a session in which no other one knows of them, they would pass for members
        // that went on without the others.
        self.write_to(returning, generation, &state).await
    }

    /// Writes a superblock to some of the holders.
    async fn write_to(&self, holders: Vec<Holder>, generation: u64, state: &ArrayState) -> Result<(), Fault> {
        let encode = |holder: &Holder| {
            let Holder { member, uuid: member_uuid, dev } = *holder;
            let (array, state) = (self.reactor.home().uuid, state.clone());
            let block = Superblock { generation, array, member, member_uuid, read_only: false, state };
            block.encode().map(|bytes| (dev, bytes)).map_err(|error| Fault(error.to_string()))
        };
        let superblocks = holders.iter().map(encode).collect::<Result<_, _>>()?;
        let written = write_superblocks(&self.reactor.rt, generation, superblocks).await;
        for (Holder { member, dev, .. }, written) in holders.into_iter().zip(written) {
            match written {
                Ok(()) => drop(self.reactor.home().records.is_not_behind(member)),
                Err(SlotError { doing, error, .. }) => self.not_taken(member, dev, generation, doing, error),
            }
        }
        Ok(())
    }

    /// Spares, and the members in service but for those in trouble, which fall behind.
    fn superblock_holders(&self, generation: u64) -> Vec<Holder> {
        let home = self.reactor.home();
        let state = home.state.borrow();
        let members = (0..).map(MemberIx).zip(state.members());
        let members = members.filter_map(|(member, desc)| {
            let dev = self.reactor.device_in_service(member)?;
            if self.reactor.shared.members[member.index()].trouble().is_some() {
                self.reactor.home().records.falls_behind(member, generation);
                return None;
            }
            Some(Holder { member, uuid: desc.uuid, dev })
        });
        let (spares, promoted) = (home.places.spares.borrow(), home.places.promoted.borrow());
        let spare = |spare: &Spare| Holder { member: SPARE, uuid: spare.uuid, dev: spare.device.ix };
        members.chain(spares.iter().filter(|spare| !promoted.contains(&spare.uuid)).map(spare)).collect()
    }

    fn not_taken(&self, member: MemberIx, dev: DeviceIx, generation: u64, doing: &str, error: IoError) {
        if member == SPARE {
            Seats::of(&self.reactor).spare_failed(dev, doing, error)
        } else {
            self.reactor.home().records.falls_behind(member, generation);
        }
    }
}
