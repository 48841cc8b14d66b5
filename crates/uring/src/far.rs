//! A software SSD behind a socket as a device: found by its address, claimed, and connected to again when the way was lost.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cygnus_runtime::{Capabilities, DeviceClass, IoError};
use cygnus_ssdlink::{Address, AddressError, DialError, Welcome, dial, random_bytes};
use cygnus_types::{BLOCK, Uuid};

use crate::error::{OpenError, io_error, unsuitable};
use crate::link::Link;
use crate::opening::{Access, Properties};

/// An address, and how the drive there is connected now.
pub(crate) struct Far {
    path: PathBuf,
    address: Address,
    access: Access,
    /// Who we are, to the drive: it lets us take over from ourselves.
    host: [u8; 16],
    drive: Uuid,
    size: u64,
    current: Mutex<Link>,
    /// Held by whoever connects anew, which may take its time.
    reopening: Mutex<()>,
}

impl Far {
    /// The address of a drive, if the path is one.
    pub(crate) fn address(path: &Path) -> Option<Result<Address, AddressError>> {
        Address::of_member(path)
    }

    /// Connects to the drive at an address, and claims it unless it is only to be read.
    pub(crate) fn open(
        path: &Path,
        address: &Result<Address, AddressError>,
        access: Access,
    ) -> Result<(Self, Properties), OpenError> {
        let address =
            address.clone().map_err(|_| unsuitable(path, "write ssd:unix:PATH or ssd:tcp:HOST:PORT".into()))?;
        let host = random_bytes().map_err(|error| io_error(path, "make up who this host is", error))?;
        let (link, welcome) = connect(path, &address, access, host, 0)?;
        let properties = properties(&welcome, access);
        if properties.size == 0 {
            return Err(unsuitable(path, format!("smaller than one block of {BLOCK} bytes")));
        }
        let Welcome { drive, size, .. } = welcome;
        let far = Self {
            path: path.to_owned(),
            address,
            access,
            host,
            drive,
            size,
            current: Mutex::new(link),
            reopening: Mutex::new(()),
        };
        Ok((far, properties))
    }

    pub(crate) fn current(&self) -> Link {
        self.current.lock().expect("no holder panics").clone()
    }

    /// Connects anew, unless that has been done since the opening `known`; blocking. It must be the same drive.
    pub(crate) fn reopen(&self, known: u64) -> Result<Link, IoError> {
        // Of several reactors one connects, and the others find it done.
        let _only_one = self.reopening.lock().expect("no holder panics");
        let before = self.current();
        if before.number() > known {
            return Ok(before);
        }
        // The drive ends it too, when the same host comes again.
        before.hang_up();
        let (link, welcome) = connect(&self.path, &self.address, self.access, self.host, before.number() + 1)?;
        if welcome.drive != self.drive || welcome.size != self.size {
            // Another one has taken its address.
            return Err(IoError::of_device(libc::ENODEV));
        }
        *self.current.lock().expect("no holder panics") = link.clone();
        Ok(link)
    }
}

fn connect(
    path: &Path,
    address: &Address,
    access: Access,
    host: [u8; 16],
    number: u64,
) -> Result<(Link, Welcome), OpenError> {
    let (stream, welcome) = dial(address, access == Access::Exclusive, host).map_err(|error| match error {
        DialError::Claimed => OpenError::InUse { path: path.to_owned(), by: None, beneath: None, holder: None },
        source => OpenError::Drive { path: path.to_owned(), source },
    })?;
    let link =
        Link::new(stream, number).map_err(|error| io_error(path, "start the threads of its connection", error))?;
    Ok((link, welcome))
}

fn properties(welcome: &Welcome, access: Access) -> Properties {
    let capabilities = Capabilities {
        class: DeviceClass::Flash,
        trim: welcome.trims,
        zones: None,
        resets: None,
        convert: welcome.converts,
        oob_bytes: welcome.oob_bytes,
        read_only: access == Access::ReadOnly,
    };
    Properties { size: welcome.size, logical_block: BLOCK as u32, buffer_align: 1, fallback: None, capabilities }
}

/// Whether a path is the address of a software SSD, and not one of a file.
pub fn is_drive(path: &Path) -> bool {
    Far::address(path).is_some()
}

/// Which drive is at an address; blocking. `None`: the path is one of a file.
///
/// # Errors
/// When no drive answers there.
pub fn drive_at(path: &Path) -> Option<io::Result<Uuid>> {
    let look = |address: Result<Address, AddressError>| {
        let (_, welcome) = dial(&address.map_err(io::Error::other)?, false, [0; 16]).map_err(io::Error::other)?;
        Ok(welcome.drive)
    };
    Far::address(path).map(look)
}
