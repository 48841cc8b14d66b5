//! `cygnus array create`

use super::cautions::{cautions, on_one_disk};
use super::new_files::NewFiles;
use super::space::Space;
use super::{Context, create_in_place, overwrite};
use crate::args::array::CreateArgs;
use crate::args::values::{Cleaning, Parity, Preset, SegmentSize};
use crate::backend;
use crate::config::Config;
use crate::failure::Failure;
use crate::interrupt;
use cygnus_engine::CreateOptions;
use cygnus_format::{Raid, Raids};
use cygnus_host::place;
use cygnus_host::state::{ArrayRecord, MemberRecord};
use cygnus_policy::{ParityPlacement, Preset as LogPreset, UntilFull};
use cygnus_types::{ByteSize, Medium, Uuid, counted};
use serde::Serialize;
use std::path::PathBuf;

/// What `array create` answers.
#[derive(Debug, Serialize)]
struct Created {
    name: String,
    uuid: String,
    preset: String,
    groups: usize,
    /// Of the widest group.
    data_columns: u8,
    parity_columns: u8,
    /// By group: its data and parity members.
    shapes: Vec<String>,
    members: Vec<PathBuf>,
    /// By group: what of its members stays unused, since each has as many segments as the smallest allows.
    unused_bytes: Vec<u64>,
    /// What somebody should know before trusting it with data.
    cautions: Vec<String>,
}

/// What to say of a group whose members have room that the smallest one does not have; less than a segment is not worth
/// a word.
pub fn unused_sentence(group: u32, unused_bytes: u64, segment_bytes: u64) -> String {
    match unused_bytes >= segment_bytes {
        true => format!(
            " {} of R-group {group} stay unused: each member counts as large as its smallest one.",
            ByteSize(unused_bytes)
        ),
        false => String::new(),
    }
}

/// Carries out `cygnus array create`.
pub fn run(mut args: CreateArgs, mut config: Config, context: &Context) -> Result<(), Failure> {
    config.complete_create(&mut args);
    if args.sparse && args.create.is_none() {
        return Err(Failure::Usage("--sparse is for files that --create SIZE makes, and there is no such size".into()));
    }
    if let Some(Preset::InPlace(level)) = args.preset {
        return create_in_place::run(&args, level, context);
    }
    let options = options(&args)?;
    refuse_known(&args, context)?;
    // Before anything is made: a state directory that cannot be written should not cost the user nine files.
    context.state.ensure()?;
    overwrite::confirm(&args.members, args.force, args.yes)?;

    // A signal between the first superblock and the last line of the state would leave half an array.
    let whole = interrupt::Held::begin().map_err(|error| Failure::Failed(format!("signals: {error}")))?;
    let made = NewFiles::make(&args.members, Space::of(args.create, args.sparse), &context.output)?;
    let array = made.settle(backend::create(&args.members, &options), &context.output)?;
    let backend::NewArray { uuid, shapes, unused_bytes, segment_bytes } = array;
    let widest = shapes.iter().copied().max_by_key(|raid| (raid.width(), raid.data)).expect("it has groups");
    let members = record(&args, uuid, context)?;
    drop(whole);

    let widths = (0..).zip(shapes.iter().map(|raid| usize::from(raid.width())));
    let created = Created {
        name: options.name.clone(),
        uuid: uuid.to_string(),
        preset: options.preset.name().into(),
        groups: shapes.len(),
        data_columns: widest.data,
        parity_columns: widest.parity,
        shapes: shapes.iter().map(Raid::to_string).collect(),
        unused_bytes,
        cautions: cautions(&options, &shapes).into_iter().chain(on_one_disk(&members, widths)).collect(),
        members,
    };
    created.cautions.iter().for_each(|sentence| context.output.warn(sentence));
    let unused = (0..).zip(&created.unused_bytes).map(|(g, &bytes)| unused_sentence(g, bytes, segment_bytes));
    let sentence = format!(
        "Created array {name} ({uuid}): {preset}, {groups}.{unused}\n\
         Next: cygnus volume create {name}/vol0 --size SIZE",
        name = created.name,
        preset = created.preset,
        groups = words_of(&created.shapes),
        unused = unused.collect::<String>(),
    );
    context.output.done(&created, &sentence)
}

/// How many groups there are of which shape, in the order of the first ones.
fn words_of(shapes: &[String]) -> String {
    let is_first = |(at, shape): &(usize, &String)| !shapes[..*at].contains(shape);
    let words = |(_, shape): (usize, &String)| {
        let groups = shapes.iter().filter(|other| *other == shape).count();
        format!("{} of {shape}", counted(groups, "R-group"))
    };
    shapes.iter().enumerate().filter(is_first).map(words).collect::<Vec<_>>().join(", ")
}

/// The array came to be: the state directory is to know it. Answers with its members' absolute paths.
pub fn record(args: &CreateArgs, uuid: Uuid, context: &Context) -> Result<Vec<PathBuf>, Failure> {
    remember(args, uuid, context).map_err(|failure| {
        let paths: Vec<String> = args.members.iter().map(|path| path.display().to_string()).collect();
        Failure::Failed(format!(
            "array {} was created, but not written down: {failure}; 'cygnus array scan {}' does that",
            args.name,
            paths.join(" ")
        ))
    })
}

fn remember(args: &CreateArgs, uuid: Uuid, context: &Context) -> Result<Vec<PathBuf>, Failure> {
    let absolute =
        |path: &PathBuf| place::absolute(path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())));
    let members: Vec<PathBuf> = args.members.iter().map(absolute).collect::<Result<_, _>>()?;
    context.state.save(&ArrayRecord {
        schema: cygnus_control::SCHEMA,
        name: args.name.to_string(),
        uuid: uuid.to_string(),
        kept_in: None,
        spares: Vec::new(),
        members: (0..).zip(&members).map(|(index, path)| MemberRecord { index, path: path.clone() }).collect(),
    })?;
    Ok(members)
}

/// Refuses a name that the state directory has already, or cannot have.
pub fn refuse_known(args: &CreateArgs, context: &Context) -> Result<(), Failure> {
    context.state.control_socket(&args.name)?;
    if context.state.knows(&args.name) {
        return Err(Failure::Failed(format!(
            "{} already knows an array '{name}': choose another name, or destroy that one with 'cygnus array destroy {name}'",
            context.state.path().display(),
            name = args.name,
        )));
    }
    Ok(())
}

/// The options as the engine takes them, or what is wrong with them, with the arithmetic.
fn options(args: &CreateArgs) -> Result<CreateOptions, Failure> {
    let preset = match args.preset {
        Some(Preset::Log(preset)) => preset,
        Some(Preset::InPlace(level)) => unreachable!("{} is made elsewhere", level.name()),
        None => LogPreset::Swan,
    };
    let usual = if preset == LogPreset::Serial { Raid { data: 1, parity: 0 } } else { Raid { data: 2, parity: 1 } };
    if args.members.is_empty() {
        return Err(Failure::Usage("no members: name the files or block devices of the array, group by group".into()));
    }
    let by_medium = args.raid.as_ref().map_or(&[][..], Raids::by_medium);
    let raid = match &args.raid {
        None => usual,
        Some(Raids::All(raid)) => *raid,
        // What the protection of open stripes asks for it asks of all.
        Some(Raids::ByMedium(all)) => all.iter().map(|of| of.1).min_by_key(|raid| raid.parity).unwrap_or(usual),
    };
    if !by_medium.is_empty() && !preset.policies().mixes_media {
        return Err(Failure::Usage(format!(
            "preset {} takes all R-groups for alike: use --raid K+M, or preset salsa, which keeps media apart",
            preset.name()
        )));
    }
    if let Some(medium) = args.media.iter().find(|medium| !names_shape_on(by_medium, **medium)) {
        return Err(Failure::Usage(format!(
            "an R-group is on {medium}, and --raid names no shape for that: add {medium}:K+M, or use K+M for all R-groups"
        )));
    }
    if let Some(Cleaning(rules)) = args.cleaning.as_ref().filter(|_| !preset.policies().mixes_media)
        && !rules.on.is_empty()
    {
        return Err(Failure::Usage(format!(
            "preset {} takes all R-groups for alike: use --cleaning RULE, or preset salsa, which keeps media apart",
            preset.name()
        )));
    }
    let groups = match by_medium {
        [] => Some(number_of_groups(args, preset, raid)?),
        _ => args.groups.map(usize::from),
    };
    let mut options = CreateOptions::new(args.name.as_str(), preset, 0, raid.data, raid.parity);
    options.groups = groups;
    options.raid_on = by_medium.to_vec();
    options.placement = args.parity.map(|parity| match parity {
        Parity::Rotate => ParityPlacement::Rotated,
        Parity::Fixed => ParityPlacement::Fixed,
    });
    if let Some(Cleaning(rules)) = &args.cleaning {
        (options.victim, options.victim_on) = (rules.all, rules.on.clone());
    }
    options.streams = args.streams.map(|streams| streams.0);
    options.media = args.media.clone();
    if let Some(chunk) = args.chunk {
        options.chunk = chunk.0;
    }
    options.segment = match args.segment {
        Some(SegmentSize::Bytes(size)) => Some(size),
        Some(SegmentSize::Auto) | None => None,
    };
    if let Some(percent) = args.over_provision {
        options.over_provision_permille = u16::from(percent.0) * 10;
    }
    let protection = protection(args, preset, raid)?;
    options.until_full = Some(protection);
    options.transient = args.transient.map(|size| size.0);
    options.force = args.force;
    Ok(options)
}

/// Whether it is said what R-groups on a medium are: for each that has some, or one shape for all.
fn names_shape_on(by_medium: &[(Medium, Raid)], medium: Medium) -> bool {
    by_medium.is_empty() || by_medium.iter().any(|(of, _)| *of == medium)
}

/// How many R-groups of this shape the members make, or what is wrong with them, with the arithmetic.
fn number_of_groups(args: &CreateArgs, preset: LogPreset, raid: Raid) -> Result<usize, Failure> {
    let (given, width) = (args.members.len(), usize::from(raid.data) + usize::from(raid.parity));
    let groups = match args.groups {
        Some(groups) => usize::from(groups),
        None => given / width,
    };
    let need = groups * width;
    if need != given || groups == 0 {
        let are = counted(given, "member is").or("members are");
        let arithmetic = match args.groups {
            Some(groups) => {
                let group_s = counted(groups, "R-group");
                let needs = if groups == 1 { "needs" } else { "need" };
                format!("{group_s} of {raid} {needs} {groups} x ({} + {}) = {need}", raid.data, raid.parity)
            }
            None => format!("R-groups of {raid} need a multiple of {} + {} = {}", raid.data, raid.parity, width),
        };
        return Err(Failure::Usage(format!("{arithmetic} members, and {are} given")));
    }
    if groups < preset.min_groups() {
        return Err(Failure::Usage(format!(
            "preset {} needs at least {}, {}, and {groups} is asked for: give more members, or use --preset log-raid",
            preset.name(),
            counted(preset.min_groups(), "R-group"),
            match preset {
                LogPreset::Serial => "one to write to, one that holds data and one in reserve",
                _ => "one to write to while another is cleaned",
            },
        )));
    }
    if groups > preset.max_groups() {
        return Err(Failure::Usage(format!(
            "preset {} works with at most {}, and {groups} are asked for: use --preset swan, or a wider --raid such as {}+{}",
            preset.name(),
            counted(preset.max_groups(), "R-group"),
            given - usize::from(raid.parity),
            raid.parity,
        )));
    }
    Ok(groups)
}

/// What makes safe what unfinished stripes hold.
fn protection(args: &CreateArgs, preset: LogPreset, raid: Raid) -> Result<UntilFull, Failure> {
    let usual = UntilFull::of(preset, true);
    match (args.protection.map_or(usual, |chosen| chosen.0), args.transient) {
        (UntilFull::FullStripe, Some(_)) => Err(Failure::Usage(
            "--transient is the space for copies of unfinished stripes: it goes with --protection two-phase, parity-buffer or offload"
                .into(),
        )),
        (chosen, _) if chosen.has_transient_area() && raid.parity == 0 => Err(Failure::Usage(format!(
            "{chosen} protection keeps what is safe on as many more members as there are parity members, and --raid {raid} has none: \
             use --raid {}+1, or --protection full-stripe",
            raid.data
        ))),
        (protection, _) => Ok(protection),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command, array::ArrayCommand};
    use crate::exit::Exit;
    use clap::Parser;
    use cygnus_policy::Victim;

    fn options_of(line: &str) -> Result<CreateOptions, String> {
        match Cli::try_parse_from(format!("cygnus array create tank {line}").split_whitespace()).unwrap().command {
            Command::Array(ArrayCommand::Create(args)) => options(&args).map_err(|failure| {
                assert_eq!(failure.exit(), Exit::Usage);
                failure.to_string()
            }),
            _ => unreachable!("the line is a create"),
        }
    }

    #[test]
    fn defaults_and_values_arrive() {
        let plain = options_of("a b c d e f").unwrap();
        assert_eq!((plain.preset, plain.groups, plain.data, plain.parity), (LogPreset::Swan, Some(2), 2, 1));
        assert_eq!((plain.over_provision_permille, plain.segment, plain.placement), (200, None, None));
        let serial = options_of("--preset serial a b c d").unwrap();
        assert_eq!((serial.groups, serial.data, serial.parity), (Some(4), 1, 0));
        let all = options_of(
            "--preset log-raid --raid 4+2 --chunk 128K --segment 8MiB --over-provision 7% --parity fixed --cleaning d-choices:7 --force a b c d e f",
        )
        .unwrap();
        assert_eq!(
            (all.preset, all.groups, all.data, all.parity, all.force),
            (LogPreset::LogRaid, Some(1), 4, 2, true)
        );
        assert_eq!((all.chunk, all.segment), (ByteSize::kib(128), Some(ByteSize::mib(8))));
        assert_eq!((all.over_provision_permille, all.placement), (70, Some(ParityPlacement::Fixed)));
        assert_eq!((plain.victim, all.victim), (None, Some(Victim::Choices { among: 7 })));
    }

    #[test]
    fn copies_need_parity_and_two_phases() {
        let chosen = |line| options_of(line).map(|options| (options.until_full.unwrap(), options.transient));
        let is = |line, what| assert_eq!(chosen(line), Ok((what, None)), "{line}");
        is("--preset log-raid a b c", UntilFull::FullStripe);
        is("--preset fusion a b c", UntilFull::TwoPhase);
        is("--preset scala-afa a b c", UntilFull::Offload);
        is("--protection two-phase a b c d e f", UntilFull::TwoPhase);
        is("--protection parity-buffer a b c d e f", UntilFull::ParityBuffer);
        is("--protection offload a b c d e f", UntilFull::Offload);
        is("--preset fusion --protection full-stripe a b c", UntilFull::FullStripe);
        is("--preset scala-afa --protection two-phase a b c", UntilFull::TwoPhase);
        let with_area = chosen("--preset fusion --transient 4MiB a b c");
        assert_eq!(with_area, Ok((UntilFull::TwoPhase, Some(ByteSize::mib(4)))));
        let refused = |line| chosen(line).unwrap_err();
        assert!(refused("--transient 4MiB a b c d e f").contains("--protection two-phase"));
        assert!(refused("--preset fusion --raid 3+0 a b c").contains("use --raid 3+1"));
        assert!(refused("--preset scala-afa --raid 3+0 a b c").contains("use --raid 3+1"));
        assert!(refused("--preset log-raid --protection parity-buffer --raid 3+0 a b c").contains("use --raid 3+1"));
    }

    #[test]
    fn media_have_shapes_and_rules_of_their_own() {
        let four = "--preset salsa --media nvm,smr --raid nvm:1+1,smr:3+2 --cleaning smr:circular,nvm:d-choices:3 a b c d e f g";
        let options = options_of(four).unwrap();
        assert_eq!(options.media, [Medium::Nvm, Medium::Smr]);
        let raid = |data, parity| Raid { data, parity };
        assert_eq!(options.raid_on, [(Medium::Nvm, raid(1, 1)), (Medium::Smr, raid(3, 2))]);
        let rules = [(Medium::Smr, Victim::Oldest), (Medium::Nvm, Victim::Choices { among: 3 })];
        assert_eq!((options.victim, options.victim_on.as_slice()), (None, rules.as_slice()));
        for (line, says) in [
            ("--preset salsa --media nvm,smr --raid nvm:1+1,disk:3+2 a b", "add smr:K+M, or use K+M for all R-groups"),
            ("--preset swan --cleaning smr:circular a b c d e f", "use --cleaning RULE, or preset salsa"),
        ] {
            let error = options_of(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn numbers_that_do_not_match_are_explained() {
        for (line, says) in [
            ("", "no members"),
            (
                "--groups 3 --raid 2+1 a b c d e f g h",
                "3 R-groups of 2+1 need 3 x (2 + 1) = 9 members, and 8 members are given",
            ),
            ("--raid 2+1 a b c d", "R-groups of 2+1 need a multiple of 2 + 1 = 3 members, and 4 members are given"),
            ("--raid 2+1 a", "and 1 member is given"),
            ("--raid 2+1 a b c", "preset swan needs at least 2 R-groups"),
            ("--preset serial a b", "preset serial needs at least 3 R-groups, one to write to, one that holds data"),
            ("--preset log-raid a b c d e f", "use --preset swan, or a wider --raid such as 5+1"),
        ] {
            let error = options_of(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
