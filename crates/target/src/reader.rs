//! A session after its negotiation: a reader that takes requests in, workers for what has to wait, a sender.

use std::convert::Infallible;
use std::rc::Rc;

use cygnus_runtime::SocketId;
use cygnus_volume::BlockVolume;

use crate::asked::{REPLY_COST, units_for};
use crate::context::{Context, Entered};
use crate::dispatch;
use crate::event::EndReason;
use crate::exports::Exports;
use crate::handle::Handle;
use crate::nbd::{self, Arrived};
use crate::receive::ReceiveBuffer;
use crate::transmission::Transmission;

/// Serves requests until the session ends.
pub(crate) async fn transmit<E: Exports>(
    server: &Context<'_, E>,
    sock: SocketId,
    handle: &Rc<Handle>,
    input: &mut ReceiveBuffer,
    entered: Entered<E::Volume>,
) -> EndReason {
    let Entered { agreed, export, answer } = entered;
    let session = Transmission::new(server, handle, agreed, export);
    server.rt.spawn(session.clone().send_replies(sock));
    input.widen();
    let reason = match session.begin(&answer).await {
        Ok(()) => {
            let Err(reason) = session.read_requests(sock, input).await;
            reason
        }
        Err(reason) => reason,
    };
    if !reason.is_abrupt() {
        session.drain(server.config.grace).await;
    }
    session.close();
    reason
}

impl<V: BlockVolume> Transmission<V> {
    /// Sends the last words of the negotiation.
    async fn begin(&self, answer: &[u8]) -> Result<(), EndReason> {
        if !answer.is_empty() {
            self.take_room(REPLY_COST).await?;
            self.outbox.push_bytes(answer, REPLY_COST);
        }
        Ok(())
    }

    /// The reader: takes every complete request of what was received, then receives more.
    async fn read_requests(
        self: &Rc<Self>,
        sock: SocketId,
        input: &mut ReceiveBuffer,
    ) -> Result<Infallible, EndReason> {
        loop {
            match nbd::arrived(input.filled()) {
                Arrived::Goodbye => return Err(EndReason::Goodbye),
                Arrived::Request { request, payload, consumed } => {
                    self.handle.client.owes_nothing();
                    let units = dispatch::units(&request, self.step());
                    let is_alone = self.handle.window.get() == 0 && input.filled().len() == consumed;
                    self.pace.asked(&self.handle.paced, units, is_alone);
                    self.take_turn(units).await;
                    let share = self.take_share(&dispatch::shares(&request, &self.agreed)).await?;
                    // While this one is worked on, memory brings what the next one needs.
                    if let Some(offset) = nbd::peek_offset(&input.filled()[consumed..]) {
                        self.volume.announce(offset);
                    }
                    let payload = &input.filled()[payload];
                    if let Some(asked) = self.admit(request, share, payload) {
                        self.queue_write(asked, payload).await?;
                    }
                    input.consume(consumed);
                }
                Arrived::NeedMore(message) => {
                    let have = input.filled().len();
                    let whole = self.whole_write();
                    let is_whole = message <= nbd::REQUEST_BYTES + whole || nbd::begun(input.filled()).is_none();
                    if is_whole && input.make_room(message, whole) {
                        self.receive_more(sock, input, if have > 0 { message - have } else { 0 }).await?;
                    } else {
                        self.write_through(sock, input).await?;
                    }
                }
                Arrived::Bad(reason) => return Err(EndReason::Malformed(reason)),
            }
        }
    }

    /// The sender: one vectored send after the other, each of what was ready when it began.
    async fn send_replies(self: Rc<Self>, sock: SocketId) {
        while let Some(bytes) = self.outbox.ready().await {
            let most = self.step();
            self.take_turn(units_for(bytes.min(most))).await;
            let Some(batch) = self.outbox.next(most) else { continue };
            self.handle.client.sending_from(Some(self.rt.now()));
            let sent = self.rt.send(sock, batch.parts).await;
            self.handle.client.sending_from(None);
            match sent {
                Ok(_) => self.give_room(batch.cost),
                Err(error) => {
                    self.outbox.close();
                    self.end(EndReason::Broken(error));
                }
            }
        }
    }
}
