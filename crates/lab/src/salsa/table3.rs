//! Table 3: a database and an object store on one drive: as it is, below one controller, and below a controller for each.

use super::common::{DIVISOR, RAW, SALSA, SEEDS, drives, mib_per_second, raw, run, salsa, written};
use super::objects::operations;
use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::series::NOTHING;

/// See the module's text.
pub struct Table3;

/// Seconds of each run.
const SECONDS: u32 = 10;
/// MiB that the database and the object store have each: two volumes of this size are 80 % of the drive.
const EACH: f64 = 370.0 * 1024.0;
/// Pages that a transaction reads and writes, and who has transactions: as in Table 2, of one database.
const READS: u32 = 21;
const WRITES: u32 = 4;
const SESSIONS: u32 = 16;
/// Percent of their part that objects fill when all are stored, 128 KiB each, and MiB of the file system's log.
const FULL: u64 = 90;
const LOG: f64 = 2048.0;
/// MiB of blocks whose entries the map of the object store's controller may have beside those of pages: as in Figure 5, enough for log and inodes.
const FINE: f64 = 4096.0;
/// What is written before: the database, several times, or the part of the object store too.
const DATABASE_ONLY: &str = "fill = \"50%\"\noverwrite = 3";
const BOTH: &str = "fill = \"100%\"\noverwrite = 1";

const DATABASE: &str = "database";
const PUT: &str = "put";

const RELOCATIONS: &str = "relocations";
const TWO_BY_ONE: &str = "two controllers / one";
/// What is supposed to leave less for two controllers to gain.
const BY_HEAT: &str = "One controller keeps hot writes apart here, and objects, which are written once, are not hot. Whether the paper's did is not said: here all writes go together.";
const NOTES: [&str; 5] = [
    "Neither a database nor Swift runs. A session reads 21 pages of 8 KiB and writes 4 in random order, uniformly, one at a time, and flushes after four writes. The paper's page of 8 KiB \
     \"to match the database page size\" is read as the database's.",
    "32 objects of 128 KiB are stored at once, as in Figure 5, in four allocation groups by turns, which XFS has on less than 4 TB.",
    "How large the two parts are and what they hold before is not published: here each has 40 % of the drive. The database is written in order and then three times at random, 64 KiB at a time. The store is \
     empty, as mkfs.xfs discards what it formats. In two trials all of both is written in order and once at random instead.",
    "The controller of the object store has pages of 64 KiB, and blocks with entries of their own for up to 4 GiB at full size, as in Figure 5.",
    "Transactions a second are not judged, since how many pages one has is assumed: their ratios are.",
];

impl Experiment for Table3 {
    fn about(&self) -> About {
        About {
            id: "salsa/table3",
            title: "A database and an object store on one drive, below one controller and below two",
            published: "Table 3 and section 5.4: sysbench on MySQL and PUTs of 128 KiB to Swift for 30 minutes on one 850 EVO; as it is, below one LSA controller with pages of 4 KiB, and \
                        below two (LSA with 8 KiB, dual mapping). Transactions a second 20.3, 34.05, 35.90; PUT 25.5, 37.29, 38.19 MiB/s; memory 1.66 and 0.68 GiB; metadata 1.82 \
                        and 0.53 GiB; relocations 2.48 and 1.78 MiB/s.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let log = drives(scale) + &salsa(scale, 1, 0);
        let streams = |how: &str| format!("{log}streams = \"{how}\"\n");
        let apart = streams("volume");
        let (one, two) = (one_volume(scale), two_volumes(scale));
        let trial = |name, scheme, hardware: &str, volumes: &str, before| {
            Trial::new(name, scheme, scenario(scale, &(hardware.to_owned() + volumes), before))
        };
        vec![
            trial("raw", RAW, &(drives(scale) + &raw()), &one, DATABASE_ONLY),
            trial("one controller", SALSA, &log, &one, DATABASE_ONLY),
            trial("two controllers", Scheme::Serial, &apart, &two, DATABASE_ONLY),
            trial("two controllers, segments shared", Scheme::Serial, &log, &two, DATABASE_ONLY),
            trial("one controller, all writes together", SALSA, &streams("together"), &one, DATABASE_ONLY),
            trial("one controller, all written before", SALSA, &log, &one, BOTH),
            trial("two controllers, all written before", Scheme::Serial, &apart, &two, BOTH),
        ]
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [raw, one, two, shared, together, full_one, full_two] = trials else {
            unreachable!("as many as were set up")
        };
        let mut found =
            Findings::new(vec![chart(self.about().title, [raw, one, two])], NOTES.map(str::to_owned).into());
        for (series, of) in [("one controller / raw", one), ("two controllers / raw", two)] {
            found.published("database", series, transactions(of) / transactions(raw));
            found.published("objects", series, stored(of) / stored(raw));
        }
        let (of_memory, of_metadata) = (ratio(two, one, memory), ratio(two, one, metadata));
        found.published("memory", TWO_BY_ONE, of_memory);
        found.published("metadata", TWO_BY_ONE, of_metadata);
        found.published(RELOCATIONS, TWO_BY_ONE, ratio(two, one, relocated));
        found.supposed((RELOCATIONS, TWO_BY_ONE), BY_HEAT, &[(1, 4)], ratio(two, together, relocated));
        found.published(RELOCATIONS, "one controller, of all writes", share(one));
        found.published("faster", "database: one controller / raw", transactions(one) / transactions(raw));
        found.published("faster", "objects: one controller / raw", stored(one) / stored(raw));
        found.published("faster with two controllers", "database", transactions(two) / transactions(one));
        found.published("faster with two controllers", "objects", stored(two) / stored(one));
        found.published("less with two controllers", "memory", of_memory);
        found.published("less with two controllers", "metadata", of_metadata);
        found.published("less with two controllers", RELOCATIONS, ratio(two, one, relocated));
        found.number("relocations: segments apart / shared, two controllers", "", ratio(two, shared, relocated));
        found.number(
            "relocations: two controllers / one, all written before",
            "",
            ratio(full_two, full_one, relocated),
        );
        for of in trials {
            let name = &of.trial.name;
            found.number(format!("{name}: transactions"), "/s", transactions(of));
            found.number(format!("{name}: objects stored"), "MiB/s", stored(of));
            found.number(format!("{name}: relocations"), "MiB/s", relocated(of));
            found.number(format!("{name}: map, at full size"), "GiB", memory_at_full_size(of, scale));
            found.number(format!("{name}: headers and checkpoints of all that is written"), "%", 100.0 * metadata(of));
        }
        found
    }
}

fn each(scale: Scale) -> u64 {
    (EACH / scale.divisor()) as u64
}

fn one_volume(scale: Scale) -> String {
    format!("[volume]\nsize = \"{}MiB\"\n", 2 * each(scale))
}

fn two_volumes(scale: Scale) -> String {
    let (each, fine) = (each(scale), (FINE / scale.divisor()) as u64);
    format!(
        "[volume]\nsize = \"{each}MiB\"\npage = \"8KiB\"\n[[volume.next]]\nsize = \"{each}MiB\"\npage = \"64KiB\"\nfine = \"{fine}MiB\"\n"
    )
}

/// Both parts at work, after so much was written before.
fn scenario(scale: Scale, hardware: &str, before: &str) -> String {
    let (each, reads) = (each(scale), 100.0 * f64::from(READS) / f64::from(READS + WRITES));
    let (objects, log) = (each * 8 * FULL / 100, (LOG / scale.divisor()) as u64);
    format!(
        "name = \"mixed\"\n{hardware}[aging]\n{before}\noverwrite-block = \"64KiB\"\n[[workload.fio]]\nname = \"{DATABASE}\"\nclients = {SESSIONS}\n\
         block-size = \"8KiB\"\nread = {reads:?}\nflush-every = {WRITES}\nsize = \"{each}MiB\"\n\
         [workload.objects]\nsize = \"128KiB\"\noffset = \"{each}MiB\"\nobjects = {objects}\ngroups = 4\nspread = true\nlog = \"{log}MiB\"\n{}",
        run(SECONDS)
    )
}

fn ratio(more: &Trialled, less: &Trialled, of: fn(&Trialled) -> f64) -> f64 {
    of(more) / of(less)
}

fn transactions(trialled: &Trialled) -> f64 {
    let outcome = trialled.outcome;
    let bytes = outcome.latency.iter().filter(|row| row.client == DATABASE).map(|row| row.bytes).sum();
    mib_per_second(bytes, outcome.measured_ns) * 128.0 / f64::from(READS + WRITES)
}

/// MiB/s of objects stored.
fn stored(trialled: &Trialled) -> f64 {
    operations(trialled, PUT).map_or(NOTHING, |row| mib_per_second(row.count << 17, row.span_ns))
}

/// Blocks moved for each that clients wrote.
fn share(trialled: &Trialled) -> f64 {
    crate::outcome::ratio(trialled.outcome.cleaning_amplification_milli) - 1.0
}

/// MiB/s that cleaning moves.
fn relocated(trialled: &Trialled) -> f64 {
    share(trialled) * written(trialled)
}

fn memory(trialled: &Trialled) -> f64 {
    trialled.outcome.map_bytes as f64
}

fn memory_at_full_size(trialled: &Trialled, scale: Scale) -> f64 {
    memory(trialled) * scale.divisor() / f64::from(1 << 30)
}

/// Blocks of headers and checkpoints for each that clients or cleaning wrote.
fn metadata(trialled: &Trialled) -> f64 {
    trialled.outcome.metadata_per_million as f64 / 1e6
}

fn chart(title: &str, trials: [&Trialled; 3]) -> Chart {
    let panel = |what: &str, of: fn(&Trialled) -> f64| {
        let bars = trials.map(|trialled| Bars::new(&trialled.trial.name, trialled.trial.scheme, vec![of(trialled)]));
        Panel::bars(Axis::linear(what), vec![String::new()], bars.into())
    };
    let panels = vec![
        panel("transactions a second", transactions),
        panel("objects stored (MiB/s)", stored),
        panel("relocations (MiB/s)", relocated),
    ];
    Chart::grid("mixed", title, 3, (240.0, 220.0), panels)
}
