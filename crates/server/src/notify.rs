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

/// The descriptor of this number, which our parent opened for us.
///
/// # Errors
/// When there is none, or when this process has opened it: a newline there could be in the midst of a member.
pub fn inherited(fd: RawFd) -> Result<File> {
    // SAFETY: the call takes two numbers and no pointer. F_GETFD reads flags and changes nothing; a number that is not open is an error.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    // Whatever this process opens is closed on exec: the standard library, io_uring and our own calls ask for that. What came through
    // an exec cannot have been.
    if flags < 0 || flags & libc::FD_CLOEXEC != 0 {
        return Err(std::io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: the call takes three numbers and no pointer. It changes one flag of a descriptor that is open and, as was just seen, nobody's
    // in this process; the flag matters to no read, write or close.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, flags | libc::FD_CLOEXEC) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: a file owns its descriptor alone. This one is open, and no object of this process owns it, as none has opened it. It is
    // given away once: it is closed on exec now, so a second call for the same number is refused above.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Writes a newline to it, and closes it.
pub fn descriptor(mut file: File) -> Result<()> {
    file.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::scratch::Scratch;
    use std::os::fd::{AsRawFd, IntoRawFd};

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
        // SAFETY: three numbers and no pointer. The descriptor is open, as `writer` owns it, and is given up by it below; without
        // FD_CLOEXEC it is as one that came through an exec.
        unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFD, 0) };
        descriptor(inherited(writer.into_raw_fd()).unwrap()).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
        assert_eq!(text, "\n", "and the end of the file was seen");
    }

    #[test]
    fn what_this_process_has_opened_is_not_taken() {
        let (_reader, writer) = std::io::pipe().unwrap();
        assert_eq!(inherited(writer.as_raw_fd()).unwrap_err().raw_os_error(), Some(libc::EBADF));
        assert_eq!(inherited(987_654).unwrap_err().raw_os_error(), Some(libc::EBADF));
    }
}
