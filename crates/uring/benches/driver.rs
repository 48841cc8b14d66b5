//! What an operation costs through runtime and driver, by device and depth: `cargo bench -p cygnus-uring [DIRECTORY]`.
//!
//! The first lines are pure overhead (a device that stores nothing), the next add a copy of 4 KiB; both count the
//! reactor's processor time, which other load on the machine disturbs little. The last are a file in DIRECTORY (default:
//! the temporary directory), past the page cache if its file system allows it, in elapsed time.

use std::path::Path;
use std::time::{Duration, Instant};

use cygnus_runtime::{Buf, OpFuture};
use cygnus_types::Nanos;
use cygnus_uring::{Access, Config, Device, Reactor, block_on, create_file};

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
    measure("null", Device::null("null", 1 << 30), Clock::Processor, 3_000_000, &[1, 32]);
    let memory = |size| Device::memory("memory", size, true).expect("the machine has the memory");
    measure("memory 1 MiB (in cache)", memory(1 << 20), Clock::Processor, 2_000_000, &[1, 32]);
    measure("memory 1 GiB", memory(1 << 30), Clock::Processor, 1_000_000, &[1, 32]);

    create_file(&file, 1 << 30).expect("the directory is writable");
    let device = Device::open(&file, Access::Exclusive).expect("the file was just made");
    std::fs::remove_file(&file).expect("the file was just made");
    let how = device.fallback().unwrap_or("O_DIRECT").to_owned();
    // Holes are allocated in the measured run otherwise.
    fill(&device);
    measure(&format!("file, {how}"), device, Clock::Elapsed, 50_000, &[1, 32, 128]);
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
