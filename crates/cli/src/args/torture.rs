//! `cygnus torture`

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use cygnus_torture::Tier;

const EXAMPLES: &str = "\
Examples:
  cygnus torture --seeds 20000
  cygnus torture --start 4711 --seeds 1          # one seed again, with what happened in it
  cygnus torture --about copies --seeds 1000     # two-phase protection in every story
  cygnus torture --campaign                      # ten million requests, and which faults met which steps
  cygnus torture --replay seed-4711.story        # a story that was written down
  cygnus torture --plant flushes-ignored --seeds 100       # a planted bug, to see that it is caught";

/// `cygnus torture`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TortureArgs {
    /// How many seeds to run, one after the other [default: 1000, or as many as --requests takes]
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub start: u64,
    /// What every story has: copies (of open stripes), outages (members that lose power), rot, growth and so on
    #[arg(long, value_name = "WHAT", default_value = Tier::All.name(), value_parser = tiers())]
    pub about: Tier,
    /// Begin no other seed once clients have made this number of requests
    #[arg(long, value_name = "N")]
    pub requests: Option<u64>,
    /// A long run: 10 million requests unless --seeds or --requests say otherwise, with a table of which faults met
    /// which steps of the engine
    #[arg(long)]
    pub campaign: bool,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Stop at the first seed that fails
    #[arg(long)]
    pub stop_at_failure: bool,
    /// Plant a bug that must be caught; then the command fails if it is not
    #[arg(long, value_name = "BUG")]
    pub plant: Option<PlantedBug>,
    /// Run the story in this file instead of seeds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "start", "about", "requests", "campaign"])]
    pub replay: Option<PathBuf>,
    /// Where stories of failed seeds are written, made as short as can be
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub stories: PathBuf,
    /// Runs that making a story short may take; 0: leave it as it is
    #[arg(long, value_name = "N", default_value_t = 3000)]
    pub shrink: u64,
}

fn tiers() -> impl TypedValueParser<Value = Tier> {
    let names = PossibleValuesParser::new(Tier::ALL.map(Tier::name));
    names.map(|name| Tier::from_name(&name).expect("one of the possible values"))
}

/// Bugs that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlantedBug {
    /// Every device acknowledges flushes and does nothing
    FlushesIgnored,
}
