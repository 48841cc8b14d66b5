//! What PCI Express says of links and packets.

/// Most bytes of data in a packet: the largest maximum payload size (PCI Express Base Specification 3.0, section 7.8.4).
pub const MAX_PAYLOAD: u32 = 4096;

/// Bytes of a packet besides its data: framing and sequence number 4, header with a 64-bit address 16, checksum of the link layer
/// 4 (sections 2.2.1, 3.5.2 and 4.2.2).
pub(crate) const ENVELOPE: u32 = 24;

/// Widths that links have (section 4.2.4).
pub(crate) const WIDTHS: [u8; 7] = [1, 2, 4, 8, 12, 16, 32];

/// Bytes per second of one lane by generation, encoding taken off.
const LANES: [u64; 5] = [250_000_000, 500_000_000, 984_615_384, 1_969_230_769, 3_938_461_538];

/// A link of PCI Express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    /// How many.
    pub width: u8,
    /// Generation of PCI Express, from 1 to 5.
    pub generation: u8,
}

impl Lanes {
    /// Whether there are links of such a generation.
    pub(crate) fn is_generation(generation: u8) -> bool {
        (1..=LANES.len()).contains(&usize::from(generation))
    }

    /// Bytes per second in each direction.
    pub(crate) fn rate(&self) -> u64 {
        LANES[usize::from(self.generation) - 1] * u64::from(self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_specification() {
        let lanes = |width, generation| Lanes { width, generation };
        assert_eq!(lanes(1, 1).rate(), 250_000_000);
        // "Nearly 1 GB/s" per lane, 15.75 GB/s for sixteen.
        assert_eq!(lanes(16, 3).rate() / 10_000_000, 1575);
        assert!(!Lanes::is_generation(0) && Lanes::is_generation(5) && !Lanes::is_generation(6));
    }
}
