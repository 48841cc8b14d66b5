//! What processes that are gone have left under names that end with their numbers.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Files and directories in `dir` whose names are `prefix` and the number of a process that is gone, and that nobody has locked.
pub fn of_gone(dir: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(prefix)?.parse().ok());
        process.is_some_and(is_gone) && is_free(&entry.path())
    });
    left.map(|entry| entry.path()).collect()
}

/// Whether no process has this number, or only this very one, which has locked what is its own.
fn is_gone(process: u32) -> bool {
    process == std::process::id()
        || (Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{process}")).exists())
}

/// Whether nobody has locked it: a process of another machine or container may have, whose number says nothing here.
fn is_free(path: &Path) -> bool {
    // Anything else was left by nobody, and to open it may have an effect.
    let is_known = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() || metadata.is_dir());
    is_known && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::scratch::Scratch;

    #[test]
    fn what_a_process_has_left_is_found_once_it_is_gone_and_nothing_else() {
        let scratch = Scratch::new("leftover");
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let (gone, alive) = (gone.id(), std::os::unix::process::parent_id());
        for name in [format!("it-{alive}"), "it-x".into(), format!("its-{gone}"), format!("it-{gone}")] {
            fs::create_dir(scratch.path().join(name)).unwrap();
        }
        let left = scratch.path().join(format!("it-{gone}"));
        let user = File::open(&left).unwrap();
        user.try_lock().unwrap();
        assert_eq!(of_gone(scratch.path(), "it-"), [] as [PathBuf; 0], "somebody uses it");
        drop(user);
        assert_eq!(of_gone(scratch.path(), "it-"), [left]);
    }
}
