//! Where what is kept of runs is put.

mod earlier;

use crate::failure::Failure;
use crate::outfile::{self, WrittenTogether};
use cygnus_lab::{KeptRun, Provenance, RUN_FILE, Scenario};
use earlier::Earlier;
use std::io;
use std::path::Path;

/// The version and the commit that this program was built from.
pub fn provenance() -> Provenance {
    Provenance { version: env!("CARGO_PKG_VERSION").into(), commit: env!("CYGNUS_COMMIT").into() }
}

/// Refuses, before anything runs, to keep runs of a scenario below `out` where somebody's files would be in the way.
///
/// # Errors
/// As of [`leave`], for what is there now.
pub fn may_be_left(out: &Path, scenario: &Scenario, seed: u64) -> Result<(), Failure> {
    let names = KeptRun::names(scenario);
    let directory = |array: &str| out.join(KeptRun::directory_of(scenario, array, seed));
    scenario.arrays().try_for_each(|array| Earlier::of(&directory(array.name()))?.outdated(&names).map(drop))
}

/// Leaves a run's files below `out`, and with them a way to the trace that it played, in place of those of an earlier run. If something
/// cannot be written, those stay as they are.
///
/// # Errors
/// When something cannot be written; and when files there have names of results and no run says that they are its own.
pub fn leave(out: &Path, run: &KeptRun, trace: Option<&Path>) -> Result<(), Failure> {
    let dir = out.join(&run.directory);
    let of_trace = trace.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let names: Vec<String> = run.files.iter().map(|(name, _)| name.clone()).chain(of_trace).collect();
    let outdated = Earlier::of(&dir)?.outdated(&names)?;
    let written = WrittenTogether::new(&dir, &run.files)?;
    // From here on until all have their names the directory is nobody's.
    outfile::remove(&dir.join(RUN_FILE))?;
    outdated.iter().try_for_each(|path| earlier::remove(path))?;
    trace.map_or(Ok(()), |trace| link_trace(&dir, trace))?;
    written.finish()
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
