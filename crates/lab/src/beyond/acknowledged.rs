//! What answers cost that wait until a write is on the members, or durable there, beside answers from memory.

use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::LatencyRow;
use crate::scala_afa::common::{DIVISOR, drives, engine_cores, sent};
use crate::series::NOTHING;

/// See the module's text.
pub struct AcknowledgedAt;

/// Levels of acknowledgement, as scenarios have them, and their colours.
const LEVELS: [(&str, Scheme); 3] = [("memory", Scheme::Reads), ("written", Scheme::Swan), ("durable", Scheme::Serial)];
/// Requests under way.
const DEPTHS: [u32; 2] = [1, 32];
/// Presets on six drives.
const ARRAYS: [(&str, &str); 4] = [
    ("swan", "groups = 2\nraid = \"2+1\"\n"),
    ("log-raid", "raid = \"5+1\"\n"),
    ("fusion", "raid = \"5+1\"\n"),
    ("scala-afa", "raid = \"5+1\"\n"),
];
const LOG: usize = 1;
const FUSION: usize = 2;
const SCALA_AFA: usize = 3;

/// What is supposed to make copies slower where drives compute the parity; with parity from the host it is the preset `fusion`.
const CONVERSION: &str = "Drives compute parity from the copies, and a flush waits for that.";

const NOTES: [&str; 2] = [
    "4 KiB writes at random places of a volume that was filled before, by one client; nobody flushes. One modelled core at the lab's usual costs, six of \
     the drives of ScalaAFA's paper at a quarter of their size.",
    "Under memory a request is answered from the open stripe, so what is measured is the core. Rates say nothing of the volume being safe: \
     docs/decisions/034-acknowledgement.md has what each level may lose.",
];

impl Experiment for AcknowledgedAt {
    fn about(&self) -> About {
        About {
            id: "beyond/acknowledged",
            title: "4 KiB writes answered from memory, from the members and when durable",
            published: "Not published for these levels: ScalaAFA answers when 1 + m drives have a write (section 3.1), and copies small writes for \
                        that, which is to be faster than ending a stripe with each.",
            divisor: DIVISOR,
            seeds: 5,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let devices = drives(scale);
        let trial = |(depth, (level, scheme), (preset, shape)): (u32, (&str, Scheme), (&str, &str))| {
            let scenario = format!(
                "name = \"acknowledged\"\n{devices}[[array]]\npreset = \"{preset}\"\n{shape}segment = \"1MiB\"\n\
                 [volume]\nsize = \"512MiB\"\nack = \"{level}\"\n[aging]\nfill = \"100%\"\n\
                 [[workload.fio]]\nname = \"writes\"\nblock-size = \"4KiB\"\ndepth = {depth}\n{}\
                 [run]\nduration = \"400ms\"\nramp = \"100ms\"\nsample = \"50ms\"\n",
                engine_cores(1)
            );
            Trial::new(&format!("{preset}, {level}, depth {depth}"), scheme, scenario)
        };
        let of_level = |depth| LEVELS.into_iter().flat_map(move |level| ARRAYS.map(|array| (depth, level, array)));
        DEPTHS.into_iter().flat_map(of_level).map(trial).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let results = Results(trials);
        let mut found = Findings::new(vec![results.chart(self.about().title)], NOTES.map(str::to_owned).into());
        for (at_depth, depth) in DEPTHS.into_iter().enumerate() {
            for (at_level, (level, _)) in LEVELS.into_iter().enumerate().skip(1) {
                let panel = format!("{level}, depth {depth}");
                let of = |value: fn(&Trialled) -> f64, array: usize| value(results.of(at_depth, at_level, array));
                for array in [FUSION, SCALA_AFA] {
                    let series = format!("requests a second, {} / log-raid", ARRAYS[array].0);
                    found.published(&panel, series, of(rate, array) / of(rate, LOG));
                }
                found.published(&panel, "bytes sent, fusion / log-raid", of(sent, FUSION) / of(sent, LOG));
                let places = [SCALA_AFA, FUSION].map(|array| place(at_depth, at_level, array));
                let by_host = of(rate, FUSION) / of(rate, LOG);
                let line = (panel.as_str(), "requests a second, scala-afa / log-raid");
                found.supposed(line, CONVERSION, &[(places[0], places[1])], by_host);
            }
            for (array, (preset, _)) in ARRAYS.into_iter().enumerate() {
                let memory = rate(results.of(at_depth, 0, array));
                for (at_level, (level, _)) in LEVELS.into_iter().enumerate() {
                    let trialled = results.of(at_depth, at_level, array);
                    let name = |what: &str| format!("{preset}, {level}, depth {depth}: {what}");
                    for (what, unit, value) in NUMBERS {
                        found.number(name(what), unit, value(trialled));
                    }
                    found.number(name("of memory's rate"), "", rate(trialled) / memory);
                }
            }
        }
        found
    }
}

/// The place of a trial in the setup.
fn place(depth: usize, level: usize, array: usize) -> usize {
    (depth * LEVELS.len() + level) * ARRAYS.len() + array
}

/// What was measured, by depth, level and array.
struct Results<'a>(&'a [Trialled<'a>]);

impl Results<'_> {
    fn of(&self, depth: usize, level: usize, array: usize) -> &Trialled<'_> {
        &self.0[place(depth, level, array)]
    }

    /// A row of panels for each number, a column for each depth.
    fn chart(&self, title: &str) -> Chart {
        let panel = |(what, unit, value): Number, at_depth: usize| {
            let label = if unit.is_empty() { what.to_owned() } else { format!("{what} ({unit})") };
            let bars = |(level, (name, scheme)): (usize, (&str, Scheme))| {
                let heights = (0..ARRAYS.len()).map(|array| value(self.of(at_depth, level, array))).collect();
                Bars::new(name, scheme, heights)
            };
            let groups = ARRAYS.map(|(preset, _)| preset.to_owned()).into();
            let series = LEVELS.into_iter().enumerate().map(bars).collect();
            Panel::bars(Axis::linear(&label), groups, series).titled(format!("depth {}", DEPTHS[at_depth]))
        };
        let panels = NUMBERS.into_iter().flat_map(|number| [0, 1].map(|at_depth| panel(number, at_depth))).collect();
        Chart::grid("levels", title, DEPTHS.len(), (420.0, 170.0), panels)
    }
}

/// A number of a trial: what it is, and its unit.
type Number = (&'static str, &'static str, fn(&Trialled) -> f64);

const NUMBERS: [Number; 4] = [
    ("requests", "thousand a second", rate),
    ("mean", "us", |trialled| latency(trialled, |row| row.mean_ns)),
    ("99 %", "us", |trialled| latency(trialled, |row| row.p99_ns)),
    ("bytes sent for each byte", "", sent),
];

/// Thousands of requests per second.
fn rate(trialled: &Trialled) -> f64 {
    trialled.outcome.write_rate() / 4096.0 / 1e3
}

fn latency(trialled: &Trialled, of: fn(&LatencyRow) -> u64) -> f64 {
    trialled.outcome.latency_of("write", 0).map_or(NOTHING, |row| of(row) as f64 / 1e3)
}
