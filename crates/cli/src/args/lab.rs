//! `cygnus lab`

use super::values::MAX_SEED;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use cygnus_lab::{Mechanism, PictureFormat};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

/// Where results go if nobody says.
const DIR: &str = "lab";

/// `cygnus lab ...`
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// List the experiments: published figures that can be drawn anew
    List,
    /// Run experiments: each draws a published figure with the engine on modelled drives, and judges how alike it is
    ///
    /// Virtual time, so the same scale and seeds give the same files, byte for byte, on any machine. Verdicts are "reproduced", "reproduced in part", "not reproduced, cause shown" and "not reproduced, cause unknown". What a number may be follows by rule from how it was published: 15 % off where the text prints it, 25 % where a plot shows it, and orders as they are. A figure that is not reproduced is a result: the exit status is 1 only if a verdict is not the one that was recorded for the experiment's own scale and seeds.
    #[command(after_help = RUN_EXAMPLES, after_long_help = RUN_LONG)]
    Run(RunArgs),
    /// Run a scenario many times with some of its keys varied, and write a row of numbers for each run
    ///
    /// Runs go on side by side in virtual time. Each row is in the output as soon as its run has ended; after a kill the same command goes on with those that are left. The rows are the same, byte for byte, whatever the number of jobs.
    #[command(after_help = SWEEP_EXAMPLES, after_long_help = SWEEP_LONG)]
    Sweep(SweepArgs),
    /// Make one page of all results, with every figure in it
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
}

const RUN_EXAMPLES: &str = "\
Examples:
  cygnus lab run swan/fig5 --out results
  cygnus lab run --all && cygnus lab report";

const RUN_LONG: &str = "\
Examples:
  cygnus lab run swan/fig5 --out results
  cygnus lab run --all && cygnus lab report

Files of each experiment, in DIR/PAPER/FIGURE:
  verdict.json   the verdict; what was published, what is allowed and ours with its interval; what each array did
  *.svg          the figure; *.png and *.pdf too with --charts
  *.csv          its points
DIR/verdicts.txt has a line for each verdict, and one more for a verdict of two scales.

Files of each run, in DIR/runs/PAPER-FIGURE-ARRAY-seedN, are those of 'cygnus sim run', which runs its scenario.toml again. A run that several figures look at is made once, and bears the name of the first one.

Exit status: 0 the experiments ran, 1 a verdict is not the recorded one or the run failed, 2 wrong usage.";

const SWEEP_EXAMPLES: &str = "\
Examples:
  cygnus lab sweep scenarios/sweep-tiny.toml
  cygnus lab sweep tiny --vary workload.fio.0.depth=1,4,16 --seeds 3 --out depths.csv";

const SWEEP_LONG: &str = "\
Examples:
  cygnus lab sweep scenarios/sweep-tiny.toml
  cygnus lab sweep tiny --vary workload.fio.0.depth=1,4,16 --seeds 3 --out depths.csv

A sweep file is TOML:
  scenario = \"tiny\"                      # a file beside this one, or one that 'cygnus sim list' shows
  seeds = 3                              # so many, from 1 on; or each by its number: [1, 7]
  [grid]                                 # every combination of these
  volume.size = [\"50% of data\", \"60% of data\"]
  workload.fio.0.depth = [4, 16]         # an entry of a list by its number, or its name; * is all of them
  [list]                                 # of these the first values together, then the second ones, ...
  array.*.segment = [\"1MiB\", \"2MiB\"]

Columns: id (what the run is told by), version of the program, array, the keys that vary, seed, then rates, latencies (mean, p50 to p99.999, longest) in microseconds, amplifications, cleaning, cores; the last one, error, says why a run failed.

Exit status: 0 done, 1 a run failed or the output cannot be written, 2 the sweep makes no sense.";

const REPORT_EXAMPLES: &str = "\
Examples:
  cygnus lab report --out results --page figures.html";

/// `cygnus lab run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Which, as 'cygnus lab list' shows them
    #[arg(value_name = "PAPER/FIGURE", required_unless_present = "all")]
    pub experiments: Vec<String>,
    /// Run all of them
    #[arg(long, conflicts_with = "experiments")]
    pub all: bool,
    /// Write results below this directory
    #[arg(long, value_name = "DIR", default_value = DIR, value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Drives and times this many times smaller than the paper's, instead of each experiment's own scale
    ///
    /// What an array keeps for itself does not shrink with its drives, so each experiment can be made only so small: one that
    /// cannot says so. Recordings keep their own scale.
    #[arg(long, value_name = "X", conflicts_with = "full")]
    pub scale: Option<f64>,
    /// The paper's own size; takes hours
    #[arg(long)]
    pub full: bool,
    /// Run everything on drives half as large too: what holds at one of the two scales only is not reproduced
    ///
    /// Takes half as long again at most. Verdicts of two scales have a line of their own in DIR/verdicts.txt. Nothing is run a second time
    /// where a scale changes nothing, or where drives of two sizes are run as it is.
    #[arg(long)]
    pub second_scale: bool,
    /// Let all modelled drives of flash do one thing that their preset does not have
    ///
    /// The verdict of such a run is held against none that was recorded, and no supposed cause is tried. Its results are in DIR/with-NAME.
    #[arg(long, value_name = "NAME", value_parser = mechanisms(), conflicts_with = "all")]
    pub mechanism: Option<Mechanism>,
    /// The first seed; a seed decides all random choices of a run
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
    pub seed: u64,
    /// Run each array with this many seeds, counted from the first [default: each experiment's own number]
    ///
    /// Numbers are medians over them. Six tell a median's interval with 97 %, five with 94 %, three with 75 %.
    #[arg(long, value_name = "N")]
    pub seeds: Option<NonZeroU32>,
    /// Draw each figure as these
    ///
    /// PNG and PDF need a program that was built with '--features pictures', and take the fonts of this machine: their bytes are
    /// the same where the fonts are. SVG is drawn in any case.
    #[arg(long, value_name = "FORMAT,...", value_delimiter = ',', default_value = "svg")]
    pub charts: Vec<ChartFormat>,
    /// Run this many arrays side by side; changes nothing but how long it takes [default: one for each processor core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

fn mechanisms() -> impl TypedValueParser<Value = Mechanism> {
    let value = |mechanism: Mechanism| PossibleValue::new(mechanism.name()).help(mechanism.about());
    PossibleValuesParser::new(Mechanism::ALL.map(value)).try_map(|name| name.parse())
}

/// What charts are drawn as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ChartFormat {
    /// Always drawn: 'cygnus lab report' makes its page of it
    Svg,
    /// Pixels
    Png,
    /// Vectors
    Pdf,
}

impl ChartFormat {
    /// What it is drawn as besides SVG.
    pub fn picture(self) -> Option<PictureFormat> {
        match self {
            Self::Svg => None,
            Self::Png => Some(PictureFormat::Png),
            Self::Pdf => Some(PictureFormat::Pdf),
        }
    }
}

/// `cygnus lab sweep`
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// What to run: a sweep file, or a scenario; a file or one that comes with the program
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub sweep: PathBuf,
    /// Vary this key too; in every combination with the others. May be given several times
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub vary: Vec<String>,
    /// Run with this many seeds, counted from 1 [default: as the file says, or the scenario's own]
    #[arg(long, value_name = "N")]
    pub seeds: Option<NonZeroU32>,
    /// Run this many side by side; changes nothing but how long it takes [default: one for each processor core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Write the rows to this file; those that are there already are not run again [default: the sweep's name with .csv]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Leave each run's scenario, histograms and time series too, in DIR/ID
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub files: Option<PathBuf>,
    /// Only the run of this id, as --dry-run shows it; may be given several times
    #[arg(long, value_name = "ID")]
    pub only: Vec<String>,
    /// Only list the runs
    #[arg(long)]
    pub dry_run: bool,
}

/// `cygnus lab report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The directory that 'cygnus lab run' wrote to
    #[arg(long, value_name = "DIR", default_value = DIR, value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Write the page here [default: report.html in that directory]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub page: Option<PathBuf>,
}
