//! `cygnus`: the one binary.
//!
//! `args` is the command line as data; `config` joins it with a file; `commands` does what is asked; `output` tells.

mod args;
mod backend;
mod bench;
mod check;
mod commands;
mod config;
mod ddrescue;
mod demo;
mod dump;
mod failure;
mod generate;
mod lab;
mod members;
mod notify;
mod ondisk;
mod output;
mod plan;
mod scratch;
mod serve;
mod sim;
mod state;
mod torture;
mod trace;

use args::{Cli, Command};
use clap::Parser;
use commands::Context;
use config::Config;
use failure::Failure;
use output::Output;
use state::StateDir;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(&cli.global);
    match run(cli, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.fail(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(cli: Cli, output: Output) -> Result<(), Failure> {
    let config = Config::load(cli.global.config.as_deref())?;
    let state = cli.global.state.or_else(|| config.state.clone()).unwrap_or_else(|| state::DEFAULT.into());
    let context = Context { output, state: StateDir::new(state) };
    match cli.command {
        Command::Array(command) => commands::array::run(command, config, &context),
        Command::Volume(command) => commands::volume::run(command, &context),
        Command::Serve(args) => serve::run(args, config, &context),
        Command::Plan(args) => plan::run(&args, output),
        Command::Torture(args) => torture::run(&args, output),
        Command::Sim(command) => sim::run(&command, output),
        Command::Lab(command) => lab::run(&command, output),
        Command::Trace(command) => trace::run(&command, output),
        Command::Completions { shell } => generate::completions(shell),
        Command::Man(args) => generate::man(&args),
        Command::Demo(args) => demo::run(&args, output),
        Command::Bench(args) => bench::run(&args, output),
    }
}
