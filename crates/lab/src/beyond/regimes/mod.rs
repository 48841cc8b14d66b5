//! Where each design wins: SWAN, one log, the serial array and RAID-5 on the same drives, over how full they are, how much is
//! asked of them, whether it comes in bursts, what share of it is reads, and how wide the groups are.

mod place;
mod recorded;

use crate::chart::{Axis, Better, Cell, Chart, Map, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::interval::Interval;
use crate::outcome::{LatencyRow, Outcome, Point};
use crate::series::NOTHING;
use place::{Answers, DESIGNS, Design, Load, Place, Sheet, closed, open};
pub use recorded::{Led, Regime, nearest_regime};

/// See the module's text.
pub struct Regimes;

/// Drives of this size, and smaller ones by this factor: who leads must not depend on it.
const SMALLER: f64 = 1.5;

/// Requests below which a percentile rests on too few of them: ten beyond it at least.
const ENOUGH: [(&str, Point, u64); 2] =
    [("99.9", ("99.9 %", |row| row.p999_ns), 10_000), ("99.99", ("99.99 %", |row| row.p9999_ns), 100_000)];

/// An array that answers less of what is offered does not keep up, and is not compared.
const KEEPS_UP: f64 = 0.95;

/// What SWAN's claims are held against: in the middle of the map, under both kinds of load.
const MIDDLE: Place =
    Place { data: 2, reads: 30, utilisation: 60, load: Load::Steady(50), answers: Answers::EachAsItDoes };
const NETWORK: Place = Place { load: Load::Closed(50), ..MIDDLE };

impl Experiment for Regimes {
    fn about(&self) -> About {
        About {
            id: "beyond/regimes",
            title: "Where each design wins: SWAN, one log, the serial array and RAID-5 on the same drives",
            published: "Not published: SWAN's paper shows one utilisation and the closed loop. Nine or fifteen 850 PRO; requests of 16 KiB \
                        at random places. Utilisation is live data by what an array's drives hold without parity, loads are in \
                        percent of what the data drives of one of SWAN's three groups write.",
            divisor: 512.0,
            seeds: 5,
        }
    }

    /// None: it runs everything on drives of two sizes as it is.
    fn second_scale(&self, _: Scale) -> Option<Scale> {
        None
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trial = |(scale, place, design): (Scale, Place, Design)| {
            let name = format!("{}, {place}, 1/{}", design.name(), scale.divisor());
            Trial::new(&name, design.scheme(), place.scenario(scale, design))
        };
        runs(scale).into_iter().map(trial).collect()
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let runs = runs(scale);
        let of = |scale, place, design: Design| {
            let place = design.run_at(place);
            runs.iter().position(|run| *run == (scale, place, design)).map(|n| trials[n].outcome)
        };
        let measured = Measured { scales: scales(scale), of: &of };
        let mut charts = vec![measured.chart("throughput", "Reads and writes (MB/s)", &closed(), Better::More, &rate)];
        for kind in ["read", "write"] {
            for (name, point, least) in ENOUGH {
                let (name, title) = (format!("{kind}s-{name}"), format!("{}: {kind}s (us)", point.0));
                let value = |place, outcome: &Outcome| tail(place, outcome, kind, point, least);
                charts.push(measured.chart(&name, &title, &open(), Better::Less, &value));
            }
        }
        let mut found = Findings::new(charts, NOTES.map(str::to_owned).into());
        measured.claims(&mut found);
        found
    }
}

const NOTES: [&str; 5] = [
    "A design leads in a cell if it is more than 5 % better than each other one with every seed, on drives of both sizes. Those that nobody is \
     ahead of are even; where the two sizes of drives say different things, it is undecided. The line is around the cells in which SWAN leads. \
     Numbers are the medians of the two best ones, with the larger drives.",
    "Latencies count from when a request was due. A design that answers less than 95 % of what is offered does not keep up and is not \
     compared; a percentile with fewer than ten requests beyond it is not either.",
    "Utilisation is by each array's own data space: SWAN and the serial array of three groups of 2+1 have parity on three of nine drives, \
     one log and RAID-5 on one, so they hold a third more at the same utilisation. A serial array of three groups leaves one empty and holds \
     no 60 %.",
    "SWAN, the serial array and one log answer writes from memory, and RAID-5 when its drives have them. Where drives answer, all wait for drives, \
     and the three copy small writes first (two-phase protection); RAID-5 is the same there.",
    "Bursts: all requests in 50 of each 200 ms, four times as fast.",
];

fn scales(scale: Scale) -> [Scale; 2] {
    [scale, scale.smaller(SMALLER)]
}

/// Everything that is run, in order.
fn runs(scale: Scale) -> Vec<(Scale, Place, Design)> {
    let places: Vec<Place> = open().into_iter().chain(closed()).flat_map(|sheet| sheet.places).collect();
    let with = |scale: Scale| {
        let of = move |&place: &Place| {
            DESIGNS
                .into_iter()
                .filter(move |who| who.holds(place.utilisation) && who.run_at(place) == place)
                .map(move |who| (scale, place, who))
        };
        places.iter().flat_map(of).collect::<Vec<_>>()
    };
    scales(scale).into_iter().flat_map(with).collect()
}

/// What came of the runs.
struct Measured<'a> {
    scales: [Scale; 2],
    of: &'a dyn Fn(Scale, Place, Design) -> Option<&'a Outcome>,
}

/// A number of a run; nothing if it says nothing.
type Value<'a> = dyn Fn(Place, &Outcome) -> Option<f64> + 'a;

impl Measured<'_> {
    fn chart(&self, name: &str, title: &str, sheets: &[Sheet], better: Better, value: &Value) -> Chart {
        let x = if sheets[0].places[0].offered().is_some() {
            "writes, of a front-end's rate"
        } else {
            "network, of a front-end's rate"
        };
        let panel = |sheet: &Sheet| {
            let map = Map {
                contenders: DESIGNS.map(|design| (design.name().to_owned(), design.scheme())).into(),
                scales: self.scales.map(|scale| format!("1/{}", scale.divisor())).into(),
                columns: sheet.columns.clone(),
                rows: sheet.rows.clone(),
                cells: sheet.places.iter().map(|&place| self.cell(place, value)).collect(),
                better,
                border: Scheme::Swan,
            };
            Panel::map(Axis::linear(x), Axis::linear("utilisation"), map).titled(&sheet.title)
        };
        Chart::grid(name, title, 2, (420.0, 180.0), sheets.iter().map(panel).collect())
    }

    fn cell(&self, place: Place, value: &Value) -> Cell {
        let one = |scale, design| {
            let outcome = (self.of)(scale, place, design)?;
            value(place, outcome).map(|value| Interval::of(&[value]))
        };
        Cell { values: self.scales.map(|scale| DESIGNS.map(|design| one(scale, design)).into()).into() }
    }

    /// SWAN's claims beside its rivals, on drives of both sizes.
    fn claims(&self, found: &mut Findings) {
        for (scale, size) in self.scales.into_iter().zip(["", ", smaller drives"]) {
            let of = |place, design| (self.of)(scale, place, design).expect("the middle is run");
            let share = of(NETWORK, Design::Swan).write_rate() / (NETWORK.front_end() * 0.5);
            found.number(format!("SWAN's writes / a network of half of the front-end's rate{size}"), "", share);
            for (kind, panel) in [("read", "99.9 % of reads at half load"), ("write", "99.9 % of writes at half load")]
            {
                let tail = |design| latency(of(MIDDLE, design), kind, |row| row.p999_ns);
                for rival in [Design::LogRaid, Design::Raid5] {
                    let series = format!("swan / {}{size}", rival.name());
                    found.published(panel, series, tail(Design::Swan) / tail(rival));
                }
            }
        }
    }
}

/// Reads and writes in MB/s; nothing if no time was measured.
fn rate(_: Place, outcome: &Outcome) -> Option<f64> {
    Some(outcome.rate() / 1e6).filter(|rate| rate.is_finite())
}

/// A percentile in microseconds; nothing if the array does not keep up, or too little was measured.
fn tail(place: Place, outcome: &Outcome, kind: &str, (_, of): Point, least: u64) -> Option<f64> {
    let keeps_up = place.offered().is_none_or(|offered| outcome.rate() >= KEEPS_UP * offered);
    let enough = outcome.latency_of(kind, JOB).is_some_and(|row| row.count >= least);
    (keeps_up && enough).then(|| latency(outcome, kind, of))
}

/// The only job.
const JOB: u16 = 0;

fn latency(outcome: &Outcome, kind: &str, of: fn(&LatencyRow) -> u64) -> f64 {
    outcome.latency_of(kind, JOB).map_or(NOTHING, |row| of(row) as f64 / 1e3)
}
