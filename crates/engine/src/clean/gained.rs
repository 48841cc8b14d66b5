//! How fast cleaning gains room, on each medium. Writers are let in no faster where it is slow.

use cygnus_types::{Medium, Nanos};

/// Slower than this nothing is gained: a process that was paused for days has only paused.
const SLOWEST: Nanos = Nanos::secs(10);

/// See the module's text.
#[derive(Default)]
pub(crate) struct Gained {
    /// Until when the time is accounted for; `None` while the cleaner rests.
    since: Option<Nanos>,
    of: [Rate; Medium::ALL.len()],
}

#[derive(Clone, Copy, Default)]
struct Rate {
    /// What the last round of victims has given so far.
    in_this_round: Option<u64>,
    /// Blocks gained, and the time that it took; of what was before each round three quarters count on.
    blocks: u64,
    span: Nanos,
}

impl Gained {
    /// The cleaner sets about victims.
    pub(crate) fn works(&mut self, now: Nanos) {
        self.since.get_or_insert(now);
    }

    /// It has nothing to do: that time does not count.
    pub(crate) fn rests(&mut self) {
        self.since = None;
    }

    /// A victim was emptied that gives room for so many blocks more than have moved out of it.
    pub(crate) fn gains(&mut self, on: Medium, blocks: u64) {
        *self.of[on.index()].in_this_round.get_or_insert(0) += blocks;
    }

    /// Victims that are emptied together are done with.
    pub(crate) fn ends_round(&mut self, now: Nanos) {
        let took = now.since(self.since.replace(now).unwrap_or(now));
        for rate in &mut self.of {
            let Some(blocks) = rate.in_this_round.take() else { continue };
            (rate.blocks, rate.span) = (rate.blocks * 3 / 4 + blocks, rate.span * 3 / 4 + took);
        }
    }

    /// What it has taken lately to gain room for a block on a medium; zero: not known yet.
    pub(crate) fn per_block(&self, on: Medium) -> Nanos {
        let Rate { blocks, span, .. } = self.of[on.index()];
        Nanos(span.0.checked_div(blocks).unwrap_or(0)).min(SLOWEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_for_the_media_of_which_victims_were_emptied_and_while_the_cleaner_works() {
        let mut gained = Gained::default();
        assert_eq!(gained.per_block(Medium::Disk), Nanos::ZERO);
        gained.works(Nanos(1000));
        gained.gains(Medium::Disk, 3);
        gained.gains(Medium::Disk, 7);
        gained.ends_round(Nanos(2000));
        assert_eq!(gained.per_block(Medium::Disk), Nanos(100));
        gained.gains(Medium::Flash, 10);
        gained.ends_round(Nanos(2100));
        assert_eq!((gained.per_block(Medium::Disk), gained.per_block(Medium::Flash)), (Nanos(100), Nanos(10)));
        gained.rests();
        gained.works(Nanos(1_000_000));
        gained.gains(Medium::Disk, 10);
        gained.ends_round(Nanos(1_003_000));
        assert_eq!(gained.per_block(Medium::Disk), Nanos((750 + 3000) / (7 + 10)));
    }

    #[test]
    fn what_was_long_ago_counts_less_and_less() {
        let mut gained = Gained::default();
        gained.works(Nanos(0));
        let mut now = 0;
        for per_block in [10, 1000] {
            for _ in 0..20 {
                now += 5000 * per_block;
                gained.gains(Medium::Flash, 5000);
                gained.ends_round(Nanos(now));
            }
        }
        assert!(gained.per_block(Medium::Flash) > Nanos(990));
        gained.gains(Medium::Flash, 1);
        gained.ends_round(Nanos(u64::MAX / 2));
        assert_eq!(gained.per_block(Medium::Flash), SLOWEST);
    }
}
