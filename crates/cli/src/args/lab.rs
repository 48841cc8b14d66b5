//! `cygnus lab`

use clap::{Args, Subcommand, ValueHint};
use std::num::NonZeroUsize;
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
    /// Virtual time, so the same scale and seed give the same files, byte for byte, on any machine. What a check allows was stated beforehand. One that fails makes the exit status 1, unless the reason is known and something else that was measured shows it: then ours "differs" from the paper.
    #[command(after_help = RUN_EXAMPLES, after_long_help = RUN_LONG)]
    Run(RunArgs),
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
  verdict.json   checks with what they allow, numbers beside the published ones, what each array did
  *.svg          the figure
  *.csv          its points

Exit status: 0 every check holds or differs for a reason that was shown, 1 one deviates or the run failed, 2 wrong usage.";

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
    /// Decides all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run this many arrays side by side; changes nothing but how long it takes [default: one for each processor core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
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
