//! Another device in the place of a member.

use cygnus_engine::{
    ArrayError, Found, MemberError, Work, change_member, inspect, random_uuid, refuse_in_order, refuse_used, wipe,
};
use cygnus_format::{MemberState, Superblock};
use cygnus_runtime::DeviceInfo;
use cygnus_types::{ByteSize, GroupId, MemberIx};

use crate::array::Array;
use crate::inner::{Inner, faulted};

impl Array {
    /// Puts `device` into the place of a member and begins to fill it; returns the number of the job.
    ///
    /// With `force` the device may hold something, which is lost, and the member may still be in service: then there is
    /// less redundancy until the job has ended.
    ///
    /// # Errors
    /// See [`MemberError`]; then nothing has changed.
    pub fn replace_member<'a>(
        &'a self,
        member: MemberIx,
        device: &'a DeviceInfo,
        force: bool,
    ) -> Work<'a, Result<u64, MemberError>> {
        let (array, device) = (self.clone(), device.clone());
        self.carry_out(async move {
            let inner = &array.0;
            let _alone = inner.admin.take().await;
            inner.check_candidate(member, &device)?;
            if !force && !inner.was_its_own(member, &device).await? {
                refuse_used(&inner.rt, std::slice::from_ref(&device)).await?;
            }
            inner.is_in_the_way(member, force)?;
            // Before the member goes: a device that cannot be written to costs no redundancy then.
            wipe(&inner.rt, &device).await?;
            let (core, ix) = (inner.core(), member.index());
            if inner.is_in_the_way(member, force)? {
                core.fail(core.slot(ix));
            }
            core.settle().await.map_err(faulted)?;
            let attach = || {
                core.attach(ix, device.ix, 0, false);
                core.device(ix).name.borrow_mut().clone_from(&device.name);
                inner.devices.borrow_mut()[ix] = Some(device.clone());
                let mut state = inner.ledger().state.borrow_mut();
                let desc = state.groups.iter_mut().flat_map(|group| &mut group.members).nth(ix);
                let desc = desc.expect("the member was checked");
                change_member(desc, MemberState::Rebuilding);
                desc.uuid = random_uuid(&inner.rt);
                desc.size_bytes = device.size;
            };
            let intent = inner.ledger().intent().expect("a level without redundancy was refused");
            let io = |error| ArrayError::Io { device: device.name.clone(), offset: 0, error };
            intent.store_on(core, device.ix, attach).await.map_err(io)?;
            inner.commit().await?;
            Ok(inner.begin_fill(ix, intent.all_regions()))
        })
    }
}

impl Inner {
    fn check_candidate(&self, member: MemberIx, device: &DeviceInfo) -> Result<(), MemberError> {
        let core = self.core();
        let invalid = |why: String| MemberError::Array(ArrayError::Invalid(why));
        if member.index() >= core.layout.devices() {
            return Err(invalid(format!("there is no member {}: the array has {}", member.0, core.layout.devices())));
        }
        if core.layout.survives() == 0 {
            return Err(invalid("raid0 has no redundancy: what a member held cannot be made anew".into()));
        }
        let in_use = (0..core.layout.devices()).any(|ix| !core.is_failed(ix) && core.device_ix(ix) == device.ix);
        if in_use {
            return Err(MemberError::InService(device.name.clone()));
        }
        if !core.is_failed(member.index()) && !core.is_whole(member.index()) {
            return Err(MemberError::Rebuilding(self.device_name(member.index())));
        }
        let state = self.ledger().state.borrow();
        let need = ByteSize(state.geometry.device_offset(state.groups[0].segments(), 0));
        if device.size < need.0 {
            let (device, size) = (device.name.clone(), ByteSize(device.size));
            return Err(ArrayError::TooSmall { device, size, need }.into());
        }
        Ok(refuse_in_order(&self.rt, std::slice::from_ref(device))?)
    }

    /// Whether a device is the member itself, come back.
    async fn was_its_own(&self, member: MemberIx, device: &DeviceInfo) -> Result<bool, ArrayError> {
        let is_it = |own: &Superblock| {
            let state = self.ledger().state.borrow();
            own.array == self.ledger().uuid && state.lists(member, own.member_uuid)
        };
        Ok(matches!(inspect(&self.rt, device).await?, Found::Member(own) if is_it(&own)))
    }

    /// Whether the member has to be taken out of service first, and may be.
    fn is_in_the_way(&self, member: MemberIx, force: bool) -> Result<bool, MemberError> {
        let (core, ix) = (self.core(), member.index());
        if core.is_failed(ix) {
            return Ok(false);
        }
        let device = self.device_name(member.index());
        if !force {
            return Err(MemberError::StillOnline(device));
        }
        // Who is in trouble may be back in a moment, or never.
        let is_well = |other: usize| core.is_whole(other) && core.device(other).trouble.get().is_none();
        let whole = |other: &usize| *other != ix && is_well(*other);
        let expendable = match core.layout.is_mirrored() {
            true => core.layout.peers(ix).any(|peer| whole(&peer)),
            false => (0..core.layout.devices()).filter(whole).count() >= core.layout.data_columns(),
        };
        if !expendable {
            let width = usize::from(self.ledger().state.borrow().geometry.width());
            return Err(MemberError::LastCopy { device, group: GroupId((ix / width) as u16) });
        }
        Ok(true)
    }
}
