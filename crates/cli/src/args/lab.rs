//! `cygnus lab`

use clap::{Args, Subcommand, ValueHint};
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
    /// Virtual time, so the same scale and seed give the same files, byte for byte, on any machine. What a check allows was stated beforehand; one that fails is told with its reason, and makes the exit status 1.
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

Exit status: 0 every check holds, 1 one does not or the run failed, 2 wrong usage.";

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
    #[arg(long, value_name = "X", conflicts_with = "full")]
    pub scale: Option<f64>,
    /// The paper's own size; takes hours
    #[arg(long)]
    pub full: bool,
    /// Decides all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
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
