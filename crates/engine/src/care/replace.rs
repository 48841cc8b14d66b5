//! What an operator may ask for about members: another device in the place of one, and spares.

use cygnus_format::{Holdings, MAX_SPARES, MemberState, SPARE, SpareDesc};
use cygnus_runtime::DeviceInfo;
use cygnus_types::{ByteSize, MemberIx, Uuid};

use crate::array::Array;
use crate::care::guardian::Guardian;
use crate::care::member::Departure;
use crate::care::membership::{Candidate, Membership};
use crate::care::places::Spare;
use crate::care::prepare::Preparer;
use crate::care::seats::{Claim, Seats, Taken};
use crate::durable::commit::Committer;
use crate::error::{ArrayError, MemberError};
use crate::recover::assemble::{Found, held_below, inspect};
use crate::recover::slots::write_empty;
use crate::recover::zones::check_zones;
use crate::work::Work;

impl Array {
    /// Puts `device` into the place of a member and begins to fill it; returns the number of the job. Of the member's
    /// own device, come back, only what it lacks is restored. All reactors must have the device under its number.
    ///
    /// With `force` the device may hold something, which is lost, and the member may still be online: then its group
    /// has less redundancy until the job has ended.
    ///
    /// # Errors
    /// See [`MemberError`]; then nothing has changed.
    pub fn replace<'a>(
        &'a self,
        member: MemberIx,
        device: &'a DeviceInfo,
        force: bool,
    ) -> Work<'a, Result<u64, MemberError>> {
        let (array, device) = (self.clone(), device.clone());
        self.carry_out(async move {
            let reactor = &array.reactor;
            if reactor.home().state.borrow().has_left(member) {
                return Err(MemberError::Left(member));
            }
            array.check_candidate(&device, Seats::of(reactor).bytes_needed(member))?;
            let _taken = Taken::new(reactor, vec![device.ix]);
            let rebuilding = || MemberError::Rebuilding(reactor.shared.members[member.index()].name());
            let _claim = Claim::new(reactor, member).ok_or_else(rebuilding)?;
            if !Guardian::of(reactor).is_idle(device.ix).await {
                let why = format!("{} has not ended what was asked of it earlier: try again when it has", device.name);
                return Err(ArrayError::Invalid(why).into());
            }
            let own = array.own_holdings(member, &device).await?;
            if own.is_none() && !force {
                array.refuse_used(&device).await?;
            }
            array.is_in_the_way(member, force)?;
            let candidate = match own {
                Some(holds) => Candidate { device: device.clone(), new_uuid: None, holds },
                None => {
                    // Before the member goes: a device that cannot be written to costs no redundancy then.
                    let (group, _) = reactor.shared.layout.column_of(member);
                    let io = |error| ArrayError::Io { device: device.name.clone(), offset: 0, error };
                    Preparer::of(reactor).prepare(reactor.shared.layout.segments(group), &device).await.map_err(io)?;
                    Candidate { device: device.clone(), new_uuid: Some(array.new_uuid()), holds: Holdings::default() }
                }
            };
            if array.is_in_the_way(member, force)? {
                reactor.take_out(member, Departure::Dismissed, "it is being replaced");
            }
            Committer::of(reactor).commit_state().await?;
            Ok(Membership::of(reactor).begin_fill(member, candidate))
        })
    }

    /// Keeps `device` ready to take a lost member's place; if one is lost already, it does so at once.
    ///
    /// # Errors
    /// See [`MemberError`]; then nothing has changed.
    pub fn add_spare<'a>(&'a self, device: &'a DeviceInfo, force: bool) -> Work<'a, Result<(), MemberError>> {
        let (array, device) = (self.clone(), device.clone());
        self.carry_out(async move {
            let reactor = &array.reactor;
            let home = reactor.home();
            // What has left needs no device any more.
            let members = (0..reactor.shared.members.len()).map(|ix| MemberIx(ix as u16));
            let members = members.filter(|&member| !home.state.borrow().has_left(member));
            let least = members.map(|member| Seats::of(reactor).bytes_needed(member)).min();
            array.check_candidate(&device, least.expect("an array has members"))?;
            let _taken = Taken::new(reactor, vec![device.ix]);
            let own = array.missed_spare(&device).await?;
            if own.is_none() && !force {
                array.refuse_used(&device).await?;
            }
            write_empty(&reactor.rt, device.ix).await.map_err(|error| error.of(&device.name))?;
            let is_full = || home.state.borrow().spares.len() >= MAX_SPARES;
            if own.is_none() && is_full() {
                return Err(MemberError::TooManySpares);
            }
            let uuid = own.unwrap_or_else(|| array.new_uuid());
            {
                let spares = &mut home.state.borrow_mut().spares;
                spares.retain(|listed| listed.uuid != uuid);
                spares.push(SpareDesc { uuid, size_bytes: device.size });
            }
            home.places.spares.borrow_mut().push(Spare { uuid, device: device.clone() });
            home.records.newcomers.borrow_mut().push(uuid);
            Committer::of(reactor).commit_state().await?;
            reactor.shared.log(format!("{} is a spare", device.name));
            home.members_changed.notify();
            Ok(())
        })
    }

    /// Lets go of a spare, by its name or UUID. The device forgets that it was one.
    ///
    /// # Errors
    /// See [`MemberError`]; then nothing has changed.
    pub fn remove_spare<'a>(&'a self, name: &'a str) -> Work<'a, Result<(), MemberError>> {
        let (array, name) = (self.clone(), name.to_owned());
        self.carry_out(async move {
            let home = array.reactor.home();
            let present = home
                .places
                .spares
                .borrow()
                .iter()
                .find(|s| s.device.name == name || s.uuid.to_string() == name)
                .cloned();
            let listed = home.state.borrow().spares.iter().find(|s| s.uuid.to_string() == name).map(|s| s.uuid);
            let Some(uuid) = present.as_ref().map(|spare| spare.uuid).or(listed) else {
                return Err(MemberError::NoSpare(name));
            };
            if Seats::of(&array.reactor).is_promoted(uuid) {
                return Err(MemberError::Rebuilding(name));
            }
            if let Some(member) = Seats::of(&array.reactor).takes_over_from(uuid) {
                let member = array.reactor.shared.members[member.index()].name();
                return Err(MemberError::Successor { spare: name, member });
            }
            Seats::of(&array.reactor).forget_spare(uuid);
            Committer::of(&array.reactor).commit_state().await?;
            if let Some(spare) = present {
                crate::recover::create::wipe(&array.reactor.rt, &spare.device).await?;
            }
            Ok(())
        })
    }

    fn new_uuid(&self) -> Uuid {
        Uuid::from_random(self.reactor.rt.rng_u64(), self.reactor.rt.rng_u64())
    }

    fn check_candidate(&self, device: &DeviceInfo, need: u64) -> Result<(), MemberError> {
        let reactor = &self.reactor;
        reactor.shared.check_fault()?;
        if device.size < need {
            let (device, size, need) = (device.name.clone(), ByteSize(device.size), ByteSize(need));
            return Err(ArrayError::TooSmall { device, size, need }.into());
        }
        check_zones(&reactor.rt, std::slice::from_ref(device), reactor.shared.layout.geometry())?;
        if Seats::of(reactor).is_in_use(device.ix) {
            return Err(MemberError::InService(device.name.clone()));
        }
        Ok(())
    }

    async fn refuse_used(&self, device: &DeviceInfo) -> Result<(), MemberError> {
        crate::recover::create::refuse_used(&self.reactor.rt, std::slice::from_ref(device))
            .await
            .map_err(MemberError::from)
    }

    /// What the member's own device has, if `device` is that.
    async fn own_holdings(&self, member: MemberIx, device: &DeviceInfo) -> Result<Option<Holdings>, MemberError> {
        let Found::Member(own) = inspect(&self.reactor.rt, device).await? else { return Ok(None) };
        let desc = Seats::of(&self.reactor).desc(member);
        if own.array != self.reactor.home().uuid || own.member_uuid != desc.uuid || desc.state == MemberState::Online {
            return Ok(None);
        }
        // What does not belong to our history counts as something foreign.
        let online: Vec<Uuid> = self.reactor.home().state.borrow().online().collect();
        Ok(held_below(member, &own, &desc, &online).ok().map(|only_below| desc.holds.limited_to(only_below)))
    }

    /// As which spare a device is missed, if it is one whose device had failed, or was not there when the array was opened.
    async fn missed_spare(&self, device: &DeviceInfo) -> Result<Option<Uuid>, MemberError> {
        let Found::Member(own) = inspect(&self.reactor.rt, device).await? else { return Ok(None) };
        let (home, uuid) = (self.reactor.home(), own.member_uuid);
        let is_listed = own.array == home.uuid && own.member == SPARE && home.state.borrow().lists(SPARE, uuid);
        let is_here = home.places.spares.borrow().iter().any(|spare| spare.uuid == uuid);
        Ok((is_listed && !is_here).then_some(uuid))
    }

    /// Whether a member whose place is wanted has to be taken out of service first, and may be.
    fn is_in_the_way(&self, member: MemberIx, force: bool) -> Result<bool, MemberError> {
        let shared = &self.reactor.shared;
        let state = &shared.members[member.index()];
        if state.device().is_none() {
            return Ok(false);
        }
        let (group, _) = shared.layout.column_of(member);
        let losses = shared.layout.shape(group).losses();
        if shared.lacking_in(group) + self.reactor.troubled_in(group) + 1 > losses {
            return Err(MemberError::LastCopy { device: state.name(), group });
        }
        if !force {
            return Err(MemberError::StillOnline(state.name()));
        }
        Ok(true)
    }
}
