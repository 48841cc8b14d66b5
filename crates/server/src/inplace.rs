//! Serving an array that updates in place: one reactor, which opens it, answers commands, and stops it in order.

use crate::ServeError;
use crate::control::{self, Control};
use crate::members::Devices;
use crate::notify;
use crate::plan::{Plan, announce, clients, start_server};
use crate::record::{self, Recorder};
use crate::status::{in_place, log_structured};
use crate::volumes::check_shrink;
use cygnus_control::protocol::{ErrorKind, Request, Response};
use cygnus_control::rates::RateMeter;
use cygnus_control::stats::{ClientCounters, DeviceStats, Stats};
use cygnus_control::status::{ArrayStatus, DeviceState, JobStatus, VolumeStatus};
use cygnus_host::devices::now_unix;
use cygnus_host::state::MemberRecord;
use cygnus_inplace::Array;
use cygnus_policy::LatencyRule;
use cygnus_runtime::{Event, Runtime};
use cygnus_target::{ArrayExports, OpClass, Server};
use cygnus_types::{ByteSize, MemberIx, Nanos, counted};
use cygnus_uring::{Reactor, Signals};
use std::cell::{Cell, RefCell};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;

/// How often device rates are measured.
const RATES: Nanos = Nanos::secs(1);

/// What the tasks of the reactor share.
struct InPlaceHome {
    rt: Runtime,
    array: Array,
    plan: Arc<Plan>,
    server: Server<ArrayExports<Array>>,
    rates: RefCell<RateMeter>,
    stopping: Cell<bool>,
    changed: Event,
    devices: Devices,
}

/// The main task.
pub async fn main(reactor: Reactor, plan: Arc<Plan>) -> Result<(), ServeError> {
    let served = serve(&reactor, &plan).await;
    record::end(std::mem::take(&mut plan.recordings.lock().expect("no holder panics")));
    served
}

async fn serve(reactor: &Reactor, plan: &Arc<Plan>) -> Result<(), ServeError> {
    let rt = &reactor.rt;
    let signals = Signals::install(&reactor.io).map_err(ServeError::io("signals"))?;
    rt.set_patience(plan.hung_after.unwrap_or(LatencyRule::default().hung_after));
    let log = plan.log.clone();
    let opened = match plan.by_force {
        true => Array::open_by_force(rt, &reactor.devices, Some(plan.array), log).await,
        false => Array::open(rt, &reactor.devices, Some(plan.array), log).await,
    };
    let array = opened?;
    if let Some(span) = plan.suspended_for {
        array.set_suspended_for(span);
    }
    let (home, recorder) = match start(reactor, array.clone(), plan, signals) {
        Ok(started) => started,
        Err(failure) => {
            array.close().await?;
            return Err(failure);
        }
    };
    let announced = announce(plan);
    if announced.is_ok() {
        home.stopped().await;
    }
    plan.log.say(&format!("stopping {}", plan.name));
    // Nobody waits for this message, and without a service manager there is nobody to get it.
    let _ = notify::service_manager("STOPPING=1");
    home.server.shutdown().await;
    recorder.finish();
    array.close().await?;
    plan.log.tell_held(true);
    plan.log.say(&format!("{} is stopped cleanly", plan.name));
    announced
}

/// Starts all tasks.
fn start(
    reactor: &Reactor,
    array: Array,
    plan: &Arc<Plan>,
    signals: Signals,
) -> Result<(Rc<InPlaceHome>, Recorder), ServeError> {
    let about = record::About { name: &plan.name, array: plan.array, log: &plan.log };
    let sizes = array.status().volumes.iter().map(|volume| (volume.name.clone(), volume.size.0)).collect();
    *plan.recordings.lock().expect("no holder panics") = record::begin(&plan.record_to, &reactor.rt, &sizes, &about)?;
    let recorder = plan.recorder(reactor);
    let server = start_server(reactor, plan.exports(array.clone(), &recorder), plan)?;
    let socket = plan.control.as_fd().try_clone_to_owned().and_then(|socket| reactor.io.add_listener(socket));
    let listener = socket.map_err(ServeError::io(plan.control.address()))?;
    let home = Rc::new(InPlaceHome {
        rt: reactor.rt.clone(),
        array,
        plan: plan.clone(),
        server,
        rates: RefCell::default(),
        stopping: Cell::new(false),
        changed: Event::new(),
        devices: Devices::new(reactor),
    });
    home.rt.spawn(measure_rates(home.clone()));
    home.rt.spawn(await_signal(home.clone(), signals));
    home.rt.spawn(control::accept(home.clone(), listener));
    home.rt.spawn(control::keep_reachable(home.clone(), plan.clone(), reactor.io.clone()));
    Ok((home, recorder))
}

async fn measure_rates(home: Rc<InPlaceHome>) {
    loop {
        let counters: Vec<_> = home.array.status().members.iter().map(in_place::counters).collect();
        home.rates.borrow_mut().sample(home.rt.now().0, &counters);
        home.plan.log.tell_held(false);
        home.rt.sleep(RATES).await;
    }
}

async fn await_signal(home: Rc<InPlaceHome>, signals: Signals) {
    // An error means that the reactor is being taken down, which is a stop too.
    let _ = signals.next(&home.rt).await;
    home.stop();
}

impl InPlaceHome {
    fn stop(&self) {
        self.stopping.set(true);
        self.changed.notify();
    }

    async fn stopped(&self) {
        loop {
            let changed = self.changed.wait();
            if self.stopping.get() {
                return;
            }
            changed.await;
        }
    }

    fn connections(&self, volume: &str) -> u32 {
        self.server.sessions().iter().filter(|session| session.export.as_deref() == Some(volume)).count() as u32
    }

    fn jobs(&self) -> Vec<JobStatus> {
        self.array.jobs().iter().map(log_structured::job).collect()
    }

    fn status(&self) -> ArrayStatus {
        let listening: Vec<String> = self.plan.listeners.iter().map(|listener| listener.uri("").to_string()).collect();
        let record = self.plan.record.lock().expect("no holder panics").clone();
        let rates = self.rates.borrow();
        let serving = in_place::Serving {
            record: &record,
            listening: &listening,
            rates: rates.rates(),
            jobs: self.jobs(),
            hung_after: self.rt.patience(),
            memory: self.plan.memory.status(ByteSize(0)),
            clients: clients(&self.server.stats(), &self.plan),
        };
        in_place::status(&self.array.status(), &self.array.report(), serving, |name| self.connections(name))
    }

    fn volumes(&self) -> Vec<VolumeStatus> {
        in_place::volumes(&self.array.status(), |name| self.connections(name))
    }

    fn stats(&self) -> Stats {
        let (nbd, status) = (self.server.stats(), self.status());
        let (read, write) = (nbd.of(OpClass::Read), nbd.of(OpClass::Write));
        let device = |device: &cygnus_control::status::DeviceStatus| DeviceStats {
            group: device.group,
            online: device.state == DeviceState::Online,
            io: device.io,
        };
        Stats {
            at_ns: self.rt.now().0,
            groups: status.groups,
            devices: status.devices.iter().map(device).collect(),
            client: ClientCounters {
                connections: nbd.connections as u32,
                reads: read.ops,
                writes: write.ops,
                read_bytes: read.bytes,
                written_bytes: write.bytes,
                flushes: nbd.of(OpClass::Flush).ops,
            },
            writes: in_place::written(&self.array.status()),
            ..Stats::default()
        }
    }

    fn member(&self, name: &str) -> Result<MemberIx, String> {
        if let Ok(number) = name.parse() {
            return Ok(MemberIx(number));
        }
        let status = self.status();
        let found = status.devices.iter().find(|device| device.path == name);
        found
            .map(|device| MemberIx(device.index as u16))
            .ok_or_else(|| format!("{name} is no member: see 'cygnus array status'"))
    }

    async fn replace(&self, member: &str, path: &str, force: bool) -> Result<u64, String> {
        let member = self.member(member)?;
        let device = self.devices.open_alone(&self.rt, path).await?;
        let job = self.array.replace(member, &device, force).await.map_err(|error| error.to_string())?;
        self.remember(member, path);
        Ok(job)
    }

    /// Writes down where a member is from now on.
    fn remember(&self, member: MemberIx, path: &str) {
        let mut record = self.plan.record.lock().expect("no holder panics");
        let index = u32::from(member.0);
        record.members.retain(|known| known.index != index);
        record.members.push(MemberRecord { index, path: path.into() });
        record.members.sort_by_key(|known| known.index);
        if let Err(error) = self.plan.state.save(&record) {
            // The disks know; a scan finds them.
            self.plan.log.warn(&error.to_string());
        }
    }

    fn refuse(&self, request: &str) -> Response {
        let status = self.array.status();
        Response::error(ErrorKind::Invalid, in_place::refusal(&status.name, status.level.name(), request))
    }

    fn job(&self, id: u64) -> Response {
        match self.jobs().into_iter().find(|job| job.id == id) {
            Some(job) => Response::Job { job: Box::new(job) },
            None => Response::error(ErrorKind::NotFound, format!("there is no job {id}; see 'cygnus array status'")),
        }
    }

    async fn delete_volume(&self, name: &str, force: bool) -> Response {
        let clients = self.connections(name);
        if clients > 0 && !force {
            let clients = counted(clients, "client is").or("clients are");
            let why = format!("{clients} connected to {name}: disconnect them, or add --force");
            return Response::error(ErrorKind::Busy, why);
        }
        control::answer_of(self.array.delete_volume(name).await)
    }

    async fn resize_volume(&self, name: &str, size: ByteSize, shrink: bool) -> Response {
        let now = self.array.volume(name).map_or(0, |volume| volume.size());
        if let Err(why) = check_shrink(now, name, size, shrink) {
            return Response::error(ErrorKind::Invalid, why.to_string());
        }
        control::answer_of(self.array.resize_volume(name, size).await)
    }
}

impl Control for InPlaceHome {
    fn rt(&self) -> &Runtime {
        &self.rt
    }

    async fn carry_out(&self, request: Request) -> Response {
        match request {
            Request::Ping => Response::Done,
            Request::Status => Response::Status { array: Box::new(self.status()) },
            Request::Stats => Response::Stats { stats: Box::new(self.stats()) },
            Request::VolumeList => Response::Volumes { volumes: self.volumes() },
            Request::Replace { member, device, force } => match self.replace(&member, &device, force).await {
                Ok(id) => self.job(id),
                Err(why) => Response::error(ErrorKind::Failed, why),
            },
            Request::Job { id } => self.job(id),
            Request::Stop => {
                self.stop();
                Response::Done
            }
            Request::VolumeCreate { name, size } => {
                let made = self.array.create_volume(&name, ByteSize(size), now_unix()).await;
                control::answer_of(made.map(drop))
            }
            Request::VolumeDelete { name, force } => self.delete_volume(&name, force).await,
            Request::VolumeResize { name, size, shrink } => self.resize_volume(&name, ByteSize(size), shrink).await,
            Request::Drain { .. } => self.refuse("drain"),
            Request::SpareAdd { .. } | Request::SpareRemove { .. } => self.refuse("spare"),
            Request::GroupAdd { .. } => self.refuse("add"),
            Request::GroupRetire { .. } => self.refuse("retire"),
            Request::Scrub => self.refuse("scrub"),
            Request::CancelJob { .. } => self.refuse("cancel"),
        }
    }
}
