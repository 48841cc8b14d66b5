//! A share of segments that stops growing. What writers have left has to last until cleaning has gained more, which takes as long in a large
//! array as in a small one; and what is free is space in which no garbage gathers, so a large array would pay for a fixed share and gain
//! nothing by it.

/// See the module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Segments of a hundred.
    pub percent: u32,
    /// Segments that it comes to at most.
    pub most: u32,
}

impl Share {
    /// Of so many segments: hundredths of one.
    pub fn hundredths_of(self, segments: u32) -> u64 {
        (u64::from(segments) * u64::from(self.percent)).min(u64::from(self.most) * 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_up_to_its_most() {
        let share = Share { percent: 2, most: 96 };
        assert_eq!([0, 511, 4799, 4800, u32::MAX].map(|n| share.hundredths_of(n)), [0, 1022, 9598, 9600, 9600]);
    }
}
