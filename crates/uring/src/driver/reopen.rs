//! Devices that are opened anew, on an errand: a path may give no answer.

use std::path::Path;

use cygnus_runtime::{Completion, DeviceIx, IoError, IoErrorKind, OpId, Outcome};

use super::{Core, system_error};
use crate::device::Opened;
use crate::registered::Registered;

/// What opening a device anew has come to.
pub(super) struct Reopened {
    id: OpId,
    dev: DeviceIx,
    result: Result<Opened, IoError>,
}

impl Core {
    /// Sends for a device to be opened anew.
    pub(super) fn reopen(&mut self, id: OpId, dev: DeviceIx) {
        let Some(Registered { device, opening, .. }) = self.devices.get(dev.0 as usize) else {
            return self.refuse(id, IoErrorKind::Gone);
        };
        if device.is_memory() {
            self.ended.push(Completion { id, result: Ok(Outcome::Done) });
            return;
        }
        let (device, known) = (device.clone(), *opening);
        let sent = self.reopenings.send(move || Reopened { id, dev, result: device.reopen(known) });
        if let Err(error) = sent {
            self.ended.push(Completion { id, result: Err(system_error(&error)) });
        }
    }

    /// See [`Io::goes_by`](crate::Io::goes_by).
    pub(crate) fn goes_by(&self, dev: DeviceIx, path: &Path) {
        if let Some(Registered { device, .. }) = self.devices.get(dev.0 as usize) {
            device.goes_by(path);
        }
    }

    /// Puts what was opened anew in the place of what was there. What the kernel still does with the old one it goes on
    /// doing, and keeps it open for that.
    pub(super) fn reopened(&mut self, Reopened { id, dev, result }: Reopened) -> Completion {
        let place = dev.0 as usize;
        let registered = result.and_then(|opened| {
            let updated = match &opened {
                Opened::Place(opening) => {
                    self.ring.uring().submitter().register_files_update(place as u32, &[opening.raw_fd()]).map(drop)
                }
                Opened::Far(_) => Ok(()),
            };
            self.devices[place].opened(opened);
            if let Some(zones) = self.devices[place].device.zones() {
                zones.reopened();
            }
            updated.map(|()| Outcome::Done).map_err(|error| system_error(&error))
        });
        Completion { id, result: registered }
    }
}
