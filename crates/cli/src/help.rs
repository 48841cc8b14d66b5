//! `cygnus help`: a command's help, or a topic that concerns all of them.

use crate::args::{self, Cli};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;

type Text = fn() -> String;

/// What can be asked for beside commands.
const TOPICS: [(&str, Text); 5] = [
    ("options", options),
    ("config", || CONFIG.into()),
    ("values", || VALUES.into()),
    ("exit-status", exit_status),
    ("destroying", || DESTROYING.into()),
];

const CONFIG: &str = "\
Where settings come from, first one wins:
  1. flags on the command line
  2. the environment (CYGNUS_STATE)
  3. the file given with --config
  4. built-in defaults

The file is TOML. Relative paths in it are relative to the file; an unknown key is an error.

  state = \"/srv/cygnus\"

  [array.tank]            # what 'array create tank' would be told
  preset = \"swan\"
  groups = 3
  raid = \"2+1\"
  create = \"1GiB\"
  members = [\"d0\", \"d1\", \"d2\", \"d3\", \"d4\", \"d5\", \"d6\", \"d7\", \"d8\"]

  [array.tank.serve]      # what 'serve tank' would be told
  nbd = [\"unix:tank.sock\", \"127.0.0.1:10809\"]
  scrub-every = \"30d\"

Keys are named as the long flags of these commands. What is meant for one time has none: --force, --yes, --record, --ready-fd.
";

const VALUES: &str = "\
Sizes are a number and a unit: 4096, 64KiB, 1.5GiB, 2TB.
  KiB, MiB, GiB, TiB, PiB, EiB (or K, M, G, T, P, E) are powers of 1024; kB, MB, GB, ... powers of 1000.
  A size is less than 16 EiB. Those of volumes and members are multiples of 4096.
Times are a whole number and a unit: 1500ms, 90s, 2m, 12h, 30d. A number alone is seconds.
Names of arrays and volumes are made of A-Z a-z 0-9 . _ - and begin with a letter or a digit.
";

/// docs/destroying.md says more.
const DESTROYING: &str = "\
These destroy data, and ask first; without a terminal to ask at they need --yes:
  array destroy                 the array and its volumes
  volume delete                 the volume (--force: although clients are connected)
  volume resize --shrink        what lies behind the new end
  array create --force          what the members hold
  array add --force             what the devices hold
  array spare add --force       what the device holds
  array replace --force         what the new device holds
These do not, and do not ask:
  array forget                  changes the state directory alone; 'array scan' undoes it
  array retire, drain, replace  move data first; 'array cancel' calls them off
  array check --repair, scrub   write anew elsewhere, never in place
This asks where it would: array check --repair of an array in place, whose copies or parity do not fit.
An output file (of salvage, trace, sim, lab, torture, man) is never a member of an array, a device or a
directory, and a file that exists is replaced with --force only.
A file that --create made is deleted again only if the command failed and nothing was written to it.
";

/// Carries out `cygnus help`.
pub fn run(words: &[String]) -> Result<(), Failure> {
    if let [topic] = words
        && let Some((_, text)) = TOPICS.iter().find(|(name, _)| name == topic)
    {
        return output::print(&text());
    }
    let mut root = args::command();
    root.build();
    let mut command = &mut root;
    for word in words {
        command = command.find_subcommand_mut(word).ok_or_else(|| {
            let topics = TOPICS.map(|(name, _)| name).join(", ");
            let words = words.join(" ");
            Failure::Usage(format!(
                "there is no command 'cygnus {words}' and no topic of that name: see 'cygnus --help'; the topics are {topics}"
            ))
        })?;
    }
    output::print(&format!("{}\n", command.render_long_help()))
}

/// The common options as clap shows them, of a program that has nothing else.
fn options() -> String {
    let root = Cli::command();
    let common = root.get_arguments().filter(|arg| arg.is_global_set()).cloned();
    let mut alone = clap::Command::new("cygnus")
        .help_template("These can stand anywhere on the command line, with every command.\n\n{options}\n")
        .max_term_width(100)
        .disable_help_flag(true)
        .args(common.map(|arg| arg.help_heading(None::<&str>)));
    alone.render_long_help().to_string()
}

fn exit_status() -> String {
    let row = |(exit, text): &(Exit, &str)| format!("  {}  {text}\n", exit.code());
    let table: String = Exit::ALL.iter().map(row).collect();
    format!("The exit status of every command:\n{table}\ndocs/exit-status.md says which command can end with which.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_options_are_all_there() {
        let text = options();
        for flag in ["--state", "--config", "--json", "--color", "--quiet", "--verbose"] {
            assert!(text.contains(flag), "{flag} in:\n{text}");
        }
    }

    #[test]
    fn the_root_s_help_names_every_topic() {
        let help = args::command().render_long_help().to_string();
        for (topic, _) in TOPICS {
            assert!(help.contains(&format!("cygnus help {topic} ")), "{topic}");
        }
    }
}
