//! Figure 3: random writes over time to four NVMe drives as RAID-0.

use super::common::{AFTER, AGING, SAMPLE, devices};
use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Published, Scale, Trial, Trialled};
use crate::outcome::per_second;

/// See the module's text.
pub struct Fig3;

impl Experiment for Fig3 {
    fn about(&self) -> About {
        About {
            id: "serial/fig3",
            title: "Random writes over time to four NVMe drives as RAID-0",
            published: "Figure 3 and section 1: four Intel 750 of 400 GB as RAID-0 with chunks of 64 KiB, clean at first. \
                        3.5 GB/s (ideal: 3.6), then, as the drives collect garbage, dips below the 1.25 GB/s of 10 GbE, \
                        and oscillation.",
            divisor: 64.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let devices = devices(scale);
        let part = 75.0 * 1.6e12 / 100.0 / scale.divisor();
        let hot = 200e9 / scale.divisor();
        let scenario = format!(
            "name = \"fig3\"\n{devices}[[array]]\npreset = \"raid0\"\ndrives = 4\n[volume]\nsize = \"100% of usable\"\n\
             [[workload.fio]]\nname = \"aging\"\nblock-size = \"256KiB\"\ndepth = 32\nsize = {}\nduration = \"{}\"\n\
             [run]\nduration = \"{}\"\nsample = \"{}\"\n",
            part as u64 / (256 << 10) * (256 << 10),
            scale.seconds(AGING),
            scale.seconds(AGING),
            scale.seconds(SAMPLE),
        );
        let after = scenario
            .replace("[volume]", "[aging]\nfill = \"75%\"\noverwrite = 1.0\n[volume]")
            .replace("name = \"aging\"\nblock-size = \"256KiB\"", "name = \"after\"\nblock-size = \"64KiB\"")
            .replace(
                &format!("size = {}\n", part as u64 / (256 << 10) * (256 << 10)),
                &format!("size = {}\n", hot as u64 / 65536 * 65536),
            )
            .replace(&scale.seconds(AGING), &scale.seconds(AFTER / 3.0));
        vec![
            Trial::new("RAID-0, 256 KiB", Scheme::Raid0, scenario),
            Trial::new("RAID-0, then 64 KiB", Scheme::Raid0, after),
        ]
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [first, then] = trials else { unreachable!("as many as were set up") };
        let points = |trialled: &Trialled, from: f64| -> Vec<(f64, f64)> {
            let rate = |sample: &crate::Sample| per_second(sample.writes[1], sample.span_ns) as f64 / 1e6;
            let samples = &trialled.outcome.samples;
            samples.iter().map(|sample| (from + scale.papers_seconds(sample.at_ns), rate(sample))).collect()
        };
        let (aging, after) = (points(first, 0.0), points(then, AGING));
        // Without the first interval, in which the drives' caches fill.
        let first_tenth = &aging[1..(aging.len() / 10).max(2)];
        let fresh = first_tenth.iter().map(|point| point.1).sum::<f64>() / first_tenth.len() as f64;
        let all: Vec<f64> = aging.iter().chain(&after).map(|point| point.1).collect();
        let least = all.iter().copied().fold(f64::MAX, f64::min);
        let panel = Panel::lines(
            Axis::linear("time, as in the paper (s)"),
            Axis::linear("writes (MB/s)"),
            vec![Line::new("RAID-0", Scheme::Raid0, aging.into_iter().chain(after).collect())],
        );
        let marks = vec![
            Mark::Level { at: 3500.0, label: "published at first: 3.5 GB/s".into() },
            Mark::Level { at: 1250.0, label: "10 GbE; published dips go below".into() },
            Mark::Moment { at: AGING, label: "64 KiB".into() },
        ];
        Findings {
            charts: vec![Chart::single("throughput", self.about().title, panel.marked(marks))],
            numbers: vec![
                Number::beside("at first", "MB/s", Published::About(3500.0), fresh),
                Number::beside("least", "MB/s", Published::Below(1250.0), least),
            ],
            checks: vec![
                Check::new("at first, MB/s", Bound::Between(3150.0, 3850.0), fresh),
                Check::new("least / first: collection takes more than half", Bound::AtMost(0.5), least / fresh),
                Check::new("dips below 10 GbE, MB/s", Bound::AtMost(1250.0), least),
            ],
            notes: vec![
                "The second part begins on drives that were filled and overwritten in 4 KiB blocks, not by the first \
                 part itself."
                    .into(),
            ],
        }
    }
}
