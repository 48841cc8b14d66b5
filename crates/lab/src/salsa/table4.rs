//! Table 4: a video server on a shingled disk as it is, below SALSA, and with a flash drive beside it.

use super::common::{RAW, SALSA, disk, raw, read, salsa_on_disk, written};
use super::video::{self, READ, SMALL_READS, SMALLER, at, benchmark, hybrid, rate, scenario};
use crate::chart::{Axis, Bars, Chart, Line, Mark, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Table4;

const READS: &str = "reads";
const WRITES: &str = "writes";

impl Experiment for Table4 {
    fn about(&self) -> About {
        About {
            id: "salsa/table4",
            title: "A video server on a shingled disk as it is, below SALSA, and with a flash drive",
            published: "Table 4 and section 5.5: 48 threads read active files of 10 MiB, and a new file is written each second, for 20 minutes on XFS on \
                        a drive-managed Archive HDD of 8 TB. MiB/s of reads: as it is 4.8, below SALSA 6.2, with SALSA's hybrid controller and a \
                        flash drive 118.5.",
            divisor: video::DIVISOR,
            seeds: video::SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trial = |name, scheme, array: String, reads| {
            Trial::new(name, scheme, scenario(scale, &(disk(scale) + &array), "", reads))
        };
        vec![
            trial("raw", RAW, raw(), READ),
            trial("SALSA", SALSA, salsa_on_disk(), READ),
            hybrid(scale, "SALSA, hybrid", READ),
            trial("raw, reads of 64 KiB", RAW, raw(), SMALLER),
            trial("SALSA, reads of 64 KiB", SALSA, salsa_on_disk(), SMALLER),
            hybrid(scale, "SALSA, hybrid, reads of 64 KiB", SMALLER),
        ]
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [raw, log, both, small_raw, small_log, small_both] = trials else { unreachable!("as many as were set up") };
        let charts = vec![throughput(self.about().title, [raw, log, both])];
        let mut found = Findings::new(charts, video::NOTES.map(str::to_owned).into());
        for (series, of, small, pair) in
            [("raw", raw, small_raw, (0, 3)), ("SALSA", log, small_log, (1, 4)), ("hybrid", both, small_both, (2, 5))]
        {
            found.published(READS, series, read(of));
            found.published(WRITES, series, written(of));
            found.supposed((READS, series), SMALL_READS, &[pair], read(small));
        }
        found.published("SALSA beside raw", "reads: SALSA / raw", read(log) / read(raw));
        found.published("hybrid beside SALSA", "reads: hybrid / SALSA", read(both) / read(log));
        found.published("order", "reads: SALSA / raw", read(log) / read(raw));
        found.published("order", "reads: hybrid / SALSA", read(both) / read(log));
        for of in trials {
            let name = &of.trial.name;
            found.number(format!("{name}: reads"), "MiB/s", read(of));
            found.number(format!("{name}: writes"), "MiB/s", written(of));
        }
        found
    }
}

/// Reads: on the whole, and over time.
fn throughput(title: &str, trials: [&Trialled; 3]) -> Chart {
    let bars = trials.map(|of| Bars::new(&of.trial.name, of.trial.scheme, vec![read(of)]));
    let level = |at, label: &str| Mark::Level { at, label: label.into() };
    let whole =
        Panel::bars(Axis::logarithmic("reads (MiB/s)").between(1.0, 1000.0), vec!["20 minutes".into()], bars.into())
            .marked(vec![level(4.8, ""), level(6.2, "published: raw 4.8, SALSA 6.2"), level(118.5, "hybrid 118.5")]);
    let over_time = |of: &Trialled| {
        let points = benchmark(of).iter().map(|sample| (at(sample), rate(sample.reads[1], sample)));
        Line::new(&of.trial.name, of.trial.scheme, points.collect())
    };
    let lines = trials.map(over_time).into();
    let y = Axis::logarithmic("reads (MiB/s)").between(1.0, 1000.0);
    let over_time = Panel::lines(Axis::linear("time (s)"), y, lines);
    Chart::grid("throughput", title, 2, (320.0, 240.0), vec![whole, over_time])
}
