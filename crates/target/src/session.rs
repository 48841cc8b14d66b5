//! One connection, from greeting to close.

use std::rc::Rc;

use cygnus_nbd::{Catalogue, ExportInfo, Next, ServerHandshake, wire};
use cygnus_runtime::{Runtime, SocketId};

use crate::event::{EndReason, Journal, SessionEvent};
use crate::exports::{Export, Exports};
use crate::handle::Handle;
use crate::pace::Pace;
use crate::receive::ReceiveBuffer;
use crate::server::ServerConfig;
use crate::stats::Totals;
use crate::transmission::transmit;
use crate::wait::{receive, send_before};
use cygnus_volume::{BlockVolume, Tap};

/// Units of a turn's work that an option takes: its data is looked through, and exports are looked up.
const OPTION: u32 = 16;

/// The exports as the negotiation sees them. Keeps what it opened last: the export the client then enters.
struct Opener<'a, E: Exports> {
    exports: &'a E,
    opened: Option<Export<E::Volume>>,
}

impl<E: Exports> Catalogue for Opener<'_, E> {
    fn list(&mut self) -> Vec<(String, String)> {
        self.exports.list()
    }

    fn find(&mut self, name: &str) -> Option<ExportInfo> {
        self.opened = self.exports.open(name);
        self.opened.as_ref().map(|export| ExportInfo {
            name: export.name.clone(),
            description: export.description.clone(),
            size: export.volume.size(),
            flags: wire::EXPORT_WRITABLE,
        })
    }
}

/// What a connection needs to know of its server.
pub(crate) struct Context<'a, E> {
    pub(crate) rt: &'a Runtime,
    pub(crate) exports: &'a E,
    pub(crate) config: &'a ServerConfig,
    pub(crate) totals: &'a Rc<Totals>,
    pub(crate) journal: &'a Rc<Journal>,
    pub(crate) pace: &'a Rc<Pace>,
}

/// Serves a connection to its end; closes the socket.
pub(crate) async fn run<E: Exports>(server: Context<'_, E>, sock: SocketId, handle: Rc<Handle>) -> EndReason {
    let mut input = ReceiveBuffer::new(server.rt, &handle.account);
    let reason = match negotiate(&server, sock, &handle, &mut input).await {
        Err(reason) => reason,
        Ok(agreement) => {
            let name = agreement.session.export.name.clone();
            *handle.export.borrow_mut() = Some(name.clone());
            server.journal.tell(SessionEvent::Opened { id: handle.id, peer: handle.peer, export: name });
            transmit(&server, sock, &handle, &mut input, agreement).await
        }
    };
    // Whatever the close says, the socket is not ours any more.
    let _ = server.rt.close(sock).await;
    reason
}

/// What the negotiation came to.
pub(crate) struct Agreement<V> {
    pub(crate) session: cygnus_nbd::Session,
    pub(crate) volume: V,
    pub(crate) tap: Option<Rc<dyn Tap>>,
    /// The server's last words of the negotiation, not sent yet.
    pub(crate) answer: Vec<u8>,
}

async fn negotiate<E: Exports>(
    server: &Context<'_, E>,
    sock: SocketId,
    handle: &Handle,
    input: &mut ReceiveBuffer,
) -> Result<Agreement<E::Volume>, EndReason> {
    let rt = server.rt;
    let deadline = rt.now() + server.config.handshake_time;
    let mut catalogue = Opener { exports: server.exports, opened: None };
    let mut out = Vec::new();
    let mut handshake = ServerHandshake::new(&mut out);
    loop {
        if !out.is_empty() {
            send_before(rt, sock, &out, handle, deadline).await?;
            out.clear();
        }
        server.pace.take(OPTION).await;
        let progress = handshake.step(input.filled(), &mut catalogue, &mut out).map_err(EndReason::Malformed)?;
        input.consume(progress.consumed);
        match progress.next {
            Next::Again => {}
            Next::NeedMore(message) => {
                // An option may take more than a connection has to itself. Where there is no memory, nobody new is served.
                if !input.make_room(message, message) {
                    return Err(EndReason::NoMemory);
                }
                let ended = || (rt.now() >= deadline).then_some(EndReason::TooSlow);
                receive(rt, sock, input, handle, Some(rt.sleep_until(deadline)), ended).await?;
            }
            Next::Transmission(session) => {
                let export = catalogue.opened.expect("the handshake has found the export it enters");
                return Ok(Agreement { session, volume: export.volume, tap: export.tap, answer: out });
            }
            Next::Close => {
                // A farewell that does not get through changes nothing.
                let _ = send_before(rt, sock, &out, handle, deadline).await;
                return Err(EndReason::Goodbye);
            }
        }
    }
}
