//! Figure 11: read latency of YCSB-C over time.

use super::recorded::{DIVISOR, RECORDED, trials};
use super::ycsb::beside_rivals;
use crate::chart::{Axis, Chart, Line, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::{LatencyRow, Sample};
use crate::series::{TIME, most, over_time};

/// See the module's text.
pub struct Fig11;

const NOTE: &str = "Merges that the load left behind read and write in the first half of the time shown and a little longer. All \
    writes go to the front-end, each of whose dies is busy for 900 us with a page. Latencies are those of reads of at most \
    64 KiB, which a lookup waits for.";

impl Experiment for Fig11 {
    fn about(&self) -> About {
        About {
            id: "swan/fig11",
            title: "YCSB-C's read latency over time on nine drives",
            published: "Figure 11 and section 5.3: read latency of SWAN is stable, where RAID4, RAID5 and Log-RAID4 show high \
                        spikes from collection that goes on for a quarter of an hour and more after the load.",
            divisor: DIVISOR,
            seeds: 6,
        }
    }

    fn scale(&self, _: Scale) -> Scale {
        Scale::new(DIVISOR).expect("it is in bounds")
    }

    fn setup(&self, _: Scale) -> Vec<Trial> {
        trials("c", 1000.0)
    }

    fn findings(&self, asked: Scale, trials: &[Trialled]) -> Findings {
        let scale = self.scale(asked);
        let p99 = |sample: &Sample| sample.short_reads[3] as f64 / 1e3;
        let panel = |trialled: &Trialled| {
            let points = over_time(scale, trialled.outcome, p99).into_iter().filter(|point| point.1 > 0.0).collect();
            let line = Line::new(&trialled.trial.name, trialled.trial.scheme, points);
            Panel::lines(Axis::linear(TIME), Axis::logarithmic("99 % (us)").between(100.0, 10_000.0), vec![line])
                .titled(&trialled.trial.name)
        };
        let worst = |trialled: &Trialled| {
            let read = trialled.outcome.samples.iter().filter(|sample| sample.short_reads[0] > 0);
            most(read.map(p99))
        };
        let of = |trialled: &Trialled, what: fn(&LatencyRow) -> u64| what(lookups(trialled)) as f64 / 1e3;
        let mean = |trialled: &Trialled| of(trialled, |row| row.mean_ns);
        let panels = trials.iter().map(panel).collect();
        let chart = Chart::grid("latency", self.about().title, 2, (380.0, 150.0), panels);
        let mut found = Findings::new(vec![chart], vec![RECORDED.into(), NOTE.into()]);
        for (rival, ratio) in beside_rivals(trials, worst) {
            found.published("spikes", format!("worst interval's 99 %: SWAN / {rival}"), ratio);
        }
        for (rival, ratio) in beside_rivals(trials, mean) {
            found.published("mean", format!("SWAN / {rival}"), ratio);
        }
        for trialled in trials {
            let name = &trialled.trial.name;
            found.number(format!("{name}: mean"), "us", mean(trialled));
            found.number(format!("{name}: 99 %"), "us", of(trialled, |row| row.p99_ns));
            found.number(format!("{name}: 99.9 %"), "us", of(trialled, |row| row.p999_ns));
            found.number(format!("{name}: worst interval's 99 %"), "us", worst(trialled));
        }
        found
    }
}

/// Reads that somebody waits for.
fn lookups<'a>(trialled: &'a Trialled) -> &'a LatencyRow {
    trialled.outcome.latency_of("read", 0).expect("the workload reads")
}
