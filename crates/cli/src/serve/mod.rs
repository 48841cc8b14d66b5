//! `cygnus serve`: one process, one reactor per core, the array's home on the first one.
//!
//! | file | idea |
//! |---|---|
//! | `mod.rs` | what is checked and bound before a reactor starts |
//! | `home.rs` | the first reactor: opens the array, answers commands, stops everything in order |
//! | `inplace.rs` | the only reactor of an array that updates in place |
//! | `peer.rs` | the other reactors, and the messages between them and home |
//! | `control.rs` | the control socket's sessions |
//! | `share.rs` | how much of a reactor's time the control socket may take |
//! | `log.rs` | what is said on standard error, and how often |
//! | `memory.rs` | who may take how much of the machine's memory |
//! | `record.rs` | what clients ask of a volume, written to a file |
//! | `members.rs` | devices that come while the array is served |
//! | `seek.rs` | members that were absent at the start, looked for where they were |

mod aside;
mod control;
mod files;
mod home;
mod inplace;
mod log;
mod members;
mod memory;
mod peer;
mod record;
mod seek;
mod share;

use crate::args::serve::{LogTime, RecordTo, ServeArgs};
use crate::backend;
use crate::commands::{Context, status};
use crate::config::Config;
use crate::confirm::confirm;
use crate::failure::Failure;
use crate::members::Assembly;
use crate::notify;
use crate::output::{self, LogLines, Output};
use crate::state::{ArrayRecord, StateDir};
use cygnus_control::status::ClientsStatus;
use cygnus_runtime::Runtime;
use cygnus_target::{
    ArrayExports, BoundListener, Exports, ListenAddress, ListenError, Server, ServerConfig, ServerStats, SessionStats,
    Side,
};
use cygnus_types::{Nanos, Uuid};
use cygnus_uring::{Access, Pinning, Reactor, spawn_reactors};
use log::ServerLog;
use memory::Memory;
use record::{Recorder, Recording};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What all reactors know from the start.
struct Plan {
    /// What is remembered of the array; home writes down what changes.
    record: Mutex<ArrayRecord>,
    name: String,
    state: StateDir,
    array: Uuid,
    /// It updates in place.
    in_place: bool,
    /// Whether what may be concerned by a loss is to be given up.
    by_force: bool,
    reactors: usize,
    listeners: Vec<BoundListener>,
    control: BoundListener,
    ready_fd: Option<i32>,
    /// After what time a device that answers nothing is given up, if not as the engine has it.
    hung_after: Option<Nanos>,
    /// How long requests wait for members while the array is suspended; `None`: for as long as it takes.
    suspended_for: Option<Nanos>,
    /// How often to scrub, if at all.
    scrub_every: Option<Duration>,
    output: Output,
    log: Arc<ServerLog>,
    /// Who may take how much memory, and how many connections there may be.
    memory: Memory,
    /// After what time a client is not waited for any more, if not as the server has it.
    stalled_after: Option<Nanos>,
    idle_after: Option<Nanos>,
    /// What is to be recorded, and the recordings once home has begun them.
    record_to: Vec<RecordTo>,
    recordings: Mutex<Vec<Recording>>,
    /// What each reactor but home last published of its server; a quarter of a second old at most.
    published: Mutex<Vec<Published>>,
}

/// A reactor's NBD server as seen from home.
#[derive(Clone, Default)]
struct Published {
    stats: ServerStats,
    sessions: Vec<SessionStats>,
}

impl Plan {
    /// The volumes of a log-structured array as one reactor exports them.
    fn exports(&self, side: Side, recorder: &Recorder) -> ArrayExports {
        ArrayExports { side, array: self.name.clone(), taps: recorder.taps() }
    }

    /// What a reactor records, once home has begun.
    fn recorder(&self, reactor: &Reactor) -> Recorder {
        Recorder::new(&reactor.rt, &self.recordings.lock().expect("no holder panics"))
    }
}

/// Does it; returns when the array has been stopped.
pub fn run(mut args: ServeArgs, mut config: Config, context: &Context) -> Result<(), Failure> {
    config.complete_serve(&mut args);
    let record = context.state.load(&args.name)?;
    if args.force {
        // Before anybody can connect: whoever is asked may take his time.
        context.require_stopped(&args.name, "serve")?;
        confirm_force(&args, &status::assemble(&record)?, context)?;
    }
    let control = bind_control(&args, context)?;
    let assembly = status::assemble(&record)?;
    let log = ServerLog::new(context.output, args.log_time.unwrap_or(LogTime::Auto).wanted());
    for oddity in &assembly.oddities {
        log.warn(oddity);
    }
    let devices = backend::open_members(&assembly, Access::Exclusive)?;
    for device in &devices {
        if let Some(why) = device.fallback() {
            log.detail(&format!("{}: {why}", device.name()));
        }
    }
    let reactors = usize::from(args.reactors.unwrap_or(1));
    let in_place = assembly.newest.state.in_place.is_some();
    if in_place && reactors > 1 {
        let level = &assembly.newest.state.preset;
        return Err(Failure::Usage(format!(
            "{} is {level}, updated in place, and has one reactor: leave out --reactors",
            args.name
        )));
    }
    let memory = Memory::plan(args.memory.map(|size| size.0), args.max_connections, reactors, !in_place)?;
    let plan = Plan {
        memory,
        stalled_after: args.stalled_after.map(|span| span.0.into()),
        idle_after: args.idle_after.and_then(|interval| interval.0).map(Nanos::from),
        name: record.name.clone(),
        record: Mutex::new(record),
        state: context.state.clone(),
        array: assembly.newest.array,
        in_place,
        by_force: args.force,
        reactors,
        listeners: bind_nbd(&args, context)?,
        control,
        ready_fd: args.ready_fd,
        hung_after: args.hung_after.map(|span| span.0.into()),
        suspended_for: args.suspended_for.map(|span| span.0.into()),
        scrub_every: args.scrub_every.map_or(Some(SCRUB_EVERY), |interval| interval.0),
        output: context.output,
        log,
        record_to: args.record,
        recordings: Mutex::default(),
        published: Mutex::new(vec![Published::default(); reactors]),
    };
    let pinning = if args.pin { Pinning::EachOwnCore } else { Pinning::Free };
    let config = cygnus_uring::Config { reactors, pinning, ..backend::config(devices)? };
    let plan = Arc::new(plan);
    let main = async move |reactor: Reactor| {
        if let Some(limit) = plan.hung_after {
            reactor.rt.set_patience(limit);
        }
        match reactor.rt.id().index() {
            0 if plan.in_place => inplace::main(reactor, plan.clone()).await,
            0 => home::main(reactor, plan.clone()).await,
            _ => peer::main(reactor, plan.clone()).await,
        }
    };
    spawn_reactors(&config, main).map_err(Failure::of)?.join().into_iter().collect()
}

/// Says what force would do, and asks.
fn confirm_force(args: &ServeArgs, assembly: &Assembly, context: &Context) -> Result<(), Failure> {
    let in_place = assembly.newest.state.in_place.is_some();
    let log = Arc::new(LogLines::details(context.output));
    let foreseen = if in_place { None } else { backend::foresee(assembly, log)? };
    let Some(foreseen) = foreseen else {
        let question = format!(
            "Open {} by force? If something durable is lost, all blocks that may be concerned are given up for good, which may \
             be all there are. Without --force, 'cygnus serve' tells what is lost; 'cygnus array salvage' copies out what is \
             left.",
            args.name
        );
        return confirm(&question, args.yes);
    };
    for line in foreseen.lines() {
        context.output.remark(&line);
    }
    let question = format!(
        "Open {} by force? What cannot be read then is given up for good. Missing members that are brought back before lose \
         nothing.",
        args.name
    );
    confirm(&question, args.yes)
}

/// A month: a sector that rots is found before a second one of its row does, and the reading, once a month, wears nothing
/// and hardly takes a thousandth of what the devices can do.
const SCRUB_EVERY: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long a server that was killed may take to be gone.
const GOING_AWAY: Duration = Duration::from_secs(2);

/// Listens, waiting for a killed predecessor whose sockets the kernel has not closed yet.
fn bind(address: &ListenAddress) -> Result<BoundListener, ListenError> {
    let begun = Instant::now();
    loop {
        match BoundListener::bind(address) {
            Err(ListenError::InUse(_)) if begun.elapsed() < GOING_AWAY => std::thread::sleep(GOING_AWAY / 100),
            bound => return bound,
        }
    }
}

/// Binding the control socket is also what keeps two `serve` of one state directory apart.
fn bind_control(args: &ServeArgs, context: &Context) -> Result<BoundListener, Failure> {
    context.require_stopped(&args.name, "serve")?;
    let path = context.state.control_socket(&args.name)?;
    let address: ListenAddress = format!("unix:{}", path.display()).parse().map_err(Failure::of)?;
    bind(&address).map_err(Failure::of)
}

fn bind_nbd(args: &ServeArgs, context: &Context) -> Result<Vec<BoundListener>, Failure> {
    let default = || {
        let path = context.state.default_nbd_socket(&args.name);
        format!("unix:{}", path.display()).parse::<ListenAddress>().map(|address| vec![address])
    };
    let addresses = if args.nbd.is_empty() { default().map_err(Failure::of)? } else { args.nbd.clone() };
    addresses.iter().map(|address| bind(address).map_err(Failure::of)).collect()
}

/// Says that clients may come: one line on standard output, the service manager, the descriptor.
fn announce(plan: &Plan) -> Result<(), Failure> {
    let uris = plan.listeners.iter().map(|listener| listener.uri("").to_string()).collect::<Vec<_>>();
    let name = &plan.name;
    let line = match plan.output.json() {
        true => serde_json::json!({ "schema": cygnus_control::SCHEMA, "ready": name, "nbd": uris }).to_string(),
        false => format!("ready {name} {}", uris.join(" ")),
    };
    output::print(&format!("{line}\n"))?;
    notify::service_manager(&format!("READY=1\nSTATUS=serving {name}"))
        .map_err(|error| Failure::Failed(format!("$NOTIFY_SOCKET: {error}")))?;
    if let Some(fd) = plan.ready_fd {
        notify::descriptor(fd).map_err(|error| Failure::Failed(format!("--ready-fd {fd}: {error}")))?;
    }
    Ok(())
}

/// The connections over all reactors.
fn clients(nbd: &ServerStats, plan: &Plan) -> ClientsStatus {
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

/// Returns to the system what buffers a reactor has not needed for a while.
async fn keep_small(rt: Runtime, plan: Arc<Plan>) {
    loop {
        rt.give_back_buffers();
        plan.memory.note_buffers(rt.id().index(), rt.buffer_bytes());
        rt.sleep(KEEP_SMALL).await;
    }
}

/// The NBD server of one reactor, listening at all addresses. Each connection goes to one of the reactors.
fn start_server<E: Exports>(reactor: &Reactor, exports: E, plan: &Arc<Plan>) -> Result<Server<E>, Failure> {
    let to = plan.log.clone();
    let log = move |event: cygnus_target::SessionEvent| match event.trouble() {
        Some(_) => to.say(&event.to_string()),
        None => to.detail(&event.to_string()),
    };
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
        let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", listener.address()));
        let socket = listener.as_fd().try_clone_to_owned().map_err(failed)?;
        let id = reactor.io.add_listener(socket).map_err(failed)?;
        server.listen(id, listener.address().to_string());
    }
    Ok(server)
}
