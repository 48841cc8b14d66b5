//! `cygnus array create --preset raid0|raid1|raid4|raid5|raid6|raid10`: the baselines, updated in place.

use super::cautions::on_one_disk;
use super::create::{record, refuse_known};
use super::new_files::NewFiles;
use super::space::Space;
use super::{Context, overwrite};
use crate::args::array::CreateArgs;
use crate::backend;
use crate::failure::Failure;
use crate::interrupt;
use cygnus_inplace::{CreateOptions, Level};
use cygnus_types::{ByteSize, counted};
use serde::Serialize;
use std::path::PathBuf;

/// Striping unit unless another one is asked for; the same as that of log-structured arrays.
const CHUNK: ByteSize = ByteSize(64 << 10);

/// What `array create` answers.
#[derive(Debug, Serialize)]
struct Created {
    name: String,
    uuid: String,
    preset: &'static str,
    members: Vec<PathBuf>,
    /// What the level does not promise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cautions: Vec<&'static str>,
}

/// Carries out `cygnus array create` of an array that updates in place.
pub fn run(args: &CreateArgs, level: Level, context: &Context) -> Result<(), Failure> {
    check(args, level)?;
    refuse_known(args, context)?;
    // Before anything is made: a state directory that cannot be written should not cost the user nine files.
    context.state.ensure()?;
    overwrite::confirm(&args.members, args.force, args.yes)?;
    // A signal between the first superblock and the last line of the state would leave half an array.
    let whole = interrupt::Held::begin().map_err(|error| Failure::Failed(format!("signals: {error}")))?;
    let made = NewFiles::make(&args.members, Space::of(args.create, args.sparse), &context.output)?;
    let options = CreateOptions {
        name: args.name.to_string(),
        level,
        chunk: args.chunk.map_or(CHUNK, |chunk| chunk.0),
        force: args.force,
        // New files read as zeros, so their copies and parity fit.
        blank: made.count() == args.members.len(),
    };
    let uuid = made.settle(backend::inplace::create(&args.members, &options), &context.output)?;
    let members = record(args, uuid, context)?;
    drop(whole);
    let created = Created {
        name: options.name.clone(),
        uuid: uuid.to_string(),
        preset: level.name(),
        members,
        cautions: caution(level).into_iter().collect(),
    };
    let one_disk = on_one_disk(&created.members, [(0, created.members.len())]);
    one_disk.iter().for_each(|sentence| context.output.warn(sentence));
    let resync = match options.blank || level == Level::Raid0 {
        true => "",
        false => " Its copies or parity are made to fit when it is first served.",
    };
    let sentence = format!(
        "Created array {name} ({uuid}): {level}, updated in place, {members}.{resync}\n{cautions}\
         Next: cygnus volume create {name}/vol0 --size SIZE",
        name = created.name,
        level = created.preset,
        members = counted(created.members.len(), "member"),
        cautions = created.cautions.iter().map(|caution| format!("{caution}\n")).collect::<String>(),
    );
    context.output.done(&created, &sentence)
}

/// What a user should know of the level before trusting it with data.
fn caution(level: Level) -> Option<&'static str> {
    match level {
        Level::Raid0 => Some("raid0 has no redundancy: with any member all of it is lost."),
        Level::Raid1 | Level::Raid10 => None,
        Level::Raid4 | Level::Raid5 | Level::Raid6 => Some(
            "The write hole: if power fails while a member is missing, other blocks of the stripes that were being written \
             may be lost or garbled. After a crash with all members present, parity is made to fit by itself; until that \
             is done, the loss of a member has the same effect. Presets swan and log-raid have no write hole.",
        ),
    }
}

/// Flags that say something about logs, or about what the level says already.
fn check(args: &CreateArgs, level: Level) -> Result<(), Failure> {
    let name = level.name();
    let given = [
        (args.groups.is_some(), "--groups", "it takes its shape from the number of members"),
        (args.raid.is_some(), "--raid", "it takes its shape from the number of members"),
        (args.segment.is_some(), "--segment", "it has no segments"),
        (args.over_provision.is_some(), "--over-provision", "it needs no space for cleaning"),
        (args.cleaning.is_some(), "--cleaning", "it needs no cleaning"),
        (args.streams.is_some(), "--streams", "it needs no cleaning"),
        (!args.media.is_empty(), "--media", "its volumes are on all members"),
        (
            args.protection.is_some(),
            "--protection",
            "what a client's write changes is in its place when it is answered",
        ),
        (args.transient.is_some(), "--transient", "it makes no copies of unfinished stripes"),
        (args.parity.is_some(), "--parity", "use raid4 for fixed parity, raid5 or raid6 for rotating parity"),
    ];
    if let Some((_, flag, why)) = given.into_iter().find(|(is_given, ..)| *is_given) {
        return Err(Failure::Usage(format!(
            "{flag} does not go with --preset {name}, which is updated in place: {why}"
        )));
    }
    if args.members.is_empty() {
        return Err(Failure::Usage("no members: name the files or block devices of the array".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::values::Preset;
    use crate::args::{Cli, Command, array::ArrayCommand};
    use crate::exit::Exit;
    use clap::Parser;

    fn checked(line: &str) -> Result<(), String> {
        let line = format!("cygnus array create tank {line}");
        let Command::Array(ArrayCommand::Create(args)) = Cli::try_parse_from(line.split_whitespace()).unwrap().command
        else {
            unreachable!("the line is a create")
        };
        let Some(Preset::InPlace(level)) = args.preset else { unreachable!("the line names a level") };
        check(&args, level).map_err(|failure| {
            assert_eq!(failure.exit(), Exit::Usage);
            failure.to_string()
        })
    }

    #[test]
    fn what_says_something_about_logs_is_refused() {
        assert_eq!(checked("--preset raid5 --chunk 128K --create 1GiB a b c"), Ok(()));
        for (line, says) in [
            ("--preset raid5", "no members"),
            ("--preset raid5 --raid 2+1 a b c", "--raid does not go with --preset raid5"),
            ("--preset raid10 --groups 2 a b c d", "takes its shape from the number of members"),
            ("--preset raid0 --over-provision 7% a b", "needs no space for cleaning"),
            ("--preset raid4 --parity fixed a b c", "use raid4 for fixed parity"),
        ] {
            let error = checked(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
