//! How data of an array moves out of the way of contention, by what its scenario says.

use std::num::NonZeroU32;

use cygnus_engine::Autonomics;
use cygnus_policy::AutonomicsRule;
use cygnus_types::BLOCK;

use super::{ArrayKind, ArraySection};

impl ArraySection {
    /// Whether data moves out of the way of contention.
    pub(super) fn moves_data(&self) -> bool {
        let is_preset = matches!(self.kind(), ArrayKind::Log(preset) if preset.policies().autonomics);
        self.autonomics.unwrap_or(is_preset)
    }

    /// A key that says how data moves, and so is of use only where data does.
    pub(super) fn of_moves(&self) -> Option<&'static str> {
        let given = [self.budget_of.is_some(), self.migration.is_some(), self.queue.is_some(), self.targets.is_some()];
        given
            .into_iter()
            .zip(["budget-of", "migration", "queue", "targets"])
            .find_map(|(given, key)| given.then_some(key))
    }

    /// Whether data of an array of so many bytes of drives moves, and by which rule.
    pub(crate) fn autonomics(&self, raw: u64) -> Autonomics {
        match self.autonomics {
            _ if self.of_moves().is_some() => Autonomics::By(self.rule_of_moves(raw)),
            None => Autonomics::AsPreset,
            Some(true) => Autonomics::On,
            Some(false) => Autonomics::Off,
        }
    }

    fn rule_of_moves(&self, raw: u64) -> AutonomicsRule {
        let flash = self.budget_of.map_or(raw, |flash| flash.0);
        let usual = AutonomicsRule::for_blocks(flash / BLOCK as u64);
        AutonomicsRule {
            migration: self.migration.unwrap_or(usual.migration),
            queue: self.queue.map_or(usual.queue, NonZeroU32::get),
            targets: self.targets.unwrap_or(usual.targets),
            ..usual
        }
    }
}
