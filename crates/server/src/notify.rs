//! Telling what started the server that it is ready: systemd by its socket, scripts by a file descriptor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Result, Write};
use std::os::fd::{FromRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Sends a state such as `READY=1` to the service manager, if there is one (`sd_notify(3)`).
pub fn service_manager(state: &str) -> Result<()> {
    std::env::var_os("NOTIFY_SOCKET").map_or(Ok(()), |socket: OsString| send(&socket, state))
}

fn send(socket: &OsStr, state: &str) -> Result<()> {
    // A leading '@' names a socket of Linux's abstract namespace.
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

/// Writes a newline to a descriptor that our parent opened for this, and closes it.
pub fn descriptor(fd: RawFd) -> Result<()> {
    // SAFETY: F_GETFD reads one flag and changes nothing; it tells whether the number is open at all.
    if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open (just checked) and by `--ready-fd` the user hands it over to us alone: nothing
    // else in this process knows the number, so closing it on drop takes it from nobody.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::scratch::Scratch;
    use std::os::fd::IntoRawFd;

    #[test]
    fn systemd_s_socket_gets_the_state_by_path_and_by_abstract_name() {
        let scratch = Scratch::new("notify");
        let path = scratch.path().join("notify");
        let name = format!("cygnus-notify-{}", std::process::id());
        let abstract_address = SocketAddr::from_abstract_name(&name).unwrap();
        for (receiver, socket) in [
            (UnixDatagram::bind(&path).unwrap(), path.clone().into_os_string()),
            (UnixDatagram::bind_addr(&abstract_address).unwrap(), format!("@{name}").into()),
        ] {
            send(&socket, "READY=1").unwrap();
            let mut buffer = [0; 32];
            let length = receiver.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"READY=1");
        }
    }

    #[test]
    fn a_descriptor_gets_a_newline_and_is_closed() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        descriptor(writer.into_raw_fd()).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
        assert_eq!(text, "\n", "and the end of the file was seen");
        assert!(descriptor(987_654).is_err());
    }
}
