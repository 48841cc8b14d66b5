//! An operation on its way through the kernel, and the submission that carries what is left of it.

use cygnus_runtime::{BufSlice, DeviceIx, Op};
use io_uring::types::{Fd, Fixed, FsyncFlags};
use io_uring::{opcode, squeue};

use crate::arena::Arena;
use crate::registered::Registered;
use crate::socket::{Sockets, place_of};

/// A trim goes to the kernel in pieces of this length. While a hole is punched, nothing else is done to the file; and what a
/// device is told in one go, its other commands wait for.
const TRIM_PIECE: u64 = 256 << 20;

/// An operation the kernel has, with the buffers it works on.
pub(crate) struct InFlight {
    pub(crate) op: Op,
    /// Bytes transferred or trimmed so far.
    pub(crate) done: u64,
    /// The opening of the device that it was submitted to.
    pub(crate) opening: u64,
}

/// Length of the next piece of a trim of which `done` bytes are done.
pub(crate) fn trim_piece(len: u64, done: u64) -> u64 {
    (len - done).min(TRIM_PIECE)
}

/// `BLOCK_URING_CMD_DISCARD`, `_IO(0x12, 0)`: the start goes into `addr`, the length into the command's first word.
const DISCARD: u32 = 0x1200;

/// The submission for an operation, from where it has got to.
pub(crate) fn entry_for(flight: &InFlight, devices: &[Registered], sockets: &Sockets, arena: &Arena) -> squeue::Entry {
    let file = |dev: &DeviceIx| Fixed(u32::from(dev.0));
    match &flight.op {
        Op::Read { dev, offset, buf } => {
            let (at, ptr, len) = rest(*offset, buf, flight.done);
            let entry = match arena.index_of(buf) {
                Some(ix) => opcode::ReadFixed::new(file(dev), ptr, len, ix).offset(at).build(),
                None => opcode::Read::new(file(dev), ptr, len).offset(at).build(),
            };
            entry.flags(devices[dev.0 as usize].flags())
        }
        Op::Write { dev, offset, buf, .. } => {
            let (at, ptr, len) = rest(*offset, buf, flight.done);
            let entry = match arena.index_of(buf) {
                Some(ix) => opcode::WriteFixed::new(file(dev), ptr, len, ix).offset(at).build(),
                None => opcode::Write::new(file(dev), ptr, len).offset(at).build(),
            };
            entry.flags(devices[dev.0 as usize].flags())
        }
        Op::Flush { dev } => opcode::Fsync::new(file(dev)).flags(FsyncFlags::DATASYNC).build(),
        Op::Trim { dev, offset, len } if devices[dev.0 as usize].device.punches() => {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            let piece = trim_piece(*len, flight.done);
            opcode::Fallocate::new(file(dev), piece).offset(offset + flight.done).mode(mode).build()
        }
        Op::Trim { dev, offset, len } => {
            let mut command = [0; 16];
            command[..8].copy_from_slice(&trim_piece(*len, flight.done).to_ne_bytes());
            opcode::UringCmd16::new(file(dev), DISCARD).cmd(command).addr(Some(offset + flight.done)).build()
        }
        Op::Accept { listener } => {
            let (fd, nobody) = (Fd(sockets.listener_fd(*listener)), std::ptr::null_mut());
            opcode::Accept::new(fd, nobody, nobody.cast()).flags(libc::SOCK_CLOEXEC).build()
        }
        Op::Recv { sock, buf } => {
            let fd = sockets.fd_of(place_of(*sock));
            opcode::Recv::new(Fd(fd), buf.as_ptr(), buf.len() as u32).build()
        }
        Op::Send { .. } | Op::Close { .. } | Op::Reopen { .. } | Op::Extra { .. } => {
            unreachable!("not launched as operations of their own")
        }
    }
}

fn rest(offset: u64, buf: &BufSlice, done: u64) -> (u64, *mut u8, u32) {
    (offset + done, buf.as_ptr().wrapping_add(done as usize), (buf.len() - done as usize) as u32)
}
