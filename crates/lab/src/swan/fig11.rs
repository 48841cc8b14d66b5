//! Figure 11: read latency of YCSB-C over time.

use super::recorded::{DIVISOR, RECORDED, trials};
use super::ycsb::{LOG, SCHEMES, SWAN, WIDE_NOTE, WIDE_SWAN, unless_narrow};
use crate::chart::{Axis, Chart, Line, Panel};
use crate::experiment::{About, Bound, Experiment, Findings, Number, Published, Scale, Trial, Trialled};
use crate::outcome::{LatencyRow, Sample};
use crate::series::{TIME, over_time};

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
        let worst = |trialled: &Trialled| trialled.outcome.samples.iter().map(p99).fold(0.0, f64::max);
        let of = |trialled: &Trialled, what: fn(&LatencyRow) -> u64| what(lookups(trialled)) as f64 / 1e3;
        let mean = |trialled: &Trialled| of(trialled, |row| row.mean_ns);
        let p999 = |trialled: &Trialled| of(trialled, |row| row.p999_ns);
        let check = |what: &str, bound: f64, rival: usize, value: &dyn Fn(&Trialled) -> f64| {
            let claim = |front_end: &str| format!("{what}{front_end}: SWAN / {}", SCHEMES[rival].0);
            let ratio = |swan: &Trialled| value(swan) / value(&trials[rival]).max(1e-9);
            unless_narrow(claim, [&trials[SWAN], &trials[WIDE_SWAN]], ratio, Bound::AtMost(bound), Bound::AtMost(bound))
        };
        let beside_log = mean(&trials[SWAN]) / mean(&trials[LOG]);
        let mut numbers = vec![Number::beside("mean: SWAN / Log-RAID", "", Published::Below(1.0), beside_log)];
        for trialled in trials {
            let name = &trialled.trial.name;
            numbers.push(Number::ours(format!("{name}: mean"), "us", mean(trialled)));
            numbers.push(Number::ours(format!("{name}: 99 %"), "us", of(trialled, |row| row.p99_ns)));
            numbers.push(Number::ours(format!("{name}: 99.9 %"), "us", p999(trialled)));
            numbers.push(Number::ours(format!("{name}: worst interval's 99 %"), "us", worst(trialled)));
        }
        let mut checks = vec![
            // With the tolerances of Figures 9 and 10, which say so of all workloads.
            check("mean", 1.1, LOG, &mean),
            check("99.9 %", 1.0, LOG, &p999),
        ];
        checks.extend((0..SWAN).map(|rival| check("worst interval's 99 %", 1.0, rival, &worst)));
        Findings {
            charts: vec![Chart::grid(
                "latency",
                self.about().title,
                2,
                (380.0, 150.0),
                trials.iter().map(panel).collect(),
            )],
            numbers,
            checks,
            notes: vec![RECORDED.into(), NOTE.into(), WIDE_NOTE.into()],
        }
    }
}

/// Reads that somebody waits for.
fn lookups<'a>(trialled: &'a Trialled) -> &'a LatencyRow {
    trialled.outcome.latency_of("read", 0).expect("the workload reads")
}
