//! What an operation costs through runtime and driver, by device and depth: `cargo bench -p cygnus-uring [DIRECTORY]`.
//!
//! The first lines are pure overhead (a device that stores nothing), the next add a copy of 4 KiB; both count the
//! reactor's processor time, which other load on the machine disturbs little. The last are a file in DIRECTORY (default:
//! the temporary directory), past the page cache if its file system allows it, in elapsed time.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use cygnus_runtime::{Buf, OpFuture};
use cygnus_types::{Nanos, ReactorId};
use cygnus_uring::{Access, Config, Device, Pinning, Reactor, block_on, create_file, spawn_reactors};

const BLOCK: usize = 4096;

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
}

/// Which time counts.
#[derive(Clone, Copy)]
enum Clock {
    Elapsed,
    Processor,
}

impl Clock {
    fn now(self) -> Duration {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        match self {
            Clock::Elapsed => START.get_or_init(Instant::now).elapsed(),
            Clock::Processor => {
                let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                // SAFETY: fills the structure it is given.
                unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
                Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
            }
        }
    }
}

/// Mean nanoseconds per operation with `depth` of them started together and then awaited, again and again.
async fn batches(reactor: &Reactor, kind: Kind, depth: usize, total: usize, clock: Clock) -> f64 {
    let rt = &reactor.rt;
    let device = &reactor.devices[0];
    let bufs: Vec<Buf> = (0..depth).map(|_| rt.alloc(BLOCK)).collect();
    let mut ops: Vec<OpFuture> = Vec::with_capacity(depth);
    let blocks = device.size / BLOCK as u64;
    let start = clock.now();
    for _ in 0..total / depth {
        for buf in &bufs {
            let at = rt.rng_u64() % blocks * BLOCK as u64;
            ops.push(match kind {
                Kind::Read => rt.read(device.ix, at, buf.full()),
                Kind::Write => rt.write(device.ix, at, buf.full()),
            });
        }
        for op in ops.drain(..) {
            op.await.expect("the device works");
        }
    }
    (clock.now() - start).as_nanos() as f64 / (total / depth * depth) as f64
}

fn measure(name: &str, device: Device, clock: Clock, total: usize, depths: &[usize]) {
    let config = Config { devices: vec![device], spin: Nanos::micros(100), ..Config::default() };
    for (what, kind) in [("write", Kind::Write), ("read", Kind::Read)] {
        for &depth in depths {
            let config = config.clone();
            let ns = block_on(&config, async |reactor| {
                batches(&reactor, kind, depth, total / 10, clock).await;
                batches(&reactor, kind, depth, total, clock).await
            })
            .expect("a ring can be had");
            println!(
                "{name:<28} 4 KiB random {what:<5} batch {depth:>3}: {ns:>9.1} ns per op, {:>9.0} per second",
                1e9 / ns
            );
        }
    }
}

fn main() {
    // Cargo adds `--bench`.
    let directory = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let directory = directory.unwrap_or_else(|| std::env::temp_dir().display().to_string());
    let file = Path::new(&directory).join(format!("cygnus-bench-{}", std::process::id()));
    measure("null", Device::null("null", 1 << 30, 4096).expect("a page"), Clock::Processor, 3_000_000, &[1, 32]);
    let memory = |size| Device::memory("memory", size, true).expect("the machine has the memory");
    measure("memory 1 MiB (in cache)", memory(1 << 20), Clock::Processor, 2_000_000, &[1, 32]);
    measure("memory 1 GiB", memory(1 << 30), Clock::Processor, 1_000_000, &[1, 32]);

    messages(Nanos::micros(100));
    messages(Nanos::ZERO);
    echo();

    create_file(&file, 1 << 30).expect("the directory is writable");
    let device = Device::open(&file, Access::Exclusive).expect("the file was just made");
    std::fs::remove_file(&file).expect("the file was just made");
    let how = device.fallback().unwrap_or("O_DIRECT").to_owned();
    // Holes are allocated in the measured run otherwise.
    fill(&device);
    measure(&format!("file, {how}"), device, Clock::Elapsed, 50_000, &[1, 32, 128]);
}

/// How long a message to another reactor and its answer take.
fn messages(spin: Nanos) {
    const ROUNDS: u32 = 20_000;
    let config = Config { reactors: 2, pinning: Pinning::EachOwnCore, spin, ..Config::default() };
    let reactors = spawn_reactors(&config, async |Reactor { rt, .. }| {
        let peer = ReactorId(1 - rt.id().0);
        let start = rt.precise_now();
        for _ in 0..ROUNDS {
            if rt.id() == ReactorId(0) {
                rt.send_msg(peer, Box::new(()));
                rt.recv_msg().await;
            } else {
                rt.recv_msg().await;
                rt.send_msg(peer, Box::new(()));
            }
        }
        rt.precise_now().since(start) / u64::from(ROUNDS)
    });
    let round_trip = reactors.expect("rings can be had").join()[0];
    println!("message and answer between reactors that spin for {spin}: {round_trip}");
}

/// How long 64 bytes there and back take over a socket pair, both ends on one reactor.
fn echo() {
    const ROUNDS: u32 = 200_000;
    let round_trip = block_on(&Config::default(), async |Reactor { rt, io, .. }| {
        let (near, far) = UnixStream::pair().expect("descriptors are left");
        let [near, far] = [near, far].map(|end| io.add_socket(end).expect("it is a socket"));
        let task = rt.clone();
        rt.spawn(async move {
            let buf = task.alloc(64);
            while let Ok(1..) = task.recv(far, buf.full()).await {
                task.send(far, vec![buf.full()]).await.expect("the other end is open");
            }
        });
        let buf = rt.alloc(64);
        let start = Clock::Processor.now();
        for _ in 0..ROUNDS {
            rt.send(near, vec![buf.full()]).await.expect("the other end is open");
            rt.recv(near, buf.full()).await.expect("the other end is open");
        }
        Nanos::from((Clock::Processor.now() - start) / ROUNDS)
    });
    println!(
        "64 bytes to a task of the same reactor and back over a socket: {}",
        round_trip.expect("a ring can be had")
    );
}

fn fill(device: &Device) {
    let config = Config { devices: vec![device.clone()], ..Config::default() };
    let filled = block_on(&config, async |reactor| {
        let buf = reactor.rt.alloc(1 << 20);
        for at in (0..device.size()).step_by(buf.len()) {
            reactor.rt.write(reactor.devices[0].ix, at, buf.full()).await.expect("the file takes data");
        }
    });
    filled.expect("a ring can be had");
}
