//! Rates from two readings of ever-growing counters.

use crate::status::{DeviceCounters, DeviceRates};

/// Remembers the last reading of every device and turns the next one into bytes per second.
///
/// The clock is the caller's: nanoseconds of any origin that do not run backwards.
#[derive(Clone, Debug, Default)]
pub struct RateMeter {
    at_ns: u64,
    last: Vec<DeviceCounters>,
    rates: Vec<DeviceRates>,
}

/// Growth per second; a counter that shrank (the server was restarted) counts from zero.
fn per_second(before: u64, after: u64, seconds: f64) -> f64 {
    after.checked_sub(before).unwrap_or(after) as f64 / seconds
}

impl RateMeter {
    /// Takes a reading at `now_ns` and returns the rates since the reading before; zeros at the first one.
    pub fn sample(&mut self, now_ns: u64, counters: &[DeviceCounters]) -> &[DeviceRates] {
        let elapsed = now_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        if elapsed <= 0.0 && self.last.len() == counters.len() {
            return &self.rates;
        }
        self.rates = match self.last.len() == counters.len() {
            true => self.last.iter().zip(counters).map(|(a, b)| rates_between(a, b, elapsed)).collect(),
            false => vec![DeviceRates::default(); counters.len()],
        };
        self.at_ns = now_ns;
        self.last = counters.to_vec();
        &self.rates
    }

    /// The rates of the last reading.
    pub fn rates(&self) -> &[DeviceRates] {
        &self.rates
    }
}

fn rates_between(before: &DeviceCounters, after: &DeviceCounters, seconds: f64) -> DeviceRates {
    DeviceRates {
        read: per_second(before.read_bytes, after.read_bytes, seconds),
        cleaning_read: per_second(before.cleaning_read_bytes, after.cleaning_read_bytes, seconds),
        written: per_second(before.written_bytes, after.written_bytes, seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(read: u64, cleaning: u64, written: u64) -> DeviceCounters {
        DeviceCounters { read_bytes: read, cleaning_read_bytes: cleaning, written_bytes: written, ..Default::default() }
    }

    #[test]
    fn rates_are_growth_over_time() {
        let mut meter = RateMeter::default();
        assert_eq!(meter.sample(1_000_000_000, &[counters(10, 0, 10)]), [DeviceRates::default()]);
        let rates = meter.sample(3_000_000_000, &[counters(1510, 500, 4010)]);
        assert_eq!(rates, [DeviceRates { read: 750.0, cleaning_read: 250.0, written: 2000.0 }]);
        // The same moment again is no division by zero.
        assert_eq!(meter.sample(3_000_000_000, &[counters(9, 9, 9)])[0].written, 2000.0);
    }

    #[test]
    fn a_restarted_server_counts_from_zero() {
        let mut meter = RateMeter::default();
        meter.sample(0, &[counters(100, 100, 100)]);
        assert_eq!(meter.sample(1_000_000_000, &[counters(7, 0, 5)])[0].written, 5.0);
    }
}
