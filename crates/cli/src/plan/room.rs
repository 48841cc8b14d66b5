//! What volumes may take of the array that was planned: asked of the engine, which makes it without any drive.

use super::units::size;
use crate::exit::Exit;
use crate::output::Output;
use cygnus_engine::{ArrayError, CreateOptions, Offer};
use cygnus_lab::offered;
use cygnus_types::ByteSize;

/// What is told of the room in an array that was planned.
#[derive(Debug, Default)]
pub struct Room {
    /// Why no array can be what was planned.
    pub impossible: Option<String>,
    /// What else a reader of the plan should know.
    pub remarks: Vec<String>,
}

/// Ends a plan of what no array can be with the answer no.
pub fn cannot_be_built(why: &str, output: Output) -> Exit {
    output.verdict(false, &format!("no array can be built like that: {why}"))
}

/// An array as it is planned.
pub struct Planned {
    /// Its preset, shape and segment; what is held back does not matter.
    pub made: CreateOptions,
    /// Bytes of each drive.
    pub drive: ByteSize,
    /// Part of the data space that live data takes.
    pub utilisation: f64,
    /// Bytes of a segment that the plan went by, if it is the planner's own.
    pub segment: Option<ByteSize>,
}

impl Planned {
    /// What to make the array with if it is to be as full as that, and what is different from the plan in the array that is made.
    pub fn room(&self) -> Room {
        let offer = match self.offers(self.made.over_provision_permille) {
            Ok(offer) => offer,
            Err(error) => return Room { impossible: Some(error.to_string()), remarks: Vec::new() },
        };
        let (impossible, held_back) = match self.held_back(offer) {
            Ok(advice) => (None, advice),
            Err(why) => (Some(why), None),
        };
        Room { impossible, remarks: held_back.into_iter().chain(self.other_segment(offer)).collect() }
    }

    fn offers(&self, held_back_permille: u16) -> Result<Offer, ArrayError> {
        let made = CreateOptions { over_provision_permille: held_back_permille, ..self.made.clone() };
        offered(&made, self.drive)
    }

    /// Percent of the data space that volumes may take.
    fn percent(&self, offer: Offer) -> f64 {
        let drives = self.made.groups.unwrap_or(1) as f64 * f64::from(self.made.data);
        100.0 * offer.capacity.0 as f64 / (drives * self.drive.0 as f64)
    }

    fn is_enough(&self, offer: Offer) -> bool {
        self.percent(offer) >= 100.0 * self.utilisation
    }

    /// The most that may be held back, in whole percent, if that is less than usual; or why nothing helps.
    fn held_back(&self, usual: Offer) -> Result<Option<String>, String> {
        if self.is_enough(usual) {
            return Ok(None);
        }
        let usual_percent = self.made.over_provision_permille / 10;
        let enough = |percent: &u16| self.offers(10 * percent).is_ok_and(|offer| self.is_enough(offer));
        let volumes = |offer: Offer| format!("volumes may take {:.0} % of this space", self.percent(offer).floor());
        match (0..usual_percent).rev().find(enough) {
            Some(percent) => Ok(Some(format!(
                "an array holds {usual_percent} % back for cleaning if nobody says otherwise, and {}: make it with --over-provision {percent}%",
                volumes(usual)
            ))),
            None => {
                let most = self.offers(0).unwrap_or(usual);
                Err(format!("{} at most, however little is held back for cleaning: let it be less full", volumes(most)))
            }
        }
    }

    fn other_segment(&self, offer: Offer) -> Option<String> {
        let assumed = self.segment.filter(|assumed| *assumed != offer.segment)?;
        Some(format!(
            "such an array gets segments of {} on each drive if nobody says otherwise, not of {}",
            offer.segment,
            size(assumed.0 as f64)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_policy::Preset;

    const DRIVE: ByteSize = ByteSize(1_920_000_000_000);

    fn planned(preset: Preset, (groups, data, parity): (usize, u8, u8), percent: u32) -> Planned {
        let made = CreateOptions::new("plan", preset, groups, data, parity);
        Planned { made, drive: DRIVE, utilisation: f64::from(percent) / 100.0, segment: Some(ByteSize(64 << 20)) }
    }

    /// The percentage that a remark advises to hold back.
    fn advised(remark: &str) -> Option<u16> {
        remark.split("--over-provision ").nth(1)?.trim_end_matches('%').parse().ok()
    }

    #[test]
    fn what_is_advised_is_enough_and_one_percent_more_is_not() {
        let shapes = [(3, 5, 1), (3, 6, 3), (3, 1, 1), (4, 4, 2)].map(|shape| (Preset::Swan, shape));
        for (preset, shape) in shapes.into_iter().chain([(Preset::Serial, (4, 1, 0)), (Preset::Serial, (8, 1, 1))]) {
            for percent in 50..=99 {
                let plan = planned(preset, shape, percent);
                let room = plan.room();
                if let Some(why) = room.impossible {
                    assert!(why.contains("let it be less full") && room.remarks.is_empty(), "{why}");
                    assert!(!plan.is_enough(plan.offers(0).unwrap()), "{preset:?} {shape:?} {percent}");
                    continue;
                }
                let Some(remark) = room.remarks.first() else { continue };
                let held_back = advised(remark).unwrap_or_else(|| panic!("{remark}"));
                assert!(plan.is_enough(plan.offers(10 * held_back).unwrap()), "{preset:?} {shape:?} {percent}");
                assert!(!plan.is_enough(plan.offers(10 * (held_back + 1)).unwrap()), "{preset:?} {shape:?} {percent}");
            }
        }
    }

    #[test]
    fn nothing_is_said_where_volumes_may_take_that_much_anyway() {
        let Room { impossible, remarks } = planned(Preset::Swan, (3, 5, 1), 60).room();
        assert!(impossible.is_none() && remarks.is_empty(), "{impossible:?} {remarks:?}");
    }

    #[test]
    fn segments_of_very_large_arrays_and_arrays_that_cannot_be_are_told() {
        let large = Planned { drive: ByteSize(7_680_000_000_000), ..planned(Preset::Swan, (3, 4, 1), 60) };
        assert_eq!(
            large.room().remarks,
            ["such an array gets segments of 128 MiB on each drive if nobody says otherwise, not of 64 MiB"]
        );
        let made = CreateOptions { segment: Some(ByteSize(64 << 20)), ..large.made.clone() };
        let why = Planned { made, ..large }.room().impossible.expect("too many segments");
        assert!(why.contains("use at most 262144"), "{why}");
    }
}
