//! A file that is being written and gets its name when it is whole.
//!
//! Where the file system can, it has no name until then: whatever ends the process, nothing of it stays. Elsewhere it has a hidden
//! name beside the result, and what a killed process left under such a name goes when the same result is written again.

use crate::leftover;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Gone unless it was finished.
pub(super) struct Begun {
    file: File,
    /// Its hidden name.
    hidden: PathBuf,
    named: bool,
}

impl Begun {
    /// Begins a file that is to be `path`.
    pub(super) fn beside(path: &Path) -> io::Result<Self> {
        let prefix = format!(".{}.partial-", path.file_name().unwrap_or_default().to_string_lossy());
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        for left in leftover::of_gone(dir, &prefix) {
            // What cannot be removed stays.
            let _ = fs::remove_file(left);
        }
        let hidden = path.with_file_name(format!("{prefix}{}", std::process::id()));
        let (file, named) = match unnamed(dir) {
            Some(file) => (file, false),
            None => (File::create_new(&hidden)?, true),
        };
        // Says to others who write the same result that somebody is at it; where there are no locks, the process's number must do.
        let _ = file.try_lock();
        Ok(Self { file, hidden, named })
    }

    /// To write to.
    pub(super) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives it its name, in place of what has that.
    pub(super) fn finish(mut self, path: &Path) -> io::Result<()> {
        if !self.named {
            link(&self.file, &self.hidden)?;
            self.named = true;
        }
        fs::rename(&self.hidden, path)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.named {
            // After the rename there is nothing to remove.
            let _ = fs::remove_file(&self.hidden);
        }
    }
}

/// A file without a name, which can be given one; `None` where there are no such files.
fn unnamed(dir: &Path) -> Option<File> {
    let file = File::options().write(true).custom_flags(libc::O_TMPFILE).open(dir).ok()?;
    by_descriptor(&file).exists().then_some(file)
}

/// By which a file is found that has no name.
fn by_descriptor(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

fn link(file: &File, path: &Path) -> io::Result<()> {
    let [from, to] = [&by_descriptor(file), path].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (from, to) = (from?, to?);
    // SAFETY: both are strings that end with a zero and live until the call has returned; it keeps neither.
    let result =
        unsafe { libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::scratch::Scratch;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_begun_has_no_name_where_the_file_system_can() {
        let scratch = Scratch::new("begun-unnamed");
        let begun = Begun::beside(&scratch.path().join("out")).unwrap();
        assert_eq!(begun.named, unnamed(scratch.path()).is_none());
        assert_eq!(names(scratch.path()).len(), usize::from(begun.named));
        drop(begun);
        assert!(names(scratch.path()).is_empty());
    }

    #[test]
    fn what_is_finished_replaces_what_was_there() {
        let scratch = Scratch::new("begun-finished");
        let path = scratch.path().join("out");
        for text in ["old", "new"] {
            let begun = Begun::beside(&path).unwrap();
            io::Write::write_all(&mut begun.file().unwrap(), text.as_bytes()).unwrap();
            begun.finish(&path).unwrap();
            assert_eq!((fs::read_to_string(&path).unwrap(), names(scratch.path())), (text.into(), vec!["out".into()]));
        }
    }

    #[test]
    fn what_a_killed_process_left_goes_when_the_same_is_written_again() {
        let scratch = Scratch::new("begun-leftovers");
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let [same, other] = ["out", "out2"].map(|name| format!(".{name}.partial-{}", gone.id()));
        for name in [&same, &other] {
            fs::write(scratch.path().join(name), "x").unwrap();
        }
        let _begun = Begun::beside(&scratch.path().join("out")).unwrap();
        let left = names(scratch.path());
        assert!(!left.contains(&same) && left.contains(&other), "{left:?}");
    }
}
