//! What the tests share: files that vanish, loop devices where the system has them.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A path whose file, if any, goes with it.
pub struct TempPath(PathBuf);

impl TempPath {
    /// In the temporary directory.
    pub fn new(name: &str) -> Self {
        Self::under(&std::env::temp_dir(), name)
    }

    pub fn under(directory: &Path, name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(directory.join(format!("cygnus-uring-{}-{count}-{name}", std::process::id())))
    }

    /// A sparse file.
    pub fn file(name: &str, size: u64) -> Self {
        let path = Self::new(name);
        cygnus_uring::create_file(&path, size).unwrap();
        path
    }
}

impl std::ops::Deref for TempPath {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A loop device over a temporary file.
pub struct LoopDevice {
    pub path: PathBuf,
    /// What it lies on.
    pub file: TempPath,
}

impl LoopDevice {
    /// `None`, said loudly, where the system does not let us have one.
    pub fn new(size: u64, logical_block: u32) -> Option<Self> {
        let file = TempPath::file("loop", size);
        let block = logical_block.to_string();
        let output =
            Command::new("losetup").args(["--find", "--show", "--direct-io=on", "-b", &block]).arg(&*file).output();
        match output {
            Ok(output) if output.status.success() => {
                let path = String::from_utf8(output.stdout).unwrap().trim().into();
                Some(Self { path, file })
            }
            Ok(output) => {
                println!("SKIPPED: no loop device: {}", String::from_utf8_lossy(&output.stderr));
                None
            }
            Err(error) => {
                println!("SKIPPED: no loop device: losetup: {error}");
                None
            }
        }
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.path).status();
    }
}
