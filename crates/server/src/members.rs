//! Members that come while the array is served: their devices are opened here, known to all reactors under the same
//! number, and remembered for the next start.

use crate::aside::aside;
use crate::files::{FileId, file_id};
use crate::home::{Home, tell_peers};
use crate::peer::ToPeer;
use crate::seek::Places;
use crate::status::growth;
use cygnus_control::status::Growth;
use cygnus_format::GroupState;
use cygnus_host::state::MemberRecord;
use cygnus_runtime::{DeviceInfo, DeviceIx, Runtime};
use cygnus_types::{GroupId, MemberIx, Nanos};
use cygnus_uring::{Access, Device, Io, Reactor};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

/// How long the opening of a device may take: a drive that sleeps, and then some.
const OPENING: Nanos = Nanos::secs(30);

/// Asks for something at a path, which may give no answer: so not on the reactor.
async fn ask<T: Send + 'static>(
    rt: &Runtime,
    path: &str,
    work: impl FnOnce(&Path) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let place = PathBuf::from(path);
    match aside(rt, OPENING, move || work(&place)).await {
        Ok(Some(answer)) => answer,
        Ok(None) => Err(format!("{path} gives no answer for {OPENING}: see to the device, or give another one")),
        Err(error) => Err(format!("{path}: no thread to open it: {error}")),
    }
}

fn open(path: &Path) -> Result<Device, String> {
    Device::open(path, Access::Exclusive).map_err(|error| error.to_string())
}

/// The devices of this process. One that was opened stays open until the array is stopped.
pub struct Devices {
    io: Io,
    known: RefCell<Vec<(Option<FileId>, DeviceInfo)>>,
    /// Answers of the peers about the device that was added last.
    answers: RefCell<Vec<Result<DeviceIx, String>>>,
    /// Whether one is being added; the reactors must all number them in one order.
    adding: Cell<bool>,
}

impl Devices {
    pub fn new(reactor: &Reactor) -> Self {
        let known = reactor.devices.iter().map(|info| (file_id(Path::new(&info.name)).ok(), info.clone())).collect();
        Self {
            io: reactor.io.clone(),
            known: RefCell::new(known),
            answers: RefCell::default(),
            adding: Cell::new(false),
        }
    }

    /// The device at a path, opened if it is not open yet, for a server of one reactor.
    pub async fn open_alone(&self, rt: &Runtime, path: &str) -> Result<DeviceInfo, String> {
        let id = match self.known_at(rt, path).await? {
            Ok(info) => return Ok(info),
            Err(id) => id,
        };
        let device = ask(rt, path, open).await?;
        let info = self.io.add_device(&device).map_err(|error| error.to_string())?;
        self.known.borrow_mut().push((Some(id), info.clone()));
        Ok(info)
    }

    /// The device at a path, if it is open; else what tells it from others.
    async fn known_at(&self, rt: &Runtime, path: &str) -> Result<Result<DeviceInfo, FileId>, String> {
        let identify = |place: &Path| file_id(place).map_err(|error| format!("{}: {error}", place.display()));
        let id = ask(rt, path, identify).await?;
        Ok(self.known_as(id).ok_or(id))
    }

    /// The device that is open and is this one.
    fn known_as(&self, id: FileId) -> Option<DeviceInfo> {
        let known = self.known.borrow();
        known.iter().find(|(known, _)| *known == Some(id)).map(|(_, info)| info.clone())
    }

    pub fn peer_answered(&self, result: Result<DeviceIx, String>) {
        self.answers.borrow_mut().push(result);
    }
}

impl Places for Home {
    fn remembered(&self, member: MemberIx) -> Option<PathBuf> {
        let record = self.plan.record.lock().expect("no holder panics");
        let of_it = record.members.iter().find(|known| known.index == u32::from(member.0));
        of_it.map(|known| known.path.clone())
    }

    fn known_ids(&self) -> Vec<FileId> {
        self.devices.known.borrow().iter().filter_map(|(id, _)| *id).collect()
    }

    fn known_as(&self, id: FileId) -> Option<DeviceInfo> {
        self.devices.known_as(id)
    }

    async fn opened(&self, id: FileId, device: &Device) -> Result<DeviceInfo, String> {
        self.take_in(id, device).await
    }

    fn tell(&self, what: &str) {
        self.plan.log.detail(what);
    }
}

impl Home {
    /// The device at a path, opened if it is not open yet.
    async fn device(&self, path: &str) -> Result<DeviceInfo, String> {
        match self.devices.known_at(&self.rt, path).await? {
            Ok(info) => Ok(info),
            Err(id) => self.take_in(id, &ask(&self.rt, path, open).await?).await,
        }
    }

    /// Lets all reactors know a device that has been opened.
    async fn take_in(&self, id: FileId, device: &Device) -> Result<DeviceInfo, String> {
        let devices = &self.devices;
        self.until(|home| !home.devices.adding.get()).await;
        devices.adding.set(true);
        let added = self.add_everywhere(device).await;
        devices.adding.set(false);
        self.wake();
        let info = added?;
        devices.known.borrow_mut().push((Some(id), info.clone()));
        Ok(info)
    }

    async fn add_everywhere(&self, device: &Device) -> Result<DeviceInfo, String> {
        self.devices.answers.borrow_mut().clear();
        let info = self.devices.io.add_device(device).map_err(|error| error.to_string())?;
        tell_peers(&self.rt, &self.plan, || ToPeer::AddDevice(device.clone()));
        self.until(|home| home.devices.answers.borrow().len() == home.plan.reactors - 1).await;
        for answer in self.devices.answers.borrow().iter() {
            match answer {
                Ok(ix) if *ix == info.ix => {}
                Ok(_) => return Err(format!("{}: reactors disagree on its number: restart 'cygnus serve'", info.name)),
                Err(why) => return Err(why.clone()),
            }
        }
        Ok(info)
    }

    /// See [`cygnus_control::protocol::Request::Replace`]; returns the number of the job.
    pub async fn replace(&self, member: &str, path: &str, force: bool) -> Result<u64, String> {
        let member = self.member(member)?;
        let device = self.device(path).await?;
        let job = self.array.replace(member, &device, force).await.map_err(|error| error.to_string())?;
        self.remember_members();
        Ok(job)
    }

    /// See [`cygnus_control::protocol::Request::Drain`]; returns the number of the job.
    pub async fn drain(&self, member: &str) -> Result<u64, String> {
        let member = self.member(member)?;
        self.array.drain(member).await.map_err(|error| error.to_string())
    }

    /// See [`cygnus_control::protocol::Request::SpareAdd`].
    pub async fn add_spare(&self, path: &str, force: bool) -> Result<(), String> {
        let device = self.device(path).await?;
        self.array.add_spare(&device, force).await.map_err(|error| error.to_string())?;
        self.remember_members();
        Ok(())
    }

    /// See [`cygnus_control::protocol::Request::SpareRemove`].
    pub async fn remove_spare(&self, spare: &str) -> Result<(), String> {
        self.array.remove_spare(spare).await.map_err(|error| error.to_string())?;
        self.remember_members();
        Ok(())
    }

    /// See [`cygnus_control::protocol::Request::GroupAdd`].
    pub async fn add_groups(&self, paths: &[String], force: bool) -> Result<Growth, String> {
        let mut devices = Vec::new();
        for path in paths {
            devices.push(self.device(path).await?);
        }
        // Should this be cut short, the next start finds them here.
        self.remember_spares(paths);
        let added = self.array.add_groups(&devices, force).await;
        self.remember_members();
        added.map(|added| growth(&added, &self.array.status())).map_err(|error| error.to_string())
    }

    /// See [`cygnus_control::protocol::Request::GroupRetire`]; returns the number of the job.
    pub async fn retire(&self, group: &str) -> Result<u64, String> {
        let group = match group.parse() {
            Ok(number) => GroupId(number),
            Err(_) => {
                let member = self.member(group)?;
                self.array.status().members[member.index()].group
            }
        };
        self.array.retire(group).await.map_err(|error| error.to_string())
    }

    /// A member by its number, or by where it is or was.
    fn member(&self, name: &str) -> Result<MemberIx, String> {
        let members = self.array.status().members;
        if let Ok(number) = name.parse::<u16>() {
            let exists = usize::from(number) < members.len();
            return exists.then_some(MemberIx(number)).ok_or_else(|| {
                format!("there is no member {number}: the array has {}, counted from 0", members.len())
            });
        }
        let record = self.plan.record.lock().expect("no holder panics");
        let remembered = record.members.iter().find(|member| member.path.as_os_str() == name).map(|m| m.index as u16);
        let present = members.iter().find(|member| member.name == name).map(|member| member.member);
        present.or(remembered.map(MemberIx)).ok_or_else(|| format!("{name} is no member: see 'cygnus array status'"))
    }

    /// Writes down where devices are that will belong to the array.
    fn remember_spares(&self, paths: &[String]) {
        let mut record = self.plan.record.lock().expect("no holder panics");
        record.add_spares(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        if let Err(error) = self.plan.state.save(&record) {
            self.plan.log.warn(&error.to_string());
        }
    }

    /// Writes down where the members and spares are, if that has changed.
    pub fn remember_members(&self) {
        let status = self.array.status();
        let mut record = self.plan.record.lock().expect("no holder panics");
        let mut now = record.clone();
        for member in status.members.iter().filter(|member| member.name.starts_with('/')) {
            let (index, path) = (u32::from(member.member.0), member.name.clone().into());
            match now.members.iter_mut().find(|known| known.index == index) {
                Some(known) => known.path = path,
                None => now.members.push(MemberRecord { index, path }),
            }
        }
        let groups = &status.groups;
        let has_left = |index: u32| {
            let group = status.members.get(index as usize).map(|member| member.group.index());
            group.is_some_and(|group| groups[group].state == GroupState::Retired)
        };
        now.members.retain(|member| !has_left(member.index));
        now.members.sort_by_key(|member| member.index);
        let present: Vec<PathBuf> = status.spares.iter().flat_map(|spare| &spare.name).map(PathBuf::from).collect();
        match present.len() == status.spares.len() {
            true => now.spares = present,
            // Those that are away may come back where they were.
            false => now.add_spares(&present),
        }
        if now == *record {
            return;
        }
        match self.plan.state.save(&now) {
            Ok(()) => *record = now,
            // The disks know; a scan finds them.
            Err(error) => self.plan.log.warn(&error.to_string()),
        }
    }
}
