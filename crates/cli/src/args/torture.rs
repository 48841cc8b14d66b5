//! `cygnus torture`

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  cygnus torture --seeds 20000
  cygnus torture --start 4711 --seeds 1          # one seed again, with its story
  cygnus torture --plant flushes-ignored --seeds 100       # a planted bug, to see that it is caught";

/// `cygnus torture`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TortureArgs {
    /// How many seeds to run, one after the other
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub seeds: u64,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub start: u64,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Stop at the first seed that fails
    #[arg(long)]
    pub stop_at_failure: bool,
    /// Plant a bug that must be caught; then the command fails if it is not
    #[arg(long, value_name = "BUG")]
    pub plant: Option<PlantedBug>,
}

/// Bugs that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlantedBug {
    /// Every device acknowledges flushes and does nothing
    FlushesIgnored,
}
