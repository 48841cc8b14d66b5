//! R-groups that are added and retired while clients are at work.

use std::rc::Rc;

use cygnus_engine::{Array as Engine, GroupError};
use cygnus_format::GroupState;
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_types::{GroupId, Nanos};

use crate::client::Shared;
use crate::journal;
use crate::story::Regroup;

/// How often to look whether a group has left.
const LOOK: Nanos = Nanos::millis(1);

/// What a change needs to know.
pub(crate) struct Regrouping {
    pub(crate) rt: Runtime,
    pub(crate) array: Engine,
    pub(crate) shared: Rc<Shared>,
    /// All devices that there are.
    pub(crate) devices: Vec<DeviceInfo>,
    pub(crate) width: usize,
    /// Whether any device has come to harm: then a change may fail.
    pub(crate) harmed: bool,
}

impl Regrouping {
    /// Waits, and makes the change. One that makes no sense any more is refused, and that is all right.
    pub(crate) async fn make(self, after: Nanos, what: Regroup) {
        self.rt.sleep(after).await;
        let result = match what {
            Regroup::Add => self.add().await,
            Regroup::Retire(group) => self.array.retire(GroupId(group)).await.map(drop),
        };
        match result {
            Ok(()) => journal::tell(format!("{} {what}: done or begun", self.rt.now())),
            Err(GroupError::Array(error)) if !self.harmed => {
                self.shared.failure.borrow_mut().get_or_insert(format!("{what}: {error}"));
            }
            Err(error) => journal::tell(format!("{} {what}: {error}", self.rt.now())),
        }
    }

    /// The next group's devices are the next ones, so that a device has the number of its member.
    async fn add(&self) -> Result<(), GroupError> {
        let first = self.array.status().members.len();
        let named = |n| self.devices.iter().find(|device| device.name == format!("d{n}")).cloned();
        let devices: Vec<DeviceInfo> = (first..first + self.width).filter_map(named).collect();
        if devices.len() < self.width {
            return Ok(());
        }
        self.array.add_groups(&devices, true).await.map(drop)
    }
}

/// Waits until no group is on its way out.
pub(crate) async fn settled(rt: Runtime, array: Engine) {
    while array.status().groups.iter().any(|group| group.state == GroupState::Retiring) {
        rt.sleep(LOOK).await;
    }
}
