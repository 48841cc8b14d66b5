//! `cygnus array scan` and `cygnus array list`

use super::Context;
use crate::failure::Failure;
use cygnus_control::SCHEMA;
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::table::{Align, Table};
use cygnus_host::members::{self, Assembly, Found};
use cygnus_host::moved::BlockDevices;
use cygnus_host::state::{ArrayRecord, MemberRecord};
use cygnus_host::{ArrayName, HostError};
use cygnus_types::{MemberIx, Uuid};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// What `array scan` answers.
#[derive(Debug, Serialize)]
struct Scan {
    arrays: Vec<ScannedArray>,
    others: Vec<OtherPath>,
}

#[derive(Debug, Serialize)]
struct ScannedArray {
    name: String,
    uuid: String,
    preset: String,
    members: Vec<ScannedMember>,
    missing: Vec<usize>,
    oddities: Vec<String>,
    /// Of the missing ones, where they were last seen; shown, and in the state directory for programs.
    #[serde(skip)]
    seen_at: Vec<Option<PathBuf>>,
}

#[derive(Debug, Serialize)]
struct ScannedMember {
    index: usize,
    path: PathBuf,
}

#[derive(Debug, Serialize)]
struct OtherPath {
    path: PathBuf,
    holds: String,
}

impl OtherPath {
    fn unreadable(path: PathBuf, why: &HostError) -> Self {
        Self { path, holds: format!("unreadable: {why}") }
    }
}

/// `cygnus array scan`
pub fn run(paths: &[PathBuf], context: &Context) -> Result<(), Failure> {
    let (places, mut others) = places(paths)?;
    let mut found = Vec::new();
    for path in places {
        match members::look_in_time(&path) {
            Found::Member(member) => found.push(*member),
            Found::Nothing => others.push(OtherPath { path, holds: "nothing".into() }),
            Found::Other(holds) => others.push(OtherPath { path, holds }),
            Found::Unreadable(why) => others.push(OtherPath::unreadable(path, &why)),
        }
    }
    let mut all = remembered_places(&found, context);
    all.extend(found);
    let arrays = members::assemble(all);
    if arrays.is_empty() {
        let looked = others.iter().map(|other| format!("\n  {}: {}", other.path.display(), other.holds));
        let whereabouts =
            if paths.is_empty() { " on this machine's block devices; files have to be named" } else { "" };
        let looked = looked.collect::<String>();
        return Err(Failure::Failed(format!("no member of an array was found{whereabouts}{looked}")));
    }
    // One that cannot be remembered is no reason to leave the others out.
    let (mut remembered, mut failures) = (Vec::new(), Vec::new());
    for (uuid, assembly) in &arrays {
        warn_if_elsewhere(assembly, context);
        match remember(*uuid, assembly, context) {
            Ok(record) => remembered.push(scanned(*uuid, assembly, &record)),
            Err(failure) => failures.push(failure),
        }
    }
    match failures.is_empty() {
        true => {
            let scan = Scan { arrays: remembered, others };
            context.output.answer(&scan, |paint| scan.text(paint))
        }
        false => Err(Failure::Failed(in_part(&failures, &remembered))),
    }
}

/// Where to look; and what was named that does not even say whether it is a directory.
fn places(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<OtherPath>), Failure> {
    if paths.is_empty() {
        return Ok((BlockDevices::of_this_machine().all(), Vec::new()));
    }
    let (mut places, mut others) = (Vec::new(), Vec::new());
    for path in paths {
        match members::expand(path) {
            Ok(inside) => places.extend(inside),
            Err(why @ HostError::NoAnswer { .. }) => others.push(OtherPath::unreadable(path.clone(), &why)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok((places, others))
}

/// Says so if somebody has members of an array whom this state directory does not know.
fn warn_if_elsewhere(assembly: &Assembly, context: &Context) {
    let name = assembly.newest.state.name.parse();
    let is_served = name.is_ok_and(|name| !matches!(context.served_within(&name, SILENCE), Ok(None)));
    if let Some(elsewhere) = context.elsewhere(assembly).filter(|_| !is_served) {
        context.output.warn(&elsewhere);
    }
}

/// Which arrays could not be remembered, and which were all the same.
fn in_part(failures: &[Failure], remembered: &[ScannedArray]) -> String {
    let mut lines: Vec<String> = failures.iter().map(Failure::to_string).collect();
    lines.extend(
        remembered.iter().map(|array| format!("  {} ({}) was found and is remembered", array.name, array.uuid)),
    );
    lines.join("\n")
}

/// What is where members were seen before that are found at other places now. These come first, so of two copies that are equally new
/// the one stays that the array was served with; an older copy takes the place of none.
fn remembered_places(found: &[members::Member], context: &Context) -> Vec<members::Member> {
    let mut there = Vec::new();
    for (uuid, assembly) in members::assemble(found.iter().cloned()) {
        let name = assembly.newest.state.name.parse().ok().filter(|name| context.state.knows(name));
        let record =
            name.and_then(|name| context.state.load(&name).ok()).filter(|record| record.uuid == uuid.to_string());
        let known = record.into_iter().flat_map(|record| record.members);
        let elsewhere = known.filter(|known| {
            let now = assembly.members.get(known.index as usize).and_then(Option::as_ref);
            now.is_some_and(|now| now.path != known.path)
        });
        there.extend(elsewhere.filter_map(|known| match members::look_in_time(&known.path) {
            Found::Member(member) if member.superblock.array == uuid => Some(*member),
            _ => None,
        }));
    }
    there
}

fn scanned(uuid: Uuid, assembly: &Assembly, record: &ArrayRecord) -> ScannedArray {
    let member = |(index, member): (usize, &Option<members::Member>)| {
        member.as_ref().map(|member| ScannedMember { index, path: member.path.clone() })
    };
    let seen_at = |index: &usize| {
        record.members.iter().find(|member| member.index as usize == *index).map(|member| member.path.clone())
    };
    ScannedArray {
        seen_at: assembly.missing().iter().map(seen_at).collect(),
        name: assembly.newest.state.name.clone(),
        uuid: uuid.to_string(),
        preset: assembly.newest.state.preset.clone(),
        members: assembly.members.iter().enumerate().filter_map(member).collect(),
        missing: assembly.missing(),
        oddities: assembly.oddities.clone(),
    }
}

/// Writes down where the members are. Those that were not found keep the place where they were seen before. Answers with what is
/// written now.
fn remember(uuid: Uuid, assembly: &Assembly, context: &Context) -> Result<ArrayRecord, Failure> {
    let name = assembly.newest.state.name.parse().map_err(Failure::of)?;
    let before = match context.state.knows(&name) {
        // What cannot be read is replaced: a scan is the remedy for it.
        true => context.state.load(&name).ok(),
        false => None,
    };
    if let Some(other) = before.as_ref().filter(|record| record.uuid != uuid.to_string()) {
        return Err(Failure::Failed(format!(
            "another array named {name} ({}) is remembered in {}: use another --state for this one ({uuid}), or forget that one, if it is gone, with 'cygnus array forget {name}'",
            other.uuid,
            context.state.path().display(),
        )));
    }
    let seen_before = |index: u32| {
        before.iter().flat_map(|record| &record.members).find(|member| member.index == index).map(|m| m.path.clone())
    };
    let is_member = |(index, _): &(u32, _)| !assembly.newest.state.has_left(MemberIx(*index as u16));
    let place = |(index, member): (u32, &Option<members::Member>)| {
        let path = member.as_ref().map(|member| member.path.clone()).or_else(|| seen_before(index))?;
        Some(MemberRecord { index, path })
    };
    let members = (0..).zip(&assembly.members).filter(is_member).filter_map(place).collect();
    let spares = assembly.spares.iter().map(|spare| spare.path.clone()).collect();
    let kept_in = before.as_ref().and_then(|record| record.kept_in.clone());
    let (name, uuid) = (name.to_string(), uuid.to_string());
    let record = ArrayRecord { schema: SCHEMA, name, uuid, kept_in, spares, members };
    context.state.save(&record)?;
    Ok(record)
}

impl Scan {
    fn text(&self, paint: Paint) -> String {
        let mut out = String::new();
        for array in &self.arrays {
            let (found, all) = (array.members.len(), array.members.len() + array.missing.len());
            let tone = if array.missing.is_empty() { Tone::Good } else { Tone::Warning };
            let count = paint.tone(tone, &format!("{found} of {all} members found"));
            let name = paint.tone(Tone::Heading, &array.name);
            out.push_str(&format!("{name} ({}): {}, {count}\n", array.uuid, array.preset));
            for member in &array.members {
                out.push_str(&format!("  {:>3}  {}\n", member.index, member.path.display()));
            }
            for (index, seen_at) in array.missing.iter().zip(&array.seen_at) {
                let words = match seen_at {
                    Some(path) => {
                        paint.tone(Tone::Warning, &format!("not found here; last seen at {}", path.display()))
                    }
                    None => {
                        paint.tone(Tone::Bad, "not found here, and nobody remembers where it was: scan its place too")
                    }
                };
                out.push_str(&format!("  {index:>3}  {words}\n"));
            }
            for oddity in &array.oddities {
                out.push_str(&format!("  {}\n", paint.tone(Tone::Warning, oddity)));
            }
        }
        for other in &self.others {
            out.push_str(&paint.tone(Tone::Faint, &format!("{}: {}", other.path.display(), other.holds)));
            out.push('\n');
        }
        out
    }
}

/// How long a server of one of several arrays may take to answer, before the others are told without it.
const SILENCE: Duration = Duration::from_secs(3);

/// What `array list` answers.
#[derive(Debug, Serialize)]
struct List {
    arrays: Vec<ListedArray>,
}

#[derive(Debug, Serialize)]
struct ListedArray {
    name: String,
    uuid: String,
    served: bool,
    /// Why its server gives no answer, if it has one that does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent: Option<String>,
    /// Who has members of it for itself, if that is no server that this state directory knows of.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_use_by: Option<String>,
    members: usize,
}

/// `cygnus array list`
pub fn list(context: &Context) -> Result<(), Failure> {
    let mut arrays = Vec::new();
    for record in context.state.list()? {
        match record {
            Ok(record) => {
                let name = record.name.parse().map_err(Failure::of)?;
                let (served, silent) = match context.served_within(&name, SILENCE) {
                    Ok(serve) => (serve.is_some(), None),
                    // One that does not answer is no reason to leave the others out.
                    Err(failure) => (true, Some(failure.to_string())),
                };
                silent.iter().for_each(|why| context.output.warn(why));
                let in_use_by = if served { None } else { in_use_by(&name, context) };
                arrays.push(ListedArray {
                    silent,
                    in_use_by,
                    name: record.name,
                    uuid: record.uuid,
                    served,
                    members: record.members.len(),
                });
            }
            Err(error) => context.output.warn(&error.to_string()),
        }
    }
    let list = List { arrays };
    context.output.answer(&list, |paint| list.text(paint, context))
}

/// Who has members of an array for itself that no server here has. Of members that cannot be found nobody does.
fn in_use_by(name: &ArrayName, context: &Context) -> Option<String> {
    let (_, assembly) = Assembly::at_rest(&context.state, name).ok()?;
    if let Some(elsewhere) = context.elsewhere(&assembly) {
        context.output.warn(&elsewhere);
    }
    assembly.holder().map(|(_, holder)| holder.to_string())
}

impl List {
    fn text(&self, paint: Paint, context: &Context) -> String {
        if self.arrays.is_empty() {
            let state = context.state.path().display();
            return format!(
                "{state} knows no arrays: make one with 'cygnus array create', or find one with 'cygnus array scan PATH...'\n"
            );
        }
        let mut table = Table::new(&[
            ("ARRAY", Align::Left),
            ("MEMBERS", Align::Right),
            ("NOW", Align::Left),
            ("UUID", Align::Left),
        ]);
        for array in &self.arrays {
            let (tone, now) = match &array.in_use_by {
                _ if array.silent.is_some() => (Tone::Bad, "its server does not answer".into()),
                _ if array.served => (Tone::Good, "served".into()),
                None => (Tone::Faint, "stopped".into()),
                Some(holder) => (Tone::Warning, format!("in use by {holder}")),
            };
            table.row(vec![
                (Tone::Normal, array.name.clone()),
                (Tone::Normal, array.members.to_string()),
                (tone, now),
                (Tone::Normal, array.uuid.clone()),
            ]);
        }
        table.render(paint)
    }
}
