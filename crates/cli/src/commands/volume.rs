//! `cygnus volume ...`: by the running `serve` if there is one, else on the array itself.

use super::{Context, status};
use crate::args::values::{ArrayName, VolumeName};
use crate::args::volume::VolumeCommand;
use crate::backend::{self, Opened};
use crate::failure::Failure;
use crate::output::{self, LogLines};
use cygnus_control::protocol::{Request, Response};
use cygnus_control::render;
use cygnus_control::status::VolumeStatus;
use cygnus_types::ByteSize;
use serde::Serialize;
use std::sync::Arc;

/// Does what a volume verb asks.
pub fn run(command: VolumeCommand, context: &Context) -> Result<(), Failure> {
    match command {
        VolumeCommand::List { name } => list(&name, context),
        VolumeCommand::Create { volume, size } => create(&volume, size.0, context),
        VolumeCommand::Resize { volume, size, shrink } => resize(&volume, size.0, shrink, context),
        VolumeCommand::Delete { volume, yes, force } => delete(&volume, yes, force, context),
    }
}

/// What `volume list` answers.
#[derive(Debug, Serialize)]
struct Volumes {
    volumes: Vec<VolumeStatus>,
}

fn list(name: &ArrayName, context: &Context) -> Result<(), Failure> {
    let volumes = match context.served(name)? {
        Some(mut serve) => match serve.call(&Request::VolumeList)? {
            Response::Volumes { volumes } => volumes,
            other => return Err(serve.unexpected(&other).into()),
        },
        None => status::volumes_of(&status::assemble(&context.state.load(name)?)?),
    };
    context
        .output
        .answer(&Volumes { volumes: volumes.clone() }, |paint| render::volumes(name.as_str(), &volumes, paint))
}

/// Asks the running `serve`, or else opens the array and does `work` on it.
fn change(
    context: &Context,
    array: &ArrayName,
    request: Request,
    work: impl AsyncFnOnce(Opened<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if let Some(mut serve) = context.served(array)? {
        return match serve.call(&request)? {
            Response::Done => Ok(()),
            other => Err(serve.unexpected(&other).into()),
        };
    }
    let assembly = status::assemble(&context.state.load(array)?)?;
    backend::with_either(&assembly, Arc::new(LogLines::details(context.output)), work)
}

fn create(volume: &VolumeName, size: ByteSize, context: &Context) -> Result<(), Failure> {
    let name = volume.volume.clone();
    let request = Request::VolumeCreate { name: name.clone(), size: size.0 };
    change(context, &volume.array, request, async |array| array.create_volume(&name, size).await.map_err(Failure::of))?;
    context.output.done(&format!("Created volume {volume} of {size}; its NBD export name is '{name}'."))
}

fn resize(volume: &VolumeName, size: ByteSize, shrink: bool, context: &Context) -> Result<(), Failure> {
    let name = volume.volume.clone();
    let request = Request::VolumeResize { name: name.clone(), size: size.0, shrink };
    change(context, &volume.array, request, async |array| {
        backend::check_shrink(array.volume_size(&name), &name, size, shrink).map_err(Failure::Failed)?;
        array.resize_volume(&name, size).await.map_err(Failure::of)
    })?;
    context.output.done(&format!("{volume} is {size} now; clients see it when they connect again."))
}

fn delete(volume: &VolumeName, yes: bool, force: bool, context: &Context) -> Result<(), Failure> {
    if !yes && !output::confirm(&format!("Delete volume {volume} and all that is in it?"))? {
        return Err(Failure::Failed(format!("{volume} was left as it is")));
    }
    let name = volume.volume.clone();
    let request = Request::VolumeDelete { name: name.clone(), force };
    change(context, &volume.array, request, async |array| array.delete_volume(&name).await.map_err(Failure::of))?;
    context.output.done(&format!("Deleted volume {volume}."))
}
