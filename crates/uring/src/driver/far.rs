//! Operations that io_uring has no way to: those of devices behind sockets, what the drive is asked for each and what becomes of the
//! answer; and commands for zones.

use cygnus_runtime::{BufSlice, Completion, Conversion, DeviceIx, Extra, IoError, IoErrorKind, Op, OpId, Outcome};
use cygnus_ssdlink::{Command, Convert, MAX_DATA};
use cygnus_types::BLOCK;

use super::{Core, system_error};
use crate::device::Opened;
use crate::errand::Errands;
use crate::flight::InFlight;
use crate::link::{Answer, Link};
use crate::zones::ZoneCommand;

/// Blocks whose neighbouring bytes are asked for at a time.
const BESIDE: usize = 1024;

/// A request that was answered, or never will be.
pub(crate) struct Ended {
    id: OpId,
    answer: Answer,
}

/// Asks for what is left of an operation, or for as much of it as one request may.
pub(super) fn send(link: &Link, id: OpId, flight: &InFlight, far: &mut Errands<Ended>) {
    let done = flight.done as usize;
    let promise = far.promise();
    let hear = move |answer| promise.keep(Ended { id, answer });
    let at = |offset: &u64| offset + flight.done;
    match &flight.op {
        Op::Read { offset, buf, .. } => {
            link.ask(Command::Read { offset: at(offset), len: piece(flight, buf.len()) as u64 }, &[], hear);
        }
        Op::Write { offset, buf, transient, .. } => {
            let len = piece(flight, buf.len());
            let command = Command::Write { offset: at(offset), len: len as u32, oob: 0, transient: *transient };
            link.ask(command, &[&buf.bytes()[done..done + len]], hear);
        }
        Op::Trim { offset, len, .. } => link.ask(Command::Trim { offset: *offset, len: *len }, &[], hear),
        Op::Flush { .. } => link.ask(Command::Flush, &[], hear),
        Op::Extra { what, .. } => match what {
            Extra::WriteOob { offset, buf, oob, transient } => {
                let (len, each) = (piece(flight, buf.len()), oob.len() / (buf.len() / BLOCK));
                let command =
                    Command::Write { offset: at(offset), len: len as u32, oob: each as u16, transient: *transient };
                let beside = done / BLOCK * each..(done + len) / BLOCK * each;
                link.ask(command, &[&buf.bytes()[done..done + len], &oob.bytes()[beside]], hear);
            }
            Extra::ReadOob { offset, blocks, into } => {
                let each = into.len() / *blocks as usize;
                let first = done / each;
                let blocks = (*blocks as usize - first).min(BESIDE) as u32;
                let offset = offset + (first * BLOCK) as u64;
                link.ask(Command::ReadOob { offset, blocks, oob: each as u16 }, &[], hear);
            }
            Extra::Convert(what) => {
                let Conversion { source, destination, chunk, chunks, row, keeps } = *what;
                link.ask(Command::Convert(Convert { source, destination, chunk, chunks, row, keeps }), &[], hear);
            }
            Extra::Append { .. } | Extra::Reset { .. } | Extra::Finish { .. } | Extra::Report { .. } => {
                unreachable!("refused: there are no zones")
            }
        },
        Op::Accept { .. } | Op::Recv { .. } | Op::Send { .. } | Op::Close { .. } | Op::Reopen { .. } => {
            unreachable!("not operations of a device's opening")
        }
    }
}

/// Length of the next piece of an operation on so many bytes of blocks.
fn piece(flight: &InFlight, len: usize) -> usize {
    (len - flight.done as usize).min(MAX_DATA as usize)
}

/// The buffer that an operation fills.
fn filled(op: &Op) -> Option<&BufSlice> {
    match op {
        Op::Read { buf, .. } | Op::Extra { what: Extra::ReadOob { into: buf, .. }, .. } => Some(buf),
        _ => None,
    }
}

/// Whether a command has parts that do not fit each other, or the device.
fn is_odd(what: &Extra, oob_bytes: usize) -> bool {
    let aligned = |bytes: u64| bytes.is_multiple_of(BLOCK as u64);
    match what {
        Extra::WriteOob { offset, buf, oob, .. } => {
            let blocks = buf.len() / BLOCK;
            !aligned(*offset)
                || blocks == 0
                || !aligned(buf.len() as u64)
                || !oob.len().is_multiple_of(blocks)
                || oob.len() / blocks > oob_bytes
        }
        Extra::ReadOob { offset, blocks, into } => {
            let blocks = *blocks as usize;
            !aligned(*offset)
                || blocks == 0
                || into.is_empty()
                || !into.len().is_multiple_of(blocks)
                || into.len() / blocks > oob_bytes
        }
        // The drive says what it can convert.
        _ => false,
    }
}

impl Core {
    /// The kernel has no way to these commands that serves every device; a software SSD carries out what it says.
    pub(super) fn submit_extra(&mut self, id: OpId, dev: DeviceIx, what: Extra) {
        let Some(registered) = self.devices.get(dev.0 as usize) else {
            return self.refuse(id, IoErrorKind::Gone);
        };
        let can = registered.device.capabilities();
        let has = match &what {
            Extra::Reset { zone } => return self.submit_to_zone(id, dev, ZoneCommand::Reset(*zone)),
            Extra::Finish { zone } => return self.submit_to_zone(id, dev, ZoneCommand::Finish(*zone)),
            Extra::Report { zone } => return self.submit_to_zone(id, dev, ZoneCommand::Report(*zone)),
            Extra::Append { .. } => false,
            Extra::Convert(_) => can.convert,
            Extra::WriteOob { .. } | Extra::ReadOob { .. } => can.oob_bytes > 0,
        };
        match has && registered.link.is_some() {
            false => self.refuse(id, IoErrorKind::Unsupported),
            true if is_odd(&what, can.oob_bytes.into()) => self.refuse(id, IoErrorKind::Range),
            true => self.launch(id, Op::Extra { dev, what }),
        }
    }

    /// Sends a command to a zone: the kernel has no way to do so that does not block.
    fn submit_to_zone(&mut self, id: OpId, dev: DeviceIx, command: ZoneCommand) {
        let device = self.devices[dev.0 as usize].device.clone();
        let (Some(Opened::Place(opening)), true) = (device.opened(), device.zones().is_some()) else {
            return self.refuse(id, IoErrorKind::Unsupported);
        };
        let sent = self.of_zones.send(move || {
            let zones = device.zones().expect("it has zones");
            Completion { id, result: zones.carry_out(&opening, command) }
        });
        if let Err(error) = sent {
            self.ended.push(Completion { id, result: Err(system_error(&error)) });
        }
    }

    /// A drive has answered, or never will.
    pub(super) fn far_ended(&mut self, ended: Ended, done: &mut Vec<Completion>) {
        let Ended { id, answer } = ended;
        let flight = self.in_flight[id.0 as usize].take().expect("a request is answered once");
        let dev = flight.op.device().expect("requests are operations of devices");
        match answer.and_then(|bytes| self.take_in(id, flight, &bytes, done)) {
            Ok(true) => self.device_op_ended(id, dev, Ok(Outcome::Done), done),
            Ok(false) => {}
            Err(error) => self.device_op_ended(id, dev, Err(error), done),
        }
    }

    /// Puts what came where it belongs. Says whether the operation is done; if not, the rest is under way.
    fn take_in(
        &mut self,
        id: OpId,
        mut flight: InFlight,
        bytes: &[u8],
        done: &mut Vec<Completion>,
    ) -> Result<bool, IoError> {
        let all = match &flight.op {
            Op::Write { buf, .. } | Op::Extra { what: Extra::WriteOob { buf, .. }, .. } => {
                flight.done += piece(&flight, buf.len()) as u64;
                buf.len()
            }
            op => match filled(op) {
                Some(buf) => {
                    let at = flight.done as usize;
                    if bytes.is_empty() || bytes.len() > buf.len() - at {
                        // Not what was asked for: whatever it is, it is no answer.
                        return Err(IoError::of_device(libc::EPROTO));
                    }
                    buf.copy_from(at, bytes);
                    flight.done += bytes.len() as u64;
                    buf.len()
                }
                None => return Ok(true),
            },
        };
        if flight.done as usize == all {
            return Ok(true);
        }
        self.relaunch(id, flight, done);
        Ok(false)
    }
}
