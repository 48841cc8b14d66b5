//! Where a process that is killed leaves what it had in memory: a file of the array's own in a file system that lies in memory.
//!
//! Such a file system is emptied when the machine goes down, so what is found there is as the killed process left it. On any
//! other, parts of the file could be there and parts not. A file that another user could have made or changed is not believed:
//! what lies in it would become the volumes' data. But the array's server may have been that user's, and then it is all that is left
//! of what was acknowledged: so it is refused, in words, and not passed over.
//!
//! A server has its file locked as long as it lives: a copy of the array that is served beside it has the same identity, and would take
//! what is in use for what was left.
//!
//! Whoever keeps it elsewhere than in the usual directory leaves a sign there that says where, which goes with the machine as the file
//! does: so nobody depends on a state directory that may be lost.

use cygnus_runtime::{Keeper, KeptFile};
use cygnus_types::Uuid;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::holder::{Holder, holder_of};

/// See the module's text.
#[derive(Debug)]
pub struct KeptAt {
    dir: PathBuf,
    path: PathBuf,
    sign: PathBuf,
}

impl KeptAt {
    /// The directory unless the operator says otherwise.
    pub const USUAL: &str = "/dev/shm";

    /// The file of this array in a directory.
    pub fn new(dir: &Path, array: Uuid) -> Self {
        Self::with_signs_in(Path::new(Self::USUAL), dir, array)
    }

    fn with_signs_in(usual: &Path, dir: &Path, array: Uuid) -> Self {
        let path = dir.join(format!("cygnus-{array}"));
        Self { dir: dir.to_owned(), path, sign: sign_in(usual, array) }
    }

    /// The other directory in which a server that was killed has kept it, by the sign that it left.
    pub fn elsewhere(array: Uuid) -> Option<PathBuf> {
        read_sign(&sign_in(Path::new(Self::USUAL), array))
    }

    /// Leaves the sign, if there is to be one. Without it the state directory has to know the place, as it does unless it is lost.
    fn leave_sign(&self) -> io::Result<()> {
        if self.sign.parent() == Some(&self.dir) {
            return make_way(&self.sign);
        }
        let new = self.sign.with_extension("at-new");
        make_way(&new)?;
        let mut file = Self::options().create_new(true).open(&new)?;
        file.write_all(self.dir.as_os_str().as_bytes())?;
        fs::rename(&new, &self.sign)
    }

    fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
        options
    }
}

fn sign_in(usual: &Path, array: Uuid) -> PathBuf {
    usual.join(format!("cygnus-{array}.at"))
}

fn read_sign(sign: &Path) -> Option<PathBuf> {
    let file = KeptAt::options().open(sign).ok()?;
    let mut dir = Vec::new();
    if !(is_ours(&file).ok()? && lies_in_memory(&file).ok()?) {
        return None;
    }
    file.take(libc::PATH_MAX as u64).read_to_end(&mut dir).ok()?;
    let dir = PathBuf::from(OsString::from_vec(dir));
    dir.is_absolute().then_some(dir)
}

/// Nothing stands there any more.
fn make_way(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn this_user() -> u32 {
    // SAFETY: the call takes nothing, cannot fail, and returns a number.
    unsafe { libc::geteuid() }
}

/// Whether nobody but this user could have put it there.
fn is_ours(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    Ok(metadata.is_file() && metadata.uid() == this_user() && metadata.mode() & 0o077 == 0)
}

/// Why a file is not believed that somebody else could have made or changed.
fn not_ours(metadata: &fs::Metadata) -> io::Error {
    let (owner, user, mode) = (metadata.uid(), this_user(), metadata.mode() & 0o777);
    let why = match owner == user {
        true => format!(
            "others may use it (mode {mode:o}), so what lies in it is not believed: if nobody has changed it, chmod 600"
        ),
        false => format!(
            "it belongs to user {owner}, and this is user {user}: open the array as the user whose server was killed, or remove \
             the file if that server did not make it"
        ),
    };
    io::Error::new(ErrorKind::PermissionDenied, why)
}

/// How long to wait for a process that is about to let go of it: it has been killed, and the kernel is not done with it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Refuses a file that another process works with.
fn refuse_in_use(file: &File, patience: Duration) -> io::Result<()> {
    let begun = Instant::now();
    let is_other = |holder: &Holder| !matches!(holder, Holder::Process(number, _) if *number == std::process::id());
    while let Some(holder) = holder_of(file).filter(is_other) {
        if begun.elapsed() >= patience {
            let why = format!("in use by {holder}, a server of this array or of a copy of it: stop that first");
            return Err(io::Error::other(why));
        }
        std::thread::sleep(PATIENCE / 100);
    }
    Ok(())
}

/// Whether the file goes when the machine does.
fn lies_in_memory(file: &File) -> io::Result<bool> {
    // SAFETY: the structure consists of integers, for which zeros are values. The call writes one such structure, to a local
    // variable of that type, and `file` keeps the descriptor open.
    let about = unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        if libc::fstatfs(file.as_raw_fd(), &raw mut about) != 0 {
            return Err(io::Error::last_os_error());
        }
        about
    };
    Ok(about.f_type == libc::TMPFS_MAGIC)
}

impl Keeper for KeptAt {
    fn left(&self) -> io::Result<Option<KeptFile>> {
        match Self::options().open(&self.path) {
            Ok(file) if !(file.metadata()?.is_file() && lies_in_memory(&file)?) => Ok(None),
            Ok(file) if is_ours(&file)? => {
                refuse_in_use(&file, PATIENCE)?;
                Ok(Some(KeptFile::new(file)))
            }
            Ok(file) => Err(not_ours(&file.metadata()?)),
            // Where no file can be, none is left.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => Ok(None),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => match fs::symlink_metadata(&self.path) {
                Ok(metadata) => Err(not_ours(&metadata)),
                Err(_) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    fn begin(&self) -> io::Result<KeptFile> {
        // By force an opening goes on without what was left, but nobody takes it from one that lives.
        if let Ok(before) = Self::options().open(&self.path) {
            refuse_in_use(&before, Duration::ZERO)?;
        }
        let new = self.path.with_extension("new");
        make_way(&new)?;
        let file = Self::options().create_new(true).open(&new)?;
        file.try_lock().map_err(io::Error::other)?;
        if !lies_in_memory(&file)? {
            make_way(&new)?;
            return Err(io::Error::other("that is no file system in memory (tmpfs)"));
        }
        fs::rename(&new, &self.path)?;
        let _ = self.leave_sign();
        Ok(KeptFile::new(file))
    }

    fn end(&self) {
        // One that stays is of a session that has ended cleanly, and is not believed.
        drop(make_way(&self.path));
        // The sign may be of a session that has begun elsewhere since.
        if read_sign(&self.sign).is_some_and(|dir| dir == self.dir) {
            drop(make_way(&self.sign));
        }
    }

    fn is_there(&self, file: &KeptFile) -> bool {
        let found = fs::symlink_metadata(&self.path).map(|metadata| (metadata.dev(), metadata.ino()));
        found.is_ok_and(|found| file.identity().is_ok_and(|own| own == found))
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A directory that goes with its name.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(within: &str, name: &str) -> Self {
            let path = Path::new(within).join(format!("cygnus-test-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn kept(&self) -> KeptAt {
            KeptAt::new(&self.0, Uuid([3; 16]))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn what_was_left_is_found_until_the_next_begins() {
        let scratch = Scratch::new(KeptAt::USUAL, "found");
        let kept = scratch.kept();
        assert!(kept.left().unwrap().is_none());
        kept.begin().unwrap().write(0, b"left").unwrap();
        let mut bytes = [0; 4];
        kept.left().unwrap().unwrap().read(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"left");
        drop(kept.begin().unwrap());
        assert!(kept.left().unwrap().unwrap().is_empty().unwrap());
        kept.end();
        assert!(kept.left().unwrap().is_none());
    }

    #[test]
    fn where_no_file_can_be_none_was_left() {
        for nowhere in ["/dev/null", "/no/such/directory"] {
            let kept = KeptAt::new(Path::new(nowhere), Uuid([3; 16]));
            assert!(kept.left().unwrap().is_none() && kept.begin().is_err(), "{nowhere}");
        }
    }

    #[test]
    fn a_file_that_was_removed_or_replaced_is_not_there() {
        let scratch = Scratch::new(KeptAt::USUAL, "removed");
        let kept = scratch.kept();
        let file = kept.begin().unwrap();
        assert!(kept.is_there(&file));
        fs::remove_file(&kept.path).unwrap();
        assert!(!kept.is_there(&file));
        let other = kept.begin().unwrap();
        assert!(kept.is_there(&other) && !kept.is_there(&file));
    }

    #[test]
    fn what_others_could_have_made_is_not_believed() {
        let scratch = Scratch::new(KeptAt::USUAL, "others");
        let kept = scratch.kept();
        kept.begin().unwrap().write(0, b"left").unwrap();
        fs::set_permissions(&kept.path, fs::Permissions::from_mode(0o622)).unwrap();
        let refused = kept.left().expect_err("others may write to it");
        assert!(refused.kind() == ErrorKind::PermissionDenied && refused.to_string().contains("mode 622"), "{refused}");
        let elsewhere = scratch.0.join("elsewhere");
        fs::rename(&kept.path, &elsewhere).unwrap();
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &kept.path).unwrap();
        assert!(kept.left().unwrap().is_none(), "a link leads anywhere");
        drop(kept.begin().unwrap());
        assert_eq!(fs::read(&elsewhere).unwrap(), b"left", "what it led to is as it was");
    }

    #[test]
    fn what_another_process_works_with_was_not_left() {
        let scratch = Scratch::new(KeptAt::USUAL, "in-use");
        let kept = scratch.kept();
        kept.begin().unwrap().write(0, b"left").unwrap();
        // Stands in for a server that has it.
        let mut holder = std::process::Command::new("flock")
            .arg(&kept.path)
            .args(["sh", "-c", "echo locked; read end || true"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut locked = [0; 7];
        holder.stdout.take().unwrap().read_exact(&mut locked).unwrap();
        for refused in [kept.left().err(), kept.begin().err()] {
            let refused = refused.expect("somebody has it").to_string();
            assert!(refused.starts_with("in use by process ") && refused.contains("a copy of it"), "{refused}");
        }
        drop(holder.stdin.take());
        assert!(holder.wait().unwrap().success());
        assert!(kept.left().unwrap().is_some());
    }

    #[test]
    fn a_sign_tells_where_it_is_kept_elsewhere() {
        let scratch = Scratch::new(KeptAt::USUAL, "sign");
        let usual = scratch.0.join("usual");
        let kept = |name: &str| {
            let dir = scratch.0.join(name);
            fs::create_dir_all(&dir).unwrap();
            KeptAt::with_signs_in(&usual, &dir, Uuid([3; 16]))
        };
        let [at_home, a, b] = ["usual", "a", "b"].map(kept);
        let told = || read_sign(&at_home.sign);
        drop(at_home.begin().unwrap());
        assert_eq!(told(), None, "the usual place needs none");
        drop(a.begin().unwrap());
        assert_eq!(told(), Some(a.dir.clone()));
        // The next one keeps it elsewhere again, and then what the one before had left is not needed any more.
        drop(b.begin().unwrap());
        a.end();
        assert_eq!(told(), Some(b.dir.clone()));
        b.end();
        assert_eq!(fs::read_dir(&usual).unwrap().count(), 1, "the sign has gone");
        drop(a.begin().unwrap());
        fs::set_permissions(&at_home.sign, fs::Permissions::from_mode(0o622)).unwrap();
        assert_eq!(told(), None, "others may write to it");
        drop(at_home.begin().unwrap());
        assert!(!at_home.sign.exists(), "it is at the usual place now");
    }

    #[test]
    fn files_on_disks_are_refused() {
        let scratch = Scratch::new(env!("CARGO_MANIFEST_DIR"), "disk");
        let error = scratch.kept().begin().unwrap_err();
        assert!(error.to_string().contains("no file system in memory"), "{error}");
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0, "nothing stays");
        KeptAt::options().create_new(true).open(&scratch.kept().path).unwrap();
        assert!(
            scratch.kept().left().unwrap().is_none(),
            "what lies there may have been there before the machine went down"
        );
    }
}
