//! An experiment's results as files.

use std::path::{Path, PathBuf};

use super::{Findings, Verdict};
use crate::error::LabError;

/// Name of the file with the verdict.
const VERDICT: &str = "verdict.json";

/// Writes `verdict.json` and an SVG and a CSV file for each chart into a directory of the experiment's own below `dir`,
/// which is given back.
///
/// # Errors
/// When a file cannot be written.
pub fn write_experiment(dir: &Path, verdict: &Verdict, findings: &Findings) -> Result<PathBuf, LabError> {
    let dir = dir.join(&verdict.id);
    std::fs::create_dir_all(&dir).map_err(|error| LabError::Write { path: dir.clone(), error })?;
    let file = |name: String, text: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text).map_err(|error| LabError::Write { path, error })
    };
    for chart in &findings.charts {
        file(format!("{}.svg", chart.name), &chart.svg())?;
        file(format!("{}.csv", chart.name), &chart.csv())?;
    }
    let json = serde_json::to_string_pretty(verdict).expect("verdicts are plain structs");
    file(VERDICT.into(), &(json + "\n"))?;
    Ok(dir)
}

/// A verdict that [`write_experiment`] has written below `dir`, with the charts' SVG; nothing if there is none of this
/// experiment.
///
/// # Errors
/// When it cannot be read, or is of another version.
pub fn read_verdict(dir: &Path, id: &str) -> Result<Option<(Verdict, Vec<String>)>, LabError> {
    let dir = dir.join(id);
    let path = dir.join(VERDICT);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LabError::Read { path, error }),
    };
    let unreadable = |error: serde_json::Error| LabError::Read { path: path.clone(), error: error.into() };
    let verdict: Verdict = serde_json::from_str(&text).map_err(unreadable)?;
    let read = |name: &String| {
        let path = dir.join(format!("{name}.svg"));
        std::fs::read_to_string(&path).map_err(|error| LabError::Read { path, error })
    };
    let charts = verdict.charts.iter().map(read).collect::<Result<_, _>>()?;
    Ok(Some((verdict, charts)))
}
