//! The [`Driver`] of production.
//!
//! Operations on files and sockets go to the ring, all that were queued since the last park in one system call.
//! Operations on devices in memory, and those that are refused on sight, wait in a list for the next park. Completions
//! of both kinds, and messages, come out of park alone.

use std::cell::RefCell;
use std::io::{self, Write};
use std::mem;
use std::os::fd::{FromRawFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use cygnus_runtime::{
    BufPool, BufSlice, Capabilities, Completion, DeviceIx, Driver, Events, Halt, IoError, IoErrorKind, Message, Op,
    OpId, Outcome, SocketId,
};
use cygnus_types::{Nanos, ReactorId};
use io_uring::opcode;
use io_uring::types::{CancelBuilder, Fd};

use crate::arena::Arena;
use crate::device::{Backing, Device, Opened};
use crate::errand::Errands;
use crate::error::StartError;
use crate::flight::{InFlight, entry_for, trim_piece};
use crate::inbox::{Inbox, Mailer};
use crate::peer::peer_of;
use crate::registered::{DEPTH, Registered};
use crate::ring::{Cqe, Ring};
use crate::socket::{NextSend, Sockets, is_transient, place_of};

/// Devices a reactor can hold: places in the table of registered files.
pub(crate) const MAX_DEVICES: usize = 256;
/// What the kernel says of a write behind the end of a device.
const NO_SPACE: i32 = -libc::ENOSPC;

/// How long a driver that is dropped waits for the kernel to let go of its buffers before it gives them up for lost.
const PATIENCE: Duration = Duration::from_secs(10);

/// The `user_data` of a submission: what it was for in the upper half, which one in the lower.
mod tag {
    /// An operation of the engine, by its `OpId`.
    pub(super) const OP: u32 = 0;
    /// A gathered send, by the socket's place.
    pub(super) const SEND: u32 = 1;
    /// The read of the bell.
    pub(super) const BELL: u32 = 2;
    /// A cancellation: of everything, at the end, or of a receive.
    pub(super) const CANCEL: u32 = 3;

    pub(super) fn pack(tag: u32, ix: u32) -> u64 {
        u64::from(tag) << 32 | u64::from(ix)
    }

    pub(super) fn unpack(data: u64) -> (u32, u32) {
        ((data >> 32) as u32, data as u32)
    }
}

/// What a driver is made of.
pub(crate) struct Parts {
    pub(crate) epoch: Instant,
    pub(crate) inbox: Inbox,
    pub(crate) mailer: Mailer,
    pub(crate) pool: BufPool,
    pub(crate) spin: Nanos,
    pub(crate) queue_entries: u32,
}

mod far;
mod reopen;

/// One reactor's share of the world. [`UringDriver`] drives it; [`crate::Io`] adds devices and sockets to it.
pub(crate) struct Core {
    ring: Ring,
    epoch: Instant,
    spin: Nanos,
    inbox: Inbox,
    mailer: Mailer,
    /// Where the kernel puts the bell's count; boxed, since the kernel holds its address.
    bell_count: Box<u64>,
    bell_armed: bool,
    arena: Arena,
    devices: Vec<Registered>,
    reopenings: Errands<reopen::Reopened>,
    /// Operations of devices that are behind sockets.
    far: Errands<far::Ended>,
    /// Commands for zones.
    of_zones: Errands<Completion>,
    pub(crate) sockets: Sockets,
    /// By `OpId`.
    in_flight: Vec<Option<InFlight>>,
    /// Operations that need no kernel, for the next park.
    local: Vec<(OpId, Op)>,
    /// Ends of operations that never began or ended at once, for the next park.
    ended: Vec<Completion>,
    /// Places of sockets with something new to send.
    to_send: Vec<u32>,
    cqes: Vec<Cqe>,
    /// Time spent looking for work in vain.
    spun: Nanos,
}

/// A look around that took longer than this was interrupted: the core did something else meanwhile.
const LONGEST_LOOK: Nanos = Nanos::micros(5);

/// A reactor without anything to do looks at its clock this often, so that it notices when it was kept from running.
const LONGEST_NAP: Nanos = Nanos::millis(250);

impl Core {
    pub(crate) fn new(parts: Parts) -> Result<Self, StartError> {
        let Parts { epoch, inbox, mailer, pool, spin, queue_entries } = parts;
        let ring = Ring::new(queue_entries)?;
        let files = ring.uring().submitter().register_files_sparse(MAX_DEVICES as u32);
        files.map_err(|source| StartError::Io { doing: "register files with the ring", source })?;
        let arena = Arena::register(&ring, pool);
        let (reopenings, far, of_zones) =
            (Errands::new(inbox.bell()), Errands::new(inbox.bell()), Errands::new(inbox.bell()));
        Ok(Self {
            ring,
            epoch,
            spin,
            inbox,
            mailer,
            bell_count: Box::new(0),
            bell_armed: false,
            arena,
            devices: Vec::new(),
            reopenings,
            far,
            of_zones,
            sockets: Sockets::default(),
            in_flight: Vec::new(),
            local: Vec::new(),
            ended: Vec::new(),
            to_send: Vec::new(),
            cqes: Vec::new(),
            spun: Nanos::ZERO,
        })
    }

    /// Takes a device in under the next number.
    pub(crate) fn add_device(&mut self, device: &Device) -> Result<DeviceIx, StartError> {
        let ix = self.devices.len();
        if ix == MAX_DEVICES {
            return Err(StartError::TooManyDevices { max: MAX_DEVICES });
        }
        let submitter = self.ring.uring().submitter();
        if let Some(Opened::Place(opening)) = device.opened() {
            // For itself, and as many for each of those before.
            let mut threads = [(ix as u32 + 1) * DEPTH, 0];
            submitter
                .register_files_update(ix as u32, &[opening.raw_fd()])
                .and_then(|_| submitter.register_iowq_max_workers(&mut threads))
                .map_err(|source| StartError::Io { doing: "register a device with the ring", source })?;
        }
        self.devices.push(Registered::new(device.clone()));
        Ok(DeviceIx(ix as u16))
    }

    /// Closes a device that nobody uses any more; its number is not given out again. Says whether it did: not while something is on its way
    /// to it.
    pub(crate) fn give_back(&mut self, dev: DeviceIx) -> bool {
        let place = dev.0 as usize;
        let Some(registered) = self.devices.get(place).filter(|registered| registered.is_idle()) else { return false };
        let Ok(nothing) = Device::given_back(registered.device.name()) else { return false };
        if matches!(registered.device.opened(), Some(Opened::Place(_))) {
            let removed = self.ring.uring().submitter().register_files_update(place as u32, &[-1]);
            if removed.is_err() {
                return false;
            }
        }
        self.devices[place] = Registered::new(nothing);
        true
    }

    pub(crate) fn arena_note(&self) -> Option<&str> {
        self.arena.note()
    }

    fn now(&self) -> Nanos {
        Nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    pub(crate) fn spun(&self) -> Nanos {
        self.spun
    }

    fn refuse(&mut self, id: OpId, kind: IoErrorKind) {
        self.ended.push(Completion { id, result: Err(IoError::new(kind)) });
    }

    fn submit(&mut self, id: OpId, op: Op) {
        match op {
            Op::Read { dev, offset, ref buf } | Op::Write { dev, offset, ref buf, .. } => {
                let (len, address) = (buf.len() as u64, buf.as_ptr() as usize);
                self.submit_to_device(id, dev, op, offset, len, address);
            }
            Op::Trim { dev, offset, len } => self.submit_to_device(id, dev, op, offset, len, 0),
            Op::Flush { dev } => self.submit_to_device(id, dev, op, 0, 0, 0),
            Op::Extra { dev, what } => self.submit_extra(id, dev, what),
            Op::Reopen { dev } => self.reopen(id, dev),
            Op::Accept { listener } if self.sockets.is_listening(listener) => self.launch(id, op),
            Op::Accept { .. } => self.refuse(id, IoErrorKind::Closed),
            Op::Recv { sock, ref buf } => match self.sockets.get(sock) {
                _ if buf.is_empty() => self.refuse(id, IoErrorKind::Range),
                Some(socket) if !socket.is_closing() => {
                    socket.receive_started();
                    self.launch(id, op);
                }
                _ => self.refuse(id, IoErrorKind::Closed),
            },
            Op::Send { sock, bufs } => self.submit_send(id, sock, bufs),
            Op::Close { sock } => {
                if let Err(error) = self.sockets.close(sock, id, &mut self.ended) {
                    self.refuse(id, error.kind);
                }
            }
        }
    }

    /// Has the kernel let go of a receive. The cancellation goes to it before anything that has ended is looked at, so by then
    /// the number still is that of this receive.
    fn end_receive(&mut self, id: OpId) {
        let is_receive = |flight: &InFlight| matches!(flight.op, Op::Recv { .. });
        if self.in_flight.get(id.0 as usize).and_then(Option::as_ref).is_some_and(is_receive) {
            let cancel = opcode::AsyncCancel::new(tag::pack(tag::OP, id.0)).build();
            // SAFETY: the entry carries two numbers and no address, so no memory has to outlive it. Should the receive have
            // ended meanwhile, the kernel finds nothing of that number and says so under the cancellation's own tag.
            unsafe { self.ring.push(cancel.user_data(tag::pack(tag::CANCEL, id.0))) };
        }
    }

    fn submit_to_device(&mut self, id: OpId, dev: DeviceIx, op: Op, offset: u64, len: u64, address: usize) {
        let Some(Registered { device, .. }) = self.devices.get(dev.0 as usize) else {
            return self.refuse(id, IoErrorKind::Gone);
        };
        if !device.admits(offset, len, address) {
            return self.refuse(id, IoErrorKind::Range);
        }
        // Once the last block is written, a file is as long as it was, whatever it has lost.
        if matches!(op, Op::Write { .. }) && self.devices[dev.0 as usize].is_cut_short() {
            return self.refuse(id, IoErrorKind::CutShort);
        }
        let device = &self.devices[dev.0 as usize].device;
        if let Some(Err(error)) = device.zones().map(|zones| zones.admit(&op)) {
            return self.ended.push(Completion { id, result: Err(error) });
        }
        let is_idle =
            len == 0 && !matches!(op, Op::Flush { .. }) || matches!(op, Op::Trim { .. }) && !device.capabilities().trim;
        if is_idle || device.is_memory() {
            self.local.push((id, op));
        } else {
            self.launch(id, op);
        }
    }

    fn submit_send(&mut self, id: OpId, sock: SocketId, bufs: Vec<BufSlice>) {
        match self.sockets.get(sock) {
            Some(socket) if !socket.is_closing() => {
                if bufs.iter().all(BufSlice::is_empty) {
                    self.ended.push(Completion { id, result: Ok(Outcome::Done) });
                } else if socket.enqueue(id, bufs) {
                    self.to_send.push(place_of(sock));
                }
            }
            _ => self.refuse(id, IoErrorKind::Closed),
        }
    }

    /// Hands an operation to the kernel, when its device has room for one more.
    fn launch(&mut self, id: OpId, op: Op) {
        let device = op.device().map(|dev| &mut self.devices[dev.0 as usize]);
        let flight = InFlight { op, done: 0, opening: device.as_ref().map_or(0, |device| device.opening) };
        let admitted = match device {
            Some(device) => device.admit(id, flight),
            None => Some(flight),
        };
        if let Some(flight) = admitted {
            self.push(id, flight);
        }
    }

    /// Queues an operation for the kernel and keeps its buffers.
    fn push(&mut self, id: OpId, flight: InFlight) {
        let slot = id.0 as usize;
        if self.in_flight.len() <= slot {
            self.in_flight.resize_with(slot + 1, || None);
        }
        debug_assert!(self.in_flight[slot].is_none(), "operation {id:?} was submitted twice");
        let flight = self.in_flight[slot].insert(flight);
        if let Some(link) = flight.op.device().and_then(|dev| self.devices[dev.0 as usize].link.as_ref()) {
            return far::send(link, id, flight, &mut self.far);
        }
        let entry = entry_for(flight, &self.devices, &self.sockets, &self.arena);
        // SAFETY: the slot keeps the operation, and with it the buffers the entry points to, until the completion.
        unsafe { self.ring.push(entry.user_data(tag::pack(tag::OP, id.0))) };
    }

    /// Queues what is left of an operation; unless its device was opened anew meanwhile, when it would come after what is done
    /// there now.
    fn relaunch(&mut self, id: OpId, flight: InFlight, done: &mut Vec<Completion>) {
        match flight.op.device() {
            Some(dev) if self.devices[dev.0 as usize].opening != flight.opening => {
                self.device_op_ended(id, dev, Err(IoError::new(IoErrorKind::Gone)), done);
            }
            _ => self.push(id, flight),
        }
    }

    /// The kernel is done with an operation of a device: another one may go.
    fn device_op_ended(
        &mut self,
        id: OpId,
        dev: DeviceIx,
        result: Result<Outcome, IoError>,
        done: &mut Vec<Completion>,
    ) {
        done.push(Completion { id, result });
        let place = dev.0 as usize;
        while let Some((id, flight)) = self.devices[place].ended() {
            if flight.opening == self.devices[place].opening {
                return self.push(id, flight);
            }
            done.push(Completion { id, result: Err(IoError::new(IoErrorKind::Gone)) });
        }
    }

    fn start_sends(&mut self) {
        for place in mem::take(&mut self.to_send) {
            self.start_send(place);
        }
    }

    fn start_send(&mut self, place: u32) {
        // A socket closed since is gone, with what it had to send.
        let Some(next) = self.sockets.occupant(place).and_then(|socket| socket.next_send()) else { return };
        let entry = match next {
            NextSend::Plain(fd, bytes, len) => opcode::Send::new(Fd(fd), bytes, len).flags(libc::MSG_NOSIGNAL).build(),
            NextSend::Gathered(fd, header) => {
                opcode::SendMsg::new(Fd(fd), header).flags(libc::MSG_NOSIGNAL as u32).build()
            }
        };
        // SAFETY: the socket keeps header, pieces and buffers until the send has ended.
        unsafe { self.ring.push(entry.user_data(tag::pack(tag::SEND, place))) };
    }

    fn arm_bell(&mut self) {
        if mem::replace(&mut self.bell_armed, true) {
            return;
        }
        let bell = Fd(self.inbox.bell_fd());
        let entry = opcode::Read::new(bell, (&raw mut *self.bell_count).cast(), size_of::<u64>() as u32).build();
        // SAFETY: the boxed count stays where it is until the driver is dropped, which waits for the read's end.
        unsafe { self.ring.push(entry.user_data(tag::pack(tag::BELL, 0))) };
    }

    /// Carries out what needs no kernel.
    fn run_local(&mut self, done: &mut Vec<Completion>) {
        for (id, op) in self.local.drain(..) {
            carry_out(&self.devices, &op);
            done.push(Completion { id, result: Ok(Outcome::Done) });
        }
        done.append(&mut self.ended);
    }

    /// Gathers what the ring has finished.
    fn reap(&mut self, done: &mut Vec<Completion>) {
        let mut cqes = mem::take(&mut self.cqes);
        self.ring.collect(&mut cqes);
        for (data, result) in cqes.drain(..) {
            match tag::unpack(data) {
                (tag::OP, id) => self.op_ended(OpId(id), result, done),
                (tag::SEND, place) => {
                    if self.sockets.at(place).send_ended(result, done) {
                        self.start_send(place);
                    } else {
                        self.sockets.release_if_quiet(place, done);
                    }
                }
                (tag::BELL, _) => self.bell_armed = false,
                _ => {}
            }
        }
        self.cqes = cqes;
    }

    fn op_ended(&mut self, id: OpId, result: i32, done: &mut Vec<Completion>) {
        let slot = &mut self.in_flight[id.0 as usize];
        let mut flight = slot.take().expect("the kernel completes an operation once");
        if result < 0 && is_transient(-result) {
            return self.relaunch(id, flight, done);
        }
        let result = match &flight.op {
            Op::Read { dev, buf, .. } | Op::Write { dev, buf, .. } => match result {
                1.. => {
                    flight.done += result as u64;
                    if flight.done < buf.len() as u64 {
                        return self.relaunch(id, flight, done);
                    }
                    match self.devices[dev.0 as usize].is_cut_short() {
                        false => Ok(Outcome::Done),
                        true => Err(IoError::new(IoErrorKind::CutShort)),
                    }
                }
                // A device that was taken away has no bytes: reads end there, and writes find no space.
                0 | NO_SPACE if self.devices[dev.0 as usize].device.is_gone() => Err(IoError::of_device(libc::ENODEV)),
                NO_SPACE if self.devices[dev.0 as usize].device.is_smaller() => {
                    Err(IoError::new(IoErrorKind::CutShort))
                }
                0 => Err(IoError::new(IoErrorKind::CutShort)),
                _ => Err(IoError::of_device(-result)),
            },
            Op::Trim { dev, len, .. } => match -result {
                ..=0 => {
                    flight.done += trim_piece(*len, flight.done);
                    if flight.done < *len {
                        return self.relaunch(id, flight, done);
                    }
                    Ok(Outcome::Done)
                }
                errno => {
                    let device = &self.devices[dev.0 as usize].device;
                    if !device.punches() && is_unsupported(errno) {
                        device.punch_from_now_on();
                        return self.relaunch(id, flight, done);
                    }
                    // Trimming is advice: a device that knows no way to take it has done its duty.
                    if is_unsupported(errno) { Ok(Outcome::Done) } else { Err(IoError::of_device(errno)) }
                }
            },
            Op::Accept { .. } => match result {
                0.. => self.accepted(result),
                // The listener has stopped listening.
                _ if matches!(-result, libc::EINVAL | libc::EBADF) => {
                    Err(IoError { kind: IoErrorKind::Closed, errno: -result })
                }
                _ => Err(IoError::of_socket(-result)),
            },
            Op::Recv { sock, .. } => return self.receive_ended(id, place_of(*sock), result, done),
            Op::Flush { .. } if result < 0 => Err(IoError::of_device(-result)),
            Op::Flush { .. } => Ok(Outcome::Done),
            Op::Send { .. } | Op::Close { .. } | Op::Reopen { .. } | Op::Extra { .. } => {
                unreachable!("not launched as operations of their own")
            }
        };
        match flight.op.device() {
            Some(dev) => {
                let zones = self.devices[dev.0 as usize].device.zones();
                let result = zones.map_or(result, |zones| zones.ended(&flight.op, result));
                self.device_op_ended(id, dev, result, done);
            }
            None => done.push(Completion { id, result }),
        }
    }

    fn receive_ended(&mut self, id: OpId, place: u32, result: i32, done: &mut Vec<Completion>) {
        let socket = self.sockets.at(place);
        socket.receive_ended();
        let result = match result {
            _ if socket.is_closing() => Err(IoError::new(IoErrorKind::Closed)),
            0.. => Ok(Outcome::Bytes(result as u32)),
            // By `end_receive`.
            _ if -result == libc::ECANCELED => Ok(Outcome::Done),
            _ => Err(IoError::of_socket(-result)),
        };
        done.push(Completion { id, result });
        self.sockets.release_if_quiet(place, done);
    }

    fn accepted(&mut self, fd: i32) -> Result<Outcome, IoError> {
        // SAFETY: the kernel has just made this descriptor for us.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let peer = peer_of(&fd);
        match self.sockets.insert(fd) {
            Ok(socket) => Ok(Outcome::Socket(socket, peer)),
            Err(error) => Err(IoError::of_socket(error.raw_os_error().unwrap_or(0))),
        }
    }

    /// Looks once, everywhere, without waiting.
    fn poll(&mut self, events: &mut Events) {
        self.start_sends();
        self.ring.submit();
        self.run_local(&mut events.done);
        self.reap(&mut events.done);
        self.hear(events);
    }

    /// Takes in what other threads have brought.
    fn hear(&mut self, events: &mut Events) {
        self.inbox.drain(&mut events.messages);
        while let Some(reopened) = self.reopenings.next() {
            let ended = self.reopened(reopened);
            events.done.push(ended);
        }
        while let Some(ended) = self.of_zones.next() {
            events.done.push(ended);
        }
        while let Some(ended) = self.far.next() {
            self.far_ended(ended, &mut events.done);
        }
    }

    fn park(&mut self, until: Option<Nanos>, events: &mut Events) {
        self.poll(events);
        if !events.is_empty() || until == Some(Nanos::ZERO) {
            return;
        }
        let start = self.now();
        let spin_end = start.saturating_add(self.spin);
        let mut now = start;
        while now < spin_end {
            if until.is_some_and(|until| until <= now) {
                return;
            }
            std::hint::spin_loop();
            if self.ring.has_news() {
                self.poll(events);
            } else {
                self.hear(events);
            }
            if !events.is_empty() {
                return;
            }
            let looked = self.now().since(now);
            if looked < LONGEST_LOOK {
                self.spun = self.spun.saturating_add(looked);
                events.waited = events.waited.saturating_add(looked);
            }
            now = now.saturating_add(looked);
        }
        self.block(until.map(|until| until.since(now)), events);
    }

    fn block(&mut self, timeout: Option<Nanos>, events: &mut Events) {
        self.arm_bell();
        self.inbox.fall_asleep();
        self.hear(events);
        let mut left = timeout;
        while events.is_empty() && left != Some(Nanos::ZERO) {
            let (nap, began) = (left.unwrap_or(LONGEST_NAP).min(LONGEST_NAP), self.now());
            self.ring.wait(Some(Duration::from(nap)));
            let slept = self.now().since(began);
            events.waited = events.waited.saturating_add(slept.min(nap));
            left = left.map(|left| left.since(slept));
            self.reap(&mut events.done);
            self.hear(events);
            // A wait that is interrupted is a wake-up without an event; then the executor has a look at its timers.
            if slept < nap {
                break;
            }
        }
        self.inbox.wake_up();
    }

    /// Waits until the kernel holds nothing of ours any more. False if it does not let go.
    fn quiesce(&mut self) -> bool {
        let deadline = Instant::now() + PATIENCE;
        let mut ends = Vec::new();
        while self.ring.in_flight() > 0 {
            if Instant::now() >= deadline {
                return false;
            }
            let cancel = opcode::AsyncCancel2::new(CancelBuilder::any()).build();
            // SAFETY: a cancellation points to nothing.
            unsafe { self.ring.push(cancel.user_data(tag::pack(tag::CANCEL, 0))) };
            self.ring.wait(Some(Duration::from_millis(10)));
            self.ring.collect(&mut ends);
        }
        true
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if !self.quiesce() {
            // Better to lose memory than to have a device write into memory that serves another purpose by then.
            let _ = writeln!(io::stderr(), "a device does not finish its I/O: its buffers are given up for lost");
            mem::forget(mem::take(&mut self.in_flight));
            mem::forget(mem::take(&mut self.sockets));
            mem::forget(mem::replace(&mut self.bell_count, Box::new(0)));
            return;
        }
        // Else the kernel lets go of the devices some time after the ring is gone, on a busy machine seconds after, and
        // whoever claims one next finds it in use. That it works is seen by whoever does.
        let _ = self.ring.uring().submitter().unregister_files();
    }
}

/// Does what an operation asks of a device in memory. What else waits for a park has nothing to be done.
fn carry_out(devices: &[Registered], op: &Op) {
    let memory = |dev: &DeviceIx| match devices[dev.0 as usize].device.backing() {
        Backing::Memory(memory) => Some(memory),
        _ => None,
    };
    match op {
        Op::Read { dev, offset, buf } => {
            match memory(dev) {
                // SAFETY: the slice is writable for its length: the operation holds a count on its buffer, which comes from
                // a pool and so is no part of the device, and nobody looks at a buffer that a read in flight fills.
                Some(memory) if *offset < memory.len() => unsafe { memory.read(*offset, buf.as_ptr(), buf.len()) },
                Some(_) => buf.zero(0..buf.len()),
                None => {}
            }
        }
        Op::Write { dev, offset, buf, .. } => {
            if let Some(memory) = memory(dev)
                && *offset < memory.len()
            {
                // SAFETY: the buffer comes from a pool and so is no part of the device.
                unsafe { memory.write(*offset, buf.as_ptr(), buf.len()) }
            }
        }
        _ => {}
    }
}

/// Whether an error number means that the device or file system does not know the command; some drives say so themselves.
fn is_unsupported(errno: i32) -> bool {
    matches!(errno, libc::EOPNOTSUPP | libc::ENOSYS | libc::ENOTTY | libc::EINVAL | libc::EREMOTEIO)
}

fn system_error(error: &std::io::Error) -> IoError {
    IoError::of_device(error.raw_os_error().unwrap_or(libc::EIO))
}

/// Drives one reactor on io_uring. Made by [`crate::spawn_reactors`] and [`crate::block_on`].
pub(crate) struct UringDriver(pub(crate) Rc<RefCell<Core>>);

impl Driver for UringDriver {
    fn now(&self) -> Nanos {
        self.0.borrow().now()
    }

    fn submit(&mut self, id: OpId, op: Op) {
        self.0.borrow_mut().submit(id, op);
    }

    fn capabilities(&self, dev: DeviceIx) -> Capabilities {
        let core = self.0.borrow();
        core.devices.get(usize::from(dev.0)).map_or(Capabilities::default(), |of| of.device.capabilities())
    }

    fn guard_length(&mut self, dev: DeviceIx) {
        if let Some(of) = self.0.borrow_mut().devices.get_mut(usize::from(dev.0)) {
            of.guard_length();
        }
    }

    fn end_receive(&mut self, id: OpId) {
        self.0.borrow_mut().end_receive(id);
    }

    fn post(&mut self, to: ReactorId, message: Message) {
        self.0.borrow().mailer.post(to, message);
    }

    fn park(&mut self, until: Option<Nanos>, events: &mut Events) -> Result<(), Halt> {
        self.0.borrow_mut().park(until, events);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Config, Reactor, block_on, create_file};

    /// A regular file turns the discard command down, as a block device does on kernels before 6.12.
    #[test]
    fn a_device_without_the_discard_command_has_holes_punched() {
        let path = std::env::temp_dir().join(format!("cygnus-uring-punch-{}", std::process::id()));
        create_file(&path, 1 << 20).unwrap();
        let device = Device::open(&path, Access::Exclusive).unwrap();
        std::fs::remove_file(&path).unwrap();
        device.expect_discard_command();
        let config = Config { devices: vec![device.clone()], ..Config::default() };
        block_on(&config, async |Reactor { rt, devices, .. }| {
            let mut buf = rt.alloc(1 << 20);
            buf.bytes_mut().fill(1);
            rt.write(devices[0].ix, 0, buf.full()).await.unwrap();
            rt.trim(devices[0].ix, 4096, 8192).await.unwrap();
        })
        .unwrap();
        assert!(device.punches());
        let bytes = device.read_now(0, 1 << 20).unwrap();
        let expected = |at| if (4096..4096 + 8192).contains(&at) { 0 } else { 1 };
        assert!(bytes.iter().enumerate().all(|(at, &byte)| byte == expected(at)));
    }
}
