//! The devices of this process, and how more of them are opened while it serves.

use crate::aside::aside;
use crate::error::RequestError;
use crate::files::{FileId, file_id};
use cygnus_runtime::{DeviceInfo, DeviceIx, IoErrorKind, Runtime};
use cygnus_types::{BLOCK, Nanos};
use cygnus_uring::{Access, Device, Io, Reactor, StartError};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

/// How long the opening of a device may take: a drive that sleeps, and then some.
const OPENING: Nanos = Nanos::secs(30);

/// Asks for something at a path, which may give no answer: so not on the reactor.
pub async fn ask<T: Send + 'static>(
    rt: &Runtime,
    path: &str,
    work: impl FnOnce(&Path) -> Result<T, RequestError> + Send + 'static,
) -> Result<T, RequestError> {
    let place = PathBuf::from(path);
    match aside(rt, OPENING, move || work(&place)).await {
        Ok(Some(answer)) => answer,
        Ok(None) => Err(RequestError::Silent { path: path.into(), patience: OPENING }),
        Err(source) => Err(RequestError::NoThread { path: path.into(), source }),
    }
}

/// Opens what is there, for us alone; blocking.
pub fn open(path: &Path) -> Result<Device, RequestError> {
    Ok(Device::open(path, Access::Exclusive)?)
}

/// What tells the device at a path from others.
pub async fn identify(rt: &Runtime, path: &str) -> Result<FileId, RequestError> {
    let failed = |place: &Path, source| RequestError::Path { path: place.display().to_string(), source };
    ask(rt, path, move |place| file_id(place).map_err(|error| failed(place, error))).await
}

/// Whether the way to a device is lost, as a read of its first block tells.
pub async fn asks_in_vain(rt: &Runtime, device: DeviceIx) -> bool {
    let block = rt.alloc(BLOCK);
    let answer = rt.read(device, 0, block.full()).await;
    answer.is_err_and(|error| matches!(error.kind, IoErrorKind::Gone | IoErrorKind::Path))
}

/// How long a device stays open that is the array's no more: until it has been wiped, and whoever read from it has his answer.
pub const LEAVES_AFTER: Nanos = Nanos::secs(5);

/// The devices of this process.
pub struct Devices {
    pub io: Io,
    pub known: RefCell<Vec<(Option<FileId>, DeviceInfo)>>,
    /// Answers of the peers about the device that was added last.
    pub answers: RefCell<Vec<Result<DeviceIx, StartError>>>,
    /// Whether one is being added; the reactors must all number them in one order.
    pub adding: Cell<bool>,
    /// Those that a command is at work with, which may be the array's soon.
    pub engaged: RefCell<Vec<DeviceIx>>,
    /// Those that are the array's no more, and when to close each.
    pub leaving: RefCell<Vec<(Nanos, DeviceInfo)>>,
}

impl Devices {
    pub fn new(reactor: &Reactor) -> Self {
        let known = reactor.devices.iter().map(|info| (file_id(Path::new(&info.name)).ok(), info.clone())).collect();
        Self {
            io: reactor.io.clone(),
            known: RefCell::new(known),
            answers: RefCell::default(),
            adding: Cell::new(false),
            engaged: RefCell::default(),
            leaving: RefCell::default(),
        }
    }

    /// A device that has left is asked for again.
    pub fn stays(&self, device: DeviceIx) {
        self.leaving.borrow_mut().retain(|(_, info)| info.ix != device);
    }

    /// Forgets a device that is of no use any more: it is opened anew, under another number.
    pub fn forget(&self, device: DeviceIx) {
        self.known.borrow_mut().retain(|(_, info)| info.ix != device);
    }

    /// The device that is open and is this one.
    pub fn known_as(&self, id: FileId) -> Option<DeviceInfo> {
        let known = self.known.borrow();
        known.iter().find(|(known, _)| *known == Some(id)).map(|(_, info)| info.clone())
    }

    /// A device that is open is this one now, by this name: it is opened anew by that.
    pub fn moved(&self, device: DeviceIx, id: FileId, name: &str) {
        self.io.goes_by(device, Path::new(name));
        for (known, info) in self.known.borrow_mut().iter_mut().filter(|(_, info)| info.ix == device) {
            (*known, info.name) = (Some(id), name.to_owned());
        }
    }

    pub fn peer_answered(&self, result: Result<DeviceIx, StartError>) {
        self.answers.borrow_mut().push(result);
    }
}
