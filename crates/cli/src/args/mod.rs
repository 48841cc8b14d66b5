//! The command line as data. Help texts, shell completions and man pages are all generated from these definitions.
//!
//! What a configuration file may also say is an `Option` here; [`crate::config`] joins the two.

pub mod array;
pub mod bench;
pub mod demo;
pub mod lab;
pub mod plan;
pub mod serve;
pub mod sim;
pub mod torture;
pub mod trace;
pub mod values;
pub mod volume;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  Nine files of 1 GiB as an array of three R-groups, each 2 data + 1 parity:
    cygnus array create tank --preset swan --groups 3 --raid 2+1 --create 1GiB d{0..8}
  A volume in it, served to NBD clients:
    cygnus volume create tank/vol0 --size 4GiB
    cygnus serve tank --nbd unix:tank.sock --nbd 127.0.0.1:10809
  See all of it at work, without setting anything up:
    cygnus demo

Exit status: 0 done, 1 failed, 2 wrong usage.";

const AFTER_LONG_HELP: &str = "\
Examples:
  Nine files of 1 GiB as an array of three R-groups, each 2 data + 1 parity:
    cygnus array create tank --preset swan --groups 3 --raid 2+1 --create 1GiB d{0..8}
  A volume in it, served to NBD clients:
    cygnus volume create tank/vol0 --size 4GiB
    cygnus serve tank --nbd unix:tank.sock --nbd 127.0.0.1:10809
    nbdinfo 'nbd+unix:///vol0?socket=tank.sock'
  See all of it at work, without setting anything up:
    cygnus demo

Where settings come from, first one wins:
  1. flags on the command line
  2. the environment (CYGNUS_STATE)
  3. the file given with --config
  4. built-in defaults

Sizes take units: 4096, 64KiB, 1.5GiB, 2TB.
  KiB, MiB, GiB, TiB (or K, M, G, T) are powers of 1024; kB, MB, GB, TB powers of 1000.

Exit status: 0 done, 1 failed, 2 wrong usage.";

/// An all-flash array in user space: joins files or block devices into a log-structured array that cleans itself away from its writers, and serves volumes over NBD
#[derive(Debug, Parser)]
#[command(
    name = "cygnus",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(after_help = AFTER_HELP, after_long_help = AFTER_LONG_HELP, max_term_width = 100)]
pub struct Cli {
    /// Flags that every command understands.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command understands.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Directory that remembers where members were last seen [default: /var/lib/cygnus]
    ///
    /// It also holds the control sockets of arrays being served. Nothing in it is precious: when it is lost, 'cygnus array scan' fills it again from the disks.
    #[arg(long, global = true, value_name = "DIR", env = "CYGNUS_STATE", hide_env_values = true, value_hint = ValueHint::DirPath)]
    pub state: Option<PathBuf>,

    /// Read settings from this TOML file; flags and environment win over it
    ///
    /// Relative paths in it are relative to the file. Example:
    ///
    ///   state = "/srv/cygnus"
    ///
    ///   [array.tank]
    ///   preset = "swan"
    ///   groups = 3
    ///   raid = "2+1"
    ///   create = "1GiB"
    ///   members = ["d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"]
    ///
    ///   [array.tank.serve]
    ///   nbd = ["unix:tank.sock", "127.0.0.1:10809"]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, verbatim_doc_comment)]
    pub config: Option<PathBuf>,

    /// Answer in JSON, with a schema version, on standard output
    ///
    /// A failure is a JSON object with the member "error". Fields may be added under the same "schema"; it rises when one is removed or changes its meaning.
    #[arg(long, global = true)]
    pub json: bool,

    /// When to use colour; NO_COLOR is respected
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = false)]
    pub color: ColorWhen,

    /// Say less: only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say more: each step with its time, clients that come and go
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// When standard output is a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The nouns, and the verbs that need none.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make, look at, check and destroy arrays
    #[command(subcommand)]
    Array(array::ArrayCommand),
    /// Make, list, resize and delete volumes
    #[command(subcommand)]
    Volume(volume::VolumeCommand),
    /// Serve an array's volumes over NBD, in the foreground
    ///
    /// Opens the array (recovering it if it was not stopped cleanly) and serves each volume as the NBD export of its name. When it is ready, it prints one line that begins with "ready" and names the addresses. SIGTERM and SIGINT stop it cleanly: clients are disconnected, everything is flushed, and the next start needs no recovery. A second signal of a kind ends it at once; flushed writes survive that.
    Serve(serve::ServeArgs),
    /// Show an array of nine files at work: rotation, cleaning, a verifying client
    ///
    /// Makes nine files, joins them into three R-groups of 2+1, serves a volume over NBD, and lets a client write random data past the array's capacity, so that the R-groups take turns and cleaning has work. At the end every block is read back and compared. Ctrl-C ends it early and cleans up.
    Demo(demo::DemoArgs),
    /// Measure this machine's floor, the engine and NBD servers
    Bench(bench::BenchArgs),
    /// Find how many R-groups of how many drives keep cleaning out of the way of writes
    ///
    /// SWAN's analytic model, shown with its terms: from what the network brings, the figures of a drive and how full the array will be, it gives the width and the number of R-groups, the sustained rate, write amplification, usable space, wear and cost.
    Plan(plan::PlanArgs),
    /// Run the engine on modelled drives in virtual time: what would this array do?
    #[command(subcommand)]
    Sim(sim::SimCommand),
    /// Draw published figures anew on modelled drives, and judge how alike they are
    #[command(subcommand)]
    Lab(lab::LabCommand),
    /// Search for bugs: whole arrays under power cuts and lost members, in virtual time
    ///
    /// Runs arrays on modelled devices, cuts the power, removes members, and compares each read with what it may return. A seed decides everything, and tells the same story each time.
    Torture(torture::TortureArgs),
    /// Describe block traces, make them up from published statistics, convert them
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Print the completion script of a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a man page, or write all of them
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArgs),
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  cygnus completions bash > /etc/bash_completion.d/cygnus
  cygnus completions zsh > \"${fpath[1]}/_cygnus\"
  cygnus completions fish > ~/.config/fish/completions/cygnus.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  cygnus man | man -l -                       # the page of cygnus itself
  cygnus man array create | man -l -          # the page of one command
  cygnus man --out /usr/local/share/man/man1  # all of them, as files";

/// `cygnus man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The command whose page is wanted, such as: array create
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Write the pages of all commands into this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "command")]
    pub out: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn scripted_command_lines_parse() {
        for line in [
            "cygnus --state S array create tank --preset swan --groups 3 --raid 2+1 --create 1GiB d0 d1 d2 d3 d4 d5 d6 d7 d8",
            "cygnus --state S volume create tank/vol0 --size 4GiB",
            "cygnus --state S serve tank --nbd unix:tank.sock --nbd 127.0.0.1:10809",
            "cygnus --state S array status tank",
            "cygnus --state S array status tank --json",
            "cygnus --state S array list",
            "cygnus --state S array scan /dev/sda d0",
            "cygnus --state S array check tank",
            "cygnus --state S array dump tank",
            "cygnus --state S volume list tank --json",
            "cygnus --state S volume delete tank/vol0",
            "cygnus --state S volume resize tank/vol0 --size 8GiB",
            "cygnus --state S array destroy tank",
            "cygnus plan --network 10Gbit --device 850-pro --utilisation 60%",
            "cygnus trace stat hm_0.csv.gz --format msr --skip all --json",
            "cygnus trace synth proxy0 --out proxy0.csv",
            "cygnus demo",
            "cygnus completions bash",
        ] {
            if let Err(error) = Cli::try_parse_from(line.split(' ')) {
                panic!("{line}: {error}");
            }
        }
    }
}
