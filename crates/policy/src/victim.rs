//! Which segment is cleaned next.

use std::fmt;
use std::str::FromStr;

use cygnus_types::SegmentId;

/// What a policy may know of a sealed segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentView {
    /// Its number within its group.
    pub id: SegmentId,
    /// Blocks that hold current data.
    pub live: u32,
    /// Data blocks that it can hold.
    pub capacity: u32,
    /// Which life of a segment this is, counted over the array: younger ones were begun later.
    pub life: u64,
    /// Begun since the cleaner came to this group: what lies in it was moved there only just now.
    pub of_this_turn: bool,
}

impl SegmentView {
    /// Valid blocks in percent of what it can hold.
    pub fn live_percent(&self) -> u32 {
        (u64::from(self.live) * 100 / u64::from(self.capacity)) as u32
    }

    /// The part of it that is valid, in 256ths, rounded down; what is full counts as 255.
    pub fn share(&self) -> u8 {
        (u64::from(self.live) * SHARES / u64::from(self.capacity)).min(SHARES - 1) as u8
    }
}

/// What shares are counted in. A rule that weighs ages takes segments whose shares differ by less as equal.
const SHARES: u64 = 256;

/// Bits behind the point of scores.
const FRACTION: u32 = 32;

/// Rule of cleaning: which segment is the next victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// Fewest valid blocks (SWAN section 3.2).
    Greedy,
    /// The one that was written first: a circular buffer (SALSA section 3.2). A drive erases large blocks that it fills in the
    /// order of writes: trimmed in this order, segments leave whole blocks without anything valid, and the drive has nothing to
    /// collect. Segments of a group that is emptied as a whole are all victims anyway; the order costs nothing then.
    Oldest,
    /// Most of what it gains for the longest, over what it costs: (1 - u) x age / (1 + u), u being the share that is valid
    /// (Rosenblum and Ousterhout, 1992, section 3.4). A segment's age is how many were begun since it was.
    CostBenefit,
    /// Invalid share + alpha x age / age of the oldest: greedy, with the ageing of a circular buffer (SALSA section 3.2).
    Generalised {
        /// Alpha in thousandths; 0 is greedy, but for the coarser shares.
        alpha_permille: u16,
    },
    /// Fewest valid blocks among `among` segments that are drawn at random (Van Houdt, 2013).
    Choices {
        /// How many are drawn.
        among: u16,
    },
}

/// How a rule's victims are found without a look at all segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// By [`Victim::rank`], which only changes with the segment.
    Rank,
    /// By [`Victim::score`], which changes as segments age: of those with the same share the older one comes first.
    Score,
    /// By lot: some segments are drawn, and the one of them with the fewest valid blocks is the victim.
    Draw {
        /// How many are drawn.
        among: u16,
    },
}

impl Victim {
    /// How victims are found.
    pub fn search(self) -> Search {
        match self {
            Victim::Greedy | Victim::Oldest => Search::Rank,
            Victim::CostBenefit | Victim::Generalised { .. } => Search::Score,
            Victim::Choices { among } => Search::Draw { among },
        }
    }

    /// The lowest comes first; ties go to the lowest number. Of what is drawn, among those drawn.
    ///
    /// # Panics
    /// If the rule goes by score.
    pub fn rank(self, segment: &SegmentView) -> u64 {
        match self {
            Victim::Greedy | Victim::Choices { .. } => segment.live.into(),
            Victim::Oldest => segment.life,
            Victim::CostBenefit | Victim::Generalised { .. } => panic!("{self} goes by score"),
        }
    }

    /// Of a segment with a share of valid blocks in 256ths, of this age, where `oldest` is the greatest age (1 at least). The
    /// highest comes first.
    ///
    /// # Panics
    /// If the rule goes by rank.
    pub fn score(self, share: u8, age: u64, oldest: u64) -> u128 {
        let (valid, invalid) = (u128::from(share), u128::from(SHARES) - u128::from(share));
        match self {
            Victim::CostBenefit => ((invalid * u128::from(age)) << FRACTION) / (u128::from(SHARES) + valid),
            Victim::Generalised { alpha_permille } => {
                let ageing = (u128::from(alpha_permille) * (u128::from(age) << FRACTION)) / u128::from(oldest) / 1000;
                (invalid << FRACTION) / u128::from(SHARES) + ageing
            }
            Victim::Greedy | Victim::Oldest | Victim::Choices { .. } => panic!("{self} goes by rank"),
        }
    }

    /// The number under which arrays keep the rule: the kind in the lowest byte, its parameter above.
    pub fn to_number(self) -> u64 {
        let (kind, parameter) = match self {
            Victim::Greedy => (1, 0),
            Victim::Oldest => (2, 0),
            Victim::CostBenefit => (3, 0),
            Victim::Generalised { alpha_permille } => (4, alpha_permille),
            Victim::Choices { among } => (5, among),
        };
        kind | u64::from(parameter) << 8
    }

    /// The rule of this number, if there is one.
    pub fn from_number(number: u64) -> Option<Self> {
        let parameter = u16::try_from(number >> 8).ok()?;
        let rule = match number & 0xff {
            1 => Victim::Greedy,
            2 => Victim::Oldest,
            3 => Victim::CostBenefit,
            4 => Victim::Generalised { alpha_permille: parameter },
            5 if parameter > 0 => Victim::Choices { among: parameter },
            _ => return None,
        };
        (rule.to_number() == number).then_some(rule)
    }
}

/// Alpha of the generalised rule where none is given.
const ALPHA_PERMILLE: u16 = 300;
/// Segments that are drawn where no number is given.
const AMONG: u16 = 10;
/// Largest alpha: beyond it ages alone count, as in a circular buffer.
const MOST_ALPHA: f64 = 60.0;

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Victim::Greedy => f.write_str("greedy"),
            Victim::Oldest => f.write_str("circular"),
            Victim::CostBenefit => f.write_str("cost-benefit"),
            Victim::Generalised { alpha_permille } => write!(f, "generalised:{}", f64::from(alpha_permille) / 1000.0),
            Victim::Choices { among } => write!(f, "d-choices:{among}"),
        }
    }
}

/// The text names no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVictim(pub String);

impl fmt::Display for UnknownVictim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown rule of cleaning {:?}: use greedy, circular, cost-benefit, generalised (or generalised:ALPHA, from 0 to \
             {MOST_ALPHA}) or d-choices (or d-choices:D, from 1 to {})",
            self.0,
            u16::MAX
        )
    }
}

impl std::error::Error for UnknownVictim {}

impl FromStr for Victim {
    type Err = UnknownVictim;

    fn from_str(text: &str) -> Result<Self, UnknownVictim> {
        let unknown = || UnknownVictim(text.into());
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        match (name, parameter) {
            ("greedy", None) => Ok(Victim::Greedy),
            ("circular", None) => Ok(Victim::Oldest),
            ("cost-benefit", None) => Ok(Victim::CostBenefit),
            ("generalised", None) => Ok(Victim::Generalised { alpha_permille: ALPHA_PERMILLE }),
            ("generalised", Some(alpha)) => {
                let alpha =
                    alpha.parse().ok().filter(|alpha| (0.0..=MOST_ALPHA).contains(alpha)).ok_or_else(unknown)?;
                Ok(Victim::Generalised { alpha_permille: (alpha * 1000.0_f64).round() as u16 })
            }
            ("d-choices", None) => Ok(Victim::Choices { among: AMONG }),
            ("d-choices", Some(among)) => {
                let among = among.parse().ok().filter(|&among| among > 0).ok_or_else(unknown)?;
                Ok(Victim::Choices { among })
            }
            _ => Err(unknown()),
        }
    }
}

/// Which segments are worth being victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    /// Segments with valid blocks below this percentage of what they can hold.
    pub below_percent: u32,
    /// Those begun in their group's present turn, too.
    pub of_this_turn: bool,
}

impl Worth {
    /// Any segment.
    pub const ANY: Worth = Worth { below_percent: u32::MAX, of_this_turn: true };

    /// Whether a segment is.
    pub fn takes(self, segment: &SegmentView) -> bool {
        segment.live_percent() < self.below_percent && (self.of_this_turn || !segment.of_this_turn)
    }

    /// Whether a segment with this share, in 256ths, may be a victim.
    pub fn may_take_share(self, share: u8) -> bool {
        u64::from(share) * 100 / SHARES < u64::from(self.below_percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seg(id: u32, live: u32) -> SegmentView {
        SegmentView { id: SegmentId(id), live, capacity: 10, life: 9 - u64::from(id), of_this_turn: false }
    }

    #[test]
    fn greedy_takes_the_emptiest() {
        let first = |rule: Victim| {
            let segments = [seg(0, 5), seg(1, 2), seg(2, 2)];
            segments.into_iter().min_by_key(|segment| (rule.rank(segment), segment.id))
        };
        assert_eq!(first(Victim::Greedy), Some(seg(1, 2)));
        assert_eq!(first(Victim::Oldest), Some(seg(2, 2)));
    }

    #[test]
    fn scores_weigh_garbage_and_age() {
        let rule = Victim::CostBenefit;
        assert!(rule.score(128, 10, 10) > rule.score(128, 9, 10), "the older of two");
        assert!(rule.score(64, 10, 10) > rule.score(128, 10, 10), "the emptier of two");
        assert!(rule.score(192, 40, 40) > rule.score(64, 8, 40), "1/7 of 40 is more than 3/5 of 8");
        assert!(rule.score(192, 40, 40) < rule.score(64, 10, 40), "and less than 3/5 of 10");

        let rule = Victim::Generalised { alpha_permille: 500 };
        assert!(
            rule.score(128, 100, 100) > rule.score(64, 49, 100),
            "half the range of ages is worth a quarter of a segment"
        );
        assert!(rule.score(128, 100, 100) < rule.score(64, 51, 100));
        let greedy = Victim::Generalised { alpha_permille: 0 };
        assert_eq!(greedy.score(64, 1, 100), greedy.score(64, 100, 100));
        assert!(
            greedy.score(255, u64::MAX, u64::MAX) > 0 && rule.score(0, u64::MAX, u64::MAX) > 0,
            "nothing overflows"
        );
    }

    #[test]
    fn names_and_numbers_lead_back_to_rules() {
        for (name, rule) in [
            ("greedy", Victim::Greedy),
            ("circular", Victim::Oldest),
            ("cost-benefit", Victim::CostBenefit),
            ("generalised:0.25", Victim::Generalised { alpha_permille: 250 }),
            ("generalised:60", Victim::Generalised { alpha_permille: 60_000 }),
            ("d-choices:1", Victim::Choices { among: 1 }),
        ] {
            assert_eq!((name.parse(), rule.to_string().as_str()), (Ok(rule), name));
            assert_eq!(Victim::from_number(rule.to_number()), Some(rule));
        }
        assert_eq!("generalised".parse(), Ok(Victim::Generalised { alpha_permille: ALPHA_PERMILLE }));
        assert_eq!("d-choices".parse(), Ok(Victim::Choices { among: AMONG }));
        for wrong in [
            "",
            "lifo",
            "greedy:1",
            "generalised:",
            "generalised:-1",
            "generalised:61",
            "generalised:NaN",
            "d-choices:0",
        ] {
            assert!(wrong.parse::<Victim>().unwrap_err().to_string().contains("use greedy, circular"), "{wrong}");
        }
        for wrong in [0, 6, 5, 1 | 1 << 8, 4 | 1 << 24, u64::MAX] {
            assert_eq!(Victim::from_number(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn no_share_is_passed_over_in_which_something_is_worth_it() {
        for (capacity, below_percent) in [(3, 50), (97, 95), (1000, 100), (7, u32::MAX)] {
            let worth = Worth { below_percent, of_this_turn: true };
            for live in 0..=capacity {
                let view = SegmentView { capacity, ..seg(0, live) };
                assert!(!worth.takes(&view) || worth.may_take_share(view.share()), "{live} of {capacity}");
            }
        }
    }
}
