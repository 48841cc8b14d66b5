//! How much volumes may hold.

use cygnus_format::{ArrayState, GroupDesc, GroupState};
use cygnus_policy::{FrontEnd, ParityPlacement, Policies, Preset, Streams, UntilFull, Victim};
use cygnus_types::{ByteSize, Medium};

use crate::error::ArrayError;
use crate::planted::{self, Bug};
use crate::space::crew::Crew;
use crate::space::held::Usable;
use crate::space::manager::checkpoint_segments;
use crate::space::protections::{Protections, Shapes};

/// The choices for all policy points, by what an array's superblocks say.
///
/// # Errors
/// When they name a preset or a choice that this engine does not know, or that is not possible.
pub fn policies_of(state: &ArrayState) -> Result<Policies, ArrayError> {
    let preset: Preset = state.preset.parse().map_err(|error: cygnus_policy::UnknownPreset| ArrayError::Format {
        device: state.name.clone(),
        why: error.to_string(),
    })?;
    let mut policies = preset.policies();
    policies.victim = chosen_rule(state, CLEANING)?.unwrap_or(policies.victim);
    for medium in Medium::ALL {
        policies.victim_on[medium.index()] = chosen_rule(state, CLEANING_ON[medium.index()])?;
    }
    policies.streams = chosen_streams(state, &policies)?;
    let fixed = state.policies.iter().any(|p| p.name == PARITY_FIXED && p.value != 0);
    policies.parity = if fixed { ParityPlacement::Fixed } else { ParityPlacement::Rotated };
    Ok(policies)
}

/// What makes safe what stripes hold until they are full.
pub fn until_full_of(state: &ArrayState) -> UntilFull {
    match () {
        () if state.geometry.transient_blocks == 0 => UntilFull::FullStripe,
        () if state.converts_inside() => UntilFull::Offload,
        () if state.has_parity_buffer() => UntilFull::ParityBuffer,
        () => UntilFull::TwoPhase,
    }
}

/// The rule by which cleaning chooses its victims, if the array was made with one of its own under that name.
fn chosen_rule(state: &ArrayState, name: &str) -> Result<Option<Victim>, ArrayError> {
    let Some(chosen) = state.policies.iter().find(|p| p.name == name) else { return Ok(None) };
    let rule = Victim::from_number(chosen.value).ok_or_else(|| ArrayError::Format {
        device: state.name.clone(),
        why: format!(
            "cleaning is to go by rule {:#x}, which this version does not know: use a newer one",
            chosen.value
        ),
    })?;
    Ok(Some(rule))
}

/// Which of clients' writes share segments.
///
/// # Errors
/// When they are to be kept apart where that is not possible.
fn chosen_streams(state: &ArrayState, policies: &Policies) -> Result<Streams, ArrayError> {
    let chosen = state.policies.iter().find(|p| [STREAMS, HEAT_STREAMS].contains(&p.name.as_str()));
    let streams = match chosen {
        None => policies.streams,
        Some(chosen) => Streams::from_number(chosen.value).ok_or_else(|| ArrayError::Format {
            device: state.name.clone(),
            why: format!(
                "writes are to be kept apart by rule {:#x}, which this version does not know: use a newer one",
                chosen.value
            ),
        })?,
    };
    match (streams, policies.front_end) {
        (Streams::Together, _) | (_, FrontEnd::EveryGroup) => Ok(streams),
        _ => Err(ArrayError::Invalid(format!(
            "{}: no writes can be kept apart where one group at a time takes all writes: use preset log-raid or salsa",
            state.name
        ))),
    }
}

/// Bytes that the volumes of an array may hold in all, by what its superblocks say.
///
/// # Errors
/// When they name a preset or a shape that this engine does not know.
pub fn usable_bytes(state: &ArrayState) -> Result<ByteSize, ArrayError> {
    usable_blocks(state, &policies_of(state)?, Crew::ALONE).map(|usable| ByteSize::of_blocks(usable.total()))
}

/// Blocks that volumes may hold: what remains after over-provisioning, or after the segments that must be free or open
/// at any time for the array to go on, whichever is less. Each medium has to have these by itself, all checkpoints among them: what
/// is to be on it must not depend on what becomes free elsewhere.
pub(crate) fn usable_blocks(state: &ArrayState, policies: &Policies, crew: Crew) -> Result<Usable, ArrayError> {
    let layout = state.layout().map_err(|error| ArrayError::Invalid(error.to_string()))?;
    let protections = Protections::of(state)?;
    let in_service = || state.groups.iter().filter(|group| group.state == GroupState::InService);
    let groups_on =
        |medium| -> Vec<u32> { in_service().filter(|group| group.medium == medium).map(GroupDesc::segments).collect() };
    let permille = state.over_provisioning_permille;
    let page_on = |medium| {
        let there = state.volumes.iter().filter(|volume| volume.constraint.allows(medium));
        there.map(|volume| volume.paging.blocks()).max().unwrap_or(1)
    };
    let data_on = |medium| data_blocks(protections.on(medium), &groups_on(medium), permille, policies);
    let checkpoint = match planted::is(Bug::CheckpointUnreserved) {
        false => checkpoint_segments(&layout, &protections, Medium::ALL.map(data_on).iter().sum()),
        true => 0,
    };
    let on = |medium| {
        let (groups, shapes) = (groups_on(medium), protections.on(medium));
        let usable = || usable_of(shapes, &groups, page_on(medium), checkpoint, permille, policies, crew);
        (!groups.is_empty()).then(usable)
    };
    Ok(Usable(Medium::ALL.map(on)))
}

/// Segments of these groups that data may fill.
fn data_segments(groups: &[u32], policies: &Policies) -> u64 {
    let all: u64 = groups.iter().map(|&segments| u64::from(segments)).sum();
    // A clean group stays in reserve where groups are emptied as a whole.
    let largest = groups.iter().max().filter(|_| policies.cleaning.is_by_group());
    all - u64::from(*largest.unwrap_or(&0))
}

/// Blocks in these, but for what over-provisioning keeps.
pub(crate) fn data_blocks(
    shapes: &Shapes,
    groups: &[u32],
    over_provisioning_permille: u16,
    policies: &Policies,
) -> u64 {
    let blocks = data_segments(groups, policies) * u64::from(shapes.capacity());
    blocks * (1000 - u64::from(over_provisioning_permille)) / 1000
}

/// What volumes may hold in groups on one medium, of so many segments of these shapes, with pages of so many blocks at most, where a
/// checkpoint takes so many segments.
pub(crate) fn usable_of(
    shapes: &Shapes,
    groups: &[u32],
    page: u8,
    checkpoint: u64,
    over_provisioning_permille: u16,
    policies: &Policies,
    crew: Crew,
) -> u64 {
    let capacity = u64::from(shapes.capacity_of_pages(page));
    let segments = data_segments(groups, policies);
    let by_rule = data_blocks(shapes, groups, over_provisioning_permille, policies);
    // Of each stream of cleaning one that is kept free, and one that is begun.
    let of_streams = 2 * policies.streams.of_cleaning_beside();
    let kept = |&segments: &u32| u64::from(policies.reserve_of(segments) + 1 + of_streams + crew.helpers_in(segments));
    let reserved: u64 = groups.iter().map(kept).sum();
    // Each helper has one that is begun, in whichever group it helped last.
    let of_helpers = groups.iter().map(|&segments| u64::from(crew.helpers_in(segments))).max().unwrap_or(0);
    // Open and spare segments of the writers, two checkpoints kept and one being written, and victims in the making.
    let of_a_reactor = u64::from(3 + 2 * policies.streams.beside());
    let in_use = crew.reactors as u64 * of_a_reactor + checkpoint * 3 + reserved + of_helpers + 2;
    // Stripes cut short by flushes leave holes. Segments of few stripes could otherwise be so full of live data that
    // moving it costs the space it gains.
    let filled = capacity.saturating_sub(u64::from(shapes.most_slots()) / 4);
    by_rule.min(segments.saturating_sub(in_use) * filled)
}

/// Policy parameter under which the rule of cleaning is recorded where it is not the preset's: [`Victim::to_number`].
pub(crate) const CLEANING: &str = "cleaning";

/// The same, by medium, for groups there. A program that does not know of it cleans them as all others, which harms nothing.
pub(crate) const CLEANING_ON: [&str; Medium::ALL.len()] =
    ["flash-cleaning", "disk-cleaning", "nvm-cleaning", "smr-cleaning"];

/// Policy parameter under which it is recorded which writes share segments where it is not as the preset has it: [`Streams::to_number`].
pub(crate) const STREAMS: &str = "streams";

/// The same in arrays that were made when there was one way to keep writes apart.
const HEAT_STREAMS: &str = "heat-streams";

/// Policy parameter under which a fixed parity column is recorded.
pub(crate) const PARITY_FIXED: &str = "parity-fixed";
