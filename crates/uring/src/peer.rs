//! Who is at the other end of a connection.

use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd};

use cygnus_runtime::Peer;

/// Asks the kernel. A connection that is broken already has nobody at its other end.
pub(crate) fn peer_of(fd: &OwnedFd) -> Peer {
    // SAFETY: all zeros is a valid address, of no family.
    let mut address: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let mut len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the descriptor is open, and the address has the length that is said.
    if unsafe { libc::getpeername(fd.as_raw_fd(), (&raw mut address).cast(), &raw mut len) } != 0 {
        return Peer::Unknown;
    }
    match libc::c_int::from(address.ss_family) {
        libc::AF_INET => {
            // SAFETY: the kernel says that it is such an address, and the storage is large enough and aligned for any.
            let address = unsafe { *(&raw const address).cast::<libc::sockaddr_in>() };
            Peer::Address(IpAddr::V4(Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let address = unsafe { *(&raw const address).cast::<libc::sockaddr_in6>() };
            Peer::Address(IpAddr::V6(Ipv6Addr::from(address.sin6_addr.s6_addr)))
        }
        libc::AF_UNIX => user_of(fd),
        _ => Peer::Unknown,
    }
}

/// The user who has connected to a local socket.
fn user_of(fd: &OwnedFd) -> Peer {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of_val(&who) as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: the descriptor is open; the value is as long as said.
    let result = unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, (&raw mut who).cast(), &raw mut len) };
    if result == 0 { Peer::User(who.uid) } else { Peer::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    #[test]
    fn peers_are_known_by_address_or_user() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        // SAFETY: the call only tells a number.
        assert_eq!(peer_of(&ours.into()), Peer::User(unsafe { libc::geteuid() }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let accepted = listener.accept().unwrap().0;
        assert_eq!(peer_of(&accepted.into()), Peer::Address(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    }
}
