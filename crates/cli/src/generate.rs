//! Shell completions and man pages, out of the same definitions as the help.

use crate::args::{Cli, ManArgs};
use crate::failure::Failure;
use crate::{outfile, output};
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::Path;

/// `cygnus completions SHELL`
pub fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "cygnus", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// `cygnus man`
pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let mut root = command_tree();
    if let Some(dir) = &args.out {
        return write_pages(&root, dir);
    }
    let mut command = &mut root;
    for word in &args.command {
        command = command.find_subcommand_mut(word).ok_or_else(|| {
            Failure::Usage(format!("there is no command 'cygnus {}': see 'cygnus --help'", args.command.join(" ")))
        })?;
    }
    output::print(&page(command))
}

/// The definitions with global flags handed down and full names (`cygnus-array-create`) filled in.
fn command_tree() -> clap::Command {
    let mut root = Cli::command();
    root.build();
    root
}

fn page(command: &clap::Command) -> String {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_string();
    // clap_mangen writes the name as the page's title and in NAME; the synopsis keeps the words apart.
    let command = command.clone().name(name);
    let man = clap_mangen::Man::new(command).section("1").manual("Cygnus");
    let mut text = Vec::new();
    man.render(&mut text).expect("writing into memory does not fail");
    String::from_utf8_lossy(&text).into_owned()
}

fn write_pages(command: &clap::Command, dir: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    outfile::write_all(dir, &[(format!("{name}.1"), page(command))])?;
    command.get_subcommands().try_for_each(|subcommand| write_pages(subcommand, dir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::scratch::Scratch;

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let scratch = Scratch::new("man");
        write_pages(&command_tree(), scratch.path()).unwrap();
        let read = |name: &str| std::fs::read_to_string(scratch.path().join(name)).unwrap();
        assert!(read("cygnus.1").contains("array"));
        let create = read("cygnus-array-create.1");
        assert!(create.contains("cygnus-array-create") && create.contains("over\\-provision"));
        let mut pages = 0;
        let mut todo = vec![command_tree()];
        while let Some(command) = todo.pop() {
            pages += 1;
            todo.extend(command.get_subcommands().cloned());
        }
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), pages);
    }
}
