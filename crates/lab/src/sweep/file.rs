//! A sweep's file, and the runs that follow from it.

use super::SweepError;
use super::identity::Traces;
use super::key::{at, places, put};
use super::run::SweepRun;
use super::values::{Tree, Varied};
use crate::ScenarioError;
use crate::scenario::Scenario;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Table, Value};

/// More than anybody waits for: what is more is a mistake.
const MOST_RUNS: usize = 100_000;

/// Which runs: a scenario, the keys that vary, and the seeds.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What the sweep's file is called, for messages.
    file: String,
    /// The scenario's file or name.
    scenario: String,
    /// Every combination of them is run.
    grid: Vec<Varied>,
    /// Of these the first values together, then the second ones, and so on.
    list: Vec<Varied>,
    seeds: Option<Vec<u64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Text {
    scenario: String,
    seeds: Option<Spanned<Seeds>>,
    #[serde(default)]
    grid: Tree,
    #[serde(default)]
    list: Tree,
}

/// `5`: so many, from 1 on; or each by its number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "how many seeds, or a list of them: 5 or [1, 2, 3]")]
enum Seeds {
    Count(u32),
    Named(Vec<u64>),
}

impl Sweep {
    /// Reads a sweep from the text of a file of that name; nothing if that is a scenario.
    ///
    /// # Errors
    /// When the text is no TOML, or a sweep that makes no sense; with line and column.
    pub fn parse(file: &str, text: &str) -> Result<Option<Self>, SweepError> {
        let wrong = |error: toml::de::Error| {
            let message = error.message().trim_end().replace('\n', "; ");
            SweepError::from(ScenarioError::at(file, text, error.span(), message))
        };
        let table: Table = toml::from_str(text).map_err(wrong)?;
        if !["scenario", "grid", "list", "seeds"].iter().any(|key| table.contains_key(*key)) {
            return Ok(None);
        }
        let Text { scenario, seeds, grid, list } = toml::from_str(text).map_err(wrong)?;
        let list = list.varied(file, text)?;
        if let Some(other) = list.iter().find(|other| other.values.len() != list[0].values.len()) {
            let (first, count) = (&list[0], other.values.len());
            let message = format!(
                "{} has {count} values and {} has {}: a [list] takes the values of all its keys together, so give each as many",
                other.key,
                first.key,
                first.values.len()
            );
            return Err(SweepError::new(&other.place, message));
        }
        let seeds = match seeds {
            None => None,
            Some(seeds) => {
                let span = seeds.span();
                let nothing = || {
                    ScenarioError::at(file, text, Some(span), "no seeds, so there is nothing to run: name one at least")
                };
                let seeds = match seeds.into_inner() {
                    Seeds::Count(count) => (1..=u64::from(count)).collect::<Vec<_>>(),
                    Seeds::Named(seeds) => seeds,
                };
                if seeds.is_empty() {
                    return Err(nothing().into());
                }
                Some(seeds)
            }
        };
        Ok(Some(Self { file: file.into(), scenario, grid: grid.varied(file, text)?, list, seeds }))
    }

    /// A sweep of a scenario that varies nothing yet.
    pub fn of_scenario(file: &str) -> Self {
        Self { file: file.into(), scenario: file.into(), grid: Vec::new(), list: Vec::new(), seeds: None }
    }

    /// Varies one more key, in every combination with the others.
    pub fn vary(&mut self, varied: Varied) {
        self.grid.push(varied);
    }

    /// Runs with the seeds 1 to `count`, whatever the file says.
    pub fn set_seeds(&mut self, count: u32) {
        self.seeds = Some((1..=u64::from(count)).collect());
    }

    /// The scenario, as the file names it: a file beside it, or one that comes with the lab.
    pub fn scenario(&self) -> &str {
        &self.scenario
    }

    /// The keys that vary, in the order of the columns.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.varied().map(|varied| varied.key.as_str())
    }

    fn varied(&self) -> impl Iterator<Item = &Varied> {
        self.list.iter().chain(&self.grid)
    }

    /// All runs of it, each checked, in order: the array changes fastest, then the seed, then the keys from the last one on.
    ///
    /// `base` is the text of the scenario, `file` what it is called.
    ///
    /// # Errors
    /// When the scenario makes no sense, or not with some of the values; when a key leads nowhere, or stands there twice;
    /// when there are too many runs, or two alike.
    pub fn runs(&self, file: &str, base: &str) -> Result<Vec<SweepRun>, SweepError> {
        let arrays = Scenario::parse(file, base)?.arrays().len();
        let base: Table = base.parse().expect("it was just read");
        let varied: Vec<&Varied> = self.varied().collect();
        if let Some(twice) = (1..varied.len()).find(|&n| varied[..n].iter().any(|one| one.key == varied[n].key)) {
            return Err(SweepError::new(&varied[twice].place, format!("{} is varied twice", varied[twice].key)));
        }
        if let Some(seed) = varied.iter().find(|varied| varied.key == "seed") {
            let message = "seed is no key of a sweep, whose rows have a column of that name already: name the seeds as seeds in \
                           its file, or by --seeds";
            return Err(SweepError::new(&seed.place, message));
        }
        let own = base.get("seed").and_then(Value::as_integer).map_or(1, |seed| seed as u64);
        let seeds = self.seeds.clone().unwrap_or_else(|| vec![own]);
        let points = self.points()?;
        if points.len().saturating_mul(seeds.len()).saturating_mul(arrays) > MOST_RUNS {
            return Err(self.too_many());
        }
        let (mut runs, mut traces) = (Vec::new(), Traces::default());
        for point in points {
            let scenarios = self.scenarios(file, &base, &varied, &point)?;
            for &seed in &seeds {
                runs.extend(scenarios.iter().map(|scenario| {
                    let values = varied.iter().zip(&point).map(|(one, &n)| (one.key.clone(), one.values[n].clone()));
                    SweepRun::new(scenario.clone(), seed, values.collect(), &mut traces)
                }));
            }
        }
        self.all_different(&runs)?;
        Ok(runs)
    }

    /// Which value of each key, for every combination.
    fn points(&self) -> Result<Vec<Vec<usize>>, SweepError> {
        let rows = self.list.first().map_or(1, |varied| varied.values.len());
        let count = self.grid.iter().try_fold(rows, |all, varied| all.checked_mul(varied.values.len()));
        let count = count.filter(|count| *count <= MOST_RUNS).ok_or_else(|| self.too_many())?;
        let point = |mut number: usize| {
            let mut which = vec![0; self.grid.len()];
            for (n, varied) in self.grid.iter().enumerate().rev() {
                which[n] = number % varied.values.len();
                number /= varied.values.len();
            }
            std::iter::repeat_n(number, self.list.len()).chain(which).collect()
        };
        Ok((0..count).map(point).collect())
    }

    fn too_many(&self) -> SweepError {
        let message = format!("more than {MOST_RUNS} runs: take fewer values, or make several sweeps of it");
        SweepError::new(&self.file, message)
    }

    /// The scenario of each array with the values of a point.
    fn scenarios(
        &self,
        file: &str,
        base: &Table,
        varied: &[&Varied],
        point: &[usize],
    ) -> Result<Vec<Scenario>, SweepError> {
        let mut table = base.clone();
        let mut taken: Vec<(Vec<String>, &str)> = Vec::new();
        for (one, &n) in varied.iter().zip(point) {
            let places = places(&table, &one.key);
            if let Some(other) = places.iter().find_map(|place| overridden(&table, &taken, place)) {
                return Err(SweepError::new(&one.place, two_names(other, &one.key)));
            }
            taken.extend(places.into_iter().map(|place| (place, one.key.as_str())));
            put(&mut table, &one.key, &one.values[n]).map_err(|why| SweepError::new(&one.place, why))?;
        }
        let text = toml::to_string(&table).expect("what was read can be written");
        let whole = Scenario::parse(file, &text).map_err(|error| self.blame(file, base, varied, point, error))?;
        let of_array = |which: usize| {
            let mut table = table.clone();
            table.remove("about");
            if let Some(Value::Array(arrays)) = table.get_mut("array") {
                *arrays = vec![arrays.swap_remove(which)];
            }
            let text = toml::to_string(&table).expect("what was read can be written");
            Scenario::parse(file, &text).expect("an array of a scenario by itself makes one")
        };
        Ok((0..whole.arrays().len()).map(of_array).collect())
    }

    /// Which value is to blame for a scenario that makes no sense: one that makes none by itself, or all of them together.
    fn blame(&self, file: &str, base: &Table, varied: &[&Varied], point: &[usize], error: ScenarioError) -> SweepError {
        for (one, &n) in varied.iter().zip(point) {
            let mut table = base.clone();
            let value = &one.values[n];
            let parsed = put(&mut table, &one.key, value)
                .map(|()| Scenario::parse(file, &toml::to_string(&table).expect("what was read can be written")));
            if let Ok(Err(error)) = parsed {
                return SweepError::new(&one.place, format!("{} = {value}: {}", one.key, error.message));
            }
        }
        let values = varied.iter().zip(point).map(|(one, &n)| format!("{} = {}", one.key, one.values[n]));
        let together = values.collect::<Vec<_>>().join(", ");
        SweepError::new(&self.file, format!("with {together}: {}", error.message))
    }

    fn all_different(&self, runs: &[SweepRun]) -> Result<(), SweepError> {
        let mut known = BTreeMap::new();
        for run in runs {
            if let Some(twin) = known.insert(&run.id, run) {
                let remedy = if twin.values == run.values {
                    "take one of the values out".into()
                } else {
                    format!("what differs says nothing to {}: sweep the array of which it does by itself", run.array())
                };
                let message = format!("two runs are the same: {twin}; and {run}: {remedy}");
                return Err(SweepError::new(&self.file, message));
            }
        }
        Ok(())
    }
}

/// The key whose value would no longer be what its column says, once another one is put at that place: it is of the same place, or of
/// one in it or around it.
fn overridden<'a>(table: &Table, taken: &[(Vec<String>, &'a str)], place: &[String]) -> Option<&'a str> {
    // What a table that varies does not say is no part of its value.
    let within = |around: &Vec<String>| place.starts_with(around) && at(table, place).is_some();
    taken.iter().find(|(earlier, _)| earlier.starts_with(place) || within(earlier)).map(|(_, key)| *key)
}

fn two_names(one: &str, other: &str) -> String {
    format!(
        "{one} and {other} are names of the same setting, and a row would tell a value that was not run: vary one of them"
    )
}
