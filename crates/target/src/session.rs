//! One connection, from greeting to close.

use std::rc::Rc;

use cygnus_runtime::SocketId;

use crate::context::{Context, Entered};
use crate::event::{EndReason, SessionEvent};
use crate::exports::Exports;
use crate::handle::Handle;
use crate::nbd::{Negotiation, Stage};
use crate::reader::transmit;
use crate::receive::ReceiveBuffer;
use crate::wait::{receive, send_before};

/// Units of a turn's work that an option takes: its data is looked through, and exports are looked up.
const OPTION: u32 = 16;

/// Serves a connection to its end; closes the socket.
pub(crate) async fn run<E: Exports>(server: Context<'_, E>, sock: SocketId, handle: Rc<Handle>) -> EndReason {
    let mut input = ReceiveBuffer::new(server.rt, &handle.account);
    let reason = match negotiate(&server, sock, &handle, &mut input).await {
        Err(reason) => reason,
        Ok(entered) => {
            let name = entered.export.name.clone();
            *handle.export.borrow_mut() = Some(name.clone());
            server.journal.tell(SessionEvent::Opened { id: handle.id, peer: handle.peer, export: name });
            transmit(&server, sock, &handle, &mut input, entered).await
        }
    };
    // Whatever the close says, the socket is not ours any more.
    let _ = server.rt.close(sock).await;
    reason
}

async fn negotiate<E: Exports>(
    server: &Context<'_, E>,
    sock: SocketId,
    handle: &Handle,
    input: &mut ReceiveBuffer,
) -> Result<Entered<E::Volume>, EndReason> {
    let rt = server.rt;
    let deadline = rt.now() + server.config.handshake_time;
    let mut out = Vec::new();
    let mut negotiation = Negotiation::new(server.exports, &mut out);
    loop {
        if !out.is_empty() {
            send_before(rt, sock, &out, handle, deadline).await?;
            out.clear();
        }
        server.pace.asked(&handle.paced, OPTION, false);
        server.pace.take(&handle.paced, OPTION).await;
        let (consumed, stage) = negotiation.step(input.filled(), &mut out).map_err(EndReason::Malformed)?;
        input.consume(consumed);
        match stage {
            Stage::Again => {}
            Stage::NeedMore(message) => {
                // An option may take more than a connection has to itself. Where there is no memory, no new client is served.
                if !input.make_room(message, message) {
                    return Err(EndReason::NoMemory);
                }
                let ended = || (rt.now() >= deadline).then_some(EndReason::TooSlow);
                receive(rt, sock, input, usize::MAX, handle, Some(rt.sleep_until(deadline)), ended).await?;
            }
            Stage::Entered(agreed, export) => return Ok(Entered { agreed, export, answer: out }),
            Stage::Goodbye => {
                // A farewell that does not get through changes nothing.
                let _ = send_before(rt, sock, &out, handle, deadline).await;
                return Err(EndReason::Goodbye);
            }
        }
    }
}
