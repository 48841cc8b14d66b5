//! `cygnus trace`

use super::values::{Size, ValueError};
use clap::{Args, Subcommand, ValueHint};
use cygnus_types::ByteSize;
use cygnus_workload::trace::{Columns, Format, Skip};
use std::path::PathBuf;

/// `cygnus trace ...`
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Describe a trace: mix, sizes, randomness, footprint, hot places, arrivals
    ///
    /// The format is found out from the beginning of the file, and gzip and bzip2 are undone. Lines that are no requests are skipped, counted, and the first of them shown.
    #[command(after_help = STAT_EXAMPLES)]
    Stat(StatArgs),
    /// Make a trace up that has the published statistics of a real one
    ///
    /// Writes MSR CSV. Its host column says that the trace is synthesised, and from what; 'cygnus trace list' shows the names and what is assumed where the papers are silent.
    #[command(after_help = SYNTH_EXAMPLES)]
    Synth(SynthArgs),
    /// Rewrite a trace as MSR CSV, in the order of arrival
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(ConvertArgs),
    /// List the formats that are read, the traces that can be synthesised and the recordings that come along
    List,
}

const STAT_EXAMPLES: &str = "\
Examples:
  cygnus trace stat hm_0.csv.gz
  cygnus trace stat sda.blk.txt --format blkparse --skip all
  cygnus trace stat Financial1.spc --json
  cygnus trace stat mine.csv --columns time=0:us,op=3:R,offset=4,size=5";

const SYNTH_EXAMPLES: &str = "\
Examples:
  cygnus trace synth proxy0 --out proxy0.csv
  cygnus trace synth triple-a/prn --out prn.csv --requests 100000 --size 16GiB --seed 7";

const CONVERT_EXAMPLES: &str = "\
Examples:
  cygnus trace convert systor17.csv.gz systor17-msr.csv";

/// How a trace is read.
#[derive(Clone, Debug, Args)]
pub struct ReadArgs {
    /// The format, one of those that 'cygnus trace list' shows [default: found out]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Any text with columns, counted from 0: time, op, offset, and perhaps size and volume
    ///
    /// Columns are separated by commas, semicolons, tabs or blanks. Behind a column may stand its unit: time=0:us (s if not given, ms, us, 100ns, ns), offset=4:sectors (bytes if not given, sectors, blocks of 4096). op is a word or letter for reads and writes; op=3:1 says what stands there for a read, and all else is a write, but for words and letters that everybody knows. Without size each request is of 4096 bytes.
    #[arg(long, value_name = "time=N,op=N,...", conflicts_with = "format")]
    pub columns: Option<Columns>,
    /// How many lines that are no requests may be skipped before the file is refused: a number, or 'all'
    #[arg(long, value_name = "LINES", default_value = "100", value_parser = parse_skip)]
    pub skip: Skip,
}

fn parse_skip(text: &str) -> Result<Skip, ValueError> {
    match text {
        "all" => Ok(Skip::All),
        _ => text.parse().map(Skip::AtMost).map_err(|_| ValueError::new("write a number of lines, or all")),
    }
}

/// `cygnus trace stat`
#[derive(Debug, Args)]
pub struct StatArgs {
    /// The trace
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// How it is read.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// `cygnus trace convert`
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// The trace
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    /// The new file
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// How it is read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
}

/// `cygnus trace synth`
#[derive(Debug, Args)]
pub struct SynthArgs {
    /// The trace to imitate; with its table's prefix if two tables have one of this name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The new file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Decides all random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// How many requests
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: u64,
    /// The address space
    #[arg(long, value_name = "SIZE", default_value = "64GiB")]
    pub size: Size,
    /// Requests per second, with Poisson arrivals; no table has a rate
    #[arg(long, value_name = "N", default_value_t = 10_000.0)]
    pub iops: f64,
    /// Replace FILE if it exists
    #[arg(long)]
    pub force: bool,
}

impl SynthArgs {
    /// The address space in bytes.
    pub fn space(&self) -> ByteSize {
        self.size.0
    }
}
