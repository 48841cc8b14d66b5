//! The first reactor: opens the array, makes everything ready, answers commands, and stops it all in order.

use crate::ServeError;
use crate::files::Files;
use crate::members::Devices;
use crate::peer::{ToHome, ToPeer};
use crate::plan::{Plan, announce, clients, start_server};
use crate::record::{self, Recorder};
use crate::seek::{Searches, Seeker, seek};
use crate::status::log_structured::{self, Serving};
use crate::{control, notify};
use cygnus_control::rates::RateMeter;
use cygnus_control::stats::{ClientCounters, Stats};
use cygnus_control::status::{ArrayStatus, JobStatus, VolumeStatus};
use cygnus_engine::{Array, OpenOptions, Volumes};
use cygnus_host::devices::now_unix;
use cygnus_runtime::{Event, Runtime};
use cygnus_target::{ArrayExports, OpClass, Server, ServerStats};
use cygnus_types::{Nanos, ReactorId};
use cygnus_uring::{Reactor, Signal, Signals};
use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How often to look whether a scrub is due; also how long a server has peace after its start.
const SCRUB_LOOK: Duration = Duration::from_secs(600);
/// How often device rates are measured.
const RATES: Nanos = Nanos::secs(1);

/// What the tasks of the home reactor share.
pub struct Home {
    pub rt: Runtime,
    pub array: Array,
    pub plan: Arc<Plan>,
    server: Server<ArrayExports<Volumes>>,
    recorder: Recorder,
    rates: RefCell<RateMeter>,
    stopping: Cell<bool>,
    ready_peers: Cell<usize>,
    stopped_peers: Cell<usize>,
    peer_failure: RefCell<Option<String>>,
    changed: Event,
    files: Files,
    /// Members that are looked for.
    searches: Rc<Searches>,
    /// Devices of this process, and what the peers say of new ones.
    pub devices: Devices,
}

/// Home's main task.
pub async fn main(reactor: Reactor, plan: Arc<Plan>) -> Result<(), ServeError> {
    let served = serve(&reactor, &plan).await;
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

async fn serve(reactor: &Reactor, plan: &Arc<Plan>) -> Result<(), ServeError> {
    let rt = &reactor.rt;
    let signals = Signals::install(&reactor.io).map_err(ServeError::io("signals"))?;
    let options = OpenOptions {
        array: Some(plan.array),
        reactors: plan.reactors,
        read_only: false,
        map: plan.memory.map_rule(),
        log: plan.log.clone(),
    };
    let opened = match plan.by_force {
        true => Array::open_by_force(rt, &reactor.devices, &options).await,
        false => Array::open(rt, &reactor.devices, &options).await,
    };
    let array = opened.map_err(|error| plan.memory.explain(error))?;
    if let Some(span) = plan.suspended_for {
        array.set_suspended_for(span);
    }
    let home = match start(reactor, array.clone(), plan, signals) {
        Ok(home) => home,
        Err(failure) => {
            array.close().await?;
            return Err(failure);
        }
    };
    tell_peers(rt, plan, || ToPeer::Attach(array.handle(plan.reactors)));
    home.until(|home| home.ready_peers.get() == plan.reactors - 1).await;
    let failure = home.peer_failure.borrow_mut().take();
    let announced = match failure {
        Some(why) => Err(ServeError::Peer(why)),
        None => announce(plan),
    };
    if announced.is_ok() {
        home.until(|home| home.stopping.get()).await;
    }
    plan.log.say(&format!("stopping {}", plan.name));
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
    plan.log.say(&format!("{} is stopped cleanly", plan.name));
    announced
}

/// Starts all tasks of the home reactor.
fn start(reactor: &Reactor, array: Array, plan: &Arc<Plan>, signals: Signals) -> Result<Rc<Home>, ServeError> {
    let about = record::About { name: &plan.name, array: plan.array, log: &plan.log };
    let sizes = array.status().volumes.into_iter().map(|volume| (volume.name, volume.size.0)).collect();
    let recordings = record::begin(&plan.record_to, &reactor.rt, &sizes, &about)?;
    *plan.recordings.lock().expect("no holder panics") = recordings;
    let recorder = plan.recorder(reactor);
    let server = start_server(reactor, plan.exports(array.volumes(), &recorder), plan)?;
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
    let (rt, array, searches) = (home.rt.clone(), home.array.clone(), home.searches.clone());
    home.rt.spawn(seek(Seeker { rt, array, places: home.clone(), searches }));
    if let Some(every) = plan.scrub_every {
        home.rt.spawn(scrub_on_schedule(home.clone(), every));
    }
    home.rt.spawn(await_signal(home.clone(), signals));
    home.rt.spawn(control::accept(home.clone(), listener));
    home.rt.spawn(control::keep_reachable(home.clone(), plan.clone(), reactor.io.clone()));
    Ok(home)
}

async fn handle_messages(home: Rc<Home>) {
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

async fn measure_rates(home: Rc<Home>) {
    loop {
        let counters: Vec<_> = home.array.status().members.iter().map(log_structured::counters).collect();
        home.rates.borrow_mut().sample(home.rt.now().0, &counters);
        home.remember_members();
        home.plan.log.tell_held(false);
        home.rt.sleep(RATES).await;
    }
}

/// Starts a scrub whenever the last one is longer ago than the interval.
async fn scrub_on_schedule(home: Rc<Home>, every: Duration) {
    let look = every.min(SCRUB_LOOK);
    loop {
        home.rt.sleep(Nanos(look.as_nanos() as u64)).await;
        let last = Duration::from_secs(home.array.status().last_scrub_unix);
        let now = Duration::from_secs(now_unix());
        if now >= last + every && !home.stopping.get() {
            home.array.start_scrub(now.as_secs());
        }
    }
}

async fn await_signal(home: Rc<Home>, signals: Signals) {
    // An error means that the reactor is being taken down, which is a stop too.
    if let Ok(signal) = signals.next(&home.rt).await {
        let name = if signal == Signal::Interrupt { "SIGINT" } else { "SIGTERM" };
        home.plan.log.detail(&format!("{name} received"));
    }
    home.stop();
}

impl Home {
    /// Wakes whoever waits for something to be so.
    pub fn wake(&self) {
        self.changed.notify();
    }

    /// Begins a clean stop.
    pub fn stop(&self) {
        self.stopping.set(true);
        self.changed.notify();
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
        let members = self.array.status().members.into_iter().filter(|member| member.is_online());
        self.files.look(&self.rt, members.map(|member| member.name).collect()).await;
        let listening: Vec<String> = self.plan.listeners.iter().map(|listener| listener.uri("").to_string()).collect();
        let rates = self.rates.borrow();
        let (rates, jobs) = (rates.rates(), self.jobs());
        let record = self.plan.record.lock().expect("no holder panics").clone();
        let status = self.array.status();
        let scrub = log_structured::scrubs(status.last_scrub_unix, self.array.scrub_report());
        let memory = self.plan.memory.status(self.array.map_bytes());
        let clients = clients(&self.nbd_stats(), &self.plan);
        let odd_file = &|path: &str, size| self.files.odd(path, size);
        let why_not_back = &|member| self.searches.why(member);
        let (record, listening, jobs) = (&record, &listening, &jobs);
        let serving = Serving { record, listening, rates, jobs, scrub, odd_file, why_not_back, memory, clients };
        log_structured::status(&status, self.array.recovery(), serving, |name| self.connections(name))
    }

    /// All jobs.
    fn jobs(&self) -> Vec<JobStatus> {
        self.array.jobs().iter().map(log_structured::job).collect()
    }

    /// A job.
    pub fn job(&self, id: u64) -> Option<JobStatus> {
        self.jobs().into_iter().find(|job| job.id == id)
    }

    /// All volumes.
    pub fn volumes(&self) -> Vec<VolumeStatus> {
        log_structured::volumes(&self.array.status(), |name| self.connections(name))
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
        Stats { client, ..log_structured::stats(&self.array.status(), self.rt.now().0) }
    }
}
