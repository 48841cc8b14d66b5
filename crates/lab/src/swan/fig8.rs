//! Figure 8: YCSB's throughput.

use super::ycsb::{
    MODELLED, PER_WORKLOAD, SCHEMES, SWAN, WORKLOADS, bars, beside_rivals, bytes, of_workload, throughput, title,
    trials,
};
use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::ratio;
use crate::series::least;

/// See the module's text.
pub struct Fig8;

const UNIT: &str = "The paper does not say in which unit its throughput is. In records per second merges do not count, in bytes they \
    do. Of the two ratios the one counts that is worse for SWAN.";

const CONTRADICTION: &str = "Section 5.3 says that SWAN outperforms RAID4, RAID5 and Log-RAID for all the workloads, and of B to D that it is slightly \
    better or similar. The milder one is judged.";

/// What section 5.3 prints of the load: how many times what each rival does SWAN does. Of RAID4 and RAID5 it is more than that.
const PUBLISHED: [f64; SWAN] = [4.0, 4.0, 1.17];

/// How many times as fast SWAN loads as each rival, beside what is printed.
fn load(trials: &[Trialled]) -> Panel {
    let trials = of_workload(trials, 0);
    let records = beside_rivals(trials, throughput).map(|(_, ratio)| ratio);
    let bytes = beside_rivals(trials, bytes).map(|(_, ratio)| ratio);
    let rivals = SCHEMES[..SWAN].iter().map(|(name, ..)| (*name).into()).collect();
    let series = vec![
        Bars::new("records per second", Scheme::Swan, records.into()),
        Bars::new("bytes per second", Scheme::Reads, bytes.into()),
        Bars::new("published (beside RAID4 and RAID5: more than)", Scheme::Paper, PUBLISHED.into()),
    ];
    Panel::bars(Axis::linear("Load: SWAN / rival"), rivals, series)
}

impl Experiment for Fig8 {
    fn about(&self) -> About {
        About {
            id: "swan/fig8",
            title: "YCSB's throughput on nine drives: RAID4, RAID5, Log-RAID, SWAN",
            published: "Figure 8 and section 5.3: RocksDB on nine 850 PRO. SWAN (3R-3SSD) loads more than 4 times as fast as \
                        RAID4 and RAID5 and 17 % faster than Log-RAID4, is far ahead in A, and equal or slightly better \
                        in B to D.",
            divisor: 128.0,
            seeds: 6,
        }
    }

    fn contradiction(&self) -> Option<&'static str> {
        Some(CONTRADICTION)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        WORKLOADS.iter().flat_map(|workload| trials(scale, workload)).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let panels = vec![bars("records per second (thousands)", &WORKLOADS, trials, throughput), load(trials)];
        let chart = Chart::grid("throughput", self.about().title, 1, (640.0, 240.0), panels);
        let mut found = Findings::new(vec![chart], vec![CONTRADICTION.into(), UNIT.into(), MODELLED.into()]);
        for (w, workload) in WORKLOADS.iter().enumerate() {
            let (of, name) = (of_workload(trials, w), title(workload));
            let by_unit = beside_rivals(of, throughput).into_iter().zip(beside_rivals(of, bytes));
            for ((rival, records), (_, bytes)) in by_unit {
                found.published(&name, format!("SWAN / {rival}"), least([records, bytes]));
                found.number(format!("{name}: SWAN / {rival}, records per second"), "", records);
                found.number(format!("{name}: SWAN / {rival}, bytes per second"), "", bytes);
            }
        }
        let log = SWAN - 1;
        let by = |value: fn(&Trialled) -> f64| value(&trials[SWAN]) / value(&trials[log]);
        let farther =
            [by(throughput), by(bytes)].into_iter().max_by(|a, b| (a - 1.17).abs().total_cmp(&(b - 1.17).abs()));
        found.published("Load", format!("SWAN / {}, by how much", SCHEMES[log].0), farther.unwrap_or_default());
        for s in 0..PER_WORKLOAD {
            let amplification = ratio(trials[s].outcome.array_write_amplification_milli);
            found.number(
                format!("Load: blocks that {} writes for each of the store's", SCHEMES[s].0),
                "",
                amplification,
            );
        }
        found
    }
}
