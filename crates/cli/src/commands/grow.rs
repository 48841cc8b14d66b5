//! `cygnus array add` and `cygnus array retire`: whole R-groups come and go.

use super::create::NewFiles;
use super::{Context, job, replace, status};
use crate::args::array::{AddArgs, RetireArgs};
use crate::backend;
use crate::failure::Failure;
use crate::output::LogLines;
use cygnus_control::protocol::{Request, Response};
use cygnus_control::status::Growth;
use std::path::PathBuf;
use std::sync::Arc;

/// `cygnus array add`
pub fn add(args: &AddArgs, context: &Context) -> Result<(), Failure> {
    let mut record = context.state.load(&args.name)?;
    let made = NewFiles::make(&args.devices, args.create.map(|size| size.0))?;
    let devices = args.devices.iter().map(|path| replace::absolute(path)).collect::<Result<Vec<_>, _>>()?;
    let growth = match context.served(&args.name)? {
        Some(mut serve) => match serve.call(&Request::GroupAdd { devices, force: args.force })? {
            Response::Growth { growth } => *growth,
            other => return Err(serve.unexpected(&other).into()),
        },
        None => {
            let assembly = status::assemble(&record)?;
            status::refuse_in_place(&assembly, "add")?;
            // Should this be cut short, the next opening finds them here.
            record.spares.extend(devices.iter().map(PathBuf::from));
            context.state.save(&record)?;
            let paths: Vec<PathBuf> = devices.iter().map(PathBuf::from).collect();
            let added = backend::add_groups(&assembly, &paths, args.force, Arc::new(LogLines::details(context.output)));
            let first = assembly.members.len();
            record.spares.retain(|path| !paths.contains(path));
            if added.is_ok() {
                record.add_members(first, &paths);
            }
            context.state.save(&record)?;
            added?
        }
    };
    made.keep();
    context.output.answer(&growth, |_| sentences(&args.name.to_string(), &growth))
}

fn sentences(name: &str, growth: &Growth) -> String {
    let groups = growth.groups.iter().map(|group| {
        let unused = super::create::unused_sentence(group.index, group.unused_bytes, growth.segment_bytes);
        format!("R-group {} with {} segments was added.{unused}\n", group.index, group.segments)
    });
    let (now, before) =
        (cygnus_types::ByteSize(growth.capacity_bytes), cygnus_types::ByteSize(growth.capacity_before_bytes));
    format!("{}{name} has room for {now} of data now, {before} before.\n", groups.collect::<String>())
}

/// `cygnus array retire`
pub fn retire(args: &RetireArgs, context: &Context) -> Result<(), Failure> {
    let mut serve = context.require_served(&args.name, "retire an R-group")?;
    let group = match args.group.parse::<u16>() {
        Ok(_) => args.group.clone(),
        Err(_) => replace::absolute(std::path::Path::new(&args.group))?,
    };
    let job = job::begin(&mut serve, &Request::GroupRetire { group })?;
    job::conclude(&mut serve, job, args.wait, context)
}
