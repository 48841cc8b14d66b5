//! Opening, step "rescue": what torn stripes held is written anew, so that no later recovery needs those stripes.

use std::collections::BTreeSet;
use std::rc::Rc;

use cygnus_types::{GroupId, Medium, SegmentId, counted};

use crate::error::ArrayError;
use crate::lsa::Publish;
use crate::reactor::Reactor;
use crate::recover::apply::Rescue;
use crate::recover::origins::Origins;
use crate::recover::progress::Progress;
use crate::recover::stays::Stay;
use crate::volume_state::VolumeState;
use crate::write::lane::Lane;
use crate::write::streams;
use crate::write::summed::Summed;
use crate::write::writer::Appended;

/// What became of blocks in torn stripes that had no other safe place.
#[derive(Default)]
pub(super) struct Rescued {
    /// Blocks written anew.
    pub written: usize,
    /// Blocks that are where they were found, for want of room.
    pub stay: Vec<Stay>,
    /// Segments that have these.
    pub torn: BTreeSet<(GroupId, SegmentId)>,
}

/// Brings each block to a place where it is safe. Where segments with lost blocks are kept
/// until the next checkpoint (`keeps_lost`) nothing can be cleaned: what that checkpoint needs is left to it.
pub(super) async fn rescue(
    reactor: &Rc<Reactor>,
    mut rescues: Vec<Rescue>,
    keeps_lost: bool,
) -> Result<Rescued, ArrayError> {
    let (mut rescued, mut origins) = (Rescued::default(), Origins::of(reactor));
    // Segment by segment: where space is short, the segments done with make room for the others.
    rescues.sort_by_key(|rescue| rescue.from);
    let progress = Progress::of(reactor, "rescue", "blocks of torn stripes", rescues.len() as u64);
    let done = |rescue: &Rescue| {
        reactor.shared.segments.drop_rescue(rescue.from);
        progress.add(1);
    };
    // What takes no room comes first, and what has no other place than a new one last: the segments of the others may be all the room
    // that there is.
    let (mut homeless, mut stuck) = (Vec::new(), Vec::new());
    for rescue in rescues {
        match origins.have(&rescue).await {
            true => done(&rescue),
            false => homeless.push(rescue),
        }
    }
    for rescue in homeless {
        let is_short = keeps_lost && reactor.home().space.borrow().is_down_to_checkpoint(&reactor.shared);
        if !is_short && rewrite(reactor, &rescue, Wait::WhileRoomMayCome).await? {
            rescued.written += 1;
        } else if origins.keep_where_found(&rescue).await {
            rescued.stay.push(Stay { volume: rescue.volume, lba: rescue.lba, at: rescue.at });
            rescued.torn.insert(reactor.shared.segments.locate(rescue.from));
        } else {
            stuck.push(rescue);
            continue;
        }
        done(&rescue);
    }
    for rescue in stuck {
        rewrite(reactor, &rescue, Wait::Always).await?;
        rescued.written += 1;
        done(&rescue);
    }
    if !rescued.stay.is_empty() {
        reactor.shared.log(format!(
            "open: there is no room to write {} of torn stripes anew: with less redundancy than others, or none, until there is",
            counted(rescued.stay.len(), "block")
        ));
    }
    Ok(rescued)
}

/// How long a block waits for room.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Until none is to be had on any medium on which it may be.
    WhileRoomMayCome,
    /// There is no other way to keep it.
    Always,
}

/// Writes a block anew; says whether there was room.
async fn rewrite(reactor: &Rc<Reactor>, rescue: &Rescue, wait: Wait) -> Result<bool, ArrayError> {
    let Some(volume) = reactor.shared.volume(rescue.volume) else { return Ok(true) };
    let gets_none = |lane: Lane| {
        let (space, on) = (reactor.home().space.borrow(), lane.medium().expect("blocks are moved to clients' lanes"));
        space.clogged && space.for_rescue(&reactor.shared, on).is_none()
    };
    loop {
        let progress = reactor.progress.wait();
        reactor.shared.check_fault()?;
        let (usual, lane) = lanes(reactor, &volume, rescue);
        if lane.is_none() && wait == Wait::WhileRoomMayCome {
            return Ok(false);
        }
        let publish = Publish::Move(volume.controller.locate(rescue.lba), rescue.seq);
        let appended = {
            let mut writer = reactor.writer(lane.unwrap_or(usual)).borrow_mut();
            writer.append(reactor, &volume, rescue.lba, Summed::of(&rescue.data), publish)
        };
        match appended {
            Appended::Done => return Ok(true),
            Appended::Changed => unreachable!("nobody else is writing yet"),
            // Cleaning has found that it gains nothing.
            Appended::NoRoom if gets_none(lane.unwrap_or(usual)) => match wait {
                Wait::WhileRoomMayCome => return Ok(false),
                Wait::Always => {
                    let of = &volume.name;
                    let what =
                        format!("to write {} of volume {of} anew, which a crash has left in a torn stripe", rescue.lba);
                    return Err(ArrayError::NoRoomToOpen { what, segments: reactor.shared.segments.damaged() });
                }
            },
            Appended::NoRoom => progress.await,
        }
    }
}

/// The lane to which a block should go, and the one to which it can: recoveries that were cut short may have taken all of a medium, and
/// then nothing can be cleaned there, as that takes a segment too.
fn lanes(reactor: &Rc<Reactor>, volume: &VolumeState, rescue: &Rescue) -> (Lane, Option<Lane>) {
    let usual = streams::lane_of_moved(reactor, volume, rescue.lba, reactor.shared.segments.medium(rescue.from));
    let medium = usual.medium().expect("blocks are moved to clients' lanes");
    let can = |on: &Medium| {
        let has_segment = || reactor.writer(Lane::Clients(*on)).borrow_mut().has_segment(reactor);
        has_segment() || reactor.home().space.borrow().may_give(&reactor.shared, *on)
    };
    let allowed =
        volume.constraint.offers(medium).into_iter().filter(|&on| on == medium || volume.constraint.allows(on));
    (usual, allowed.filter(|&on| reactor.shared.held.has_medium(on)).find(can).map(Lane::Clients))
}
