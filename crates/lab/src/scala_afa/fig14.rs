//! Figure 14, one of its five benchmarks: the one that there is a recording of.

use super::common::{DIVISOR, Engine, SEEDS, drives, engine_cores, in_place, log};
use super::profiles::{FUSION_RAID, MDRAID};
use crate::chart::{Axis, Bars, Chart, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Fig14;

const ENGINES: [Engine; 3] = [Engine::Mdraid, Engine::FusionRaid, Engine::ScalaAfa];
const NOTE: &str = "The requests are those of the recording rocksdb-load (docs/recordings.md): db_bench fills RocksDB in random order, 250,000 records of \
    1 KB. It is replayed in a closed loop of eight, which leaves out RocksDB's own time: so ratios are larger than an application \
    sees. The other four benchmarks were not recorded.";

impl Experiment for Fig14 {
    fn about(&self) -> About {
        About {
            id: "scala-afa/fig14-fillrandom",
            title: "RocksDB filled in random order on 4+1",
            published: "Figure 14 and section 6.4: db_bench with 16 B keys and 1 KB values. ScalaAFA is 31.9 % ahead of FusionRAID in \
                        fillrandom, the only one of five benchmarks of which there is a recording.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let devices = drives(scale);
        let trial = |engine: Engine| {
            let (array, cpu) = match engine {
                Engine::Mdraid => (in_place("raid5", 5), MDRAID.cpu(1)),
                Engine::FusionRaid => (in_place("raid10", 6), FUSION_RAID.cpu(1)),
                _ => (log("scala-afa", 4, 1), engine_cores(1)),
            };
            let text = format!(
                "name = \"scala-afa-rocksdb\"\n{devices}{array}[volume]\nsize = \"2GiB\"\nack = \"written\"\n\
                 [workload.replay]\nrecording = \"rocksdb-load\"\nclosed-loop = true\ndepth = 8\nfit = \"refuse\"\n{cpu}\
                 [run]\nduration = \"20s\"\nsample = \"100ms\"\n"
            );
            Trial::new(engine.name(), engine.scheme(), text)
        };
        ENGINES.map(trial).into()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let seconds = |n: usize| {
            let ended = trials[n].outcome.makespan_ns;
            ended.unwrap_or_else(|| panic!("{} did not come to the recording's end", trials[n].trial.name)) as f64 / 1e9
        };
        let rates: Vec<f64> = (0..ENGINES.len()).map(|n| 1.0 / seconds(n)).collect();
        let bar = |(engine, rate): (&Engine, &f64)| Bars::new(engine.name(), engine.scheme(), vec![*rate]);
        let bars = ENGINES.iter().zip(&rates).map(bar).collect();
        let panel =
            Panel::bars(Axis::linear("recordings played in a second"), vec!["fill in random order".into()], bars);
        let chart = Chart::single("rocksdb", self.about().title, panel);
        let mut found = Findings::new(vec![chart], vec![NOTE.into()]);
        found.published("beside FusionRAID", "ours / FusionRAID, fillrandom", rates[2] / rates[1]);
        found.number(
            "ours / mdraid, of which 1.414 was published for the mean of five benchmarks",
            "",
            rates[2] / rates[0],
        );
        for (n, engine) in ENGINES.iter().enumerate() {
            found.number(format!("{}: the recording takes", engine.name()), "s", seconds(n));
        }
        found
    }
}
