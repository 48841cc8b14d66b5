//! Arrays in which data moves out of the way of contention, and what is true of every move.
//!
//! A block rests after it has moved, and what is moved is paid for by what clients wrote and by time. Both are judged by what the
//! engine says that it moved, and not by what it keeps in mind to obey them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cygnus_engine::ArrayStatus;
use cygnus_policy::{AutonomicsRule, Migration};
use cygnus_types::{Lba, Nanos, VolumeId};

/// How long a block stays where it has moved.
const REST: Nanos = Nanos::millis(20);

/// The rule that stories go by: a few requests suffice for everything, and few reads for moves are too many.
pub(crate) fn rule(migration: Migration) -> AutonomicsRule {
    AutonomicsRule {
        migration,
        migrations: 3,
        // So few that groups take each other's places; where groups are emptied as a whole, there are none at all.
        targets: 2,
        rest: REST,
        look_after: 4,
        few: 2,
        avoid_for: Nanos::millis(4),
        lags_in_a_row: 1,
        queue: 8,
        write_percent: 50,
        writes_per_day: 20_000 * 86_400,
        saved_writes: 64,
        ..AutonomicsRule::for_blocks(0)
    }
}

/// Data has moved out of the way of contention against the rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentionFault {
    /// A block moved again too soon.
    #[error(
        "contention: {lba} of volume {volume} has moved out of the way at {before} and again at {at}: it rests for {rest}"
    )]
    Unrested {
        /// Which volume.
        volume: VolumeId,
        /// Which block of it.
        lba: Lba,
        /// When it moved first.
        before: Nanos,
        /// When it moved again.
        at: Nanos,
        /// How long it should have stayed.
        rest: Nanos,
    },
    /// Blocks moved in an array that moves none.
    #[error("contention: {count} blocks moved, and none should")]
    Off {
        /// Blocks.
        count: u64,
    },
    /// More blocks moved than the budget allows.
    #[error("contention: {count} blocks moved, and clients' writes and the time pay for {earned}")]
    Unearned {
        /// Blocks.
        count: u64,
        /// Blocks that the budget allows.
        earned: u128,
    },
}

#[derive(Default)]
struct Moves {
    /// When each block moved last, since the array was opened.
    last: BTreeMap<(VolumeId, Lba), Nanos>,
    count: u64,
    opened: Nanos,
    wrong: Option<ContentionFault>,
}

thread_local! {
    static MOVES: RefCell<Moves> = RefCell::default();
}

/// An array is about to be opened.
pub(crate) fn begin(now: Nanos) {
    MOVES.set(Moves { opened: now, ..Moves::default() });
}

/// A block has moved.
pub(crate) fn moved(volume: VolumeId, lba: Lba, at: Nanos) {
    MOVES.with_borrow_mut(|moves| {
        moves.count += 1;
        let before = moves.last.insert((volume, lba), at);
        if let Some(before) = before.filter(|&before| at.since(before) < REST) {
            let fault = ContentionFault::Unrested { volume, lba, before, at, rest: REST };
            moves.wrong.get_or_insert(fault);
        }
    });
}

/// What has moved since [`begin`], judged.
pub(crate) fn judge(status: &ArrayStatus, now: Nanos) -> Result<u64, ContentionFault> {
    let (count, opened, wrong) = MOVES.with_borrow(|moves| (moves.count, moves.opened, moves.wrong.clone()));
    if let Some(fault) = wrong {
        return Err(fault);
    }
    let Some(told) = &status.autonomics else {
        return if count == 0 { Ok(0) } else { Err(ContentionFault::Off { count }) };
    };
    let earned = u128::from(status.traffic.client_written) * u128::from(told.write_percent) / 100
        + u128::from(now.since(opened).0) * u128::from(told.writes_per_day) / 86_400_000_000_000
        + 1;
    match u128::from(count) <= earned {
        true => Ok(count),
        false => Err(ContentionFault::Unearned { count, earned }),
    }
}
