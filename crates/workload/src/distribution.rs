//! Which of n slots a random request goes to.

use crate::Percent;
use crate::random::{chance, normal};
use crate::shuffle::Shuffle;
use cygnus_runtime::Rng;
use serde::Deserialize;

/// How accesses spread over the slots of a footprint. In TOML `"uniform"`, `{ zipf = 0.99 }`, `{ pareto = 20 }`,
/// `{ normal = 10 }`, `{ hotspot = { space = 20, accesses = 80 } }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Every slot alike.
    #[default]
    Uniform,
    /// The slot of rank r (from 1) in proportion to r^-theta; theta above 0, YCSB uses 0.99.
    Zipf(f64),
    /// Self-similar with share h: h % of the slots get the other (100 - h) % of the accesses, and so on within those.
    /// Below 50.
    Pareto(Percent),
    /// A bell around the middle, its standard deviation in percent of the footprint.
    Normal(Percent),
    /// Some percent of the slots get some percent of the accesses; uniform within and without.
    Hotspot {
        /// Percent of the slots that are hot.
        space: Percent,
        /// Percent of the accesses that go there.
        accesses: Percent,
    },
}

/// A distribution that cannot be drawn from.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// Of Zipf's theta.
    #[error("zipf's theta is above 0 and at most 10, not {0}; 0.99 is usual")]
    Zipf(f64),
    /// Of Pareto's share.
    #[error("pareto's share is above 0 and below 50, not {0}; 20 means that 20 % get 80 %")]
    Pareto(f64),
    /// Of a deviation.
    #[error("the deviation of a normal distribution is above 0 %")]
    Normal,
    /// Of the size of a hot spot.
    #[error("a hot spot is above 0 and below 100 percent of the space, not {0}")]
    Hotspot(f64),
}

impl Distribution {
    /// Why this cannot be drawn from, if it cannot.
    ///
    /// # Errors
    /// With the number and the remedy.
    pub fn check(self) -> Result<(), DistributionError> {
        match self {
            Self::Zipf(theta) if !(theta > 0.0 && theta <= 10.0) => Err(DistributionError::Zipf(theta)),
            Self::Pareto(Percent(h)) if !(h > 0.0 && h < 50.0) => Err(DistributionError::Pareto(h)),
            Self::Normal(Percent(sd)) if sd <= 0.0 => Err(DistributionError::Normal),
            Self::Hotspot { space: Percent(space), .. } if !(space > 0.0 && space < 100.0) => {
                Err(DistributionError::Hotspot(space))
            }
            _ => Ok(()),
        }
    }
}

/// Draws slots from a [`Distribution`].
#[derive(Clone, Debug)]
pub(crate) struct Picker {
    slots: u64,
    ranks: Ranks,
    shuffle: Option<Shuffle>,
}

#[derive(Clone, Debug)]
enum Ranks {
    Uniform,
    Zipf(Zipf),
    Pareto { exponent: f64 },
    Normal { deviation: f64 },
    Hotspot { hot: u64, accesses: f64 },
}

impl Picker {
    /// Over `slots` (at least 1) of a sound distribution; `scramble` scatters the hot ones over the whole footprint.
    pub(crate) fn new(distribution: Distribution, slots: u64, scramble: bool, rng: &mut Rng) -> Picker {
        assert!(slots > 0, "something to pick from");
        let ranks = match distribution {
            Distribution::Uniform => Ranks::Uniform,
            Distribution::Zipf(theta) => Ranks::Zipf(Zipf::new(slots, theta)),
            Distribution::Pareto(h) => Ranks::Pareto { exponent: libm::log(h.share()) / libm::log(1.0 - h.share()) },
            Distribution::Normal(sd) => Ranks::Normal { deviation: sd.share() },
            Distribution::Hotspot { space, accesses } => {
                let hot = (slots as f64 * space.share()).round_ties_even() as u64;
                Ranks::Hotspot { hot: hot.clamp(1, slots), accesses: accesses.share() }
            }
        };
        let scatter = scramble && !matches!(ranks, Ranks::Uniform);
        Picker { slots, ranks, shuffle: scatter.then(|| Shuffle::new(slots, rng)) }
    }

    /// The next slot, below the number of slots.
    pub(crate) fn pick(&self, rng: &mut Rng) -> u64 {
        let rank = self.rank(rng);
        self.shuffle.as_ref().map_or(rank, |shuffle| shuffle.slot(rank))
    }

    /// The next rank; the hottest is 0, but for the normal distribution, whose hottest is the middle one.
    fn rank(&self, rng: &mut Rng) -> u64 {
        let n = self.slots;
        match &self.ranks {
            Ranks::Uniform => rng.below(n),
            Ranks::Zipf(zipf) => zipf.rank(rng),
            Ranks::Pareto { exponent } => ((n as f64 * libm::pow(rng.unit(), *exponent)) as u64).min(n - 1),
            Ranks::Normal { deviation } => loop {
                let place = 0.5 + deviation * normal(rng);
                if (0.0..1.0).contains(&place) {
                    return ((n as f64 * place) as u64).min(n - 1);
                }
            },
            Ranks::Hotspot { hot, accesses } => {
                if *hot == n || chance(rng, *accesses) {
                    rng.below(*hot)
                } else {
                    hot + rng.below(n - hot)
                }
            }
        }
    }
}

/// Zipf's law over any number of ranks without a table: rejection-inversion (W. Hörmann, G. Derflinger, "Rejection-
/// inversion to generate variates from monotone discrete distributions", 1996). Their H is the integral of x^-theta.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    theta: f64,
    n: u64,
    h_first: f64,
    h_last: f64,
    shortcut: f64,
}

impl Zipf {
    /// Over the ranks 0..`n`, the first being the hottest.
    pub(crate) fn new(n: u64, theta: f64) -> Zipf {
        let mut zipf = Zipf { theta, n, h_first: 0.0, h_last: 0.0, shortcut: 0.0 };
        zipf.h_first = zipf.h(1.5) - 1.0;
        zipf.h_last = zipf.h(n as f64 + 0.5);
        zipf.shortcut = 2.0 - zipf.h_inverse(zipf.h(2.5) - libm::pow(2.0, -theta));
        zipf
    }

    /// The next rank.
    pub(crate) fn rank(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.h_last + rng.unit() * (self.h_first - self.h_last);
            let x = self.h_inverse(u);
            let k = x.round_ties_even().clamp(1.0, self.n as f64);
            if k - x <= self.shortcut || u >= self.h(k + 0.5) - libm::pow(k, -self.theta) {
                return k as u64 - 1;
            }
        }
    }

    /// The integral of x^-theta, up to a constant. Near theta = 1 the power and its divisor both vanish; `expm1` keeps
    /// their quotient exact.
    fn h(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let e = (1.0 - self.theta) * log;
        if e.abs() > 1e-8 { libm::expm1(e) / e * log } else { log }
    }

    fn h_inverse(&self, u: f64) -> f64 {
        let t = (u * (1.0 - self.theta)).max(-1.0);
        if t.abs() > 1e-8 { libm::exp(libm::log1p(t) / t * u) } else { libm::exp(u) }
    }
}

#[cfg(test)]
mod tests;
