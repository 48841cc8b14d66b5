//! `cygnus array replace`, `drain` and `spare`: on a served array, since whoever serves it has the devices.

use super::create::NewFiles;
use super::{Context, job, status};
use crate::args::array::{DrainArgs, ReplaceArgs, SpareCommand};
use crate::args::values::{ArrayName, Size};
use crate::failure::Failure;
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::protocol::{Request, Response};
use cygnus_control::status::SpareStatus;
use cygnus_control::table::{Align, Table};
use cygnus_types::ByteSize;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// `cygnus array replace`
pub fn run(args: &ReplaceArgs, context: &Context) -> Result<(), Failure> {
    let mut serve = context.require_served(&args.name, "replace a member")?;
    let (device, made) = device(&args.device, args.create)?;
    let request = Request::Replace { member: member(&args.member)?, device, force: args.force };
    let job = job::begin(&mut serve, &request)?;
    made.keep();
    job::conclude(&mut serve, job, args.wait, context)
}

/// `cygnus array drain`
pub fn drain(args: &DrainArgs, context: &Context) -> Result<(), Failure> {
    let mut serve = context.require_served(&args.name, "drain a member")?;
    let job = job::begin(&mut serve, &Request::Drain { member: member(&args.member)? })?;
    job::conclude(&mut serve, job, args.wait, context)
}

/// `cygnus array spare`
pub fn spare(command: SpareCommand, context: &Context) -> Result<(), Failure> {
    match command {
        SpareCommand::Add { name, device: path, create, force } => {
            let mut serve = context.require_served(&name, "add a spare")?;
            let (device, made) = device(&path, create)?;
            serve.call(&Request::SpareAdd { device, force })?;
            made.keep();
            context.output.done(&format!("{} is a spare of {name}.", path.display()))
        }
        SpareCommand::Remove { name, spare } => {
            let mut serve = context.require_served(&name, "remove a spare")?;
            serve.call(&Request::SpareRemove { spare: member(&spare)? })?;
            context.output.done(&format!("{spare} is no spare of {name} any more."))
        }
        SpareCommand::List { name } => list(&name, context),
    }
}

/// A path that means the same to whoever serves the array.
pub fn absolute(path: &Path) -> Result<String, Failure> {
    let absolute = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    let absolute = absolute.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
    let text = absolute.to_str().ok_or_else(|| Failure::Failed(format!("{}: not UTF-8", path.display())))?;
    Ok(text.into())
}

/// A device that is to be used, made as a file if that is wanted.
fn device(path: &PathBuf, create: Option<Size>) -> Result<(String, NewFiles), Failure> {
    let made = NewFiles::make(std::slice::from_ref(path), create.map(|size| size.0))?;
    Ok((absolute(path)?, made))
}

/// A member's number or a UUID as it is, a path made absolute.
fn member(name: &str) -> Result<String, Failure> {
    match name.parse::<u16>().is_ok() || name.parse::<cygnus_types::Uuid>().is_ok() {
        true => Ok(name.into()),
        false => absolute(Path::new(name)),
    }
}

#[derive(Serialize)]
struct Spares {
    spares: Vec<SpareStatus>,
}

fn list(name: &ArrayName, context: &Context) -> Result<(), Failure> {
    let spares = match context.served(name)? {
        Some(mut serve) => match serve.call(&Request::Status)? {
            Response::Status { array } => array.spares,
            other => return Err(serve.unexpected(&other).into()),
        },
        None => status::assemble(&context.state.load(name)?)?.spare_statuses(),
    };
    let spares = Spares { spares };
    context.output.answer(&spares, |paint| spares.text(name, paint))
}

impl Spares {
    fn text(&self, name: &ArrayName, paint: Paint) -> String {
        if self.spares.is_empty() {
            return format!("No spares: cygnus array spare add {name} DEVICE\n");
        }
        let mut table = Table::new(&[("SPARE", Align::Left), ("SIZE", Align::Right), ("PATH", Align::Left)]);
        for spare in &self.spares {
            table.row(vec![
                (Tone::Normal, spare.uuid.clone()),
                (Tone::Normal, ByteSize(spare.size_bytes).to_string()),
                spare.path.clone().map_or((Tone::Bad, "missing".into()), |path| (Tone::Normal, path)),
            ]);
        }
        table.render(paint)
    }
}
