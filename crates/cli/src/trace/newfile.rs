//! A file that is whole or not there.

use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Creates `path` and lets `write` fill it; removes it again when that fails.
///
/// # Errors
/// When the file exists and `replace` is not set, or writing fails.
pub(super) fn create<T>(
    path: &Path,
    replace: bool,
    write: impl FnOnce(BufWriter<File>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let begun =
        Begun(path.with_file_name(format!(".{}.partial", path.file_name().unwrap_or_default().to_string_lossy())));
    let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    if !replace && path.exists() {
        return Err(Failure::Failed(format!("{} exists: name another file, or add --force", path.display())));
    }
    let file = File::create(&begun.0).map_err(failed)?;
    let done = write(BufWriter::with_capacity(256 << 10, file))?;
    fs::rename(&begun.0, path).map_err(failed)?;
    Ok(done)
}

/// Removed unless it was renamed.
struct Begun(PathBuf);

impl Drop for Begun {
    fn drop(&mut self) {
        // After the rename there is nothing to remove.
        let _ = fs::remove_file(&self.0);
    }
}
