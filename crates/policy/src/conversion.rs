//! When members compute the parity of a full stripe of which they have copies: at once, or when that disturbs clients least
//! (ScalaAFA, sections 3.3 and 3.4).

/// When the parity of full stripes is made, where members compute it from copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Converting {
    /// As soon as all of a stripe but its parity is in its place.
    AtOnce,
    /// When the reactor has nothing else under way, or has to.
    Later(Postponement),
}

impl Converting {
    /// So many full stripes of a reactor may wait for their parity; 0: none.
    pub fn with_waiting(stripes: u32) -> Self {
        if stripes == 0 {
            Converting::AtOnce
        } else {
            Converting::Later(Postponement { most: stripes, ..Postponement::USUAL })
        }
    }

    /// How many stripes of a reactor may wait.
    pub fn most_waiting(self) -> usize {
        match self {
            Converting::AtOnce => 0,
            Converting::Later(rule) => rule.most as usize,
        }
    }
}

/// Rule for stripes whose conversion waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Postponement {
    /// Stripes of a reactor that may wait. Each keeps its memory, all of its columns, since the host computes the parity from there
    /// should a member not do it: 980 KiB for 4+1 members and 48 rows, 7.7 MiB for eight such stripes.
    pub most: u32,
    /// Conversion begins when no more of the room for copies is free than this.
    pub begin_percent: u32,
    /// Once it has begun for that reason it goes on until so much is free.
    pub stop_percent: u32,
    /// Conversions of a reactor at a time while requests are under way.
    pub at_a_time: u32,
}

/// What the rule judges. All of it is about one reactor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversionView {
    /// Operations that devices have not answered, conversions among them.
    pub under_way: u32,
    /// Stripes that are being converted.
    pub converting: u32,
    /// Stripes that wait.
    pub waiting: u32,
    /// Whether the room for copies runs short: [`Postponement::is_short`].
    pub is_short: bool,
}

impl Postponement {
    /// ScalaAFA converts when the host is idle or room runs short, and prints no numbers: these are ours, and keep memory small.
    pub const USUAL: Self = Self { most: 8, begin_percent: 20, stop_percent: 30, at_a_time: 1 };

    /// Whether the room for copies runs short, of which so much is free, and which did or did not before.
    pub fn is_short(self, was_short: bool, free_percent: u32) -> bool {
        free_percent <= self.begin_percent || was_short && free_percent < self.stop_percent
    }

    /// Whether the stripe that has waited longest is converted now.
    pub fn begins(self, view: ConversionView) -> bool {
        let has_to = view.is_short || view.waiting > self.most;
        view.under_way == 0 || has_to && view.converting < self.at_a_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Postponement = Postponement::USUAL;
    const BUSY: ConversionView = ConversionView { under_way: 5, converting: 0, waiting: 1, is_short: false };

    #[test]
    fn stripes_wait_while_requests_are_under_way() {
        assert!(!RULE.begins(BUSY) && !RULE.begins(ConversionView { waiting: RULE.most, ..BUSY }));
        assert!(RULE.begins(ConversionView { under_way: 0, ..BUSY }), "nothing else is");
    }

    #[test]
    fn too_many_do_not_wait_and_are_converted_one_after_the_other() {
        let many = ConversionView { waiting: RULE.most + 1, ..BUSY };
        assert!(RULE.begins(many) && !RULE.begins(ConversionView { converting: RULE.at_a_time, ..many }));
    }

    #[test]
    fn short_room_begins_at_one_mark_and_ends_at_another() {
        let short = [100, 21, 20, 25, 29, 30, 25].iter().scan(false, |was, &free| {
            *was = RULE.is_short(*was, free);
            Some(*was)
        });
        assert_eq!(short.collect::<Vec<_>>(), [false, false, true, true, true, false, false]);
        let view = ConversionView { is_short: true, ..BUSY };
        assert!(RULE.begins(view) && !RULE.begins(ConversionView { converting: RULE.at_a_time, ..view }));
    }

    #[test]
    fn none_wait_where_none_may() {
        assert_eq!(Converting::with_waiting(0), Converting::AtOnce);
        assert_eq!(Converting::with_waiting(8), Converting::Later(RULE));
    }
}
