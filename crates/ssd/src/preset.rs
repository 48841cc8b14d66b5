//! Drives fitted to published headline figures.
//!
//! These are fits, not vendor data: `docs/devices.md` has the arithmetic of each, and the calibration beside what was
//! published.

use cygnus_types::Nanos;

use crate::config::{
    Cache, Eviction, Flash, Folding, Gc, Host, MapCache, Mapping, Slc, SsdConfig, Suspend, VictimPolicy, XorEngine,
};
use crate::disk::presets;
use crate::model::ModelConfig;

const MB: u64 = 1_000_000;
const GB: u64 = 1_000 * MB;

/// A fitted drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Samsung 850 PRO, 120 GB class: SATA, MLC.
    Samsung850Pro,
    /// Intel 750 400 GB: PCIe 3, MLC, power-loss protected.
    Intel750,
    /// Samsung 980 PRO 1 TB: PCIe 4, TLC with a borrowed SLC buffer.
    Samsung980Pro,
    /// Samsung 850 EVO 1 TB: SATA, TLC with an SLC buffer of its own.
    Samsung850Evo,
    /// The emulated drive of the ScalaAFA paper.
    ScalaAfaFemu,
    /// The flash module of the Triple-A paper: eight packages on one ONFi bus, no controller.
    Fimm,
    /// A SATA drive of no particular make: TLC, 500 GB.
    Sata,
    /// A data-centre PCIe 4 drive of no particular make: TLC, 1.92 TB.
    NvmeGen4,
    /// A QLC drive of no particular make: SATA, 1 TB.
    Qlc,
    /// A disk of no particular make: 7200 rpm, 4 TB.
    Hdd,
    /// Seagate's 8 TB Archive HDD: shingled, drive managed.
    SeagateSmr,
}

/// What can be measured and compared with a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// 128 KiB sequential reads at depth 32, MB/s.
    SequentialRead,
    /// 128 KiB sequential writes at depth 32 to a new drive, MB/s.
    SequentialWrite,
    /// The same when the SLC buffer is full, MB/s.
    SequentialWriteAfterSlc,
    /// The same to a drive in the steady state of random writes, MB/s.
    SequentialWriteSteady,
    /// 4 KiB random reads at depth 128 (32 on SATA), thousands per second.
    RandomRead,
    /// 4 KiB random writes likewise to 8 GB of a new drive, thousands per second.
    RandomWrite,
    /// 4 KiB random writes in steady state over the whole drive, thousands per second.
    RandomWriteSteady,
    /// 8 KiB random writes in steady state over the whole drive, MB/s.
    RandomWriteSteady8k,
    /// 4 KiB random writes at depth 32 in steady state over 80 % of the drive, MB/s.
    RandomWriteSteady80,
    /// 4 KiB random reads and writes, 80 to 20, at depth 32 in steady state over 80 % of the drive, MB/s of both.
    RandomMixSteady80,
    /// One 64 KiB random write at a time to a shingled disk that is full and has an empty persistent cache, MB/s.
    RandomWrite64k,
    /// The same when the persistent cache is full, MB/s.
    RandomWriteSteady64k,
    /// One 4 KiB random read at a time, thousands per second.
    SingleRead,
}

impl Preset {
    /// All of them.
    pub const ALL: [Preset; 11] = [
        Preset::Samsung850Pro,
        Preset::Intel750,
        Preset::Samsung980Pro,
        Preset::Samsung850Evo,
        Preset::ScalaAfaFemu,
        Preset::Fimm,
        Preset::Sata,
        Preset::NvmeGen4,
        Preset::Qlc,
        Preset::Hdd,
        Preset::SeagateSmr,
    ];

    /// Its name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Samsung850Pro => "850-pro",
            Preset::Intel750 => "intel-750",
            Preset::Samsung980Pro => "980-pro",
            Preset::Samsung850Evo => "850-evo",
            Preset::ScalaAfaFemu => "scalaafa-femu",
            Preset::Fimm => "fimm",
            Preset::Sata => "sata",
            Preset::NvmeGen4 => "nvme-gen4",
            Preset::Qlc => "qlc",
            Preset::Hdd => "hdd",
            Preset::SeagateSmr => "seagate-smr-8tb",
        }
    }

    /// The preset of a name.
    pub fn by_name(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// By how much the drive is made smaller for its calibration run.
    pub fn calibration_divisor(self) -> f64 {
        match self {
            Preset::Samsung850Pro => 4.0,
            Preset::ScalaAfaFemu | Preset::Hdd => 1.0,
            Preset::Intel750 | Preset::Fimm => 8.0,
            Preset::Samsung980Pro | Preset::Samsung850Evo | Preset::Sata | Preset::NvmeGen4 | Preset::Qlc => 16.0,
            Preset::SeagateSmr => 16.0,
        }
    }

    /// What was published, and where.
    pub fn published(self) -> Vec<(Figure, f64, &'static str)> {
        use Figure::*;
        match self {
            Preset::Samsung850Pro => vec![
                (SequentialRead, 500.0, "SWAN, evaluation set-up"),
                (SequentialWrite, 400.0, "SWAN, evaluation set-up"),
                (RandomRead, 100.0, "data sheet of the 128 GB drive"),
                (RandomWriteSteady8k, 140.0, "SWAN, introduction"),
            ],
            Preset::Intel750 => vec![
                (SequentialRead, 2200.0, "serial array paper; data sheet"),
                (SequentialWrite, 900.0, "serial array paper; data sheet"),
                (RandomRead, 430.0, "data sheet"),
                (RandomWrite, 230.0, "data sheet"),
            ],
            Preset::Samsung980Pro => vec![
                (SequentialRead, 7000.0, "ScalaAFA, Table 1; data sheet"),
                (SequentialWrite, 5200.0, "ScalaAFA, Table 1"),
                (SequentialWriteAfterSlc, 2000.0, "data sheet"),
                (RandomRead, 1000.0, "data sheet"),
                (RandomWrite, 1000.0, "data sheet"),
                (SingleRead, 22.0, "data sheet"),
            ],
            Preset::Samsung850Evo => vec![
                (SequentialRead, 540.0, "data sheet"),
                (SequentialWrite, 520.0, "data sheet"),
                (RandomRead, 98.0, "data sheet"),
                (RandomWrite, 90.0, "data sheet"),
                (RandomWriteSteady80, 16.7, "SALSA, Table 1 (15.9 MiB/s)"),
                (RandomMixSteady80, 66.3, "SALSA, Table 1 (50.6 + 12.6 MiB/s)"),
            ],
            Preset::ScalaAfaFemu => {
                vec![(SequentialRead, 7500.0, "ScalaAFA, Table 1"), (SequentialWrite, 4890.0, "ScalaAFA, Table 1")]
            }
            Preset::Fimm => vec![(SequentialRead, 800.0, "Triple-A, section 3.3: 16 pins at 400 MT/s")],
            Preset::Sata => vec![
                (SequentialRead, 560.0, "data sheets of the class"),
                (SequentialWrite, 530.0, "data sheets of the class"),
                (SequentialWriteAfterSlc, 300.0, "data sheets of the class"),
                (RandomRead, 98.0, "data sheets of the class"),
                (RandomWrite, 88.0, "data sheets of the class"),
            ],
            Preset::NvmeGen4 => vec![
                (SequentialRead, 6800.0, "data sheets of the class"),
                (SequentialWrite, 2700.0, "data sheets of the class"),
                (RandomRead, 850.0, "data sheets of the class"),
                (RandomWriteSteady, 130.0, "data sheets of the class"),
            ],
            Preset::Qlc => vec![
                (SequentialRead, 560.0, "data sheets of the class"),
                (SequentialWrite, 530.0, "data sheets of the class"),
                (SequentialWriteAfterSlc, 80.0, "data sheets of the class"),
                (RandomRead, 98.0, "data sheets of the class"),
                (RandomWrite, 88.0, "data sheets of the class"),
            ],
            Preset::Hdd => vec![
                (SequentialRead, 200.0, "data sheets of the class"),
                (SequentialWrite, 200.0, "data sheets of the class"),
                (SingleRead, 0.079, "data sheets of the class: 8.5 ms seek, half a turn"),
            ],
            Preset::SeagateSmr => vec![
                (SequentialRead, 190.0, "data sheet"),
                (SequentialWrite, 190.0, "data sheet"),
                (RandomWrite64k, 83.9, "SALSA, Figure 4 (80 MiB/s)"),
                (RandomWriteSteady64k, 0.205, "SALSA, Figure 4 (200 KiB/s)"),
            ],
        }
    }

    /// How it is made.
    pub fn config(self) -> ModelConfig {
        let flash = match self {
            Preset::Samsung850Pro => SsdConfig {
                capacity: whole_blocks(120 * GB),
                spare: 0.26,
                controller: Nanos::micros(10),
                flash: flash(4, 3, 400 * MB, (60, 900)),
                ..sata("850-pro", 500 * MB, 500 * MB)
            },
            Preset::Intel750 => SsdConfig {
                capacity: whole_blocks(400 * GB),
                spare: 0.16,
                controller: Nanos(2_200),
                cache: Cache { bytes: 64 << 20, protected: true },
                flash: flash(9, 3, 250 * MB, (60, 852)),
                ..nvme("intel-750", 2_200 * MB, 3_200 * MB)
            },
            Preset::Samsung980Pro => SsdConfig {
                capacity: whole_blocks(1000 * GB),
                spare: 0.10,
                controller: Nanos(950),
                flash: tlc(flash(8, 4, 1_200 * MB, (30, 1_490))),
                slc: Some(slc(114 * GB, false, 174)),
                ..nvme("980-pro", 7_000 * MB, 7_000 * MB)
            },
            Preset::Samsung850Evo => SsdConfig {
                capacity: whole_blocks(1000 * GB),
                spare: 0.10,
                controller: Nanos::micros(10),
                flash: tlc(flash(8, 8, 400 * MB, (60, 2_100))),
                slc: Some(slc(12 * GB, true, 400)),
                map: Some(MapCache {
                    page: 16 << 10,
                    resident: 1 << 30,
                    dirty: 400 * MB,
                    t_fetch: Nanos::micros(101),
                    t_write: Nanos::micros(241),
                    parallel: 1,
                }),
                ..sata("850-evo", 540 * MB, 520 * MB)
            },
            Preset::ScalaAfaFemu => SsdConfig {
                capacity: whole_blocks(64 * GB),
                spare: 0.10,
                controller: Nanos(800),
                flash: Flash {
                    planes: 1,
                    page: 4096,
                    pages_per_block: 512,
                    t_erase: Nanos::millis(2),
                    ..flash(8, 12, 1_200 * MB, (40, 200))
                },
                slc: Some(slc(4 * GB, true, 77)),
                // Section 5.4: 72 bits per chunk. Section 6.1: 64 KiB of parity from 6 chunks in 20 us.
                oob: 9,
                xor: Some(XorEngine { rate: 6 * 65_536 * 50_000, latency: Nanos::ZERO, buffer: 4 << 20 }),
                ..nvme("scalaafa-femu", 7_500 * MB, 7_500 * MB)
            },
            Preset::Fimm => SsdConfig {
                capacity: whole_blocks(64 * GB),
                spare: 0.07,
                // No firmware and no link of its own: the bus is the channel, translation is the array's.
                controller: Nanos(100),
                host: Host {
                    queue_depth: 256,
                    read_rate: 16 * GB,
                    write_rate: 16 * GB,
                    shared: false,
                    latency: Nanos(500),
                },
                cache: Cache { bytes: 2 * 8 * (16 << 10), protected: false },
                flash: Flash { page: 8 << 10, t_erase: Nanos(3_800_000), ..flash(1, 8, 800 * MB, (75, 1_300)) },
                ..sata("fimm", GB, GB)
            },
            Preset::Sata => SsdConfig {
                capacity: whole_blocks(500 * GB),
                spare: 0.09,
                controller: Nanos::micros(10),
                flash: tlc(flash(8, 1, 800 * MB, (60, 2_500))),
                slc: Some(slc(22 * GB, false, 300)),
                ..sata("sata", 560 * MB, 530 * MB)
            },
            Preset::NvmeGen4 => SsdConfig {
                capacity: whole_blocks(1920 * GB),
                spare: 0.145,
                controller: Nanos(1_100),
                cache: Cache { bytes: 64 << 20, protected: true },
                flash: tlc(flash(8, 8, 1_200 * MB, (45, 2_248))),
                ..nvme("nvme-gen4", 6_800 * MB, 6_800 * MB)
            },
            Preset::Qlc => SsdConfig {
                capacity: whole_blocks(1000 * GB),
                spare: 0.09,
                controller: Nanos::micros(10),
                flash: Flash {
                    pages_per_program: 4,
                    pages_per_block: 512,
                    t_erase: Nanos::millis(10),
                    ..flash(8, 1, 800 * MB, (90, 12_900))
                },
                slc: Some(slc(42 * GB, false, 350)),
                ..sata("qlc", 560 * MB, 530 * MB)
            },
            Preset::Hdd => return ModelConfig::Disk(presets::nearline()),
            Preset::SeagateSmr => return ModelConfig::Disk(presets::seagate_archive()),
        };
        ModelConfig::Ssd(flash)
    }
}

/// Rounds down to whole 4 KiB blocks.
const fn whole_blocks(bytes: u64) -> u64 {
    bytes / 4096 * 4096
}

/// Two planes of 16 KiB pages, 256 pages per block; times are tR and tPROG in microseconds.
fn flash(channels: u32, dies_per_channel: u32, channel_rate: u64, (t_read, t_program): (u64, u64)) -> Flash {
    Flash {
        channels,
        dies_per_channel,
        planes: 2,
        page: 16 << 10,
        pages_per_program: 1,
        pages_per_block: 256,
        t_read: Nanos::micros(t_read),
        t_program: Nanos::micros(t_program),
        t_erase: Nanos::millis(4),
        channel_rate,
    }
}

fn tlc(flash: Flash) -> Flash {
    Flash { pages_per_program: 3, pages_per_block: 384, ..flash }
}

fn slc(bytes: u64, reserved: bool, t_program: u64) -> Slc {
    Slc {
        bytes,
        reserved,
        t_read: Nanos::micros(25),
        t_program: Nanos::micros(t_program),
        eviction: Eviction::Fifo,
        folding: Folding::WhenIdle,
    }
}

fn gc() -> Gc {
    Gc { policy: VictimPolicy::Greedy, reserve: 1, low: 3, high: 4, separate: true, wear_spread: None, bursts: None }
}

fn sata(name: &str, read_rate: u64, write_rate: u64) -> SsdConfig {
    SsdConfig {
        name: name.to_owned(),
        capacity: 0,
        spare: 0.0,
        host: Host { queue_depth: 32, read_rate, write_rate, shared: true, latency: Nanos::micros(15) },
        controller: Nanos::ZERO,
        cache: Cache { bytes: 16 << 20, protected: false },
        flash: flash(1, 1, 400 * MB, (60, 900)),
        gc: gc(),
        suspend: None,
        slc: None,
        mapping: Mapping::Page,
        map: None,
        handles: 1,
        oob: 0,
        xor: None,
        ignores_trims: false,
        slow: None,
    }
}

fn nvme(name: &str, read_rate: u64, write_rate: u64) -> SsdConfig {
    SsdConfig {
        host: Host { queue_depth: 1024, read_rate, write_rate, shared: false, latency: Nanos::micros(8) },
        suspend: Some(Suspend { overhead: Nanos::micros(20), limit: 4 }),
        ..sata(name, read_rate, write_rate)
    }
}
