//! Drives of one make that are not alike: speed, spare, age and slow phases, drawn from the scenario's seed.

use cygnus_ssd::{ConfigError, ModelConfig, SlowPhases, SsdConfig};
use cygnus_types::{Nanos, Rng};
use cygnus_workload::{Percent, Span};
use serde::Deserialize;

/// How far drives of one make lie apart. The one that the file describes is the best; each is worse by anything up to what
/// stands here, evenly drawn. Of speed, spare and age no field study is known: they are for trying what they do. Slow phases
/// are as one found them ([`SlowPhases::field`]), the drives of the array being one group.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Unequal {
    /// How much longer the slowest one's flash takes to sense, program and erase.
    speed: Percent,
    /// How much less spare the one with the least has.
    spare: Percent,
    /// How much less of the youngest one is full before the array is made.
    age: Percent,
    /// What an hour of the field takes here; without it there are no slow phases.
    slow_hour: Option<Span>,
}

/// Why drives cannot be as unequal as that.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WrongUnequal {
    /// Disks are all alike.
    #[error("only drives of flash can be unequal; leave \"unequal\" out")]
    NoFlash,
    /// The worst one cannot be built.
    #[error("of unequal drives the one with the least spare: {0}")]
    LeastSpare(ConfigError),
}

impl Unequal {
    /// Whether such drives can be built.
    ///
    /// # Errors
    /// What is wrong, and the remedy.
    pub fn check(&self, best: &ModelConfig) -> Result<(), WrongUnequal> {
        let ModelConfig::Ssd(best) = best else {
            return Err(WrongUnequal::NoFlash);
        };
        let mut worst = best.clone();
        self.worsen(&mut worst, [1.0, 1.0]);
        worst.slow = self.slow_hour.map(|hour| SlowPhases::field(hour.0, 0, 0));
        worst.validate().map_err(WrongUnequal::LeastSpare)
    }

    /// Makes the best drive that with the number `n`. Gives its age: how much is full of what is full of the oldest.
    pub fn apply(&self, config: &mut ModelConfig, n: usize, seed: u64) -> f64 {
        let ModelConfig::Ssd(config) = config else { unreachable!("checked when the scenario was read") };
        let mut rng = Rng::new(seed ^ 0x0075_6e65_7175_616c);
        let group = rng.next_u64();
        let mut own = (0..=n).map(|_| rng.fork()).last().expect("there is at least the first");
        self.worsen(config, [own.unit(), own.unit()]);
        let age = 1.0 - self.age.share() * own.unit();
        config.slow = self.slow_hour.map(|hour| SlowPhases::field(hour.0, group, own.next_u64()));
        age
    }

    /// By these parts of the way from the best to the worst: speed, spare.
    fn worsen(&self, config: &mut SsdConfig, [speed, spare]: [f64; 2]) {
        let slower = |takes: Nanos| Nanos((takes.0 as f64 * (1.0 + self.speed.share() * speed)).round() as u64);
        let flash = &mut config.flash;
        (flash.t_read, flash.t_program, flash.t_erase) =
            (slower(flash.t_read), slower(flash.t_program), slower(flash.t_erase));
        config.spare *= 1.0 - self.spare.share() * spare;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_ssd::Preset;

    fn drives(unequal: &Unequal, seed: u64) -> Vec<(SsdConfig, f64)> {
        let drive = |n| {
            let mut config = Preset::Samsung850Pro.config();
            let age = unequal.apply(&mut config, n, seed);
            (config.ssd().expect("it is flash"), age)
        };
        (0..8).map(drive).collect()
    }

    #[test]
    fn each_drive_is_worse_in_its_own_way_and_by_no_more_than_is_said() {
        let slow_hour = Some(Span(Nanos::millis(100)));
        let unequal = Unequal { speed: Percent(10.0), spare: Percent(50.0), age: Percent(30.0), slow_hour };
        let (one, again, other) = (drives(&unequal, 1), drives(&unequal, 1), drives(&unequal, 2));
        assert_eq!(one, again);
        assert_ne!(one, other);
        let best = Preset::Samsung850Pro.config().ssd().expect("it is flash");
        for (n, (config, age)) in one.iter().enumerate() {
            assert!((900..=990).contains(&(config.flash.t_program.0 / 1000)), "{:?}", config.flash.t_program);
            assert!((0.13..=0.26).contains(&config.spare) && (0.7..=1.0).contains(age));
            assert_eq!(config.capacity, best.capacity);
            let slow = |n: usize| one[n].0.slow.clone().expect("it was asked for");
            assert_eq!(slow(n).group, slow(0).group);
            assert!((0..n).all(|before| slow(before).drive != slow(n).drive && one[before].0.spare != config.spare));
        }
    }

    #[test]
    fn without_differences_they_are_all_alike() {
        let best = Preset::Samsung850Pro.config().ssd().expect("it is flash");
        assert!(drives(&Unequal::default(), 1).iter().all(|drive| *drive == (best.clone(), 1.0)));
    }
}
