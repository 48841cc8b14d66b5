//! NVMe drives of the fourth generation.

use super::rivals::Rivals;
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Nvme;

const RIVALS: Rivals = Rivals {
    preset: "nvme-gen4",
    blocks: 2730.0,
    pages: 384,
    // A sequential writer's 2.7 GB/s.
    drive_rate: 2700.0,
    reads: 40_000,
    // 1.92 TB are written at that rate in 711 s.
    fill_seconds: 711.0,
};

impl Experiment for Nvme {
    fn about(&self) -> About {
        About {
            id: "beyond/nvme",
            title: "Random writes and reads to eight NVMe drives: RAID0, Log-RAID0, SWAN0",
            published: "Not published. Eight data-centre NVMe drives of 1.92 TB (PCIe 4) take the place of the 850 PRO of \
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
