//! Figure 9: write throughput of one thread.

use super::common::{COPIES, Case, DIVISOR, Engine, FULL, RANDOM, Results, SEEDS, SEQUENTIAL, bars, drives};
use crate::chart::Chart;
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Fig9;

const NOTES: [&str; 3] = [
    "Rivals are arrays in place on a core that costs what Figure 3 says; the figure was not used to fit it. RAID-10 stands for FusionRAID's \
     copies. With three copies (6+2) the third is charged to the core and not written.",
    "Ratios that the paper gives as averages over arrays are those of 4+1 here.",
    "With one thread, mdraid, ScalaRAID and stRAID cost the same here: Figure 3 does not tell what sets them apart.",
];
const SHAPES: [(u32, u32); 4] = [(2, 1), (4, 1), (6, 1), (6, 2)];

/// Of this load, on every array: ours and a rival, with the shapes that the rival can have.
fn pairs(rival: Engine, load: &'static str) -> Vec<Case> {
    let shapes = SHAPES.into_iter().filter(move |&(_, parity)| rival != Engine::Raid5f || parity == 1);
    shapes.flat_map(|(k, m)| [Engine::ScalaAfa, rival].map(|engine| Case::new(engine, load).on(k, m))).collect()
}

fn others() -> [Case; 4] {
    [
        Case::new(Engine::Mdraid, SEQUENTIAL),
        Case::new(Engine::FusionRaid, RANDOM),
        Case::new(Engine::StRaid, RANDOM),
        Case::new(Engine::ScalaAfa, RANDOM),
    ]
}

impl Experiment for Fig9 {
    fn about(&self) -> About {
        About {
            id: "scala-afa/fig9",
            title: "Write throughput of one thread, beside other engines",
            published: "Figure 9 and section 6.2: depth 32, 2+1 to 6+2 emulated drives. ScalaAFA is 1.6 to 2.5 times FusionRAID with 64 KiB \
                        sequential writes; RAID5F, with whole stripes, is 12.4 % ahead on 2+1 and behind on 4+1 and 6+1.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let devices = drives(scale);
        let pairs = [pairs(Engine::FusionRaid, SEQUENTIAL), pairs(Engine::Raid5f, FULL)].concat();
        let bare =
            pairs.iter().filter(|case| case.engine == Engine::ScalaAfa).map(|case| case.clone().bare()).collect();
        let cases = [pairs, bare, others().into()].concat();
        cases.iter().map(|case| case.trial(&devices)).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let results = Results(trials);
        let rate = |case: &Case| results.rate(case);
        let panels = vec![
            bars("GB/s", SEQUENTIAL, &pairs(Engine::FusionRaid, SEQUENTIAL), rate),
            bars("GB/s", FULL, &pairs(Engine::Raid5f, FULL), rate),
        ];
        let chart = Chart::grid("throughput", self.about().title, 2, (380.0, 240.0), panels);
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        for pair in pairs(Engine::FusionRaid, SEQUENTIAL).chunks(2) {
            let shape = format!("{}+{}", pair[0].data, pair[0].parity);
            let line = ("ours / FusionRAID, 64 KiB sequential", shape.as_str());
            beside(&mut found, &results, line, &pair[0], |ours| ours / rate(&pair[1]));
        }
        for pair in pairs(Engine::Raid5f, FULL).chunks(2) {
            let shape = format!("{}+{}", pair[0].data, pair[0].parity);
            beside(&mut found, &results, ("RAID5F / ours, full stripes", &shape), &pair[0], |ours| {
                rate(&pair[1]) / ours
            });
        }
        let [mdraid, fusion_random, straid_random, ours_random] = others();
        let fusion = Case::new(Engine::FusionRaid, SEQUENTIAL);
        found.published("rivals", "FusionRAID / stRAID, 64 KiB random", rate(&fusion_random) / rate(&straid_random));
        found.published("rivals", "FusionRAID / mdraid, 64 KiB sequential", rate(&fusion) / rate(&mdraid));
        found.number("ours / FusionRAID, 64 KiB random, 4+1", "", rate(&ours_random) / rate(&fusion_random));
        trials
            .iter()
            .for_each(|trialled| found.number(&trialled.trial.name, "GB/s", super::common::gigabytes(trialled)));
        found
    }
}

/// A published ratio with ours in it, and the same should nothing be copied.
fn beside(found: &mut Findings, results: &Results, line: (&str, &str), ours: &Case, ratio: impl Fn(f64) -> f64) {
    let bare = ours.clone().bare();
    found.published(line.0, line.1, ratio(results.rate(ours)));
    found.supposed(line, COPIES, &[(results.place(ours), results.place(&bare))], ratio(results.rate(&bare)));
}
