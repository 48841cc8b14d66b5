//! What all reactors of a server know from the start, and what each of them does alike.

use crate::ServeError;
use crate::event::ServerEvent;
use crate::heap::Heap;
use crate::log::ServerLog;
use crate::memory::Memory;
use crate::notify;
use crate::options::{Ready, RecordTo, Voice};
use crate::record::{Recorder, Recording};
use cygnus_control::status::ClientsStatus;
use cygnus_engine::Link;
use cygnus_host::state::{ArrayRecord, StateDir};
use cygnus_runtime::{Keeper, Runtime};
use cygnus_target::{ArrayExports, BoundListener, Exports, Server, ServerConfig, ServerStats, SessionStats};
use cygnus_types::{Nanos, Uuid};
use cygnus_uring::Reactor;
use cygnus_volume::VolumeSet;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What all reactors know from the start.
pub struct Plan {
    /// What is remembered of the array; home writes down what changes.
    pub record: Mutex<ArrayRecord>,
    pub name: String,
    pub state: StateDir,
    pub array: Uuid,
    /// It updates in place.
    pub in_place: bool,
    /// Whether data moves out of the way of contention, and which members share links.
    pub autonomics: bool,
    pub links: Vec<Link>,
    /// Whether what may be concerned by a loss is to be given up.
    pub by_force: bool,
    pub reactors: usize,
    pub listeners: Vec<BoundListener>,
    pub control: BoundListener,
    /// What is told that clients may come, until it is.
    pub ready: Mutex<Option<File>>,
    /// After what time a device that answers nothing is given up, if not as the engine has it.
    pub hung_after: Option<Nanos>,
    /// How long requests wait for members while the array is suspended; `None`: for as long as it takes.
    pub suspended_for: Option<Nanos>,
    /// How often to scrub, if at all.
    pub scrub_every: Option<Duration>,
    pub voice: Arc<dyn Voice>,
    pub log: Arc<ServerLog>,
    /// Who may have what the server before had on its way to the members when it was killed.
    pub left_with: Vec<Arc<dyn Keeper>>,
    /// Who keeps what is on its way to the members, if anybody does.
    pub keeper: Option<Arc<dyn Keeper>>,
    /// In which directory, if not in the usual one.
    pub kept_in: Option<PathBuf>,
    /// Who may take how much memory, and how many connections there may be.
    pub memory: Memory,
    /// After what time a client is not waited for any more, if not as the server has it.
    pub stalled_after: Option<Nanos>,
    pub idle_after: Option<Nanos>,
    /// What is to be recorded, and the recordings once home has begun them.
    pub record_to: Vec<RecordTo>,
    pub recordings: Mutex<Vec<Recording>>,
    /// What each reactor but home last published of its server; a quarter of a second old at most.
    pub published: Mutex<Vec<Published>>,
}

/// A reactor's NBD server as seen from home.
#[derive(Clone, Default)]
pub struct Published {
    pub stats: ServerStats,
    pub sessions: Vec<SessionStats>,
}

impl Plan {
    /// The volumes of the array as one reactor exports them.
    pub fn exports<S: VolumeSet>(&self, volumes: S, recorder: &Recorder) -> ArrayExports<S> {
        ArrayExports { volumes, array: self.name.clone(), taps: recorder.taps() }
    }

    /// Writes down where what is on its way to the members outlasts this process.
    pub fn remember_keeper(&self) {
        let mut record = self.record.lock().expect("no holder panics");
        if record.kept_in == self.kept_in {
            return;
        }
        record.kept_in.clone_from(&self.kept_in);
        if let Err(error) = self.state.save(&record) {
            self.log.tell(&ServerEvent::NotRemembered(&error));
        }
    }

    /// What a reactor records, once home has begun.
    pub fn recorder(&self, reactor: &Reactor) -> Recorder {
        Recorder::new(&reactor.rt, &self.recordings.lock().expect("no holder panics"))
    }
}

/// Says that clients may come: to the operator, the service manager, the descriptor.
pub fn announce(plan: &Plan) -> Result<(), ServeError> {
    let nbd = plan.listeners.iter().map(|listener| listener.uri("").to_string()).collect();
    let name = &plan.name;
    plan.voice.ready(&Ready { array: name.clone(), nbd }).map_err(ServeError::io("standard output"))?;
    let state = format!("READY=1\nSTATUS=serving {name}");
    notify::service_manager(&state).map_err(ServeError::io("$NOTIFY_SOCKET"))?;
    let ready = plan.ready.lock().expect("no holder panics").take();
    if let Some(ready) = ready {
        notify::descriptor(ready).map_err(ServeError::io("--ready-fd"))?;
    }
    Ok(())
}

/// The connections over all reactors.
pub fn clients(nbd: &ServerStats, plan: &Plan) -> ClientsStatus {
    let (connections, places) = plan.memory.door.usage();
    ClientsStatus {
        connections: connections as u32,
        places: places as u32,
        accepted: nbd.accepted,
        refused: nbd.refused,
        malformed: nbd.malformed,
        cut: nbd.cut,
    }
}

/// How often buffers that are not used any more go back to the system.
const KEEP_SMALL: Nanos = Nanos::secs(1);

/// Returns to the system what buffers a reactor has not needed for a while, and what a load has left in the heap.
async fn keep_small(rt: Runtime, plan: Arc<Plan>) {
    let mut heap = Heap::default();
    loop {
        rt.give_back_buffers();
        // All reactors have one heap.
        if rt.id().index() == 0 {
            heap.give_back();
        }
        plan.memory.note_buffers(rt.id().index(), rt.buffer_bytes());
        rt.sleep(KEEP_SMALL).await;
    }
}

/// The NBD server of one reactor, listening at all addresses. Each connection goes to one of the reactors.
pub fn start_server<E: Exports>(reactor: &Reactor, exports: E, plan: &Arc<Plan>) -> Result<Server<E>, ServeError> {
    let to = plan.log.clone();
    let log = move |event| to.tell(&ServerEvent::Session(&event));
    let usual = ServerConfig::default();
    let config = ServerConfig {
        door: plan.memory.door.clone(),
        memory: plan.memory.shared.clone(),
        stalled_after: plan.stalled_after.unwrap_or(usual.stalled_after),
        idle_after: plan.idle_after,
        ..usual
    };
    let server = Server::new(&reactor.rt, exports, config, log);
    reactor.rt.spawn(keep_small(reactor.rt.clone(), plan.clone()));
    for listener in &plan.listeners {
        let socket = listener.as_fd().try_clone_to_owned().and_then(|socket| reactor.io.add_listener(socket));
        let id = socket.map_err(ServeError::io(listener.address()))?;
        server.listen(id, listener.address().to_string());
    }
    Ok(server)
}
