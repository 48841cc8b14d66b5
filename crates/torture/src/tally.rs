//! What seeds have gone through, in numbers.

/// See the module's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Changing requests (writes, write-zeroes, trims).
    pub writes: u64,
    /// Reads.
    pub reads: u64,
    /// Flushes.
    pub flushes: u64,
    /// Blocks compared with what the oracle allows.
    pub blocks_checked: u64,
    /// Power cuts.
    pub power_cuts: u64,
    /// Processes killed with the power on.
    pub kills: u64,
    /// Of these, after which all that was acknowledged had to be there.
    pub kept: u64,
    /// Clean stops.
    pub clean_stops: u64,
    /// Power cuts while the array was being opened or closed.
    pub cuts_in_transit: u64,
    /// Times that members were in trouble for a while.
    pub passing: u64,
    /// Openings without a member that came back later.
    pub absent: u64,
    /// Arrays closed while they waited for members.
    pub given_up: u64,
    /// Members removed, or dead while the array ran.
    pub members_lost: u64,
    /// Blocks of devices damaged silently or made unreadable.
    pub blocks_damaged: u64,
    /// Faults that operations met.
    pub faults_met: u64,
    /// Volumes made, deleted or resized after the start.
    pub administered: u64,
    /// Times that R-groups were to be added or retired.
    pub regrouped: u64,
    /// Submissions and completions of device operations.
    pub device_steps: u64,
    /// Looks at the engine's invariants.
    pub inspections: u64,
    /// Full checks of a stopped array.
    pub checks: u64,
    /// Scrubs that got to their end, with the devices looked at afterwards.
    pub scrubs: u64,
    /// Openings by force of arrays of which a group lacked too many members.
    pub forced: u64,
    /// Blocks that were unreadable then.
    pub forgone: u64,
    /// Times that blocks which nobody can read left no room for writes, and discards gave some.
    pub clogged: u64,
    /// Arrays salvaged that were broken beyond redundancy.
    pub salvages: u64,
    /// Segments cleaned.
    pub victims: u64,
    /// Of these, in a second group that was cleaned beside the first.
    pub victims_beside: u64,
    /// Those that other reactors than the home one emptied.
    pub victims_helped: u64,
    /// Times that another group became the front end.
    pub rotations: u64,
    /// Groups emptied as a whole.
    pub evacuations: u64,
    /// Groups that could not be emptied as a whole to the end.
    pub evacuations_given_up: u64,
    /// Checkpoints taken.
    pub checkpoints: u64,
    /// Blocks rebuilt from the other columns.
    pub reconstructed: u64,
    /// R-groups that got the number of one that had left.
    pub reused: u64,
    /// Blocks that moved out of the way of contention.
    pub rehomed: u64,
    /// Blocks of hybrid volumes that moved to flash since they were often read.
    pub promoted: u64,
    /// Such that moved to disks since they were not.
    pub demoted: u64,
    /// Requests that were refused for lack of space.
    pub refused: u64,
    /// Requests that failed for damage beyond redundancy, as they should.
    pub excused: u64,
    /// Openings that were refused for damage beyond redundancy, as they should be.
    pub openings_refused: u64,
}

impl Tally {
    /// Every figure with its name.
    pub fn figures(&self) -> Vec<(&'static str, u64)> {
        let mut copy = *self;
        copy.each().into_iter().map(|(name, value)| (name, *value)).collect()
    }

    /// Adds another run's figures.
    pub fn add(&mut self, other: &Tally) {
        for ((_, mine), (_, theirs)) in self.each().into_iter().zip(other.figures()) {
            *mine += theirs;
        }
    }

    /// Requests of clients.
    pub fn requests(&self) -> u64 {
        self.writes + self.reads + self.flushes
    }

    fn each(&mut self) -> Vec<(&'static str, &mut u64)> {
        macro_rules! figures {
            ($($name:ident),* $(,)?) => {{
                // Without `..`: a figure that is missing here does not compile.
                let Self { $($name),* } = self;
                vec![$((stringify!($name), $name)),*]
            }};
        }
        figures!(
            writes,
            reads,
            flushes,
            blocks_checked,
            power_cuts,
            kills,
            kept,
            clean_stops,
            cuts_in_transit,
            passing,
            absent,
            given_up,
            members_lost,
            blocks_damaged,
            faults_met,
            administered,
            regrouped,
            device_steps,
            inspections,
            checks,
            scrubs,
            forced,
            forgone,
            clogged,
            salvages,
            victims,
            victims_beside,
            victims_helped,
            rotations,
            evacuations,
            evacuations_given_up,
            checkpoints,
            reconstructed,
            rehomed,
            promoted,
            demoted,
            refused,
            reused,
            excused,
            openings_refused,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_cover_every_figure() {
        let mut sum = Tally { writes: 1, openings_refused: 2, ..Tally::default() };
        sum.add(&Tally { writes: 4, reads: 8, ..Tally::default() });
        assert_eq!(sum, Tally { writes: 5, reads: 8, openings_refused: 2, ..Tally::default() });
        assert_eq!(sum.figures()[0], ("writes", 5));
    }
}
