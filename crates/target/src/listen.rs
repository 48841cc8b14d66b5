//! Addresses to listen on, and the sockets behind them.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use cygnus_nbd::wire::DEFAULT_PORT;
use cygnus_nbd::{Address, NbdUri};

/// Where to listen: `unix:PATH`, `HOST:PORT`, `[IPV6]:PORT`, or `HOST` with NBD's own port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress(Address);

/// Why nothing is listening.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The text is no address.
    #[error("{0:?} is not an address: use unix:PATH, HOST:PORT or [IPV6]:PORT")]
    Address(String),
    /// A server answers at that socket.
    #[error("{}: another server is listening here; stop it or choose another socket", .0.display())]
    InUse(PathBuf),
    /// There is a file, and it is not a socket.
    #[error("{}: exists and is not a socket; remove it or choose another path", .0.display())]
    NotASocket(PathBuf),
    /// The operating system refuses.
    #[error("{address}: cannot listen: {source}{}", hint(source))]
    Io {
        /// Where it should have listened.
        address: ListenAddress,
        /// What the system said.
        source: io::Error,
    },
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::PermissionDenied => {
            ": run as another user, choose another directory (--state DIR for a socket in it), or a port from 1024 on"
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => ": make that directory first, or choose another one",
        ErrorKind::ReadOnlyFilesystem => ": choose another directory (--state DIR for a socket in it)",
        ErrorKind::AddrInUse => ": stop the program that listens there, or choose another port",
        ErrorKind::AddrNotAvailable => {
            ": no network interface of this machine has this address; choose one that it has"
        }
        _ => "",
    }
}

impl FromStr for ListenAddress {
    type Err = ListenError;

    fn from_str(text: &str) -> Result<Self, ListenError> {
        let wrong = || ListenError::Address(text.into());
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err(wrong()) } else { Ok(Self(Address::Unix(path.into()))) };
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') => (host, port.parse().map_err(|_| wrong())?),
            _ => (text, DEFAULT_PORT),
        };
        let host = host.strip_prefix('[').map_or(Some(host), |rest| rest.strip_suffix(']')).ok_or_else(wrong)?;
        if host.is_empty() || host.contains(['/', ' ', '[', ']']) {
            return Err(wrong());
        }
        Ok(Self(Address::Tcp { host: host.into(), port }))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}
impl ListenError {
    fn is_in_use(&self) -> bool {
        match self {
            Self::InUse(_) => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::AddrInUse,
            Self::Address(_) | Self::NotASocket(_) => false,
        }
    }
}

/// A listening socket, to be given to a driver as a duplicate of its descriptor. Dropping it removes the socket file and
/// closes this descriptor.
pub struct BoundListener {
    socket: Socket,
    address: ListenAddress,
    /// The socket file's inode, so that only our own file is removed.
    inode: Option<(PathBuf, u64)>,
}

/// How long an address may seem to be in use before it counts as that. The kernel lets go of an io_uring's sockets some
/// milliseconds *after* their killed process is gone, and a supervisor restarts it faster than that.
const RELEASE_PATIENCE: Duration = Duration::from_secs(2);
const RELEASE_POLL: Duration = Duration::from_millis(10);

/// The rights of a socket file: reading and writing for its owner. Other users that shall have access are given it by the
/// directory's owner, who can change them.
const PRIVATE: libc::mode_t = 0o600;
/// Connections that may wait to be accepted: as many as the system allows.
const BACKLOG: libc::c_int = 4096;

impl BoundListener {
    /// Listens. A socket file that no server answers at any more is replaced; for a server that is being killed, waits
    /// a moment.
    ///
    /// # Errors
    /// [`ListenError`], naming the address and what to do.
    pub fn bind(address: &ListenAddress) -> Result<Self, ListenError> {
        let began = Instant::now();
        loop {
            match Self::bind_now(address) {
                Err(error) if error.is_in_use() && began.elapsed() < RELEASE_PATIENCE => thread::sleep(RELEASE_POLL),
                other => return other,
            }
        }
    }

    /// As [`BoundListener::bind`], without waiting for anybody.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn bind_now(address: &ListenAddress) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Io { address: address.clone(), source };
        let (socket, mut address, inode) = match &address.0 {
            Address::Unix(path) => {
                // Two servers that start at once must not both find the place free.
                let _alone = lock_directory(path).map_err(failed)?;
                clear_stale(path)?;
                let socket = bind_private(path).map_err(failed)?;
                let inode = std::fs::symlink_metadata(path).map_err(failed)?.ino();
                let path = std::path::absolute(path).map_err(failed)?;
                (Socket::Unix(socket), ListenAddress(Address::Unix(path.clone())), Some((path, inode)))
            }
            Address::Tcp { host, port } => {
                let socket = TcpListener::bind((host.as_str(), *port)).map_err(failed)?;
                keep_alive(&socket).map_err(failed)?;
                (Socket::Tcp(socket), address.clone(), None)
            }
        };
        // Port 0 asks for any free one: tell which it became.
        if let (Socket::Tcp(socket), Address::Tcp { port, .. }) = (&socket, &mut address.0) {
            *port = socket.local_addr().map_or(*port, |local| local.port());
        }
        Ok(Self { socket, address, inode })
    }

    /// Where it listens: the path made absolute, the port as it became.
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// Whether clients can still find it: a Unix socket's file may have been removed, with its directory or alone.
    pub fn is_in_place(&self) -> bool {
        let still =
            |(path, inode): &(PathBuf, u64)| std::fs::symlink_metadata(path).is_ok_and(|file| file.ino() == *inode);
        self.inode.as_ref().is_none_or(still)
    }

    /// The URI of an export here, as a client on this machine would write it.
    pub fn uri(&self, export: &str) -> NbdUri {
        let address = match &self.address.0 {
            Address::Tcp { host, port } => {
                let any = matches!(host.as_str(), "0.0.0.0" | "::" | "*");
                Address::Tcp { host: if any { "localhost".into() } else { host.clone() }, port: *port }
            }
            unix => unix.clone(),
        };
        NbdUri { address, export: export.into() }
    }
}

impl AsFd for BoundListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Drop for BoundListener {
    fn drop(&mut self) {
        if let Some((path, inode)) = &self.inode {
            let ours = std::fs::symlink_metadata(path).is_ok_and(|file| file.ino() == *inode);
            if ours {
                // No caller is left to be told of a failure, and the next start clears stale files.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// Lets the kernel find out about clients that are gone without a word: probes after a minute of silence, and an end
/// after two. Connections inherit this from their listener.
fn keep_alive(socket: &TcpListener) -> io::Result<()> {
    let options = [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 60),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 10),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 6),
    ];
    for (level, option, value) in options {
        let value: libc::c_int = value;
        let (at, len) = ((&raw const value).cast(), size_of::<libc::c_int>() as libc::socklen_t);
        // SAFETY: the descriptor is open, and the option is a C int that outlives the call.
        if unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, at, len) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Keeps others from making sockets in the same directory, until the answer is dropped.
fn lock_directory(path: &Path) -> io::Result<File> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = File::open(parent)?;
    // A file system that knows no locks (an old NFS) leaves it to luck, as before.
    let _ = directory.lock();
    Ok(directory)
}

/// Listens at a socket file that from its first moment on only its owner may open, whatever the umask says.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let failed = |result: libc::c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) };
    // SAFETY: no pointers involved.
    let fd = failed(unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the descriptor was just made and nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // Linux makes the file with the rights that the socket itself has, less the umask.
    // SAFETY: no pointers involved.
    failed(unsafe { libc::fchmod(fd, PRIVATE) })?;
    // SAFETY: all zeros is a valid address, an empty one.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let name = path.as_os_str().as_bytes();
    if name.len() >= address.sun_path.len() || name.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path of a socket has at most 107 bytes"));
    }
    for (to, &from) in address.sun_path.iter_mut().zip(name) {
        *to = from as libc::c_char;
    }
    let len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address lives through the call and has the length that is said.
    failed(unsafe { libc::bind(fd, (&raw const address).cast(), len) })?;
    // The umask may have taken rights from the owner, who gets them back.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(PRIVATE))?;
    // SAFETY: no pointers involved.
    failed(unsafe { libc::listen(fd, BACKLOG) })?;
    Ok(UnixListener::from(socket))
}

/// Removes the socket file of a server that is dead; refuses what is alive or something else.
fn clear_stale(path: &Path) -> Result<(), ListenError> {
    let Ok(file) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !file.file_type().is_socket() {
        return Err(ListenError::NotASocket(path.into()));
    }
    match UnixStream::connect(path) {
        // Only a refusal proves that no server listens; a full queue or missing rights do not.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            let address = ListenAddress(Address::Unix(path.into()));
            std::fs::remove_file(path).map_err(|source| ListenError::Io { address, source })
        }
        _ => Err(ListenError::InUse(path.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for text in ["unix:/run/x.sock", "127.0.0.1:10809", "localhost:1", "[::1]:4000"] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
        assert_eq!("0.0.0.0".parse::<ListenAddress>().unwrap().to_string(), "0.0.0.0:10809");
        for text in ["", "unix:", ":5", "host:port", "host:99999", "/run/x.sock", "[::1:5", "a b:5"] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn socket_files() {
        let dir = std::env::temp_dir().join(format!("cygnus-listen-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("x.sock");
        let address: ListenAddress = format!("unix:{}", path.display()).parse().unwrap();

        let alive = BoundListener::bind(&address).unwrap();
        assert!(matches!(BoundListener::bind(&address), Err(ListenError::InUse(_))));
        let dying = std::thread::spawn(move || {
            std::thread::sleep(RELEASE_PATIENCE / 8);
            drop(alive);
        });
        drop(BoundListener::bind(&address).expect("waits for a server that is going"));
        dying.join().unwrap();
        assert!(!path.exists(), "a closed listener leaves no file");

        // A killed server leaves its file.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let replaced = BoundListener::bind(&address).unwrap();

        // A successor's file is not ours to remove.
        std::fs::remove_file(&path).unwrap();
        let successor = BoundListener::bind(&address).unwrap();
        drop(replaced);
        assert!(path.exists());
        drop(successor);

        std::fs::write(&path, b"precious").unwrap();
        assert!(matches!(BoundListener::bind(&address), Err(ListenError::NotASocket(_))));
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn connections_inherit_the_probes() {
        let listener = BoundListener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let Socket::Tcp(socket) = &listener.socket else { panic!() };
        let _client = std::net::TcpStream::connect(socket.local_addr().unwrap()).unwrap();
        let (connection, _) = socket.accept().unwrap();
        let option = |level, option| {
            let (mut value, mut len): (libc::c_int, _) = (0, size_of::<libc::c_int>() as libc::socklen_t);
            // SAFETY: the descriptor is open; value and length are valid for the call.
            let got = unsafe {
                libc::getsockopt(connection.as_raw_fd(), level, option, (&raw mut value).cast(), &raw mut len)
            };
            assert_eq!(got, 0);
            value
        };
        assert_eq!(option(libc::SOL_SOCKET, libc::SO_KEEPALIVE), 1);
        assert_eq!(option(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE), 60);
    }

    #[test]
    fn any_port_is_told() {
        let listener = BoundListener::bind(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let uri = listener.uri("vol 0").to_string();
        assert!(uri.starts_with("nbd://127.0.0.1:") && uri.ends_with("/vol%200") && !uri.contains(":0/"), "{uri}");
    }
}
