//! What findings come to.

use super::{CheckReport, Finding, FindingKind};

/// What a finding weighs, and what a check comes to, which is the heaviest of its findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Everything that live data depends on is there and as it should be. A finding of this weight is a remark.
    Consistent,
    /// What was read is as it should be, but members take no part: there is less redundancy.
    Degraded,
    /// Something is not as it should be, and redundancy mends it.
    Repairable,
    /// Blocks are beyond redundancy, or what is there contradicts itself and nothing tells what is right.
    BeyondRedundancy,
}

impl Verdict {
    /// The verdict as programs name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Consistent => "consistent",
            Self::Degraded => "degraded",
            Self::Repairable => "repairable",
            Self::BeyondRedundancy => "beyond-redundancy",
        }
    }

    /// The verdict for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Consistent => "consistent",
            Self::Degraded => "consistent, and degraded",
            Self::Repairable => "damaged, and redundancy mends it",
            Self::BeyondRedundancy => "damaged beyond redundancy",
        }
    }

    /// What to run next for an array of this name, if anything.
    pub fn next_step(self, array: &str) -> Option<String> {
        Some(match self {
            Self::Consistent => return None,
            Self::Degraded => format!(
                "bring members back and run 'cygnus serve {array}', which has them catch up; then 'cygnus array replace \
                 {array} MEMBER DEVICE' for those that do not come back"
            ),
            Self::Repairable => format!("run 'cygnus array check {array} --repair'"),
            Self::BeyondRedundancy => format!(
                "bring missing members back and check again; else run 'cygnus array check {array} --repair' for what can \
                 be mended, and write what is listed anew from a backup. 'cygnus array salvage {array}' copies what is \
                 left when it cannot be served"
            ),
        })
    }
}

impl FindingKind {
    /// What a finding of this kind weighs, unless whoever made it knows better.
    pub(super) fn weight(self) -> Verdict {
        match self {
            Self::NotAMember | Self::Unclean => Verdict::Consistent,
            Self::MemberMissing | Self::MemberStale | Self::MemberTruncated => Verdict::Degraded,
            Self::SuperblockSlot
            | Self::SuperblocksDiffer
            | Self::Checkpoint
            | Self::Header
            | Self::HeadersDiffer
            | Self::Data
            | Self::Parity
            | Self::HeaderLost => Verdict::Repairable,
            Self::SuperblockLost | Self::Lost | Self::LostStripe | Self::Map | Self::Count | Self::Unaccounted => {
                Verdict::BeyondRedundancy
            }
        }
    }
}

impl Finding {
    /// Whether something is wrong with what is there. Members that take no part are no damage, and remarks even less.
    pub fn is_damage(&self) -> bool {
        self.weight >= Verdict::Repairable
    }

    /// Worth knowing, and no more.
    pub fn is_remark(&self) -> bool {
        self.weight == Verdict::Consistent
    }
}

impl CheckReport {
    /// What all of it comes to.
    pub fn verdict(&self) -> Verdict {
        self.findings.iter().map(|finding| finding.weight).max().unwrap_or(Verdict::Consistent)
    }

    /// Whether nothing is wrong with what is there, be it all of the array or not.
    pub fn is_consistent(&self) -> bool {
        self.verdict() <= Verdict::Degraded
    }

    /// How many findings are damage.
    pub fn damage(&self) -> usize {
        self.findings.iter().filter(|finding| finding.is_damage()).count()
    }
}
