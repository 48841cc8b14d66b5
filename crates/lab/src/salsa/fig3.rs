//! Figure 3: the wear of a drive as it is and below SALSA.

use super::common::{DIVISOR, RAW, SALSA, SEEDS, VOLUME, amplification, drive_amplification, drives, raw, salsa};
use crate::Outcome;
use crate::chart::{Axis, Chart, Line, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::ratio;

/// See the module's text.
pub struct Fig3;

/// How often the volume is written.
const TIMES: f64 = 10.0;
/// Bytes of the paper's volume: 80 % of 1 TB.
const VOLUME_BYTES: f64 = 8e11;
const NOTES: [&str; 2] = [
    "Wear is pages of flash programmed by those of the drive, its map's included. How much of its map a drive writes was fitted to its rate \
     in Table 1 (docs/devices.md), so the curve of the drive as it is depends on that.",
    "The amplification is of blocks sent to the drive, with all that describes them and with checkpoints; what clients and cleaning wrote is below.",
];

impl Experiment for Fig3 {
    fn about(&self) -> About {
        About {
            id: "salsa/fig3",
            title: "Wear of one drive under random writes, as it is and below SALSA",
            published: "Figure 3 and section 5.1.1: after one pass in order, ten of random 4 KiB writes over 80 % of an 850 EVO. SALSA writes 2.5 times \
                        what clients do (theory: 2.7), and the drive wears less than without it.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let trial = |name, scheme, array: String| Trial::new(name, scheme, scenario(scale, &array));
        vec![trial("raw", RAW, raw()), trial("SALSA", SALSA, salsa(scale, 1, 0))]
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [raw, log] = trials else { unreachable!("as many as were set up") };
        let line = |of: &Trialled| Line::new(&of.trial.name, of.trial.scheme, wear(of.outcome));
        let (x, y) = (Axis::linear("times the volume was written"), Axis::linear("times all flash was programmed"));
        let panel = Panel::lines(x, y, trials.iter().map(line).collect());
        let chart = Chart::single("wear", self.about().title, panel);
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        found.published("amplification", "SALSA", amplification(log));
        let programmed = |of: &Trialled| amplification(of) * drive_amplification(of);
        found.published("less wear", "programmed: SALSA / raw", programmed(log) / programmed(raw));
        found.number("SALSA: written by clients and cleaning", "", ratio(log.outcome.cleaning_amplification_milli));
        for of in trials {
            found.number(format!("{}: programmed for each page sent", of.trial.name), "", drive_amplification(of));
            found.number(format!("{}: programmed for each page of clients", of.trial.name), "", programmed(of));
        }
        found
    }
}

/// Ends when all is written; the slowest takes a third of the duration.
fn scenario(scale: Scale, array: &str) -> String {
    let bytes = (TIMES * VOLUME_BYTES / scale.divisor()) as u64 >> 10;
    format!(
        "name = \"wear\"\n{}{array}{VOLUME}[aging]\nfill = \"100%\"\n[[workload.fio]]\nname = \"writes\"\ndepth = 32\n\
         bytes = \"{bytes}KiB\"\n[run]\nduration = \"{}\"\nsample = \"{}\"\n",
        drives(scale),
        scale.seconds(1.5e6),
        scale.seconds(5e3)
    )
}

/// How often the volume was written, and how often all of the drive's flash by then.
fn wear(outcome: &Outcome) -> Vec<(f64, f64)> {
    let (volume, drive) = (outcome.volume_bytes as f64, outcome.drive_bytes as f64 / 4096.0);
    let mut at = (0.0, 0.0);
    let mut points = vec![at];
    for sample in &outcome.samples {
        let programmed: u64 = sample.devices.iter().map(|device| device.totals.pages_programmed).sum();
        at = (at.0 + sample.writes[1] as f64 / volume, at.1 + programmed as f64 / drive);
        points.push(at);
    }
    points
}
