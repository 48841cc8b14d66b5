//! Starting reactors, one per core, and waiting for them.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use cygnus_runtime::{BufPool, DeviceInfo, Runtime};
use cygnus_types::{Nanos, ReactorId};

use crate::device::Device;
use crate::driver::{Core, Parts, UringDriver};
use crate::error::StartError;
use crate::inbox::{Inbox, Mailer};
use crate::io::Io;

/// Which cores the reactors run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// Wherever the scheduler puts them.
    Free,
    /// Each on one of the cores the process may use, in order and round again.
    EachOwnCore,
    /// Reactor i on the core `cores[i % cores.len()]`, as the operating system counts.
    Cores(Vec<usize>),
}

/// How to run reactors.
#[derive(Clone)]
pub struct Config {
    /// How many, at least 1.
    pub reactors: usize,
    /// Where.
    pub pinning: Pinning,
    /// Bytes of each reactor's buffer pool that are registered with the kernel.
    pub arena_bytes: usize,
    /// How long an idle reactor spins before it blocks. Being woken costs 30-65 us in a virtual machine, and spinning
    /// takes the core from whoever else would use it.
    pub spin: Nanos,
    /// Size of each submission queue.
    pub queue_entries: u32,
    /// Seed of the reactors' random choices, the identities of what they create among them: another one in each default, so that no two
    /// programs give the same ones.
    pub seed: u64,
    /// Devices that every reactor has, numbered from 0 in this order.
    pub devices: Vec<Device>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            reactors: 1,
            pinning: Pinning::Free,
            arena_bytes: 16 << 20,
            spin: Nanos::micros(20),
            queue_entries: 512,
            seed: RandomState::new().build_hasher().finish(),
            devices: Vec::new(),
        }
    }
}

/// What a reactor's main task is given.
pub struct Reactor {
    /// Runs tasks and operations; knows the reactor's number.
    pub rt: Runtime,
    /// Adds devices, listeners and connections.
    pub io: Io,
    /// The devices of [`Config::devices`].
    pub devices: Vec<DeviceInfo>,
    /// Sends messages to this and the other reactors from any thread.
    pub mailer: Mailer,
}

impl Config {
    /// Refuses numbers that make no sense; those that only this machine cannot have fail later.
    fn check(&self, reactors: usize) -> Result<(), StartError> {
        let within = |what, given: usize, least, most| match (least..=most).contains(&(given as u64)) {
            true => Ok(()),
            false => Err(StartError::OutOfBounds { what, given: given as u64, least, most }),
        };
        within("reactors", reactors, 1, u16::MAX.into())?;
        within("queue_entries", self.queue_entries as usize, 1, MOST_ENTRIES)?;
        within("arena_bytes", self.arena_bytes, 0, MOST_ARENA)
    }
}

/// Most entries of a submission queue, as Linux has it.
const MOST_ENTRIES: u64 = 1 << 15;
/// More than any machine has memory for one reactor.
const MOST_ARENA: u64 = 1 << 44;

/// Builds a reactor on the calling thread, where it stays.
fn build(config: &Config, inbox: Inbox, id: ReactorId, mailer: Mailer, epoch: Instant) -> Result<Reactor, StartError> {
    let pool = BufPool::try_new(config.arena_bytes)?;
    let parts = Parts {
        epoch,
        inbox,
        mailer: mailer.clone(),
        pool: pool.clone(),
        spin: config.spin,
        queue_entries: config.queue_entries,
    };
    let core = Rc::new(RefCell::new(Core::new(parts)?));
    let seed = config.seed.wrapping_add(id.0.into());
    let rt = Runtime::new(id, Box::new(UringDriver(core.clone())), pool, seed);
    let io = Io(core, rt.clone());
    let devices = config.devices.iter().map(|device| io.add_device(device)).collect::<Result<_, _>>()?;
    Ok(Reactor { rt, io, devices, mailer })
}

/// Runs a reactor's main task to its end and takes the reactor down.
fn run<T>(reactor: Reactor, main: impl AsyncFnOnce(Reactor) -> T) -> T {
    let rt = reactor.rt.clone();
    let result = rt.run(main(reactor));
    // Tasks hold the runtime and the runtime holds tasks.
    rt.drop_tasks();
    result.expect("only simulated worlds halt")
}

/// One reactor on the calling thread, to be driven with [`Runtime::run`]. Of `config`, the number of reactors is taken
/// as 1. Whoever drives it calls [`Runtime::drop_tasks`] at the end.
///
/// # Errors
/// See [`StartError`].
pub fn single_reactor(config: &Config) -> Result<Reactor, StartError> {
    config.check(1)?;
    let (mailer, mut inboxes) = inboxes(1)?;
    let inbox = inboxes.pop().expect("one was made");
    if let Some(&core) = cores(&config.pinning, 1)?.first() {
        pin(0, core)?;
    }
    build(config, inbox, ReactorId(0), mailer, Instant::now())
}

/// Runs one reactor on the calling thread until its main task ends; see [`single_reactor`].
///
/// # Errors
/// See [`StartError`].
pub fn block_on<T>(config: &Config, main: impl AsyncFnOnce(Reactor) -> T) -> Result<T, StartError> {
    Ok(run(single_reactor(config)?, main))
}

/// Reactors at work.
pub struct Reactors<T> {
    threads: Vec<JoinHandle<Option<T>>>,
    mailer: Mailer,
}

impl<T> Reactors<T> {
    /// Sends messages to the reactors.
    pub fn mailer(&self) -> &Mailer {
        &self.mailer
    }

    /// Waits until the main tasks of all reactors have ended, and returns what they returned, by reactor.
    pub fn join(self) -> Vec<T> {
        let join = |thread: JoinHandle<Option<T>>| {
            let ended = thread.join().expect("a panic in a reactor ends the process");
            ended.expect("reactors that were started run their main task")
        };
        self.threads.into_iter().map(join).collect()
    }
}

/// Starts reactors, each on a thread of its own that runs `main` to its end. When this returns, all are ready. A panic in
/// one ends the process: its peers would wait for it for ever.
///
/// # Errors
/// See [`StartError`]; then none is running.
pub fn spawn_reactors<T, F>(config: &Config, main: F) -> Result<Reactors<T>, StartError>
where
    T: Send + 'static,
    F: AsyncFn(Reactor) -> T + Send + Sync + 'static,
{
    config.check(config.reactors)?;
    let (mailer, inboxes) = inboxes(config.reactors)?;
    let cores = cores(&config.pinning, config.reactors)?;
    let (config, main, epoch) = (Arc::new(config.clone()), Arc::new(main), Instant::now());

    let mut threads = Vec::new();
    let mut gates = Vec::new();
    let mut failure = None;
    for (number, inbox) in inboxes.into_iter().enumerate() {
        let (ready, is_ready) = channel();
        let (gate, may_run) = channel::<()>();
        let (config, main, mailer, core) = (config.clone(), main.clone(), mailer.clone(), cores.get(number).copied());
        let body = move || {
            let _guard = EndsTheProcess { reactor: number };
            let built = core
                .map_or(Ok(()), |core| pin(number, core))
                .and_then(|()| build(&config, inbox, ReactorId(number as u16), mailer, epoch));
            // The reactors have the devices now, and may close some before they end.
            drop(config);
            let reactor = announce(built, &ready)?;
            // An error here means that another reactor could not be built.
            may_run.recv().ok()?;
            Some(run(reactor, &*main))
        };
        let spawned = thread::Builder::new().name(format!("reactor-{number}")).spawn(body);
        match spawned.map_err(|source| StartError::Io { doing: "start a thread", source }) {
            Ok(thread) => threads.push(thread),
            Err(error) => failure = Some(error),
        }
        gates.push(gate);
        failure = failure.or(is_ready.recv().unwrap_or(None));
        if failure.is_some() {
            break;
        }
    }
    if let Some(error) = failure {
        drop(gates);
        threads.into_iter().for_each(|thread| drop(thread.join()));
        return Err(error);
    }
    for gate in gates {
        gate.send(()).expect("a reactor that is ready waits for its gate");
    }
    Ok(Reactors { threads, mailer })
}

/// Tells whoever starts the reactors how building one went.
fn announce(built: Result<Reactor, StartError>, ready: &Sender<Option<StartError>>) -> Option<Reactor> {
    let (reactor, error) = match built {
        Ok(reactor) => (Some(reactor), None),
        Err(error) => (None, Some(error)),
    };
    ready.send(error).ok()?;
    reactor
}

/// Ends the process when a reactor panics.
struct EndsTheProcess {
    reactor: usize,
}

impl Drop for EndsTheProcess {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = writeln!(io::stderr(), "reactor {} panicked: the process ends", self.reactor);
            std::process::abort();
        }
    }
}

fn inboxes(reactors: usize) -> Result<(Mailer, Vec<Inbox>), StartError> {
    Inbox::group(reactors).map_err(|source| StartError::Io { doing: "make an event counter", source })
}

/// The core of each reactor; empty if they are not to be pinned.
fn cores(pinning: &Pinning, reactors: usize) -> Result<Vec<usize>, StartError> {
    let cores = match pinning {
        Pinning::Free => return Ok(Vec::new()),
        Pinning::Cores(cores) => cores.clone(),
        Pinning::EachOwnCore => {
            allowed_cores().map_err(|source| StartError::Io { doing: "ask for the cores allowed", source })?
        }
    };
    Ok(cores.into_iter().cycle().take(reactors).collect())
}

fn allowed_cores() -> io::Result<Vec<usize>> {
    // SAFETY: all zeros is an empty set, which the call fills.
    let set = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        if libc::sched_getaffinity(0, mem::size_of_val(&set), &raw mut set) != 0 {
            return Err(io::Error::last_os_error());
        }
        set
    };
    // SAFETY: every number is below the size of the set.
    Ok((0..libc::CPU_SETSIZE as usize).filter(|&core| unsafe { libc::CPU_ISSET(core, &set) }).collect())
}

/// Binds the calling thread to a core.
fn pin(reactor: usize, core: usize) -> Result<(), StartError> {
    let error = |source| StartError::Pin { reactor, core, source };
    if core >= libc::CPU_SETSIZE as usize {
        return Err(error(io::ErrorKind::InvalidInput.into()));
    }
    // SAFETY: all zeros is an empty set, `core` lies within it, and the call only reads it.
    let failed = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, mem::size_of_val(&set), &raw const set) != 0
    };
    if failed { Err(error(io::Error::last_os_error())) } else { Ok(()) }
}
