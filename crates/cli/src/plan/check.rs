//! `cygnus plan --check`: the recommended layout played on modelled drives, beside what the model says.
//!
//! The drives are as fast as the real ones and hold far less, in blocks that are smaller in proportion. What the model
//! takes for granted is what is played: uniform random writes, as many as the array takes, after the array has been
//! filled and overwritten until its garbage has spread.

use super::{Judged, Plan};
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::Runs;
use cygnus_lab::{LabError, Scenario};
use cygnus_ssd::{Flash, Preset, SsdConfig};
use serde::Serialize;

/// Factor by which a drive's blocks are made smaller.
const SMALLER_BLOCKS: u32 = 16;
/// Blocks that each die keeps: enough for collection to have a choice.
const BLOCKS_PER_DIE: u64 = 128;
/// What counts as keeping up: 95 % of what the network brings.
const KEEPING_UP: f64 = 0.95;
/// A rate that is off by no more is what was predicted, whichever side of the network's it is on.
const TOLERANCE: f64 = 0.1;

/// A predicted share that is less is not divided by: one of a hundred is as good as none.
const LEAST_COMPARED: f64 = 0.01;

/// What came of it, beside the model's figures.
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    /// Bytes of each modelled drive.
    drive_bytes: u64,
    /// Virtual time that was measured.
    measured_seconds: f64,
    sustained_bytes_per_second: Compared,
    write_amplification: Compared,
    /// Valid share of the victims.
    valid_share: Compared,
    /// Flash pages programmed for each page that the array wrote to the drives; the model takes 1.
    drive_write_amplification: Compared,
    /// Whether cleaning keeps up with the network, within 5 %.
    keeps_up: bool,
    /// Whether the model says the same, or its rate is off by less than a tenth.
    as_predicted: bool,
}

/// A figure of the model's and one of the simulation's.
#[derive(Clone, Copy, Debug, Serialize)]
struct Compared {
    predicted: f64,
    /// Nothing if there was nothing to divide by: without a victim none was valid or not.
    simulated: Option<f64>,
}

/// Plays a plan. Its drives must be modelled.
pub(super) fn check(plan: &Plan, output: Output) -> Result<Checked, Failure> {
    let scenario = Scenario::parse("plan", &scenario(plan)?).map_err(Failure::of)?;
    let (part, duration) = (Runs::new(output, 1).part("plan".into()), scenario.duration());
    let outcome = cygnus_lab::run(&scenario, 0, 1, move |progress| part.show(progress, duration));
    let outcome = outcome.map_err(|error| match error {
        LabError::Scenario(error) => Failure::Failed(format!("this layout cannot be played: {error}")),
        error => Failure::of(error),
    })?;
    let milli = |value: Option<u64>| value.map(|milli| milli as f64 / 1000.0);
    let layout = &plan.layout;
    let sustained = outcome.write_rate();
    let keeps_up = sustained >= KEEPING_UP * plan.network_bytes_per_second;
    Ok(Checked {
        drive_bytes: outcome.drive_bytes,
        measured_seconds: outcome.measured_ns as f64 / 1e9,
        sustained_bytes_per_second: Compared {
            predicted: layout.sustained_bytes_per_second,
            simulated: outcome.write_bytes_per_second.map(|rate| rate as f64),
        },
        write_amplification: Compared {
            predicted: layout.write_amplification,
            simulated: milli(outcome.array_write_amplification_milli),
        },
        valid_share: Compared { predicted: layout.valid_share, simulated: milli(outcome.victim_valid_milli) },
        drive_write_amplification: Compared {
            predicted: 1.0,
            simulated: milli(outcome.drive_write_amplification_milli),
        },
        keeps_up,
        as_predicted: keeps_up == layout.keeps_up
            || (sustained / layout.sustained_bytes_per_second - 1.0).abs() <= TOLERANCE,
    })
}

/// The modelled drive of that name.
pub(super) fn modelled(name: &str) -> Result<SsdConfig, Failure> {
    Preset::by_name(name).and_then(|preset| preset.config().ssd()).ok_or_else(|| {
        Failure::Usage(format!("'{name}' is not modelled, so nothing can be played on it: check with another --device"))
    })
}

fn scenario(plan: &Plan) -> Result<String, Failure> {
    let config = modelled(&plan.device.name)?;
    let Flash { pages_per_block, t_erase, .. } = config.flash;
    let capacity = dies(&config) * BLOCKS_PER_DIE * block(&config) / u64::from(SMALLER_BLOCKS);
    let cache = config.cache_when_smaller(config.capacity as f64 / capacity as f64);
    let Judged { groups, raid, .. } = &plan.layout;
    let layout = &plan.layout;
    // As long as it takes to fill the array, and then again, which is measured.
    let data = capacity as f64 * layout.usable_bytes / (plan.device.capacity_bytes * plan.utilisation);
    let round = data / layout.sustained_bytes_per_second;
    Ok(format!(
        "name = \"plan\"\n[devices]\npreset = \"{}\"\ncapacity = \"{capacity}B\"\n\
         override.ssd.flash = {{ pages_per_block = {}, t_erase = \"{}ns\" }}\noverride.ssd.cache = {{ bytes = \"{cache}B\" }}\n\
         [[array]]\npreset = \"swan\"\ngroups = {groups}\nraid = \"{raid}\"\nsegment = \"1MiB\"\nover-provision = 3\n\
         [volume]\nsize = \"{}% of data\"\n[aging]\nfill = \"100%\"\noverwrite = 1\n\
         [[workload.fio]]\nname = \"random-writes\"\nblock-size = \"8KiB\"\ndepth = 64\n\
         [run]\nduration = \"{:.3}s\"\nramp = \"{:.3}s\"\nsample = \"{:.3}s\"\n",
        plan.device.name,
        pages_per_block / SMALLER_BLOCKS,
        t_erase.0 / u64::from(SMALLER_BLOCKS),
        plan.utilisation * 100.0,
        2.0 * round,
        round,
        round / 10.0,
    ))
}

fn dies(config: &SsdConfig) -> u64 {
    u64::from(config.flash.channels) * u64::from(config.flash.dies_per_channel)
}

/// Bytes that a die erases at once.
fn block(config: &SsdConfig) -> u64 {
    u64::from(config.flash.planes) * u64::from(config.flash.page) * u64::from(config.flash.pages_per_block)
}

impl Checked {
    /// Whether simulation and model say the same of the network.
    pub(super) fn as_predicted(&self) -> bool {
        self.as_predicted
    }

    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let row = |what: &str, figures: Compared, show: fn(f64) -> String| {
            let Compared { predicted, simulated } = figures;
            let off = match simulated {
                // A part of next to nothing tells nothing.
                Some(simulated) if predicted >= LEAST_COMPARED => {
                    format!("{:+.0} %", 100.0 * (simulated / predicted - 1.0))
                }
                _ => "-".to_owned(),
            };
            let simulated = simulated.map_or("-".to_owned(), show);
            format!("  {what:<22}{:>12}{simulated:>12}{off:>10}", show(predicted))
        };
        let plain = |value: f64| format!("{value:.2}");
        vec![
            String::new(),
            format!("  {:<22}{:>12}{:>12}{:>10}", "check", "predicted", "simulated", "off"),
            row("for ever", self.sustained_bytes_per_second, super::units::rate),
            row("amplified", self.write_amplification, plain),
            row("victims valid (u)", self.valid_share, |share| format!("{:.0} %", share * 100.0)),
            row("amplified in drives", self.drive_write_amplification, plain),
            format!(
                "  cleaning {} the network, {}",
                if self.keeps_up { "keeps up with" } else { "falls behind" },
                if self.as_predicted { "as predicted" } else { "which is not as predicted" }
            ),
            format!(
                "  uniform writes of 8 KiB, as many as the array takes, on modelled drives cut down to {}: {:.1} s of \
                 virtual time, after the array was filled and written twice over",
                super::units::size(self.drive_bytes as f64),
                self.measured_seconds
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_modelled_drive_can_be_cut_down() {
        for preset in Preset::ALL {
            let Ok(config) = modelled(preset.name()) else { continue };
            let pages = config.flash.pages_per_block;
            assert_eq!(pages % (SMALLER_BLOCKS * config.flash.pages_per_program), 0, "{}", preset.name());
        }
        assert!(modelled("swan-paper").is_err());
    }
}
