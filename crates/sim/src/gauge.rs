//! How loaded a device is, integrated over time.

use cygnus_types::Nanos;

/// Integrals over virtual time since the device was plugged in; the difference of two readings, divided by the time
/// between them, is a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Operations in flight now.
    pub depth: u32,
    /// Time during which anything was in flight.
    pub busy: Nanos,
    /// Sum over all operations of the time that each was in flight.
    pub in_flight: Nanos,
}

/// A [`Load`] and the time up to which it is integrated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauge {
    load: Load,
    since: Nanos,
}

impl Gauge {
    fn integrate(&mut self, now: Nanos) {
        let span = now.0 - self.since.0;
        self.since = now;
        if self.load.depth > 0 {
            self.load.busy.0 += span;
            self.load.in_flight.0 += span * u64::from(self.load.depth);
        }
    }

    pub(crate) fn begin(&mut self, now: Nanos) {
        self.integrate(now);
        self.load.depth += 1;
    }

    pub(crate) fn end(&mut self, now: Nanos) {
        self.integrate(now);
        self.load.depth -= 1;
    }

    /// Everything in flight is gone.
    pub(crate) fn clear(&mut self, now: Nanos) {
        self.integrate(now);
        self.load.depth = 0;
    }

    pub(crate) fn read(&mut self, now: Nanos) -> Load {
        self.integrate(now);
        self.load
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrates() {
        let mut gauge = Gauge::default();
        gauge.begin(Nanos(10));
        gauge.begin(Nanos(20));
        gauge.end(Nanos(30));
        gauge.end(Nanos(35));
        assert_eq!(gauge.read(Nanos(100)), Load { depth: 0, busy: Nanos(25), in_flight: Nanos(10 + 20 + 5) });
    }
}
