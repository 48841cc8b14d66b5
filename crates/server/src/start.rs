//! What is checked and bound before a reactor starts.

use crate::event::ServerEvent;
use crate::links::links;
use crate::log::ServerLog;
use crate::memory::Memory;
use crate::options::{Options, Voice};
use crate::plan::{Plan, Published};
use crate::{ServeError, home, notify, peer};
use cygnus_control::client::{Client, TIMEOUT};
use cygnus_host::members::Assembly;
use cygnus_host::state::StateDir;
use cygnus_host::{devices, kept};
use cygnus_runtime::Keeper;
use cygnus_target::{BoundListener, ListenAddress, ListenError};
use cygnus_uring::{Access, KeptAt, Pinning, Reactor, Signals, spawn_reactors};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Serves an array; returns when it has been stopped.
///
/// # Errors
/// When it cannot be served, and nothing was changed; or when it could not be stopped cleanly.
pub fn serve(options: Options, state: &StateDir, voice: Arc<dyn Voice>) -> Result<(), ServeError> {
    // Before anything is opened, which could get that number.
    let ready =
        options.ready_fd.map(|fd| notify::inherited(fd).map_err(|_| ServeError::NotInherited(fd))).transpose()?;
    let (pin, record_to) = (options.pin, options.record.clone());
    let record = state.load(&options.name)?;
    let control = bind_control(&options, state)?;
    // Members that give no answer may take long to find, and until then there is nothing to stop in order.
    Signals::end_with_words(&format!("{} was not open yet: ended by a signal, and nothing was changed", record.name))
        .map_err(ServeError::io("signals"))?;
    let assembly = Assembly::of_record(&record)?;
    let log = ServerLog::new(voice.clone(), options.log_times).map_err(ServeError::io("a thread for the log"))?;
    for oddity in &assembly.oddities {
        log.tell(&ServerEvent::Oddity(oddity));
    }
    let in_place = assembly.newest.state.in_place.is_some();
    // An array in place looks for no member that comes back, so it does not begin without one that only has to be given back.
    let devices = match in_place {
        true => devices::open_members(&assembly, Access::Exclusive)?,
        false => {
            let (devices, refused) = devices::open_members_that_can(&assembly)?;
            for why in refused {
                log.tell(&ServerEvent::Oddity(&format!("{why}; it takes no part until it can be written to")));
            }
            devices
        }
    };
    for device in &devices {
        if let Some(why) = device.fallback() {
            log.tell(&ServerEvent::Fallback { device: device.name(), why });
        }
    }
    let reactors = options.reactors;
    if in_place && reactors > 1 {
        let level = assembly.newest.state.preset.clone();
        return Err(ServeError::OneReactor { array: record.name, level });
    }
    if in_place && (options.autonomics || options.find_links || !options.links.is_empty()) {
        let level = assembly.newest.state.preset.clone();
        return Err(ServeError::StaysInPlace { array: record.name, level });
    }
    let links = links(&options, &assembly.newest.state.preset, devices.iter().map(|device| device.name()), &log)?;
    let array = assembly.newest.array;
    let keeper = |dir: &PathBuf| Arc::new(KeptAt::new(dir, array)) as Arc<dyn Keeper>;
    let plan = Plan {
        left_with: kept::keepers(record.kept_in.iter().chain(&options.kept_in).map(PathBuf::as_path), array),
        keeper: options.kept_in.as_ref().map(keeper),
        kept_in: options.kept_in.clone().filter(|dir| dir != Path::new(KeptAt::USUAL)),
        memory: Memory::plan(options.memory, options.max_connections, reactors, !in_place)?,
        stalled_after: options.stalled_after,
        idle_after: options.idle_after,
        name: record.name.clone(),
        record: Mutex::new(record),
        state: state.clone(),
        array,
        in_place,
        autonomics: options.autonomics,
        links,
        by_force: options.by_force,
        reactors,
        listeners: bind_nbd(&options, state)?,
        control,
        ready: Mutex::new(ready),
        hung_after: options.hung_after,
        suspended_for: options.suspended_for,
        scrub_every: options.scrub_every,
        voice,
        log,
        record_to,
        recordings: Mutex::default(),
        published: Mutex::new(vec![Published::default(); reactors]),
    };
    if let Some(few) = plan.memory.few_places {
        plan.log.tell(&ServerEvent::FewPlaces(few));
    }
    let pinning = if pin { Pinning::EachOwnCore } else { Pinning::Free };
    let config = cygnus_uring::Config { reactors, pinning, ..devices::config(devices)? };
    let plan = Arc::new(plan);
    let main = async move |reactor: Reactor| {
        if let Some(limit) = plan.hung_after {
            reactor.rt.set_patience(limit);
        }
        match reactor.rt.id().index() {
            0 if plan.in_place => home::main::<cygnus_inplace::Array>(reactor, plan.clone()).await,
            0 => home::main::<cygnus_engine::Array>(reactor, plan.clone()).await,
            _ => peer::main(reactor, plan.clone()).await,
        }
    };
    let reactors = spawn_reactors(&config, main).map_err(cygnus_host::HostError::from)?;
    drop(config);
    reactors.join().into_iter().collect()
}

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

/// Binding the control socket is also what keeps two servers of one state directory apart.
fn bind_control(options: &Options, state: &StateDir) -> Result<BoundListener, ServeError> {
    let path = state.control_socket(&options.name)?;
    if Client::connect_if_served(&path, TIMEOUT)?.is_some() {
        return Err(ServeError::Served(options.name.to_string()));
    }
    Ok(bind(&format!("unix:{}", path.display()).parse()?)?)
}

fn bind_nbd(options: &Options, state: &StateDir) -> Result<Vec<BoundListener>, ServeError> {
    if !options.nbd.is_empty() {
        return options.nbd.iter().map(|address| Ok(bind(address)?)).collect();
    }
    let path = state.default_nbd_socket(&options.name);
    Ok(vec![bind(&format!("unix:{}", path.display()).parse()?)?])
}
