//! `cygnus demo`

use super::values::{Size, Span, parse_whole_blocks};
use clap::{Args, ValueHint};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cygnus demo                          the live view on a terminal, lines elsewhere
  cygnus demo --plain | tee demo.log
  cygnus demo --dir /mnt/fast --device-size 1GiB --keep";

/// `cygnus demo`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DemoArgs {
    /// Directory for the nine files; they are removed at the end [default: a new directory in $TMPDIR or /var/tmp]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
    /// Size of each of the nine files
    #[arg(long, value_name = "SIZE", default_value = "192MiB", value_parser = parse_whole_blocks)]
    pub device_size: Size,
    /// Stop writing after this long even if the array was not filled as often as planned
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub time_limit: Span,
    /// Random data to write, as a multiple of the volume's size
    #[arg(long, value_name = "TIMES", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub fill: u32,
    /// Seed of the random data
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print lines instead of the live view, also on a terminal
    #[arg(long)]
    pub plain: bool,
    /// Keep the files and the state directory
    #[arg(long)]
    pub keep: bool,
}
