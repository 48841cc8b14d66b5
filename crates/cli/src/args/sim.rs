//! `cygnus sim`

use super::values::MAX_SCENARIO_SEED;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// `cygnus sim ...`
#[derive(Debug, Subcommand)]
pub enum SimCommand {
    /// Run a scenario: drives, arrays, a workload and a duration, from a TOML file
    ///
    /// The real engine runs on modelled drives in virtual time, for each array of the scenario in turn. The same file and seed give the same results, byte for byte, on any machine.
    #[command(after_help = RUN_EXAMPLES, after_long_help = RUN_LONG)]
    Run(RunArgs),
    /// List the scenarios that come with the program
    List,
    /// Print a scenario, to begin with: every setting, explained
    #[command(after_help = EXAMPLE_EXAMPLES)]
    Example {
        /// One of those that 'cygnus sim list' shows
        #[arg(value_name = "NAME", default_value = "example")]
        name: String,
    },
    /// Show a modelled drive: its construction, what follows from it, and how near it comes to published figures
    ///
    /// The calibration measures a new drive for each figure, made smaller where that changes nothing, and takes from seconds to minutes. Figures that nobody published are shown too.
    #[command(after_help = DEVICE_EXAMPLES)]
    Device(DeviceArgs),
    /// Check a network of flash modules, and draw it
    ///
    /// A scenario names such a network in its section [fabric]. What is wrong with a file is said with its line.
    #[command(after_help = FABRIC_EXAMPLES, after_long_help = FABRIC_LONG)]
    Fabric(FabricArgs),
}

const FABRIC_EXAMPLES: &str = "\
Examples:
  cygnus sim fabric 4x16 --svg network.svg
  cygnus sim fabric mine.toml --json";

const FABRIC_LONG: &str = "\
Examples:
  cygnus sim fabric 4x16 --svg network.svg
  cygnus sim fabric mine.toml --json

A topology file (a switch may be a network card, with PCI Express on one side and Ethernet on the other):
  name = \"mine\"
  [root]
  name = \"host\"          # also: queue, latency-ns
  [[switch]]
  name = \"nic\"           # also: latency-ns, buffer
  [[endpoint]]
  name = \"left\"          # also: modules, commands, interleave, bus-rate, bus-command-ns, down-buffer, up-buffer, latency-ns
  [[link]]               # of PCI Express; also: generation, latency-ns
  name = \"slot\"
  up = \"host\"
  down = \"nic\"
  width = 8
  [[link]]               # of Ethernet, by its rate; also: frame and overhead (bytes of data, and besides), latency-ns
  name = \"wire\"
  up = \"nic\"
  down = \"left\"
  rate = \"1250MB\"

Exit status: 0 done, 1 the picture cannot be written, 2 the topology makes no sense.";

/// `cygnus sim fabric`
#[derive(Debug, Args)]
pub struct FabricArgs {
    /// A topology file, or SWITCHESxCLUSTERS[xMODULES]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub topology: PathBuf,
    /// Draw it into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,
    /// Replace the picture if it exists
    #[arg(long, requires = "svg")]
    pub force: bool,
}

const DEVICE_EXAMPLES: &str = "\
Examples:
  cygnus sim device 850-pro
  cygnus sim device fimm --no-run
  cygnus sim device --all --json";

/// `cygnus sim device`
#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// A device preset, as scenarios name them
    #[arg(value_name = "NAME", required_unless_present = "all")]
    pub name: Option<String>,
    /// All presets
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
    /// Only the construction and the arithmetic, no calibration
    #[arg(long)]
    pub no_run: bool,
}

const RUN_EXAMPLES: &str = "\
Examples:
  cygnus sim run swan-vs-log-raid --out results
  cygnus sim run mine.toml --seed 7 --json";

const RUN_LONG: &str = "\
Examples:
  cygnus sim run swan-vs-log-raid --out results
  cygnus sim run mine.toml --seed 7 --json

Files of each array's run, in DIR/runs/SCENARIO-ARRAY-seedN (times are virtual):
  run.json         scenario, array, seed, and the program's version and commit
  summary.json     rates, latencies with percentiles, amplification of array and drives, wear
  percentiles.csv  p50 to p99.999 of latencies by client, job and kind of request
  latency.csv      histograms of the same: every bucket
  timeseries.csv   rates, latencies, cleaning, roles of the groups, core and network over time
  devices.csv      each drive over time: rates, queue, its own collection, amplification, wear
  clusters.csv     with a fabric: what each cluster's requests waited for, and where
  clusters.svg     with a fabric: the network, clusters coloured by how busy their buses were
  scenario.toml    the scenario with this array and seed: 'cygnus sim run' gives the same bytes again

Exit status: 0 done, 1 failed, 2 the scenario makes no sense.";

const EXAMPLE_EXAMPLES: &str = "\
Examples:
  cygnus sim example > mine.toml && cygnus sim run mine.toml
  cygnus sim example swan-vs-log-raid";

/// `cygnus sim run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The scenario: a file, or the name of one that comes with the program
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub scenario: PathBuf,
    /// Decides all random choices, instead of the scenario's own seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_SCENARIO_SEED))]
    pub seed: Option<u64>,
    /// Write results below this directory, into runs/SCENARIO-ARRAY-seedN for each array
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
}
