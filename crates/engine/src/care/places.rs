//! Devices that wait for a place in the array, and places that are being given: what is kept of them on the home reactor.

use std::cell::RefCell;
use std::collections::BTreeSet;

use cygnus_runtime::{Claim, DeviceInfo, DeviceIx};
use cygnus_types::{MemberIx, Uuid};

/// A device kept ready to take a lost member's place.
#[derive(Clone, Debug)]
pub(crate) struct Spare {
    pub uuid: Uuid,
    pub device: DeviceInfo,
}

/// A stale member.
#[derive(Clone, Debug)]
pub struct Returning {
    /// Which.
    pub member: MemberIx,
    /// Its device.
    pub device: DeviceInfo,
    /// It was the member's device, but is a copy from before the member left: it has what was durable by then, which is
    /// every stripe below this sequence.
    pub only_below: Option<u64>,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Places {
    /// What keeps others in this program from its devices while the array is open.
    pub claim: RefCell<Option<Claim>>,
    /// Devices kept ready for members that will be lost.
    pub spares: RefCell<Vec<Spare>>,
    /// Of these, those that are being made ready for the place of a member.
    pub promoted: RefCell<BTreeSet<Uuid>>,
    /// Stale members that are to be brought up to date.
    pub arrivals: RefCell<Vec<Returning>>,
    /// Members for whose place a device is being made ready.
    pub claimed: RefCell<BTreeSet<MemberIx>>,
    /// Devices that are being made ready for some use.
    pub taken: RefCell<BTreeSet<DeviceIx>>,
}
