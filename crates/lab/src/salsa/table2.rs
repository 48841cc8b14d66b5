//! Table 2: databases on one drive and on four, as they are and below SALSA.

use super::common::{
    DIVISOR, PRECONDITIONED, RAW, SALSA, SEEDS, VOLUME, amplification, drive_amplification, drives, raw, run, salsa,
};
use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Table2;

/// Seconds of each run.
const SECONDS: u32 = 20;
/// Databases, and what all of them hold, in MiB.
const DATABASES: f64 = 4.0;
const HELD: f64 = 4.0 * 160.0 * 1024.0;
/// Pages that a transaction reads: ten of single rows, two for each of four ranges of 100 rows, three that it changes.
const READS: u32 = 10 + 4 * 2 + 3;
/// Pages that it writes: those three, and the log, which a flush follows.
const WRITES: u32 = 3 + 1;
/// Transactions at once, on one drive and on four.
const SESSIONS: [u32; 2] = [16, 64];

/// What is supposed to slow SALSA down on four drives.
const FLUSHES: &str = "A flush ends the open stripe with padding, headers and parity; SALSA keeps that stripe's parity in non-volatile memory.";
/// The line that it would explain.
const WIDER: (&str, &str) = ("3+1 beside one drive", "SALSA: 3+1 / one drive");
const CONTRADICTION: &str = "Section 5.2 has 16 threads for each database. By Table 2's rates and mean times those were 4 with one drive (21.3 a second x 0.188 s) and 16 \
    with four (8.1 x 2.0 s).";
const NOTES: [&str; 4] = [
    "No database runs. A session reads 21 pages of 16 KiB and writes 4 in random order, uniformly over 640 GiB, one at a time, and flushes after four \
     writes: sysbench's usual transaction as if no page were found in memory. Neither the hit rate nor the distribution is published.",
    "Pages that InnoDB writes twice are written once: the other copies go in order to a small place.",
    "As many transactions are at once as the table's rates and times multiply to: 16 on one drive, 64 on four. So rates and mean times are one finding.",
    "Drives of arrays in place begin in the state of random writes to 80 % of them, computed; SALSA's come there by being written.",
];

impl Experiment for Table2 {
    fn about(&self) -> About {
        About {
            id: "salsa/table2",
            title: "Pages of four databases on one drive and on 3+1, in place and below SALSA",
            published: "Table 2 and section 5.2: sysbench on four MySQL of 160 GiB each, transactions a second of one of them (means of four): one 850 EVO \
                        as it is 21.5, below SALSA 38; four as RAID-5 of Linux 8.1, below SALSA 289.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn contradiction(&self) -> Option<&'static str> {
        Some(CONTRADICTION)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let [one, four] = SESSIONS;
        let steady = drives(scale) + "precondition = \"random\"\nprecondition-share = \"80%\"\n";
        let raid5 = "[[array]]\npreset = \"raid5\"\ndrives = 4\n".to_owned();
        let in_place = |array: String, sessions| scenario(scale, &(steady.clone() + &array), "", sessions);
        let log = |data, parity, sessions| {
            scenario(scale, &(drives(scale) + &salsa(scale, data, parity)), PRECONDITIONED, sessions)
        };
        let copies = drives(scale) + &salsa(scale, 3, 1) + "protection = \"two-phase\"\n";
        let with_copies = scenario(scale, &copies, PRECONDITIONED, four);
        vec![
            Trial::new("raw, one drive", RAW, in_place(raw(), one)),
            Trial::new("SALSA, one drive", SALSA, log(1, 0, one)),
            Trial::new("RAID-5 in place, 3+1", Scheme::Raid5, in_place(raid5, four)),
            Trial::new("SALSA, 3+1", SALSA, log(3, 1, four)),
            Trial::new("SALSA with copies, 3+1", SALSA, with_copies),
        ]
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [raw, one, raid5, four, copies] = trials else { unreachable!("as many as were set up") };
        let bars = [("in place", RAW, [raw, raid5]), ("SALSA", SALSA, [one, four])]
            .map(|(name, scheme, of)| Bars::new(name, scheme, of.map(rate).into()));
        let groups = vec!["one drive".into(), "3+1".into()];
        let panel = Panel::bars(Axis::logarithmic("transactions of each database a second"), groups, bars.into());
        let chart = Chart::single("transactions", self.about().title, panel);
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        let ratio = |more, less| rate(more) / rate(less);
        found.published("one drive", "SALSA / raw", ratio(one, raw));
        found.published("3+1", "SALSA / RAID-5", ratio(four, raid5));
        found.published(WIDER.0, WIDER.1, ratio(four, one));
        found.supposed(WIDER, FLUSHES, &[(3, 4)], ratio(copies, one));
        found.published("3+1 beside one drive", "in place: RAID-5 / raw", ratio(raid5, raw));
        found.published("order", "one drive: SALSA / raw", ratio(one, raw));
        found.published("order", "3+1: SALSA / RAID-5", ratio(four, raid5));
        found.published("RAID-5 is slower than one drive", "RAID-5 / raw", ratio(raid5, raw));
        for of in trials {
            let name = &of.trial.name;
            found.number(format!("{name}: transactions of each database"), "/s", rate(of));
            found.number(format!("{name}: sent to drives for each block"), "", amplification(of));
            found.number(format!("{name}: programmed for each page sent"), "", drive_amplification(of));
        }
        found
    }
}

fn scenario(scale: Scale, hardware: &str, aging: &str, sessions: u32) -> String {
    let held = (HELD / scale.divisor()) as u64;
    let reads = 100.0 * f64::from(READS) / f64::from(READS + WRITES);
    format!(
        "name = \"databases\"\n{hardware}{VOLUME}{aging}[[workload.fio]]\nname = \"pages\"\nclients = {sessions}\n\
         block-size = \"16KiB\"\nread = {reads:?}\nflush-every = {WRITES}\nsize = \"{held}MiB\"\n{}",
        run(SECONDS)
    )
}

/// Transactions that one of the databases has in a second, by the pages read and written.
fn rate(trialled: &Trialled) -> f64 {
    let pages = trialled.outcome.rate() / f64::from(16 << 10);
    pages / f64::from(READS + WRITES) / DATABASES
}
