//! The reactors that serve an array, and how many of them help to clean: the room that they need depends on that.
//!
//! Each helper fills a segment of its own with what it moves, so a group must be large for many of them
//! (`docs/decisions/067-cleaning-on-several-cores.md`).

use cygnus_policy::{Policies, Streams};

/// See the module's text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crew {
    /// The home reactor among them.
    pub reactors: usize,
    /// Segments that a group has for each helper that works in it; `None`: the home reactor cleans alone.
    segments_per_helper: Option<u32>,
}

impl Crew {
    /// The home reactor alone.
    pub(crate) const ALONE: Crew = Crew { reactors: 1, segments_per_helper: None };

    /// So many reactors, and a helper for each so many segments of a group. Where cleaning keeps volumes apart, or empties groups as
    /// a whole, a helper would undo that with the one segment that it fills.
    pub(crate) fn new(reactors: usize, segments_per_helper: u32, policies: &Policies) -> Self {
        let is_apart = policies.streams == Streams::ByVolume || policies.cleaning.is_by_group();
        Self { reactors, segments_per_helper: (!is_apart).then_some(segments_per_helper.max(1)) }
    }

    /// Reactors that help to clean a group of so many segments.
    pub(crate) fn helpers_in(&self, segments: u32) -> u32 {
        let others = self.reactors.saturating_sub(1) as u32;
        self.segments_per_helper.map_or(0, |per_helper| others.min(segments / per_helper))
    }
}

#[cfg(test)]
mod tests {
    use cygnus_policy::Preset;

    use super::*;

    #[test]
    fn large_groups_have_helpers_unless_these_would_mix_what_is_kept_apart() {
        let helpers = |preset: Preset, streams, reactors| {
            let crew = Crew::new(reactors, 64, &Policies { streams, ..preset.policies() });
            [63, 64, 640].map(|segments| crew.helpers_in(segments))
        };
        assert_eq!(helpers(Preset::Swan, Streams::Together, 4), [0, 1, 3]);
        assert_eq!(helpers(Preset::Salsa, Streams::ByHeat, 4), [0, 1, 3]);
        assert_eq!(helpers(Preset::LogRaid, Streams::Together, 1), [0, 0, 0]);
        assert_eq!(helpers(Preset::LogRaid, Streams::ByVolume, 4), [0, 0, 0]);
        assert_eq!(helpers(Preset::Serial, Streams::Together, 4), [0, 0, 0]);
    }
}
