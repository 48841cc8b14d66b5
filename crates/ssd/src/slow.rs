//! Hours in which a drive is slower than its peers.
//!
//! "The Tail at Store" (FAST'16) compared drives with the others of their RAID group, hour by hour, over 7 million hours of
//! SSDs: 0.6 % of the drives' hours were at least twice as slow as the peers', and in 2.2 % of the groups' hours at least one
//! drive was. Were drives slow independently of one another, groups of seven would have a slow one in 4.1 % of their hours. So
//! slow hours come together: here a *group* has bad hours, the same for all of its drives, and each drive joins in or does
//! not. [`SlowPhases::field`] has the shares that give both numbers; the paper does not say what a group's drives have in
//! common then, only that it is hardly the load.

use cygnus_types::{Nanos, Rng};
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::units;

/// How often, how long and how much a drive is slower than its peers. Everything inside it and on its link takes that much
/// longer then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowPhases {
    /// What an hour of the field takes here: runs that last seconds see nothing of hours.
    #[serde(with = "units::time")]
    pub hour: Nanos,
    /// Share of hours that are bad ones of the group.
    #[serde(default = "field::share")]
    pub share: f64,
    /// Probability that a drive joins in a bad phase of its group.
    #[serde(default = "field::joins")]
    pub joins: f64,
    /// Probability that a bad hour is followed by another.
    #[serde(default = "field::again")]
    pub again: f64,
    /// How many times as long everything takes, at least.
    #[serde(default = "field::least")]
    pub least: f64,
    /// Exponent of the tail: of slow phases, `(f / least)^-tail` are slower than `f` times.
    #[serde(default = "field::tail")]
    pub tail: f64,
    /// What draws the group's bad hours: the same for all drives of a group.
    #[serde(default)]
    pub group: u64,
    /// What draws whether the drive joins in, and how slow it is.
    #[serde(default)]
    pub drive: u64,
}

/// What the field study gives, for groups of seven (its 4000 SSDs in about 570 groups).
mod field {
    /// With `joins` it gives 0.6 % of the drives' hours (`share * joins`) and 2.2 % of the groups'
    /// (`share * (1 - (1 - joins)^7)`).
    pub(super) fn share() -> f64 {
        0.0266
    }

    pub(super) fn joins() -> f64 {
        0.225
    }

    /// Of slow hours, 40 % were followed by another.
    pub(super) fn again() -> f64 {
        0.4
    }

    /// What was counted: twice the peers' median or more.
    pub(super) fn least() -> f64 {
        2.0
    }

    /// 0.01 % of the hours at about ten times: `0.006 * 5^-2.5`.
    pub(super) fn tail() -> f64 {
        2.5
    }
}

impl SlowPhases {
    /// As the field study found them, an hour taking `hour`. The numbers draw a group's phases and a drive's part in them.
    pub fn field(hour: Nanos, group: u64, drive: u64) -> Self {
        let (share, joins, again) = (field::share(), field::joins(), field::again());
        Self { hour, share, joins, again, least: field::least(), tail: field::tail(), group, drive }
    }

    pub(crate) fn check(&self, drive: &str) -> Result<(), ConfigError> {
        let part = |value: f64| (0.0..=1.0).contains(&value);
        let rules = [
            (self.hour.0 > 0, "an hour", self.hour.0 as f64, "a time"),
            (part(self.share) && self.share > 0.0, "a share", self.share, "a fraction such as 0.03"),
            (part(self.joins), "a probability to join in", self.joins, "one from 0 to 1"),
            (part(self.again) && self.again < 1.0, "a probability to go on", self.again, "one below 1"),
            (self.least.is_finite() && self.least >= 1.0, "a least factor", self.least, "one of at least 1"),
            (self.tail.is_finite() && self.tail > 0.0, "an exponent", self.tail, "one above 0"),
        ];
        match rules.into_iter().find(|(fine, ..)| !fine) {
            None => Ok(()),
            Some((_, what, value, remedy)) => {
                Err(ConfigError::SlowPhases { drive: drive.to_owned(), what, value: value.to_string(), remedy })
            }
        }
    }
}

/// How fast a drive is at the time. Time only goes forward.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    phases: SlowPhases,
    group: Rng,
    drive: Rng,
    /// Whether the group's present phase is a bad one, and when it ends.
    is_bad: bool,
    until: Nanos,
    /// How many times as long everything takes.
    factor: f64,
}

impl Pace {
    pub(crate) fn new(phases: SlowPhases) -> Self {
        let (group, drive) = (Rng::new(phases.group), Rng::new(phases.drive).fork());
        // A bad phase of no length is over: the first phase is a good one.
        Self { phases, group, drive, is_bad: true, until: Nanos::ZERO, factor: 1.0 }
    }

    /// What takes so long at full pace takes this long if it begins now.
    pub(crate) fn stretched(&mut self, takes: Nanos, now: Nanos) -> Nanos {
        let factor = self.factor(now);
        if factor == 1.0 { takes } else { Nanos((takes.0 as f64 * factor).round() as u64) }
    }

    fn factor(&mut self, now: Nanos) -> f64 {
        while self.until <= now {
            self.turn();
        }
        self.factor
    }

    /// To the group's next phase.
    fn turn(&mut self) {
        let bad_hours = 1.0 / (1.0 - self.phases.again);
        self.is_bad = !self.is_bad;
        let hours = if self.is_bad {
            1 + geometric(&mut self.group, bad_hours - 1.0)
        } else {
            geometric(&mut self.group, bad_hours * (1.0 - self.phases.share) / self.phases.share)
        };
        // Hours of years end when the clock does.
        self.until = Nanos(self.until.0.saturating_add(self.phases.hour.0.saturating_mul(hours)));
        self.factor = 1.0;
        if self.is_bad {
            // Both are drawn, so that a phase takes the same numbers whatever comes of them.
            let (joins, size) = (self.drive.unit(), self.drive.unit());
            if joins < self.phases.joins {
                self.factor = self.phases.least * libm::pow(1.0 - size, -1.0 / self.phases.tail);
            }
        }
    }
}

/// A number from 0 on with that mean, of which each further one is less likely by the same factor.
fn geometric(rng: &mut Rng, mean: f64) -> u64 {
    let draw = libm::log(1.0 - rng.unit());
    if mean > 0.0 { (draw / libm::log(mean / (mean + 1.0))) as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Nanos = Nanos(1000);
    const WIDTH: u64 = 7;
    /// 87 days.
    const HOURS: u64 = 87 * 24;

    /// Of that many groups: shares of drives' and of groups' hours with a factor of at least `slow`, and how many of a
    /// drive's slow hours were followed by another.
    fn shares(groups: u64, slow: f64) -> (f64, f64, f64) {
        let (mut drive_hours, mut group_hours, mut again) = (0, 0, 0);
        for group in 0..groups {
            let pace = |n| Pace::new(SlowPhases::field(HOUR, group, group * WIDTH + n));
            let mut drives: Vec<Pace> = (0..WIDTH).map(pace).collect();
            let mut before = vec![false; WIDTH as usize];
            for hour in 0..HOURS {
                let now = Nanos(hour * HOUR.0 + HOUR.0 / 2);
                let is_slow: Vec<bool> = drives.iter_mut().map(|drive| drive.factor(now) >= slow).collect();
                drive_hours += is_slow.iter().filter(|slow| **slow).count();
                group_hours += usize::from(is_slow.contains(&true));
                again += before.iter().zip(&is_slow).filter(|(before, now)| **before && **now).count();
                before = is_slow;
            }
        }
        let all = (groups * HOURS) as f64;
        (drive_hours as f64 / all / WIDTH as f64, group_hours as f64 / all, again as f64 / drive_hours as f64)
    }

    #[test]
    fn slow_hours_are_as_frequent_as_in_the_field() {
        let (drives, groups, again) = shares(570, 2.0);
        println!("{:.2} % of drives' hours, {:.2} % of groups', {again:.2} go on", drives * 100.0, groups * 100.0);
        // To the digit that the abstract prints.
        assert!((0.0055..0.0065).contains(&drives), "{drives}");
        assert!((0.0215..0.0225).contains(&groups), "{groups}");
        assert!((0.37..0.43).contains(&again), "{again}");
    }

    #[test]
    fn one_hour_in_ten_thousand_is_ten_times_as_slow() {
        let (drives, _, _) = shares(570, 10.0);
        assert!((0.000_07..0.000_14).contains(&drives), "{drives}");
    }

    #[test]
    fn hours_that_are_longer_than_the_clock_counts_end_with_it() {
        let mut pace = Pace::new(SlowPhases::field(Nanos(u64::MAX / 2), 1, 1));
        assert!(pace.factor(Nanos::ZERO) >= 1.0);
        assert_eq!(pace.until, Nanos(u64::MAX));
    }

    #[test]
    fn equal_seeds_give_equal_phases() {
        let factors = |drive| {
            let mut pace = Pace::new(SlowPhases { joins: 0.5, ..SlowPhases::field(HOUR, 1, drive) });
            (0..2000).map(|hour| pace.factor(Nanos(hour * HOUR.0))).collect::<Vec<f64>>()
        };
        assert_eq!(factors(3), factors(3));
        assert_ne!(factors(3), factors(4));
    }
}
