//! Members that come while the array is served: their devices are opened here, known to all reactors under the same
//! number, and remembered for the next start.

use crate::devices::{LEAVES_AFTER, ask, asks_in_vain, identify, open};
use crate::error::RequestError;
use crate::event::ServerEvent;
use crate::files::FileId;
use crate::home::{Home, tell_peers};
use crate::peer::ToPeer;
use crate::seek::Places;
use crate::served::Served;
use cygnus_engine::Array;
use cygnus_runtime::{DeviceInfo, DeviceIx};
use cygnus_types::MemberIx;
use cygnus_uring::Device;
use std::path::{Path, PathBuf};

impl Places for Home<Array> {
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

    fn close(&self, device: DeviceIx) {
        Home::close(self, device);
    }

    async fn opened(&self, id: FileId, device: &Device) -> Result<DeviceInfo, RequestError> {
        self.take_in(id, device).await
    }

    fn moved(&self, member: MemberIx, device: DeviceIx, id: FileId, place: &Path) {
        let name = place.display().to_string();
        self.devices.moved(device, id, &name);
        self.array.goes_by(member, &name);
        self.plan.log.tell(&ServerEvent::Moved { member, place });
        self.remember_members();
    }

    fn tell(&self, event: &ServerEvent<'_>) {
        self.plan.log.tell(event);
    }
}

impl<A: Served> Home<A> {
    /// Does something with the devices at these paths. Those that are not the array's when it has failed are closed again, so that others
    /// can have them.
    pub async fn with_devices<T>(
        &self,
        paths: &[String],
        work: impl AsyncFnOnce(&[DeviceInfo]) -> Result<T, RequestError>,
    ) -> Result<T, RequestError> {
        let mut devices = Vec::new();
        let opened = self.open_each(paths, &mut devices).await;
        let engaged = || devices.iter().map(|device| device.ix);
        self.devices.engaged.borrow_mut().extend(engaged());
        let done = match opened {
            Ok(()) => work(&devices).await,
            Err(error) => Err(error),
        };
        for device in engaged() {
            let mut all = self.devices.engaged.borrow_mut();
            let at = all.iter().position(|&of| of == device).expect("it was noted above");
            all.swap_remove(at);
        }
        if done.is_err() {
            for device in &devices {
                self.give_back(device);
            }
        }
        done
    }

    /// The devices at these paths, in order, up to the first that is not to be had.
    async fn open_each(&self, paths: &[String], into: &mut Vec<DeviceInfo>) -> Result<(), RequestError> {
        for path in paths {
            into.push(self.device(path).await?);
        }
        Ok(())
    }

    /// Closes a device, unless it is the array's; says whether nothing is left to do.
    fn give_back(&self, device: &DeviceInfo) -> bool {
        if self.devices.engaged.borrow().contains(&device.ix) {
            return false;
        }
        let record = self.plan.record.lock().expect("no holder panics").clone();
        if self.array.remembered(&record).paths().any(|path| path.as_os_str() == device.name.as_str()) {
            return true;
        }
        self.close(device.ix)
    }

    /// Closes a device on all reactors; says whether nothing was on its way to it.
    fn close(&self, device: DeviceIx) -> bool {
        let is_closed = self.devices.io.give_back(device);
        if is_closed {
            self.devices.forget(device);
            tell_peers(&self.rt, &self.plan, || ToPeer::GiveBack(device));
        }
        is_closed
    }

    /// The device at a path, opened if it is not open yet, or if the way to it was lost: it is there again, maybe at another address.
    async fn device(&self, path: &str) -> Result<DeviceInfo, RequestError> {
        let id = identify(&self.rt, path).await?;
        if let Some(known) = self.devices.known_as(id) {
            self.devices.stays(known.ix);
            if self.is_in_service(&known) || !asks_in_vain(&self.rt, known.ix).await {
                return Ok(known);
            }
            self.devices.forget(known.ix);
        }
        self.take_in(id, &ask(&self.rt, path, open).await?).await
    }

    /// Of members in service the array sees to it itself that they are opened anew.
    fn is_in_service(&self, info: &DeviceInfo) -> bool {
        self.array.online_paths().contains(&info.name)
    }

    /// Lets all reactors know a device that has been opened.
    async fn take_in(&self, id: FileId, device: &Device) -> Result<DeviceInfo, RequestError> {
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

    async fn add_everywhere(&self, device: &Device) -> Result<DeviceInfo, RequestError> {
        self.devices.answers.borrow_mut().clear();
        let info = self.devices.io.add_device(device)?;
        tell_peers(&self.rt, &self.plan, || ToPeer::AddDevice(device.clone()));
        self.until(|home| home.devices.answers.borrow().len() == home.plan.reactors - 1).await;
        for answer in self.devices.answers.take() {
            if answer? != info.ix {
                return Err(RequestError::Disagree(info.name));
            }
        }
        Ok(info)
    }

    /// See [`cygnus_control::protocol::Request::Replace`]; returns the number of the job.
    pub async fn replace(&self, member: &str, path: &str, force: bool) -> Result<u64, RequestError> {
        let member = self.member(member)?;
        let replace = async |devices: &[DeviceInfo]| Ok(self.array.replace(member, &devices[0], force).await?);
        let job = self.with_devices(&[path.to_owned()], replace).await?;
        self.remember_members();
        Ok(job)
    }

    /// A member by its number, or by where it is or was.
    pub fn member(&self, name: &str) -> Result<MemberIx, RequestError> {
        self.array.member(name, &self.plan.record.lock().expect("no holder panics"))
    }

    /// Writes down where devices are that will belong to the array.
    pub fn remember_spares(&self, paths: &[String]) {
        let mut record = self.plan.record.lock().expect("no holder panics");
        record.add_spares(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        if let Err(error) = self.plan.state.save(&record) {
            self.plan.log.tell(&ServerEvent::NotRemembered(&error));
        }
    }

    /// Writes down where the members and spares are, if that has changed.
    pub fn remember_members(&self) {
        let mut record = self.plan.record.lock().expect("no holder panics");
        let now = self.array.remembered(&record);
        if now == *record {
            return;
        }
        match self.plan.state.save(&now) {
            Ok(()) => {
                let has_left = |path: &&PathBuf| !now.paths().any(|stays| stays == *path);
                record.paths().filter(has_left).for_each(|path| self.leaves(path));
                *record = now;
            }
            Err(error) => self.plan.log.tell(&ServerEvent::NotRemembered(&error)),
        }
    }

    /// What is at a path is the array's no more.
    fn leaves(&self, path: &Path) {
        let due = self.rt.now() + LEAVES_AFTER;
        let known = self.devices.known.borrow();
        let there = known.iter().filter(|(_, info)| Path::new(&info.name) == path).map(|(_, info)| (due, info.clone()));
        self.devices.leaving.borrow_mut().extend(there);
    }

    /// Closes devices that have left the array, so that others can have them. Those to which something is on its way are asked again.
    pub fn close_what_has_left(&self) {
        let now = self.rt.now();
        let due: Vec<_> = self.devices.leaving.borrow_mut().extract_if(.., |(due, _)| *due <= now).collect();
        for (due, device) in due {
            if !self.give_back(&device) {
                self.devices.leaving.borrow_mut().push((due, device));
            }
        }
    }
}
