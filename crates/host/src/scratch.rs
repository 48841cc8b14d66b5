//! A directory that is gone when its owner is: for the demo, and for tests.

use std::path::{Path, PathBuf};

/// A directory of its own, removed with all that is in it on drop.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    /// A new directory under `parent`.
    ///
    /// # Errors
    /// When none can be made there.
    pub fn new_in(parent: &Path, what: &str) -> std::io::Result<Self> {
        for attempt in 0.. {
            let path = parent.join(format!("cygnus-{what}-{}-{attempt}", std::process::id()));
            match std::fs::create_dir(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < 1000 => {}
                made => return made.map(|()| Self { path, keep: false }),
            }
        }
        unreachable!("the loop ends by returning")
    }

    /// A new directory for a test, among the system's temporary files.
    ///
    /// # Panics
    /// When none can be made there.
    pub fn new(what: &str) -> Self {
        Self::new_in(&std::env::temp_dir(), what).expect("the temporary directory is writable")
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the directory in place.
    pub fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing can be done about a directory that will not go; it lies among the temporary files.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
