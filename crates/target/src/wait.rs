//! Waiting for a socket, and for whatever ends the session meanwhile.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use cygnus_runtime::{Op, OpFuture, Outcome, Runtime, Sleep, SocketId};
use cygnus_types::Nanos;

use crate::event::EndReason;
use crate::handle::Handle;
use crate::receive::ReceiveBuffer;

/// Sends a copy of `bytes`, unless the session has to end before that is done.
pub(crate) async fn send_before(
    rt: &Runtime,
    sock: SocketId,
    bytes: &[u8],
    handle: &Handle,
    deadline: Nanos,
) -> Result<(), EndReason> {
    let mut copy = rt.alloc(bytes.len());
    copy.bytes_mut().copy_from_slice(bytes);
    let send = rt.send(sock, vec![copy.full()]);
    let ended = || (rt.now() >= deadline).then_some(EndReason::TooSlow);
    unless_ended(send, handle, Some(rt.sleep_until(deadline)), ended).await.map(|_| ())
}

/// Receives something, of at most `most` bytes, unless the session has to end before that. There is room in the buffer. If the
/// session is told to rest meanwhile, this returns without having received anything.
pub(crate) async fn receive(
    rt: &Runtime,
    sock: SocketId,
    input: &mut ReceiveBuffer,
    most: usize,
    handle: &Handle,
    alarm: Option<Sleep>,
    ended: impl Fn() -> Option<EndReason>,
) -> Result<(), EndReason> {
    let receiving = rt.submit(Op::Recv { sock, buf: input.room(most) });
    match unless_ended(receiving, handle, alarm, ended).await? {
        Outcome::Bytes(0) => Err(EndReason::Hangup),
        Outcome::Bytes(bytes) => {
            input.received(bytes as usize);
            Ok(())
        }
        // It was ended, so that the buffer can be given back.
        Outcome::Done => Ok(()),
        other => unreachable!("recv answered {other:?}"),
    }
}

/// Waits for an operation on the socket. `ended` is asked each time the handle's event or `alarm` wakes us.
async fn unless_ended(
    mut op: OpFuture,
    handle: &Handle,
    mut alarm: Option<Sleep>,
    ended: impl Fn() -> Option<EndReason>,
) -> Result<Outcome, EndReason> {
    loop {
        let mut wake = handle.wake.wait();
        if let Some(reason) = ended().or_else(|| handle.stopped()) {
            return Err(reason);
        }
        if handle.client.take_rest() {
            op.end_receive();
        }
        let outcome = poll_fn(|cx| {
            if let Poll::Ready(outcome) = Pin::new(&mut op).poll(cx) {
                return Poll::Ready(Some(outcome));
            }
            let late = alarm.as_mut().is_some_and(|alarm| Pin::new(alarm).poll(cx).is_ready());
            let woken = Pin::new(&mut wake).poll(cx).is_ready();
            if late || woken { Poll::Ready(None) } else { Poll::Pending }
        });
        if let Some(outcome) = outcome.await {
            return outcome.map_err(EndReason::Broken);
        }
    }
}
