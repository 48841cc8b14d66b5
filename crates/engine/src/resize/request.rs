//! An operator may ask that a group retires ([`crate::resize::retire`] carries it out).

use cygnus_format::GroupState;
use cygnus_policy::Preset;
use cygnus_types::{BLOCK, ByteSize, Constraint, GroupId};

use crate::array::Array;
use crate::durable::commit::Committer;
use crate::error::GroupError;
use crate::resize::retire::Retirement;
use crate::resize::turn::Turn;
use crate::space::held::Usable;
use crate::space::usable::usable_blocks;
use crate::work::Work;

impl Array {
    /// Begins to move the data of a group to the others; then the group leaves the array. Returns the number of the job.
    /// Cancelled, the group stays.
    ///
    /// # Errors
    /// See [`GroupError`]; then nothing has changed.
    pub fn retire(&self, group: GroupId) -> Work<'_, Result<u64, GroupError>> {
        let array = self.clone();
        self.carry_out(async move {
            let reactor = &array.reactor;
            reactor.shared.check_fault()?;
            let _turn = Turn::take(reactor)?;
            array.check_retirable(group)?;
            Retirement::of(reactor).regroup(group, GroupState::Retiring);
            Committer::of(reactor).commit_state().await?;
            Ok(Retirement::of(reactor).begin_retiring(group))
        })
    }

    fn check_retirable(&self, group: GroupId) -> Result<(), GroupError> {
        let (shared, home) = (&self.reactor.shared, self.reactor.home());
        if group.index() >= shared.layout.groups() {
            return Err(GroupError::NoGroup { group, groups: shared.layout.groups() });
        }
        let state = shared.group_state(group);
        if state != GroupState::InService {
            return Err(GroupError::NotInService { group, state: state.word() });
        }
        let mut without = home.state.borrow().clone();
        let needed = without.preset.parse::<Preset>().map_or(1, Preset::min_groups);
        let left = shared.groups_in(GroupState::InService).count() - 1;
        if left < needed {
            return Err(GroupError::TooFewLeft { group, preset: without.preset, needed, left });
        }
        without.groups[group.index()].state = GroupState::Retiring;
        let room = usable_blocks(&without, &shared.policies, shared.crew)?;
        if shared.held.blocks() > room.total() {
            let (held, room) = (ByteSize::of_blocks(shared.held.blocks()), ByteSize::of_blocks(room.total()));
            return Err(GroupError::DoesNotFit { group, held, room, over: ByteSize(held.0 - room.0) });
        }
        self.check_constraints(group, room)
    }

    /// Whether the other groups on the medium of this one have room for what may be nowhere else.
    fn check_constraints(&self, group: GroupId, room: Usable) -> Result<(), GroupError> {
        let shared = &self.reactor.shared;
        let medium = shared.medium(group);
        let mut bound = shared.volumes();
        bound.retain(|volume| volume.constraint == Constraint::Only(medium));
        if bound.is_empty() {
            return Ok(());
        }
        let volumes: Vec<String> = bound.iter().map(|volume| volume.name.clone()).collect();
        if room.0[medium.index()].is_none() {
            return Err(GroupError::LastOfMedium { group, medium, volumes });
        }
        // What else is in this group can go to another medium; what is in the others stays.
        let bound: u64 = bound.iter().map(|volume| volume.controller.held()).sum();
        let here = Retirement::of(&self.reactor).left_in(group) / BLOCK as u64;
        let needed = shared.held.on(medium).saturating_sub(here) + bound.min(here);
        let room = room.on(medium);
        if needed > room {
            let (needed, room) = (ByteSize::of_blocks(needed), ByteSize::of_blocks(room));
            return Err(GroupError::DoesNotFitMedium { group, medium, needed, room, volumes });
        }
        Ok(())
    }
}
