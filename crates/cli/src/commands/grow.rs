//! `cygnus array add` and `cygnus array retire`: whole R-groups come and go.

use super::cautions::on_one_disk;
use super::new_files::{self, NewFiles};
use super::space::Space;
use super::{CHANGE_TIMEOUT, Context, job, overwrite, replace, status};
use crate::args::array::{AddArgs, RetireArgs};
use crate::backend;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::LogLines;
use cygnus_control::media::MediumName;
use cygnus_control::protocol::{Request, Response};
use cygnus_control::status::Growth;
use cygnus_host::members::Assembly;
use cygnus_host::state::ArrayRecord;
use cygnus_types::{ByteSize, counted};
use std::path::PathBuf;
use std::sync::Arc;

/// `cygnus array add`
pub fn add(args: &AddArgs, context: &Context) -> Result<(), Failure> {
    context.state.load(&args.name)?;
    overwrite::confirm(&args.devices, args.force, args.yes)?;
    // A signal in between would leave files that are neither members nor gone.
    let whole = interrupt::Held::begin().map_err(|error| Failure::Failed(format!("signals: {error}")))?;
    let made = NewFiles::make(&args.devices, Space::of(args.create, args.sparse), &context.output)?;
    let growth = made.settle(grow(args, context), &context.output)?;
    drop(whole);
    let widths = growth.groups.iter().map(|group| (group.index, (group.data_columns + group.parity_columns) as usize));
    on_one_disk(&args.devices, widths).iter().for_each(|sentence| context.output.warn(sentence));
    context.output.answer(&growth, |_| sentences(&args.name.to_string(), &growth))
}

fn grow(args: &AddArgs, context: &Context) -> Result<Growth, Failure> {
    let devices = args.devices.iter().map(|path| replace::absolute(path)).collect::<Result<Vec<_>, _>>()?;
    let Some(serve) = context.served(&args.name)? else {
        let paths: Vec<PathBuf> = devices.iter().map(PathBuf::from).collect();
        return grow_stopped(args, &paths, context);
    };
    let request =
        Request::GroupAdd { devices, media: args.media.iter().copied().map(MediumName).collect(), force: args.force };
    let mut serve = serve.with_timeout(CHANGE_TIMEOUT);
    match context.change(&mut serve, &request, &args.name)? {
        Response::Growth { growth } => Ok(*growth),
        other => Err(serve.unexpected(&other).into()),
    }
}

fn grow_stopped(args: &AddArgs, paths: &[PathBuf], context: &Context) -> Result<Growth, Failure> {
    let (_, assembly) = Assembly::at_rest(&context.state, &args.name)?;
    status::refuse_in_place(&assembly, "add")?;
    // Should this be cut short, the next opening finds them here.
    context.state.update(&args.name, |record| record.add_spares(paths))?;
    let log = Arc::new(LogLines::details(context.output));
    let added = backend::add_groups(&assembly, paths, &args.media, args.force, log);
    context.state.update(&args.name, |record| remember(record, paths, added.as_ref().ok()))?;
    added
}

/// Has the record say what became of devices that were to be added. After a failure, what was written to may have become members all
/// the same.
fn remember(record: &mut ArrayRecord, mut paths: &[PathBuf], growth: Option<&Growth>) {
    record.spares.retain(|path| !paths.contains(path) || (growth.is_none() && new_files::is_written(path)));
    for group in growth.into_iter().flat_map(|growth| &growth.groups) {
        let members = (group.data_columns + group.parity_columns) as usize;
        let its = paths.split_off(..members).expect("each group was made of some of them");
        // They may have the numbers of those of a group that has left.
        record.set_members(group.first_member as usize, its);
    }
}

fn sentences(name: &str, growth: &Growth) -> String {
    let groups = growth.groups.iter().map(|group| {
        let unused = super::create::unused_sentence(group.index, group.unused_bytes, growth.segment_bytes);
        format!("R-group {} with {} was added.{unused}\n", group.index, counted(group.segments, "segment"))
    });
    let (now, before) = (ByteSize(growth.capacity_bytes), ByteSize(growth.capacity_before_bytes));
    format!("{}{name} has room for {now} of data now, {before} before.\n", groups.collect::<String>())
}

/// `cygnus array retire`
pub fn retire(args: &RetireArgs, context: &Context) -> Result<Exit, Failure> {
    let mut serve = context.require_served(&args.name, "retire an R-group")?;
    let group = match args.group.parse::<u16>() {
        Ok(_) => args.group.clone(),
        Err(_) => replace::absolute(std::path::Path::new(&args.group))?,
    };
    let job = job::begin(&mut serve, &Request::GroupRetire { group }, &args.name, context)?;
    job::conclude(&mut serve, job, args.wait, context)
}
