//! The control socket: lines in, lines out, one session per connection.

use crate::ServeError;
use crate::event::ServerEvent;
use crate::plan::Plan;
use crate::share::Share;
use cygnus_control::lines::{LineBuffer, LineError, MAX_REQUEST};
use cygnus_control::protocol::{ErrorKind, Request, Response, decode_request, encode_response};
use cygnus_runtime::{ListenerId, Runtime, SocketId};
use cygnus_target::BoundListener;
use cygnus_types::Nanos;
use cygnus_uring::Io;
use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;

/// Bytes taken from the socket at a time.
const CHUNK: usize = 4096;
/// Most connections at a time. One beyond that takes the place of the one that will be given up soonest.
const PLACES: usize = 64;
/// Longest time for a request that has begun, for an answer, and for a new connection's first request.
const PATIENCE: Nanos = Nanos::secs(10);
/// Longest silence of a connection that has asked something: a command that waits for a job asks every second.
const SILENCE: Nanos = Nanos::secs(300);
/// How often that is looked at.
const WATCH: Nanos = Nanos::secs(1);
/// After a failed accept (no file descriptors left, say) the listener rests this long.
const REST: Nanos = Nanos::millis(100);

/// Carries out what the control socket asks.
pub trait Control: 'static {
    /// The reactor it lives on.
    fn rt(&self) -> &Runtime;

    /// Does what was asked, and says how it went.
    async fn carry_out(&self, request: Request) -> Response;
}

/// Accepts connections for as long as the reactor runs.
pub async fn accept<C: Control>(home: Rc<C>, listener: ListenerId) {
    let rt = home.rt();
    let open = Open::default();
    let share = Rc::new(Share::new(rt));
    loop {
        match rt.accept(listener).await {
            Ok(socket) => {
                let due = Rc::new(Cell::new(Some(rt.now() + PATIENCE)));
                // Closing goes on without us.
                open.make_room().into_iter().for_each(|other| drop(rt.close(other)));
                open.0.borrow_mut().push((socket, due.clone()));
                rt.spawn(session(home.clone(), socket, due, open.clone(), share.clone()));
            }
            Err(_) => rt.sleep(REST).await,
        }
    }
}

/// When a connection will be given up; nothing once it has ended.
type Due = Rc<Cell<Option<Nanos>>>;

/// The connections that are open.
#[derive(Clone, Default)]
struct Open(Rc<RefCell<Vec<(SocketId, Due)>>>);

impl Open {
    /// If all places are taken, gives up the one for which there is least to wait, and tells which.
    fn make_room(&self) -> Option<SocketId> {
        let mut open = self.0.borrow_mut();
        let first = (0..open.len()).min_by_key(|&at| open[at].1.get()).filter(|_| open.len() >= PLACES)?;
        let (socket, due) = open.swap_remove(first);
        due.set(None);
        Some(socket)
    }
}

/// Closes a connection whose peer is late, until `due` is cleared, as when the session has ended.
async fn watch(rt: Runtime, socket: SocketId, due: Due) {
    while let Some(at) = due.get() {
        if rt.now() >= at {
            // The session finds it closed. A failure means that it was faster.
            let _ = rt.close(socket).await;
            return;
        }
        rt.sleep(WATCH).await;
    }
}

async fn session<C: Control>(home: Rc<C>, socket: SocketId, due: Due, open: Open, share: Rc<Share>) {
    let mut lines = LineBuffer::new(MAX_REQUEST);
    let rt = home.rt();
    let chunk = rt.alloc(CHUNK);
    rt.spawn(watch(rt.clone(), socket, due.clone()));
    'connection: while let Ok(received @ 1..) = rt.recv(socket, chunk.full()).await {
        lines.feed(&chunk.bytes()[..received]);
        loop {
            let line = match lines.next_line() {
                Ok(None) => break,
                Ok(Some(line)) => Ok(line),
                Err(error) => Err(error),
            };
            let go_on = !matches!(line, Err(LineError::TooLong(_)));
            // What was asked takes as long as it takes.
            due.set(Some(Nanos::MAX));
            let response = share.have_done(answer(&*home, line)).await;
            due.set(Some(rt.now() + PATIENCE));
            if !send(rt, socket, &response).await || !go_on {
                break 'connection;
            }
            due.set(Some(rt.now() + SILENCE));
        }
        if lines.has_begun() {
            // Once it has begun, a line is not given more time by each of its bytes.
            due.set(due.get().map(|at| at.min(rt.now() + PATIENCE)));
            // Nor do clients that send lines by the megabyte have them looked through all at once.
            share.turn().await;
        }
    }
    due.set(None);
    open.0.borrow_mut().retain(|(other, _)| *other != socket);
    // A failure to close leaves nothing to be done.
    let _ = rt.close(socket).await;
}

async fn send(rt: &Runtime, socket: SocketId, line: &str) -> bool {
    let buffer = rt.alloc(line.len());
    buffer.full().copy_from(0, line.as_bytes());
    rt.send(socket, vec![buffer.slice(0..line.len())]).await.is_ok()
}

/// The response to a line, as a line.
async fn answer(home: &impl Control, line: Result<String, LineError>) -> String {
    let request = match &line {
        Ok(line) => decode_request(line),
        Err(error) => Err(Response::error(ErrorKind::BadRequest, error.to_string())),
    };
    let response = match request {
        Ok(request) => home.carry_out(request).await,
        Err(response) => response,
    };
    encode_response(&response)
}

/// How often to look whether commands can still find the control socket.
const LOOK: Nanos = Nanos::secs(1);

/// Keeps the array within reach of commands: when the state directory is lost, it is made anew, with what it is to know of
/// this array and a control socket. Lost NBD sockets are told of.
pub async fn keep_reachable<C: Control>(home: Rc<C>, plan: Arc<Plan>, io: Io) {
    let mut renewed: Option<BoundListener> = None;
    let mut lost = vec![false; plan.listeners.len()];
    loop {
        home.rt().sleep(LOOK).await;
        for (listener, lost) in plan.listeners.iter().zip(&mut lost).filter(|(listener, _)| !listener.is_in_place()) {
            if !std::mem::replace(lost, true) {
                plan.log.tell(&ServerEvent::AddressLost(listener.address()));
            }
        }
        if renewed.as_ref().unwrap_or(&plan.control).is_in_place() {
            continue;
        }
        match renew(&plan, &io) {
            Ok((bound, listener)) => {
                plan.log.tell(&ServerEvent::ControlRenewed { array: &plan.name, dir: plan.state.path() });
                home.rt().spawn(accept(home.clone(), listener));
                renewed = Some(bound);
            }
            Err(failure) => plan.log.tell(&ServerEvent::ControlLost { array: &plan.name, why: &failure }),
        }
    }
}

fn renew(plan: &Plan, io: &Io) -> Result<(BoundListener, ListenerId), ServeError> {
    plan.state.save(&plan.record.lock().expect("no holder panics"))?;
    let bound = BoundListener::bind_now(plan.control.address())?;
    let socket = bound.as_fd().try_clone_to_owned().and_then(|socket| io.add_listener(socket));
    let listener = socket.map_err(ServeError::io(bound.address()))?;
    Ok((bound, listener))
}
