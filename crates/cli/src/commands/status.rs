//! `cygnus array status`

use super::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use cygnus_control::protocol::{Request, Response};
use cygnus_control::render;
use cygnus_control::status::ArrayStatus;
use cygnus_host::ArrayName;
use cygnus_host::members::Assembly;
use cygnus_server::status::{refusal, stopped};
use serde::Serialize;

/// The status in JSON, with what it comes to.
#[derive(Serialize)]
struct Judged<'a> {
    #[serde(flatten)]
    array: &'a ArrayStatus,
    /// As the command ends: 0 needs nobody.
    exit_status: u8,
    /// What an operator should know, in sentences, as the text has them.
    complaints: Vec<String>,
}

/// Does it: asks the `serve` that has the array, else reads the superblocks.
pub fn run(name: &ArrayName, context: &Context) -> Result<Exit, Failure> {
    let status = of(name, context)?;
    let exit = Exit::of_array(&status);
    let judged = Judged { array: &status, exit_status: exit.code(), complaints: render::complaints(&status) };
    context.output.answer(&judged, |paint| render::array(&status, paint))?;
    Ok(exit)
}

/// The state of an array, served or stopped.
pub fn of(name: &ArrayName, context: &Context) -> Result<ArrayStatus, Failure> {
    match context.served(name)? {
        Some(mut serve) => match serve.call(&Request::Status)? {
            Response::Status { array } => Ok(*array),
            other => Err(serve.unexpected(&other).into()),
        },
        None => {
            let (record, assembly) = Assembly::at_rest(&context.state, name)?;
            context.warn_if_elsewhere(&assembly);
            if let Some(has_left) = assembly.left_in_memory() {
                context.output.warn(&format!(
                    "a server of {name} that was killed {has_left}: start {name} before the machine goes down, which \
                     puts them on the members"
                ));
            }
            Ok(stopped::status(&assembly, &record))
        }
    }
}

/// Refuses what an array that updates in place does not do.
pub fn refuse_in_place(assembly: &Assembly, request: &str) -> Result<(), Failure> {
    let state = &assembly.newest.state;
    match state.in_place {
        None => Ok(()),
        Some(_) => Err(Failure::Failed(refusal(&state.name, &state.preset, request))),
    }
}
