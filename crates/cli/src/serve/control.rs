//! The control socket: lines in, lines out, one session per connection.

use super::home::Home;
use crate::backend;
use cygnus_control::lines::{LineBuffer, LineError, MAX_REQUEST};
use cygnus_control::protocol::{ErrorKind, Request, Response, decode_request, encode_response};
use cygnus_engine::VolumeAdminError;
use cygnus_runtime::{ListenerId, Runtime, SocketId};
use cygnus_types::{ByteSize, Nanos};
use std::rc::Rc;

/// Bytes taken from the socket at a time.
const CHUNK: usize = 4096;
/// After a failed accept (no file descriptors left, say) the listener rests this long.
const REST: Nanos = Nanos::millis(100);

/// Whoever carries out what the control socket asks.
pub trait Control: 'static {
    /// The reactor it lives on.
    fn rt(&self) -> &Runtime;

    /// Does what was asked, and says how it went.
    async fn carry_out(&self, request: Request) -> Response;
}

/// Accepts connections for as long as the reactor runs.
pub async fn accept<C: Control>(home: Rc<C>, listener: ListenerId) {
    let rt = home.rt();
    loop {
        match rt.accept(listener).await {
            Ok(socket) => rt.spawn(session(home.clone(), socket)),
            Err(_) => rt.sleep(REST).await,
        }
    }
}

async fn session<C: Control>(home: Rc<C>, socket: SocketId) {
    let mut lines = LineBuffer::new(MAX_REQUEST);
    let rt = home.rt();
    let chunk = rt.alloc(CHUNK);
    'connection: while let Ok(received @ 1..) = rt.recv(socket, chunk.full()).await {
        lines.feed(&chunk.bytes()[..received]);
        loop {
            let (response, go_on) = match lines.next_line() {
                Ok(None) => break,
                Ok(Some(line)) => (answer(&*home, &line).await, true),
                Err(error) => {
                    let response = Response::error(ErrorKind::BadRequest, error.to_string());
                    (response, error == LineError::NotUtf8)
                }
            };
            if !send(rt, socket, &response).await || !go_on {
                break 'connection;
            }
        }
    }
    // A failure to close leaves nothing to be done.
    let _ = rt.close(socket).await;
}

async fn send(rt: &Runtime, socket: SocketId, response: &Response) -> bool {
    let line = encode_response(response);
    let buffer = rt.alloc(line.len());
    buffer.full().copy_from(0, line.as_bytes());
    rt.send(socket, vec![buffer.slice(0..line.len())]).await.is_ok()
}

async fn answer(home: &impl Control, line: &str) -> Response {
    match decode_request(line) {
        Ok(request) => home.carry_out(request).await,
        Err(response) => response,
    }
}

impl Control for Home {
    fn rt(&self) -> &Runtime {
        &self.rt
    }

    async fn carry_out(&self, request: Request) -> Response {
        carry_out(self, request).await
    }
}

async fn carry_out(home: &Home, request: Request) -> Response {
    let done = match request {
        Request::Ping => return Response::Done,
        Request::Status => return Response::Status { array: Box::new(home.status()) },
        Request::Stats => return Response::Stats { stats: Box::new(home.stats()) },
        Request::VolumeList => return Response::Volumes { volumes: home.volumes() },
        Request::Replace { member, device, force } => {
            return begun(home, home.replace(&member, &device, force).await);
        }
        Request::Drain { member } => return begun(home, home.drain(&member).await),
        Request::SpareAdd { device, force } => return done(home.add_spare(&device, force).await),
        Request::SpareRemove { spare } => return done(home.remove_spare(&spare).await),
        Request::GroupAdd { devices, force } => {
            return match home.add_groups(&devices, force).await {
                Ok(growth) => Response::Growth { growth: Box::new(growth) },
                Err(why) => Response::error(ErrorKind::Failed, why),
            };
        }
        Request::Scrub => return job(home, home.array.start_scrub(backend::now_unix())),
        Request::GroupRetire { group } => return begun(home, home.retire(&group).await),
        Request::Job { id } => return job(home, id),
        Request::CancelJob { id } => {
            return match home.array.cancel_job(id) {
                true => job(home, id),
                false => Response::error(ErrorKind::NotFound, format!("no job {id} is running")),
            };
        }
        Request::Stop => {
            home.stop();
            return Response::Done;
        }
        Request::VolumeCreate { name, size } => backend::create_volume(&home.array, &name, ByteSize(size)).await,
        Request::VolumeDelete { name, force } => {
            let clients = home.connections(&name);
            if clients > 0 && !force {
                let why = format!("{clients} clients are connected to {name}: disconnect them, or add --force");
                return Response::error(ErrorKind::Busy, why);
            }
            home.array.delete_volume(&name).await
        }
        Request::VolumeResize { name, size, shrink } => {
            let now = home.array.volume(&name).map_or(0, |volume| volume.size());
            if let Err(why) = backend::check_shrink(now, &name, ByteSize(size), shrink) {
                return Response::error(ErrorKind::Invalid, why);
            }
            home.array.resize_volume(&name, ByteSize(size)).await
        }
    };
    answer_of(done)
}

/// What became of a change of volumes.
pub fn answer_of(done: Result<(), VolumeAdminError>) -> Response {
    match done {
        Ok(()) => Response::Done,
        Err(error) => Response::error(kind_of(&error), error.to_string()),
    }
}

fn done(result: Result<(), String>) -> Response {
    match result {
        Ok(()) => Response::Done,
        Err(why) => Response::error(ErrorKind::Failed, why),
    }
}

/// What became of the attempt to start a job.
fn begun(home: &Home, result: Result<u64, String>) -> Response {
    match result {
        Ok(id) => job(home, id),
        Err(why) => Response::error(ErrorKind::Failed, why),
    }
}

/// How a job stands: the answer to whoever starts one, asks for it, or cancels it.
fn job(home: &Home, id: u64) -> Response {
    match home.job(id) {
        Some(job) => Response::Job { job: Box::new(job) },
        None => Response::error(ErrorKind::NotFound, format!("there is no job {id}; see 'cygnus array status'")),
    }
}

fn kind_of(error: &VolumeAdminError) -> ErrorKind {
    match error {
        VolumeAdminError::Unknown(_) => ErrorKind::NotFound,
        VolumeAdminError::Exists(_) => ErrorKind::Exists,
        VolumeAdminError::BadName(_) | VolumeAdminError::BadSize { .. } => ErrorKind::Invalid,
        VolumeAdminError::TooMany(_) => ErrorKind::NoSpace,
        VolumeAdminError::Array(_) => ErrorKind::Failed,
    }
}
