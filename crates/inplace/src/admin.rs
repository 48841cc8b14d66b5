//! Volumes come, change their size, and go.
//!
//! A volume is thick: it has its space, in one piece, from its creation on. Space that belonged to a volume before is
//! zeroed before it belongs to another one.

use std::rc::Rc;

use cygnus_engine::{ArrayError, VolumeAdminError, Work};
use cygnus_format::{MAX_VOLUME_NAME, MAX_VOLUMES, VolumeDesc, valid_name};
use cygnus_types::{Acknowledged, BLOCK, ByteSize, Constraint, Paging, VolumeId};

use crate::array::Array;
use crate::inner::{Inner, faulted};
use crate::volume::Volume;
use crate::volume_state::VolumeState;

const MIB: u64 = 1 << 20;

impl Inner {
    /// MiB of the array's space.
    pub(crate) fn space_mib(&self) -> u64 {
        self.raid.size() / MIB
    }

    /// Volumes as (first MiB, MiB behind the last), in order.
    fn taken(&self) -> Vec<(u64, u64)> {
        let state = self.ledger().state.borrow();
        let span = |desc: &VolumeDesc| {
            let start = u64::from(desc.start_mib);
            (start, start + desc.size_bytes.div_ceil(MIB))
        };
        let mut taken: Vec<_> = state.volumes.iter().map(span).collect();
        taken.sort_unstable();
        taken
    }

    /// The first gap of `mib` MiB; else the largest gap there is.
    fn gap(&self, mib: u64) -> Result<u64, u64> {
        let (mut at, mut largest) = (0, 0);
        for (start, end) in self.taken().into_iter().chain([(self.space_mib(), 0)]) {
            let gap = start.saturating_sub(at);
            if gap >= mib {
                return Ok(at);
            }
            largest = largest.max(gap);
            at = at.max(end);
        }
        Err(largest)
    }

    /// Makes a part of the space, in MiB, read as zeros where it may ever have been written to, from byte `from` on.
    async fn make_blank(&self, from: u64, end_mib: u64) -> Result<(), ArrayError> {
        let written_mib = self.ledger().state.borrow().in_place.unwrap_or_default().blank_from_mib;
        self.zero(from, (end_mib.min(written_mib) * MIB).max(from)).await.map_err(faulted)?;
        let mut state = self.ledger().state.borrow_mut();
        let in_place = state.in_place.get_or_insert_default();
        in_place.blank_from_mib = in_place.blank_from_mib.max(end_mib);
        Ok(())
    }

    fn check_size(&self, size: ByteSize) -> Result<(), VolumeAdminError> {
        let max = ByteSize(self.space_mib() * MIB);
        match size.0 == 0 || !size.0.is_multiple_of(BLOCK as u64) || size.0 > max.0 {
            true => Err(VolumeAdminError::BadSize { size, max }),
            false => Ok(()),
        }
    }

    fn volume(&self, name: &str) -> Result<Rc<VolumeState>, VolumeAdminError> {
        let volumes = self.volumes.borrow();
        volumes.iter().find(|v| v.name == name).cloned().ok_or_else(|| VolumeAdminError::Unknown(name.into()))
    }
}

fn no_room(size: ByteSize, largest_mib: u64) -> VolumeAdminError {
    VolumeAdminError::Array(ArrayError::Invalid(format!(
        "there is no room for {size} in one piece, {} at most: an array that updates in place gives a volume all its space \
         at once; delete a volume, or ask for less",
        ByteSize(largest_mib * MIB)
    )))
}

impl Array {
    /// Makes a volume of `size` bytes. `now_unix` is recorded as its birthday.
    ///
    /// # Errors
    /// When the name or the size is not possible, there is no room, or the change cannot be recorded.
    pub fn create_volume<'a>(
        &'a self,
        name: &'a str,
        size: ByteSize,
        now_unix: u64,
    ) -> Work<'a, Result<Volume, VolumeAdminError>> {
        let (array, name) = (self.clone(), name.to_owned());
        self.carry_out(async move {
            let inner = &array.0;
            let _alone = inner.admin.take().await;
            if !valid_name(&name, MAX_VOLUME_NAME) {
                return Err(VolumeAdminError::BadName(name));
            }
            inner.check_size(size)?;
            if inner.volume(&name).is_ok() {
                return Err(VolumeAdminError::Exists(name));
            }
            if inner.volumes.borrow().len() >= MAX_VOLUMES {
                return Err(VolumeAdminError::TooMany(MAX_VOLUMES));
            }
            let mib = size.0.div_ceil(MIB);
            let start = inner.gap(mib).map_err(|largest| no_room(size, largest))?;
            let start_mib = u32::try_from(start).map_err(|_| no_room(size, u64::from(u32::MAX)))?;
            inner.make_blank(start * MIB, start + mib).await?;
            let desc = {
                let mut state = inner.ledger().state.borrow_mut();
                let id = VolumeId(state.next_volume_id);
                state.next_volume_id += 1;
                let desc = VolumeDesc {
                    id,
                    name,
                    size_bytes: size.0,
                    created_unix: now_unix,
                    start_mib,
                    in_doubt: false,
                    acknowledged: Acknowledged::Written,
                    constraint: Constraint::None,
                    paging: Paging::BLOCKS,
                };
                state.volumes.push(desc.clone());
                desc
            };
            inner.commit().await?;
            let volume = Rc::new(VolumeState::new(&desc));
            inner.volumes.borrow_mut().push(volume.clone());
            Ok(Volume::new(inner.clone(), volume))
        })
    }

    /// Changes where a write of a volume is when it is answered: it stays where it is, for there is nothing else.
    ///
    /// # Errors
    /// When there is none of that name, or another level is asked for.
    pub fn set_acknowledged(&self, name: &str, level: Acknowledged) -> Result<(), VolumeAdminError> {
        self.0.volume(name)?;
        self.check_acknowledged(level)
    }

    /// Whether volumes can have this level of acknowledgement.
    ///
    /// # Errors
    /// Which they have instead.
    pub fn check_acknowledged(&self, level: Acknowledged) -> Result<(), VolumeAdminError> {
        match level {
            Acknowledged::Written => Ok(()),
            other => Err(VolumeAdminError::OnlyWritten(other)),
        }
    }

    /// Deletes a volume. What was in it stays on the devices until its space belongs to another one.
    ///
    /// # Errors
    /// When there is none of that name, or the change cannot be recorded.
    pub fn delete_volume<'a>(&'a self, name: &'a str) -> Work<'a, Result<(), VolumeAdminError>> {
        let (array, name) = (self.clone(), name.to_owned());
        self.carry_out(async move {
            let inner = &array.0;
            let _alone = inner.admin.take().await;
            let volume = inner.volume(&name)?;
            volume.gone.set(true);
            inner.volumes.borrow_mut().retain(|other| other.id != volume.id);
            inner.ledger().state.borrow_mut().volumes.retain(|desc| desc.id != volume.id);
            Ok(inner.commit().await?)
        })
    }

    /// Changes a volume's size, as far as the space behind it is free.
    ///
    /// # Errors
    /// When there is none of that name, the size is not possible, another volume is in the way, or the change cannot be
    /// recorded.
    pub fn resize_volume<'a>(&'a self, name: &'a str, size: ByteSize) -> Work<'a, Result<(), VolumeAdminError>> {
        let (array, name) = (self.clone(), name.to_owned());
        self.carry_out(async move {
            let inner = &array.0;
            let _alone = inner.admin.take().await;
            inner.check_size(size)?;
            let volume = inner.volume(&name)?;
            let old = volume.size.get();
            let start = volume.start_mib();
            if size.0 > old {
                let end = start + size.0.div_ceil(MIB);
                let next = inner.taken().into_iter().map(|(first, _)| first).find(|&first| first > start);
                let limit = next.unwrap_or_else(|| inner.space_mib());
                if end > limit {
                    return Err(no_room(size, limit - start));
                }
                inner.make_blank(start * MIB + old, end).await?;
            }
            volume.size.set(old.min(size.0));
            let mut known = false;
            for desc in inner.ledger().state.borrow_mut().volumes.iter_mut().filter(|desc| desc.id == volume.id) {
                desc.size_bytes = size.0;
                known = true;
            }
            assert!(known, "a volume that is served is in the state");
            inner.commit().await?;
            volume.size.set(size.0);
            Ok(())
        })
    }
}
