//! How a group's candidates stand by one rule, so that the best are found without a look at all of them.

use cygnus_policy::{CleaningScope, Search, SegmentView, Victim, Worth};

use crate::space::ages::Ages;
use crate::space::ranking::Ranking;
use crate::space::urn::Urn;

/// Set in the rank by age of what is not worth it: that comes behind all that is.
const WORTHLESS: u64 = 1 << 63;

/// See the module's text.
pub(super) struct Standing {
    scope: CleaningScope,
    rule: Victim,
    by: By,
}

enum By {
    Rank(Ranking),
    Score(Ages),
    /// Only what is worth it is inside, or a draw could be in vain again and again; but all of a group that is emptied as a whole.
    Draw(Urn, u16),
}

impl Standing {
    /// Nobody stands yet.
    pub(super) fn new(scope: CleaningScope, rule: Victim) -> Self {
        let by = match rule.search() {
            Search::Rank => By::Rank(Ranking::default()),
            Search::Score => By::Score(Ages::default()),
            Search::Draw { among } => By::Draw(Urn::default(), among),
        };
        Self { scope, rule, by }
    }

    /// What is at this position is this from now on, or no candidate.
    pub(super) fn set(&mut self, at: u32, view: Option<&SegmentView>) {
        let (scope, rule) = (self.scope, self.rule);
        match &mut self.by {
            By::Rank(ranking) => ranking.set(at, view.map(|view| rank(scope, rule, view))),
            By::Score(ages) => ages.set(at, view.map(|view| (view.share(), view.life))),
            By::Draw(urn, _) => urn.set(at, view.filter(|view| is_drawn(scope, view)).map(|view| rule.rank(view))),
        }
    }

    /// Whether this is what is known of a position.
    pub(super) fn has(&self, at: u32, view: &SegmentView) -> bool {
        match &self.by {
            By::Rank(ranking) => ranking.rank(at) == Some(rank(self.scope, self.rule, view)),
            By::Score(ages) => ages.at(at) == Some((view.share(), view.life)),
            By::Draw(urn, _) => urn.rank(at) == Some(self.rule.rank(view)),
        }
    }

    /// The positions of the candidates, the best first, where `newest` is the youngest life of all; some of which nothing is
    /// worth it may be left out.
    pub(super) fn in_order(&self, newest: u64, worth: Worth) -> Box<dyn Iterator<Item = u32> + '_> {
        match &self.by {
            By::Rank(ranking) => Box::new(ranking.in_order()),
            By::Score(ages) => {
                let score = |share, age, oldest| self.rule.score(share, age, oldest);
                Box::new(ages.in_order(newest, move |share| worth.may_take_share(share), score))
            }
            By::Draw(urn, among) => Box::new(urn.drawn(*among)),
        }
    }

    /// Whether neither this one nor any behind it is worth it.
    pub(super) fn is_end(&self, worth: Worth, view: &SegmentView) -> bool {
        match self.rule {
            Victim::Greedy => view.live_percent() >= worth.below_percent,
            Victim::Oldest if self.scope.is_by_group() || worth == Worth::ANY => false,
            // What is younger than the first one of this turn is of this turn too.
            Victim::Oldest => !worth.takes(view),
            Victim::CostBenefit | Victim::Generalised { .. } | Victim::Choices { .. } => false,
        }
    }
}

/// Where a candidate stands in a ranking. By age what is not worth it comes last, or it would be passed over again and again;
/// but all of a group that is emptied as a whole is emptied in its order.
fn rank(scope: CleaningScope, rule: Victim, view: &SegmentView) -> u64 {
    let is_last = rule == Victim::Oldest && !scope.is_by_group() && !scope.worth(true).takes(view);
    rule.rank(view) | if is_last { WORTHLESS } else { 0 }
}

fn is_drawn(scope: CleaningScope, view: &SegmentView) -> bool {
    scope.is_by_group() || scope.worth(true).takes(view)
}
