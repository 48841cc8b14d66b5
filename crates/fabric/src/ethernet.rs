//! What Ethernet says of links and frames.

use std::ops::RangeInclusive;

/// Bytes around a frame's data: preamble and delimiter 8, header 14, checksum 4 and the gap to the next frame 12 (IEEE 802.3, clauses
/// 3.1.1 and 4.4.2), headers of IPv4 20 (RFC 791) and TCP 20 (RFC 9293), both without options. UDP's header has 8 (RFC 768): 66.
const OVERHEAD: u32 = 8 + 14 + 4 + 12 + 20 + 20;

/// Data in a frame: the 1500 bytes of IEEE 802.3 without the headers of IPv4 and TCP.
const FRAME: u32 = 1500 - 20 - 20;

/// Data in a frame, from what every host must take (RFC 791: 576 bytes with the headers of IPv4 and TCP) to what jumbo frames have (9000
/// bytes, by convention, with the headers of IPv4 and UDP).
pub(crate) const FRAMES: RangeInclusive<u32> = 576 - 20 - 20..=9000 - 20 - 8;

/// Most bytes around a frame's data: more than any stack of protocols has.
pub(crate) const MOST_OVERHEAD: u32 = 1024;

/// An Ethernet link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frames {
    /// Bytes per second in each direction, of everything that is on the wires.
    pub rate: u64,
    /// Most bytes of data in a frame.
    pub frame: u32,
    /// Bytes of a frame besides its data.
    pub overhead: u32,
}

impl Frames {
    /// TCP over IPv4 in frames of the usual size.
    pub(crate) fn of_rate(rate: u64) -> Self {
        Self { rate, frame: FRAME, overhead: OVERHEAD }
    }

    /// Bytes of a packet with so much data: it takes as many frames as it must, and one if it has none.
    pub(crate) fn length(&self, data: u32) -> u64 {
        let frames = data.div_ceil(self.frame).max(1);
        u64::from(data) + u64::from(frames) * u64::from(self.overhead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_what_the_standards_say_around_their_data() {
        let frames = Frames::of_rate(1_250_000_000);
        // A full frame takes 1538 bytes of the wires, of which 1460 are data.
        assert_eq!((frames.length(1460), frames.length(1461), frames.length(0)), (1538, 1617, 78));
        assert_eq!(frames.length(4096), 4096 + 3 * 78);
        assert_eq!(Frames { frame: 8960, ..frames }.length(4096), 4096 + 78);
    }
}
