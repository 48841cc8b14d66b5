//! `cygnus bench ...`

use super::values::{Size, Span, parse_some_time, parse_whole_blocks};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use cygnus_format::Raid;
use cygnus_nbd::NbdUri;
use cygnus_ssd::Preset;

const EXAMPLES: &str = "\
Examples:
  cygnus bench engine
  cygnus bench engine --stages
  cygnus bench cores
  cygnus bench peers
  cygnus bench recovery
  cygnus bench failures
  cygnus bench sim
  cygnus bench nbd 'nbd+unix:///vol0?socket=tank.sock'";

/// `cygnus bench`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    /// What to measure
    #[command(subcommand)]
    pub what: BenchCommand,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// The engine on one core with devices in memory, beside the limits of this machine
    ///
    /// Prints nanoseconds for each block, and the floor that copying, checksums and parity set in the same run. As the
    /// server does, the benchmark announces each random request while the one before it is at work. A row is the median of five
    /// fresh arrays; the one with cleaning is of a single array, once it has been filled and overwritten twice.
    Engine(EngineBenchArgs),
    /// The same on more cores: one reactor, two, four and so on, each on a core of its own
    ///
    /// Every reactor makes random requests of one volume on devices in memory, as many at once as '--depth' says, so that neither
    /// sockets nor a client stand between. A row is the median of five fresh arrays, and says what it is of the rate of one core.
    Cores(CoresBenchArgs),
    /// Our NBD server beside nbdkit and qemu-nbd: the same core, the same client, all data in memory
    ///
    /// First comes the limit that this machine's sockets set: a server that only moves blocks between the socket and a
    /// piece of memory. Ours keeps a 4+1 array on memory devices, so it also maps, checksums and computes parity. Peers
    /// that are not installed are left out, and said so. Beside the rate stands the processor time of server and client
    /// for each request, which tells who was the limit, and how fast either could be with a machine of its own. MOVED is
    /// how many blocks cleaning moved for each one written: what the server did beside the requests. With '--fill 10' it moves hardly any.
    Peers(PeersBenchArgs),
    /// What opening an array costs, after a clean stop and after a crash, and what its map costs in memory
    Recovery(RecoveryBenchArgs),
    /// What failures cost: reads without a member or beside a slow one, rebuilds and drains beside clients
    ///
    /// Latencies and rates of an array of 8+1 on modelled drives, in virtual time: the same on every machine. Then what a
    /// reconstructed read costs this machine's processor, and how fast it restores data in memory.
    Failures(FailuresBenchArgs),
    /// The simulation: an array on eight modelled drives in the steady state of random writes
    ///
    /// Simulated writes per second, for the whole, for the array on drives without flash, and for the drives alone, and the memory for each terabyte of drives.
    Sim(SimBenchArgs),
    /// NBD servers, ours or others, with the same batching client
    ///
    /// Loads each export with random requests from one thread that sends and receives in batches, so that the client is not the limit. Writes destroy what is on the export.
    #[command(after_help = NBD_EXAMPLES)]
    Nbd(NbdBenchArgs),
}

/// `cygnus bench engine`
#[derive(Debug, Args)]
pub struct EngineBenchArgs {
    /// Data and parity members of the group
    #[arg(long, value_name = "K+M", default_value = "4+1")]
    pub raid: Raid,
    /// Size of each device in memory
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_whole_blocks)]
    pub device_size: Size,
    /// Requests in flight
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub depth: u16,
    /// Let the scheduler choose the core
    #[arg(long)]
    pub no_pin: bool,
    /// Print what the parts of a write and of a read cost instead, found by leaving out one after the other
    #[arg(long)]
    pub stages: bool,
}

/// `cygnus bench cores`
#[derive(Debug, Args)]
pub struct CoresBenchArgs {
    /// Up to this many cores [default: all that this process may run on]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cores: Option<u16>,
    /// Data and parity members of the group
    #[arg(long, value_name = "K+M", default_value = "4+1")]
    pub raid: Raid,
    /// Size of each device in memory
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = parse_whole_blocks)]
    pub device_size: Size,
    /// Requests in flight on each core
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub depth: u16,
}

/// `cygnus bench peers`
#[derive(Debug, Args)]
pub struct PeersBenchArgs {
    /// How long each measurement counts
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_some_time)]
    pub time: Span,
    /// Requests in flight on each of four connections (1: on a single one); may be given several times
    #[arg(long, value_name = "N", default_values_t = [1, 32, 128], value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub depth: Vec<u16>,
    /// Percentage of the array that the volume takes
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u8).range(5..=80))]
    pub fill: u8,
    /// Measure only our server
    #[arg(long)]
    pub alone: bool,
    /// Core that the servers run on
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub server_core: u16,
    /// Core that the client runs on
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub client_core: u16,
}

/// `cygnus bench recovery`
#[derive(Debug, Args)]
pub struct RecoveryBenchArgs {
    /// Size of each of the five devices in memory
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_whole_blocks)]
    pub device_size: Size,
}

fn drives() -> PossibleValuesParser {
    PossibleValuesParser::new(Preset::ALL.map(Preset::name))
}

/// `cygnus bench sim`
#[derive(Debug, Args)]
pub struct SimBenchArgs {
    /// Drive preset, as in scenarios
    #[arg(long, value_name = "NAME", default_value = "850-pro", value_parser = drives())]
    pub drive: String,
    /// How many times smaller than the real one each drive is
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    pub scale: u32,
    /// Virtual time to measure
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = parse_some_time)]
    pub duration: Span,
}

/// `cygnus bench failures`
#[derive(Debug, Args)]
pub struct FailuresBenchArgs {
    /// Drive preset, as in scenarios
    #[arg(long, value_name = "NAME", default_value = "850-pro", value_parser = drives())]
    pub drive: String,
    /// Capacity of each modelled drive; what makes it fast or slow stays as it is
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = parse_whole_blocks)]
    pub drive_size: Size,
    /// Data in the volume on them
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = parse_whole_blocks)]
    pub live: Size,
    /// Requests in flight
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub depth: u16,
    /// Requests of each latency measurement
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1000..))]
    pub requests: u32,
    /// Size of each of ten devices in memory
    #[arg(long, value_name = "SIZE", default_value = "128MiB", value_parser = parse_whole_blocks)]
    pub device_size: Size,
}

const NBD_EXAMPLES: &str = "\
Examples:
  cygnus bench nbd 'nbd+unix:///vol0?socket=tank.sock' --workload write --depth 32
  cygnus bench nbd nbd://127.0.0.1/vol0 --connections 8 --time 30s

Several servers one after the other, in one table:
  nbdkit -U peer.sock memory 1G
  cygnus bench nbd 'nbd+unix:///vol0?socket=tank.sock' 'nbd+unix:///?socket=peer.sock'";

/// `cygnus bench nbd`
#[derive(Debug, Args)]
pub struct NbdBenchArgs {
    /// The exports, as nbd://HOST:PORT/NAME or nbd+unix:///NAME?socket=PATH
    #[arg(value_name = "URI", required = true)]
    pub uris: Vec<NbdUri>,
    /// Random reads, random writes, or both by halves
    #[arg(long, value_name = "WHAT", default_value = "read")]
    pub workload: Workload,
    /// Connections (more than one only if the server allows it)
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub connections: u16,
    /// Requests in flight on each connection
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub depth: u16,
    /// Bytes of each request, at most 32 MiB
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = parse_whole_blocks)]
    pub size: Size,
    /// Use only this number of bytes from the beginning of the export [default: all]
    #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
    pub span: Option<Size>,
    /// How long to measure each export
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_some_time)]
    pub time: Span,
    /// How long to load it before measuring
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub warmup: Span,
    /// Seed of the addresses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Kinds of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// Random reads
    Read,
    /// Random writes
    Write,
    /// Half reads, half writes
    Mixed,
}

impl Workload {
    /// Share of reads.
    pub fn read_percent(self) -> u8 {
        match self {
            Self::Read => 100,
            Self::Write => 0,
            Self::Mixed => 50,
        }
    }
}
