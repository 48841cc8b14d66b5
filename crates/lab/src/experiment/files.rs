//! An experiment's results as files.

use std::path::Path;

use super::judgement::Judgement;
use crate::chart::{Chart, PictureFormat};
use crate::error::LabError;

/// Name of the file with the verdict.
const VERDICT: &str = "verdict.json";

/// A chart among the files.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The drawing.
    pub svg: String,
    /// As what else it lies beside that.
    pub pictures: Vec<PictureFormat>,
}

/// `verdict.json` and an SVG and a CSV file for each chart: each file's name and text. They belong into a directory of the
/// experiment's id.
pub fn experiment_files(judgement: &Judgement, charts: &[Chart]) -> Vec<(String, String)> {
    let charts = charts.iter();
    let drawn =
        charts.flat_map(|chart| [("svg", chart.svg()), ("csv", chart.csv())].map(|(kind, text)| (chart, kind, text)));
    let mut files: Vec<_> = drawn.map(|(chart, kind, text)| (format!("{}.{kind}", chart.name), text)).collect();
    let json = serde_json::to_string_pretty(judgement).expect("judgements are plain structs");
    files.push((VERDICT.into(), json + "\n"));
    files
}

/// A judgement among [`experiment_files`] that were written below `dir`, with its charts; nothing if there is none of this
/// experiment.
///
/// # Errors
/// When it cannot be read, or is of another version.
pub fn read_judgement(dir: &Path, id: &str) -> Result<Option<(Judgement, Vec<Drawn>)>, LabError> {
    let dir = dir.join(id);
    let path = dir.join(VERDICT);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LabError::Read { path, error }),
    };
    let unreadable = |error: serde_json::Error| LabError::Read { path: path.clone(), error: error.into() };
    let judgement: Judgement = serde_json::from_str(&text).map_err(unreadable)?;
    let read = |name: &String| {
        let path = dir.join(format!("{name}.svg"));
        let svg = std::fs::read_to_string(&path).map_err(|error| LabError::Read { path, error })?;
        let there = |format: &PictureFormat| dir.join(format!("{name}.{}", format.extension())).exists();
        Ok(Drawn { svg, pictures: PictureFormat::ALL.into_iter().filter(there).collect() })
    };
    let charts = judgement.charts.iter().map(read).collect::<Result<_, LabError>>()?;
    Ok(Some((judgement, charts)))
}
