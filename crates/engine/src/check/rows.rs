//! The rows of a stripe: blocks against their checksums, parity against the data, and what can be restored.

use cygnus_format::{Entry, Kind, Place, StripeCommon};
use cygnus_parity as parity;
use cygnus_types::BLOCK;

use crate::check::checker::Checker;
use crate::check::findings::{Finding, FindingKind};
use crate::check::result::SegmentResult;
use crate::check::window::Window;
use crate::read::reconstruct::restore_block;
use crate::read::scan::FoundStripe;

const ZERO_BLOCK: [u8; BLOCK] = [0; BLOCK];

/// Checks all rows of a stripe that is in the window.
pub(crate) fn verify(checker: &Checker, window: &Window<'_>, stripe: &FoundStripe, result: &mut SegmentResult) {
    let common = &stripe.common;
    if common.rows == 0 {
        return;
    }
    let zeros = parity::checksum::crc32c(&ZERO_BLOCK);
    let rows = Rows { checker, window, stripe, zeros };
    let whole: Option<Vec<&[u8]>> = common.rotation.physical_columns().map(|column| rows.column(column)).collect();
    result.blocks += u64::from(common.rows) * common.rotation.needed() as u64;
    let fine = whole.is_some_and(|columns| {
        let (data, parities) = columns.split_at(common.rotation.needed());
        data.iter().enumerate().all(|(l, column)| rows.column_matches(l as u8, column))
            && parity::verify(data, parities)
    });
    if !fine {
        (0..common.rows).for_each(|row| rows.judge(row, result));
    }
}

struct Rows<'a> {
    checker: &'a Checker,
    window: &'a Window<'a>,
    stripe: &'a FoundStripe,
    /// Checksum of a block of zeros, which is what a slot never filled holds.
    zeros: u32,
}

impl<'a> Rows<'a> {
    fn common(&self) -> &'a StripeCommon {
        &self.stripe.common
    }

    fn k(&self) -> usize {
        self.common().rotation.needed()
    }

    /// All rows of a physical column, if its device delivered all of them.
    fn column(&self, physical: u8) -> Option<&'a [u8]> {
        let common = self.common();
        let (from, rows) = (common.first_data_row(), common.rows);
        self.window.rows(physical, from, rows).filter(|_| !self.window.any_unreadable(physical, from, rows))
    }

    fn entry(&self, logical: usize, row: u32) -> Option<&'a Entry> {
        let physical = self.common().rotation.physical(logical as u8);
        self.stripe.entries[usize::from(physical)].as_ref().map(|entries| &entries[row as usize])
    }

    /// Checksum that a data block must have, if a header tells.
    fn expected(&self, logical: usize, row: u32) -> Option<u32> {
        let entry = self.entry(logical, row)?;
        Some(if entry.kind() == Kind::Void { self.zeros } else { entry.crc() })
    }

    fn column_matches(&self, logical: u8, column: &[u8]) -> bool {
        column.chunks_exact(BLOCK).enumerate().all(|(row, block)| {
            self.expected(usize::from(logical), row as u32) == Some(parity::checksum::crc32c(block))
        })
    }

    fn place(&self, logical: usize, row: u32) -> Place {
        let common = self.common();
        let column = common.rotation.physical(logical as u8);
        Place { group: common.group, segment: common.segment, column, row: common.first_data_row() + row }
    }

    /// Finds out what is wrong with a row, if anything is.
    fn judge(&self, row: u32, result: &mut SegmentResult) {
        let at = self.common().first_data_row() + row;
        let columns = self.common().rotation.physical_columns();
        let read: Vec<Option<&[u8]>> = columns
            .map(|physical| {
                let readable = !self.window.any_unreadable(physical, at, 1);
                self.window.rows(physical, at, 1).filter(|_| readable)
            })
            .collect();
        let is_good = |l: usize| {
            let Some(block) = read[l] else { return false };
            self.expected(l, row).is_none_or(|crc| parity::checksum::crc32c(block) == crc)
        };
        let width = read.len();
        let trusted: Vec<Option<&[u8]>> = (0..width).map(|l| read[l].filter(|_| l >= self.k() || is_good(l))).collect();
        let mut restored: Vec<Option<Vec<u8>>> = vec![None; width];
        for l in (0..self.k()).filter(|&l| trusted[l].is_none()) {
            restored[l] = self.restore(&trusted, l, row);
            self.report_block(l, row, restored[l].is_some(), result);
        }
        let data: Option<Vec<&[u8]>> = (0..self.k()).map(|l| trusted[l].or(restored[l].as_deref())).collect();
        self.judge_parity(data, &read, row, result);
    }

    /// A data block as the other columns have it.
    fn restore(&self, trusted: &[Option<&[u8]>], wanted: usize, row: u32) -> Option<Vec<u8>> {
        let expected = self.expected(wanted, row);
        let mut out = vec![0; BLOCK];
        let matches = |block: &[u8]| expected.is_none_or(|crc| parity::checksum::crc32c(block) == crc);
        let found = restore_block(self.common().rotation, trusted, wanted, &mut out, matches);
        found.then_some(out)
    }

    /// Reports a data block that its column did not deliver as it should be.
    fn report_block(&self, logical: usize, row: u32, restored: bool, result: &mut SegmentResult) {
        let place = self.place(logical, row);
        let absent = self.window.is_absent(place.column);
        let (device, offset) = self.checker.locate(place);
        let entry = self.entry(logical, row);
        let current = entry.is_some_and(|e| self.is_current(e, place));
        if absent && (restored || !current) {
            // That the member is missing has been said; nobody needs the block, or it can be had.
            return;
        }
        if !current && self.common().rotation.losses() == 0 {
            // A crash may have torn it, and recovery has left the stripe, since no parity counts on it.
            return;
        }
        if !absent && !self.window.any_unreadable(place.column, place.row, 1) {
            self.checker.blame(place, |counters| &counters.corrupt);
        }
        let what = match entry {
            Some(e) if e.kind() == Kind::Void => "a slot that was never filled".to_string(),
            Some(e) if e.kind() == Kind::Meta => format!("page {} of the map of {}", e.lba().0, e.volume()),
            Some(e) if e.kind() == Kind::Protections => "part of the table of segments".to_string(),
            Some(e) if e.kind() == Kind::Packed => format!("part of the map, from {} of {} on", e.lba(), e.volume()),
            Some(e) => self.checker.block_name(e.volume(), e.lba()),
            None => "a block that no header names any more".to_string(),
        };
        let lost = !restored && current;
        let has_copy = entry.is_some_and(|e| e.kind().is_of_checkpoint()) && self.common().rotation.losses() == 0;
        let (kind, remedy) = match (lost, current) {
            (true, _) if has_copy => {
                (FindingKind::Data, "it is there twice; a scrub, or the next stop, writes it anew")
            }
            (true, _) => (FindingKind::Lost, "it is beyond redundancy: write it anew or restore it from a backup"),
            (false, true) => (FindingKind::Data, "the other columns restore it; the next read of it repairs it"),
            (false, false) => (
                FindingKind::Data,
                "it is not in use, but the parity of its row counts on it; cleaning will move its neighbours away",
            ),
        };
        let how = match () {
            () if absent => "is on a member that is out of service, and the other columns do not give it",
            () if self.window.any_unreadable(place.column, place.row, 1) => "cannot be read by the device",
            () => "is not what was written",
        };
        let text = format!("{device} at byte {offset}: {what} {how}: {remedy}");
        let finding = Finding::new(kind, text).on(&device, offset);
        result.findings.push(match entry {
            Some(e) if matches!(e.kind(), Kind::Data | Kind::Relocated) => finding.of_block(e.volume(), e.lba()),
            _ => finding,
        });
    }

    fn is_current(&self, entry: &Entry, place: Place) -> bool {
        match entry.kind() {
            Kind::Data | Kind::Relocated => {
                let shared = &self.checker.reactor.shared;
                let pba = shared.layout.pba(place);
                shared.volume(entry.volume()).is_some_and(|v| v.controller.current_at(entry.lba(), pba).is_some())
            }
            // Of a stripe that was verified because it holds a checkpoint's pages.
            Kind::Meta | Kind::Packed | Kind::Protections => true,
            Kind::Void | Kind::Parity => false,
        }
    }

    /// Compares the parity blocks of a row with what its data gives, if all of that is known.
    fn judge_parity(&self, data: Option<Vec<&[u8]>>, read: &[Option<&[u8]>], row: u32, result: &mut SegmentResult) {
        let mut computed = vec![vec![0; BLOCK]; read.len() - self.k()];
        if let Some(data) = &data {
            let mut views: Vec<&mut [u8]> = computed.iter_mut().map(Vec::as_mut_slice).collect();
            parity::generate(data, &mut views);
        }
        for (p, expected) in computed.iter().enumerate() {
            let place = self.place(self.k() + p, row);
            let how = match read[self.k() + p] {
                None if self.window.is_absent(place.column) => continue,
                None => "cannot be read by the device",
                Some(block) if data.is_some() && block != &expected[..] => {
                    self.checker.blame(place, |counters| &counters.bad_parity);
                    "is not what the data gives"
                }
                Some(_) => continue,
            };
            let (device, offset) = self.checker.locate(place);
            let text = format!(
                "{device} at byte {offset}: a parity block {how}: its row has less redundancy than it should until \
                 cleaning or rewriting moves the blocks away"
            );
            result.findings.push(Finding::new(FindingKind::Parity, text).on(&device, offset));
        }
    }
}
