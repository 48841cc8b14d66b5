//! How fast the simulation is, and where its time and memory go: the same array on drives with flash and without, and
//! the drives without the array, each beside what it cannot be faster than in the same run.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use cygnus_lab::{Outcome, Progress, Scenario};
use cygnus_runtime::Rng;
use cygnus_ssd::{Command, Device, DeviceSpec, Model, Precondition};
use cygnus_types::{BLOCK, ByteSize, Nanos};
use serde::Serialize;

use crate::cpu::CpuClock;
use crate::engine::BenchError;

/// Drives: 7 data and 1 parity.
const DRIVES: u32 = 8;
/// Requests in flight, on the array and on each drive alone.
const DEPTH: u32 = 64;
/// Simulated I/Os per second of processor time of MQSim: 4 KiB random writes to a fresh drive without collection (with
/// collection it did not finish), and random reads. Measured on a machine like the ones this is built on, another time.
const MQSIM_WRITES: f64 = 61_000.0;
const MQSIM_READS: f64 = 103_000.0;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// Preset of the modelled drives, as `cygnus sim device` lists them.
    pub drive: String,
    /// How much smaller than the real one each drive is.
    pub scale: u32,
    /// Virtual time to measure, after the aging.
    pub duration: Nanos,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self { drive: "850-pro".into(), scale: 32, duration: Nanos::secs(4) }
    }
}

/// How fast one simulation went on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct SimRow {
    /// What was simulated.
    pub name: String,
    /// Simulated 4 KiB requests.
    pub requests: u64,
    /// Processor time that they took, in seconds.
    pub cpu_seconds: f64,
    /// Seconds that passed meanwhile.
    pub wall_seconds: f64,
    /// Requests per second of processor time.
    pub per_cpu_second: f64,
    /// Requests per second of wall time.
    pub per_wall_second: f64,
    /// Requests per second of processor time that this could not exceed, whatever was done about the rest of it.
    pub limit_per_cpu_second: f64,
    /// What `limit_per_cpu_second` was measured of, in words.
    pub limit: String,
    /// Another simulator's requests of this kind per second of processor time.
    pub mqsim_per_cpu_second: f64,
}

impl SimRow {
    fn new(name: impl Into<String>, requests: u64, spent: Spent, mqsim: f64) -> Self {
        let (cpu_seconds, wall_seconds) = (spent.cpu.as_secs_f64(), spent.wall.as_secs_f64());
        let rate = |seconds: f64| requests as f64 / seconds.max(1e-9);
        Self {
            name: name.into(),
            requests,
            cpu_seconds,
            wall_seconds,
            per_cpu_second: rate(cpu_seconds),
            per_wall_second: rate(wall_seconds),
            limit_per_cpu_second: 0.0,
            limit: String::new(),
            mqsim_per_cpu_second: mqsim,
        }
    }

    fn limited(self, per_cpu_second: f64, limit: &str) -> Self {
        Self { limit_per_cpu_second: per_cpu_second, limit: limit.into(), ..self }
    }
}

/// All figures of a run.
#[derive(Clone, Debug, Serialize)]
pub struct SimReport {
    /// The array and its drives.
    pub shape: String,
    /// The simulations, the whole one first.
    pub rows: Vec<SimRow>,
    /// Data written by clients and by cleaning for each block of clients'.
    pub cleaning_amplification: f64,
    /// Pages programmed in flash for each page that the array wrote.
    pub drive_amplification: f64,
    /// Capacity of all drives together, in bytes.
    pub simulated_bytes: u64,
    /// Memory of the process that the whole simulation added, per terabyte (10^12) of drives, in GiB.
    pub resident_gib_per_tb: f64,
    /// Of `resident_gib_per_tb`, GiB for the drives' translation.
    pub translation_gib_per_tb: f64,
    /// Of `resident_gib_per_tb`, GiB for what the drives hold: stripe headers, maps, superblocks.
    pub contents_gib_per_tb: f64,
}

/// Time used.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    cpu: Duration,
    wall: Duration,
}

/// Time used since it was made.
struct Stopwatch {
    clock: CpuClock,
    cpu: Duration,
    wall: Instant,
}

impl Stopwatch {
    fn start() -> Result<Self, BenchError> {
        let clock = CpuClock::of_process(std::process::id())?;
        Ok(Self { clock, cpu: clock.read()?, wall: Instant::now() })
    }

    fn read(&self) -> Spent {
        let cpu = self.clock.read().map_or(Duration::ZERO, |cpu| cpu.saturating_sub(self.cpu));
        Spent { cpu, wall: self.wall.elapsed() }
    }
}

/// Measures all of it; `progress` is told what begins.
///
/// # Errors
/// See [`BenchError`].
pub fn run_sim(options: &SimOptions, progress: impl Fn(&str)) -> Result<SimReport, BenchError> {
    let drive = format!("preset = \"{}\"\nscale = {}\nprecondition = \"random\"", options.drive, options.scale);
    progress("the array on modelled drives: aging, then the steady state");
    let before = resident()?;
    let (outcome, whole, resident) = simulate(&drive, options.duration, "array on modelled drives")?;
    progress("the array on drives without flash");
    let null = format!("preset = \"null\"\ncapacity = {}", outcome.drive_bytes);
    // Such drives are faster by far: as many writes take less virtual time.
    let (_, engine, _) = simulate(&null, Nanos(options.duration.0 / 8), "array on drives without flash")?;
    progress("the drives alone");
    let mut models = worn_drives(options)?;
    let writes = drives_alone(&mut models, "drives alone, writes", whole.requests, MQSIM_WRITES, Command::write)?;
    let read = |lba, blocks| Command::Read { lba, blocks };
    let reads = drives_alone(&mut models, "drives alone, reads", whole.requests, MQSIM_READS, read)?;
    let bytes = outcome.drives * outcome.drive_bytes;
    let per_tb = |part: u64| part as f64 / (1u64 << 30) as f64 * 1e12 / bytes as f64;
    let whole = whole.limited(engine.per_cpu_second, "without flash");
    Ok(SimReport {
        shape: format!(
            "log-raid {}+1 on {DRIVES} drives {} of {}, random 4 KiB writes, depth {DEPTH}",
            DRIVES - 1,
            options.drive,
            ByteSize(outcome.drive_bytes)
        ),
        rows: vec![whole, engine, writes, reads],
        cleaning_amplification: cygnus_lab::ratio(outcome.cleaning_amplification_milli),
        drive_amplification: cygnus_lab::ratio(outcome.drive_write_amplification_milli),
        simulated_bytes: bytes,
        resident_gib_per_tb: per_tb(resident.saturating_sub(before)),
        translation_gib_per_tb: per_tb(outcome.memory.0),
        contents_gib_per_tb: per_tb(outcome.memory.1),
    })
}

fn scenario(drive: &str, duration: Nanos) -> Result<Scenario, BenchError> {
    let text = format!(
        "name = \"bench\"\n[devices]\n{drive}\n[[array]]\npreset = \"log-raid\"\nraid = \"7+1\"\nsegment = \"1MiB\"\n\
         [volume]\nsize = \"60% of data\"\n[aging]\nfill = \"100%\"\noverwrite = 1.0\n\
         [[workload.fio]]\ndepth = {DEPTH}\n[run]\nduration = \"{}us\"\nsample = \"{}us\"\n",
        duration.0 / 1000,
        duration.0 / 20_000,
    );
    Scenario::parse("bench", &text).map_err(|error| BenchError::Simulation(error.to_string()))
}

/// Runs the array; its outcome, the row, and the process's memory at the end.
fn simulate(drive: &str, duration: Nanos, name: &str) -> Result<(Outcome, SimRow, u64), BenchError> {
    let scenario = scenario(drive, duration)?;
    let watch = Stopwatch::start()?;
    // At the first sample, and at the last; and the memory then.
    let marks = Rc::new(RefCell::new((None, Spent::default(), 0)));
    let seen = marks.clone();
    let outcome = cygnus_lab::run(&scenario, 0, scenario.seed(), move |progress| {
        if let Progress::Running(_) = progress {
            let mut marks = seen.borrow_mut();
            let spent = watch.read();
            marks.0.get_or_insert(spent);
            (marks.1, marks.2) = (spent, resident().unwrap_or(0));
        }
    });
    let outcome = outcome.map_err(|error| BenchError::Simulation(error.to_string()))?;
    let (first, last, resident) = *marks.borrow();
    let first = first.unwrap_or_default();
    let spent = Spent { cpu: last.cpu.saturating_sub(first.cpu), wall: last.wall.saturating_sub(first.wall) };
    // The first sample is what was counted before the first mark.
    let writes = outcome.samples.iter().skip(1).map(|sample| sample.writes[0]).sum();
    let row = SimRow::new(name, writes, spent, MQSIM_WRITES);
    Ok((outcome, row, resident))
}

/// Drives that have had random writes to all of their blocks for ever.
fn worn_drives(options: &SimOptions) -> Result<Vec<Model>, BenchError> {
    let failed = |error: &dyn std::fmt::Display| BenchError::Simulation(error.to_string());
    let spec = DeviceSpec { scale: Some(options.scale.into()), ..DeviceSpec::preset(&options.drive) };
    let config = spec.resolve().map_err(|error| failed(&error))?;
    let worn = |seed| {
        let mut model = Model::new(config.clone()).map_err(|error| failed(&error))?;
        model.precondition(Precondition::Random { share: 1.0, seed });
        Ok(model)
    };
    (0..DRIVES.into()).map(worn).collect()
}

/// Random commands to all blocks of the drives, `requests` in all, beside the queueing of as many events.
fn drives_alone(
    models: &mut [Model],
    name: &str,
    requests: u64,
    mqsim: f64,
    command: impl Fn(u64, u32) -> Command,
) -> Result<SimRow, BenchError> {
    let each = requests / models.len() as u64;
    let before: u64 = models.iter().map(Device::events).sum();
    let watch = Stopwatch::start()?;
    for (model, seed) in models.iter_mut().zip(0..) {
        keep_busy(model, each, seed, &command);
    }
    let spent = watch.read();
    let events = models.iter().map(Device::events).sum::<u64>() - before;
    let watch = Stopwatch::start()?;
    queue_events(events);
    let floor = watch.read().cpu.as_secs_f64().max(1e-9);
    let requests = each * models.len() as u64;
    Ok(SimRow::new(name, requests, spent, mqsim).limited(requests as f64 / floor, "its events queued"))
}

/// `count` commands, [`DEPTH`] at once.
fn keep_busy(model: &mut Model, count: u64, seed: u64, command: impl Fn(u64, u32) -> Command) {
    let mut rng = Rng::new(seed);
    let blocks = model.blocks();
    let mut submitted = 0;
    let mut submit = |model: &mut Model, now| {
        if submitted < count {
            model.submit(now, submitted, command(rng.below(blocks), 1));
            submitted += 1;
        }
    };
    let begun = model.now();
    (0..DEPTH).for_each(|_| submit(model, begun));
    let mut done = Vec::new();
    while let Some(now) = model.next_event() {
        model.advance(now, &mut done);
        done.drain(..).for_each(|_| submit(model, now));
    }
}

/// Puts `count` events into a queue by time and takes them out again, [`DEPTH`] at once: what any simulation of as many
/// events does.
fn queue_events(count: u64) {
    let mut rng = Rng::new(1);
    let mut queue: BinaryHeap<_> = (0..u64::from(DEPTH)).map(|n| (Reverse(n), n)).collect();
    for n in 0..count {
        let (Reverse(at), _) = queue.pop().expect("one goes in for each that comes out");
        queue.push((Reverse(at + rng.below(1 << 20)), n));
    }
    std::hint::black_box(queue.len());
}

/// Memory of this process, in bytes.
fn resident() -> Result<u64, BenchError> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0);
    Ok(pages * BLOCK as u64)
}
