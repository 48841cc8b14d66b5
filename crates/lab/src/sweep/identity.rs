//! What tells runs from one another.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The identity of a run: 16 hexadecimal digits that follow from the scenario's text, the content of the trace that it plays, and
/// the seed (FNV-1a of 64 bits).
pub(super) fn identity(scenario: &str, trace: Option<u64>, seed: u64) -> String {
    let hash = fnv(START, scenario.as_bytes());
    let hash = trace.map_or(hash, |trace| fnv(hash, &trace.to_le_bytes()));
    format!("{:016x}", fnv(hash, &seed.to_le_bytes()))
}

/// What tells lists of texts from one another, likewise.
pub(crate) fn of_texts(texts: &[&str]) -> String {
    // The length of each keeps "a", "b" and "ab", "" apart.
    let add = |hash, text: &&str| fnv(fnv(hash, &(text.len() as u64).to_le_bytes()), text.as_bytes());
    format!("{:016x}", texts.iter().fold(START, add))
}

const START: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// What tells the contents of traces from one another. A file is read once, however many runs play it.
#[derive(Default)]
pub(super) struct Traces(BTreeMap<PathBuf, Option<u64>>);

impl Traces {
    /// Of this file; nothing of one that cannot be read, which its runs will tell.
    pub(super) fn of(&mut self, path: &Path) -> Option<u64> {
        *self.0.entry(path.into()).or_insert_with(|| digest(path).ok().flatten())
    }
}

/// Nothing of a pipe, which can be read but once.
fn digest(path: &Path) -> io::Result<Option<u64>> {
    if !path.metadata()?.is_file() {
        return Ok(None);
    }
    let (mut file, mut hash, mut part) = (File::open(path)?, START, Vec::new());
    loop {
        part.clear();
        file.by_ref().take(1 << 20).read_to_end(&mut part)?;
        if part.is_empty() {
            return Ok(Some(hash));
        }
        hash = fnv(hash, &part);
    }
}
