//! What links are made of: lanes of PCI Express, or Ethernet between network cards and switches.

use cygnus_types::Nanos;

use crate::{ethernet, pcie};

/// What a link is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wires {
    pub carrier: Carrier,
    /// Time that a packet takes over and above its length: wires and physical layers.
    pub latency: Nanos,
}

/// What carries the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Pcie(pcie::Lanes),
    Ethernet(ethernet::Frames),
}

impl Wires {
    /// Bytes per second in each direction.
    pub(crate) fn rate(&self) -> u64 {
        match self.carrier {
            Carrier::Pcie(lanes) => lanes.rate(),
            Carrier::Ethernet(frames) => frames.rate,
        }
    }

    /// Bytes that a packet with so much data takes on the link, all that is around the data counted.
    fn length(&self, data: u32) -> u64 {
        match self.carrier {
            Carrier::Pcie(_) => u64::from(data + pcie::ENVELOPE),
            Carrier::Ethernet(frames) => frames.length(data),
        }
    }

    /// Time for which a packet with so much data takes the link.
    pub(crate) fn time_of(&self, data: u32) -> Nanos {
        time_of(self.length(data), self.rate())
    }

    /// What it is, in pictures.
    pub(crate) fn label(&self) -> String {
        match self.carrier {
            Carrier::Pcie(lanes) => format!("x{} g{}", lanes.width, lanes.generation),
            Carrier::Ethernet(frames) => format!("{} MB/s", frames.rate / 1_000_000),
        }
    }
}

/// Time for so many bytes at so many per second, rounded up.
pub(crate) fn time_of(bytes: u64, rate: u64) -> Nanos {
    Nanos((bytes * 1_000_000_000).div_ceil(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up() {
        assert_eq!((time_of(4096, 800_000_000), time_of(1, 3_000_000_000)), (Nanos(5120), Nanos(1)));
    }
}
