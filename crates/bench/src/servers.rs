//! NBD servers to compare: ours with an array on memory devices, and others that keep their data in memory, each on the
//! same one core, loaded by the same client on another.

use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cygnus_engine::{Array, CreateOptions, OpenOptions, Traffic, create};
use cygnus_nbd::NbdUri;
use cygnus_policy::Preset;
use cygnus_target::loadgen::{self, LoadError, LoadOptions};
use cygnus_target::{ArrayExports, BoundListener, ListenAddress, Server, ServerConfig};
use cygnus_types::{ByteSize, Nanos, ReactorId};
use cygnus_uring::{Config, Device, Mailer, Pinning, block_on};
use serde::Serialize;

use crate::cpu::CpuClock;
use crate::engine::{BenchError, Silent};
use crate::raw::RawServer;

/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long each load runs before it is measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// What to measure.
#[derive(Clone, Debug)]
pub struct PeerOptions {
    /// Size of each of the array's five devices (4+1); the others get as much as our volume.
    pub device: ByteSize,
    /// Percentage of the array's data that the volume takes; the more, the more cleaning has to move beside writes.
    pub fill: u8,
    /// How long each measurement counts.
    pub time: Duration,
    /// Queue depths, each measured with four connections, except depth 1, which is one connection.
    pub depths: Vec<usize>,
    /// Also measure the others.
    pub peers: bool,
    /// Core of the servers.
    pub server_core: usize,
    /// Core of the client.
    pub client_core: usize,
}

impl Default for PeerOptions {
    fn default() -> Self {
        Self {
            device: ByteSize(512 << 20),
            fill: 50,
            time: Duration::from_secs(3),
            depths: vec![1, 32, 128],
            peers: true,
            server_core: 0,
            client_core: 1,
        }
    }
}

/// How one server did under one load.
#[derive(Clone, Debug, Serialize)]
pub struct PeerRow {
    /// Name of the server.
    pub server: String,
    /// "read" or "write".
    pub workload: &'static str,
    /// Connections of the load.
    pub connections: usize,
    /// Requests in flight on each.
    pub depth: usize,
    /// Requests answered per second.
    pub iops: f64,
    /// `iops` divided by what the raw socket reaches with the same load.
    pub of_limit: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// 99th percentile of the latencies, in microseconds.
    pub p99_us: f64,
    /// 99.9th percentile of the latencies, in microseconds.
    pub p99_9_us: f64,
    /// Requests answered with an error.
    pub errors: u64,
    /// Blocks that cleaning moved for each block that was written, where the server is ours.
    pub moved_per_write: Option<f64>,
    /// Processor time of the server for each request, in nanoseconds; time spent waiting for work is left out.
    pub server_ns: f64,
    /// Processor time of the client for each request, in nanoseconds; likewise. Where it comes near the time between
    /// two requests, the client was the limit.
    pub client_ns: f64,
}

/// A server at work; it ends with this.
enum Running {
    Ours { mailer: Mailer, thread: Option<JoinHandle<Result<(), BenchError>>>, clock: CpuClock },
    Other { child: Child, clock: CpuClock },
    Raw(RawServer),
}

/// What our server has done so far.
struct Done {
    /// How long it has spun, waiting for work.
    spun: Nanos,
    traffic: Traffic,
}

/// Asks our server for it.
struct AskDone(Sender<Done>);

/// What a server has used and done so far.
struct SoFar {
    /// Processor time, without what it spun waiting for work.
    busy: Duration,
    /// Of ours only.
    traffic: Option<Traffic>,
}

impl Running {
    fn so_far(&self) -> Result<SoFar, BenchError> {
        let of_other = |busy| SoFar { busy, traffic: None };
        match self {
            Running::Ours { mailer, clock, .. } => {
                let (answer, done) = channel();
                mailer.post(ReactorId(0), Box::new(AskDone(answer)));
                let Done { spun, traffic } = done.recv().map_err(|_| BenchError::Server("it has ended".into()))?;
                Ok(SoFar { busy: clock.read()?.saturating_sub(spun.into()), traffic: Some(traffic) })
            }
            Running::Other { clock, .. } => Ok(of_other(clock.read()?)),
            Running::Raw(server) => Ok(of_other(server.clock.read()?.saturating_sub(server.spun()))),
        }
    }
}

/// Blocks that cleaning moved between two looks for each block of clients; none where these wrote nothing.
fn moved_per_write(before: Option<Traffic>, after: Option<Traffic>) -> Option<f64> {
    let (before, after) = before.zip(after)?;
    let written = after.client_written - before.client_written;
    (written > 0).then(|| (after.relocated - before.relocated) as f64 / written as f64)
}

impl Drop for Running {
    fn drop(&mut self) {
        match self {
            Running::Ours { mailer, thread, .. } => {
                mailer.post(ReactorId(0), Box::new(()));
                // Its failure, if any, was reported when it began.
                let _ = thread.take().map(JoinHandle::join);
            }
            Running::Other { child, .. } => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Running::Raw(_) => {}
        }
    }
}

/// Measures the raw socket, ours, nbdkit's memory plugin and qemu-nbd, with their sockets and an image in `dir`, which should be in
/// memory; those not installed are named in the second part of the result. The other servers end with the thread that calls this.
///
/// # Errors
/// See [`BenchError`].
pub fn run_peers(
    options: &PeerOptions,
    dir: &Path,
    progress: impl Fn(&str),
) -> Result<(Vec<PeerRow>, Vec<String>), BenchError> {
    let size = volume_size(options);
    let (mut rows, mut absent) = (Vec::new(), Vec::new());
    pin_thread(options.client_core)?;
    let servers = ["raw socket", "cygnus 4+1", "nbdkit memory", "qemu-nbd"];
    for name in &servers[..if options.peers { servers.len() } else { 2 }] {
        let socket = dir.join("server.sock");
        let started = match *name {
            "raw socket" => Some(Running::Raw(RawServer::start(&socket, size.0 as usize, options.server_core)?)),
            "cygnus 4+1" => start_ours(&socket, options).map(Some)?,
            "nbdkit memory" => start_other(nbdkit(&socket, size), options.server_core)?,
            _ => start_other(qemu_nbd(&socket, dir, size)?, options.server_core)?,
        };
        let Some(running) = started else {
            absent.push((*name).into());
            continue;
        };
        let export = if name.starts_with("cygnus") { "vol0" } else { "" };
        let uri: NbdUri =
            format!("nbd+unix:///{export}?socket={}", socket.display()).parse().expect("a path of our own making");
        wait_for(&uri)?;
        for &depth in &options.depths {
            for (workload, read_percent) in [("write", 0), ("read", 100)] {
                progress(&format!("{name}: {workload}, depth {depth}"));
                let load = LoadOptions {
                    connections: if depth == 1 { 1 } else { 4 },
                    depth,
                    read_percent,
                    warmup: Duration::ZERO,
                    duration: options.time,
                    ..LoadOptions::new(uri.clone())
                };
                let row = measure(name, &running, &load)?;
                rows.push(PeerRow { of_limit: row.iops / limit(&rows, &row), ..row });
            }
        }
        drop(running);
        let _ = std::fs::remove_file(&socket);
    }
    Ok((rows, absent))
}

/// What the raw socket, the first to be measured, has reached under the load of this row.
fn limit(rows: &[PeerRow], row: &PeerRow) -> f64 {
    let same = |r: &&PeerRow| (r.workload, r.depth) == (row.workload, row.depth);
    rows.iter().find(same).unwrap_or(row).iops
}

/// What our volume holds, and the others' export.
fn volume_size(options: &PeerOptions) -> ByteSize {
    let bytes = options.device.0 * 4 * u64::from(options.fill) / 100;
    ByteSize(bytes / (1 << 20) * (1 << 20))
}

fn measure(server: &str, running: &Running, load: &LoadOptions) -> Result<PeerRow, BenchError> {
    // Warmed up in a run of its own, so that what is counted of the server's time is what is counted of the requests.
    loadgen::run(&LoadOptions { duration: WARM_UP, ..load.clone() })?;
    let before = running.so_far()?;
    let report = loadgen::run(load)?;
    let after = running.so_far()?;
    let spent = after.busy.saturating_sub(before.busy);
    let at = |quantile| report.latency.quantile(quantile).0 as f64 / 1e3;
    Ok(PeerRow {
        server: server.into(),
        workload: if load.read_percent == 0 { "write" } else { "read" },
        connections: load.connections,
        depth: load.depth,
        iops: report.iops(),
        of_limit: 1.0,
        p50_us: at(0.5),
        p99_us: at(0.99),
        p99_9_us: at(0.999),
        errors: report.errors,
        moved_per_write: moved_per_write(before.traffic, after.traffic),
        server_ns: spent.as_nanos() as f64 / (report.reads + report.writes).max(1) as f64,
        client_ns: report.client_ns(),
    })
}

fn wait_for(uri: &NbdUri) -> Result<(), BenchError> {
    let begun = Instant::now();
    let probe = LoadOptions {
        connections: 1,
        depth: 1,
        warmup: Duration::ZERO,
        duration: Duration::from_millis(1),
        ..LoadOptions::new(uri.clone())
    };
    loop {
        match loadgen::run(&probe) {
            Err(LoadError::Connect { .. } | LoadError::Io(_)) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(50));
            }
            other => return other.map(|_| ()).map_err(BenchError::from),
        }
    }
}

/// Our server on a thread of its own.
fn start_ours(socket: &Path, options: &PeerOptions) -> Result<Running, BenchError> {
    let (tell, started): (_, Receiver<Mailer>) = channel();
    let address: ListenAddress = format!("unix:{}", socket.display()).parse().expect("a path of our own making");
    let (device, size, core) = (options.device, volume_size(options).0, options.server_core);
    let thread = std::thread::Builder::new().name("server".into()).spawn(move || {
        let devices = (0..5).map(|n| Device::memory(&format!("memory{n}"), device.0, true));
        let config = Config {
            pinning: Pinning::Cores(vec![core]),
            devices: devices.collect::<Result<_, _>>()?,
            spin: Nanos::micros(100),
            ..Config::default()
        };
        block_on(&config, async |reactor| {
            let (rt, devices) = (&reactor.rt, &reactor.devices);
            let shape = CreateOptions::new("tank", Preset::LogRaid, 1, 4, 1);
            create(rt, devices, &CreateOptions { force: true, ..shape }).await?;
            let open = OpenOptions::new(Arc::new(Silent));
            let array = Array::open(rt, devices, &open).await?;
            let volume = array.create_volume("vol0", ByteSize(size), 0).await?;
            let piece = rt.alloc(1 << 20).full();
            piece.zero(0..piece.len());
            for at in (0..size).step_by(piece.len()) {
                volume.write(at, piece.clone()).await?;
            }
            volume.flush().await?;
            let listener = BoundListener::bind(&address).map_err(|error| BenchError::Server(error.to_string()))?;
            let exports = ArrayExports { volumes: array.volumes(), array: "tank".into(), taps: Default::default() };
            let server = Server::new(rt, exports, ServerConfig::default(), |_| {});
            server.listen(reactor.io.add_listener(listener.as_fd().try_clone_to_owned()?)?, "bench");
            // The starter waits for this and gives up only if we do.
            let _ = tell.send(reactor.mailer.clone());
            while let Ok(question) = rt.recv_msg().await.downcast::<AskDone>() {
                // Nobody waits for the answer any more only if the asker is gone.
                let _ = question.0.send(Done { spun: reactor.io.spun(), traffic: array.status().traffic });
            }
            server.shutdown().await;
            Ok::<_, BenchError>(())
        })?
    })?;
    match started.recv() {
        Ok(mailer) => Ok(Running::Ours { mailer, clock: CpuClock::of_thread(&thread)?, thread: Some(thread) }),
        Err(_) => match thread.join() {
            Ok(result) => Err(result.err().unwrap_or_else(|| BenchError::Server("it ended at once".into()))),
            Err(_) => Err(BenchError::Server("it panicked".into())),
        },
    }
}

fn nbdkit(socket: &Path, size: ByteSize) -> Command {
    let mut command = Command::new("nbdkit");
    command.arg("--foreground").arg("--unix").arg(socket).arg("memory").arg(format!("{}", size.0));
    command
}

fn qemu_nbd(socket: &Path, dir: &Path, size: ByteSize) -> Result<Command, BenchError> {
    let image = dir.join("image");
    std::fs::File::create(&image)?.set_len(size.0)?;
    let mut command = Command::new("qemu-nbd");
    command.args(["--persistent", "--shared=16", "--format=raw", "--socket"]).arg(socket).arg(&image);
    Ok(command)
}

/// Starts a server on one core; `None` if it is not installed.
fn start_other(mut command: Command, core: usize) -> Result<Option<Running>, BenchError> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec only async-signal-safe system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || end_with_parent().and_then(|()| pin_thread(core)));
    }
    match command.spawn() {
        Ok(child) => Ok(Some(Running::Other { clock: CpuClock::of_process(child.id())?, child })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Has this process end when the thread that started it does, however that ends.
fn end_with_parent() -> std::io::Result<()> {
    // SAFETY: the call takes a number and changes nothing but this process's own setting.
    let result = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Whether this process may run on a core.
///
/// # Errors
/// What the system says if not.
pub fn may_run_on(core: usize) -> std::io::Result<()> {
    // On a thread of its own: the caller stays where it is.
    std::thread::scope(|scope| scope.spawn(|| pin_thread(core)).join().expect("it makes one call"))
}

pub(crate) fn pin_thread(core: usize) -> std::io::Result<()> {
    // SAFETY: the set is a plain bit array, for which zeros are valid; CPU_SET checks nothing, so the core is bounded.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core.min(libc::CPU_SETSIZE as usize - 1), &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set)
    };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
