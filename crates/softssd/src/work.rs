//! What a drive does with a request, and what the model is told of it.

use cygnus_parity::MAX_PARITY_COLUMNS;
use cygnus_ssd::{Command as Modelled, Convert, Hint};
use cygnus_ssdlink::{Command, Status};
use cygnus_types::BLOCK;

use crate::store::{Fault, Store};

/// An answer before it is bytes.
pub(crate) struct Answer {
    pub(crate) status: Status,
    pub(crate) value: u64,
    pub(crate) payload: Vec<u8>,
}

impl Answer {
    pub(crate) fn bare(status: Status) -> Self {
        Self { status, value: 0, payload: Vec::new() }
    }

    pub(crate) fn with(payload: Vec<u8>) -> Self {
        Self { status: Status::Done, value: 0, payload }
    }
}

impl From<Fault> for Answer {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Medium => Self::bare(Status::Medium),
            Fault::Range => Self::bare(Status::Range),
            Fault::System(error) => match error.raw_os_error() {
                Some(libc::ENOSPC | libc::EDQUOT) => Self::bare(Status::NoSpace),
                errno => Self { value: errno.unwrap_or(libc::EIO) as u64, ..Self::bare(Status::Failed) },
            },
        }
    }
}

/// Whether a command changes what the drive holds, so that only who has claimed it may give it.
pub(crate) fn changes(command: &Command) -> bool {
    matches!(command, Command::Write { .. } | Command::Trim { .. } | Command::Convert(_))
}

/// Carries a command out on the drive.
pub(crate) fn carry_out(store: &Store, command: &Command, payload: &[u8]) -> Answer {
    let done = |result: Result<(), Fault>| result.map_or_else(Answer::from, |()| Answer::bare(Status::Done));
    let bytes = |result: Result<Vec<u8>, Fault>| result.map_or_else(Answer::from, Answer::with);
    match *command {
        Command::Read { offset, len } => bytes(store.read(offset, len)),
        Command::Write { len: 0, .. } => Answer::bare(Status::Range),
        Command::Write { offset, len, .. } => {
            let (data, oob) = payload.split_at(len as usize);
            done(store.write(offset, data, oob))
        }
        Command::Trim { offset, len } => done(store.trim(offset, len)),
        Command::Flush => done(store.flush().map_err(Fault::from)),
        Command::Convert(what) => match store.convert(&what) {
            Ok(moved) => Answer { value: moved, ..Answer::bare(Status::Done) },
            Err(fault) => fault.into(),
        },
        Command::ReadOob { offset, blocks, oob } => bytes(store.read_oob(offset, blocks, oob)),
        Command::Status | Command::Unknown(_) => Answer::bare(Status::Unsupported),
    }
}

/// The command as the model knows it, if it is one that the model can take.
pub(crate) fn modelled(command: &Command, size: u64) -> Option<Modelled> {
    let block = BLOCK as u64;
    let range = |offset: u64, len: u64| {
        let within = offset.checked_add(len).is_some_and(|end| end <= size);
        let blocks = u32::try_from(len / block).ok().filter(|&blocks| blocks > 0 && within)?;
        Some((offset / block, blocks))
    };
    Some(match *command {
        Command::Read { offset, len } => {
            let (lba, blocks) = range(offset, len)?;
            Modelled::Read { lba, blocks }
        }
        Command::Write { offset, len, oob, transient } => {
            let (lba, blocks) = range(offset, len.into())?;
            Modelled::Write { lba, blocks, fua: false, hint: Hint { transient, oob, ..Hint::default() } }
        }
        Command::Trim { offset, len } => {
            let (lba, blocks) = range(offset, len)?;
            Modelled::Trim { lba, blocks }
        }
        Command::Flush => Modelled::Flush,
        Command::Convert(what) if usize::from(what.row) < MAX_PARITY_COLUMNS => {
            let (source, _) = range(what.source, what.chunk.checked_mul(what.chunks.into())?)?;
            let (destination, chunk) = range(what.destination, what.chunk)?;
            let (chunks, parity_row, keeps) = (what.chunks, what.row, what.keeps);
            Modelled::Convert(Convert { source, destination, chunk, chunks, parity_row, keeps })
        }
        Command::ReadOob { offset, blocks, .. } => {
            let (lba, blocks) = range(offset, u64::from(blocks) * block)?;
            Modelled::ReadOob { lba, blocks }
        }
        Command::Convert(_) | Command::Status | Command::Unknown(_) => return None,
    })
}
