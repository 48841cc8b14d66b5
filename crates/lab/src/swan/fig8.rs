//! Figure 8: YCSB's throughput.

use super::common::{UTILISATION, aged_drives, written};
use super::ycsb::{
    LOG, MODELLED, PER_WORKLOAD, RAID4, RAID5, SCHEMES, SWAN, WIDE_NOTE, WIDE_SWAN, WORKLOADS, bars, of_workload,
    throughput, title, trials,
};
use crate::chart::Chart;
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Published, Scale, Trial, Trialled};

/// See the module's text.
pub struct Fig8;

const FASTER_LOG: &str = "A front-end of three drives, two of them for data, does what nine do in Log-RAID. SWAN with nine drives \
    in the front-end, each of a third of the size, is as fast. The paper's Log-RAID wrote no more than 300 to 750 MB/s to \
    eight drives while it cleaned (Figure 1), less than the two of SWAN's that hold data take.";

const NOT_THE_DRIVES: &str = "The modelled store writes its tables in order, and md's rules make of that whole stripes, for which \
    RAID-5 in place reads nothing. Even what suits it least is not four times as slow on these drives: random writes of 4 KiB \
    to aged drives that have been written over with the same. So drives and pattern are not what held the paper's RAID-4 and RAID-5 back; of md there is no \
    model here of its one thread for parity and of what its stripes' cache holds.";

const WHOLE_STRIPES: &str = "RAID-4 loads as RAID-5 does: to whole stripes it does not matter which drive has the parity. For the rest see \
    RAID5.";

/// Random writes of 4 KiB to aged drives, measured once they were written over: what suits RAID5 least.
fn random_writes(scale: Scale, scheme: usize) -> Trial {
    let (name, scheme, array) = SCHEMES[scheme];
    // It takes many requests: smaller still.
    let scale = scale.smaller(4.0);
    let scenario = format!(
        "name = \"random-writes\"\n{}[[array]]\n{array}[volume]\nsize = \"{UTILISATION}% of data\"\n\
         [[workload.fio]]\nblock-size = \"4KiB\"\ndepth = 64\n\
         [run]\nduration = \"{}\"\nramp = \"{}\"\nsample = \"{}\"\n",
        aged_drives(scale),
        scale.seconds(2400.0),
        scale.seconds(1200.0),
        scale.seconds(20.0)
    );
    Trial::new(&format!("{name}, random writes"), scheme, scenario)
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
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let workloads = WORKLOADS.iter().flat_map(|workload| trials(scale, workload));
        workloads.chain([random_writes(scale, RAID5), random_writes(scale, SWAN)]).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let (stores, random) = trials.split_at(WORKLOADS.len() * PER_WORKLOAD);
        let at = |w: usize, s: usize| throughput(&of_workload(stores, w)[s]);
        let over = |w, s| at(w, SWAN) / at(w, s);
        let wide = |w: usize| at(w, WIDE_SWAN) / at(w, LOG);
        let least = written(&random[1]) / written(&random[0]);
        let beside_log = |w: usize, bound| {
            let name = title(WORKLOADS[w]);
            let shown_by = Check::new(
                format!("{name}, nine drives in the front-end: SWAN / Log-RAID"),
                Bound::AtLeast(0.95),
                wide(w),
            );
            Check::new(format!("{name}: SWAN / Log-RAID"), bound, over(w, LOG)).or_because(FASTER_LOG, shown_by)
        };
        let panel = bars("records per second (thousands)", &WORKLOADS, stores, throughput);
        let mut numbers = vec![
            Number::beside("Load: SWAN / RAID4", "", Published::Above(4.0), over(0, RAID4)),
            Number::beside("Load: SWAN / RAID5", "", Published::Above(4.0), over(0, RAID5)),
            Number::ours("random writes of 4 KiB: SWAN / RAID5", "", least),
            Number::ours("Load: blocks that RAID5 writes for each of the store's", "", {
                stores[RAID5].outcome.array_write_amplification_milli as f64 / 1e3
            }),
            Number::beside("Load: SWAN / Log-RAID", "", Published::About(1.17), over(0, LOG)),
            Number::beside("A: SWAN / Log-RAID", "", Published::Above(1.0), over(1, LOG)),
        ];
        for (w, workload) in WORKLOADS.iter().enumerate() {
            let name = format!("{}, nine drives in the front-end: SWAN / Log-RAID", title(workload));
            numbers.push(Number::ours(name, "", wide(w)));
        }
        Findings {
            charts: vec![Chart::single("throughput", self.about().title, panel)],
            numbers,
            checks: vec![
                Check::new("Load: SWAN / RAID4", Bound::AtLeast(4.0), over(0, RAID4)).or_because(
                    WHOLE_STRIPES,
                    Check::new("Load: RAID4 / RAID5", Bound::Between(0.9, 1.1), at(0, RAID4) / at(0, RAID5)),
                ),
                Check::new("Load: SWAN / RAID5", Bound::AtLeast(4.0), over(0, RAID5)).or_because(
                    NOT_THE_DRIVES,
                    Check::new("random writes of 4 KiB to aged drives: SWAN / RAID5", Bound::AtMost(4.0), least),
                ),
                beside_log(0, Bound::Between(1.0, 1.4)),
                beside_log(1, Bound::AtLeast(1.0)),
                beside_log(2, Bound::AtLeast(0.9)),
                beside_log(3, Bound::AtLeast(0.9)),
                beside_log(4, Bound::AtLeast(0.9)),
            ],
            notes: vec![MODELLED.into(), WIDE_NOTE.into()],
        }
    }
}
