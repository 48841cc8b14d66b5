//! Files that a command makes to be members, and what becomes of them when it fails.
//!
//! Whoever serves the array may have made them members although the command was told nothing, or something else. So a file
//! is deleted only when the outcome is known and nothing was ever written to it.

use super::space::Space;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Output;
use cygnus_format::DATA_START;
use cygnus_host::place;
use cygnus_types::counted;
use cygnus_uring::{Access, Device, beneath, zoned_file};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files that a command has made.
#[derive(Debug)]
pub struct NewFiles {
    made: Vec<NewFile>,
}

#[derive(Debug)]
struct NewFile {
    path: PathBuf,
    /// Device and inode, so that only what was made is deleted.
    id: (u64, u64),
}

impl NewFiles {
    /// Makes those members that do not exist, if `space` allows it; all of them or none. SIGINT and SIGTERM count as a failure.
    pub fn make(members: &[PathBuf], space: Option<Space>, output: &Output) -> Result<Self, Failure> {
        let held = interrupt::Held::begin().map_err(|error| Failure::Failed(format!("signals: {error}")))?;
        let made = Self::make_all(members, space, output);
        drop(held);
        match made {
            Ok(mut made) if interrupt::requested() => {
                made.delete_unwritten();
                Err(interrupted())
            }
            Err(_) if interrupt::requested() => Err(interrupted()),
            made => made,
        }
    }

    fn make_all(members: &[PathBuf], space: Option<Space>, output: &Output) -> Result<Self, Failure> {
        let mut made = Self { made: Vec::new() };
        for path in members {
            if interrupt::requested() {
                break;
            }
            // A dangling symbolic link exists as far as making a file is concerned; opening it will tell.
            if place::is_drive(path) || beneath(path).symlink_metadata().is_ok() {
                continue;
            }
            if let Some(file) = zoned_file(path) {
                made.delete_unwritten();
                let file = file.display();
                return Err(Failure::Failed(format!(
                    "{file}: no such file: let 'cygnus zoned make {file} --size SIZE' make it"
                )));
            }
            match make_one(path, space, output) {
                Ok(file) => made.made.push(file),
                Err(failure) => {
                    made.delete_unwritten();
                    return Err(failure);
                }
            }
        }
        if let Some(space) = space.filter(|_| !made.made.is_empty() && !interrupt::requested()) {
            space.warn(output);
        }
        Ok(made)
    }

    /// How many were made.
    pub fn count(&self) -> usize {
        self.made.len()
    }

    /// What becomes of them now that `result` is known.
    pub fn settle<T>(mut self, result: Result<T, Failure>, output: &Output) -> Result<T, Failure> {
        match &result {
            Ok(_) => return result,
            Err(Failure::Unknown(_)) => {}
            Err(_) => self.delete_unwritten(),
        }
        if !self.made.is_empty() {
            let paths: Vec<String> = self.made.iter().map(|file| file.path.display().to_string()).collect();
            let (files, paths) = (counted(paths.len(), "file"), paths.join(" "));
            output.warn(&format!(
                "{files} made for this may belong to the array now and nothing was deleted: 'cygnus array scan {paths}' \
                 tells what they hold"
            ));
        }
        result
    }

    /// Deletes what nothing was written to; the others are left here. While it is deleted nobody else has it: another command may have
    /// found it, and be about to make it a member of another array.
    fn delete_unwritten(&mut self) {
        self.made.retain(|file| {
            let ours = std::fs::symlink_metadata(&file.path).is_ok_and(|now| (now.dev(), now.ino()) == file.id);
            let held = Device::open(&file.path, Access::Exclusive);
            let deleted = ours && held.is_ok() && !is_written(&file.path) && std::fs::remove_file(&file.path).is_ok();
            ours && !deleted
        });
    }
}

fn interrupted() -> Failure {
    Failure::Failed("interrupted: nothing was done, and the files that were made for it are deleted".into())
}

fn make_one(path: &Path, space: Option<Space>, output: &Output) -> Result<NewFile, Failure> {
    let Some(space) = space else {
        return Err(Failure::Failed(format!(
            "{}: no such file or device: check the path, or let --create SIZE make it as a file",
            path.display()
        )));
    };
    if is_among_devices(path) {
        return Err(Failure::Failed(format!(
            "{}: no such device: a file made here would lie in memory and be gone at the next start; check the name, or name a \
             file elsewhere for --create to make",
            path.display()
        )));
    }
    space.make(path, output)?;
    let metadata = path.symlink_metadata().map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
    Ok(NewFile { path: path.to_owned(), id: (metadata.dev(), metadata.ino()) })
}

/// Whether a new file would stand among the nodes of devices. Directories that are mounted there, as /dev/shm is, are others' to
/// choose.
fn is_among_devices(path: &Path) -> bool {
    let dev = Path::new("/dev");
    let of = |dir: &Path| dir.metadata().map(|metadata| metadata.dev()).ok();
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return false,
    };
    parent.canonicalize().is_ok_and(|parent| {
        parent.starts_with(dev)
            && !parent.starts_with("/dev/shm")
            && of(&parent).is_some_and(|there| Some(there) == of(dev))
    })
}

/// Whether anything was written where superblocks lie. What cannot be read counts as written.
pub fn is_written(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(DATA_START).read_to_end(&mut head));
    read.is_err() || head.iter().any(|&byte| byte != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::values::Size;
    use crate::args::{ColorWhen, Global};
    use cygnus_host::scratch::Scratch;

    fn output() -> Output {
        Output::new(&Global {
            state: None,
            config: None,
            json: false,
            color: ColorWhen::Never,
            quiet: true,
            verbose: false,
        })
    }

    fn small() -> Option<Space> {
        Space::of(Some(Size(cygnus_types::ByteSize::mib(1))), false)
    }

    fn two_files(scratch: &Scratch) -> [PathBuf; 2] {
        ["a", "b"].map(|name| scratch.path().join(name))
    }

    #[test]
    fn after_a_refusal_only_files_that_hold_something_stay() {
        let scratch = Scratch::new("new-files-refused");
        let [a, b] = two_files(&scratch);
        let files = NewFiles::make(&[a.clone(), b.clone()], small(), &output()).unwrap();
        // As the server does before it gives up.
        let slot = File::options().write(true).open(&b).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&slot, b"CYGNUS", cygnus_format::SUPERBLOCK_OFFSETS[1][0]).unwrap();
        let refused: Result<(), _> = files.settle(Err(Failure::Failed("no".into())), &output());
        assert!(refused.is_err());
        assert!(!a.exists() && b.exists());
    }

    #[test]
    fn what_another_command_has_taken_is_not_deleted() {
        let scratch = Scratch::new("new-files-taken");
        let [a, b] = two_files(&scratch);
        let files = NewFiles::make(&[a.clone(), b.clone()], small(), &output()).unwrap();
        let _taken = Device::open(&a, Access::Exclusive).unwrap();
        let _ = files.settle::<()>(Err(Failure::Failed("no".into())), &output());
        assert!(a.exists() && !b.exists());
    }

    #[test]
    fn nothing_is_deleted_when_the_outcome_is_unknown() {
        let scratch = Scratch::new("new-files-unknown");
        let [a, b] = two_files(&scratch);
        let files = NewFiles::make(&[a.clone(), b.clone()], small(), &output()).unwrap();
        let _ = files.settle::<()>(Err(Failure::Unknown("the server is gone".into())), &output());
        assert!(a.exists() && b.exists());
    }

    #[test]
    fn a_device_that_is_not_there_is_not_made_a_file() {
        let name = PathBuf::from(format!("/dev/../dev/cygnus-no-such-{}", std::process::id()));
        let refused = NewFiles::make(std::slice::from_ref(&name), small(), &output()).unwrap_err();
        assert!(refused.to_string().contains("no such device"), "{refused}");
        assert!(!name.exists());
    }

    #[test]
    fn all_files_are_made_or_none_and_those_of_others_are_left_alone() {
        let scratch = Scratch::new("new-files-all");
        let [a, _] = two_files(&scratch);
        let there = scratch.path().join("there");
        std::fs::write(&there, b"").unwrap();
        let nowhere = scratch.path().join("no/such/directory");
        assert!(NewFiles::make(&[a.clone(), there.clone(), nowhere], small(), &output()).is_err());
        assert!(!a.exists() && there.exists());
        let files = NewFiles::make(std::slice::from_ref(&a), small(), &output()).unwrap();
        std::fs::remove_file(&a).unwrap();
        std::fs::write(&a, b"").unwrap();
        let other = std::fs::metadata(&a).unwrap().ino() != files.made[0].id.1;
        let _ = files.settle::<()>(Err(Failure::Failed("no".into())), &output());
        assert!(a.exists() || !other, "another file in its place is left alone");
    }
}
