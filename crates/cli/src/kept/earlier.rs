//! What an earlier run left where another one is to be kept. Only what it says itself that it left is ever removed, and of that only files
//! with names of results, and links.

use crate::failure::Failure;
use crate::{infile, outfile};
use cygnus_lab::{RESULT_FILES, RUN_FILE};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory, and what a run that was kept in it says of itself.
pub(super) struct Earlier {
    dir: PathBuf,
    /// Names that it lists as its own; nothing if no run was kept there.
    own: Option<Vec<String>>,
}

/// What `run.json` has to say, so that a file of that name is a run's.
#[derive(Deserialize)]
struct About {
    #[serde(rename = "schema")]
    _schema: u32,
    #[serde(rename = "scenario")]
    _scenario: String,
    #[serde(rename = "array")]
    _array: String,
    #[serde(rename = "seed")]
    _seed: u64,
    /// Programs before 2026-12-01 did not list them.
    #[serde(default)]
    files: Vec<String>,
}

impl Earlier {
    /// What is there.
    ///
    /// # Errors
    /// When a file that says what a run was is there and cannot be read.
    pub(super) fn of(dir: &Path) -> Result<Self, Failure> {
        let path = dir.join(RUN_FILE);
        let is_there = path.symlink_metadata().is_ok_and(|found| found.is_file());
        let text = is_there.then(|| infile::read(&path)).transpose();
        let text = text.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
        let about = text.and_then(|text| serde_json::from_str::<About>(&text).ok());
        Ok(Self { dir: dir.into(), own: about.map(|about| about.files) })
    }

    /// Its files that a run which leaves files of these names would not replace.
    ///
    /// # Errors
    /// When something with the name of a result would be replaced that is of no run, or would stay that no run lists as its own.
    pub(super) fn outdated(&self, names: &[String]) -> Result<Vec<PathBuf>, Failure> {
        let is_there = |name: &str| self.dir.join(name).symlink_metadata().is_ok();
        let is_new = |name: &str| names.iter().any(|new| new == name);
        let is_own = |name: &str| match &self.own {
            Some(own) => is_new(name) || own.iter().any(|own| own == name),
            None => false,
        };
        if let Some(strange) = RESULT_FILES.into_iter().find(|name| is_there(name) && !is_own(name)) {
            return Err(Failure::Failed(format!(
                "{}: no run that was kept there lists it as its own ({RUN_FILE}), so it is not removed: move it away, or name another directory",
                self.dir.join(strange).display()
            )));
        }
        let own = self.own.iter().flatten().filter(|name| is_plain(name) && !is_new(name));
        Ok(own.map(|name| self.dir.join(name)).filter(|path| may_go(path)).collect())
    }
}

/// Whether it is the name of something in a directory, and no way out of it.
fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|last| last == name)
}

/// Whether a run may have left it: a result, or a link to a trace.
fn may_go(path: &Path) -> bool {
    let is_result = || RESULT_FILES.iter().any(|name| path.ends_with(name));
    path.symlink_metadata().is_ok_and(|found| found.is_symlink() || found.is_file() && is_result())
}

/// Removes what an earlier run left: a link and not what it leads to.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    if path.is_symlink() {
        return fs::remove_file(path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())));
    }
    outfile::remove(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::scratch::Scratch;

    fn outdated(dir: &Path, names: &[&str]) -> Result<Vec<String>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).into()).collect();
        let paths = Earlier::of(dir).and_then(|earlier| earlier.outdated(&names)).map_err(|error| error.to_string())?;
        Ok(paths.iter().map(|path| path.strip_prefix(dir).unwrap().display().to_string()).collect())
    }

    #[test]
    fn only_what_a_run_lists_is_outdated() {
        let scratch = Scratch::new("earlier");
        let dir = scratch.path();
        let put = |name: &str, text: &str| fs::write(dir.join(name), text).unwrap();
        put("notes.txt", "mine");
        assert_eq!(outdated(dir, &["summary.json"]), Ok(vec![]), "what has no name of a result is in nobody's way");
        put("summary.json", "{}");
        assert!(outdated(dir, &["summary.json"]).unwrap_err().contains("summary.json: no run that was kept there"));

        let about = |files: &str| format!(r#"{{"schema":1,"scenario":"s","array":"a","seed":1{files}}}"#);
        put("run.json", &about(""));
        assert_eq!(outdated(dir, &["summary.json"]), Ok(vec![]), "it is replaced");
        put("clusters.csv", "older");
        assert!(outdated(dir, &["summary.json"]).unwrap_err().contains("clusters.csv: no run"), "it lists nothing");

        std::os::unix::fs::symlink("/nowhere", dir.join("t.gz")).unwrap();
        put("run.json", &about(r#","files":["summary.json","clusters.csv","t.gz","notes.txt","../x","gone.csv","."]"#));
        let found = outdated(dir, &["summary.json"]);
        assert_eq!(found, Ok(vec!["clusters.csv".into(), "t.gz".into()]), "notes are no results");
        assert_eq!(outdated(dir, &["summary.json", "clusters.csv", "t.gz"]), Ok(vec![]));
        put("run.json", "no run's");
        assert!(outdated(dir, &["summary.json"]).is_err());
    }
}
