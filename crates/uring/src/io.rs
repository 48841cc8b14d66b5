//! What a reactor can do besides operations: take in devices, listeners and connections.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::rc::Rc;

use cygnus_runtime::{DeviceInfo, DeviceIx, ListenerId, Runtime, SocketId};
use cygnus_types::Nanos;
use cygnus_zoned::ZonedDevice;

use crate::device::Device;
use crate::driver::Core;
use crate::error::StartError;

/// The outside of a reactor's driver. Clones are handles to the same; it cannot leave its thread. None of its calls wait,
/// except the two that connect.
#[derive(Clone)]
pub struct Io(pub(crate) Rc<RefCell<Core>>, pub(crate) Runtime);

impl Io {
    /// Takes a device in; it gets the next number. Reactors that take in the same devices in the same order agree on
    /// their numbers.
    ///
    /// # Errors
    /// If the reactor is full or the kernel refuses.
    pub fn add_device(&self, device: &Device) -> Result<DeviceInfo, StartError> {
        let ix = self.0.borrow_mut().add_device(device)?;
        if let Some(zones) = device.zones() {
            ZonedDevice::interpose(&self.1, ix, zones.zoned.clone());
        }
        Ok(device.info(ix))
    }

    /// Closes a device that the array does not want, so that others can have it. What is submitted to it from now on is refused. Says
    /// whether it did: not while something is on its way to it. It is closed when all reactors that took it in have given it back.
    pub fn give_back(&self, dev: DeviceIx) -> bool {
        self.0.borrow_mut().give_back(dev)
    }

    /// A device that is open has come to another path: by that it is opened anew from now on, by all reactors that have it. Whoever counts
    /// on what it holds looks at that first.
    pub fn goes_by(&self, dev: DeviceIx, path: &Path) {
        self.0.borrow().goes_by(dev, path);
    }

    /// Listens on a TCP address. Also returns the address bound, which tells the port if 0 was asked for.
    ///
    /// # Errors
    /// The operating system's.
    pub fn listen_tcp(&self, address: SocketAddr) -> io::Result<(ListenerId, SocketAddr)> {
        let listener = TcpListener::bind(address)?;
        let bound = listener.local_addr()?;
        Ok((self.add_listener(listener)?, bound))
    }

    /// Listens on a Unix socket. A socket file that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// The operating system's; `AddrInUse` if somebody listens there or the path is something else than a socket.
    pub fn listen_unix(&self, path: &Path) -> io::Result<ListenerId> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_abandoned(path) => {
                fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            other => other?,
        };
        self.add_listener(listener)
    }

    /// Takes in a socket that listens already. Several reactors may take in duplicates of the same one: each connection
    /// then goes to one of them.
    ///
    /// # Errors
    /// The operating system's.
    pub fn add_listener(&self, listener: impl Into<OwnedFd>) -> io::Result<ListenerId> {
        self.0.borrow_mut().sockets.insert_listener(listener.into())
    }

    /// Stops listening; accepts that are pending fail. The file of a Unix socket stays.
    pub fn close_listener(&self, listener: ListenerId) {
        self.0.borrow_mut().sockets.close_listener(listener);
    }

    /// Connects by TCP, waiting for the peer.
    ///
    /// # Errors
    /// The operating system's.
    pub fn connect_tcp(&self, address: SocketAddr) -> io::Result<SocketId> {
        self.add_socket(TcpStream::connect(address)?)
    }

    /// Connects to a Unix socket, waiting for the peer.
    ///
    /// # Errors
    /// The operating system's.
    pub fn connect_unix(&self, path: &Path) -> io::Result<SocketId> {
        self.add_socket(UnixStream::connect(path)?)
    }

    /// Takes in a connected stream socket, for example one that another reactor gave up by [`Io::remove_socket`].
    ///
    /// # Errors
    /// The operating system's.
    pub fn add_socket(&self, socket: impl Into<OwnedFd>) -> io::Result<SocketId> {
        self.0.borrow_mut().sockets.insert(socket.into())
    }

    /// Gives a connection up, so that a message can carry it to another reactor. `None` if there is no such socket or
    /// operations on it are pending.
    pub fn remove_socket(&self, socket: SocketId) -> Option<OwnedFd> {
        self.0.borrow_mut().sockets.remove(socket)
    }

    /// Time that this reactor has spent looking for work in vain. What remains of its thread's CPU time it was busy.
    pub fn spun(&self) -> Nanos {
        self.0.borrow().spun()
    }

    /// Why the reactor's buffers are not registered with the kernel, if they should be: I/O works, a little slower.
    pub fn buffer_note(&self) -> Option<String> {
        self.0.borrow().arena_note().map(str::to_owned)
    }
}

/// Whether a path is a socket that nobody listens on.
fn is_abandoned(path: &Path) -> bool {
    UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}
