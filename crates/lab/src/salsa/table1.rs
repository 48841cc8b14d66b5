//! Table 1: random writes, and random reads and writes, to one drive as it is and below SALSA.

use super::common::{
    DIVISOR, PRECONDITIONED, RAW, SALSA, SEEDS, VOLUME, amplification, drive_amplification, drives, raw, read, run,
    salsa, written,
};
use crate::chart::{Axis, Bars, Chart, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Table1;

/// Seconds of each run.
const SECONDS: u32 = 10;
/// Percent of the requests that are reads, in each of the two workloads.
const READS: [u32; 2] = [0, 80];
const NOTES: [&str; 3] = [
    "Writes of the drive as it is were fitted to this table, by one parameter and to one digit (docs/devices.md): they are shown and not judged. Ratios to \
     them are.",
    "In the mix 80 of 100 requests are reads by construction, so reads and writes are one finding: reads are judged.",
    "Nobody's processor is modelled.",
];
/// What the paper's SALSA does not say that it does.
const TRIMS: &str = "Segments that were emptied are trimmed, and the drive needs not move what is in them; of SALSA the paper does not say that.";

impl Experiment for Table1 {
    fn about(&self) -> About {
        About {
            id: "salsa/table1",
            title: "Random reads and writes to one drive as it is and below SALSA",
            published: "Table 1 and section 5.1.1: 4 KiB at depth 32 to 80 % of a 1 TB 850 EVO, as it is and with SALSA: 15.9 and 37.7 MiB/s of \
                        writes; of reads and writes, 80 to 20, 50.6 and 12.6, with SALSA 72.5 and 18.1 MiB/s.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trims_ignored = drives(scale).replacen("[devices]\n", "[devices]\noverride.ssd.ignores_trims = true\n", 1);
        let pair = |name: &str, scheme, devices: &str, array: String| {
            READS.map(|reads| Trial::new(&format!("{name}, {reads} % reads"), scheme, scenario(devices, &array, reads)))
        };
        let [plain, log] = [drives(scale), salsa(scale, 1, 0)];
        [
            pair("raw", RAW, &plain, raw()),
            pair("SALSA", SALSA, &plain, log.clone()),
            pair("SALSA, trims ignored", Scheme::Serial, &trims_ignored, log),
        ]
        .concat()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [raw, raw_mix, log, log_mix, untrimmed, untrimmed_mix] = trials else {
            unreachable!("as many as were set up")
        };
        let mut found = Findings::new(vec![chart(self.about().title, trials)], NOTES.map(str::to_owned).into());
        let gain = |log: &Trialled| written(log) / written(raw);
        let mix_gain = |log: &Trialled| read(log) / read(raw_mix);
        found.published("the drive as it is", "mix, reads", read(raw_mix));
        for (panel, series, of, without) in [
            ("writes", "SALSA", written(log), written(untrimmed)),
            ("writes", "SALSA / raw", gain(log), gain(untrimmed)),
            ("faster with SALSA", "writes: SALSA / raw", gain(log), gain(untrimmed)),
        ] {
            found.published(panel, series, of);
            found.supposed((panel, series), TRIMS, &[(2, 4)], without);
        }
        for (panel, series, of, without) in [
            ("mix", "reads, SALSA", read(log_mix), read(untrimmed_mix)),
            ("mix", "reads, SALSA / raw", mix_gain(log_mix), mix_gain(untrimmed_mix)),
            ("faster with SALSA", "mix, reads: SALSA / raw", mix_gain(log_mix), mix_gain(untrimmed_mix)),
        ] {
            found.published(panel, series, of);
            found.supposed((panel, series), TRIMS, &[(3, 5)], without);
        }
        found.published(
            "less to gain where writes are few",
            "gain of the mix / of writes",
            mix_gain(log_mix) / gain(log),
        );
        found.number("raw: writes, fitted", "MiB/s", written(raw));
        numbers(&mut found, trials);
        found
    }
}

fn scenario(devices: &str, array: &str, reads: u32) -> String {
    format!(
        "name = \"random\"\n{devices}{array}{VOLUME}{PRECONDITIONED}[[workload.fio]]\nname = \"random\"\nread = {reads}\n\
         depth = 32\n{}",
        run(SECONDS)
    )
}

fn chart(title: &str, trials: &[Trialled]) -> Chart {
    let panel = |name: &str, mix: usize, value: fn(&Trialled) -> f64, published: [f64; 2]| {
        let bars = |n: usize| {
            let of = &trials[2 * n + mix];
            let name = of.trial.name.rsplit_once(", ").map_or("", |(array, _)| array);
            Bars::new(name, of.trial.scheme, vec![value(of)])
        };
        let marks = ["raw", "SALSA"]
            .into_iter()
            .zip(published)
            .map(|(who, at)| Mark::Level { at, label: format!("published, {who}: {at}") });
        Panel::bars(Axis::linear("MiB/s"), vec![name.into()], (0..3).map(bars).collect()).marked(marks.collect())
    };
    let panels = vec![
        panel("writes alone", 0, written, [15.9, 37.7]),
        panel("80/20: reads", 1, read, [50.6, 72.5]),
        panel("80/20: writes", 1, written, [12.6, 18.1]),
    ];
    Chart::grid("throughput", title, 3, (240.0, 220.0), panels)
}

fn numbers(found: &mut Findings, trials: &[Trialled]) {
    for trialled in trials {
        let name = &trialled.trial.name;
        found.number(format!("{name}: writes"), "MiB/s", written(trialled));
        found.number(format!("{name}: reads"), "MiB/s", read(trialled));
        found.number(format!("{name}: sent to the drive for each block"), "", amplification(trialled));
        found.number(format!("{name}: programmed for each page sent"), "", drive_amplification(trialled));
    }
}
