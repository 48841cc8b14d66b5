//! Where what is kept of runs is put.

use crate::failure::Failure;
use crate::outfile;
use cygnus_lab::{KeptRun, Provenance};
use std::io;
use std::path::Path;

/// The version and the commit that this program was built from.
pub fn provenance() -> Provenance {
    Provenance { version: env!("CARGO_PKG_VERSION").into(), commit: env!("CYGNUS_COMMIT").into() }
}

/// Leaves a run's files below `out`, and with them a way to the trace that it played.
pub fn leave(out: &Path, run: &KeptRun, trace: Option<&Path>) -> Result<(), Failure> {
    let dir = out.join(&run.directory);
    outfile::write_all(&dir, &run.files)?;
    trace.map_or(Ok(()), |trace| link_trace(&dir, trace))
}

/// Puts a link to a trace into a run's directory, where its scenario looks for it: traces are too large to be copied.
pub fn link_trace(dir: &Path, trace: &Path) -> Result<(), Failure> {
    let failed = |path: &Path, error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    let link = dir.join(trace.file_name().unwrap_or_default());
    let whole = trace.canonicalize().map_err(|error| failed(trace, error))?;
    if link.canonicalize().is_ok_and(|there| there == whole) {
        return Ok(());
    }
    if link.is_symlink() {
        std::fs::remove_file(&link).map_err(|error| failed(&link, error))?;
    }
    std::os::unix::fs::symlink(&whole, &link).map_err(|error| failed(&link, error))
}
