//! Files that commands write results to. None of them is ever a member of an array: not by its path, nor through a link, a
//! device node or a loop device.

mod begun;

use crate::failure::Failure;
use begun::Begun;
use cygnus_format::{SUPERBLOCK_AREA, Superblock, SuperblockError};
use cygnus_host::state::StateDir;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Opens a file to be written to in place: a new one, or with `replace` one that exists and is no member. What that holds
/// stays until its caller empties it, which another output's refusal may forestall.
pub fn open(path: &Path, replace: bool, state: &StateDir) -> Result<File, Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    if path.symlink_metadata().is_err() {
        return File::options().write(true).create_new(true).open(path).map_err(failed);
    }
    refuse_existing(path, replace)?;
    refuse_remembered(path, state)?;
    File::options().write(true).open(path).map_err(failed)
}

/// Opens a result to be read and added to: a new one, or one that exists and is no member.
pub fn append(path: &Path) -> Result<File, Failure> {
    if path.symlink_metadata().is_ok() {
        refuse_existing(path, true)?;
    }
    let opened = File::options().read(true).append(true).create(true).open(path);
    opened.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

/// Writes a file that is whole or not there: with `replace` in place of one that exists and is no member.
pub fn create<T>(
    path: &Path,
    replace: bool,
    write: impl FnOnce(BufWriter<File>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (written, done) = Written::new(path, replace, write)?;
    written.finish()?;
    Ok(done)
}

/// A file that is written, and has not got its name yet; gone unless it gets that.
struct Written {
    path: PathBuf,
    begun: Begun,
}

impl Written {
    fn new<T>(
        path: &Path,
        replace: bool,
        write: impl FnOnce(BufWriter<File>) -> Result<T, Failure>,
    ) -> Result<(Self, T), Failure> {
        let failed = |error: io::Error| failed(path, &error);
        if path.symlink_metadata().is_ok() {
            refuse_existing(path, replace)?;
        }
        // What a link leads to is replaced, and not the link, which may be the system's, as /dev/stdout is.
        let path = if path.is_symlink() { path.canonicalize().map_err(failed)? } else { path.into() };
        let begun = Begun::beside(&path).map_err(failed)?;
        let done = write(BufWriter::with_capacity(256 << 10, begun.file().map_err(failed)?))?;
        Ok((Self { path, begun }, done))
    }

    fn with(path: &Path, contents: &[u8]) -> Result<Self, Failure> {
        let write = |mut file: BufWriter<File>| file.write_all(contents).and_then(|()| file.flush());
        Ok(Self::new(path, true, |file| write(file).map_err(|error| failed(path, &error)))?.0)
    }

    fn finish(self) -> Result<(), Failure> {
        self.begun.finish(&self.path).map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

/// Writes a result whose name the command chose, in place of an older one.
pub fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
    Written::with(path, contents.as_ref())?.finish()
}

/// Writes results below a directory, which is made if need be.
pub fn write_all(dir: &Path, files: &[(String, impl AsRef<[u8]>)]) -> Result<(), Failure> {
    WrittenTogether::new(dir, files)?.finish()
}

/// Files that are written, and have not got their names yet: what cannot be written leaves all older ones as they are.
pub struct WrittenTogether(Vec<Written>);

impl WrittenTogether {
    /// Below a directory, which is made if need be.
    pub fn new(dir: &Path, files: &[(String, impl AsRef<[u8]>)]) -> Result<Self, Failure> {
        fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
        let written = files.iter().map(|(name, contents)| Written::with(&dir.join(name), contents.as_ref()));
        written.collect::<Result<_, _>>().map(Self)
    }

    /// Gives all their names, in order, in place of older ones.
    pub fn finish(self) -> Result<(), Failure> {
        self.0.into_iter().try_for_each(Written::finish)
    }
}

/// Removes an older result whose name the command chose, if there is one.
pub fn remove(path: &Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    refuse_existing(path, true)?;
    fs::remove_file(path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

/// Refuses what exists, unless it may be replaced and is a regular file without a superblock.
fn refuse_existing(path: &Path, replace: bool) -> Result<(), Failure> {
    let refuse = |why: &str| Err(Failure::Failed(format!("{} {why}", path.display())));
    let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    if !replace {
        return refuse("exists: name another file, or add --force");
    }
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return refuse("is no regular file, and results are written to such only: name another file");
    }
    match superblock(&File::open(path).map_err(failed)?).map_err(failed)? {
        Ok(found) => refuse(&format!(
            "is a member of array {} ({}), to which no results are written: name another file",
            found.state.name, found.array
        )),
        Err(SuperblockError::NotASuperblock) => Ok(()),
        Err(_) => refuse("holds the remains of a member of an array: name another file"),
    }
}

fn superblock(file: &File) -> io::Result<Result<Superblock, SuperblockError>> {
    if file.metadata()?.len() < SUPERBLOCK_AREA {
        return Ok(Err(SuperblockError::NotASuperblock));
    }
    let mut head = vec![0; SUPERBLOCK_AREA as usize];
    file.read_exact_at(&mut head, 0)?;
    Ok(Superblock::newest(&head))
}

/// Refuses where a member was last seen, whatever that holds now: salvage is for arrays whose superblocks may be gone.
fn refuse_remembered(path: &Path, state: &StateDir) -> Result<(), Failure> {
    let id = |path: &Path| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    let own = id(path);
    for record in state.list()?.into_iter().flatten() {
        if own.is_some() && record.paths().any(|place| id(place) == own) {
            let (path, name) = (path.display(), &record.name);
            return Err(Failure::Failed(format!(
                "{path} is where a member of array {name} was last seen: name another file"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::scratch::Scratch;
    use cygnus_host::state::{ArrayRecord, MemberRecord};

    /// Both ways to write a result with `--force`.
    fn attempts(path: &Path, state: &StateDir) -> [Result<(), Failure>; 2] {
        [open(path, true, state).map(drop), create(path, true, |_| Ok(()))]
    }

    fn scratch(what: &str) -> (Scratch, StateDir) {
        let scratch = Scratch::new(what);
        let state = StateDir::new(scratch.path().join("state"));
        (scratch, state)
    }

    fn member(path: PathBuf) -> PathBuf {
        let mut bytes = vec![0; 2 << 20];
        // Broken, but a superblock: not even what is left of one is overwritten.
        bytes[..8].copy_from_slice(&cygnus_format::superblock::SUPERBLOCK_MAGIC);
        fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn members_are_refused_whatever_leads_to_them() {
        let (scratch, state) = scratch("outfile-member");
        let member = member(scratch.path().join("d0"));
        let before = fs::read(&member).unwrap();
        let [hard, soft] = ["hard", "soft"].map(|name| scratch.path().join(name));
        fs::hard_link(&member, &hard).unwrap();
        std::os::unix::fs::symlink(&member, &soft).unwrap();
        for path in [&member, &hard, &soft] {
            for attempt in attempts(path, &state) {
                assert!(attempt.unwrap_err().to_string().contains("member of an array"), "{}", path.display());
            }
        }
        assert_eq!(fs::read(&member).unwrap(), before);
    }

    #[test]
    fn devices_and_directories_are_refused() {
        let (scratch, state) = scratch("outfile-devices");
        for path in [Path::new("/dev/null"), scratch.path()] {
            for attempt in attempts(path, &state) {
                assert!(attempt.unwrap_err().to_string().contains("no regular file"), "{}", path.display());
            }
        }
    }

    #[test]
    fn where_a_member_was_last_seen_nothing_is_put_by_salvage() {
        let (scratch, state) = scratch("outfile-remembered");
        let path = scratch.path().join("d0");
        fs::write(&path, b"its superblocks are gone").unwrap();
        let members = vec![MemberRecord { index: 0, path: path.clone() }];
        let (name, uuid) = ("tank".into(), "u".into());
        let (schema, spares) = (cygnus_control::SCHEMA, Vec::new());
        state.save(&ArrayRecord { schema, name, uuid, kept_in: None, spares, members }).unwrap();
        assert!(open(&path, true, &state).unwrap_err().to_string().contains("array tank was last seen"));
        assert_eq!(fs::read(&path).unwrap(), b"its superblocks are gone");
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_replaced() {
        let (scratch, _) = scratch("outfile-link");
        let [file, link] = ["file", "link"].map(|name| scratch.path().join(name));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, "new").unwrap();
        assert!(link.is_symlink() && fs::read_to_string(&file).unwrap() == "new");
    }

    #[test]
    fn results_are_whole_or_not_there_and_replaced_only_if_wanted() {
        let (scratch, state) = scratch("outfile-whole");
        let path = scratch.path().join("out");
        let broken: Result<(), _> = create(&path, false, |_| Err(Failure::Failed("no".into())));
        assert!(broken.is_err() && fs::read_dir(scratch.path()).unwrap().count() == 0);
        write(&path, "one").unwrap();
        assert!(create(&path, false, |_| Ok(())).unwrap_err().to_string().contains("--force"));
        assert!(open(&path, false, &state).unwrap_err().to_string().contains("--force"));
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        let no_file = [("out".to_owned(), "three"), ("no/such".to_owned(), "directory")];
        assert!(write_all(scratch.path(), &no_file).is_err());
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "two",
            "of files that are written together all are new, or none"
        );
        open(&path, true, &state).unwrap().set_len(0).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }
}
