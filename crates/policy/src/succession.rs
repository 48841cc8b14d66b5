//! The order in which groups become front-end.

/// The groups, the one that was front-end longest ago first. Who comes next must not follow from the groups' numbers: were one passed over
/// because what is emptied in it has not been given back yet, its turn would come after those of all others, the one that was filled only
/// just now would be cleaned instead, and turns would go backwards from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Succession(Vec<usize>);

impl Succession {
    /// Of so many groups whose past is not known: by their numbers, from the one behind the front-end on.
    pub fn behind(front_end: usize, groups: usize) -> Self {
        Self((1..=groups).map(|step| (front_end + step) % groups).collect())
    }

    /// A group that was added is the next.
    pub fn adds(&mut self, group: usize) {
        self.0.retain(|&known| known != group);
        self.0.insert(0, group);
    }

    /// A group is front-end from now on. Those that were before it are passed over: the ones that `keep_their_turn` are still the first, the
    /// others had it.
    pub fn takes_over(&mut self, group: usize, keep_their_turn: impl Fn(usize) -> bool) {
        let at = self.0.iter().position(|&known| known == group).expect("a front-end is one of the groups");
        let (stay, had_it): (Vec<_>, Vec<_>) = self.0.drain(..at).partition(|&passed| keep_their_turn(passed));
        self.0.remove(0);
        self.0.splice(0..0, stay);
        self.0.extend(had_it);
        self.0.push(group);
    }

    /// All groups but one, in the order of their turns.
    pub fn others(&self, than: usize) -> impl DoubleEndedIterator<Item = usize> {
        self.0.iter().copied().filter(move |&group| group != than)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(succession: &Succession) -> Vec<usize> {
        succession.others(usize::MAX).collect()
    }

    #[test]
    fn turns_go_round() {
        let mut groups = Succession::behind(1, 4);
        assert_eq!(order(&groups), [2, 3, 0, 1]);
        groups.takes_over(2, |_| false);
        assert_eq!(order(&groups), [3, 0, 1, 2]);
        assert_eq!(groups.others(2).collect::<Vec<_>>(), [3, 0, 1]);
    }

    #[test]
    fn who_is_passed_over_comes_next_or_after_all_others() {
        let mut groups = Succession::behind(0, 5);
        groups.takes_over(3, |group| group == 2);
        assert_eq!(order(&groups), [2, 4, 0, 1, 3]);
        groups.takes_over(2, |_| true);
        assert_eq!(order(&groups), [4, 0, 1, 3, 2]);
    }

    #[test]
    fn a_group_that_was_added_comes_next() {
        let mut groups = Succession::behind(0, 2);
        groups.adds(2);
        assert_eq!(order(&groups), [2, 1, 0]);
        groups.takes_over(1, |_| true);
        groups.adds(2);
        assert_eq!(order(&groups), [2, 0, 1]);
    }
}
