//! `cygnus`: the one binary.
//!
//! `args` is the command line as data; `config` joins it with a file; `commands` does what is asked; `output` tells.

mod apart;
mod args;
mod backend;
mod bench;
mod check;
mod commands;
mod config;
mod confirm;
mod ddrescue;
mod demo;
mod dump;
mod exit;
mod failure;
mod generate;
mod help;
mod infile;
mod interrupt;
mod kept;
mod lab;
mod leftover;
mod ondisk;
mod outfile;
mod output;
mod plan;
mod progress;
mod serve;
mod sim;
mod ssd;
mod torture;
mod trace;
mod zoned;

use args::{Cli, Command};
use clap::FromArgMatches;
use commands::Context;
use config::Config;
use cygnus_host::state::{self, StateDir};
use cygnus_runtime::NoMemory;
use exit::Exit;
use failure::Failure;
use output::Output;
use std::process::ExitCode;

fn main() -> ExitCode {
    let parsed = args::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return output::wrong_usage(&error).into(),
    };
    let output = Output::new(&cli.global);
    end_with_words_for_want_of_memory(output);
    let looks = cli.command.only_looks();
    let work = || {
        run(cli, output).unwrap_or_else(|failure| {
            output.fail(&failure);
            failure.exit()
        })
    };
    if looks { apart::run(work) } else { work().into() }
}

/// Memory that is not to be had in the midst of work ends the process as a kill would, on whatever thread: what was acknowledged
/// outlasts it. That is a failure with a remedy, and told like one.
fn end_with_words_for_want_of_memory(output: Output) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(why) = panic.payload_as_str().filter(|words| NoMemory::is_told_by(words)) {
            let failure = Failure::of(why);
            output.fail(&failure);
            std::process::exit(failure.exit().code().into());
        }
        usual(panic);
    }));
}

fn run(cli: Cli, output: Output) -> Result<Exit, Failure> {
    let config = Config::load(cli.global.config.as_deref())?;
    let context = Context { output, state: StateDir::new(state::choose(cli.global.state, config.state.clone())) };
    match cli.command {
        Command::Array(command) => commands::array::run(command, config, &context),
        Command::Volume(command) => commands::volume::run(command, &context).map(Exit::from),
        Command::Serve(args) => serve::run(args, config, &context).map(Exit::from),
        Command::Ssd(command) => ssd::run(command, output).map(Exit::from),
        Command::Zoned(command) => zoned::run(command, output).map(Exit::from),
        Command::Plan(args) => plan::run(&args, output),
        Command::Torture(args) => torture::run(&args, output),
        Command::Sim(command) => sim::run(&command, output).map(Exit::from),
        Command::Lab(command) => lab::run(&command, output),
        Command::Trace(command) => trace::run(&command, output).map(Exit::from),
        Command::Help { words } => help::run(&words).map(Exit::from),
        Command::Completions { shell } => generate::completions(shell).map(Exit::from),
        Command::Man(args) => generate::man(&args).map(Exit::from),
        Command::Demo(args) => demo::run(&args, output),
        Command::Bench(args) => bench::run(&args, output),
    }
}
