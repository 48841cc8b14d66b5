//! The state directory: where members were last seen, and the control sockets.
//!
//! It is a memory, never the truth: the truth is in the superblocks. A file of it is replaced whole (written beside,
//! synced, renamed, directory synced), so a crash leaves the old or the new one.

use crate::{ArrayName, HostError, kept};
use cygnus_runtime::Keeper;
use cygnus_types::{MemberIx, Uuid};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// The longest path that fits in a Unix socket's address (`sun_path` less its NUL).
const MAX_SOCKET_PATH: usize = 107;

/// Used when neither flag, environment nor configuration names one.
pub const DEFAULT: &str = "/var/lib/cygnus";

/// The directory that counts: the flag's, the environment's, the configuration file's, the default.
pub fn choose(flag: Option<PathBuf>, config: Option<PathBuf>) -> PathBuf {
    let environment = || std::env::var_os("CYGNUS_STATE").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    flag.or_else(environment).or(config).unwrap_or_else(|| DEFAULT.into())
}

const HEADER: &str = "\
# Written by cygnus: where the members of this array were last seen. It may be deleted; 'cygnus array scan' finds them again.
";

/// Why the state directory cannot be used.
#[derive(Debug, Error)]
pub enum StateError {
    /// The directory or a file in it cannot be read or written.
    #[error("{path}: {source}{hint}", path = path.display(), hint = hint(source))]
    Io {
        /// What could not be read or written.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file in it is not what we wrote.
    #[error("{path}: {message}: delete it and run 'cygnus array scan' on the members", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// It has no array of that name.
    #[error("{dir} knows no array '{name}': see 'cygnus array list', or find it with 'cygnus array scan PATH...'", dir = dir.display())]
    Unknown {
        /// The state directory.
        dir: PathBuf,
        /// The name asked for.
        name: ArrayName,
    },
    /// Another array has the name there.
    #[error("{path}: it is of another array of this name ({uuid}): give one of them another --state", path = path.display())]
    Taken {
        /// The file.
        path: PathBuf,
        /// That array's identity.
        uuid: String,
    },
    /// Its path leaves no room for the sockets.
    #[error("{path}: {length} bytes are too long for a Unix socket (at most {MAX_SOCKET_PATH}): use a shorter --state", path = path.display())]
    TooLong {
        /// The socket.
        path: PathBuf,
        /// Its length.
        length: usize,
    },
}

fn hint(source: &std::io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::PermissionDenied => ": run as another user, or choose a directory with --state DIR or $CYGNUS_STATE",
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::ReadOnlyFilesystem => {
            ": choose a directory that can be written to with --state DIR or $CYGNUS_STATE"
        }
        _ => "",
    }
}

/// What is remembered of one array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayRecord {
    /// The version of this file's form.
    pub schema: u32,
    /// The array's name.
    pub name: String,
    /// Its identity, as superblocks have it: a UUID as text.
    pub uuid: String,
    /// The directory in which the last server kept what was on its way to the members, if it was told one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<PathBuf>,
    /// Where its spares are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spares: Vec<PathBuf>,
    /// Where its members are.
    #[serde(rename = "member", default)]
    pub members: Vec<MemberRecord>,
}

impl ArrayRecord {
    /// Everywhere that a device of the array was last seen.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.members.iter().map(|member| &member.path).chain(&self.spares)
    }

    /// The array's identity.
    ///
    /// # Errors
    /// When somebody has written something else there.
    pub fn array(&self) -> Result<Uuid, HostError> {
        self.uuid.parse().map_err(|_| HostError::NoUuid(self.uuid.clone()))
    }

    /// Who may have what its last server had in memory when it was killed.
    ///
    /// # Errors
    /// As [`Self::array`].
    pub fn keepers(&self) -> Result<Vec<Arc<dyn Keeper>>, HostError> {
        Ok(kept::keepers(self.kept_in.as_deref(), self.array()?))
    }

    /// Remembers devices that are, or may come to be, of the array without being members: each place once.
    pub fn add_spares(&mut self, paths: &[PathBuf]) {
        for path in paths {
            if !self.spares.contains(path) {
                self.spares.push(path.clone());
            }
        }
    }

    /// Without places that are there twice, or that members are at.
    fn tidy(&self) -> Self {
        let mut tidy = Self { spares: Vec::new(), members: Vec::new(), ..self.clone() };
        for member in &self.members {
            if !tidy.members.iter().any(|known| known.path == member.path) {
                tidy.members.push(member.clone());
            }
        }
        tidy.add_spares(&self.spares);
        tidy.spares.retain(|path| !self.members.iter().any(|member| member.path == *path));
        tidy
    }

    /// Remembers where a member is now. Nobody else is there.
    pub fn set_member(&mut self, member: MemberIx, path: PathBuf) {
        let index = u32::from(member.0);
        self.members.retain(|known| known.index == index || known.path != path);
        match self.members.iter_mut().find(|known| known.index == index) {
            Some(known) => known.path = path,
            None => self.members.push(MemberRecord { index, path }),
        }
        self.members.sort_by_key(|known| known.index);
    }

    /// Remembers where members numbered from `first` on are.
    pub fn set_members(&mut self, first: usize, paths: &[PathBuf]) {
        for (index, path) in (first as u16..).map(MemberIx).zip(paths) {
            self.set_member(index, path.clone());
        }
    }
}

/// Where one member was last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRecord {
    /// Its index in the array.
    pub index: u32,
    /// Absolute path of its file or device, or its address if it is a software SSD.
    pub path: PathBuf,
}

/// The directory in which this machine notes its arrays and where their members were last seen.
#[derive(Clone, Debug)]
pub struct StateDir {
    dir: PathBuf,
}

impl StateDir {
    /// The directory at `dir`, which need not exist yet.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    fn record_path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.toml"))
    }

    /// The control socket of an array, whether or not it is served.
    pub fn control_socket(&self, name: &ArrayName) -> Result<PathBuf, StateError> {
        let path = self.dir.join(format!("{name}.ctl"));
        match path.as_os_str().len() {
            length if length > MAX_SOCKET_PATH => Err(StateError::TooLong { path, length }),
            _ => Ok(path),
        }
    }

    /// The NBD socket of an array when `serve` is told no address.
    pub fn default_nbd_socket(&self, name: &ArrayName) -> PathBuf {
        self.dir.join(format!("{name}.sock"))
    }

    /// Makes the directory if it is not there.
    pub fn ensure(&self) -> Result<(), StateError> {
        fs::create_dir_all(&self.dir).map_err(|source| StateError::Io { path: self.dir.clone(), source })
    }

    /// What is remembered of `name`, or [`StateError::Unknown`].
    pub fn load(&self, name: &ArrayName) -> Result<ArrayRecord, StateError> {
        let path = self.record_path(name.as_str());
        match read(&path)? {
            Some(record) => Ok(record),
            None => Err(StateError::Unknown { dir: self.dir.clone(), name: name.clone() }),
        }
    }

    /// Whether `name` is remembered.
    pub fn knows(&self, name: &ArrayName) -> bool {
        self.record_path(name.as_str()).exists()
    }

    /// All records by name, and the errors of those that cannot be read.
    pub fn list(&self) -> Result<Vec<Result<ArrayRecord, StateError>>, StateError> {
        let io_error = |source| StateError::Io { path: self.dir.clone(), source };
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io_error)?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(io_error)?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths.iter().filter_map(|path| read(path).transpose()).collect())
    }

    /// Remembers an array, replacing what was remembered of it. What is remembered of another one of that name stays: a server whose
    /// directory was deleted, and made anew by somebody else, must not put its own array in that one's place.
    pub fn save(&self, record: &ArrayRecord) -> Result<(), StateError> {
        self.ensure()?;
        let _locked = self.lock()?;
        self.write(record)
    }

    /// Changes what is remembered of `name`, and answers with what is now: other commands that do so at the same time come before or
    /// after, so that none undoes what another one noted.
    pub fn update(&self, name: &ArrayName, change: impl FnOnce(&mut ArrayRecord)) -> Result<ArrayRecord, StateError> {
        let _locked = self.lock()?;
        let mut record = self.load(name)?;
        change(&mut record);
        self.write(&record)?;
        Ok(record)
    }

    /// While it lives, nobody else changes a record. It is the directory itself that is locked: no file is left behind.
    fn lock(&self) -> Result<File, StateError> {
        let locked = File::open(&self.dir).and_then(|dir| dir.lock().map(|()| dir));
        locked.map_err(|source| StateError::Io { path: self.dir.clone(), source })
    }

    fn write(&self, record: &ArrayRecord) -> Result<(), StateError> {
        let path = self.record_path(&record.name);
        // What cannot be read is of nobody.
        if let Ok(Some(there)) = read(&path)
            && there.uuid != record.uuid
        {
            return Err(StateError::Taken { path, uuid: there.uuid });
        }
        let text = toml::to_string(&record.tidy()).expect("a record is plain data");
        replace(&path, format!("{HEADER}{text}").as_bytes()).map_err(|source| StateError::Io { path, source })
    }

    /// Forgets an array; no error if it was not remembered.
    pub fn forget(&self, name: &ArrayName) -> Result<(), StateError> {
        let path = self.record_path(name.as_str());
        match fs::remove_file(&path).and_then(|()| sync_dir(&self.dir)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StateError::Io { path, source: error }),
            _ => Ok(()),
        }
    }
}

fn read(path: &Path) -> Result<Option<ArrayRecord>, StateError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|source| StateError::Io { path: path.into(), source })?,
    };
    let damaged = |message: String| StateError::Damaged { path: path.into(), message };
    let record: ArrayRecord = toml::from_str(&text).map_err(|error| damaged(error.message().to_string()))?;
    match record.schema {
        cygnus_control::SCHEMA => Ok(Some(record.tidy())),
        other => Err(damaged(format!("schema {other} was written by another version of cygnus"))),
    }
}

/// Replaces `path` so that a crash leaves either the old or the new contents.
fn replace(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let dir = path.parent().expect("a record lies in the state directory");
    // The process id keeps two commands from writing into the same temporary file; the last rename wins.
    let temporary = path.with_extension(format!("new-{}", std::process::id()));
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(contents)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        // A directory that is full does not become fuller with each attempt. Why that failed is what the caller wants to know.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    sync_dir(dir)
}

fn sync_dir(dir: &Path) -> std::io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn record(name: &str) -> ArrayRecord {
        let members =
            (0..3).map(|index| MemberRecord { index, path: PathBuf::from(format!("/srv/d \"{index}\"")) }).collect();
        ArrayRecord { schema: 1, name: name.into(), uuid: "u-u".into(), kept_in: None, spares: Vec::new(), members }
    }

    #[test]
    fn each_place_is_remembered_once() {
        let scratch = Scratch::new("state-twice");
        let state = StateDir::new(scratch.path().into());
        let mut twice = record("tank");
        let (spare, member) = (PathBuf::from("/srv/spare"), twice.members[0].path.clone());
        twice.spares = vec![spare.clone(), member, spare.clone()];
        twice.add_spares(std::slice::from_ref(&spare));
        state.save(&twice).unwrap();
        assert_eq!(state.load(&"tank".parse().unwrap()).unwrap().spares, [spare]);
        // Group 0 left, and its number was given to others; one of them has another place since.
        let places = |names: [&str; 3]| names.map(|name| PathBuf::from("/srv").join(name));
        twice.set_members(0, &places(["new0", "new1", "new2"]));
        twice.set_members(3, &places(["new2", "x", "y"]));
        let members: Vec<_> =
            twice.members.iter().map(|member| (member.index, member.path.to_str().unwrap())).collect();
        assert_eq!(members, [(0, "/srv/new0"), (1, "/srv/new1"), (3, "/srv/new2"), (4, "/srv/x"), (5, "/srv/y")]);
        // As an older version left it.
        twice.members.push(MemberRecord { index: 8, path: "/srv/x".into() });
        state.save(&twice).unwrap();
        assert_eq!(state.load(&"tank".parse().unwrap()).unwrap().members.len(), 5);
    }

    #[test]
    fn what_is_saved_is_loaded_and_forgotten() {
        let scratch = Scratch::new("state");
        let state = StateDir::new(scratch.path().join("not/yet/there"));
        let name: ArrayName = "tank".parse().unwrap();
        assert!(matches!(state.load(&name), Err(StateError::Unknown { .. })));
        assert_eq!(state.list().unwrap().len(), 0);

        state.save(&record("tank")).unwrap();
        state.save(&record("a")).unwrap();
        assert_eq!(state.load(&name).unwrap(), record("tank"));
        let names: Vec<_> = state.list().unwrap().into_iter().map(|record| record.unwrap().name).collect();
        assert_eq!(names, ["a", "tank"]);
        let leftovers = fs::read_dir(state.path()).unwrap().count();
        assert_eq!(leftovers, 2, "no temporary file is left");

        // What stands in the way of the record keeps it from being written, and nothing is left of the attempt.
        fs::create_dir(state.path().join("b.toml")).unwrap();
        assert!(state.save(&record("b")).is_err());
        fs::remove_dir(state.path().join("b.toml")).unwrap();
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 2, "no temporary file is left");

        // Of two arrays of one name the first stays.
        let other = ArrayRecord { uuid: "v-v".into(), ..record("tank") };
        let refused = state.save(&other).unwrap_err().to_string();
        assert!(refused.contains("another array of this name (u-u)") && refused.contains("--state"), "{refused}");
        assert_eq!(state.load(&name).unwrap(), record("tank"));

        state.forget(&name).unwrap();
        state.forget(&name).unwrap();
        state.save(&other).unwrap();
        state.forget(&name).unwrap();
        assert!(!state.knows(&name));
    }

    #[test]
    fn changes_at_the_same_time_do_not_undo_each_other() {
        let scratch = Scratch::new("state-update");
        let state = StateDir::new(scratch.path().into());
        let name: ArrayName = "tank".parse().unwrap();
        assert!(matches!(state.update(&name, |_| ()), Err(StateError::Unknown { .. })));
        state.save(&record("tank")).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (state, name) = (&state, &name);
                scope.spawn(move || {
                    for spare in 0..10 {
                        let spare = PathBuf::from(format!("/srv/{thread}.{spare}"));
                        state.update(name, |record| record.add_spares(&[spare])).unwrap();
                    }
                });
            }
        });
        assert_eq!(state.load(&name).unwrap().spares.len(), 40);
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1, "no file is left of the lock");
    }

    #[test]
    fn damage_is_an_error_with_a_remedy() {
        let scratch = Scratch::new("state-damage");
        let state = StateDir::new(scratch.path().into());
        let name: ArrayName = "tank".parse().unwrap();
        for text in ["", "schema = 1", "\u{0}\u{1}", "schema = 9\nname = 'tank'\nuuid = 'x'"] {
            fs::write(scratch.path().join("tank.toml"), text).unwrap();
            let error = state.load(&name).unwrap_err();
            assert!(matches!(error, StateError::Damaged { .. }), "{text:?}: {error}");
            assert!(error.to_string().contains("array scan"));
        }
    }

    #[test]
    fn sockets_must_fit() {
        let name: ArrayName = "tank".parse().unwrap();
        assert!(StateDir::new("/run/x".into()).control_socket(&name).is_ok());
        assert!(matches!(StateDir::new("x".repeat(120).into()).control_socket(&name), Err(StateError::TooLong { .. })));
    }
}
