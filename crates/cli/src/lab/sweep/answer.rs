//! What `lab sweep` answers.

use super::Asked;
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::table::{Align, Table};
use cygnus_lab::{Rows, SweepRun};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// After a sweep.
#[derive(Debug, serde::Serialize)]
pub(super) struct Answer {
    out: PathBuf,
    /// Runs that were asked for; of them those that were run now, and that failed now.
    runs: usize,
    run_now: usize,
    failed: usize,
    /// In the order of the runs.
    rows: Vec<Row>,
}

/// A row, as an object with the names of the columns.
#[derive(Debug)]
struct Row(Vec<(String, String)>);

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, cell) in &self.0 {
            match (cell.parse::<u64>(), cell.parse::<f64>()) {
                // Sixteen digits are an identity, also when none of them is a letter.
                _ if name == "id" || name == "version" => map.serialize_entry(name, cell)?,
                (Ok(number), _) => map.serialize_entry(name, &number)?,
                (_, Ok(number)) => map.serialize_entry(name, &number)?,
                _ if cell.is_empty() => map.serialize_entry(name, &())?,
                _ => map.serialize_entry(name, cell)?,
            }
        }
        map.end()
    }
}

impl Answer {
    pub(super) fn new(
        asked: &Asked,
        wanted: &[usize],
        run_now: usize,
        failed: usize,
        rows: BTreeMap<usize, String>,
    ) -> Self {
        let columns = asked.rows.columns();
        let row = |text: &String| Row(columns.iter().cloned().zip(Rows::cells(text)).collect());
        Self { out: asked.out.clone(), runs: wanted.len(), run_now, failed, rows: rows.values().map(row).collect() }
    }

    pub(super) fn text(&self) -> String {
        let before = match self.runs - self.run_now {
            0 => String::new(),
            before => format!(", {before} of them before"),
        };
        format!("{}: {} runs{before}\n", self.out.display(), self.runs)
    }
}

/// What would be run.
#[derive(Debug, serde::Serialize)]
pub(super) struct Plan {
    out: PathBuf,
    /// The files that the sweep is read from, and that its runs read: what another machine needs to run it.
    files: Vec<PathBuf>,
    runs: Vec<Planned>,
}

#[derive(Debug, serde::Serialize)]
struct Planned {
    id: String,
    array: String,
    seed: u64,
    values: BTreeMap<String, String>,
    /// Whether its row is there already.
    done: bool,
}

impl Plan {
    pub(super) fn new(
        out: &Path,
        files: &[PathBuf],
        runs: &[SweepRun],
        wanted: &[usize],
        known: &BTreeMap<usize, String>,
    ) -> Self {
        let planned = |&number: &usize| {
            let run = &runs[number];
            let values = run.values.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
            let (id, array, done) = (run.id.clone(), run.array().into(), known.contains_key(&number));
            Planned { id, array, seed: run.seed, values, done }
        };
        Self { out: out.into(), files: files.into(), runs: wanted.iter().map(planned).collect() }
    }

    pub(super) fn text(&self, paint: Paint) -> String {
        let heads = ["RUN", "ARRAY", "SEED", "VALUES", "DONE"].map(|name| (name, Align::Left));
        let mut table = Table::new(&heads);
        for run in &self.runs {
            let values = run.values.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>();
            let done = if run.done { "yes" } else { "no" };
            let cells = [run.id.clone(), run.array.clone(), run.seed.to_string(), values.join(", "), done.into()];
            table.row(cells.map(|text| (Tone::Normal, text)).into());
        }
        let left = self.runs.iter().filter(|run| !run.done).count();
        format!(
            "{}{} runs, {left} of them left to do; rows go to {}\n",
            table.render(paint),
            self.runs.len(),
            self.out.display()
        )
    }
}
