//! Figure 11: read latency of YCSB-C over time.

use super::common::{TIME, over_time};
use super::recorded::{DIVISOR, RECORDED, trials};
use crate::chart::{Axis, Chart, Line, Panel};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Published, Scale, Trial, Trialled};
use crate::outcome::{LatencyRow, Sample};

/// See the module's text.
pub struct Fig11;

/// Where SWAN and Log-RAID are among the schemes.
const SWAN: usize = 3;
const LOG: usize = 2;

/// What a drive does that lets reads go before a program or an erase that is under way.
const SUSPENDING: &str = "override.ssd.suspend = { overhead = \"20us\", limit = 4 }\n";

const BRIEFLY: &str = "Reads wait behind the front-end's programs, and in the intervals in which a group is cleaned behind \
    those of cleaning: see the remarks.";

const WHY: &str = "Most of what SWAN's lookups wait for is the front-end. For most of the time that merges write, nothing is \
    cleaned, and yet lookups at 99 % take twice as long as in Log-RAID: new tables, which are looked up most, lie on the same \
    three drives that all writes go to, each of whose dies is busy for 900 us with a page. On drives that let reads go before, \
    the means differ by a twentieth. The paper's own Table 4, 98 us on the front-end and 88 us on idle drives, would need that \
    of its drives too. What then remains we suppose, but did not measure, to be the time in which a group is cleaned: three drives move what Log-RAID moves with \
    nine, up to eight victims at once, and give way to a read for 2 ms at most.";

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

    fn setup(&self, _: Scale) -> Vec<Trial> {
        let mut all = trials("c", 1000.0);
        let suspending = |trial: &Trial| {
            let scenario = trial.scenario.replacen("[devices]\n", &format!("[devices]\n{SUSPENDING}"), 1);
            Trial::new(&format!("{}, drives that suspend", trial.name), trial.scheme, scenario)
        };
        let more: Vec<Trial> = [LOG, SWAN].iter().map(|&scheme| suspending(&all[scheme])).collect();
        all.extend(more);
        all
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let scale = Scale::new(DIVISOR).expect("it is in bounds");
        let p99 = |sample: &Sample| sample.short_reads[3] as f64 / 1e3;
        let panel = |trialled: &Trialled| {
            let points = over_time(scale, trialled.outcome, p99).into_iter().filter(|point| point.1 > 0.0).collect();
            let line = Line::new(&trialled.trial.name, trialled.trial.scheme, points);
            Panel::lines(Axis::linear(TIME), Axis::logarithmic("99 % (us)").between(100.0, 10_000.0), vec![line])
                .titled(&trialled.trial.name)
        };
        let worst = |n: usize| trials[n].outcome.samples.iter().map(p99).fold(0.0, f64::max);
        let of = |n: usize, what: fn(&LatencyRow) -> u64| what(lookups(&trials[n])) as f64 / 1e3;
        // What shows that it is the drives: those that let reads go before make the difference small.
        let suspended = || {
            Check::new(
                "mean on drives that suspend: SWAN / Log-RAID",
                Bound::AtMost(1.1),
                of(5, mean_of) / of(4, mean_of),
            )
        };
        let spike = |n: usize| {
            let name = format!("worst interval's 99 %: SWAN / {}", trials[n].trial.name);
            Check::new(name, Bound::AtMost(1.0), worst(SWAN) / worst(n)).or_because(BRIEFLY, suspended())
        };
        let p999 = |row: &LatencyRow| row.p999_ns;
        let mut numbers = vec![
            Number::beside("mean: SWAN / Log-RAID", "", Published::Below(1.0), of(SWAN, mean_of) / of(LOG, mean_of)),
            Number::ours("the same on drives that suspend", "", of(5, mean_of) / of(4, mean_of)),
        ];
        for (n, trialled) in trials.iter().enumerate() {
            let name = &trialled.trial.name;
            numbers.push(Number::ours(format!("{name}: mean"), "us", of(n, mean_of)));
            numbers.push(Number::ours(format!("{name}: 99 %"), "us", of(n, |row| row.p99_ns)));
            numbers.push(Number::ours(format!("{name}: 99.9 %"), "us", of(n, p999)));
            numbers.push(Number::ours(format!("{name}: worst interval's 99 %"), "us", worst(n)));
        }
        let mut checks = vec![
            // With the tolerances of Figures 9 and 10, which say so of all workloads.
            Check::new("mean: SWAN / Log-RAID", Bound::AtMost(1.1), of(SWAN, mean_of) / of(LOG, mean_of))
                .or_because(BRIEFLY, suspended()),
            Check::new("99.9 %: SWAN / Log-RAID", Bound::AtMost(1.0), of(SWAN, p999) / of(LOG, p999))
                .or_because(BRIEFLY, suspended()),
        ];
        checks.extend((0..SWAN).map(spike));
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
            notes: vec![
                RECORDED.into(),
                WHY.into(),
                "These are reads of at most 64 KiB, which a lookup waits for; merges that the load left behind read and \
                 write in the first half of the time shown and a little longer."
                    .into(),
            ],
        }
    }
}

/// Reads that somebody waits for.
fn lookups<'a>(trialled: &'a Trialled) -> &'a LatencyRow {
    let lookup = |row: &&LatencyRow| row.kind == "read" && row.job == 0;
    trialled.outcome.latency.iter().find(lookup).expect("the workload reads")
}

fn mean_of(row: &LatencyRow) -> u64 {
    row.mean_ns
}
