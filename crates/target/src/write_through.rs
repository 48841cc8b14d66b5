//! Writes that are longer than the receive buffer: taken in pieces as they arrive, and answered once.
//!
//! So no memory is held for what has only been announced, and no session holds some while it waits for the rest. Pieces meet at
//! borders of blocks. If the connection ends before the last one, those before it are written, as with any write that is
//! never acknowledged.

use std::cell::Cell;
use std::rc::Rc;

use cygnus_runtime::SocketId;
use cygnus_types::BLOCK;

use crate::asked::{Asked, REPLY_COST, Shares, units_for};
use crate::event::EndReason;
use crate::jobs::{Job, LongWrite, Work};
use crate::nbd;
use crate::receive::ReceiveBuffer;
use crate::transmission::Transmission;
use cygnus_volume::BlockVolume;

/// Pieces of at least twice this length end at multiples of it, where arrays have their stripes.
const NEAT: usize = 64 << 10;

/// How much of `have` bytes to take now of a write that goes on at `offset` and of which `left` are to come, of a volume with such pages.
fn piece(offset: u64, have: usize, left: usize, page: usize) -> usize {
    if have >= left {
        return left;
    }
    let border = match have {
        _ if have >= 2 * NEAT => NEAT,
        _ if have >= 2 * page => page,
        _ => BLOCK,
    } as u64;
    let end = (offset + have as u64) / border * border;
    end.saturating_sub(offset) as usize
}

impl<V: BlockVolume> Transmission<V> {
    /// Takes the write whose header is at the front of the buffer, piece by piece.
    pub(crate) async fn write_through(
        self: &Rc<Self>,
        sock: SocketId,
        input: &mut ReceiveBuffer,
    ) -> Result<(), EndReason> {
        let request = nbd::begun(input.filled()).expect("only a write takes more than a receive buffer");
        self.pace.asked(&self.handle.paced, units_for(request.len() as usize), false);
        let share = self.take_share(&Shares::one(REPLY_COST)).await?;
        input.consume(nbd::REQUEST_BYTES);
        let asked = Asked { request, share, started: self.rt.now(), terms: self.volume.terms() };
        let (unfinished, abandoned) = (Cell::new(1), Cell::new(false));
        let write = Rc::new(LongWrite { asked, unfinished, trouble: Cell::default(), abandoned });
        match self.agreed.check(&request, self.volume.size()) {
            Ok(()) => self.tell_tap(&asked),
            Err(fault) => write.fail(fault),
        }
        let taken = self.take_pieces(sock, input, &write).await;
        write.abandoned.set(taken.is_err());
        self.piece_is_done(&write);
        taken
    }

    /// Bytes of a write up to which it is taken as a whole.
    pub(crate) fn whole_write(&self) -> usize {
        let longest = if self.makes_small_steps() { V::SHORT_WRITE } else { V::WHOLE_WRITE };
        // A page in two pieces would be written twice.
        longest.max(2 * self.volume.page() as usize)
    }

    async fn take_pieces(
        self: &Rc<Self>,
        sock: SocketId,
        input: &mut ReceiveBuffer,
        write: &Rc<LongWrite>,
    ) -> Result<(), EndReason> {
        let (mut offset, mut left) = (write.asked.request.offset(), write.asked.request.len() as usize);
        while left > 0 {
            let have = input.filled().len();
            let whole = self.whole_write();
            if have < left.min(whole) && input.make_room(left, whole) {
                self.receive_more(sock, input, left - have).await?;
                continue;
            }
            // If it was refused, the offset may be anything.
            let is_refused = write.trouble.get().is_some();
            let len = if is_refused {
                have.min(left)
            } else {
                piece(offset, have.min(whole), left, self.volume.page() as usize)
            };
            assert!(len > 0, "a full receive buffer holds whole blocks");
            self.take_turn(units_for(len)).await;
            if !is_refused {
                self.write_piece(write, offset, &input.filled()[..len]).await?;
            }
            input.consume(len);
            offset = offset.wrapping_add(len as u64);
            left -= len;
            // The next one has all its time.
            self.handle.client.owes_nothing();
        }
        Ok(())
    }

    async fn write_piece(self: &Rc<Self>, write: &Rc<LongWrite>, offset: u64, payload: &[u8]) -> Result<(), EndReason> {
        if !self.volume.try_write(offset, payload) {
            let data = self.copy_of(payload).await?;
            write.unfinished.set(write.unfinished.get() + 1);
            let work = Work::Piece(write.clone(), offset, data);
            self.queue(Job { asked: write.asked, work });
        }
        Ok(())
    }

    /// A piece was written, or has failed; or the reader has seen the last. The last of all has the write answered.
    pub(crate) fn piece_is_done(self: &Rc<Self>, write: &LongWrite) {
        write.unfinished.set(write.unfinished.get() - 1);
        if write.unfinished.get() > 0 {
            return;
        }
        let asked = write.asked;
        match write.trouble.take() {
            _ if write.abandoned.get() => self.give_room(asked.share.room),
            Some(fault) => self.fail(&asked, fault),
            None => self.taken(asked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_meet_at_borders_of_blocks() {
        assert_eq!(piece(0, 16 << 10, 1 << 20, BLOCK), 16 << 10);
        assert_eq!(piece(100, 16 << 10, 1 << 20, BLOCK), (16 << 10) - 100);
        assert_eq!(piece(4096, 8191, 1 << 20, BLOCK), 4096);
        assert_eq!(piece(5000, 8191, 8191, BLOCK), 8191, "the last one ends where the write does");
        assert_eq!(piece(4096, 256 << 10, 1 << 20, BLOCK), (256 << 10) - 4096);
        assert_eq!(piece(10, 100, 200, BLOCK), 0, "nothing whole yet");
        assert_eq!(piece(4096, 32 << 10, 1 << 20, 16 << 10), (32 << 10) - 4096, "a page is in one piece");
        assert_eq!(piece(4096, 31 << 10, 1 << 20, 16 << 10), 28 << 10, "too little for that");
    }
}
