//! SATA drives of four bits per cell.

use super::rivals::Rivals;
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Qlc;

const RIVALS: Rivals = Rivals {
    preset: "qlc",
    blocks: 8125.0,
    pages: 512,
    // A sequential writer's 80 MB/s, once its SLC buffer is full.
    drive_rate: 80.0,
    reads: 4_000,
    // 1 TB is written at that rate in 12500 s.
    fill_seconds: 12500.0,
};

impl Experiment for Qlc {
    fn about(&self) -> About {
        About {
            id: "beyond/qlc",
            title: "Random writes and reads to eight QLC drives: RAID0, Log-RAID0, SWAN0",
            published: "Not published. Eight SATA drives of 1 TB with four bits per cell take the place of the 850 PRO of \
                        SWAN's Figures 4 and 5, 60 % full.",
            divisor: 512.0,
            seeds: 5,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        RIVALS.setup(scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        RIVALS.findings(self.about().title, trials)
    }
}
