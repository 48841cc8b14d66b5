//! `cygnus array replace`, `drain` and `spare`: on a served array, since whoever serves it has the devices.

use super::new_files::NewFiles;
use super::space::Space;
use super::{CHANGE_TIMEOUT, Context, job, overwrite};
use crate::args::array::{DrainArgs, ReplaceArgs, SpareCommand};
use crate::exit::Exit;
use crate::failure::Failure;
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::protocol::{Request, Response};
use cygnus_control::status::SpareStatus;
use cygnus_control::table::{Align, Table};
use cygnus_host::ArrayName;
use cygnus_host::members::Assembly;
use cygnus_host::place;
use cygnus_types::ByteSize;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// `cygnus array replace`
pub fn run(args: &ReplaceArgs, context: &Context) -> Result<Exit, Failure> {
    let mut serve = context.require_served(&args.name, "replace a member")?.with_timeout(CHANGE_TIMEOUT);
    let member = member(&args.member)?;
    overwrite::confirm(
        std::slice::from_ref(&args.device),
        args.force && !is_same(&args.member, &args.device),
        args.yes,
    )?;
    let made = made(&args.device, Space::of(args.create, args.sparse), context)?;
    let begun = absolute(&args.device).and_then(|device| {
        let request = Request::Replace { member, device, force: args.force };
        job::begin(&mut serve, &request, &args.name, context)
    });
    let job = made.settle(begun, &context.output)?;
    job::conclude(&mut serve, job, args.wait, context)
}

/// Whether a member is to be replaced by its own device, which holds what it held.
fn is_same(member: &str, device: &Path) -> bool {
    absolute(Path::new(member)).ok() == absolute(device).ok()
}

/// `cygnus array drain`
pub fn drain(args: &DrainArgs, context: &Context) -> Result<Exit, Failure> {
    let mut serve = context.require_served(&args.name, "drain a member")?;
    let request = Request::Drain { member: member(&args.member)? };
    let job = job::begin(&mut serve, &request, &args.name, context)?;
    job::conclude(&mut serve, job, args.wait, context)
}

/// What `spare add` and `spare remove` answer.
#[derive(Serialize)]
struct Changed<'a> {
    array: &'a str,
    /// Its path, or as it was named.
    spare: String,
    /// Whether it is a spare now.
    kept: bool,
}

/// `cygnus array spare`
pub fn spare(command: SpareCommand, context: &Context) -> Result<(), Failure> {
    match command {
        SpareCommand::Add { name, device, create, sparse, force, yes } => {
            let mut serve = context.require_served(&name, "add a spare")?.with_timeout(CHANGE_TIMEOUT);
            overwrite::confirm(std::slice::from_ref(&device), force, yes)?;
            let made = made(&device, Space::of(create, sparse), context)?;
            let added = absolute(&device).and_then(|path| {
                let request = Request::SpareAdd { device: path.clone(), force };
                context.change(&mut serve, &request, &name).map(|_| path)
            });
            let spare = made.settle(added, &context.output)?;
            let sentence = format!("{} is a spare of {name}.", device.display());
            context.output.done(&Changed { array: name.as_str(), spare, kept: true }, &sentence)
        }
        SpareCommand::Remove { name, spare } => {
            let mut serve = context.require_served(&name, "remove a spare")?;
            context.change(&mut serve, &Request::SpareRemove { spare: member(&spare)? }, &name)?;
            let sentence = format!("{spare} is no spare of {name} any more.");
            context.output.done(&Changed { array: name.as_str(), spare, kept: false }, &sentence)
        }
        SpareCommand::List { name } => list(&name, context),
    }
}

/// A path that means the same to whoever serves the array.
pub fn absolute(path: &Path) -> Result<String, Failure> {
    let absolute = place::absolute(path).or_else(|_| std::path::absolute(path));
    let absolute = absolute.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
    let text = absolute.to_str().ok_or_else(|| Failure::Failed(format!("{}: not UTF-8", path.display())))?;
    Ok(text.into())
}

/// The device, made as a file if that is wanted and there is none.
fn made(path: &PathBuf, space: Option<Space>, context: &Context) -> Result<NewFiles, Failure> {
    NewFiles::make(std::slice::from_ref(path), space, &context.output)
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
        None => {
            let (_, assembly) = Assembly::at_rest(&context.state, name)?;
            context.warn_if_elsewhere(&assembly);
            assembly.spare_statuses()
        }
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
