//! R-groups that are added and retired, and members that are replaced or drained, while clients are at work.

use std::rc::Rc;
use std::sync::Arc;

use cygnus_engine::{Array as Engine, ArrayError, GroupError, JobState, MemberError};
use cygnus_format::{GroupState, MemberState};
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_types::{GroupId, Medium, MemberIx, Nanos};

use crate::client::Shared;
use crate::failure::RunFailure;
use crate::journal;
use crate::story::{Regroup, Shape};

/// How often to look whether a group has left.
const LOOK: Nanos = Nanos::millis(1);

/// How often to look whether a member has been filled.
const LOOKS: u32 = 50;

/// What a change needs to know.
pub(crate) struct Regrouping {
    pub(crate) rt: Runtime,
    pub(crate) array: Engine,
    pub(crate) shared: Rc<Shared>,
    /// All devices that there are.
    pub(crate) devices: Vec<DeviceInfo>,
    pub(crate) shape: Shape,
    /// Whether what a device holds may be lost.
    pub(crate) force: bool,
    /// Whether any device has come to harm: then a change may fail.
    pub(crate) harmed: bool,
}

impl Regrouping {
    /// Waits, and makes the change. One that makes no sense any more is refused, and that is all right.
    pub(crate) async fn make(self, after: Nanos, what: Regroup) {
        self.rt.sleep(after).await;
        let result = match what {
            Regroup::Add(set) => self.add(usize::from(set)).await,
            Regroup::Retire(group) => self.array.retire(GroupId(group)).await.map(drop),
            Regroup::Refresh(group, set) => self.refresh(GroupId(group), usize::from(set)).await,
            Regroup::Replace(member) => return self.replace(member).await,
            Regroup::Spare(n) => return self.add_spare(n).await,
            Regroup::Drain(member) => return self.drain(member).await,
        };
        match result {
            Ok(()) => journal::tell(format!("{} {what}: done or begun", self.rt.now())),
            Err(GroupError::Array(error)) if !self.harmed => {
                self.fail(what, error);
            }
            Err(error) => journal::tell(format!("{} {what}: {error}", self.rt.now())),
        }
    }

    /// The device in a member's place takes its part, unless it does so already or nothing is there; waits until it lacks
    /// nothing, or for long enough.
    async fn replace(&self, member: usize) {
        let Some(device) = self.device(member) else { return };
        let now = &self.array.status().members[member];
        if now.is_online() && now.name != device.name {
            // A spare has the place, and works.
            return;
        }
        let result = self.array.replace(MemberIx(member as u16), &device, self.force).await;
        let what = Regroup::Replace(member);
        match result {
            Ok(_) => journal::tell(format!("{} {what}: begun", self.rt.now())),
            Err(error) => return journal::tell(format!("{} {what}: {error}", self.rt.now())),
        }
        let filling = || self.array.status().members[member].state == MemberState::Rebuilding;
        for _ in 0..LOOKS {
            if filling() {
                self.rt.sleep(LOOK).await;
            }
        }
    }

    async fn add_spare(&self, n: usize) {
        let Some(device) = self.device(self.shape.places() + n) else { return };
        let what = Regroup::Spare(n);
        match self.array.add_spare(&device, self.force).await {
            Ok(()) => journal::tell(format!("{} {what}: done", self.rt.now())),
            // It was a member since the array was opened, and what it held is still there.
            Err(MemberError::Array(error @ ArrayError::InUse { .. })) => {
                journal::tell(format!("{} {what}: {error}", self.rt.now()));
            }
            Err(MemberError::Array(error)) if !self.harmed => self.fail(what, error),
            Err(error) => journal::tell(format!("{} {what}: {error}", self.rt.now())),
        }
    }

    /// A spare, if there is one, is to take over from a member; waits until it has, or for long enough. Where nothing has
    /// come to harm, nothing may keep it from that.
    async fn drain(&self, member: usize) {
        if member >= self.array.status().members.len() {
            return;
        }
        let what = Regroup::Drain(member);
        let id = match self.array.drain(MemberIx(member as u16)).await {
            Ok(id) => id,
            Err(MemberError::Array(error)) if !self.harmed => return self.fail(what, error),
            Err(error) => return journal::tell(format!("{} {what}: {error}", self.rt.now())),
        };
        journal::tell(format!("{} {what}: begun", self.rt.now()));
        for _ in 0..LOOKS {
            match self.array.jobs().into_iter().find(|job| job.id == id).map(|job| job.state) {
                Some(JobState::Running) => self.rt.sleep(LOOK).await,
                Some(JobState::Failed(why)) if !self.harmed && !self.has_left(member) => {
                    return self.note(RunFailure::Job { change: what.to_string(), why });
                }
                _ => return,
            }
        }
    }

    fn has_left(&self, member: usize) -> bool {
        let status = self.array.status();
        status.groups[status.members[member].group.index()].state == GroupState::Retired
    }

    fn fail(&self, what: Regroup, error: ArrayError) {
        self.note(RunFailure::MemberChange { change: what.to_string(), error: Arc::new(error) });
    }

    fn note(&self, failure: RunFailure) {
        self.shared.failure.borrow_mut().get_or_insert(failure);
    }

    fn device(&self, n: usize) -> Option<DeviceInfo> {
        self.devices.iter().find(|device| device.name == format!("d{n}")).cloned()
    }

    /// Devices of one set come, those of a group go, and as soon as they have, others take their number.
    async fn refresh(&self, group: GroupId, set: usize) -> Result<(), GroupError> {
        self.add(set).await?;
        self.array.retire(group).await?;
        let state = || self.array.status().groups[group.index()].state;
        for _ in 0..LOOKS {
            if state() == GroupState::Retiring {
                self.rt.sleep(LOOK).await;
            }
        }
        let sets = self.shape.sets();
        for next in (1..=sets).map(|step| (set + step) % sets) {
            if state() == GroupState::Retired {
                self.add(next).await?;
            }
        }
        Ok(())
    }

    /// Adds the devices of a set as a group, unless one of them is not there, or is or was a member.
    async fn add(&self, set: usize) -> Result<(), GroupError> {
        if set >= self.shape.sets() {
            return Ok(());
        }
        let numbers = self.shape.devices_of(set);
        let devices: Vec<DeviceInfo> = numbers.filter_map(|n| self.device(n)).collect();
        let status = self.array.status();
        let has_left = |group: GroupId| status.groups[group.index()].state == GroupState::Retired;
        let is_named = |device: &DeviceInfo| {
            status.members.iter().any(|member| member.name == device.name && !has_left(member.group))
        };
        if devices.len() < self.shape.width_of(set) || devices.iter().any(is_named) {
            return Ok(());
        }
        let groups = status.groups.len();
        let media: Vec<Medium> = self.shape.medium(set).into_iter().collect();
        let added = self.array.add_groups_on(&devices, &media, self.force).await?;
        let reused = added.groups.iter().filter(|added| added.group.index() < groups).count();
        self.shared.reused.set(self.shared.reused.get() + reused as u64);
        Ok(())
    }
}

/// Waits until no group is on its way out.
pub(crate) async fn settled(rt: Runtime, array: Engine) {
    while array.status().groups.iter().any(|group| group.state == GroupState::Retiring) {
        rt.sleep(LOOK).await;
    }
}
