//! Figure 5: throughput of Swift's object server on a shingled disk as it is and below SALSA.

use super::common::{RAW, SALSA, SEEDS, amplification};
use super::objects::{self, JUDGED, NOTES, OPERATIONS, Served, Setup, operations};
use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::series::NOTHING;

/// See the module's text.
pub struct Fig5;

/// As published, MiB/s of small and of large objects: as it is, and below SALSA.
const PUBLISHED: [[[f64; 3]; 2]; 2] =
    [[[8.8, 6.7, 10.7], [56.0, 27.5, 11.3]], [[30.4, 18.1, 48.9], [63.4, 60.7, 65.6]]];

impl Experiment for Fig5 {
    fn about(&self) -> About {
        About {
            id: "salsa/fig5",
            title: "An object server on a shingled disk as it is and below SALSA: throughput",
            published: "Figure 5 and section 5.3: Swift's object server on XFS on a drive-managed Archive HDD of 8 TB, 64 GiB of objects stored, then updated, then \
                        read. MiB/s as it is and below SALSA's dual mapping: 128 KiB PUT 8.8 and 56, UPDATE 6.7 and 27.5, GET 10.7 and 11.3; 10 MiB PUT 30.4 and \
                        63.4, UPDATE 18.1 and 60.7, GET 48.9 and 65.6.",
            divisor: objects::DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        objects::trials(scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let sizes = Served::of(trials);
        let mut found = Findings::new(vec![chart(self.about().title, &sizes)], NOTES.map(str::to_owned).into());
        for served in &sizes {
            served.judge(&mut found, |row| served.rate(row));
        }
        let [small, large] = &sizes;
        for (name, operation) in &OPERATIONS[..2] {
            for served in &sizes {
                let series = format!("{name}, {}: SALSA / raw", served.size.name);
                found.published("SALSA stores and updates faster", series, gain(served, operation));
            }
            let less = gain(large, operation) / gain(small, operation);
            found.published("large objects gain less", format!("{name}: gain of 10 MiB / of 128 KiB"), less);
        }
        found.published("GET of 128 KiB is similar", "SALSA / raw", gain(small, "get"));
        found.published("SALSA reads large objects faster", "SALSA / raw", gain(large, "get"));
        for (name, setup) in [("raw", Setup::Raw), ("SALSA", Setup::Log)] {
            let slower = rate(small, setup, "update") / rate(small, setup, "put");
            found.published("UPDATE of 128 KiB is slower than PUT", format!("{name}: UPDATE / PUT"), slower);
        }
        tell(&mut found, &sizes);
        found
    }
}

/// MiB/s of objects.
fn rate(served: &Served, setup: Setup, operation: &str) -> f64 {
    served.operations(setup, operation).map_or(NOTHING, |row| served.rate(row))
}

/// How many times faster SALSA is.
fn gain(served: &Served, operation: &str) -> f64 {
    rate(served, Setup::Log, operation) / rate(served, Setup::Raw, operation)
}

/// What is told of each trial.
fn tell(found: &mut Findings, sizes: &[Served]) {
    for served in sizes {
        for of in served.trials {
            let trial = &of.trial.name;
            for (name, operation) in OPERATIONS {
                let rate = operations(of, operation).map_or(NOTHING, |row| served.rate(row));
                found.number(format!("{trial}: {name}"), "MiB/s", rate);
            }
            found.number(format!("{trial}: sent to the disk for each block"), "", amplification(of));
        }
    }
}

fn chart(title: &str, sizes: &[Served; 2]) -> Chart {
    let panel = |n: usize, setup: Setup| {
        let served = &sizes[n];
        let (name, scheme) = if setup == Setup::Log { ("SALSA", SALSA) } else { ("raw", RAW) };
        let bars = vec![
            Bars::new("published", Scheme::Paper, PUBLISHED[n][setup as usize].into()),
            Bars::new(name, scheme, OPERATIONS.map(|(_, operation)| rate(served, setup, operation)).into()),
        ];
        let groups = OPERATIONS.map(|(name, _)| name.to_owned()).into();
        Panel::bars(Axis::logarithmic("MiB/s").between(1.0, 1000.0), groups, bars)
            .titled(format!("{}, {name}", served.size.name))
    };
    let panels = (0..sizes.len()).flat_map(|n| JUDGED.map(|setup| panel(n, setup))).collect();
    Chart::grid("throughput", title, 2, (300.0, 220.0), panels)
}
