//! Latencies and rates of an array on modelled drives, in virtual time. Each measurement has a new world.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_engine::{Array, CreateOptions, JobState, JobStatus, OpenOptions, Volume, create};
use cygnus_policy::Preset;
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_ssd::{Device, DeviceSpec, Model, ModelConfig, Precondition};
use cygnus_types::{BLOCK, ByteSize, MemberIx, ReactorId};

use super::load::{self, Latencies, Load};
use super::{DATA, FailureOptions, JobRow, LatencyRow, MEMBERS};
use crate::engine::{BenchError, Silent};

/// Bytes of one write when the volume is filled.
pub(super) const PIECE: u64 = 256 << 10;
/// The member to which it happens.
const VICTIM: usize = 4;
/// How many times as long a slow drive takes.
const SLOWER: u64 = 100;
/// Of 100 requests beside a job, how many are reads.
const READS: u64 = 70;

/// What happens to the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    /// A member has died before.
    Death,
    /// A member becomes slow as the measurement begins.
    Slow,
}

/// What the array does beside its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// A new device takes a dead member's place.
    Rebuild,
    /// A spare takes over from a member.
    Drain,
}

/// See the module's text.
pub(super) struct Bench<'a> {
    options: &'a FailureOptions,
    drive: ModelConfig,
}

/// An array with a full volume, in the middle of its session.
struct Bed {
    world: World,
    disks: Vec<DiskId>,
    devices: Vec<DeviceInfo>,
    rt: Runtime,
    array: Array,
    volume: Volume,
}

impl<'a> Bench<'a> {
    pub(super) fn new(options: &'a FailureOptions) -> Result<Self, BenchError> {
        let spec = DeviceSpec { capacity: Some(options.drive_size.0), ..DeviceSpec::preset(&options.drive) };
        let drive = spec.resolve().map_err(|error| BenchError::Simulation(error.to_string()))?;
        Ok(Self { options, drive })
    }

    pub(super) fn shape(&self) -> String {
        let FailureOptions { drive, drive_size, live, depth, .. } = self.options;
        format!(
            "log-raid {DATA}+1 on {MEMBERS} modelled drives {drive} of {drive_size}, random 4 KiB requests to {live} of data, \
             depth {depth}; virtual time"
        )
    }

    pub(super) fn latencies(&self, progress: &impl Fn(&str)) -> Result<Vec<LatencyRow>, BenchError> {
        let mut rows: Vec<LatencyRow> = Vec::new();
        for (reads, kind) in [(100, "reads"), (READS, "70 % reads, 30 % writes")] {
            let mut healthy = None;
            for trouble in [Trouble::None, Trouble::Death, Trouble::Slow] {
                let name = match trouble {
                    Trouble::None => format!("{kind}, all well"),
                    Trouble::Death => format!("{kind}, one drive of {MEMBERS} dead"),
                    Trouble::Slow => format!("{kind}, one drive of {MEMBERS} {SLOWER} times slower"),
                };
                progress(&name);
                let latencies = self.clients(trouble, reads)?;
                let p99_9 = latencies.permille(999);
                let beside = *healthy.get_or_insert(p99_9);
                rows.push(LatencyRow {
                    name,
                    requests: latencies.count(),
                    per_second: latencies.per_second(),
                    mean_us: latencies.mean(),
                    p50_us: latencies.permille(500),
                    p99_us: latencies.permille(990),
                    p99_9_us: p99_9,
                    p99_9_times_healthy: p99_9 / beside.max(1e-9),
                });
            }
        }
        Ok(rows)
    }

    pub(super) fn jobs(&self, progress: &impl Fn(&str)) -> Result<Vec<JobRow>, BenchError> {
        let mut rows = Vec::new();
        for (work, what, healthy) in [(Work::Rebuild, "rebuild", Trouble::Death), (Work::Drain, "drain", Trouble::None)]
        {
            let name = format!("{what}, no clients");
            progress(&name);
            rows.push(row(name, &self.job(work, None)?.0, None));
            let name = format!("{what}, beside clients ({READS} % reads)");
            progress(&name);
            let idle = self.clients(healthy, READS)?.permille(990);
            let (job, clients) = self.job(work, Some(READS))?;
            rows.push(row(name, &job, Some((clients.permille(990), idle))));
        }
        Ok(rows)
    }

    /// The latencies of clients.
    fn clients(&self, trouble: Trouble, reads: u64) -> Result<Latencies, BenchError> {
        let (load, most) = (self.load(reads), u64::from(self.options.requests));
        self.session(async move |bed: Bed| {
            match trouble {
                Trouble::None => {}
                Trouble::Death => bed.lose_member(load).await?,
                Trouble::Slow => bed.world.slow_down(bed.disks[VICTIM], SLOWER),
            }
            Ok(load::run(&bed.rt, &bed.volume, load, |done| done >= most).await?)
        })
    }

    /// A job to its end, and the latencies of clients meanwhile.
    fn job(&self, work: Work, reads: Option<u64>) -> Result<(JobStatus, Latencies), BenchError> {
        let load = self.load(reads.unwrap_or(100));
        self.session(async move |bed: Bed| {
            let spare = &bed.devices[MEMBERS];
            let member = MemberIx(VICTIM as u16);
            let failed = |error: cygnus_engine::MemberError| BenchError::Simulation(error.to_string());
            let id = match work {
                Work::Rebuild => {
                    bed.lose_member(load).await?;
                    bed.array.replace(member, spare, true).await.map_err(failed)?
                }
                Work::Drain => {
                    bed.array.add_spare(spare, true).await.map_err(failed)?;
                    bed.array.drain(member).await.map_err(failed)?
                }
            };
            let ended = |_| bed.job(id).state != JobState::Running;
            let depth = if reads.is_some() { load.depth } else { 0 };
            let latencies = load::run(&bed.rt, &bed.volume, Load { depth, ..load }, ended).await?;
            while bed.job(id).state == JobState::Running {
                bed.rt.sleep(cygnus_types::Nanos::millis(1)).await;
            }
            match bed.job(id) {
                job if job.state == JobState::Done => Ok((job, latencies)),
                job => Err(BenchError::Simulation(format!("{} ended with {:?}", job.subject, job.state))),
            }
        })
    }

    fn load(&self, read_percent: u64) -> Load {
        Load { depth: self.options.depth, read_percent }
    }

    /// Makes drives, an array and a volume, fills that, and goes on with `body`.
    fn session<T: 'static, F: Future<Output = Result<T, BenchError>> + 'static>(
        &self,
        body: impl FnOnce(Bed) -> F + 'static,
    ) -> Result<T, BenchError> {
        let world = World::new(1);
        let disks: Vec<DiskId> = (0..=MEMBERS).map(|n| self.plug_in(&world, n)).collect::<Result<_, _>>()?;
        let rt = world.blank_reactor(ReactorId(0), &disks, None);
        let result = Rc::new(RefCell::new(None));
        let FailureOptions { live, drive_size, .. } = *self.options;
        let main = {
            let (world, rt, result) = (world.clone(), rt.clone(), result.clone());
            async move {
                let ended = match Bed::make(world, rt, disks, live, drive_size).await {
                    Ok(bed) => body(bed).await,
                    Err(error) => Err(error),
                };
                result.replace(Some(ended));
            }
        };
        let ran = rt.run(main);
        rt.drop_tasks();
        ran.map_err(|halt| BenchError::Simulation(halt.to_string()))?;
        result.take().expect("the run has come to its end")
    }

    fn plug_in(&self, world: &World, n: usize) -> Result<DiskId, BenchError> {
        let mut model = Model::new(self.drive.clone()).map_err(|error| BenchError::Simulation(error.to_string()))?;
        model.precondition(Precondition::Random { share: 1.0, seed: n as u64 });
        let size = model.blocks() * BLOCK as u64;
        Ok(world.add_blank(DiskConfig::new(format!("d{n}"), size), model))
    }
}

impl Bed {
    async fn make(
        world: World,
        rt: Runtime,
        disks: Vec<DiskId>,
        live: ByteSize,
        drive: ByteSize,
    ) -> Result<Self, BenchError> {
        let devices = world.infos(&disks);
        let how = CreateOptions {
            segment: Some(ByteSize(1 << 20)),
            ..CreateOptions::new("bench", Preset::LogRaid, 1, DATA, 1)
        };
        create(&rt, &devices[..MEMBERS], &how).await?;
        let open = OpenOptions::new(Arc::new(Silent));
        let array = Array::open(&rt, &devices[..MEMBERS], &open).await?;
        let most = ByteSize(array.status().usable.0 / PIECE * PIECE);
        if live > most {
            return Err(BenchError::TooMuch { live, drives: MEMBERS, drive, most });
        }
        let size = live.0 / PIECE * PIECE;
        let volume = array.create_volume("v", ByteSize(size), 0).await?;
        let piece = rt.alloc(PIECE as usize).full();
        piece.zero(0..piece.len());
        for at in (0..size).step_by(PIECE as usize) {
            volume.write(at, piece.clone()).await?;
        }
        volume.flush().await?;
        array.checkpoint().await?;
        Ok(Self { world, disks, devices, rt, array, volume })
    }

    /// A member dies, and the array gets to know.
    async fn lose_member(&self, load: Load) -> Result<(), BenchError> {
        self.world.kill(self.disks[VICTIM]);
        let online = || self.array.status().members[VICTIM].is_online();
        load::run(&self.rt, &self.volume, load, |_| !online()).await?;
        self.volume.flush().await?;
        Ok(())
    }

    fn job(&self, id: u64) -> JobStatus {
        self.array.jobs().into_iter().find(|job| job.id == id).expect("it was begun")
    }
}

fn row(name: String, job: &JobStatus, p99: Option<(f64, f64)>) -> JobRow {
    let seconds = job.elapsed.as_secs_f64();
    JobRow {
        name,
        bytes: job.done,
        seconds,
        bytes_per_second: job.done as f64 / seconds.max(1e-9),
        clients_p99_us: p99.map(|(beside, _)| beside),
        idle_p99_us: p99.map(|(_, idle)| idle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_data_than_fits_is_refused_with_the_most_that_does() {
        let made = |live: ByteSize| {
            let options = FailureOptions { live, ..FailureOptions::default() };
            Bench::new(&options).and_then(|bench| bench.session(async |bed: Bed| Ok(bed.volume.size())))
        };
        let most = match made(ByteSize(64 << 30)) {
            Err(BenchError::TooMuch { most, .. }) => most,
            other => panic!("it is more than all drives hold: {:?}", other.map_err(|error| error.to_string())),
        };
        assert_eq!(made(most).map_err(|error| error.to_string()), Ok(most.0));
        assert!(matches!(made(ByteSize(most.0 + PIECE)), Err(BenchError::TooMuch { .. })));
    }
}
