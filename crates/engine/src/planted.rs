//! Bugs planted on purpose, so that tests can show that torture catches them.
//!
//! Only builds with debug assertions have them. In all others [`is`] is a constant `false`, and nothing of this is left in
//! the program.

/// A bug that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Reads take what the device delivers, whatever its checksum.
    ChecksumSkipped,
    /// Victims are freed before what was moved out of them is durable.
    VictimFreedUnflushed,
    /// Victims are freed while stripes that had not become full in time still hold what was moved out of them.
    ReleasedBeforeFull,
    /// The last row of a stripe gets no parity.
    LastRowWithoutParity,
    /// Recovery takes the oldest write of a block for the newest.
    OldestWriteWins,
    /// Scrubs leave blocks where they are whose parity is wrong.
    ScrubForgetsParity,
    /// A spare that is to take over from a member gets nothing of what is written meanwhile.
    SuccessorMissesWrites,
    /// A group leaves though checkpoints, and whoever is under way, refer to its addresses.
    GroupLeavesTooEarly,
    /// Salvage takes blocks that nobody can read for zeros.
    SalvageInventsZeros,
    /// Checkpoints write every page of the map whole, however little is in it.
    SparsePagesWhole,
    /// Nothing is kept free for checkpoints.
    CheckpointUnreserved,
    /// Each page of a checkpoint is written once, also where no parity restores it.
    PagesOnce,
    /// What a member should have got while it did not answer it never gets.
    OwedIsForgotten,
    /// A member that was awaited counts as back though nobody has looked whether it has what it took before.
    ComesBackUnseen,
    /// Members that are re-admitted by force count as having all that they should.
    ReadmittedAsWhole,
    /// Blocks of the last stripes that are lost with the members who left count as never written.
    LostCountsAsUnwritten,
    /// Recovery goes on with what it finds, though something durable is not there any more.
    LossIsOverlooked,
    /// What a killed process has left is found, and not put on the devices.
    RemainsStayBehind,
    /// Copies of what open stripes held are not looked for.
    BackupsIgnored,
    /// Members that are written in order keep backups as others do.
    BackupsInZones,
    /// Room that several backups lie in is held for the first of them only.
    HeldForTheFirst,
    /// Descriptions of copies are not looked for beside these.
    BesideUnread,
    /// Recovery does not look for the copies that were made when a stripe was closed.
    LastCopiesUnread,
    /// Room for copies is used again while their stripes need them.
    BackupsOverwritten,
    /// When one stripe ends, the copies of the others that are open count as its own.
    ClosedForAll,
    /// The parity that is kept of an open stripe's rows leaves out what they held before.
    ParityOfNewOnly,
    /// Copies go to members that have the blocks themselves in their places.
    CopiesBesideTheBlocks,
    /// A flush is answered though a member that should have a copy was away.
    CopiesOfTheAbsent,
    /// What recovery replaces in the maps goes on being counted.
    ReplacedCountsOn,
    /// Answers wait for nothing, whatever the level of their volume.
    AnswersTooEarly,
    /// Members compute the parity of chunks of which not all is copied to them.
    ConvertedUncopied,
    /// Members compute parity while blocks in their places are not durable yet.
    ConvertedUnflushed,
    /// Blocks move out of the way of contention as often as reads bring them.
    MovesUnrested,
    /// What is to be on one medium only goes where there is most room.
    ConstraintIgnored,
    /// Cold blocks leave flash whatever has become of them since they were read.
    DemotedBlindly,
}

#[cfg(debug_assertions)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Plants a bug in all arrays that this thread runs, or takes it out again. In virtual time one thread runs a whole array.
#[cfg(debug_assertions)]
pub fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}

/// Whether this bug is planted.
#[cfg(debug_assertions)]
#[inline]
pub(crate) fn is(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// Whether this bug is planted: never.
#[cfg(not(debug_assertions))]
#[inline]
pub(crate) const fn is(_: Bug) -> bool {
    false
}
