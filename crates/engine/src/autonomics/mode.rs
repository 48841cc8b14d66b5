//! Whether data moves out of the way of contention.

use cygnus_policy::AutonomicsRule;

/// Whether data moves out of the way of contention, and by which rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Autonomics {
    /// As the array's preset has it.
    #[default]
    AsPreset,
    /// It stays.
    Off,
    /// It does, by the rule for an array of this size.
    On,
    /// It does by this rule, as where few requests are to suffice, or blocks are to be read anew for their move.
    By(AutonomicsRule),
}

impl Autonomics {
    /// The rule for devices of so many blocks in all, whose preset has autonomics or not; none if data stays.
    pub(crate) fn rule(self, preset: bool, blocks: u64) -> Option<AutonomicsRule> {
        match self {
            Self::By(rule) => Some(rule),
            Self::On => Some(AutonomicsRule::for_blocks(blocks)),
            Self::AsPreset if preset => Some(AutonomicsRule::for_blocks(blocks)),
            Self::AsPreset | Self::Off => None,
        }
    }
}
