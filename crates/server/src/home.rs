//! The first reactor: opens the array, makes everything ready, answers commands, and stops it all in order.

use crate::ServeError;
use crate::devices::Devices;
use crate::event::ServerEvent;
use crate::files::Files;
use crate::peer::{ToHome, ToPeer};
use crate::plan::{Plan, announce, clients, start_server};
use crate::pulse::ask_drives;
use crate::record::{self, Recorder};
use crate::seek::Searches;
use crate::served::Served;
use crate::status::{self, Serving};
use crate::stop::StopAsked;
use crate::{control, notify};
use cygnus_control::rates::RateMeter;
use cygnus_control::stats::{ClientCounters, Stats};
use cygnus_control::status::{ArrayStatus, JobStatus, VolumeStatus};
use cygnus_runtime::{DeviceInfo, DeviceIx, Event, Runtime};
use cygnus_target::{ArrayExports, OpClass, Server, ServerStats};
use cygnus_types::{Nanos, ReactorId};
use cygnus_uring::{Reactor, Signals, is_drive};
use cygnus_volume::{BlockVolume, VolumeSet};
use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// How often device rates are measured.
const RATES: Nanos = Nanos::secs(1);

/// What the tasks of the home reactor share.
pub struct Home<A: Served> {
    pub rt: Runtime,
    pub array: A,
    pub plan: Arc<Plan>,
    server: Server<ArrayExports<A::Volumes>>,
    recorder: Recorder,
    rates: RefCell<RateMeter>,
    stopping: Cell<bool>,
    ready_peers: Cell<usize>,
    stopped_peers: Cell<usize>,
    peer_failure: RefCell<Option<ServeError>>,
    changed: Event,
    files: Files,
    /// Members that are looked for.
    pub searches: Rc<Searches>,
    /// Devices of this process, and what the peers say of new ones.
    pub devices: Devices,
}

/// Home's main task.
pub async fn main<A: Served>(reactor: Reactor, plan: Arc<Plan>) -> Result<(), ServeError> {
    let served = serve::<A>(&reactor, &plan).await;
    record::end(std::mem::take(&mut plan.recordings.lock().expect("no holder panics")));
    // Whatever happened, the peers wait for this.
    tell_peers(&reactor.rt, &plan, || ToPeer::Exit);
    served
}

/// Sends a message to each peer.
pub fn tell_peers(rt: &Runtime, plan: &Plan, message: impl Fn() -> ToPeer) {
    for peer in 1..plan.reactors {
        rt.send_msg(ReactorId(peer as u16), Box::new(message()));
    }
}

async fn serve<A: Served>(reactor: &Reactor, plan: &Arc<Plan>) -> Result<(), ServeError> {
    let rt = &reactor.rt;
    let signals = Signals::install(&reactor.io).map_err(ServeError::io("signals"))?;
    let asked = StopAsked::listen(rt, signals, plan);
    let array = A::open(reactor, plan).await?;
    asked.note_open();
    // Before anybody is told that it is served: whoever opens the array after a kill must know where to look.
    plan.remember_keeper();
    if let Some(span) = plan.suspended_for {
        array.set_suspended_for(span);
    }
    let home = match start(reactor, array.clone(), plan, asked.clone()) {
        Ok(home) => home,
        Err(failure) => {
            array.close().await?;
            return Err(failure);
        }
    };
    home.until(|home| home.ready_peers.get() == plan.reactors - 1).await;
    let failure = home.peer_failure.borrow_mut().take();
    let announced = match failure {
        Some(failure) => Err(failure),
        // Nobody is invited who would be sent away at once.
        None if asked.is_asked() => Ok(()),
        None => announce(plan),
    };
    if announced.is_ok() {
        home.until(|home| home.stopping.get()).await;
    }
    plan.log.tell(&ServerEvent::Stopping { array: &plan.name });
    // Nobody waits for this message, and without a service manager there is nobody to get it.
    let _ = notify::service_manager("STOPPING=1");
    // Whoever became a member since the last look must be found by the next start.
    home.remember_members();
    home.server.shutdown().await;
    home.recorder.finish();
    tell_peers(rt, plan, || ToPeer::Stop);
    home.until(|home| home.stopped_peers.get() == plan.reactors - 1).await;
    array.close().await?;
    plan.log.tell_held(true);
    plan.log.tell(&ServerEvent::Stopped { array: &plan.name });
    announced
}

/// Starts all tasks of the home reactor.
fn start<A: Served>(
    reactor: &Reactor,
    array: A,
    plan: &Arc<Plan>,
    asked: Rc<StopAsked>,
) -> Result<Rc<Home<A>>, ServeError> {
    let about = record::About { name: &plan.name, array: plan.array, log: &plan.log };
    let volumes = array.volumes();
    let size = |name: String| volumes.volume(&name).map(|volume| (name, volume.size()));
    let sizes = volumes.names().into_iter().filter_map(size).collect();
    let recordings = record::begin(&plan.record_to, &reactor.rt, &sizes, &about)?;
    *plan.recordings.lock().expect("no holder panics") = recordings;
    let recorder = plan.recorder(reactor);
    let server = start_server(reactor, plan.exports(volumes, &recorder), plan)?;
    let socket = plan.control.as_fd().try_clone_to_owned().and_then(|socket| reactor.io.add_listener(socket));
    let listener = socket.map_err(ServeError::io(plan.control.address()))?;
    let home = Rc::new(Home {
        rt: reactor.rt.clone(),
        array,
        plan: plan.clone(),
        server,
        recorder,
        rates: RefCell::default(),
        stopping: Cell::new(false),
        ready_peers: Cell::new(0),
        stopped_peers: Cell::new(0),
        peer_failure: RefCell::new(None),
        changed: Event::new(),
        files: Files::default(),
        searches: Rc::default(),
        devices: Devices::new(reactor),
    });
    home.rt.spawn(handle_messages(home.clone()));
    home.rt.spawn(measure_rates(home.clone()));
    let about = home.clone();
    home.rt.spawn(ask_drives(home.rt.clone(), move || about.drives_in_service()));
    A::start_services(&home);
    home.rt.spawn(stop_when_asked(home.clone(), asked));
    home.rt.spawn(control::accept(home.clone(), listener));
    home.rt.spawn(control::keep_reachable(home.clone(), plan.clone(), reactor.io.clone()));
    Ok(home)
}

async fn handle_messages<A: Served>(home: Rc<Home<A>>) {
    loop {
        let message = home.rt.recv_msg().await;
        let Some(message) = home.array.handle_message(message) else { continue };
        match *message.downcast::<ToHome>().expect("the engine takes its own messages") {
            ToHome::Ready(result) => {
                home.ready_peers.set(home.ready_peers.get() + 1);
                if let Err(why) = result {
                    home.peer_failure.borrow_mut().get_or_insert(why);
                }
            }
            ToHome::DeviceAdded(result) => home.devices.peer_answered(result),
            ToHome::Stopped => home.stopped_peers.set(home.stopped_peers.get() + 1),
        }
        home.changed.notify();
    }
}

async fn measure_rates<A: Served>(home: Rc<Home<A>>) {
    loop {
        let stats = home.array.stats(home.rt.now().0);
        let counters: Vec<_> = stats.devices.iter().map(|device| device.io).collect();
        home.rates.borrow_mut().sample(stats.at_ns, &counters);
        home.remember_members();
        home.close_what_has_left();
        home.plan.log.tell_held(false);
        home.rt.sleep(RATES).await;
    }
}

async fn stop_when_asked<A: Served>(home: Rc<Home<A>>, asked: Rc<StopAsked>) {
    asked.wait().await;
    home.stop();
}

impl<A: Served> Home<A> {
    /// Wakes the tasks that wait for something to be so.
    pub fn wake(&self) {
        self.changed.notify();
    }

    /// Begins a clean stop.
    pub fn stop(&self) {
        self.stopping.set(true);
        self.changed.notify();
    }

    /// Whether a clean stop has begun.
    pub fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// The software SSDs among the members in service; `None` when a clean stop has begun.
    fn drives_in_service(&self) -> Option<Vec<DeviceIx>> {
        let in_service = self.array.online_paths();
        let is_asked = |info: &DeviceInfo| is_drive(Path::new(&info.name)) && in_service.contains(&info.name);
        let known = self.devices.known.borrow();
        let drives = known.iter().filter(|(_, info)| is_asked(info)).map(|(_, info)| info.ix).collect();
        (!self.is_stopping()).then_some(drives)
    }

    /// Waits until something is so.
    pub async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.changed.wait();
            if is_so(self) {
                return;
            }
            changed.await;
        }
    }

    /// All reactors' NBD counters in one.
    fn nbd_stats(&self) -> ServerStats {
        let mut all = self.server.stats();
        let published = self.plan.published.lock().expect("no holder panics");
        published.iter().for_each(|peer| all.merge(&peer.stats));
        all
    }

    /// Connections that have this volume open, over all reactors.
    pub fn connections(&self, volume: &str) -> u32 {
        let published = self.plan.published.lock().expect("no holder panics");
        let mine = self.server.sessions();
        let all = published.iter().flat_map(|peer| &peer.sessions).chain(&mine);
        all.filter(|session| session.export.as_deref() == Some(volume)).count() as u32
    }

    /// Everything about the array.
    pub async fn status(&self) -> ArrayStatus {
        self.files.look(&self.rt, self.array.online_paths()).await;
        let record = self.plan.record.lock().expect("no holder panics").clone();
        self.array.status(Serving {
            record: &record,
            listening: self.plan.listeners.iter().map(|listener| listener.uri("").to_string()).collect(),
            rates: self.rates.borrow().rates(),
            jobs: self.jobs(),
            hung_after: self.rt.patience(),
            memory: self.plan.memory.status(self.array.map_bytes(), self.array.kept_bytes()),
            clients: clients(&self.nbd_stats(), &self.plan),
            connections: &|name| self.connections(name),
            odd_file: &|path, size| self.files.odd(path, size),
            why_not_back: &|member| self.searches.why(member),
        })
    }

    fn jobs(&self) -> Vec<JobStatus> {
        self.array.jobs().iter().map(status::job).collect()
    }

    /// How the job of this number stands; `None` if there is none.
    pub fn job(&self, id: u64) -> Option<JobStatus> {
        self.jobs().into_iter().find(|job| job.id == id)
    }

    /// How all volumes stand, in the order of their names.
    pub fn volumes(&self) -> Vec<VolumeStatus> {
        self.array.volume_statuses(&|name| self.connections(name))
    }

    /// The counters for the live view.
    pub fn stats(&self) -> Stats {
        let nbd = self.nbd_stats();
        let (read, write) = (nbd.of(OpClass::Read), nbd.of(OpClass::Write));
        let client = ClientCounters {
            connections: nbd.connections as u32,
            reads: read.ops,
            writes: write.ops,
            read_bytes: read.bytes,
            written_bytes: write.bytes,
            flushes: nbd.of(OpClass::Flush).ops,
        };
        Stats { client, ..self.array.stats(self.rt.now().0) }
    }
}
