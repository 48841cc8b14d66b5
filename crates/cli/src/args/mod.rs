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
pub mod ssd;
pub mod torture;
pub mod trace;
pub mod values;
pub mod volume;
pub mod zoned;

use clap::builder::StyledStr;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  Nine files of 1 GiB as an array of three R-groups, each 2 data + 1 parity:
    cygnus array create tank --preset swan --groups 3 --raid 2+1 --create 1GiB d{0..8}
  A volume in it, served to NBD clients:
    cygnus volume create tank/vol0 --size 4GiB
    cygnus serve tank --nbd unix:tank.sock --nbd 127.0.0.1:10809
    nbdinfo 'nbd+unix:///vol0?socket=tank.sock'
  See all of it at work, without setting anything up:
    cygnus demo

More help:
  cygnus help array create     a command
  cygnus help options          the options that every command takes
  cygnus help config           settings from a file, and which setting wins
  cygnus help values           how sizes and times are written
  cygnus help exit-status      what the exit status tells
  cygnus help destroying       what destroys data, and how it asks";

/// Ends the help of every command, in place of the options themselves.
const COMMON: &str = "\
Common options: --state --config --json --color --quiet --verbose; see 'cygnus help options'.";

/// An all-flash array in user space: joins files or block devices into a log-structured array that cleans itself away from its writers, and serves volumes over NBD
#[derive(Debug, Parser)]
#[command(
    name = "cygnus",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
#[command(after_help = AFTER_HELP, max_term_width = 100)]
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
#[command(next_help_heading = "Common options")]
pub struct Global {
    /// Directory that remembers where members were last seen [default: $CYGNUS_STATE, else /var/lib/cygnus]
    ///
    /// It also holds the control sockets of arrays being served. Nothing in it is precious: when it is lost, 'cygnus array scan' fills it again from the disks.
    // Not clap's `env`: its usage lines would show the flag as required whenever the variable is set.
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub state: Option<PathBuf>,

    /// Read settings from this TOML file; flags and environment win over it; see 'cygnus help config'
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// Answer in JSON, with a schema version, on standard output
    ///
    /// One object, whatever happens: a failure is one with the members "error" and "exit_status". docs/json.md lists what each command answers. Fields may be added under the same "schema"; it rises when one is removed or changes its meaning.
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

/// The definitions as they are parsed and shown: the common options, which would be most of every help text, are told in a
/// line.
pub fn command() -> clap::Command {
    with_short_help(hide_common(Cli::command(), true))
}

/// The definitions with the common options shown or not.
pub fn hide_common(command: clap::Command, hide: bool) -> clap::Command {
    let common: Vec<clap::Id> =
        command.get_arguments().filter(|arg| arg.is_global_set()).map(|a| a.get_id().clone()).collect();
    common.into_iter().fold(command, |command, id| command.mut_arg(id, |arg| arg.hide(hide)))
}

/// Ends each command's help with the line that stands for the common options.
fn with_short_help(mut command: clap::Command) -> clap::Command {
    let end = |help: Option<&StyledStr>| match help {
        Some(help) => format!("{help}\n\n{COMMON}"),
        None => COMMON.into(),
    };
    let short = end(command.get_after_help());
    if let Some(long) = command.get_after_long_help().map(|long| end(Some(long))) {
        command = command.after_long_help(long);
    }
    let names: Vec<String> = command.get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect();
    let command = command.after_help(short);
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_short_help))
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
    /// Opens the array (recovering it if it was not stopped cleanly) and serves each volume as the NBD export of its name. When it is ready, it prints one line that begins with "ready" and names the addresses. SIGTERM, SIGINT and SIGHUP stop it cleanly: clients are disconnected, everything is flushed, and the next start needs no recovery. While the array is being opened, it stops as soon as it is open. A second signal of a kind ends it at once; flushed writes survive that.
    Serve(serve::ServeArgs),
    /// Show an array of nine files at work: rotation, cleaning, a verifying client
    ///
    /// Makes nine files, joins them into three R-groups of 2+1, serves a volume over NBD, and lets a client write random data past the array's capacity, so that the R-groups take turns and cleaning has work. At the end every block is read back and compared. Ctrl-C ends it early and cleans up.
    Demo(demo::DemoArgs),
    /// Measure this machine's floor, the engine and NBD servers
    Bench(bench::BenchArgs),
    /// Software SSDs: drives over files that compute parity inside, as members of arrays
    #[command(subcommand)]
    Ssd(ssd::SsdCommand),
    /// Devices with zones, as shingled disks are: made of files to try, and looked at
    #[command(subcommand)]
    Zoned(zoned::ZonedCommand),
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
    /// Explain a command or a topic: options, config, values, exit-status, destroying
    Help {
        /// The command's words, or the topic
        #[arg(value_name = "WORD")]
        words: Vec<String>,
    },
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

impl Command {
    /// Whether all that it does to devices is to look at them, and one may give no answer. Where they are it may remember.
    pub fn only_looks(&self) -> bool {
        use array::ArrayCommand::{List, Scan, Status};
        matches!(self, Self::Array(Status { .. } | List | Scan { .. }))
    }
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

    #[test]
    fn the_definitions_are_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_command_s_help_has_the_common_options_in_one_line() {
        let mut todo = vec![command()];
        let mut seen = 0;
        while let Some(mut next) = todo.pop() {
            let help = next.render_long_help().to_string();
            assert_eq!(help.matches("'cygnus help options'").count(), 1, "{help}");
            assert!(!help.contains("--color <WHEN>"), "{help}");
            todo.extend(next.get_subcommands().cloned());
            seen += 1;
        }
        assert!(seen > 40, "only {seen} commands were looked at");
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
            "cygnus ssd serve d0 --create 1GiB --listen unix:d0.sock",
            "cygnus --state S array create tank --preset log-raid ssd:unix:d0.sock ssd:unix:d1.sock ssd:tcp:far:4420",
            "cygnus demo",
            "cygnus completions bash",
        ] {
            if let Err(error) = Cli::try_parse_from(line.split(' ')) {
                panic!("{line}: {error}");
            }
        }
    }
}
