//! Stripes that outlast the process. Their columns lie in kept memory, each beside a record of what the stripe is, so that a
//! server that is killed leaves all that was on its way to the devices; the next opening puts that there
//! ([`crate::recover::remains`]).
//!
//! Nothing is copied for it: a block goes into kept memory instead of other memory, and 28 bytes of record beside it. A stripe
//! for which there is no room in kept memory is filled all the same, and it is on record that not all is kept.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cygnus_format::kept::steps;
use cygnus_format::{Discard, Entry, Geometry, KEPT_NUMBERS, KeptHeader, KeptShape, OpenStripe};
use cygnus_runtime::{Buf, BufSlice, Keeper, KeptFile, KeptNumbers, Runtime};
use cygnus_types::{BLOCK, ByteSize, ReactorId};

use crate::space::protections::Protections;

/// How kept memory stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptStatus {
    /// Where it is, for people.
    pub place: String,
    /// Memory that it takes.
    pub size: ByteSize,
    /// Whether there was too little for all that was on its way at some moment.
    pub is_short: bool,
    /// Whether somebody has removed it: the next opening finds nothing.
    pub is_removed: bool,
}

/// Cells for each lane of a reactor for which there is room from the start: one that is being filled, one on its way.
const CELLS_PER_LANE: usize = 2;

/// The kept memory of a session, which all reactors share.
pub(crate) struct Kept {
    keeper: Arc<dyn Keeper>,
    file: KeptFile,
    shape: KeptShape,
    numbers: KeptNumbers,
    /// Cells that there are in the file.
    reserved: u64,
    taken: AtomicU64,
    is_short: AtomicBool,
}

/// What a session's cells are like.
pub(crate) fn shape_of(protections: &Protections) -> KeptShape {
    let discards = |shape: Geometry| {
        let capacity = |rows| shape.discard_capacity(shape.header_blocks(rows), rows);
        (0..=shape.stripe_rows).map(capacity).max().unwrap_or(0)
    };
    KeptShape {
        width: protections.each().map(|shape| shape.width()).max().unwrap_or(0),
        column_blocks: protections.tallest(),
        slots: protections.each().map(|shape| shape.slots(shape.stripe_rows)).max().unwrap_or(0),
        discards: protections.each().map(discards).max().unwrap_or(0) as u32,
    }
}

/// Which of the numbers says how many cells the file has, at least: one that has fewer was cut short.
pub(crate) const CELLS_AT: usize = KeptNumbers::LEN - 1;

/// Gives a new file its memory and its beginning.
fn prepare(file: &KeptFile, header: &KeptHeader, reserved: u64, next: u64) -> io::Result<KeptNumbers> {
    file.reserve(0, header.shape.record_at(reserved))?;
    file.write(0, &header.encode())?;
    let numbers = file.numbers(KEPT_NUMBERS)?;
    // A stripe that is killed before any of its session has a sequence gets one above all that were ever given.
    numbers.set(1, next);
    numbers.set(CELLS_AT, reserved);
    Ok(numbers)
}

impl Kept {
    /// Begins to keep what a session with so many reactors, each with so many lanes, will have on its way. Sequences below `next` have been given.
    ///
    /// # Errors
    /// When there is too little memory, or another reason why nothing can be kept.
    pub(crate) fn begin(
        keeper: Arc<dyn Keeper>,
        header: &KeptHeader,
        reactors: usize,
        lanes: usize,
        next: u64,
    ) -> io::Result<Self> {
        if 1 + reactors > CELLS_AT {
            return Err(io::Error::other("there are too many reactors"));
        }
        let shape = header.shape;
        let reserved = (reactors * lanes * CELLS_PER_LANE) as u64;
        let file = keeper.begin()?;
        // A file that nothing is kept in would stay for ever: only what was begun is ended.
        let numbers = prepare(&file, header, reserved, next).inspect_err(|_| keeper.end())?;
        let (taken, is_short) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self { keeper, file, shape, numbers, reserved, taken, is_short })
    }

    /// Room for a stripe; `None` if there is none left, which is then on record. The first time it is told.
    pub(crate) fn cell(&self, rt: &Runtime, tell: impl FnOnce(String)) -> Option<Cell> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        match self.map_cell(rt, number) {
            Ok(cell) => Some(cell),
            Err(why) => {
                self.numbers.set(0, 1);
                if !self.is_short.swap(true, Ordering::Relaxed) {
                    tell(format!(
                        "there is no room in {} to keep all that is on its way to the devices: {why}. If this server is killed from here \
                         on, some of what it has acknowledged and not flushed may be lost",
                        self.keeper.place()
                    ));
                }
                None
            }
        }
    }

    fn map_cell(&self, rt: &Runtime, number: u64) -> io::Result<Cell> {
        if number >= self.reserved {
            self.file.reserve(self.shape.record_at(number), self.shape.cell_bytes())?;
            // Two that grow the file at once may leave the lesser number, which only asks for less.
            self.numbers.set(CELLS_AT, number + 1);
        }
        let record = rt.alloc_kept(&self.file, self.shape.record_at(number), self.shape.record_bytes())?;
        let column =
            |logical| rt.alloc_kept(&self.file, self.shape.column_at(number, logical), self.shape.column_bytes());
        let columns = (0..self.shape.width).map(column).collect::<io::Result<_>>()?;
        Ok(Cell { record: Record { bytes: record.full(), shape: self.shape }, columns })
    }

    /// A reactor has given this sequence to a stripe.
    pub(crate) fn note_number(&self, reactor: ReactorId, seq: u64) {
        self.numbers.set(1 + reactor.index(), seq);
    }

    /// The session has ended cleanly: all of it is on the devices.
    pub(crate) fn end(&self) {
        self.keeper.end();
    }

    /// How it stands.
    pub(crate) fn status(&self) -> KeptStatus {
        let cells = self.taken.load(Ordering::Relaxed).max(self.reserved);
        KeptStatus {
            place: self.keeper.place(),
            size: ByteSize(self.shape.record_at(cells)),
            is_short: self.is_short.load(Ordering::Relaxed),
            is_removed: !self.keeper.is_there(&self.file),
        }
    }
}

/// Room for a stripe in kept memory.
pub(crate) struct Cell {
    pub record: Record,
    /// Data columns first.
    pub columns: Vec<Buf>,
}

/// What outlasts the process of a stripe besides its columns.
pub(crate) struct Record {
    bytes: BufSlice,
    shape: KeptShape,
}

impl Record {
    /// Stores a change such that whoever is killed afterwards has stored it, and all before it.
    #[inline]
    fn store<const N: usize>(&self, (at, bytes): steps::Bytes<N>) {
        self.bytes.copy_from(at, &bytes);
        KeptFile::barrier();
    }

    /// An empty stripe is opened.
    pub(crate) fn opens(&self, place: &OpenStripe) {
        self.store(steps::place(place));
        self.store(steps::filling());
    }

    /// The block in this slot, which is the next, is there.
    #[inline]
    pub(crate) fn holds(&self, slot: u32, entry: &Entry) {
        self.store(steps::entry(&self.shape, slot, entry));
        self.store(steps::used(slot + 1));
    }

    /// The block in this slot, which was left out, is there.
    pub(crate) fn holds_at_last(&self, slot: u32, entry: &Entry) {
        steps::entry_of_used(&self.shape, slot, entry).into_iter().for_each(|part| self.store(part));
    }

    /// It says of a discard, the `n`-th.
    pub(crate) fn discards(&self, n: u32, discard: &Discard) {
        self.store(steps::discard(&self.shape, n, discard));
        self.store(steps::discards(n + 1));
    }

    /// It has its sequence.
    pub(crate) fn is_numbered(&self, seq: u64, durable: u64) {
        self.store(steps::seq(seq, durable));
        self.store(steps::numbered());
    }

    /// It is on the devices, or is none.
    pub(crate) fn is_free(&self) {
        self.store(steps::free());
    }
}

const _: () = assert!(KEPT_NUMBERS == BLOCK as u64, "what is reserved from 0 on has the numbers too");

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_types::Uuid;
    use std::fs::File;

    /// Gives files that cannot be written, and counts how often nothing is to be left.
    #[derive(Default)]
    struct WithoutRoom {
        ended: AtomicU64,
    }

    impl Keeper for WithoutRoom {
        fn left(&self) -> io::Result<Option<KeptFile>> {
            Ok(None)
        }

        fn begin(&self) -> io::Result<KeptFile> {
            File::open("/dev/null").map(KeptFile::new)
        }

        fn end(&self) {
            self.ended.fetch_add(1, Ordering::Relaxed);
        }

        fn is_there(&self, _: &KeptFile) -> bool {
            false
        }

        fn place(&self) -> String {
            "nowhere".into()
        }
    }

    #[test]
    fn a_file_in_which_nothing_can_be_kept_does_not_stay() {
        let keeper = Arc::new(WithoutRoom::default());
        let shape = KeptShape { width: 3, column_blocks: 17, slots: 32, discards: 8 };
        let header = KeptHeader { array: Uuid([1; 16]), session: 1, in_service: Vec::new(), shape };
        assert!(Kept::begin(keeper.clone(), &header, 1, 2, 1).is_err());
        assert_eq!(keeper.ended.load(Ordering::Relaxed), 1);
    }
}
