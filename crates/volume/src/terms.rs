use cygnus_types::Acknowledged;

/// What is to come true before a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Where its changes have to be.
    pub level: Acknowledged,
    /// Blocks of the volume that had been lost with the caches of members when it came. If there are more by now, its own may
    /// be among them.
    pub lost: u64,
}

impl Terms {
    /// Terms that are met only if both are.
    pub fn and(self, other: Self) -> Self {
        Self { level: self.level.max(other.level), lost: self.lost.min(other.lost) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_several_waits_for_the_strictest() {
        let (one, other) =
            (Terms { level: Acknowledged::Written, lost: 3 }, Terms { level: Acknowledged::Durable, lost: 5 });
        assert_eq!(one.and(other), Terms { level: Acknowledged::Durable, lost: 3 });
        assert_eq!(one.and(one), one);
    }
}
