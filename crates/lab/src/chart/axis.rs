//! Where values lie on an axis, and where its ticks are.

use super::figure::{Axis, Division};

/// An axis with its ends, laid along pixels.
pub(super) struct Placed {
    division: Division,
    low: f64,
    high: f64,
    /// Where its ends are.
    from: f64,
    to: f64,
}

/// A little room above the highest value.
const HEADROOM: f64 = 1.06;

/// How many nines a percentile has, with a fraction: 0 at 0 %, 1 at 90 %, 2 at 99 %.
fn nines(percent: f64) -> f64 {
    -libm::log10((1.0 - percent / 100.0).max(1e-9))
}

impl Placed {
    /// The axis along `from..to`, with room for these values.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>, (from, to): (f64, f64)) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        let (low, high) = axis.range.unwrap_or_else(|| match axis.division {
            Division::Logarithmic => {
                let least = values.iter().copied().filter(|&value| value > 0.0).fold(most, f64::min);
                (decade_below(least), decade_below(most) * 10.0)
            }
            _ => (0.0, most * HEADROOM),
        });
        let high = if high > low { high } else { low + 1.0 };
        Self { division: axis.division, low, high, from, to }
    }

    /// Where a value is, in pixels.
    pub(super) fn at(&self, value: f64) -> f64 {
        let place = |value: f64| match self.division {
            Division::Linear => value,
            Division::Logarithmic => libm::log10(value.max(1e-12)),
            Division::Nines => nines(value),
        };
        let (low, high) = (place(self.low), place(self.high));
        self.from + (place(value) - low) / (high - low) * (self.to - self.from)
    }

    /// About `about` ticks, and the text beside each.
    pub(super) fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        match self.division {
            Division::Linear => {
                let step = round_step((self.high - self.low) / about as f64);
                let first = (self.low / step).ceil();
                let count = ((self.high - first * step) / step + 1e-9).floor() as usize;
                (0..=count).map(|n| (first + n as f64) * step).map(|value| (value, label(value, step))).collect()
            }
            Division::Logarithmic => {
                let mut decade = decade_below(self.low * 1.000_001);
                let mut ticks = Vec::new();
                while decade <= self.high * 1.000_001 {
                    // An axis may begin between two powers.
                    if decade * 1.000_001 >= self.low {
                        ticks.push((decade, label(decade, decade)));
                    }
                    decade *= 10.0;
                }
                ticks
            }
            Division::Nines => {
                let all = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999];
                all.into_iter().filter(|&p| p >= self.low && p <= self.high).map(|p| (p, format!("{p}"))).collect()
            }
        }
    }
}

fn decade_below(value: f64) -> f64 {
    if value <= 0.0 { 1.0 } else { libm::pow(10.0, libm::floor(libm::log10(value))) }
}

/// 1, 2 or 5 times a power of ten, not below `step`.
fn round_step(step: f64) -> f64 {
    let decade = decade_below(step);
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * decade).find(|&round| round >= step * 0.999_999).unwrap_or(step)
}

/// The value with as many decimals as the step needs.
fn label(value: f64, step: f64) -> String {
    let decimals = (0..6).find(|&n| (step * libm::pow(10.0, f64::from(n))).fract().abs() < 1e-6).unwrap_or(6);
    format!("{value:.0$}", decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(axis: &Axis, most: f64) -> Vec<String> {
        Placed::new(axis, [most].into_iter(), (0.0, 100.0)).ticks(5).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(&Axis::linear(""), 800.0), ["0", "200", "400", "600", "800"]);
        assert_eq!(ticks(&Axis::linear(""), 0.9), ["0.0", "0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(ticks(&Axis::logarithmic("").between(0.1, 100.0), 1.0), ["0.1", "1", "10", "100"]);
        assert_eq!(
            ticks(&Axis::logarithmic("").between(4.0, 1024.0), 9.0),
            ["10", "100", "1000"],
            "none before its beginning"
        );
        assert_eq!(ticks(&Axis::nines(""), 1.0), ["0", "50", "90", "99", "99.9", "99.99"]);
    }

    #[test]
    fn values_lie_between_the_ends() {
        let axis = Placed::new(&Axis::nines(""), [0.0].into_iter(), (0.0, 400.0));
        assert!((axis.at(90.0) - 100.0).abs() < 0.1 && (axis.at(99.9) - 300.0).abs() < 0.1);
        let axis = Placed::new(&Axis::linear("").between(10.0, 20.0), [0.0].into_iter(), (100.0, 0.0));
        assert_eq!(axis.at(15.0), 50.0);
    }
}
