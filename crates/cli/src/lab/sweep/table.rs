//! The file that a sweep's rows go to. Rows are appended as runs end, so that a kill loses only what was under way, and put
//! in order in the end.

use crate::failure::Failure;
use crate::outfile;
use cygnus_lab::{Outcome, Rows, RunFailed, SweepRun};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// An output that is being written; no other sweep writes it meanwhile.
pub(super) struct TableFile {
    path: PathBuf,
    file: File,
    rows: Rows,
    /// By the number of the run.
    known: BTreeMap<usize, String>,
    /// Bytes of whole lines.
    whole: u64,
    runs: usize,
}

/// The rows that are in the file already, by the numbers of their runs.
pub(super) fn known(path: &Path, rows: &Rows, runs: &[SweepRun]) -> Result<BTreeMap<usize, String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(read(path, rows, runs, &text)?.0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(failed(path, &error)),
    }
}

fn read(path: &Path, rows: &Rows, runs: &[SweepRun], text: &str) -> Result<(BTreeMap<usize, String>, usize), Failure> {
    rows.read(text, runs).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

impl TableFile {
    /// Opens it, and reads what it has; a row that was cut short is cut off.
    pub(super) fn open(path: &Path, rows: Rows, runs: &[SweepRun]) -> Result<Self, Failure> {
        let mut file = outfile::append(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Failure::Failed(format!("{}: another sweep is writing to it", path.display())),
            TryLockError::Error(error) => failed(path, &error),
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| failed(path, &error))?;
        let (known, whole) = read(path, &rows, runs, &String::from_utf8_lossy(&bytes))?;
        let whole = whole as u64;
        let mut table = Self { path: path.into(), file, rows, known, whole, runs: runs.len() };
        table.file.set_len(whole).map_err(|error| failed(path, &error))?;
        if whole == 0 {
            table.append(&table.rows.header())?;
        }
        Ok(table)
    }

    /// Whether the row of this run is there.
    pub(super) fn has(&self, number: usize) -> bool {
        self.known.contains_key(&number)
    }

    /// Adds a run's row.
    pub(super) fn add(
        &mut self,
        number: usize,
        run: &SweepRun,
        outcome: Result<&Outcome, &RunFailed>,
    ) -> Result<(), Failure> {
        let row = self.rows.row(run, outcome);
        self.append(&row)?;
        self.known.insert(number, row);
        Ok(())
    }

    /// A line that does not fit is taken back, whole.
    fn append(&mut self, line: &str) -> Result<(), Failure> {
        let line = format!("{line}\n");
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // If this fails too, the next opening cuts it off.
            let _ = self.file.set_len(self.whole);
            let (path, done, runs) = (self.path.display(), self.known.len(), self.runs);
            return Err(Failure::Failed(format!(
                "{path}: {error}; it has the rows of {done} of {runs} runs: make room and give the same command again, which \
                 goes on from there"
            )));
        }
        self.whole += line.len() as u64;
        Ok(())
    }

    /// Puts the rows in the order of the runs, and gives them.
    pub(super) fn finish(self) -> Result<BTreeMap<usize, String>, Failure> {
        let lines = std::iter::once(self.rows.header()).chain(self.known.values().cloned());
        let text: String = lines.map(|line| line + "\n").collect();
        if std::fs::read_to_string(&self.path).ok().as_ref() != Some(&text) {
            outfile::write(&self.path, &text)?;
        }
        Ok(self.known)
    }
}
