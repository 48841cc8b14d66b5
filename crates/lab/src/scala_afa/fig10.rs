//! Figure 10: latency of writes.

use super::common::{COPIES, Case, DIVISOR, Engine, FULL, Results, SEEDS, SEQUENTIAL, SMALL, bars, drives};
use crate::chart::Chart;
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::series::most;

/// See the module's text.
pub struct Fig10;

const NOTE: &str = "Rivals are arrays in place on a core that costs what Figure 3 says, which is a throughput and a share of time: their latency is \
    what a closed loop of 32 makes of it. With one thread no lock is waited for, so ScalaRAID would be mdraid.";

/// Loads, and who is measured under them.
fn cases() -> Vec<Case> {
    use Engine::{FusionRaid, Mdraid, Raid5f, ScalaAfa};
    let under = |load: &'static str, engines: &[Engine]| -> Vec<Case> {
        let millis = if load == SMALL { 200 } else { 50 };
        engines.iter().map(|&engine| Case { millis, ..Case::new(engine, load) }).collect()
    };
    [
        under(SMALL, &[Mdraid, FusionRaid, ScalaAfa]),
        under(SEQUENTIAL, &[Mdraid, FusionRaid, ScalaAfa]),
        under(FULL, &[Mdraid, FusionRaid, Raid5f, ScalaAfa]),
        vec![Case::new(ScalaAfa, FULL).bare()],
    ]
    .concat()
}

impl Experiment for Fig10 {
    fn about(&self) -> About {
        About {
            id: "scala-afa/fig10",
            title: "Latency of writes on 4+1",
            published: "Figure 10 and section 6.2: 4 KiB at depth 1, 64 KiB and whole stripes at depth 32. ScalaAFA takes 52.7 % less \
                        than FusionRAID on average and 41.9 % less at the 99th percentile for whole stripes; 4.8 % less than RAID5F there.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let devices = drives(scale);
        cases().iter().map(|case| case.trial(&devices)).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        use Engine::{FusionRaid, Mdraid, Raid5f, ScalaAfa};
        let results = Results(trials);
        let of = |load: &'static str| -> Vec<Case> {
            cases().into_iter().filter(|case| case.load == load && !case.bare).collect()
        };
        let panel =
            |load, what: &str, value: &dyn Fn(&Case) -> f64| bars("us", &format!("{load}, {what}"), &of(load), value);
        let panels = [SMALL, SEQUENTIAL, FULL]
            .into_iter()
            .flat_map(|load| {
                [panel(load, "mean", &|case| results.mean(case)), panel(load, "99 %", &|case| results.p99(case))]
            })
            .collect();
        let chart = Chart::grid("latency", self.about().title, 2, (380.0, 180.0), panels);
        let mut found = Findings::new(vec![chart], vec![NOTE.into()]);
        let case = |engine, load| {
            cases().into_iter().find(|case| case.engine == engine && case.load == load).expect("it is a case")
        };
        let mean = |of, beside, load| results.mean(&case(of, load)) / results.mean(&case(beside, load));
        let p99 = |of, beside, load| results.p99(&case(of, load)) / results.p99(&case(beside, load));
        found.published("rivals", "FusionRAID / mdraid, 64 KiB sequential, mean", mean(FusionRaid, Mdraid, SEQUENTIAL));
        found.published("rivals", "FusionRAID / mdraid, 64 KiB sequential, 99 %", p99(FusionRaid, Mdraid, SEQUENTIAL));
        found.published("full stripes", "ours / FusionRAID, mean", mean(ScalaAfa, FusionRaid, FULL));
        found.published("full stripes", "ours / FusionRAID, 99 %", p99(ScalaAfa, FusionRaid, FULL));
        found.published("full stripes, beside RAID5F", "ours / RAID5F, 99 %", p99(ScalaAfa, Raid5f, FULL));
        let (ours, bare) = (Case::new(ScalaAfa, FULL), Case::new(ScalaAfa, FULL).bare());
        let tried = [(results.place(&ours), results.place(&bare))];
        let (fusion, raid5f) = (case(FusionRaid, FULL), case(Raid5f, FULL));
        let without = [
            ("full stripes", "ours / FusionRAID, mean", results.mean(&bare) / results.mean(&fusion)),
            ("full stripes", "ours / FusionRAID, 99 %", results.p99(&bare) / results.p99(&fusion)),
            ("full stripes, beside RAID5F", "ours / RAID5F, 99 %", results.p99(&bare) / results.p99(&raid5f)),
        ];
        without.into_iter().for_each(|(panel, series, ratio)| found.supposed((panel, series), COPIES, &tried, ratio));
        for load in [SMALL, SEQUENTIAL, FULL] {
            let rivals = [FusionRaid, Mdraid].map(|rival| mean(ScalaAfa, rival, load));
            let least = most(rivals);
            found.published("shortest of all", format!("{load}: ours / the next, mean"), least);
        }
        for case in cases() {
            found.number(format!("{}: mean", case.name()), "us", results.mean(&case));
            found.number(format!("{}: 99 %", case.name()), "us", results.p99(&case));
        }
        found
    }
}
