//! From which size of write on copies stop paying beside ending the stripe, and whether the rule that chooses between the two knows.

use cygnus_format::Geometry;
use cygnus_policy::{Unfinished, Way};

use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::LatencyRow;
use crate::scala_afa::common::{DIVISOR, drives, engine_cores, log, sent};

/// See the module's text.
pub struct Crossover;

/// Columns with data and with parity.
const SHAPES: [(u8, u8); 3] = [(2, 1), (4, 1), (6, 2)];
/// Sizes of a write; each is twice the one before.
const KIB: [u32; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Smaller writes than of so many KiB are run for longer: else a run is a few stripes, and the last one's parity a large part of what is sent.
const MANY: u32 = 64;
/// Blocks of a chunk, and rows of a stripe: what arrays have if nothing else is asked for, said so that the rule can be asked.
const CHUNK: u32 = 16;
const ROWS: u32 = 48;

/// What a flush does about the stripe that it finds open.
#[derive(Clone, Copy, PartialEq)]
enum Flushed {
    /// It ends the stripe.
    Ends,
    /// It copies what is new, always.
    Copies,
    /// It does what is fewer bytes by the rule.
    ByRule,
    /// The same, and drives compute the parity.
    Inside,
}

use crate::series::{NOTHING, least};
use Flushed::{ByRule, Copies, Ends, Inside};

const ALL: [Flushed; 4] = [Ends, Copies, ByRule, Inside];

impl Flushed {
    fn name(self) -> &'static str {
        match self {
            Ends => "log-raid, ends the stripe",
            Copies => "fusion, always copies",
            ByRule => "fusion, by its rule",
            Inside => "scala-afa, by its rule",
        }
    }

    fn scheme(self) -> Scheme {
        match self {
            Ends => Scheme::LogRaid,
            Copies => Scheme::Raid5,
            ByRule => Scheme::Raid0,
            Inside => Scheme::Swan,
        }
    }

    fn array(self, (data, parity): (u8, u8)) -> String {
        let of = |preset| log(preset, data.into(), parity.into());
        let always = if self == Copies { "copies-always = true\n" } else { "" };
        let array = match self {
            Ends => of("log-raid"),
            Copies | ByRule => of("fusion"),
            Inside => of("scala-afa"),
        };
        format!("{array}chunk = \"{}KiB\"\nstripe-rows = {ROWS}\n{always}", CHUNK * 4)
    }

    fn trial(self, devices: &str, shape: (u8, u8), kib: u32) -> Trial {
        let (duration, ramp) = if kib < MANY { (1000, 100) } else { (250, 50) };
        let scenario = format!(
            "name = \"crossover\"\n{devices}{}[volume]\nsize = \"512MiB\"\n[aging]\nfill = \"100%\"\n\
             [[workload.fio]]\nname = \"writes\"\nblock-size = \"{kib}KiB\"\nflush-every = 1\n{}\
             [run]\nduration = \"{duration}ms\"\nramp = \"{ramp}ms\"\nsample = \"25ms\"\n",
            self.array(shape),
            engine_cores(1)
        );
        Trial::new(&format!("{}, {}+{}, {kib} KiB", self.name(), shape.0, shape.1), self.scheme(), scenario)
    }
}

const NOTES: [&str; 3] = [
    "One write at a time at a random place, and a flush after it. Crossings are by bytes sent to the drives: the first size with which a stripe that ends \
     is no more bytes than one that is always copied, and the first with which the rule ends a stripe that holds nothing but one write. The rule \
     is asked again for each write, with what the stripe holds already, so it may copy some writes of a stripe and end it with another.",
    "A write larger than the rest of a stripe closes that in any case, and only what is left over is copied. No backup tells of more than some 650 KiB.",
    "Modelled drives have no bytes beside blocks, so what copies are is said in blocks of its own.",
];

impl Experiment for Crossover {
    fn about(&self) -> About {
        About {
            id: "beyond/crossover",
            title: "Flushed writes of 4 KiB to 1 MiB: copies beside ending the stripe",
            published: "Not published: ScalaAFA's section 3.1 copies small writes and computes parity later, and says nothing of a size from which on that \
                        costs more. Here the array chooses by a rule, which is held against both choices made always.",
            divisor: DIVISOR,
            seeds: 5,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let devices = drives(scale);
        let of_size = |shape| KIB.into_iter().flat_map(move |kib| ALL.map(|flushed| (shape, kib, flushed)));
        let cases = SHAPES.into_iter().flat_map(of_size);
        cases.map(|(shape, kib, flushed)| flushed.trial(&devices, shape, kib)).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let shapes: Vec<Measured> = SHAPES
            .into_iter()
            .zip(trials.chunks(KIB.len() * ALL.len()))
            .map(|(shape, of)| Measured { shape, of })
            .collect();
        let mut found = Findings::new(vec![chart(self.about().title, &shapes)], NOTES.map(str::to_owned).into());
        shapes.iter().for_each(|measured| measured.tell(&mut found));
        found
    }
}

/// What came of one shape's trials.
struct Measured<'a> {
    shape: (u8, u8),
    of: &'a [Trialled<'a>],
}

impl Measured<'_> {
    /// A number of each size.
    fn values(&self, flushed: Flushed, value: impl Fn(&Trialled) -> f64) -> Vec<f64> {
        let first = ALL.iter().position(|&other| other == flushed).expect("it is one of all");
        self.of.iter().skip(first).step_by(ALL.len()).map(value).collect()
    }

    fn name(&self) -> String {
        format!("{}+{}", self.shape.0, self.shape.1)
    }

    /// The first size with which a stripe that ends is no more bytes than copies; the number of sizes if there is none.
    fn crossing(&self) -> usize {
        let (ends, copies) = (self.values(Ends, sent), self.values(Copies, sent));
        ends.iter().zip(&copies).position(|(ends, copies)| ends <= copies).unwrap_or(KIB.len())
    }

    /// What the rule sends for each byte of the better of both, where that is most: the ratio, and the size.
    fn worst(&self) -> (f64, u32) {
        let [ends, copies, rule] = [Ends, Copies, ByRule].map(|flushed| self.values(flushed, sent));
        let ratios = (0..KIB.len()).map(|n| (rule[n] / least([ends[n], copies[n]]), KIB[n]));
        ratios.max_by(|one, other| one.0.total_cmp(&other.0)).expect("there are sizes")
    }

    fn tell(&self, found: &mut Findings) {
        let (name, measured, rule) = (self.name(), self.crossing(), rules_crossing(self.shape));
        let steps = rule as f64 - measured as f64;
        let panel = format!("where copies stop paying, {name}");
        found.published(&panel, "the rule's size beside the measured one, in doublings", steps);
        let (ratio, at) = self.worst();
        let panel = format!("the rule beside the better choice, {name}");
        found.published(&panel, "bytes sent, at the size at which it does worst", ratio);
        found.number(format!("{name}: size at which the rule does worst"), "KiB", at.into());
        found.number(format!("{name}: a stripe that ends is no more bytes, from"), "KiB", kib(measured));
        found.number(format!("{name}: the rule ends a new stripe, from"), "KiB", kib(rule));
        for flushed in ALL {
            for (what, unit, value) in NUMBERS {
                for (ours, size) in self.values(flushed, value).into_iter().zip(KIB) {
                    found.number(format!("{name}, {size} KiB, {}: {what}", flushed.name()), unit, ours);
                }
            }
        }
    }

    fn panel(&self, y: &Axis, of: fn(&Trialled) -> f64) -> Panel {
        let line = |flushed: Flushed| {
            let points = KIB.into_iter().map(f64::from).zip(self.values(flushed, of)).collect();
            Line::new(flushed.name(), flushed.scheme(), points)
        };
        let (measured, rule) = (self.crossing(), rules_crossing(self.shape));
        let mark = |at: usize, label: &str| Mark::Moment { at: kib(at), label: label.into() };
        let marks = match measured == rule {
            true => vec![mark(rule, "crossing, and the rule's")],
            false => vec![mark(measured, "crossing"), mark(rule, "the rule's")],
        };
        let x = Axis::logarithmic("KiB of a write").between(4.0, 1024.0);
        Panel::lines(x, y.clone(), ALL.map(line).into()).titled(self.name()).marked(marks)
    }
}

/// The size at a place among the sizes.
fn kib(at: usize) -> f64 {
    f64::from(KIB[0]) * 2f64.powi(at as i32)
}

/// The first size with which the rule ends a stripe that holds nothing but one write.
fn rules_crossing((data, parity): (u8, u8)) -> usize {
    let geometry = Geometry {
        data,
        parity,
        chunk_blocks: CHUNK,
        stripe_rows: ROWS,
        segment_blocks: 256,
        transient_blocks: 0,
        lead_blocks: 0,
    };
    let ends = |kib: u32| {
        let new = kib / 4;
        // Whole bands of a chunk on each column, and one that is begun.
        let (bands, rest) = (new / geometry.slots(CHUNK), new % geometry.slots(CHUNK));
        let of = Unfinished {
            data,
            parity,
            new,
            backed_up: 0,
            rows: bands * CHUNK + rest.min(CHUNK),
            header: geometry.header_blocks(ROWS),
            buffered_rows: None,
            described_beside: false,
            is_converted: false,
        };
        new >= geometry.slots(ROWS) || of.way() == Way::End
    };
    KIB.into_iter().position(ends).unwrap_or(KIB.len())
}

/// A number of a trial: what it is, and its unit.
type Number = (&'static str, &'static str, fn(&Trialled) -> f64);

const NUMBERS: [Number; 4] = [
    ("bytes sent for each byte", "", sent),
    ("flush, mean", "us", |trialled| flush(trialled, |row| row.mean_ns)),
    ("flush, 99 %", "us", |trialled| flush(trialled, |row| row.p99_ns)),
    ("written", "MB/s", |trialled| trialled.outcome.write_rate() / 1e6),
];

/// Axes of these. What spans powers of ten has an axis by these.
fn axes() -> [Axis; 4] {
    NUMBERS.map(|(what, unit, _)| match unit {
        "" => Axis::logarithmic(what).between(1.0, 30.0),
        "MB/s" => Axis::logarithmic("written (MB/s)").between(10.0, 5000.0),
        unit => Axis::linear(&format!("{what} ({unit})")),
    })
}

fn flush(trialled: &Trialled, of: fn(&LatencyRow) -> u64) -> f64 {
    trialled.outcome.latency_of("flush", 0).map_or(NOTHING, |row| of(row) as f64 / 1e3)
}

/// A row of panels for each number, a column for each shape.
fn chart(title: &str, shapes: &[Measured]) -> Chart {
    let row = |((_, _, value), y): (Number, Axis)| -> Vec<Panel> {
        shapes.iter().map(|measured| measured.panel(&y, value)).collect()
    };
    let panels = NUMBERS.into_iter().zip(axes()).flat_map(row).collect();
    Chart::grid("crossover", title, SHAPES.len(), (280.0, 180.0), panels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_copies_small_writes_and_ends_the_stripes_of_large_ones() {
        // 2+1: 64 KiB are 42 blocks if they are copied and 51 if their stripe ends, 128 KiB 82 and 51.
        assert_eq!(kib(rules_crossing((2, 1))), 128.0);
        // 4+1: 128 KiB are 74 and 85, 256 KiB 146 and 85.
        assert_eq!(kib(rules_crossing((4, 1))), 256.0);
        // 6+2: 128 KiB are 110 and 136, 256 KiB 217 and 136.
        assert_eq!(kib(rules_crossing((6, 2))), 256.0);
    }
}
