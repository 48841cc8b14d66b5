//! Members that are looked for while the array is served.
//!
//! The engine knows no paths. Whoever serves the array looks for members that were absent when it was opened, or gave no answer then
//! ([`Array::sought`]), where they were last seen, and shows what is there ([`Array::show`]). Members that left later the array asks itself,
//! by the paths that their devices have; whoever finds that one has come to another path says so ([`Array::goes_by`]). The array believes a device only if its superblock says that it is this very member, as it
//! was when it left or before, and if it takes a write and a flush. Then it is filled with what it lacks, as one that was away
//! during a session is ([`crate::care::guardian`]), and from then on that looks after it.

use std::rc::Rc;

use cygnus_format::{MemberDesc, MemberState, Superblock};
use cygnus_runtime::{DeviceInfo, DeviceIx, IoError};
use cygnus_types::{ByteSize, MemberIx, Uuid};
use thiserror::Error;

use crate::array::Array;
use crate::care::guardian::Guardian;
use crate::care::places::Returning;
use crate::care::seats::{Seats, Taken};
use crate::error::Stale;
use crate::reactor::Reactor;
use crate::recover::assemble::held_below;
use crate::work::Work;

/// A member that is looked for, and all that tells it from others.
#[derive(Clone, Debug)]
pub struct Sought {
    /// Which.
    pub member: MemberIx,
    /// The device that the array has open and asks itself, if it has one.
    pub device: Option<DeviceIx>,
    array: Uuid,
    desc: MemberDesc,
    /// Of the newest superblocks.
    generation: u64,
    /// The members in service.
    online: Vec<Uuid>,
}

/// Why a device that was shown is not let in.
#[derive(Debug, Error)]
pub enum NotLetIn {
    /// The member has a device, or its place is another one's, or nobody takes part again because the array ends.
    #[error("member {0} is not looked for")]
    NotSought(MemberIx),
    /// The device is a member already, or is being made ready for some use.
    #[error("{0} is in use")]
    InUse(String),
    /// Something asked of it earlier has not ended, or its superblock cannot be read.
    #[error("{0} gives no answer, or has no superblock that can be read")]
    Silent(String),
    /// It is not this member, or not one that can be believed.
    #[error("{device} {why}")]
    Stranger {
        /// The device.
        device: String,
        /// Why it is not believed.
        why: Disbelief,
    },
    /// It does not take a write, or a flush.
    #[error("{device} does not take a write: {error}")]
    Refuses {
        /// The device.
        device: String,
        /// What it said.
        error: IoError,
    },
}

/// Why a device is not believed to be the member that is looked for: a clause that goes on after the device's name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Disbelief {
    /// It is of another array.
    #[error("is of another array, {name:?} ({array})")]
    OtherArray {
        /// That array's name.
        name: String,
        /// Which.
        array: Uuid,
    },
    /// It has another identity.
    #[error("is another device of the array, and not its member {}", .0.0)]
    OtherDevice(MemberIx),
    /// It has become smaller.
    #[error("is {now}, was {was}: truncated")]
    Truncated {
        /// Its size.
        now: ByteSize,
        /// The member's size.
        was: ByteSize,
    },
    /// It has been written to in sessions that the array has not seen, or has alone begun one that the power ended. Only an opening, which
    /// sees the superblocks of all, tells which.
    #[error(
        "has a newer superblock than the array: it went on without the other members, or alone took what a power cut kept from them; stop \
         and start the array, which then takes it or says why not, or replace the member by it"
    )]
    Newer,
    /// What it holds is not of this array's history.
    #[error("is stale: {0}")]
    Stale(#[from] Stale),
}

impl Sought {
    /// Bytes of its device, in whole blocks.
    pub fn size(&self) -> u64 {
        self.desc.size_bytes
    }

    /// Whether a device of `size` bytes with this superblock is the member, and can be believed. If what it holds is older than
    /// what the member held when it left: the sequence below which it has every stripe.
    ///
    /// # Errors
    /// Why not.
    pub fn judge(&self, own: &Superblock, size: u64) -> Result<Option<u64>, Disbelief> {
        if own.array != self.array {
            return Err(Disbelief::OtherArray { name: own.state.name.clone(), array: own.array });
        }
        if own.member_uuid != self.desc.uuid {
            return Err(Disbelief::OtherDevice(self.member));
        }
        if size < self.desc.size_bytes {
            return Err(Disbelief::Truncated { now: ByteSize(size), was: ByteSize(self.desc.size_bytes) });
        }
        if own.generation > self.generation {
            return Err(Disbelief::Newer);
        }
        Ok(held_below(self.member, own, &self.desc, &self.online)?)
    }
}

impl Array {
    /// Members that are missing or awaited. Those recorded as failed are not among them: they are not believed until somebody says so.
    pub fn sought(&self) -> Vec<Sought> {
        let members = (0..self.reactor.shared.members.len()).map(|ix| MemberIx(ix as u16));
        members.filter_map(|member| sought_now(&self.reactor, member)).collect()
    }

    /// The device of a member that is looked for and that the array has open goes by another name. It is opened anew by that already
    /// ([`Sought::device`]); what it holds the array looks at itself.
    pub fn goes_by(&self, member: MemberIx, name: &str) {
        self.reactor.shared.members[member.index()].goes_by(name);
    }

    /// The device of a member that is looked for has been seen smaller than it was: when it has grown again, it gets everything anew.
    pub fn is_cut_short(&self, member: MemberIx) {
        let Some(sought) = unseen_now(&self.reactor, member) else { return };
        if sought.desc.state == MemberState::Missing && sought.desc.holds != sought.desc.holds.limited_to(Some(0)) {
            Seats::of(&self.reactor).change_desc(member, |desc| desc.holds = desc.holds.limited_to(Some(0)));
            self.reactor.shared.membership_changed();
            self.reactor.home().members_changed.notify();
        }
    }

    /// Shows a device that may be a member that is looked for and of which the array has none. If it is, it takes part again, and gets what it lacks. All
    /// reactors must have the device under its number.
    ///
    /// # Errors
    /// See [`NotLetIn`]; then nothing has changed, and it may be shown again.
    pub fn show<'a>(&'a self, member: MemberIx, device: &'a DeviceInfo) -> Work<'a, Result<(), NotLetIn>> {
        let (reactor, device) = (self.reactor.clone(), device.clone());
        // To its end, whatever becomes of the caller: what is on its way to the device is waited for.
        self.carry_out(async move { shown(reactor, member, device).await })
    }
}

/// The member, if it is looked for now.
fn sought_now(reactor: &Reactor, member: MemberIx) -> Option<Sought> {
    let (home, shared) = (reactor.home(), &reactor.shared.members[member.index()]);
    let desc = Seats::of(reactor).desc(member);
    let ends = reactor.shared.is_stopped() || reactor.shared.fault().is_some() || reactor.shared.is_ending();
    let has_left = home.state.borrow().has_left(member);
    let is_awaited = shared.device().is_some() && shared.trouble().is_some();
    let is_away = is_awaited || desc.state == MemberState::Missing && !has_left;
    let (array, generation, device) = (home.uuid, home.records.generation.get(), shared.known_device());
    let online = home.state.borrow().online().collect();
    let sought = Sought { member, device, array, desc, generation, online };
    (is_away && !ends && !Seats::of(reactor).arrives(member)).then_some(sought)
}

/// The same, if no device of it has been shown since the array was opened.
fn unseen_now(reactor: &Reactor, member: MemberIx) -> Option<Sought> {
    sought_now(reactor, member).filter(|sought| sought.device.is_none())
}

async fn shown(reactor: Rc<Reactor>, member: MemberIx, device: DeviceInfo) -> Result<(), NotLetIn> {
    let name = || device.name.clone();
    if unseen_now(&reactor, member).is_none() {
        return Err(NotLetIn::NotSought(member));
    }
    if Seats::of(&reactor).is_in_use(device.ix) {
        return Err(NotLetIn::InUse(name()));
    }
    let taken = Taken::new(&reactor, vec![device.ix]);
    let guardian = Guardian::of(&reactor);
    // Whatever is at its path now: something may have come there since it was opened.
    let own = guardian.superblock_if_idle(device.ix, true).await.ok_or_else(|| NotLetIn::Silent(name()))?;
    let sought = unseen_now(&reactor, member).ok_or(NotLetIn::NotSought(member))?;
    let judged = sought.judge(&own, device.size);
    judged.map_err(|why| NotLetIn::Stranger { device: name(), why })?;
    guardian.takes_writes(device.ix).await.map_err(|error| NotLetIn::Refuses { device: name(), error })?;
    // Meanwhile an operator may have been quicker, or the array has begun to close.
    let sought = unseen_now(&reactor, member).ok_or(NotLetIn::NotSought(member))?;
    let only_below = sought.judge(&own, device.size).map_err(|why| NotLetIn::Stranger { device: name(), why })?;
    drop(taken);
    reactor.home().places.arrivals.borrow_mut().push(Returning { member, device, only_below });
    reactor.home().members_changed.notify();
    Ok(())
}
