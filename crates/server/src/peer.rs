//! The reactors that are not the array's home, and what they and home say to each other.

use crate::ServeError;
use crate::plan::{Plan, Published, start_server};
use crate::record::Recorder;
use cygnus_engine::ArrayHandle;
use cygnus_engine::Volumes;
use cygnus_runtime::{DeviceIx, Runtime};
use cygnus_target::{ArrayExports, Server};
use cygnus_types::{Nanos, ReactorId};
use cygnus_uring::{Device, Reactor, StartError};
use std::sync::Arc;

/// How often a reactor publishes what its server has counted.
const PUBLISH: Nanos = Nanos::millis(250);

/// The array's home.
pub const HOME: ReactorId = ReactorId(0);

/// From home to a peer.
pub enum ToPeer {
    /// The array is open: take part.
    Attach(ArrayHandle),
    /// A device has come: take it in, then say [`ToHome::DeviceAdded`].
    AddDevice(Device),
    /// The array does not want that device: close it.
    GiveBack(DeviceIx),
    /// Close all connections, then say [`ToHome::Stopped`]; go on handling the engine's messages.
    Stop,
    /// The array is closed: end.
    Exit,
}

/// From a peer to home.
pub enum ToHome {
    /// It listens; or why it does not.
    Ready(Result<(), ServeError>),
    /// Under which number it has the new device; or why it has not.
    DeviceAdded(Result<DeviceIx, StartError>),
    /// Its connections are closed.
    Stopped,
}

/// A peer's main task.
pub async fn main(reactor: Reactor, plan: Arc<Plan>) -> Result<(), ServeError> {
    let rt = reactor.rt.clone();
    let handle = match *rt.recv_msg().await.downcast::<ToPeer>().expect("home speaks first, and only so") {
        ToPeer::Attach(handle) => handle,
        ToPeer::Stop | ToPeer::Exit | ToPeer::AddDevice(_) | ToPeer::GiveBack(_) => return Ok(()),
    };
    let peer = handle.attach(&rt);
    let recorder = plan.recorder(&reactor);
    let server = start_server(&reactor, plan.exports(peer.volumes(), &recorder), &plan);
    let (server, ready) = match server {
        Ok(server) => (Some(server), Ok(())),
        Err(error) => (None, Err(error)),
    };
    rt.send_msg(HOME, Box::new(ToHome::Ready(ready)));
    if let Some(server) = &server {
        rt.spawn(publish(rt.clone(), server.clone(), plan));
    }
    loop {
        let message = rt.recv_msg().await;
        let Some(message) = peer.handle_message(message) else { continue };
        match *message.downcast::<ToPeer>().expect("the engine takes its own messages") {
            ToPeer::Stop => rt.spawn(stop(rt.clone(), server.clone(), recorder.clone())),
            ToPeer::AddDevice(device) => {
                let added = reactor.io.add_device(&device).map(|info| info.ix);
                rt.send_msg(HOME, Box::new(ToHome::DeviceAdded(added)));
            }
            ToPeer::GiveBack(device) => drop(reactor.io.give_back(device)),
            ToPeer::Exit => return Ok(()),
            ToPeer::Attach(_) => unreachable!("home attaches each peer once"),
        }
    }
}

/// Beside the loop that handles messages: sessions that end may need the engine's.
async fn stop(rt: Runtime, server: Option<Server<ArrayExports<Volumes>>>, recorder: Recorder) {
    if let Some(server) = server {
        server.shutdown().await;
    }
    recorder.finish();
    rt.send_msg(HOME, Box::new(ToHome::Stopped));
}

async fn publish(rt: Runtime, server: Server<ArrayExports<Volumes>>, plan: Arc<Plan>) {
    loop {
        let published = Published { stats: server.stats(), sessions: server.sessions() };
        plan.published.lock().expect("no holder panics")[rt.id().index()] = published;
        rt.sleep(PUBLISH).await;
    }
}
