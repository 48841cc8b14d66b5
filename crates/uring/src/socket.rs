//! Sockets of a reactor: names, and sends that are gathered, whole and in order.
//!
//! Sends of one socket queue up here, and one system call at a time takes all of them: replies to a client that keeps
//! many requests in flight leave together. A send the kernel took only part of continues where it stopped, inside the
//! driver; its operation completes when the last byte has been taken.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use cygnus_runtime::{BufSlice, Completion, IoError, IoErrorKind, ListenerId, OpId, Outcome, SocketId};

/// The kernel's limit of pieces in one gathered send.
const MAX_PIECES: usize = libc::UIO_MAXIOV as usize;

/// Bits of a [`SocketId`] that are the place in the table; the rest counts the place's uses, so that an old name does
/// not reach a new connection.
const PLACE_BITS: u32 = 20;

struct PendingSend {
    id: OpId,
    bufs: Vec<BufSlice>,
}

/// The header and pieces of the send the kernel is working on; boxed, since the kernel holds its address.
struct Gathered {
    header: libc::msghdr,
    pieces: Vec<libc::iovec>,
}

/// A connection.
pub(crate) struct Socket {
    fd: OwnedFd,
    queue: VecDeque<PendingSend>,
    /// Bytes of the queue's first send that the kernel has taken.
    taken: usize,
    gathered: Box<Gathered>,
    sending: bool,
    /// Receives the kernel has.
    receiving: u32,
    closing: Option<OpId>,
}

/// What to hand to the kernel next.
pub(crate) enum NextSend {
    /// One piece: the plain call is cheaper.
    Plain(RawFd, *const u8, u32),
    /// Several pieces.
    Gathered(RawFd, *const libc::msghdr),
}

impl Socket {
    fn new(fd: OwnedFd) -> Self {
        // SAFETY: all zeros is a valid message header, an empty one.
        let header = unsafe { std::mem::zeroed() };
        let gathered = Box::new(Gathered { header, pieces: Vec::new() });
        Self { fd, queue: VecDeque::new(), taken: 0, gathered, sending: false, receiving: 0, closing: None }
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    pub(crate) fn receive_started(&mut self) {
        self.receiving += 1;
    }

    pub(crate) fn receive_ended(&mut self) {
        self.receiving -= 1;
    }

    /// Queues a send of at least one byte. True if the socket must be given a [`Socket::next_send`].
    pub(crate) fn enqueue(&mut self, id: OpId, bufs: Vec<BufSlice>) -> bool {
        self.queue.push_back(PendingSend { id, bufs });
        !self.sending && self.queue.len() == 1
    }

    /// Gathers what is queued, if there is anything and the kernel is not still at work. The memory it refers to stays
    /// until [`Socket::send_ended`].
    pub(crate) fn next_send(&mut self) -> Option<NextSend> {
        if self.sending || self.queue.is_empty() {
            return None;
        }
        let Gathered { header, pieces } = &mut *self.gathered;
        pieces.clear();
        let mut skip = self.taken;
        for buf in self.queue.iter().flat_map(|send| &send.bufs) {
            let skipped = skip.min(buf.len());
            skip -= skipped;
            if skipped < buf.len() {
                let start = buf.as_ptr().wrapping_add(skipped).cast();
                pieces.push(libc::iovec { iov_base: start, iov_len: buf.len() - skipped });
                if pieces.len() == MAX_PIECES {
                    break;
                }
            }
        }
        self.sending = true;
        Some(match pieces.as_mut_slice() {
            [one] => NextSend::Plain(self.fd.as_raw_fd(), one.iov_base.cast(), one.iov_len as u32),
            several => {
                header.msg_iovlen = several.len();
                header.msg_iov = several.as_mut_ptr();
                NextSend::Gathered(self.fd.as_raw_fd(), header)
            }
        })
    }

    /// Accounts for the end of a send: those whose last byte was taken complete, and after an error all do. True if the
    /// socket must be given a [`Socket::next_send`].
    pub(crate) fn send_ended(&mut self, result: i32, done: &mut Vec<Completion>) -> bool {
        self.sending = false;
        match result {
            _ if self.is_closing() => self.fail_queue(IoError::new(IoErrorKind::Closed), done),
            0.. => self.advance(result as usize, done),
            _ if is_transient(-result) => {}
            // A stream with a hole in it is of no use: what is queued behind the failure fails with it.
            _ => self.fail_queue(IoError::of_socket(-result), done),
        }
        !self.queue.is_empty()
    }

    fn advance(&mut self, bytes: usize, done: &mut Vec<Completion>) {
        self.taken += bytes;
        while let Some(send) = self.queue.front() {
            let len: usize = send.bufs.iter().map(BufSlice::len).sum();
            if self.taken < len {
                break;
            }
            self.taken -= len;
            done.push(Completion { id: send.id, result: Ok(Outcome::Done) });
            self.queue.pop_front();
        }
    }

    fn fail_queue(&mut self, error: IoError, done: &mut Vec<Completion>) {
        self.taken = 0;
        done.extend(self.queue.drain(..).map(|send| Completion { id: send.id, result: Err(error) }));
    }
}

/// Whether an operation that failed so is simply to be tried again.
pub(crate) fn is_transient(errno: i32) -> bool {
    matches!(errno, libc::EAGAIN | libc::EINTR)
}

#[derive(Default)]
struct Place {
    uses: u32,
    socket: Option<Socket>,
}

/// A listening socket. Its descriptor stays open after it has stopped listening, since an accept that is queued names it
/// by number; listeners are few.
struct Listener {
    fd: OwnedFd,
    is_open: bool,
}

/// A reactor's sockets and listeners.
#[derive(Default)]
pub(crate) struct Sockets {
    places: Vec<Place>,
    free: Vec<u32>,
    listeners: Vec<Listener>,
}

impl Sockets {
    /// Takes a connection in, without delay of small segments if it is TCP.
    pub(crate) fn insert(&mut self, fd: OwnedFd) -> io::Result<SocketId> {
        set_blocking(&fd)?;
        set_no_delay(&fd);
        enlarge_send_buffer(&fd);
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() as u32 - 1
        });
        assert!(place < 1 << PLACE_BITS, "more sockets than a process can open");
        let entry = &mut self.places[place as usize];
        entry.socket = Some(Socket::new(fd));
        Ok(SocketId(entry.uses << PLACE_BITS | place))
    }

    /// The socket of that name, if it still is open.
    pub(crate) fn get(&mut self, id: SocketId) -> Option<&mut Socket> {
        let place = self.places.get_mut(place_of(id) as usize)?;
        if place.uses == id.0 >> PLACE_BITS { place.socket.as_mut() } else { None }
    }

    /// The socket at a place that is known to be occupied.
    pub(crate) fn at(&mut self, place: u32) -> &mut Socket {
        self.places[place as usize].socket.as_mut().expect("the kernel answers only for sockets that are kept open")
    }

    /// The socket at a place, if there is one.
    pub(crate) fn occupant(&mut self, place: u32) -> Option<&mut Socket> {
        self.places[place as usize].socket.as_mut()
    }

    /// The descriptor of the socket at a place that is known to be occupied.
    pub(crate) fn fd_of(&self, place: u32) -> RawFd {
        self.places[place as usize].socket.as_ref().expect("operations on a socket keep it open").fd()
    }

    /// Shuts a socket down. [`Sockets::release_if_quiet`] ends the operation `id` and frees the socket.
    pub(crate) fn close(&mut self, sock: SocketId, id: OpId, done: &mut Vec<Completion>) -> Result<(), IoError> {
        let Some(socket) = self.get(sock).filter(|socket| !socket.is_closing()) else {
            return Err(IoError::new(IoErrorKind::Closed));
        };
        socket.closing = Some(id);
        if !socket.sending {
            socket.fail_queue(IoError::new(IoErrorKind::Closed), done);
        }
        // SAFETY: the descriptor is open. That the peer was faster (ENOTCONN) is no failure.
        unsafe { libc::shutdown(socket.fd(), libc::SHUT_RDWR) };
        self.release_if_quiet(place_of(sock), done);
        Ok(())
    }

    /// Frees a closing socket when the kernel has nothing of it any more: earlier, its number could be given to a new
    /// connection that an operation meant for the old one would hit.
    pub(crate) fn release_if_quiet(&mut self, place: u32, done: &mut Vec<Completion>) {
        let entry = &mut self.places[place as usize];
        let quiet = |socket: &mut Socket| !socket.sending && socket.receiving == 0 && socket.is_closing();
        if let Some(socket) = entry.socket.take_if(quiet) {
            done.extend(socket.closing.map(|id| Completion { id, result: Ok(Outcome::Done) }));
            self.vacate(place);
        }
    }

    /// Takes a connection out, for another reactor. `None` if there is no such socket or operations on it are pending.
    pub(crate) fn remove(&mut self, id: SocketId) -> Option<OwnedFd> {
        let socket = self.get(id)?;
        if socket.sending || socket.receiving > 0 || !socket.queue.is_empty() || socket.is_closing() {
            return None;
        }
        let socket = self.places[place_of(id) as usize].socket.take()?;
        self.vacate(place_of(id));
        Some(socket.fd)
    }

    fn vacate(&mut self, place: u32) {
        let uses = &mut self.places[place as usize].uses;
        *uses = (*uses + 1) & (u32::MAX >> PLACE_BITS);
        self.free.push(place);
    }

    pub(crate) fn insert_listener(&mut self, fd: OwnedFd) -> io::Result<ListenerId> {
        set_blocking(&fd)?;
        self.listeners.push(Listener { fd, is_open: true });
        Ok(ListenerId(self.listeners.len() as u32 - 1))
    }

    /// Whether there is such a listener and it still listens.
    pub(crate) fn is_listening(&self, id: ListenerId) -> bool {
        self.listeners.get(id.0 as usize).is_some_and(|listener| listener.is_open)
    }

    /// The descriptor of a listener that is, or was, listening.
    pub(crate) fn listener_fd(&self, id: ListenerId) -> RawFd {
        self.listeners[id.0 as usize].fd.as_raw_fd()
    }

    /// Stops listening. Accepts that are pending fail.
    pub(crate) fn close_listener(&mut self, id: ListenerId) {
        if let Some(listener) = self.listeners.get_mut(id.0 as usize) {
            listener.is_open = false;
            // SAFETY: the descriptor is open.
            unsafe { libc::shutdown(listener.fd.as_raw_fd(), libc::SHUT_RDWR) };
        }
    }
}

/// The index of a socket in the table.
pub(crate) fn place_of(id: SocketId) -> u32 {
    id.0 & ((1 << PLACE_BITS) - 1)
}

/// io_uring answers operations on a non-blocking descriptor with EAGAIN instead of waiting.
fn set_blocking(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is open; only its flags are read and set.
    let failed = unsafe {
        let flags = libc::fcntl(fd.as_raw_fd(), libc::F_GETFL);
        flags < 0 || libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK) < 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Bytes that a local socket may hold for a peer that reads late. The default of some 200 KiB holds 25 replies of 4 KiB
/// and their overhead, so deeper queues would go out in parts, each with a wake-up of its own.
const SEND_BUFFER: libc::c_int = 2 << 20;

/// TCP sizes its buffers itself; a local socket keeps the one it was born with.
fn enlarge_send_buffer(fd: &OwnedFd) {
    let bytes = SEND_BUFFER;
    let (value, len) = ((&raw const bytes).cast(), size_of_val(&bytes) as libc::socklen_t);
    let is_local = local_family(fd) == Some(libc::AF_UNIX);
    for option in [libc::SO_SNDBUFFORCE, libc::SO_SNDBUF] {
        // SAFETY: the descriptor is open and the value lives through the call. The first needs a privilege; the second
        // gives what the system's limit allows.
        if !is_local || unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, option, value, len) } == 0 {
            return;
        }
    }
}

fn local_family(fd: &OwnedFd) -> Option<libc::c_int> {
    let mut family: libc::c_int = 0;
    let mut len = size_of_val(&family) as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_DOMAIN);
    // SAFETY: the descriptor is open; the value is as long as said.
    let result = unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, (&raw mut family).cast(), &raw mut len) };
    (result == 0).then_some(family)
}

/// Sends small segments at once. On anything but TCP this fails, and does not matter.
fn set_no_delay(fd: &OwnedFd) {
    let on: libc::c_int = 1;
    let (value, len) = ((&raw const on).cast(), size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the descriptor is open, the option is a C int that outlives the call.
    unsafe { libc::setsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, value, len) };
}
