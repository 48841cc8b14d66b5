//! `cygnus array salvage`

use super::{Context, status};
use crate::args::array::SalvageArgs;
use crate::backend;
use crate::ddrescue::{Map, Status};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::outfile;
use crate::output::LogLines;
use crate::progress::{Bar, Counts};
use cygnus_engine::{Salvage, Volume};
use cygnus_host::members::Assembly;
use cygnus_host::state::StateDir;
use cygnus_types::{BLOCK, ByteSize, Lba, counted};
use serde::Serialize;
use std::cell::RefCell;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Blocks read at a time.
const PIECE: u64 = 256;

/// What was copied.
#[derive(Debug, Default, Serialize)]
struct Answer {
    volume: String,
    size_bytes: u64,
    /// Bytes of data that were read and match their checksums. What is neither that nor a hole is zeros.
    data_bytes: u64,
    lost_bytes: u64,
    /// Bytes of which nobody knows whether they held anything.
    unknown_bytes: u64,
    holes: Vec<Hole>,
    /// What is missing or in doubt.
    remarks: Vec<String>,
    #[serde(skip)]
    map: Map,
}

#[derive(Debug, Serialize)]
struct Hole {
    offset: u64,
    bytes: u64,
    /// "lost" or "unknown".
    what: &'static str,
}

/// Carries out `cygnus array salvage`.
pub fn run(args: &SalvageArgs, context: &Context) -> Result<Exit, Failure> {
    let array = &args.volume.array;
    if args.map.as_ref() == Some(&args.out) {
        return Err(Failure::Usage("the copy and its map need a file each".into()));
    }
    let record = context.state.load(array)?;
    context.require_stopped(array, "salvage")?;
    // An array of which no member can be found has nothing to be salvaged either, and is told so below.
    let (record, assembly) = match Assembly::at_rest(&context.state, array) {
        Ok((record, assembly)) => (record, Some(assembly)),
        Err(_) => (record, None),
    };
    if let Some(elsewhere) = assembly.as_ref().and_then(|assembly| context.elsewhere(assembly)) {
        // A copy of what is being written would be of no moment at all.
        return Err(Failure::Failed(format!("{elsewhere}, or stop it first to salvage {array}")));
    }
    assembly.as_ref().map_or(Ok(()), |assembly| status::refuse_in_place(assembly, "salvage"))?;
    let moved = assembly.as_ref().map_or(Vec::new(), |assembly| assembly.moved.clone());
    let left = assembly.and_then(|assembly| assembly.left_in_memory());
    let left = left.map(|has_left| {
        format!(
            "a server that was killed {has_left}, which are no part of the copy: the next start puts them on \
             the members"
        )
    });
    let log = Arc::new(LogLines::details(context.output));
    let remarks = RefCell::new(Vec::from_iter(left));
    let mut answer = backend::salvage(
        &record,
        &moved,
        log,
        |text| remarks.borrow_mut().push(text),
        async |salvage| {
            let name = &args.volume.volume;
            let volume = salvage.volume(name).ok_or_else(|| {
                let known = salvage.volume_names();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                Failure::Failed(format!("{array} has no volume {name:?}; it has {known}"))
            })?;
            remarks.borrow_mut().extend_from_slice(salvage.remarks());
            let (out, map) = open_both(args, volume.size(), &context.state)?;
            let copied =
                copy(salvage, &volume, &out, &Bar::new(context.output, Counts::Bytes, Some(volume.size()))).await;
            let answer = copied.map_err(|error| Failure::Failed(format!("{}: {error}", args.out.display())))?;
            map.map_or(Ok(()), |map| write_map(&map, args, &answer))?;
            Ok(answer)
        },
    )?;
    answer.volume = args.volume.to_string();
    answer.remarks = remarks.take();
    context.output.answer(&answer, |_| text(&answer, &args.out))?;
    if answer.holes.is_empty() {
        return Ok(Exit::Done);
    }
    let holes = counted(answer.holes.len(), "hole");
    context.output.complain(&format!("{} has {holes}: {}", args.out.display(), missing(&answer)));
    Ok(Exit::Unavailable)
}

/// How much is not there, in words.
fn missing(answer: &Answer) -> String {
    format!("{} lost, {} unknown", ByteSize(answer.lost_bytes), ByteSize(answer.unknown_bytes))
}

/// The files of the copy, as long as the volume, and of its map: both before the long work begins, and if either cannot be had,
/// none is left that was not there.
fn open_both(args: &SalvageArgs, size: u64, state: &StateDir) -> Result<(File, Option<File>), Failure> {
    let open = |path: &PathBuf| {
        let is_new = path.symlink_metadata().is_err();
        let file = outfile::open(path, args.force, state)?;
        Ok::<_, Failure>((file, New(is_new.then(|| path.clone()))))
    };
    let (out, mut new_out) = open(&args.out)?;
    let (map, mut new_map) = args.map.as_ref().map(open).transpose()?.unzip();
    // What an older copy holds goes only once it is clear that the new one fits.
    let emptied = out.set_len(size).and_then(|()| out.set_len(0)).and_then(|()| out.set_len(size));
    emptied.map_err(|error| Failure::Failed(format!("{}: {}", args.out.display(), too_long(error, size))))?;
    new_out.0 = None;
    new_map.iter_mut().for_each(|new: &mut New| new.0 = None);
    Ok((out, map))
}

/// Why a file cannot be as long as the volume.
fn too_long(error: std::io::Error, size: u64) -> String {
    if error.kind() != ErrorKind::FileTooLarge {
        return error.to_string();
    }
    format!(
        "the largest file that may be here is smaller than the volume of {}: name one on a file system that takes larger ones, \
         as XFS does (up to 8 EiB)",
        ByteSize(size)
    )
}

/// A file that was made here, and that goes unless this is told to forget it.
struct New(Option<PathBuf>);

impl Drop for New {
    fn drop(&mut self) {
        // It is empty; one that cannot be removed is left.
        let _ = self.0.take().map(std::fs::remove_file);
    }
}

async fn copy(salvage: &Salvage, volume: &Volume, out: &File, bar: &Bar) -> std::io::Result<Answer> {
    let end = volume.size() / BLOCK as u64;
    let zeros = if salvage.knows_all_blocks() { Status::Copied } else { Status::Unknown };
    let mut answer = Answer { size_bytes: volume.size(), ..Answer::default() };
    let mut next = Lba(0);
    while let Some(first) = salvage.next_data(volume, next).filter(|first| first.0 < end) {
        let blocks = PIECE.min(end - first.0);
        let piece = salvage.read(volume, first, blocks as usize).await;
        answer.map.push(first.byte_offset() - next.byte_offset(), zeros);
        for (n, block) in piece.data.bytes().chunks(BLOCK).enumerate() {
            let lost = piece.lost.contains(&first.plus(n as u64));
            let status = if lost {
                Status::Lost
            } else if is_zeros(block) {
                zeros
            } else {
                Status::Copied
            };
            answer.map.push(BLOCK as u64, status);
        }
        answer.data_bytes += write_data(out, first.byte_offset(), piece.data.bytes())?;
        next = first.plus(blocks);
        bar.reach(next.byte_offset());
    }
    answer.map.push(volume.size() - next.byte_offset(), zeros);
    out.sync_all()?;
    for (range, status) in answer.map.runs() {
        let bytes = range.end - range.start;
        let what = match status {
            Status::Copied => continue,
            Status::Lost => "lost",
            Status::Unknown => "unknown",
        };
        *if *status == Status::Lost { &mut answer.lost_bytes } else { &mut answer.unknown_bytes } += bytes;
        answer.holes.push(Hole { offset: range.start, bytes, what });
    }
    Ok(answer)
}

fn is_zeros(block: &[u8]) -> bool {
    block.iter().all(|&byte| byte == 0)
}

/// Writes what is not zeros; returns how many bytes that is.
fn write_data(out: &File, offset: u64, data: &[u8]) -> std::io::Result<u64> {
    let is_data: Vec<bool> = data.chunks(BLOCK).map(|block| !is_zeros(block)).collect();
    let (mut at, mut written) = (0, 0);
    for run in is_data.chunk_by(|a, b| a == b) {
        let bytes = run.len() * BLOCK;
        if run[0] {
            out.write_all_at(&data[at..at + bytes], offset + at as u64)?;
            written += bytes as u64;
        }
        at += bytes;
    }
    Ok(written)
}

fn write_map(file: &File, args: &SalvageArgs, answer: &Answer) -> Result<(), Failure> {
    let command = format!("cygnus array salvage {} {}", args.volume, args.out.display());
    let text = answer.map.text(&command);
    let written = file.set_len(0).and_then(|()| file.write_all_at(text.as_bytes(), 0)).and_then(|()| file.sync_all());
    written.map_err(|error| Failure::Failed(format!("the map: {error}")))
}

fn text(answer: &Answer, out: &Path) -> String {
    let remarks: String = answer.remarks.iter().map(|remark| format!("note: {remark}\n")).collect();
    format!(
        "{remarks}{} of data of {} ({}) copied to {}; {}\n",
        ByteSize(answer.data_bytes),
        answer.volume,
        ByteSize(answer.size_bytes),
        out.display(),
        missing(answer)
    )
}
